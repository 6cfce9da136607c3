//! A table whose cells are wrapped until its lines fit. [`crate::grid`] only wraps the last column,
//! which is not enough if several hold sentences or headings are machine names.

use crate::style::{Ink, Style, columns, wrap};

const GAP: usize = 2;

/// The rows in columns, each with the colour of its cells; the first is the heading. Columns from
/// `texts` on are numbers: right-aligned, and only wrapped in the heading.
pub(super) fn wrapped(rows: &[(Ink, Vec<String>)], texts: usize, style: &Style) -> String {
    let rows: Vec<(Ink, Vec<String>)> =
        rows.iter().map(|(ink, cells)| (*ink, cells.iter().map(|cell| style.text(cell)).collect())).collect();
    let widths = widths(&rows, texts, style.width);
    let mut out = String::new();
    for (ink, cells) in &rows {
        let parts: Vec<Vec<String>> = cells.iter().zip(&widths).map(|(cell, width)| wrap(cell, *width)).collect();
        for at in 0..parts.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = String::new();
            for (i, (part, &width)) in parts.iter().zip(&widths).enumerate() {
                let text = part.get(at).map_or("", String::as_str);
                let pad = " ".repeat(width.saturating_sub(columns(text)));
                let painted = style.paint(*ink, text);
                line += &if i < texts { painted + &pad } else { pad + &painted };
                line += &" ".repeat(GAP);
            }
            out += line.trim_end();
            out.push('\n');
        }
    }
    out
}

/// Natural widths; then the widest shrinkable column shrinks until all fit.
fn widths(rows: &[(Ink, Vec<String>)], texts: usize, room: usize) -> Vec<usize> {
    let count = rows.first().map_or(0, |(_, cells)| cells.len());
    let longest = |text: &String| text.split_whitespace().map(columns).max().unwrap_or(0);
    let (mut widths, mut least) = (vec![0; count], vec![0; count]);
    for (at, (_, cells)) in rows.iter().enumerate() {
        for (i, cell) in cells.iter().enumerate().take(count) {
            widths[i] = widths[i].max(columns(cell));
            least[i] = least[i].max(if i < texts || at == 0 { longest(cell) } else { columns(cell) });
        }
    }
    let mut excess = (widths.iter().sum::<usize>() + GAP * count.saturating_sub(1)).saturating_sub(room);
    while excess > 0 {
        let Some(i) = (0..count).filter(|i| widths[*i] > least[*i]).max_by_key(|i| widths[*i]) else { break };
        widths[i] -= 1;
        excess -= 1;
    }
    widths
}
