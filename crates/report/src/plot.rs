//! Plots: records become a [`Chart`], and a chart becomes an SVG, a PNG or terminal text.
//!
//! A chart describes what to show; where marks go is decided once for SVG and PNG
//! (`plot/drawing.rs`), and once for the character grid of a terminal. Lines and levels are
//! labelled directly, so there is no legend.

mod axis;
mod curve;
mod drawing;
mod heat;
mod histogram;
mod interactive;
mod marks;
#[cfg(feature = "png")]
mod png;
mod published;
mod relative;
mod runs;
mod series;
mod svg;
mod terminal;

pub(crate) use histogram::distribution;
pub use histogram::histogram;
pub(crate) use interactive::colours;
pub use runs::Source;
pub use series::trend_chart;

use groma_analysis::curve::{numbers, widest};
use groma_analysis::matrix::{Matrix, protocol};
use groma_analysis::point::{WORKERS, measured_value, same_point};
use groma_model::family::Row;
use groma_model::{Families, Record, is_metric_of};

use crate::point::point_without;
use crate::style::Style;
use crate::units::{self, Scale};
use axis::{Axis, Growth};
use curve::curve;
use heat::Heat;

/// A title, the sources, and a plane or a matrix.
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    /// Machine, date and run, in lines: a picture sent by mail must say what it shows.
    sources: Vec<String>,
    /// The metric, what its points share, and what is missing.
    about: String,
    field: Field,
}

#[derive(Clone, Debug)]
enum Field {
    Plane(Plane),
    /// A matrix. With two CPUs there is a single pair, which is given as a sentence.
    Heat(Heat, Option<String>),
}

/// Two axes with lines or bars between them.
#[derive(Clone, Debug)]
struct Plane {
    x: Axis,
    y: Axis,
    lines: Vec<Line>,
    levels: Vec<Plateau>,
    /// The declared ends of caches.
    borders: Vec<Border>,
    bars: Vec<Bar>,
    /// Named positions of a distribution, the headline first.
    marks: Vec<Mark>,
    /// The interval of a distribution's headline.
    band: Option<[f64; 2]>,
    /// The values of runs, and the levels between changes.
    series: Option<Values>,
}

/// The values of one metric over runs.
#[derive(Clone, Debug)]
struct Values {
    points: Vec<Point>,
    /// Start, end and height of each level.
    levels: Vec<[f64; 3]>,
    /// Where the level changed, with a label.
    changes: Vec<Mark>,
}

/// Points in order.
#[derive(Clone, Debug)]
struct Line {
    label: String,
    points: Vec<Point>,
    /// Whether the points are joined. A few points between many of another line would cut its
    /// corners.
    joined: bool,
}

/// The declared size of a cache.
#[derive(Clone, Debug)]
struct Border {
    x: f64,
    /// `L2`.
    name: &'static str,
}

/// A named position of a distribution.
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

/// A bin of a distribution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Samples without a label.
    pub(crate) clean: usize,
    /// Samples with a label.
    pub(crate) labelled: usize,
}

/// Plots the records of one metric, of one or more runs, as curves over a number (a size, a time, a
/// count, `P` for the size of the group), by default over the one with the most values, with a line
/// for each combination of the rest and each run. Measurements between CPUs or nodes become a
/// matrix, and latency under load is drawn over the bandwidth measured with it: [`takes`] says
/// which records that needs. For records that differ in no number ([`is_distribution`]), see
/// [`histogram`].
///
/// `asked` names the parameters whose values were selected. A bandwidth has many operations; reads,
/// writes and copies are drawn unless others were selected.
///
/// # Errors
/// Why there is nothing to plot, in one line.
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

/// Whether a plot of these records, over no particular number, is a distribution: they differ in no
/// number, and are not a matrix.
pub fn is_distribution(families: Families<'_>, records: &[&Record]) -> bool {
    let Some(first) = records.first() else { return false };
    let shape = Shape::of(families, &first.id);
    let curve = matches!(shape, Shape::Curve | Shape::Sizes | Shape::Bandwidth);
    curve && widest(records).is_none_or(|(_, values)| values < 2)
}

/// The kind of plot of a metric, by the hardware page row that shows it.
#[derive(Clone, Copy)]
enum Shape<'a> {
    /// A curve over one of its numbers, or a distribution.
    Curve,
    /// Like `Curve`, over working sets that may exceed caches.
    Sizes,
    /// Like `Sizes`, by operation, only some of which are drawn.
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
            Row::LoadedLatency { median, p95, bandwidth } if is_metric_of(id, median) => {
                Some(Shape::Loaded([median, p95, bandwidth]))
            }
            Row::Transfers(cores) if is_metric_of(id, cores) => Some(Shape::Cores),
            Row::Nodes(nodes) if is_metric_of(id, nodes) => Some(Shape::Nodes),
            Row::Caches(sizes) if is_metric_of(id, sizes) => Some(Shape::Sizes),
            Row::Bandwidth(sizes) if is_metric_of(id, sizes) => Some(Shape::Bandwidth),
            _ => None,
        };
        families.rows().iter().find_map(shape).unwrap_or(Shape::Curve)
    }
}

/// Whether a plot of a metric uses the records of this id: its own, and for latency under load all
/// metrics measured with it.
pub fn takes(families: Families<'_>, metric: &str, id: &str) -> bool {
    let loaded = || matches!(Shape::of(families, metric), Shape::Loaded([median, ..]) if metric == median);
    id == metric || is_metric_of(id, metric) && loaded()
}

/// Latency over the bandwidth measured with it, joined in the order of the pace. Not over the pace,
/// whose numbers mean nothing on another machine.
fn loaded(ids: [&str; 3], sources: &[Source<'_>]) -> Result<Chart, String> {
    let named = runs::names(sources);
    let lines: Vec<Line> =
        sources.iter().zip(&named).flat_map(|(source, run)| loaded_lines(ids, source, run)).collect();
    let median_id = ids[0];
    let first = sources.iter().flat_map(|source| &source.records).find(|r| r.id == median_id);
    let Some(first) = first.filter(|_| !lines.is_empty()) else {
        return Err(format!("{median_id} was measured at one pace only, as a survey does: groma run {median_id}"));
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

/// The median and the 95th percentile of one run, for each kind of load.
fn loaded_lines([median_id, slow, bandwidth]: [&str; 3], source: &Source<'_>, run: &str) -> Vec<Line> {
    let with = |id: &str, of: &Record| {
        let same = |r: &&&Record| r.id == id && same_point(r, of);
        source.records.iter().find(same).and_then(|r| measured_value(r))
    };
    let is_median = |r: &&Record| r.id == median_id && measured_value(r).is_some();
    let mut main: Vec<&Record> = source.records.iter().copied().filter(is_median).collect();
    // The longest pace first; one that is not a number means no load.
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
            .filter_map(|r| Some(Point { x: with(bandwidth, r)?, y: measured_value(r)?, interval: r.ci_display }));
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
    let of_protocol = |r: &&&Record| measured_value(r).is_some() && r.params.word("protocol") == protocol;
    let pair = records.iter().find(of_protocol).filter(|_| cores && heat.names.len() == 2);
    let sentence = pair.map(|record| one_pair(record, &heat, source.run.environment.get("cpu.count")));
    let sources = runs::lines(std::slice::from_ref(source));
    Ok(Chart { title: first.summary.clone(), sources, about, field: Field::Heat(heat, sentence) })
}

/// The sentence about a matrix with one pair of CPUs.
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

impl Plane {
    /// Two empty axes.
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
            series: None,
        }
    }
}

impl Chart {
    /// The plot as an SVG document on a transparent background, which follows the reader's dark or
    /// light mode.
    pub fn svg(&self) -> String {
        svg::svg(&drawing::draw(self, drawing::Media::File))
    }

    /// The plot as the bytes of a PNG file on a white background. `scale` 1 is 860 by 480 pixels; 2
    /// suits high-density screens.
    ///
    /// # Errors
    /// The encoder's message on failure.
    #[cfg(feature = "png")]
    pub fn png(&self, scale: f32) -> Result<Vec<u8>, String> {
        png::png(&drawing::draw(self, drawing::Media::File), scale)
    }

    /// The plot as text, `style.width` columns wide.
    pub fn terminal(&self, style: &Style) -> String {
        terminal::terminal(self, style)
    }

    /// As [`Chart::terminal`], without title and sources, below a text that gives them.
    pub fn terminal_alone(&self, style: &Style) -> String {
        terminal::field(self, style)
    }
}

#[cfg(test)]
mod tests;
