//! Waking from each idle state of a CPU: how much later a task runs when its CPU slept deeper.
//!
//! **Measures:** How late a sleep ends on a CPU that goes into the idle state `depth` meanwhile:
//! the timer's interrupt, leaving the state, and the switch to the task. Depth 0 is the shallowest,
//! on x86 usually a loop (`POLL`), 1 the first that halts; servers have 3 or 4. The difference to
//! depth 0 is what leaving the state costs. In a virtual machine a halt is an exit to the host, and
//! the host's own idle states are part of it.
//!
//! **Does not measure:** How the kernel chooses (`timer.sleep` and `sched.wakeup` have its choice),
//! or entering a state.
//!
//! **Method:** While the round lasts, the kernel is asked for no deeper states
//! (`/dev/cpu_dma_latency`, which ends with the worker). The sleeps are long enough for the kernel
//! to find the state worth while: four times what it states as such, and 1 ms at least. Each
//! lateness is a value of its own. The facts say what the state is called and how long the kernel
//! was told that leaving it takes, what part of the idle time the CPU was in it, and the power of
//! the packages meanwhile, where they have counters.
//!
//! **Proofs:** By the kernel's count the CPU went into that state for the sleeps, and no sleep ends
//! before its time.
//!
//! **Pitfalls:**
//! - The kernel states the longest time that leaving takes; a CPU alone in its state is faster.
//! - Of states with the same latency only the deepest can be had. The kernel may choose a shallower
//!   one all the same: the round then says so and has no value.
//! - The request concerns all CPUs, so this runs by name only; it takes root.
//!
//! **Sources:** The kernel's documentation of `cpuidle` and of PM QoS. See
//! docs/methods/processor.md#idle-states.

use super::limit_idle_latency;
use groma_harness::prelude::*;
use groma_harness::sys::counters::current_cpu;
use groma_harness::sys::energy::{Packages, ZONES};
use groma_harness::sys::idle_states::{CPUS, IdleStates, Stays};
use groma_harness::sys::sched::set_timer_slack;
use groma_harness::sys::sleep::{self, Sleeper, Way};
use std::path::Path;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "How late a sleep ends on a CPU in a given idle state",
        about: about!("idle_state.rs"),
        iteration: "one sleep",
        timing: Timing::Stated,
        params: &[Param::count("depth", "the number of the idle state, 0 for the shallowest")
            .quick(&["0", "1"])
            .full(&["2", "3", "4"])],
        scaling: Scaling::alone("a sleeping CPU is one that does nothing else"),
        interference: Interference::Blocking,
        target_half_width: 0.05,
        // The request changes how all CPUs idle, which nobody has asked for who runs everything.
        tier: Tier::Named,
        ..Info::new("cpu.idle_state")
    },
    run: Run::Here(run),
};

/// The shortest sleep, in nanoseconds.
const SHORTEST_NS: u64 = 1_000_000;
/// Sleeps that are not counted: the kernel learns from them how long the CPU will be idle.
const WARM: usize = 8;
/// The fewest and the most sleeps in a round.
const MIN_SLEEPS: usize = 20;
const MAX_SLEEPS: usize = 1000;
/// Entries for each sleep that will do: the kernel chooses another state now and then.
const MIN_ENTRIES_PER_SLEEP: f64 = 0.8;

fn run(ctx: &mut Ctx) -> Outcome {
    let cpu = current_cpu();
    let states = IdleStates::of(Path::new(CPUS), cpu)
        .map_err(|e| BenchError::Unsupported(format!("the kernel has no idle states to choose from (cpuidle): {e}")))?;
    let names: Vec<&str> = states.names().collect();
    let depth = ctx.int("depth") as usize;
    let Some(name) = names.get(depth) else {
        return Err(BenchError::Unsupported(format!(
            "this CPU has {} idle states, numbered from 0: {}",
            names.len(),
            names.join(", ")
        )));
    };
    if states.is_off(depth) {
        return Err(BenchError::Unsupported(format!("the idle state {name} is switched off")));
    }
    let latency_us = states.latency_us(depth);
    let _limit = limit_idle_latency(ctx, i32::try_from(latency_us).unwrap_or(i32::MAX))?;
    ctx.fact("idle.state", name);
    ctx.fact("idle.stated_latency_us", latency_us);
    // Without the time by which the kernel may join timers, which is longer than most states take.
    set_timer_slack(1).context("setting the timer slack")?;
    let length_ns = SHORTEST_NS.max(4000 * states.residency_us(depth));
    let sleeper = Sleeper::new(Way::ClockNanosleepAbs, length_ns).context("preparing to sleep")?;
    for _ in 0..WARM {
        sleeper.sleep().context("sleeping")?;
    }
    let mut packages = Packages::below(Path::new(ZONES)).ok();
    let (begun, end) = (ctx.now_ns(), ctx.now_ns() + ctx.time_limit_ns());
    let (before, began) = (states.stays().context("reading the counts of cpuidle")?, sleep::now_ns());
    let (mut slept, mut early) = (0, 0);
    while slept < MIN_SLEEPS || (slept < MAX_SLEEPS && ctx.now_ns() < end) {
        let late_ns = sleeper.sleep().context("sleeping")?;
        early += u64::from(late_ns < 0);
        ctx.state(late_ns as f64 * 1e-9);
        slept += 1;
    }
    let after = states.stays().context("reading the counts of cpuidle")?;
    let seconds = (sleep::now_ns() - began) as f64 * 1e-9;
    ctx.sampled_since(begun);
    if let Some(Ok(joules)) = packages.as_mut().map(Packages::joules) {
        ctx.fact("idle.watts", format!("{:.1}", joules / seconds));
    }
    let stays = since(&before, &after);
    let idle_us: u64 = stays.iter().map(|stay| stay.us).sum();
    ctx.fact("idle.share", format!("{:.0} %", 100.0 * stays[depth].us as f64 / idle_us.max(1) as f64));
    let each = stays[depth].entered as f64 / slept as f64;
    if each < MIN_ENTRIES_PER_SLEEP {
        let other = (0..stays.len()).max_by_key(|other| stays[*other].entered).unwrap_or(depth);
        return Err(BenchError::Unsupported(format!(
            "the kernel chose {} instead of {name} ({} of {slept} sleeps)",
            names[other], stays[depth].entered
        )));
    }
    ctx.prove("times that the CPU went into the idle state, per sleep", "0.8 or more", each, MIN_ENTRIES_PER_SLEEP..);
    ctx.prove("sleeps that ended before their time", "0", early as f64, 0.0..=0.0);
    Ok(())
}

/// The stays between two readings.
fn since(before: &[Stays], after: &[Stays]) -> Vec<Stays> {
    let one = |(before, after): (&Stays, &Stays)| Stays {
        entered: after.entered.saturating_sub(before.entered),
        us: after.us.saturating_sub(before.us),
    };
    before.iter().zip(after).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn a_cpu_goes_into_the_state_that_is_asked_for() {
        for depth in ["0", "1"] {
            match try_out(&BENCH, &[("depth", depth)], None) {
                Ok(tried) => {
                    assert!(
                        tried.proven("times that the CPU went into the idle state, per sleep") >= MIN_ENTRIES_PER_SLEEP
                    );
                    assert!(tried.result.fact("idle.state").is_some());
                }
                // Beside others that keep the CPU awake, or as an ordinary user.
                Err(BenchError::Unsupported(why) | BenchError::Denied(why)) => println!("depth {depth}: {why}"),
                Err(stop) => panic!("depth {depth}: {stop}"),
            }
        }
    }

    #[test]
    fn a_state_that_no_cpu_has_is_unsupported() {
        let why = try_out(&BENCH, &[("depth", "99")], None).map(|_| ());
        assert!(matches!(why, Err(BenchError::Unsupported(_))), "{why:?}");
    }
}
