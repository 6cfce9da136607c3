//! Every loop of STREAM, every mix and the C library's functions, compared with plain arithmetic.
//!
//! # Safety
//!
//! The kernels are called with buffers of the right length and alignment.
#![expect(unsafe_code, reason = "calls the raw kernels")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use groma_sys::arch::{self, DOUBLES_SCALAR, Doubles, MIX_GROUPS, MIX_LINE, MIXES, STREAM_PATTERN};
use groma_sys::doubles::Loop;
use groma_sys::libc_memory::{self, Function};
use groma_sys::mix::Mix;
use groma_sys::pages::{Map, Policy};

fn value(i: usize) -> f64 {
    (i % 1021) as f64 + 1.0
}

#[test]
fn loops_on_doubles_compute_what_rust_computes() {
    for kernel in arch::doubles_kernels() {
        for turns in [0, 1, 2, 7] {
            let n = turns * kernel.step / 8;
            let mut maps = [0, 1, 2].map(|_| Map::anonymous(n * 8 + 4096, Policy::Base).unwrap());
            let [a, b, c] = maps.each_mut().map(|map| map.as_mut_ptr().cast::<f64>());
            for passes in [0_u64, 1, 3] {
                // SAFETY: arrays of more than `n` doubles, on page boundaries; the CPU has the
                // kernel.
                let (got, sum) = unsafe {
                    for i in 0..n + 8 {
                        (*a.add(i), *b.add(i), *c.add(i)) = (-value(i), value(i), 7.0 * value(i));
                    }
                    let sum = (kernel.run)(a, b, c, n * 8, passes);
                    (std::slice::from_raw_parts(a, n + 8).to_vec(), sum)
                };
                for (i, got) in got.iter().enumerate() {
                    let (was, b, c) = (-value(i), value(i), 7.0 * value(i));
                    let expected = match kernel.op {
                        _ if i >= n || passes == 0 => was,
                        Doubles::Copy => b,
                        Doubles::Scale => DOUBLES_SCALAR * b,
                        Doubles::Add => b + c,
                        Doubles::Triad => b + DOUBLES_SCALAR * c,
                        Doubles::Fill => DOUBLES_SCALAR,
                        Doubles::Daxpy => was + passes as f64 * DOUBLES_SCALAR * b,
                        Doubles::Sum => was,
                    };
                    assert_eq!(expected, *got, "{kernel:?}, {i} of {n}, {passes} passes");
                }
                let all: f64 = (0..n).map(value).sum();
                assert_eq!(if kernel.op == Doubles::Sum { passes as f64 * all } else { 0.0 }, sum, "{kernel:?}");
            }
        }
    }
}

/// Three times this is halfway between two doubles, so the sum shows whether the product was
/// rounded.
#[test]
fn products_are_rounded_before_they_are_added() {
    let (b, c) = (-3.0, 1.0 + f64::EPSILON);
    let expected = b + DOUBLES_SCALAR * c;
    assert_ne!(expected, DOUBLES_SCALAR.mul_add(c, b));
    for kernel in arch::doubles_kernels() {
        let n = kernel.step / 8;
        let mut maps = [0, 1, 2].map(|_| Map::anonymous(kernel.step, Policy::Base).unwrap());
        let [a, y, z] = maps.each_mut().map(|map| map.as_mut_ptr().cast::<f64>());
        let factors = match kernel.op {
            Doubles::Triad => z,
            Doubles::Daxpy => y,
            _ => continue,
        };
        // SAFETY: arrays of `n` doubles on page boundaries; the CPU has the kernel.
        let got = unsafe {
            for i in 0..n {
                (*a.add(i), *y.add(i)) = (b, b);
                *factors.add(i) = c;
            }
            (kernel.run)(a, y, z, n * 8, 1);
            std::slice::from_raw_parts(a, n).to_vec()
        };
        assert!(got.iter().all(|got| *got == expected), "{kernel:?}: {got:?}");
    }
}

#[test]
fn loops_state_their_bytes_as_their_author_counts_them() {
    // McCalpin: bytes per iteration of copy, scale, add, triad; then STREAM2's fill, daxpy, sum.
    let counted = Doubles::ALL.map(|op| 8 * (op.reads() + op.writes()));
    assert_eq!([16, 16, 24, 24, 8, 24, 8], counted);
    assert_eq!([24, 24, 32, 32, 16, 24, 8], Doubles::ALL.map(|op| 8 * op.modelled(false)));
    assert_eq!([16, 16, 24, 24, 8], [0, 1, 2, 3, 4].map(|i| 8 * Doubles::ALL[i].modelled(true)));
    assert_eq!([2, 2, 3, 3, 1, 2, 1], Doubles::ALL.map(Doubles::arrays));
}

#[test]
fn every_loop_has_a_kernel_or_a_reason() {
    for op in Doubles::ALL {
        assert!(Loop::new(op, false, None).is_ok() && Loop::new(op, false, Some("portable")).is_ok());
        assert!(Loop::new(op, false, Some("mmx")).unwrap_err().contains("mmx"));
    }
    assert!(Loop::new(Doubles::Sum, true, None).is_err() && Loop::new(Doubles::Daxpy, true, None).is_err());
    let copy = Loop::new(Doubles::Copy, false, None).unwrap();
    let (mut a, b) = (Map::anonymous(8192, Policy::Base).unwrap(), Map::anonymous(8192, Policy::Base).unwrap());
    assert!(copy.over(&mut a[..4096], &b[..8192], &[]).is_err());
    assert!(copy.over(&mut a[..4000], &b[..4000], &[]).is_err());
    assert!(copy.over(&mut a[8..4104], &b[..4096], &[]).is_err());
    assert!(copy.over(&mut a[..4096], &b[..4096], &[]).is_ok());
}

#[test]
fn mixes_write_their_lines_and_nothing_else() {
    for kernel in arch::mix_kernels() {
        assert!(MIXES.contains(&(kernel.reads, kernel.writes)), "{kernel:?}");
        for turns in [0, 1, 2, 5] {
            let len = |lines: usize| turns * MIX_GROUPS * MIX_LINE * lines;
            let mut dst = Map::anonymous(len(kernel.writes) + 4096, Policy::Base).unwrap();
            let src = Map::anonymous(len(kernel.reads) + 4096, Policy::Base).unwrap();
            for passes in [0_u64, 1, 3] {
                dst.fill(0xa5);
                // SAFETY: both buffers hold that many turns; the CPU has the kernel.
                unsafe { (kernel.run)(dst.as_mut_ptr(), src.as_ptr(), turns, passes) };
                let written = if passes == 0 { 0 } else { len(kernel.writes) };
                assert!(dst[..written].chunks(8).all(|word| *word == STREAM_PATTERN.to_ne_bytes()), "{kernel:?}");
                assert!(dst[written..].iter().all(|byte| *byte == 0xa5), "{kernel:?}");
            }
        }
    }
}

/// The pages of a source are present after the last line was read, and those after it are not.
#[test]
fn mixes_read_to_the_end_of_their_source() {
    for kernel in arch::mix_kernels().into_iter().filter(|kernel| kernel.reads > 0) {
        let turn = MIX_GROUPS * MIX_LINE;
        let turns = 4096 / MIX_LINE;
        let src = Map::anonymous(turns * turn * kernel.reads + 8192, Policy::Base).unwrap();
        let mut dst = Map::anonymous(turns * turn * kernel.writes.max(1), Policy::Base).unwrap();
        // SAFETY: as above.
        unsafe { (kernel.run)(dst.as_mut_ptr(), src.as_ptr(), turns, 1) };
        // Reads of new memory map the page of zeros.
        let pages = src.len() / 4096 - 2;
        assert_eq!(pages, src.resident_pages().unwrap(), "{kernel:?}");
    }
}

#[test]
fn every_mix_has_a_kernel_or_a_reason() {
    for (reads, writes) in MIXES {
        assert!(
            Mix::new(reads, writes, false, None).is_ok() && Mix::new(reads, writes, false, Some("portable")).is_ok()
        );
        let mix = Mix::new(reads, writes, false, None).unwrap();
        assert_eq!((256 * reads, 256 * writes), mix.turn());
        assert!(mix.run(&mut [], &[0; 100], 1).is_err());
    }
    assert!(Mix::new(1, 0, true, None).unwrap_err().contains("store nothing"));
    assert!(Mix::new(5, 1, false, None).is_err());
}

#[test]
fn the_c_library_copies_and_sets_everything_in_calls_of_the_size() {
    let src: Vec<u8> = (0..10_000_u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    for function in [Function::Memcpy, Function::Memmove, Function::Memset] {
        for (call, calls) in [(64, 157), (4096, 3), (10_000, 1), (1 << 20, 1)] {
            let mut dst = vec![1_u8; 10_000];
            assert_eq!(calls, libc_memory::go_over(function, &mut dst, &src, call));
            let right =
                if function == Function::Memset { dst.iter().all(|b| *b == libc_memory::SET) } else { dst == src };
            assert!(right, "{function:?} by {call}");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn wide_kernels_are_there_where_the_cpu_is() {
    let has =
        |isa| arch::doubles_kernels().iter().any(|k| k.isa == isa) && arch::mix_kernels().iter().any(|k| k.isa == isa);
    assert_eq!(has("avx512"), std::arch::is_x86_feature_detected!("avx512f"));
    assert_eq!(has("avx2"), std::arch::is_x86_feature_detected!("avx2"));
}

/// Also prints the extensions that the kernel reports.
#[test]
#[cfg(all(target_arch = "riscv64", target_os = "linux"))]
fn vectors_are_used_where_the_cpu_has_them() {
    // riscv_hwprobe without a key. (Where it fails, as before Linux 6.4, only the base is there.)
    // SAFETY: writes to nowhere.
    let answers = unsafe { libc::syscall(258, 0, 0, 0, 0, 0) } == 0;
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let isa = cpus.lines().find_map(|line| line.strip_prefix("isa")?.split(": ").nth(1)).filter(|_| answers);
    let (base, extensions) = isa.map_or(("", ""), |isa| isa.split_once('_').unwrap_or((isa, "")));
    let vectors = base.trim_start_matches("rv64").contains('v');
    let zeroes = extensions.split('_').any(|extension| extension == "zicboz");
    println!("vectors: {vectors}, zeroes: {zeroes}");
    let streams = arch::stream_kernels();
    assert_eq!(vectors, streams.iter().any(|kernel| kernel.isa == "rvv"), "{isa:?}");
    assert_eq!(vectors, arch::doubles_kernels().iter().any(|kernel| kernel.isa == "rvv"), "{isa:?}");
    assert_eq!(vectors, arch::mix_kernels().iter().any(|kernel| kernel.isa == "rvv"), "{isa:?}");
    // Not all blocks are small enough.
    assert!(zeroes || streams.iter().all(|kernel| kernel.op != arch::Op::ZeroLine), "{isa:?}");
    // Groups of eight registers, which every V has with at least 128 bits.
    assert!(streams.iter().all(|kernel| kernel.isa != "rvv" || (128..=512).contains(&kernel.width)));
}

/// SVE vectors of a length that divides powers of two, wherever the system has them; the wider set
/// comes first.
#[test]
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
fn scalable_kernels_are_there_where_the_cpu_is() {
    /// From `linux/prctl.h`; the `libc` crate does not name it.
    const PR_SVE_GET_VL: i32 = 51;
    let bytes = if std::arch::is_aarch64_feature_detected!("sve") {
        // SAFETY: asks for a number, whose low half is the length.
        usize::try_from(unsafe { libc::prctl(PR_SVE_GET_VL) } & 0xffff).unwrap()
    } else {
        0
    };
    let streams: Vec<_> = arch::stream_kernels().into_iter().filter(|k| k.isa == "sve").collect();
    let doubles = arch::doubles_kernels();
    if bytes.is_power_of_two() {
        println!("vectors of {bytes} B");
        assert_eq!(5, streams.len());
        assert!(streams.iter().all(|k| k.width == bytes && k.step == 16 * bytes));
        assert_eq!(12, doubles.iter().filter(|k| k.isa == "sve" && k.step == 16 * bytes).count());
    } else {
        println!("no SVE, or vectors of {bytes} B");
        assert!(streams.is_empty() && doubles.iter().all(|k| k.isa != "sve"));
    }
    let widest = if bytes.is_power_of_two() && bytes >= 32 { "sve" } else { "neon" };
    assert_eq!(widest, doubles[0].isa);
    assert_eq!("portable", doubles[doubles.len() - 1].isa);
}
