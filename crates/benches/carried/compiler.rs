//! The compiler that `mix.andrew` runs: reads a source, cuts it into tokens, and writes an object,
//! which begins with their count and hash and holds the name of each token, four bytes a piece.
//! Ours, so that it is the same everywhere, as Ousterhout's was, who compiled for one and the same
//! processor on all his machines. It is no part of this crate; `build.rs` compiles it.
//!
//! Called as `compiler SOURCE OBJECT`; leaves with 0, or with the number of the step that went
//! wrong.
//!
//! # Safety
//!
//! libc calls `main` with `argc` NUL-terminated strings, on one thread, so that the buffers have
//! one user.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "a program without a standard library")]

use core::ffi::{c_char, c_int, c_void};

#[path = "tokens.rs"]
mod tokens;
use tokens::{HEAD, Tokens};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the program.
    unsafe { abort() }
}

/// What the checks of `core` refer to for unwinding, which this program never does.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

unsafe extern "C" {
    fn abort() -> !;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn creat(path: *const c_char, mode: u32) -> c_int;
    fn read(fd: c_int, bytes: *mut c_void, count: usize) -> isize;
    fn write(fd: c_int, bytes: *const c_void, count: usize) -> isize;
    fn close(fd: c_int) -> c_int;
}

/// The longest source; `mix/andrew.rs` makes none that is longer.
const LONGEST_SOURCE: usize = 1 << 20;

static mut SOURCE: [u8; LONGEST_SOURCE] = [0; LONGEST_SOURCE];
/// Every second byte of a source is a token at most, but for signs: room for one a byte.
static mut OBJECT: [u8; HEAD + 4 * LONGEST_SOURCE] = [0; HEAD + 4 * LONGEST_SOURCE];

#[unsafe(no_mangle)]
unsafe extern "C" fn main(argc: c_int, argv: *const *const c_char) -> c_int {
    if argc != 3 {
        return 1;
    }
    // SAFETY: one thread; the arguments are strings of libc's; lengths are those of the buffers.
    unsafe {
        let (source, object) = (&mut *(&raw mut SOURCE), &mut *(&raw mut OBJECT));
        let input = open(*argv.add(1), 0);
        if input < 0 {
            return 2;
        }
        let mut len = 0;
        loop {
            match read(input, source[len..].as_mut_ptr().cast(), LONGEST_SOURCE - len) {
                0 => break,
                n if n < 0 => return 3,
                n => len += n as usize,
            }
        }
        close(input);
        let mut at = HEAD;
        let tokens = Tokens::of(&source[..len], |name| {
            object[at..at + 4].copy_from_slice(&(name as u32).to_le_bytes());
            at += 4;
        });
        object[..HEAD].copy_from_slice(&tokens.head());
        let output = creat(*argv.add(2), 0o600);
        if output < 0 {
            return 4;
        }
        let mut done = 0;
        while done < at {
            match write(output, object[done..].as_ptr().cast(), at - done) {
                n if n <= 0 => return 5,
                n => done += n as usize,
            }
        }
        if close(output) < 0 { 6 } else { 0 }
    }
}
