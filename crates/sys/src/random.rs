//! Random bytes from the kernel, for secrets and nonces. What only has to vary (an order, a seed)
//! uses a seeded generator instead, so that a run can be repeated.

use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// `N` unpredictable bytes. Waits, only just after boot, until the kernel's generator is seeded.
///
/// # Errors
/// Those of `getrandom`: `ENOSYS` before Linux 3.17.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut have = 0;
    // A signal can interrupt requests of 256 bytes or more.
    while have < N {
        match getrandom(&mut bytes[have..], GetRandomFlags::empty()) {
            Ok(n) => have += n,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_are_filled_and_never_the_same() {
        let (a, b) = (bytes::<1000>().expect("getrandom"), bytes::<1000>().expect("getrandom"));
        assert_ne!(a, b);
        // The chance that the last 16 bytes are all zero is 1 in 2^128.
        assert!(a[984..].iter().any(|byte| *byte != 0));
    }

    /// Other flags would read from a source that may wait for ever, or that is not seeded yet.
    #[test]
    fn secrets_come_from_the_generator_that_waits_until_it_is_seeded() {
        use crate::{filter, testing};
        let exit = testing::in_child(|| match filter::deny_unless(libc::SYS_getrandom, 2, 0) {
            Err(_) => 255,
            Ok(()) => {
                let refused = getrandom(&mut [0; 8][..], GetRandomFlags::NONBLOCK).is_err();
                testing::first_wrong(&[refused, bytes::<16>().is_ok()])
            }
        });
        assert!(matches!(exit, Some(0 | 255)), "{exit:?}");
    }
}
