//! Places the marks of a matrix.

use super::super::heat::{Heat, NUMBERED, STEPS};
use super::{Anchor, FIELD, LEADING, Page, Paint, SIZE, Shape, WIDTH, widest};

/// The largest cell of a matrix, in pixels.
const CELL: (f64, f64) = (110.0, 64.0);

/// Draws a matrix; returns the height of the page, which leaves no empty space below a small one.
pub(super) fn draw_heat(page: &mut Page, heat: &Heat, top: f64) -> f64 {
    let n = heat.names.len();
    let names = widest(heat.names.iter().map(String::as_str));
    let scale = widest(heat.ends().iter().map(String::as_str)) + 34.0;
    let left = 34.0 + names;
    let bottom = top + FIELD + 18.0;
    let width = ((WIDTH - left - scale - 40.0) / n as f64).min(CELL.0);
    let height = ((bottom - top) / n as f64).min(CELL.1);
    let numbered = n <= NUMBERED;
    let number_size = if height < 18.0 || width < 34.0 { 10 } else { SIZE };
    for row in 0..n {
        for column in 0..n {
            let Some(value) = heat.cell(row, column) else { continue };
            let depth = heat.depth(value);
            let (x, y) = (left + column as f64 * width, top + row as f64 * height);
            // A thin gap between cells large enough for it. Small ones overlap, or the background
            // would shine through.
            let gap = if numbered { 1.0 } else { -0.6 };
            let (w, h) = (width - gap, height - gap);
            page.add(Shape::Rect { x, y, width: w, height: h, paint: Paint::Cell(depth) });
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
    // Cells that show their numbers and are all alike need no scale.
    let mut low = end;
    if !numbered || heat.deepest() > 0 {
        low = end.max(top + 120.0);
        legend(page, heat, right + 26.0, top, low);
    }
    low + 28.0
}

/// The depths from the largest value, at the top, to the smallest, both labelled.
fn legend(page: &mut Page, heat: &Heat, x: f64, top: f64, bottom: f64) {
    let height = (bottom - top).min(220.0) / STEPS as f64;
    for depth in 0..STEPS {
        let y = top + (STEPS - 1 - depth) as f64 * height;
        page.add(Shape::Rect { x, y, width: 14.0, height: height + 0.3, paint: Paint::Cell(depth) });
    }
    let [low, high] = heat.ends();
    let deepest = heat.deepest();
    let at = |depth: usize| top + (STEPS - depth) as f64 * height;
    page.text(x + 20.0, at(deepest + 1) + 11.0, &high, SIZE, false, Anchor::Start, Paint::Faint);
    page.text(x + 20.0, at(0) - 1.0, &low, SIZE, false, Anchor::Start, Paint::Faint);
}
