//! Compresses the reference machines, which are compiled into the program: 482 kB become 72.

use std::fs;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=reference");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    for entry in fs::read_dir("reference").expect("a directory") {
        let entry = entry.expect("an entry");
        let lines = fs::read(entry.path()).expect("a file");
        let small = miniz_oxide::deflate::compress_to_vec_zlib(&lines, 10);
        fs::write(out.join(entry.file_name()).with_extension("z"), small).expect("it can be written");
    }
}
