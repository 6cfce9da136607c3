//! The probe of the core: how many operations it begins in a cycle, and which of its answers are
//! those of a core to itself (docs/methods/neighbour.md#probe).
//!
//! Not here: the probe itself (`groma-harness`), and how modes are found (`groma-stats`).

/// The block of independent operations that a probe of the core times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum IssueBlock {
    /// Additions to eight registers.
    Additions,
    /// Moves of a constant to eight registers.
    Moves,
    /// Loads of one word into eight registers.
    Loads,
    /// Additions, loads and moves by turns.
    Mixed,
}

/// A probe of how many operations the core begins in a cycle, and what its answer means.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CoreProbe {
    /// What it times.
    pub block: IssueBlock,
    /// How many times as long as the shortest it is, for counters that step slowly.
    pub length: u32,
    /// Operations per cycle of a core that is not shared, as far as is known.
    pub best: f64,
    /// At a lower rate the core is shared; `None` while nothing slower was seen.
    #[cfg_attr(feature = "serde", serde(default))]
    pub shared_below: Option<f64>,
}

impl CoreProbe {
    /// Best modes within this factor are the same.
    const SAME: f64 = 0.97;

    /// Takes the best mode of all probes so far and where it ends, unless they only met a core that
    /// is slower than what is known.
    pub fn learn(&mut self, best: f64, ends_at: Option<f64>) {
        if best >= CoreProbe::SAME * self.best {
            self.best = self.best.max(best);
            self.shared_below = ends_at.or(self.shared_below);
        }
    }

    /// Takes from earlier runs on the same processor what two of them agree on and this one has not
    /// seen: a core that is shared all the time has one mode, and nothing tells it from a core of
    /// its own.
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
            // Where no run met both modes, the boundary is in the middle between them.
            let between = boundary.filter(|at| *at > self.best).unwrap_or((self.best * best).sqrt());
            (self.best, self.shared_below) = (best, Some(between));
        }
    }
}

/// How many probes of the core had which rate: pairs of the logarithm of the operations per cycle,
/// in hundredths, and a number of probes; sorted.
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

    /// Adds what other probes saw.
    pub fn add(&mut self, more: &RateCounts) {
        for (bin, probes) in &more.0 {
            self.count(*bin, *probes);
        }
    }

    /// How many probes there were.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, probes)| u64::from(*probes)).sum()
    }
}

/// What the probes of the core saw in a round (docs/methods/neighbour.md#probe).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CoreRates {
    /// Their rates.
    pub rates: RateCounts,
    /// Nanoseconds that the round waited for the core to be its own.
    #[cfg_attr(feature = "serde", serde(default))]
    pub waited_ns: u64,
}

impl CoreRates {
    /// Whether nothing was probed.
    pub fn is_empty(&self) -> bool {
        self.rates.0.is_empty()
    }

    /// Adds what other probes saw.
    pub fn add(&mut self, more: &CoreRates) {
        self.rates.add(&more.rates);
        self.waited_ns = self.waited_ns.saturating_add(more.waited_ns);
    }
}

/// Whether two rates are those of one mode.
fn is_same(a: f64, b: f64) -> bool {
    a.min(b) >= CoreProbe::SAME * a.max(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(best: f64, shared_below: Option<f64>) -> CoreProbe {
        CoreProbe { block: IssueBlock::Additions, length: 1, best, shared_below }
    }

    /// What is left of `now` after earlier runs were recalled.
    fn recalled(now: CoreProbe, earlier: &[CoreProbe]) -> (f64, Option<f64>) {
        let mut core = now;
        core.recall(earlier);
        (core.best, core.shared_below)
    }

    #[test]
    fn a_core_that_is_shared_all_the_time_is_seen_by_what_earlier_runs_knew() {
        let shared = probe(2.4, None);
        let (own, same) = (probe(3.72, Some(3.4)), probe(3.7, None));
        assert_eq!(recalled(shared, &[own, same]), (3.7, Some(3.4)));
        // One run is no rule, and the best of all may have been a fluke.
        assert_eq!(recalled(shared, &[own]), (2.4, None));
        assert_eq!(recalled(shared, &[probe(4.4, None), own, same]), (3.7, Some(3.4)));
        // Where none had a boundary, or one that says nothing here, it is between the modes.
        for earlier in [[same, same], [same, probe(3.72, Some(2.0))]] {
            let (best, boundary) = recalled(shared, &earlier);
            assert!(best > 3.6 && boundary.is_some_and(|at| (2.9..3.1).contains(&at)), "{boundary:?}");
        }
    }

    #[test]
    fn a_core_of_its_own_keeps_what_it_saw() {
        let earlier = [probe(3.72, Some(3.4)), probe(3.7, Some(3.3))];
        assert_eq!(recalled(probe(3.71, Some(3.5)), &earlier), (3.71, Some(3.5)));
        assert_eq!(recalled(probe(3.71, None), &earlier), (3.71, Some(3.4)), "a boundary it had no need for");
        assert_eq!(recalled(probe(5.0, None), &earlier), (5.0, None));
        let other = earlier.map(|known| CoreProbe { block: IssueBlock::Loads, ..known });
        assert_eq!(recalled(probe(2.4, None), &other), (2.4, None), "another block is another rate");
        assert_eq!(recalled(probe(2.4, None), &[]), (2.4, None));
    }

    #[test]
    fn slower_probes_teach_nothing() {
        let mut core = probe(3.7, Some(3.3));
        core.learn(2.4, None);
        assert_eq!(core, probe(3.7, Some(3.3)));
        core.learn(3.72, Some(3.5));
        assert_eq!(core, probe(3.72, Some(3.5)));
        core.learn(3.65, None);
        assert_eq!(core, probe(3.72, Some(3.5)));
    }
}
