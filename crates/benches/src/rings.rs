//! The rings of io_uring, and why there are none.

use groma_harness::prelude::*;
use groma_harness::sys::uring::{self, Missing, Mode, Ring};

/// Creates rings for `operations` operations at once; the error states why there are none, since
/// sandboxes and administrators often forbid them.
pub(crate) fn rings(operations: u64) -> Result<Ring, BenchError> {
    rings_with(operations, Mode::Default)
}

/// As [`rings`], in a mode; `Unsupported` where there are rings, and none of this mode.
pub(crate) fn rings_with(operations: u64, mode: Mode) -> Result<Ring, BenchError> {
    let entries = match u32::try_from(operations) {
        Ok(n @ 1..=4096) => n.next_power_of_two(),
        _ => return Err(BenchError::Unsupported("a ring holds 1 to 4096 operations".to_owned())),
    };
    Ring::with(entries, mode).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput if mode != Mode::Default => {
            BenchError::Unsupported(format!("this kernel has no rings of this mode ({mode:?})"))
        }
        _ => refusal(uring::missing(&error), &error),
    })
}

/// Why there are no rings: what this system lacks, or what it refuses.
fn refusal(missing: Missing, error: &std::io::Error) -> BenchError {
    let text = |why: &str| format!("io_uring_setup: {error}: {why}");
    match missing {
        Missing::NotBuilt => BenchError::Unsupported(text("this kernel has no io_uring")),
        Missing::FilteredAway => BenchError::Unsupported(text(
            "a filter of system calls is in force here and hides io_uring, or the kernel has none",
        )),
        Missing::Forbidden => BenchError::Denied(text("a filter of system calls forbids it")),
        Missing::Disabled(setting) => BenchError::Denied(text(&format!("kernel.io_uring_disabled is {setting}"))),
        Missing::Refused => BenchError::Denied(text("neither a filter nor a setting; a security module?")),
        Missing::NoMemory => BenchError::Denied(text("before Linux 5.12 rings are locked memory: see ulimit -l")),
        Missing::Other => BenchError::from_io("io_uring_setup", error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sandbox that forbids rings, and one that hides them, each with its reason.
    #[test]
    fn a_filter_is_told_as_the_reason() {
        let answers = [(38, "hides io_uring"), (1, "forbids it")].map(|(error, words)| {
            let forbidden = move || sys::filter::deny(&[sys::uring::SETUP], error).map(|()| rings(1).map(|_| ()));
            let thread = sys::thread::spawn(256 << 10, forbidden).expect("a thread");
            (thread.join().expect("no panic"), words)
        });
        for (answer, words) in answers {
            match answer {
                Ok(Err(BenchError::Unsupported(why))) => {
                    assert!(why.contains(words) && words.starts_with("hides"), "{why}")
                }
                Ok(Err(BenchError::Denied(why))) => {
                    assert!(why.contains(words) && words.starts_with("forbids") || why.contains("disabled"), "{why}");
                }
                Err(e) => eprintln!("no filters here: {e}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn what_is_refused_is_told_from_what_is_missing() {
        let error = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let missing = [Missing::NotBuilt, Missing::FilteredAway].map(|missing| refusal(missing, &error));
        assert!(missing.iter().all(|stop| matches!(stop, BenchError::Unsupported(_))), "{missing:?}");
        let refused = [Missing::Forbidden, Missing::Disabled(2), Missing::Refused, Missing::NoMemory]
            .map(|missing| refusal(missing, &error));
        assert!(refused.iter().all(|stop| matches!(stop, BenchError::Denied(_))), "{refused:?}");
        assert!(refused[1].to_string().contains("disabled is 2"), "{refused:?}");
    }

    #[test]
    fn rings_hold_as_many_operations_as_were_asked_for() {
        for (operations, entries) in [(1, 1), (3, 4), (32, 32), (33, 64)] {
            match rings(operations) {
                Ok(ring) => assert_eq!(ring.entries(), entries),
                Err(stop) => return eprintln!("no rings here: {stop}"),
            }
        }
    }

    #[test]
    fn sizes_that_no_ring_has_are_refused() {
        assert!(matches!(rings(0), Err(BenchError::Unsupported(_))));
        assert!(matches!(rings(1 << 33), Err(BenchError::Unsupported(_))));
    }
}
