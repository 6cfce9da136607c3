//! The same task on one CPU or on every CPU at once, each with a row of words for its results.
//!
//! The tasks are children that all wait until they may begin, so that none is disturbed by the
//! creation of the others. They die with the worker, and the worker sleeps while they run.

use super::cpus_of_the_run;
use groma_harness::prelude::*;
use groma_harness::rendezvous::Partners;
use groma_harness::sys::shared::Shared;
use groma_harness::sys::{affinity, counters};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Where the tasks are.
pub(super) const CPUS: Param =
    Param::word("cpus", "the CPU on which the round starts, or all allowed ones at once", &["one", "all"])
        .quick(&["one"]);

/// The command to begin.
const BEGIN: u32 = 1;

/// Tasks that wait until they may begin.
pub(super) struct Tasks {
    /// Their CPUs.
    pub(super) cpus: Vec<u32>,
    partners: Partners,
    rows: Shared<AtomicU64>,
    width: usize,
}

impl Tasks {
    /// Starts a task on each CPU that the parameter names. Once told, the task runs `body` with its
    /// CPU and its row of `width` words, which are 0 and resident.
    pub(super) fn new(
        ctx: &Ctx,
        width: usize,
        body: impl Fn(u32, &[AtomicU64]) -> io::Result<()>,
    ) -> Result<Tasks, BenchError> {
        let all = ctx.word(CPUS.name) == "all";
        let cpus = if all { cpus_of_the_run()? } else { vec![counters::current_cpu()] };
        let rows = Shared::<AtomicU64>::new(cpus.len() * width).context("sharing memory with the tasks")?;
        let mut partners = Partners::new()?;
        for (&cpu, row) in cpus.iter().zip(rows.chunks(width)) {
            partners.fork(ctx, format!("the task on CPU {cpu}"), |control| {
                affinity::pin(cpu).context("pinning it")?;
                // Shared memory is not mapped in a new child: take the faults now.
                row.iter().for_each(|word| word.store(0, SeqCst));
                control.await_command();
                body(cpu, row).context("its work")
            })?;
        }
        partners.all_ready()?;
        Ok(Tasks { cpus, partners, rows, width })
    }

    /// Lets all tasks begin, waits until they have finished, and returns their rows.
    pub(super) fn work(self) -> Result<Vec<Vec<u64>>, BenchError> {
        self.partners.send_command(BEGIN);
        self.partners.wait_for_success()?;
        Ok(self.rows.chunks(self.width).map(|row| row.iter().map(|word| word.load(SeqCst)).collect()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::counters::Usage;
    use groma_harness::sys::pages::page_size;
    use groma_harness::testing::try_out;

    /// Pages of a row.
    const PAGES: usize = 64;

    /// States the page faults of each task while it writes to its row, and whether it is where it
    /// should be.
    fn write_rows(ctx: &mut Ctx) -> Outcome {
        let tasks = Tasks::new(ctx, PAGES * page_size() / size_of::<AtomicU64>(), |cpu, row| {
            let before = Usage::thread();
            row.iter().for_each(|word| word.store(u64::MAX, SeqCst));
            row[0].store(Usage::thread().since(&before).minor_faults, SeqCst);
            row[1].store(u64::from(counters::current_cpu() == cpu), SeqCst);
            Ok(())
        })?;
        for row in tasks.work()? {
            ctx.state(row[0] as f64);
            ctx.state_as("at home", row[1] as f64);
        }
        Ok(())
    }

    static ROWS: Benchmark = Benchmark {
        info: Info { timing: Timing::Stated, params: &[CPUS], ..Info::new("test.rows") },
        run: Run::Here(write_rows),
    };

    /// A fault for each page of the row would be found among what the task measures.
    #[test]
    fn a_task_finds_its_row_in_memory_and_itself_on_its_cpu() {
        let all = cpus_of_the_run().expect("an affinity").len();
        for (cpus, many) in [("one", 1), ("all", all)] {
            let tried = try_out(&ROWS, &[("cpus", cpus)], None).expect("tasks");
            let values = |name: &str| tried.result.series(name).map_or(Vec::new(), |s| s.values.clone());
            assert_eq!(values("at home"), vec![1.0; many], "{cpus}");
            let faults = values("");
            assert!(faults.iter().all(|faults| *faults < PAGES as f64 / 2.0), "{cpus}: {faults:?}");
        }
    }
}
