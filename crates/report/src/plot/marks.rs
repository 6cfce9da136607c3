//! What a drawing consists of: marks, what each stands for, and which part of the chart it belongs
//! to.

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
    /// Where a cache ends.
    Border,
    /// The interval of a headline.
    Band,
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

/// What a mark belongs to, for a page on which parts of a chart move and vanish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What stays.
    Still,
    /// Below the horizontal axis.
    XTick,
    /// One that only a closer look shows.
    FineXTick,
    /// Beside the vertical axis, and the line behind the field.
    YTick,
    /// One that only a closer look shows.
    FineYTick,
    /// Within the field.
    Field,
    /// A line, its points and their intervals.
    Line(usize),
    /// What is written at the end of a line.
    End(usize),
}

/// Where a drawing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// A file of its own, which says what it shows.
    File,
    /// A page that says it, and on which points are touched.
    Page,
}

/// A mark. What a point `says` is for who touches it.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Stroke { points: Vec<(f64, f64)>, width: f64, dashed: bool, paint: Paint },
    Dot { x: f64, y: f64, radius: f64, paint: Paint, says: String },
    Ring { x: f64, y: f64, radius: f64, paint: Paint, says: String },
    Rect { x: f64, y: f64, width: f64, height: f64, paint: Paint },
    Text { x: f64, y: f64, text: String, size: u32, bold: bool, anchor: Anchor, paint: Paint },
}
