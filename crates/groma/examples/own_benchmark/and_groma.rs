//! The program of `main.rs` with groma's benchmarks beside its own.

use std::process::ExitCode;

#[path = "main.rs"]
#[expect(dead_code, reason = "its main function starts the other program")]
mod own;

fn main() -> ExitCode {
    groma::Program::new().with_groma().benchmarks(&[&own::BENCH]).run()
}
