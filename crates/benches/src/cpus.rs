//! Selection of CPUs for benchmarks that visit several of them.

use groma_harness::prelude::*;
use groma_harness::sys::{affinity, process};

/// The CPUs that the run may use, as its supervisor has them: by then the worker is pinned to one.
pub(crate) fn of_the_run() -> Result<Vec<u32>, BenchError> {
    affinity::allowed_to(process::parent_id()).or_else(|_| affinity::allowed()).context("reading the allowed CPUs")
}

/// At most `most` of them, spread evenly, including the first and the last.
pub(crate) fn evenly(cpus: &[u32], most: usize) -> Vec<u32> {
    if cpus.len() <= most || most < 2 {
        return cpus.iter().copied().take(most).collect();
    }
    (0..most).map(|i| cpus[i * (cpus.len() - 1) / (most - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_chosen_evenly() {
        let all: Vec<u32> = (0..100).collect();
        assert_eq!(evenly(&all[..3], 64), [0, 1, 2]);
        assert_eq!(evenly(&all, 2), [0, 99]);
        assert_eq!(evenly(&all, 4), [0, 33, 66, 99]);
        let many = evenly(&all, 64);
        assert_eq!((many.len(), many[0], many[63]), (64, 0, 99));
        assert!(many.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(evenly(&[], 8).is_empty());
        assert_eq!(evenly(&all, 1), [0]);
        assert!(!of_the_run().expect("an affinity").is_empty());
    }
}
