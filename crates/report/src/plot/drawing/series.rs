//! The values of runs between two axes: dots with their intervals, a line for each level, and where
//! the level changed with what is said of it.

use super::super::Values;
use super::{Anchor, CHARACTER, Canvas, LEADING, MARGIN, MOST_DOTS, OF_BOLD, Paint, SIZE, Shape, WIDTH};
use crate::style::Style;

/// The colour of values and of levels.
const VALUES: Paint = Paint::Line(0);
const LEVELS: Paint = Paint::Line(1);

impl Canvas<'_> {
    /// Draws it; whether an interval can be seen. What is said of changes stands above the field, a
    /// line each, the first one on top.
    pub(super) fn series(&mut self, series: &Values) -> bool {
        for (i, change) in series.changes.iter().enumerate() {
            let (x, _) = self.at(change.x, 0.0);
            let y = self.top - (series.changes.len() - i) as f64 * LEADING + 6.0;
            self.page.stroke(vec![(x, y - 9.0), (x, self.bottom)], 1.0, true, Paint::Axis);
            let beyond = x > (self.left + self.right) / 2.0;
            let (room, at, anchor) = match beyond {
                true => (x - MARGIN, x - 6.0, Anchor::End),
                false => (WIDTH - MARGIN - x, x + 6.0, Anchor::Start),
            };
            let columns = (room / (CHARACTER * OF_BOLD)) as usize;
            let label = Style::plain(columns).cut(&change.label, columns);
            self.page.text(at, y, &label, SIZE, true, anchor, Paint::Text);
        }
        // Intervals of many runs would touch; theirs are paler, so that the values stay visible.
        let crowded = series.points.len() > MOST_DOTS;
        let mut with_bars = false;
        for point in &series.points {
            let (x, y) = self.at(point.x, point.y);
            if let Some([low, high]) = point.interval {
                let (a, b) = (self.at(point.x, low), self.at(point.x, high));
                self.page.stroke(vec![a, b], 1.0, false, if crowded { Paint::Border } else { VALUES });
                with_bars = true;
            }
            let radius = if crowded { 1.8 } else { 2.6 };
            self.page.add(Shape::Dot { x, y, radius, paint: VALUES, says: String::new() });
        }
        for [from, to, level] in &series.levels {
            let ends = vec![self.at(*from, *level), self.at(*to, *level)];
            self.page.stroke(ends, 2.0, false, LEVELS);
        }
        with_bars
    }
}
