//! Handing the CPU from one task to the next: a token passes around a ring of tasks on one CPU.
//!
//! **Measures:** One hand-over: a write that wakes the next task, a read that puts this one to
//! sleep, the switch between them, and the working set that each task touches while it holds the
//! token.
//!
//! **Does not measure:** Wake-ups on another CPU (`ipc.pipe_rtt` does), or a scheduler under load.
//!
//! **Method:** All tasks are pinned to one CPU, so every hand-over needs a switch. They are
//! SCHED_BATCH, so a wake-up does not preempt the waker, and a hand-over is one sleep and one
//! switch (the fact `switch.sleeps`). Each lap of the ring is timed alone; the ring itself is the
//! main value. Processes and threads run the same code. Two controls run in turn with it in the
//! same process: one task passes the token to itself through as many pipes and touches the same
//! lines.
//! - `hot`: in one buffer. The ring minus `hot` (`net`) is the switch, the wake-up and the refill
//!   of the cache.
//! - `rotating`: in as many buffers as there are tasks. The ring minus `rotating` (`net_rotating`)
//!   leaves out the cache misses caused by the sheer amount of memory.
//!
//! No difference is clamped. With threads the controls cost a fifth more: a process with several
//! threads counts users of a descriptor at every call.
//!
//! The working set is one 8-byte word per 64 bytes, in a random order that all tasks share (4 bytes
//! of index per word). Each word is read, incremented and written back, or with `access=read` only
//! read, so that its lines stay clean.
//!
//! Several rings at once (`-P 4 --placement free`) are a worker group of rings. Each keeps to one
//! CPU, and they are spread over the allowed ones. With more rings than CPUs the rings wait for
//! each other, and that wait is in the value.
//!
//! **Calls:**
//! - no trace of `access`: memory is read or written to
//!
//! **Proofs:** The token counts the tasks that it has passed, and a lap with another count fails at
//! once; every task finds its words incremented, or their sum correct, as often as it had the
//! token; the kernel counts a switch for every hand-over.
//!
//! **Pitfalls:**
//! - Wake-ups that preempt, as they do in the default class: a ring of two spares four sleeps in
//!   ten, a ring of eight makes 1.2 to 1.4 switches per hand-over. How many depends on what the
//!   measuring task does between laps, its controls included, which moved `net` by a tenth.
//! - The scheduler's placement: lmbench `lat_ctx` printed 4 us and 116 to 135 us on one machine.
//! - lmbench takes the overhead from another process, and drops results that are not positive.
//! - CSE 221 measures threads by one method and processes by another.
//! - Every process has its working set at the same virtual address, as programs do.
//! - Huge pages are refused.
//!
//! **Sources:** lmbench 1996 table 10 and figure 2; lmbench3 `lat_ctx`; CSE 221 "context switch";
//! hbench-OS for the two controls. See docs/methods/operating-system.md#context-switches.

use super::tasks::Tasks;
use crate::parts::{Composition, Part, Shown};
use crate::work;
use groma_harness::Rng;
use groma_harness::model::Params;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::io::{pipe, read, read_full, write_full};
use groma_harness::sys::{process, sched};
use std::hint::black_box;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Handing over the CPU in a ring of tasks, through pipes",
        about: about!("switch.rs"),
        iteration: "the token once around the ring: as many hand-overs as tasks",
        timing: Timing::Each,
        outputs: &[
            Output::MAIN.series("ring"),
            Output::named("hot", "control: one task, as many pipes, one buffer").detail(),
            Output::named("rotating", "control: one task, as many pipes and buffers").detail(),
            Output::named("net", "switch, wake-up and cache refill: the ring less hot").difference("ring", "hot"),
            Output::named("net_rotating", "the same without the misses of so much memory: the ring less rotating")
                .difference("ring", "rotating"),
        ],
        params: &[
            Param::count("tasks", "tasks in the ring")
                .takes(Memory::PerMember(Memory::TASK))
                .quick(&["2"])
                .standard(&["8"])
                .full(&["4", "16", "32", "96"]),
            Param::size("working_set", "bytes that each task touches on its turn")
                .takes(Memory::Times(4, "tasks"))
                .quick(&["0"])
                .standard(&["16K"])
                .full(&["4K", "64K", "256K"]),
            Param::word("kind", "what the tasks are", &["process", "thread"]).quick(&["process"]).standard(&["thread"]),
            Param::word(
                "access",
                "what a task does to its working set: reads it, or reads it and writes it back",
                &["update", "read"],
            )
            .quick(&["update"]),
        ],
        combination_tier,
        scaling: Scaling::processes("each ring forks its tasks, which a process with threads must not"),
        placements: &[Placement::SameCpu],
        composed_of: COMPOSED_OF,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        // 3: the tasks are SCHED_BATCH.
        version: 3,
        ..Info::new("ctx.switch")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[Composition {
    of: Shown::of("ctx.switch.net", RING),
    hardware: &[REFILL],
    parts: &[Part::of(1.0, "a switch without a working set", Shown::of("ctx.switch.net", SMALL_RING)), REFILL],
    rest: "misses one after the other instead of a stream; page tables fetched again",
}];

/// The ring of eight.
const RING: &[(&str, &str)] = &[("tasks", "8"), ("working_set", "16K"), ("kind", "process"), ("access", "update")];
/// The ring of two that touches nothing.
const SMALL_RING: &[(&str, &str)] = &[("tasks", "2"), ("working_set", "0"), ("kind", "process"), ("access", "update")];
/// The working set, fetched from the cache that holds those of all eight (128 KiB together): the
/// next larger size that a survey measures.
const REFILL: Part = Part::of(
    16384.0,
    "bytes of the working set, fetched again",
    Shown::of("mem.bandwidth", &[("op", "read"), ("size", "256K"), ("kernel", "best")]),
);

/// Without `--full`: both kinds for the smallest ring, and a larger ring of processes with a
/// working set.
fn combination_tier(params: &Params) -> Tier {
    match (params.int("tasks"), params.int("working_set"), params.word("kind")) {
        (Some(2), Some(0), _) => Tier::Quick,
        (Some(2), ..) | (_, Some(0), _) => Tier::Full,
        (.., Some("process")) => Tier::Quick,
        _ => Tier::Full,
    }
}

/// Bytes of working set per touched word: a cache line of most CPUs, half a line of the others.
const LINE: usize = 64;
/// Exit code of a task whose working set does not match its laps.
const WRONG_WORDS: i32 = 2;

#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Line {
    word: u64,
}

const _: () = assert!(size_of::<Line>() == LINE);

/// How the tasks of a ring touch their working sets.
#[derive(Clone)]
struct Walk {
    /// The order in which each task touches the words.
    order: Arc<[u32]>,
    /// Read and write, instead of only read.
    update: bool,
}

impl Walk {
    /// A walk over a working set of so many bytes, in a random order; `access` is the parameter's
    /// word.
    fn new(rng: &mut Rng, bytes: u64, access: &str) -> Walk {
        let mut order: Vec<u32> = (0..lines_of(bytes)).collect();
        rng.shuffle(&mut order);
        Walk { order: order.into(), update: access == "update" }
    }
}

/// A working set, the number of times it was touched, and the sum of what was read.
struct WorkingSet {
    lines: Vec<Line>,
    touched: u64,
    sum: u64,
}

impl WorkingSet {
    /// One line per word of the walk. Words that are only read hold their index plus 1; the others
    /// count from 0.
    fn new(walk: &Walk) -> WorkingSet {
        let first = |i: usize| if walk.update { 0 } else { i as u64 + 1 };
        let lines = (0..walk.order.len()).map(|i| Line { word: first(i) }).collect();
        WorkingSet { lines, touched: 0, sum: 0 }
    }

    #[inline]
    fn touch(&mut self, walk: &Walk) {
        if walk.update {
            for &i in walk.order.iter() {
                self.lines[i as usize].word += 1;
            }
        } else {
            // Keeps the compiler from adding the words up once and multiplying.
            let lines = black_box(&self.lines);
            self.sum = walk.order.iter().fold(self.sum, |sum, &i| sum.wrapping_add(lines[i as usize].word));
        }
        self.touched += 1;
    }

    fn shows_it(&self, walk: &Walk) -> bool {
        if walk.update {
            return self.lines.iter().all(|line| line.word == self.touched);
        }
        let n = self.lines.len() as u64;
        self.sum == self.touched.wrapping_mul(n * (n + 1) / 2)
    }
}

/// The pipe ends of a task: where it takes the token and where it passes it on.
struct Ends {
    input: OwnedFd,
    output: OwnedFd,
}

type Token = [u8; 8];

/// The token that ends the ring. The end of a pipe ends it too, but comes only when nobody has the
/// pipe open any more, and processes that another ring of the same program forked meanwhile have.
const LEAVE: Token = u64::MAX.to_ne_bytes();

/// The body of a task: takes the token, touches its working set, passes the token on, until it is
/// told to leave or the task before it has exited.
fn pass_on(input: BorrowedFd<'_>, output: BorrowedFd<'_>, walk: &Walk) -> i32 {
    let mut set = WorkingSet::new(walk);
    let mut token = Token::default();
    loop {
        match read(input, &mut token) {
            Ok(n) if n == 0 || token == LEAVE => {
                // The next one may have left already.
                let _ = write_full(output, &LEAVE);
                return if set.shows_it(walk) { 0 } else { WRONG_WORDS };
            }
            Ok(n) if n == token.len() => {}
            // Eight bytes into an empty pipe come out as eight bytes.
            Ok(_) | Err(_) => return 1,
        }
        set.touch(walk);
        token = (u64::from_ne_bytes(token) + 1).to_ne_bytes();
        if write_full(output, &token).is_err() {
            return 1;
        }
    }
}

/// One pipe per task, split into the ends that each task holds: task `i` reads what task `i - 1`
/// writes.
fn ring_of_pipes(tasks: usize) -> Result<Vec<Ends>, BenchError> {
    let pipes: Vec<_> =
        (0..tasks).map(|_| pipe()).collect::<io::Result<_>>().context("making the pipes of the ring")?;
    let (mut inputs, outputs): (Vec<_>, Vec<_>) = pipes.into_iter().unzip();
    inputs.rotate_right(1);
    Ok(inputs.into_iter().zip(outputs).map(|(input, output)| Ends { input, output }).collect())
}

/// The number of lines in `bytes` bytes, rounded up.
fn lines_of(bytes: u64) -> u32 {
    bytes.div_ceil(LINE as u64) as u32
}

fn run(ctx: &mut Ctx) -> Outcome {
    let tasks = ctx.int("tasks") as usize;
    if tasks < 2 {
        return Err(BenchError::Unsupported("a ring has two tasks or more".to_owned()));
    }
    // A ring is on one CPU whatever the placement says; its tasks inherit the affinity.
    super::on_one_cpu(ctx)?;
    process::refuse_huge_pages();
    let batch = sched::be_batch();
    let (bytes, access) = (ctx.int("working_set"), ctx.word("access"));
    let walk = Walk::new(ctx.rng(), bytes, access);

    let mut ends = ring_of_pipes(tasks)?;
    let own = ends.remove(0);
    let mut others = Tasks::of(ctx.word("kind"));
    while let Some(next) = ends.pop() {
        let foreign = ends.iter().chain([&own]).flat_map(|e| [e.input.as_fd(), e.output.as_fd()]);
        let walk = walk.clone();
        let life = move || pass_on(next.input.as_fd(), next.output.as_fd(), &walk);
        others.start(ctx, &foreign.collect::<Vec<_>>(), life)?;
    }

    let pipes: Vec<_> = (0..tasks).map(|_| pipe()).collect::<io::Result<_>>().context("making the control's pipes")?;
    let (mut set, mut hot) = (WorkingSet::new(&walk), WorkingSet::new(&walk));
    let mut rotating: Vec<_> = (0..tasks).map(|_| WorkingSet::new(&walk)).collect();
    let before = Usage::thread();
    let ring = |laps: u64| {
        for _ in 0..laps {
            let mut token = 1u64.to_ne_bytes();
            write_full(own.output.as_fd(), &token).context("passing the token on")?;
            read_full(own.input.as_fd(), &mut token).context("taking the token")?;
            set.touch(&walk);
            check_count(u64::from_ne_bytes(token), tasks as u64)?;
        }
        Ok(())
    };
    let hand_overs = tasks as f64;
    ctx.measure_variants(&mut [
        Variant::new("ring", ring).per_iter(hand_overs),
        Variant::new("hot", |laps| to_itself(laps, &pipes, |_| hot.touch(&walk))).per_iter(hand_overs),
        Variant::new("rotating", |laps| to_itself(laps, &pipes, |i| rotating[i].touch(&walk))).per_iter(hand_overs),
    ])?;
    let here = Usage::thread().since(&before);
    write_full(own.output.as_fd(), &LEAVE).context("ending the ring")?;
    let ended = others.wait()?;

    ctx.prove(
        "tasks that left well, their working sets as touched",
        "all of them",
        ended.iter().filter(|(code, _)| *code == 0).count() as f64 + f64::from(u8::from(set.shows_it(&walk))),
        hand_overs..=hand_overs,
    );
    let usages = || ended.iter().map(|(_, usage)| usage).chain([&here]);
    let laps = ctx.iterations_of("ring");
    work::once_each(ctx, "laps of the ring per lap credited", set.touched, laps);
    let credited = ctx.iterations_of("hot") * tasks as u64;
    work::once_each(ctx, "passes to itself per pass credited, hot", hot.touched, credited);
    // Each of them as often: the sum would hide one that was touched for all.
    let touched = rotating.iter().map(|set| set.touched).min().unwrap_or(0) * tasks as u64;
    let credited = ctx.iterations_of("rotating") * tasks as u64;
    work::once_each(ctx, "passes to itself per pass credited, rotating", touched, credited);
    let as_touched = [&hot].into_iter().chain(&rotating).filter(|set| set.shows_it(&walk)).count();
    let expected = 1.0 + hand_overs;
    ctx.prove("working sets of the controls, as touched", "all of them", as_touched as f64, expected..=expected);
    let all = laps as f64 * hand_overs;
    super::prove_switches(ctx, "context switches per hand-over, all tasks", super::switches(usages()), all);
    ctx.fact("switch.sleeps", super::sleeps(usages()) as f64 / all.max(1.0));
    super::note_class(ctx, batch);
    Ok(())
}

/// The control: one task passes the token to itself through as many pipes as the ring has tasks.
fn to_itself(laps: u64, pipes: &[(OwnedFd, OwnedFd)], mut touch: impl FnMut(usize)) -> Outcome {
    for _ in 0..laps {
        let mut token = Token::default();
        for (i, (read_end, write_end)) in pipes.iter().enumerate() {
            token = (u64::from_ne_bytes(token) + 1).to_ne_bytes();
            write_full(write_end.as_fd(), &token).context("passing the token on")?;
            read_full(read_end.as_fd(), &mut token).context("taking the token")?;
            touch(i);
        }
        check_count(u64::from_ne_bytes(token), pipes.len() as u64)?;
    }
    Ok(())
}

/// Fails unless the token has passed every task.
fn check_count(seen: u64, tasks: u64) -> Outcome {
    if seen == tasks {
        return Ok(());
    }
    Err(BenchError::Failed(format!("the token came back after {seen} tasks, not {tasks}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::Times;
    use groma_harness::model::{Value, WorkerKind};
    use groma_harness::sys::affinity;
    use groma_harness::testing::{Tried, assert_exceeds, try_group, try_out};

    const SWITCHES: &str = "context switches per hand-over, all tasks";

    #[test]
    fn a_working_set_has_all_of_its_bytes() {
        assert_eq!([0, 1, 64, 65, 16 << 10, 256 << 10].map(lines_of), [0, 1, 1, 2, 256, 4096]);
    }

    #[test]
    fn several_rings_turn_at_once() {
        for kind in ["process", "thread"] {
            let tried = try_group(&BENCH, &[("kind", kind)], None, 2, WorkerKind::Processes).expect("two rings");
            let samples = tried.result.series("ring").map_or(&[][..], |s| &s.samples);
            let cpus = [0, 1].map(|member| samples.iter().find(|s| s.worker == member).expect("a sample").cpu);
            // With a CPU for each ring, each ring has one.
            assert_eq!(cpus[0] != cpus[1], affinity::allowed().expect("an affinity").len() > 1, "{kind}: {cpus:?}");
            assert!(tried.proven(SWITCHES) >= 0.95, "{kind}: {:?}", tried.result.output.proofs);
        }
    }

    /// In one of some short rounds: other load adds switches, and some rounds spare sleeps
    /// whatever the class (0.76 to 1.00 a hand-over). In the default class it was 0.54 to 0.56, and
    /// 1.17 to 1.20 switches.
    #[test]
    fn a_hand_over_is_one_sleep_and_one_switch() {
        for kind in ["process", "thread"] {
            let some_round = |tasks, holds: fn(&Tried) -> bool| {
                let mut tried = (0..400).map(|_| try_out(&BENCH, &[("tasks", tasks), ("kind", kind)], None));
                tried.any(|tried| tried.as_ref().is_ok_and(|tried| holds(tried) || tried.has_remark("SCHED_BATCH")))
            };
            let sleeps = |tried: &Tried| {
                let sleeps = tried.result.fact("switch.sleeps").and_then(|sleeps| sleeps.parse().ok());
                sleeps.is_some_and(|sleeps: f64| sleeps > 0.65)
            };
            assert!(some_round("2", sleeps), "{kind}");
            assert!(some_round("8", |tried| tried.proven(SWITCHES) < 1.1), "{kind}");
        }
    }

    #[test]
    fn what_is_fetched_again_is_the_working_set_of_the_ring() {
        let param = BENCH.info.params.iter().find(|param| param.name == "working_set").expect("a parameter");
        let (_, text) = RING.iter().find(|(name, _)| *name == param.name).expect("its value");
        let Ok(Value::Int(bytes)) = param.parse(text) else { panic!("{text} is no size") };
        assert_eq!(REFILL.times, Times::Fixed(bytes as f64));
    }

    #[test]
    fn one_task_is_no_ring() {
        assert!(matches!(try_out(&BENCH, &[("tasks", "1")], None), Err(BenchError::Unsupported(_))));
    }

    #[test]
    fn a_working_set_shows_a_forgotten_line() {
        for update in [true, false] {
            let walk = Walk { order: [2, 0, 1].into(), update };
            let mut set = WorkingSet::new(&walk);
            set.touch(&walk);
            set.touch(&walk);
            assert!(set.shows_it(&walk));
            set.touch(&Walk { order: [0, 1].into(), update });
            assert!(!set.shows_it(&walk));
        }
    }

    /// In order, a prefetcher would bring the next line. No system call tells the words apart.
    #[test]
    fn a_walk_visits_every_line_once_in_no_order_and_does_what_is_named() {
        let walk = Walk::new(&mut Rng::new(7), 16 << 10, "update");
        let mut visited = walk.order.to_vec();
        visited.sort_unstable();
        assert!(visited.into_iter().eq(0..256));
        let in_order = walk.order.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
        assert!(in_order < 32, "{in_order} of 256 lines are next to the one before");
        let updates = ["update", "read"].map(|access| Walk::new(&mut Rng::new(7), 64, access).update);
        assert_eq!(updates, [true, false]);
    }

    /// A task that touches nothing finds its working set as it should be.
    #[test]
    fn a_task_touches_its_working_set_when_it_has_the_token() {
        for update in [true, false] {
            // The second of its two lines is left out, which only shows once the first is touched.
            let walk = Walk { order: [0, 0].into(), update };
            let ((input, to_task), (from_task, output)) = (pipe().expect("a pipe"), pipe().expect("a pipe"));
            write_full(to_task.as_fd(), &5u64.to_ne_bytes()).expect("a token");
            write_full(to_task.as_fd(), &LEAVE).expect("the last token");
            assert_eq!(pass_on(input.as_fd(), output.as_fd(), &walk), WRONG_WORDS);
            let mut token = Token::default();
            read_full(from_task.as_fd(), &mut token).expect("the token");
            assert_eq!(u64::from_ne_bytes(token), 6);
        }
    }

    #[test]
    fn a_token_that_took_a_short_cut_fails() {
        assert_eq!(check_count(8, 8), Ok(()));
        assert!(check_count(1, 8).is_err());
    }

    #[test]
    fn a_standard_run_takes_three_points() {
        let texts: Vec<String> = BENCH.info.points(Tier::Standard).iter().map(Params::to_string).collect();
        assert_eq!(
            texts[..2],
            ["tasks=2 working_set=0 kind=process access=update", "tasks=2 working_set=0 kind=thread access=update"]
        );
        assert_eq!(texts[2..], ["tasks=8 working_set=16384 kind=process access=update"]);
    }

    /// One task that touches 96 working sets in turn finds less of them in the caches of its core
    /// than one that touches the same again and again.
    #[test]
    fn the_rotating_control_touches_a_working_set_for_each_pipe() {
        assert_exceeds(1.2, || {
            let tried = try_out(&BENCH, &[("tasks", "96"), ("working_set", "64K")], None).expect("a ring");
            tried.least_ns("rotating") / tried.least_ns("hot")
        });
    }
}
