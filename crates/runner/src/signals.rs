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
    Watch::new(watched(is_ignored(HANGUP)))
}

fn watched(hangup_is_ignored: bool) -> &'static [i32] {
    if hangup_is_ignored { &[INTERRUPT, TERMINATE] } else { &[HANGUP, INTERRUPT, TERMINATE] }
}

/// The exit code of a program that a signal ended: 128 and the signal, as shells have it.
pub fn exit_code(signal: i32) -> u8 {
    128 + u8::try_from(signal).unwrap_or(HANGUP as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_a_signal_ended_has_the_code_that_a_shell_gives_it() {
        assert_eq!([HANGUP, INTERRUPT, TERMINATE].map(exit_code), [129, 130, 143]);
        assert_eq!(exit_code(-1), 129);
        let name = groma_harness::sys::process::signal_name;
        assert_eq!([HANGUP, INTERRUPT, TERMINATE].map(name), ["SIGHUP", "SIGINT", "SIGTERM"]);
    }

    /// What `nohup` ignores stays ignored, and nothing else does.
    #[test]
    fn a_hang_up_that_is_ignored_ends_nothing() {
        assert_eq!(watched(true), [2, 15]);
        assert_eq!(watched(false), [1, 2, 15]);
    }
}
