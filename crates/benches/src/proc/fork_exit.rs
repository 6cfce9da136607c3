//! `fork` of the measuring process, `_exit` of the child, and `wait` for its end.
//!
//! **Measures:** The `fork` of libc, as programs call it: the copy of the address space, the
//! child's first and only instructions, the teardown, and the parent's wake-up, from before the
//! call to after the wait.
//!
//! **Does not measure:** `execve`. The child writes nothing either: the value would include that
//! system call.
//!
//! **Method:** Each child is timed alone. Parent and child share the CPU that the worker is pinned
//! to, unless the placement is `free`. The size of the forking process decides what a fork costs
//! (70 us with nothing added, 1.7 ms with 64 MiB touched, on a 2-vCPU KVM guest). So the worker is
//! a fresh, small process with one thread, and its resident size, mappings and threads are facts.
//! `resident` adds touched memory, in base pages or, with `pages=huge`, in huge pages, of which a
//! fork copies one entry instead of 512.
//!
//! Two parts are timed in turn with the whole, each with children of its own:
//! - `first` ends with the child's first instruction, which stamps the time in shared memory. It
//!   includes the wait for the CPU.
//! - `return` ends when the call returns in the parent. It includes the child's whole life where
//!   the scheduler runs the child first.
//!
//! **Calls:**
//! - once `resident=1M`: `madvise(.., 1048576, MADV_POPULATE_WRITE)`
//! - timed `resident=0`: `clock clone wait4 clock`; the wait is timed
//! - timed `resident=0`: `clock clone clock`; fork is timed alone
//!
//! **Proofs:** The exit code of each child; the page faults of the children, since a child with a
//! copied address space faults as soon as it writes to its stack; the share of the touched memory
//! that is resident. A stamp outside the child's life is a failure.
//!
//! **Pitfalls:**
//! - Forking from the process that holds the database and the terminal takes up to milliseconds.
//! - A second thread makes every fork more expensive.
//! - lmbench ignores the exit status of the child.
//! - `exit` in the child would run the parent's handlers and flush its buffers, hence `_exit`.
//!
//! **Sources:** lmbench 1996 table 9 ("fork & exit"); lmbench3 `lat_proc fork`; CSE 221 "process
//! creation". See docs/methods/operating-system.md#fresh-small-worker.

use super::{Children, FAULTS, FIRST, GOOD, LEAVE, PROCESSES, state_parent};
use crate::parts::{Composition, Part, Shown, Times};
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
        composed_of: COMPOSED_OF,
        interference: Interference::Tasks,
        target_half_width: 0.03,
        version: 2,
        ..Info::new("proc.fork_exit")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[Composition {
    of: Shown::of("proc.fork_exit", &[("resident", "0"), ("pages", "base")]),
    hardware: &[],
    parts: &[
        Part::of(1.0, "a task made and started, without memory", Shown::of("proc.vfork_exit.first", &[])),
        Part::of(1.0, "faults of the child, each a copy of a page", Shown::of("vm.cow", &[]))
            .times(Times::Counted(FAULTS, 0.0)),
        Part::of(
            1.0,
            "the end of such a process, until its parent goes on",
            Shown::of("proc.exit", &[("resident", "0")]),
        ),
    ],
    rest: "the memory of the child: copied mappings and page tables",
}];

/// Name of the proof for the memory that a fork has to copy.
const BALLAST: &str = "share of the touched memory that is there";

fn run(ctx: &mut Ctx) -> Outcome {
    let bytes = ctx.int("resident");
    let _ballast = ballast(ctx, bytes)?;
    state_parent(ctx);
    let stamp = Shared::<AtomicU64>::new(1).context("mapping shared memory")?;
    let stamping = Task { code: GOOD, action: ChildAction::Stamp(&stamp[0]) };
    let children = Children::new();
    ctx.measure_variants(&mut [
        children.whole(|| fork_exit(&LEAVE), |_| Ok(())),
        children.first(&stamp[0], || fork_exit(&stamping)),
        children.time_creation(|| fork_exit(&LEAVE)),
    ])?;
    children.prove(ctx);
    children.prove_faults(ctx, "1 or more: copied memory", 1.0);
    Ok(())
}

/// Maps and touches the additional memory; `None` for 0 bytes.
fn ballast(ctx: &mut Ctx, bytes: u64) -> Result<Option<Map>, BenchError> {
    let huge = ctx.word("pages") == "huge";
    if huge && huge_page_size().is_none_or(|page| bytes < page as u64) {
        return Err(BenchError::Unsupported(format!("{bytes} B is less than a transparent huge page of this system")));
    }
    if bytes == 0 {
        return Ok(None);
    }
    let policy = if huge { Policy::Transparent } else { Policy::Base };
    let mut memory = Map::anonymous(bytes as usize, policy).context("mapping the memory to be forked")?;
    memory.populate();
    if huge && memory.huge_bytes().is_none_or(|got| got < bytes / 10 * 9) {
        return Err(BenchError::Unsupported("the system gave base pages where huge ones were asked for".to_owned()));
    }
    let there = memory.resident_pages().context("asking which pages are there")? as f64;
    let pages = (memory.len() / page_size()) as f64;
    ctx.prove(BALLAST, "all, or 0.99 where memory is short", there / pages, 0.99..=1.0);
    Ok(Some(memory))
}

#[cfg(test)]
mod tests {
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
            let size =
                tried.result.output.facts.iter().find(|f| f.key == "fork.resident").expect("the size of the parent");
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
