//! The safe interface to STREAM's loops on arrays of doubles ([`crate::arch::DoublesKernel`]).
//!
//! # Safety
//!
//! A [`Pass`] exists only for a kernel from the list of what the CPU can run and for arrays that
//! [`Loop::over`] checked. It holds them as Rust slices, so they are alive, not shared and do not
//! overlap. Every bit pattern is a double.
#![expect(unsafe_code, reason = "calls the kernels")]

pub use crate::arch::{DOUBLES_SCALAR, Doubles, DoublesKernel};
use crate::arch::{STREAM_ALIGN, doubles_kernels};

/// A kernel that this CPU can run.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    kernel: &'static DoublesKernel,
}

impl Loop {
    /// The kernel for `op`, with or without non-temporal stores, with the instructions `isa` or the
    /// widest available.
    ///
    /// # Errors
    ///
    /// Says why there is none.
    pub fn new(op: Doubles, nt: bool, isa: Option<&str>) -> Result<Self, String> {
        let of_op = doubles_kernels().into_iter().filter(|kernel| kernel.op == op && kernel.nt == nt);
        let found = of_op.into_iter().find(|kernel| isa.is_none_or(|isa| isa == kernel.isa));
        found.map(|kernel| Self { kernel }).ok_or_else(|| match (op, nt) {
            (Doubles::Sum, true) => "sum stores nothing".to_owned(),
            (Doubles::Daxpy, true) => {
                "daxpy stores where it has just read, where bypassing the caches makes no sense".to_owned()
            }
            (_, true) => format!("no {} kernel here with stores that bypass the caches", op.word()),
            (_, false) => format!("no {} kernel for {} on this CPU", op.word(), isa.unwrap_or("it")),
        })
    }

    /// The kernel.
    pub fn kernel(&self) -> &'static DoublesKernel {
        self.kernel
    }

    /// Fixes the arrays; those that the loop does not use may be empty.
    ///
    /// # Errors
    ///
    /// Says what is wrong with address or length.
    pub fn over<'a>(&self, a: &'a mut [u8], b: &'a [u8], c: &'a [u8]) -> Result<Pass<'a>, String> {
        let (op, step) = (self.kernel.op, self.kernel.step);
        let uses_b = op != Doubles::Fill;
        let uses_c = matches!(op, Doubles::Add | Doubles::Triad);
        let used =
            [(op.writes() > 0, a.as_ptr(), a.len()), (uses_b, b.as_ptr(), b.len()), (uses_c, c.as_ptr(), c.len())];
        let bytes = if op.writes() > 0 { a.len() } else { b.len() };
        for (_, at, len) in used.iter().filter(|(used, ..)| *used) {
            if *len != bytes || bytes == 0 || !bytes.is_multiple_of(step) || !at.addr().is_multiple_of(STREAM_ALIGN) {
                return Err(format!(
                    "an array of {len} bytes: wanted are {bytes}, multiples of {step} bytes on whole lines"
                ));
            }
        }
        Ok(Pass { kernel: self.kernel, a, b, c, bytes })
    }
}

/// A kernel on its arrays.
pub struct Pass<'a> {
    kernel: &'static DoublesKernel,
    a: &'a mut [u8],
    b: &'a [u8],
    c: &'a [u8],
    bytes: usize,
}

impl Pass<'_> {
    /// Passes `passes` times over the arrays; returns the sum over all passes, for loops that have
    /// one.
    #[inline]
    pub fn run(&mut self, passes: u64) -> f64 {
        // SAFETY: `Loop::over` checked address and length of the arrays that the kernel uses; their
        // alignment is a line's.
        unsafe {
            (self.kernel.run)(
                self.a.as_mut_ptr().cast(),
                self.b.as_ptr().cast(),
                self.c.as_ptr().cast(),
                self.bytes,
                passes,
            )
        }
    }
}
