//! Signals. See docs/methods/operating-system.md#signals.

use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::Scaling;
use groma_harness::model::family::{Figure, Say, first};

mod install;
mod kill;
mod catch;
mod fault;
mod write_barrier;
mod rtt;
mod interrupt;

pub(crate) static ABOUT: Family = Family {
    name: "signal",
    summary: "Installing, sending and catching signals",
    says: Say::Led(&[
        Say::Text("catching a signal costs {}", &[Figure::Value(first("signal.catch"))]),
        Say::Text(", installing its handler {}", &[Figure::Value(first("signal.install"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("signal");

/// Why none of these runs as threads.
const PROCESSES: Scaling =
    Scaling::processes("a handler belongs to the whole process: threads would replace each other's");

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::prelude::Interference;

    /// A refused access is a fault, and who waits for a signal sleeps: that must not drop a sample.
    #[test]
    fn faults_and_sleeps_belong_to_what_is_measured() {
        use Interference::{Blocking, Cpu, Faults};
        let kinds: Vec<Interference> = ALL.iter().map(|bench| bench.info.interference).collect();
        // Installing, sending, catching; the refused accesses; the round trip; a thread that runs.
        assert_eq!(kinds, [Cpu, Cpu, Cpu, Faults, Faults, Blocking, Cpu]);
    }
}
