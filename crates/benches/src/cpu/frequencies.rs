//! The clock of every CPU, one after the other.
//!
//! **Measures:** The clock of each allowed CPU (1024 evenly spaced ones if there are more) while it
//! computes; the other CPUs continue with whatever they do. The main value is the median CPU's
//! clock, `lowest` and `highest` are the extremes, and each CPU's clock is a fact. This
//! distinguishes kinds of cores, and cores that a limit or a busy sibling thread holds back.
//!
//! **Does not measure:** The clock with all CPUs busy.
//!
//! **Method:** The process moves to a CPU, computes until its clock has risen, and times chains of
//! 32000 and 160000 dependent additions, as `cpu.frequency` does, about eight times. The median of
//! the uninterrupted ones counts. A CPU without any is not reported, and a note says so.
//!
//! **Pitfalls:**
//! - The time on each CPU is short, so this is the clock of a core that has just started to work.
//! - Where CPUs are hardware threads, the sibling thread's work does not change the chain's time
//!   unless it takes the whole core.
//!
//! **Sources:** docs/methods/processor.md#clock-of-every-cpu.

use super::{cpus_of_the_run, evenly};
use groma_harness::prelude::*;
use groma_harness::stats::upper_median;
use groma_harness::sys::arch::{ADD_TAKES_ONE_CYCLE, add_chain, chain_ops};
use groma_harness::sys::{affinity, counters};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Clock of every CPU in turn: the median",
        about: about!("frequencies.rs"),
        quantity: Quantity::Rate,
        iteration: "a millisecond on each CPU",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("lowest", "the slowest CPU"),
            Output::named("highest", "the fastest CPU"),
        ],
        scaling: Scaling::alone("it goes to all CPUs itself"),
        placements: &[Placement::Free],
        tier: Tier::Standard,
        version: 2,
        ..Info::new("cpu.frequencies")
    },
    run: Run::Here(run),
};

/// The most CPUs that are visited.
const MAX_CPUS: usize = 1024;
/// Time for the clock to rise, in nanoseconds.
const WARM_NS: u64 = 300_000;
/// Undisturbed pairs of chains wanted of a CPU.
const WANTED: usize = 8;
/// The most pairs that are tried.
const TRIES: usize = 32;
/// The lengths of a chain: about 10 and 50 us at 3 GHz.
const LENGTHS: [u64; 2] = [chain_ops(32_000), chain_ops(160_000)];
/// How far the clock of the short chain may be from that of the difference: clock changes are 3 %,
/// the resolution is 0.3 %. See docs/methods/processor.md#clock-of-every-cpu.
const SAME: f64 = 0.02;

/// The clock in hertz, from the nanoseconds of the two chains; `None` when they disagree.
fn clock(ns: [u64; 2]) -> Option<f64> {
    let long = (LENGTHS[1] - LENGTHS[0]) as f64 / ns[1].checked_sub(ns[0]).filter(|ns| *ns > 0)? as f64 * 1e9;
    let short = LENGTHS[0] as f64 / ns[0].max(1) as f64 * 1e9;
    ((long / short - 1.0).abs() <= SAME).then_some(long)
}

/// The clock of the current CPU; `None` when every try was disturbed.
fn of_this_cpu(ctx: &Ctx) -> Option<f64> {
    let start = ctx.now_ns();
    while ctx.now_ns().saturating_sub(start) < WARM_NS {
        add_chain(LENGTHS[0]);
    }
    let mut clocks = Vec::new();
    for _ in 0..TRIES {
        let before = counters::Usage::thread();
        let ns = LENGTHS.map(|length| {
            let start = ctx.now_ns();
            add_chain(length);
            ctx.now_ns().saturating_sub(start)
        });
        if counters::Usage::thread().since(&before).involuntary == 0 {
            clocks.extend(clock(ns));
        }
        if clocks.len() == WANTED {
            break;
        }
    }
    upper_median(&clocks)
}

fn run(ctx: &mut Ctx) -> Outcome {
    if !ADD_TAKES_ONE_CYCLE {
        return Err(BenchError::Unsupported("no chain of one-cycle instructions was written for this CPU".to_owned()));
    }
    let home = affinity::allowed().context("reading the allowed CPUs")?;
    let all = cpus_of_the_run()?;
    let visited = evenly(&all, MAX_CPUS);
    super::declare_clock(ctx, visited.first().copied().unwrap_or(0));
    let (mut clocks, mut elsewhere) = (Vec::new(), 0);
    for &cpu in &visited {
        // A CPU may have gone offline since.
        if let Err(e) = affinity::pin(cpu) {
            ctx.note(format!("CPU {cpu} was left out: {e}"));
            continue;
        }
        let hz = of_this_cpu(ctx);
        elsewhere += u32::from(counters::current_cpu() != cpu);
        match hz {
            Some(hz) => {
                ctx.fact(&format!("cpu{cpu}"), hz.round());
                clocks.push(hz);
            }
            None => ctx.note(format!("CPU {cpu} was disturbed all the time: no clock")),
        }
    }
    affinity::restrict(&home).context("restoring the CPU affinity")?;
    ctx.fact("cpus.visited", visited.len());
    ctx.prove("CPUs on which it was found elsewhere", "0", f64::from(elsewhere), 0.0..=0.0);
    let lowest = clocks.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = clocks.iter().copied().fold(0.0, f64::max);
    let Some(middle) = upper_median(&clocks) else {
        ctx.unresolved("", "every CPU was disturbed all the time");
        return Ok(());
    };
    ctx.state(middle);
    ctx.state_as("lowest", lowest);
    ctx.state_as("highest", highest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn every_cpu_has_a_clock_or_a_note() {
        let before = affinity::allowed().expect("an affinity");
        let tried = match try_out(&BENCH, &[], None) {
            Err(BenchError::Unsupported(why)) => return println!("skipped: {why}"),
            tried => tried.expect("CPUs to go to"),
        };
        assert_eq!(before, affinity::allowed().expect("an affinity"));
        // At any load a CPU may be disturbed for a millisecond; all of them hardly ever.
        if tried.has_remark("every CPU was disturbed") {
            return println!("skipped: {:?}", tried.result.output.remarks);
        }
        let value = |name: &str| tried.result.series(name).map(|s| s.values.clone()).expect("stated")[0];
        assert!(value("lowest") <= value("") && value("") <= value("highest"));
        let is_cpu = |key: &str| key.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok());
        let told =
            tried.result.output.facts.iter().filter(|f| is_cpu(&f.key)).count() + tried.result.output.remarks.len();
        assert_eq!(told, evenly(&cpus_of_the_run().expect("an affinity"), MAX_CPUS).len());
        assert_eq!(tried.proven("CPUs on which it was found elsewhere"), 0.0);
    }

    #[test]
    fn chains_that_disagree_are_no_clock() {
        // 3.2 GHz: 10 and 50 us.
        assert_eq!(clock([10_000, 50_000]), Some(3.2e9));
        // Interrupted in the long one or in the short one, or with the clock changed between.
        assert_eq!(clock([10_000, 54_000]), None);
        assert_eq!(clock([12_000, 50_000]), None);
        assert_eq!(clock([50_000, 10_000]), None);
        assert_eq!(clock([0, 0]), None);
    }
}
