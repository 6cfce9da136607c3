//! What limits of its own took from a run, from its start to its end.

use groma_harness::model::CpuLimit;
use groma_harness::sys::affinity;
use groma_harness::sys::counters::family_cpu_ns;
use groma_harness::sys::facts::{CpuAccount, cpu_account};

/// The accounts at the start of a run.
#[derive(Debug)]
pub(crate) struct Limits {
    account: CpuAccount,
    /// The CPU time of this process and of the workers that have ended.
    used_ns: u64,
    cpus: Option<u32>,
}

impl Limits {
    pub(crate) fn now() -> Limits {
        Limits { account: cpu_account(), used_ns: family_cpu_ns(), cpus: allowed() }
    }

    /// The CPU quota and what it took since then; `None` without one.
    pub(crate) fn cpu_limit(&self) -> Option<CpuLimit> {
        limit(self.account, cpu_account(), family_cpu_ns().saturating_sub(self.used_ns))
    }

    /// How many CPUs were allowed then and are now, if these are fewer.
    pub(crate) fn fewer_cpus(&self) -> Option<[u32; 2]> {
        let (then, now) = (self.cpus?, allowed()?);
        (now < then).then_some([then, now])
    }
}

fn allowed() -> Option<u32> {
    affinity::allowed().ok().map(|cpus| cpus.len() as u32)
}

/// The share of the time for which tasks that wanted to run were held back: of the time that they
/// ran or were held back. Not of the wall time: the kernel counts the time of all CPUs together,
/// and most of a run uses one.
fn limit(then: CpuAccount, now: CpuAccount, used_ns: u64) -> Option<CpuLimit> {
    let held_ns = now.held_back_ns.unwrap_or(0).saturating_sub(then.held_back_ns.unwrap_or(0));
    let held_back = held_ns as f64 / held_ns.saturating_add(used_ns).max(1) as f64;
    (now.cpus.is_some() || held_ns > 0).then_some(CpuLimit { cpus: now.cpus, held_back })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_takes_a_share_of_the_time_that_was_wanted() {
        let at = |cpus, ns| CpuAccount { cpus, held_back_ns: Some(ns) };
        let quota = Some(0.1);
        assert_eq!(limit(at(quota, 50), at(quota, 950), 100), Some(CpuLimit { cpus: quota, held_back: 0.9 }));
        assert_eq!(limit(at(quota, 50), at(quota, 50), 0), Some(CpuLimit { cpus: quota, held_back: 0.0 }));
        // A quota that cannot be read is known by what it took.
        assert_eq!(limit(at(None, 0), at(None, 300), 100), Some(CpuLimit { cpus: None, held_back: 0.75 }));
        assert_eq!(limit(at(None, 50), at(None, 50), 100), None);
        let uncounted = CpuAccount { cpus: quota, held_back_ns: None };
        assert_eq!(limit(uncounted, uncounted, 100), Some(CpuLimit { cpus: quota, held_back: 0.0 }));
    }
}
