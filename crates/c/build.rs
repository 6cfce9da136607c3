//! Gives the shared library its name: programs load it by the major version of its interface.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=include/groma.h");
    let header = std::fs::read_to_string("include/groma.h").expect("the header is beside this file");
    let version = header.lines().find_map(|line| line.strip_prefix("#define GROMA_ABI "));
    let version = version.expect("the header defines GROMA_ABI").trim();
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgroma.so.{version}");
}
