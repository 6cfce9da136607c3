//! Compiles the program that the process benchmarks execute (`carried/target.rs`) three times, with the compiler and the
//! linker that build everything else: `bare` without libc, `static` and `dynamic` with it.
//!
//! A target that cannot be made here (no static libc installed, no start-up code for this CPU) does not stop the build:
//! its file stays empty, and the benchmark says the reason that is noted here.

use std::path::Path;
use std::process::Command;

const SOURCE: &str = "carried/target.rs";

/// Free of everything that makes a file larger or start slower: no start-up files, no build id, one page.
const BARE: &str = "-nostartfiles -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-z,norelro -Wl,-z,noseparate-code \
                    -Wl,--no-eh-frame-hdr -Wl,-n";
/// `-Bstatic` because rustc has switched to `-Bdynamic` before these.
const STATIC: &str = "-static -Wl,-Bstatic -Wl,--start-group -lc -lgcc -lgcc_eh -Wl,--end-group";
const DYNAMIC: &str = "-lc";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={SOURCE}");
    println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
    let architecture = variable("CARGO_CFG_TARGET_ARCH");
    let linux = variable("CARGO_CFG_TARGET_OS") == "linux";
    let fixed: &[&str] = &["-Ctarget-feature=+crt-static", "-Crelocation-model=static"];
    let bare: &[&str] = &["--cfg=bare", "-Ctarget-feature=+crt-static", "-Crelocation-model=static"];
    for (name, codegen, link) in
        [("bare", bare, BARE), ("static", fixed, STATIC), ("dynamic", &["-Ctarget-feature=-crt-static"], DYNAMIC)]
    {
        let file = Path::new(&variable("OUT_DIR")).join(format!("target-{name}"));
        let made = if !linux {
            Err("it is written for Linux".to_owned())
        } else if name == "bare" && !["x86_64", "aarch64", "riscv64"].contains(&architecture.as_str()) {
            Err(format!("its start-up code is not written for {architecture}"))
        } else {
            compile(codegen, link, &file)
        };
        if made.is_err() {
            std::fs::write(&file, []).expect("cargo's own folder for this is writable");
        }
        // Empty when there is nothing to complain about.
        println!("cargo:rustc-env=GROMA_NO_TARGET_{}={}", name.to_uppercase(), made.err().unwrap_or_default());
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

/// The reason why not, in one short line.
fn compile(codegen: &[&str], link: &str, file: &Path) -> Result<(), String> {
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition=2024", "--crate-type=bin", "--crate-name=target", "--target", &variable("TARGET")]);
    rustc.args(["-Cpanic=abort", "-Copt-level=s", "-Cdebuginfo=0", "-Cstrip=symbols", "--check-cfg=cfg(bare)"]);
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.args(codegen).arg(format!("-Clink-args={link}")).arg(SOURCE).arg("-o").arg(file);
    let output = rustc.output().map_err(|e| format!("the compiler cannot be started: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    // A linker's own words before the compiler's, which repeats the whole command.
    let told = text.lines().find(|l| l.contains("cannot find") || l.contains("unable to find"));
    let told = told.or_else(|| text.lines().find(|l| l.starts_with("error"))).unwrap_or("no message");
    Err(told.trim_start_matches([' ', '=']).trim_start_matches("note: ").trim().chars().take(160).collect())
}
