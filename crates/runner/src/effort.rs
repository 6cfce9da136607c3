//! The effort of a profile: the length of a round and the number of rounds, and how both are
//! adapted to a request and a budget.

use groma_harness::model::Profile;
use groma_stats::rounds::checkpoints;
use std::time::Duration;

/// Intervals of a round at most. A worker allocates the memory of all its samples before it begins,
/// and a fork copies the page tables of that memory: 400 intervals of 5 operations that are timed
/// one by one take 0.5 MiB.
const MAX_INTERVALS: u32 = 400;

/// The length of a round and the number of rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Rounds for every point, if they fit the budget.
    pub(crate) rounds: u32,
    /// Rounds at most, for points that are not precise enough.
    pub(crate) most_rounds: u32,
    /// Intervals in a round.
    pub(crate) intervals: u32,
    /// The sampling time of a round at most.
    pub(crate) sampling: Duration,
    /// The shortest warm-up.
    pub(crate) warm_up: Duration,
    /// The preflight's time.
    pub(crate) preflight: Duration,
    /// The default budget.
    pub(crate) budget: Duration,
}

/// Rounds of a survey: as many as fit into a minute for 150 points on two CPUs.
const SURVEY: u32 = 25;
/// Rounds of a quick survey, and of a fleet run.
const QUICK_SURVEY: u32 = 15;

/// A quarter of it is spent on the time slice: 25 ms hold nine slices of 2.8 ms.
const MIN_PREFLIGHT: Duration = Duration::from_millis(100);

/// The time of a point in a complete run: nine rounds that sample for 40 ms, and the start of their
/// workers; some points fill memory for longer.
const COMPLETE: Duration = Duration::from_millis(900);

/// The time of a point in a fleet run: as many short rounds as a quick survey has, and the start of
/// their workers.
const FLEET: Duration = Duration::from_millis(400);
/// The shortest and the longest budget of a fleet run. Slurm, for one, ends a node health check
/// after a minute.
pub const FLEET_BUDGET: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(60)];

/// The budget of a fleet run of N points: a host with many CPUs or nodes has more of them.
pub fn fleet_budget(points: usize) -> Duration {
    (FLEET * points as u32).clamp(FLEET_BUDGET[0], FLEET_BUDGET[1])
}

/// The budget of a complete run of N points.
pub fn complete_budget(points: usize) -> Duration {
    COMPLETE * points as u32
}

impl Effort {
    /// The effort of a profile (docs/methods/timing.md#effort: quick has 6 rounds of 40
    /// intervals, standard 9 of 80).
    pub(crate) fn of(profile: Profile) -> Effort {
        let ms = Duration::from_millis;
        let most_rounds = checkpoints()[checkpoints().len() - 1] as u32;
        match profile {
            Profile::Quick => Effort {
                rounds: 6,
                most_rounds: 6,
                intervals: 40,
                sampling: ms(4),
                warm_up: ms(1),
                preflight: ms(400),
                budget: ms(10_000),
            },
            Profile::Standard => Effort {
                rounds: 9,
                most_rounds,
                intervals: 80,
                sampling: ms(40),
                warm_up: ms(2),
                preflight: ms(1500),
                budget: ms(60_000),
            },
            // Their budget depends on the plan: `complete_budget`, `fleet_budget`.
            Profile::Complete => Effort::of(Profile::Standard),
            Profile::Fleet => Effort { preflight: ms(500), budget: FLEET_BUDGET[0], ..Effort::of(Profile::Standard) },
            Profile::Rigorous => Effort {
                rounds: 17,
                most_rounds,
                intervals: 80,
                sampling: ms(60),
                warm_up: ms(2),
                preflight: ms(2000),
                budget: ms(600_000),
            },
        }
    }

    /// The effort of a survey with this profile: short rounds as in a quick run, and more of them.
    /// Beside an intermittent neighbour, 30 rounds of 4 ms agree better than 9 of 20 ms in the same
    /// time (docs/methods/timing.md#effort).
    pub(crate) fn of_survey(profile: Profile) -> Effort {
        let (short, all) = (Effort::of(Profile::Quick), Effort::of(profile));
        let is_short = matches!(profile, Profile::Quick | Profile::Fleet);
        let rounds = if is_short { QUICK_SURVEY } else { SURVEY };
        let most_rounds = rounds.max(all.most_rounds);
        Effort { rounds, most_rounds, preflight: all.preflight, budget: all.budget, ..short }
    }

    /// The effort of a run of N points: its preflight takes no longer than all rounds may sample
    /// (docs/methods/timing.md#host-noise).
    pub(crate) fn of_points(self, points: usize) -> Effort {
        let all = (self.sampling + self.warm_up) * self.most_rounds * points as u32;
        Effort { preflight: self.preflight.min(all.max(MIN_PREFLIGHT)), ..self }
    }

    /// The effort with rounds that sample for `length`. Longer rounds take more intervals; shorter
    /// ones end before they have all.
    pub(crate) fn of_length(self, length: Duration) -> Effort {
        let longer = (length.as_secs_f64() / self.sampling.as_secs_f64()).max(1.0);
        Effort {
            intervals: (f64::from(self.intervals) * longer).min(f64::from(MAX_INTERVALS)) as u32,
            sampling: length,
            ..self
        }
    }

    /// The effort with `share` of the sampling time, but not less than that of a quick run.
    pub(crate) fn thinned(self, share: f64) -> Effort {
        let floor = Effort::of(Profile::Quick);
        let [shortest, least] = [floor.sampling, floor.warm_up].map(|time| time.min(self.sampling));
        let least = least.min(self.warm_up);
        let sampling = self.sampling.mul_f64(share).clamp(shortest, self.sampling);
        // By as much of its own range as the sampling, so that a round's length is linear in the
        // share.
        let range = (self.sampling - shortest).as_secs_f64();
        let part = if range > 0.0 { (sampling - shortest).as_secs_f64() / range } else { 1.0 };
        Effort {
            intervals: ((f64::from(self.intervals) * share) as u32).clamp(floor.intervals, self.intervals),
            sampling,
            warm_up: least + (self.warm_up - least).mul_f64(part),
            ..self
        }
    }

    /// The time of a round for warm-up and sampling, at most.
    pub(crate) fn length(&self) -> Duration {
        self.sampling + self.warm_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preflight_is_no_longer_than_all_rounds() {
        let preflight = |profile, points| Effort::of(profile).of_points(points).preflight.as_millis();
        // 6 rounds of 5 ms for each point.
        assert_eq!([1, 5, 13, 40].map(|points| preflight(Profile::Quick, points)), [100, 150, 390, 400]);
        // 63 rounds of 50 ms.
        assert_eq!(preflight(Profile::Standard, 1), 1500);
        let one_round = Effort { most_rounds: 1, ..Effort::of(Profile::Standard) };
        assert_eq!(one_round.of_points(1).preflight, MIN_PREFLIGHT);
    }

    #[test]
    fn a_longer_round_has_more_intervals_up_to_a_bound() {
        let standard = Effort::of(Profile::Standard);
        let of = |length: Duration| standard.of_length(length);
        let long = of(standard.sampling * 4);
        assert_eq!((long.intervals, long.sampling), (4 * standard.intervals, standard.sampling * 4));
        assert_eq!(of(standard.sampling / 4).intervals, standard.intervals);
        assert_eq!(of(standard.sampling * 1000).intervals, MAX_INTERVALS);
    }

    #[test]
    fn a_survey_has_the_rounds_of_a_quick_run_and_the_time_of_its_profile() {
        let cases = [(Profile::Quick, 15, 15), (Profile::Standard, 25, 63), (Profile::Rigorous, 25, 63)];
        for (profile, rounds, most) in cases {
            let (survey, own, quick) = (Effort::of_survey(profile), Effort::of(profile), Effort::of(Profile::Quick));
            assert_eq!((survey.rounds, survey.most_rounds), (rounds, most), "{profile:?}");
            assert_eq!((survey.preflight, survey.budget), (own.preflight, own.budget), "{profile:?}");
            assert_eq!((survey.intervals, survey.length()), (quick.intervals, quick.length()), "{profile:?}");
        }
    }

    #[test]
    fn a_thinned_round_is_no_shorter_than_a_quick_one() {
        let thinned = |profile, share| {
            let effort = Effort::of(profile).thinned(share);
            (effort.intervals, effort.sampling.as_millis(), effort.warm_up.as_millis(), effort.rounds)
        };
        assert_eq!(thinned(Profile::Standard, 1.0), (80, 40, 2, 9));
        assert_eq!(thinned(Profile::Standard, 0.5), (40, 20, 1, 9));
        assert_eq!(thinned(Profile::Standard, 0.0), (40, 4, 1, 9));
        assert_eq!(thinned(Profile::Standard, 2.0), (80, 40, 2, 9));
        assert_eq!(thinned(Profile::Quick, 0.0), (40, 4, 1, 6));
    }

    /// The table of docs/methods/timing.md#effort.
    #[test]
    fn the_effort_of_each_profile() {
        let of = |profile| {
            let effort = Effort::of(profile);
            let ms = [effort.sampling, effort.warm_up, effort.preflight, effort.budget].map(|time| time.as_millis());
            (effort.rounds, effort.most_rounds, effort.intervals, ms)
        };
        assert_eq!(of(Profile::Quick), (6, 6, 40, [4, 1, 400, 10_000]));
        assert_eq!(of(Profile::Standard), (9, 63, 80, [40, 2, 1500, 60_000]));
        assert_eq!(of(Profile::Complete), of(Profile::Standard));
        assert_eq!(of(Profile::Rigorous), (17, 63, 80, [60, 2, 2000, 600_000]));
        assert_eq!(complete_budget(400), Duration::from_secs(360));
        assert_eq!([10, 50, 75, 1000].map(|points| fleet_budget(points).as_secs()), [20, 20, 30, 60]);
    }
}
