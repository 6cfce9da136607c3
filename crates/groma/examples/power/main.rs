//! What `groma ab` finds of a slowdown of known size, and what it calls one that is none.
//!
//! A program between groma and the workers of the second side multiplies the times of some
//! benchmarks, one of each kind. It changes what a worker reports and not what it does: the ratio
//! is exact, and noise remains what it is on this machine. Beside groma's verdicts stand those of
//! the U test on the same rounds, each metric by itself at 5 %, as benchstat and Google Benchmark's
//! compare.py have it, and those of the same test after Holm's adjustment.
//!
//! ```sh
//! cargo run --release --example power -- 1 2 3 5 10     # percent; 0 tells false alarms alone
//! ```
//!
//! The results are in docs/methods/statistics.md#gate.

use groma_harness::protocol::{read_job, read_result, write_result};
use groma_stats::{holm, mann_whitney};
use serde_json::Value;
use std::error::Error;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// The first argument of this program where it stands before a worker.
const BETWEEN: &str = "--between";

/// One benchmark of each kind: these are slowed.
const SLOWED: [&str; 9] = [
    "cpu.atomic",
    "syscall.getppid",
    "signal.catch",
    "proc.fork_exit",
    "thread.create_join",
    "ipc.pipe_rtt",
    "net.tcp_rtt",
    "vm.fault",
    "file.create_delete",
];

/// These are not.
const UNTOUCHED: [&str; 9] = [
    "cpu.branch",
    "syscall.read",
    "syscall.stat",
    "signal.install",
    "proc.exec",
    "ctx.switch",
    "lock.mutex",
    "vm.map",
    "file.pread_random",
];

type Any<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.split_first() {
        Some((first, rest)) if first == BETWEEN => between(rest),
        _ => percents(&args).and_then(|percents| table(&percents)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("power: {e}");
            ExitCode::FAILURE
        }
    }
}

fn percents(args: &[String]) -> Any<Vec<f64>> {
    if args.is_empty() {
        return Err("by how many percent? For example: power 1 2 3 5 10".into());
    }
    let percent = |arg: &String| arg.parse().map_err(|_| format!("{arg}: expected a percentage").into());
    args.iter().map(percent).collect()
}

/// Runs the worker whose command line follows the factor, and multiplies the times of its result if
/// its benchmark is one of those that are slowed.
fn between(args: &[String]) -> Any<()> {
    let [factor, program, of_program @ ..] = args else { return Err("a factor and a command are needed".into()) };
    let factor: f64 = factor.parse()?;
    let mut job = String::new();
    std::io::stdin().read_to_string(&mut job)?;
    let mut worker = Command::new(program).args(of_program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    worker.stdin.take().ok_or("no input")?.write_all(job.as_bytes())?;
    let mut said = String::new();
    worker.stdout.take().ok_or("no output")?.read_to_string(&mut said)?;
    worker.wait()?;
    let (_, job) = read_job(&job)?;
    if SLOWED.contains(&job.id.as_str()) {
        let mut result = read_result(&said)?;
        let times = |ns: u64| (ns as f64 * factor).round() as u64;
        for series in &mut result.output.series {
            for sample in &mut series.samples {
                (sample.elapsed_ns, sample.cpu_ns) = (times(sample.elapsed_ns), times(sample.cpu_ns));
            }
            for value in &mut series.values {
                *value *= factor;
            }
        }
        said = write_result(&result);
    }
    std::io::stdout().write_all(said.as_bytes())?;
    Ok(())
}

/// How many of the metrics that were slowed, and of the others, a test calls different.
#[derive(Default)]
struct Told {
    found: usize,
    false_alarms: usize,
}

impl Told {
    fn of(metrics: &[Metric], differs: impl Fn(usize) -> bool) -> Told {
        let count = |slowed| (0..metrics.len()).filter(|i| metrics[*i].slowed == slowed && differs(*i)).count();
        Told { found: count(true), false_alarms: count(false) }
    }
}

/// What a run in turns says of a metric.
struct Metric {
    name: String,
    slowed: bool,
    verdict: String,
    ratio: f64,
    /// The p value of the U test on the rounds of both sides.
    p: f64,
}

fn table(percents: &[f64]) -> Any<()> {
    let groma = beside(std::env::current_exe()?)?;
    let dir = tempfile::tempdir()?;
    println!("slowed by  groma: found  false  ratio  U test: found  false  after Holm: found  false  time");
    percents.iter().try_for_each(|percent| line(&groma, &dir.path().join("groma.db"), *percent))
}

/// The program: it lies above the directory of the examples.
fn beside(this: PathBuf) -> Any<PathBuf> {
    let groma = this.ancestors().nth(2).ok_or("no directory")?.join("groma");
    if groma.exists() { Ok(groma) } else { Err(format!("{}: build it first", groma.display()).into()) }
}

fn line(groma: &Path, store: &Path, percent: f64) -> Any<()> {
    let factor = 1.0 + percent / 100.0;
    let began = Instant::now();
    let mut ab = Command::new(groma);
    ab.arg("ab").args(SLOWED).args(UNTOUCHED).args(["--all", "--format", "json", "--", "--"]);
    ab.arg(std::env::current_exe()?).args([BETWEEN, &factor.to_string()]);
    let metrics = metrics(groma, store, &json(&mut ab, store)?)?;
    let took = began.elapsed();
    let p: Vec<f64> = metrics.iter().map(|metric| metric.p).collect();
    let adjusted = holm(&p);
    let ours = Told::of(&metrics, |i| ["slower", "faster"].contains(&metrics[i].verdict.as_str()));
    let each = Told::of(&metrics, |i| p[i] < 0.05);
    let suite = Told::of(&metrics, |i| adjusted[i] < 0.05);
    let slowed = metrics.iter().filter(|metric| metric.slowed).count();
    let mut ratios: Vec<f64> = metrics.iter().filter(|m| m.slowed).map(|m| m.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let of = |found: usize, all: usize| format!("{found} of {all}");
    println!(
        "{:>7} %  {:>12}  {:>5}  {:.3}  {:>13}  {:>5}  {:>17}  {:>5}  {:>2.0} s",
        percent,
        of(ours.found, slowed),
        ours.false_alarms,
        ratios.get(ratios.len() / 2).ok_or("no metric that was slowed has a value")?,
        each.found,
        each.false_alarms,
        suite.found,
        suite.false_alarms,
        took.as_secs_f64()
    );
    for metric in metrics.iter().filter(|m| m.slowed != (m.verdict == "slower") && m.verdict != "same") {
        println!("           {}: {}, {:.3}", metric.name, metric.verdict, metric.ratio);
    }
    Ok(())
}

fn json(command: &mut Command, store: &Path) -> Any<Value> {
    let output = command.env("GROMA_STORE", store).output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The metrics that both sides of a comparison have.
fn metrics(groma: &Path, store: &Path, compared: &Value) -> Any<Vec<Metric>> {
    let show = |run: &Value| -> Any<Value> {
        let run = run["run"]["run"].as_str().ok_or("a side without a run")?;
        json(Command::new(groma).args(["show", run, "--format", "json"]), store)
    };
    let (a, other) = (show(&compared["a"])?, &compared["others"][0]);
    let b = show(&other["b"])?;
    let key = |m: &Value| [&m["id"], &m["params"], &m["placement"], &m["workers"]].map(Value::to_string);
    let rounds = |run: &Value, of: &Value| -> Vec<f64> {
        let metric = run["metrics"].as_array().into_iter().flatten().find(|m| key(m) == key(of));
        let values = metric.and_then(|m| m["round_values"].as_array());
        values.into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    let compared = other["metrics"].as_array().ok_or("nothing was compared")?;
    let metric = |m: &Value| {
        let id = m["id"].as_str()?;
        Some(Metric {
            name: format!("{id} {}", m["placement"].as_str()?),
            slowed: SLOWED
                .iter()
                .any(|of| id.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))),
            verdict: m["verdict"].as_str()?.to_owned(),
            ratio: m["ratio"].as_f64()?,
            p: mann_whitney(&rounds(&a, m), &rounds(&b, m))?,
        })
    };
    Ok(compared.iter().filter_map(metric).collect())
}
