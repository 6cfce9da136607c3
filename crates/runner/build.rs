//! Tells the program how it was built: the target and the compiler's version go into every record.

use std::process::Command;

fn main() {
    let target = std::env::var("TARGET").unwrap_or_default();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version.and_then(|out| String::from_utf8(out.stdout).ok()).unwrap_or_default();
    // "rustc 1.95.0 (59807616e 2026-04-14)": the first two words.
    let version: Vec<&str> = version.split_whitespace().take(2).collect();
    println!("cargo::rustc-env=GROMA_TARGET={target}");
    println!("cargo::rustc-env=GROMA_RUSTC={}", version.join(" "));
    println!("cargo::rerun-if-changed=build.rs");
}
