//! Painted text with a known width, and columns of such text.

use crate::style::{Ink, Style, columns};

/// A line or a part of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strip {
    text: String,
    width: usize,
}

impl Strip {
    /// A text in a colour.
    pub(crate) fn new(style: &Style, ink: Ink, text: &str) -> Strip {
        let text = style.text(text);
        Strip { width: columns(&text), text: style.paint(ink, &text) }
    }

    /// A plain text.
    pub(crate) fn plain(style: &Style, text: &str) -> Strip {
        Strip::new(style, Ink::Plain, text)
    }

    /// The program's own text, in any alphabet.
    pub(crate) fn of_ink(style: &Style, ink: Ink, text: &str) -> Strip {
        Strip { width: columns(text), text: style.paint(ink, text) }
    }

    /// Its width in columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// This text followed by another.
    pub(crate) fn then(mut self, more: Strip) -> Strip {
        self.text += &more.text;
        self.width += more.width;
        self
    }

    /// This text padded with spaces to a column.
    pub(crate) fn to(mut self, column: usize) -> Strip {
        let more = column.saturating_sub(self.width);
        self.text.extend(std::iter::repeat_n(' ', more));
        self.width += more;
        self
    }

    /// This text followed by `more`, which ends at `column` if there is room.
    pub(crate) fn ending_at(self, more: Strip, column: usize) -> Strip {
        let start = column.saturating_sub(more.width).max(self.width + 1);
        self.to(start).then(more)
    }

    /// The line without trailing spaces.
    pub(crate) fn line(&self) -> &str {
        self.text.trim_end()
    }
}

/// Two columns of strips; the second starts at `column`.
pub(crate) fn side_by_side(left: Vec<Strip>, right: Vec<Strip>, column: usize) -> Vec<Strip> {
    let rows = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    (0..rows)
        .map(|_| {
            let first = left.next().unwrap_or_default();
            match right.next().filter(|strip| strip.width > 0) {
                Some(second) => first.to(column).then(second),
                None => first,
            }
        })
        .collect()
}

/// Stacks in two columns as even as possible, in order: the first column is read to its end before
/// the second. A blank line separates stacks.
pub(crate) fn in_two_columns(stacks: Vec<Vec<Strip>>, column: usize) -> Vec<Strip> {
    let height = |stacks: &[Vec<Strip>]| stacks.iter().map(Vec::len).sum::<usize>() + stacks.len().saturating_sub(1);
    let taller = |split: &usize| height(&stacks[..*split]).max(height(&stacks[*split..]));
    let split = (0..=stacks.len()).min_by_key(taller).unwrap_or(0);
    side_by_side(stacked(&stacks[..split]), stacked(&stacks[split..]), column)
}

/// Stacks below each other, separated by a blank line.
pub(crate) fn stacked(stacks: &[Vec<Strip>]) -> Vec<Strip> {
    stacks.join(&Strip::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(lines: &[&str]) -> Vec<Strip> {
        lines.iter().map(|line| Strip::plain(&Style::plain(80), line)).collect()
    }

    fn text(strips: &[Strip]) -> Vec<&str> {
        strips.iter().map(Strip::line).collect()
    }

    #[test]
    fn columns_are_as_even_as_their_order_allows() {
        let stacks = vec![stack(&["a", "b"]), stack(&["c"]), stack(&["d", "e", "f"])];
        let rows = in_two_columns(stacks, 4);
        assert_eq!(text(&rows), ["a   d", "b   e", "    f", "c"]);
        assert_eq!(text(&in_two_columns(Vec::new(), 4)), [""; 0]);
    }

    #[test]
    fn colour_takes_no_columns() {
        let style = Style { colour: true, ..Style::plain(80) };
        let strip = Strip::new(&style, Ink::Strong, "ab").ending_at(Strip::plain(&style, "12"), 8);
        assert_eq!((strip.width(), strip.line()), (8, "\x1b[1mab\x1b[0m    12"));
        // Without room, one space remains.
        assert_eq!(strip.ending_at(Strip::plain(&style, "3"), 4).width(), 10);
    }
}
