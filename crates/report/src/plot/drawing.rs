//! Where the ink of a chart goes, in pixels: shared by SVG and PNG. Knows no colours, only what a mark stands for.

use super::axis::Axis;
use super::{Bar, Chart, Line, Plateau};
use crate::style::{Style, columns};

/// What a mark stands for; each back end has a colour for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// Text to be read first.
    Text,
    /// Text to be read second.
    Faint,
    /// The lines behind everything.
    Grid,
    /// The base line and marks of extent.
    Axis,
    /// A line of the chart, and its label.
    Line(usize),
    /// Undisturbed samples.
    Bar,
    /// Disturbed samples.
    Disturbed,
}

/// On which side of its point a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A mark.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Stroke { points: Vec<(f64, f64)>, width: f64, dashed: bool, paint: Paint },
    Dot { x: f64, y: f64, radius: f64, paint: Paint },
    Rect { x: f64, y: f64, width: f64, height: f64, paint: Paint },
    Text { x: f64, y: f64, text: String, size: u32, bold: bool, anchor: Anchor, paint: Paint },
}

/// The marks of a chart, from back to front, and what it is called.
pub(super) struct Drawing {
    pub(super) title: String,
    pub(super) shapes: Vec<Shape>,
}

/// Pixels of a drawing.
pub(super) const WIDTH: f64 = 860.0;
/// See [`WIDTH`].
pub(super) const HEIGHT: f64 = 480.0;

const TOP: f64 = 82.0;
const BOTTOM: f64 = HEIGHT - 52.0;
const SIZE: u32 = 12;
/// What a character of [`SIZE`] takes, on the wide side.
const CHARACTER: f64 = 7.3;
const LEADING: f64 = 16.0;

pub(super) fn draw(chart: &Chart) -> Drawing {
    let y_ticks = chart.y.ticks(10);
    let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0) as f64 * CHARACTER;
    let left = 18.0 + widest(&mut y_ticks.iter().map(|t| columns(&t.1))).max(30.0);
    let ends = end_labels(chart);
    let beside = widest(&mut ends.iter().flat_map(|e| e.texts.iter().map(|t| columns(&t.0))));
    let right = WIDTH - (beside + 18.0).max(28.0);
    let mut page = Page { left, right, x: &chart.x, y: &chart.y, shapes: Vec::new() };

    page.text(left - 4.0, 26.0, &chart.title, 17, true, Anchor::Start, Paint::Text);
    let room = ((WIDTH - left) / (CHARACTER * 0.93)) as usize;
    let subtitle = Style::plain(room).cut(&chart.subtitle, room);
    page.text(left - 4.0, 46.0, &subtitle, SIZE, false, Anchor::Start, Paint::Faint);
    page.axes(&y_ticks);
    for bar in &chart.bars {
        page.bar(bar);
    }
    if chart.bars.iter().any(|b| b.labelled > 0) {
        page.text(right, TOP + 12.0, "undisturbed", SIZE, true, Anchor::End, Paint::Bar);
        page.text(right, TOP + 12.0 + LEADING, "disturbed", SIZE, true, Anchor::End, Paint::Disturbed);
    }
    for plateau in &chart.levels {
        page.plateau(plateau);
    }
    for (i, line) in chart.lines.iter().enumerate().rev() {
        page.line(i, line);
    }
    page.ends(ends);
    Drawing { title: chart.title.clone(), shapes: page.shapes }
}

/// What is written at the end of a line.
struct EndLabel {
    /// Where the line ends.
    value: f64,
    texts: Vec<(String, bool, Paint)>,
}

/// The labels of lines, and below that of the line with levels the level on which it ends.
fn end_labels(chart: &Chart) -> Vec<EndLabel> {
    let last_level = chart.levels.iter().find(|level| Some(level.to) == last_x(chart));
    let mut ends = Vec::new();
    for (i, line) in chart.lines.iter().enumerate() {
        let Some(last) = line.points.last() else { continue };
        let mut texts = Vec::new();
        if !line.label.is_empty() {
            texts.push((line.label.clone(), true, Paint::Line(i)));
        }
        if let Some(level) = last_level.filter(|l| (l.y / last.y).ln().abs() < 0.1) {
            texts.push((level.name.clone(), true, Paint::Text));
            texts.push((level.cost.clone(), false, Paint::Faint));
        }
        if !texts.is_empty() {
            ends.push(EndLabel { value: last.y, texts });
        }
    }
    ends
}

fn last_x(chart: &Chart) -> Option<f64> {
    chart.lines.iter().filter_map(|l| l.points.last()).map(|p| p.x).max_by(f64::total_cmp)
}

struct Page<'a> {
    left: f64,
    right: f64,
    x: &'a Axis,
    y: &'a Axis,
    shapes: Vec<Shape>,
}

impl Page<'_> {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let across = self.left + self.x.place(x) * (self.right - self.left);
        (across, BOTTOM - self.y.place(y).clamp(-0.02, 1.02) * (BOTTOM - TOP))
    }

    #[expect(clippy::too_many_arguments, reason = "a text has that many properties")]
    fn text(&mut self, x: f64, y: f64, text: &str, size: u32, bold: bool, anchor: Anchor, paint: Paint) {
        self.shapes.push(Shape::Text { x, y, text: text.to_owned(), size, bold, anchor, paint });
    }

    fn stroke(&mut self, points: Vec<(f64, f64)>, width: f64, dashed: bool, paint: Paint) {
        self.shapes.push(Shape::Stroke { points, width, dashed, paint });
    }

    fn axes(&mut self, y_ticks: &[(f64, String)]) {
        for (value, text) in y_ticks {
            let (_, y) = self.at(0.0, *value);
            self.stroke(vec![(self.left, y), (self.right, y)], 1.0, false, Paint::Grid);
            self.text(self.left - 8.0, y + 4.0, text, SIZE, false, Anchor::End, Paint::Faint);
        }
        let label = self.y.label.clone();
        self.text(self.left - 4.0, TOP - 12.0, &label, SIZE, false, Anchor::Start, Paint::Faint);
        self.stroke(vec![(self.left, BOTTOM), (self.right, BOTTOM)], 1.0, false, Paint::Axis);
        let longest = 9.0 * CHARACTER;
        for (value, text) in self.x.ticks(((self.right - self.left) / longest) as usize) {
            let (x, _) = self.at(value, 0.0);
            self.stroke(vec![(x, BOTTOM), (x, BOTTOM + 5.0)], 1.0, false, Paint::Axis);
            self.text(x, BOTTOM + 20.0, &text, SIZE, false, Anchor::Middle, Paint::Faint);
        }
        let label = self.x.label.clone();
        let middle = (self.left + self.right) / 2.0;
        self.text(middle, BOTTOM + 40.0, &label, SIZE, false, Anchor::Middle, Paint::Faint);
    }

    fn line(&mut self, index: usize, line: &Line) {
        let paint = Paint::Line(index);
        let points: Vec<(f64, f64)> = line.points.iter().map(|p| self.at(p.x, p.y)).collect();
        if line.points.len() <= 32 {
            for point in &line.points {
                let Some([low, high]) = point.interval else { continue };
                let (a, b) = (self.at(point.x, low), self.at(point.x, high));
                if (a.1 - b.1).abs() > 3.0 {
                    self.stroke(vec![a, b], 1.0, false, paint);
                }
            }
        }
        if points.len() <= 64 {
            for &(x, y) in &points {
                self.shapes.push(Shape::Dot { x, y, radius: 2.6, paint });
            }
        }
        self.stroke(points, 2.0, false, paint);
    }

    /// A dashed line where the level ends, and its name and cost below it; the last level is named beside its line.
    fn plateau(&mut self, plateau: &Plateau) {
        let (from, _) = self.at(plateau.from, plateau.y);
        let (to, y) = self.at(plateau.to, plateau.y);
        if to > self.right - 1.0 {
            return;
        }
        self.stroke(vec![(to, y), (to, BOTTOM)], 1.0, true, Paint::Axis);
        let room = to - from - 6.0;
        if columns(&plateau.name) as f64 * CHARACTER <= room {
            self.text(to - 6.0, y + 18.0, &plateau.name, SIZE, true, Anchor::End, Paint::Text);
        }
        if columns(&plateau.cost) as f64 * CHARACTER <= room {
            self.text(to - 6.0, y + 18.0 + LEADING, &plateau.cost, SIZE, false, Anchor::End, Paint::Faint);
        }
    }

    fn bar(&mut self, bar: &Bar) {
        let (low, base) = self.at(bar.low, 0.0);
        let (high, clean) = self.at(bar.high, bar.clean as f64);
        let (_, top) = self.at(bar.high, (bar.clean + bar.labelled) as f64);
        let width = (high - low - 1.0).max(1.0);
        for (top, bottom, paint) in [(clean, base, Paint::Bar), (top, clean, Paint::Disturbed)] {
            if bottom - top > 0.01 {
                self.shapes.push(Shape::Rect { x: low, y: top, width, height: bottom - top, paint });
            }
        }
    }

    /// Labels at the ends of lines, pushed apart where they would touch.
    fn ends(&mut self, mut ends: Vec<EndLabel>) {
        ends.sort_by(|a, b| b.value.total_cmp(&a.value));
        let height: f64 = ends.iter().map(|e| e.texts.len() as f64 * LEADING).sum();
        // From the top down, each at its line or below the one before; the whole must end above the axis.
        let mut below = TOP - 8.0;
        let mut left = height;
        for end in ends {
            let (_, y) = self.at(1.0, end.value);
            let mut at = (y + 4.0).max(below + LEADING).min(BOTTOM - left + LEADING);
            for (text, bold, paint) in end.texts {
                self.text(self.right + 8.0, at, &text, SIZE, bold, Anchor::Start, paint);
                below = at;
                at += LEADING;
                left -= LEADING;
            }
        }
    }
}
