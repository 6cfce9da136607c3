//! Writing to a page that another process still uses: the kernel copies it.
//!
//! **Measures:** The write to a page that a fork has shared and that the child still uses: the
//! exception, a new page, the copy, and the return.
//!
//! **Does not measure:** The fork (`proc.fork_exit`), or other kinds of faults (`vm.fault`).
//!
//! **Method:** A forked child sleeps while the parent writes once to every page of 16 MiB, over as
//! many intervals as that takes; then the next child is forked. Only intervals between two forks
//! count. Huge pages are refused. The copies of a first lap are untimed, so that the host of a
//! virtual machine has backed them.
//!
//! **Proofs:** Every touch is one minor fault, as the kernel counts them within the timed
//! stretches; and the child still exists, with the old contents, after its pages have been copied.
//! Without it the kernel would hand over the page and copy nothing.
//!
//! **Pitfalls:**
//! - Pages that are no longer shared only become writable, and nothing is copied.
//! - Transparent huge pages are refused.
//!
//! **Sources:** See docs/methods/operating-system.md#page-faults.

use super::walk::{AREA, Faults, Walk, write_each};
use crate::parts::{self, Composition, Part, Shown};
use groma_harness::check_memory;
use groma_harness::prelude::*;
use groma_harness::sys::fork::{self, Child};
use groma_harness::sys::io::{pipe, read, read_full, write_full};
use groma_harness::sys::pages::{Map, Policy};
use std::os::fd::{AsFd, OwnedFd};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Write to a page that a child shares: fault and copy",
        about: about!("cow.rs"),
        iteration: "one touch of a page that a child shares",
        scaling: Scaling::processes("copy-on-write forks, which a process with threads must not"),
        composed_of: COMPOSED_OF,
        interference: Interference::Faults,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("vm.cow")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[Composition {
    of: Shown::of("vm.cow", &[]),
    hardware: &[COPY],
    parts: &[parts::FAULTED, COPY],
    rest: "a free page taken, charged and entered, the old one let go; pages of 4 KiB are assumed",
}];

/// The copy, of memory that is in a cache but not in the first.
const COPY: Part = Part::of(
    8192.0,
    "bytes read and written by the copy",
    Shown::of("mem.bandwidth", &[("op", "copy"), ("size", "8M"), ("kernel", "best")]),
);

fn run(ctx: &mut Ctx) -> Outcome {
    sys::process::refuse_huge_pages();
    // The pages and their copies.
    check_memory(2 * AREA as u64)?;
    let mut area = Map::anonymous(AREA, Policy::Base).context("mapping memory")?;
    area.populate();
    let mut lap = Lap::begin(&area)?;
    // The copies of the first lap are new to the host of a virtual machine: write them untimed.
    write_each(&mut area, lap.value);
    let mut lost = u64::from(!lap.end()?);
    let mut forks = 2;
    lap = Lap::begin(&area)?;
    let mut walk = Walk::through(&area);
    let mut faults = Faults::default();
    let most = walk.most();
    let touch = Variant::staged("", |iters, watch| {
        let range = walk.on_or(iters, || {
            lost += u64::from(!lap.end()?);
            lap = Lap::begin(&area)?;
            forks += 1;
            Ok(())
        })?;
        let (touched, value) = (&mut area[range], lap.value);
        faults.time(watch, || write_each(touched, value));
        Ok(())
    });
    ctx.measure_variants(&mut [touch.max_iters(most)])?;
    lost += u64::from(!lap.end()?);
    ctx.fact("cow.forks", forks);
    ctx.prove("children that were gone before their pages were copied", "0", lost as f64, 0.0..=0.0);
    faults.prove_each_minor(ctx, ctx.iterations());
    Ok(())
}

/// A child that shares the memory from its fork until it is told to exit.
struct Lap {
    child: Option<Child>,
    /// The child sleeps as long as this is open.
    hold: Option<OwnedFd>,
    /// The value that the parent writes over the contents that the child knows.
    value: u8,
}

impl Lap {
    /// Forks the child and waits until it sleeps.
    fn begin(area: &Map) -> Result<Lap, BenchError> {
        let (held, hold) = pipe().context("making a pipe")?;
        let (ready, say_ready) = pipe().context("making a pipe")?;
        let old = area[0];
        let child = fork::fork(|| {
            fork::close_copies(&[hold.as_fd()]);
            let told = write_full(say_ready.as_fd(), &[1]).and_then(|()| read(held.as_fd(), &mut [0]));
            i32::from(told.is_err() || area[0] != old)
        });
        let child = child.context("forking a child to share pages with")?;
        drop(say_ready);
        read_full(ready.as_fd(), &mut [0]).context("waiting for the child")?;
        Ok(Lap { child: Some(child), hold: Some(hold), value: old.wrapping_add(1) })
    }

    /// Ends the child. Returns whether it was alive until now and still had the old contents.
    fn end(&mut self) -> Result<bool, BenchError> {
        let Some(mut child) = self.child.take() else { return Ok(false) };
        if child.poll().context("polling the child")?.is_some() {
            return Ok(false);
        }
        self.hold = None;
        Ok(child.wait().context("waiting for the child")?.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::pages::page_size;
    use groma_harness::sys::process;

    /// What the ends of three laps say: the child was killed, saw what was written, or stayed.
    fn ends() -> Result<[bool; 3], BenchError> {
        let mut area = Map::anonymous(page_size(), Policy::Base).context("mapping memory")?;
        area.populate();
        let mut stays = Lap::begin(&area)?;
        write_each(&mut area, stays.value);
        let mut killed = Lap::begin(&area)?;
        if let Some(child) = &mut killed.child {
            process::kill(child.pid());
            while child.poll().context("polling the child")?.is_none() {
                std::thread::yield_now();
            }
        }
        let mut shared = Map::shared(page_size()).context("sharing memory")?;
        let mut sees = Lap::begin(&shared)?;
        write_each(&mut shared, sees.value);
        Ok([killed.end()?, sees.end()?, stays.end()?])
    }

    #[test]
    fn a_child_counts_that_has_the_old_contents_to_the_end() {
        // In a process of its own: children of other tests would hold these pipes open.
        let child = fork::fork(|| i32::from(ends() != Ok([false, false, true])));
        assert_eq!(child.expect("fork").wait().expect("wait").code(), Some(0));
    }
}
