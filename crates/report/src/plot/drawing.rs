//! Where the ink of a chart goes, in pixels: shared by SVG and PNG. Knows no colours, only what a
//! mark stands for.

use groma_model::plain;

use super::axis::Axis;
use super::heat::{Heat, NUMBERED, STEPS};
use super::{Bar, Chart, Field, Line, Plane, Plateau, Point};
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
    /// A cell of a matrix, by how deep it is.
    Cell(usize),
    /// What is written on one.
    OnCell(usize),
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
    /// Pixels from top to bottom, up to [`HEIGHT`].
    pub(super) height: f64,
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
    let (shapes, left, height) = match &chart.field {
        Field::Plane(plane) => draw_plane(plane),
        Field::Heat(heat) => draw_heat(heat),
    };
    let mut page = Page { shapes };
    page.text(left - 4.0, 26.0, &chart.title, 17, true, Anchor::Start, Paint::Text);
    let room = ((WIDTH - left) / (CHARACTER * 0.93)) as usize;
    let subtitle = Style::plain(room).cut(&chart.subtitle, room);
    page.text(left - 4.0, 46.0, &subtitle, SIZE, false, Anchor::Start, Paint::Faint);
    let source = Style::plain(room).cut(&chart.source, room);
    page.text(left - 4.0, 62.0, &source, SIZE, false, Anchor::Start, Paint::Faint);
    Drawing { title: plain(&chart.title).into_owned(), height, shapes: page.shapes }
}

/// The pixels that a text of [`SIZE`] takes at most.
fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> f64 {
    texts.map(columns).max().unwrap_or(0) as f64 * CHARACTER
}

/// A plane, where its left edge is, and how high the page is.
fn draw_plane(plane: &Plane) -> (Vec<Shape>, f64, f64) {
    let y_ticks = plane.y.ticks(10);
    let left = 18.0 + widest(y_ticks.iter().map(|t| t.1.as_str())).max(30.0);
    let ends = end_labels(plane);
    let beside = widest(ends.iter().flat_map(|e| e.texts.iter().map(|t| t.0.as_str())));
    // Bold letters are a little wider.
    let right = WIDTH - (beside * 1.07 + 24.0).max(28.0);
    let mut field = Canvas { left, right, x: &plane.x, y: &plane.y, page: Page { shapes: Vec::new() } };
    field.axes(&y_ticks);
    for bar in &plane.bars {
        field.bar(bar);
    }
    if plane.bars.iter().any(|b| b.labelled > 0) {
        field.page.text(right, TOP + 12.0, "undisturbed", SIZE, true, Anchor::End, Paint::Bar);
        field.page.text(right, TOP + 12.0 + LEADING, "disturbed", SIZE, true, Anchor::End, Paint::Disturbed);
    }
    for plateau in &plane.levels {
        field.plateau(plateau);
    }
    for (i, line) in plane.lines.iter().enumerate().rev() {
        field.line(i, line);
    }
    field.ends(ends);
    (field.page.shapes, left, HEIGHT)
}

/// The largest cell of a matrix, in pixels.
const CELL: (f64, f64) = (110.0, 64.0);

/// A matrix, where its left edge is, and how high the page is: a small one leaves no empty paper
/// below.
fn draw_heat(heat: &Heat) -> (Vec<Shape>, f64, f64) {
    let n = heat.names.len();
    let names = widest(heat.names.iter().map(String::as_str));
    let scale = widest(heat.ends().iter().map(String::as_str)) + 34.0;
    let left = 34.0 + names;
    let bottom = HEIGHT - 28.0;
    let top = TOP + 6.0;
    let width = ((WIDTH - left - scale - 40.0) / n as f64).min(CELL.0);
    let height = ((bottom - top) / n as f64).min(CELL.1);
    let mut page = Page { shapes: Vec::new() };
    let numbered = n <= NUMBERED;
    let number_size = if height < 18.0 || width < 34.0 { 10 } else { SIZE };
    for row in 0..n {
        for column in 0..n {
            let Some(value) = heat.cell(row, column) else { continue };
            let depth = heat.depth(value);
            let (x, y) = (left + column as f64 * width, top + row as f64 * height);
            // A hair of ground between cells that are large enough for it; small ones overlap, or
            // it would shine through.
            let gap = if numbered { 1.0 } else { -0.6 };
            let (w, h) = (width - gap, height - gap);
            page.shapes.push(Shape::Rect { x, y, width: w, height: h, paint: Paint::Cell(depth) });
            if numbered {
                let (x, y) = (x + w / 2.0, y + h / 2.0 + 4.0);
                page.text(x, y, &heat.number(value, true), number_size, false, Anchor::Middle, Paint::OnCell(depth));
            }
        }
    }
    let every = (LEADING / height).ceil().max(1.0) as usize;
    let across = ((names + 6.0) / width).ceil().max(1.0) as usize;
    for (i, name) in heat.names.iter().enumerate() {
        if i % every == 0 {
            let y = top + (i as f64 + 0.5) * height + 4.0;
            page.text(left - 8.0, y, name, SIZE, false, Anchor::End, Paint::Faint);
        }
        if i % across == 0 {
            let x = left + (i as f64 + 0.5) * width;
            page.text(x, top - 6.0, name, SIZE, false, Anchor::Middle, Paint::Faint);
        }
    }
    let [rows, columns] = heat.axes;
    let axes = if rows == columns { rows.to_owned() } else { format!("down: {rows}; across: {columns}") };
    page.text(left - 4.0, top - 6.0 - LEADING, &axes, SIZE, false, Anchor::Start, Paint::Faint);
    let (right, end) = (left + n as f64 * width, top + n as f64 * height);
    for at in &heat.breaks {
        let (x, y) = (left + *at as f64 * width - 0.5, top + *at as f64 * height - 0.5);
        page.stroke(vec![(x, top - 2.0), (x, end)], 2.0, false, Paint::Text);
        page.stroke(vec![(left - 2.0, y), (right, y)], 2.0, false, Paint::Text);
    }
    // Cells that say their number and are all alike need no scale.
    let mut low = end;
    if !numbered || heat.deepest() > 0 {
        low = end.max(top + 120.0);
        legend(&mut page, heat, right + 26.0, top, low);
    }
    (page.shapes, left, low + HEIGHT - bottom)
}

/// The depths from the most, above, to the least, with both written beside them.
fn legend(page: &mut Page, heat: &Heat, x: f64, top: f64, bottom: f64) {
    let height = (bottom - top).min(220.0) / STEPS as f64;
    for depth in 0..STEPS {
        let y = top + (STEPS - 1 - depth) as f64 * height;
        page.shapes.push(Shape::Rect { x, y, width: 14.0, height: height + 0.3, paint: Paint::Cell(depth) });
    }
    let [low, high] = heat.ends();
    let deepest = heat.deepest();
    let at = |depth: usize| top + (STEPS - depth) as f64 * height;
    page.text(x + 20.0, at(deepest + 1) + 11.0, &high, SIZE, false, Anchor::Start, Paint::Faint);
    page.text(x + 20.0, at(0) - 1.0, &low, SIZE, false, Anchor::Start, Paint::Faint);
}

/// What is written at the end of a line.
struct EndLabel {
    /// Where the line ends.
    at: Point,
    texts: Vec<(String, bool, Paint)>,
}

/// The labels of lines, and below that of the line with levels the level on which it ends.
fn end_labels(chart: &Plane) -> Vec<EndLabel> {
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
            ends.push(EndLabel { at: *last, texts });
        }
    }
    ends
}

fn last_x(chart: &Plane) -> Option<f64> {
    chart.lines.iter().filter_map(|l| l.points.last()).map(|p| p.x).max_by(f64::total_cmp)
}

/// Marks as they come, from back to front.
struct Page {
    shapes: Vec<Shape>,
}

/// The field between two axes.
struct Canvas<'a> {
    left: f64,
    right: f64,
    x: &'a Axis,
    y: &'a Axis,
    page: Page,
}

impl Page {
    #[expect(clippy::too_many_arguments, reason = "a text has that many properties")]
    fn text(&mut self, x: f64, y: f64, text: &str, size: u32, bold: bool, anchor: Anchor, paint: Paint) {
        let text = plain(text).into_owned();
        self.shapes.push(Shape::Text { x, y, text, size, bold, anchor, paint });
    }

    fn stroke(&mut self, points: Vec<(f64, f64)>, width: f64, dashed: bool, paint: Paint) {
        self.shapes.push(Shape::Stroke { points, width, dashed, paint });
    }
}

impl Canvas<'_> {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let across = self.left + self.x.place(x) * (self.right - self.left);
        (across, BOTTOM - self.y.place(y).clamp(-0.02, 1.02) * (BOTTOM - TOP))
    }

    fn axes(&mut self, y_ticks: &[(f64, String)]) {
        for (value, text) in y_ticks {
            let (_, y) = self.at(0.0, *value);
            self.page.stroke(vec![(self.left, y), (self.right, y)], 1.0, false, Paint::Grid);
            self.page.text(self.left - 8.0, y + 4.0, text, SIZE, false, Anchor::End, Paint::Faint);
        }
        let label = self.y.label.clone();
        self.page.text(self.left - 4.0, TOP - 12.0, &label, SIZE, false, Anchor::Start, Paint::Faint);
        self.page.stroke(vec![(self.left, BOTTOM), (self.right, BOTTOM)], 1.0, false, Paint::Axis);
        let longest = 9.0 * CHARACTER;
        for (value, text) in self.x.ticks(((self.right - self.left) / longest) as usize) {
            let (x, _) = self.at(value, 0.0);
            self.page.stroke(vec![(x, BOTTOM), (x, BOTTOM + 5.0)], 1.0, false, Paint::Axis);
            self.page.text(x, BOTTOM + 20.0, &text, SIZE, false, Anchor::Middle, Paint::Faint);
        }
        let label = self.x.label.clone();
        let middle = (self.left + self.right) / 2.0;
        self.page.text(middle, BOTTOM + 40.0, &label, SIZE, false, Anchor::Middle, Paint::Faint);
    }

    fn line(&mut self, index: usize, line: &Line) {
        let paint = Paint::Line(index);
        let points: Vec<(f64, f64)> = line.points.iter().map(|p| self.at(p.x, p.y)).collect();
        if line.points.len() <= 32 {
            for point in &line.points {
                let Some([low, high]) = point.interval else { continue };
                let (a, b) = (self.at(point.x, low), self.at(point.x, high));
                if (a.1 - b.1).abs() > 3.0 {
                    self.page.stroke(vec![a, b], 1.0, false, paint);
                }
            }
        }
        if points.len() <= 64 {
            for &(x, y) in &points {
                self.page.shapes.push(Shape::Dot { x, y, radius: 2.6, paint });
            }
        }
        self.page.stroke(points, 2.0, false, paint);
    }

    /// A dashed line where the level ends, and its name and cost below it; the last level is named
    /// beside its line.
    fn plateau(&mut self, plateau: &Plateau) {
        let (from, _) = self.at(plateau.from, plateau.y);
        let (to, y) = self.at(plateau.to, plateau.y);
        if to > self.right - 1.0 {
            return;
        }
        self.page.stroke(vec![(to, y), (to, BOTTOM)], 1.0, true, Paint::Axis);
        // Below its level, or to the right of its end, where the curve has risen.
        let fits = widest([plateau.name.as_str(), &plateau.cost].into_iter()) <= to - from - 6.0;
        let (x, anchor) = if fits { (to - 6.0, Anchor::End) } else { (to + 6.0, Anchor::Start) };
        self.page.text(x, y + 18.0, &plateau.name, SIZE, true, anchor, Paint::Text);
        self.page.text(x, y + 18.0 + LEADING, &plateau.cost, SIZE, false, anchor, Paint::Faint);
    }

    fn bar(&mut self, bar: &Bar) {
        let (low, base) = self.at(bar.low, 0.0);
        let (high, clean) = self.at(bar.high, bar.clean as f64);
        let (_, top) = self.at(bar.high, (bar.clean + bar.labelled) as f64);
        let width = (high - low - 1.0).max(1.0);
        for (top, bottom, paint) in [(clean, base, Paint::Bar), (top, clean, Paint::Disturbed)] {
            if bottom - top > 0.01 {
                self.page.shapes.push(Shape::Rect { x: low, y: top, width, height: bottom - top, paint });
            }
        }
    }

    /// Labels at the ends of lines, pushed apart where they would touch.
    fn ends(&mut self, mut ends: Vec<EndLabel>) {
        ends.sort_by(|a, b| b.at.y.total_cmp(&a.at.y));
        let height: f64 = ends.iter().map(|e| e.texts.len() as f64 * LEADING).sum();
        // From the top down, each at its line or below the one before; the whole must end above the
        // axis.
        let mut below = TOP - 8.0;
        let mut left = height;
        for end in ends {
            let (x, y) = self.at(end.at.x, end.at.y);
            let mut at = (y + 4.0).max(below + LEADING).min(BOTTOM - left + LEADING);
            let leader = end.texts.first().map_or(Paint::Axis, |t| t.2);
            if (at - 4.0 - y).abs() > 4.0 || self.right - x > 8.0 {
                // Pushed away from its line, which is then not the nearest one.
                self.page.stroke(vec![(x + 3.0, y), (self.right + 9.0, at - 4.0)], 1.0, false, leader);
            }
            for (text, bold, paint) in end.texts {
                self.page.text(self.right + 12.0, at, &text, SIZE, bold, Anchor::Start, paint);
                below = at;
                at += LEADING;
                left -= LEADING;
            }
        }
    }
}
