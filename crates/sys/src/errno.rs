//! What a C library function says by its return value.

use std::io;

/// The error in `errno` where a function or `syscall` of the C library returned a negative number.
///
/// # Errors
/// `errno`.
#[inline]
pub(crate) fn checked(returned: impl Into<i64>) -> io::Result<()> {
    if returned.into() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
