//! How late a sleep ends: from the requested time until the program runs again.
//!
//! **Measures:** The overshoot of one sleep at a time, for each interface that a program can use:
//! the call that sets the timer, the timer's interrupt, the wake-up, the CPU's exit from its idle
//! state, and the switch. The length of the sleep is never part of the value.
//!
//! **Does not measure:** Sleepers among busy tasks (`sched.wakeup` does), or many CPUs
//! (`sched.periodic`).
//!
//! **Method:** Each sleep is a value of its own, so that the record shows their distribution.
//! `slack` is the time by which the kernel may delay a timer to serve several at once, 50 us by
//! default: it explains most of the overshoot of an ordinary task. The value in force is a fact.
//! Signal timers, timerfd and the timers of real-time tasks ignore it; `select`, `ppoll` and
//! `epoll_pwait2` use a thousandth of their time-out where that is more. `ppoll` stands for `poll`
//! as well, which counts in milliseconds and takes the same path through the kernel. `usleep` is
//! libc's function of that name, which calls `clock_nanosleep`.
//!
//! `cpu_dma_latency=0` asks the kernel, for as long as the round lasts, for idle states that a CPU
//! leaves at once, as `cyclictest` does unless told otherwise; what is left is the timer and the
//! scheduler.
//!
//! **Calls:**
//! - no trace of `interface`: usleep is nanosleep for the kernel
//!
//! **Proofs:** No sleep ends before its time by the clock that the timers run on, and the timer
//! ended it: each call's answer is checked (a time-out, one expiry, the right signal). A sleep cut
//! short by a caught signal is left out and noted.
//!
//! **Pitfalls:**
//! - Durations as results hide 60 us in 10 ms.
//! - A value means little if the slack is neither set nor stated.
//! - `nanosleep` with 1 s or more in its nanoseconds is refused, and the refusal is timed (lmbench
//!   `lat_usleep`: a sleep of 2 s took 138 us).
//! - By a clock that is slewed differently from that of the timers, sleeps seem to end early.
//! - The value includes the idle state and, in a virtual machine, the exit to the host that every
//!   timer costs.
//!
//! **Sources:** lmbench3 `lat_usleep`; rt-tests `cyclictest`. See
//! docs/methods/operating-system.md#sleep.

use crate::sched;
use groma_harness::model::Params;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::sched::{set_timer_slack, timer_slack};
use groma_harness::sys::sleep::{self, Sleeper, Way};
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Overshoot of a sleep: from the requested time until it runs again",
        about: about!("sleep.rs"),
        iteration: "one sleep",
        timing: Timing::Stated,
        params: &[
            Param::word(
                "interface",
                "the system call or timer that sleeps",
                &[
                    "nanosleep",
                    "clock_nanosleep_abs",
                    "select",
                    "ppoll",
                    "epoll_pwait2",
                    "timerfd",
                    "itimer",
                    "posix_timer",
                    "futex",
                    "usleep",
                ],
            )
            .quick(&["nanosleep"])
            .standard(&["clock_nanosleep_abs"]),
            Param::time("length", "the time asked for, in whole microseconds")
                .quick(&["100us"])
                .standard(&["1ms"])
                .full(&["1us", "10us", "10ms"]),
            Param::word(
                "slack",
                "timer slack: the task's default (the fact timer.slack_ns says how much), or 1 ns",
                &["default", "1ns"],
            )
            .quick(&["default"])
            .standard(&["1ns"]),
            sched::POLICY,
            sched::CPU_DMA_LATENCY,
        ],
        combination_tier,
        scaling: Scaling::alone("it states values instead of taking samples"),
        interference: Interference::Blocking,
        target_half_width: 0.05,
        ..Info::new("timer.sleep")
    },
    run: Run::Here(run),
};

/// Without `--full`: lmbench's sleep with the default slack and with 1 ns, and that of cyclictest.
fn combination_tier(params: &Params) -> Tier {
    match (params.word("interface"), params.int("length"), params.word("slack")) {
        (Some("nanosleep"), Some(100_000), _) | (Some("clock_nanosleep_abs"), Some(1_000_000), Some("default")) => {
            Tier::Quick
        }
        _ => Tier::Full,
    }
}

/// Sleeps that are not counted: the first ones bring in the pages and fill the caches.
const WARM: usize = 2;
/// The fewest sleeps in a round, however long they are.
const MIN_SLEEPS: usize = 10;
/// The most sleeps in a round: more values would only fill the store.
const MAX_SLEEPS: usize = 1000;

fn way(word: &str) -> Way {
    match word {
        "clock_nanosleep_abs" => Way::ClockNanosleepAbs,
        "select" => Way::Select,
        "ppoll" => Way::Ppoll,
        "epoll_pwait2" => Way::EpollPwait2,
        "timerfd" => Way::Timerfd,
        "itimer" => Way::Itimer,
        "posix_timer" => Way::PosixTimer,
        "futex" => Way::Futex,
        "usleep" => Way::Usleep,
        _ => Way::Nanosleep,
    }
}

/// The unit of the coarsest interface, in nanoseconds.
const UNIT_NS: u64 = 1_000;
/// The longest sleep, in nanoseconds: `usleep` takes microseconds in 32 bits.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Refuses lengths that some interface would round or cut.
fn check_length(ns: u64) -> Outcome {
    if ns == 0 || ns > LONGEST_NS || !ns.is_multiple_of(UNIT_NS) {
        return Err(BenchError::Unsupported(format!(
            "sleeps are of 1 us to 1 h, in whole microseconds, and {ns} ns are not"
        )));
    }
    Ok(())
}

/// What a call may take besides the sleep itself, in nanoseconds: two readings of a clock, and
/// arming a timer where there is one. It took below 3 us on a 2-vCPU KVM guest, and takes several
/// times as long in a sandbox.
const BESIDE_NS: i64 = 50_000;

/// Sleeps once. Returns the lateness, and by how much the elapsed time of a clock read around the
/// call exceeds length plus lateness; `None` if a caught signal cut the sleep short.
fn overshoot(sleeper: &Sleeper, length_ns: u64) -> Result<Option<(i64, i64)>, BenchError> {
    let before = sleep::now_ns();
    let slept = sleeper.sleep();
    let elapsed = sleep::now_ns().saturating_sub(before);
    match slept {
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(None),
        late => late.map(|late| Some((late, elapsed as i64 - length_ns as i64 - late))).context("sleeping"),
    }
}

/// Proves that the lateness is the elapsed time minus the length. It can never be more, since the
/// clock is read outside the call, and in the best of the sleeps it is hardly less.
fn prove_lateness(ctx: &mut Ctx, beside: &[i64]) {
    let more = beside.iter().filter(|ns| **ns < 0).count();
    ctx.prove("sleeps whose length and lateness are more than the time that passed", "0", more as f64, 0.0..=0.0);
    let least = beside.iter().copied().min().unwrap_or(i64::MAX) as f64 * 1e-9;
    let expected = format!("{:.0e} or less", BESIDE_NS as f64 * 1e-9);
    ctx.prove(
        "least time of a sleep that is neither length nor lateness",
        &expected,
        least,
        ..=BESIDE_NS as f64 * 1e-9,
    );
}

fn run(ctx: &mut Ctx) -> Outcome {
    let slack: u64 = if ctx.word("slack") == "1ns" { 1 } else { 0 };
    if slack == 1 && ctx.word("policy") == "fifo" {
        return Err(BenchError::Unsupported(
            "the timers of a real-time task have no slack: see slack=default".to_owned(),
        ));
    }
    let length = ctx.int("length");
    check_length(length)?;
    let _awake = sched::take_cpu_dma_latency(ctx)?;
    sched::take_policy(ctx)?;
    let set = set_timer_slack(slack);
    if slack > 0 {
        set.map_err(|e| BenchError::Unsupported(format!("setting the timer slack: {e}")))?;
    }
    if let Ok(ns) = timer_slack() {
        ctx.fact("timer.slack_ns", ns);
    }
    let sleeper = Sleeper::new(way(ctx.word("interface")), length).context("preparing to sleep")?;
    for _ in 0..WARM {
        overshoot(&sleeper, length)?;
    }

    let begun = ctx.now_ns();
    let end = begun + ctx.time_limit_ns();
    let before = Usage::thread();
    let mut beside = Vec::with_capacity(MAX_SLEEPS);
    let (mut early, mut slept, mut cut) = (0u64, 0, 0u64);
    while slept < MIN_SLEEPS || (slept < MAX_SLEEPS && ctx.now_ns() < end) {
        match overshoot(&sleeper, length)? {
            Some((late, rest)) => {
                beside.push(rest);
                early += u64::from(late < 0);
                ctx.state(late as f64 * 1e-9);
                slept += 1;
            }
            None => cut += 1,
        }
        if cut > MAX_SLEEPS as u64 {
            return Err(BenchError::Failed(format!("{cut} sleeps were interrupted by signals")));
        }
    }
    ctx.sampled_since(begun);
    let used = Usage::thread().since(&before);
    ctx.prove("sleeps that ended before their time", "0", early as f64, 0.0..=0.0);
    prove_lateness(ctx, &beside);
    // Not a proof: a timer of a microsecond may expire before its task sleeps.
    ctx.fact("sleep.switches", used.voluntary as f64 / (slept as f64 + cut as f64));
    if cut > 0 {
        ctx.note(format!("{cut} sleeps were cut short by signals and left out"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::{stating, try_failing, try_out};

    #[test]
    fn the_slack_in_force_is_told() {
        let told = |slack| {
            let tried = try_out(&BENCH, &[("slack", slack)], None).expect("nanosleep");
            tried.result.fact("timer.slack_ns").map(str::to_owned)
        };
        assert!(told("1ns").is_none_or(|ns| ns == "1"));
        assert!(told("default").is_none_or(|ns| ns != "1"));
    }

    #[test]
    fn a_real_time_task_has_no_slack() {
        let both = [("policy", "fifo"), ("slack", "1ns")];
        assert!(matches!(try_out(&BENCH, &both, None), Err(BenchError::Unsupported(_))));
    }

    #[test]
    fn a_standard_run_takes_three_points() {
        assert_eq!(BENCH.info.points(Tier::Standard).len(), 3);
    }

    #[test]
    fn every_word_has_its_way() {
        let ParamKind::Word(words) = BENCH.info.params[0].kind else { panic!("a word") };
        let ways: Vec<Way> = words.iter().map(|w| way(w)).collect();
        assert!((1..ways.len()).all(|i| !ways[..i].contains(&ways[i])), "{ways:?}");
        // The kernel cannot tell these two, nor can the tests that look at system calls.
        assert_eq!(["nanosleep", "usleep"].map(way), [Way::Nanosleep, Way::Usleep]);
    }

    #[test]
    fn lengths_are_free_but_whole_microseconds() {
        for ns in [1_000, 7_000, 123_456_000, LONGEST_NS] {
            assert_eq!(check_length(ns), Ok(()), "{ns}");
        }
        for ns in [0, 999, 1_001, LONGEST_NS + UNIT_NS] {
            assert!(matches!(check_length(ns), Err(BenchError::Unsupported(_))), "{ns}");
        }
        // A sleep that was cut to the digits of a unit would be short, and end early.
        let tried = try_out(&BENCH, &[("length", "1234us"), ("interface", "usleep")], None).expect("usleep");
        assert_eq!(tried.proven("sleeps that ended before their time"), 0.0);
    }

    /// A lateness that includes the length, or that leaves most of the waiting out, is refused.
    #[test]
    fn lateness_is_what_is_left_of_the_time_that_passed() {
        fn run(ctx: &mut Ctx) -> Outcome {
            // For sleeps of 1 ms that took 1.06 ms: 57 us late and 3 us besides; 1.057 ms "late";
            // not late at all.
            for seen in [[3_000, 4_000], [3_000 - 1_000_000, 4_000 - 1_000_000], [60_000, 61_000]] {
                prove_lateness(ctx, &seen);
            }
            prove_lateness(ctx, &[]);
            ctx.state(1.0);
            Ok(())
        }
        let tried = try_failing(&stating(run), &[], None).expect("a value");
        assert_eq!(tried.proofs_held(""), [true, true, false, true, true, false, true, false]);
    }
}
