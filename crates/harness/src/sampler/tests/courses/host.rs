//! Instruments on a host whose course is known.

use crate::course::Course;
use crate::instruments::{Instruments, PROBE_ADDITIONS, PROBE_TURNS, Reading};
use crate::sys::arch::ISSUE_UNROLL;
use crate::sys::clock::Clock;
use crate::sys::facts::HostCounters;
use groma_stats::rng::Rng;
use std::cell::{Cell, RefCell};

/// The rate of the idle core of a simulated host.
pub(super) const IDLE: f64 = 4.9;
/// Cycles of the measured loop on an idle core.
pub(super) const CYCLES: f64 = 320.0;
/// Cycles in a nanosecond.
const CLOCK: f64 = 3.2;
/// A busy sibling slows the loop by this part of what it slows the probe.
const FEELS: f64 = 0.5;
/// A core at this part of the idle rate is shared.
const SHARED: f64 = 0.97;
/// The time in which a wandering clock comes back.
const WANDER_NS: f64 = 7e9;
/// Spells of a simulated host.
const SPELLS: u32 = 40;

/// A time in which the core does not change.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    end_ns: f64,
    /// Its rate as a part of the idle one; 0: the CPU was taken away.
    rate: f64,
}

/// The course of a host, which repeats itself.
pub(super) struct Way {
    stretches: Vec<Stretch>,
    /// Starts and ends of times in which the sibling does not change its ways.
    spells: Vec<(f64, f64)>,
    idle: f64,
    /// How far the clock wanders to either side, as a part.
    wander: f64,
    /// Whether probes vary and are held up: those of a recording did.
    odd: bool,
}

impl Way {
    pub(super) fn recorded(course: &Course, place: usize) -> Way {
        let mut stretches: Vec<Stretch> = Vec::new();
        for (k, rate) in course.rates(place).enumerate() {
            let rate = rate.map_or(0.0, |rate| rate / course.head.idle);
            let end_ns = (k as u64 + 1) as f64 * course.head.spacing_ns as f64;
            match stretches.last_mut() {
                Some(last) if last.rate == rate => last.end_ns = end_ns,
                _ => stretches.push(Stretch { end_ns, rate }),
            }
        }
        let spells = vec![(0.0, stretches.last().map_or(1.0, |last| last.end_ns))];
        Way { stretches, spells, idle: course.head.idle, wander: 0.0, odd: false }
    }

    /// The same course with a clock that wanders so far to either side, as a part.
    pub(super) fn wandering(self, wander: f64) -> Way {
        Way { wander, ..self }
    }

    fn length_ns(&self) -> f64 {
        self.stretches.last().map_or(1.0, |last| last.end_ns)
    }

    /// The stretch of a time, and the time within the course.
    fn at(&self, now_ns: f64) -> (usize, f64) {
        let within = now_ns % self.length_ns();
        (self.stretches.partition_point(|stretch| stretch.end_ns <= within), within)
    }

    /// Whether the sibling worked at any time from here to there.
    pub(super) fn is_busy(&self, from_ns: u64, to_ns: u64) -> bool {
        let (mut k, mut now) = self.at(from_ns as f64);
        let mut left = (to_ns - from_ns) as f64;
        while left > 0.0 {
            let Stretch { end_ns, rate } = self.stretches[k];
            // Slower by less than a step of what is recorded is no other core.
            if rate > 0.0 && rate < SHARED - 0.005 {
                return true;
            }
            left -= end_ns - now;
            (now, k) = if k + 1 == self.stretches.len() { (0.0, 0) } else { (end_ns, k + 1) };
        }
        false
    }
}

/// What a busy sibling leaves of a core.
#[derive(Clone, Copy)]
pub(super) enum Busy {
    /// From 0.98 to a half of its rate, as on the Zen 3: a half takes more than 1.5 times as long.
    Continuum,
    /// One of two kinds of work.
    TwoModes,
}

/// A host whose sibling is idle for this part of the time. It comes and goes in spells, each in
/// stretches of one length, from 50 us to `longest_ns`: every order of magnitude equally often.
pub(super) fn simulated(idle: f64, busy: Busy, longest_ns: f64, rng: &mut Rng) -> Way {
    let shortest = 50e3_f64;
    let (mut stretches, mut spells, mut now) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..SPELLS {
        let length = shortest * (longest_ns / shortest).powf(rng.unit());
        let start = now;
        while now < start + (40.0 * length).min(longest_ns) {
            let rate = if rng.unit() < idle {
                1.0
            } else {
                match busy {
                    Busy::Continuum => 1.0 / (1.02 + 0.98 * rng.unit().sqrt()),
                    Busy::TwoModes => [0.6, 0.85][rng.below(2) as usize],
                }
            };
            now += shortest.max(length * (0.5 + rng.unit()));
            stretches.push(Stretch { end_ns: now, rate });
        }
        spells.push((start, now));
    }
    Way { stretches, spells, idle: IDLE, wander: 0.0, odd: true }
}

/// Takes the CPU away for 0.3 to 3 ms, every 20 ms or so.
pub(super) fn steal(way: Way, rng: &mut Rng) -> Way {
    let mut cut = Vec::new();
    let mut next = 20e6 * rng.unit();
    for stretch in &way.stretches {
        while next < stretch.end_ns {
            let end = (next + 3e5 * 10f64.powf(rng.unit())).min(stretch.end_ns);
            cut.extend([Stretch { end_ns: next, rate: stretch.rate }, Stretch { end_ns: end, rate: 0.0 }]);
            next = end + 40e6 * rng.unit();
        }
        if cut.last().is_none_or(|last: &Stretch| last.end_ns < stretch.end_ns) {
            cut.push(*stretch);
        }
    }
    Way { stretches: cut, ..way }
}

/// A thread on this host.
pub(super) struct Host<'w> {
    way: &'w Way,
    now_ns: Cell<f64>,
    cpu_ns: Cell<f64>,
    /// The stretch of now, and the time within the course.
    place: Cell<(usize, f64)>,
    rng: RefCell<Rng>,
}

impl Host<'_> {
    /// A thread that begins somewhere in the course, as often in a short spell as in a long one.
    pub(super) fn somewhere<'w>(way: &'w Way, rng: &mut Rng) -> Host<'w> {
        let (start, end) = way.spells[rng.below(way.spells.len() as u64) as usize];
        let now_ns = way.length_ns() + start + (end - start) * rng.unit();
        Host {
            way,
            now_ns: Cell::new(now_ns),
            cpu_ns: Cell::new(0.0),
            place: Cell::new(way.at(now_ns)),
            rng: RefCell::new(Rng::new(rng.next_u64())),
        }
    }

    /// Runs what takes so many cycles on an idle core, and on a shared one longer by this part of
    /// what the probe takes longer. The nanoseconds that it took.
    fn run(&self, cycles: f64, feels: f64) -> f64 {
        let start = self.now_ns.get();
        let (mut left, mut now) = (cycles, start);
        let (mut k, mut within) = self.place.get();
        loop {
            let Stretch { end_ns, rate } = self.way.stretches[k];
            let until_end = end_ns - within;
            if rate > 0.0 {
                // The probe also finds what is no neighbour.
                let slower = if rate < SHARED || feels >= 1.0 { 1.0 + feels * (1.0 / rate - 1.0) } else { 1.0 };
                let per_ns = CLOCK * self.clock(now) / slower;
                let last = left / per_ns;
                if last < until_end {
                    self.cpu_ns.set(self.cpu_ns.get() + last);
                    self.now_ns.set(now + last);
                    self.place.set((k, within + last));
                    return now + last - start;
                }
                left -= until_end * per_ns;
                self.cpu_ns.set(self.cpu_ns.get() + until_end);
            }
            now += until_end;
            (within, k) = if k + 1 == self.way.stretches.len() { (0.0, 0) } else { (end_ns, k + 1) };
        }
    }

    /// The clock, as a part of its middle.
    fn clock(&self, now_ns: f64) -> f64 {
        match self.way.wander {
            0.0 => 1.0,
            wander => 1.0 + wander * (now_ns / WANDER_NS * std::f64::consts::TAU).sin(),
        }
    }

    /// Runs the measured loop for what takes so many cycles on an idle core.
    pub(super) fn work(&self, cycles: f64) {
        self.run(cycles, FEELS);
    }

    /// A factor of a probe that is held up this often, for so long.
    fn odd(&self, often: f64, factor: f64) -> f64 {
        let mut rng = self.rng.borrow_mut();
        match self.way.odd {
            true if rng.unit() < often => factor,
            true => 1.0 + 0.002 * rng.unit(),
            false => 1.0,
        }
    }

    /// Time as the counter ticks, at 3.2 GHz.
    fn ticks(ns: f64) -> u64 {
        (ns * CLOCK).round() as u64
    }
}

impl Clock for Host<'_> {
    fn now_ns(&self) -> u64 {
        self.run(20.0 * CLOCK, 0.0);
        self.now_ns.get().round() as u64
    }
}

impl Instruments for Host<'_> {
    fn reading(&self) -> Reading {
        self.run(2_000.0 * CLOCK, 0.0);
        let [now_ns, cpu_ns] = [self.now_ns.get(), self.cpu_ns.get()].map(|ns| ns.round() as u64);
        Reading { now_ns, counter: now_ns, cpu_ns, family_cpu_ns: cpu_ns, cpu: 1, ..Reading::default() }
    }

    fn chain_ns(&self, ops: u64) -> u64 {
        self.run(ops as f64, 0.0).round() as u64
    }

    fn block_ticks(&self, _: u32) -> u64 {
        let cycles = (PROBE_TURNS * ISSUE_UNROLL) as f64 / self.way.idle;
        Self::ticks(self.run(cycles * self.odd(0.002, 2.5), 1.0))
    }

    fn chain_ticks(&self, _: u32) -> u64 {
        Self::ticks(self.run(PROBE_ADDITIONS as f64 * self.odd(0.001, 20.0), 0.0))
    }

    fn kernel_entry_ns(&self) -> f64 {
        100.0
    }

    fn host(&self) -> HostCounters {
        HostCounters::default()
    }
}
