//! The core probe: the operations per cycle that it measures, and the boundary between those of a
//! shared core and others (docs/methods/neighbour.md#probe). Not here: the probe itself
//! (`groma-harness`), and how modes are found (`groma-stats`).

/// The block of independent operations that a core probe times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum IssueBlock {
    /// Additions to eight registers.
    Additions,
    /// Moves of a constant to eight registers.
    Moves,
    /// Loads of one word into eight registers.
    Loads,
    /// Additions, loads and moves in turn.
    Mixed,
}

/// A probe of the operations that a core issues per cycle, and the meaning of its result.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CoreProbe {
    /// What it times.
    pub block: IssueBlock,
    /// Its length as a multiple of the shortest, for counters with a large step.
    pub length: u32,
    /// The best known rate of an unshared core, in operations per cycle.
    pub best: f64,
    /// The core is shared at rates below this; `None` until a slower mode was seen.
    #[cfg_attr(feature = "serde", serde(default))]
    pub shared_below: Option<f64>,
}

impl CoreProbe {
    /// Best modes within this factor are the same.
    const SAME: f64 = 0.97;

    /// Adopts the best mode of all probes so far and its lower end, unless it is slower than the
    /// best known rate: then the core was always shared.
    pub fn learn(&mut self, best: f64, ends_at: Option<f64>) {
        if best >= CoreProbe::SAME * self.best {
            self.best = self.best.max(best);
            self.shared_below = ends_at.or(self.shared_below);
        }
    }

    /// Adopts a better rate on which two earlier runs on the same processor agree, or their
    /// boundary if this run saw none: a core that is always shared has one mode, like an unshared
    /// one.
    pub fn recall(&mut self, earlier: &[CoreProbe]) {
        let of_same_probe = |known: &&CoreProbe| (known.block, known.length) == (self.block, self.length);
        let mut known: Vec<&CoreProbe> = earlier.iter().filter(of_same_probe).collect();
        known.sort_by(|a, b| b.best.total_cmp(&a.best));
        let agree = |pair: &&[&CoreProbe]| is_same(pair[1].best, pair[0].best);
        let Some(best) = known.windows(2).find(agree).map(|pair| pair[1].best) else { return };
        let boundary = known.iter().filter(|run| is_same(run.best, best)).find_map(|run| run.shared_below);
        if is_same(self.best, best) {
            self.shared_below = self.shared_below.or(boundary);
        } else if self.best < best {
            // If no run saw both modes, the boundary is halfway between them.
            let between = boundary.filter(|at| *at > self.best).unwrap_or((self.best * best).sqrt());
            (self.best, self.shared_below) = (best, Some(between));
        }
    }
}

/// A histogram of core probes: sorted pairs of 100 times the logarithm of the operations per cycle
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
    /// Their rates.
    pub rates: RateCounts,
    /// Nanoseconds that the round waited for an unshared core.
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
        self.waited_ns = self.waited_ns.saturating_add(more.waited_ns);
    }
}

/// Whether two rates belong to one mode.
fn is_same(a: f64, b: f64) -> bool {
    a.min(b) >= CoreProbe::SAME * a.max(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(best: f64, shared_below: Option<f64>) -> CoreProbe {
        CoreProbe { block: IssueBlock::Additions, length: 1, best, shared_below }
    }

    /// `now` after it has adopted earlier runs.
    fn recalled(now: CoreProbe, earlier: &[CoreProbe]) -> (f64, Option<f64>) {
        let mut core = now;
        core.recall(earlier);
        (core.best, core.shared_below)
    }

    #[test]
    fn a_core_that_is_always_shared_is_recognised_by_earlier_runs() {
        let shared = probe(2.4, None);
        let (own, same) = (probe(3.72, Some(3.4)), probe(3.7, None));
        assert_eq!(recalled(shared, &[own, same]), (3.7, Some(3.4)));
        // One run is not enough, and the best of all may be an outlier.
        assert_eq!(recalled(shared, &[own]), (2.4, None));
        assert_eq!(recalled(shared, &[probe(4.4, None), own, same]), (3.7, Some(3.4)));
        // Without a usable boundary, it is between the modes.
        for earlier in [[same, same], [same, probe(3.72, Some(2.0))]] {
            let (best, boundary) = recalled(shared, &earlier);
            assert!(best > 3.6 && boundary.is_some_and(|at| (2.9..3.1).contains(&at)), "{boundary:?}");
        }
    }

    #[test]
    fn an_unshared_core_keeps_its_own_boundary() {
        let earlier = [probe(3.72, Some(3.4)), probe(3.7, Some(3.3))];
        assert_eq!(recalled(probe(3.71, Some(3.5)), &earlier), (3.71, Some(3.5)));
        assert_eq!(recalled(probe(3.71, None), &earlier), (3.71, Some(3.4)), "a boundary it had no need for");
        assert_eq!(recalled(probe(5.0, None), &earlier), (5.0, None));
        let other = earlier.map(|known| CoreProbe { block: IssueBlock::Loads, ..known });
        assert_eq!(recalled(probe(2.4, None), &other), (2.4, None), "another block is another rate");
        assert_eq!(recalled(probe(2.4, None), &[]), (2.4, None));
    }

    #[test]
    fn slower_probes_change_nothing() {
        let mut core = probe(3.7, Some(3.3));
        core.learn(2.4, None);
        assert_eq!(core, probe(3.7, Some(3.3)));
        core.learn(3.72, Some(3.5));
        assert_eq!(core, probe(3.72, Some(3.5)));
        core.learn(3.65, None);
        assert_eq!(core, probe(3.72, Some(3.5)));
    }
}
