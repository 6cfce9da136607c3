use super::going::{Going, PointProgress};
use super::*;
use groma_harness::model::{
    Derivation, Labels, Metric, Params, Placement, Point, Profile, Quantity, RoundOutput, Series, Timing, WorkerKind,
};
use std::collections::BTreeSet;

fn planned(bench: &str, workers: u32) -> Planned {
    Planned {
        point: Point {
            bench: bench.to_owned(),
            version: 1,
            params: Params::default(),
            params_text: String::new(),
            placement: Placement::SameCpu,
            workers,
            worker_kind: WorkerKind::Threads,
            timing: Timing::Batched,
            drops: Labels::NONE,
            target_half_width: 0.01,
            metrics: Vec::new(),
        },
        cpus: Cpus::Each(vec![3, 3]),
        group: workers > 1,
        unsupported: None,
        wakes: false,
        work_dir: false,
        end_of_caches: false,
        side: 0,
    }
}

fn progress(frozen: Vec<(String, u64)>) -> PointProgress {
    PointProgress {
        rounds: Vec::new(),
        frozen,
        cost: Duration::ZERO,
        spent: Duration::ZERO,
        affordable: 9,
        most: 9,
        need: 1.0,
        target: 9,
        settled: false,
    }
}

/// A run of a minute with this seed, before its first round, with so many sides.
fn survey(seed: u64, sides: usize) -> Survey {
    Survey {
        core: CoreRates::default(),
        launchers: vec![Launcher::default(); sides],
        supervisor: Supervisor::new().expect("a supervisor"),
        effort: Effort::of(Profile::Standard),
        host: Host { timeslice_ns: 7.0, ..Host::UNKNOWN },
        seed,
        chooser: Chooser::new(&[]),
        started: Instant::now(),
        budget: Duration::from_secs(60),
        deadline: Duration::from_secs(10),
        fill: Duration::ZERO,
        work_dir: None,
        conditions: None,
        remote: None,
    }
}

/// The jobs of `rounds` rounds of three points, in a run with this seed.
fn jobs(seed: u64, rounds: u32) -> Vec<Job> {
    let mut survey = survey(seed, 1);
    let effort = survey.effort;
    let frozen = [("a".to_owned(), 12)];
    let points = [planned("a.one", 1), planned("a.two", 1), planned("a.two", 4)];
    let mut rng = Rng::new(survey.seed);
    (0..rounds)
        .flat_map(|round| points.iter().map(move |point| (round, point)))
        .map(|(round, point)| survey.job(point, &frozen, round, (&effort, 3), &mut rng).expect("a job"))
        .collect()
}

#[test]
fn every_round_of_every_point_has_a_seed_of_its_own_that_comes_from_the_seed_of_the_run() {
    let seeds = |run: u64| -> Vec<u64> { jobs(run, 5).iter().map(|job| job.seed).collect() };
    let (one, again, other) = (seeds(1), seeds(1), seeds(2));
    assert_eq!(one, again);
    let distinct: BTreeSet<u64> = one.iter().chain(&other).copied().collect();
    assert_eq!(distinct.len(), 30, "{one:?} {other:?}");
}

#[test]
fn both_sides_of_a_pair_are_neighbours_in_random_order() {
    let survey = survey(5, 2);
    let plan: Vec<Planned> = (0..5).flat_map(|_| [0, 1].map(|side| Planned { side, ..planned("a.one", 1) })).collect();
    let going = Going::new(&survey, &plan);
    let mut rng = Rng::new(survey.seed);
    let mut orders = BTreeSet::new();
    for _ in 0..50 {
        // The last point has one side left.
        let order = going.in_random_order(&[0, 1, 2, 3, 4, 5, 8], &mut rng);
        let mut pairs: Vec<&[usize]> = order.chunk_by(|a, b| a / 2 == b / 2).collect();
        assert_eq!(pairs.len(), 4, "{order:?}");
        pairs.retain(|pair| pair.len() == 2);
        assert_eq!(pairs.len(), 3, "{order:?}");
        orders.insert((order[0], pairs.iter().map(|pair| pair[0] % 2).collect::<Vec<_>>()));
    }
    assert!(orders.len() > 15, "both the pairs and their sides are shuffled: {}", orders.len());
    // Iterations are those of whichever side was measured first.
    let mut going = going;
    going.points[3].frozen = vec![("a".to_owned(), 9)];
    assert_eq!((going.frozen(2), going.frozen(3)), (&[("a".to_owned(), 9)][..], &[("a".to_owned(), 9)][..]));
    assert!(going.frozen(4).is_empty());
}

fn with_iterations(iters: u64) -> RoundResult {
    let series = Series { name: "a".to_owned(), iters, per_iter: 1.0, ..Series::default() };
    RoundResult::ok(RoundOutput { series: vec![series], ..RoundOutput::default() })
}

#[test]
fn the_iterations_of_the_first_good_round_stay() {
    let mut progress = progress(Vec::new());
    for (iters, ms) in [(12, 5), (13, 7), (14, 9)] {
        progress.learn(&with_iterations(iters), Duration::from_millis(ms));
        assert_eq!(progress.frozen, [("a".to_owned(), 12)]);
        assert_eq!(progress.cost, Duration::from_millis(ms));
    }
    assert_eq!((progress.spent, progress.settled), (Duration::from_millis(21), false));
}

#[test]
fn only_what_went_well_is_measured_again() {
    for state in [State::Unsupported, State::Denied, State::Failed, State::Timeout] {
        let mut progress = progress(Vec::new());
        progress.learn(&RoundResult::ended(state, "a reason"), Duration::ZERO);
        assert!(progress.settled && progress.frozen.is_empty(), "{state:?}");
    }
}

#[test]
fn a_job_is_what_was_planned() {
    let jobs = jobs(1, 2);
    for (i, job) in jobs.iter().enumerate() {
        assert_eq!((job.round, job.workers), ([0, 1][i / 3], [1, 1, 4][i % 3]));
        assert_eq!((job.id.as_str(), &job.placement), (["a.one", "a.two", "a.two"][i % 3], &Placement::SameCpu));
        assert_eq!((job.cpus.as_slice(), job.frozen.as_slice()), (&[3, 3][..], &[("a".to_owned(), 12)][..]));
        assert_eq!((job.intervals, job.warm_ns, job.worker_kind), (25, 10_000_000, WorkerKind::Threads));
        assert_eq!((job.host.timeslice_ns, job.work_dir.as_ref()), (7.0, None));
        // A worker group has the interval that its rule wants, as far as the budget has room:
        // 60 s over 12 over 3 points.
        assert_eq!(job.time_limit_ns, if job.workers == 1 { 40_000_000 } else { 1_666_666_666 });
    }
}

#[test]
fn both_sides_of_a_pair_have_as_many_rounds_as_the_dearer_one_can_afford() {
    let survey = survey(5, 2);
    let plan: Vec<Planned> = (0..2).flat_map(|_| [0, 1].map(|side| Planned { side, ..planned("a.one", 1) })).collect();
    let mut going = Going::new(&survey, &plan);
    going.round = 1;
    for (point, ms) in going.points.iter_mut().zip([50, 10_000, 50, 50]) {
        point.cost = Duration::from_millis(ms);
    }
    going.allocate(&survey.effort);
    let targets: Vec<u32> = going.points.iter().map(|point| point.target).collect();
    assert!(targets[0] == targets[1] && targets[2] == targets[3], "{targets:?}");
    assert!(targets[1] < targets[3], "ten seconds a round are too many of a minute: {targets:?}");
}

/// A point with one metric, whose values are those of [`round_of`].
fn planned_with_a_latency() -> Planned {
    let metric = Metric {
        id: "a.one".to_owned(),
        summary: String::new(),
        quantity: Quantity::Latency,
        better: Quantity::Latency.better(),
        derivation: Derivation::Series("").owned(),
        detail: false,
    };
    let mut planned = planned("a.one", 1);
    planned.point.metrics = vec![metric];
    planned
}

/// A good round that states this value.
fn round_of(round: u32, value: f64) -> Round {
    let output = RoundOutput { series: vec![Series::stated("", vec![value])], ..RoundOutput::default() };
    Round { round, result: RoundResult::ok(output) }
}

/// Six rounds of points that cost the same; of the last point they are 40 % apart.
#[test]
fn what_is_imprecise_after_six_rounds_gets_more_of_them_and_only_then() {
    let survey = Survey { effort: Effort::of_survey(Profile::Standard), ..survey(5, 1) };
    let planned = planned_with_a_latency();
    let plan = vec![planned; 100];
    let mut going = Going::new(&survey, &plan);
    let targets = |going: &Going<'_>| [0, 99].map(|i: usize| going.points[i].target);
    let mut seen = Vec::new();
    for round in 0..7 {
        for (i, point) in going.points.iter_mut().enumerate() {
            let value = 1e-6 * if i == 99 { 1.0 + 0.1 * f64::from(round) } else { 1.0 };
            point.rounds.push(round_of(round, value));
            point.cost = Duration::from_millis(40);
        }
        going.round += 1;
        going.allocate(&survey.effort);
        seen.push(targets(&going));
    }
    let [before, after] = [seen[4], seen[5]];
    assert_eq!(before[0], before[1], "{seen:?}");
    assert!(after[1] > before[1] && (9..after[1]).contains(&after[0]), "{seen:?}");
    assert_eq!(seen[6], after, "looked at once");
}

/// Nobody looks.
struct Nobody;

impl Observer for Nobody {
    fn next(&mut self, _: &str) {}

    fn warn(&mut self, _: &str) {}
}

/// A shell in place of a worker, which gets the job on its standard input.
fn shell(script: &str) -> Launcher {
    Launcher { command: ["/bin/sh", "-c", script].map(Into::into).to_vec(), ..Launcher::default() }
}

#[test]
fn both_sides_of_a_pair_draw_the_same_numbers_and_pairs_do_not() {
    let place = tempfile::tempdir().expect("a directory");
    let mut survey = survey(5, 2);
    survey.launchers = vec![shell(&format!("cat > '{}/'$$", place.path().display())); 2];
    let pair = |id: &'static str| [0, 1].map(|side| Planned { side, ..planned(id, 1) });
    let plan: Vec<Planned> = ["a.one", "a.two", "a.three"].into_iter().flat_map(pair).collect();
    survey.work(&plan, &mut Nobody, |_, _| Ok(())).expect("a survey");
    let kept = std::fs::read_dir(place.path()).expect("a directory");
    let jobs: Vec<Job> = kept
        .map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("a job"))
        .map(|text| groma_harness::protocol::read_job(&text).expect("a job").1)
        .collect();
    assert_eq!(jobs.len(), 6);
    let seeds = |id: &str| jobs.iter().filter(|job| job.id == id).map(|job| job.seed).collect::<BTreeSet<_>>();
    let distinct: BTreeSet<u64> = ["a.one", "a.two", "a.three"].into_iter().flat_map(seeds).collect();
    assert!(["a.one", "a.two", "a.three"].iter().all(|id| seeds(id).len() == 1), "{jobs:?}");
    assert_eq!(distinct.len(), 3);
}

/// What is done once a run, such as filling a file, is no cost of later rounds, and takes from the
/// time that all of them have for it.
#[test]
fn what_is_done_once_is_no_cost_of_a_round() {
    let place = tempfile::tempdir().expect("a directory");
    let result = place.path().join("result");
    let cost_of = |once_ms: &str| {
        let facts = vec![Fact::new(ROUND_ONCE, once_ms)];
        let done = RoundResult::ok(RoundOutput { facts, ..with_iterations(12).output });
        std::fs::write(&result, groma_harness::protocol::write_result(&done)).expect("a file");
        let mut survey = survey(5, 1);
        survey.launchers = vec![shell(&format!("cat > /dev/null; cat '{}'", result.display()))];
        survey.fill = Duration::from_secs(3);
        let plan = [planned("a.one", 1)];
        let mut going = Going::new(&survey, &plan);
        let mut rng = Rng::new(1);
        survey.round(&mut going, 0, true, &mut rng, &mut Nobody, &mut |_, _| Ok(())).expect("a round");
        assert_eq!(going.points[0].rounds[0].result.state, State::Ok);
        (going.points[0].cost, survey.fill)
    };
    let (cost, left) = cost_of("0");
    assert!(!cost.is_zero() && left == Duration::from_secs(3), "{cost:?} {left:?}");
    assert_eq!(cost_of("1000").1, Duration::from_secs(2));
    assert_eq!(cost_of("1000000"), (Duration::ZERO, Duration::ZERO));
}

/// A round that the budget ends says nothing of the benchmark; one that its own limit ends does.
#[test]
fn a_round_that_the_budget_ends_is_no_time_out() {
    let survey = survey(1, 1);
    let (job, sleeps) = (jobs(1, 1).remove(0), shell("exec sleep 60"));
    let ended = |deadline: Duration, end: Option<Instant>| survey.supervisor.run((&job, &sleeps), 0, deadline, end);
    let short = Duration::from_millis(50);
    assert!(matches!(ended(Duration::from_secs(5), Some(Instant::now() + short)), Ended::OutOfBudget));
    assert!(matches!(ended(short, None), Ended::Result(result) if result.state == State::Timeout));
}

/// The longer warm-ups take a fifth of the budget, in all rounds of all points together.
#[test]
fn sides_that_wake_each_other_settle_within_their_part_of_the_budget() {
    let survey = survey(1, 1);
    let settled = |points: usize| {
        let plan = vec![Planned { wakes: true, ..planned("test.sides", 1) }; points];
        let each = Going::new(&survey, &plan).warmed(0).warm_up;
        (each, each * survey.effort.rounds * points as u32)
    };
    let (few, many) = (settled(1), settled(200));
    assert_eq!(few.0, Duration::from_millis(200));
    assert_eq!(many.0, survey.effort.warm_up, "a point has more than its ordinary warm-up");
    let (some, all) = settled(100);
    let part = survey.budget / 5;
    assert!(some < few.0 && all <= part && all > part * 9 / 10, "{some:?} each, {all:?} of {part:?}");
}

/// A pair goes on until both of its sides are precise.
#[test]
fn a_pair_goes_on_while_one_of_its_sides_is_imprecise() {
    let survey = survey(5, 2);
    let planned = planned_with_a_latency();
    let plan: Vec<Planned> = [0, 1].map(|side| Planned { side, ..planned.clone() }).to_vec();
    for wild in [None, Some(0), Some(1)] {
        let mut going = Going::new(&survey, &plan);
        for (i, point) in going.points.iter_mut().enumerate() {
            let value = |round: u32| 1e-6 * if wild == Some(i) { 1.0 + f64::from(round) } else { 1.0 };
            point.rounds = (0..9).map(|round| round_of(round, value(round))).collect();
        }
        let expected = if wild.is_some() { vec![0, 1] } else { Vec::new() };
        assert_eq!(going.next_points(&survey.effort), (expected, false), "{wild:?}");
    }
}
