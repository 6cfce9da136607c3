//! The same task on one CPU or on every CPU at once, each with a row of words for its results.
//!
//! The tasks are children that all wait at a gate, so that none is disturbed by the creation of the
//! others. They die with the worker, and the worker sleeps while they run.

use super::cpus_of_the_run;
use groma_harness::prelude::*;
use groma_harness::sys::fork::Child;
use groma_harness::sys::shared::{self, Shared};
use groma_harness::sys::{affinity, counters};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// Where the tasks are.
pub(super) const CPUS: Param =
    Param::word("cpus", "the CPU on which the round starts, or all allowed ones at once", &["one", "all"])
        .quick(&["one"]);

/// How long to wait for the tasks before checking that all are alive.
const LOOK: Duration = Duration::from_millis(20);

/// The words of the gate: the number of waiting tasks, and whether the gate is open.
const READY: usize = 0;
const OPEN: usize = 1;

/// Tasks that wait at the gate.
pub(super) struct Tasks {
    /// Their CPUs.
    pub(super) cpus: Vec<u32>,
    children: Vec<Child>,
    gate: Shared<AtomicU32>,
    rows: Shared<AtomicU64>,
    width: usize,
}

impl Tasks {
    /// Starts a task on each CPU that the parameter names. When the gate opens, the task runs
    /// `body` with its CPU and its row of `width` words, which are 0 and resident.
    pub(super) fn new(ctx: &Ctx, width: usize, body: impl Fn(u32, &[AtomicU64]) -> i32) -> Result<Tasks, BenchError> {
        let all = ctx.word(CPUS.name) == "all";
        let cpus = if all { cpus_of_the_run()? } else { vec![counters::current_cpu()] };
        let gate = Shared::<AtomicU32>::new(2).context("sharing the gate")?;
        let rows = Shared::<AtomicU64>::new(cpus.len() * width).context("sharing memory with the tasks")?;
        let mut children = Vec::with_capacity(cpus.len());
        for (&cpu, row) in cpus.iter().zip(rows.chunks(width)) {
            children.push(ctx.fork_peer(&[], || {
                if let Err(e) = affinity::pin(cpu) {
                    eprintln!("a task cannot be pinned to CPU {cpu}: {e}");
                    return 1;
                }
                // Shared memory is not mapped in a new child: take the faults now.
                row.iter().for_each(|word| word.store(0, SeqCst));
                gate[READY].fetch_add(1, SeqCst);
                shared::wake(&gate[READY]);
                while gate[OPEN].load(SeqCst) == 0 {
                    shared::wait(&gate[OPEN], 0, None);
                }
                body(cpu, row)
            })?);
        }
        let mut tasks = Tasks { cpus, children, gate, rows, width };
        tasks.gather()?;
        Ok(tasks)
    }

    /// Sleeps until all tasks are at the gate.
    fn gather(&mut self) -> Outcome {
        loop {
            let ready = self.gate[READY].load(SeqCst);
            if ready as usize == self.children.len() {
                return Ok(());
            }
            shared::wait(&self.gate[READY], ready, Some(LOOK));
            for child in &mut self.children {
                if let Some(exit) = child.poll().context("polling the tasks")? {
                    return Err(BenchError::Failed(format!("a task {exit} before it began")));
                }
            }
        }
    }

    /// Opens the gate, waits until all tasks have finished, and returns their rows.
    pub(super) fn work(mut self) -> Result<Vec<Vec<u64>>, BenchError> {
        self.gate[OPEN].store(1, SeqCst);
        shared::wake(&self.gate[OPEN]);
        for (child, cpu) in self.children.drain(..).zip(&self.cpus) {
            let exit = child.wait().context("waiting for a task")?;
            if !exit.success() {
                return Err(BenchError::Failed(format!("the task on CPU {cpu} {exit}")));
            }
        }
        Ok(self.rows.chunks(self.width).map(|row| row.iter().map(|word| word.load(SeqCst)).collect()).collect())
    }
}
