//! Operations against their reference, and the instruction that each claims in its loops.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use groma_sys::arch::ops::{OP_KERNELS, op_isa_here};
use groma_sys::arch::portable::ops::{REFERENCES, Reference};
use groma_sys::operation::Operation;
use std::collections::HashSet;

#[test]
fn every_kernel_computes_what_rust_computes() {
    for kernel in OP_KERNELS {
        match Operation::new(kernel.name) {
            Ok(mut operation) => {
                for turns in [0, 1, 2, 3, 50] {
                    assert_eq!(0, operation.chain.wrong_after(turns), "{}: chain, {turns} turns", kernel.name);
                    assert_eq!(0, operation.parallel.wrong_after(turns), "{}: parallel, {turns} turns", kernel.name);
                }
                assert_eq!((0, 0), (operation.chain.abnormal(), operation.parallel.abnormal()), "{}", kernel.name);
            }
            Err(why) => {
                assert!(!op_isa_here(kernel.isa) && why.contains(kernel.isa), "{why}");
                println!("not here: {why}");
            }
        }
    }
}

#[test]
fn every_kernel_has_a_reference_and_is_listed_once() {
    let names: HashSet<_> = OP_KERNELS.iter().map(|kernel| kernel.name).collect();
    assert_eq!(OP_KERNELS.len(), names.len());
    assert!(names.iter().all(|name| Reference::find(name).is_some()));
    let all: HashSet<_> = REFERENCES.iter().map(|reference| reference.name).collect();
    assert_eq!(REFERENCES.len(), all.len());
    assert!(Operation::new("i8.add").unwrap_err().contains("i8.add"));
}
