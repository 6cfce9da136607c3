//! Asking for the time without entering the kernel: `clock_gettime` of `CLOCK_MONOTONIC` through libc and the vDSO.
//!
//! Measures what every program pays that looks at a clock: libc's wrapper, the kernel's code in the program's own address
//! space, a read of the cycle counter, and the arithmetic. Does not measure the step of the clock (`clock.step`) nor the
//! clock that this program times with (`clock.read`).
//!
//! Method: many calls in one short interval, each answer looked at. The same call by number, which does enter the kernel,
//! runs in the same rounds: its series says what the vDSO saves. The proof is the same loop in a child cut off from the
//! kernel: for it the clock goes on.
//!
//! Traps: clock sources that the vDSO cannot read (xen, hpet, acpi_pm), with which libc enters the kernel behind the
//! caller's back: that is `unsupported` here, not a slow result. Sandboxes that bring no vDSO, the same.
//!
//! Source: CSE 221 "measurement overhead" (reading the time); lmbench and the others have nothing like it.

use crate::entry;
use groma_harness::prelude::*;
use groma_harness::sys::{libc_calls, raw};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading the clock without a system call: clock_gettime(CLOCK_MONOTONIC) through libc",
        about: about!("clock_gettime.rs"),
        iteration: "one clock_gettime",
        outputs: &[
            Output { derivation: Derivation::Series("vdso"), ..Output::MAIN },
            Output {
                suffix: "syscall",
                summary: "the same by entering the kernel",
                derivation: Derivation::Series("syscall"),
                quantity: None,
                detail: false,
            },
        ],
        lineage: &["cse221:measurement_overhead"],
        ..Info::new("vdso.clock_gettime")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let mut vdso = |iters| {
        let mut worst = 0;
        for _ in 0..iters {
            worst = libc_calls::clock_gettime().min(worst);
        }
        answered(worst as isize)
    };
    let mut syscall = |iters| {
        let mut worst = 0;
        for _ in 0..iters {
            worst = raw::clock_gettime().min(worst);
        }
        answered(worst)
    };
    entry::never_asks_the_kernel(ctx, &mut vdso)?;
    ctx.measure_arms(&mut [Arm::new("vdso", &mut vdso), Arm::new("syscall", &mut syscall)])
}

fn answered(worst: isize) -> Outcome {
    if worst == 0 { Ok(()) } else { Err(Stop::Failed(format!("clock_gettime answered {worst}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn the_kernel_is_not_asked() {
        let tried = try_out(&BENCH, &[], None).expect("a clock");
        assert!(tried.samples("vdso") >= 3 && tried.samples("syscall") >= 3);
        assert_eq!(tried.proven("calls of 100 that the kernel was asked for"), 0.0);
    }
}
