//! The structures of `groma.h`, as they lie in memory, and how one of another version is read.
//!
//! Every structure begins with its size, which its own header defined. A shorter one is continued
//! with zeroes, which are the defaults; a longer one must hold nothing but zeroes where this
//! library knows no field. So a program runs with a later library, and with an earlier one unless
//! it uses what that one lacks.
//!
//! # Safety
//! The types have the layout of the header, and all bytes zero is a value of each: pointers and
//! functions are options, words are numbers.
#![expect(unsafe_code, reason = "structures that C has written")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;

/// `run` and others: iterations and the state.
pub(crate) type RunFn = extern "C" fn(u64, *mut c_void) -> c_int;
/// `run_staged`.
pub(crate) type StagedFn = extern "C" fn(u64, *mut c_void, *mut c_void) -> c_int;
/// `measure`, `check`, `begin`, `end`: the context and the state.
pub(crate) type StepFn = extern "C" fn(*const c_void, *mut c_void) -> c_int;
/// `setup`.
pub(crate) type SetupFn = extern "C" fn(*const c_void, *mut *mut c_void) -> c_int;
/// `cleanup`.
pub(crate) type CleanupFn = extern "C" fn(*mut c_void);
/// The body of a peer.
pub(crate) type PeerFn = extern "C" fn(*mut c_void) -> c_int;

/// `groma_param`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Param {
    size: usize,
    pub(crate) name: *const c_char,
    pub(crate) summary: *const c_char,
    pub(crate) kind: c_int,
    pub(crate) takes: c_int,
    pub(crate) words: *const c_char,
    pub(crate) quick: *const c_char,
    pub(crate) standard: *const c_char,
    pub(crate) full: *const c_char,
}

/// `groma_output`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Output {
    size: usize,
    pub(crate) name: *const c_char,
    pub(crate) summary: *const c_char,
    pub(crate) how: c_int,
    pub(crate) of: *const c_char,
    pub(crate) to: *const c_char,
    pub(crate) per: f64,
    pub(crate) quantity: c_int,
    pub(crate) own_quantity: c_int,
    pub(crate) detail: c_int,
}

/// `groma_bench`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Bench {
    size: usize,
    pub(crate) name: *const c_char,
    pub(crate) summary: *const c_char,
    pub(crate) about: *const c_char,
    pub(crate) iteration: *const c_char,
    pub(crate) version: u32,
    pub(crate) quantity: c_int,
    pub(crate) better: c_int,
    pub(crate) timing: c_int,
    pub(crate) interference: c_int,
    pub(crate) tier: c_int,
    pub(crate) placements: c_int,
    pub(crate) scaling: c_int,
    pub(crate) why_not: *const c_char,
    pub(crate) needs: u32,
    pub(crate) needs_cpus: u32,
    pub(crate) needs_paths: *const c_char,
    pub(crate) params: *const Param,
    pub(crate) n_params: usize,
    pub(crate) outputs: *const Output,
    pub(crate) n_outputs: usize,
    pub(crate) setup: Option<SetupFn>,
    pub(crate) run: Option<RunFn>,
    pub(crate) run_staged: Option<StagedFn>,
    pub(crate) measure: Option<StepFn>,
    pub(crate) check: Option<StepFn>,
    pub(crate) cleanup: Option<CleanupFn>,
}

/// `groma_loop`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Loop {
    size: usize,
    pub(crate) name: *const c_char,
    pub(crate) run: Option<RunFn>,
    pub(crate) run_staged: Option<StagedFn>,
    pub(crate) state: *mut c_void,
    pub(crate) per_iter: f64,
    pub(crate) max_iters: u64,
}

/// `groma_here`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Here {
    size: usize,
    pub(crate) name: *const c_char,
    pub(crate) summary: *const c_char,
    pub(crate) begin: Option<StepFn>,
    pub(crate) end: Option<StepFn>,
    pub(crate) interval: Option<StagedFn>,
    pub(crate) state: *mut c_void,
    pub(crate) members: u32,
    pub(crate) rounds: u32,
    pub(crate) warm_us: u64,
    pub(crate) sample_us: u64,
}

/// The rounds that `groma_found` has room for.
pub(crate) const MAX_ROUNDS: usize = 64;

/// `groma_found`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Found {
    pub(crate) size: usize,
    pub(crate) ns: f64,
    pub(crate) low_ns: f64,
    pub(crate) high_ns: f64,
    pub(crate) rounds_ns: [f64; MAX_ROUNDS],
    pub(crate) n_rounds: u32,
    pub(crate) imprecise: c_int,
    pub(crate) not_parallel: c_int,
    pub(crate) why: [u8; 512],
}

/// A structure of the header that begins with its size.
pub(crate) trait Versioned: Copy {
    /// Its name in C.
    const NAME: &'static str;
    /// The bytes that the first version of this interface had, and every later one has.
    const MIN_SIZE: usize;
}

macro_rules! versioned {
    ($($type:ty: $name:literal, $least:expr;)*) => {$(
        impl Versioned for $type {
            const NAME: &'static str = $name;
            const MIN_SIZE: usize = $least;
        }
    )*};
}

// The header is at its first version: what it has now is the least.
versioned! {
    Param: "groma_param", size_of::<Param>();
    Output: "groma_output", size_of::<Output>();
    Bench: "groma_bench", size_of::<Bench>();
    Loop: "groma_loop", size_of::<Loop>();
    Here: "groma_here", size_of::<Here>();
    Found: "groma_found", size_of::<Found>();
}

/// The longest structure that is believed: beyond it, `size` is not a size.
const MAX_SIZE: usize = 1 << 16;

/// Reads a structure, whatever its version.
///
/// # Errors
/// What is wrong with its size.
///
/// # Safety
/// `at` is null or points to a structure whose first word is its size if it is set at all, with
/// that many bytes behind it.
pub(crate) unsafe fn read<T: Versioned>(at: *const T) -> Result<T, String> {
    if at.is_null() {
        return Err(format!("the {} is a null pointer", T::NAME));
    }
    // SAFETY: the caller's duty.
    let size = unsafe { at.cast::<usize>().read_unaligned() };
    if size < T::MIN_SIZE || size > MAX_SIZE || size % align_of::<T>() != 0 {
        let name = T::NAME;
        return Err(format!("size is {size}, not that of a {name}: set .size = sizeof ({name})"));
    }
    let own = size_of::<T>();
    // SAFETY: the caller's duty.
    let more = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), size) }.get(own..).unwrap_or_default();
    if more.iter().any(|byte| *byte != 0) {
        let version = env!("CARGO_PKG_VERSION");
        return Err(format!("it uses a field that this libgroma ({version}) does not know: it needs a later one"));
    }
    let mut copy = MaybeUninit::<T>::zeroed();
    // SAFETY: both have the bytes that are copied, and a structure of zeroes is one.
    unsafe {
        std::ptr::copy_nonoverlapping(at.cast::<u8>(), copy.as_mut_ptr().cast::<u8>(), size.min(own));
        Ok(copy.assume_init())
    }
}

/// Reads an array of structures of one version; the errors name the element, as `what[1]`.
///
/// # Errors
/// As [`read`].
///
/// # Safety
/// As [`read`], for `n` structures of the size of the first.
pub(crate) unsafe fn read_array<T: Versioned>(at: *const T, n: usize, what: &str) -> Result<Vec<T>, String> {
    let mut all = Vec::new();
    let mut next = at;
    for i in 0..n {
        // SAFETY: the caller's duty.
        all.push(unsafe { read(next) }.map_err(|why| format!("{what}[{i}]: {why}"))?);
        // SAFETY: `read` has checked that there is a size, which is that of all of them.
        next = unsafe { next.byte_add(at.cast::<usize>().read_unaligned()) };
    }
    Ok(all)
}

/// A slice of C's; empty where the pointer is null.
///
/// # Safety
/// `at` is null or has `n` elements that live for `'a`.
pub(crate) unsafe fn borrowed<'a, T>(at: *const T, n: usize) -> &'a [T] {
    // SAFETY: the caller's duty.
    if at.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(at, n) } }
}

/// A text of C's; empty where the pointer is null. What is not UTF-8 is replaced.
///
/// # Safety
/// `at` is null or a string.
pub(crate) unsafe fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: the caller's duty.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure of a program that was compiled with another header.
    fn of_size(size: usize, last: u8) -> Result<u32, String> {
        let mut bytes = vec![0u64; size.div_ceil(8).max(1)];
        bytes[0] = size as u64;
        // SAFETY: the vector has at least as many bytes as its first word says.
        unsafe {
            let start = bytes.as_mut_ptr().cast::<u8>();
            if size > 8 {
                start.add(size - 1).write(last);
            }
            let members = start.add(std::mem::offset_of!(Here, members));
            if size >= size_of::<Here>() {
                members.cast::<u32>().write(7);
            }
            read(start.cast::<Here>()).map(|here| here.members)
        }
    }

    #[test]
    fn a_structure_of_another_version_is_read_unless_it_asks_for_more() {
        let own = size_of::<Here>();
        assert_eq!(of_size(own, 0), Ok(7));
        assert_eq!(of_size(own + 64, 0), Ok(7));
        assert!(of_size(own + 64, 1).is_err_and(|why| why.contains("needs a later one")));
        for wrong in [0, 8, own - 8, own + 1, 1 << 20] {
            assert!(of_size(wrong, 0).is_err_and(|why| why.contains("sizeof (groma_here)")), "{wrong}");
        }
    }
}
