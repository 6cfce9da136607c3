//! Places the marks of a chart, in pixels, for both SVG and PNG. It assigns meanings to marks, not
//! colours.

mod matrix;

use groma_model::plain;

use super::axis::Axis;
pub(super) use super::marks::{Anchor, Media, Paint, Part, Shape};
use super::{Bar, Border, Chart, Field, Line, Mark, Plane, Plateau, Point, Values};
use crate::style::{Style, columns, wrap};
use crate::units;
use matrix::draw_heat;

/// The marks of a chart from back to front, and its title.
pub(super) struct Drawing {
    pub(super) title: String,
    /// The height in pixels.
    pub(super) height: f64,
    pub(super) shapes: Vec<(Part, Shape)>,
    /// The field's left, right, top and bottom; `None` for a matrix.
    pub(super) field: Option<[f64; 4]>,
}

/// The width of a drawing in pixels.
pub(super) const WIDTH: f64 = 860.0;

/// The height of the field in pixels.
pub(super) const FIELD: f64 = 346.0;
/// The left margin.
const MARGIN: f64 = 18.0;
const TITLE_SIZE: u32 = 17;
pub(super) const SIZE: u32 = 12;
/// The width of a character of [`SIZE`], rounded up.
const CHARACTER: f64 = 7.3;
/// The relative width of a bold one.
const OF_BOLD: f64 = 1.07;
/// Its average width in a sentence.
const OF_SENTENCE: f64 = 6.8;
/// The average width of a bold one of [`TITLE_SIZE`] in a sentence.
const OF_TITLE: f64 = 9.8;
pub(super) const LEADING: f64 = 16.0;

pub(super) fn draw(chart: &Chart, media: Media) -> Drawing {
    let mut page = Page { shapes: Vec::new(), part: Part::Still, media };
    let below = if media == Media::File { header(&mut page, chart) } else { -12.0 };
    let (height, field) = match &chart.field {
        Field::Plane(plane) => draw_plane(&mut page, plane, below),
        Field::Heat(heat, _) => (draw_heat(&mut page, heat, below + 50.0), None),
    };
    Drawing { title: plain(&chart.title).into_owned(), height, shapes: page.shapes, field }
}

/// Draws the title, the sources and the subtitle, wrapped; returns where they end.
fn header(page: &mut Page, chart: &Chart) -> f64 {
    let lines = |text: &str, character: f64| -> Vec<String> {
        let room = ((WIDTH - 2.0 * MARGIN) / character) as usize;
        wrap(text, room).iter().map(|line| Style::plain(room).cut(line, room)).collect()
    };
    let mut y = 8.0;
    for line in lines(&chart.title, OF_TITLE) {
        y += 21.0;
        page.text(MARGIN, y, &line, TITLE_SIZE, true, Anchor::Start, Paint::Text);
    }
    y += 4.0;
    for line in chart.sources.iter().chain([&chart.about]).flat_map(|text| lines(text, OF_SENTENCE)) {
        y += LEADING;
        page.text(MARGIN, y, &line, SIZE, false, Anchor::Start, Paint::Faint);
    }
    y
}

/// The width of the widest text of [`SIZE`], rounded up.
pub(super) fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> f64 {
    texts.map(columns).max().unwrap_or(0) as f64 * CHARACTER
}

/// Draws a plane below the header; returns the height of the page, and the field.
fn draw_plane(page: &mut Page, plane: &Plane, below: f64) -> (f64, Option<[f64; 4]>) {
    let y_ticks = plane.y.ticks(10);
    let left = MARGIN + 8.0 + widest(y_ticks.iter().map(|t| t.1.as_str())).max(30.0);
    let ends = end_labels(plane);
    let beside = widest(ends.iter().map(|end| end.text.as_str())) * OF_BOLD;
    let right = WIDTH - (beside + 24.0).max(28.0);
    // Names of borders go between the field and the labels above it.
    let keys = below + 28.0;
    let above = plane.series.as_ref().map_or(0.0, |series| series.changes.len() as f64 * LEADING);
    let top = keys + above + if plane.borders.is_empty() { 12.0 } else { 26.0 };
    page.part = Part::Field;
    let mut field = Canvas { left, right, top, bottom: top + FIELD, x: &plane.x, y: &plane.y, page };
    if let Some([low, high]) = plane.band {
        field.band(low, high);
    }
    for border in &plane.borders {
        field.border(border);
    }
    field.axes(&y_ticks);
    field.page.part = Part::Field;
    for bar in &plane.bars {
        field.bar(bar);
    }
    for (i, mark) in plane.marks.iter().enumerate() {
        field.mark(i, mark);
    }
    for plateau in &plane.levels {
        field.plateau(plateau);
    }
    let mut with_bars = plane.series.as_ref().is_some_and(|series| field.series(series));
    for (i, line) in plane.lines.iter().enumerate().rev() {
        with_bars |= field.line(i, line);
    }
    field.ends(ends);
    page.part = Part::Still;
    page.text(left, keys, &plane.y.label, SIZE, false, Anchor::Start, Paint::Faint);
    draw_keys(page, plane, with_bars, keys);
    (top + FIELD + 52.0, Some([left, right, top, top + FIELD]))
}

/// The key to the marks of a plane, in one line that ends at the right edge of the page.
fn draw_keys(page: &mut Page, plane: &Plane, with_bars: bool, y: f64) {
    let few = plane.lines.iter().any(|line| !line.joined);
    let keys = [
        (plane.band.is_some(), "band: 95 % interval over rounds"),
        (with_bars, "bars: 95 % interval over rounds"),
        (few, "rings: too few for a line"),
        (plane.series.is_some(), "lines: levels (medians)"),
        (!plane.levels.is_empty(), "dashes: levels measured"),
        (!plane.borders.is_empty(), "grey: caches declared"),
    ];
    let keys: Vec<&str> = keys.into_iter().filter(|(is_drawn, _)| *is_drawn).map(|(_, text)| text).collect();
    let keys = keys.join("; ");
    let end = WIDTH - MARGIN;
    page.text(end, y, &keys, SIZE, false, Anchor::End, Paint::Faint);
    if plane.bars.iter().any(|b| b.labelled > 0) {
        let end = end - (columns(&keys) + 2) as f64 * OF_SENTENCE;
        page.text(end, y, "disturbed", SIZE, true, Anchor::End, Paint::Disturbed);
        page.text(end - 11.0 * CHARACTER, y, "undisturbed", SIZE, true, Anchor::End, Paint::Bar);
    }
}

/// The label at the end of a line.
struct EndLabel {
    /// Index of the line.
    line: usize,
    /// Where the line ends.
    at: Point,
    text: String,
}

fn end_labels(chart: &Plane) -> Vec<EndLabel> {
    let label = |(i, line): (usize, &Line)| {
        let at = *line.points.last().filter(|_| !line.label.is_empty())?;
        Some(EndLabel { line: i, at, text: line.label.clone() })
    };
    chart.lines.iter().enumerate().filter_map(label).collect()
}

/// Collected marks, from back to front, and the part that new ones belong to.
pub(super) struct Page {
    shapes: Vec<(Part, Shape)>,
    part: Part,
    media: Media,
}

/// A line with more points is drawn without dots and intervals, which would touch.
const MAX_DOTS: usize = 80;

/// Ticks of an axis when zoomed in.
const FINE: usize = 60;

/// The colours of values and of levels.
const VALUES: Paint = Paint::Line(0);
const LEVELS: Paint = Paint::Line(1);

/// The field between two axes.
struct Canvas<'a> {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: &'a Axis,
    y: &'a Axis,
    page: &'a mut Page,
}

impl Page {
    #[expect(clippy::too_many_arguments, reason = "a text has that many properties")]
    pub(super) fn text(&mut self, x: f64, y: f64, text: &str, size: u32, bold: bool, anchor: Anchor, paint: Paint) {
        let text = plain(text).into_owned();
        self.add(Shape::Text { x, y, text, size, bold, anchor, paint });
    }

    pub(super) fn stroke(&mut self, points: Vec<(f64, f64)>, width: f64, dashed: bool, paint: Paint) {
        self.add(Shape::Stroke { points, width, dashed, paint });
    }

    pub(super) fn add(&mut self, shape: Shape) {
        self.shapes.push((self.part, shape));
    }
}

impl Canvas<'_> {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let across = self.left + self.x.position(x) * (self.right - self.left);
        (across, self.bottom - self.y.position(y).clamp(-0.02, 1.02) * FIELD)
    }

    fn axes(&mut self, y_ticks: &[(f64, String)]) {
        self.page.part = Part::YTick;
        y_ticks.iter().for_each(|tick| self.y_tick(tick));
        self.page.part = Part::Still;
        self.page.stroke(vec![(self.left, self.bottom), (self.right, self.bottom)], 1.0, false, Paint::Axis);
        self.page.part = Part::XTick;
        let longest = 9.0 * CHARACTER;
        let x_ticks = self.x.ticks(((self.right - self.left) / longest) as usize);
        x_ticks.iter().for_each(|tick| self.x_tick(tick));
        if self.page.media == Media::Page {
            self.page.part = Part::FineYTick;
            self.y.ticks(FINE).iter().filter(|tick| !y_ticks.contains(tick)).for_each(|tick| self.y_tick(tick));
            self.page.part = Part::FineXTick;
            self.x.ticks(FINE).iter().filter(|tick| !x_ticks.contains(tick)).for_each(|tick| self.x_tick(tick));
        }
        self.page.part = Part::Still;
        let label = self.x.label.clone();
        let middle = (self.left + self.right) / 2.0;
        self.page.text(middle, self.bottom + 40.0, &label, SIZE, false, Anchor::Middle, Paint::Faint);
    }

    fn y_tick(&mut self, (value, text): &(f64, String)) {
        let (_, y) = self.at(0.0, *value);
        self.page.stroke(vec![(self.left, y), (self.right, y)], 1.0, false, Paint::Grid);
        self.page.text(self.left - 8.0, y + 4.0, text, SIZE, false, Anchor::End, Paint::Faint);
    }

    fn x_tick(&mut self, (value, text): &(f64, String)) {
        let (x, _) = self.at(*value, 0.0);
        self.page.stroke(vec![(x, self.bottom), (x, self.bottom + 5.0)], 1.0, false, Paint::Axis);
        self.page.text(x, self.bottom + 20.0, text, SIZE, false, Anchor::Middle, Paint::Faint);
    }

    /// The tooltip of a point: `included, 64 KiB: 4.05 ns (3.98–4.11 ns)`.
    fn tooltip(&self, line: &Line, point: &Point) -> String {
        let of = if line.label.is_empty() { String::new() } else { format!("{}, ", line.label) };
        let (x, y) = (units::value(point.x, self.x.scale(), None), units::value(point.y, self.y.scale(), None));
        let interval = point.interval.map(|[low, high]| format!(" ({})", units::range(low, high, self.y.scale())));
        format!("{of}{x}: {y}{}", interval.unwrap_or_default())
    }

    /// Draws a line with its points; returns whether an interval is visible.
    fn line(&mut self, index: usize, line: &Line) -> bool {
        let paint = Paint::Line(index);
        self.page.part = Part::Line(index);
        let points: Vec<(f64, f64)> = line.points.iter().map(|p| self.at(p.x, p.y)).collect();
        let sparse = points.len() <= MAX_DOTS;
        let mut with_bars = false;
        for point in line.points.iter().filter(|_| sparse) {
            let Some([low, high]) = point.interval else { continue };
            let (a, b) = (self.at(point.x, low), self.at(point.x, high));
            if (a.1 - b.1).abs() > 3.0 {
                self.page.stroke(vec![a, b], 1.0, false, paint);
                with_bars = true;
            }
        }
        let is_marked = sparse || !line.joined || self.page.media == Media::Page;
        for (&(x, y), point) in points.iter().zip(&line.points).filter(|_| is_marked) {
            let tooltip = self.tooltip(line, point);
            self.page.add(if line.joined {
                Shape::Dot { x, y, radius: 2.6, paint, tooltip }
            } else {
                Shape::Ring { x, y, radius: 4.0, paint, tooltip }
            });
        }
        if line.joined {
            self.page.stroke(points, 2.0, false, paint);
        }
        self.page.part = Part::Field;
        with_bars
    }

    /// The end of a cache: a full-height line behind everything, with its name above.
    fn border(&mut self, border: &Border) {
        let (x, _) = self.at(border.x, 0.0);
        self.page.stroke(vec![(x, self.top), (x, self.bottom)], 1.0, false, Paint::Border);
        let text = format!("{} {}", border.name, units::size(border.x));
        self.page.text(x, self.top - 6.0, &text, SIZE, false, Anchor::Middle, Paint::Faint);
    }

    /// A dashed line at the end of the level, with its name and cost below; the last level ends
    /// with the field.
    fn plateau(&mut self, plateau: &Plateau) {
        let (from, _) = self.at(plateau.from, plateau.y);
        let (to, y) = self.at(plateau.to, plateau.y);
        let last = to > self.right - 1.0;
        if !last {
            self.page.stroke(vec![(to, y), (to, self.bottom)], 1.0, true, Paint::Axis);
        }
        // Below its level, or to the right of its end, where the curve has risen.
        let fits = last || widest([plateau.name.as_str(), &plateau.cost].into_iter()) <= to - from - 6.0;
        let (x, anchor) = if fits { (to - 6.0, Anchor::End) } else { (to + 6.0, Anchor::Start) };
        self.page.text(x, y + 18.0, &plateau.name, SIZE, true, anchor, Paint::Text);
        self.page.text(x, y + 18.0 + LEADING, &plateau.cost, SIZE, false, anchor, Paint::Faint);
    }

    fn band(&mut self, low: f64, high: f64) {
        let ((from, _), (to, _)) = (self.at(low, 0.0), self.at(high, 0.0));
        let (from, to) = (from.max(self.left), to.min(self.right));
        let width = (to - from).max(2.0);
        self.page.add(Shape::Rect { x: from, y: self.top, width, height: FIELD, paint: Paint::Band });
    }

    /// A named position of a distribution, each label a line below the one before; the first is the
    /// headline.
    fn mark(&mut self, index: usize, mark: &Mark) {
        let (x, _) = self.at(mark.x, 0.0);
        let first = index == 0;
        let y = self.top + 12.0 + index as f64 * LEADING;
        let paint = if first { Paint::Text } else { Paint::Axis };
        self.page.stroke(vec![(x, y - 9.0), (x, self.bottom)], if first { 1.5 } else { 1.0 }, !first, paint);
        let beyond = x > (self.left + self.right) / 2.0;
        let (x, anchor) = if beyond { (x - 6.0, Anchor::End) } else { (x + 6.0, Anchor::Start) };
        self.page.text(x, y, &mark.label, SIZE, first, anchor, if first { Paint::Text } else { Paint::Faint });
    }

    fn bar(&mut self, bar: &Bar) {
        let (low, base) = self.at(bar.low, 0.0);
        let (high, clean) = self.at(bar.high, bar.clean as f64);
        let (_, top) = self.at(bar.high, (bar.clean + bar.labelled) as f64);
        let width = (high - low - 1.0).max(1.0);
        for (top, bottom, paint) in [(clean, base, Paint::Bar), (top, clean, Paint::Disturbed)] {
            if bottom - top > 0.01 {
                self.page.add(Shape::Rect { x: low, y: top, width, height: bottom - top, paint });
            }
        }
    }

    /// Draws the series; returns whether an interval is visible. Labels of changes are above the
    /// field, one per line, the first on top.
    fn series(&mut self, series: &Values) -> bool {
        for (i, change) in series.changes.iter().enumerate() {
            let (x, _) = self.at(change.x, 0.0);
            let y = self.top - (series.changes.len() - i) as f64 * LEADING + 6.0;
            self.page.stroke(vec![(x, y - 9.0), (x, self.bottom)], 1.0, true, Paint::Axis);
            let beyond = x > (self.left + self.right) / 2.0;
            let (room, at, anchor) = match beyond {
                true => (x - MARGIN, x - 6.0, Anchor::End),
                false => (WIDTH - MARGIN - x, x + 6.0, Anchor::Start),
            };
            let columns = (room / (CHARACTER * OF_BOLD)) as usize;
            let label = Style::plain(columns).cut(&change.label, columns);
            self.page.text(at, y, &label, SIZE, true, anchor, Paint::Text);
        }
        // Intervals of many runs would touch: make them paler, so that the values stay visible.
        let crowded = series.points.len() > MAX_DOTS;
        let mut with_bars = false;
        for point in &series.points {
            let (x, y) = self.at(point.x, point.y);
            if let Some([low, high]) = point.interval {
                let (a, b) = (self.at(point.x, low), self.at(point.x, high));
                self.page.stroke(vec![a, b], 1.0, false, if crowded { Paint::Border } else { VALUES });
                with_bars = true;
            }
            let radius = if crowded { 1.8 } else { 2.6 };
            self.page.add(Shape::Dot { x, y, radius, paint: VALUES, tooltip: String::new() });
        }
        for [from, to, level] in &series.levels {
            let ends = vec![self.at(*from, *level), self.at(*to, *level)];
            self.page.stroke(ends, 2.0, false, LEVELS);
        }
        with_bars
    }

    /// Labels at the ends of lines, moved apart if they would touch.
    fn ends(&mut self, mut ends: Vec<EndLabel>) {
        ends.sort_by(|a, b| b.at.y.total_cmp(&a.at.y));
        // From the top down, each at its line or below the label before; all must end above the
        // axis.
        let mut below = self.top - 8.0;
        let mut left = ends.len() as f64 * LEADING;
        for EndLabel { line, at, text } in ends {
            let paint = Paint::Line(line);
            self.page.part = Part::End(line);
            let (x, y) = self.at(at.x, at.y);
            let middle = (y + 4.0).max(below + LEADING).min(self.bottom - left + LEADING);
            if (middle - 4.0 - y).abs() > 4.0 || self.right - x > 8.0 {
                // A label moved away from its line may be nearer to another one, so connect them.
                self.page.stroke(vec![(x + 5.0, y), (self.right + 9.0, middle - 4.0)], 1.0, false, paint);
            }
            self.page.text(self.right + 12.0, middle, &text, SIZE, true, Anchor::Start, paint);
            below = middle;
            left -= LEADING;
        }
    }
}
