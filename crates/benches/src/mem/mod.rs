//! Memory and caches, as a program meets them.

use groma_harness::sys::topology::{CacheKind, Topology};
use groma_harness::{Benchmark, Stop};

mod available;
mod bandwidth;
mod hammer;
mod hammer_run;
mod latency;

pub(crate) const ALL: &[&Benchmark] =
    &[&latency::BENCH, &bandwidth::BENCH, &hammer::BENCH, &hammer_run::BENCH, &available::BENCH];

/// The declared size of a cache line in bytes; 64 where none is declared.
pub(crate) fn line_size() -> usize {
    let topology = Topology::read();
    topology.caches().iter().find_map(|c| c.line).map_or(64, |line| line as usize)
}

/// The declared size of the last cache that a core has for itself, in bytes.
fn private_cache() -> Option<u64> {
    let topology = Topology::read();
    let private = topology.caches().iter().filter(|c| c.level <= 2 && c.kind != CacheKind::Instruction);
    private.filter_map(|c| c.size).max()
}

/// Says so when a buffer would take more than half of the memory that can still be had, and what the limit is: a benchmark must
/// not push a machine into swapping or its own process into the out-of-memory killer.
pub(crate) fn check_room(bytes: u64) -> Result<(), Stop> {
    match groma_harness::sys::facts::memory_room() {
        Some(room) if bytes > room.bytes / 2 => Err(Stop::Unsupported(format!(
            "needs {bytes} B, more than half of the {} B that {} leaves",
            room.bytes, room.limit
        ))),
        _ => Ok(()),
    }
}
