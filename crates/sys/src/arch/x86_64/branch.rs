//! Branches: conditional ones in two layouts, indirect ones, and both by a generator in registers.
//!
//! Conditional branches test the carry flag: the increments between them and the loop's own count leave it alone.
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
    ($($name:ident: $taken:ident => $operand:expr, $before:literal, $at_once:literal, [$($body:literal),*];)*) => {$(
        fn $name<const BRANCHES: u64>(turns: u64, $taken: bool) -> u64 {
            if turns == 0 {
                return 0;
            }
            // In turn, so that no increment waits for the one before and hides how fast branches are.
            let (mut a, mut b, mut c, mut d) = (0_u64, 0_u64, 0_u64, 0_u64);
            // SAFETY: jumps within the loop; arithmetic on declared registers.
            unsafe {
                asm!(
                    $before,
                    ".p2align 6",
                    "2:",
                    concat!(".rept {branches} / ", $at_once),
                    $($body,)*
                    ".endr",
                    "dec rcx",
                    "jnz 2b",
                    branches = const BRANCHES,
                    inout("rax") a,
                    inout("rdx") b,
                    inout("rsi") c,
                    inout("rdi") d,
                    inout("rcx") turns => _,
                    in("r8") $operand,
                    out("r9") _,
                    options(nostack),
                );
            }
            a + b + c + d
        }
    )*};
}

// Two-byte increments of 32 bits: enough for 2^32 turns of 16, which no interval has.
loops! {
    apart: taken => u64::from(taken), "bt r8, 0", "1", ["jc 3f", "inc eax", ".p2align 4", "3:"];
    dense: taken => u64::from(taken), "bt r8, 0", "4", [
        "jc 3f", "inc eax", "3:", "jc 4f", "inc edx", "4:", "jc 5f", "inc esi", "5:", "jc 6f", "inc edi", "6:"
    ];
    // 7, 3, 3 and 2 bytes, and padding to 16: the increment is three before the next.
    indirect: taken => if taken { 0_u64 } else { 3 }, "", "1", [
        "lea r9, [rip + 3f]", "sub r9, r8", "jmp r9", "inc eax", ".p2align 4", "3:"
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
            "mov rdx, rax",
            "shl rdx, 13",
            "xor rax, rdx",
            "mov rdx, rax",
            "shr rdx, 7",
            "xor rax, rdx",
            "mov rdx, rax",
            "shl rdx, 17",
            "xor rax, rdx",
            "test rax, rsi",
            "jnz 3f",
            "inc r8",
            "3:",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            branches = const BRANCHES_RANDOM,
            inout("rax") state,
            inout("r8") fell,
            inout("rcx") turns => _,
            in("rsi") u64::from(random) << BRANCH_BIT,
            out("rdx") _,
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
    // SAFETY: jumps to one of sixteen targets of 16 bytes each (4 of the addition and up to 5 of the jump); arithmetic
    // on declared registers.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {jumps}",
            "mov rdx, rax",
            "shl rdx, 13",
            "xor rax, rdx",
            "mov rdx, rax",
            "shr rdx, 7",
            "xor rax, rdx",
            "mov rdx, rax",
            "shl rdx, 17",
            "xor rax, rdx",
            "mov rdx, rax",
            "shr rdx, {bit}",
            "and rdx, rsi",
            "shl rdx, 4",
            "lea r9, [rip + 3f]",
            "add rdx, r9",
            "jmp rdx",
            ".p2align 6",
            "3:",
            ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            ".p2align 4",
            "add r8, \\i",
            "jmp 4f",
            ".endr",
            ".p2align 4",
            "4:",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            jumps = const JUMPS_RANDOM,
            bit = const BRANCH_BIT,
            inout("rax") state,
            inout("r8") taken,
            inout("rcx") turns => _,
            in("rsi") mask,
            out("rdx") _,
            out("r9") _,
            options(nostack),
        );
    }
    Drawn { state, taken }
}
