//! A drawing as PNG, on a white background. The only module that uses kuva, whose rasteriser has
//! its own font.

use kuva::backend::raster::RasterBackend;
use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor, TextSpan};

use super::drawing::{Anchor, Drawing, Paint, Shape, WIDTH};
use super::svg::{COLOURS, colour};

pub(super) fn png(drawing: &Drawing, scale: f32) -> Result<Vec<u8>, String> {
    let mut scene = Scene::new(WIDTH, drawing.height).with_background(Some("#ffffff"));
    for (_, shape) in &drawing.shapes {
        add(&mut scene, shape, f64::from(scale));
    }
    RasterBackend::new().with_scale(scale).render_scene(&scene)
}

fn light(paint: Paint) -> Color {
    Color::from(COLOURS[colour(paint)].1)
}

/// A stroke as adjacent hairlines over its width. kuva antialiases hairlines only; a wide line with
/// a gentle slope would have steps.
fn stroke(scene: &mut Scene, points: &[(f64, f64)], width: f64, scale: f64, paint: Paint) {
    for pair in points.windows(2) {
        let [(x1, y1), (x2, y2)] = [pair[0], pair[1]];
        let (across, down) = ((x2 - x1).abs(), (y2 - y1).abs());
        let length = across.hypot(down);
        if length == 0.0 {
            continue;
        }
        // Offset along the axis in which the line advances less, by more the steeper it is.
        let extent = width * length / across.max(down);
        // Two per pixel, so that the background does not shine through.
        let lines = (extent * scale * 2.0).ceil().max(2.0);
        for i in 0..lines as u32 {
            let by = ((f64::from(i) + 0.5) / lines - 0.5) * extent;
            let (dx, dy) = if across >= down { (0.0, by) } else { (by, 0.0) };
            scene.add(Primitive::Line {
                x1: x1 + dx,
                y1: y1 + dy,
                x2: x2 + dx,
                y2: y2 + dy,
                stroke: light(paint),
                stroke_width: 1.0 / scale,
                stroke_dasharray: None,
            });
        }
    }
}

fn add(scene: &mut Scene, shape: &Shape, scale: f64) {
    scene.add(match shape {
        Shape::Stroke { points, width, dashed: false, paint } => return stroke(scene, points, *width, scale, *paint),
        Shape::Stroke { points, width, dashed: true, paint } => {
            let ((x1, y1), (x2, y2)) = match (points.first(), points.last()) {
                (Some(first), Some(last)) => (*first, *last),
                _ => return,
            };
            // Dashes are in pixels, not in units of the drawing.
            let dash = format!("{} {}", 3.0 * scale, 4.0 * scale);
            let stroke_dasharray = Some(dash);
            Primitive::Line { x1, y1, x2, y2, stroke: light(*paint), stroke_width: *width, stroke_dasharray }
        }
        Shape::Dot { x, y, radius, paint, .. } => Primitive::Circle {
            cx: *x,
            cy: *y,
            r: *radius,
            fill: light(*paint),
            fill_opacity: None,
            stroke: None,
            stroke_width: None,
        },
        Shape::Ring { x, y, radius, paint, .. } => Primitive::Circle {
            cx: *x,
            cy: *y,
            r: *radius,
            fill: Color::None,
            fill_opacity: None,
            stroke: Some(light(*paint)),
            stroke_width: Some(1.8),
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
        Shape::Text { x, y, text, size, bold, anchor, paint } => Primitive::RichText {
            x: *x,
            y: *y,
            spans: vec![TextSpan { bold: *bold, ..TextSpan::plain(text.clone()) }],
            size: *size,
            anchor: match anchor {
                Anchor::Start => TextAnchor::Start,
                Anchor::Middle => TextAnchor::Middle,
                Anchor::End => TextAnchor::End,
            },
            color: Some(light(*paint)),
        },
    });
}
