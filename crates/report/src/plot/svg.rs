//! A drawing as SVG: transparent, in the page's fonts, in the reader's dark or light mode.

use super::drawing::{Anchor, Drawing, Paint, Shape, WIDTH};
use super::heat::{DEEP, STEPS};
use crate::markup::escape;

/// Colours on a light and a dark background, by class. Line colours are distinguishable with any
/// colour vision, the first five best. Cell colours run from pale to deep and carry their own text,
/// so they are the same on both backgrounds.
pub(super) const COLOURS: [(&str, &str, &str); 27] = [
    ("t", "#1c2126", "#e8ecf0"),
    ("f", "#5b6570", "#9da7b1"),
    ("g", "#e3e7eb", "#2f363d"),
    ("a", "#8a949e", "#6b7580"),
    ("l0", "#0072b2", "#56b4e9"),
    ("l1", "#c85300", "#f39a4a"),
    ("l2", "#007d5b", "#35bd94"),
    ("l3", "#9a4c86", "#dd9cca"),
    ("l4", "#7a6a00", "#d9c84a"),
    ("l5", "#b0183c", "#ff8095"),
    ("l6", "#4d5660", "#b9c2cb"),
    ("l7", "#0a8299", "#6cd5e6"),
    ("l8", "#7b4a21", "#d2a27c"),
    ("d", "#8d97a1", "#7c8791"),
    ("h0", "#fbf0c9", "#fbf0c9"),
    ("h1", "#c6debd", "#c6debd"),
    ("h2", "#92cbb0", "#92cbb0"),
    ("h3", "#66b6a6", "#66b6a6"),
    ("h4", "#4c9ca2", "#4c9ca2"),
    ("h5", "#33819d", "#33819d"),
    ("h6", "#27668e", "#27668e"),
    ("h7", "#224a7a", "#224a7a"),
    ("h8", "#1d2f66", "#1d2f66"),
    ("p", "#12181d", "#12181d"),
    ("q", "#ffffff", "#ffffff"),
    ("b", "#c9d0d7", "#454e57"),
    ("w", "#e8f1f8", "#1a2c3a"),
];

/// The number of line colours, after which they repeat.
const LINES: usize = 9;
/// Indexes into [`COLOURS`].
const FIRST_LINE: usize = 4;
const DISTURBED: usize = FIRST_LINE + LINES;
const FIRST_CELL: usize = DISTURBED + 1;
const ON_CELL: usize = FIRST_CELL + STEPS;
const BORDER: usize = ON_CELL + 2;
const BAND: usize = BORDER + 1;

/// The index of a paint in [`COLOURS`].
pub(super) fn colour(paint: Paint) -> usize {
    match paint {
        Paint::Text => 0,
        Paint::Faint => 1,
        Paint::Grid => 2,
        Paint::Axis => 3,
        Paint::Line(i) => FIRST_LINE + i % LINES,
        Paint::Bar => FIRST_LINE,
        Paint::Disturbed => DISTURBED,
        Paint::Border => BORDER,
        Paint::Band => BAND,
        Paint::Cell(depth) => FIRST_CELL + depth.min(STEPS - 1),
        Paint::OnCell(depth) => ON_CELL + usize::from(depth >= DEEP),
    }
}

pub(super) fn svg(drawing: &Drawing) -> String {
    let height = drawing.height;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\">\n<title>{}</title>\n<style>\n",
        escape(&drawing.title)
    );
    for (class, light, _) in COLOURS {
        out += &format!(".{class} {{ color: {light} }}\n");
    }
    out += "@media (prefers-color-scheme: dark) {\n";
    for (class, _, dark) in COLOURS {
        out += &format!(".{class} {{ color: {dark} }}\n");
    }
    out += "}\n</style>\n";
    for (_, shape) in &drawing.shapes {
        out += &element(shape);
        out.push('\n');
    }
    out + "</svg>\n"
}

fn element(shape: &Shape) -> String {
    let class = |paint: &Paint| COLOURS[colour(*paint)].0;
    match shape {
        Shape::Stroke { points, width, dashed, paint } => {
            let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let dash = if *dashed { " stroke-dasharray=\"3 4\"" } else { "" };
            format!(
                "<polyline class=\"{}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"{width}\" \
                 stroke-linejoin=\"round\"{dash} points=\"{}\"/>",
                class(paint),
                points.join(" ")
            )
        }
        Shape::Dot { x, y, radius, paint, .. } => {
            format!(
                "<circle class=\"{}\" fill=\"currentColor\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>",
                class(paint)
            )
        }
        Shape::Ring { x, y, radius, paint, .. } => format!(
            "<circle class=\"{}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>",
            class(paint)
        ),
        Shape::Rect { x, y, width, height, paint } => format!(
            "<rect class=\"{}\" fill=\"currentColor\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>",
            class(paint)
        ),
        Shape::Text { x, y, text, size, bold, anchor, paint } => {
            let weight = if *bold { " font-weight=\"600\"" } else { "" };
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            format!(
                "<text class=\"{}\" fill=\"currentColor\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\"{weight}{anchor}>{}</text>",
                class(paint),
                escape(text)
            )
        }
    }
}
