//! The counter, arithmetic chains, calls and raw system calls, each compared with plain Rust:
//! results, counts and one ratio, never a time.
//!
//! # Safety
//!
//! The tests make raw system calls that change nothing.
#![expect(unsafe_code, reason = "calls the raw kernels")]

use groma_sys::arch::{self, portable};

// The counter.

#[test]
fn counter_never_runs_backwards() {
    assert!(arch::counter_usable().err().is_none_or(|why| !why.is_empty()));
    assert!(!arch::COUNTER_NAME.is_empty());
    for (start, stop) in [
        (arch::counter_start as fn() -> u64, arch::counter_stop as fn() -> u64),
        (portable::counter_start, portable::counter_stop),
    ] {
        let begin = start();
        let mut last = begin;
        // Long enough for the coarsest counter to step.
        while last < begin + 100 {
            for read in [start, stop] {
                let now = read();
                assert!(now >= last);
                last = now;
            }
        }
    }
}

// Chains and calls.

#[test]
fn arithmetic_chains_compute_what_rust_computes() {
    let reference = |n: u64, step: fn(u64) -> u64| (0..arch::chain_ops(n)).fold(arch::CHAIN_SEED, |x, _| step(x));
    type Case = (fn(u64) -> u64, fn(u64) -> u64, fn(u64) -> u64);
    let cases: [Case; 3] = [
        (arch::add_chain, portable::add_chain, |x| x.wrapping_add(arch::CHAIN_OPERAND)),
        (arch::mul_chain, portable::mul_chain, |x| x.wrapping_mul(arch::CHAIN_OPERAND)),
        (arch::rotate_chain, portable::rotate_chain, |x| x.rotate_right(arch::CHAIN_ROTATE)),
    ];
    for (native, portable, step) in cases {
        // 128 rotations by 7 are the identity; the other sizes distinguish the number of steps.
        for n in [0, 1, 63, 64, 65, 128, 1000, 4096] {
            let expected = reference(n, step);
            assert_eq!(expected, native(n), "{n} steps");
            assert_eq!(expected, portable(n), "{n} steps, portable");
        }
    }
}

#[test]
fn the_block_of_independent_operations_computes_what_rust_computes() {
    for turns in [0, 1, 2, 200] {
        // Four registers are counted up; the other four hold the value once there was a turn.
        let added = turns * arch::ISSUE_UNROLL / 2;
        let expected = added + 4 * arch::ISSUE_VALUE * turns.min(1);
        assert_eq!(expected, arch::issue_mixed(turns), "{turns} turns");
        assert_eq!(expected, portable::issue_mixed(turns), "{turns} turns, portable");
    }
}

#[test]
fn chain_lengths_are_rounded_up() {
    assert_eq!([0, 64, 64, 128], [0, 1, 64, 65].map(arch::chain_ops));
    assert_eq!([0, 64, 64, 128], [0, 1, 64, 65].map(arch::chase_loads));
}

const CALLEES: [arch::Callee; 2] = [arch::Callee::Leaf, arch::Callee::Frame];

#[test]
fn call_loops_leave_the_caller_as_it_was() {
    let loops = [arch::calls as fn(usize, arch::Callee, bool) -> fn(u64), portable::calls];
    for (calls, callee) in loops.into_iter().flat_map(|calls| CALLEES.map(|callee| (calls, callee))) {
        for k in 0..=arch::CALLS_MAX_ARGS {
            for short in [false, true] {
                for iters in [0, 1, 1000] {
                    // More live values than registers: a loop that changes one it does not declare
                    // is noticed.
                    let live: [u64; 20] = std::hint::black_box(std::array::from_fn(|i| i as u64 + iters));
                    let sum = |by: u64| live.iter().fold(0_u64, |sum, x| sum.rotate_left(5) ^ x.wrapping_mul(by));
                    let before = sum(3);
                    calls(k, callee, short)(iters);
                    assert_eq!(before, sum(3), "{k} arguments, {callee:?}, short {short}");
                }
            }
        }
    }
}

#[test]
#[should_panic = "index out of bounds"]
fn no_loop_calls_with_eight_arguments() {
    arch::calls(arch::CALLS_MAX_ARGS + 1, arch::Callee::Leaf, false);
}

/// The cheapest of many short windows, of two chains in turn: load can only lengthen a window, and
/// not every one of two thousand. Stops as soon as the ratio fits; waiting could not improve it.
#[cfg(target_arch = "x86_64")]
fn ratio(numerator: fn(u64) -> u64, denominator: fn(u64) -> u64, expected: f64, tolerance: f64) {
    // 10 to 60 microseconds a window; the cost of reading the clock cancels in the difference.
    const SHORT: u64 = 1 << 13;
    const LONG: u64 = SHORT + (1 << 15);
    let mut best = [u64::MAX; 4];
    let mut seen = 0.0;
    for _ in 0..2000 {
        for (best, (chain, n)) in
            best.iter_mut().zip([(numerator, SHORT), (denominator, SHORT), (numerator, LONG), (denominator, LONG)])
        {
            let start = arch::counter_start();
            std::hint::black_box(chain(n));
            *best = (arch::counter_stop() - start).min(*best);
        }
        let [a_short, b_short, a_long, b_long] = best.map(|ticks| ticks as f64);
        seen = (a_long - a_short) / (b_long - b_short);
        if (seen - expected).abs() <= tolerance {
            return;
        }
    }
    panic!("ratio {seen}, expected {expected} within {tolerance}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_multiplication_takes_three_additions_and_a_rotation_one() {
    // The fastest windows of the two may have different clocks, which hop by 3 to 4 %; a different
    // number of cycles is far off.
    ratio(arch::mul_chain, arch::add_chain, 3.0, 0.15);
    ratio(arch::rotate_chain, arch::add_chain, 1.0, 0.05);
}

// System calls: each number of arguments, to show that the last one arrives.

#[cfg(target_os = "linux")]
macro_rules! syscall_suite {
    ($name:ident, $face:path) => {
        #[test]
        fn $name() {
            use std::os::fd::AsRawFd;
            use $face as face;
            let exe = std::fs::File::open("/proc/self/exe").unwrap();
            let contents = std::fs::read("/proc/self/exe").unwrap();
            let fd = exe.as_raw_fd() as usize;
            // SAFETY: each call gets memory of this function to write to, or none.
            unsafe {
                assert_eq!(std::process::id() as isize, face::syscall0(libc::SYS_getpid as usize));
                assert_eq!(-(libc::EBADF as isize), face::syscall1(libc::SYS_close as usize, usize::MAX));
                let mut limit = libc::rlimit { rlim_cur: 1, rlim_max: 0 };
                let resource = libc::RLIMIT_CORE as usize;
                let at = (&raw mut limit).expose_provenance();
                assert_eq!(0, face::syscall4(libc::SYS_prlimit64 as usize, 0, resource, 0, at));
                assert!(limit.rlim_cur <= limit.rlim_max);
                let mut time = libc::timespec { tv_sec: 0, tv_nsec: -1 };
                let at = (&raw mut time).expose_provenance();
                assert_eq!(0, face::syscall2(libc::SYS_clock_gettime as usize, libc::CLOCK_MONOTONIC as usize, at));
                assert!(time.tv_nsec >= 0);
                let mut magic = [0_u8; 4];
                let at = magic.as_mut_ptr().expose_provenance();
                assert_eq!(4, face::syscall3(libc::SYS_read as usize, fd, at, 4));
                assert_eq!(*b"\x7fELF", magic);
                assert_eq!(3, face::syscall4(libc::SYS_pread64 as usize, fd, at, 3, 1));
                assert_eq!(*b"ELFF", magic);
                let mut facts: libc::statx = std::mem::zeroed();
                let at = (&raw mut facts).expose_provenance();
                let (path, flags) = (c"".as_ptr().expose_provenance(), libc::AT_EMPTY_PATH as usize);
                assert_eq!(0, face::syscall5(libc::SYS_statx as usize, fd, path, flags, libc::STATX_SIZE as usize, at));
                assert_eq!(contents.len() as u64, facts.stx_size);
                let (offset, bytes) = (1 << 16, 64);
                let private = libc::MAP_PRIVATE as usize;
                let map =
                    face::syscall6(libc::SYS_mmap as usize, 0, bytes, libc::PROT_READ as usize, private, fd, offset);
                assert!(map > 0, "mmap returned {map}");
                let mapped = std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(map as usize), bytes);
                assert_eq!(&contents[offset..offset + bytes], mapped);
                assert_eq!(0, face::syscall2(libc::SYS_munmap as usize, map as usize, bytes));
            }
        }
    };
}

#[cfg(target_os = "linux")]
syscall_suite!(system_calls_pass_their_arguments, groma_sys::arch);
#[cfg(target_os = "linux")]
syscall_suite!(portable_system_calls_pass_their_arguments, groma_sys::arch::portable);
