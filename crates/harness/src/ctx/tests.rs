//! What a benchmark sees of its job, and what becomes of its series, proofs and facts.

use super::*;
use crate::benchmark::{Benchmark, Run};
use crate::model::{Need, Output, Param, Timing, WorkerKind};

static INFO: Info = Info {
    params: &[Param::count("n", "").quick(&["7"]), Param::word("w", "", &["a", "b"]).quick(&["b"]).named(&["a"])],
    needs: &[Need::WorkDir],
    ..Info::new("test.ctx")
};

fn job() -> Job {
    let bench = Benchmark { info: INFO, run: Run::NotHere("") };
    crate::testing::job(&bench, &[], None, 1, WorkerKind::Processes)
}

#[test]
fn a_ratio_of_one_breaks_the_scaling_and_one_that_is_off_is_a_remark() {
    let proven = |ratio: f64| {
        let job = job();
        let mut ctx = Ctx::new(&job, &INFO, None);
        ctx.prove_scaling(ratio);
        let [proof] = ctx.output.proofs.as_slice() else { panic!("one proof") };
        assert!(proof.seen == ratio || ratio.is_nan());
        (proof.holds, ctx.output.remarks)
    };
    for (ratio, holds, noted) in [
        (0.0, false, true),
        (1.0, false, true),
        (1.49, false, true),
        (f64::NAN, false, true),
        (1.5, true, true),
        (1.89, true, true),
        (1.9, true, false),
        (2.0, true, false),
        (2.1, true, false),
        (2.11, true, true),
        (30.0, true, true),
    ] {
        let (held, notes) = proven(ratio);
        assert_eq!((held, !notes.is_empty()), (holds, noted), "{ratio}: {notes:?}");
    }
    assert_eq!(proven(1.0).1, ["2k iterations took 1.00 times as long as k"].map(Remark::from));
}

#[test]
fn a_proof_is_within_its_range_and_a_number() {
    let job = job();
    let mut ctx = Ctx::new(&job, &INFO, None);
    for (seen, range, holds) in [
        (1.0, 1.0..=2.0, true),
        (2.0, 1.0..=2.0, true),
        (0.999, 1.0..=2.0, false),
        (2.001, 1.0..=2.0, false),
        (f64::NAN, 1.0..=2.0, false),
        (f64::INFINITY, 1.0..=f64::INFINITY, false),
    ] {
        ctx.prove("x", "1..2", seen, range);
        assert_eq!(
            ctx.output.proofs.pop().map(|p| (p.name, p.expected, p.holds)),
            Some(("x".into(), "1..2".into(), holds))
        );
    }
}

#[test]
fn every_output_is_kept() {
    let job = Job { round: 4, seed: 9, workers: 1, work_dir: Some("/d".into()), ..job() };
    let mut ctx = Ctx::new(&job, &INFO, None);
    assert_eq!((ctx.int("n"), ctx.word("w"), ctx.round(), ctx.member(), ctx.workers()), (7, "b", 4, 0, 1));
    assert_eq!((ctx.work_dir(), ctx.time_limit_ns(), ctx.iterations()), (Ok(Path::new("/d")), job.time_limit_ns, 0));
    assert!(ctx.remote().is_none() && *ctx.placement() == Placement::Free);
    ctx.state(1.0);
    ctx.state_as("b", 2.0);
    ctx.state(3.0);
    let values: Vec<_> = ctx.output.series.iter().map(|s| (s.name.as_str(), s.values.as_slice(), s.iters)).collect();
    assert_eq!(values, [("", &[1.0, 3.0][..], 1), ("b", &[2.0], 1)]);
    ctx.unresolved("", "nobody came");
    ctx.unresolved("l2", "no step");
    ctx.note("by the way");
    assert_eq!(
        ctx.output.remarks,
        ["cannot tell: nobody came", "l2: cannot tell: no step", "by the way"].map(Remark::from)
    );
    ctx.fact("k", 2);
    assert_eq!(ctx.output.facts, [Fact::new("k", 2)]);
    let before = ctx.now_ns();
    while ctx.now_ns() == before {}
    assert!(ctx.core_hz(3) > 1e7, "a core of less than 10 MHz");
    assert_eq!(ctx.host().interval_ns, 50_000.0);
    let other = Job { work_dir: None, ..job.clone() };
    assert!(matches!(Ctx::new(&other, &INFO, None).work_dir(), Err(BenchError::Unsupported(_))));
    let seeds = [1, 2].map(|seed| Ctx::new(&Job { seed, ..job.clone() }, &INFO, None).rng().next_u64());
    assert_ne!(seeds[0], seeds[1]);
}

#[test]
fn the_other_side_has_the_second_cpu_of_a_worker_alone() {
    let peer = |cpus: &[u32], workers: u32| {
        let job = Job { cpus: cpus.to_vec(), workers, ..job() };
        Ctx::new(&job, &INFO, None).peer_cpu()
    };
    assert_eq!((peer(&[3, 5], 1), peer(&[3], 1), peer(&[], 1), peer(&[3, 5], 2)), (Some(5), None, None, None));
}

#[test]
fn the_rules_are_those_of_the_descriptor_and_the_job() {
    for (interference, faults, blocks, tasks) in [
        (Interference::Cpu, false, false, false),
        (Interference::Faults, true, false, false),
        (Interference::Blocking, false, true, false),
        (Interference::Tasks, true, true, true),
    ] {
        let info = Info { interference, timing: Timing::Each, ..INFO };
        let mut job = Job { intervals: 11, time_limit_ns: 12, warm_ns: 13, ..job() };
        (job.host.interval_ns, job.host.counter_hz) = (14.0, Some(15.0));
        let rules = Ctx::new(&job, &info, None).rules();
        assert_eq!((rules.faults_expected, rules.blocks, rules.tasks), (faults, blocks, tasks), "{interference:?}");
        assert_eq!((rules.timing, rules.intervals, rules.time_limit_ns, rules.warm_ns), (Timing::Each, 11, 12, 13));
        assert_eq!((rules.interval_ns, rules.counter_hz, rules.drops), (14.0, Some(15.0), interference.drops()));
    }
}

/// Three ways to measure, each of a chain of additions.
static MEASURES: Benchmark = Benchmark {
    info: Info {
        outputs: &[Output::MAIN],
        params: &[Param::word("how", "", &["plain", "per", "staged", "probe"])
            .quick(&["plain"])
            .named(&["per", "staged", "probe"])],
        ..Info::new("cpu.measures")
    },
    run: Run::Here(|ctx| {
        let chain = |iters: u64| {
            sys::arch::add_chain(iters * 64);
            Ok(())
        };
        let staged = |iters: u64, watch: &mut Stopwatch<'_>| {
            watch.start();
            sys::arch::add_chain(iters * 64);
            watch.stop();
            Ok(())
        };
        match ctx.word("how") {
            "plain" => ctx.measure(chain),
            "per" => ctx.measure_per(64.0, chain),
            "staged" => ctx.measure_staged(staged),
            _ => {
                let cost = ctx.probe(3, chain)?;
                ctx.state(cost.seconds);
                Ok(())
            }
        }
    }),
};

#[test]
fn every_way_to_measure_takes_samples_and_counts_iterations() {
    for (how, per_iter) in [("plain", 1.0), ("per", 64.0), ("staged", 1.0)] {
        let tried = crate::testing::try_out(&MEASURES, &[("how", how)], None).expect("it runs");
        let series = tried.result.series("").expect("samples");
        assert!(series.samples.len() >= 3 && series.per_iter == per_iter, "{how}");
        assert!(tried.iterations >= series.samples.iter().map(|s| s.iters).sum::<u64>(), "{how}");
        assert!(tried.proven("time of 2k iterations over time of k") >= 1.5);
        assert!(tried.result.output.core_hz.is_some_and(|hz| hz > 1e7));
    }
    let probed = crate::testing::try_out(&MEASURES, &[("how", "probe")], None).expect("it runs");
    assert!(probed.iterations > 3 && probed.result.output.core_hz.is_some_and(|hz| hz > 1e7));
    assert!(probed.result.series("").is_some_and(|s| s.values.len() == 1 && s.values[0] > 1e-9));
}

#[test]
fn iterations_are_counted_in_all_and_by_loop() {
    let job = Job { workers: 3, ..job() };
    let mut ctx = Ctx::new(&job, &INFO, None);
    let did = [std::cell::Cell::new(0), std::cell::Cell::new(0)];
    let count = |i: usize| {
        let did = &did[i];
        move |iters: u64| {
            did.set(did.get() + iters);
            crate::sys::arch::add_chain(iters * 64);
            Ok(())
        }
    };
    ctx.measure_variants(&mut [Variant::new("a", count(0)), Variant::new("b", count(1))])
        .expect("loops that do something");
    assert_eq!([ctx.iterations_of("a"), ctx.iterations_of("b")], [did[0].get(), did[1].get()]);
    assert_eq!((ctx.iterations(), ctx.iterations_of("c")), (did[0].get() + did[1].get(), 0));
    assert_eq!((ctx.workers(), ctx.member()), (3, 0));
}

/// An interruption may make one iteration last as long as a window, but not each time.
#[test]
fn a_window_of_a_probe_holds_more_than_one_short_iteration() {
    let job = job();
    let mut ctx = Ctx::new(&job, &INFO, None);
    let mut most = 0;
    for _ in 0..20 {
        let body = |iters: u64| {
            most = most.max(iters);
            crate::sys::arch::add_chain(iters * 64);
            Ok(())
        };
        ctx.probe(3, body).expect("a loop that does something");
    }
    assert!(most > 1, "64 additions do not take a quarter of an interval");
}
