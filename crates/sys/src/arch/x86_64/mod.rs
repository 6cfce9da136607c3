//! x86-64: the TSC, the `syscall` instruction, and kernels for SSE2, AVX2 and AVX-512, chosen when the program runs
//! (the build needs no target-cpu flag).
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes. Chains and calls touch no memory but the
//! stack and are safe functions; the chase and the streams go where their callers' pointers lead and say what that
//! requires; vector kernels are reached only through a list filtered by what the CPU (CPUID) and the system (XGETBV)
//! support. No block says `nomem`: the compiler must not move other work across a measured loop.
#![expect(unsafe_code, reason = "this is the assembly")]

pub(super) mod access;
pub(super) mod branch;
pub(super) mod parallel_chase;
pub(super) mod doubles;
pub(super) mod flush;
pub(super) mod store_forward;
pub(super) mod hammer;
pub(super) mod mix;
pub(super) mod rates;
pub(super) mod split;
pub(super) mod stream;
pub(super) mod wide;

use super::{
    CALLS_LONG, CALLS_MAX_ARGS, CALLS_SHORT, CHAIN_OPERAND, CHAIN_ROTATE, CHAIN_SEED, CHAIN_UNROLL, CHASE_UNROLL,
    chain_ops,
};
use core::arch::{asm, naked_asm, x86_64::__cpuid};

pub(super) mod atomic;
pub(super) mod operation;

/// The counter's name.
pub const COUNTER_NAME: &str = "tsc";

/// Whether the counter can be trusted, or the plain reason why not.
pub fn counter_usable() -> Result<(), String> {
    let last = __cpuid(0x8000_0000).eax;
    // Intel SDM vol. 2 and AMD APM vol. 3, CPUID: leaf 8000_0001 EDX bit 27 is RDTSCP, 8000_0007 EDX bit 8 the
    // invariant TSC.
    if last < 0x8000_0001 || __cpuid(0x8000_0001).edx & (1 << 27) == 0 {
        return Err("this CPU has no rdtscp instruction".into());
    }
    if last < 0x8000_0007 || __cpuid(0x8000_0007).edx & (1 << 8) == 0 {
        return Err(
            "CPUID does not promise an invariant TSC: its rate may change with the clock or stop in sleep".into()
        );
    }
    Ok(())
}

/// Reads the counter before the work: nothing before is still running, nothing after has begun.
#[inline(always)]
pub fn counter_start() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: reads a counter; registers as declared.
    unsafe {
        asm!("lfence", "rdtsc", "lfence", out("rax") low, out("rdx") high, options(nostack, preserves_flags));
    }
    high << 32 | low
}

/// Reads the counter after the work: `rdtscp` waits for all of it, and nothing after has begun.
#[inline(always)]
pub fn counter_stop() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: reads a counter; registers as declared (rcx receives the CPU's number).
    unsafe {
        asm!("rdtscp", "lfence", out("rax") low, out("rdx") high, out("rcx") _, options(nostack, preserves_flags));
    }
    high << 32 | low
}

macro_rules! syscalls {
    ($($name:ident($($arg:ident: $register:tt),*);)*) => {$(
        /// A system call by number, inlined: the instruction and nothing else. Errors come back as `-errno`.
        ///
        /// # Safety
        ///
        /// The arguments must be what the call with that number wants, and what the call does to this process's
        /// memory, descriptors and signals must be allowed.
        #[cfg(target_os = "linux")]
        #[inline(always)]
        pub unsafe fn $name(nr: usize, $($arg: usize),*) -> isize {
            let result: isize;
            // SAFETY: the caller vouches for number and arguments; the instruction itself changes rcx and r11.
            unsafe {
                asm!("syscall", inlateout("rax") nr => result, $(in($register) $arg,)*
                    lateout("rcx") _, lateout("r11") _, options(nostack));
            }
            result
        }
    )*};
}

syscalls! {
    syscall0();
    syscall1(a0: "rdi");
    syscall2(a0: "rdi", a1: "rsi");
    syscall3(a0: "rdi", a1: "rsi", a2: "rdx");
    syscall4(a0: "rdi", a1: "rsi", a2: "rdx", a3: "r10");
    syscall5(a0: "rdi", a1: "rsi", a2: "rdx", a3: "r10", a4: "r8");
    syscall6(a0: "rdi", a1: "rsi", a2: "rdx", a3: "r10", a4: "r8", a5: "r9");
}

/// `clone3` whose child calls `body(argument)` on the stack that `args` name and ends its thread with the answer as code.
///
/// # Safety
///
/// `args` are the kernel's `struct clone_args` of that size, with all that they point to. A child that shares memory has a
/// stack of its own, aligned to 16 bytes, and that, the body and its argument outlive it.
#[cfg(target_os = "linux")]
#[inline(never)]
pub unsafe fn clone3_call(args: usize, size: usize, body: extern "C" fn(usize) -> i32, argument: usize) -> isize {
    let result: isize;
    // SAFETY: the caller vouches for the call. The parent goes on behind it with rcx and r11 changed; the child never does.
    unsafe {
        asm!("syscall", "test rax, rax", "jnz 2f",
            "xor ebp, ebp", "mov rdi, r12", "call r13", "mov edi, eax", "mov eax, {exit}", "syscall", "ud2",
            "2:",
            exit = const libc::SYS_exit, inlateout("rax") libc::SYS_clone3 as usize => result,
            in("rdi") args, in("rsi") size, in("r12") argument, in("r13") body,
            lateout("rcx") _, lateout("r11") _);
    }
    result
}

const _: () = assert!(CHAIN_ROTATE == 7, "written out below");

/// Whether a step of [`add_chain`] takes one cycle, so that the clock can be told from it.
pub const ADD_TAKES_ONE_CYCLE: bool = true;

macro_rules! chains {
    ($($(#[$doc:meta])* $name:ident: $instruction:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// Returns the last value. `n` is rounded up ([`chain_ops`]).
        #[inline(never)]
        pub fn $name(n: u64) -> u64 {
            let mut x = CHAIN_SEED;
            if n == 0 {
                return x;
            }
            // SAFETY: arithmetic on declared registers.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept {unroll}",
                    $instruction,
                    ".endr",
                    "sub rcx, 1",
                    "jnz 2b",
                    unroll = const CHAIN_UNROLL,
                    inout("rax") x,
                    inout("rcx") chain_ops(n) / CHAIN_UNROLL => _,
                    in("rdx") CHAIN_OPERAND,
                    options(nostack),
                );
            }
            x
        }
    )*};
}

chains! {
    /// `n` dependent additions of a register to a register: one cycle each.
    add_chain: "add rax, rdx";
    /// `n` dependent multiplications of a register by a register: three cycles each since Nehalem and Zen.
    mul_chain: "imul rax, rdx";
    /// `n` dependent rotations: one cycle each.
    rotate_chain: "ror rax, 7";
}

/// The function that [`calls`] calls. It takes what its caller passes and only returns.
#[unsafe(naked)]
extern "sysv64" fn leaf() {
    naked_asm!("ret")
}

macro_rules! call_loops {
    ($($name:ident: $($set_up:literal),* => $($clean_up:literal),*;)*) => {
        /// The loop that calls an out-of-line function of `k` integer arguments, 0 to 7, [`CALLS_LONG`] or
        /// [`CALLS_SHORT`] times per iteration, set up as a compiler does it: constants moved to the registers of the
        /// System V ABI, the seventh pushed (below padding: the stack stays aligned to 16).
        ///
        /// # Panics
        ///
        /// If `k` is above [`CALLS_MAX_ARGS`].
        pub fn calls(k: usize, short: bool) -> fn(u64) {
            const LOOPS: [[fn(u64); 2]; CALLS_MAX_ARGS + 1] =
                [$([$name::<CALLS_LONG> as fn(u64), $name::<CALLS_SHORT> as fn(u64)]),*];
            LOOPS[k][usize::from(short)]
        }

        $(
            fn $name<const CALLS: u64>(iters: u64) {
                if iters == 0 {
                    return;
                }
                // SAFETY: calls a function that only returns; every register the ABI lets a callee change is declared;
                // the stack is left as it was found (and not said to be unused).
                unsafe {
                    asm!(
                        ".p2align 6",
                        "2:",
                        ".rept {calls}",
                        $($set_up,)*
                        "call {leaf}",
                        $($clean_up,)*
                        ".endr",
                        "sub r12, 1",
                        "jnz 2b",
                        calls = const CALLS,
                        leaf = sym leaf,
                        inout("r12") iters => _,
                        clobber_abi("sysv64"),
                    );
                }
            }
        )*
    };
}

call_loops! {
    calls0: => ;
    calls1: "mov edi, 1" => ;
    calls2: "mov edi, 1", "mov esi, 2" => ;
    calls3: "mov edi, 1", "mov esi, 2", "mov edx, 3" => ;
    calls4: "mov edi, 1", "mov esi, 2", "mov edx, 3", "mov ecx, 4" => ;
    calls5: "mov edi, 1", "mov esi, 2", "mov edx, 3", "mov ecx, 4", "mov r8d, 5" => ;
    calls6: "mov edi, 1", "mov esi, 2", "mov edx, 3", "mov ecx, 4", "mov r8d, 5", "mov r9d, 6" => ;
    calls7: "sub rsp, 8", "mov edi, 1", "mov esi, 2", "mov edx, 3", "mov ecx, 4", "mov r8d, 5", "mov r9d, 6", "push 7"
        => "add rsp, 16";
}

/// Follows `loads` pointers from `start` and returns the last: each load's address is the value of the load before.
/// `mov rax, [rax]` is the cheapest load there is (an index would add a cycle on Intel), and the only use of memory.
/// `loads` is rounded down to a multiple of [`CHASE_UNROLL`].
///
/// # Safety
///
/// `start` points to a pointer that points to a pointer and so on, `loads` times, each aligned and valid to read.
#[inline(never)]
pub unsafe fn chase(start: *const u8, loads: u64) -> *const u8 {
    let mut here = start;
    let turns = loads / CHASE_UNROLL;
    if turns == 0 {
        return here;
    }
    // SAFETY: the caller vouches for the chain; registers as declared.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {unroll}",
            "mov rax, [rax]",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            unroll = const CHASE_UNROLL,
            inout("rax") here,
            inout("rcx") turns => _,
            options(nostack, readonly),
        );
    }
    here
}
