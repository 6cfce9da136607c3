//! libgroma: the interface of groma for benchmarks in C and C++, as `include/groma.h` declares it.
//!
//! Glue only: descriptors become those of the harness, and the functions of a benchmark are called
//! where a Rust benchmark's would be. Nothing here times, and nothing of it runs within a timed
//! loop. Every function of the header takes pointers that its caller vouches for.
//!
//! A panic never leaves this library: `extern "C"` ends the process with its message, which is the
//! reason of the round.
//!
//! # Safety
//! The functions here pass on what the header asks of their callers.
#![expect(unsafe_code, reason = "functions for C")]
#![expect(unreachable_pub, reason = "they are reached by their names in C")]

mod abi;
mod call;
mod context;
mod descriptor;
mod functions;
mod here;
mod round;

use crate::abi::{Bench, borrowed};
use groma::Program;
use std::ffi::{CStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;
use std::sync::{Mutex, PoisonError};

/// See `groma_main` in the header.
///
/// # Safety
/// `argv` has `argc` strings, `benches` `n` descriptors that live as long as the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groma_main(argc: c_int, argv: *const *const c_char, benches: *const Bench, n: usize) -> c_int {
    // SAFETY: the caller's duties are the same.
    unsafe { run(Program::new(), argc, argv, benches, n) }
}

/// See `groma_main_with_groma` in the header.
///
/// # Safety
/// As [`groma_main`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groma_main_with_groma(
    argc: c_int,
    argv: *const *const c_char,
    benches: *const Bench,
    n: usize,
) -> c_int {
    // SAFETY: the caller's duties are the same.
    unsafe { run(Program::new().with_groma(), argc, argv, benches, n) }
}

/// # Safety
/// As [`groma_main`].
unsafe fn run(program: Program, argc: c_int, argv: *const *const c_char, benches: *const Bench, n: usize) -> c_int {
    // SAFETY: the caller's duty.
    let words = unsafe { borrowed(argv, usize::try_from(argc).unwrap_or(0)) };
    // SAFETY: the caller's duty; a null ends the list as `main` has it.
    let word = |at: &*const c_char| unsafe { CStr::from_ptr(*at) }.to_bytes().to_vec();
    let words: Vec<OsString> =
        words.iter().take_while(|at| !at.is_null()).map(|at| OsString::from_vec(word(at))).collect();
    let registered = DESCRIPTORS.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller's duty.
    match unsafe { descriptor::read_all(benches, n, &registered) } {
        Ok(all) => c_int::from(program.benchmarks(&round::register(all)).run_words(words)),
        Err(why) => {
            let name = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
            let name = name.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("groma");
            eprintln!("{name}: {why}");
            2
        }
    }
}

/// What `groma_register` was given.
static DESCRIPTORS: Mutex<Vec<Address>> = Mutex::new(Vec::new());

/// A descriptor that lives as long as the program.
struct Address(*const Bench);

// SAFETY: it is only read, and is a constant of the program.
unsafe impl Send for Address {}

/// See `groma_register` in the header.
///
/// # Safety
/// `bench` points to a descriptor that lives as long as the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groma_register(bench: *const Bench) {
    DESCRIPTORS.lock().unwrap_or_else(PoisonError::into_inner).push(Address(bench));
}

/// See `groma_version` in the header.
#[unsafe(no_mangle)]
pub extern "C" fn groma_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
