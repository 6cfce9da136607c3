//! TLB shootdown: what changing a page costs more while other CPUs run threads of the same process.
//!
//! **Measures:** How much longer one call over one present page takes when every CPU that runs a
//! thread of the process has to forget the translation. Those CPUs are interrupted, or notified by
//! hardware, and waited for. `unmap` is `munmap`, `dontneed` is `madvise(MADV_DONTNEED)`, `protect`
//! is `mprotect` to read-only. `membarrier` changes no page: it interrupts the same CPUs, which
//! then have nothing to forget (Linux 4.14), so it is the price of the interrupts alone.
//!
//! **Does not measure:** What the interrupted threads lose, or the TLB misses that follow.
//!
//! **Method:** `threads` threads of this process spin, each on a CPU of its own, or in the control
//! as many other processes spin on the same CPUs: the machine is equally busy, but they have
//! nothing to forget. The two alternate interval by interval in the same round. The main value is
//! their difference, which is never clamped; both are outputs as well.
//!
//! The page is made ready between the calls, untimed, and no call begins before each spinner was
//! seen to go on spinning. The stopwatch runs during the call only and costs the same in both. The
//! placement gives the CPU of the first spinner.
//!
//! **Proofs:** The spinners go on for each call, and each call takes effect: the kernel counts a
//! fault when the page is touched again, `/proc/self/maps` shows the changed permissions, or, of
//! `membarrier`, the CPUs have received interrupts (where they are counted). The
//! number of shootdowns that the spinners' CPUs received (`/proc/interrupts`, where it counts them)
//! is a fact only: making the page ready may cause one, other programs cause some, and hypervisors
//! and CPUs that notify each other without interrupts show none.
//!
//! **Pitfalls:**
//! - Idle CPUs are not interrupted, so sleeping threads cost nothing, and a control without any
//!   load would run on a less busy machine.
//! - A host that has descheduled the other CPU is waited for.
//!
//! **Sources:** See docs/methods/operating-system.md#tlb-shootdown.

use super::walk::{Faults, write_each};
use crate::cpu::other_cpus;
use crate::{proofs, work};
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, LEAVE, Partners};
use groma_harness::sys::counters;
use groma_harness::sys::mapping::{Backing, Mapping, permissions};
use groma_harness::sys::pages::{Map, page_size};
use groma_harness::sys::shared::Shared;
use groma_harness::sys::{affinity, barrier, process};
use std::cell::RefCell;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "TLB shootdown: extra cost of changing a page beside threads",
        about: about!("shootdown.rs"),
        iteration: "one call over one present page",
        outputs: &[
            Output::MAIN.difference("threads", "processes"),
            Output::named("threads", "The call while threads of this process spin elsewhere").detail(),
            Output::named("processes", "The call while other processes spin there").detail(),
        ],
        params: &[
            Param::word(
                "call",
                "munmap, madvise(MADV_DONTNEED), mprotect to read-only, or membarrier, which changes no page",
                &["unmap", "dontneed", "protect", "membarrier"],
            )
            .quick(&["protect"]),
            Param::count("threads", "threads that run on other CPUs").quick(&["1"]).full(&["2", "3", "7", "15", "31"]),
        ],
        scaling: Scaling::alone("it keeps several CPUs busy by itself"),
        placements: &[Placement::SameLlc],
        needs: &[Need::Cpus(2)],
        interference: Interference::Faults,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("vm.shootdown")
    },
    run: Run::Here(run),
};

/// Who has to spin.
const NOBODY: u32 = 0;
const PROCESSES: u32 = 1;
const THREADS: u32 = 2;
/// Words between two counters, so that each has a cache line of its own.
const LINE_WORDS: usize = 16;
/// Pauses in one turn of a spinner: enough not to disturb those who read its counter, and few
/// enough to be seen soon.
const PAUSES: u32 = 8;
/// The most calls in one interval: as long as the other CPUs run, and not much longer.
const MAX_CALLS: u64 = 128;
/// How long to wait for the spinners, in nanoseconds.
const PATIENCE_NS: u64 = 10_000_000_000;

/// The counters of the spinners: those of the processes, then those of the threads.
struct Counters {
    words: Shared<AtomicU64>,
    spinners: usize,
}

impl Counters {
    fn new(spinners: usize) -> std::io::Result<Counters> {
        Ok(Counters { words: Shared::new(2 * spinners * LINE_WORDS)?, spinners })
    }

    /// The counter of spinner `i` of this role.
    fn count(&self, role: u32, i: usize) -> &AtomicU64 {
        &self.words[((role - PROCESSES) as usize * self.spinners + i) * LINE_WORDS]
    }

    fn all(&self, role: u32) -> Vec<u64> {
        (0..self.spinners).map(|i| self.count(role, i).load(Relaxed)).collect()
    }

    /// The body of a spinner: counts while its role has to spin, sleeps otherwise.
    fn spin(&self, control: &Control, role: u32, i: usize) {
        loop {
            match control.command().load(Relaxed) {
                LEAVE => return,
                who if who == role => {
                    for _ in 0..PAUSES {
                        spin_loop();
                    }
                    self.count(role, i).fetch_add(1, Relaxed);
                }
                who => drop(control.command().wait_while(who)),
            }
        }
    }

    /// Waits until each spinner of this role was seen to go on from now, and stores its count.
    /// Progress since it was last seen is not enough: its CPU may have been taken away in between.
    fn see_all(&self, role: u32, counted: &mut [u64], watch: &Stopwatch<'_>) -> Outcome {
        let since = watch.now_ns();
        for (i, counted) in counted.iter_mut().enumerate() {
            let now = self.count(role, i).load(Relaxed);
            *counted = now;
            while *counted == now {
                spin_loop();
                *counted = self.count(role, i).load(Relaxed);
                if watch.now_ns().saturating_sub(since) > PATIENCE_NS {
                    return Err(BenchError::Failed("another CPU did not get to run for 10 s".to_owned()));
                }
            }
        }
        Ok(())
    }
}

/// Starts one process and one thread for each of these CPUs, all asleep. In a round, the first CPU
/// is that of the placement.
fn start(round: Option<&Ctx>, cpus: &[u32], counters: &Arc<Counters>) -> Result<Partners, BenchError> {
    let mut spinners = Partners::new()?;
    for (i, &cpu) in cpus.iter().enumerate() {
        let name = format!("the process that spins on CPU {cpu}");
        let spin = |control: &Control| {
            let pinned = affinity::pin(cpu);
            counters.spin(control, PROCESSES, i);
            pinned
        };
        match round {
            Some(ctx) if i == 0 => spinners.fork(ctx, name, spin)?,
            _ => spinners.fork_unplaced(name, spin)?,
        }
    }
    for (i, &cpu) in cpus.iter().enumerate() {
        let counters = Arc::clone(counters);
        spinners.spawn(move |control| {
            // An unpinned one may share this CPU and then does not spin when needed: the proof
            // breaks.
            drop(affinity::pin(cpu));
            counters.spin(control, THREADS, i);
        })?;
    }
    Ok(spinners)
}

/// What was counted beside spinners of one kind.
#[derive(Default)]
struct Seen {
    /// One touch before each call.
    faults: Faults,
    /// Turns of the slowest spinner, summed over intervals.
    turns: u64,
    /// Pages that were changed.
    calls: u64,
}

fn run(ctx: &mut Ctx) -> Outcome {
    process::refuse_huge_pages();
    // The CPUs of the spinners, beginning with that of the placement.
    let cpus = other_cpus(ctx, ctx.int("threads") as usize)?;
    let spinning = Arc::new(Counters::new(cpus.len()).context("sharing memory")?);
    let spinners = start(Some(ctx), &cpus, &spinning)?;
    let call = ctx.word("call");
    let page = RefCell::new(Page::new(call)?);
    let mut beside = [Seen::default(), Seen::default()];
    let shootdowns = counters::tlb_shootdowns(&cpus);
    let interrupts = counters::function_calls(&cpus);
    let [of_processes, of_threads] = &mut beside;
    let variant = |role: u32, seen: &mut Seen, iters: u64, watch: &mut Stopwatch<'_>| {
        let before = spinning.all(role);
        let mut counted = before.clone();
        let mut seen_calls = 0;
        spinners.send_command(role);
        let page = &mut page.borrow_mut();
        seen.faults.during(|| {
            (0..iters).try_for_each(|_| -> Outcome {
                page.make_ready()?;
                spinning.see_all(role, &mut counted, watch)?;
                page.change(watch)?;
                seen_calls += 1;
                Ok(())
            })
        })?;
        seen.calls += seen_calls;
        seen.turns += counted.iter().zip(&before).map(|(now, before)| now - before).min().unwrap_or(0);
        Ok(())
    };
    let measured = ctx.measure_variants(&mut [
        // The first variant is the one whose time the harness checks against its iterations: the
        // one that nothing can shorten.
        Variant::staged("processes", |iters, watch| variant(PROCESSES, of_processes, iters, watch))
            .max_iters(MAX_CALLS),
        Variant::staged("threads", |iters, watch| variant(THREADS, of_threads, iters, watch)).max_iters(MAX_CALLS),
    ]);
    spinners.send_command(NOBODY);
    measured?;
    let received = counters::tlb_shootdowns(&cpus).zip(shootdowns).map(|(now, before)| now.saturating_sub(before));
    let interrupted = counters::function_calls(&cpus).zip(interrupts).map(|(now, before)| now.saturating_sub(before));
    let exits = spinners.end()?;

    let [of_processes, of_threads] = beside;
    for (who, seen) in [("processes", &of_processes), ("threads", &of_threads)] {
        let name = format!("turns of the {who} that span, per call");
        ctx.prove(&name, "1 or more", seen.turns as f64 / ctx.iterations_of(who) as f64, 1.0..);
        let what = format!("pages changed per change credited, {who}");
        work::once_each(ctx, &what, seen.calls, ctx.iterations_of(who));
    }
    proofs::all_left_well(ctx, "spinners", &exits);
    if let Some(received) = received {
        let per_call = received as f64 / (of_threads.calls * cpus.len() as u64).max(1) as f64;
        ctx.fact("tlb_shootdowns.per_call_and_thread", format!("{per_call:.3}"));
    }
    let page = page.into_inner();
    if let Page::None = page {
        if let Some(interrupted) = interrupted {
            let per_call = interrupted as f64 / (of_threads.calls * cpus.len() as u64).max(1) as f64;
            ctx.prove("interrupts received per call and thread", "1 (0.5 or more)", per_call, 0.5..);
        } else {
            ctx.note("interrupts are not counted here");
        }
        return Ok(());
    }
    // After the last call the page is as that call left it.
    if let Page::Kept(page, true) = page {
        match permissions(&page) {
            Some(seen) => {
                let only_read = f64::from(u8::from(seen == "r--p"));
                ctx.prove("the page may only be read, says /proc/self/maps", "1", only_read, 1.0..=1.0);
            }
            None => ctx.note("/proc/self/maps does not show the page"),
        }
    } else {
        let mut faults = of_processes.faults;
        faults.merge(&of_threads.faults);
        // Pages shared with the forked spinners cause some more.
        ctx.prove("minor faults per touch", "1 (0.98 or more)", faults.per_touch(ctx.iterations()), 0.98..);
    }
    Ok(())
}

/// The page that is changed.
enum Page {
    /// None: a barrier is all.
    None,
    /// A new one for each call, which unmaps it.
    New(Option<Mapping<'static>>),
    /// The same one again and again; true if it is write-protected, false if it is given back.
    Kept(Map, bool),
}

impl Page {
    fn new(call: &str) -> Result<Page, BenchError> {
        if call == "unmap" {
            return Ok(Page::New(None));
        }
        if call == "membarrier" {
            barrier::join()
                .map_err(|e| BenchError::Unsupported(format!("this kernel has no membarrier (Linux 4.14): {e}")))?;
            return Ok(Page::None);
        }
        Ok(Page::Kept(Map::guarded(page_size()).context("mapping a page")?, call == "protect"))
    }

    /// Makes the page present and writable. It is only written: a read first would be a fault of
    /// its own.
    fn make_ready(&mut self) -> Outcome {
        match self {
            Page::None => {}
            Page::New(page) => {
                let page = page.insert(Mapping::new(page_size(), Backing::Anonymous, false).context("mmap")?);
                write_each(page, 1);
            }
            Page::Kept(page, protect) => {
                if *protect {
                    page.protect(true).context("mprotect to writable")?;
                }
                write_each(page, 1);
            }
        }
        Ok(())
    }

    /// Times the call that changes the page.
    fn change(&mut self, watch: &mut Stopwatch<'_>) -> Outcome {
        let done = match self {
            Page::None => {
                watch.start();
                let done = barrier::interrupt();
                watch.stop();
                done
            }
            Page::New(page) => {
                let page = page.take().ok_or_else(|| BenchError::Failed("there is no page".to_owned()))?;
                watch.start();
                let done = page.unmap();
                watch.stop();
                done
            }
            Page::Kept(page, protect) => {
                watch.start();
                let done = if *protect { page.protect(false) } else { page.drop_pages() };
                watch.stop();
                done
            }
        };
        done.context("changing the page")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::clock::{Clock, Monotonic};
    use groma_harness::testing::try_out;

    #[test]
    fn nobody_to_tell_is_said() {
        let tried = try_out(&BENCH, &[("threads", "100000")], None).map(|_| ());
        assert!(matches!(tried, Err(BenchError::Unsupported(_))), "{tried:?}");
    }

    /// Interrupts on another CPU for each change of a page, where a thread of this process spins
    /// there; `None` where the kernel counts none.
    fn interrupts_of_a_thread(there: u32) -> Option<f64> {
        const CHANGES: u64 = 50;
        let counters = Arc::new(Counters::new(1).expect("memory"));
        let spinners = start(None, &[there], &counters).expect("a process and a thread");
        let mut page = Map::guarded(page_size()).expect("a page");
        spinners.send_command(THREADS);
        let before = counters::tlb_shootdowns(&[there]);
        for _ in 0..CHANGES {
            page.protect(true).expect("mprotect");
            write_each(&mut page, 1);
            let (seen, since) = (counters.all(THREADS), Monotonic.now_ns());
            while counters.all(THREADS) == seen {
                assert!(Monotonic.now_ns() - since < 10_000_000_000, "the thread does not run");
                spin_loop();
            }
            page.protect(false).expect("mprotect");
        }
        let received = counters::tlb_shootdowns(&[there])?.saturating_sub(before?);
        spinners.send_command(NOBODY);
        spinners.end().expect("they leave");
        (received > 0).then(|| received as f64 / CHANGES as f64)
    }

    /// A CPU is told of a changed page when it runs a thread of the process that the page is of,
    /// and not when it runs another process. The one that changes the page waits for that.
    #[test]
    fn the_threads_beside_a_change_are_of_this_process() {
        let allowed = affinity::allowed().expect("an affinity");
        let [here, there, ..] = allowed[..] else { return println!("skipped: one CPU") };
        // Other tests of this process change pages, too, which adds to both numbers now and then.
        let mut tried = Vec::new();
        for _ in 0..5 {
            affinity::pin(here).expect("this CPU");
            let least = (0..3).filter_map(|_| interrupts_of_a_thread(there)).reduce(f64::min);
            affinity::restrict(&allowed).expect("these CPUs");
            let Some(each) = least else { return println!("skipped: nothing is counted") };
            let round = try_out(&BENCH, &[("threads", "1"), ("call", "protect")], None).expect("two CPUs");
            let seen = round.result.fact("tlb_shootdowns.per_call_and_thread").map(|text| text.parse::<f64>());
            let seen = seen.expect("counted").expect("a number");
            let [beside_threads, beside_processes] = ["threads", "processes"].map(|who| round.least_ns(who));
            if seen > each / 4.0 && beside_threads > 1.1 * beside_processes {
                return;
            }
            tried.push((seen, each, beside_threads, beside_processes));
        }
        panic!("interrupts a call, what a change beside a thread makes, ns beside threads and processes: {tried:?}");
    }
}
