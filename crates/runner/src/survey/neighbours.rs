//! What the rounds saw of busy sibling threads, CPU by CPU: where it is quiet, and how long a round
//! may wait for a core of its own (docs/methods/neighbour.md#waiting).
//!
//! Not here: the boundary between an idle core and a shared one (`groma-harness`), and work of this
//! machine on a CPU (`chooser.rs`).

use groma_harness::model::CoreRates;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Idle and busy come in spells of seconds, and CPUs change places within minutes: what was seen
/// counts half after this time.
const HALF_LIFE: Duration = Duration::from_millis(700);
/// What is assumed of a CPU before anything was seen, with the weight of so many looks.
const PRIOR: (f64, f64) = (0.5, 4.0);
/// Clean samples take about so much of an idle core.
const NEEDED: Duration = Duration::from_millis(2);
/// The longest wait of a round: the part of the budget of its point that leaves time for twelve
/// rounds, within these bounds. Longer ones cost the rounds that an interval needs.
const PART: u32 = 12;
const BOUNDS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(400)];
/// In a spell without an idle moment a round waits for this part of it: it comes again later.
const IN_A_SPELL: u32 = 8;
/// The shortest wait.
const SHORTEST_WAIT: Duration = Duration::from_millis(4);
/// Below this idle share it is such a spell.
const SPELL: f64 = 0.01;
/// A CPU is drawn this often however busy its sibling is: intervals have to contain the chance of
/// the CPU.
const MIN_WEIGHT: f64 = 0.1;

/// Looks at a CPU, the older the less they weigh.
#[derive(Clone, Copy, Debug)]
struct Looks {
    idle: f64,
    all: f64,
    at: Instant,
}

/// What was seen of the neighbours of each CPU.
#[derive(Debug)]
pub(crate) struct Neighbours {
    cpus: BTreeMap<u32, Looks>,
    longest: Duration,
}

impl Neighbours {
    /// Nothing seen yet, in a run with this budget for so many points.
    pub(crate) fn new(budget: Duration, points: usize) -> Neighbours {
        let longest = (budget / points.max(1) as u32 / PART).clamp(BOUNDS[0], BOUNDS[1]);
        Neighbours { cpus: BTreeMap::new(), longest }
    }

    /// Adds what a round saw on a CPU. Its wait counts by its length: a round that waited for 10 ms
    /// looked once and has seen more than that.
    pub(crate) fn saw(&mut self, cpu: u32, seen: &CoreRates, now: Instant) {
        const OF_A_LOOK_NS: f64 = 200_000.0;
        let (idle, all) = self.weighted_looks(cpu, now);
        let waited = seen.waited_ns as f64 / OF_A_LOOK_NS;
        let looks = Looks { idle: idle + f64::from(seen.idle), all: all + f64::from(seen.looks) + waited, at: now };
        self.cpus.insert(cpu, looks);
    }

    fn weighted_looks(&self, cpu: u32, now: Instant) -> (f64, f64) {
        let Some(looks) = self.cpus.get(&cpu) else { return (0.0, 0.0) };
        let halvings = now.saturating_duration_since(looks.at).as_secs_f64() / HALF_LIFE.as_secs_f64();
        let weight = 0.5_f64.powf(halvings);
        (looks.idle * weight, looks.all * weight)
    }

    /// The share of the time in which the core of this CPU was idle lately.
    pub(crate) fn idle(&self, cpu: u32, now: Instant) -> f64 {
        let (idle, all) = self.weighted_looks(cpu, now);
        (idle + PRIOR.0 * PRIOR.1) / (all + PRIOR.1)
    }

    /// One of these CPUs by a random number from 0 to 1: the more often it was idle, the likelier.
    pub(crate) fn draw(&self, of: &[u32], now: Instant, unit: f64) -> u32 {
        let weights: Vec<f64> = of.iter().map(|cpu| self.idle(*cpu, now).powi(2)).collect();
        let most = weights.iter().copied().fold(0.0, f64::max);
        let weights: Vec<f64> = weights.into_iter().map(|weight| weight.max(MIN_WEIGHT * most)).collect();
        let mut left = unit * weights.iter().sum::<f64>();
        for (cpu, weight) in of.iter().zip(&weights) {
            left -= weight;
            if left < 0.0 {
                return *cpu;
            }
        }
        of[of.len() - 1]
    }

    /// How long a round on these CPUs may wait: as long as it takes to have what it needs at the
    /// recent idle share, or a quarter of `worth`, the time that its set-up or its search takes.
    pub(crate) fn wait(&self, cpus: &[u32], worth: Duration, now: Instant) -> Duration {
        let least = cpus.iter().map(|cpu| self.idle(*cpu, now)).fold(1.0, f64::min);
        let wait = if least < SPELL { self.longest / IN_A_SPELL } else { NEEDED.div_f64(least).min(self.longest) };
        wait.max(SHORTEST_WAIT).max((worth / 4).min(BOUNDS[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a round saw: so many of its looks found an idle core, and it waited for so long.
    fn core_rates(idle: u32, looks: u32, waited: Duration) -> CoreRates {
        CoreRates { idle, looks, waited_ns: waited.as_nanos() as u64, ..CoreRates::default() }
    }

    #[test]
    fn a_quiet_cpu_is_drawn_more_often_and_no_cpu_never() {
        let (mut neighbours, now) = (Neighbours::new(Duration::from_secs(1), 1), Instant::now());
        let drawn = |neighbours: &Neighbours, at| {
            (0..1000).filter(|k| neighbours.draw(&[4, 9], at, f64::from(*k) / 1000.0) == 4).count()
        };
        assert_eq!(drawn(&neighbours, now), 500);
        neighbours.saw(4, &core_rates(40, 40, Duration::ZERO), now);
        neighbours.saw(9, &core_rates(1, 2, Duration::from_millis(10)), now);
        assert!((850..=910).contains(&drawn(&neighbours, now)), "{}", drawn(&neighbours, now));
        // A minute later nothing is known of either.
        assert!((490..=510).contains(&drawn(&neighbours, now + Duration::from_secs(60))));
        assert_eq!(neighbours.draw(&[7], now, 0.999), 7);
    }

    #[test]
    fn a_round_waits_as_long_as_the_idle_share_asks_for() {
        let (mut neighbours, now) = (Neighbours::new(Duration::from_secs(1), 1), Instant::now());
        let wait = |neighbours: &Neighbours, set_up| neighbours.wait(&[1], set_up, now);
        assert_eq!(wait(&neighbours, Duration::ZERO), SHORTEST_WAIT);
        neighbours.saw(1, &core_rates(10, 100, Duration::ZERO), now);
        let share = neighbours.idle(1, now);
        assert!((0.1..0.13).contains(&share), "{share}");
        assert_eq!(wait(&neighbours, Duration::ZERO), NEEDED.div_f64(share));
        // In a spell it does not pay to wait, but for what was set up for longer.
        neighbours.saw(1, &core_rates(0, 1, Duration::from_secs(1)), now);
        let longest = Duration::from_secs(1) / PART;
        assert_eq!(wait(&neighbours, Duration::ZERO), longest / IN_A_SPELL);
        assert_eq!(wait(&neighbours, 8 * longest), 2 * longest);
        // Both CPUs of a pair must be idle.
        assert_eq!(neighbours.wait(&[8, 1], Duration::ZERO, now), longest / IN_A_SPELL);
    }
}
