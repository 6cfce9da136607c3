//! Workers that are woken for each request and together use a share of the CPUs: how late they
//! begin.
//!
//! **Measures:** From just before the call that wakes a worker until the worker runs, while the
//! workers together use `load` percent of the CPUs of the run: the wake-up, and the wait for a CPU
//! where others work on all of them. The value is the median of a round; `.p99` and `.p999` are
//! what one in a hundred, and in a thousand, waits at least.
//!
//! **Does not measure:** The time of a request (`http.open_loop`), or one sleeper beside tasks that
//! never sleep (`sched.wakeup`, `sched.interactive`).
//!
//! **Method:** Requests arrive at random, independently of how far the workers are (a Poisson
//! process), and each is the work of so many additions, which took `work` when they were tried
//! before. There are eight workers for each CPU, so that one sleeps when a request arrives. Nobody
//! is pinned.
//!
//! **Calls:**
//! - no trace of `load`: the time between two wake-ups is the clock's
//! - no trace of `work`: a worker works without a call
//!
//! **Proofs:** A wake-up counts only if the kernel reports that it woke a sleeper; the workers have
//! made as many requests as were posted, and none began before it was posted. The fact workers.load
//! is the share of the CPUs that they had by the kernel's account.
//!
//! **Pitfalls:**
//! - The task that wakes them needs a CPU as well: at 95 % it is late itself, which is no part of
//!   the value.
//! - Other load adds to `load`.
//!
//! **Sources:** schbench, whose message threads wake workers at a given rate. See
//! docs/methods/operating-system.md#wake-up-latency.

use super::cpus_of_the_run;
use super::load::STRIDE;
use crate::proofs;
use crate::quantiles::state_quantile;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, LEAVE, Partners};
use groma_harness::sys::arch::add_chain;
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::futex_word::{Scope, is_wait};
use groma_harness::sys::shared::{Shared, Word};
use groma_harness::sys::{affinity, sleep};
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Waking workers that together use a share of the CPUs",
        about: about!("workers.rs"),
        iteration: "one wake-up",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("p99", "the wait of one in a hundred"),
            Output::named("p999", "the wait of one in a thousand").detail(),
        ],
        params: &[
            Param::count("load", "what the workers use, in percent of the CPUs")
                .quick(&["50"])
                .standard(&["80"])
                .full(&["20", "95"]),
            Param::time("work", "CPU time of a request").quick(&["100us"]).full(&["20us", "1ms"]),
        ],
        scaling: Scaling::alone("it keeps all CPUs busy by itself"),
        placements: &[Placement::Free],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("sched.workers")
    },
    run: Run::Here(run),
};

/// Workers for each CPU.
const PER_CPU: usize = 8;
/// The most CPUs whose workers one task can wake in time.
const MAX_CPUS: usize = 64;
/// Wake-ups in a round at least: what a quantile of one in a hundred takes.
const MIN_WAKEUPS: u64 = 400;
/// The most wake-ups in a round.
const MAX_WAKEUPS: u64 = 20_000;
/// What a worker's word holds: it sleeps or will, it has a request, it has to leave.
const IDLE: u32 = 0;
const ASKED: u32 = 1;
const GO: u32 = 2;

/// What the workers share with the one that wakes them.
struct Words {
    states: Shared<Word>,
    /// For each worker when its request began, and how many it has made.
    began: Shared<AtomicU64>,
}

impl Words {
    fn new(workers: usize) -> io::Result<Words> {
        Ok(Words { states: Shared::new(workers * STRIDE)?, began: Shared::new(workers * STRIDE)? })
    }

    fn state(&self, worker: usize) -> &Word {
        &self.states[worker * STRIDE]
    }

    fn began(&self, worker: usize) -> &AtomicU64 {
        &self.began[worker * STRIDE]
    }

    fn made(&self, worker: usize) -> &AtomicU64 {
        &self.began[worker * STRIDE + 1]
    }

    /// The body of a worker.
    fn work(&self, control: &Control, worker: usize, additions: u64) -> io::Result<()> {
        control.arrive();
        loop {
            while self.state(worker).load(SeqCst) == IDLE {
                if !is_wait(Scope::Shared.wait_while(self.state(worker), IDLE)) {
                    return Err(io::Error::other("the futex refused a call"));
                }
            }
            let now = Monotonic.now_ns();
            if self.state(worker).load(SeqCst) == GO {
                return Ok(());
            }
            self.began(worker).store(now, SeqCst);
            std::hint::black_box(add_chain(additions));
            self.made(worker).fetch_add(1, SeqCst);
            self.state(worker).store(IDLE, SeqCst);
        }
    }
}

/// What the wake-ups of a round brought.
#[derive(Default)]
struct Seen {
    posted: u64,
    early: u64,
    /// Wake-ups of workers that were awake still, and arrivals at which all were at work.
    awake: u64,
    refused: u64,
    seconds: Vec<f64>,
}

impl Seen {
    /// Takes the wait of a worker's last request, which it had when it was posted and asleep.
    fn take(&mut self, words: &Words, worker: usize, posted: &mut Option<u64>) {
        if let Some(at) = posted.take() {
            let began = words.began(worker).load(SeqCst);
            self.early += u64::from(began < at);
            self.seconds.push((began as f64 - at as f64) * 1e-9);
        }
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let load = ctx.int("load");
    if !(1..=100).contains(&load) {
        return Err(BenchError::Unsupported("workers use 1 to 100 % of the CPUs".to_owned()));
    }
    let cpus = cpus_of_the_run()?;
    if cpus.len() > MAX_CPUS {
        return Err(BenchError::Unsupported(format!(
            "one task cannot wake the workers of {} CPUs in time",
            cpus.len()
        )));
    }
    affinity::restrict(&cpus).context("leaving the CPU")?;
    let addition_ns = work::addition_ns();
    let additions = work::additions_for(ctx.int("work").max(1), addition_ns);
    let workers = PER_CPU * cpus.len();
    let words = Words::new(workers).context("sharing memory with the workers")?;
    let mut partners = Partners::new()?;
    for worker in 0..workers {
        partners.fork_unplaced(format!("worker {worker}"), |control| {
            affinity::restrict(&cpus).and_then(|()| words.work(control, worker, additions))
        })?;
    }
    partners.all_ready()?;
    let gap_ns = additions as f64 * addition_ns / (cpus.len() as f64 * load as f64 / 100.0);
    let mut seen = Seen::default();
    let mut posted = vec![None; workers];
    let (begun, end) = (ctx.now_ns(), ctx.now_ns() + ctx.time_limit_ns());
    let started = sleep::now_ns();
    let (mut due, mut next) = (started as f64, 0);
    while (seen.seconds.len() as u64) < MIN_WAKEUPS || (seen.posted < MAX_WAKEUPS && ctx.now_ns() < end) {
        // The time to the next arrival of a Poisson process.
        let uniform = (ctx.rng().below(1 << 53) + 1) as f64 / (1u64 << 53) as f64;
        due -= uniform.ln() * gap_ns;
        drop(sleep::until(due as u64));
        let idle = (0..workers).map(|i| (next + i) % workers).find(|i| words.state(*i).load(SeqCst) == IDLE);
        let Some(worker) = idle else {
            seen.refused += 1;
            if seen.refused > MAX_WAKEUPS {
                return Err(BenchError::Failed("the workers do not keep up".to_owned()));
            }
            continue;
        };
        next = worker + 1;
        seen.take(&words, worker, &mut posted[worker]);
        let at = Monotonic.now_ns();
        words.state(worker).store(ASKED, SeqCst);
        seen.posted += 1;
        match Scope::Shared.wake_one(words.state(worker)) {
            1 => posted[worker] = Some(at),
            _ => seen.awake += 1,
        }
        if seen.awake > MAX_WAKEUPS {
            return Err(BenchError::Failed("the workers never sleep".to_owned()));
        }
        if seen.posted % 64 == 0 {
            partners.check_alive()?;
        }
    }
    let elapsed_ns = sleep::now_ns() - started;
    for (worker, posted) in posted.iter_mut().enumerate() {
        partners.wait_for(words.state(worker), |state| state == IDLE)?;
        seen.take(&words, worker, posted);
        words.state(worker).store(GO, SeqCst);
        Scope::Shared.wake_one(words.state(worker));
    }
    ctx.sampled_since(begun);
    partners.send_command(LEAVE);
    let exits = partners.wait()?;
    let busy_ns: u64 = exits.iter().map(|exit| exit.usage.user_ns + exit.usage.system_ns).sum();
    let share = busy_ns as f64 / (elapsed_ns as f64 * cpus.len() as f64);
    ctx.fact("workers.load", format!("{:.0} %", 100.0 * share));
    ctx.fact("workers.refused", seen.refused);
    ctx.fact("workers.awake", seen.awake);
    for (output, p) in [("", 0.5), ("p99", 0.99), ("p999", 0.999)] {
        state_quantile(ctx, output, p, &seen.seconds);
    }
    let made: u64 = (0..workers).map(|worker| words.made(worker).load(SeqCst)).sum();
    work::once_each(ctx, "requests that the workers made, per request posted", made, seen.posted);
    ctx.prove("requests that began before they were posted", "0", seen.early as f64, 0.0..=0.0);
    proofs::all_left_well(ctx, "workers", &exits);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn each_request_is_made_once() {
        let tried = try_out(&BENCH, &[("load", "20"), ("work", "20us")], None).expect("workers");
        assert_eq!(tried.proven("requests that the workers made, per request posted"), 1.0);
        assert_eq!(tried.proven("requests that began before they were posted"), 0.0);
        let waits = tried.stated("").expect("a median");
        assert!(waits > 0.0 && tried.stated("p99").is_none_or(|p99| p99 >= waits));
    }

    #[test]
    fn more_than_all_cpus_are_refused() {
        assert!(matches!(try_out(&BENCH, &[("load", "101")], None), Err(BenchError::Unsupported(_))));
    }
}
