//! The system calls that an operation consists of, with their arguments, as they were the last
//! time.
//!
//! A flag that is dropped, an argument in another unit, a call that came in or went out: the
//! operation still happens as often as is credited, and its proofs hold. `calls.txt` has the calls
//! that each benchmark makes, with the usual values of its parameters, and for each other value
//! those that come with it. It says what is, not what should be: after a change,
//! `GROMA_UPDATE=1 cargo test -p groma --test program parameters` writes it, and the difference is
//! to be read.
//!
//! A line without a mark is of a call that all rounds repeat. One that begins with "1" is of the
//! set-up ([`SET_UP`]), or of what comes after: all rounds make it, and few times. One with "?" is
//! of a call that some rounds repeat and others do not, as on a busy machine: `GROMA_UPDATE=more`
//! adds what is new as such lines, makes such lines of what is not repeated this time, and drops
//! what is of the set-up of some rounds only. `SKIPPED` has those whose calls are mostly those of
//! other programs.
//!
//! Another `strace` writes calls otherwise, another C library makes other calls, and another kernel
//! has other files to look at: the table is compared where they are those of its first line.

use super::{Calls, Trial, reads};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

/// The table.
const CALLS: &str = include_str!("calls.txt");
/// A call that is made as often in a round is repeated.
const REPEATED: usize = 4;
/// One that the table lacks has to be made as often before it is wrong: how many laps a round has
/// depends on the machine's speed, so that a call of each lap is repeated in some rounds only.
const SURELY_REPEATED: usize = 2 * REPEATED;

/// Calls of the set-up that decide what is measured: kinds and options of objects, policies of
/// memory and scheduling, processes. What is not here, such as files of the kernel that are read
/// and the allocator's mappings, depends on the machine.
const SET_UP: [&str; 33] = [
    "clone(",
    "epoll_create1(",
    "eventfd2(",
    "fadvise64(",
    "fallocate(",
    "fcntl(#, F_SETPIPE_SZ",
    "fdatasync(",
    "fsync(",
    "ftruncate(",
    "io_uring_setup(",
    "listen(",
    "madvise(",
    "mbind(",
    "memfd_create(",
    "mknodat(",
    "mlock",
    "mq_open(",
    "mremap(",
    "msgget(",
    "pipe2(",
    "prctl(",
    "sched_setattr(",
    "sched_setscheduler(",
    "semctl(",
    "semget(",
    "setitimer(",
    "setsockopt(",
    "shutdown(",
    "socket(",
    "socketpair(",
    "timer_create(",
    "timerfd_",
    "vfork(",
];

/// Whether a call is one of [`SET_UP`], or maps memory that others see, or that is there at once.
fn is_set_up(call: &str) -> bool {
    let maps = call.starts_with("mmap(") && ["SHARED", "POPULATE", "HUGETLB"].iter().any(|flag| call.contains(flag));
    maps || SET_UP.iter().any(|of| call.starts_with(of))
}

/// Programs that are started make hundreds of calls, which are not the benchmark's.
const SKIPPED: [&str; 3] = ["proc.spawn", "proc.shell", "proc.exec target"];

/// Which rounds make a call, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// All repeat it.
    Repeatedly,
    /// All make it, and few times.
    SetUp,
    /// Some repeat it.
    Sometimes,
}

impl Made {
    const ALL: [Made; 3] = [Made::Repeatedly, Made::SetUp, Made::Sometimes];

    /// What its line begins with.
    fn mark(self) -> &'static str {
        match self {
            Made::Repeatedly => "",
            Made::SetUp => "1 ",
            Made::Sometimes => "? ",
        }
    }
}

/// The calls of each benchmark, or of one with another value of a parameter.
type Lines = BTreeMap<String, BTreeMap<String, Made>>;

/// The table, and what differs from it.
pub(super) struct Table {
    /// What it is from.
    from: String,
    lines: Lines,
    /// What is written instead, where it is.
    new: Option<Mutex<Lines>>,
    wrong: Mutex<Vec<String>>,
    /// What the harness repeats: the calls around a loop that makes none.
    of_harness: BTreeSet<String>,
}

/// The benchmark whose loop makes no calls.
const EMPTY: &str = "clock.loop";

/// What writes the calls, and what makes them.
fn from() -> String {
    let first = |command: &str, args: &[&str]| {
        let out = Command::new(command).args(args).output().map(|out| out.stdout).unwrap_or_default();
        String::from_utf8_lossy(&out).lines().next().unwrap_or_default().to_owned()
    };
    let (strace, library) = (first("strace", &["-V"]), first("getconf", &["GNU_LIBC_VERSION"]));
    let release = first("uname", &["-r"]);
    let kernel: Vec<&str> = release.split('.').take(2).collect();
    format!("{strace}, {library}, Linux {}, {}", kernel.join("."), std::env::consts::ARCH)
}

/// Whether a call sets up the stack on which Rust's runtime handles signals in each thread, or ends
/// it: a page that guards it and, on CPUs with large vector registers, more than libc's 8 KiB. So
/// its size is of the CPU, not of the benchmark.
fn is_of_signal_stack(call: &str) -> bool {
    const SIGSTKSZ: u64 = 8192;
    let stack = groma_sys::signals::largest_frame().unwrap_or(0).max(SIGSTKSZ);
    let with_guard = stack + groma_sys::pages::page_size() as u64;
    call.starts_with("sigaltstack(")
        || call.starts_with("munmap(") && call.trim_end().ends_with(&format!(", {with_guard})"))
        || call.starts_with(&format!("mmap(NULL, {with_guard}, "))
}

/// The calls without what is of the runtime or comes by chance: descriptors and other small
/// numbers, lists of numbers, bytes that are not text, what was answered in a structure, odd sizes
/// of reads.
fn plainer(calls: &Calls) -> Calls {
    let mut merged = Calls::new();
    // What was read is left out already, but for what stands between two escaped quotes.
    let is_whole = |call: &str| !reads(call) || !call.contains('\\');
    let counts = |call: &str| is_whole(call) && !is_of_signal_stack(call);
    for (call, times) in calls.iter().filter(|(call, _)| counts(call)) {
        *merged.entry(without_chance(call)).or_default() += times;
    }
    merged
}

/// Descriptors, and counts that cannot be told from them, are up to this.
const SMALL: u64 = 300;

/// Where a text in quotes ends.
fn end_of_text(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(rest.len(), |(at, _)| at + 1)
}

/// Whether this is a list of numbers only.
fn is_numbers(rest: &str) -> bool {
    rest.split(']').next().is_some_and(|list| !list.contains(|c: char| c.is_ascii_alphabetic() || c == '"'))
}

/// A call of [`plainer`].
fn without_chance(call: &str) -> String {
    let of_read = reads(call);
    let odd = |n: u64| (3..=SMALL).contains(&n) || of_read && n > SMALL && !n.is_power_of_two();
    let call = call.split_once("{st").map_or(call, |(before, _)| before);
    let mut out = String::new();
    let mut rest = call.trim_end();
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => end_of_text(rest),
            '[' if is_numbers(rest) => rest.find(']').map_or(rest.len(), |end| end + 1),
            c if c.is_ascii_alphanumeric() || c == '_' => {
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        match c {
            '"' if token.contains('\\') || token.len() <= 4 => out.push_str("BYTES"),
            '"' if token.matches(|c: char| c.is_ascii_digit()).count() > 5 => out.push_str("NUMBERED"),
            '[' if token.len() > 1 => out.push_str("[#]"),
            _ if token.parse().is_ok_and(odd) => out.push('#'),
            c if !c.is_ascii_alphanumeric() => out.push_str(token),
            _ if token.len() == 16 && token.chars().all(|c| c.is_ascii_hexdigit()) => out.push('#'),
            _ => out.push_str(token),
        }
    }
    out
}

/// The calls that all of these rounds make at least so often.
fn repeated(traces: &[Calls], least: usize) -> BTreeSet<String> {
    let in_all = |call: &&String| traces.iter().all(|of| of.get(*call).is_some_and(|times| *times >= least));
    traces.iter().take(1).flat_map(Calls::keys).filter(in_all).cloned().collect()
}

/// A benchmark, with a value that is not the usual one.
fn name(trial: &Trial) -> String {
    match trial.other {
        Some((param, value)) => format!("{} {param}={value}", trial.bench.info.id),
        None => trial.bench.info.id.to_owned(),
    }
}

/// The calls that all rounds make.
fn always(lines: &BTreeMap<String, Made>) -> impl Iterator<Item = &String> {
    lines.iter().filter(|(_, made)| **made != Made::Sometimes).map(|(call, _)| call)
}

/// What stays of a line where these rounds repeat `repeated`, and make `made`.
fn still(line: Made, call: &str, repeated: &BTreeSet<String>, made: &BTreeSet<String>) -> Option<Made> {
    match line {
        Made::Repeatedly if repeated.contains(call) => Some(Made::Repeatedly),
        Made::Repeatedly | Made::Sometimes => Some(Made::Sometimes),
        Made::SetUp => made.contains(call).then_some(Made::SetUp),
    }
}

/// The lines of the table.
fn read(text: &str) -> Lines {
    let mut lines = Lines::new();
    for line in text.lines() {
        let marked = |made: &Made| *made != Made::Repeatedly && line.starts_with(made.mark());
        let made = Made::ALL.into_iter().find(marked).unwrap_or(Made::Repeatedly);
        let Some((of, call)) = line[made.mark().len()..].split_once(" | ") else { panic!("calls.txt: {line}") };
        lines.entry(of.to_owned()).or_default().insert(call.to_owned(), made);
    }
    lines
}

impl Table {
    /// The table; empty where it is of another machine.
    pub(super) fn of_this_machine(usual: &BTreeMap<&str, Option<Vec<Calls>>>) -> Table {
        let of_harness = usual.get(EMPTY).and_then(Option::as_ref).into_iter().flatten().flat_map(plainer);
        let of_harness = of_harness.map(|(call, _)| call).collect();
        let (first, rest) = CALLS.split_once('\n').unwrap_or_default();
        let from = format!("# {}", from());
        let update = std::env::var("GROMA_UPDATE").ok();
        let comparable = first == from;
        if !comparable && update.is_none() {
            println!("calls.txt is not compared: it is of {first}, this is {from}");
        }
        let kept = comparable && update.as_deref().is_none_or(|how| how == "more");
        Table {
            from,
            lines: if kept { read(rest) } else { Lines::new() },
            new: update.map(|_| Mutex::default()),
            wrong: Mutex::default(),
            of_harness,
        }
    }

    fn complain(&self, of: &str, what: &str, call: &str) {
        self.wrong.lock().expect("no panic holds it").push(format!("{of}: {what}: {call}"));
    }

    /// Takes what these rounds made, but for `known`, into the table that is written.
    fn note(&self, new: &Mutex<Lines>, of: &str, traces: &[Calls], known: &BTreeSet<String>) {
        let made_by_all = |least| &repeated(traces, least) - known;
        let (repeated, made) = (made_by_all(REPEATED), made_by_all(1));
        let calls = if let Some(lines) = self.lines.get(of) {
            let stays = |(call, line): (&String, &Made)| Some((call.clone(), still(*line, call, &repeated, &made)?));
            let old = lines.iter().filter_map(stays);
            let new = repeated.iter().filter(|call| !lines.contains_key(*call));
            old.chain(new.map(|call| (call.clone(), Made::Sometimes))).collect()
        } else {
            let once = made.iter().filter(|call| is_set_up(call)).map(|call| (call, Made::SetUp));
            let calls: BTreeMap<_, _> = once.chain(repeated.iter().map(|call| (call, Made::Repeatedly))).collect();
            calls.into_iter().map(|(call, made)| (call.clone(), made)).collect()
        };
        new.lock().expect("no panic holds it").insert(of.to_owned(), calls);
    }

    /// Compares rounds with the usual values.
    pub(super) fn of_usual(&self, id: &str, traces: &[Calls]) {
        if SKIPPED.contains(&id) {
            return;
        }
        let traces: Vec<Calls> = traces.iter().map(plainer).collect();
        if let Some(new) = &self.new {
            return self.note(new, id, &traces, &self.of_harness);
        }
        let Some(lines) = self.lines.get(id) else { return };
        let nowhere = |call: &&String| !traces.iter().any(|of| of.contains_key(*call));
        for call in always(lines).filter(nowhere) {
            self.complain(id, "no longer made", call);
        }
        // Who waits for whom, and how long a file of the kernel is, differs.
        let by_chance = |call: &str| call.starts_with("futex(") || reads(call);
        let repeated = &repeated(&traces, SURELY_REPEATED) - &self.of_harness;
        for call in repeated.iter().filter(|call| !lines.contains_key(*call) && !by_chance(call)) {
            self.complain(id, "not in calls.txt", call);
        }
    }

    /// Compares a round with another value. Here only what is lost is wrong: one round shows what
    /// comes by chance as well.
    pub(super) fn of_value(&self, trial: &Trial, usual: &[Calls], first: &Calls) {
        let of = name(trial);
        if SKIPPED.iter().any(|skipped| of.starts_with(skipped)) {
            return;
        }
        if let Some(new) = &self.new {
            let Some(second) = trial.trace() else { return };
            let of_usual: BTreeSet<String> = usual.iter().flat_map(|of| plainer(of).into_keys()).collect();
            let known = &of_usual | &self.of_harness;
            return self.note(new, &of, &[plainer(first), plainer(&second)], &known);
        }
        let Some(lines) = self.lines.get(&of) else { return };
        let mut lost: Vec<&String> = always(lines).collect();
        let mut calls = plainer(first);
        // A busy machine leaves no time for some of them.
        for _ in 0..2 {
            lost.retain(|call| !calls.contains_key(*call));
            if lost.is_empty() {
                return;
            }
            let Some(again) = trial.trace() else { return };
            calls = plainer(&again);
        }
        lost.retain(|call| !calls.contains_key(*call));
        lost.into_iter().for_each(|call| self.complain(&of, "no longer made", call));
    }

    /// Fails where anything differs; writes the table where it is told to.
    pub(super) fn check(self) {
        if let Some(new) = self.new {
            let new = new.into_inner().expect("no panic holds it");
            let line = |of: &str, (call, made): (&String, &Made)| format!("{}{of} | {call}\n", made.mark());
            let lines = new.iter().flat_map(|(of, calls)| calls.iter().map(move |call| line(of, call)));
            let text = format!("{}\n", self.from) + &lines.collect::<String>();
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parameters/calls.txt");
            std::fs::write(path, text).expect("writing calls.txt");
            return;
        }
        let wrong = self.wrong.into_inner().expect("no panic holds it");
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
