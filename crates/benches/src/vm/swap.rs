//! A page that goes to swap space and comes back.
//!
//! **Measures:** The touch of a page that was swapped out: the exception, the request to the device
//! or the decompression, and the return, in random order and without readahead. `.out` is the way
//! out, per page, by `madvise(MADV_PAGEOUT)` (Linux 5.4): the page is unmapped and written.
//!
//! **Does not measure:** Reclaim that the kernel starts by itself (`vm.reclaim`), or reading ahead.
//!
//! **Method:** Pages are written to, half of each with random bytes so that a device that
//! compresses has work and success, and sent out; then each is touched. Pages that did not go out
//! are not touched.
//!
//! **Proofs:** `mincore` finds nearly all pages gone after the advice; each touch of one is a major
//! fault by the kernel's count, or a minor one where swap is memory that needs no waiting; every
//! page comes back as it was.
//!
//! **Pitfalls:**
//! - Without swap space there is nothing to measure: `unsupported`.
//! - What is behind the swap space is the subject: compressed memory (zram), or a pool in front of
//!   a disk (zswap). The fact swap.on names it. To a disk the kernel writes in the background and
//!   keeps the page until memory is short: that is `unsupported`, and no time of a disk is claimed.
//!
//! **Sources:** stress-ng (`--madvise`, `--swap`) only makes the load. See
//! docs/methods/operating-system.md#page-faults.

use super::walk::Faults;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::pages::{MADV_PAGEOUT, MADV_RANDOM, Map, page_size};
use std::hint::black_box;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A page that comes back from swap space, or goes there",
        about: about!("swap.rs"),
        iteration: "one touch of a page that is swapped out",
        timing: Timing::Stated,
        outputs: &[Output::MAIN, Output::named("out", "a page sent to swap space")],
        scaling: Scaling::alone("the device has one queue: several at once measure that"),
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("vm.swap")
    },
    run: Run::Here(run),
};

/// Pages that are sent out together.
const PAGES: usize = 256;
/// The fewest touches in a round, however slow the device is, and the most.
const MIN_TOUCHES: u64 = 256;
const MAX_TOUCHES: u64 = 4096;

fn run(ctx: &mut Ctx) -> Outcome {
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    let Some(on) = swaps.lines().nth(1).and_then(|line| line.split_ascii_whitespace().next()) else {
        return Err(BenchError::Unsupported("there is no swap space (/proc/swaps)".to_owned()));
    };
    ctx.fact("swap.on", on);
    let page = page_size();
    let mut area = Map::guarded(PAGES * page).context("mapping memory")?;
    area.advise(MADV_RANDOM).context("asking for no readahead")?;
    for half in area.chunks_exact_mut(page / 2).step_by(2) {
        half.fill_with(|| ctx.rng().below(256) as u8);
    }
    let (mut faults, mut touches, mut wrong) = (Faults::default(), 0u64, 0u64);
    let (mut sent, mut gone) = (0, 0);
    let (mut lap, begun, end) = (0u8, ctx.now_ns(), ctx.now_ns() + ctx.time_limit_ns());
    while touches < MIN_TOUCHES || (touches < MAX_TOUCHES && ctx.now_ns() < end) {
        lap = lap.wrapping_add(1);
        area.iter_mut().skip(page - 1).step_by(page).for_each(|byte| *byte = lap);
        let start = ctx.now_ns();
        area.advise(MADV_PAGEOUT)
            .map_err(|e| BenchError::Unsupported(format!("sending pages out (MADV_PAGEOUT): {e}")))?;
        let took = ctx.now_ns() - start;
        let there = area.residency().context("mincore")?;
        let mut absent: Vec<usize> = (0..PAGES).filter(|n| !there[*n]).collect();
        (sent, gone) = (sent + PAGES, gone + absent.len());
        if absent.is_empty() {
            return Err(BenchError::Unsupported(
                "no page left memory: swap space is full, or is a disk to which the kernel writes in the background"
                    .to_owned(),
            ));
        }
        ctx.state_as("out", took as f64 * 1e-9 / absent.len() as f64);
        ctx.rng().shuffle(&mut absent);
        for n in absent {
            let before = Usage::thread();
            let start = ctx.now_ns();
            let seen = black_box(area[n * page + page - 1]);
            let took = ctx.now_ns() - start;
            faults.add(&Usage::thread().since(&before));
            wrong += u64::from(seen != lap);
            touches += 1;
            ctx.state(took as f64 * 1e-9);
        }
    }
    ctx.sampled_since(begun);
    let share = gone as f64 / sent as f64;
    ctx.prove("pages that went out, of those sent", "0.9 or more", share, 0.9..=1.0);
    let each = (faults.major + faults.minor) as f64 / touches as f64;
    ctx.prove("faults per touch", "1 (0.95 to 1.1)", each, 0.95..=1.1);
    ctx.fact("swap.major_faults", format!("{:.2}", faults.major as f64 / touches as f64));
    ctx.prove("pages that came back wrong", "0", wrong as f64, 0.0..=0.0);
    Ok(())
}
