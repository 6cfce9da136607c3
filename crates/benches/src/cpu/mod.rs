//! The core itself: its clock, its cheapest instructions, and cache lines shared by two CPUs.

use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Row, Say, Select, first, least};
use groma_harness::sys::rates;
use groma_harness::{Benchmark, Ctx};

mod atomic;
mod boost;
mod branch;
mod call;
mod contention;
mod core_to_core;
mod false_sharing;
mod frequencies;
mod frequency;
mod operation;
mod pair;
mod random;
mod split;
mod store_forward;

/// What the family says about itself.
pub(crate) static ABOUT: Family = Family {
    name: "cpu",
    summary: "The core: its clock and its cheapest operations",
    says: Say::Led(&[
        Say::Text("the core runs at {}", &[Figure::Value(first("cpu.frequency"))]),
        Say::Text("; a call and its return cost {}", &[Figure::WithCycles(least("cpu.call"))]),
        Say::Text(
            "; a line goes from one core to another in {} (cas1)",
            &[Figure::Span(Select::Word("cpu.core_to_core", "protocol", "cas1"))],
        ),
    ]),
    rows: &[
        Row::CoreClock { rate: "cpu.frequency", lowest: "cpu.frequencies.lowest", highest: "cpu.frequencies.highest" },
        Row::SharedCache("cpu.core_to_core"),
        Row::Transfers("cpu.core_to_core"),
    ],
};

pub(crate) const ALL: &[&Benchmark] = &[
    &frequency::BENCH,
    &frequencies::BENCH,
    &boost::BENCH,
    &call::BENCH,
    &operation::BENCH,
    &branch::BENCH,
    &store_forward::BENCH,
    &split::BENCH,
    &atomic::BENCH,
    &random::BENCH,
    &core_to_core::BENCH,
    &contention::BENCH,
    &false_sharing::BENCH,
];

/// Records the declared clocks of a CPU as facts: the highest as `declared`, and each by its
/// source.
fn declare_clock(ctx: &mut Ctx, cpu: u32) {
    let declared = rates::declared_core(cpu);
    if let Some((_, hz)) = declared.first() {
        ctx.fact("declared", hz);
    }
    for (name, hz) in declared {
        ctx.fact(&format!("clock.{}", name.replace(' ', "_")), hz);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::prelude::Timing;

    /// Others at work only add to the time of an instruction: the fastest tenth of the intervals
    /// leaves them out, and the median does not.
    #[test]
    fn instructions_are_told_by_their_fastest_intervals() {
        for bench in ALL.iter().filter(|bench| bench.info.timing != Timing::Stated) {
            assert_eq!(bench.info.timing, Timing::Floor, "{}", bench.info.id);
        }
    }
}
