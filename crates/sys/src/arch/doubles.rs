//! The loops of McCalpin's STREAM and STREAM2, on arrays of doubles.
//!
//! One pass computes every element of an array once (`docs/methods/memory.md#stream`).

pub use super::native::doubles::doubles_kernels;

/// The scalar of the loops.
pub const DOUBLES_SCALAR: f64 = 3.0;

/// A loop that writes `a` and reads `b` and `c`; the scalar is [`DOUBLES_SCALAR`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubles {
    /// `a = b`
    Copy,
    /// `a = scalar * b`
    Scale,
    /// `a = b + c`
    Add,
    /// `a = b + scalar * c`
    Triad,
    /// `a = scalar`
    Fill,
    /// `a = a + scalar * b`
    Daxpy,
    /// `sum = sum + b`
    Sum,
}

impl Doubles {
    /// All of them.
    pub const ALL: [Doubles; 7] =
        [Doubles::Copy, Doubles::Scale, Doubles::Add, Doubles::Triad, Doubles::Fill, Doubles::Daxpy, Doubles::Sum];

    /// The word used in names and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Doubles::Copy => "copy",
            Doubles::Scale => "scale",
            Doubles::Add => "add",
            Doubles::Triad => "triad",
            Doubles::Fill => "fill",
            Doubles::Daxpy => "daxpy",
            Doubles::Sum => "sum",
        }
    }

    /// Arrays it reads, `a` included for [`Doubles::Daxpy`].
    pub const fn reads(self) -> u64 {
        match self {
            Doubles::Fill => 0,
            Doubles::Copy | Doubles::Scale | Doubles::Sum => 1,
            Doubles::Add | Doubles::Triad | Doubles::Daxpy => 2,
        }
    }

    /// Arrays it writes.
    pub const fn writes(self) -> u64 {
        !matches!(self, Doubles::Sum) as u64
    }

    /// Arrays it uses.
    pub const fn arrays(self) -> u64 {
        self.reads() + self.writes() - matches!(self, Doubles::Daxpy) as u64
    }

    /// Arrays that memory moves if stores fetch their lines first, unless the stores are
    /// non-temporal (`nt`) or hit the line that was just read.
    pub const fn modelled(self, nt: bool) -> u64 {
        self.reads() + self.writes() * if nt || matches!(self, Doubles::Daxpy) { 1 } else { 2 }
    }
}

/// A loop for one set of instructions.
#[derive(Debug)]
pub struct DoublesKernel {
    /// What it computes.
    pub op: Doubles,
    /// Whether its stores are non-temporal.
    pub nt: bool,
    /// The instructions it uses: `avx512`, `avx2`, `neon`, `sve`, `rvv`, `scalar` or `portable`.
    pub isa: &'static str,
    /// The number of bytes of an array must be a multiple of this.
    pub step: usize,
    /// Passes `passes` times over `bytes` bytes of each array, front to back, and returns the sum
    /// over all passes (0 for loops without one). Multiplication and addition round separately, as
    /// in the original C; the order of a sum is unspecified.
    ///
    /// # Safety
    ///
    /// The CPU has `isa`; `bytes` is a multiple of `step`; the arrays that `op` uses are valid for
    /// `bytes` bytes, `a` for writes, do not overlap and are aligned to [`super::STREAM_ALIGN`].
    pub run: unsafe fn(a: *mut f64, b: *const f64, c: *const f64, bytes: usize, passes: u64) -> f64,
}

/// The kernels of an instruction set, from functions named after the loops; `nt` adds those whose
/// stores bypass the caches.
macro_rules! doubles_kernels_of {
    ($isa:expr, $step:expr) => { doubles_kernels_of!(@list $isa, $step,) };
    (nt $isa:expr, $step:expr) => {
        doubles_kernels_of!(@list $isa, $step,
            Copy true copy_nt, Scale true scale_nt, Add true add_nt, Triad true triad_nt, Fill true fill_nt,)
    };
    (@list $isa:expr, $step:expr, $($op:ident $nt:literal $run:ident,)*) => {
        doubles_kernels_of!(@array $isa, $step,
            Copy false copy, Scale false scale, Add false add, Triad false triad, Fill false fill,
            Daxpy false daxpy, Sum false sum, $($op $nt $run,)*)
    };
    (@array $isa:expr, $step:expr, $($op:ident $nt:literal $run:ident,)*) => {
        [$(DoublesKernel { op: Doubles::$op, nt: $nt, isa: $isa, step: $step, run: $run }),*]
    };
}
pub(in crate::arch) use doubles_kernels_of;
