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

#[test]
fn filling_a_file_has_a_part_of_the_budget_and_of_what_a_round_may_take() {
    let of = |budget, deadline| fill_time(Duration::from_secs(budget), Duration::from_secs(deadline));
    assert_eq!((of(60, 40), of(60, 8)), (Duration::from_secs(3), Duration::from_secs(2)));
}

/// 60 ms for each of its members, which take turns.
#[test]
fn a_crowded_worker_group_has_longer_until_it_is_killed() {
    let survey = survey(1, 1);
    let of = |workers| survey.deadline_of(&planned("a.one", workers));
    assert_eq!((of(1), of(50)), (Duration::from_secs(10), Duration::from_secs(13)));
}

/// CPUs with numbers that no machine has, so that nothing is known of them.
#[test]
fn a_single_task_is_on_one_of_its_cpus_in_each_round_and_not_always_on_the_same() {
    let mut survey = survey(3, 1);
    let effort = survey.effort;
    let cpus = vec![70_000, 70_001, 70_002];
    let site = groma_harness::sys::topology::Site { class: None, node: None, cpus, without_cpu0: false };
    let mut rng = Rng::new(survey.seed);
    let mut drawn = |cpus: Cpus| {
        let planned = Planned { cpus, ..planned("a.one", 1) };
        let jobs = (0..60).map(|round| survey.job(&planned, &[], round, (&effort, 1), &mut rng).expect("a job").cpus);
        jobs.collect::<BTreeSet<Vec<u32>>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(drawn(Cpus::OneOf(site)), [[70_000], [70_001], [70_002]]);
    assert_eq!(drawn(Cpus::Any), [Vec::<u32>::new()]);
    assert_eq!(drawn(Cpus::Each(vec![5, 4])), [[5, 4]]);
}

/// What the probes of one round saw is too little to learn from; what several saw together is not.
#[test]
fn the_boundary_of_a_shared_core_comes_from_the_probes_of_all_rounds() {
    use groma_harness::model::{CoreProbe, IssueBlock, RateCounts};
    use groma_harness::stats::best_mode::log_bin;
    let mut survey = survey(1, 1);
    survey.host.core = Some(CoreProbe { block: IssueBlock::Mixed, length: 1, best: 3.9, shared_below: None });
    let counts = [(2.0, 24), (4.0, 36)].map(|(rate, probes)| (log_bin(rate).expect("a rate"), probes));
    let seen = CoreRates { rates: RateCounts(counts.into()), waited_ns: 0 };
    let boundary = |survey: &Survey| survey.host.core.and_then(|core| core.shared_below);
    survey.learn_of_core(&seen);
    assert_eq!(boundary(&survey), None);
    survey.learn_of_core(&seen);
    assert_eq!(survey.core.rates.total(), 120);
    assert!(boundary(&survey).is_some_and(|at| (2.1..3.9).contains(&at)), "{:?}", survey.host.core);
}

/// A round that would end after the budget is left out, which is said of those that were allocated.
#[test]
fn what_no_longer_fits_is_left_out_and_asks_for_no_more_rounds() {
    let mut survey = survey(1, 1);
    let plan = [planned("a.one", 1), planned("a.two", 1)];
    let mut going = Going::new(&survey, &plan);
    going.points[0].rounds = vec![round_of(0, 1e-6), round_of(1, 1e-6)];
    going.points[0].cost = Duration::from_secs(61);
    for (allocated, short, target) in [(false, 0, 9), (true, 1, 2)] {
        let mut rng = Rng::new(1);
        let step = survey.round(&mut going, 0, allocated, &mut rng, &mut Nobody, &mut |_, _| Ok(())).expect("a step");
        assert!(matches!(step, Step::LeftOut));
        let [left_out, other] = [0, 1].map(|i: usize| going.points[i].target);
        assert_eq!((going.short, left_out, other), (short, target, 9), "allocated: {allocated}");
    }
    assert_eq!((going.points[0].affordable, going.points[0].most), (2, 2));
}

/// A side whose round was cut by the end of the budget has the rounds of the other one.
#[test]
fn a_side_that_lacks_its_last_round_is_not_measured_without_the_other() {
    let survey = survey(5, 2);
    let plan: Vec<Planned> = [0, 1].map(|side| Planned { side, ..planned_with_a_latency() }).to_vec();
    let mut going = Going::new(&survey, &plan);
    for (point, rounds) in going.points.iter_mut().zip([3, 2]) {
        point.rounds = (0..rounds).map(|round| round_of(round, 1e-6)).collect();
    }
    going.no_longer_fits(1);
    assert_eq!(going.points[1].target, 3);
    assert_eq!(going.next_points(&survey.effort), (vec![0], true));
}

#[test]
fn what_is_imprecise_is_measured_no_more_often_and_no_longer_than_a_point_may() {
    let survey = survey(5, 1);
    let plan = [planned_with_a_latency()];
    let mut going = Going::new(&survey, &plan);
    going.points[0].rounds = (0..9).map(|round| round_of(round, 1e-6 * f64::from(1 + round))).collect();
    let goes_on = |going: &Going<'_>, most_rounds| {
        let (points, allocated) = going.next_points(&Effort { most_rounds, ..survey.effort });
        assert!(!allocated);
        !points.is_empty()
    };
    assert!(goes_on(&going, 10) && !goes_on(&going, 9));
    going.points[0].spent = Duration::from_secs(19);
    assert!(goes_on(&going, 10));
    going.points[0].spent = Duration::from_secs(20);
    assert!(!goes_on(&going, 10));
    // What did not go well is over, however imprecise it is.
    going.points[0].spent = Duration::ZERO;
    going.points[0].settled = true;
    assert!(!goes_on(&going, 10));
}

#[test]
fn the_end_leaves_time_for_the_statistics_and_no_more_than_a_tenth() {
    let survey = survey(1, 1);
    let lasts = |points: usize| Going::new(&survey, &vec![planned("a.one", 1); points]).until - survey.started;
    assert_eq!((lasts(100), lasts(1000)), (Duration::from_millis(58_500), Duration::from_secs(54)));
}

/// Those that cannot be measured here need no time to settle.
#[test]
fn only_sides_that_are_measured_share_the_time_to_settle() {
    let survey = survey(1, 1);
    let wakes = Planned { wakes: true, ..planned("a.one", 1) };
    let missing = Planned { unsupported: Some("one CPU".to_owned()), ..wakes.clone() };
    let settled = |plan: &[Planned]| Going::new(&survey, plan).warmed(0).warm_up;
    let alone = settled(&vec![wakes.clone(); 100]);
    assert_eq!(settled(&[vec![wakes; 100], vec![missing; 100]].concat()), alone);
    assert_eq!(settled(&[planned("a.one", 1)]), survey.effort.warm_up, "nobody wakes anybody");
}

#[test]
fn what_the_budget_cost_is_said_in_numbers() {
    let survey = survey(1, 1);
    let plan = vec![planned("a.one", 1); 7];
    let mut going = Going::new(&survey, &plan);
    (going.round, going.short, going.least_sampling) = (1, 2, 0.4);
    going.points.iter_mut().for_each(|point| point.target = 5);
    let costs = going.end(&survey.effort).costs;
    let expected = ["sampling cut to 40 % to fit", "5 rounds instead of 9 to fit"];
    assert_eq!(costs[..2], expected);
    assert_eq!(costs[2..], ["2 of 7 points not reached in their last rounds"]);
    // Of a run that ended in its first round nothing was allocated.
    assert!(Going::new(&survey, &plan).end(&Effort { rounds: 20, ..survey.effort }).costs.is_empty());
}

/// The mark behind a result ends the round: whoever is left may hold the pipe open, and is ended.
#[test]
fn a_result_ends_a_round_and_all_that_is_left_of_it() {
    let place = tempfile::tempdir().expect("a directory");
    let (result, left) = (place.path().join("result"), place.path().join("left"));
    std::fs::write(&result, groma_harness::protocol::write_result(&with_iterations(12))).expect("a file");
    let survey = survey(1, 1);
    let job = jobs(1, 1).remove(0);
    let (result, pids) = (result.display(), left.display());
    let stays = format!("sleep 600 & echo $$ $! > '{pids}'; cat > /dev/null; cat '{result}'; exec sleep 600");
    let ended = survey.supervisor.run((&job, &shell(&stays)), 0, Duration::from_secs(60), None);
    let Ended::Result(seen) = ended else { panic!("{ended:?}") };
    assert_eq!(seen.state, State::Ok, "{}", seen.reason);
    assert_eq!(seen.output.series[0].iters, 12);
    let pids = std::fs::read_to_string(&left).expect("two process ids");
    assert_eq!(pids.split_whitespace().count(), 2, "{pids}");
    for pid in pids.split_whitespace() {
        // Whoever adopts it may take a moment to reap it.
        let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let until = Instant::now() + Duration::from_secs(60);
        while !(stat().is_empty() || stat().contains(") Z ")) {
            assert!(Instant::now() < until, "process {pid} goes on: {}", stat());
            std::thread::yield_now();
        }
    }
}

/// What needs no files gets none, so that a place that cannot be written costs it nothing.
#[test]
fn a_round_that_needs_files_has_a_directory_and_the_file_that_rounds_share() {
    let place = tempfile::tempdir().expect("a directory");
    let mut survey = survey(1, 1);
    survey.work_dir = Some(WorkDir::new(place.path(), 1).expect("a work directory"));
    survey.fill = Duration::from_nanos(1_234_567);
    let effort = survey.effort;
    let mut rng = Rng::new(1);
    let mut job = |work_dir| {
        let planned = Planned { work_dir, ..planned("a.one", 1) };
        survey.job(&planned, &[], 0, (&effort, 1), &mut rng).expect("a job")
    };
    let (without, with, next) = (job(false), job(true), job(true));
    assert!(without.work_dir.is_none() && without.run_file.is_none());
    assert!(with.work_dir.is_some() && next.work_dir.is_some() && with.work_dir != next.work_dir);
    // Not every file system has files without a name.
    if let (Some(file), Some(again)) = (with.run_file, next.run_file) {
        assert_eq!((file.fill_ns, &file.path), (1_234_567, &again.path));
    }
}

#[test]
fn the_directory_of_a_round_goes_with_its_round() {
    let place = tempfile::tempdir().expect("a directory");
    let result = place.path().join("result");
    std::fs::write(&result, groma_harness::protocol::write_result(&with_iterations(12))).expect("a file");
    let mut survey = survey(1, 1);
    let work_dir = WorkDir::new(place.path(), 1).expect("a work directory");
    let names = |dir: &std::path::Path| std::fs::read_dir(dir).expect("a directory").count();
    let (dir, before) = (work_dir.path().to_owned(), names(work_dir.path()));
    survey.work_dir = Some(work_dir);
    survey.launchers = vec![shell(&format!("cat > /dev/null; cat '{}'", result.display()))];
    let plan = [Planned { work_dir: true, ..planned("a.one", 1) }];
    let mut going = Going::new(&survey, &plan);
    let mut rng = Rng::new(1);
    for rounds in [1, 2] {
        survey.round(&mut going, 0, true, &mut rng, &mut Nobody, &mut |_, _| Ok(())).expect("a round");
        assert_eq!((going.points[0].rounds.len(), names(&dir)), (rounds, before));
    }
}

/// A point that was closed has its one round, which holds the reason, and no worker is started for
/// it.
#[test]
fn what_was_closed_with_a_reason_is_not_measured_nevertheless() {
    let place = tempfile::tempdir().expect("a directory");
    let mut survey = survey(5, 1);
    survey.launchers = vec![shell(&format!("cat > '{}/'$$", place.path().display()))];
    let missing = Planned { unsupported: Some("no such thing here".to_owned()), ..planned("a.missing", 1) };
    let plan = [planned("a.one", 1), missing, planned("a.two", 1)];
    let mut kept = Vec::new();
    let outcome = survey.work(&plan, &mut Nobody, |i, round| {
        kept.push((i, round.round, round.result.state, round.result.reason.clone()));
        Ok(())
    });
    let rounds = outcome.expect("a survey").rounds;
    assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), [1; 3]);
    assert_eq!(rounds[1][0].result.state, State::Unsupported);
    assert_eq!(kept[0], (1, 0, State::Unsupported, "no such thing here".to_owned()), "first of all, and once");
    assert_eq!(kept.iter().filter(|(i, ..)| *i == 1).count(), 1);
    // The shell gives no result, so the others end with their first round: two jobs.
    assert_eq!(std::fs::read_dir(place.path()).expect("a directory").count(), 2);

    let mut going = Going::new(&survey, &plan);
    assert_eq!(going.open().collect::<Vec<_>>(), [0, 1, 2]);
    going.points[1].close(1, 4, State::Failed, "why".to_owned(), &mut |_, _| Ok(())).expect("it is kept");
    assert_eq!(going.open().collect::<Vec<_>>(), [0, 2]);
    assert_eq!((going.points[1].rounds.len(), going.points[1].rounds[0].round), (1, 4));
    assert_eq!(going.next_points(&survey.effort).0, [0, 2]);
    // What cannot be kept ends the run.
    let full = |_: usize, _: &mut Round| Err(anyhow::anyhow!("no space"));
    assert!(going.points[0].close(0, 0, State::Failed, String::new(), &mut { full }).is_err());
}
