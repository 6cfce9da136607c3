//! How much memory a program can still take before it meets a limit.
//!
//! Measures the least of what the machine says is available, what the control groups above this process leave (all of them,
//! of version 1 and 2; pages of files that are given up first count as free), and what `RLIMIT_AS` and `RLIMIT_DATA` leave. The
//! fact `limit` names the one that binds. Does not find out by filling memory, which is how a benchmark kills its
//! neighbours.
//!
//! Method: read, then checked by touching a small part of it, a sixteenth and at most 64 MiB: every page of that is there
//! afterwards, each by one minor fault, and none came from a disk. What the whole machine swapped and how long tasks waited
//! for memory meanwhile are facts beside it, since they belong to everybody.
//!
//! Traps: lmbench `memsize` touches more and more until it gets slow: it meets the out-of-memory killer first under a
//! control group, reads none, and stops at 1 GiB unless told otherwise; configuration by `MemTotal`; memory that is promised
//! (overcommitted) and not there; reading the shared page of zeros instead of writing.
//!
//! Source: lmbench3 `memsize`; memory-methods.md M1, lmbench-inventory.md N30.

use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::facts::{self, Room};
use groma_harness::sys::pages::{Map, Policy, page_size};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Memory that can be taken before a limit is met",
        about: about!("available.rs"),
        quantity: Quantity::Size,
        better: Some(Better::Higher),
        iteration: "one look, and a part of it touched",
        timing: Timing::Stated,
        scaling: Scaling::alone("what is available is one number for all"),
        lineage: &["lmbench3:memsize"],
        target_half_width: 0.05,
        ..Info::new("mem.available")
    },
    run: Run::Here(run),
};

/// The part that is touched, and the most of it: far from any limit, and a few milliseconds.
const PART: u64 = 16;
const MOST: u64 = 64 << 20;

/// How much of the room is touched, in whole pages.
fn part(room: u64, page: u64) -> u64 {
    (room / PART).min(MOST) / page * page
}

fn run(ctx: &mut Ctx) -> Outcome {
    let Some(Room { bytes, limit }) = facts::memory_headroom() else {
        return Err(BenchError::Unsupported("nothing here says how much memory is available (no /proc)".to_owned()));
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
    let mut map = Map::anonymous(touched as usize, Policy::Base).context("mapping a part of it")?;
    let before = Usage::thread();
    map.populate();
    let used = Usage::thread().since(&before);
    let pages = (touched / page_size() as u64) as f64;
    let there = map.resident_pages().context("looking which pages are there")? as f64;
    ctx.prove("share of the touched pages that are there", "exactly 1", there / pages, 1.0..=1.0);
    // Some of the program's own may; memory that was swapped out comes back by the thousand.
    ctx.prove("pages that came from a disk", "8 or fewer", used.major_faults as f64, ..=8.0);
    // Kernels that populate a range in one go count no fault a page.
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
        let bytes = tried.result.series("").expect("stated").values[0];
        let fact = |key: &str| tried.result.fact(key).map(str::to_owned);
        let touched: f64 = fact("touched").expect("told").parse().expect("a number");
        assert!(touched <= bytes / PART as f64 && touched <= MOST as f64, "{touched} of {bytes}");
        assert!(fact("limit").is_some_and(|limit| !limit.is_empty()));
        assert_eq!(tried.proven("share of the touched pages that are there"), 1.0);
        if let Some(total) = fact("declared") {
            assert!(bytes <= total.parse::<f64>().expect("a number"));
        }
    }

    #[test]
    fn the_part_is_small_and_of_whole_pages() {
        assert_eq!(part(u64::MAX, 4096), MOST);
        assert_eq!(part(256 << 20, 4096), 16 << 20);
        assert_eq!(part(100_000, 4096), 4096);
        assert_eq!(part(65_535, 4096), 0);
        assert_eq!(part(0, 4096), 0);
    }
}
