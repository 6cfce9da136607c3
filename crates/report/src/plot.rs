//! Plots: from records a [`Chart`], from a chart an SVG, a PNG or text for a terminal.
//!
//! A chart says what there is to see; where the ink goes is decided once (`plot/drawing.rs`) for SVG and PNG, and once for the
//! grid of characters of a terminal. Lines and levels carry their labels themselves, so there is no legend to look up.

mod axis;
mod drawing;
mod png;
mod svg;
mod terminal;

use groma_model::{Quantity, Record, Sample, Series};

use crate::curve::{Curve, curves, for_levels, levels, numbers, widest};
use crate::point::{WORKERS, name, point_without};
use crate::style::Style;
use crate::units::{self, Scale};
use axis::{Axis, Growth};

/// What there is to see: a title, two axes, and lines or bars.
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    subtitle: String,
    x: Axis,
    y: Axis,
    lines: Vec<Line>,
    levels: Vec<Plateau>,
    bars: Vec<Bar>,
}

/// A line through points, the smallest x first.
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

/// A plot of the records of one metric: of several points, the curve over a number (a size, a count, `P` for the members of the
/// crew), or over the one that takes the most values, a line for each combination of the rest; of one that carries its raw
/// samples, their [`histogram`].
///
/// # Errors
/// Says why there is nothing to plot, in one line.
pub fn plot(records: &[&Record], over: Option<&str>) -> Result<Chart, String> {
    let Some(first) = records.first() else { return Err("there are no records of it".to_owned()) };
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
        title: format!("{} over {}", first.id, x_label(over)),
        subtitle: subtitle(&curves, first),
        x,
        y,
        lines,
        levels: plateaus,
        bars: Vec::new(),
    })
}

fn x_label(over: &str) -> &str {
    if over == WORKERS { "members of the crew" } else { over }
}

fn line(curve: &Curve<'_>, label: String) -> Line {
    let points = curve.points.iter().filter_map(|(x, record)| {
        let y = crate::point::measured(record)?;
        Some(Point { x: *x as f64, y, interval: record.ci_display })
    });
    Line { label, points: points.collect() }
}

fn plateaus(curve: &Curve<'_>) -> Vec<Plateau> {
    let plateau = |level: crate::curve::Level| {
        let capacity = level.capacity.map(|c| format!(" {}", units::value(c, Scale::Size, None)));
        let cycles = level.cycles.map(|c| format!(", {}", units::cycles(c)));
        let time = units::value(level.latency, Scale::Time, None);
        Plateau {
            from: level.span[0],
            to: level.span[1],
            y: level.latency,
            name: level.name + &capacity.unwrap_or_default(),
            cost: time + &cycles.unwrap_or_default(),
        }
    };
    levels(curve).into_iter().map(plateau).collect()
}

/// What tells the curves apart: the words of their points that not all share; of a parameter its value alone.
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

/// What the curves share, and how many points they have.
fn subtitle(curves: &[Curve<'_>], first: &Record) -> String {
    let points: usize = curves.iter().map(|c| c.measured().len()).sum();
    let planned: usize = curves.iter().map(|c| c.points.len()).sum();
    let mut text = first.summary.clone();
    if let [only] = curves
        && !only.rest.is_empty()
    {
        text += &format!("; {}", only.rest);
    }
    if points < planned { format!("{text}; {points} of {planned} points were measured") } else { text }
}

/// Stretches that a histogram is cut into.
const BARS: usize = 40;

/// The distribution of the raw samples of one metric, by the time, rate or value of each. It reaches as far as the
/// undisturbed samples do, but for the half percent of them that lies outermost on either side; the rest is counted.
///
/// # Errors
/// Says that the record does not carry its samples, or too few.
pub fn histogram(record: &Record) -> Result<Chart, String> {
    let what = name(record);
    let Some(rounds) = &record.round_samples else { return Err(format!("the raw samples of {what} were not kept")) };
    let main = |series: &&Series| series.name.is_empty();
    let all: Vec<(f64, bool)> = rounds
        .iter()
        .filter_map(|round| round.result.series.iter().find(main).or(round.result.series.first()))
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
        title: what,
        subtitle: format!(
            "{} samples of {} rounds, {labelled} disturbed; {below} lie below and {beyond} beyond, up to {}",
            values.len(),
            rounds.len(),
            units::value(largest, scale, None),
        ),
        x: Axis::over(&[low, high], Growth::of(&[low, high]), scale).named(record.quantity.word()),
        y: Axis::values(&[0.0, most], Growth::Even, Scale::Count, 1.0).named("samples"),
        lines: Vec::new(),
        levels: Vec::new(),
        bars,
    })
}

/// What each sample says, in the unit of the quantity, and whether it carries a label.
fn samples(series: &Series, quantity: Quantity) -> Vec<(f64, bool)> {
    let value = |s: &Sample| {
        let (seconds, units) = (s.elapsed_ns as f64 * 1e-9, s.iters as f64 * series.per_iter);
        if quantity == Quantity::Latency { seconds / units } else { units / seconds }
    };
    let sampled = series.samples.iter().map(|s| (value(s), !s.labels.letters().is_empty()));
    sampled.chain(series.values.iter().map(|v| (*v, false))).collect()
}

impl Chart {
    /// The plot as an SVG document on a transparent ground, which follows the reader's choice of dark or light.
    pub fn svg(&self) -> String {
        svg::svg(&drawing::draw(self))
    }

    /// The plot as the bytes of a PNG file on a white ground; `scale` 1 is 860 by 480 pixels, 2 is for dense screens.
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

    pub(super) fn charts() -> Vec<(&'static str, Chart)> {
        let records = fixtures::records();
        let of = |id: &str, keep: fn(&Record) -> bool| -> Vec<&Record> {
            records.iter().filter(|r| r.id == id && keep(r)).collect()
        };
        let scaling =
            of("mem.bandwidth", |r| r.params.word("kernel") == Some("read") && r.params.int("size") == Some(512 << 20));
        vec![
            ("latency", plot(&of("mem.latency", |_| true), None).expect("a curve")),
            ("bandwidth", plot(&of("mem.bandwidth", |r| r.workers == 1), None).expect("curves")),
            ("scaling", plot(&scaling, Some("P")).expect("a scaling curve")),
            ("histogram", plot(&[&fixtures::sampled()], None).expect("a distribution")),
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
    fn one_alone_and_crews_that_nobody_placed_are_one_curve() {
        let crew = |workers, placement| Record {
            workers,
            placement,
            ..fixtures::record("syscall.getppid", "", Quantity::Latency, 1e-7)
        };
        let (one, two, four) = (crew(1, Placement::Pinned), crew(2, Placement::Free), crew(4, Placement::Free));
        let chart = plot(&[&one, &two, &four], Some("P")).expect("a curve");
        let xs: Vec<Vec<f64>> = chart.lines.iter().map(|l| l.points.iter().map(|p| p.x).collect()).collect();
        assert_eq!(xs, [[1.0, 2.0, 4.0]]);
        // Those that somebody placed are another.
        let placed = crew(2, Placement::Spread);
        assert!(plot(&[&one, &placed], Some("P")).is_err());
    }

    #[test]
    fn what_cannot_be_plotted_says_why() {
        let why = |plot: Result<Chart, String>| plot.map(|chart| chart.title).expect_err("there is nothing to plot");
        assert_eq!(why(plot(&[], None)), "there are no records of it");
        let one = fixtures::record("syscall.getppid", "", Quantity::Latency, 1e-7);
        assert!(why(plot(&[&one], None)).contains("only one point"));
        let other = fixtures::record("syscall.read", "", Quantity::Latency, 1e-7);
        assert!(why(plot(&[&one, &other], None)).contains("different metrics"));
        let point = |size| {
            let r = fixtures::record("mem.latency", size, Quantity::Latency, 1e-9);
            fixtures::without(r, State::Unresolved, "not reached")
        };
        let (a, b) = (point("size=1 MiB"), point("size=2 MiB"));
        assert!(why(plot(&[&a, &b], None)).contains("fewer than two points"));
        assert_eq!(
            why(plot(&[&a, &b], Some("stride"))),
            "mem.latency has no number 'stride' to plot over (known: size, P)"
        );
        assert!(why(plot(&[&a, &b], Some("P"))).contains("fewer than two points over members"));
        assert!(why(histogram(&one)).contains("not kept"));
    }
}
