//! Available memory: how much a program can take before it meets a limit.
//!
//! **Measures:** The least of what the machine reports as available, what the control groups above
//! this process leave (all of them, versions 1 and 2; page cache that can be reclaimed counts as
//! free), and what `RLIMIT_AS` and `RLIMIT_DATA` leave. The fact `limit` names the one that binds.
//! Memory is not filled to find out, because that is how a benchmark kills its neighbours.
//!
//! **Does not measure:** How fast memory can be taken (`vm.fault`), how much could be swapped out,
//! or what the kernel would in fact grant under pressure.
//!
//! **Method:** The limits are read. As a check, a sixteenth of the result and at most 64 MiB is
//! touched: every page of it must be resident afterwards, and none may come from a disk. Minor
//! faults, and the swapping and memory pressure of the whole machine meanwhile, are facts.
//!
//! **Pitfalls:**
//! - lmbench `memsize` touches more and more until it gets slow. Under a control group it meets the
//!   out-of-memory killer first, and it stops at 1 GiB unless configured otherwise; its
//!   configuration uses `MemTotal`.
//! - Overcommitted memory is promised and not there.
//! - Reading instead of writing touches only the shared zero page.
//!
//! **Sources:** lmbench3 `memsize`. See docs/methods/memory.md#available-memory.

use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::facts::{self, Room};
use groma_harness::sys::pages::{Map, Policy, page_size};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Memory that a program can take before it meets a limit",
        about: about!("available.rs"),
        quantity: Quantity::Size,
        better: Some(Better::Higher),
        iteration: "one look, and a part of it touched",
        timing: Timing::Stated,
        scaling: Scaling::alone("what is available is one number for all"),
        target_half_width: 0.05,
        ..Info::new("mem.available")
    },
    run: Run::Here(run),
};

/// The fraction that is touched (one in `PART`), and the most bytes: far from any limit, and a few
/// milliseconds.
const PART: u64 = 16;
const MAX_PART: u64 = 64 << 20;

/// How much of the available memory is touched, in whole pages.
fn part(available: u64, page: u64) -> u64 {
    (available / PART).min(MAX_PART) / page * page
}

fn run(ctx: &mut Ctx) -> Outcome {
    let Some(Room { bytes, limit }) = facts::memory_headroom() else {
        return Err(BenchError::Unsupported("cannot tell how much memory is available (no /proc)".to_owned()));
    };
    ctx.state(bytes as f64);
    ctx.fact("limit", limit);
    if let Some(total) = facts::total_memory() {
        ctx.fact("declared", total);
    }
    let touched = part(bytes, page_size() as u64);
    ctx.fact("touched", touched);
    if touched == 0 {
        ctx.note("too little is left to touch a part of it");
        return Ok(());
    }
    sys::process::refuse_huge_pages();
    let pressure = facts::memory_pressure();
    let mut map = Map::anonymous(touched as usize, Policy::Base).context("mapping a part of the memory")?;
    let before = Usage::thread();
    map.populate();
    let used = Usage::thread().since(&before);
    let pages = (touched / page_size() as u64) as f64;
    let there = map.resident_pages().context("reading which pages are resident")? as f64;
    ctx.prove("share of the touched pages that are there", "exactly 1", there / pages, 1.0..=1.0);
    // A few pages of the program itself may have been evicted; swapping brings back thousands.
    ctx.prove("pages that came from a disk", "8 or fewer", used.major_faults as f64, ..=8.0);
    // Kernels that populate a range at once count fewer faults.
    ctx.fact("faults_per_page", format!("{:.3}", used.minor_faults as f64 / pages));
    for (key, added) in facts::memory_pressure().since(&pressure) {
        ctx.fact(&format!("meanwhile.{key}"), added);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn what_is_available_is_touched_in_part_and_named() {
        let tried = match try_out(&BENCH, &[], None) {
            Err(BenchError::Unsupported(why)) => return println!("skipped: {why}"),
            tried => tried.expect("memory"),
        };
        let bytes = tried.stated("").expect("stated");
        let fact = |key: &str| tried.result.fact(key).map(str::to_owned);
        let touched: f64 = fact("touched").expect("told").parse().expect("a number");
        assert!(touched <= bytes / PART as f64 && touched <= MAX_PART as f64, "{touched} of {bytes}");
        assert!(fact("limit").is_some_and(|limit| !limit.is_empty()));
        assert_eq!(tried.proven("share of the touched pages that are there"), 1.0);
        if let Some(total) = fact("declared") {
            assert!(bytes <= total.parse::<f64>().expect("a number"));
        }
    }

    /// What others take or give back meanwhile is less than half of it.
    #[test]
    fn what_is_available_is_what_the_limits_leave() {
        let mut seen = Vec::new();
        for _ in 0..5 {
            let Some(room) = facts::memory_headroom() else { return println!("skipped: nobody says how much") };
            let tried = try_out(&BENCH, &[], None).expect("memory");
            seen.push(tried.stated("").expect("stated") / room.bytes as f64);
            assert_eq!(tried.result.fact("limit"), Some(room.limit.to_string().as_str()));
            if seen.iter().any(|ratio| (0.67..1.5).contains(ratio)) {
                return;
            }
        }
        panic!("shares of what is left: {seen:?}");
    }

    #[test]
    fn the_part_is_small_and_of_whole_pages() {
        assert_eq!(part(u64::MAX, 4096), MAX_PART);
        assert_eq!(part(256 << 20, 4096), 16 << 20);
        assert_eq!(part(100_000, 4096), 4096);
        assert_eq!(part(65_535, 4096), 0);
        assert_eq!(part(0, 4096), 0);
    }
}
