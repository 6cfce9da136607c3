//! `groma predict`: the counts of an application times the costs measured on a machine.

pub mod counts;

use super::explain::{command, elsewhere};
use crate::args::StoreArgs;
use crate::parse::parse_time;
use crate::print::name;
use crate::program::Program;
use crate::store::{is_stream, read};
use crate::view::ViewArgs;
use anyhow::{Context, Result, bail};
use clap::Args;
use groma_analysis::composition::Known;
use groma_analysis::predict::{Counts, Prediction};
use groma_harness::model::page::Shown;
use groma_harness::model::plain;
use groma_harness::sys::programs;
use groma_harness::sys::trace::{call_name, returns_bytes};
use groma_report::{self as report, Format, Machine};
use groma_runner::observe::{Observation, Observed, observe};
use groma_runner::signals::exit_code;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

const HELP: &str = "Examples:
  groma predict -- git status
      count what it does, predict its time, compare with its time
  groma predict --format json -- git status > counts.json
  groma predict --counts counts.json --run latest --run host:db1
      the same work on two machines
  strace -c -f -o counts.txt make; groma predict --counts counts.txt
  perf stat -o counts.txt make; groma predict --counts counts.txt
  cat /proc/1234/io /proc/1234/status > counts.txt
  groma predict --counts counts.txt

Each count is multiplied by what groma measured of it on the machine of the run: a read by \
syscall.read, plus its bytes between that and file.pread_random; a fault by the mean of vm.fault \
on fresh memory and on a cached file. System calls without a measured cost are listed \
separately. A file of counts holds what strace -c, perf stat (also with -x or -j, in any \
locale) or perf trace -s wrote, \
/proc/PID/io and status, or JSON: {\"counts\": {\"read\": 12, \"write\": {\"count\": 3, \
\"bytes\": 4096}}}.

A command runs once to warm up the caches, 3 to 30 times for its time, faults and switches, \
until it has used half a second of CPU time, and once under ptrace for its system calls (no \
privileges are needed). Everything that it does to files it does each time. It gets empty input, \
and its output is discarded.";

/// Predict what an application's system calls, faults and switches cost on a machine, and check
/// it
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PredictArgs {
    /// A command, which is run and counted
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "counts")]
    command: Vec<OsString>,
    /// A file of counts
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
    /// The run whose costs are used, as for groma show; several for several machines
    #[arg(long, value_name = "RUN", default_value = "latest")]
    run: Vec<String>,
    /// The longest that all runs of the command may take
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_time)]
    deadline: Duration,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// Predicts the time of a command or of a file of counts.
pub(super) fn run(_: &Program, args: &PredictArgs) -> Result<u8> {
    let view = args.view.open(false)?;
    let (counts, code) = match &args.counts {
        Some(file) => (of_file(file)?, 0),
        None if args.command.is_empty() => bail!(
            "name a command, as in {0} predict -- git status, or a file of its counts: {0} predict --counts counts.json \
             (from strace -c, perf stat, or {0} predict --format json)",
            name()
        ),
        None => match of_command(&args.command, args.deadline)? {
            Ok(counted) => counted,
            Err(signal) => return Ok(exit_code(signal)),
        },
    };
    if code != 0 {
        warn!("{}: exited with code {code}", plain(&args.command[0].to_string_lossy()));
    }
    // JSON holds the counts, which --counts reads.
    if view.format == Format::Json {
        // What ran is known to who named it.
        counts.notes.iter().filter(|_| args.counts.is_some()).for_each(|note| warn!("{note}"));
        view.show_text(&format!("{:#}\n", counts::to_json(&counts)))?;
        return Ok(0);
    }
    let mut machines = Vec::new();
    let mut missing = Vec::new();
    for run in &args.run {
        let (machine, lacks) = on_machine(args, run, &counts)?;
        missing.extend(lacks.iter().copied());
        if machine.prediction.components.iter().all(|one| one.total.is_none()) {
            bail!("{}", nothing(args, &machine, &lacks));
        }
        machines.push(machine);
    }
    let mut document = report::prediction(&counts, &machines);
    if let Some(command) = command(&missing) {
        document.note(format!("To measure what is missing: {command}"));
    }
    view.show(&document)?;
    Ok(0)
}

/// The error that no count has a cost: unknown names, and missing metrics.
fn nothing(args: &PredictArgs, machine: &Machine, lacks: &[&'static Shown]) -> String {
    const NAMED: usize = 5;
    let unknown = &machine.prediction.unknown;
    let mut names: Vec<String> = unknown.iter().take(NAMED).map(|one| format!("'{}'", plain(&one.name))).collect();
    if unknown.len() > NAMED {
        names.push(format!("{} more", unknown.len() - NAMED));
    }
    let names = names.join(", ");
    let Some(command) = command(lacks) else {
        let file = args.counts.as_deref().map(|file| format!("--counts {}: ", plain(&file.to_string_lossy())));
        let file = file.unwrap_or_default();
        return format!(
            "{file}nothing in it has a price: {names} (names are those of system calls and of perf's events)"
        );
    };
    let also = if unknown.is_empty() { String::new() } else { format!("; without price: {names}") };
    format!("run {} holds none of the costs that are needed: {command}{also}", machine.run)
}

/// The prediction for the machine of a run, and the metrics that it lacks.
fn on_machine(args: &PredictArgs, run: &str, counts: &Counts) -> Result<(Machine, Vec<&'static Shown>)> {
    let shown = read(&args.store, run)?;
    let prices = groma_benches::prices();
    let predicted = |others: &[(String, Vec<groma_harness::model::Record>)]| -> Prediction {
        groma_analysis::predict::predict(counts, prices, &Known { own: &shown.records, others })
    };
    let mut prediction = predicted(&[]);
    if !prediction.missing.is_empty() && !is_stream(run) {
        prediction = predicted(&elsewhere(&args.store, &shown.head, &prediction.missing)?);
    }
    let missing = prediction.missing.clone();
    Ok((Machine { run: shown.head.run, prediction }, missing))
}

/// Reads the counts in a file.
fn of_file(path: &Path) -> Result<Counts> {
    let shown = plain(&path.to_string_lossy()).into_owned();
    let file = File::open(path).with_context(|| shown.clone())?;
    let mut bytes = Vec::new();
    file.take(counts::LONGEST_TEXT + 1).read_to_end(&mut bytes).with_context(|| shown.clone())?;
    if bytes.len() as u64 > counts::LONGEST_TEXT {
        bail!("{shown}: longer than {} KiB: not a file of counts", counts::LONGEST_TEXT >> 10);
    }
    let text = String::from_utf8(bytes).ok().with_context(|| format!("{shown}: not UTF-8"))?;
    counts::read(&text).map_err(|why| anyhow::anyhow!("{shown}: {why}"))
}

/// Runs a command. Returns its counts and exit code, or the signal that interrupted it.
fn of_command(words: &[OsString], deadline: Duration) -> Result<Result<(Counts, i32), i32>> {
    Ok(match observe(words, deadline)? {
        Observation::Signal(signal) => Err(signal),
        Observation::Made(observed) => {
            let mut counts = counts_of(&observed);
            let file = words.first().and_then(|name| programs::find(name, &programs::users_path()));
            counts.notes.extend(file.map(|file| format!("The program is {}.", plain(&file.to_string_lossy()))));
            Ok((counts, observed.calls.code))
        }
    })
}

/// The counts of a command: means of the untraced runs, and the calls of the traced one.
fn counts_of(observed: &Observed) -> Counts {
    let runs = observed.runs.len().max(1) as f64;
    let mean = |of: fn(&groma_runner::observe::OneRun) -> u64| {
        observed.runs.iter().map(|run| of(run) as f64).sum::<f64>() / runs
    };
    let mut counts = Counts {
        runs,
        wall_s: Some(mean(|run| run.wall_ns) * 1e-9),
        user_s: Some(mean(|run| run.user_ns) * 1e-9),
        system_s: Some(mean(|run| run.system_ns) * 1e-9),
        ..Counts::default()
    };
    for (number, calls) in &observed.calls.calls {
        let name = call_name(*number).map_or_else(|| format!("system call {number}"), str::to_owned);
        // Counted below, where it is known what each of them made.
        if !["fork", "vfork", "clone", "clone3", "execve", "execveat"].contains(&name.as_str()) {
            counts.add(&name, calls.count as f64, returns_bytes(*number).then_some(calls.returned as f64));
        }
    }
    let calls = &observed.calls;
    // One more fork: that of the command itself.
    for (name, count) in
        [("fork", calls.forks + 1), ("vfork", calls.vforks), ("thread", calls.clones), ("execve", calls.execs)]
    {
        counts.add(name, count as f64, None);
    }
    for (name, count) in [
        ("minor-faults", mean(|run| run.minor_faults)),
        ("major-faults", mean(|run| run.major_faults)),
        ("voluntary-switches", mean(|run| run.voluntary)),
        ("involuntary-switches", mean(|run| run.involuntary)),
    ] {
        counts.add(name, count, None);
    }
    counts.counted.retain(|counted| counted.count > 0.0);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::trace::{self, Calls};

    /// Otherwise a new task would have two prices: its own and that of the call.
    #[test]
    fn calls_that_make_a_task_are_counted_once() {
        let (made, other) = (["fork", "vfork", "clone", "clone3", "execve", "execveat"], ["getppid", "read"]);
        let number = |name: &str| (0..1000).find(|number| call_name(*number) == Some(name));
        let numbers = made.into_iter().chain(other).filter_map(number);
        let calls = trace::Counts {
            calls: numbers.map(|number| (number, Calls { count: 7, returned: 0 })).collect(),
            clones: 7,
            execs: 1,
            ..trace::Counts::default()
        };
        let counts = counts_of(&Observed { runs: Vec::new(), calls });
        let mut seen: Vec<(&str, f64)> = counts.counted.iter().map(|of| (of.name.as_str(), of.count)).collect();
        seen.sort_by(|a, b| a.0.cmp(b.0));
        assert_eq!(seen, [("execve", 1.0), ("fork", 1.0), ("getppid", 7.0), ("read", 7.0), ("thread", 7.0)]);
    }
}
