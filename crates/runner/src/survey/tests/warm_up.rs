//! How long rounds warm up and sample, and in which order.

use super::*;

/// Else each of them would have to wait until the CPUs have adapted to it.
#[test]
fn rounds_that_wake_on_the_same_cpus_follow_each_other_and_settle_once() {
    let survey = survey(1, 1);
    let wakes = |cpus: [u32; 2]| Planned { wakes: true, cpus: Cpus::Each(cpus.to_vec()), ..planned("a.one", 1) };
    let plan = [planned("a.one", 1), wakes([0, 1]), planned("a.one", 1), wakes([0, 1]), wakes([0, 2]), wakes([0, 1])];
    let mut progress = Progress::new(&survey, &plan);
    let (mut rng, mut first) = (Rng::new(3), std::collections::BTreeSet::new());
    for _ in 0..50 {
        let order = progress.in_random_order(&[0, 1, 2, 3, 4, 5], &mut rng);
        let block: Vec<usize> = (0..6).filter(|at| [1, 3, 5].contains(&order[*at])).collect();
        assert_eq!(block[2] - block[0], 2, "{order:?}");
        first.insert((order[0], block[0]));
    }
    assert!(first.len() > 6, "neither the block nor its points are always at the same place: {first:?}");
    let (full, again) = (progress.settling, Duration::from_millis(5));
    assert!(full > Duration::from_millis(100));
    for (i, warm) in [(1, full), (3, again), (4, full), (1, full)] {
        assert_eq!(progress.effort_with_warm_up(i).warm_up, warm, "{i}");
        assert_eq!(progress.adapt(i), warm - again, "{i}");
    }
    progress.adapt(0);
    assert_eq!(progress.effort_with_warm_up(1).warm_up, full, "another operation was between");
}

/// By the root of the ratio of the two, and not for ever.
#[test]
fn a_round_with_a_costly_set_up_samples_longer() {
    let effort = Effort::of_survey(Profile::Standard);
    let sampling = |set_up: u64, sides: usize| {
        let survey = Survey { launchers: vec![Launcher::default(); sides], effort, ..super::survey(1, 1) };
        let plan: Vec<Planned> = (0..sides).map(|side| Planned { side, ..planned("a.one", 1) }).collect();
        let mut progress = Progress::new(&survey, &plan);
        progress.points[0].cost = Duration::from_millis(set_up);
        (0..sides)
            .map(|i| progress.effort_with_warm_up(i))
            .map(|of| (of.sampling.as_millis(), of.intervals))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        [0, 4, 16, 100, 100_000].map(|ms| sampling(ms, 1)[0]),
        [(4, 40), (4, 40), (8, 80), (20, 200), (40, 400)]
    );
    assert_eq!(sampling(16, 2), [(8, 80); 2], "both sides of a pair alike");
    // What a round samples is no set-up.
    let (survey, plan) = (Survey { effort, ..survey(1, 1) }, [planned("a.one", 1)]);
    let mut progress = Progress::new(&survey, &plan);
    let mut result = RoundResult::ended(State::Ok, "");
    result.output.phases.add(Phase::Sampling, 30_000_000);
    result.output.phases.add(Phase::WarmUp, 5_000_000);
    progress.points[0].learn(&result, Duration::from_millis(51));
    progress.points[0].rounds.push(Round { round: 0, result });
    assert_eq!(progress.effort_with_warm_up(0).sampling.as_millis(), 8);
}

/// All of them together take at most a twentieth of the budget.
#[test]
fn longer_warm_ups_keep_to_their_part_of_the_budget() {
    let survey = survey(1, 1);
    let settled = |points: usize| {
        let on = |i: usize| Cpus::Each(vec![0, 1 + i as u32]);
        let plan: Vec<Planned> =
            (0..points).map(|i| Planned { wakes: true, cpus: on(i), ..planned("test.sides", 1) }).collect();
        let each = Progress::new(&survey, &plan).effort_with_warm_up(0).warm_up;
        (each, each * survey.effort.rounds * points as u32)
    };
    let (few, many) = (settled(1), settled(200));
    assert_eq!(few.0, Duration::from_millis(200));
    assert_eq!(many.0, survey.effort.warm_up, "a point has more than its ordinary warm-up");
    let (some, all) = settled(100);
    let part = survey.budget / 20;
    assert!(some < few.0 && all <= part && all > part * 9 / 10, "{some:?} each, {all:?} of {part:?}");
}

#[test]
fn unsupported_points_take_no_part_of_the_longer_warm_ups() {
    let survey = survey(1, 1);
    let wakes = Planned { wakes: true, ..planned("a.one", 1) };
    let missing = Planned { unsupported: Some("one CPU".to_owned()), ..wakes.clone() };
    let settled = |plan: &[Planned]| Progress::new(&survey, plan).effort_with_warm_up(0).warm_up;
    let on = |of: &Planned| (0..100).map(|i| Planned { cpus: Cpus::Each(vec![0, 1 + i]), ..of.clone() }).collect();
    let [all, missing]: [Vec<Planned>; 2] = [on(&wakes), on(&missing)];
    let alone = settled(&all);
    assert!(alone < settled(&all[..1]));
    assert_eq!(settled(&[all, missing].concat()), alone);
    assert_eq!(settled(&[planned("a.one", 1)]), survey.effort.warm_up, "no wake-ups");
}
