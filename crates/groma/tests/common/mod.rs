//! Runs the built program in an environment of its own: its own store, its own temporary directory
//! and a minimal set of variables.
#![allow(dead_code, reason = "each test binary uses a part")]

pub(crate) mod chromium;
pub(crate) mod control_group;
pub(crate) mod serve;
pub(crate) mod trace;

use groma_harness::sys::filter;
use groma_harness::sys::process::is_root;
use serde_json::Value;
use std::ffi::c_long;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The user `nobody` on every system.
pub(crate) const OTHER: u32 = 65534;

/// A directory in which everybody may create names and remove their own; `None` for who cannot be
/// two users.
pub(crate) fn shared_place() -> Option<Place> {
    if !is_root() {
        println!("skipped: only root can be two users");
        return None;
    }
    let place = Place::new();
    std::fs::set_permissions(place.path("."), Permissions::from_mode(0o755)).expect("permissions");
    std::fs::set_permissions(place.tmp(), Permissions::from_mode(0o1777)).expect("permissions");
    Some(place)
}

/// A directory for one test, with the store and the temporary files of the programs it runs.
pub(crate) struct Place {
    dir: TempDir,
}

/// The output and exit code of a finished program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Place {
        let place = Place { dir: tempfile::tempdir().expect("a temporary directory") };
        std::fs::create_dir(place.tmp()).expect("a directory");
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The directory in which benchmarks create their files.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.path("tmp")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path("groma.db")
    }

    /// A command for the program with these arguments, not started yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.wrapped(&[], args)
    }

    /// Like [`Place::command`], started through another program such as `taskset -c 0`.
    pub(crate) fn wrapped(&self, wrapper: &[&str], args: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_groma");
        let mut command = match wrapper {
            [] => Command::new(program),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        };
        command
            .args(args)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", self.dir.path())
            .env("TMPDIR", self.tmp())
            .env("GROMA_STORE", self.store())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to completion.
    pub(crate) fn groma(&self, args: &[&str]) -> Ended {
        ended(self.command(args).output().expect("the program starts"))
    }

    /// Runs it and reads its `--json` output.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ended = self.groma(args);
        serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{args:?}: {e}: {ended:?}"))
    }

    /// The runs in the store, in the order in which they began; of two in turns, side by side.
    pub(crate) fn runs(&self) -> Vec<String> {
        let store = rusqlite::Connection::open(self.store()).expect("a store");
        let mut runs = store.prepare("SELECT run FROM runs ORDER BY rowid").expect("a statement");
        runs.query_map([], |row| row.get(0)).expect("runs").map(|run| run.expect("an id")).collect()
    }

    /// Makes the samples in the store undisturbed.
    pub(crate) fn calm(&self) {
        calm(&self.store());
    }

    /// Starts the program without waiting for it.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running { child: self.command(args).spawn().expect("the program starts") }
    }

    /// The files that benchmarks and runs left behind.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.tmp()).expect("the directory").flatten();
        names.map(|e| e.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Asserts that a generated file of the repository holds this text; `.ci/update` writes it instead.
pub(crate) fn up_to_date(path: &str, text: &str) {
    let file = root().join(path);
    if std::env::var_os("GROMA_UPDATE").is_some() {
        std::fs::write(file, text).unwrap_or_else(|e| panic!("{path}: {e}"));
    } else {
        let there = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert!(there == text, "{path} is stale: run .ci/update");
    }
}

/// Does something with each, eight at a time: what waits for much of its time takes less.
pub(crate) fn eight_at_a_time<T: Send>(all: Vec<T>, each: impl Fn(T) + Sync) {
    let left = Mutex::new(all);
    let next = || left.lock().expect("no panic holds it").pop();
    let work = || std::iter::from_fn(next).for_each(&each);
    std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(work))));
}

/// A shell script that runs its arguments between two calls of its function `snapshot`, whose
/// output goes to `before` and `after` in the home directory.
pub(crate) fn before_and_after(snapshot: &str) -> String {
    format!("{snapshot}snapshot > \"$HOME/before\"\n\"$@\"\ncode=$?\nsnapshot > \"$HOME/after\"\nexit $code\n")
}

pub(crate) fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs a command under a filter that fails these system calls with `EPERM`, as a container's
/// profile does; `None` where the kernel has no filters.
pub(crate) fn denied(calls: &'static [c_long], mut command: Command) -> Option<Ended> {
    const EPERM: i32 = 1;
    // A filter belongs to a thread and is inherited by what it starts.
    let filtered = std::thread::spawn(move || match filter::deny(calls, EPERM) {
        Ok(()) => Some(ended(command.output().expect("it starts"))),
        Err(e) => {
            println!("skipped: no filters: {e}");
            None
        }
    });
    filtered.join().expect("the thread ends")
}

/// A running program.
pub(crate) struct Running {
    child: Child,
}

impl Running {
    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits until it has a child process, and returns the child's id.
    pub(crate) fn worker(&self) -> i32 {
        wait_for("a worker", || worker_of(self.pid()))
    }

    pub(crate) fn signal(&self, signal: i32) {
        send(self.pid(), signal);
    }

    pub(crate) fn wait(self) -> Ended {
        ended(self.child.wait_with_output().expect("it ends"))
    }
}

/// Sends a signal through `kill`, which every system has.
pub(crate) fn send(pid: i32, signal: i32) {
    let done = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status().expect("kill");
    assert!(done.success(), "kill -{signal} {pid}");
}

/// The living children of a process.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|p| p.parse().ok()).collect()
}

/// The worker of a process. A child that has not executed the worker yet is none: until then its
/// parent sleeps (vfork), and whoever stopped the one would stop both.
pub(crate) fn worker_of(pid: i32) -> Option<i32> {
    let is_worker = |child: &i32| {
        std::fs::read(format!("/proc/{child}/cmdline"))
            .is_ok_and(|line| line.split(|b| *b == 0).any(|arg| arg == b"__worker"))
    };
    children(pid).into_iter().find(is_worker)
}

pub(crate) fn exists(pid: i32) -> bool {
    // A zombie that its parent has not reaped yet has ended, too.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|s| !s.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

/// Calls `look` until it returns a value. Panics after a minute, so a test that waits in vain
/// fails.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited a minute for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Creates a file that can be executed.
pub(crate) fn write_program(path: &Path, script: &str) {
    std::fs::write(path, script).expect("a file");
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).expect("its mode");
}

/// Makes the samples in a store undisturbed. A busy machine withholds values; what is made of them
/// can be tested there all the same, because records are recomputed from the samples.
pub(crate) fn calm(store: &Path) {
    /// No benchmark has more.
    const SERIES: usize = 16;
    let paths = (0..SERIES).map(|i| format!(", '$.series[{i}].labels', '$.series[{i}].spans.labels'"));
    let calm = format!("UPDATE rounds SET result = json_remove(result{})", paths.collect::<String>());
    rusqlite::Connection::open(store).expect("a store").execute(&calm, []).expect("rounds");
}

/// Whether a record was measured, whatever others did to its samples meanwhile.
pub(crate) fn was_measured(record: &Value) -> bool {
    let is_determined = has_value(record) || record["state"] == "unresolved";
    is_determined && record["value"].as_f64().is_some_and(|value| value > 0.0)
}

/// Whether a record's value can be relied on. One that is `unresolved` may have one in JSON; tables
/// and series leave it out.
pub(crate) fn has_value(record: &Value) -> bool {
    matches!(record["state"].as_str(), Some("ok" | "noisy"))
}

/// The record of a metric in a run's JSON.
pub(crate) fn metric<'v>(run: &'v Value, id: &str) -> &'v Value {
    let metrics = run["metrics"].as_array().expect("metrics");
    metrics.iter().find(|m| m["id"] == id).unwrap_or_else(|| panic!("no {id} in {metrics:#?}"))
}

pub(crate) fn is_executable(program: &str) -> bool {
    std::env::split_paths("/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").any(|d| Path::new(&d).join(program).exists())
}

/// A number of seconds that no other process sleeps for, in this test or elsewhere.
pub(crate) fn unique_sleep() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{}", 100_000 + std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The processes with exactly these arguments that have not ended.
pub(crate) fn with_arguments(args: &[&str]) -> Vec<i32> {
    let wanted: String = args.iter().map(|arg| format!("{arg}\0")).collect();
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = processes.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes()))
        .filter(|pid| exists(*pid))
        .collect()
}
