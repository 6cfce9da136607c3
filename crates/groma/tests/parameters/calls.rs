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
//! A line without a mark is of a call that all rounds repeat, or of two that follow each other
//! ("then"). One that begins with a number is of the set-up ([`is_set_up`]), or of what comes
//! after: each round makes it so many times; "+" says that all rounds make it, and few times. One
//! with "?" is of a call that some rounds repeat and others do not, as on a busy machine:
//! `GROMA_UPDATE=more` adds what is new as such lines, makes such lines of what is not repeated
//! this time, and drops what is of the set-up of some rounds only. `SKIPPED` has those whose calls
//! are mostly those of other programs.
//!
//! Another `strace` writes calls otherwise, another C library makes other calls, another kernel has
//! other files to look at, and some calls are made for each CPU: the table is compared where they
//! are those of its first line.

use super::order::THEN;
use super::{Calls, LIMITS_MS, Traced, Trial, reads};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Mutex;

/// Where the table is.
const CALLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/parameters/calls.txt");
/// A call that is made as often in a round is repeated.
const REPEATED: usize = 4;
/// One that the table lacks has to be made as often before it is wrong: how many laps a round has
/// depends on the machine's speed, so that a call of each lap is repeated in some rounds only.
const SURELY_REPEATED: usize = 2 * REPEATED;

/// Calls of the set-up that say little of what is measured, or depend on the machine: files of the
/// kernel that are read, the allocator's and the loader's mappings, who waits for whom.
const NOT_SET_UP: [&str; 35] = [
    "access(",
    "clock_",
    "close(",
    "dup(",
    "exit",
    "fcntl(#, F_GET",
    "fcntl(#, F_SETFD",
    "fstat(",
    "futex(",
    "getcpu(",
    "ioctl(#, FS_IOC",
    "getpid(",
    "getppid(",
    "gettid(",
    "kill(",
    "lseek(",
    "mprotect(",
    "munmap(",
    "nanosleep(",
    "newfstatat(",
    "poll(",
    "ppoll(",
    "pread64(",
    "prlimit64(",
    "pselect6(",
    "read",
    "recv",
    "rt_sigreturn(",
    "sched_yield(",
    "send",
    "set_robust_list(",
    "statx(",
    "tgkill(",
    "wait",
    "write(",
];

/// The least mapping that is the benchmark's: the allocator maps what is larger than 128 KiB, and
/// what it makes of smaller things depends on the machine.
const LEAST_MAPPING: usize = 64 << 10;

/// Whether a call is made to set something up that decides what is measured: kinds and options of
/// objects, policies of memory and scheduling, processes, files of the benchmark's own.
fn is_set_up(call: &str) -> bool {
    if let Some(arguments) = call.strip_prefix("mmap(") {
        let is_shared = ["SHARED", "POPULATE", "HUGETLB"].iter().any(|flag| arguments.contains(flag));
        let is_of_library = ["NORESERVE", "STACK", "DENYWRITE"].iter().any(|flag| arguments.contains(flag));
        let length = arguments.split(", ").nth(1).and_then(|length| length.parse().ok());
        return is_shared || !is_of_library && length.is_some_and(|length: usize| length >= LEAST_MAPPING);
    }
    if call.starts_with("openat(") {
        return ["\"DIR/", "\"/dev/", "O_CREAT", "O_TMPFILE", "O_DIRECT|"].iter().any(|of| call.contains(of));
    }
    // A thread's own, as libc starts it, and a shell's, which asks whether it is in the background,
    // or behind nohup.
    if call.starts_with("rt_sig") && ["RT_1", "~[", "SIGINT", "SIGQUIT", "SIGHUP"].iter().any(|of| call.contains(of)) {
        return false;
    }
    call.contains('(') && !NOT_SET_UP.iter().any(|of| call.starts_with(of))
}

/// Programs that are started make hundreds of calls, which are not the benchmark's.
const SKIPPED: [&str; 3] = ["proc.spawn", "proc.shell", "proc.exec target"];

/// Which rounds make a call, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// All repeat it.
    Repeatedly,
    /// All make it so many times.
    Times(usize),
    /// All make it, and few times.
    Few,
    /// Some repeat it.
    Sometimes,
}

impl Made {
    /// What its line begins with.
    fn mark(self) -> String {
        match self {
            Made::Repeatedly => String::new(),
            Made::Times(times) => format!("{times} "),
            Made::Few => "+ ".to_owned(),
            Made::Sometimes => "? ".to_owned(),
        }
    }

    /// What a line says, and the rest of it.
    fn read(line: &str) -> (Made, &str) {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        match mark {
            "+" => (Made::Few, rest),
            "?" => (Made::Sometimes, rest),
            _ => mark.parse().map_or((Made::Repeatedly, line), |times| (Made::Times(times), rest)),
        }
    }

    /// Whether a round that made a call so many times, and once at least, is as this says.
    fn holds(self, times: usize) -> bool {
        match self {
            Made::Times(of_table) => times == of_table,
            // The set-up may make it once as well.
            Made::Repeatedly => times > 1,
            _ => times > 0,
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
fn from(clock: bool) -> String {
    let first = |command: &str, args: &[&str]| {
        let out = Command::new(command).args(args).output().map(|out| out.stdout).unwrap_or_default();
        String::from_utf8_lossy(&out).lines().next().unwrap_or_default().to_owned()
    };
    let (strace, library) = (first("strace", &["-V"]), first("getconf", &["GNU_LIBC_VERSION"]));
    let release = first("uname", &["-r"]);
    let kernel: Vec<&str> = release.split('.').take(2).collect();
    // Some benchmarks have a task or a page for each.
    let cpus = groma_sys::affinity::allowed().map_or(0, |cpus| cpus.len());
    let clock = if clock { "" } else { ", the clock is not seen" };
    format!("{strace}, {library}, Linux {}, {}, {cpus} CPUs{clock}", kernel.join("."), std::env::consts::ARCH)
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
        || call.starts_with(&format!("mmap(NULL, {with_guard}, PROT_READ|PROT_WRITE, MAP_PRIVATE"))
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

/// A text with one sign for each number in it.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push(c),
        }
    }
    out
}

/// A call of [`plainer`].
fn without_chance(call: &str) -> String {
    let of_read = reads(call);
    // Here a list is of values, not of descriptors.
    let sets = ["setsockopt(", "sched_set"].iter().any(|of| call.starts_with(of));
    let odd = |n: u64| (3..=SMALL).contains(&n) || of_read && n > SMALL && !n.is_power_of_two();
    let call = call.split_once("{st").map_or(call, |(before, _)| before);
    // A loop that goes through a file has a call for each place.
    let at_a_place = call.starts_with("pread64(") || call.starts_with("pwrite64(");
    let call = if at_a_place { call.rsplit_once(", ").map_or(call, |(before, _)| before) } else { call };
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
            '"' => out.push_str(&without_numbers(token)),
            '[' if token.len() > 1 && !sets => out.push_str("[#]"),
            _ if token.parse().is_ok_and(odd) => out.push('#'),
            c if !c.is_ascii_alphanumeric() => out.push_str(token),
            _ if token.len() == 16 && token.chars().all(|c| c.is_ascii_hexdigit()) => out.push('#'),
            _ => out.push_str(token),
        }
    }
    out
}

/// The lines of a round: its calls and their order.
fn lines_of(traced: &Traced) -> Calls {
    let mut lines = plainer(&traced.calls);
    lines.extend(traced.order.iter().map(|(pair, times)| (pair.clone(), *times)));
    lines
}

/// The calls that all of these rounds make at least so often.
fn repeated(traces: &[Calls], least: usize) -> BTreeSet<String> {
    let in_all = |call: &&String| traces.iter().all(|of| of.get(*call).is_some_and(|times| *times >= least));
    traces.iter().take(1).flat_map(Calls::keys).filter(in_all).cloned().collect()
}

/// How often these rounds make a call that all of them make.
fn made(traces: &[Calls], call: &str) -> Made {
    let times: BTreeSet<usize> = traces.iter().filter_map(|of| of.get(call).copied()).collect();
    match (times.first(), times.last()) {
        (Some(least), Some(most)) if least == most && is_set_up(call) => Made::Times(*least),
        (Some(least), _) if *least >= REPEATED => Made::Repeatedly,
        _ => Made::Few,
    }
}

/// A benchmark, with a value that is not the usual one.
fn name(trial: &Trial) -> String {
    match trial.other {
        Some((param, value)) => format!("{} {param}={value}", trial.bench.info.id),
        None => trial.bench.info.id.to_owned(),
    }
}

/// The calls that all rounds make.
fn always(lines: &BTreeMap<String, Made>) -> impl Iterator<Item = (&String, Made)> {
    lines.iter().filter(|(_, made)| **made != Made::Sometimes).map(|(call, made)| (call, *made))
}

/// Those of the lines that do not hold in a round.
fn missing<'l>(mut lines: Vec<(&'l String, Made)>, calls: &Calls) -> Vec<(&'l String, Made)> {
    lines.retain(|(call, made)| calls.get(*call).is_none_or(|times| !made.holds(*times)));
    lines
}

/// What becomes of a line after these rounds.
fn still(line: Made, call: &str, traces: &[Calls]) -> Option<Made> {
    let now = traces.iter().all(|of| of.contains_key(call)).then(|| made(traces, call));
    match line {
        _ if now == Some(line) => now,
        Made::Sometimes => Some(Made::Sometimes),
        // Two calls that follow each other a few times do so by chance.
        _ if now.is_some() && !call.contains(THEN) => Some(Made::Few),
        Made::Repeatedly => Some(Made::Sometimes),
        Made::Times(_) | Made::Few => None,
    }
}

/// The lines of the table.
fn read(text: &str) -> Lines {
    let mut lines = Lines::new();
    for line in text.lines() {
        let (made, rest) = Made::read(line);
        let Some((of, call)) = rest.split_once(" | ") else { panic!("calls.txt: {line}") };
        lines.entry(of.to_owned()).or_default().insert(call.to_owned(), made);
    }
    lines
}

impl Table {
    /// The table; empty where it is of another machine.
    pub(super) fn of_this_machine(usual: &BTreeMap<&str, Option<Vec<Traced>>>, clock: bool) -> Table {
        let of_harness = usual.get(EMPTY).and_then(Option::as_ref).into_iter().flatten().flat_map(lines_of);
        // Of the order only what is repeated: once, any call may follow any other.
        let counts = |(call, times): &(String, usize)| *times >= REPEATED || !call.contains(THEN);
        let of_harness = of_harness.filter(counts).map(|(call, _)| call).collect();
        let table = std::fs::read_to_string(CALLS).expect("calls.txt");
        let (first, rest) = table.split_once('\n').unwrap_or_default();
        let from = format!("# {}", from(clock));
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

    /// Takes what these rounds made, but for what is `known`, into the table that is written.
    fn note(&self, new: &Mutex<Lines>, of: &str, traces: &[Calls], known: impl Fn(&str, Made) -> bool) {
        let is_new = |(call, made): &(String, Made)| !self.of_harness.contains(call) && !known(call, *made);
        let made = repeated(traces, 1).into_iter().map(|call| (call.clone(), made(traces, &call))).filter(is_new);
        let calls = if let Some(lines) = self.lines.get(of) {
            let stays = |(call, line): (&String, &Made)| Some((call.clone(), still(*line, call, traces)?));
            let old = lines.iter().filter_map(stays);
            let new = made.filter(|(call, made)| *made == Made::Repeatedly && !lines.contains_key(call));
            old.chain(new.map(|(call, _)| (call, Made::Sometimes))).collect()
        } else {
            made.filter(|(call, made)| *made == Made::Repeatedly || is_set_up(call)).collect()
        };
        new.lock().expect("no panic holds it").insert(of.to_owned(), calls);
    }

    /// Compares rounds with the usual values.
    pub(super) fn of_usual(&self, trial: &Trial, traces: &[Traced]) {
        let id = trial.bench.info.id;
        if SKIPPED.contains(&id) {
            return;
        }
        let traces: Vec<Calls> = traces.iter().map(lines_of).collect();
        if let Some(new) = &self.new {
            return self.note(new, id, &traces, |_, _| false);
        }
        let Some(lines) = self.lines.get(id) else { return };
        self.complain_of_lost(id, trial, traces.iter().fold(always(lines).collect(), missing));
        // Who waits for whom, how long a file of the kernel is, and when a signal comes, differs.
        // What is in another order has lost the former one.
        let by_chance = |call: &str| call.starts_with("futex(") || reads(call) || call.contains(THEN);
        let repeated = &repeated(&traces, SURELY_REPEATED) - &self.of_harness;
        for call in repeated.iter().filter(|call| !lines.contains_key(*call) && !by_chance(call)) {
            self.complain(id, "not in calls.txt", call);
        }
    }

    /// Compares a round with another value. Here only what is lost is wrong: one round shows what
    /// comes by chance as well.
    pub(super) fn of_value(&self, trial: &Trial, usual: &[Traced], first: &Traced) {
        let of = name(trial);
        if SKIPPED.iter().any(|skipped| of.starts_with(skipped)) {
            return;
        }
        if let Some(new) = &self.new {
            let Some(second) = trial.trace(LIMITS_MS[1]) else { return };
            let usual: Vec<Calls> = usual.iter().map(lines_of).collect();
            let is_of_usual = |call: &str, made: Made| {
                let holds = |times: &usize| !matches!(made, Made::Times(_)) || made.holds(*times);
                usual.iter().any(|of| of.get(call).is_some_and(holds))
            };
            return self.note(new, &of, &[lines_of(first), lines_of(&second)], is_of_usual);
        }
        let Some(lines) = self.lines.get(&of) else { return };
        self.complain_of_lost(&of, trial, missing(always(lines).collect(), &lines_of(first)));
    }

    /// Complains of the lines that two more rounds lack as well: a busy machine leaves no time for
    /// some of them.
    fn complain_of_lost(&self, of: &str, trial: &Trial, mut lost: Vec<(&String, Made)>) {
        for _ in 0..2 {
            if lost.is_empty() {
                return;
            }
            let Some(again) = trial.trace(LIMITS_MS[0]) else { return };
            lost = missing(lost, &lines_of(&again));
        }
        for (call, made) in lost {
            self.complain(of, "no longer made as often", &(made.mark() + call));
        }
    }

    /// What differs; writes the table where it is told to.
    pub(super) fn differences(self) -> Vec<String> {
        if let Some(new) = self.new {
            let new = new.into_inner().expect("no panic holds it");
            let line = |of: &str, (call, made): (&String, &Made)| format!("{}{of} | {call}\n", made.mark());
            let lines = new.iter().flat_map(|(of, calls)| calls.iter().map(move |call| line(of, call)));
            let text = format!("{}\n", self.from) + &lines.collect::<String>();
            std::fs::write(CALLS, text).expect("writing calls.txt");
            return Vec::new();
        }
        self.wrong.into_inner().expect("no panic holds it")
    }
}
