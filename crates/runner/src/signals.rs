//! The signals that end a run.

use groma_harness::sys::signals::{Watch, is_ignored};

/// SIGHUP, as every POSIX system numbers it.
pub const HANGUP: i32 = 1;
/// SIGINT.
pub const INTERRUPT: i32 = 2;
/// SIGTERM.
pub const TERMINATE: i32 = 15;

/// Watches for the signals that end a run. They no longer end the program by themselves, so from
/// here on nothing may block.
///
/// # Errors
/// When signals cannot be watched.
pub fn watch_signals() -> std::io::Result<Watch> {
    // Under `nohup`, SIGHUP stays ignored.
    Watch::new(watched_signals(is_ignored(HANGUP)))
}

fn watched_signals(hangup_is_ignored: bool) -> &'static [i32] {
    if hangup_is_ignored { &[INTERRUPT, TERMINATE] } else { &[HANGUP, INTERRUPT, TERMINATE] }
}

/// The exit code of a program ended by a signal: 128 plus the signal, as in shells.
pub fn exit_code(signal: i32) -> u8 {
    128 + u8::try_from(signal).unwrap_or(HANGUP as u8)
}

/// The signal of such an exit code.
pub fn of_exit_code(code: u8) -> Option<i32> {
    code.checked_sub(128).filter(|signal| *signal > 0).map(i32::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_of_signals_are_those_of_shells() {
        assert_eq!([HANGUP, INTERRUPT, TERMINATE].map(exit_code), [129, 130, 143]);
        assert_eq!(exit_code(-1), 129);
        assert_eq!([0, 4, 128, 143].map(of_exit_code), [None, None, None, Some(TERMINATE)]);
        let name = groma_harness::sys::process::signal_name;
        assert_eq!([HANGUP, INTERRUPT, TERMINATE].map(name), ["SIGHUP", "SIGINT", "SIGTERM"]);
    }

    #[test]
    fn an_ignored_hang_up_is_not_watched() {
        assert_eq!(watched_signals(true), [2, 15]);
        assert_eq!(watched_signals(false), [1, 2, 15]);
    }
}
