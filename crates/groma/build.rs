//! Compresses the texts that are compiled into the program, and finds the commit that it is built
//! from.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=reference");
    println!("cargo::rerun-if-changed=licences.txt");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    // The reference machines: 482 kB become 72.
    let machines = fs::read_dir("reference").expect("a directory").map(|entry| entry.expect("an entry").path());
    for file in machines.chain(["licences.txt".into()]) {
        let small = miniz_oxide::deflate::compress_to_vec_zlib(&fs::read(&file).expect("a file"), 10);
        fs::write(out.join(file.file_name().expect("a name")).with_extension("z"), small).expect("it can be written");
    }
    println!("cargo::rustc-env=GROMA_COMMIT={}", commit().unwrap_or_default());
    println!("cargo::rustc-env=GROMA_TARGET={}", std::env::var("TARGET").expect("cargo sets it"));
}

/// The commit of the checkout or of the package. Not in the `dev` profile, which every commit would
/// have built anew.
fn commit() -> Option<String> {
    println!("cargo::rerun-if-env-changed=GROMA_COMMIT");
    if let Some(given) = std::env::var("GROMA_COMMIT").ok().filter(|given| !given.is_empty()) {
        return Some(given);
    }
    // What `cargo package` writes.
    if let Ok(packaged) = fs::read_to_string(".cargo_vcs_info.json") {
        let after = packaged.split_once("\"sha1\": \"")?.1;
        return after.get(..12).map(str::to_owned);
    }
    let is_dev = std::env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    if is_dev || !Path::new("../../.git").exists() {
        return None;
    }
    let git = |words: &[&str]| {
        let out = Command::new("git").args(words).output().ok().filter(|out| out.status.success())?;
        Some(String::from_utf8_lossy(&out.stdout).trim().to_owned())
    };
    // HEAD moves with the branch, its log with each commit.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}
