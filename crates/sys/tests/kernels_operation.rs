//! Operations against their reference, and the instruction that each claims in its loops.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(target_os = "linux")]
mod objdump;

use groma_sys::arch::operation::{OPERATION_KERNELS, operation_isa_here};
use groma_sys::arch::portable::operation::{REFERENCES, Reference};
use groma_sys::operation::{Loop, Operation};
use std::collections::HashSet;

#[test]
fn every_kernel_computes_what_rust_computes() {
    for (reference, kernel) in REFERENCES.iter().filter_map(|reference| {
        let kernel = OPERATION_KERNELS.iter().find(|kernel| kernel.name == reference.kernel())?;
        Some((reference, kernel))
    }) {
        let name = reference.name;
        match Operation::new(name) {
            Ok(mut operation) => {
                for turns in [0, 1, 2, 3, 50] {
                    assert_eq!(0, operation.chain.wrong_after(turns), "{name}: chain, {turns} turns");
                    assert_eq!(0, operation.parallel.wrong_after(turns), "{name}: parallel, {turns} turns");
                }
                let others = [&operation.chain, &operation.parallel].map(Loop::of_another_class);
                assert_eq!(others, [0, 0], "{name}");
            }
            Err(why) => {
                assert!(!operation_isa_here(kernel.isa) && why.contains(kernel.isa), "{why}");
                println!("not here: {why}");
            }
        }
    }
}

#[test]
fn every_kernel_has_a_reference_and_is_listed_once() {
    let names: HashSet<_> = OPERATION_KERNELS.iter().map(|kernel| kernel.name).collect();
    assert_eq!(OPERATION_KERNELS.len(), names.len());
    assert!(names.iter().all(|name| Reference::find(name).is_some()));
    let all: HashSet<_> = REFERENCES.iter().map(|reference| reference.name).collect();
    assert_eq!(REFERENCES.len(), all.len());
    assert!(Operation::new("i8.add").unwrap_err().contains("i8.add"));
}

/// The mnemonics of the loop in the function at `address` of memory, or nothing where there is no
/// objdump.
#[cfg(target_os = "linux")]
fn names_in_loop(address: usize) -> Option<Vec<String>> {
    let function = objdump::disassemble(objdump::in_file(address))?;
    // A locked instruction is named after its prefix; RISC-V has some in two bytes (`c.`).
    let name = |i: &objdump::Instruction| {
        let name = match i.name() {
            "lock" => i.text.split(' ').nth(1).unwrap(),
            name => name,
        };
        name.trim_start_matches("c.").to_owned()
    };
    Some(objdump::innermost(&function).iter().map(name).collect())
}

#[test]
#[cfg(target_os = "linux")]
fn loops_are_the_instruction_they_claim_as_often_as_they_say() {
    for kernel in OPERATION_KERNELS {
        for of in [&kernel.chain, &kernel.parallel] {
            let Some(names) = names_in_loop(of.run as usize) else { return };
            let claimed = names.iter().filter(|name| *name == kernel.instruction).count() as u64;
            // Remainders have an addition in each step; RISC-V counts with another.
            let counting = u64::from(cfg!(target_arch = "riscv64")) * 3;
            assert!((of.ops()..=of.ops() + counting).contains(&claimed), "{}: {claimed} of {}", kernel.name, of.ops());
            let others = names.len() as u64 - claimed;
            let each = match (kernel.name.split_once('.').unwrap().1, std::env::consts::ARCH) {
                ("div" | "div_small", "x86_64") if kernel.instruction == "div" => 3,
                ("mod" | "mod_small", "x86_64") => 3,
                ("mod" | "mod_small", "aarch64") => 2,
                ("mod" | "mod_small", "riscv64") => 1,
                _ => 0,
            };
            assert!((each * of.ops()..=each * of.ops() + 3).contains(&others), "{}: {others} others", kernel.name);
            // Below 1 % of what is measured, for loops of more than two hundred instructions; the
            // others are slower.
            assert!(of.chains == 1 || names.len() > 200, "{}: {}", kernel.name, names.len());
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn atomic_loops_are_the_instruction_they_claim() {
    use groma_sys::arch::atomic::ATOMIC_KERNELS;
    for kernel in ATOMIC_KERNELS.iter().filter(|kernel| !kernel.instruction.is_empty()) {
        // The retry of an exclusive pair is a backward jump of its own.
        if kernel.instruction == "stlxr" || kernel.instruction.starts_with("sc.") {
            continue;
        }
        let Some(names) = names_in_loop(kernel.run as usize) else { return };
        assert_eq!(kernel.ops, names.iter().filter(|name| *name == kernel.instruction).count() as u64, "{kernel:?}");
    }
}

/// Without its prefix the instruction has the same result for one task, many times faster.
#[test]
#[cfg(target_arch = "x86_64")]
fn atomic_loops_lock_what_they_read_and_write() {
    use groma_sys::arch::atomic::ATOMIC_KERNELS;
    for (instruction, operand) in [("cmpxchg", "QWORD PTR [rdi],r8"), ("xadd", "QWORD PTR [rdi],rdx")] {
        let kernel = ATOMIC_KERNELS.iter().find(|kernel| kernel.instruction == instruction).unwrap();
        let Some(function) = objdump::disassemble(objdump::in_file(kernel.run as usize)) else { return };
        let locked = format!("lock {instruction} {operand}");
        let count = objdump::innermost(&function).iter().filter(|i| i.text == locked).count();
        assert_eq!(kernel.ops, count as u64, "{kernel:?}");
    }
}
