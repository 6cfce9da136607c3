//! The C library's random-number generators of `stdlib.h`: one state per process, shared by all
//! callers.
//!
//! # Safety
//!
//! `drand48` and `lrand48` change their state without a lock: one [`Generator`] exists in a process
//! at a time and does not leave its thread, and nothing else in this project calls them.
//! `getrandom` writes to eight bytes of our own.
#![expect(unsafe_code, reason = "calls of libc without the standard library's layer")]

use std::ffi::{c_int, c_long};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

unsafe extern "C" {
    // POSIX, but not in every version of the libc crate.
    fn srand(seed: u32);
    fn rand() -> c_int;
    fn srandom(seed: u32);
    fn random() -> c_long;
    fn srand48(seed: c_long);
    fn drand48() -> f64;
    fn lrand48() -> c_long;
}

/// Whether there is one.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The process's generators, for one user at a time.
#[derive(Debug)]
pub struct Generator(PhantomData<*const ()>);

impl Generator {
    /// Takes them; `None` while they are taken.
    pub fn take() -> Option<Generator> {
        (!TAKEN.swap(true, Ordering::Acquire)).then_some(Generator(PhantomData))
    }

    /// Seeds all of them.
    pub fn seed(&mut self, seed: u32) {
        // SAFETY: nothing else uses the states (above).
        unsafe {
            srand(seed);
            srandom(seed);
            srand48(c_long::from(seed as i32));
        }
    }

    /// `rand`: 0 up to RAND_MAX.
    #[inline(always)]
    pub fn rand(&mut self) -> i64 {
        // SAFETY: as in `seed`.
        i64::from(unsafe { rand() })
    }

    /// `random`: 31 bits.
    #[inline(always)]
    pub fn random(&mut self) -> i64 {
        // SAFETY: as in `seed`.
        unsafe { random() as i64 }
    }

    /// `drand48`: 0 up to 1, of 48 bits.
    #[inline(always)]
    pub fn drand48(&mut self) -> f64 {
        // SAFETY: as in `seed`.
        unsafe { drand48() }
    }

    /// `lrand48`: 31 bits.
    #[inline(always)]
    pub fn lrand48(&mut self) -> i64 {
        // SAFETY: as in `seed`.
        unsafe { lrand48() as i64 }
    }

    /// `getrandom` of eight bytes; `None` where it returned fewer.
    #[cfg(target_os = "linux")]
    #[inline(always)]
    pub fn getrandom(&mut self) -> Option<u64> {
        let mut room = [0u8; 8];
        // SAFETY: eight bytes of our own.
        let got = unsafe { libc::getrandom(room.as_mut_ptr().cast(), room.len(), 0) };
        (got == 8).then(|| u64::from_ne_bytes(room))
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_at_a_time_and_a_seed_repeats_its_numbers() {
        let mut one = Generator::take().expect("not taken yet");
        assert!(Generator::take().is_none());
        let mut draw = |seed| {
            one.seed(seed);
            (one.rand(), one.drand48().to_bits(), one.lrand48(), one.random())
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        drop(one);
        assert!(Generator::take().is_some());
    }

    /// Flags would select another source, or one that may block.
    #[test]
    #[cfg(target_os = "linux")]
    fn getrandom_is_called_without_flags() {
        use crate::{filter, testing};
        let exit = testing::in_child(|| {
            let with_flags = || {
                let mut room = [0u8; 8];
                // SAFETY: eight bytes of our own.
                unsafe { libc::syscall(libc::SYS_getrandom, room.as_mut_ptr(), 8, libc::GRND_NONBLOCK) }
            };
            if filter::deny_unless(libc::SYS_getrandom, 2, 0).is_err() {
                return 255;
            }
            let mut generator = Generator(PhantomData);
            let drawn = [(); 3].map(|()| generator.getrandom());
            let differ = drawn[0] != drawn[1] && drawn[1] != drawn[2];
            testing::first_wrong(&[with_flags() == -1, drawn.iter().all(Option::is_some), differ])
        });
        assert!(matches!(exit, Some(0 | 255)), "{exit:?}");
    }
}
