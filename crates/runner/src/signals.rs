//! The signals that end a run.

use groma_harness::sys::signals::{Watch, is_ignored};

/// SIGHUP, as every POSIX system numbers it.
pub const HANGUP: i32 = 1;
/// SIGINT.
pub const INTERRUPT: i32 = 2;
/// SIGTERM.
pub const TERMINATE: i32 = 15;

/// Watches for the signals that end a run, which no longer end the program by themselves: from here
/// on nothing may block.
///
/// # Errors
/// When signals cannot be watched.
pub fn watch_signals() -> std::io::Result<Watch> {
    // `nohup` means it.
    if is_ignored(HANGUP) { Watch::new(&[INTERRUPT, TERMINATE]) } else { Watch::new(&[HANGUP, INTERRUPT, TERMINATE]) }
}

/// The exit code of a program that a signal ended: 128 and the signal, as shells have it.
pub fn exit_code(signal: i32) -> u8 {
    128 + u8::try_from(signal).unwrap_or(HANGUP as u8)
}
