//! Memory and caches, as a program meets them.

use groma_harness::sys::topology::{CacheKind, Topology};
use groma_harness::{Benchmark, Stop};

mod bandwidth;
mod latency;
mod loaded_latency;
mod numa;

pub(crate) const ALL: &[&Benchmark] = &[&latency::BENCH, &bandwidth::BENCH, &loaded_latency::BENCH, &numa::BENCH];

/// The declared size of a cache line in bytes; 64 where none is declared.
fn line_size() -> usize {
    let topology = Topology::read();
    topology.caches().iter().find_map(|c| c.line).map_or(64, |line| line as usize)
}

/// The declared size of the last cache that a core has for itself, in bytes.
fn private_cache() -> Option<u64> {
    let topology = Topology::read();
    let private = topology.caches().iter().filter(|c| c.level <= 2 && c.kind != CacheKind::Instruction);
    private.filter_map(|c| c.size).max()
}

/// Says so when a buffer would take more than half of the memory that is available: a benchmark must not push a machine
/// into swapping or its own process into the out-of-memory killer.
pub(crate) fn check_room(bytes: u64) -> Result<(), Stop> {
    let available = groma_harness::sys::facts::available_memory();
    match available {
        Some(room) if bytes > room / 2 => {
            Err(Stop::Unsupported(format!("needs {bytes} B, and half of the {room} B of memory available is less")))
        }
        _ => Ok(()),
    }
}
