//! The program `groma`: the command line over the benchmarks that it comes with.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    groma::Program::new().name("groma").with_groma().run()
}
