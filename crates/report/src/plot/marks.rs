//! The elements of a drawing: marks, the meaning of each, and the part of the chart it belongs to.

/// The meaning of a mark; each back end has a colour for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// Primary text.
    Text,
    /// Secondary text.
    Faint,
    /// The lines in the background.
    Grid,
    /// The base line, and marks of extent.
    Axis,
    /// A line of the chart, and its label.
    Line(usize),
    /// Undisturbed samples.
    Bar,
    /// Disturbed samples.
    Disturbed,
    /// The end of a cache.
    Border,
    /// The interval of a headline.
    Band,
    /// A cell of a matrix, by its depth.
    Cell(usize),
    /// Text on a cell of this depth.
    OnCell(usize),
}

/// How a text is aligned to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// What a mark belongs to, for a page where parts of a chart move and disappear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Fixed marks.
    Still,
    /// A tick below the horizontal axis.
    XTick,
    /// A horizontal tick for zooming in.
    FineXTick,
    /// A tick beside the vertical axis, with its grid line.
    YTick,
    /// A vertical tick for zooming in.
    FineYTick,
    /// Within the field.
    Field,
    /// A line, its points and their intervals.
    Line(usize),
    /// The label at the end of a line.
    End(usize),
}

/// The medium of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// A separate file, which needs a title.
    File,
    /// A page with its own title, where points have tooltips.
    Page,
}

/// A mark. `tooltip` is the tooltip of a point.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Stroke { points: Vec<(f64, f64)>, width: f64, dashed: bool, paint: Paint },
    Dot { x: f64, y: f64, radius: f64, paint: Paint, tooltip: String },
    Ring { x: f64, y: f64, radius: f64, paint: Paint, tooltip: String },
    Rect { x: f64, y: f64, width: f64, height: f64, paint: Paint },
    Text { x: f64, y: f64, text: String, size: u32, bold: bool, anchor: Anchor, paint: Paint },
}
