//! Branches: conditional ones in two layouts, indirect ones, and both by a generator in registers. Without compressed
//! instructions, so that they lie alike on all cores.
//!
//! # Safety
//!
//! Each block is a whole loop on declared registers that touches no memory and jumps only within itself.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::branch::{
    BRANCH_BIT, BRANCHES_LONG, BRANCHES_RANDOM, BRANCHES_SHORT, Drawn, JUMPS_RANDOM, JUMPS_TARGETS, Layout,
};
use core::arch::asm;

/// The loop of branches that lie so, [`BRANCHES_LONG`] or [`BRANCHES_SHORT`] in a turn: `run(turns, taken)` takes all of
/// them or none, and returns how many were not taken.
pub fn branches(layout: Layout, short: bool) -> fn(u64, bool) -> u64 {
    match (layout, short) {
        (Layout::Apart, false) => apart::<BRANCHES_LONG>,
        (Layout::Apart, true) => apart::<BRANCHES_SHORT>,
        (Layout::Dense, false) => dense::<BRANCHES_LONG>,
        (Layout::Dense, true) => dense::<BRANCHES_SHORT>,
        (Layout::Indirect, false) => indirect::<BRANCHES_LONG>,
        (Layout::Indirect, true) => indirect::<BRANCHES_SHORT>,
    }
}

macro_rules! loops {
    ($($name:ident: $taken:ident => $operand:expr, $at_once:literal, [$($body:literal),*];)*) => {$(
        fn $name<const BRANCHES: u64>(turns: u64, $taken: bool) -> u64 {
            if turns == 0 {
                return 0;
            }
            // In turn, so that no increment waits for the one before and hides how fast branches are.
            let (mut a, mut b, mut c, mut d) = (0_u64, 0_u64, 0_u64, 0_u64);
            // SAFETY: jumps within the loop; arithmetic on declared registers.
            unsafe {
                asm!(
                    ".option push",
                    ".option norvc",
                    ".p2align 6",
                    "2:",
                    concat!(".rept {branches} / ", $at_once),
                    $($body,)*
                    ".endr",
                    "addi a2, a2, -1",
                    "bnez a2, 2b",
                    ".option pop",
                    branches = const BRANCHES,
                    inout("a0") a,
                    inout("a4") b,
                    inout("a5") c,
                    inout("a6") d,
                    in("a1") $operand,
                    inout("a2") turns => _,
                    out("t0") _,
                    options(nostack),
                );
            }
            a + b + c + d
        }
    )*};
}

loops! {
    apart: taken => u64::from(taken), "1", ["bnez a1, 3f", "addi a0, a0, 1", ".p2align 4", "3:"];
    dense: taken => u64::from(taken), "4", [
        "bnez a1, 3f", "addi a0, a0, 1", "3:", "bnez a1, 4f", "addi a4, a4, 1", "4:", "bnez a1, 5f", "addi a5, a5, 1", "5:", "bnez a1, 6f", "addi a6, a6, 1", "6:"
    ];
    // The increment is the four bytes before the next.
    indirect: taken => if taken { 0_u64 } else { 4 }, "1", [
        "lla t0, 3f", "sub t0, t0, a1", "jr t0", "addi a0, a0, 1", "3:"
    ];
}

/// Steps the generator and branches by its bit [`BRANCH_BIT`], [`BRANCHES_RANDOM`] times a turn; without `random` the bit
/// is masked out, the same instructions run, and no branch is taken.
#[inline(never)]
pub fn random_branches(turns: u64, mut state: u64, random: bool) -> Drawn {
    let mut fell = 0;
    if turns == 0 {
        return Drawn { state, taken: 0 };
    }
    // SAFETY: jumps within the loop; arithmetic on declared registers.
    unsafe {
        asm!(
            ".option push",
            ".option norvc",
            ".p2align 6",
            "2:",
            ".rept {branches}",
            "slli t0, a0, 13",
            "xor a0, a0, t0",
            "srli t0, a0, 7",
            "xor a0, a0, t0",
            "slli t0, a0, 17",
            "xor a0, a0, t0",
            "and t0, a0, a1",
            "bnez t0, 3f",
            "addi a4, a4, 1",
            "3:",
            ".endr",
            "addi a2, a2, -1",
            "bnez a2, 2b",
            ".option pop",
            branches = const BRANCHES_RANDOM,
            inout("a0") state,
            in("a1") u64::from(random) << BRANCH_BIT,
            inout("a2") turns => _,
            inout("a4") fell,
            out("t0") _,
            options(nostack),
        );
    }
    let fell: u64 = fell;
    Drawn { state, taken: turns * BRANCHES_RANDOM - fell }
}

/// Steps the generator and jumps to the target that its bits from [`BRANCH_BIT`] on name, masked, [`JUMPS_RANDOM`] times a
/// turn. `mask` is the number of targets less one: a power of two less one, at most [`JUMPS_TARGETS`] less one.
///
/// # Panics
///
/// If `mask` is larger.
#[inline(never)]
pub fn random_jumps(turns: u64, mut state: u64, mask: u64) -> Drawn {
    assert!(mask < JUMPS_TARGETS, "there are {JUMPS_TARGETS} targets");
    let mut taken = 0;
    if turns == 0 {
        return Drawn { state, taken };
    }
    // SAFETY: jumps to one of sixteen targets of 16 bytes each; arithmetic on declared registers.
    unsafe {
        asm!(
            ".option push",
            ".option norvc",
            ".p2align 6",
            "2:",
            ".rept {jumps}",
            "slli t0, a0, 13",
            "xor a0, a0, t0",
            "srli t0, a0, 7",
            "xor a0, a0, t0",
            "slli t0, a0, 17",
            "xor a0, a0, t0",
            "srli t0, a0, {bit}",
            "and t0, t0, a1",
            "slli t0, t0, 4",
            "lla t1, 3f",
            "add t0, t0, t1",
            "jr t0",
            ".p2align 6",
            "3:",
            ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            ".p2align 4",
            "addi a4, a4, \\i",
            "j 4f",
            ".endr",
            ".p2align 4",
            "4:",
            ".endr",
            "addi a2, a2, -1",
            "bnez a2, 2b",
            ".option pop",
            jumps = const JUMPS_RANDOM,
            bit = const BRANCH_BIT,
            inout("a0") state,
            in("a1") mask,
            inout("a2") turns => _,
            inout("a4") taken,
            out("t0") _,
            out("t1") _,
            options(nostack),
        );
    }
    Drawn { state, taken }
}
