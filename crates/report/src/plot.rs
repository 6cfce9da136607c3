//! Plots: from records a [`Chart`], from a chart an SVG, a PNG or text for a terminal.
//!
//! A chart says what there is to see; where the ink goes is decided once (`plot/drawing.rs`) for
//! SVG and PNG, and once for the grid of characters of a terminal. Lines and levels carry their
//! labels themselves, so there is no legend to look up.

mod axis;
mod drawing;
mod heat;
mod histogram;
mod interactive;
mod marks;
mod matrix;
mod png;
mod runs;
mod svg;
mod terminal;

pub(crate) use histogram::distribution;
pub use histogram::histogram;
pub(crate) use interactive::colours;
pub use runs::Source;

use groma_analysis::claims::declared_caches;
use groma_analysis::curve::{Curve, Level, curves, for_levels, levels, numbers, widest};
use groma_analysis::matrix::{Matrix, protocol};
use groma_analysis::point::{WORKERS, measured, same_point};
use groma_model::family::Row;
use groma_model::{Families, Record};

use crate::hardware::OPS;
use crate::point::{level_name, point_without};
use crate::style::Style;
use crate::units::{self, Scale};
use axis::{Axis, Growth};
use heat::Heat;

/// What there is to see: a title, where it is from, and a plane or a matrix.
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    /// Machine, date and run, in lines: a picture that is mailed must say what it shows.
    sources: Vec<String>,
    /// The metric, what its points share, and what is missing.
    about: String,
    field: Field,
}

#[derive(Clone, Debug)]
enum Field {
    Plane(Plane),
    /// A matrix; and of two CPUs, which have but one pair, what it says in a sentence.
    Heat(Heat, Option<String>),
}

/// Two axes, and lines or bars between them.
#[derive(Clone, Debug)]
struct Plane {
    x: Axis,
    y: Axis,
    lines: Vec<Line>,
    levels: Vec<Plateau>,
    /// Where a cache ends, as the machine declares it.
    borders: Vec<Border>,
    bars: Vec<Bar>,
    /// What stands at a place of a distribution, the headline first.
    marks: Vec<Mark>,
    /// The interval of the headline of a distribution.
    band: Option<[f64; 2]>,
}

/// Points in order.
#[derive(Clone, Debug)]
struct Line {
    label: String,
    points: Vec<Point>,
    /// Whether a line joins them: a few points among many of another line would cut its corners.
    joined: bool,
}

/// The size that a cache is declared to have.
#[derive(Clone, Debug)]
struct Border {
    x: f64,
    /// `L2`.
    name: &'static str,
}

/// A place of a distribution that has a name.
#[derive(Clone, Debug)]
struct Mark {
    x: f64,
    label: String,
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
pub(crate) struct Bar {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Samples without a label.
    pub(crate) clean: usize,
    /// Samples during which something happened.
    pub(crate) labelled: usize,
}

/// A plot of the records of one metric, of one run or of several: the curve over a number (a size, a
/// count, `P` for the members of the group), or over the one that takes the most values, a line for
/// each combination of the rest and each run. What is measured between CPUs or nodes is a matrix, and
/// latency under load is drawn over the bandwidth that was there with it: [`takes`] says which records
/// that needs. Of records that differ in no number ([`is_distribution`]), see [`histogram`].
///
/// `asked` names the parameters whose values were chosen. Of a bandwidth, whose operations are many,
/// reads, writes and copies are drawn unless others were chosen.
///
/// # Errors
/// Says why there is nothing to plot, in one line.
pub fn plot(
    families: Families<'_>,
    sources: &[Source<'_>],
    over: Option<&str>,
    asked: &[&str],
) -> Result<Chart, String> {
    let records: Vec<&Record> = sources.iter().flat_map(|source| source.records.iter().copied()).collect();
    let Some(first) = records.first() else { return Err("there are no records of it".to_owned()) };
    runs::refuse_versions(sources)?;
    let shape = Shape::of(families, &first.id);
    if over.is_none()
        && let Shape::Loaded(ids) = shape
        && first.id == ids[0]
    {
        return loaded(ids, sources);
    }
    if records.iter().any(|r| r.id != first.id || r.unit != first.unit) {
        return Err("these are records of different metrics".to_owned());
    }
    if let Some(over) = over {
        let over = if over == "P" { WORKERS } else { over };
        let known = numbers(&records);
        if !known.contains(&over) {
            let known: Vec<&str> = known.iter().map(|n| if *n == WORKERS { "P" } else { n }).collect();
            return Err(format!("{} has no number '{over}' to plot over (known: {})", first.id, known.join(", ")));
        }
        return curve(sources, over, shape, asked);
    }
    if let Shape::Cores | Shape::Nodes = shape {
        return match sources {
            [only] => matrix(only, shape),
            many => Err(format!("a matrix is of one run, and {} are named", many.len())),
        };
    }
    let (over, values) = widest(&records).unwrap_or_default();
    if values >= 2 {
        return curve(sources, &over, shape, asked);
    }
    Err(format!("the points of {} differ in no number: there is no curve to plot", first.id))
}

/// Whether a plot of these records, over nothing that was named, would be a distribution: they differ
/// in no number, and are no matrix.
pub fn is_distribution(families: Families<'_>, records: &[&Record]) -> bool {
    let Some(first) = records.first() else { return false };
    let shape = Shape::of(families, &first.id);
    let curve = matches!(shape, Shape::Curve | Shape::Sizes | Shape::Bandwidth);
    curve && widest(records).is_none_or(|(_, values)| values < 2)
}

/// What a plot of a metric is, by the row of the hardware page that shows it.
#[derive(Clone, Copy)]
enum Shape<'a> {
    /// A curve over one of its numbers, or a distribution.
    Curve,
    /// As `Curve`, of a working set that caches hold or do not.
    Sizes,
    /// As `Sizes`, by operations of which not all are drawn.
    Bandwidth,
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
            Row::Caches(sizes) if belongs(id, sizes) => Some(Shape::Sizes),
            Row::Bandwidth(sizes) if belongs(id, sizes) => Some(Shape::Bandwidth),
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
fn loaded(ids: [&str; 3], sources: &[Source<'_>]) -> Result<Chart, String> {
    let named = runs::names(sources);
    let lines: Vec<Line> =
        sources.iter().zip(&named).flat_map(|(source, run)| loaded_lines(ids, source, run)).collect();
    let median_id = ids[0];
    let first = sources.iter().flat_map(|source| &source.records).find(|r| r.id == median_id);
    let Some(first) = first.filter(|_| !lines.is_empty()) else {
        return Err(format!("{median_id} was measured with its bandwidth at fewer than two paces"));
    };
    let ends = |of: fn(&Point) -> f64| -> Vec<f64> { lines.iter().flat_map(|l| l.points.iter().map(of)).collect() };
    let (mut xs, ys) = (ends(|p| p.x), ends(|p| p.y));
    xs.push(0.0);
    let x = Axis::over(&xs, Growth::Even, Scale::Bandwidth).named("bandwidth");
    let y = Axis::values(&ys, Growth::of(&ys), Scale::Time, 1.0).named("latency");
    Ok(Chart {
        title: first.summary.clone(),
        sources: runs::lines(sources),
        about: format!("{median_id} over the bandwidth that was there with it"),
        field: Field::Plane(Plane { lines, ..Plane::new(x, y) }),
    })
}

/// The median and the slowest twentieth of one run, of each kind of load.
fn loaded_lines([median_id, slow, bandwidth]: [&str; 3], source: &Source<'_>, run: &str) -> Vec<Line> {
    let with = |id: &str, of: &Record| {
        let same = |r: &&&Record| r.id == id && same_point(r, of);
        source.records.iter().find(same).and_then(|r| measured(r))
    };
    let is_median = |r: &&Record| r.id == median_id && measured(r).is_some();
    let mut main: Vec<&Record> = source.records.iter().copied().filter(is_median).collect();
    // The most spacious pace first; one that is no number is that without load.
    main.sort_by_key(|r| std::cmp::Reverse(r.params.int("pace").unwrap_or(u64::MAX)));
    let mut kinds: Vec<String> = main.iter().map(|r| point_without(r, &["pace"])).collect();
    kinds.sort();
    kinds.dedup();
    let mut lines = Vec::new();
    for kind in &kinds {
        let of_it: Vec<&&Record> = main.iter().filter(|r| point_without(r, &["pace"]) == *kind).collect();
        let label = |what: &str| {
            let kind = if kinds.len() > 1 { kind.as_str() } else { "" };
            [run, kind, what].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let median = of_it
            .iter()
            .filter_map(|r| Some(Point { x: with(bandwidth, r)?, y: measured(r)?, interval: r.ci_display }));
        lines.push(Line { label: label("median"), points: median.collect(), joined: true });
        let late =
            of_it.iter().filter_map(|r| Some(Point { x: with(bandwidth, r)?, y: with(slow, r)?, interval: None }));
        lines.push(Line { label: label("95 %"), points: late.collect(), joined: true });
    }
    lines.retain(|l| l.points.len() >= 2);
    lines
}

/// A matrix of CPUs or of nodes.
fn matrix(source: &Source<'_>, of: Shape<'_>) -> Result<Chart, String> {
    let records = &source.records[..];
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
    let mut about = format!("{id}, in {}", heat.unit());
    if let Some(groups) = heat.groups() {
        about += &format!("; groups: {groups}");
    }
    let of_protocol = |r: &&&Record| measured(r).is_some() && r.params.word("protocol") == protocol;
    let pair = records.iter().find(of_protocol).filter(|_| cores && heat.names.len() == 2);
    let sentence = pair.map(|record| one_pair(record, &heat, source.run.environment.get("cpu.count")));
    let sources = runs::lines(std::slice::from_ref(source));
    Ok(Chart { title: first.summary.clone(), sources, about, field: Field::Heat(heat, sentence) })
}

/// What a matrix of one pair of CPUs says.
fn one_pair(record: &Record, heat: &Heat, cpus: Option<&str>) -> String {
    let scale = Scale::of(record);
    let interval = record.ci_display.map(|[low, high]| format!(" (95 % interval {})", units::range(low, high, scale)));
    let only = if cpus == Some("2") { "With two CPUs there is one pair." } else { "No other pair was measured." };
    format!(
        "A cache line goes from CPU {} to CPU {} in {}{}. {only}",
        heat.names[0],
        heat.names[1],
        units::headline(record).unwrap_or_default(),
        interval.unwrap_or_default()
    )
}

/// The curves of a metric over one number.
fn curve(sources: &[Source<'_>], over: &str, shape: Shape<'_>, asked: &[&str]) -> Result<Chart, String> {
    let first = sources.iter().find_map(|source| source.records.first()).copied();
    let Some(first) = first else { return Err("there are no records of it".to_owned()) };
    let mut of_runs = Vec::new();
    for (source, run) in sources.iter().zip(runs::names(sources)) {
        let drawn = if let Shape::Bandwidth = shape { usual(&source.records, asked) } else { source.records.clone() };
        of_runs.extend(curves(&drawn, over).into_iter().map(|curve| (run.clone(), curve)));
    }
    of_runs.retain(|(_, curve)| curve.measured().len() >= 2);
    let (of_runs, curves): (Vec<String>, Vec<Curve<'_>>) = of_runs.into_iter().unzip();
    if curves.is_empty() {
        return Err(format!("{} was measured at fewer than two points over {}", first.id, x_label(over)));
    }
    let scale = Scale::of(first);
    let (xs, ys): (Vec<f64>, Vec<f64>) = curves.iter().flat_map(Curve::measured).unzip();
    let sizes = curves.iter().any(|c| c.sizes);
    let x_growth = if sizes { Growth::Doubling } else { Growth::of_counts(&xs) };
    let x = Axis::over(&xs, x_growth, if sizes { Scale::Size } else { Scale::Count }).named(x_label(over));
    let with_levels = if let [_] = sources { for_levels(&curves) } else { None };
    let levels = with_levels.map(plateaus).unwrap_or_default();
    // Levels are labelled below their line.
    let lowest = if levels.is_empty() { 1.0 } else { 0.5 };
    let y = Axis::values(&ys, Growth::of(&ys), scale, lowest).named(first.quantity.word());
    let of_caches = sizes && matches!(shape, Shape::Sizes | Shape::Bandwidth);
    let borders = if of_caches { borders(sources, &x) } else { Vec::new() };
    let densest = curves.iter().map(|c| c.measured().len()).max().unwrap_or(0);
    let words: Vec<Vec<String>> = of_runs.iter().zip(&curves).map(|(run, curve)| words(run, curve)).collect();
    let lines = curves.iter().zip(labels(&words)).map(|(c, label)| line(c, label, densest)).collect();
    Ok(Chart {
        title: first.summary.clone(),
        sources: runs::lines(sources),
        about: about(&curves, &words, first, over),
        field: Field::Plane(Plane { lines, levels, borders, ..Plane::new(x, y) }),
    })
}

/// The records of a bandwidth that are drawn when nobody asks for others: reads, writes and copies by
/// the fastest instructions. All, where none of these was measured.
fn usual<'a>(records: &[&'a Record], asked: &[&str]) -> Vec<&'a Record> {
    let only = |records: Vec<&'a Record>, name: &str, words: &[&str]| -> Vec<&'a Record> {
        let is_usual = |r: &&&Record| r.params.word(name).is_some_and(|word| words.contains(&word));
        let few: Vec<&Record> = records.iter().filter(is_usual).copied().collect();
        if few.is_empty() || asked.contains(&name) { records } else { few }
    };
    only(only(records.to_vec(), "op", &OPS), "kernel", &["best"])
}

/// The caches that the machine declares, where all machines declare the same.
fn borders(sources: &[Source<'_>], x: &Axis) -> Vec<Border> {
    let mut declared = sources.iter().map(|source| declared_caches(&source.run.environment));
    let Some(sizes) = declared.next().filter(|sizes| declared.all(|other| other == *sizes)) else { return Vec::new() };
    let inside = |size: &f64| (0.0..=1.0).contains(&x.place(*size));
    let border = |(size, name): (Option<f64>, _)| Some(Border { x: size.filter(inside)?, name });
    sizes.into_iter().zip(["L1d", "L2", "L3"]).filter_map(border).collect()
}

fn x_label(over: &str) -> &str {
    if over == WORKERS { "members of the worker group" } else { over }
}

/// A line of this many points is dense: beside it, one of half as many or fewer is not joined.
const DENSE: usize = 12;

fn line(curve: &Curve<'_>, label: String, densest: usize) -> Line {
    let point =
        |(x, record): &(u64, &Record)| Some(Point { x: *x as f64, y: measured(record)?, interval: record.ci_display });
    let points: Vec<Point> = curve.points.iter().filter_map(point).collect();
    let joined = densest < DENSE || points.len() * 2 > densest;
    Line { label, points, joined }
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

/// What is said of a curve besides its metric: the run, parameters, and the rest of its point.
fn words(run: &str, curve: &Curve<'_>) -> Vec<String> {
    let Some((_, record)) = curve.points.first() else { return Vec::new() };
    let mut words = vec![run.to_owned()];
    let params = crate::point::params(record).filter(|(name, _)| *name != curve.over);
    words.extend(params.map(|(name, text)| format!("{name}={text}")));
    let names: Vec<&str> = record.params.0.iter().map(|(name, _)| name.as_str()).collect();
    words.push(point_without(record, &[&names[..], &[curve.over.as_str()]].concat()));
    words.retain(|word| !word.is_empty());
    words
}

/// Whether all curves have this word.
fn shared(all: &[Vec<String>], word: &String) -> bool {
    all.iter().all(|words| words.contains(word))
}

/// What tells the curves apart: the words that not all share; of a parameter its value alone.
fn labels(all: &[Vec<String>]) -> Vec<String> {
    let value = |word: &String| word.split_once('=').map_or(word.as_str(), |(_, value)| value).to_owned();
    let own = |words: &Vec<String>| words.iter().filter(|w| !shared(all, w)).map(value).collect::<Vec<_>>().join(" ");
    all.iter().map(own).collect()
}

/// What is drawn: the metric, what the curves share, and how many points were measured.
fn about(curves: &[Curve<'_>], words: &[Vec<String>], first: &Record, over: &str) -> String {
    let points: usize = curves.iter().map(|c| c.measured().len()).sum();
    let planned: usize = curves.iter().map(|c| c.points.len()).sum();
    let mut text = format!("{} over {}", first.id, x_label(over));
    let all_share: Vec<&str> =
        words.iter().take(1).flatten().filter(|word| shared(words, word)).map(String::as_str).collect();
    if !all_share.is_empty() {
        text += &format!("; {}", all_share.join(" "));
    }
    if points < planned {
        text += &format!("; {points} of {planned} points measured");
    }
    text
}

impl Plane {
    /// Two axes and nothing between them.
    fn new(x: Axis, y: Axis) -> Plane {
        Plane {
            x,
            y,
            lines: Vec::new(),
            levels: Vec::new(),
            borders: Vec::new(),
            bars: Vec::new(),
            marks: Vec::new(),
            band: None,
        }
    }
}

impl Chart {
    /// The plot as an SVG document on a transparent ground, which follows the reader's choice of
    /// dark or light.
    pub fn svg(&self) -> String {
        svg::svg(&drawing::draw(self, drawing::Media::File))
    }

    /// The plot as the bytes of a PNG file on a white ground; `scale` 1 is 860 by 480 pixels, 2 is
    /// for dense screens.
    ///
    /// # Errors
    /// What the encoder says when it cannot.
    pub fn png(&self, scale: f32) -> Result<Vec<u8>, String> {
        png::png(&drawing::draw(self, drawing::Media::File), scale)
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
    use groma_model::{Labels, Placement, Quantity, RunHeader, State};

    static RUN: std::sync::LazyLock<RunHeader> = std::sync::LazyLock::new(fixtures::header);

    /// A plot of records of one run.
    fn of_run(records: &[&Record], over: Option<&str>) -> Result<Chart, String> {
        plot(fixtures::families(), &[Source { run: &RUN, called: "", records: records.to_vec() }], over, &[])
    }

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
        of_run(&records, over).expect("it was measured")
    }

    /// The only pair of a machine with two CPUs.
    fn pair() -> Chart {
        let record = fixtures::pairs(2, "cas1", |_, _| 53.0);
        of_run(&record.iter().collect::<Vec<_>>(), None).expect("a pair")
    }

    /// The run of another day.
    fn later() -> RunHeader {
        let (run, started) = ("20261122T080000Z-77aa".to_owned(), "2026-11-22T08:00:00Z".to_owned());
        RunHeader { run, started, ..RUN.clone() }
    }

    /// Latencies of two days: all sizes by one chain, and every fifth by the other.
    fn two_runs() -> Chart {
        let mut before = fixtures::records();
        before.retain(|r| r.id == "mem.latency");
        let mut nth = 0;
        before.retain(|r| {
            nth += 1;
            r.params.word("chain") == Some("amortised") || nth % 5 == 0
        });
        let mut after = before.clone();
        after.iter_mut().for_each(|r| r.value = r.value.map(|v| v * 1.5));
        let later = later();
        let sources = [
            Source { run: &RUN, called: "", records: before.iter().collect() },
            Source { run: &later, called: "", records: after.iter().collect() },
        ];
        plot(fixtures::families(), &sources, None, &[]).expect("curves")
    }

    fn lines_of(chart: &Chart) -> &[Line] {
        let Field::Plane(plane) = &chart.field else { panic!("it is no plane") };
        &plane.lines
    }

    pub(super) fn charts() -> Vec<(&'static str, Chart)> {
        let records = fixtures::records();
        let of = |id: &str, keep: fn(&Record) -> bool| -> Vec<&Record> {
            records.iter().filter(|r| r.id == id && keep(r)).collect()
        };
        let scaling =
            of("mem.bandwidth", |r| r.params.word("kernel") == Some("read") && r.params.int("size") == Some(512 << 20));
        vec![
            ("latency", of_run(&of("mem.latency", |_| true), None).expect("a curve")),
            ("bandwidth", of_run(&of("mem.bandwidth", |r| r.workers == 1), None).expect("curves")),
            ("scaling", of_run(&scaling, Some("P")).expect("a scaling curve")),
            (
                "histogram",
                histogram(&RUN, &fixtures::sampled(), fixtures::point("ipc.pipe_rtt").drops).expect("a distribution"),
            ),
            ("stores", survey("mem.bandwidth", None)),
            ("hierarchy", survey("mem.latency", None)),
            ("loaded", survey("mem.loaded_latency", None)),
            ("pair", pair()),
            ("runs", two_runs()),
            ("cores", survey("cpu.core_to_core", None)),
            ("nodes", of_run(&fixtures::nodes().iter().collect::<Vec<_>>(), None).expect("a matrix")),
            ("many", of_run(&fixtures::pairs(96, "cas1", many).iter().collect::<Vec<_>>(), None).expect("a matrix")),
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
    fn every_picture_names_machine_kernel_date_and_run() {
        for (name, chart) in charts() {
            // A line of the header may break anywhere.
            let text = chart.terminal(&Style::plain(80)).replace('\n', " ");
            let svg = chart.svg();
            for part in ["Xeon(R) Gold 6430", "Linux 6.18.2-amd64", "2026-11-21 07:38 UTC", &RUN.run] {
                assert!(svg.contains(part) && text.contains(part), "{name}: {part}: {text}");
            }
            assert!(text.starts_with(&chart.title), "{name}: {text}");
        }
    }

    #[test]
    fn what_is_drawn_is_explained() {
        let has = |chart: &Chart, text: &str| chart.svg().contains(text);
        let all: std::collections::BTreeMap<_, _> = charts().into_iter().collect();
        for (name, key, is) in [
            ("loaded", "bars: 95 % interval over rounds", false),
            ("runs", "rings: too few for a line", true),
            ("latency", "rings: ", false),
            ("latency", "dashes: levels measured; grey: caches declared", true),
            ("bandwidth", ">L2 2 MiB<", true),
            ("scaling", "grey: ", false),
            ("histogram", "band: 95 % interval over rounds", true),
            ("histogram", ">headline 4.83 µs ± 0.8 %<", true),
            ("histogram", ">disturbed<", false),
        ] {
            assert_eq!(has(&all[name], key), is, "{name}: {key}");
        }
        let mut wide = fixtures::record("mem.latency", "size=1 MiB", Quantity::Latency, 1e-8);
        wide.ci_display = Some([0.5e-8, 2e-8]);
        let other = fixtures::record("mem.latency", "size=2 MiB", Quantity::Latency, 1e-8);
        let chart = of_run(&[&wide, &other], None).expect("a curve");
        assert!(has(&chart, "bars: 95 % interval over rounds"));
    }

    #[test]
    fn few_points_beside_many_are_not_joined() {
        let chart = two_runs();
        let joined: Vec<(&str, bool)> = lines_of(&chart).iter().map(|l| (l.label.as_str(), l.joined)).collect();
        assert_eq!(
            joined,
            [
                ("2026-11-21 amortised", true),
                ("2026-11-21 included", false),
                ("2026-11-22 amortised", true),
                ("2026-11-22 included", false)
            ]
        );
        let few: usize = lines_of(&chart).iter().filter(|l| !l.joined).map(|l| l.points.len()).sum();
        assert_eq!(chart.svg().matches("fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\"").count(), few);
        // As many are, whatever their number.
        assert!(charts().iter().filter(|(name, _)| *name != "runs").all(|(_, chart)| match &chart.field {
            Field::Plane(plane) => plane.lines.iter().all(|line| line.joined),
            Field::Heat(..) => true,
        }));
    }

    #[test]
    fn of_a_bandwidth_reads_writes_and_copies_are_drawn_unless_others_are_asked_for() {
        let ops = ["read", "write", "write_nt", "copy", "rep_lods"];
        let record = |op: &str, kernel: &str, size: &str| {
            fixtures::record("mem.bandwidth", &format!("op={op} size={size} kernel={kernel}"), Quantity::Bandwidth, 1e9)
        };
        let mut records = Vec::new();
        for (op, kernel) in ops.iter().flat_map(|op| [(*op, "best"), (*op, "avx2")]) {
            records.extend(["16 KiB", "1 MiB"].map(|size| record(op, kernel, size)));
        }
        let labels = |records: &[Record], asked: &[&str]| -> Vec<String> {
            let source = [Source { run: &RUN, called: "", records: records.iter().collect() }];
            let chart = plot(fixtures::families(), &source, None, asked).expect("curves");
            lines_of(&chart).iter().map(|line| line.label.clone()).collect()
        };
        assert_eq!(labels(&records, &[]), ["read", "write", "copy"]);
        assert_eq!(labels(&records, &["op"]), ops);
        assert_eq!(labels(&records, &["op", "kernel"]).len(), 2 * ops.len());
        assert_eq!(labels(&records, &["size"]), ["read", "write", "copy"]);
        records.retain(|r| r.params.word("op") == Some("write_nt"));
        assert_eq!(labels(&records, &[]), [""]);
    }

    #[test]
    fn runs_whose_values_do_not_compare_are_refused() {
        let point = |size, version| {
            let r = fixtures::record("mem.latency", size, Quantity::Latency, 1e-9);
            Record { version, ..r }
        };
        let (a, b, c) = (point("size=1 MiB", 1), point("size=2 MiB", 1), point("size=1 MiB", 2));
        let later = later();
        let sources = [
            Source { run: &RUN, called: "", records: vec![&a, &b] },
            Source { run: &later, called: "", records: vec![&c] },
        ];
        assert_eq!(
            plot(fixtures::families(), &sources, None, &[]).map(|chart| chart.title),
            Err("mem.latency has version 1 in run 20261121T073812Z-5f3a and version 2 in run \
                 20261122T080000Z-77aa: their values do not compare"
                .to_owned())
        );
        let pairs = fixtures::pairs(4, "cas1", |_, _| 50.0);
        let source = |run| Source { run, called: "", records: pairs.iter().collect() };
        let two = [source(&RUN), source(&later)];
        assert_eq!(
            plot(fixtures::families(), &two, None, &[]).map(|chart| chart.title),
            Err("a matrix is of one run, and 2 are named".to_owned())
        );
    }

    #[test]
    fn two_cpus_are_a_sentence_on_a_terminal_and_a_matrix_in_a_picture() {
        let text = pair().terminal(&Style::plain(80));
        assert!(text.contains("from CPU 0 to CPU 1 in 53.0 ns (95 % interval 52.6–53.4 ns)"), "{text}");
        assert!(pair().svg().contains("<rect"));
        let all = fixtures::pairs(4, "cas1", |_, _| 50.0);
        let four = of_run(&all.iter().collect::<Vec<_>>(), None).expect("a matrix").terminal(&Style::plain(80));
        assert!(!four.contains("A cache line goes"), "{four}");
    }

    #[test]
    fn a_distribution_is_of_points_that_differ_in_no_number() {
        let families = fixtures::families();
        let point = |size| fixtures::record("ipc.pipe_rtt", size, Quantity::Latency, 1e-6);
        let (one, other) = (point("size=1 B"), point("size=2 B"));
        assert!(is_distribution(families, &[&one]) && is_distribution(families, &[&one, &one.clone()]));
        assert!(!is_distribution(families, &[&one, &other]) && !is_distribution(families, &[]));
        let pairs = fixtures::pairs(2, "cas1", |_, _| 50.0);
        assert!(!is_distribution(families, &pairs.iter().collect::<Vec<_>>()));
    }

    #[test]
    fn a_histogram_has_its_headline_and_its_modes_and_the_same_bars_in_any_form() {
        let mut record = fixtures::sampled();
        let drops = fixtures::point("ipc.pipe_rtt").drops;
        let modes = vec![(0.8, 4.83e-6), (0.2, 5.4e-6)];
        record.flags = vec![groma_model::Flag::Modes { between_rounds: false, modes }.to_string()];
        let chart = histogram(&RUN, &record, drops).expect("a distribution");
        let (svg, text) = (chart.svg(), chart.terminal(&Style::plain(100)));
        for part in ["headline 4.83 µs ± 0.8 %", "mode 4.83 µs, 80 %", "mode 5.40 µs, 20 %"] {
            assert!(svg.contains(part) && text.contains(part), "{part}: {text}");
        }
        let Field::Plane(plane) = &chart.field else { panic!("it has bars") };
        assert_eq!(text.lines().filter(|line| line.contains('│') || line.contains('┃')).count(), plane.bars.len() + 1);
        let drawn = plane.bars.iter().filter(|bar| bar.clean > 0).count();
        assert_eq!(svg.matches("<rect class=\"l0\"").count(), drawn);
        // A headline beyond the bars says so.
        record.value = Some(9e-6);
        record.ci_display = None;
        let text = histogram(&RUN, &record, drops).expect("a distribution").terminal(&Style::plain(100));
        assert!(text.contains("◄ beyond: headline 9.00 µs"), "{text}");
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
        let chart = of_run(&[&one, &two, &four], Some("P")).expect("a curve");
        let Field::Plane(plane) = &chart.field else { panic!("it is a curve") };
        let xs: Vec<Vec<f64>> = plane.lines.iter().map(|l| l.points.iter().map(|p| p.x).collect()).collect();
        assert_eq!(xs, [[1.0, 2.0, 4.0]]);
        // Those that somebody placed are another.
        let placed = of(2, Placement::Spread);
        assert!(of_run(&[&one, &placed], Some("P")).is_err());
    }

    #[test]
    fn what_cannot_be_plotted_says_why() {
        let why = |plot: Result<Chart, String>| plot.map(|chart| chart.title).expect_err("there is nothing to plot");
        assert_eq!(why(of_run(&[], None)), "there are no records of it");
        let one = fixtures::record("syscall.getppid", "", Quantity::Latency, 1e-7);
        assert!(why(of_run(&[&one], None)).contains("differ in no number"));
        let other = fixtures::record("syscall.read", "", Quantity::Latency, 1e-7);
        assert!(why(of_run(&[&one, &other], None)).contains("different metrics"));
        let point = |size| {
            let r = fixtures::record("mem.latency", size, Quantity::Latency, 1e-9);
            fixtures::without(r, State::Unresolved, "not reached")
        };
        let (a, b) = (point("size=1 MiB"), point("size=2 MiB"));
        assert!(why(of_run(&[&a, &b], None)).contains("fewer than two points"));
        assert_eq!(
            why(of_run(&[&a, &b], Some("stride"))),
            "mem.latency has no number 'stride' to plot over (known: size, P)"
        );
        assert!(why(of_run(&[&a, &b], Some("P"))).contains("fewer than two points over members"));
        assert!(why(histogram(&RUN, &one, Labels::NONE)).contains("not kept"));
    }
}
