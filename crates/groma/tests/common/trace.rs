//! A worker under `strace`, without supervisor and preflight: a round takes a tenth of a second.

use super::{Place, ended, is_executable};
use groma_harness::model::{Host, Job, Params, Placement, State, WorkerKind};
use groma_harness::protocol;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What a worker did.
pub(crate) struct Traced {
    /// The system calls of the worker and of everything it forked, as `strace` writes them, each
    /// with the id of its process; those of the worker come first.
    pub(crate) lines: Vec<(String, String)>,
    /// The directory of the test, which the lines name.
    pub(crate) dir: String,
}

impl Traced {
    /// The calls, whichever process made them.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|(_, call)| call.as_str())
    }

    /// Those of the worker itself.
    pub(crate) fn own_calls(&self) -> impl Iterator<Item = &str> {
        let of_worker = self.lines.iter().take_while(|(pid, _)| *pid == self.lines[0].0);
        of_worker.map(|(_, call)| call.as_str())
    }
}

/// Reads the clock by a system call. Where it is asked to, it tells of page faults since the last
/// reading by a call that fails; a few of them come by chance.
const CLOCK: &str = "#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define FEW 8
static int tells = -1;
static __thread long seen;
int clock_gettime(clockid_t clock, struct timespec *now) {
    if (tells < 0) tells = getenv(\"TELL_PAGE_FAULTS\") != NULL;
    if (tells && (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW)) {
        struct rusage usage;
        syscall(SYS_getrusage, 1, &usage);
        if (usage.ru_minflt < seen) seen = 0; /* In a process that was forked. */
        if (usage.ru_minflt - seen >= FEW) syscall(SYS_lseek, -1, 0, SEEK_SET);
        seen = usage.ru_minflt;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}
";

/// Options beside those of the visible clock: it tells of page faults as well ([`FAULTS`]).
pub(crate) const WITH_FAULTS: [&str; 2] = ["-E", "TELL_PAGE_FAULTS=1"];

/// What stands in a trace for [`CLOCK`]'s telling of page faults.
pub(crate) const FAULTS: &str = "page_faults()";

/// The lines of a process without the calls of [`CLOCK`] that are no readings.
fn without_clock(text: &str) -> Vec<String> {
    let tells = |call: &str| call.starts_with("lseek(-1, 0, ");
    let lines: Vec<&str> = text.lines().collect();
    let follows = |at: usize| lines.get(at + 1).is_some_and(|next| is_reading(next) || tells(next));
    let is_kept = |(at, line): &(usize, &&str)| !(line.starts_with("getrusage(") && follows(*at));
    let kept = lines.iter().enumerate().filter(is_kept).map(|(_, line)| *line);
    kept.map(|line| if tells(line) { FAULTS.to_owned() } else { line.to_owned() }).collect()
}

/// The options that put this clock in front of libc's, which reads it without entering the kernel,
/// so that `strace` sees when the watch is read. Nothing where no library can be made.
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

/// Whether this call reads a clock that the watch may use, `CLOCK_MONOTONIC` or
/// `CLOCK_MONOTONIC_RAW`.
pub(crate) fn is_reading(call: &str) -> bool {
    call.starts_with("clock_gettime(CLOCK_MONOTONIC")
}

/// A round of a benchmark, or nothing where it has not run. `on` are the CPUs of the two sides,
/// `limit_ms` is how long the round samples, `options` are more of `strace`.
pub(crate) fn traced(id: &str, params: &Params, on: Option<u32>, limit_ms: u64, options: &[String]) -> Option<Traced> {
    if !is_executable("strace") {
        println!("not here: there is no strace");
        return None;
    }
    let place = Place::new();
    let trace = place.path("trace");
    // 11 intervals of 200 us or more: a traced call takes 50 us at least. Longer rounds have more
    // of them, so that what each interval repeats is made more often. A clock cost far below the
    // real one does no harm here.
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
        intervals: 9 + limit_ms.clamp(2, 16) as u32,
        time_limit_ns: limit_ms * 1_000_000,
        warm_ns: 1_000_000,
        frozen: Vec::new(),
        work_dir: Some(place.tmp()),
        run_file: None,
        remote: None,
        host: Host { clock_step_ns: 1.0, clock_cost_ns: 1.0, timeslice_ns: 4e6, interval_ns: 2e5, ..Host::UNKNOWN },
    };
    let job = protocol::write_job(std::process::id() as i32, &job);
    // -D: the tracer is a detached grandchild, so the worker is a child of this process, as its job
    // says.
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
        // Shown where the calls are then not those expected.
        println!("{id} {params:?}, {limit_ms} ms: {:?}: {}", result.state, result.reason);
    }
    // A file for each process, so that no call is cut in two by that of another.
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
