//! The whole suite: by lmbench's driver, as far as a script in its place shows, by `groma lmbench
//! run`, and by the recipes of docs/lmbench.

use crate::common::{Ended, Place, ended, has_value, root, wait_for};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// A program of its own in this place: a script, or what a link leads to.
fn at(place: &Place, program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(place.path("")).env_clear().stdin(Stdio::null());
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").env("HOME", place.path(""));
    command.env("TMPDIR", place.tmp());
    command
}

/// The lines that a file lacks numbers for, or that nobody reads.
fn complaints(imported: &Ended) -> Vec<&str> {
    assert_eq!(imported.code, Some(0), "{imported:?}");
    imported.err.lines().collect()
}

/// The full script takes five minutes: docs/lmbench.md#the-driver.
#[test]
fn the_driver_ends_and_all_of_its_file_is_read() {
    let place = Place::new();
    let bin = place.path("bin");
    std::fs::create_dir(&bin).expect("a directory");
    assert_eq!(place.groma(&["lmbench", "--install", &bin.display().to_string()]).code, Some(0));
    let id = std::process::id();
    let host = format!("127.70.{}.{}", id >> 8 & 0xff, 1 + id % 250);
    let parts = "BENCHMARK_HARDWARE=NO\nBENCHMARK_OS=NO\nBENCHMARK_SYSCALL=YES\nBENCHMARK_PROC=YES\n\
                 BENCHMARK_PIPE=YES\nBENCHMARK_UDP=YES\nBENCHMARK_HTTP=YES\n";
    let own = format!("FSDIR={}\nHOST={host}\nBIND='--bind {host}'\n", place.tmp().display());
    let config = format!("MB=8\nOPTIONS='-N 1'\nENOUGH=200 TIMING_O=0 LOOP_O=0 LINE_SIZE=64 MHZ=1000\n{parts}{own}");
    std::fs::write(place.path("CONFIG"), config).expect("a file");
    let script = root().join("crates/groma/tests/lmbench_driver.sh").display().to_string();
    let ran = ended(at(&place, "sh", &[&script, "bin", "./CONFIG"]).output().expect("it starts"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // A value that a busy machine did not let be told is no failure of the program.
    let failed = |line: &&str| line.contains("exit code") && !line.ends_with("exit code 4");
    let failed: Vec<&str> = ran.out.lines().filter(failed).collect();
    assert!(failed.is_empty(), "{failed:?}: {ran:?}");
    std::fs::write(place.path("box.0"), &ran.err).expect("a file");
    let imported = place.groma(&["import", &place.path("box.0").display().to_string()]);
    assert_eq!(complaints(&imported), [""; 0]);
    let run = place.json(&["show", "--all", "--format", "json"]);
    let metrics = run["metrics"].as_array().expect("metrics").iter().filter(|record| has_value(record));
    let found: BTreeSet<&str> = metrics.filter_map(|record| record["id"].as_str()).collect();
    let expected = ["syscall.read", "proc.exec", "ipc.pipe_rtt", "net.udp_rtt", "lmbench.http", "mem.line"];
    let found = expected.iter().filter(|id| found.contains(**id)).count();
    assert!(found >= expected.len() - 1, "{run}");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
    let server = at(&place, &bin.join("lat_udp").display().to_string(), &["-S", &host]).output().expect("it starts");
    assert_eq!(server.status.code(), Some(1), "a server is left");
}

/// The file is what an export of the stored run is, and import reads every line of it.
#[test]
fn the_suite_is_a_run_and_a_result_file() {
    let place = Place::new();
    let config = "MB=8\nSYNC_MAX=2\nBENCHMARK_SYSCALL=YES\nBENCHMARK_CONNECT=YES\nBENCHMARK_HARDWARE=NO\nMAIL=yes\n";
    std::fs::write(place.path("CONFIG"), config).expect("a file");
    let run = |args: &[&str]| {
        let mut command = place.command(&[&["lmbench", "run"], args].concat());
        ended(command.current_dir(place.path("")).output().expect("it starts"))
    };
    // A busy machine leaves some values open, and their lines out.
    let (ran, name, file) = wait_for("a run with all values", || {
        let ran = run(&["--config", "CONFIG", "--budget", "5s"]);
        let name = ran.out.split(": ").next().filter(|_| ran.code == Some(0))?.to_owned();
        let file = std::fs::read_to_string(place.path(&name)).expect("the file");
        ["[LINE_SIZE: ", "\nSimple read: "].iter().all(|line| file.contains(line)).then_some((ran, name, file))
    });
    assert!(name.starts_with("results/") && name.contains("-linux-gnu/"), "{ran:?}");
    let head = ["[MB: 8]", "[SYNC_MAX: 2]", "[BENCHMARK_HARDWARE: NO]", "[BENCHMARK_OS: NO]", "[LINE_SIZE: "];
    assert!(head.iter().all(|line| file.contains(line)), "{file}");
    assert!(file.contains("\nSimple read: ") && !file.contains("Pipe latency"), "{file}");
    assert_eq!(place.groma(&["export", "--format", "lmbench"]).out, file);
    let path = place.path(&name).display().to_string();
    let imported = place.groma(&["import", &path, "--store", &place.path("other.db").display().to_string()]);
    assert_eq!(complaints(&imported), [""; 0]);
    assert!(ran.out.contains(imported.out.rsplit(": ").next().expect("a number").trim()), "{ran:?} {imported:?}");
    std::fs::write(place.path("BAD"), "MB=8\n\nSYNC_MAX=two\n").expect("a file");
    let bad = run(&["--config", "BAD"]);
    assert_eq!((bad.code, bad.err.lines().count(), bad.out.as_str()), (Some(2), 1, ""), "{bad:?}");
    assert!(bad.err.starts_with("groma: BAD:3: SYNC_MAX: 'two': expected a whole number"), "{bad:?}");
    let none = run(&["--config", "nope"]);
    assert!(none.code == Some(2) && none.err.contains("--config nope: No such file"), "{none:?}");
}

/// What the recipes call and look for is there, and what builds groma elsewhere is whole. Needs
/// Python, make and a shell; packages/check says which tools it lacks.
#[test]
fn the_recipes_fit_the_programs() {
    let place = Place::new();
    for check in ["docs/lmbench/check", "packages/check"] {
        let check = root().join(check).display().to_string();
        let mut command = at(&place, "python3", &[&check, env!("CARGO_BIN_EXE_groma")]);
        let checked = match command.output() {
            Ok(output) => ended(output),
            Err(e) => return println!("skipped: python3: {e}"),
        };
        assert_eq!(checked.code, Some(0), "{checked:?}");
        println!("{}", checked.out);
    }
}
