//! Plots: from records a [`Chart`], from a chart an SVG, a PNG or text for a terminal.
//!
//! A chart says what there is to see; where the ink goes is decided once (`plot/drawing.rs`) for
//! SVG and PNG, and once for the grid of characters of a terminal. Lines and levels carry their
//! labels themselves, so there is no legend to look up.

mod axis;
mod drawing;
mod heat;
mod png;
mod svg;
mod terminal;

use groma_analysis::curve::{Curve, Level, curves, for_levels, levels, numbers, widest};
use groma_analysis::matrix::{Matrix, protocol};
use groma_analysis::point::{WORKERS, measured, same_point};
use groma_analysis::sample_value;
use groma_model::family::Row;
use groma_model::{Families, Quantity, Record, RunHeader, Sample, Series};

use crate::machine::host;
use crate::point::{level_name, name, point_without, rest};
use crate::style::Style;
use crate::units::{self, Scale};
use axis::{Axis, Growth};
use heat::Heat;

/// What there is to see: a title, and a plane or a matrix.
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    subtitle: String,
    /// Where and when it was measured; empty where nobody said.
    source: String,
    field: Field,
}

impl Chart {
    /// The same with the machine, the date and the run below its title: a picture that is mailed must
    /// say what it shows.
    pub fn of_run(self, run: &RunHeader) -> Chart {
        let day = run.started.get(..10).unwrap_or(&run.started);
        let parts = [host(&run.environment), day.to_owned(), format!("groma {} run {}", run.groma, run.run)];
        let known: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Chart { source: known.join("; "), ..self }
    }
}

#[derive(Clone, Debug)]
enum Field {
    Plane(Plane),
    Heat(Heat),
}

/// Two axes, and lines or bars between them.
#[derive(Clone, Debug)]
struct Plane {
    x: Axis,
    y: Axis,
    lines: Vec<Line>,
    levels: Vec<Plateau>,
    bars: Vec<Bar>,
}

/// A line through points, in order.
#[derive(Clone, Debug)]
struct Line {
    label: String,
    points: Vec<Point>,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    x: f64,
    y: f64,
    /// The display interval.
    interval: Option<[f64; 2]>,
}

/// A level of a memory hierarchy.
#[derive(Clone, Debug)]
struct Plateau {
    from: f64,
    to: f64,
    y: f64,
    /// `L2 2 MiB`.
    name: String,
    /// `4.50 ns, 15.8 cy`.
    cost: String,
}

/// A stretch of a distribution.
#[derive(Clone, Copy, Debug)]
struct Bar {
    low: f64,
    high: f64,
    /// Samples without a label.
    clean: usize,
    /// Samples during which something happened.
    labelled: usize,
}

/// A plot of the records of one metric: of several points, the curve over a number (a size, a
/// count, `P` for the members of the group), or over the one that takes the most values, a line for
/// each combination of the rest; of one that carries its raw samples, their [`histogram`]. What is
/// measured between CPUs or nodes is a matrix, and latency under load is drawn over the bandwidth
/// that was there with it: [`takes`] says which records that needs.
///
/// # Errors
/// Says why there is nothing to plot, in one line.
pub fn plot(families: Families<'_>, records: &[&Record], over: Option<&str>) -> Result<Chart, String> {
    let Some(first) = records.first() else { return Err("there are no records of it".to_owned()) };
    let shape = Shape::of(families, &first.id);
    if over.is_none()
        && let Shape::Loaded(ids) = shape
        && first.id == ids[0]
    {
        return loaded(ids, records);
    }
    if records.iter().any(|r| r.id != first.id || r.unit != first.unit) {
        return Err("these are records of different metrics".to_owned());
    }
    if let Some(over) = over {
        let over = if over == "P" { WORKERS } else { over };
        let known = numbers(records);
        if !known.contains(&over) {
            let known: Vec<&str> = known.iter().map(|n| if *n == WORKERS { "P" } else { n }).collect();
            return Err(format!("{} has no number '{over}' to plot over (known: {})", first.id, known.join(", ")));
        }
        return curve(records, over);
    }
    if let Shape::Cores | Shape::Nodes = shape {
        return matrix(records, shape);
    }
    let (over, values) = widest(records).unwrap_or_default();
    if values >= 2 {
        return curve(records, &over);
    }
    match records.iter().find(|r| r.round_samples.is_some()) {
        Some(record) => histogram(record),
        None => Err(format!(
            "{} has only one point, and its raw samples were not kept: there is no curve and no distribution to plot",
            name(first)
        )),
    }
}

/// What a plot of a metric is, by the row of the hardware page that shows it.
#[derive(Clone, Copy)]
enum Shape<'a> {
    /// A curve over one of its numbers, or a distribution.
    Curve,
    /// Latency over bandwidth: the ids of the median, the 95th percentile and the bandwidth.
    Loaded([&'a str; 3]),
    /// A matrix of CPUs.
    Cores,
    /// A matrix of nodes.
    Nodes,
}

impl<'a> Shape<'a> {
    fn of(families: Families<'a>, id: &str) -> Shape<'a> {
        let shape = |row: &&'a Row| match **row {
            Row::LoadedLatency { median, p95, bandwidth } if belongs(id, median) => {
                Some(Shape::Loaded([median, p95, bandwidth]))
            }
            Row::Transfers(cores) if belongs(id, cores) => Some(Shape::Cores),
            Row::Nodes(nodes) if belongs(id, nodes) => Some(Shape::Nodes),
            _ => None,
        };
        families.rows().iter().find_map(shape).unwrap_or(Shape::Curve)
    }
}

/// Whether an id is that of a benchmark or of one of its outputs.
fn belongs(id: &str, to: &str) -> bool {
    id.strip_prefix(to).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a plot of a metric takes the records of this id: its own, and of latency under load all
/// that was measured with it.
pub fn takes(families: Families<'_>, metric: &str, id: &str) -> bool {
    let loaded = || matches!(Shape::of(families, metric), Shape::Loaded([median, ..]) if metric == median);
    id == metric || belongs(id, metric) && loaded()
}

/// Latency over the bandwidth that was there with it, joined in the order of the pace: never over
/// the pace, whose numbers mean nothing on another machine.
fn loaded([median_id, slow, bandwidth]: [&str; 3], records: &[&Record]) -> Result<Chart, String> {
    let with = |id: &str, of: &Record| {
        let same = |r: &&&Record| r.id == id && same_point(r, of);
        records.iter().find(same).and_then(|r| measured(r))
    };
    let mut main: Vec<&Record> =
        records.iter().copied().filter(|r| r.id == median_id && measured(r).is_some()).collect();
    // The most spacious pace first; one that is no number is that without load.
    main.sort_by_key(|r| std::cmp::Reverse(r.params.int("pace").unwrap_or(u64::MAX)));
    let mut kinds: Vec<String> = main.iter().map(|r| point_without(r, &["pace"])).collect();
    kinds.sort();
    kinds.dedup();
    let mut lines = Vec::new();
    for kind in &kinds {
        let of_it: Vec<&&Record> = main.iter().filter(|r| point_without(r, &["pace"]) == *kind).collect();
        let prefix = if kinds.len() > 1 { format!("{kind} ") } else { String::new() };
        let median = of_it
            .iter()
            .filter_map(|r| Some(Point { x: with(bandwidth, r)?, y: measured(r)?, interval: r.ci_display }));
        lines.push(Line { label: format!("{prefix}median"), points: median.collect() });
        let late =
            of_it.iter().filter_map(|r| Some(Point { x: with(bandwidth, r)?, y: with(slow, r)?, interval: None }));
        lines.push(Line { label: format!("{prefix}95 %"), points: late.collect() });
    }
    lines.retain(|l| l.points.len() >= 2);
    let Some(first) = main.first().filter(|_| !lines.is_empty()) else {
        return Err(format!("{median_id} was measured with its bandwidth at fewer than two paces"));
    };
    let ends = |of: fn(&Point) -> f64| -> Vec<f64> { lines.iter().flat_map(|l| l.points.iter().map(of)).collect() };
    let (mut xs, ys) = (ends(|p| p.x), ends(|p| p.y));
    xs.push(0.0);
    Ok(Chart {
        title: first.summary.clone(),
        subtitle: format!("{median_id} over the bandwidth that was there with it"),
        source: String::new(),
        field: Field::Plane(Plane {
            x: Axis::over(&xs, Growth::Even, Scale::Bandwidth).named("bandwidth"),
            y: Axis::values(&ys, Growth::of(&ys), Scale::Time, 1.0).named("latency"),
            lines,
            levels: Vec::new(),
            bars: Vec::new(),
        }),
    })
}

/// A matrix of CPUs or of nodes.
fn matrix(records: &[&Record], of: Shape<'_>) -> Result<Chart, String> {
    let first = records[0];
    let cores = matches!(of, Shape::Cores);
    let found = if cores { Matrix::of_cores(records, None) } else { Matrix::of_nodes(records) };
    let axes = if cores { ["CPU", "CPU"] } else { ["node of the CPU", "node of the memory"] };
    let heat = found.and_then(|m| Heat::new(&m, Scale::of(first), axes));
    let Some(heat) = heat else {
        let why = records.iter().max_by_key(|r| r.state).map(|r| r.reason.as_str()).filter(|r| !r.is_empty());
        return Err(why.map_or(format!("no pair of {} was measured", first.id), |why| {
            format!("no pair of {} was measured: {why}", first.id)
        }));
    };
    let protocol = if cores { protocol(records, None) } else { None };
    let id = [first.id.as_str()].into_iter().chain(protocol).collect::<Vec<_>>().join(" ");
    let mut subtitle = format!("{id}, in {}", heat.unit());
    if let Some(groups) = heat.groups() {
        subtitle += &format!("; groups: {groups}");
    }
    Ok(Chart { title: first.summary.clone(), subtitle, source: String::new(), field: Field::Heat(heat) })
}

/// The curves of a metric over one number.
fn curve(records: &[&Record], over: &str) -> Result<Chart, String> {
    let first = records[0];
    let mut curves = curves(records, over);
    curves.retain(|c| c.measured().len() >= 2);
    if curves.is_empty() {
        return Err(format!("{} was measured at fewer than two points over {}", first.id, x_label(over)));
    }
    let scale = Scale::of(first);
    let ys: Vec<f64> = curves.iter().flat_map(|c| c.measured()).map(|p| p.1).collect();
    let xs: Vec<f64> = curves.iter().flat_map(|c| c.measured()).map(|p| p.0).collect();
    let sizes = curves.iter().any(|c| c.sizes);
    let plateaus = for_levels(&curves).map(plateaus).unwrap_or_default();

    let lines: Vec<Line> = curves.iter().zip(labels(&curves)).map(|(c, label)| line(c, label)).collect();
    let x_scale = if sizes { Scale::Size } else { Scale::Count };
    let x =
        Axis::over(&xs, if sizes { Growth::Doubling } else { Growth::of_counts(&xs) }, x_scale).named(x_label(over));
    let growth = Growth::of(&ys);
    // Levels are labelled below their line.
    let lowest = if plateaus.is_empty() { 1.0 } else { 0.5 };
    let y = Axis::values(&ys, growth, scale, lowest).named(first.quantity.word());
    Ok(Chart {
        title: first.summary.clone(),
        subtitle: subtitle(&curves, first, over),
        source: String::new(),
        field: Field::Plane(Plane { x, y, lines, levels: plateaus, bars: Vec::new() }),
    })
}

fn x_label(over: &str) -> &str {
    if over == WORKERS { "members of the worker group" } else { over }
}

fn line(curve: &Curve<'_>, label: String) -> Line {
    let points = curve.points.iter().filter_map(|(x, record)| {
        let y = measured(record)?;
        Some(Point { x: *x as f64, y, interval: record.ci_display })
    });
    Line { label, points: points.collect() }
}

fn plateaus(curve: &Curve<'_>) -> Vec<Plateau> {
    let plateau = |level: Level| {
        let capacity = level.capacity.map(|c| format!(" {}", units::size(c)));
        let cycles = level.cycles.map(|c| format!(", {}", units::cycles(c)));
        let time = units::time(level.latency);
        Plateau {
            from: level.span[0],
            to: level.span[1],
            y: level.latency,
            name: level_name(level.rank) + &capacity.unwrap_or_default(),
            cost: time + &cycles.unwrap_or_default(),
        }
    };
    levels(curve).into_iter().map(plateau).collect()
}

/// What tells the curves apart: the words of their points that not all share; of a parameter its
/// value alone.
fn labels(curves: &[Curve<'_>]) -> Vec<String> {
    let words = |c: &Curve<'_>| -> Vec<String> {
        let Some((_, record)) = c.points.first() else { return Vec::new() };
        let mut words: Vec<String> = crate::point::params(record)
            .filter(|(name, _)| *name != c.over)
            .map(|(name, text)| format!("{name}={text}"))
            .collect();
        let names: Vec<&str> = record.params.0.iter().map(|(name, _)| name.as_str()).collect();
        let besides = point_without(record, &[&names[..], &[c.over.as_str()]].concat());
        words.extend((!besides.is_empty()).then_some(besides));
        words
    };
    let all: Vec<Vec<String>> = curves.iter().map(words).collect();
    let shared = |word: &String| all.len() > 1 && all.iter().all(|w| w.contains(word));
    all.iter()
        .map(|words| {
            let own = words.iter().filter(|w| !shared(w));
            own.map(|w| w.split_once('=').map_or(w.as_str(), |(_, value)| value)).collect::<Vec<_>>().join(" ")
        })
        .map(|label| if all.len() == 1 { String::new() } else { label })
        .collect()
}

/// What is drawn: the metric, what the curves share, and how many points were measured.
fn subtitle(curves: &[Curve<'_>], first: &Record, over: &str) -> String {
    let points: usize = curves.iter().map(|c| c.measured().len()).sum();
    let planned: usize = curves.iter().map(|c| c.points.len()).sum();
    let mut text = format!("{} over {}", first.id, x_label(over));
    if let [only] = curves
        && let rest = rest(only)
        && !rest.is_empty()
    {
        text += &format!("; {rest}");
    }
    if points < planned {
        text += &format!("; {points} of {planned} points measured");
    }
    if curves.iter().flat_map(|c| &c.points).any(|(_, record)| record.ci_display.is_some()) {
        text += "; bars: 95 % intervals";
    }
    text
}

/// Stretches that a histogram is cut into.
const BARS: usize = 40;

/// The distribution of the raw samples of one metric, by the time, rate or value of each. It
/// reaches as far as the undisturbed samples do, but for the half percent of them that lies
/// outermost on either side; the rest is counted.
///
/// # Errors
/// Says that the record does not carry its samples, or too few.
pub fn histogram(record: &Record) -> Result<Chart, String> {
    let what = name(record);
    let Some(rounds) = &record.round_samples else { return Err(format!("the raw samples of {what} were not kept")) };
    let main = |series: &&Series| series.name.is_empty();
    let all: Vec<(f64, bool)> = rounds
        .iter()
        .filter_map(|round| round.result.output.series.iter().find(main).or(round.result.output.series.first()))
        .flat_map(|series| samples(series, record.quantity))
        .filter(|(value, _)| value.is_finite() && *value > 0.0)
        .collect();
    let values: Vec<f64> = all.iter().map(|v| v.0).collect();
    // The body is what is to be seen: a tail that disturbances made would press it into one bar.
    let clean: Vec<f64> = all.iter().filter(|(_, labelled)| !labelled).map(|v| v.0).collect();
    let body = if clean.len() >= 10 { &clean } else { &values };
    let ends = groma_stats::quantile(body, 0.005).zip(groma_stats::quantile(body, 0.995));
    let Some((low, high)) = ends.filter(|(low, high)| values.len() >= 10 && low < high) else {
        return Err(format!("{what} has {} samples, too few or too equal for a distribution", values.len()));
    };
    let inside = |v: f64| (low..=high).contains(&v);
    let drawn: Vec<f64> = values.iter().copied().filter(|v| inside(*v)).collect();
    let bins = groma_stats::log_histogram(&drawn, BARS.min(drawn.len() / 3).max(3));
    let bars: Vec<Bar> = bins
        .iter()
        .enumerate()
        .map(|(i, bin)| {
            let last = i + 1 == bins.len();
            let held = |v: f64| v >= bin.low && (v < bin.high || last && v <= bin.high);
            let labelled = all.iter().filter(|(v, labelled)| *labelled && held(*v)).count();
            Bar { low: bin.low, high: bin.high, clean: bin.count.saturating_sub(labelled), labelled }
        })
        .collect();
    let scale = Scale::of(record);
    let most = bars.iter().map(|b| b.clean + b.labelled).max().unwrap_or(0) as f64;
    let beyond = values.iter().filter(|v| **v > high).count();
    let below = values.iter().filter(|v| **v < low).count();
    let largest = values.iter().copied().fold(0.0, f64::max);
    let labelled = all.iter().filter(|(_, labelled)| *labelled).count();
    Ok(Chart {
        title: record.summary.clone(),
        source: String::new(),
        subtitle: format!(
            "{what}: {} samples of {} rounds, {labelled} disturbed; {below} lie below and {beyond} beyond, up to {}",
            values.len(),
            rounds.len(),
            units::value(largest, scale, None),
        ),
        field: Field::Plane(Plane {
            x: Axis::over(&[low, high], Growth::of(&[low, high]), scale).named(record.quantity.word()),
            y: Axis::values(&[0.0, most], Growth::Even, Scale::Count, 1.0).named("samples"),
            lines: Vec::new(),
            levels: Vec::new(),
            bars,
        }),
    })
}

/// What each sample says, in the unit of the quantity, and whether it carries a label.
fn samples(series: &Series, quantity: Quantity) -> Vec<(f64, bool)> {
    let value = |s: &Sample| Some((sample_value(quantity, series, s)?, !s.labels.letters().is_empty()));
    let sampled = series.samples.iter().filter_map(value);
    sampled.chain(series.values.iter().map(|v| (*v, false))).collect()
}

impl Chart {
    /// The plot as an SVG document on a transparent ground, which follows the reader's choice of
    /// dark or light.
    pub fn svg(&self) -> String {
        svg::svg(&drawing::draw(self))
    }

    /// The plot as the bytes of a PNG file on a white ground; `scale` 1 is 860 by 480 pixels, 2 is
    /// for dense screens.
    ///
    /// # Errors
    /// What the encoder says when it cannot.
    pub fn png(&self, scale: f32) -> Result<Vec<u8>, String> {
        png::png(&drawing::draw(self), scale)
    }

    /// The plot as text, `style.width` columns wide.
    pub fn terminal(&self, style: &Style) -> String {
        terminal::terminal(self, style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use groma_model::{Placement, State};

    /// Threads of a core have numbers 48 apart, eight cores share a cache, three caches a package.
    fn many(a: u32, b: u32) -> f64 {
        let (core, other) = (a % 48, b % 48);
        match () {
            () if core == other => 8.0,
            () if core / 8 == other / 8 => 24.0,
            () if core / 24 == other / 24 => 96.0,
            () => 210.0,
        }
    }

    /// What a plot of a metric of the larger machine shows.
    fn survey(metric: &str, over: Option<&str>) -> Chart {
        let (_, records) = fixtures::two_caches();
        let records: Vec<&Record> = records.iter().filter(|r| takes(fixtures::families(), metric, &r.id)).collect();
        plot(fixtures::families(), &records, over).expect("it was measured")
    }

    pub(super) fn charts() -> Vec<(&'static str, Chart)> {
        let records = fixtures::records();
        let of = |id: &str, keep: fn(&Record) -> bool| -> Vec<&Record> {
            records.iter().filter(|r| r.id == id && keep(r)).collect()
        };
        let scaling =
            of("mem.bandwidth", |r| r.params.word("kernel") == Some("read") && r.params.int("size") == Some(512 << 20));
        vec![
            ("latency", plot(fixtures::families(), &of("mem.latency", |_| true), None).expect("a curve")),
            ("bandwidth", plot(fixtures::families(), &of("mem.bandwidth", |r| r.workers == 1), None).expect("curves")),
            ("scaling", plot(fixtures::families(), &scaling, Some("P")).expect("a scaling curve")),
            ("histogram", plot(fixtures::families(), &[&fixtures::sampled()], None).expect("a distribution")),
            ("stores", survey("mem.bandwidth", None)),
            ("hierarchy", survey("mem.latency", None)),
            ("loaded", survey("mem.loaded_latency", None)),
            ("cores", survey("cpu.core_to_core", None)),
            (
                "nodes",
                plot(fixtures::families(), &fixtures::nodes().iter().collect::<Vec<_>>(), None).expect("a matrix"),
            ),
            (
                "many",
                plot(fixtures::families(), &fixtures::pairs(96, "cas1", many).iter().collect::<Vec<_>>(), None)
                    .expect("a matrix"),
            ),
        ]
    }

    #[test]
    fn terminal_at_80_and_120_columns() {
        for (name, chart) in charts() {
            for width in [80, 120] {
                let text = chart.terminal(&Style::plain(width));
                assert!(text.lines().all(|l| crate::style::columns(l) <= width), "{text}");
                insta::assert_snapshot!(format!("{name}_{width}"), text);
            }
        }
    }

    #[test]
    fn terminal_in_ascii() {
        for (name, chart) in charts() {
            let text = chart.terminal(&Style { unicode: false, ..Style::plain(80) });
            assert!(text.is_ascii(), "{name} {text}");
        }
        insta::assert_snapshot!(charts()[0].1.terminal(&Style { unicode: false, ..Style::plain(80) }));
    }

    #[test]
    fn svg_is_whole_and_names_what_it_shows() {
        for (name, chart) in charts() {
            let svg = chart.svg();
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{name}");
            assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
        }
        let svg = charts()[0].1.svg();
        for text in ["64 KiB", "1 MiB", "L1 48 KiB", "memory", "amortised", "included", "prefers-color-scheme"] {
            assert!(svg.contains(text), "{text}");
        }
        insta::assert_snapshot!(charts()[2].1.svg());
    }

    #[test]
    fn png_is_one() {
        // GROMA_PLOTS=dir keeps the pictures, to be looked at.
        for (name, chart) in charts() {
            let png = chart.png(1.0).expect("it encodes");
            assert!(png.starts_with(b"\x89PNG"), "{name}");
            if let Ok(dir) = std::env::var("GROMA_PLOTS") {
                std::fs::write(format!("{dir}/{name}.png"), &png).expect("it can be written");
                std::fs::write(format!("{dir}/{name}@2.png"), chart.png(2.0).expect("it encodes")).expect("written");
                std::fs::write(format!("{dir}/{name}.svg"), chart.svg()).expect("it can be written");
            }
        }
    }

    #[test]
    fn one_alone_and_worker_groups_that_nobody_placed_are_one_curve() {
        let of = |workers, placement| Record {
            workers,
            placement,
            ..fixtures::record("syscall.getppid", "", Quantity::Latency, 1e-7)
        };
        let (one, two, four) = (of(1, Placement::Pinned), of(2, Placement::Free), of(4, Placement::Free));
        let chart = plot(fixtures::families(), &[&one, &two, &four], Some("P")).expect("a curve");
        let Field::Plane(plane) = &chart.field else { panic!("it is a curve") };
        let xs: Vec<Vec<f64>> = plane.lines.iter().map(|l| l.points.iter().map(|p| p.x).collect()).collect();
        assert_eq!(xs, [[1.0, 2.0, 4.0]]);
        // Those that somebody placed are another.
        let placed = of(2, Placement::Spread);
        assert!(plot(fixtures::families(), &[&one, &placed], Some("P")).is_err());
    }

    #[test]
    fn what_cannot_be_plotted_says_why() {
        let why = |plot: Result<Chart, String>| plot.map(|chart| chart.title).expect_err("there is nothing to plot");
        assert_eq!(why(plot(fixtures::families(), &[], None)), "there are no records of it");
        let one = fixtures::record("syscall.getppid", "", Quantity::Latency, 1e-7);
        assert!(why(plot(fixtures::families(), &[&one], None)).contains("only one point"));
        let other = fixtures::record("syscall.read", "", Quantity::Latency, 1e-7);
        assert!(why(plot(fixtures::families(), &[&one, &other], None)).contains("different metrics"));
        let point = |size| {
            let r = fixtures::record("mem.latency", size, Quantity::Latency, 1e-9);
            fixtures::without(r, State::Unresolved, "not reached")
        };
        let (a, b) = (point("size=1 MiB"), point("size=2 MiB"));
        assert!(why(plot(fixtures::families(), &[&a, &b], None)).contains("fewer than two points"));
        assert_eq!(
            why(plot(fixtures::families(), &[&a, &b], Some("stride"))),
            "mem.latency has no number 'stride' to plot over (known: size, P)"
        );
        assert!(why(plot(fixtures::families(), &[&a, &b], Some("P"))).contains("fewer than two points over members"));
        assert!(why(histogram(&one)).contains("not kept"));
    }
}
