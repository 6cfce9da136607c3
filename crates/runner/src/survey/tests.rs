use super::progress::{PointProgress, Progress};
use super::*;
use groma_harness::model::{
    Derivation, Labels, Metric, Params, Phase, Placement, Point, Profile, Quantity, RoundOutput, Series, Timing,
    WorkerKind,
};
use std::collections::BTreeSet;

mod warm_up;

pub(crate) fn planned(bench: &str, workers: u32) -> Planned {
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

fn point_progress(frozen: Vec<(String, u64)>) -> PointProgress {
    PointProgress {
        rounds: Vec::new(),
        beside: 0,
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

/// A run of a minute before its first round, with this seed and this number of sides.
fn survey(seed: u64, sides: usize) -> Survey {
    Survey {
        core: CoreRates::default(),
        neighbours: Neighbours::new(Duration::from_secs(60), 1),
        launchers: vec![Launcher::default(); sides],
        supervisor: Supervisor::new().expect("a supervisor"),
        effort: Effort::of(Profile::Standard),
        host: Host { timeslice_ns: 7.0, ..Host::UNKNOWN },
        seed,
        chooser: Chooser::new(&[]),
        present: Present::default(),
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
        .map(|(round, point)| {
            survey.job((point, &point.cpus), &frozen, round, (&effort, Duration::ZERO, 3), &mut rng).expect("a job")
        })
        .collect()
}

#[test]
fn every_round_has_its_own_seed_derived_from_that_of_the_run() {
    let seeds = |run: u64| -> Vec<u64> { jobs(run, 5).iter().map(|job| job.seed).collect() };
    let (one, again, other) = (seeds(1), seeds(1), seeds(2));
    assert_eq!(one, again);
    let distinct: BTreeSet<u64> = one.iter().chain(&other).copied().collect();
    assert_eq!(distinct.len(), 30, "{one:?} {other:?}");
}

#[test]
fn pairs_stay_together_in_random_order() {
    let survey = survey(5, 2);
    let plan: Vec<Planned> = (0..5).flat_map(|_| [0, 1].map(|side| Planned { side, ..planned("a.one", 1) })).collect();
    let progress = Progress::new(&survey, &plan);
    let mut rng = Rng::new(survey.seed);
    let mut orders = BTreeSet::new();
    for _ in 0..50 {
        // The last point has one side left.
        let order = progress.in_random_order(&[0, 1, 2, 3, 4, 5, 8], &mut rng);
        let mut pairs: Vec<&[usize]> = order.chunk_by(|a, b| a / 2 == b / 2).collect();
        assert_eq!(pairs.len(), 4, "{order:?}");
        pairs.retain(|pair| pair.len() == 2);
        assert_eq!(pairs.len(), 3, "{order:?}");
        orders.insert((order[0], pairs.iter().map(|pair| pair[0] % 2).collect::<Vec<_>>()));
    }
    assert!(orders.len() > 15, "both the pairs and their sides are shuffled: {}", orders.len());
    // Iterations are those of the side that was measured first.
    let mut progress = progress;
    progress.points[3].frozen = vec![("a".to_owned(), 9)];
    assert_eq!((progress.frozen(2), progress.frozen(3)), (&[("a".to_owned(), 9)][..], &[("a".to_owned(), 9)][..]));
    assert!(progress.frozen(4).is_empty());
}

fn with_iterations(iters: u64) -> RoundResult {
    let series = Series { name: "a".to_owned(), iters, per_iter: 1.0, ..Series::default() };
    RoundResult::ok(RoundOutput { series: vec![series], ..RoundOutput::default() })
}

#[test]
fn iterations_are_fixed_by_the_first_good_round() {
    let mut point = point_progress(Vec::new());
    for (iters, ms) in [(12, 5), (13, 7), (14, 9)] {
        point.learn(&with_iterations(iters), Duration::from_millis(ms));
        assert_eq!(point.frozen, [("a".to_owned(), 12)]);
        assert_eq!(point.cost, Duration::from_millis(ms));
    }
    assert_eq!((point.spent, point.settled), (Duration::from_millis(21), false));
}

#[test]
fn a_failed_point_is_not_measured_again() {
    for state in [State::Unsupported, State::Denied, State::Failed, State::Timeout] {
        let mut point = point_progress(Vec::new());
        point.learn(&RoundResult::ended(state, "a reason"), Duration::ZERO);
        assert!(point.settled && point.frozen.is_empty(), "{state:?}");
    }
}

#[test]
fn a_job_follows_the_plan() {
    let jobs = jobs(1, 2);
    for (i, job) in jobs.iter().enumerate() {
        assert_eq!((job.round, job.workers), ([0, 1][i / 3], [1, 1, 4][i % 3]));
        assert_eq!((job.id.as_str(), &job.placement), (["a.one", "a.two", "a.two"][i % 3], &Placement::SameCpu));
        assert_eq!((job.cpus.as_slice(), job.frozen.as_slice()), (&[3, 3][..], &[("a".to_owned(), 12)][..]));
        assert_eq!((job.intervals, job.warm_ns, job.worker_kind), (80, 2_000_000, WorkerKind::Threads));
        assert_eq!((job.host.timeslice_ns, job.work_dir.as_ref()), (7.0, None));
        // The sampling time of a worker group: 60 s / 12 / 3 points.
        assert_eq!(job.time_limit_ns, if job.workers == 1 { 40_000_000 } else { 1_666_666_666 });
    }
}

#[test]
fn both_sides_of_a_pair_have_the_rounds_of_the_more_expensive_one() {
    let survey = survey(5, 2);
    let plan: Vec<Planned> = (0..2).flat_map(|_| [0, 1].map(|side| Planned { side, ..planned("a.one", 1) })).collect();
    let mut progress = Progress::new(&survey, &plan);
    progress.round = 1;
    for (point, ms) in progress.points.iter_mut().zip([50, 10_000, 50, 50]) {
        point.cost = Duration::from_millis(ms);
    }
    progress.allocate(&survey.effort);
    let targets: Vec<u32> = progress.points.iter().map(|point| point.target).collect();
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

/// A good round with this value.
fn round_of(round: u32, value: f64) -> Round {
    let output = RoundOutput { series: vec![Series::stated("", vec![value])], ..RoundOutput::default() };
    Round { round, result: RoundResult::ok(output) }
}

/// All points cost the same; the rounds of the last one differ.
#[test]
fn an_imprecise_point_gets_more_rounds_after_its_sixth_and_only_then() {
    let survey = Survey { effort: Effort::of_survey(Profile::Standard), ..survey(5, 1) };
    let planned = planned_with_a_latency();
    let plan = vec![planned; 100];
    let mut progress = Progress::new(&survey, &plan);
    let targets = |progress: &Progress<'_>| [0, 99].map(|i: usize| progress.points[i].target);
    let mut seen = Vec::new();
    for round in 0..7 {
        for (i, point) in progress.points.iter_mut().enumerate() {
            let value = 1e-6 * if i == 99 { 1.0 + 0.1 * f64::from(round) } else { 1.0 };
            point.rounds.push(round_of(round, value));
            point.cost = Duration::from_millis(40);
        }
        progress.round += 1;
        progress.allocate(&survey.effort);
        seen.push(targets(&progress));
    }
    let [before, after] = [seen[4], seen[5]];
    assert_eq!(before[0], before[1], "{seen:?}");
    assert!(after[1] > before[1] && (9..after[1]).contains(&after[0]), "{seen:?}");
    assert_eq!(seen[6], after, "looked at once");
}

/// An observer that ignores everything.
struct Ignore;

impl Observer for Ignore {
    fn next(&mut self, _: &str) {}

    fn warn(&mut self, _: &str) {}
}

/// A shell in place of a worker; it gets the job on its standard input.
fn shell(script: &str) -> Launcher {
    Launcher { command: ["/bin/sh", "-c", script].map(Into::into).to_vec(), ..Launcher::default() }
}

#[test]
fn both_sides_of_a_pair_draw_the_same_numbers() {
    let place = tempfile::tempdir().expect("a directory");
    let mut survey = survey(5, 2);
    survey.launchers = vec![shell(&format!("cat > '{}/'$$", place.path().display())); 2];
    let pair = |id: &'static str| [0, 1].map(|side| Planned { side, ..planned(id, 1) });
    let plan: Vec<Planned> = ["a.one", "a.two", "a.three"].into_iter().flat_map(pair).collect();
    survey.work(&plan, &mut Ignore, |_, _| Ok(())).expect("a survey");
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

/// Filling the file is not part of the cost of a round, and reduces the time that is left for it.
#[test]
fn work_that_is_done_once_is_not_a_cost_of_the_point() {
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
        let mut progress = Progress::new(&survey, &plan);
        let mut rng = Rng::new(1);
        survey.round(&mut progress, 0, true, &mut rng, &mut Ignore, &mut |_, _| Ok(())).expect("a round");
        assert_eq!(progress.points[0].rounds[0].result.state, State::Ok);
        (progress.points[0].cost, survey.fill)
    };
    let (cost, left) = cost_of("0");
    assert!(!cost.is_zero() && left == Duration::from_secs(3), "{cost:?} {left:?}");
    assert_eq!(cost_of("1000").1, Duration::from_secs(2));
    assert_eq!(cost_of("1000000"), (Duration::ZERO, Duration::ZERO));
}

#[test]
fn a_round_cut_by_the_budget_is_not_a_time_out() {
    let survey = survey(1, 1);
    let (job, sleeps) = (jobs(1, 1).remove(0), shell("exec sleep 60"));
    let ended = |deadline: Duration, end: Option<Instant>| survey.supervisor.run((&job, &sleeps), 0, deadline, end);
    let short = Duration::from_millis(50);
    assert!(matches!(ended(Duration::from_secs(5), Some(Instant::now() + short)), Ended::OutOfBudget));
    assert!(matches!(ended(short, None), Ended::Result(result) if result.state == State::Timeout));
}

#[test]
fn a_pair_is_measured_until_both_sides_are_precise() {
    let survey = survey(5, 2);
    let planned = planned_with_a_latency();
    let plan: Vec<Planned> = [0, 1].map(|side| Planned { side, ..planned.clone() }).to_vec();
    for wild in [None, Some(0), Some(1)] {
        let mut progress = Progress::new(&survey, &plan);
        for (i, point) in progress.points.iter_mut().enumerate() {
            let value = |round: u32| 1e-6 * if wild == Some(i) { 1.0 + f64::from(round) } else { 1.0 };
            point.rounds = (0..9).map(|round| round_of(round, value(round))).collect();
        }
        let expected = if wild.is_some() { vec![0, 1] } else { Vec::new() };
        assert_eq!(progress.next_points(&survey.effort), (expected, false), "{wild:?}");
    }
}

#[test]
fn the_time_to_fill_the_file_is_bounded_by_budget_and_deadline() {
    let of = |budget, deadline| fill_time(Duration::from_secs(budget), Duration::from_secs(deadline));
    assert_eq!((of(60, 40), of(60, 8)), (Duration::from_secs(3), Duration::from_secs(2)));
}

/// By 60 ms per member.
#[test]
fn the_deadline_grows_with_the_worker_group() {
    let survey = survey(1, 1);
    let of = |workers| survey.deadline_of(&planned("a.one", workers));
    assert_eq!((of(1), of(50)), (Duration::from_secs(10), Duration::from_secs(13)));
}

/// With CPU numbers that no machine has, so that their load is unknown.
#[test]
fn a_single_task_draws_one_of_its_cpus_for_each_round() {
    let mut survey = survey(3, 1);
    let effort = survey.effort;
    let cpus = vec![70_000, 70_001, 70_002];
    let site = groma_harness::sys::topology::Site { class: None, node: None, cpus, without_cpu0: false };
    let mut rng = Rng::new(survey.seed);
    let mut drawn = |cpus: Cpus| {
        let planned = Planned { cpus, ..planned("a.one", 1) };
        let jobs = (0..60).map(|round| {
            survey
                .job((&planned, &planned.cpus), &[], round, (&effort, Duration::ZERO, 1), &mut rng)
                .expect("a job")
                .cpus
        });
        jobs.collect::<BTreeSet<Vec<u32>>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(drawn(Cpus::OneOf(site)), [[70_000], [70_001], [70_002]]);
    assert_eq!(drawn(Cpus::Any), [Vec::<u32>::new()]);
    assert_eq!(drawn(Cpus::Each(vec![5, 4])), [[5, 4]]);
}

/// The probes of one round alone are too few.
#[test]
fn the_rate_of_an_idle_core_comes_from_the_probes_of_all_rounds() {
    use groma_harness::model::{CoreProbe, RateCounts};
    use groma_harness::stats::idle_rate::log_bin;
    let mut survey = survey(1, 1);
    survey.host.core = Some(CoreProbe { length: 1, step: 0.0, idle: 0.0, alone: false, shared_below: None });
    let counts = [(2.0, 24), (4.0, 36)].map(|(rate, probes)| (log_bin(rate).expect("a rate"), probes));
    let seen = CoreRates { rates: RateCounts(counts.into()), looks: 60, idle: 36, waited_ns: 0 };
    let boundary = |survey: &Survey| survey.host.core.and_then(|core| core.shared_below);
    survey.learn_of_core(&[3], &seen);
    assert_eq!(boundary(&survey), None);
    survey.learn_of_core(&[3], &seen);
    assert_eq!(survey.core.rates.total(), 120);
    assert!(boundary(&survey).is_some_and(|at| (2.1..3.9).contains(&at)), "{:?}", survey.host.core);
    assert!(survey.neighbours.idle(3, Instant::now()) > survey.neighbours.idle(4, Instant::now()));
}

/// It is counted if it was an allocated one.
#[test]
fn a_round_that_no_longer_fits_is_left_out() {
    let mut survey = survey(1, 1);
    let plan = [planned("a.one", 1), planned("a.two", 1)];
    let mut progress = Progress::new(&survey, &plan);
    progress.points[0].rounds = vec![round_of(0, 1e-6), round_of(1, 1e-6)];
    progress.points[0].cost = Duration::from_secs(61);
    for (allocated, short, target) in [(false, 0, 9), (true, 1, 2)] {
        let mut rng = Rng::new(1);
        let step =
            survey.round(&mut progress, 0, allocated, &mut rng, &mut Ignore, &mut |_, _| Ok(())).expect("a step");
        assert!(matches!(step, Step::LeftOut));
        let [left_out, other] = [0, 1].map(|i: usize| progress.points[i].target);
        assert_eq!((progress.short.len(), left_out, other), (short, target, 9), "allocated: {allocated}");
    }
    assert_eq!((progress.points[0].affordable, progress.points[0].most), (2, 2));
}

/// The end of the budget cut off the round of one side.
#[test]
fn a_side_without_its_last_round_gets_no_more_allocated() {
    let survey = survey(5, 2);
    let plan: Vec<Planned> = [0, 1].map(|side| Planned { side, ..planned_with_a_latency() }).to_vec();
    let mut progress = Progress::new(&survey, &plan);
    for (point, rounds) in progress.points.iter_mut().zip([3, 2]) {
        point.rounds = (0..rounds).map(|round| round_of(round, 1e-6)).collect();
    }
    progress.no_longer_fits(1);
    assert_eq!(progress.points[1].target, 3);
    assert_eq!(progress.next_points(&survey.effort), (vec![0], true));
}

#[test]
fn an_imprecise_point_keeps_to_the_bounds_of_rounds_and_time() {
    let survey = survey(5, 1);
    let plan = [planned_with_a_latency()];
    let mut progress = Progress::new(&survey, &plan);
    progress.points[0].rounds = (0..9).map(|round| round_of(round, 1e-6 * f64::from(1 + round))).collect();
    let goes_on = |progress: &Progress<'_>, most_rounds| {
        let (points, allocated) = progress.next_points(&Effort { most_rounds, ..survey.effort });
        assert!(!allocated);
        !points.is_empty()
    };
    assert!(goes_on(&progress, 10) && !goes_on(&progress, 9));
    progress.points[0].spent = Duration::from_secs(19);
    assert!(goes_on(&progress, 10));
    progress.points[0].spent = Duration::from_secs(20);
    assert!(!goes_on(&progress, 10));
    // A settled point is done, however imprecise.
    progress.points[0].spent = Duration::ZERO;
    progress.points[0].settled = true;
    assert!(!goes_on(&progress, 10));
}

#[test]
fn time_for_statistics_is_reserved_up_to_a_tenth_of_the_budget() {
    let survey = survey(1, 1);
    let lasts = |points: usize| Progress::new(&survey, &vec![planned("a.one", 1); points]).until - survey.started;
    assert_eq!((lasts(100), lasts(1000)), (Duration::from_millis(58_500), Duration::from_secs(54)));
}

#[test]
fn the_outcome_says_what_was_cut() {
    let survey = survey(1, 1);
    let plan = vec![planned("a.one", 1); 7];
    let mut progress = Progress::new(&survey, &plan);
    (progress.round, progress.least_sampling) = (1, 0.4);
    // However often they were not reached.
    progress.short.extend([3, 5, 3]);
    progress.points.iter_mut().for_each(|point| point.target = 5);
    let costs = progress.end(&survey.effort).costs;
    let expected = ["sampling cut to 40 % to fit", "5 rounds instead of 9 to fit"];
    assert_eq!(costs[..2], expected);
    assert_eq!(costs[2..], ["2 of 7 points not reached in their last rounds"]);
    // A run that ended in its first round has no allocation.
    assert!(Progress::new(&survey, &plan).end(&Effort { rounds: 20, ..survey.effort }).costs.is_empty());
}

/// Remaining processes may hold the pipe open, and are killed.
#[test]
fn a_result_ends_the_round_and_all_its_processes() {
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
        // Its new parent may take a moment to reap it.
        let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let until = Instant::now() + Duration::from_secs(60);
        while !(stat().is_empty() || stat().contains(") Z ")) {
            assert!(Instant::now() < until, "process {pid} goes on: {}", stat());
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_round_has_a_directory_and_the_shared_file_only_if_it_needs_them() {
    let place = tempfile::tempdir().expect("a directory");
    let mut survey = survey(1, 1);
    survey.work_dir = Some(WorkDir::new(place.path(), 1).expect("a work directory"));
    survey.fill = Duration::from_nanos(1_234_567);
    let effort = survey.effort;
    let mut rng = Rng::new(1);
    let mut job = |work_dir| {
        let planned = Planned { work_dir, ..planned("a.one", 1) };
        survey.job((&planned, &planned.cpus), &[], 0, (&effort, Duration::ZERO, 1), &mut rng).expect("a job")
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
fn the_directory_of_a_round_is_removed_after_it() {
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
    let mut progress = Progress::new(&survey, &plan);
    let mut rng = Rng::new(1);
    for rounds in [1, 2] {
        survey.round(&mut progress, 0, true, &mut rng, &mut Ignore, &mut |_, _| Ok(())).expect("a round");
        assert_eq!((progress.points[0].rounds.len(), names(&dir)), (rounds, before));
    }
}

/// It has one round, which holds the reason.
#[test]
fn no_worker_is_started_for_a_closed_point() {
    let place = tempfile::tempdir().expect("a directory");
    let mut survey = survey(5, 1);
    survey.launchers = vec![shell(&format!("cat > '{}/'$$", place.path().display()))];
    let missing = Planned { unsupported: Some("no such thing here".to_owned()), ..planned("a.missing", 1) };
    let plan = [planned("a.one", 1), missing, planned("a.two", 1)];
    let mut kept = Vec::new();
    let outcome = survey.work(&plan, &mut Ignore, |i, round| {
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

    let mut progress = Progress::new(&survey, &plan);
    assert_eq!(progress.open().collect::<Vec<_>>(), [0, 1, 2]);
    progress.points[1].close(1, 4, State::Failed, "why".to_owned(), &mut |_, _| Ok(())).expect("it is kept");
    assert_eq!(progress.open().collect::<Vec<_>>(), [0, 2]);
    assert_eq!((progress.points[1].rounds.len(), progress.points[1].rounds[0].round), (1, 4));
    assert_eq!(progress.next_points(&survey.effort).0, [0, 2]);
    // An error of `keep` ends the run.
    let full = |_: usize, _: &mut Round| Err(anyhow::anyhow!("no space"));
    assert!(progress.points[0].close(0, 0, State::Failed, String::new(), &mut { full }).is_err());
}
