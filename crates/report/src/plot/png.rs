//! A drawing as PNG, on a white ground. The only place that knows kuva, whose rasteriser brings its own font.

use kuva::backend::raster::RasterBackend;
use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::drawing::{Anchor, Drawing, HEIGHT, Paint, Shape, WIDTH};
use super::svg::{COLOURS, colour};

pub(super) fn png(drawing: &Drawing, scale: f32) -> Result<Vec<u8>, String> {
    let mut scene = Scene::new(WIDTH, HEIGHT).with_background(Some("#ffffff"));
    for shape in &drawing.shapes {
        scene.add(primitive(shape));
    }
    RasterBackend::new().with_scale(scale).render_scene(&scene)
}

fn light(paint: Paint) -> Color {
    Color::from(COLOURS[colour(paint)].1)
}

fn primitive(shape: &Shape) -> Primitive {
    match shape {
        Shape::Stroke { points, width, dashed, paint } => match points[..] {
            [(x1, y1), (x2, y2)] => Primitive::Line {
                x1,
                y1,
                x2,
                y2,
                stroke: light(*paint),
                stroke_width: *width,
                stroke_dasharray: dashed.then(|| "3 4".to_owned()),
            },
            _ => Primitive::PolyLine {
                points: points.clone(),
                stroke: light(*paint),
                stroke_width: *width,
                stroke_dasharray: None,
            },
        },
        Shape::Dot { x, y, radius, paint } => Primitive::Circle {
            cx: *x,
            cy: *y,
            r: *radius,
            fill: light(*paint),
            fill_opacity: None,
            stroke: None,
            stroke_width: None,
        },
        Shape::Rect { x, y, width, height, paint } => Primitive::Rect {
            x: *x,
            y: *y,
            width: *width,
            height: *height,
            fill: light(*paint),
            stroke: None,
            stroke_width: None,
            opacity: None,
        },
        Shape::Text { x, y, text, size, bold, anchor, paint } => Primitive::Text {
            x: *x,
            y: *y,
            // kuva would set what stands between two dollars as mathematics.
            content: text.replace('$', "\\$"),
            size: *size,
            anchor: match anchor {
                Anchor::Start => TextAnchor::Start,
                Anchor::Middle => TextAnchor::Middle,
                Anchor::End => TextAnchor::End,
            },
            rotate: None,
            bold: *bold,
            color: Some(light(*paint)),
        },
    }
}
