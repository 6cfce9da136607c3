//! Each kernel really contains the instruction that it claims, as often as it should, and no other
//! instruction accesses memory: the loops are found, by address, in the disassembly of this test
//! program.
//!
//! `objdump` of GNU binutils disassembles (for a foreign program the one that comes with its
//! linker). Without it the tests say so and pass (`docs/methods/processor.md#kernel-checks`).
//!
//! # Safety
//!
//! A signal handler counts single steps in atomics; the system call made here has no arguments.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
#![expect(unsafe_code, reason = "counts single steps, and a raw system call to be inlined")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod objdump;

use groma_sys::arch::{self, Callee, Op, stream_kernels};
#[cfg(not(target_arch = "riscv64"))]
use groma_sys::arch::{Doubles, MIX_GROUPS, MIX_LINE};
use objdump::{Instruction, disassemble, in_file, innermost};
use std::collections::HashSet;

/// The instructions of the loops, in the spelling of GNU objdump.
#[cfg(target_arch = "x86_64")]
mod expected {
    pub(super) const CHASE: &[&str] = &["mov rax,QWORD PTR [rax]"];
    pub(super) const ADD: &[&str] = &["add rax,rdx"];
    pub(super) const MUL: &[&str] = &["imul rax,rdx"];
    pub(super) const ROTATE: &[&str] = &["ror rax,0x7"];
    /// Instructions around the stores of a callee with a stack frame.
    pub(super) const FRAME: usize = 4;
    pub(super) const RETURN: &str = "ret";
    pub(super) const ARGUMENTS: [&str; 7] =
        ["mov edi,0x1", "mov esi,0x2", "mov edx,0x3", "mov ecx,0x4", "mov r8d,0x5", "mov r9d,0x6", "push 0x7"];
    pub(super) const START: &[&str] = &["lfence", "rdtsc", "lfence"];
    pub(super) const STOP: &[&str] = &["rdtscp", "lfence"];
    pub(super) const SYSCALL: &str = "syscall";
}
#[cfg(target_arch = "aarch64")]
mod expected {
    pub(super) const CHASE: &[&str] = &["ldr x0, [x0]"];
    pub(super) const ADD: &[&str] = &["add x0, x0, x1"];
    pub(super) const MUL: &[&str] = &["mul x0, x0, x1"];
    pub(super) const ROTATE: &[&str] = &["ror x0, x0, #7"];
    pub(super) const FRAME: usize = 3;
    pub(super) const RETURN: &str = "ret";
    pub(super) const ARGUMENTS: [&str; 7] = [
        "mov w0, #0x1",
        "mov w1, #0x2",
        "mov w2, #0x3",
        "mov w3, #0x4",
        "mov w4, #0x5",
        "mov w5, #0x6",
        "mov w6, #0x7",
    ];
    pub(super) const START: &[&str] = &["isb", "mrs", "isb"];
    pub(super) const STOP: &[&str] = START;
    pub(super) const SYSCALL: &str = "svc";
}
#[cfg(target_arch = "riscv64")]
mod expected {
    // Without aliases, whose spelling changes between versions. (c.: in two bytes instead of four.)
    pub(super) const CHASE: &[&str] = &["c.ld a0,0(a0)"];
    pub(super) const ADD: &[&str] = &["c.add a0,a1"];
    pub(super) const MUL: &[&str] = &["mul a0,a0,a1"];
    pub(super) const ROTATE: &[&str] = &["slli t0,a0,0x39", "c.srli a0,0x7", "or a0,a0,t0"];
    pub(super) const FRAME: usize = 7;
    pub(super) const RETURN: &str = "c.jr ra";
    pub(super) const ARGUMENTS: [&str; 7] =
        ["c.li a0,1", "c.li a1,2", "c.li a2,3", "c.li a3,4", "c.li a4,5", "c.li a5,6", "c.li a6,7"];
    pub(super) const START: &[&str] = &["fence", "csrrs", "fence"];
    pub(super) const STOP: &[&str] = START;
    pub(super) const SYSCALL: &str = "ecall";
}

/// Asserts that the innermost loop of `function` is `body`, `times` times, and two instructions
/// that count and jump.
fn assert_loop(function: usize, body: &[&str], times: u64) {
    let Some(function) = disassemble(in_file(function)) else { return };
    let found = innermost(&function);
    let repeated = body.repeat(times as usize);
    let (operations, rest) = found.split_at(repeated.len().min(found.len()));
    assert!(operations.iter().map(|i| i.text.as_str()).eq(repeated), "{found:#?}");
    assert_eq!(2, rest.len(), "{found:#?}");
    assert!(rest.iter().all(|i| i.memory().is_none()), "{found:#?}");
}

#[test]
fn the_chase_is_loads_and_nothing_else() {
    assert_loop(arch::chase as *const () as usize, expected::CHASE, arch::CHASE_UNROLL);
}

#[test]
fn chains_are_register_arithmetic() {
    assert_loop(arch::add_chain as *const () as usize, expected::ADD, arch::CHAIN_UNROLL);
    assert_loop(arch::mul_chain as *const () as usize, expected::MUL, arch::CHAIN_UNROLL);
    assert_loop(arch::rotate_chain as *const () as usize, expected::ROTATE, arch::CHAIN_UNROLL);
}

#[test]
fn the_block_is_independent_operations_of_the_stated_number() {
    let Some(function) = disassemble(in_file(arch::issue_mixed as *const () as usize)) else { return };
    let body = innermost(&function);
    assert_eq!(arch::ISSUE_UNROLL as usize + 2, body.len(), "{body:#?}");
    // Each of the eight registers is written by one instruction, four times.
    let different: HashSet<_> = body[..8].iter().map(|i| &i.text).collect();
    assert_eq!(8, different.len(), "{body:#?}");
    assert!(body[..32].chunks(8).all(|eight| eight.iter().map(|i| &i.text).eq(body[..8].iter().map(|i| &i.text))));
}

#[test]
fn call_loops_call_a_function_that_returns() {
    for (k, callee, short) in call_loops() {
        let calls = if short { arch::CALLS_SHORT } else { arch::CALLS_LONG };
        let Some(function) = disassemble(in_file(arch::calls(k, callee, short) as usize)) else { return };
        let body = innermost(&function);
        let count = |text: &str| body.iter().filter(|i| i.text == text).count() as u64;
        for (i, argument) in expected::ARGUMENTS.iter().enumerate() {
            assert_eq!(if i < k { calls } else { 0 }, count(argument), "{argument}, {k} arguments");
        }
        let targets: Vec<_> = body.iter().filter(|i| i.is_call()).map(|i| i.target()).collect();
        assert_eq!(calls, targets.len() as u64);
        assert_eq!(1, targets.iter().collect::<HashSet<_>>().len());
        let called = disassemble(targets[0].unwrap()).unwrap();
        let returns = called.iter().position(|i| i.text == expected::RETURN);
        // Of seven arguments x86-64 passes one on the stack, where it stays.
        let stored = if cfg!(target_arch = "x86_64") { k.min(6) } else { k };
        let frame = expected::FRAME + stored;
        assert_eq!(Some(if callee == Callee::Frame { frame } else { 0 }), returns, "{k} arguments: {called:#?}");
        // x86-64 allocates space for the seventh argument and releases it again.
        let stack = if cfg!(target_arch = "x86_64") && k == 7 { 2 } else { 0 };
        // RISC-V computes a distant address in two steps, the first of which is `auipc`.
        let rest = body.iter().filter(|i| i.name() != "auipc").count();
        assert_eq!(calls as usize * (k + 1 + stack) + 2, rest, "{k} arguments: {body:#?}");
    }
}

/// The arguments of all call loops.
fn call_loops() -> impl Iterator<Item = (usize, Callee, bool)> {
    let callees = (0..=arch::CALLS_MAX_ARGS).flat_map(|k| [Callee::Leaf, Callee::Frame].map(|callee| (k, callee)));
    callees.flat_map(|(k, callee)| [false, true].map(|short| (k, callee, short)))
}

/// How often execution reaches `address` while `work` runs: the trap flag stops the CPU after every
/// instruction.
#[cfg(target_arch = "x86_64")]
fn visits(address: usize, work: impl FnOnce()) -> u64 {
    use std::arch::asm;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
    static ADDRESS: AtomicUsize = AtomicUsize::new(0);
    static VISITS: AtomicU64 = AtomicU64::new(0);
    extern "C" fn trap(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel passes the registers of the program it stopped.
        let context = unsafe { &*context.cast::<libc::ucontext_t>() };
        let at_address = context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize == ADDRESS.load(Relaxed);
        VISITS.fetch_add(u64::from(at_address), Relaxed);
    }
    ADDRESS.store(address, Relaxed);
    VISITS.store(0, Relaxed);
    // SAFETY: the handler only accesses the atomics; the flag belongs to this thread and is cleared
    // again.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(0, libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()));
        asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
        work();
        asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq");
    }
    VISITS.load(Relaxed)
}

/// Results show how often a chain or a chase turns, but not how often calls were made.
#[test]
#[cfg(target_arch = "x86_64")]
fn call_loops_make_the_requested_number_of_turns() {
    for (k, callee, short) in call_loops() {
        let calls = arch::calls(k, callee, short);
        let Some(function) = disassemble(in_file(calls as usize)) else { return };
        let start = calls as usize + (innermost(&function)[0].address - in_file(calls as usize));
        for iters in [0, 1, 2, 5] {
            assert_eq!(iters, visits(start, || calls(iters)), "{k} arguments, {callee:?}, short {short}");
        }
    }
}

/// What a loop loads, stores and prefetches, and where: the instruction, the address as written,
/// and how often the register in it was advanced before. Each occurs once if every byte of a turn
/// is moved, and none twice.
fn addresses(body: &[Instruction]) -> Vec<(&str, &str, usize)> {
    let mut all = Vec::new();
    for (at, i) in body.iter().enumerate() {
        let Some(address) = i.memory() else { continue };
        let base = address.split([',', '+', '-', '(']).find(|part| part.starts_with(char::is_alphabetic)).unwrap();
        let adds = |i: &&Instruction| i.name() == "add" && i.text.split([' ', ',']).nth(1) == Some(base);
        all.push((i.name(), address, body[..at].iter().filter(adds).count()));
    }
    all
}

fn all_differ<T: std::hash::Hash + Eq>(all: &[T]) -> bool {
    all.len() == all.iter().collect::<HashSet<_>>().len()
}

#[test]
fn streams_use_the_instruction_they_claim() {
    for kernel in stream_kernels().into_iter().filter(|kernel| kernel.isa != "portable") {
        let Some(function) = disassemble(in_file(kernel.run as usize)) else { return };
        let body = innermost(&function);
        if matches!(kernel.isa, "string" | "line") {
            // One instruction that moves a whole pass, or that zeroes a line.
            let count = body.iter().filter(|i| i.text.starts_with(kernel.instruction)).count();
            let memory = body.iter().filter(|i| i.memory().is_some()).count();
            assert_eq!((1, usize::from(kernel.isa == "string")), (count, memory), "{kernel:?}: {body:#?}");
            continue;
        }
        // Lines prefetched, one for each that plain stores of an `x8` kernel write.
        assert!(all_differ(&addresses(body)), "{kernel:?}: {body:#?}");
        let fetch = |i: &&Instruction| i.name() == "prefetchw" || i.text.starts_with("prfm pstl1keep");
        let (ahead, body): (Vec<_>, Vec<_>) = body.iter().partition(fetch);
        let fetched = kernel.isa.ends_with("x8") && matches!(kernel.op, Op::Write | Op::Copy);
        assert_eq!(if fetched { kernel.step / 64 } else { 0 }, ahead.len(), "{kernel:?}");
        let moves = kernel.step / kernel.width;
        let claimed: Vec<_> = kernel.instruction.split('/').collect();
        let directions = (kernel.op.read_per_byte() + kernel.op.written_per_byte()) as usize;
        let memory: Vec<_> = body.iter().filter(|i| i.memory().is_some()).map(|i| i.name()).collect();
        assert_eq!(moves * directions, memory.len(), "{kernel:?}: {body:#?}");
        assert!(memory.iter().all(|name| claimed.contains(name)), "{kernel:?}: {body:#?}");
        // As many of one as of the other.
        let first = memory.iter().filter(|name| **name == claimed[0]).count();
        assert_eq!(if claimed[0] == claimed[claimed.len() - 1] { memory.len() } else { moves }, first, "{kernel:?}");
        // Vectors of the claimed width.
        let vector = match kernel.isa {
            "avx512" | "avx512x8" => "zmm",
            "avx2" | "avx2x8" => "ymm",
            "sse2" => "xmm",
            "neon" | "neonx8" => "q",
            "sve" => "{z",
            "rvv" => " v",
            _ => "",
        };
        for i in body.iter().filter(|i| i.memory().is_some()) {
            assert!(i.text.contains(vector), "{}", i.text);
        }
        // RISC-V's instructions do not encode the number of registers.
        #[cfg(target_arch = "riscv64")]
        if kernel.isa == "rvv" {
            riscv64::assert_groups_of_eight(&function);
        }
        // The fence for non-temporal stores, after the loop.
        if matches!(kernel.op, Op::WriteNt | Op::CopyNt) {
            let fence = if cfg!(target_arch = "x86_64") { "sfence" } else { "dsb" };
            assert_eq!(1, function.iter().filter(|i| i.name() == fence).count());
        }
    }
}

/// The mnemonics of an instruction set in the loops on doubles or the mixes.
#[derive(Debug)]
#[cfg(not(target_arch = "riscv64"))]
struct Words {
    /// Bytes of one load or store, and bytes of a vector.
    width: usize,
    lanes: usize,
    /// The spelling of one of its vectors.
    vector: &'static str,
    load: &'static [&'static str],
    store: &'static str,
    store_nt: &'static str,
    multiply: &'static str,
    add: &'static str,
    fence: &'static str,
}

#[cfg(not(target_arch = "riscv64"))]
impl Words {
    fn of_doubles(isa: &str) -> Self {
        let x86 = |width, vector| Words {
            width,
            lanes: width,
            vector,
            load: &["vmovapd", "vmulpd", "vaddpd"],
            store: "vmovapd",
            store_nt: "vmovntpd",
            multiply: "vmulpd",
            add: "vaddpd",
            fence: "sfence",
        };
        let variant = |width, lanes, vector, load, store, store_nt| Words {
            width,
            lanes,
            vector,
            load,
            store,
            store_nt,
            multiply: "fmul",
            add: "fadd",
            fence: "dsb",
        };
        match isa {
            "avx512" => x86(64, "zmm"),
            "avx2" => x86(32, "ymm"),
            "neon" => variant(32, 16, " q", &["ldp"], "stp", "stnp"),
            "sve" => {
                let bytes = stream_kernels().into_iter().find(|kernel| kernel.isa == "sve").unwrap().width;
                variant(bytes, bytes, "{z", &["ld1d"], "st1d", "stnt1d")
            }
            _ => panic!("nothing is known of {isa}"),
        }
    }

    fn of_mixes(isa: &str) -> Self {
        let doubles = Self::of_doubles(isa);
        match isa {
            "avx512" => Words { load: &["vmovdqa64"], store: "vmovdqa64", store_nt: "vmovntdq", ..doubles },
            "avx2" => Words { load: &["vmovdqa"], store: "vmovdqa", store_nt: "vmovntdq", ..doubles },
            _ => doubles,
        }
    }

    /// Asserts that the inner loop of the function at `run` moves these numbers of bytes from and
    /// to memory, multiplies and adds this often, and otherwise only counts.
    fn assert_loop(&self, run: usize, nt: bool, read: usize, written: usize, multiplied: usize, added: usize) {
        let Some(function) = disassemble(in_file(run)) else { return };
        let body = innermost(&function);
        let context = || format!("{self:?}: {body:#?}");
        // x86 names the destination first, which is a register where it is not memory.
        let stores = |i: &&Instruction| {
            i.name().starts_with("st")
                || cfg!(target_arch = "x86_64") && i.text.split(',').next().is_some_and(|first| first.contains('['))
        };
        let (stores, loads): (Vec<_>, Vec<_>) = body.iter().filter(|i| i.memory().is_some()).partition(stores);
        assert_eq!((read, written), (loads.len() * self.width, stores.len() * self.width), "{}", context());
        assert!(loads.iter().all(|i| self.load.contains(&i.name())), "{}", context());
        assert!(stores.iter().all(|i| i.name() == if nt { self.store_nt } else { self.store }), "{}", context());
        assert!(loads.iter().chain(&stores).all(|i| i.text.contains(self.vector)), "{}", context());
        assert!(all_differ(&addresses(body)), "{}", context());
        let bytes_by = |name| body.iter().filter(|i| i.name() == name).count() * self.lanes;
        assert_eq!((multiplied, added), (bytes_by(self.multiply), bytes_by(self.add)), "{}", context());
        let work = |i: &&Instruction| i.memory().is_some() || i.name() == self.multiply || i.name() == self.add;
        let rest: Vec<_> = body.iter().filter(|i| !work(i)).map(Instruction::name).collect();
        assert!(
            rest.len() <= 5 && rest.iter().all(|name| ["add", "sub", "subs", "jne", "b.ne"].contains(name)),
            "{}",
            context()
        );
        let fences = function.iter().filter(|i| i.name() == self.fence).count();
        assert!(!nt || fences == 1, "{nt} {fences} {}", context());
    }
}

#[test]
#[cfg(not(target_arch = "riscv64"))]
fn loops_on_doubles_use_the_instructions_they_claim() {
    for kernel in arch::doubles_kernels().into_iter().filter(|kernel| kernel.isa != "portable") {
        let (op, step) = (kernel.op, kernel.step);
        let (read, written) = (step * op.reads() as usize, step * op.writes() as usize);
        let multiplies = matches!(op, Doubles::Scale | Doubles::Triad | Doubles::Daxpy);
        let adds = matches!(op, Doubles::Add | Doubles::Triad | Doubles::Daxpy | Doubles::Sum);
        let (multiplied, added) = (step * usize::from(multiplies), step * usize::from(adds));
        Words::of_doubles(kernel.isa).assert_loop(kernel.run as usize, kernel.nt, read, written, multiplied, added);
    }
}

#[test]
#[cfg(not(target_arch = "riscv64"))]
fn mixes_use_the_instructions_they_claim() {
    for kernel in arch::mix_kernels().into_iter().filter(|kernel| kernel.isa != "portable") {
        let turn = MIX_GROUPS * MIX_LINE;
        let words = Words::of_mixes(kernel.isa);
        words.assert_loop(kernel.run as usize, kernel.nt, turn * kernel.reads, turn * kernel.writes, 0, 0);
    }
}

#[test]
fn counters_and_system_calls_are_inlined() {
    #[inline(never)]
    fn start() -> u64 {
        arch::counter_start()
    }
    #[inline(never)]
    fn stop() -> u64 {
        arch::counter_stop()
    }
    #[inline(never)]
    fn getpid() -> isize {
        // SAFETY: asks for a number.
        unsafe { arch::syscall0(libc::SYS_getpid as usize) }
    }
    std::hint::black_box((start(), stop(), getpid()));
    for (function, expected) in [
        (start as *const () as usize, expected::START),
        (stop as *const () as usize, expected::STOP),
        (getpid as *const () as usize, &[expected::SYSCALL]),
    ] {
        let Some(function) = disassemble(in_file(function)) else { return };
        let names: Vec<_> = function.iter().map(Instruction::name).filter(|name| expected.contains(name)).collect();
        assert_eq!(expected, names, "{function:#?}");
        assert!(function.iter().all(|i| !i.is_call()));
    }
}

/// The instructions of the loops on doubles and of the mixes of RISC-V.
#[cfg(target_arch = "riscv64")]
mod riscv64 {
    use super::objdump::{Instruction, disassemble, in_file, innermost};
    use groma_sys::arch::{self, Doubles, MIX_GROUPS, MIX_LINE};
    use std::collections::HashSet;

    // objdump only decodes the extensions that a program is marked with, and the mark says what a
    // compiler may use.
    std::arch::global_asm!(r#".attribute arch, "rv64gcv_zicbom_zicboz""#);

    /// Asserts that vectors are configured once, before the loop, as groups of eight registers of
    /// words.
    pub(super) fn assert_groups_of_eight(function: &[Instruction]) {
        let set: Vec<_> = function.iter().filter(|i| i.name().starts_with("vset")).collect();
        assert!(matches!(&*set, [i] if i.text.ends_with(",e64,m8,ta,ma")), "{set:#?}");
    }

    /// Asserts that this many instructions load, each from a different address, and that this many
    /// store, each to a different one, and that no other accesses memory.
    fn assert_moves(body: &[Instruction], [load, store]: [&str; 2], loads: usize, stores: usize) {
        let memory: Vec<_> = body.iter().filter_map(|i| Some((name(i), i.memory()?))).collect();
        assert_eq!(loads + stores, memory.len(), "{body:#?}");
        for (expected, count) in [(load, loads), (store, stores)] {
            let addresses = memory.iter().filter(|(name, _)| *name == expected).collect::<HashSet<_>>();
            assert_eq!(count, addresses.len(), "{expected}: {body:#?}");
        }
    }

    /// The name, in its two-byte or its four-byte form.
    fn name(instruction: &Instruction) -> &str {
        instruction.name().trim_start_matches("c.")
    }

    #[test]
    fn loops_on_doubles_are_the_arithmetic_they_claim() {
        for kernel in arch::doubles_kernels().into_iter().filter(|kernel| kernel.isa != "portable") {
            let Some(function) = disassemble(in_file(kernel.run as usize)) else { return };
            let body = innermost(&function);
            // How many are in a turn, and the names of those that load, store, multiply and add.
            let (each, moves, arithmetic) = match kernel.isa {
                "scalar" => (kernel.step / 8, ["fld", "fsd"], ["fmul.d", "fadd.d"]),
                "rvv" => (2, ["vle64.v", "vse64.v"], ["vfmul.vf", "vfadd.vv"]),
                isa => panic!("what a loop with {isa} consists of is not written here"),
            };
            assert_moves(body, moves, kernel.op.reads() as usize * each, kernel.op.writes() as usize * each);
            // Products and sums separately, none of them fused.
            let (products, sums) = match kernel.op {
                Doubles::Copy | Doubles::Fill => (0, 0),
                Doubles::Scale => (each, 0),
                Doubles::Add | Doubles::Sum => (0, each),
                Doubles::Triad | Doubles::Daxpy => (each, each),
            };
            let count = |expected: &str| body.iter().filter(|i| name(i) == expected).count();
            assert_eq!([products, sums], arithmetic.map(count), "{kernel:?}: {body:#?}");
            let floats = body.iter().filter(|i| i.memory().is_none() && name(i).starts_with(['f', 'v'])).count();
            assert_eq!(products + sums, floats, "{kernel:?}: {body:#?}");
            if kernel.isa == "rvv" {
                assert_groups_of_eight(&function);
            }
        }
    }

    /// Asserts that this many instructions load and this many store eight words, a line, that each
    /// address advances by a line after its use, and that the rest only counts.
    fn assert_lines(function: &[Instruction], body: &[Instruction], loads: usize, stores: usize) {
        let set: Vec<_> = function.iter().filter(|i| i.name().starts_with("vset")).collect();
        assert!(matches!(&*set, [i] if i.text == "vsetivli zero,8,e64,m4,ta,ma"), "{set:#?}");
        let (lines, rest) = body.split_at(2 * (loads + stores));
        assert_eq!(2, rest.len(), "{body:#?}");
        for (expected, base, count) in [("vle64.v", "a5", loads), ("vse64.v", "a4", stores)] {
            let next = format!("addi {base},{base},{MIX_LINE}");
            let right = |pair: &&[Instruction]| {
                pair[0].name() == expected && pair[0].text.ends_with(&format!(",({base})")) && pair[1].text == next
            };
            assert_eq!(count, lines.chunks_exact(2).filter(right).count(), "{body:#?}");
        }
    }

    #[test]
    fn mixes_move_each_word_of_a_turn_once() {
        for kernel in arch::mix_kernels().into_iter().filter(|kernel| kernel.isa != "portable") {
            let Some(function) = disassemble(in_file(kernel.run as usize)) else { return };
            let body = innermost(&function);
            if kernel.isa == "rvv" {
                assert_lines(&function, body, kernel.reads * MIX_GROUPS, kernel.writes * MIX_GROUPS);
                continue;
            }
            assert_eq!("scalar", kernel.isa, "what a mix with it consists of is not written here");
            let words = |lines: usize| lines * MIX_GROUPS * MIX_LINE / 8;
            assert_moves(body, ["ld", "sd"], words(kernel.reads), words(kernel.writes));
        }
    }
}
