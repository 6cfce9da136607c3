//! `memcpy`, `memmove`, `bcopy` and `memset` of the C library that this program is linked with, in
//! calls of a given size.
//!
//! # Safety
//!
//! Each call gets ranges of the given slices. The functions are called through pointers that the
//! compiler cannot see through; otherwise it would emit its own instructions.
#![expect(unsafe_code, reason = "calls the C library")]

use std::hint::black_box;

/// A function of the C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `memcpy`
    Memcpy,
    /// `memmove` under its other name.
    Memmove,
    /// `memset`
    Memset,
}

/// The byte that `memset` stores: not zero, which it might special-case.
pub const SET: u8 = 0x5a;

/// Covers the whole of `dst` in calls of `call` bytes (the last one may be shorter), copying from
/// the same offsets of `src`, or setting to [`SET`]. Returns the number of calls.
///
/// # Panics
///
/// If `call` is 0, or if `function` copies and `src` is shorter than `dst`.
#[inline]
pub fn go_over(function: Function, dst: &mut [u8], src: &[u8], call: usize) -> u64 {
    assert!(call > 0 && (function == Function::Memset || src.len() >= dst.len()), "buffers do not fit");
    let copy: unsafe extern "C" fn(*mut libc::c_void, *const libc::c_void, usize) -> *mut libc::c_void = match function
    {
        Function::Memcpy => libc::memcpy,
        _ => libc::memmove,
    };
    let (copy, set) = black_box((copy, libc::memset as unsafe extern "C" fn(_, _, _) -> _));
    let (mut at, mut calls) = (0, 0);
    while at < dst.len() {
        let bytes = call.min(dst.len() - at);
        // SAFETY: `bytes` from `at` on are within both slices, which do not overlap.
        unsafe {
            let to = dst.as_mut_ptr().add(at).cast::<libc::c_void>();
            match function {
                Function::Memset => set(to, i32::from(SET), bytes),
                _ => copy(to, src.as_ptr().add(at).cast(), bytes),
            };
        }
        at += bytes;
        calls += 1;
    }
    calls
}
