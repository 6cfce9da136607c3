//! Which samples of a core that is shared count.
//!
//! Samples beside a busy sibling thread are left out of the headline where enough rounds met a core
//! of their own; else all count, and a flag says so (docs/methods/neighbour.md#headline).

use groma_model::{Label, Labels, Metric, Point, Round, State};
use std::borrow::Cow;

use crate::samples::{Which, number_of};
use crate::verdict::ROUNDS_FOR_INTERVAL;

/// Fewer samples than this are no value of a round.
pub(crate) const FEWEST: usize = 3;

/// The labels that drop a sample of this metric in these rounds.
pub fn drops(point: &Point, metric: &Metric, rounds: &[Round]) -> Labels {
    counted(point, metric, rounds).drops
}

/// The point with the labels that drop a sample of this metric: those of the benchmark, without
/// that of a shared core where too few rounds met another.
pub(crate) fn counted<'p>(point: &'p Point, metric: &Metric, rounds: &[Round]) -> Cow<'p, Point> {
    if !point.drops.has(Label::Shared) {
        return Cow::Borrowed(point);
    }
    let of = |which: Which, round: &Round| number_of(which, point, metric, round);
    let good = || rounds.iter().filter(|round| round.result.state == State::Ok);
    if good().all(|round| of(Which::Shared, round) == 0) {
        return Cow::Borrowed(point);
    }
    let own = good().filter(|round| of(Which::Clean, round) >= FEWEST).count();
    if own >= ROUNDS_FOR_INTERVAL.min(good().count()) {
        return Cow::Borrowed(point);
    }
    Cow::Owned(Point { drops: point.drops.without(Label::Shared), ..point.clone() })
}
