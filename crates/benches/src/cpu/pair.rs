//! Two processes on two CPUs that pass through the same short windows, awake within each window.
//!
//! The process that measures gives each window a number. Its peer answers that it is ready, and
//! both do their part. Between windows, a process that is not answered at once sleeps: the
//! scheduler soon lets a sleeper run again, and nothing is measured while one process spins and the
//! other waits for its CPU. A window counts when the kernel took the CPU from neither.
//!
//! The memory that they pass back and forth is in blocks of whole pages that nobody has touched,
//! half of them touched first by each process. A line that was ever someone else's, or whose home
//! is elsewhere, makes the transfer one between three parties (core-to-core-latency, issues 97 and
//! 155). Each block has several places, since the address decides where on the chip a line has its
//! home.
//!
//! See docs/methods/processor.md#pairs-of-cpus.

use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, LEAVE, Partners};
use groma_harness::sys::counters::{Usage, current_cpu};
use groma_harness::sys::fork::PeerWatch;
use groma_harness::sys::pages::{page_size, round_up};
use groma_harness::sys::shared::{Shared, Word};
use groma_harness::sys::topology::Topology;
use groma_harness::sys::{affinity, process};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Polls of a word before the peer counts as gone: seconds, while time slices are milliseconds.
const PATIENCE: u64 = 1 << 30;
/// Polls between two checks whether the peer has died.
const LOOKS: u64 = 1 << 12;
/// How long a process polls for its peer before a window until it sleeps, in nanoseconds.
const AWAKE_NS: u64 = 50_000;

/// Spins with plain loads until the condition holds.
///
/// # Errors
/// When the peer has died, or does not answer for seconds.
#[inline(always)]
pub(super) fn wait_until(mut holds: impl FnMut() -> bool) -> io::Result<()> {
    for look in 1..PATIENCE {
        if holds() {
            return Ok(());
        }
        if look.is_multiple_of(LOOKS) && PeerWatch::saw_an_end() {
            return Err(io::Error::other("the peer has ended"));
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not answer"))
}

/// Blocks of memory, half of them touched first by each process.
pub(super) const BLOCKS: usize = 6;
/// Places in a block.
const PLACES: usize = 4;
/// Places of all blocks.
pub(super) const SLOTS: usize = BLOCKS * PLACES;
/// Bytes in a word.
const WORD: usize = 8;
/// Distance from one word of a place to another on a line of its own: no processor has longer
/// lines.
const LINE_WORDS: usize = 256 / WORD;
/// Offset of the payload lines, in words.
const LOAD: usize = 2 * LINE_WORDS;
/// How far each place is shifted against the one before, in words, so that not all have the same
/// offset within a kibibyte.
const SKEW: usize = 64 / WORD;

/// Untouched memory, cut into blocks and places.
pub(super) struct LinePool {
    words: Shared<AtomicU64>,
    block: usize,
    stride: usize,
    line: usize,
    lines: usize,
}

/// A place: two words with a line each, and payload lines.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    words: &'a [AtomicU64],
    line: usize,
    lines: usize,
}

impl<'a> Place<'a> {
    /// The first word.
    #[inline(always)]
    pub(super) fn first(&self) -> &'a AtomicU64 {
        &self.words[0]
    }

    /// A word on the first one's line: the fifth, half of the shortest line away.
    #[inline(always)]
    pub(super) fn beside(&self) -> &'a AtomicU64 {
        &self.words[32 / WORD]
    }

    /// A word on a line of its own.
    #[inline(always)]
    pub(super) fn apart(&self) -> &'a AtomicU64 {
        &self.words[LINE_WORDS]
    }

    /// A word of each payload line.
    #[inline(always)]
    pub(super) fn load(&self) -> impl Iterator<Item = &'a AtomicU64> {
        self.words[LOAD..].iter().step_by(self.line).take(self.lines)
    }
}

impl LinePool {
    /// Places with `lines` payload lines of `line` bytes.
    pub(super) fn new(lines: usize, line: usize) -> io::Result<LinePool> {
        process::refuse_huge_pages();
        let line = line / WORD;
        let stride = (LOAD + lines * line + PLACES * SKEW).next_power_of_two().max(1024 / WORD);
        let block = round_up(PLACES * stride, page_size() / WORD);
        Ok(LinePool { words: Shared::untouched(BLOCKS * block)?, block, stride, line, lines })
    }

    fn block(&self, block: usize) -> &[AtomicU64] {
        &self.words[block * self.block..][..self.block]
    }

    /// One of the places of a block.
    pub(super) fn place(&self, slot: Slot) -> Place<'_> {
        let from = slot.place * (self.stride + SKEW);
        Place { words: &self.block(slot.block)[from..], line: self.line, lines: self.lines }
    }

    /// Touches every page of a block.
    fn touch(&self, block: usize) {
        for word in self.block(block).iter().step_by(page_size() / WORD) {
            word.store(0, SeqCst);
        }
    }

    /// Before a window: touches its block, if it is untouched and this side is the one to touch it,
    /// which is the one that measures or its peer.
    fn touch_first(&self, slot: Slot, measures: bool) {
        if slot.is_first() && slot.is_touched_here() == measures {
            self.touch(slot.block);
        }
    }
}

/// The place of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) block: usize,
    pub(super) place: usize,
    /// The number of earlier windows in this place.
    pub(super) visit: u64,
}

impl Slot {
    /// The slot of a window: all places of all blocks in turn, repeatedly.
    pub(super) fn of(window: u32) -> Slot {
        let window = window as usize;
        let (place, block) = (window % PLACES, window / PLACES % BLOCKS);
        Slot { block, place, visit: (window / PLACES / BLOCKS) as u64 }
    }

    /// Whether this is the first window in its block, which is still untouched.
    fn is_first(self) -> bool {
        self.visit == 0 && self.place == 0
    }

    /// Whether the process that measures touches the block first.
    pub(super) fn is_touched_here(self) -> bool {
        self.block.is_multiple_of(2)
    }
}

// The words besides the command, which is the number of the window that has to begin. Windows are
// numbered from 1.

/// The window that the peer is in.
const READY: usize = 0;
/// The last window that the peer has finished.
const DONE: usize = 1;
/// The last window that has to end.
const STOP: usize = 2;
const WORDS: usize = 3;

/// Involuntary context switches of the peer.
const SWITCHES: usize = 0;
/// The total work of the peer.
const WORK: usize = 1;
/// Whether the peer was on another CPU than its own.
const ASTRAY: usize = 2;
const COUNTED: usize = 3;

/// A window, as one process sees it.
pub(super) struct Window<'a> {
    pub(super) slot: Slot,
    pub(super) place: Place<'a>,
    stop: &'a AtomicU32,
    number: u32,
}

impl Window<'_> {
    /// Whether the window has to end, for the process that does not measure.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Relaxed) == self.number
    }

    /// Ends the window, for the process that measures.
    pub(super) fn end(&self) {
        self.stop.store(self.number, SeqCst);
    }
}

/// This process and its peer, which waits for windows.
pub(super) struct Pair<'a> {
    shared: &'a SharedState,
    peer: Partners,
    peer_watch: Option<PeerWatch>,
    here: u32,
    there: u32,
    next: u32,
    /// The total work of this process, as reported by its parts.
    pub(super) work: u64,
}

/// The memory that both processes share; created before the peer.
pub(super) struct SharedState {
    words: Shared<Word>,
    counts: Shared<AtomicU64>,
    pub(super) pool: LinePool,
}

impl SharedState {
    /// Places with `lines` payload lines of `line` bytes.
    pub(super) fn new(lines: usize, line: usize) -> Result<SharedState, BenchError> {
        let make = || {
            let (words, counts) = (Shared::new(WORDS)?, Shared::new(COUNTED * LINE_WORDS)?);
            Ok(SharedState { words, counts, pool: LinePool::new(lines, line)? })
        };
        make().context("sharing memory with the peer")
    }

    fn count(&self, counter: usize) -> &AtomicU64 {
        &self.counts[counter * LINE_WORDS]
    }

    /// How many sides are on another CPU than their own: this one, whose CPU that is, and the peer
    /// in its last window.
    fn astray(&self, here: u32) -> u64 {
        u64::from(current_cpu() != here) + self.count(ASTRAY).load(SeqCst)
    }

    pub(super) fn window(&self, number: u32) -> Window<'_> {
        let slot = Slot::of(number - 1);
        Window { slot, place: self.pool.place(slot), stop: &self.words[STOP], number }
    }

    /// The peer's main loop: runs `part`, which returns the work that it did, in every window.
    fn serve(
        &self,
        control: &Control,
        cpu: u32,
        mut part: impl FnMut(&Window<'_>) -> io::Result<u64>,
    ) -> io::Result<()> {
        affinity::pin(cpu)?;
        let before = Usage::thread();
        let (mut done, mut work) = (0, 0);
        loop {
            control.command().spin_while(done, AWAKE_NS);
            let go = control.command().wait_while(done);
            self.count(ASTRAY).store(u64::from(current_cpu() != cpu), SeqCst);
            if go == LEAVE {
                return Ok(());
            }
            let window = self.window(go);
            self.pool.touch_first(window.slot, false);
            self.words[READY].set(go);
            work += part(&window)?;
            self.count(WORK).store(work, SeqCst);
            self.count(SWITCHES).store(preemptions(&Usage::thread().since(&before)), SeqCst);
            done = go;
            self.words[DONE].set(go);
        }
    }
}

/// The CPU of this process and that of the peer.
fn cpus(ctx: &Ctx) -> Result<(u32, u32), BenchError> {
    let here = current_cpu();
    affinity::pin(here).context("pinning the process that measures")?;
    let there = match ctx.peer_cpu() {
        Some(there) => Some(there),
        // Free placement: any other CPU. This process is pinned now, its supervisor is not.
        None => {
            let allowed = affinity::allowed_to(process::parent_id()).context("reading the allowed CPUs")?;
            allowed.into_iter().find(|cpu| *cpu != here)
        }
    };
    match there {
        Some(there) if there != here => Ok((here, there)),
        Some(_) => Err(BenchError::Unsupported("two processes that spin on one CPU wait for the scheduler".to_owned())),
        None => Err(BenchError::Unsupported("one CPU allowed".to_owned())),
    }
}

/// The result of a window.
pub(super) struct Measured<T> {
    pub(super) slot: Slot,
    pub(super) seen: T,
    /// Whether the kernel took the CPU from neither process.
    pub(super) clean: bool,
}

/// How often the kernel took the CPU away. Whoever sleeps gives it up.
fn preemptions(used: &Usage) -> u64 {
    used.involuntary
}

/// Whether the kernel took the CPU from neither process: how often from this one during the window,
/// and how often from the peer before it and by its end. A sleep before the window is harmless.
fn is_clean(here: u64, there: [u64; 2]) -> bool {
    here == 0 && there[0] == there[1]
}

impl<'a> Pair<'a> {
    /// Forks the peer, which runs `part` in every window. `part` returns the work that it did.
    /// Records facts about the pair.
    pub(super) fn start(
        ctx: &mut Ctx,
        shared: &'a SharedState,
        part: impl FnMut(&Window<'_>) -> io::Result<u64>,
    ) -> Result<Pair<'a>, BenchError> {
        let (here, there) = cpus(ctx)?;
        ctx.fact("pair", format!("{here},{there}"));
        // By number: a worker is pinned, so the topology of its allowed CPUs has one CPU.
        let declared = Topology::from_tree(Path::new("/"), &[here, there]);
        ctx.fact("relation", declared.relation(here, there).map_or("unknown", |relation| relation.name()));
        let mut peer = Partners::new()?;
        peer.fork(ctx, "the peer", |control| shared.serve(control, there, part))?;
        let peer_watch = peer.watch()?;
        Ok(Pair { shared, peer, peer_watch, here, there, next: 1, work: 0 })
    }

    /// Runs the next window: `part` here, while the peer does its own.
    pub(super) fn window<T>(
        &mut self,
        part: impl FnOnce(&Window<'_>) -> io::Result<(T, u64)>,
    ) -> Result<Measured<T>, BenchError> {
        let (shared, number) = (self.shared, self.next);
        self.next += 1;
        let window = shared.window(number);
        shared.pool.touch_first(window.slot, true);
        let before = Usage::thread();
        let there = shared.count(SWITCHES).load(SeqCst);
        let ready = shared.words[READY].load(SeqCst);
        self.peer.send_command(number);
        self.answer(READY, ready)?;
        let done = shared.words[DONE].load(SeqCst);
        let seen = part(&window);
        window.end();
        let (seen, work) = seen.map_err(|e| self.peer.explain(BenchError::Failed(e.to_string())))?;
        self.work += work;
        // The peer may have finished before `done` was read.
        if done != number {
            self.answer(DONE, done)?;
        }
        let here = preemptions(&Usage::thread().since(&before));
        let clean = is_clean(here, [there, shared.count(SWITCHES).load(SeqCst)]);
        Ok(Measured { slot: window.slot, seen, clean })
    }

    /// Waits until a word of the peer differs from `old`: spins for [`AWAKE_NS`], then sleeps.
    fn answer(&mut self, place: usize, old: u32) -> Outcome {
        let word = &self.shared.words[place];
        word.spin_while(old, AWAKE_NS);
        self.peer.wait_for(word, |now| now != old).map(drop)
    }

    /// Ends the peer, and states the proofs of every pair: both processes were on their CPUs, and
    /// the peer exited with 0. Returns the total work of the peer.
    pub(super) fn end(self, ctx: &mut Ctx) -> Result<u64, BenchError> {
        drop(self.peer_watch);
        let exit = self.peer.end()?[0];
        crate::proofs::peer_ended_well(ctx, &exit);
        let astray = self.shared.astray(self.here);
        ctx.prove("sides that were found on another CPU", "0", astray as f64, 0.0..=0.0);
        ctx.fact("windows", self.next - 1);
        debug_assert_ne!(self.here, self.there);
        Ok(self.shared.count(WORK).load(SeqCst))
    }
}

/// Runs windows until there are `enough`, or for three times the round's time limit, which a
/// machine that preempts all the time needs. A quiet machine needs a tenth of it.
pub(super) fn windows<T>(
    ctx: &Ctx,
    pair: &mut Pair<'_>,
    mut enough: impl FnMut(&[Measured<T>]) -> bool,
    mut part: impl FnMut(&Window<'_>) -> io::Result<(T, u64)>,
) -> Result<Vec<Measured<T>>, BenchError> {
    let until = ctx.now_ns() + 3 * ctx.time_limit_ns().max(10_000_000);
    let mut all = Vec::new();
    while !enough(&all) && ctx.now_ns() < until {
        all.push(pair.window(&mut part)?);
    }
    Ok(all)
}

/// A value for each block: the result of `of` on the values of its clean windows.
pub(super) fn by_block<T>(
    windows: &[Measured<T>],
    value: impl Fn(&T) -> f64,
    of: impl Fn(&[f64]) -> Option<f64>,
) -> Vec<Option<f64>> {
    let block = |block| {
        let own = windows.iter().filter(|w| w.clean && w.slot.block == block);
        of(&own.map(|w| value(&w.seen)).collect::<Vec<_>>())
    };
    (0..BLOCKS).map(block).collect()
}

/// The fewest blocks with a value; with fewer, the round has no result.
const MIN_BLOCKS: usize = 3;

/// The values of the blocks, if at least [`MIN_BLOCKS`] have one; otherwise the output is
/// unresolved.
pub(super) fn enough_blocks(ctx: &mut Ctx, blocks: &[Option<f64>]) -> Option<Vec<f64>> {
    let known: Vec<f64> = blocks.iter().copied().flatten().collect();
    if known.len() >= MIN_BLOCKS {
        return Some(known);
    }
    ctx.unresolved("", "the two CPUs were hardly ever free at the same time");
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::stats::least;
    use groma_harness::testing::try_out;

    #[test]
    fn every_place_of_every_block_has_its_turn_and_its_own_lines() {
        let slots: Vec<Slot> = (0..2 * SLOTS as u32).map(Slot::of).collect();
        for (i, slot) in slots.iter().enumerate() {
            assert_eq!(slot.visit, (i / SLOTS) as u64);
            assert!(!slots[..i].contains(slot));
        }
        assert_eq!(slots.iter().filter(|s| s.is_first()).count(), BLOCKS);
        let here = slots.iter().filter(|s| s.is_first() && s.is_touched_here()).count();
        assert_eq!(here, BLOCKS / 2, "one half of the blocks for each side");
        for lines in [0, 1, 4, 16, 100] {
            let pool = LinePool::new(lines, 64).expect("memory");
            let mut words: Vec<usize> = Vec::new();
            for slot in &slots[..SLOTS] {
                let place = pool.place(*slot);
                let at = |word: &AtomicU64| std::ptr::from_ref(word).addr() / 64;
                assert_eq!(at(place.first()), at(place.beside()));
                assert_eq!(place.load().count(), lines);
                words.extend([at(place.first()), at(place.apart())].into_iter().chain(place.load().map(at)));
            }
            let many = words.len();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), many, "{lines}: two that want a line have the same one");
        }
    }

    /// The bytes of the pool that this process has mapped; `None` without `/proc`.
    fn resident(pool: &LinePool) -> Option<usize> {
        let bytes = sys::pages::smaps_bytes(pool.words.as_ptr().addr(), pool.words.len() * WORD, "Rss")?;
        Some(bytes as usize)
    }

    /// A line whose page others have touched has its home there, and is passed on by way of it.
    #[test]
    fn nobody_has_touched_the_blocks_and_each_side_touches_half_of_them() {
        // More than one page for each block.
        let pool = LinePool::new(page_size() / 64, 64).expect("memory");
        let Some(untouched) = resident(&pool) else { return println!("skipped: no /proc/self/smaps") };
        let all = pool.words.len() * WORD;
        let touched_by = |measures| {
            (0..2 * SLOTS as u32).for_each(|window| pool.touch_first(Slot::of(window), measures));
            resident(&pool).expect("as before")
        };
        assert_eq!((untouched, touched_by(true), touched_by(false)), (0, all / 2, all));
    }

    /// Windows in which neither side touches anything by itself, and how often one of them had
    /// other blocks mapped than those that it was to touch up to then.
    fn touch_in_turns(ctx: &mut Ctx) -> Outcome {
        let shared = SharedState::new(page_size() / 64, 64)?;
        let pool = &shared.pool;
        let wrong = |window: &Window<'_>, here: bool| {
            let own = (0..=window.slot.block).filter(|block| block.is_multiple_of(2) == here).count();
            u64::from(resident(pool) != Some(own * pool.block * WORD))
        };
        if resident(pool).is_none() {
            return Err(BenchError::Unsupported("no /proc/self/smaps".to_owned()));
        }
        let look = |window: &Window<'_>| if window.slot.visit > 0 { 0 } else { wrong(window, false) };
        let mut pair = Pair::start(ctx, &shared, |window| Ok(look(window)))?;
        for _ in 0..SLOTS {
            pair.window(|window| Ok(((), wrong(window, true))))?;
        }
        ctx.state(pair.work as f64);
        let mut clean = 0;
        for _ in 0..200 {
            clean += u32::from(pair.window(|_| Ok(((), 0)))?.clean);
        }
        ctx.state_as("clean", f64::from(clean));
        let there = pair.end(ctx)?;
        ctx.state_as("there", there as f64);
        Ok(())
    }

    /// What a side has touched it has mapped. The sides of which each is to touch a half, changed
    /// for each other, touch a half each as well.
    #[test]
    fn a_block_is_touched_by_its_own_side_before_its_first_window() {
        let info = Info { timing: Timing::Stated, ..Info::new("cpu.pair") };
        match try_out(&Benchmark { info, run: Run::Here(touch_in_turns) }, &[], None) {
            Err(BenchError::Unsupported(why)) => println!("skipped: {why}"),
            tried => {
                let tried = tried.expect("two sides");
                assert_eq!((tried.stated(""), tried.stated("there")), (Some(0.0), Some(0.0)));
                // Short windows, of which hardly any loses a CPU.
                assert!(tried.stated("clean").is_some_and(|clean| clean > 0.0), "{:?}", tried.result);
            }
        }
    }

    /// Else all lines of a pool would compete for the same places of a cache.
    #[test]
    fn places_of_a_block_have_different_offsets() {
        let pool = LinePool::new(0, 64).expect("memory");
        let offset = |place| {
            let first = pool.place(Slot { block: 1, place, visit: 0 }).first();
            std::ptr::from_ref(first).addr() % 1024
        };
        let mut offsets: Vec<usize> = (0..PLACES).map(offset).collect();
        offsets.sort_unstable();
        offsets.dedup();
        assert_eq!(offsets.len(), PLACES, "{offsets:?}");
    }

    #[test]
    fn both_sides_may_be_astray() {
        let shared = SharedState::new(0, 64).expect("memory");
        let nowhere = u32::MAX;
        assert_eq!(shared.astray(nowhere), 1);
        shared.count(ASTRAY).store(1, SeqCst);
        assert_eq!(shared.astray(nowhere), 2);
    }

    #[test]
    fn blocks_are_told_from_their_undisturbed_windows() {
        let window = |number, seen, clean| Measured { slot: Slot::of(number), seen, clean };
        let windows =
            [window(0, 5.0, true), window(1, 4.0, true), window(2, 1.0, false), window(PLACES as u32, 9.0, true)];
        let blocks = by_block(&windows, |v| *v, least);
        assert_eq!(blocks, [Some(4.0), Some(9.0), None, None, None, None]);
    }

    #[test]
    fn who_waits_for_nothing_is_told() {
        let mut looks = 0;
        wait_until(|| {
            looks += 1;
            looks == 3
        })
        .expect("it became so");
        assert_eq!(looks, 3);
    }

    #[test]
    fn a_window_in_which_either_side_lost_its_cpu_is_not_clean() {
        assert!(is_clean(0, [0, 0]));
        // What the peer lost before does not count.
        assert!(is_clean(0, [7, 7]));
        assert!(!is_clean(1, [7, 7]));
        assert!(!is_clean(0, [7, 8]));
        // Sleeping before a window is no harm.
        assert_eq!(preemptions(&Usage { voluntary: 3, involuntary: 5, ..Usage::default() }), 5);
    }
}
