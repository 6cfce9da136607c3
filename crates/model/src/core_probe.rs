//! The core probe: the operations per cycle that it finds, and the boundary between a core that is
//! shared and one that is not (docs/methods/neighbour.md#probe). Not here: the probe itself
//! (`groma-harness`), and how the idle rate is found (`groma-stats`).

/// How to tell whether another hardware thread is busy on the same core.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CoreProbe {
    /// Its length as a multiple of the shortest, for counters with a large step.
    pub length: u32,
    /// The step of the counter as a fraction of what it counts during a probe.
    #[cfg_attr(feature = "serde", serde(default))]
    pub step: f64,
    /// The rate of an idle core, in operations per cycle: the best known one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub idle: f64,
    /// Whether a core was ever seen alone; else `idle` is the best of one that always had company.
    #[cfg_attr(feature = "serde", serde(default))]
    pub alone: bool,
    /// The core is shared at rates below this; `None` where nothing can be told.
    #[cfg_attr(feature = "serde", serde(default))]
    pub shared_below: Option<f64>,
}

impl CoreProbe {
    /// Idle rates within this factor are the same.
    const SAME: f64 = 0.99;

    /// Whether a core that answers with this rate is shared.
    pub fn is_shared(&self, rate: f64) -> bool {
        self.shared_below.is_some_and(|boundary| rate < boundary)
    }

    /// Adopts what more probes say of the idle core. A known rate is never lowered: what is slower
    /// was shared.
    pub fn learn(&mut self, found: &CoreProbe) {
        let newer = match (self.alone, found.alone) {
            (false, true) => true,
            (true, true) => found.idle >= CoreProbe::SAME * self.idle,
            (true, false) => false,
            (false, false) => found.idle >= self.idle,
        };
        if newer {
            (self.idle, self.alone, self.shared_below) = (found.idle, found.alone, found.shared_below);
        }
    }

    /// Adopts the rate on which two earlier runs on the same processor agree, where it is better: a
    /// sibling that is always busy leaves a core with one rate, like an idle one.
    pub fn recall(&mut self, earlier: &[CoreProbe]) {
        let usable = |known: &&CoreProbe| known.alone && known.length == self.length;
        let mut known: Vec<&CoreProbe> = earlier.iter().filter(usable).collect();
        known.sort_by(|a, b| b.idle.total_cmp(&a.idle));
        if let Some(pair) = known.windows(2).find(|pair| pair[1].idle >= CoreProbe::SAME * pair[0].idle) {
            let best = pair[1];
            if !self.alone || best.idle * CoreProbe::SAME > self.idle {
                (self.idle, self.alone, self.shared_below) = (best.idle, true, best.shared_below);
            }
        }
    }
}

/// A histogram of core probes: sorted pairs of 400 times the logarithm of the operations per cycle
/// and a number of probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct RateCounts(pub Vec<(i16, u32)>);

impl RateCounts {
    /// Counts probes of one rate.
    pub fn count(&mut self, bin: i16, probes: u32) {
        match self.0.binary_search_by_key(&bin, |(bin, _)| *bin) {
            Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(probes),
            Err(at) => self.0.insert(at, (bin, probes)),
        }
    }

    /// Adds the results of other probes.
    pub fn add(&mut self, more: &RateCounts) {
        for (bin, probes) in &more.0 {
            self.count(*bin, *probes);
        }
    }

    /// The number of probes.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, probes)| u64::from(*probes)).sum()
    }
}

/// The results of the core probes of a round (docs/methods/neighbour.md#probe).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CoreRates {
    /// The rates of the probes beside samples. Those of a wait are not counted: they would say how
    /// long it was busy, not how often.
    pub rates: RateCounts,
    /// Groups of samples that began to be taken, and those of them that found the core idle without
    /// waiting.
    #[cfg_attr(feature = "serde", serde(default))]
    pub looks: u32,
    /// See `looks`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub idle: u32,
    /// Nanoseconds that the round waited for an idle core.
    #[cfg_attr(feature = "serde", serde(default))]
    pub waited_ns: u64,
}

impl CoreRates {
    /// Whether there were no probes.
    pub fn is_empty(&self) -> bool {
        self.rates.0.is_empty()
    }

    /// Adds the results of other probes.
    pub fn add(&mut self, more: &CoreRates) {
        self.rates.add(&more.rates);
        self.looks = self.looks.saturating_add(more.looks);
        self.idle = self.idle.saturating_add(more.idle);
        self.waited_ns = self.waited_ns.saturating_add(more.waited_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(idle: f64, alone: bool) -> CoreProbe {
        let shared_below = Some(if alone { 0.97 } else { 1.1 } * idle);
        CoreProbe { length: 1, step: 0.0, idle, alone, shared_below }
    }

    /// `now` after it has adopted earlier runs.
    fn recall(now: CoreProbe, earlier: &[CoreProbe]) -> CoreProbe {
        let mut core = now;
        core.recall(earlier);
        core
    }

    #[test]
    fn a_core_that_is_always_shared_is_recognised_by_earlier_runs() {
        let (own, same) = (probe(3.72, true), probe(3.7, true));
        for shared in [probe(2.4, true), probe(2.4, false)] {
            assert_eq!(recall(shared, &[own, same]), same);
            // One run is not enough, and the best of all may be an outlier.
            assert_eq!(recall(shared, &[own]), shared);
            assert_eq!(recall(shared, &[probe(4.4, true), own, same]), same);
            // What never was alone knows no idle rate, and another length is another probe.
            assert_eq!(recall(shared, &[probe(4.4, false), probe(4.4, false)]), shared);
            let other = [own, same].map(|known| CoreProbe { length: 3, ..known });
            assert_eq!(recall(shared, &other), shared);
        }
        let now = probe(3.71, true);
        assert_eq!(recall(now, &[own, same]), now, "it has seen as much itself");
        assert_eq!(recall(probe(5.0, true), &[own, same]), probe(5.0, true));
    }

    #[test]
    fn slower_probes_change_nothing() {
        let mut core = probe(2.0, false);
        for (found, expected) in [
            (probe(2.2, false), probe(2.2, false)),
            (probe(2.1, false), probe(2.2, false)),
            (probe(3.7, true), probe(3.7, true)),
            (probe(3.9, false), probe(3.7, true)),
            (probe(2.4, true), probe(3.7, true)),
            (probe(3.69, true), probe(3.69, true)),
        ] {
            core.learn(&found);
            assert_eq!(core, expected);
        }
        assert!(core.is_shared(3.5) && !core.is_shared(3.65));
        assert!(!CoreProbe { shared_below: None, ..core }.is_shared(0.1));
    }
}
