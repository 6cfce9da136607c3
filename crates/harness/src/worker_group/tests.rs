//! Worker groups of this process, and of a machine that steals and preempts.

use super::*;
use crate::board::{MEASURE, STOP};
use crate::instruments::Instruments;
use crate::labels::Rules;
use crate::model::{Host, Labels, Params, Placement, Series};
use crate::sys::clock::Clock;
use crate::variant::Variant;
use groma_stats::rng::Rng;
use std::sync::atomic::AtomicU32;

fn job(workers: u32) -> Job {
    Job {
        id: String::new(),
        params: Params::default(),
        placement: Placement::Free,
        cpus: Vec::new(),
        workers,
        group: true,
        worker_kind: WorkerKind::Processes,
        round: 0,
        seed: 0,
        intervals: 1,
        time_limit_ns: 0,
        wait_ns: 0,
        warm_ns: 0,
        frozen: Vec::new(),
        work_dir: None,
        run_file: None,
        remote: None,
        host: Host {
            clock_step_ns: 1.0,
            clock_cost_ns: 20.0,
            timeslice_ns: 4e6,
            timeslice_assumed: true,
            interval_ns: 2e5,
            proportionality: None,
            counter_hz: None,
            beyond_caches: Some(128 << 20),
            core: None,
        },
    }
}

/// What the first member reports where its one series has samples on the board.
fn one_series() -> RoundOutput {
    let series = vec![Series { per_iter: 1.0, iters: 1, ..Series::default() }];
    RoundOutput { series, ..RoundOutput::default() }
}

/// Every breach of the overlap is labelled, and nothing else is
/// (docs/methods/timing.md#overlap-proof).
#[test]
fn samples_outside_the_common_span_are_labelled() {
    let board = Board::new(2).expect("memory");
    board.head().report.write(&report(one_series()));
    for (slot, (first, last)) in board.slots.iter().zip([(100, 1000), (150, 900)]) {
        slot.first.store(first, SeqCst);
        slot.last.store(last, SeqCst);
        // Just inside, one step too early, one step too late.
        for (place, (t0, t1)) in slot.samples.iter().zip([(150, 900), (149, 500), (500, 901)]) {
            place.t0.store(t0, SeqCst);
            place.t1.store(t1, SeqCst);
            // A body may do more than its timed part, and is at work until the end of the sample.
            place.elapsed.store((t1 - t0) / 2, SeqCst);
            place.iters.store(1, SeqCst);
        }
        slot.count.store(3, SeqCst);
    }
    let said = collect(&board, &job(2), 2, Timetable::new(2, 2, true, 4e6, 0), 1).expect("a report");
    let seen: Vec<(i64, bool)> = said.output.series[0]
        .samples
        .iter()
        .map(|s| (s.margin_ns.expect("a worker group's sample"), s.labels.has(Label::Overlap)))
        .collect();
    assert_eq!(seen, [(0, false), (-1, true), (-1, true), (0, false), (-1, true), (-1, true)]);
}

/// `mem.latency` states the time of its first lap before its loop.
#[test]
fn samples_belong_to_the_loop_and_not_to_what_was_stated_before_it() {
    let board = Board::new(1).expect("memory");
    let mut output = one_series();
    output.series.insert(0, Series::stated("first", vec![2.0]));
    board.head().report.write(&report(output));
    let slot = &board.slots[0];
    slot.last.store(1000, SeqCst);
    slot.samples[0].t1.store(900, SeqCst);
    slot.samples[0].elapsed.store(900, SeqCst);
    slot.samples[0].iters.store(1, SeqCst);
    slot.count.store(1, SeqCst);
    let said = collect(&board, &job(1), 2, Timetable::new(1, 2, true, 4e6, 0), 1).expect("a report");
    let samples: Vec<usize> = said.output.series.iter().map(|series| series.samples.len()).collect();
    assert_eq!((samples, &said.output.series[0].values), (vec![0, 1], &vec![2.0]));
}

#[test]
fn members_have_random_numbers_of_their_own() {
    static INFO: crate::model::Info = crate::model::Info::new("test.random");
    let board = Board::new(4).expect("memory");
    let first = |seed: u64, index: Option<u32>| {
        let job = Job { seed, ..job(4) };
        let timetable = Timetable::new(4, 4, true, 4e6, 0);
        let member = index.map(|index| Member { board: &board, index, timetable, measured: false });
        Ctx::new(&job, &INFO, member).rng().next_u64()
    };
    let mut all: Vec<u64> = [None, Some(0), Some(1), Some(2), Some(3)].map(|m| first(1, m)).to_vec();
    all.extend([None, Some(0), Some(1)].map(|m| first(2, m)));
    let distinct: std::collections::BTreeSet<u64> = all.iter().copied().collect();
    assert_eq!(distinct.len(), all.len(), "{all:?}");
    assert_eq!(all[2], first(1, Some(1)), "the same seed gives the same numbers");
}

/// Everything real but the host, which steals whenever it is looked at.
struct Stealing(std::cell::Cell<u64>, u64);

impl Clock for Stealing {
    fn now_ns(&self) -> u64 {
        Monotonic.now_ns()
    }
}

impl Instruments for Stealing {
    fn reading(&self) -> crate::instruments::Reading {
        crate::instruments::Real.reading()
    }

    fn chain_ns(&self, ops: u64) -> u64 {
        crate::instruments::Real.chain_ns(ops)
    }

    fn kernel_entry_ns(&self) -> f64 {
        crate::instruments::Real.kernel_entry_ns()
    }

    fn host(&self) -> crate::sys::facts::HostCounters {
        self.0.set(self.0.get() + self.1);
        crate::sys::facts::HostCounters { steal_ticks: Some(self.0.get()), ..Default::default() }
    }
}

static CHAIN: Benchmark = Benchmark {
    info: crate::model::Info::new("cpu.chain"),
    run: Run::Here(|ctx| {
        ctx.measure(|iters| {
            crate::sys::arch::add_chain(iters * 64);
            Ok(())
        })
    }),
};

#[test]
fn steal_labels_the_samples_of_a_worker_group() {
    for (ticks, labelled) in [(1, true), (0, false)] {
        let ins = Stealing(std::cell::Cell::new(100), ticks);
        let said = run(&ins, &CHAIN, &job(2)).expect("a worker group");
        let samples = &said.output.series[0].samples;
        assert!(!samples.is_empty() && samples.iter().all(|s| s.labels.has(Label::Host) == labelled), "{samples:?}");
    }
}

/// A tenth of its work is timed.
static PARTLY: Benchmark = Benchmark {
    info: crate::model::Info { quantity: crate::model::Quantity::Rate, ..crate::model::Info::new("cpu.partly") },
    run: Run::Here(|ctx| {
        ctx.measure_staged(|iters, watch| {
            crate::sys::arch::add_chain(9 * iters * 6400);
            watch.start();
            crate::sys::arch::add_chain(iters * 6400);
            watch.stop();
            Ok(())
        })
    }),
};

/// The rate of a group was `1 / 0.1` times too high: its window ended where the timed parts would
/// have ended without a pause.
#[test]
fn what_lies_between_the_timed_parts_is_time_of_the_group() {
    let said = run(&crate::instruments::Real, &PARTLY, &Job { time_limit_ns: 160_000_000, ..job(2) });
    let series = &said.expect("a worker group").output.series[0];
    assert!(series.spans.len() >= 2, "each member has one at least");
    let shares: Vec<f64> = series.spans.iter().map(|s| s.timed_ns as f64 / s.wall_ns as f64).collect();
    // A tenth: a member may wait for a CPU within a timed part, but not in every interval.
    assert!(shares.iter().any(|share| *share < 0.5) && shares.iter().all(|share| *share < 1.0), "{shares:?}");
    for (span, sample) in series.spans.iter().zip(&series.samples) {
        assert_eq!((span.t0_ns, span.timed_ns, span.iters), (sample.t0_ns, sample.elapsed_ns, sample.iters));
    }
}

/// Members time single intervals and operations as a worker does that runs alone.
#[test]
fn a_group_of_one_takes_the_samples_of_one_that_runs_alone() {
    use crate::model::{Info, Timing};
    let timed = |timing| {
        let info = Info { timing, ..Info::new("cpu.chain") };
        let said = run(&crate::instruments::Real, &Benchmark { info, ..CHAIN }, &job(1)).expect("a worker group");
        said.output.series.into_iter().next().expect("a series")
    };
    for (timing, most_iters) in [(Timing::Each, 1), (Timing::Batched, u64::MAX)] {
        // More than the intervals, of which there are eight at most. On a busy machine an interval
        // may pass while its first sample waits for the CPU.
        let series = (0..20).map(|_| timed(timing)).find(|series| series.samples.len() > 8);
        let series = series.unwrap_or_else(|| panic!("{timing:?}: no more samples than intervals, 20 times"));
        assert!(series.samples.iter().all(|s| s.iters <= most_iters && s.margin_ns.is_some()), "{timing:?}");
        assert!(series.samples.windows(2).all(|pair| pair[0].t0_ns <= pair[1].t0_ns), "{timing:?}");
        let all: u64 = series.spans.iter().map(|s| s.iters).sum();
        let kept: u64 = series.samples.iter().map(|s| s.iters).sum();
        assert!(kept <= all, "{timing:?}: {kept} of {all}");
        // Work grows with the iterations, whatever the length of a sample.
        assert!(series.samples.iter().all(|s| s.elapsed_ns > 0));
    }
    // More members than CPUs wait for them, and the wait is in their samples: whole intervals.
    let many = affinity::allowed().expect("CPUs").len() as u32 + 1;
    let crowd = run(&crate::instruments::Real, &CHAIN, &job(many)).expect("a worker group");
    let series = &crowd.output.series[0];
    assert_eq!(series.samples.len(), series.spans.len());
}

/// Its member 1 comes only after a minute, or not at all.
static MISSING: Benchmark = Benchmark {
    info: crate::model::Info::new("cpu.missing"),
    run: Run::Here(|ctx| {
        if ctx.member() == 1 {
            std::thread::sleep(Duration::from_secs(60));
        }
        ctx.measure(|iters| {
            crate::sys::arch::add_chain(iters * 64);
            Ok(())
        })
    }),
};

#[test]
fn waiting_for_a_missing_member_times_out() {
    let began = std::time::Instant::now();
    for group in [WorkerKind::Processes, WorkerKind::Threads] {
        let job = Job { worker_kind: group, ..job(3) };
        let patience = Duration::from_millis(300);
        let ins = crate::instruments::Real;
        let late = run_within(&ins, &MISSING, &job, patience).err();
        let Some(BenchError::Failed(why)) = late else { panic!("{group:?}: {late:?}") };
        // How many had come by then is up to the machine; one never does.
        assert!(why.ends_with(" of 3 members of the worker group have not come in time"), "{why}");
    }
    assert!(began.elapsed() < Duration::from_secs(50), "it waited for the member");
}

/// Two loops, and everything that a member can say.
static SAYS: Benchmark = Benchmark {
    info: crate::model::Info::new("cpu.says"),
    run: Run::Here(|ctx| {
        let did = std::cell::Cell::new(0);
        let chain = |iters: u64| {
            did.set(did.get() + iters);
            crate::sys::arch::add_chain(iters * 64);
            Ok(())
        };
        ctx.measure_variants(&mut [Variant::new("a", chain).per_iter(64.0), Variant::new("b", chain)])?;
        assert_eq!((ctx.iterations(), ctx.workers()), (did.get(), 3));
        ctx.prove("moons of the Earth", "1", 1.0, 1.0..=1.0);
        ctx.fact("member", ctx.member());
        ctx.note("said by one");
        ctx.state_as("stated", 7.0);
        Ok(())
    }),
};

#[test]
fn a_worker_group_is_placed_busy_throughout_and_reports_through_its_first_member() {
    let cpus = affinity::allowed().expect("the CPUs that are allowed");
    for group in [WorkerKind::Processes, WorkerKind::Threads] {
        let job = Job { worker_kind: group, placement: Placement::Compact, cpus: cpus.clone(), ..job(3) };
        let said = run(&crate::instruments::Real, &SAYS, &job).expect("a worker group");
        let names: Vec<_> =
            said.output.series.iter().map(|s| (s.name.as_str(), s.per_iter, s.values.as_slice())).collect();
        assert_eq!(names, [("a", 64.0, &[][..]), ("b", 1.0, &[]), ("stated", 1.0, &[7.0])], "{group:?}");
        let mut all = 0;
        for series in &said.output.series[..2] {
            for member in 0..3 {
                let own: Vec<_> = series.samples.iter().filter(|s| s.worker == member).collect();
                assert!(!own.is_empty(), "{group:?}: member {member} of {}", series.name);
                for sample in own {
                    assert_eq!(sample.cpu, cpus[member as usize % cpus.len()], "{group:?}");
                    assert!(sample.iters > 0 && sample.elapsed_ns > 0 && sample.t0_ns > 0);
                    assert!(
                        sample.margin_ns.is_some_and(|m| m >= 0) && !sample.labels.has(Label::Overlap),
                        "{sample:?}"
                    );
                    all += sample.iters;
                }
            }
        }
        assert!(said.iterations > all, "the batches between the samples count as well");
        assert_eq!(
            said.output.facts.iter().filter(|f| f.key == "member").map(|f| f.value.as_str()).collect::<Vec<_>>(),
            ["0"]
        );
        assert!(said.output.remarks.contains(&Remark::Note("said by one".to_owned())));
        let holds = |name: &str| said.output.proofs.iter().filter(|p| p.name == name && p.holds).count();
        assert_eq!((holds("moons of the Earth"), holds(evidence::ON_CPU), holds(evidence::POSSIBLE)), (1, 1, 1));
        let coordinator =
            said.output.facts.iter().find(|f| f.key == "group.coordinator_cpu").and_then(|f| f.value.parse().ok());
        assert!(coordinator.is_some_and(|share: f64| (0.0..=1.0).contains(&share)), "{coordinator:?}");
    }
}

#[test]
fn the_cpu_time_of_a_worker_group_is_reported() {
    let shares = |workers: u32, cpus: u32, cpu_ns: u64| {
        let board = Board::new(workers).expect("memory");
        board.head().report.write(&report(one_series()));
        for slot in board.slots.iter() {
            slot.last.store(10_000, SeqCst);
            slot.iterations.store(11, SeqCst);
            slot.count.store(1, SeqCst);
            slot.samples[0].t0.store(1_000, SeqCst);
            slot.samples[0].t1.store(2_000, SeqCst);
            slot.samples[0].cpu_ns.store(cpu_ns, SeqCst);
        }
        let said = collect(&board, &job(workers), cpus, Timetable::new(workers, cpus, true, 4e6, 0), 55);
        let said = said.expect("a report");
        let fact =
            |key: &str| said.output.facts.iter().find(|f| f.key == key).map(|f| f.value.clone()).unwrap_or_default();
        assert_eq!((fact("group.wall_ns"), fact("group.margin_ns")), ("55".to_owned(), "1000".to_owned()));
        assert_eq!(said.iterations, 11 * u64::from(workers));
        (fact("group.on_cpu"), said.output.remarks.iter().any(|r| matches!(r, Remark::GroupCpuShare { .. })))
    };
    assert_eq!(shares(2, 2, 1_000), ("1.000".to_owned(), false));
    assert_eq!(shares(2, 2, 951), ("0.951".to_owned(), false));
    assert_eq!(shares(2, 2, 940), ("0.940".to_owned(), true));
    // Four members on two CPUs have half a CPU each at best.
    assert_eq!(shares(4, 2, 500), ("1.000".to_owned(), false));
    assert_eq!(shares(4, 2, 250), ("0.500".to_owned(), false));
}

/// Everything real but the counters: the kernel takes the CPU, which is the fifth, away from each
/// interval.
struct Preempting(std::cell::Cell<u64>);

impl Clock for Preempting {
    fn now_ns(&self) -> u64 {
        Monotonic.now_ns()
    }
}

impl Instruments for Preempting {
    fn reading(&self) -> crate::instruments::Reading {
        self.0.set(self.0.get() + 1);
        let mut reading = crate::instruments::Reading { now_ns: self.now_ns(), cpu: 5, ..Default::default() };
        reading.usage.involuntary = self.0.get();
        reading
    }

    fn chain_ns(&self, ops: u64) -> u64 {
        crate::instruments::Real.chain_ns(ops)
    }

    fn kernel_entry_ns(&self) -> f64 {
        crate::instruments::Real.kernel_entry_ns()
    }

    fn host(&self) -> crate::sys::facts::HostCounters {
        Default::default()
    }
}

/// What a member sees of its samples comes out of the shared memory again: labels, CPU, variant,
/// iterations.
#[test]
fn labels_of_a_member_reach_the_coordinator() {
    let board = Board::new(1).expect("memory");
    let timetable = Timetable { interval_ns: 200_000, intervals: 4, warm_ns: 0, short: false, crowded: true };
    let mut member = Member { board: &board, index: 0, timetable, measured: false };
    let rules = Rules {
        core: None,
        timing: crate::model::Timing::Batched,
        interval_ns: 2e5,
        intervals: 1,
        time_limit_ns: 0,
        wait_ns: 0,
        warm_ns: 0,
        drops: Labels::NONE,
        faults_expected: false,
        blocks: false,
        sleeps: false,
        tasks: false,
        first: false,
        rate: false,
        clock_cost_ns: 0.0,
        counter_hz: None,
    };
    // Nobody else is there: the loop itself ends the measurement once its samples are taken.
    board.set_phase(MEASURE);
    let did = std::cell::Cell::new(0);
    let chain = |iters: u64| {
        did.set(did.get() + iters);
        if board.head().done.load(SeqCst) == 1 {
            board.set_phase(STOP);
        }
        crate::sys::arch::add_chain(iters * 64);
        Ok(())
    };
    let mut variants = [Variant::new("a", chain), Variant::new("b", chain)];
    let ins = Preempting(std::cell::Cell::new(0));
    let (series, total) = member.measure(&ins, &rules, &mut variants, &mut Rng::new(1)).expect("samples");
    let again = member.measure(&ins, &rules, &mut variants, &mut Rng::new(1)).map(|_| ());
    assert!(matches!(again, Err(BenchError::Failed(why)) if why.contains("once a round")));
    assert_eq!(total, did.get());

    board.head().report.write(&report(RoundOutput { series, ..RoundOutput::default() }));
    let said = collect(&board, &job(1), 1, timetable, 1).expect("a report");
    assert_eq!(said.iterations, total);
    assert_eq!(
        said.output.series.iter().map(|s| (s.name.as_str(), s.samples.len())).collect::<Vec<_>>(),
        [("a", 2), ("b", 2)]
    );
    for sample in said.output.series.iter().flat_map(|s| &s.samples) {
        assert_eq!((sample.labels, sample.cpu), (Labels::of(&[Label::Preempted]), 5), "{sample:?}");
        assert!(sample.iters > 0 && sample.elapsed_ns > 0 && sample.margin_ns.is_some_and(|m| m >= 0));
    }
}

/// What it says takes this many bytes.
static LONG_FACT: AtomicU32 = AtomicU32::new(0);

static TALKS: Benchmark = Benchmark {
    info: crate::model::Info::new("cpu.talks"),
    run: Run::Here(|ctx| {
        ctx.measure(|iters| {
            crate::sys::arch::add_chain(iters * 64);
            Ok(())
        })?;
        ctx.fact("long", "x".repeat(LONG_FACT.load(SeqCst) as usize));
        Ok(())
    }),
};

#[test]
fn the_output_of_the_first_member_is_complete_or_absent() {
    let said = |bytes: u32| {
        LONG_FACT.store(bytes, SeqCst);
        run(&crate::instruments::Real, &TALKS, &job(2)).map(|samples| samples.output)
    };
    let long = said(40_000).expect("a report of 40 000 bytes");
    assert_eq!(long.fact("long").map(str::len), Some(40_000));
    let longer = said(2 << 20).map(|_| ());
    assert!(matches!(&longer, Err(BenchError::Failed(why)) if why.contains("beside its samples")), "{longer:?}");
}

static AT_WORK: AtomicU32 = AtomicU32::new(0);

/// Its first member fails as soon as the others are at work, which then go on for a while.
static ONE_FAILS: Benchmark = Benchmark {
    info: crate::model::Info::new("cpu.one_fails"),
    run: Run::Here(|ctx| {
        if ctx.member() == 0 {
            while AT_WORK.load(SeqCst) < 2 {
                std::thread::yield_now();
            }
            return Err(BenchError::Failed("no".to_owned()));
        }
        AT_WORK.fetch_add(1, SeqCst);
        std::thread::sleep(Duration::from_millis(100));
        AT_WORK.fetch_sub(1, SeqCst);
        Ok(())
    }),
};

#[test]
fn a_failed_worker_group_is_reported_after_all_threads_stopped() {
    let job = Job { worker_kind: WorkerKind::Threads, ..job(3) };
    let failed = run(&crate::instruments::Real, &ONE_FAILS, &job).err();
    assert_eq!(failed, Some(BenchError::Failed("member 0: no".to_owned())));
    assert_eq!(AT_WORK.load(SeqCst), 0);
}

#[test]
fn the_warm_up_of_a_worker_group_follows_its_timetable() {
    let board = Board::new(1).expect("memory");
    let head = board.head();
    for word in [&head.ready, &head.started, &head.done, &head.ended] {
        word.count();
    }
    let timetable = Timetable { warm_ns: 50_000_000, ..Timetable::new(1, 1, true, 4e6, 0) };
    let mut nobody = Members::Threads(Vec::new());
    let start = Monotonic.now_ns();
    assert!(coordinate(&board, &mut nobody, timetable, Duration::from_secs(60)).is_ok());
    assert!(Monotonic.now_ns() - start >= timetable.warm_ns);
}

/// Before that the member may still have waited for a CPU.
#[test]
fn a_member_is_at_work_from_the_end_of_its_first_batch() {
    let (board, fake) = (Board::new(1).expect("memory"), crate::fake::Fake::new());
    board.set_phase(MEASURE);
    let timetable = Timetable::new(1, 1, true, 4e6, 0);
    let mut member = Member { board: &board, index: 0, timetable, measured: false };
    let mut first_end = None;
    let body = |iters: u64| {
        fake.run(100 * iters);
        if board.head().ready.load(SeqCst) == 1 {
            first_end.get_or_insert(fake.now.get());
        }
        if board.head().done.load(SeqCst) == 1 {
            board.set_phase(STOP);
        }
        Ok(())
    };
    let mut rng = Rng::new(1);
    member.measure(&fake, &crate::fake::rules(), &mut [Variant::new("", body)], &mut rng).expect("it runs");
    assert_eq!(Some(board.slots[0].first.load(SeqCst)), first_end);
}
