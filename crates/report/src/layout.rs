//! Layout of pages: strips of text in columns, blocks of lines, and the picture of a curve. The
//! content of pages is up to `page` and `hardware`.

mod blocks;
mod curve;
mod strip;

pub(crate) use blocks::{BlockCell, Mark, PRECISE, lines, rows, title};
pub(crate) use curve::picture;
pub(crate) use strip::{Strip, in_two_columns, side_by_side, stacked};

use crate::style::{Ink, Style, columns};

/// The narrowest page with two columns of lines.
pub(crate) const TWO_COLUMNS: usize = 80;
/// Spaces between two columns.
pub(crate) const GAP: usize = 2;

/// The width of a column, and whether there are two.
pub(crate) fn column(style: &Style) -> (usize, bool) {
    let two = style.width + 1 >= TWO_COLUMNS;
    (if two { (style.width - GAP) / 2 } else { style.width }, two)
}

/// A heading across the page.
pub(crate) fn rule(title: &str, style: &Style) -> Strip {
    let dashes = "─".repeat(style.width.saturating_sub(columns(title) + 1));
    Strip::new(style, Ink::Strong, title).then(Strip::new(style, Ink::Faint, &format!(" {dashes}")))
}
