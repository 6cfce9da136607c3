//! The latency curve as a picture of a few lines, labelled with its levels.

use groma_analysis::curve::{Curve, Level};

use super::strip::Strip;
use crate::point::level_name;
use crate::style::{Ink, Style};
use crate::units;

/// Lines of the picture, without the line of sizes.
const ROWS: usize = 5;
/// Columns on the left, for the names of levels and their latency.
const LABELS: usize = 17;
/// A point this near to a level, as a fraction of it, is drawn on the level.
const ON_LEVEL: f64 = 0.03;
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The picture of a curve with these levels; empty without levels.
pub(crate) fn picture(curve: &Curve<'_>, levels: &[Level], style: &Style) -> Vec<Strip> {
    let points = curve.measured_points();
    let (Some(first), Some(last)) = (levels.first(), levels.last()) else { return Vec::new() };
    let columns = style.width.saturating_sub(LABELS + 1);
    if points.len() < 2 || columns < points.len() || first.latency <= 0.0 || last.latency <= first.latency {
        return Vec::new();
    }
    // Heights on a logarithmic scale, with the first level one line high.
    let (low, high) = (first.latency.ln(), points.iter().map(|(_, y)| y.ln()).fold(f64::MIN, f64::max));
    let height = |latency: f64| {
        let share = (latency.max(first.latency).ln() - low) / (high - low).max(f64::MIN_POSITIVE);
        8.0 + share * 8.0 * (ROWS - 1) as f64
    };
    let (from, to) = (points[0].0.ln(), points[points.len() - 1].0.ln());
    let size_at = |column: usize| (from + (to - from) * column as f64 / (columns - 1) as f64).exp();
    let column_of = |size: f64| ((size.ln() - from) / (to - from) * (columns - 1) as f64).round() as usize;
    // Each column shows the nearest point. A point near a level is drawn on it, since noise of an
    // eighth of a line would leave a hole.
    let on_level = |latency: f64| {
        let is_near = |level: &&Level| (latency / level.latency - 1.0).abs() < ON_LEVEL;
        levels.iter().find(is_near).map_or(latency, |level| level.latency)
    };
    let near = |column: usize| {
        let size = size_at(column).ln();
        let distance = |x: f64| (x.ln() - size).abs();
        points.iter().min_by(|a, b| distance(a.0).total_cmp(&distance(b.0))).map_or(0.0, |(_, y)| on_level(*y))
    };
    let heights: Vec<usize> = (0..columns).map(|column| height(near(column)).round() as usize).collect();
    let row_of = |level: &Level| ((height(level.latency) / 8.0).ceil() as usize).clamp(1, ROWS);
    let mut rows = Vec::new();
    for row in (1..=ROWS).rev() {
        let here = levels.iter().filter(|level| row_of(level) == row);
        let name = here.map(|level| format!("{} {}", level_name(level.rank), units::time(level.latency)));
        let name = name.collect::<Vec<_>>().join(", ");
        let blocks: String = heights.iter().map(|height| block(height.saturating_sub(8 * (row - 1)), style)).collect();
        let label = Strip::plain(style, "  ").then(Strip::plain(style, &name)).to(LABELS + 1);
        rows.push(label.then(Strip::of_ink(style, Ink::First, &blocks)));
    }
    rows.push(sizes(levels, &points, &column_of, style));
    rows
}

/// A block character filled to this many eighths.
fn block(eighths: usize, style: &Style) -> char {
    match (eighths, style.unicode) {
        (0, _) => ' ',
        (1..=8, true) => EIGHTHS[eighths - 1],
        (_, true) => EIGHTHS[7],
        (1..=4, false) => '.',
        (_, false) => '#',
    }
}

/// The line of sizes: the ends of the curve, and the ends of levels.
fn sizes(levels: &[Level], points: &[(f64, f64)], column_of: &dyn Fn(f64) -> usize, style: &Style) -> Strip {
    let mut marks: Vec<f64> = vec![points[0].0, points[points.len() - 1].0];
    marks.extend(levels.iter().filter_map(|level| level.capacity));
    marks.sort_by(f64::total_cmp);
    let mut strip = Strip::plain(style, "");
    for size in marks {
        let text = units::size(size);
        let start = (LABELS + 1 + column_of(size) + 1).saturating_sub(text.len());
        // If two sizes would touch, the first one stays.
        if strip.width() == 0 || start > strip.width() {
            strip = strip.to(start).then(Strip::new(style, Ink::Faint, &text));
        }
    }
    strip
}
