//! Every stream kernel that this CPU can run, compared with what it should leave in memory.
//!
//! # Safety
//!
//! The kernels run in buffers between two closed pages, so an access outside them faults.
#![expect(unsafe_code, reason = "calls the raw kernels")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fenced;

use fenced::{Fenced, UNTOUCHED};
use groma_sys::arch::{Op, STREAM_ALIGN, STREAM_PATTERN, StreamKernel, portable, stream_kernels, stream_missing};
use groma_sys::stream::{ADDRESS_OFFSET, Stream, apart};
use std::collections::HashSet;

/// Runs `kernel` over buffers between two closed pages, first at the front one and then at the rear
/// one, and returns the destination afterwards, and the source.
fn after(kernel: &StreamKernel, bytes: usize, passes: u64) -> [(Vec<u8>, Vec<u8>); 2] {
    let (mut dst, mut src) = (Fenced::new(bytes + STREAM_ALIGN), Fenced::new(bytes + STREAM_ALIGN));
    [false, true].map(|rear| {
        dst.memory().fill(UNTOUCHED);
        src.memory().iter_mut().zip(0_u32..).for_each(|(byte, i)| *byte = (i.wrapping_mul(0x9e37_79b9) >> 24) as u8);
        let (from, to) = match rear {
            false => (src.memory().as_ptr(), dst.memory().as_mut_ptr()),
            true => (tail(&mut src, bytes).as_ptr(), tail(&mut dst, bytes).as_mut_ptr()),
        };
        // SAFETY: the CPU has the kernel; both buffers are `bytes` long, disjoint, and aligned to a
        // line.
        unsafe { (kernel.run)(to, from, bytes, passes) };
        (dst.memory().to_vec(), src.memory().to_vec())
    })
}

#[test]
fn stream_kernels_write_what_they_should_and_nothing_else() {
    for kernel in stream_kernels() {
        // None, one turn, few, and an odd number of half pages, unless a turn is a page.
        let pages = (3 * 4096_usize + 2048).next_multiple_of(kernel.step);
        for bytes in [0, 1, 2, 3, 7].map(|turns| turns * kernel.step).into_iter().chain([pages]) {
            for passes in [0, 1, 2, 3] {
                let run = after(kernel, bytes, passes);
                for (rear, (dst, src)) in [false, true].into_iter().zip(&run) {
                    let written = if passes == 0 { 0 } else { bytes };
                    let at = if rear { dst.len() - bytes } else { 0 };
                    let expected: Vec<u8> = (0..dst.len())
                        .map(|i| match kernel.op {
                            _ if i < at || i >= at + written => UNTOUCHED,
                            Op::Read | Op::RepLods => UNTOUCHED,
                            Op::ZeroLine => 0,
                            Op::Write | Op::WriteNt | Op::RepStos => STREAM_PATTERN.to_ne_bytes()[(i - at) % 8],
                            Op::Copy | Op::CopyNt | Op::RepMovs => src[i],
                        })
                        .collect();
                    assert!(expected == *dst, "{kernel:?}, {bytes} bytes, {passes} passes, rear {rear}");
                    let source = (0..src.len() as u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8);
                    assert!(source.eq(src.iter().copied()), "{kernel:?} changed its source");
                }
            }
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn stream_kernels_go_all_the_way() {
    for kernel in stream_kernels() {
        let bytes = 1 << 20;
        let (mut dst, mut src) = (Fenced::new(bytes), Fenced::new(bytes));
        // SAFETY: as in `after`.
        unsafe { (kernel.run)(dst.memory().as_mut_ptr(), src.memory().as_ptr(), bytes, 1) };
        let pages = bytes / src.page;
        let expect = |per_byte| pages * per_byte as usize;
        assert_eq!(expect(kernel.op.read_per_byte()), touched(&src), "{kernel:?} read");
        assert_eq!(expect(kernel.op.written_per_byte()), touched(&dst), "{kernel:?} wrote");
    }
}

/// Counts how often a kernel alternates between two pages: only one of the two is open at a time,
/// and an access to the other faults, which opens it and closes the first.
#[cfg(target_os = "linux")]
mod turnstile {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    static FIRST: AtomicUsize = AtomicUsize::new(0);
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    static FAULTS: AtomicUsize = AtomicUsize::new(0);

    fn protect(address: usize, protection: i32) {
        // SAFETY: only ever called for the two pages of the buffer.
        unsafe { libc::mprotect(std::ptr::with_exposed_provenance_mut(address), PAGE.load(Relaxed), protection) };
    }

    extern "C" fn turn(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        let (first, page) = (FIRST.load(Relaxed), PAGE.load(Relaxed));
        // SAFETY: the kernel passes the fault's information.
        let here = unsafe { (*info).si_addr() }.addr() / page * page;
        if here != first && here != first + page {
            // Another fault, which is taken again and kills.
            // SAFETY: restores the default.
            unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
            return;
        }
        protect(here, libc::PROT_READ | libc::PROT_WRITE);
        protect(first + first + page - here, libc::PROT_NONE);
        FAULTS.fetch_add(1, Relaxed);
    }

    /// How often `work` moves from one page to the other, of the two at `pages`, if it starts with
    /// the first.
    pub(super) fn count(pages: *mut u8, page: usize, work: impl FnOnce()) -> usize {
        FIRST.store(pages.expose_provenance(), Relaxed);
        PAGE.store(page, Relaxed);
        FAULTS.store(0, Relaxed);
        protect(pages.addr(), libc::PROT_NONE);
        // SAFETY: the handler only accesses the atomics and the two pages.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let mut before: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = turn as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            assert_eq!(0, libc::sigaction(libc::SIGSEGV, &action, &mut before));
            work();
            assert_eq!(0, libc::sigaction(libc::SIGSEGV, &before, std::ptr::null_mut()));
        }
        protect(pages.addr(), libc::PROT_READ | libc::PROT_WRITE);
        protect(pages.addr() + page, libc::PROT_READ | libc::PROT_WRITE);
        FAULTS.load(Relaxed)
    }
}

#[test]
#[cfg(target_os = "linux")]
fn stream_kernels_make_the_requested_passes() {
    for kernel in stream_kernels() {
        let page = Fenced::new(1).page;
        let (mut dst, mut src) = (Fenced::new(2 * page), Fenced::new(2 * page));
        let (to, from) = (dst.memory().as_mut_ptr(), src.memory().as_mut_ptr());
        for passes in [1, 2, 5] {
            // SAFETY: as in `after`.
            let work = || unsafe { (kernel.run)(to, from, 2 * page, passes) };
            // Eight places in turn, four in each page, alternate once for each 256 bytes of a
            // place.
            let turns = if kernel.isa.ends_with("x8") { 2 * page as u64 / 8 / 256 } else { 1 };
            let expect = |per_byte| (2 * passes * turns * per_byte) as usize;
            assert_eq!(expect(kernel.op.read_per_byte()), turnstile::count(from, page, work), "{kernel:?} read");
            assert_eq!(expect(kernel.op.written_per_byte()), turnstile::count(to, page, work), "{kernel:?} wrote");
        }
    }
}

#[test]
fn every_operation_has_a_kernel_or_a_reason() {
    let all = stream_kernels();
    let names: HashSet<_> = all.iter().map(|kernel| (kernel.op, kernel.isa)).collect();
    assert_eq!(all.len(), names.len(), "a kernel is listed twice");
    for op in Op::ALL {
        let of_op: Vec<_> = all.iter().filter(|kernel| kernel.op == op).collect();
        assert_eq!(of_op.is_empty(), stream_missing(op).is_some(), "{op:?}");
        assert!(of_op.is_sorted_by(|a, b| a.width >= b.width), "{op:?}: the widest comes first");
        assert!(portable::stream::stream_missing(op).is_some() || of_op.iter().any(|kernel| kernel.isa == "portable"));
        match Stream::new(op, None) {
            Ok(stream) => {
                assert!(std::ptr::eq(*of_op[0], stream.kernel()));
                let candidates = Stream::candidates(op).unwrap();
                let native = of_op.iter().filter(|kernel| kernel.isa != "portable").count();
                assert_eq!(native.max(1), candidates.len(), "{op:?}");
            }
            Err(why) => assert!(why.contains(stream_missing(op).unwrap()), "{why}"),
        }
        for kernel in of_op {
            assert!(std::ptr::eq(*kernel, Stream::new(op, Some(kernel.isa)).unwrap().kernel()));
            assert!(kernel.step.is_multiple_of(kernel.width) && kernel.step.is_multiple_of(STREAM_ALIGN));
            assert!(kernel.step.is_power_of_two(), "{kernel:?}: benchmarks go over powers of two");
        }
    }
    let why = Stream::new(Op::Read, Some("mmx")).unwrap_err();
    assert!(why.starts_with("no read kernel for mmx; this CPU has ") && why.ends_with("portable"), "{why}");
}

#[test]
fn operations_state_their_bytes() {
    let of = |op: Op| (op.read_per_byte(), op.written_per_byte(), op.modelled_per_byte());
    let expected = [
        ("read", (1, 0, 1)),
        ("write", (0, 1, 2)),
        ("write_nt", (0, 1, 1)),
        ("zero_line", (0, 1, 1)),
        ("rep_stos", (0, 1, 2)),
        ("rep_movs", (1, 1, 3)),
        ("rep_lods", (1, 0, 1)),
        ("copy", (1, 1, 3)),
        ("copy_nt", (1, 1, 2)),
    ];
    assert_eq!(expected, Op::ALL.map(|op| (op.word(), of(op))));
}

#[test]
fn a_stream_checks_its_buffers() {
    let mut memory = Fenced::new(1 << 16);
    let (dst, src) = memory.memory().split_at_mut(1 << 15);
    let stream = Stream::new(Op::Copy, None).unwrap();
    assert_eq!(4096, stream.round_down(4096 + stream.kernel().step - 1));
    let mut why = |to: std::ops::Range<usize>, from: std::ops::Range<usize>| {
        stream.over(&mut dst[to], &src[from]).map(|_| ()).unwrap_err()
    };
    assert_eq!("cannot copy 4096 bytes to 8192", why(0..8192, 0..4096));
    assert_eq!("a buffer to copy must begin at a multiple of 64 bytes", why(8..4104, 0..4096));
    assert_eq!("a buffer to copy must begin at a multiple of 64 bytes", why(0..4096, 8..4104));
    assert!(why(0..4104, 0..4104).starts_with("4104 bytes are not a multiple of the "));
    assert!(why(0..0, 0..0).starts_with("0 bytes are not"));

    src.fill(7);
    let mut pass = stream.over(&mut dst[..4096], &src[..4096]).unwrap();
    pass.run(2);
    assert_eq!((8192, 3 * 4096), (pass.program_bytes(), pass.modelled_bytes()));
    assert!(dst[..4096].iter().all(|byte| *byte == 7));

    let read = Stream::new(Op::Read, None).unwrap();
    assert_eq!(4096, read.over(&mut [], &src[..4096]).unwrap().program_bytes());
    let write = Stream::new(Op::Write, None).unwrap();
    assert_eq!(8192, write.over(&mut dst[..4096], &[]).unwrap().modelled_bytes());
}

#[test]
fn copies_lie_apart_by_the_requested_distance() {
    let mut memory = vec![0_u8; 1 << 16];
    for bytes in [64, 4096, 5120, 16384] {
        for distance in [0, 64, ADDRESS_OFFSET, 4032] {
            let (dst, src) = apart(&mut memory, bytes, distance).unwrap();
            let (to, from) = (dst.as_ptr().addr(), src.as_ptr().addr());
            assert_eq!((bytes, bytes), (dst.len(), src.len()));
            assert_eq!(distance, (to - from) % 4096);
            assert!(to >= from + bytes && from % STREAM_ALIGN == 0);
        }
    }
    assert!(apart(&mut memory, 64, 4096).is_err());
    assert!(apart(&mut memory, 64, 8).is_err());
    assert!(apart(&mut memory, 1 << 15, 64).map(|_| ()).unwrap_err().starts_with("two times 32768 bytes"));
}

/// The number of pages that have been accessed.
#[cfg(target_os = "linux")]
fn touched(fenced: &Fenced) -> usize {
    let mut pages = vec![0_u8; fenced.bytes / fenced.page];
    // SAFETY: one byte per page of the open part.
    assert_eq!(0, unsafe { libc::mincore(fenced.map.add(fenced.page).cast(), fenced.bytes, pages.as_mut_ptr()) });
    pages.iter().filter(|page| **page & 1 == 1).count()
}

/// The last `bytes` before the closed page.
fn tail(fenced: &mut Fenced, bytes: usize) -> &mut [u8] {
    let start = fenced.bytes - bytes;
    &mut fenced.memory()[start..]
}
