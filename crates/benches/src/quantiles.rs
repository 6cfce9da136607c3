//! States quantiles of what single operations took in a round. Not those of the rounds themselves,
//! which the analysis computes of all samples.

use groma_harness::Ctx;
use groma_harness::stats::order::{enough_for, quantile_if_enough};

/// States a quantile of these times, in seconds, or that they are too few for it: one in a thousand
/// is nothing that a hundred requests show.
pub(crate) fn state_quantile(ctx: &mut Ctx, output: &'static str, p: f64, seconds: &[f64]) {
    match quantile_if_enough(seconds, p) {
        Some(value) => ctx.state_as(output, value),
        None => {
            let (n, wanted) = (seconds.len(), enough_for(p).unwrap_or_default());
            ctx.unresolved(output, &format!("{n} requests in a round, and it takes {wanted}"));
        }
    }
}
