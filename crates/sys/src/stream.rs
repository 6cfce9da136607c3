//! The safe interface to the kernels that read, write or copy a buffer front to back
//! ([`crate::arch::StreamKernel`]).
//!
//! [`Stream`] is a kernel that this CPU has, chosen once. [`Stream::over`] checks the buffers once
//! and returns a [`Pass`], whose `run` is the kernel and nothing else. Sizes, repetitions and
//! clocks are the caller's business.
//!
//! # Safety
//!
//! A `Pass` exists only for a kernel from the list of what the CPU can run and for buffers that
//! [`Stream::over`] checked. It holds both as Rust slices, so they are alive, not shared and do not
//! overlap.
#![expect(unsafe_code, reason = "calls the kernels")]

pub use crate::arch::{Op, STREAM_ALIGN, StreamKernel};
use crate::arch::{stream_kernels, stream_missing};

/// The name of the kernels in plain Rust.
const PORTABLE: &str = "portable";

/// A kernel that this CPU can run.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    kernel: &'static StreamKernel,
}

impl Stream {
    /// The kernel for `op` with the instructions `isa`, or with the widest available.
    ///
    /// # Errors
    ///
    /// Says why there is none.
    pub fn new(op: Op, isa: Option<&str>) -> Result<Self, String> {
        let mut kernels = stream_kernels();
        kernels.retain(|kernel| kernel.op == op);
        match kernels.iter().find(|kernel| isa.is_none_or(|isa| isa == kernel.isa)) {
            Some(kernel) => Ok(Self { kernel }),
            None if kernels.is_empty() => {
                Err(format!("no {} kernel: {}", op.word(), stream_missing(op).unwrap_or("none was written")))
            }
            None => {
                let isas: Vec<_> = kernels.iter().map(|kernel| kernel.isa).collect();
                Err(format!("no {} kernel for {}; this CPU has {}", op.word(), isa.unwrap_or("it"), isas.join(", ")))
            }
        }
    }

    /// All kernels for `op` that may be the fastest here: the native ones, or the portable one
    /// where there are none.
    ///
    /// Which one is fastest depends on the CPU and on where the buffer is, so it has to be tried
    /// (`docs/methods/memory.md#kernel-choice`).
    ///
    /// # Errors
    ///
    /// Says why there is none.
    pub fn candidates(op: Op) -> Result<Vec<Self>, String> {
        let first = Self::new(op, None)?;
        let native = stream_kernels().into_iter().filter(|kernel| kernel.op == op && kernel.isa != PORTABLE);
        let native: Vec<_> = native.map(|kernel| Self { kernel }).collect();
        Ok(if native.is_empty() { vec![first] } else { native })
    }

    /// The kernel.
    pub fn kernel(&self) -> &'static StreamKernel {
        self.kernel
    }

    /// The largest size up to `bytes` that the kernel can run over.
    pub fn round_down(&self, bytes: usize) -> usize {
        bytes - bytes % self.kernel.step
    }

    /// Fixes the buffers: `dst` is written, `src` is read; one that the operation does not use is
    /// ignored and may be empty. For a copy their relative position matters: see [`apart`].
    ///
    /// # Errors
    ///
    /// Says what is wrong with address or length.
    pub fn over<'a>(&self, dst: &'a mut [u8], src: &'a [u8]) -> Result<Pass<'a>, String> {
        let op = self.kernel.op;
        let (reads, writes) = (op.read_per_byte() > 0, op.written_per_byte() > 0);
        if reads && writes && dst.len() != src.len() {
            return Err(format!("cannot {} {} bytes to {}", op.word(), src.len(), dst.len()));
        }
        let used = [(reads, src.as_ptr()), (writes, dst.as_ptr())];
        if used.iter().any(|(used, address)| *used && !address.addr().is_multiple_of(STREAM_ALIGN)) {
            return Err(format!("a buffer to {} must begin at a multiple of {STREAM_ALIGN} bytes", op.word()));
        }
        let bytes = if reads { src.len() } else { dst.len() };
        if bytes == 0 || !bytes.is_multiple_of(self.kernel.step) {
            let (isa, step) = (self.kernel.isa, self.kernel.step);
            return Err(format!("{bytes} bytes are not a multiple of the {step} that the {isa} kernel does at a time"));
        }
        Ok(Pass { kernel: self.kernel, dst, src, bytes })
    }
}

/// A kernel on its buffers.
pub struct Pass<'a> {
    kernel: &'static StreamKernel,
    dst: &'a mut [u8],
    src: &'a [u8],
    bytes: usize,
}

impl Pass<'_> {
    /// Passes `passes` times over the buffers, and returns the bytes that the program read plus
    /// those it wrote.
    #[inline]
    pub fn run(&mut self, passes: u64) -> u64 {
        // SAFETY: `Stream::over` checked address and length of the buffers that the kernel uses.
        unsafe { (self.kernel.run)(self.dst.as_mut_ptr(), self.src.as_ptr(), self.bytes, passes) };
        passes * self.program_bytes()
    }

    /// Bytes that the program reads plus those it writes in one pass.
    pub fn program_bytes(&self) -> u64 {
        let op = self.kernel.op;
        self.bytes as u64 * (op.read_per_byte() + op.written_per_byte())
    }

    /// Bytes that memory moves in one pass under the write-allocate model, if no cache holds the
    /// buffers.
    pub fn modelled_bytes(&self) -> u64 {
        self.bytes as u64 * self.kernel.op.modelled_per_byte()
    }
}

/// Bytes by which the addresses of source and destination of a copy should differ in their low
/// twelve bits.
///
/// A load whose address agrees in those bits with a store still in flight waits for it (4 KiB
/// aliasing). Loads run ahead of stores, so the worst place is a destination *just above* the
/// source, modulo 4096; half a page is far from it on both sides. On a Golden Cove core in L1, an
/// AVX2 copy moved 121 bytes per cycle at 2048, and 101 to 109 at 64 to 256
/// (`docs/methods/memory.md#bandwidth-kernels`).
pub const ADDRESS_OFFSET: usize = 2048;

/// Cuts the destination and the source of a copy, in this order, from one buffer: `bytes` each, and
/// `apart` bytes from equal in the low twelve address bits ([`ADDRESS_OFFSET`] is best).
///
/// # Errors
///
/// Says what is wrong with the distance, or how large the buffer must be.
pub fn apart(buffer: &mut [u8], bytes: usize, apart: usize) -> Result<(&mut [u8], &[u8]), String> {
    const PERIOD: usize = 4096;
    if apart >= PERIOD || !apart.is_multiple_of(STREAM_ALIGN) {
        return Err(format!("a distance of {apart} bytes is not a multiple of {STREAM_ALIGN} below {PERIOD}"));
    }
    let source = buffer.as_ptr().addr().next_multiple_of(STREAM_ALIGN) - buffer.as_ptr().addr();
    let gap = (apart + PERIOD - bytes % PERIOD) % PERIOD;
    let needed = source + bytes + gap + bytes;
    if buffer.len() < needed {
        return Err(format!("two times {bytes} bytes and the distance need {needed}; there are {}", buffer.len()));
    }
    let (source, rest) = buffer[source..needed].split_at_mut(bytes);
    Ok((&mut rest[gap..], source))
}
