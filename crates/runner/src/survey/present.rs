//! Which CPUs a point may use now: CPUs go offline, and control groups change, while a run goes on.
//!
//! A point whose CPUs are all there keeps those of its plan. One that lost a CPU gets those of its
//! placement among what is left: another pair that shares a cache is the same placement. A list of
//! CPUs that somebody named has no other.

use crate::places::{Cpus, chosen};
use crate::plan::Planned;
use groma_harness::sys::affinity;
use groma_harness::sys::topology::Topology;

/// The CPUs that this process may use, and what it knows of them.
#[derive(Debug, Default)]
pub(crate) struct Present {
    /// The CPUs, and the topology of these; read when a point needs it.
    known: Option<(Vec<u32>, Topology)>,
}

/// The CPUs that may be used now; `None` where the kernel does not say.
fn allowed() -> Option<Vec<u32>> {
    affinity::allowed().ok()
}

/// Those of the CPUs that are not allowed, each once.
fn absent(cpus: &[u32], allowed: &[u32]) -> Vec<u32> {
    let mut absent: Vec<u32> = cpus.iter().copied().filter(|cpu| !allowed.contains(cpu)).collect();
    absent.sort_unstable();
    absent.dedup();
    absent
}

/// Whether a round on these CPUs lost one of them.
pub(crate) fn has_lost(cpus: &[u32]) -> bool {
    allowed().is_some_and(|allowed| !absent(cpus, &allowed).is_empty())
}

impl Present {
    /// The CPUs of a point now.
    ///
    /// # Errors
    /// Why there are none: `CPU 1 went away during the run`.
    pub(crate) fn cpus(&mut self, planned: &Planned) -> Result<Cpus, String> {
        let named: &[u32] = match &planned.cpus {
            Cpus::Any => &[],
            Cpus::Each(cpus) => cpus,
            Cpus::OneOf(site) => &site.cpus,
        };
        let Some(allowed) = allowed() else { return Ok(planned.cpus.clone()) };
        let gone = absent(named, &allowed);
        // Of several, those that are left are drawn from.
        if gone.is_empty() || matches!(planned.cpus, Cpus::OneOf(_)) && gone.len() < named.len() {
            return Ok(planned.cpus.clone());
        }
        if self.known.as_ref().is_some_and(|(of, _)| *of != allowed) {
            self.known = None;
        }
        let (allowed, topology) = self.known.get_or_insert_with(|| (allowed, Topology::for_plan()));
        let point = &planned.point;
        match chosen(&point.placement, (point.workers, planned.group), topology) {
            // Of a list that somebody named.
            Ok(Cpus::Each(cpus)) if !absent(&cpus, allowed).is_empty() => Err(went_away(&gone)),
            Ok(cpus) => Ok(cpus),
            Err(why) => Err(format!("{}: {why}", went_away(&gone))),
        }
    }
}

fn went_away(cpus: &[u32]) -> String {
    format!("{} went away during the run", Cpus::Each(cpus.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::tests::planned;
    use groma_harness::model::Placement;

    fn on(placement: Placement, cpus: Cpus) -> Planned {
        let mut planned = planned("a.one", 1);
        planned.point.placement = placement;
        planned.cpus = cpus;
        planned
    }

    /// A CPU that no machine has is one that went away.
    const GONE: u32 = 1_000_000;

    #[test]
    fn a_point_that_lost_a_cpu_gets_another_of_its_placement() {
        let here = affinity::allowed().expect("CPUs");
        let mut present = Present::default();
        let whole = on(Placement::SameCpu, Cpus::Each(vec![here[0], here[0]]));
        assert_eq!(present.cpus(&whole), Ok(whole.cpus.clone()));
        let Ok(Cpus::Each(moved)) = present.cpus(&on(Placement::SameCpu, Cpus::Each(vec![GONE, GONE]))) else {
            panic!("there is a CPU here");
        };
        assert!(moved.len() == 2 && moved[0] == moved[1] && here.contains(&moved[0]), "{moved:?}");
        let named = on(Placement::List(vec![here[0], GONE]), Cpus::Each(vec![here[0], GONE]));
        assert_eq!(present.cpus(&named), Err(format!("CPU {GONE} went away during the run")));
        assert!(has_lost(&[here[0], GONE]) && !has_lost(&[here[0]]));
    }
}
