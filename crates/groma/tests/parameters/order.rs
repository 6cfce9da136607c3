//! Which system call follows which, in each thread of a round.
//!
//! Work that has moved into the timed part or out of it, and calls in another order, keep every
//! count and every argument. So the readings of the clock are among the calls, where they are made
//! visible.

use super::Calls;
use crate::common::trace::{Traced, is_reading};

/// Calls that the libraries and the harness make at no fixed point.
const CHANCE: [&str; 9] = [
    "brk",
    "fcntl",
    "fstatfs",
    "getdents64",
    "getrandom",
    "readlink",
    "restart_syscall",
    "sched_getaffinity",
    "sched_setaffinity",
];

/// What is between two calls that follow each other.
pub(super) const THEN: &str = " then ";

/// What stands for a call: its name, that of a signal, or that the clock was read.
fn step(call: &str) -> Option<&str> {
    if let Some(signal) = call.strip_prefix("--- ") {
        return signal.split(' ').next();
    }
    if is_reading(call) {
        return Some("the clock");
    }
    let (name, arguments) = call.split_once('(')?;
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    // A job and its result are of the harness.
    (is_word && !CHANCE.contains(&name) && !arguments.contains("\"{")).then_some(name)
}

/// How often one call follows another, in all threads. Page faults count as a call where the clock
/// tells of them.
pub(super) fn pairs(traced: &Traced) -> Calls {
    let mut pairs = Calls::new();
    let mut last: Option<(&str, &str)> = None;
    for (thread, call) in &traced.lines {
        let Some(next) = step(call) else { continue };
        if let Some((_, before)) = last.filter(|(of, _)| of == thread) {
            *pairs.entry(format!("{before}{THEN}{next}")).or_default() += 1;
        }
        last = Some((thread, next));
    }
    pairs
}
