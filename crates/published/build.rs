//! Compresses the files of `data/` into one file, which the program carries: 23 instead of 375 kB.
//! Each is there as its name (`lmbench1996/systems`) and its text, both terminated by a zero byte.
#![expect(clippy::disallowed_methods, reason = "it is the crate that opens no files, not its build")]

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=data");
    let mut all = Vec::new();
    for folder in entries(Path::new("data")).iter().filter(|path| path.is_dir()) {
        for file in entries(folder).iter().filter(|path| path.extension().is_some_and(|e| e == "csv")) {
            let name = |path: &Path| path.file_stem().expect("a name").to_str().expect("ASCII").to_owned();
            let text = fs::read_to_string(file).expect("a text");
            all.extend_from_slice(format!("{}/{}\0{text}\0", name(folder), name(file)).as_bytes());
        }
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("data.z"), miniz_oxide::deflate::compress_to_vec_zlib(&all, 10)).expect("it can be written");
}

/// The entries of a directory, sorted for a reproducible build.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(dir).expect("a directory").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    paths
}
