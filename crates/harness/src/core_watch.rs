//! Looks whether another hardware thread is busy on the core of a round, and waits until none is.
//!
//! A look is a block of independent operations, 0.4 us; beside a busy sibling it takes longer. Its
//! ticks become a rate by a chain of dependent additions, which takes as long beside a sibling as
//! without: the fastest of the last few, since some are held up
//! (docs/methods/neighbour.md#probe). Not here: what the rate of an idle core is (`core_probe`).

use crate::instruments::{Instruments, PROBE_ADDITIONS, PROBE_TURNS};
use crate::model::{CoreProbe, CoreRates};
use crate::sys::arch;
use groma_stats::idle_rate::log_bin;

/// Chains of which the fastest tells the clock. One is 20 times too slow in a thousandth of all
/// cases here, and the fastest of five is within 0.5 % of the best of forty.
const CHAINS: usize = 5;
/// Chains that suffice after a pause.
const FRESH: usize = 3;
/// Blocks after a pause before one counts: behind a sleep of 10 ms on a Zen 3 the first finds 100 %
/// of the cores shared and the second 97 %, the third and the 200th alike 69 to 72 %.
const WARM: usize = 2;
/// Chains that are older tell another clock: a host changes it within milliseconds, and that of a
/// CPU that slept has changed.
const OLD_NS: u64 = 500_000;
/// Looks of a wait after which the clock is timed again: it may have changed meanwhile.
const LOOKS: u32 = 64;

/// A watch on one core.
#[derive(Debug)]
pub struct CoreWatch<'i, I> {
    ins: &'i I,
    probe: Option<CoreProbe>,
    /// Ticks of the last chains.
    chains: [u64; CHAINS],
    next: usize,
    timed_ns: u64,
    /// What the round may still wait, in nanoseconds.
    patience_ns: u64,
    /// What was seen so far.
    pub seen: CoreRates,
}

impl<'i, I: Instruments> CoreWatch<'i, I> {
    /// A watch by this probe, which may wait for so long in all. Without a probe it sees nothing,
    /// and calls every core idle.
    pub fn new(ins: &'i I, probe: Option<CoreProbe>, patience_ns: u64) -> CoreWatch<'i, I> {
        let mut watch = CoreWatch {
            ins,
            probe,
            chains: [u64::MAX; CHAINS],
            next: 0,
            timed_ns: 0,
            patience_ns,
            seen: CoreRates::default(),
        };
        watch.time_chain();
        watch
    }

    /// Times the clock of the core once more, or anew after a pause.
    pub fn time_chain(&mut self) {
        let Some(probe) = &self.probe else { return };
        let now = self.ins.now_ns();
        if now.saturating_sub(self.timed_ns) > OLD_NS {
            return self.time_anew();
        }
        self.chains[self.next] = self.ins.chain_ticks(probe.length);
        self.next = (self.next + 1) % CHAINS;
        self.timed_ns = now;
    }

    /// Times the clock without regard to what it was, and warms the block up.
    pub fn time_anew(&mut self) {
        let Some(probe) = &self.probe else { return };
        self.chains = [u64::MAX; CHAINS];
        for k in 0..FRESH {
            self.chains[k] = self.ins.chain_ticks(probe.length);
        }
        (0..WARM).for_each(|_| {
            self.ins.block_ticks(probe.length);
        });
        (self.next, self.timed_ns) = (FRESH, self.ins.now_ns());
    }

    /// The rate just now, in operations per cycle.
    pub fn rate(&self) -> Option<f64> {
        let probe = self.probe?;
        let fastest = self.chains.iter().copied().filter(|ticks| *ticks > 0).min()?;
        let block = self.ins.block_ticks(probe.length);
        // A step of the chain takes a cycle; both are as many times their shortest.
        let operations = (PROBE_TURNS * arch::ISSUE_UNROLL) as f64 / PROBE_ADDITIONS as f64;
        (block > 0).then(|| operations * fastest as f64 / block as f64)
    }

    /// The rate just now, of the faster of two blocks: the first finds its code evicted and its
    /// branches unpredicted.
    pub fn warm_rate(&self) -> Option<f64> {
        self.rate().into_iter().chain(self.rate()).reduce(f64::max)
    }

    /// Whether the core is idle but for this thread. Counts the probe.
    pub fn look(&mut self) -> bool {
        let rate = self.warm_rate();
        if let Some(bin) = rate.and_then(log_bin) {
            self.seen.rates.count(bin, 1);
        }
        !self.is_shared(rate)
    }

    fn is_shared(&self, rate: Option<f64>) -> bool {
        self.probe.zip(rate).is_some_and(|(probe, rate)| probe.is_shared(rate))
    }

    /// Ends all waiting: the round has what it needs.
    pub(crate) fn hurry(&mut self) {
        self.patience_ns = 0;
    }

    /// Whether the round may wait any longer.
    pub(crate) fn is_patient(&self) -> bool {
        self.patience_ns > 0 && self.probe.is_some_and(|probe| probe.alone)
    }

    /// Waits until the core is idle, as long as the round may still wait. The nanoseconds that it
    /// took.
    pub(crate) fn wait(&mut self) -> u64 {
        let Some(probe) = self.probe.filter(|probe| probe.shared_below.is_some()) else { return 0 };
        self.seen.looks = self.seen.looks.saturating_add(1);
        if !self.is_shared(self.rate()) {
            self.seen.idle = self.seen.idle.saturating_add(1);
            return 0;
        }
        if !probe.alone {
            return 0;
        }
        let (start, mut waited, mut looks) = (self.ins.now_ns(), 0, 0);
        while waited < self.patience_ns && self.is_shared(self.rate()) {
            looks += 1;
            if looks % LOOKS == 0 {
                self.time_chain();
            }
            waited = self.ins.now_ns().saturating_sub(start);
        }
        self.patience_ns = self.patience_ns.saturating_sub(waited);
        self.seen.waited_ns = self.seen.waited_ns.saturating_add(waited);
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Fake, core};

    #[test]
    fn the_rate_is_in_operations_per_cycle_of_the_fastest_chain() {
        let fake = Fake::new();
        let mut watch = CoreWatch::new(&fake, Some(core()), 0);
        assert!(watch.look(), "{:?}", watch.rate());
        assert!((watch.rate().expect("a rate") - 4.0).abs() < 1e-9);
        // A chain that was held up says nothing; a slower clock shows when all are slower.
        fake.chain_ticks.set(60_000);
        (0..CHAINS - 1).for_each(|_| watch.time_chain());
        assert!((watch.rate().expect("a rate") - 4.0).abs() < 1e-9);
        fake.block_ticks.set(fake.block_ticks.get() * 2);
        assert!(!watch.look(), "half of the rate");
        fake.chain_ticks.set(6_400);
        (0..CHAINS).for_each(|_| watch.time_chain());
        assert!(watch.look(), "half of the clock");
        assert_eq!((watch.seen.rates.total(), watch.seen.rates.0.len()), (3, 2));
    }

    #[test]
    fn a_wait_ends_when_the_sibling_rests_or_patience_does() {
        let fake = Fake::new();
        let mut watch = CoreWatch::new(&fake, Some(core()), 100_000);
        assert_eq!(watch.wait(), 0);
        fake.block_ticks.set(4_000);
        fake.idle_from.set(Some(fake.now.get() + 60_000));
        let waited = watch.wait();
        assert!((59_000..62_000).contains(&waited), "{waited}");
        fake.idle_from.set(None);
        fake.block_ticks.set(4_000);
        let rest = watch.wait();
        assert!((38_000..42_000).contains(&rest) && !watch.is_patient(), "{rest}");
        assert_eq!(watch.wait(), 0);
        assert_eq!((watch.seen.looks, watch.seen.idle, watch.seen.waited_ns), (4, 1, waited + rest));
    }

    #[test]
    fn without_an_idle_rate_nothing_is_waited_for() {
        let fake = Fake::new();
        fake.block_ticks.set(4_000);
        let never = CoreProbe { alone: false, shared_below: Some(9.0), ..core() };
        let mut watch = CoreWatch::new(&fake, Some(never), 100_000);
        assert_eq!((watch.wait(), watch.look(), watch.is_patient()), (0, false, false));
        let unknown = CoreProbe { shared_below: None, ..core() };
        for probe in [None, Some(unknown)] {
            let mut watch = CoreWatch::new(&fake, probe, 100_000);
            assert_eq!((watch.wait(), watch.look()), (0, true));
        }
    }
}
