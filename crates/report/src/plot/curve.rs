//! The curves of a metric over one of its numbers as a chart: a line each, labelled by what
//! distinguishes it, with the levels and borders of caches.

use groma_analysis::claims::declared_caches;
use groma_analysis::curve::{Curve, Level, curves, for_levels, levels};
use groma_analysis::point::{Numbers, WORKERS, measured_value};
use groma_model::Record;
use groma_stats::Order;

use super::axis::{Axis, Growth};
use super::{Border, Chart, Field, Line, Plane, Plateau, Point, Shape, Source, runs};
use crate::hardware::OPS;
use crate::point::{level_name, point_without};
use crate::units::{self, Scale};

/// The curves of a metric over one number.
pub(super) fn curve(sources: &[Source<'_>], over: &str, shape: Shape<'_>, asked: &[&str]) -> Result<Chart, String> {
    let first = sources.iter().find_map(|source| source.records.first()).copied();
    let Some(first) = first else { return Err("there are no records of it".to_owned()) };
    let mut of_runs = Vec::new();
    for (source, run) in sources.iter().zip(runs::names(sources)) {
        let drawn = if let Shape::Bandwidth = shape { usual(&source.records, asked) } else { source.records.clone() };
        of_runs.extend(curves(&drawn, over).into_iter().map(|curve| (run.clone(), curve)));
    }
    of_runs.retain(|(_, curve)| curve.measured_points().len() >= 2);
    let (of_runs, curves): (Vec<String>, Vec<Curve<'_>>) = of_runs.into_iter().unzip();
    if curves.is_empty() {
        return Err(format!("{} was measured at fewer than two points over {}", first.id, x_label(over)));
    }
    let scale = Scale::of(first);
    let (xs, ys): (Vec<f64>, Vec<f64>) = curves.iter().flat_map(Curve::measured_points).unzip();
    let numbers = curves[0].numbers;
    let x = match numbers {
        Numbers::Sizes => Axis::over(&xs, Growth::Doubling, Scale::Size),
        Numbers::Times => Axis::over(&xs, Growth::of(&xs), Scale::Time),
        Numbers::Counts => Axis::of_counts(&xs),
    };
    let x = x.named(x_label(over));
    let with_levels = if let [_] = sources { for_levels(&curves) } else { None };
    let levels = with_levels.map(plateaus).unwrap_or_default();
    // Levels are labelled below their line, which needs room.
    let lowest = if levels.is_empty() { 1.0 } else { 0.5 };
    let y = Axis::values(&ys, Growth::of(&ys), scale, lowest).named(first.quantity.word());
    let of_caches = numbers == Numbers::Sizes && matches!(shape, Shape::Sizes | Shape::Bandwidth);
    let borders = if of_caches { borders(sources, &x) } else { Vec::new() };
    let densest = curves.iter().map(|c| c.measured_points().len()).max().unwrap_or(0);
    let words: Vec<Vec<String>> = of_runs.iter().zip(&curves).map(|(run, curve)| words(run, curve)).collect();
    let mut lines: Vec<Line> = curves.iter().zip(labels(&words)).map(|(c, label)| line(c, label, densest)).collect();
    let mut about = about(&curves, &words, first, over);
    if let Shape::Curve = shape {
        about += &growth(&curves, &lines);
    }
    if of_caches && lines.iter().any(|line| is_coarse(&line.points)) {
        about += &format!("; more sizes: groma run {}", first.id);
        lines.iter_mut().for_each(|line| line.joined &= !is_coarse(&line.points));
    }
    Ok(Chart {
        title: first.summary.clone(),
        sources: runs::lines(sources),
        about,
        field: Field::Plane(Plane { lines, levels, borders, ..Plane::new(x, y) }),
    })
}

/// The records of a bandwidth to draw by default: reads, writes and copies by the fastest
/// instructions. All, if none of these was measured.
fn usual<'a>(records: &[&'a Record], asked: &[&str]) -> Vec<&'a Record> {
    let only = |records: Vec<&'a Record>, name: &str, words: &[&str]| -> Vec<&'a Record> {
        let is_usual = |r: &&&Record| r.params.word(name).is_some_and(|word| words.contains(&word));
        let few: Vec<&Record> = records.iter().filter(is_usual).copied().collect();
        if few.is_empty() || asked.contains(&name) { records } else { few }
    };
    only(only(records.to_vec(), "op", &OPS), "kernel", &["best"])
}

/// The declared caches, if all machines declare the same.
fn borders(sources: &[Source<'_>], x: &Axis) -> Vec<Border> {
    let mut declared = sources.iter().map(|source| declared_caches(&source.run.environment));
    let Some(sizes) = declared.next().filter(|sizes| declared.all(|other| other == *sizes)) else { return Vec::new() };
    let inside = |size: &f64| (0.0..=1.0).contains(&x.position(*size));
    let border = |(size, name): (Option<f64>, _)| Some(Border { x: size.filter(inside)?, name });
    sizes.into_iter().zip(["L1d", "L2", "L3"]).filter_map(border).collect()
}

fn x_label(over: &str) -> &str {
    if over == WORKERS { "members of the worker group" } else { over }
}

/// A line with this many points is dense: next to it, one with at most half as many is not joined.
const DENSE: usize = 12;

/// Whether sizes are too far apart to join: by more than a factor of 8 on average, which skips a
/// cache or two. The slope of such a line would be meaningless.
fn is_coarse(points: &[Point]) -> bool {
    const DOUBLINGS: f64 = 3.0;
    let [first, .., last] = points else { return false };
    (last.x / first.x).log2() > DOUBLINGS * (points.len() - 1) as f64
}

fn line(curve: &Curve<'_>, label: String, densest: usize) -> Line {
    let point = |(x, record): &(u64, &Record)| {
        Some(Point { x: curve.numbers.in_units(*x), y: measured_value(record)?, interval: record.ci_display })
    };
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

/// How the costs of curves grow, for a few of them: their labels and formulas.
fn growth(curves: &[Curve<'_>], lines: &[Line]) -> String {
    /// More would fill the picture's subtitle.
    const MAX_CURVES: usize = 4;
    let formula = |(curve, line): (&Curve<'_>, &Line)| {
        let fit = curve.cost_growth()?;
        let term = match fit.order {
            Order::Constant => String::new(),
            order => format!("{} \u{d7} {}", units::time(fit.slope), order.word()),
        };
        let base = if fit.base > 0.0 { units::time(fit.base) } else { String::new() };
        let sum: Vec<String> = [base, term].into_iter().filter(|part| !part.is_empty()).collect();
        let or = fit.or.map(|or| format!(", or as {}", or.word())).unwrap_or_default();
        let label = if line.label.is_empty() { String::new() } else { format!("{} ", line.label) };
        Some(format!("; {label}costs {} (\u{b1} {:.0} %{or})", sum.join(" + "), (fit.error * 100.0).ceil()))
    };
    if curves.len() > MAX_CURVES { String::new() } else { curves.iter().zip(lines).filter_map(formula).collect() }
}

/// The words that describe a curve besides its metric: the run, parameters, and the rest of its
/// point.
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

/// The labels of curves: the words that not all share; for a parameter only its value.
fn labels(all: &[Vec<String>]) -> Vec<String> {
    let value = |word: &String| word.split_once('=').map_or(word.as_str(), |(_, value)| value).to_owned();
    let own = |words: &Vec<String>| words.iter().filter(|w| !shared(all, w)).map(value).collect::<Vec<_>>().join(" ");
    all.iter().map(own).collect()
}

/// The subtitle: the metric, what the curves share, and how many points were measured.
fn about(curves: &[Curve<'_>], words: &[Vec<String>], first: &Record, over: &str) -> String {
    let points: usize = curves.iter().map(|c| c.measured_points().len()).sum();
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
