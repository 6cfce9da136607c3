//! The programs, by subject. Each is its command line, its description and a function that chooses
//! points and prints lines.

mod bandwidth;
mod context;
mod cpu;
mod disk;
mod file;
mod helpers;
mod hierarchy;
mod http;
mod ipc;
mod lmdd;
mod network;
mod process;
mod syscall;

use super::call::Program;

/// The letters and the usage of what every program that measures takes.
const LOAD: &str = "P:W:N:";
macro_rules! load {
    ($rest:literal) => {
        concat!("[-P copies] [-W microseconds] [-N repetitions]", $rest)
    };
}
use load;

/// All programs, in the order of their subjects.
pub(super) fn all() -> impl Iterator<Item = &'static Program> {
    let subjects = [
        syscall::PROGRAMS,
        process::PROGRAMS,
        context::PROGRAMS,
        ipc::PROGRAMS,
        network::PROGRAMS,
        http::PROGRAMS,
        file::PROGRAMS,
        disk::PROGRAMS,
        lmdd::PROGRAMS,
        bandwidth::PROGRAMS,
        hierarchy::PROGRAMS,
        cpu::PROGRAMS,
        helpers::PROGRAMS,
    ];
    subjects.into_iter().flatten()
}
