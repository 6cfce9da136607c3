//! Possible times and kept placements, and those that are not.

use super::*;
use crate::benchmark::{Benchmark, Run};
use crate::error::Outcome;
use crate::fake::Fake;
use crate::model::{Output, RoundResult, Sample, State, Timing};
use crate::sys::clock::Monotonic;
use crate::sys::thread;
use crate::testing::{try_failing, try_failing_at, try_placed};
use crate::{clock_properties, ctx::Ctx};

const HOST: Host = Host { clock_cost_ns: 25.0, ..Host::UNKNOWN };

/// A series of samples of 1000 iterations that took `ns` each.
fn series(name: &str, per_iter: f64, ns: &[u64]) -> Series {
    let sample = |ns: &u64| Sample { elapsed_ns: *ns, iters: 1000, ..Sample::default() };
    Series { name: name.into(), iters: 1000, per_iter, samples: ns.iter().map(sample).collect(), ..Series::default() }
}

/// What is proven of the time, with a system call of 100 ns.
fn possible(info: &Info, series: Vec<Series>) -> Option<Proof> {
    let mut output = RoundOutput { series, ..RoundOutput::default() };
    of_time(&Fake::new(), info, &HOST, &mut output);
    assert!(output.proofs.len() < 2);
    output.proofs.pop()
}

fn ratio(info: &Info, per_iter: f64, ns: &[u64]) -> f64 {
    let proof = possible(info, vec![series("", per_iter, ns)]).expect("samples");
    assert_eq!(proof.holds, proof.seen >= 1.0, "{proof:?}");
    proof.seen
}

fn near(seen: f64, expected: f64) {
    assert!((seen / expected - 1.0).abs() < 1e-9, "{seen}, not {expected}");
}

#[test]
fn an_operation_is_not_faster_than_a_core() {
    const INFO: Info = Info::new("cpu.test");
    // 16 operations in 0.1 ns are the bound: 1000 iterations of one last 6.25 ns, which the
    // clock would not see, so of 64.
    near(ratio(&INFO, 64.0, &[400]), 1.0);
    near(ratio(&INFO, 64.0, &[200]), 0.5);
    near(ratio(&INFO, 640.0, &[400]), 0.1);
    const BYTES: Info = Info { quantity: Quantity::Bandwidth, ..INFO };
    near(ratio(&BYTES, 4096.0, &[1600]), 1.0);
    near(ratio(&BYTES, 4.0 * 4096.0, &[1600]), 0.25);
    // What an output says of its series counts more than what the benchmark is.
    const MIXED: Info = Info { outputs: &[Output::MAIN.ratio("", "other").quantity(Quantity::Bandwidth)], ..INFO };
    near(ratio(&MIXED, 4096.0, &[1600]), 1.0);
}

#[test]
fn the_median_sample_counts_and_not_one_that_ran_back() {
    const INFO: Info = Info::new("cpu.test");
    // Mean, smallest and largest are far from the median, on either side.
    near(ratio(&INFO, 64.0, &[0, 0, 800, 800, 100_000]), 2.0);
    near(ratio(&INFO, 64.0, &[1, 200, 100_000, 100, 400]), 0.5);
}

#[test]
fn what_enters_the_kernel_takes_a_quarter_of_a_system_call() {
    for (id, interference, kernel) in [
        ("syscall.test", Interference::Cpu, true),
        ("signal.test", Interference::Cpu, true),
        ("ready.test", Interference::Cpu, true),
        ("cpu.test", Interference::Cpu, false),
        ("vm.test", Interference::Faults, true),
        ("ipc.test", Interference::Blocking, true),
        ("proc.test", Interference::Tasks, true),
    ] {
        let info = Info { interference, ..Info::new(id) };
        // 25 ns an iteration, and a fault of 0.019 ns.
        let (just, never) = (ratio(&info, 1.0, &[25_000]), ratio(&info, 1.0, &[19]));
        if kernel {
            near(just, 1.0);
            near(never, 0.019 / 25.0);
        } else {
            assert!(just > 1.0 && never > 0.019 / 25.0, "{id}: {just} {never}");
        }
        // Per iteration: one call may hold many operations.
        assert!(!kernel || (ratio(&info, 50.0, &[25_000]) - 1.0).abs() < 1e-9, "{id}");
    }
}

#[test]
fn a_measurement_of_the_entry_that_load_lengthened_breaks_no_proof() {
    let info = Info::new("syscall.test");
    // 253 ns a call, which a quarter of 6000 ns would make impossible.
    let of = |slow: u32, ns: u64| {
        let ins = Fake::new();
        ins.slow_entries.set(slow);
        let mut output = RoundOutput { series: vec![series("", 1.0, &[ns])], ..RoundOutput::default() };
        of_time(&ins, &info, &HOST, &mut output);
        (output.proofs.pop().expect("samples"), ins.slow_entries.get())
    };
    for slow in [0, 1, 50, 86] {
        let (proof, left) = of(slow, 253_000);
        assert_eq!((proof.holds, left), (true, 0), "{slow} lengthened: {proof:?}");
        near(proof.seen, 253.0 / 25.0);
        // What is shorter than a call stays impossible.
        near(of(slow, 19).0.seen, 0.019 / 25.0);
    }
    // It ends, and says what it saw: 96 calls of 6000 ns, 87 times, are 50 ms.
    let (proof, left) = of(91, 253_000);
    assert_eq!((proof.holds, left), (false, 4), "{proof:?}");
    near(proof.seen, 253.0 / 1500.0);
    // Once is enough where the operation is possible.
    assert_eq!(of(5, 6_000_000).1, 4);
}

#[test]
fn a_control_need_not_enter_the_kernel() {
    let raw = Output::MAIN.difference("raw", "control");
    let outputs: &'static [Output] = Box::leak(Box::new([raw]));
    let info = Info { outputs, ..Info::new("syscall.test") };
    let of = |raw: u64, control: u64| {
        possible(&info, vec![series("control", 1.0, &[control]), series("raw", 1.0, &[raw])]).expect("samples")
    };
    let fine = of(25_000, 2_500);
    assert!(fine.holds && (fine.seen - 1.0).abs() < 1e-9, "{fine:?}");
    let swapped = of(2_500, 25_000);
    assert!(!swapped.holds && swapped.expected.contains("raw: "), "{swapped:?}");
}

#[test]
fn a_stretch_is_longer_than_reading_the_clock() {
    assert_eq!(shortest_stretch_ns(25.0), 100.0);
    assert_eq!(shortest_stretch_ns(100.0), 200.0);
    assert_eq!(shortest_stretch_ns(1000.0), 1500.0);
    const INFO: Info = Info::new("cpu.test");
    // A loop that does nothing and may not do more than a few iterations: one reading of the clock.
    near(ratio(&INFO, 1.0, &[25]), 0.25);
    near(ratio(&INFO, 1.0, &[100]), 1.0);
    // A member of a worker group reads it after each of its 50 batches.
    let mut group = series("", 1.0, &[50 * 25]);
    (group.iters, group.samples[0].iters) = (8, 50 * 8);
    near(possible(&INFO, vec![group]).expect("samples").seen, 0.25);
}

#[test]
fn values_that_are_stated_have_no_time() {
    assert_eq!(possible(&Info::new("syscall.test"), vec![]), None);
    let stated = Series { values: vec![1e-12], ..series("", 1.0, &[]) };
    assert_eq!(possible(&Info::new("syscall.test"), vec![stated]), None);
}

#[test]
fn a_loop_that_does_nothing_is_failed_however_few_iterations_it_may_do() {
    fn tried(cap: u64, body: fn(u64)) -> RoundResult {
        static CAP: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
        static BODY: std::sync::Mutex<Option<fn(u64)>> = std::sync::Mutex::new(None);
        fn run(ctx: &mut Ctx) -> crate::Outcome {
            let body = BODY.lock().expect("no panic").expect("set");
            let variant = crate::Variant::new("", |iters| {
                body(iters);
                Ok(())
            });
            ctx.measure_variants(&mut [variant.max_iters(CAP.load(SeqCst))])
        }
        let _one = LOCK.lock();
        CAP.store(cap, SeqCst);
        *BODY.lock().expect("no panic") = Some(body);
        let bench = Benchmark { info: Info::new("cpu.test"), run: Run::Here(run) };
        try_failing(&bench, &[], None).expect("a round").result
    }
    let broken = ["time of 2k", POSSIBLE].map(|proof| format!("proof broken: {proof}"));
    for cap in [1, 3, 64, 5000] {
        // Each round has three samples. If two are disturbed, it passes for one that works: rarely.
        let reasons: Vec<String> = (0..10).map(|_| tried(cap, |_| {}).reason).collect();
        // Whichever comes first: the time of twice as many iterations, or the least possible.
        let failed = reasons.iter().filter(|why| broken.iter().any(|proof| why.starts_with(proof)));
        assert!(failed.count() > 5, "{cap}: {reasons:?}");
    }
    let chains_of_20_us = |iters| assert!(crate::sys::arch::add_chain(iters * 64_000) != 1);
    let working: Vec<RoundResult> = (0..5).map(|_| tried(64, chains_of_20_us)).collect();
    assert!(working.iter().any(|round| round.state == State::Ok), "{working:?}");
}

fn job(placement: Placement, cpus: &[u32], workers: u32) -> Job {
    let bench = Benchmark { info: Info::new("test.place"), run: Run::NotHere("") };
    let job = crate::testing::job(&bench, &[], None, workers, crate::model::WorkerKind::Processes);
    Job { placement, cpus: cpus.to_vec(), ..job }
}

#[test]
fn a_job_that_contradicts_its_placement_is_found() {
    let list = |cpus: &[u32]| Placement::List(cpus.to_vec());
    let nodes = Placement::Nodes { cpu: 0, memory: 1 };
    let efficient: Placement = "core=efficiency".parse().expect("a placement");
    for (placement, cpus, wrong) in [
        (Placement::SameCpu, &[1, 1][..], 0),
        (Placement::SameCpu, &[1, 0], 1),
        (Placement::SameCpu, &[1], 1),
        (Placement::SameCpu, &[], 2),
        (Placement::Smt, &[0, 1], 0),
        (Placement::Smt, &[1, 1], 1),
        (Placement::SameLlc, &[0, 0], 1),
        (Placement::CrossLlc, &[0, 0], 1),
        (Placement::CrossNode, &[], 2),
        (Placement::CrossNode, &[3, 4], 0),
        (list(&[0, 1]), &[0, 1], 0),
        (list(&[0, 1]), &[1, 0], 1),
        (nodes.clone(), &[7], 0),
        (nodes, &[], 1),
        (Placement::Free, &[], 0),
        (Placement::Free, &[2], 1),
        (Placement::Pinned, &[], 0),
        (efficient.clone(), &[5], 0),
        (efficient, &[], 1),
        (Placement::Compact, &[0, 1], 0),
    ] {
        assert_eq!(contradictions(&job(placement.clone(), cpus, 1)), wrong, "{placement} {cpus:?}");
    }
}

/// The proofs of a worker group whose members took samples on these CPUs.
fn group(planned: &[u32], seen: &[(u32, u32)]) -> Vec<(String, f64, bool)> {
    let samples = seen.iter().map(|&(worker, cpu)| Sample { worker, cpu, ..Sample::default() });
    let mut output = RoundOutput {
        series: vec![Series { samples: samples.collect(), ..Series::default() }],
        ..RoundOutput::default()
    };
    let placement = if planned.is_empty() { Placement::Free } else { Placement::Compact };
    of_place(&job(placement, planned, 4), &mut output, None);
    output.proofs.into_iter().map(|p| (p.name, p.seen, p.holds)).collect()
}

#[test]
fn every_member_of_a_worker_group_is_on_its_own_cpu() {
    let on = |astray: f64| vec![(ON_CPU.to_owned(), astray, astray == 0.0)];
    assert_eq!(group(&[5, 7], &[(0, 5), (1, 7), (2, 5), (3, 7), (3, 7)]), on(0.0));
    assert_eq!(group(&[5, 7], &[(0, 5), (1, 5), (2, 5), (3, 7), (3, 5)]), on(2.0));
    assert_eq!(group(&[], &[(0, 5), (1, 5)]), []);
}

/// Takes some samples; the CPU is where the worker was put.
fn stays(ctx: &mut Ctx) -> crate::Outcome {
    ctx.measure(|iters| {
        crate::sys::arch::add_chain(iters * 640);
        Ok(())
    })
}

static STAYS: Benchmark = Benchmark { info: Info::new("cpu.stays"), run: Run::Here(stays) };
static LEAVES: Benchmark = Benchmark {
    info: Info::new("cpu.leaves"),
    run: Run::Here(|ctx| {
        let cpus = affinity::allowed_to(crate::sys::process::id())?;
        let elsewhere = cpus.iter().copied().find(|cpu| *cpu != counters::current_cpu());
        affinity::pin(elsewhere.unwrap_or(cpus[0]))?;
        stays(ctx)
    }),
};
static WANDERS: Benchmark = Benchmark {
    info: Info::new("cpu.wanders"),
    run: Run::Here(|ctx| {
        stays(ctx)?;
        affinity::restrict(&affinity::allowed_to(crate::sys::process::id())?)?;
        Ok(())
    }),
};
/// Its other side goes where this side is, whatever the job says.
static PEER_STAYS: Benchmark = Benchmark {
    info: Info { timing: Timing::Stated, ..Info::new("ipc.peer") },
    run: Run::Here(|ctx| {
        let here = counters::current_cpu();
        let peer = ctx.fork_peer(&[], || i32::from(affinity::pin(here).is_err()))?.wait()?;
        assert_eq!(peer.code(), Some(0));
        ctx.state(1.0);
        Ok(())
    }),
};
static PEER_OBEYS: Benchmark = Benchmark {
    info: Info { timing: Timing::Stated, ..Info::new("ipc.peer") },
    run: Run::Here(|ctx| {
        ctx.fork_peer(&[], || 0)?.wait()?;
        ctx.state(1.0);
        Ok(())
    }),
};
/// A peer that is a thread; whether it stays where its place is.
fn with_a_thread(ctx: &mut Ctx, stays: bool) -> Outcome {
    let (place, here) = (ctx.peer_place()?, counters::current_cpu());
    let life = move || place.occupy(|| if stays { Ok(()) } else { affinity::pin(here) });
    let lived = thread::spawn(128 << 10, life)?.join().expect("no panic");
    lived.and_then(|lived| lived)?;
    ctx.state(1.0);
    Ok(())
}
static THREAD_OBEYS: Benchmark = Benchmark {
    info: Info { timing: Timing::Stated, ..Info::new("ipc.peer") },
    run: Run::Here(|ctx| with_a_thread(ctx, true)),
};
static THREAD_STRAYS: Benchmark = Benchmark {
    info: Info { timing: Timing::Stated, ..Info::new("ipc.peer") },
    run: Run::Here(|ctx| with_a_thread(ctx, false)),
};

fn broken(tried: &crate::testing::Tried) -> Vec<&str> {
    let broken: Vec<_> = tried.result.output.proofs.iter().filter(|p| !p.holds).map(|p| p.name.as_str()).collect();
    assert_eq!(broken.is_empty(), tried.result.state == State::Ok);
    broken
}

#[test]
fn a_side_that_is_not_where_the_job_says_is_failed() {
    let cpus = affinity::allowed().expect("the CPUs that are allowed");
    let here = cpus[cpus.len() - 1];
    for (placement, named) in [
        (Placement::SameCpu, vec![here, here]),
        (Placement::List(vec![here]), vec![here]),
        (Placement::Compact, vec![here]),
        (Placement::Pinned, vec![]),
    ] {
        let tried = try_placed(&STAYS, &[], None, placement.clone(), &named).expect("it stays");
        assert_eq!(tried.proven(ON_CPU), 0.0);
        assert_eq!(tried.proven(PINNED), 0.0);
        if let (Some(cpu), Some(series)) = (named.first(), tried.result.series("")) {
            assert!(series.samples.iter().all(|s| s.cpu == *cpu), "{placement}");
        }
        assert_eq!(affinity::allowed().expect("the CPUs that are allowed"), cpus, "the test's thread is free again");
    }
    let unnamed = try_failing_at(&STAYS, Placement::SameCpu, &[]).expect("it runs");
    assert!(broken(&unnamed).contains(&NAMED));
    let free = try_placed(&STAYS, &[], None, Placement::Free, &[]).expect("it runs");
    assert!(free.result.output.proofs.iter().all(|p| ![ON_CPU, PINNED, NAMED].contains(&p.name.as_str())));
    if cpus.len() < 2 {
        println!("skipped: one CPU");
        return;
    }
    let without_peer = try_failing_at(&STAYS, Placement::SameLlc, &[here, cpus[0]]).expect("it runs");
    assert_eq!(broken(&without_peer), [PEER_ON_CPU]);
    let left = try_failing_at(&LEAVES, Placement::List(vec![here]), &[here]).expect("it runs");
    assert_eq!(broken(&left), [PINNED, ON_CPU]);
    let wandered = try_failing_at(&WANDERS, Placement::Pinned, &[]).expect("it runs");
    assert!(broken(&wandered).contains(&PINNED));
    assert!(!left.has_remark("does not tell"));
    let free_to_go = try_failing_at(&WANDERS, Placement::List(vec![here]), &[here]).expect("it runs");
    assert_eq!(broken(&free_to_go), [PINNED]);
}

#[test]
fn the_other_side_is_where_the_job_says_or_the_round_is_failed() {
    let cpus = affinity::allowed().expect("the CPUs that are allowed");
    let same = try_placed(&PEER_OBEYS, &[], None, Placement::SameCpu, &[cpus[0], cpus[0]]).expect("it obeys");
    assert_eq!(same.proven(PEER_ON_CPU), 0.0);
    let free = try_placed(&PEER_OBEYS, &[], None, Placement::Free, &[]).expect("it runs");
    assert!(free.result.output.proofs.iter().all(|p| p.name != PEER_ON_CPU));
    let [here, there, ..] = *cpus else {
        println!("skipped: one CPU");
        return;
    };
    for obeys in [&PEER_OBEYS, &THREAD_OBEYS] {
        let apart = try_placed(obeys, &[], None, Placement::SameLlc, &[here, there]).expect("it obeys");
        assert_eq!(apart.proven(PEER_ON_CPU), 0.0);
    }
    for stays in [&PEER_STAYS, &THREAD_STRAYS] {
        let stayed = try_failing_at(stays, Placement::SameLlc, &[here, there]).expect("it runs");
        assert_eq!(broken(&stayed), [PEER_ON_CPU]);
    }
}

#[test]
fn a_helper_that_never_checked_proves_nothing() {
    let peers = Peers::default();
    let mut output = RoundOutput::default();
    peers.prove(&mut output, false);
    assert!(output.proofs.is_empty(), "nobody was forked");
    peers.prove(&mut output, true);
    assert!(!output.proofs.pop().expect("the placement names a CPU for it").holds);
    let board = peers.making().expect("memory");
    peers.prove(&mut output, false);
    assert!(!output.proofs.pop().expect("one was forked").holds);
    // This thread may go anywhere, or is on the only CPU there is.
    let cpus = affinity::allowed().expect("the CPUs that are allowed");
    look(&board, u32::MAX);
    assert_eq!((board[LOOKS].load(SeqCst), board[ASTRAY].load(SeqCst)), (1, 1));
    look(&board, counters::current_cpu());
    assert_eq!((board[LOOKS].load(SeqCst), board[ASTRAY].load(SeqCst)), (2, 1 + u32::from(cpus.len() > 1)));
    peers.prove(&mut output, false);
    assert!(!output.proofs.pop().expect("one was forked").holds);
}

#[test]
fn the_real_entry_of_the_kernel_is_no_longer_than_a_call_of_it() {
    use crate::instruments::Real;
    let entry = Real.kernel_entry_ns();
    // A call between two readings of the clock takes both of them besides.
    let call = (0..1000).map(|_| {
        let start = crate::sys::clock::Clock::now_ns(&Monotonic);
        crate::sys::raw::getppid();
        crate::sys::clock::Clock::now_ns(&Monotonic) - start
    });
    let most = 2.0 * call.min().expect("some") as f64 + clock_properties::assumed_host(&Monotonic).clock_cost_ns;
    assert!(entry > 0.0 && entry <= most, "{entry} of {most}");
}
