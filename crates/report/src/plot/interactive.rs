//! A chart as part of a page: an SVG with identifiable parts, so that a script can hide a line,
//! zoom the field, and show a point's value. Without a script it is a picture, with the values as
//! tooltips.
//!
//! Colours are those of files (`svg`), as classes in the page's style sheet.

use super::drawing::{Anchor, Drawing, Media, Paint, Part, SIZE, Shape, WIDTH, draw};
use super::heat::{NUMBERED, STEPS};
use super::svg::{COLOURS, colour};
use super::{Chart, Field, Heat};
use crate::markup::Markup;

impl Chart {
    /// The title of the chart, what its points share, and what is missing.
    pub(crate) fn caption(&self) -> [&str; 2] {
        [&self.title, &self.about]
    }

    /// The names of its lines, in the order of their colours; a single line may have none.
    pub(crate) fn series(&self) -> Vec<&str> {
        match &self.field {
            Field::Plane(plane) => plane.lines.iter().map(|line| line.label.as_str()).collect(),
            Field::Heat(..) => Vec::new(),
        }
    }

    /// Whether it is a matrix with more than one pair.
    pub(crate) fn is_matrix(&self) -> bool {
        matches!(self.field, Field::Heat(_, None))
    }

    /// The chart as an element of a page, identified by `number`.
    pub(crate) fn element(&self, number: usize, out: &mut Markup) {
        match &self.field {
            Field::Plane(_) => picture(&draw(self, Media::Page), number, out),
            Field::Heat(heat, _) => matrix(heat, &self.title, out),
        }
    }
}

/// The colours as CSS rules: for a light background, and for a dark one.
pub(crate) fn colours() -> [String; 2] {
    let rules = |of: fn(&(&str, &str, &str)) -> String| COLOURS.iter().map(of).collect::<String>();
    let light = rules(|(class, light, _)| format!(".plot .{class},.key.{class}{{color:{light}}}"));
    let cell = |depth| {
        let [ground, ink] = [Paint::Cell(depth), Paint::OnCell(depth)].map(|paint| COLOURS[colour(paint)].1);
        format!("td.{}{{background:{ground};color:{ink}}}", COLOURS[colour(Paint::Cell(depth))].0)
    };
    let cells: String = (0..STEPS).map(cell).collect();
    [light + &cells, rules(|(class, _, dark)| format!(".plot .{class},.key.{class}{{color:{dark}}}"))]
}

fn picture(drawing: &Drawing, number: usize, out: &mut Markup) {
    let Some(field) = drawing.field else { return };
    let [left, right, top, bottom] = field;
    let view = format!("0 0 {WIDTH} {}", drawing.height);
    let ends = field.map(|end| format!("{end:.1}")).join(" ");
    let clip = format!("clip{number}");
    let attributes = [
        ("class", "plot"),
        ("viewBox", &view),
        ("role", "group"),
        ("aria-label", &drawing.title),
        ("data-field", &ends),
    ];
    out.with("svg", &attributes, |svg| {
        svg.with("clipPath", &[("id", &clip)], |path| {
            let [x, y] = [left - 5.0, top - 20.0].map(|v| format!("{v:.1}"));
            let [width, height] = [right - left + 10.0, bottom - top + 21.0].map(|v| format!("{v:.1}"));
            path.leaf("rect", &[("x", &x), ("y", &y), ("width", &width), ("height", &height)]);
        });
        let clip = format!("url(#{clip})");
        for group in drawing.shapes.chunk_by(|a, b| a.0 == b.0) {
            let (class, line, clipped) = match group[0].0 {
                Part::Still => ("still", None, false),
                Part::XTick => ("xt", None, false),
                Part::FineXTick => ("xt fine", None, false),
                Part::YTick => ("yt", None, false),
                Part::FineYTick => ("yt fine", None, false),
                Part::Field => ("in", None, true),
                Part::Line(line) => ("in line", Some(line), true),
                Part::End(line) => ("end", Some(line), false),
            };
            let line = line.map(|line| line.to_string()).unwrap_or_default();
            let clip = if clipped { clip.as_str() } else { "" };
            svg.with("g", &[("class", class), ("data-line", &line), ("clip-path", clip)], |g| {
                group.iter().for_each(|(_, shape)| add(shape, g));
            });
        }
    });
}

fn add(shape: &Shape, out: &mut Markup) {
    let number = |v: f64| format!("{v:.1}");
    match shape {
        Shape::Stroke { points, width, dashed, paint } => {
            let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let class = format!("{}{}", COLOURS[colour(*paint)].0, if *dashed { " dash" } else { "" });
            let width = if *width == 1.0 { String::new() } else { width.to_string() };
            out.leaf("polyline", &[("class", &class), ("stroke-width", &width), ("points", &points.join(" "))]);
        }
        Shape::Dot { x, y, radius, paint, tooltip } | Shape::Ring { x, y, radius, paint, tooltip } => {
            let ring = if matches!(shape, Shape::Ring { .. }) { " ring" } else { "" };
            let class = format!("{}{ring}", COLOURS[colour(*paint)].0);
            let [x, y] = [*x, *y].map(number);
            let attributes = [("class", class.as_str()), ("cx", &x), ("cy", &y), ("r", &radius.to_string())];
            out.with("circle", &attributes, |dot| dot.say("title", tooltip));
        }
        Shape::Rect { x, y, width, height, paint } => {
            let [x, y, width, height] = [*x, *y, *width, *height].map(number);
            let class = COLOURS[colour(*paint)].0;
            out.leaf("rect", &[("class", class), ("x", &x), ("y", &y), ("width", &width), ("height", &height)]);
        }
        Shape::Text { x, y, text, size, bold, anchor, paint } => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " mid",
                Anchor::End => " right",
            };
            let class = format!("{}{anchor}{}", COLOURS[colour(*paint)].0, if *bold { " bold" } else { "" });
            let size = if *size == SIZE { String::new() } else { size.to_string() };
            let [x, y] = [*x, *y].map(number);
            out.with("text", &[("class", &class), ("x", &x), ("y", &y), ("font-size", &size)], |t| t.text(text));
        }
    }
}

/// A matrix as a table, which can be read, copied and read aloud.
fn matrix(heat: &Heat, title: &str, out: &mut Markup) {
    let [rows, columns] = heat.axes;
    let n = heat.names.len();
    let small = if n > NUMBERED { "matrix small" } else { "matrix" };
    out.with("table", &[("class", small)], |table| {
        table.say_of("caption", "sr", title);
        table.tag("thead", |head| {
            head.tag("tr", |tr| {
                let corner = if rows == columns { rows.to_owned() } else { format!("{rows} ↓, {columns} →") };
                tr.say("td", &corner);
                heat.names.iter().for_each(|name| tr.with("th", &[("scope", "col")], |th| th.text(name)));
            });
        });
        table.tag("tbody", |body| {
            for (row, name) in heat.names.iter().enumerate() {
                body.tag("tr", |tr| {
                    tr.with("th", &[("scope", "row")], |th| th.text(name));
                    for (column, to) in heat.names.iter().enumerate() {
                        let Some(value) = heat.cell(row, column) else {
                            tr.say("td", "");
                            continue;
                        };
                        let number = heat.number(value, true);
                        let tooltip = format!("{rows} {name}, {columns} {to}: {number} {}", heat.unit());
                        let class = format!("h{}", heat.depth(value));
                        tr.with("td", &[("class", &class), ("title", &tooltip)], |td| td.text(&number));
                    }
                });
            }
        });
    });
}
