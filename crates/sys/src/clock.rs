//! The monotonic clock, behind a trait so that tests can run the harness on fake clocks.
//!
//! `CLOCK_MONOTONIC_RAW` through the vDSO: no system call, comparable across processes, not slewed
//! by NTP (`docs/methods/timing.md#clock`).
//!
//! Not here: the cycle counter (see [`crate::arch`]) and CPU time (see [`crate::counters`]), which
//! is evidence, never a headline.
//!
//! # Safety
//! The only unsafe code passes a valid, owned `timespec` to `clock_gettime` and `clock_getres`.
#![expect(unsafe_code, reason = "clock_gettime through libc, which uses the vDSO")]

use std::sync::atomic::{AtomicI32, Ordering};

/// A source of nanoseconds that does not run backwards, except for fakes that are made to.
pub trait Clock {
    /// Now, in nanoseconds from an arbitrary start.
    fn now_ns(&self) -> u64;
}

/// The system's clock, chosen once per process by [`Monotonic::choose`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

/// The chosen `clockid_t`: RAW until `choose` finds it slow.
static CLOCK_ID: AtomicI32 = AtomicI32::new(libc::CLOCK_MONOTONIC_RAW);

/// RAW is not used where a read costs more than this: kernels before 5.3 serve it by a system call
/// (`docs/methods/timing.md#clock`).
const SLOW_RAW_NS: u64 = 200;

fn read(id: libc::clockid_t) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec that lives across the call; a failure leaves it zero.
    unsafe { libc::clock_gettime(id, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

impl Monotonic {
    /// Chooses RAW, or MONOTONIC where RAW is served slowly; returns the name of the choice.
    ///
    /// Called at the start of a worker, before anything is timed.
    pub fn choose() -> &'static str {
        let cheapest = |id| {
            let pair = || {
                let start = read(id);
                read(id) - start
            };
            (0..16).map(|_| pair()).min().unwrap_or(0)
        };
        if is_slow(cheapest(libc::CLOCK_MONOTONIC_RAW), || cheapest(libc::CLOCK_MONOTONIC)) {
            CLOCK_ID.store(libc::CLOCK_MONOTONIC, Ordering::Relaxed);
            return "CLOCK_MONOTONIC";
        }
        "CLOCK_MONOTONIC_RAW"
    }
}

/// Whether RAW, at this cost of a read in nanoseconds, is served slowly, and the other clock is
/// not.
fn is_slow(raw: u64, other: impl FnOnce() -> u64) -> bool {
    raw > SLOW_RAW_NS && other() < raw
}

impl Clock for Monotonic {
    #[inline]
    fn now_ns(&self) -> u64 {
        read(CLOCK_ID.load(Ordering::Relaxed))
    }
}

/// The clock's resolution as `clock_getres` reports it, in nanoseconds. Only for a remark: it
/// reports 1 where the real step is 10 (`docs/methods/timing.md#clock-resolution`).
pub fn claimed_resolution_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec that lives across the call.
    unsafe { libc::clock_getres(CLOCK_ID.load(Ordering::Relaxed), &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn does_not_run_backwards() {
        Monotonic::choose();
        let mut last = Monotonic.now_ns();
        for _ in 0..100_000 {
            let now = Monotonic.now_ns();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn the_clock_is_the_one_that_is_named() {
        use rustix::time::{ClockId, clock_getres, clock_gettime};
        let id = match Monotonic::choose() {
            "CLOCK_MONOTONIC" => ClockId::Monotonic,
            "CLOCK_MONOTONIC_RAW" => ClockId::MonotonicRaw,
            other => panic!("{other}"),
        };
        let ns = |t: rustix::time::Timespec| t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64;
        for _ in 0..100 {
            let seen = [ns(clock_gettime(id)), Monotonic.now_ns(), ns(clock_gettime(id))];
            assert!(seen.is_sorted(), "{seen:?}");
        }
        assert_eq!(claimed_resolution_ns(), ns(clock_getres(id)));
    }

    /// If both are system calls, the clock that is not slewed stays.
    #[test]
    fn a_slow_clock_is_replaced_only_by_a_faster_one() {
        let of = |raw, other| is_slow(raw, || other);
        assert!(of(201, 30) && of(900, 899));
        assert!(!of(200, 30) && !of(900, 900) && !of(900, 1000) && !of(25, 20));
    }
}
