//! A worker under `strace`, without supervisor and preflight: a round takes a tenth of a second.

use super::{Place, ended, is_executable};
use groma_harness::model::{Host, Job, Params, Placement, State, WorkerKind};
use groma_harness::protocol;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What a worker did.
pub(crate) struct Traced {
    /// The lines of `strace`, each with the id of its process or thread: first those of the worker,
    /// then those of all that it started.
    pub(crate) lines: Vec<(String, String)>,
    /// The directory of the round's files, whose name is in the lines.
    pub(crate) dir: String,
}

impl Traced {
    /// The calls of all processes.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|(_, call)| call.as_str())
    }

    /// The calls of the worker's main thread.
    pub(crate) fn own_calls(&self) -> impl Iterator<Item = &str> {
        let of_worker = self.lines.iter().take_while(|(pid, _)| *pid == self.lines[0].0);
        of_worker.map(|(_, call)| call.as_str())
    }
}

/// Reads the clock by a system call. On request it also reports page faults since the last reading
/// by a call that fails. Fewer than `FEW` may come by chance and are not reported.
const CLOCK: &str = "#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define FEW 8
static int reports = -1;
static __thread long seen;
int clock_gettime(clockid_t clock, struct timespec *now) {
    if (reports < 0) reports = getenv(\"REPORT_PAGE_FAULTS\") != NULL;
    if (reports && (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW)) {
        struct rusage usage;
        syscall(SYS_getrusage, 1, &usage);
        if (usage.ru_minflt < seen) seen = 0; /* In a process that was forked. */
        if (usage.ru_minflt - seen >= FEW) syscall(SYS_lseek, -1, 0, SEEK_SET);
        seen = usage.ru_minflt;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}
";

/// More options for the visible clock: it reports page faults, as a line `page_faults()` before
/// that of the reading.
pub(crate) const WITH_FAULTS: [&str; 2] = ["-E", "REPORT_PAGE_FAULTS=1"];

/// The lines of a process, with [`CLOCK`]'s reports as `page_faults()` and without its `getrusage`.
fn without_clock(text: &str) -> Vec<String> {
    let is_report = |call: &str| call.starts_with("lseek(-1, 0, ");
    let lines: Vec<&str> = text.lines().collect();
    let follows = |at: usize| lines.get(at + 1).is_some_and(|next| is_reading(next) || is_report(next));
    let is_kept = |(at, line): &(usize, &&str)| !(line.starts_with("getrusage(") && follows(*at));
    let kept = lines.iter().enumerate().filter(is_kept).map(|(_, line)| *line);
    kept.map(|line| if is_report(line) { "page_faults()" } else { line }.to_owned()).collect()
}

/// The options that replace libc's clock, which is read without entering the kernel, by [`CLOCK`],
/// so that `strace` sees each reading. `None` where the library cannot be built or loaded.
pub(crate) fn with_a_visible_clock(place: &Place) -> Option<Vec<String>> {
    let (source, library) = (place.path("clock.c"), place.path("clock.so"));
    std::fs::write(&source, CLOCK).expect("a file");
    let mut cc = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    let made = cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).output();
    let made = made.is_ok_and(|out| out.status.success()) && is_executable("strace");
    let options = made.then(|| vec!["-E".to_owned(), format!("LD_PRELOAD={}", library.display())])?;
    // A static program loads no library.
    let tried = traced("clock.read", &Params(Vec::new()), None, 20, &options)?;
    tried.own_calls().any(is_reading).then_some(options)
}

/// Whether this call reads a clock that times intervals, `CLOCK_MONOTONIC` or
/// `CLOCK_MONOTONIC_RAW`.
pub(crate) fn is_reading(call: &str) -> bool {
    call.starts_with("clock_gettime(CLOCK_MONOTONIC")
}

/// A round of a benchmark, or `None` where it cannot run. `on` is the CPU of both sides, if there
/// are two; `limit_ms` is how long the round samples; `options` are added to those of `strace`.
pub(crate) fn traced(id: &str, params: &Params, on: Option<u32>, limit_ms: u64, options: &[String]) -> Option<Traced> {
    if !is_executable("strace") {
        println!("not here: there is no strace");
        return None;
    }
    let place = Place::new();
    let trace = place.path("trace");
    // Intervals of 200 us or more, since a traced call takes at least 50 us. The cost of a clock
    // reading is far below the real one, which does no harm here.
    let job = Job {
        id: id.to_owned(),
        params: params.clone(),
        placement: if on.is_some() { Placement::SameCpu } else { Placement::Pinned },
        cpus: on.map_or(Vec::new(), |cpu| vec![cpu; 2]),
        workers: 1,
        group: false,
        worker_kind: WorkerKind::Processes,
        round: 0,
        seed: 1,
        intervals: 25,
        time_limit_ns: limit_ms * 1_000_000,
        wait_ns: 0,
        warm_ns: 1_000_000,
        frozen: Vec::new(),
        work_dir: Some(place.tmp()),
        run_file: None,
        remote: None,
        host: Host { clock_step_ns: 1.0, clock_cost_ns: 1.0, timeslice_ns: 4e6, interval_ns: 2e5, ..Host::UNKNOWN },
    };
    let job = protocol::write_job(std::process::id() as i32, &job);
    // -D makes the tracer a detached grandchild, so the worker is a child of this process, as its
    // job says.
    let mut worker = Command::new("strace")
        .args(["-D", "-ff", "-s", "16", "-o"])
        .arg(&trace)
        .args(options)
        .args([env!("CARGO_BIN_EXE_groma"), "__worker"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("strace starts");
    worker.stdin.take().expect("piped").write_all(job.as_bytes()).expect("the worker reads its job");
    let own = worker.id().to_string();
    // The tracer keeps standard error open until the trace is written.
    let ended = ended(worker.wait_with_output().expect("it ends"));
    if ended.err.contains("ptrace") {
        println!("not here: {}", ended.err);
        return None;
    }
    let result = protocol::read_result(&ended.out).unwrap_or_else(|why| panic!("{id} {params:?}: {why}: {ended:?}"));
    if matches!(result.state, State::Unsupported | State::Denied) {
        println!("not here: {id} {params:?}: {}", result.reason);
        return None;
    }
    if result.state != State::Ok {
        // Explains a failure of the test, if the calls are then not the expected ones.
        println!("{id} {params:?}, {limit_ms} ms: {:?}: {}", result.state, result.reason);
    }
    // One file for each process, so that no call is interrupted by that of another.
    let dir = place.path("");
    let files = std::fs::read_dir(&dir).expect("the directory").flatten().map(|entry| entry.path());
    let mut lines = Vec::new();
    for (file, pid) in files.filter_map(|file| Some((file.clone(), file.to_str()?.split_once("trace.")?.1.to_owned())))
    {
        let text = std::fs::read_to_string(file).expect("a trace");
        let text = match options.iter().any(|option| option == WITH_FAULTS[1]) {
            true => without_clock(&text),
            false => text.lines().map(str::to_owned).collect(),
        };
        lines.extend(text.into_iter().map(|line| (pid.clone(), line)));
    }
    lines.sort_by_key(|(pid, _)| *pid != own);
    Some(Traced { lines, dir: dir.display().to_string() })
}
