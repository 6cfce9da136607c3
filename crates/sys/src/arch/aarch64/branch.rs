//! Branches: conditional ones in two layouts, indirect ones, and both by a generator in registers.
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
                    ".p2align 6",
                    "2:",
                    concat!(".rept {branches} / ", $at_once),
                    $($body,)*
                    ".endr",
                    "sub x2, x2, #1",
                    "cbnz x2, 2b",
                    branches = const BRANCHES,
                    inout("x0") a,
                    inout("x4") b,
                    inout("x5") c,
                    inout("x6") d,
                    in("x1") $operand,
                    inout("x2") turns => _,
                    out("x3") _,
                    options(nostack),
                );
            }
            a + b + c + d
        }
    )*};
}

loops! {
    apart: taken => u64::from(taken), "1", ["cbnz x1, 3f", "add x0, x0, #1", ".p2align 4", "3:"];
    dense: taken => u64::from(taken), "4", [
        "cbnz x1, 3f", "add x0, x0, #1", "3:", "cbnz x1, 4f", "add x4, x4, #1", "4:", "cbnz x1, 5f", "add x5, x5, #1", "5:", "cbnz x1, 6f", "add x6, x6, #1", "6:"
    ];
    // The increment is the four bytes before the next.
    indirect: taken => if taken { 0_u64 } else { 4 }, "1", [
        "adr x3, 3f", "sub x3, x3, x1", "br x3", "add x0, x0, #1", "3:"
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
            ".p2align 6",
            "2:",
            ".rept {branches}",
            "eor x0, x0, x0, lsl #13",
            "eor x0, x0, x0, lsr #7",
            "eor x0, x0, x0, lsl #17",
            "tst x0, x1",
            "b.ne 3f",
            "add x4, x4, #1",
            "3:",
            ".endr",
            "sub x2, x2, #1",
            "cbnz x2, 2b",
            branches = const BRANCHES_RANDOM,
            inout("x0") state,
            in("x1") u64::from(random) << BRANCH_BIT,
            inout("x2") turns => _,
            inout("x4") fell,
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
            ".p2align 6",
            "2:",
            ".rept {jumps}",
            "eor x0, x0, x0, lsl #13",
            "eor x0, x0, x0, lsr #7",
            "eor x0, x0, x0, lsl #17",
            "and x3, x1, x0, lsr #{bit}",
            "adr x5, 3f",
            "add x3, x5, x3, lsl #4",
            "br x3",
            ".p2align 6",
            "3:",
            ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            ".p2align 4",
            "add x4, x4, #\\i",
            "b 4f",
            ".endr",
            ".p2align 4",
            "4:",
            ".endr",
            "sub x2, x2, #1",
            "cbnz x2, 2b",
            jumps = const JUMPS_RANDOM,
            bit = const BRANCH_BIT,
            inout("x0") state,
            in("x1") mask,
            inout("x2") turns => _,
            out("x3") _,
            inout("x4") taken,
            out("x5") _,
            options(nostack),
        );
    }
    Drawn { state, taken }
}
