//! `fork` of the measuring process, `_exit` of the child, `wait` for its end.
//!
//! Measures libc's `fork` (what a program calls), the copying of the address space, the child's first and only steps, the
//! tearing down, and the parent's wake-up: from before the call to after the wait. Does not measure `execve`, and the
//! child writes nothing: one more system call would be part of the value.
//!
//! Method: each child is timed alone; parent and child share the CPU that the worker is pinned to, unless the placement is
//! `free`. What a fork costs is the size of the process that forks (here: nothing 70 us, 64 MiB touched 1.7 ms), so the
//! worker is a fresh, small process with one thread, and its resident size, mappings and threads are stated as facts;
//! `resident` adds touched memory, in base pages or (`pages=huge`) in huge ones, of which a fork copies one entry for 512.
//! Two parts are timed in turn with the whole, with children of their own: until the child's first instruction (`first`:
//! a stamp that it leaves in shared memory; it waits for its turn on the CPU), and until the parent's call has returned
//! (`return`), within which the child's whole life is where the scheduler lets it go first.
//!
//! Proofs: the code that each child left with; the page faults of the children: a child in a copied address space takes
//! some as soon as it writes to its stack; how much of the touched memory is there. A stamp outside of the child's life is
//! a failure.
//!
//! Traps: forking from the process that holds the database and the screen (up to milliseconds); a second thread, which
//! makes every fork dearer; a child whose end nobody looks at (lmbench ignores it); `exit` in the child, which runs the
//! parent's handlers and flushes its buffers.
//!
//! Source: lmbench 1996 table 9 ("fork & exit"), lmbench3 `lat_proc fork`, CSE 221 "process creation".

use super::{Children, FIRST, GOOD, LEAVE, PROCESSES, state_parent};
use groma_harness::prelude::*;
use groma_harness::sys::pages::{Map, Policy, huge_page_size, page_size};
use groma_harness::sys::shared::Shared;
use groma_harness::sys::spawn::{ChildAction, Task, fork_exit};
use std::sync::atomic::AtomicU64;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Fork, exit of the child, wait",
        about: about!("fork_exit.rs"),
        iteration: "one child: fork, _exit, wait4",
        timing: Timing::Each,
        outputs: &[Output::MAIN, FIRST, Output::named("return", "from the call to its return in the parent")],
        params: &[
            Param::size("resident", "bytes that the forking process has touched beyond what it needs itself")
                .takes(Memory::PerMember(1))
                .quick(&["0"])
                .full(&["1M", "16M", "64M", "256M"]),
            Param::word("pages", "page size of this memory", &["base", "huge"]).quick(&["base"]),
        ],
        scaling: PROCESSES,
        lineage: &[
            "lmbench1996:table9",
            "lmbench3:lat_proc fork",
            "cse221:task_creation",
            "libmicro:fork",
            "perf_bench:syscall fork",
        ],
        interference: Interference::Tasks,
        target_half_width: 0.03,
        ..Info::new("proc.fork_exit")
    },
    run: Run::Here(run),
};

/// What is proven of the memory that is forked.
const BALLAST: &str = "share of the touched memory that is there";

fn run(ctx: &mut Ctx) -> Outcome {
    let bytes = ctx.int("resident");
    let _ballast = ballast(ctx, bytes)?;
    state_parent(ctx);
    let stamp = Shared::<AtomicU64>::new(1).context("mapping shared memory")?;
    let stamping = Task { code: GOOD, deed: ChildAction::Stamp(&stamp[0]) };
    let children = Children::new();
    ctx.measure_variants(&mut [
        children.whole(|| fork_exit(&LEAVE), |_| Ok(())),
        children.first(&stamp[0], || fork_exit(&stamping)),
        children.returned(|| fork_exit(&LEAVE)),
    ])?;
    children.prove(ctx);
    children.prove_faults(ctx, "1 or more: copied memory", 1.0);
    Ok(())
}

/// Touched memory; `None` when none is wanted.
fn ballast(ctx: &mut Ctx, bytes: u64) -> Result<Option<Map>, BenchError> {
    let huge = ctx.word("pages") == "huge";
    if huge && huge_page_size().is_none_or(|page| bytes < page as u64) {
        return Err(BenchError::Unsupported(format!("{bytes} B are no transparent huge page of this system")));
    }
    if bytes == 0 {
        return Ok(None);
    }
    let policy = if huge { Policy::Transparent } else { Policy::Base };
    let mut memory = Map::anonymous(bytes as usize, policy).context("mapping the memory to be forked")?;
    memory.populate();
    if huge && memory.huge_bytes().is_some_and(|got| got < bytes / 10 * 9) {
        return Err(BenchError::Unsupported("the system gave base pages where huge ones were asked for".to_owned()));
    }
    let there = memory.resident_pages().context("asking which pages are there")? as f64;
    let pages = (memory.len() / page_size()) as f64;
    ctx.prove(BALLAST, "all, or 0.99 where memory is short", there / pages, 0.99..=1.0);
    Ok(Some(memory))
}

#[cfg(test)]
mod tests {
    use super::super::FAULTS;
    use super::*;
    use groma_harness::model::WorkerKind;
    use groma_harness::sys::counters::Usage;
    use groma_harness::testing::{try_group, try_out};

    #[test]
    fn every_child_leaves_with_its_code_and_takes_faults_of_its_own() {
        for (resident, pages) in [("0", "base"), ("4M", "base"), ("4M", "huge")] {
            let tried = match try_out(&BENCH, &[("resident", resident), ("pages", pages)], None) {
                Err(BenchError::Unsupported(why)) if pages == "huge" => {
                    eprintln!("not tried: {why}");
                    continue;
                }
                tried => tried.expect("fork"),
            };
            assert!(["", "first", "return"].iter().all(|series| tried.samples(series) >= 3));
            assert_eq!(tried.proven("children that left with code 42, per iteration"), 1.0);
            if Usage::process().minor_faults > 0 {
                assert!(tried.proven(FAULTS) >= 1.0);
            }
            let size = tried.result.facts.iter().find(|f| f.key == "fork.resident").expect("the size of the parent");
            assert!(resident == "0" || tried.proven(BALLAST) >= 0.99);
            assert!(size.value.parse::<u64>().expect("bytes") > 4 << 20 || resident == "0");
        }
    }

    #[test]
    fn a_worker_group_forks_and_times_all_parts() {
        let tried = try_group(&BENCH, &[], None, 2, WorkerKind::Processes).expect("two members");
        assert!(["", "first", "return"].iter().all(|series| tried.samples(series) >= 2));
        assert_eq!(tried.proven("children that left with code 42, per iteration"), 1.0);
    }
}
