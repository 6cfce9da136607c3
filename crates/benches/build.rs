//! Lists the benchmarks, and compiles the programs that some of them execute.
//!
//! The lists come from the `mod` lines: of families in `lib.rs`, of benchmarks in each family's
//! `mod.rs`.
//!
//! The program that the process benchmarks execute (`carried/target.rs`) is compiled four times,
//! with the compiler and the linker that build everything else: `bare` without libc, `static` and
//! `dynamic` with it, `many` with twenty more libraries, all of which are one file
//! (`carried/library.rs`) under twenty names. `carried/compiler.rs` is the compiler that
//! `mix.andrew` runs. A target that cannot be built here (no static libc, no start-up code for this
//! CPU) does not stop the build: its file stays empty, and the benchmark reports why.

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "carried/target.rs";
const LIBRARY: &str = "carried/library.rs";
const COMPILER: &str = "carried/compiler.rs";

/// Free of everything that makes a file larger or start slower: no start-up files, no build id, one
/// page.
const BARE: &str = "-nostartfiles -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-z,norelro -Wl,-z,noseparate-code \
                    -Wl,--no-eh-frame-hdr -Wl,-n";
/// `-Bstatic` because rustc has switched to `-Bdynamic` before these.
const STATIC: &str = "-static -Wl,-Bstatic -Wl,--start-group -lc -lgcc -lgcc_eh -Wl,--end-group";
const DYNAMIC: &str = "-lc";
/// Without a name of its own inside, so that it is known by that of its file.
const SHARED: &str = "-nostartfiles -nostdlib -Wl,--build-id=none -Wl,-z,noseparate-code -Wl,--no-eh-frame-hdr \
                      -Wl,--allow-shlib-undefined -Wl,-z,undefs";

/// How many libraries `many` has; `carried/target.rs` and `proc/mod.rs` have it as well.
const LIBRARIES: usize = 20;

const WRITABLE: &str = "cargo's own folder for this is writable";

fn main() {
    list_benchmarks();
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={SOURCE}");
    println!("cargo:rerun-if-changed={LIBRARY}");
    println!("cargo:rerun-if-changed={COMPILER}");
    println!("cargo:rerun-if-changed=carried/tokens.rs");
    println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
    let fixed: &[&str] = &["-Ctarget-feature=+crt-static", "-Crelocation-model=static"];
    let bare: &[&str] = &["--cfg=bare", "-Ctarget-feature=+crt-static", "-Crelocation-model=static"];
    let dynamic = "-Ctarget-feature=-crt-static";
    make("bare", || {
        let architecture = variable("CARGO_CFG_TARGET_ARCH");
        if !["x86_64", "aarch64", "riscv64"].contains(&architecture.as_str()) {
            return Err(format!("its start-up code is not written for {architecture}"));
        }
        compile(SOURCE, "bin", bare, BARE, &out("target-bare"))
    });
    make("static", || compile(SOURCE, "bin", fixed, STATIC, &out("target-static")));
    make("dynamic", || compile(SOURCE, "bin", &[dynamic], DYNAMIC, &out("target-dynamic")));
    make("compiler", || compile(COMPILER, "bin", &[dynamic], DYNAMIC, &out("target-compiler")));
    make("library", || compile(LIBRARY, "cdylib", &[dynamic], SHARED, &out("target-library")));
    make("many", || {
        let folder = out("libraries");
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let mut link = "-Wl,--no-as-needed -Wl,-rpath,$ORIGIN".to_owned();
        for i in 0..LIBRARIES {
            let name = format!("libgroma-{i:02}.so");
            std::fs::copy(out("target-library"), folder.join(&name)).map_err(|e| e.to_string())?;
            link += &format!(" -l:{name}");
        }
        // A path may have spaces in it, which would end an argument of the linker's.
        let search = format!("-L{}", folder.display());
        let export = "-Clink-args=-Wl,--export-dynamic-symbol=groma_library_loaded";
        let codegen = [dynamic, "--cfg=many", export, &search];
        compile(SOURCE, "bin", &codegen, &format!("{link} {DYNAMIC}"), &out("target-many"))
    });
}

/// Writes the list of each family, and that of the families.
fn list_benchmarks() {
    let mut families = String::new();
    for family in modules(Path::new("src/lib.rs")) {
        let folder = Path::new("src").join(&family);
        let Some(members) = folder.is_dir().then(|| modules(&folder.join("mod.rs"))) else { continue };
        let mut benchmarks = String::new();
        for member in members {
            let file = folder.join(member.trim_start_matches("r#")).with_extension("rs");
            if std::fs::read_to_string(&file).is_ok_and(|text| text.contains("static BENCH: Benchmark")) {
                benchmarks += &format!("&{member}::BENCH, ");
            } else {
                // It may become a benchmark.
                println!("cargo:rerun-if-changed={}", file.display());
            }
        }
        std::fs::write(out(&format!("{family}.rs")), format!("&[{benchmarks}]")).expect(WRITABLE);
        families += &format!("(&{family}::ABOUT, {family}::ALL), ");
    }
    std::fs::write(out("catalogue.rs"), format!("&[{families}]")).expect(WRITABLE);
}

/// The names in the `mod` lines of a file, in their order.
fn modules(file: &Path) -> Vec<String> {
    println!("cargo:rerun-if-changed={}", file.display());
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let name = |line: &str| Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned());
    text.lines().filter_map(name).collect()
}

/// Makes a target, or leaves its file empty and notes why.
fn make(name: &str, how: impl FnOnce() -> Result<(), String>) {
    let linux = variable("CARGO_CFG_TARGET_OS") == "linux";
    let made = if linux { how() } else { Err("it is written for Linux".to_owned()) };
    if made.is_err() {
        std::fs::write(out(&format!("target-{name}")), []).expect(WRITABLE);
    }
    // Empty when there is nothing to complain about.
    println!("cargo:rustc-env=GROMA_NO_TARGET_{}={}", name.to_uppercase(), made.err().unwrap_or_default());
}

fn out(name: &str) -> PathBuf {
    Path::new(&variable("OUT_DIR")).join(name)
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

/// The reason why not, in one short line.
fn compile(source: &str, kind: &str, codegen: &[&str], link: &str, file: &Path) -> Result<(), String> {
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition=2024", "--crate-type", kind, "--crate-name=target", "--target", &variable("TARGET")]);
    rustc.args(["-Cpanic=abort", "-Copt-level=s", "-Cdebuginfo=0", "-Cstrip=symbols"]);
    rustc.args(["--check-cfg=cfg(bare)", "--check-cfg=cfg(many)"]);
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.args(codegen).arg(format!("-Clink-args={link}")).arg(source).arg("-o").arg(file);
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
