//! Worker groups on the real system (docs/methods/timing.md#overlap-proof): those of processes and
//! of threads overlap provably, cost the same whatever their size, and end at once when a member
//! dies. Assertions are about counts and margins, never about times.

use groma_harness::model::{Info, Scaling, WorkerKind};
use groma_harness::prelude::*;
use groma_harness::testing::try_group;
use std::time::{Duration, Instant};

static GETPPID: Benchmark = Benchmark {
    info: Info { about: About::NONE, ..Info::new("test.getppid") },
    run: Run::Here(|ctx| {
        ctx.measure(|iters| {
            for _ in 0..iters {
                sys::raw::getppid();
            }
            Ok(())
        })
    }),
};

static DIES: Benchmark = Benchmark {
    info: Info::new("test.dies"),
    run: Run::Here(|ctx| {
        let victim = ctx.member() == 1;
        let mut batches = 0;
        ctx.measure(|iters| {
            for _ in 0..iters {
                sys::raw::getppid();
            }
            batches += 1;
            if victim && batches > 40 {
                sys::fork::exit_now(9);
            }
            Ok(())
        })
    }),
};

static FAILS: Benchmark = Benchmark {
    info: Info { scaling: Scaling::BOTH, ..Info::new("test.fails") },
    run: Run::Here(|ctx| {
        if ctx.member() == 2 {
            return Err(BenchError::Failed("cannot go on".to_owned()));
        }
        ctx.measure(|iters| {
            for _ in 0..iters {
                sys::raw::getppid();
            }
            Ok(())
        })
    }),
};

static LATE: Benchmark = Benchmark {
    info: Info::new("test.late"),
    run: Run::Here(|ctx| {
        if ctx.member() == 0 {
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        ctx.measure(|iters| {
            for _ in 0..iters {
                sys::raw::getppid();
            }
            Ok(())
        })
    }),
};

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("/proc").count()
}

fn overlaps(bench: &Benchmark, members: u32, kind: WorkerKind) {
    let tried = try_group(bench, &[], None, members, kind).expect("a worker group");
    let samples = &tried.result.output.series[0].samples;
    for member in 0..members {
        assert!(samples.iter().any(|s| s.worker == member), "member {member} of {members} took no sample");
    }
    let margin = samples.iter().filter_map(|s| s.margin_ns).min().expect("margins");
    assert!(margin >= 0, "{members} {kind:?}: margin {margin} ns");
    assert!(samples.iter().all(|s| s.iters > 0 && s.elapsed_ns > 0));
    // The coordinator sleeps (docs/methods/timing.md#limits-of-a-worker-group); 1 % in a run of
    // seconds, here in tens of milliseconds with all the starts and ends.
    let share =
        tried.result.output.facts.iter().find(|f| f.key == "group.coordinator_cpu").map(|f| f.value.parse::<f64>());
    assert!(share.expect("a fact").is_ok_and(|s| s < 0.2), "{members} {kind:?}: {:?}", tried.result.output.facts);
}

#[test]
fn every_sample_of_a_worker_group_overlaps_all_members() {
    let before = open_files();
    for kind in [WorkerKind::Processes, WorkerKind::Threads] {
        for members in [2, 4, 8, 64] {
            overlaps(&GETPPID, members, kind);
        }
    }
    // Other tests of this process have pipes open for a moment; what leaks stays.
    let until = Instant::now() + Duration::from_secs(60);
    while open_files() > before && Instant::now() < until {
        std::thread::yield_now();
    }
    assert!(open_files() <= before, "a worker group leaves descriptors open: {} of {before}", open_files());
}

#[test]
fn a_late_member_is_waited_for() {
    for kind in [WorkerKind::Processes, WorkerKind::Threads] {
        overlaps(&LATE, 4, kind);
    }
}

#[test]
fn a_member_that_dies_ends_the_round_and_is_named() {
    let stop = try_group(&DIES, &[], None, 3, WorkerKind::Processes).expect_err("member 1 dies");
    assert_eq!(stop, BenchError::Failed("member 1 of the worker group exited with code 9".to_owned()));
}

#[test]
fn a_member_that_fails_ends_the_round_with_its_reason() {
    for kind in [WorkerKind::Processes, WorkerKind::Threads] {
        let stop = try_group(&FAILS, &[], None, 4, kind).expect_err("member 2 fails");
        assert_eq!(stop, BenchError::Failed("member 2: cannot go on".to_owned()));
    }
}

/// Its member of that number says that something did not happen.
fn breaks(ctx: &mut Ctx, number: u32) -> Outcome {
    ctx.measure(|iters| {
        for _ in 0..iters {
            sys::raw::getppid();
        }
        Ok(())
    })?;
    ctx.prove("moons of the Earth", "1", f64::from(u8::from(ctx.member() == number)) + 1.0, 1.0..=1.0);
    Ok(())
}

static FIRST_BREAKS: Benchmark = Benchmark { info: Info::new("test.breaks"), run: Run::Here(|ctx| breaks(ctx, 0)) };
static SECOND_BREAKS: Benchmark = Benchmark { info: Info::new("test.breaks"), run: Run::Here(|ctx| breaks(ctx, 1)) };
static FOURTH_BREAKS: Benchmark = Benchmark { info: Info::new("test.breaks"), run: Run::Here(|ctx| breaks(ctx, 3)) };

#[test]
fn a_broken_proof_of_any_member_fails_the_worker_group() {
    for kind in [WorkerKind::Processes, WorkerKind::Threads] {
        for (bench, members, number) in
            [(&FIRST_BREAKS, 2, 0), (&SECOND_BREAKS, 2, 1), (&SECOND_BREAKS, 4, 1), (&FOURTH_BREAKS, 4, 3)]
        {
            let stop = try_group(bench, &[], None, members, kind).expect_err("a member breaks its proof");
            let why = format!("member {number}: moons of the Earth is 2, not 1");
            assert_eq!(stop, BenchError::Failed(why), "{members} {kind:?}");
        }
        try_group(&FOURTH_BREAKS, &[], None, 2, kind).expect("there is no fourth member");
    }
}

static IDLE: Benchmark = Benchmark {
    info: Info::new("test.idle"),
    run: Run::Here(|ctx| if ctx.member() == 1 { Ok(()) } else { breaks(ctx, 9) }),
};

static TWICE: Benchmark = Benchmark {
    info: Info::new("test.twice"),
    run: Run::Here(|ctx| {
        breaks(ctx, 9)?;
        breaks(ctx, 9)
    }),
};

static PANICS: Benchmark = Benchmark {
    info: Info::new("test.panics"),
    run: Run::Here(|ctx| if ctx.member() == 1 { panic!("no more") } else { breaks(ctx, 9) }),
};

static IDLE_LOOP: Benchmark = Benchmark {
    info: Info::new("test.idle_loop"),
    run: Run::Here(|ctx| ctx.measure_variants(&mut [Variant::new("", |_| Ok(())).max_iters(10)])),
};

#[test]
fn the_error_of_a_member_names_its_index() {
    for kind in [WorkerKind::Processes, WorkerKind::Threads] {
        let stop = |bench| try_group(bench, &[], None, 2, kind).expect_err("it does something wrong").to_string();
        assert_eq!(stop(&IDLE), "member 1 took no samples", "{kind:?}");
        assert!(stop(&TWICE).ends_with(": a member of a worker group measures once a round"), "{kind:?}");
        assert_eq!(stop(&PANICS), "member 1 panicked: no more", "{kind:?}");
        assert!(stop(&IDLE_LOOP).ends_with(": the loop does nothing"), "{kind:?}");
    }
}
