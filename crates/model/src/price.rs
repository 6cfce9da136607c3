//! What the things that an application does cost: which measured metrics stand for a system call, a
//! fault, a switch. Data in `groma-benches`; `groma-analysis` computes with it.

use crate::Part;

/// The price of what an application's counts name.
#[derive(Clone, Copy, Debug)]
pub struct Price {
    /// What it is, for people.
    pub what: &'static str,
    /// What it is called where it is counted: names of system calls, of perf's events.
    pub names: &'static [&'static str],
    /// What one takes.
    pub each: &'static [Part],
    /// What each byte takes beyond that; empty where bytes do not matter.
    pub byte: &'static [Part],
    /// Whose time it is.
    pub spent: Spent,
}

/// Whose time a price is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// Of the kernel: system time.
    Kernel,
    /// Of nobody: waiting.
    Waiting,
    /// Of the program: user time.
    User,
}
