//! One result suite for every kernel that this CPU can run, each held against plain arithmetic, a model or the portable
//! reference. Results, counts and one ratio; never a time.
//!
//! # Safety
//!
//! The tests call the raw faces with buffers of their own, and map memory with a hole at either end to see that no
//! kernel leaves its buffer.
#![expect(unsafe_code, reason = "calls the raw kernels")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use groma_sys::arch::{self, Op, STREAM_ALIGN, STREAM_PATTERN, StreamKernel, portable, stream_kernels, stream_missing};
use groma_sys::chase::Chain;
use groma_sys::stream::{APART, Stream, apart};
use std::collections::{HashMap, HashSet};

/// Marsaglia's xorshift64, reduced by multiplication: random enough to shuffle with, the same at every run.
fn random(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |limit| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((u128::from(state) * u128::from(limit)) >> 64) as u64
    }
}

/// Memory of whole pages between two pages that may not be touched.
struct Fenced {
    map: *mut u8,
    bytes: usize,
    page: usize,
}

impl Fenced {
    fn new(bytes: usize) -> Self {
        // SAFETY: a fresh anonymous mapping, of which the middle is then opened.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let bytes = bytes.next_multiple_of(page);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let map = libc::mmap(std::ptr::null_mut(), bytes + 2 * page, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(map, libc::MAP_FAILED);
            let map = map.cast::<u8>();
            assert_eq!(0, libc::mprotect(map.add(page).cast(), bytes, libc::PROT_READ | libc::PROT_WRITE));
            Self { map, bytes, page }
        }
    }

    fn memory(&mut self) -> &mut [u8] {
        // SAFETY: the open part of the mapping, borrowed as `self` is.
        unsafe { std::slice::from_raw_parts_mut(self.map.add(self.page), self.bytes) }
    }

    /// The last `bytes` before the closed page.
    fn tail(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.bytes - bytes;
        &mut self.memory()[start..]
    }

    /// How many pages are there, that is, have been touched.
    #[cfg(target_os = "linux")]
    fn touched(&self) -> usize {
        let mut pages = vec![0_u8; self.bytes / self.page];
        // SAFETY: one byte per page of the open part.
        assert_eq!(0, unsafe { libc::mincore(self.map.add(self.page).cast(), self.bytes, pages.as_mut_ptr()) });
        pages.iter().filter(|page| **page & 1 == 1).count()
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, and nobody has a slice of it any more.
        unsafe { libc::munmap(self.map.cast(), self.bytes + 2 * self.page) };
    }
}

// The counter.

#[test]
fn counter_never_runs_backwards() {
    assert!(arch::counter_usable().err().is_none_or(|why| !why.is_empty()));
    assert!(!arch::COUNTER_NAME.is_empty());
    for (start, stop) in [
        (arch::counter_start as fn() -> u64, arch::counter_stop as fn() -> u64),
        (portable::counter_start, portable::counter_stop),
    ] {
        let begin = start();
        let mut last = begin;
        // Long enough for the coarsest counter to step.
        while last < begin + 100 {
            for read in [start, stop] {
                let now = read();
                assert!(now >= last);
                last = now;
            }
        }
    }
}

// Chains and calls.

#[test]
fn arithmetic_chains_compute_what_rust_computes() {
    let reference = |n: u64, step: fn(u64) -> u64| (0..arch::chain_ops(n)).fold(arch::CHAIN_SEED, |x, _| step(x));
    type Case = (fn(u64) -> u64, fn(u64) -> u64, fn(u64) -> u64);
    let cases: [Case; 3] = [
        (arch::add_chain, portable::add_chain, |x| x.wrapping_add(arch::CHAIN_OPERAND)),
        (arch::mul_chain, portable::mul_chain, |x| x.wrapping_mul(arch::CHAIN_OPERAND)),
        (arch::rotate_chain, portable::rotate_chain, |x| x.rotate_right(arch::CHAIN_ROTATE)),
    ];
    for (native, portable, step) in cases {
        // 128 rotations by 7 are none at all: the other sizes tell the number of steps apart.
        for n in [0, 1, 63, 64, 65, 128, 1000, 4096] {
            let expected = reference(n, step);
            assert_eq!(expected, native(n), "{n} steps");
            assert_eq!(expected, portable(n), "{n} steps, portable");
        }
    }
}

#[test]
fn chain_lengths_are_rounded_up() {
    assert_eq!([0, 64, 64, 128], [0, 1, 64, 65].map(arch::chain_ops));
    assert_eq!([0, 64, 64, 128], [0, 1, 64, 65].map(arch::chase_loads));
}

#[test]
fn call_loops_leave_the_caller_as_it_was() {
    for calls in [arch::calls as fn(usize, bool) -> fn(u64), portable::calls] {
        for k in 0..=arch::CALLS_MAX_ARGS {
            for short in [false, true] {
                for iters in [0, 1, 1000] {
                    // More live values than there are registers: a loop that changes one it does not declare shows.
                    let live: [u64; 20] = std::hint::black_box(std::array::from_fn(|i| i as u64 + iters));
                    let sum = |by: u64| live.iter().fold(0_u64, |sum, x| sum.rotate_left(5) ^ x.wrapping_mul(by));
                    let before = sum(3);
                    calls(k, short)(iters);
                    assert_eq!(before, sum(3), "{k} arguments, short {short}");
                }
            }
        }
    }
}

#[test]
#[should_panic = "index out of bounds"]
fn no_loop_calls_with_eight_arguments() {
    arch::calls(arch::CALLS_MAX_ARGS + 1, false);
}

/// The cheapest of many short windows, of two chains in turn: load can only make a window longer, and not every one of
/// two thousand. Stops as soon as the answer is there; it could not become better by waiting.
#[cfg(target_arch = "x86_64")]
fn ratio(numerator: fn(u64) -> u64, denominator: fn(u64) -> u64, expected: f64, tolerance: f64) {
    // 10 to 60 microseconds a window; what the clock's own reading costs falls out of the difference.
    const SHORT: u64 = 1 << 13;
    const LONG: u64 = SHORT + (1 << 15);
    let mut best = [u64::MAX; 4];
    let mut seen = 0.0;
    for _ in 0..2000 {
        for (best, (chain, n)) in
            best.iter_mut().zip([(numerator, SHORT), (denominator, SHORT), (numerator, LONG), (denominator, LONG)])
        {
            let start = arch::counter_start();
            std::hint::black_box(chain(n));
            *best = (arch::counter_stop() - start).min(*best);
        }
        let [a_short, b_short, a_long, b_long] = best.map(|ticks| ticks as f64);
        seen = (a_long - a_short) / (b_long - b_short);
        if (seen - expected).abs() <= tolerance {
            return;
        }
    }
    panic!("ratio {seen}, expected {expected} within {tolerance}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_multiplication_takes_three_additions_and_a_rotation_one() {
    // The fastest of one need not be at the clock of the other's, which hops by 3 to 4 %; another number of cycles is far off.
    ratio(arch::mul_chain, arch::add_chain, 3.0, 0.15);
    ratio(arch::rotate_chain, arch::add_chain, 1.0, 0.05);
}

// System calls: each number of arguments, so that the last one is seen to arrive.

#[cfg(target_os = "linux")]
macro_rules! syscall_suite {
    ($name:ident, $face:path) => {
        #[test]
        fn $name() {
            use std::os::fd::AsRawFd;
            use $face as face;
            let exe = std::fs::File::open("/proc/self/exe").unwrap();
            let contents = std::fs::read("/proc/self/exe").unwrap();
            let fd = exe.as_raw_fd() as usize;
            // SAFETY: each call is given memory of this function to write to, or none.
            unsafe {
                assert_eq!(std::process::id() as isize, face::syscall0(libc::SYS_getpid as usize));
                assert_eq!(-(libc::EBADF as isize), face::syscall1(libc::SYS_close as usize, usize::MAX));
                let mut limit = libc::rlimit { rlim_cur: 1, rlim_max: 0 };
                let resource = libc::RLIMIT_CORE as usize;
                let at = (&raw mut limit).expose_provenance();
                assert_eq!(0, face::syscall4(libc::SYS_prlimit64 as usize, 0, resource, 0, at));
                assert!(limit.rlim_cur <= limit.rlim_max);
                let mut time = libc::timespec { tv_sec: 0, tv_nsec: -1 };
                let at = (&raw mut time).expose_provenance();
                assert_eq!(0, face::syscall2(libc::SYS_clock_gettime as usize, libc::CLOCK_MONOTONIC as usize, at));
                assert!(time.tv_nsec >= 0);
                let mut magic = [0_u8; 4];
                let at = magic.as_mut_ptr().expose_provenance();
                assert_eq!(4, face::syscall3(libc::SYS_read as usize, fd, at, 4));
                assert_eq!(*b"\x7fELF", magic);
                assert_eq!(3, face::syscall4(libc::SYS_pread64 as usize, fd, at, 3, 1));
                assert_eq!(*b"ELFF", magic);
                let mut facts: libc::statx = std::mem::zeroed();
                let at = (&raw mut facts).expose_provenance();
                let (path, flags) = (c"".as_ptr().expose_provenance(), libc::AT_EMPTY_PATH as usize);
                assert_eq!(0, face::syscall5(libc::SYS_statx as usize, fd, path, flags, libc::STATX_SIZE as usize, at));
                assert_eq!(contents.len() as u64, facts.stx_size);
                let (offset, bytes) = (1 << 16, 64);
                let private = libc::MAP_PRIVATE as usize;
                let map =
                    face::syscall6(libc::SYS_mmap as usize, 0, bytes, libc::PROT_READ as usize, private, fd, offset);
                assert!(map > 0, "mmap returned {map}");
                let mapped = std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(map as usize), bytes);
                assert_eq!(&contents[offset..offset + bytes], mapped);
                assert_eq!(0, face::syscall2(libc::SYS_munmap as usize, map as usize, bytes));
            }
        }
    };
}

#[cfg(target_os = "linux")]
syscall_suite!(system_calls_pass_their_arguments, groma_sys::arch);
#[cfg(target_os = "linux")]
syscall_suite!(portable_system_calls_pass_their_arguments, groma_sys::arch::portable);

// Streams.

/// What the test found in memory before the kernel ran.
const UNTOUCHED: u8 = 0xa5;

/// Runs `kernel` over buffers between two closed pages, first against the front one and then against the rear one, and
/// returns what the destination then is, and the source.
fn after(kernel: &StreamKernel, bytes: usize, passes: u64) -> [(Vec<u8>, Vec<u8>); 2] {
    let (mut dst, mut src) = (Fenced::new(bytes + STREAM_ALIGN), Fenced::new(bytes + STREAM_ALIGN));
    [false, true].map(|rear| {
        dst.memory().fill(UNTOUCHED);
        src.memory().iter_mut().zip(0_u32..).for_each(|(byte, i)| *byte = (i.wrapping_mul(0x9e37_79b9) >> 24) as u8);
        let (from, to) = match rear {
            false => (src.memory().as_ptr(), dst.memory().as_mut_ptr()),
            true => (src.tail(bytes).as_ptr(), dst.tail(bytes).as_mut_ptr()),
        };
        // SAFETY: the CPU has the kernel; both buffers are `bytes` long, apart and aligned to a line.
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
        assert_eq!(expect(kernel.op.read_per_byte()), src.touched(), "{kernel:?} read");
        assert_eq!(expect(kernel.op.written_per_byte()), dst.touched(), "{kernel:?} wrote");
    }
}

/// Counts how often a kernel comes by two pages: of the two only one is open at a time, and to touch the other one
/// faults, which opens it and closes the first.
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
        // SAFETY: the kernel passes the facts of the fault.
        let here = unsafe { (*info).si_addr() }.addr() / page * page;
        if here != first && here != first + page {
            // Somebody else's fault, which is taken again and kills.
            // SAFETY: restores the default.
            unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
            return;
        }
        protect(here, libc::PROT_READ | libc::PROT_WRITE);
        protect(first + first + page - here, libc::PROT_NONE);
        FAULTS.fetch_add(1, Relaxed);
    }

    /// How often `work` goes from one page to the other, of the two at `pages`, if it begins with the first.
    pub(super) fn count(pages: *mut u8, page: usize, work: impl FnOnce()) -> usize {
        FIRST.store(pages.expose_provenance(), Relaxed);
        PAGE.store(page, Relaxed);
        FAULTS.store(0, Relaxed);
        protect(pages.addr(), libc::PROT_NONE);
        // SAFETY: the handler touches nothing but the atomics and the two pages.
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
fn stream_kernels_make_as_many_passes_as_told() {
    for kernel in stream_kernels() {
        let page = Fenced::new(1).page;
        let (mut dst, mut src) = (Fenced::new(2 * page), Fenced::new(2 * page));
        let (to, from) = (dst.memory().as_mut_ptr(), src.memory().as_mut_ptr());
        for passes in [1, 2, 5] {
            // SAFETY: as in `after`.
            let work = || unsafe { (kernel.run)(to, from, 2 * page, passes) };
            // Eight places in turn, of which four are in each page, come by once for each 256 bytes of a place.
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
fn copies_lie_as_far_apart_as_asked() {
    let mut memory = vec![0_u8; 1 << 16];
    for bytes in [64, 4096, 5120, 16384] {
        for distance in [0, 64, APART, 4032] {
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

// Pointer chains.

/// The offsets of a chain's nodes in the order of the walk, read out of the buffer as it was left, from `start` until
/// it comes round.
fn lap(buffer: &[u8], start: usize) -> Vec<usize> {
    let mut order = vec![start];
    loop {
        let here = order[order.len() - 1];
        let word = buffer[here..here + size_of::<usize>()].try_into().unwrap();
        let next = usize::from_ne_bytes(word) - buffer.as_ptr().addr();
        if next == start {
            return order;
        }
        assert!(order.len() < buffer.len(), "the chain never comes back to its start");
        order.push(next);
    }
}

/// Builds a chain in the last `span` bytes before a closed page, checks that it is one cycle through all its nodes and
/// that both walks go where the pointers lead; returns the order.
fn check(
    span: usize,
    page: usize,
    spacing: usize,
    build: impl for<'a> Fn(&'a mut [u8]) -> Result<Chain<'a>, String>,
) -> Vec<usize> {
    let mut memory = Fenced::new(span.next_multiple_of(page) + page);
    let open = memory.memory();
    let base = open.as_ptr().addr().next_multiple_of(page) - open.as_ptr().addr();
    let buffer = &mut open[base..][..span];
    buffer.fill(UNTOUCHED);
    let chain = build(buffer).unwrap();
    let (nodes, start) = (chain.nodes(), chain.position());
    assert_eq!(span, chain.span());
    assert_eq!((span - 8) / spacing + 1, nodes);
    let mut positions = vec![];
    let mut chain = chain;
    let mut total = 0;
    for loads in [1, 64, 65, 640] {
        total += chain.walk(loads);
        positions.push((total, chain.position()));
    }
    assert_eq!(64 + 64 + 128 + 640, total);

    let order = lap(buffer, start);
    assert_eq!(nodes, order.len(), "a lap is not all nodes");
    assert_eq!(nodes, order.iter().collect::<HashSet<_>>().len());
    assert!(order.iter().all(|node| node % spacing == 0));
    for (loads, position) in positions {
        assert_eq!(order[loads as usize % nodes], position, "after {loads} loads");
    }
    let linked = |i: usize| i % spacing < size_of::<usize>();
    assert!(buffer.iter().enumerate().all(|(i, byte)| linked(i) || *byte == UNTOUCHED), "wrote between nodes");

    // The raw chases go the same way, in whole turns.
    let first = buffer.as_ptr().wrapping_add(start);
    // SAFETY: the closed cycle just checked.
    for loads in [0, 63, 64, 700] {
        // SAFETY: the closed cycle just checked.
        let (native, portable) = unsafe { (arch::chase(first, loads), portable::chase(first, loads)) };
        let expected = order[(loads - loads % arch::CHASE_UNROLL) as usize % nodes];
        assert_eq!(expected, native.addr() - buffer.as_ptr().addr());
        assert_eq!(native, portable);
    }
    order
}

#[test]
fn chains_with_translation_are_one_cycle_in_random_order() {
    for (span, spacing) in [(8, 64), (64, 64), (128, 64), (4096, 64), (4104, 64), (1 << 20, 64), (1 << 20, 4096 + 64)] {
        let order = check(span, 4096, spacing, |buffer| Chain::translation_included(buffer, spacing, random(1)));
        if order.len() > 1000 {
            let near = order.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 4096).count();
            assert!(near < order.len() / 20, "{near} of {} steps stay near", order.len());
        }
    }
}

#[test]
fn chains_without_translation_finish_a_group_of_pages_first() {
    let page = 4096;
    // Less than a page, pages and a bit, a number of pages that no group size divides.
    for span in [64, 4096, 4096 + 512, 33 * 4096, 100 * 4096 + 64, 1 << 20] {
        for spacing in [64, 256] {
            for group in [1, 16, 32, 1000] {
                let order = check(span, page, spacing, |buffer| {
                    Chain::translation_amortised(buffer, spacing, group, page, random(2))
                });
                // A group lasts until none of its pages is seen again.
                let last: HashMap<usize, usize> = order.iter().enumerate().map(|(i, node)| (node / page, i)).collect();
                let (mut groups, mut pages, mut end) = (0, HashSet::new(), None);
                for (i, number) in order.iter().map(|node| node / page).enumerate() {
                    if end.is_none_or(|end| i > end) {
                        groups += 1;
                        pages.clear();
                    }
                    pages.insert(number);
                    assert!(pages.len() <= group, "{span} bytes, {spacing} apart: more than {group} pages at once");
                    end = end.max(Some(last[&number]));
                }
                assert_eq!(span.div_ceil(page).div_ceil(group), groups, "{span} bytes, {spacing} apart, by {group}");
                // In random order: the next node up follows no oftener than any other.
                let steps = order.windows(2).filter(|pair| pair[1] == pair[0] + spacing).count();
                assert!(group < 16 || order.len() < 1000 || steps < order.len() / 50, "{steps} steps straight on");
            }
        }
    }
}

#[test]
fn equal_random_numbers_make_equal_chains_and_others_do_not() {
    let order =
        |seed| check(1 << 16, 4096, 64, |buffer| Chain::translation_amortised(buffer, 64, 4, 4096, random(seed)));
    assert_eq!(order(3), order(3));
    assert_ne!(order(3), order(4));
    let order = |seed| check(1 << 16, 4096, 64, |buffer| Chain::translation_included(buffer, 64, random(seed)));
    assert_eq!(order(3), order(3));
    assert_ne!(order(3), order(4));
}

#[test]
fn chains_through_listed_nodes_go_that_way_and_no_other() {
    let page = 4096;
    let mut memory = Fenced::new(16 * page);
    // One line a page, pairs of words, a single node, the very last word.
    let lists: [Vec<usize>; 4] = [
        (0..16).map(|i| (i * 7 % 16) * page + i * 64).collect(),
        (0..8).flat_map(|i| [i * 1024, i * 1024 + 8]).collect(),
        vec![128],
        vec![0, 16 * page - 8, 64],
    ];
    for nodes in lists {
        let buffer = memory.memory();
        buffer.fill(UNTOUCHED);
        let mut chain = Chain::through(buffer, &nodes).unwrap();
        assert_eq!((nodes.len(), nodes[0]), (chain.nodes(), chain.position()));
        let mut total = 0;
        for loads in [64, 640, 64 * 13] {
            total += chain.walk(loads) as usize;
            assert_eq!(nodes[total % nodes.len()], chain.position());
        }
        chain.flush(64);
        chain.walk(64);
        assert_eq!(nodes[(total + 64) % nodes.len()], chain.position());
        assert_eq!(nodes, lap(memory.memory(), nodes[0]));
        let linked = |at: usize| nodes.iter().any(|node| (*node..node + 8).contains(&at));
        assert!(memory.memory().iter().enumerate().all(|(i, byte)| linked(i) || *byte == UNTOUCHED));
    }
}

#[test]
fn impossible_lists_of_nodes_say_why() {
    let mut memory = Fenced::new(4096);
    let mut why = |nodes: &[usize]| Chain::through(memory.memory(), nodes).map(|_| ()).unwrap_err();
    assert_eq!("a chain needs a node", why(&[]));
    assert_eq!("no node can be at 4: not a multiple of 8 below 4096", why(&[0, 4]));
    assert_eq!("no node can be at 4096: not a multiple of 8 below 4096", why(&[0, 4096]));
    assert_eq!("no node can be at 18446744073709551608: not a multiple of 8 below 4096", why(&[usize::MAX - 7]));
    for nodes in [&[0, 8, 0][..], &[8, 8], &[0, 8, 16, 8, 24]] {
        assert!(why(nodes).ends_with("is there twice"), "{nodes:?}");
    }
    assert!(Chain::through(&mut memory.memory()[..4], &[0]).is_err());
}

#[test]
fn impossible_chains_say_why() {
    let mut memory = Fenced::new(1 << 16);
    let memory = memory.memory();
    let zero = |_| 0;
    let mut amortised = |range: std::ops::Range<usize>, spacing, group, page| {
        Chain::translation_amortised(&mut memory[range], spacing, group, page, zero).map(|_| ()).unwrap_err()
    };
    assert_eq!("nodes cannot be 0 bytes apart: not a multiple of 8", amortised(0..4096, 0, 1, 4096));
    assert_eq!("nodes cannot be 60 bytes apart: not a multiple of 8", amortised(0..4096, 60, 1, 4096));
    assert_eq!("a chain needs 8 bytes and an address that is a multiple of it", amortised(0..7, 8, 1, 4096));
    assert_eq!("a chain needs 8 bytes and an address that is a multiple of it", amortised(4..4096, 8, 1, 4096));
    assert_eq!("the buffer does not begin at a page of 4096 bytes", amortised(64..4096, 64, 1, 4096));
    assert_eq!("cannot group 0 pages of 4096 bytes with nodes 64 bytes apart", amortised(0..4096, 64, 0, 4096));
    assert_eq!("cannot group 1 pages of 4096 bytes with nodes 192 bytes apart", amortised(0..4096, 192, 1, 4096));
    assert_eq!("cannot group 1 pages of 0 bytes with nodes 64 bytes apart", amortised(0..4096, 64, 1, 0));
    assert!(Chain::translation_included(&mut memory[..0], 64, zero).is_err());
}

#[test]
#[should_panic = "a random number was not below its limit"]
fn a_broken_source_of_random_numbers_is_noticed() {
    let mut memory = vec![0_u64; 512];
    // SAFETY: the same memory as bytes.
    let bytes = unsafe { memory.align_to_mut::<u8>() }.1;
    drop(Chain::translation_included(bytes, 64, |limit| limit));
}
