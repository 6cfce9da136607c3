//! STREAM's loops in plain Rust.
//!
//! # Safety
//!
//! Raw pointers are dereferenced, for which the callers vouch.
#![expect(unsafe_code, reason = "walks raw pointers")]

use crate::arch::doubles::doubles_kernels_of;
use crate::arch::{DOUBLES_SCALAR, Doubles, DoublesKernel};
use core::hint::black_box;

/// Every kernel there is.
pub fn doubles_kernels() -> Vec<&'static DoublesKernel> {
    KERNELS.iter().collect()
}

pub(crate) static KERNELS: [DoublesKernel; 7] = doubles_kernels_of!("portable", 64);

macro_rules! loops {
    ($($name:ident: $a:ident, $b:ident, $c:ident, $i:ident => $value:expr;)*) => {$(
        /// # Safety
        ///
        /// As [`DoublesKernel::run`].
        unsafe fn $name(a: *mut f64, b: *const f64, c: *const f64, bytes: usize, passes: u64) -> f64 {
            for _ in 0..passes {
                let ($a, $b, $c) = (black_box(a), black_box(b), black_box(c));
                let _ = ($b, $c);
                for $i in 0..bytes / 8 {
                    // SAFETY: the caller vouches for `bytes` of each array that is used.
                    unsafe { *$a.add($i) = $value };
                }
            }
            black_box(a);
            0.0
        }
    )*};
}

loops! {
    copy: a, b, c, i => *b.add(i);
    scale: a, b, c, i => DOUBLES_SCALAR * *b.add(i);
    add: a, b, c, i => *b.add(i) + *c.add(i);
    triad: a, b, c, i => *b.add(i) + DOUBLES_SCALAR * *c.add(i);
    fill: a, b, c, i => DOUBLES_SCALAR;
    daxpy: a, b, c, i => *a.add(i) + DOUBLES_SCALAR * *b.add(i);
}

/// # Safety
///
/// As [`DoublesKernel::run`].
unsafe fn sum(_: *mut f64, b: *const f64, _: *const f64, bytes: usize, passes: u64) -> f64 {
    // Several, so that additions do not wait for one another.
    let mut sums = [0.0; 8];
    for _ in 0..passes {
        let b = black_box(b);
        for i in 0..bytes / 8 {
            // SAFETY: the caller vouches for `bytes` of it.
            sums[i % 8] += unsafe { *b.add(i) };
        }
    }
    sums.iter().sum()
}
