//! `fork` of the measuring process, `_exit` of the child, `wait` for its end.
//!
//! Measures libc's `fork` (what a program calls), the copying of the address space, the child's first and only steps, the
//! tearing down, and the parent's wake-up: from before the call to after the wait. Does not measure `execve`, and the
//! child writes nothing: one more system call would be part of the value.
//!
//! Method: each child is timed alone; parent and child share the CPU that the worker is pinned to, unless the placement is
//! `free`. What a fork costs is the size of the process that forks (here: nothing 70 us, 64 MiB touched 1.7 ms), so the
//! worker is a fresh, small process with one thread, and its resident size, mappings and threads are stated as facts;
//! `resident` adds touched memory in base pages. Proof: the code that each child left with, and the page faults of the
//! children: a child in a copied address space takes some as soon as it writes to its stack.
//!
//! Traps: forking from the process that holds the database and the screen (up to milliseconds); a second thread, which
//! makes every fork dearer; a child whose end nobody looks at (lmbench ignores it); `exit` in the child, which runs the
//! parent's handlers and flushes its buffers.
//!
//! Source: lmbench 1996 table 9 ("fork & exit"), lmbench3 `lat_proc fork`, CSE 221 "process creation".

use super::{GOOD, PROCESSES, measure_children, state_parent};
use groma_harness::prelude::*;
use groma_harness::sys::facts::available_memory;
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::spawn;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Fork, exit of the child, wait",
        about: about!("fork_exit.rs"),
        iteration: "one child: fork, _exit, wait4",
        timing: Timing::Each,
        params: &[Param {
            name: "resident",
            help: "bytes that the forking process has touched beyond what it needs itself",
            kind: ParamKind::Size,
            quick: &[],
            default: &["0"],
            full: &["0", "1M", "16M", "64M", "256M"],
        }],
        scaling: PROCESSES,
        lineage: &["lmbench1996:table9", "lmbench3:lat_proc fork", "cse221:task_creation"],
        interference: Interference::Tasks,
        width: 0.03,
        ..Info::new("proc.fork_exit")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let _ballast = ballast(ctx)?;
    state_parent(ctx);
    let faults = measure_children(ctx, None, || spawn::fork_exit(i32::from(GOOD)))?;
    let each = faults as f64 / ctx.iterations() as f64;
    ctx.prove("page faults of the children, per iteration", "1 or more: copied memory", each, 1.0..);
    Ok(())
}

/// Touched memory in base pages; `None` when none is wanted.
fn ballast(ctx: &Ctx) -> Result<Option<Map>, Stop> {
    let bytes = ctx.int("resident");
    if bytes == 0 {
        return Ok(None);
    }
    let all = bytes.saturating_mul(u64::from(ctx.workers()));
    if let Some(room) = available_memory().filter(|room| all > room / 2) {
        return Err(Stop::Unsupported(format!("needs {all} B, and half of the {room} B of memory available is less")));
    }
    let mut memory = Map::anonymous(bytes as usize, Policy::Base).doing("mapping the memory to be forked")?;
    memory.populate();
    Ok(Some(memory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn every_child_leaves_with_its_code_and_takes_faults_of_its_own() {
        for resident in ["0", "4M"] {
            let tried = try_out(&BENCH, &[("resident", resident)], None).expect("fork");
            assert!(tried.samples("") >= 3);
            assert_eq!(tried.proven("children that left with code 42, per iteration"), 1.0);
            assert!(tried.proven("page faults of the children, per iteration") >= 1.0);
            let size = tried.result.facts.iter().find(|f| f.key == "fork.resident").expect("the size of the parent");
            assert!(size.value.parse::<u64>().expect("bytes") > 4 << 20 || resident == "0");
        }
    }
}
