//! Members that contend for one lock in short windows: what `lock.contended` and `lock.rwlock`
//! share.
//!
//! A window is as those of `cpu.contention`: all members are at work before the clock is read and
//! until after it was read again, and the member that measures tells from what the lock protects
//! how often each of them had it in between, without a second clock. A start barrier was rejected:
//! it does not give overlap (docs/methods/timing.md#overlap-proof). So was one long window: beside
//! other tasks a member is nearly always without a CPU for some of it.
//!
//! Windows come in two kinds, in turn: in plain ones the members do nothing but contend, in timed
//! ones each turn reads the clock three times, which lengthens the section. Rates and shares come
//! from plain windows, waits and hand-overs from timed ones.
//!
//! See docs/methods/operating-system.md#contended-locks.

use super::members;
use super::tally::{BINS, Times, bin};
use super::turns::{Turns, spend};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, LEAVE, Partners};
use groma_harness::stats::median;
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::counters::Usage;
use groma_harness::sys::shared::{Shared, Word};
use groma_harness::sys::sync::Key;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A lock that members contend for.
pub(super) trait Lock: Send + Sync + 'static {
    /// Runs `section` of this member while no other one has the lock.
    fn hold<T>(&self, member: u32, section: impl FnOnce() -> T) -> io::Result<T>;

    /// Runs `section` of this member while nobody holds the lock alone.
    fn share<T>(&self, member: u32, section: impl FnOnce() -> T) -> io::Result<T> {
        self.hold(member, section)
    }
}

/// The length of a window in nanoseconds where each member has a CPU: that of the intervals of
/// other benchmarks (docs/methods/timing.md#interval-length).
const WINDOW_NS: u64 = 200_000;
/// The least length where they do not, whatever the time limit of the round says, as for a worker
/// group (docs/methods/timing.md#intervals-of-a-worker-group).
const CROWDED_NS: u64 = 20_000_000;
/// The fewest windows of a kind that make a value.
const MIN_WINDOWS: usize = 3;
/// How long a member polls before a window until it sleeps, in nanoseconds.
const AWAKE_NS: u64 = 50_000;
/// Turns of the member that measures before it reads the clock.
const WARM: u64 = 4;
/// How long the member that measures contends between two readings of the clock, in nanoseconds.
const BATCH_NS: f64 = 2_000.0;
/// In the place of the number of a window: a member has failed.
const FAILED: u32 = LEAVE - 1;
/// Words between two that different members write, so that no two share a cache line.
const LINE_WORDS: usize = 32;

// What the lock protects: words on one cache line.

/// Turns that held the lock alone, counted at the beginning of each and at its end.
const BEGUN: usize = 0;
const ENDED: usize = 1;
/// When the lock was given back last in a timed window, and by whom.
const RELEASED_NS: usize = 2;
const RELEASED_BY: usize = 3;

// What is known of a member: words on a line of its own.

/// Turns that held the lock alone, and those that shared it.
const WRITES: usize = 0;
const READS: usize = 1;
/// Turns that shared the lock with one that held it alone.
const TORN: usize = 2;
/// Context switches within windows: involuntary and voluntary ones.
const PREEMPTIONS: usize = 3;
const SLEEPS: usize = 4;

/// The memory that all members share.
pub(super) struct Contest<L> {
    lock: L,
    turns: Turns,
    members: u32,
    /// The last window that has to end; then for each member the window that it is in, and the last
    /// one that it has finished.
    words: Shared<Word>,
    inside: Shared<AtomicU64>,
    rows: Shared<AtomicU64>,
    tallies: Shared<AtomicU32>,
}

/// What is tallied in timed windows, by each member.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    /// From before a member asks for the lock alone until it has it.
    Write,
    /// The same of one that shares it.
    Read,
    /// From before the lock is given back until a member that was waiting by then has it.
    HandOver,
}

impl Wait {
    const ALL: usize = 3;
}

/// One member at its turns.
struct Member<'a, L> {
    contest: &'a Contest<L>,
    number: u32,
    turn: u64,
}

impl<L: Lock> Member<'_, L> {
    fn row(&self, counter: usize) -> &AtomicU64 {
        self.contest.row(self.number, counter)
    }

    /// Only this member writes its row.
    #[inline(always)]
    fn add(&self, counter: usize, more: u64) {
        let word = self.row(counter);
        word.store(word.load(Relaxed) + more, Relaxed);
    }

    /// What a member does while it has the lock alone. The words are not changed atomically: with
    /// two members inside at once a count would be lost.
    #[inline(always)]
    fn write(&self) {
        let inside = &self.contest.inside;
        let begun = inside[BEGUN].load(Relaxed) + 1;
        inside[BEGUN].store(begun, Relaxed);
        spend(self.contest.turns.section);
        inside[ENDED].store(begun, Relaxed);
        self.add(WRITES, 1);
    }

    /// What a member does while it shares the lock.
    #[inline(always)]
    fn read(&self) {
        let inside = &self.contest.inside;
        let ended = inside[ENDED].load(Relaxed);
        spend(self.contest.turns.section);
        self.add(TORN, u64::from(inside[BEGUN].load(Relaxed) != ended));
        self.add(READS, 1);
    }

    /// Who gives the lock back, and when.
    #[inline(always)]
    fn stamp(&self, now_ns: u64) {
        self.contest.inside[RELEASED_BY].store(self.number.into(), Relaxed);
        self.contest.inside[RELEASED_NS].store(now_ns, Relaxed);
    }

    #[inline(always)]
    fn turn(&mut self) -> io::Result<()> {
        let Contest { lock, turns, .. } = self.contest;
        self.turn += 1;
        if turns.writes(self.number, self.turn) {
            lock.hold(self.number, || self.write())?
        } else {
            lock.share(self.number, || self.read())?
        }
        spend(turns.think);
        Ok(())
    }

    /// As [`Member::turn`], with a reading of the clock before the lock is asked for, when it is
    /// there and before it is given back.
    #[inline(always)]
    fn timed_turn(&mut self) -> io::Result<()> {
        let Contest { lock, turns, inside, .. } = self.contest;
        self.turn += 1;
        let asked = Monotonic.now_ns();
        if turns.writes(self.number, self.turn) {
            let (got, handed) = lock.hold(self.number, || {
                let got = Monotonic.now_ns();
                let released = inside[RELEASED_NS].load(Relaxed);
                let by_another = inside[RELEASED_BY].load(Relaxed) != u64::from(self.number);
                self.write();
                self.stamp(Monotonic.now_ns());
                (got, (by_another && asked < released).then(|| got.saturating_sub(released)))
            })?;
            self.tally(Wait::Write, got.saturating_sub(asked));
            handed.into_iter().for_each(|ns| self.tally(Wait::HandOver, ns));
        } else {
            let got = lock.share(self.number, || {
                let got = Monotonic.now_ns();
                self.read();
                got
            })?;
            self.tally(Wait::Read, got.saturating_sub(asked));
        }
        spend(turns.think);
        Ok(())
    }

    #[inline(always)]
    fn tally(&self, wait: Wait, ns: u64) {
        let word = &self.contest.tally(self.number, wait)[bin(ns)];
        word.store(word.load(Relaxed) + 1, Relaxed);
    }

    /// Turns until the window is over, at least one; its context switches are counted.
    fn compete(&mut self, window: u32) -> io::Result<()> {
        let before = Usage::thread();
        self.contest.in_window(self.number).set(window);
        let stop = &self.contest.words[0];
        loop {
            if is_timed(window) {
                self.timed_turn()?
            } else {
                self.turn()?
            }
            if stop.load(Relaxed) == window {
                break;
            }
        }
        self.count_switches(&before);
        Ok(())
    }

    fn count_switches(&self, before: &Usage) {
        let used = Usage::thread().since(before);
        self.add(PREEMPTIONS, used.involuntary);
        self.add(SLEEPS, used.voluntary);
    }

    /// A turn with the lock alone, and within it the clock before and after a look at all turns.
    fn look(&mut self) -> io::Result<Look> {
        let contest = self.contest;
        contest.lock.hold(self.number, || {
            self.write();
            let before_ns = Monotonic.now_ns();
            let turns = (0..contest.members).map(|number| contest.turns_of(number)).collect();
            let look = Look { before_ns, turns, after_ns: Monotonic.now_ns() };
            self.stamp(look.after_ns);
            look
        })
    }
}

/// How many turns each member has had, and when.
struct Look {
    before_ns: u64,
    turns: Vec<u64>,
    after_ns: u64,
}

/// Whether the members read the clock in this window. Windows are numbered from 1.
fn is_timed(window: u32) -> bool {
    window.is_multiple_of(2)
}

/// The result of a window: its length, and the turns of each member in it.
struct Seen {
    ns: f64,
    turns: Vec<u64>,
}

impl Seen {
    fn between(start: &Look, end: &Look) -> Seen {
        let turns = end.turns.iter().zip(&start.turns).map(|(end, start)| end - start).collect();
        Seen { ns: end.before_ns.saturating_sub(start.after_ns) as f64, turns }
    }

    fn all(&self) -> f64 {
        self.turns.iter().sum::<u64>() as f64
    }

    fn per_turn(&self) -> f64 {
        self.ns / self.all()
    }

    fn largest_share(&self) -> f64 {
        self.turns.iter().copied().max().unwrap_or(0) as f64 / self.all()
    }
}

impl<L: Lock> Contest<L> {
    fn new(lock: L, turns: Turns, members: u32) -> io::Result<Contest<L>> {
        let many = members as usize;
        Ok(Contest {
            lock,
            turns,
            members,
            words: Shared::new(1 + 2 * many)?,
            inside: Shared::new(LINE_WORDS)?,
            rows: Shared::new(many * LINE_WORDS)?,
            tallies: Shared::new(many * Wait::ALL * BINS)?,
        })
    }

    fn in_window(&self, member: u32) -> &Word {
        &self.words[1 + 2 * member as usize]
    }

    fn done(&self, member: u32) -> &Word {
        &self.words[2 + 2 * member as usize]
    }

    #[inline(always)]
    fn row(&self, member: u32, counter: usize) -> &AtomicU64 {
        &self.rows[member as usize * LINE_WORDS + counter]
    }

    fn turns_of(&self, member: u32) -> u64 {
        self.row(member, WRITES).load(Relaxed) + self.row(member, READS).load(Relaxed)
    }

    fn sum(&self, counter: usize) -> u64 {
        (0..self.members).map(|member| self.row(member, counter).load(SeqCst)).sum()
    }

    #[inline(always)]
    fn tally(&self, member: u32, wait: Wait) -> &[AtomicU32] {
        &self.tallies[(member as usize * Wait::ALL + wait as usize) * BINS..][..BINS]
    }

    fn member(&self, number: u32) -> Member<'_, L> {
        Member { contest: self, number, turn: 0 }
    }

    /// The life of a member that does not measure.
    fn serve(&self, control: &Control, number: u32) -> io::Result<()> {
        let (mut member, mut done) = (self.member(number), 0);
        control.arrive();
        loop {
            control.command().spin_while(done, AWAKE_NS);
            let window = control.command().wait_while(done);
            if window == LEAVE {
                return Ok(());
            }
            if let Err(e) = member.compete(window) {
                self.in_window(number).set(FAILED);
                self.done(number).set(FAILED);
                return Err(e);
            }
            done = window;
            self.done(number).set(window);
        }
    }
}

/// The contest as the member that measures sees it.
struct Arena<'a, L> {
    contest: &'a Contest<L>,
    own: Member<'a, L>,
    others: Partners,
    window_ns: u64,
    /// Turns between two readings of the clock in a plain window.
    batch: u64,
    crowded: bool,
    next: u32,
    plain: Vec<Seen>,
    timed: usize,
    /// What the timed windows that count have tallied.
    times: [Times; Wait::ALL],
}

impl<L: Lock> Arena<'_, L> {
    /// Waits until the word of each other member is that of the window.
    fn await_others(&mut self, window: u32, word: impl Fn(&Contest<L>, u32) -> &Word) -> Outcome {
        for number in 1..self.contest.members {
            let word = word(self.contest, number);
            word.spin_while(window - 1, AWAKE_NS);
            if self.others.wait_for(word, |seen| seen == window || seen == FAILED)? == FAILED {
                return Err(BenchError::Failed(format!("member {number} was refused the lock")));
            }
        }
        Ok(())
    }

    /// The next window, and whether it counts: the kernel took the CPU from no member, or members
    /// take it from each other.
    fn window(&mut self) -> Outcome {
        let window = self.next;
        self.next += 1;
        let preempted = self.contest.sum(PREEMPTIONS);
        self.others.send_command(window);
        self.await_others(window, Contest::in_window)?;
        let before = Usage::thread();
        let seen = self.compete(is_timed(window));
        self.own.count_switches(&before);
        // Even after an error: the others must not contend for ever.
        self.contest.words[0].store(window, SeqCst);
        let seen = seen.context("taking the lock")?;
        self.await_others(window, Contest::done)?;
        let counts = self.crowded || self.contest.sum(PREEMPTIONS) == preempted;
        if is_timed(window) {
            self.timed += usize::from(counts);
            self.take_tallies(counts);
        } else if counts {
            self.plain.push(seen);
        }
        Ok(())
    }

    fn compete(&mut self, timed: bool) -> io::Result<Seen> {
        for _ in 0..WARM {
            if timed { self.own.timed_turn()? } else { self.own.turn()? }
        }
        let start = self.own.look()?;
        while Monotonic.now_ns().saturating_sub(start.after_ns) < self.window_ns {
            if timed {
                self.own.timed_turn()?;
            } else {
                for _ in 0..self.batch {
                    self.own.turn()?;
                }
            }
        }
        Ok(Seen::between(&start, &self.own.look()?))
    }

    /// Adds what the members have tallied, if the window counts, and clears it.
    fn take_tallies(&mut self, counts: bool) {
        for member in 0..self.contest.members {
            for (wait, times) in [Wait::Write, Wait::Read, Wait::HandOver].into_iter().zip(&mut self.times) {
                let seen = self.contest.tally(member, wait).iter().zip(&mut times.0);
                for (word, times) in seen.filter(|(word, _)| word.load(Relaxed) > 0) {
                    *times += u64::from(word.swap(0, Relaxed)) * u64::from(counts);
                }
            }
        }
    }

    /// Whether there are too few windows of either kind.
    fn has_few(&self) -> bool {
        self.plain.len().min(self.timed) < if self.crowded { 1 } else { MIN_WINDOWS }
    }
}

/// Lets the members contend for the lock. States the time of a turn of all members together, their
/// rate, the largest share and a turn alone, and proves that nobody else was inside. Returns what
/// the timed windows tallied, by [`Wait`]; `None` where too few windows count.
pub(super) fn run<L: Lock>(
    ctx: &mut Ctx,
    lock: impl FnOnce(Key) -> io::Result<L>,
    writes: u64,
) -> Result<Option<[Times; Wait::ALL]>, BenchError> {
    let (members, key) = (members::count(ctx)?, members::key(ctx));
    let crowded = members::are_crowded(ctx, members)?;
    let turns = Turns::new(ctx, writes);
    let lock = lock(key).context("making the lock")?;
    let contest = Arc::new(Contest::new(lock, turns, members).context("sharing memory with the members")?);
    let theirs = Arc::clone(&contest);
    let mut others = members::start(ctx, members, key, move |control, number| theirs.serve(control, number))?;
    others.all_ready()?;

    let mut own = contest.member(0);
    let alone = alone(ctx, &mut own)?;
    let mut arena = Arena {
        contest: &contest,
        own,
        others,
        window_ns: window_ns(ctx, members, crowded),
        batch: (BATCH_NS / (alone * 1e9)).clamp(1.0, 64.0) as u64,
        crowded,
        next: 1,
        plain: Vec::new(),
        timed: 0,
        times: [(); Wait::ALL].map(|()| Times(vec![0; BINS])),
    };
    let limit = ctx.time_limit_ns().max(10_000_000);
    let begun = ctx.now_ns();
    let since = |ctx: &Ctx| ctx.now_ns().saturating_sub(begun);
    // A machine that preempts all the time needs longer. Crowded members have a window of each
    // kind, however long it takes.
    while since(ctx) < limit || (arena.has_few() && (crowded || since(ctx) < 3 * limit)) {
        arena.window()?;
    }
    ctx.sampled_since(begun);

    let few = arena.has_few();
    let Arena { others, plain, times, timed, next, .. } = arena;
    members::end(ctx, others)?;
    prove(ctx, &contest);
    ctx.fact("windows", next - 1);
    ctx.fact("windows.clean", plain.len() + timed);
    if few {
        ctx.unresolved("", "other tasks took the CPU of a member in nearly every window");
        return Ok(None);
    }
    let of = |value: fn(&Seen) -> f64| median(&plain.iter().map(value).collect::<Vec<_>>());
    if let (Some(ns), Some(share)) = (of(Seen::per_turn), of(Seen::largest_share)) {
        ctx.state(ns * 1e-9);
        ctx.state_as("rate", 1e9 / ns);
        ctx.state_as("largest_share", share);
        ctx.state_as("alone", alone);
    }
    Ok(Some(times))
}

/// States a quantile of times, or that there were none and why. Each time holds one reading of the
/// clock, whose cost is left out.
pub(super) fn state_time(ctx: &mut Ctx, output: &str, times: &Times, share: f64, none: &str) {
    match times.quantile(share) {
        Some(ns) => {
            let seconds = (ns - ctx.host().clock_cost_ns) * 1e-9;
            ctx.state_as(output, seconds);
        }
        None => ctx.unresolved(output, none),
    }
}

/// The seconds of a turn of this member while the others sleep.
fn alone<L: Lock>(ctx: &mut Ctx, own: &mut Member<'_, L>) -> Result<f64, BenchError> {
    const TURNS: u64 = 16;
    let cost = work::probe(ctx, 5, TURNS, |iters| {
        let before = own.contest.turns_of(own.number);
        (0..iters * TURNS).try_for_each(|_| own.turn()).context("taking the lock")?;
        Ok(own.contest.turns_of(own.number) - before)
    })?;
    Ok(cost.seconds / TURNS as f64)
}

/// Ten turns of the scheduler where members wait for a CPU, as far as the round has time for them.
fn window_ns(ctx: &Ctx, members: u32, crowded: bool) -> u64 {
    if !crowded {
        return WINDOW_NS;
    }
    let turns = 10.0 * f64::from(members) * ctx.host().timeslice_ns;
    (turns as u64).min((ctx.time_limit_ns() / 2).max(CROWDED_NS))
}

/// Proves that the lock did what it is for: what it protects has lost no turn, and every member had
/// it.
fn prove<L: Lock>(ctx: &mut Ctx, contest: &Contest<L>) {
    let counted = contest.inside[BEGUN].load(SeqCst);
    let lost = contest.sum(WRITES) as f64 - counted as f64;
    ctx.prove("turns that the lock did not count", "0", lost, 0.0..=0.0);
    let without = (0..contest.members).filter(|member| contest.turns_of(*member) == 0).count();
    ctx.prove("members that never had the lock", "0", without as f64, 0.0..=0.0);
    if contest.turns.writes < 100 {
        ctx.prove("reads beside a writer", "0", contest.sum(TORN) as f64, 0.0..=0.0);
    }
    let turns: u64 = (0..contest.members).map(|member| contest.turns_of(member)).sum();
    ctx.fact("sleeps_per_turn", format!("{:.4}", contest.sum(SLEEPS) as f64 / turns.max(1) as f64));
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::thread;

    #[test]
    fn a_window_is_told_by_what_the_lock_protects() {
        let look = |before_ns, after_ns, turns: &[u64]| Look { before_ns, turns: turns.to_vec(), after_ns };
        let seen = Seen::between(&look(90, 100, &[5, 7]), &look(1100, 1200, &[35, 17]));
        assert_eq!((seen.ns, seen.per_turn(), seen.largest_share()), (1000.0, 25.0, 0.75));
    }

    /// A lock that lets everybody in.
    struct Open;

    impl Lock for Open {
        fn hold<T>(&self, _: u32, section: impl FnOnce() -> T) -> io::Result<T> {
            Ok(section())
        }
    }

    #[test]
    fn a_lock_that_does_not_exclude_loses_turns() {
        let lost = (0..100).any(|_| {
            let turns = Turns { section: 100, think: 0, writes: 100 };
            let contest = Arc::new(Contest::new(Open, turns, 2).expect("memory"));
            let many = |number| {
                let contest = Arc::clone(&contest);
                // Until both have been inside, so that one was kept from its CPU there, or both ran
                // at once: on a busy machine one would be done before the other begins.
                let turns = move || {
                    let mut member = contest.member(number);
                    while [0, 1].iter().any(|member| contest.turns_of(*member) < 1000) {
                        member.turn()?;
                    }
                    io::Result::Ok(())
                };
                thread::spawn(128 << 10, turns).expect("a thread")
            };
            for thread in [0, 1].map(many) {
                thread.join().expect("no panic").expect("no error");
            }
            contest.sum(WRITES) != contest.inside[BEGUN].load(SeqCst)
        });
        assert!(lost);
    }
}
