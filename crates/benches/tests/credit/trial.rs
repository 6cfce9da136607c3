//! Runs each trial in a process of its own: a benchmark may fork, and a process that forks should
//! have one thread. The test therefore has its own `main` (`harness = false`), which begins with
//! [`serve`].

use groma_harness::model::{Derivation, Info, Placement, Quantity, Remark, RoundResult, Series, State};
use groma_harness::protocol;
use groma_harness::sys::{counters, process};
use groma_harness::testing::{self, Mutilation, Tried, try_failing, try_mutilated, try_placed};
use groma_harness::{BenchError, Benchmark};
use std::io::Read;
use std::ops::{Bound, RangeInclusive};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// The first argument of a process that tries one benchmark.
const TRY: &str = "__try";
/// The same, with both sides placed on one CPU.
const TRY_ON_ONE_CPU: &str = "__try-on-one-cpu";
/// The reason of a round that panicked.
const PANICKED: &str = "panicked";
/// No benchmark takes longer than a second here; a loaded machine may need twenty times as long.
const PATIENCE: Duration = Duration::from_secs(60);

/// One benchmark to be tried.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trial {
    /// Its id.
    pub(crate) id: &'static str,
    /// `name=value`; other parameters have their usual value.
    pub(crate) params: Vec<String>,
    /// Whether both sides are placed on one CPU, or not at all.
    pub(crate) one_cpu: bool,
    /// What is done to its loops, and the index of the only loop concerned.
    pub(crate) mutilation: Option<(Mutilation, Option<usize>)>,
}

impl Trial {
    /// The benchmark unchanged, with its usual parameters.
    pub(crate) fn of(id: &'static str) -> Trial {
        Trial { id, ..Trial::default() }
    }
}

/// What came of a trial.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// As a worker would report it; `failed` when a proof is broken.
    pub(crate) result: RoundResult,
    /// The iterations that were credited, warm-up included.
    pub(crate) iterations: u64,
}

impl Outcome {
    fn failure(why: String) -> Outcome {
        Outcome { result: RoundResult::ended(State::Failed, why), iterations: 0 }
    }

    /// The names of the proofs that do not hold.
    pub(crate) fn broken_proofs(&self) -> Vec<&str> {
        self.result.output.proofs.iter().filter(|p| !p.holds).map(|p| p.name.as_str()).collect()
    }

    /// Whether it failed because of a proof: one of its own, or that of a probe.
    pub(crate) fn proof_broke(&self) -> bool {
        self.result.state == State::Failed
            && (!self.broken_proofs().is_empty() || self.result.reason.starts_with("proof broken"))
    }

    /// Whether it has any value; without one there is nothing to prove.
    pub(crate) fn has_values(&self) -> bool {
        !self.result.output.series.is_empty()
    }

    /// Whether it gave up before it had a value because other tasks took its CPU, as `ctx.yield`
    /// does beside busy loops, however often it is tried.
    pub(crate) fn gave_way(&self) -> bool {
        let to_others =
            |r: &Remark| matches!(r, Remark::Unresolved { reason, .. } if reason.starts_with("other tasks"));
        !self.has_values() && self.result.output.remarks.iter().any(to_others)
    }

    /// Whether it panicked, which is a failure too.
    pub(crate) fn has_panicked(&self) -> bool {
        self.result.state == State::Failed && self.result.reason == PANICKED
    }
}

/// The benchmark of this id.
pub(crate) fn bench(id: &str) -> &'static Benchmark {
    match groma_benches::all().into_iter().find(|b| b.info.id == id) {
        Some(bench) => bench,
        None => panic!("there is no benchmark '{id}'"),
    }
}

/// In a process that [`attempt`] started: runs the trial and exits. Returns at once in the test's
/// first process.
pub(crate) fn serve() {
    let args: Vec<String> = std::env::args().collect();
    let [_, word, step, cost, id, dir, mutilation, only, params @ ..] = args.as_slice() else { return };
    if word != TRY && word != TRY_ON_ONE_CPU {
        return;
    }
    if let (Ok(step), Ok(cost)) = (step.parse(), cost.parse()) {
        testing::assume_clock(step, cost);
    }
    let mutilation = match mutilation.as_str() {
        "halved" => Some(Mutilation::Halved),
        "idle" => Some(Mutilation::Idle),
        "doubled" => Some(Mutilation::Doubled),
        _ => None,
    };
    let bench = bench(id);
    let chosen: Vec<(&str, &str)> = params.iter().filter_map(|p| p.split_once('=')).collect();
    let dir = Path::new(dir);
    let tried = catch_unwind(AssertUnwindSafe(|| match mutilation {
        None if word == TRY_ON_ONE_CPU => {
            let cpu = counters::current_cpu();
            try_placed(bench, &chosen, Some(dir), Placement::SameCpu, &[cpu, cpu])
        }
        None => try_failing(bench, &chosen, Some(dir)),
        Some(mutilation) => try_mutilated(bench, &chosen, Some(dir), mutilation, only.parse().ok()),
    }));
    let (mut result, iterations) = match tried {
        Ok(Ok(Tried { mut result, iterations, allowed })) => {
            for (proof, range) in result.output.proofs.iter_mut().zip(allowed) {
                proof.expected = format!("{} | {}", proof.expected, allows(range));
            }
            (result, iterations)
        }
        Ok(Err(BenchError::Unsupported(why))) => (RoundResult::ended(State::Unsupported, why), 0),
        Ok(Err(BenchError::Denied(why))) => (RoundResult::ended(State::Denied, why), 0),
        Ok(Err(BenchError::Failed(why))) => (RoundResult::ended(State::Failed, why), 0),
        Err(_) => (RoundResult::ended(State::Failed, PANICKED), 0),
    };
    if let Some(broken) = result.output.proofs.iter().find(|p| !p.holds) {
        let reason = format!("proof broken: {} is {}, not {}", broken.name, broken.seen, broken.expected);
        (result.state, result.reason) = (State::Failed, reason);
    } else if mutilation.is_none()
        && result.state == State::Ok
        && let Some(why) =
            thin_series(&result).or_else(|| implausible(&bench.info, &result)).or_else(|| left_behind(dir))
    {
        (result.state, result.reason) = (State::Failed, why);
    }
    // Nobody needs the values of the samples.
    for Series { samples, .. } in &mut result.output.series {
        samples.truncate(1);
    }
    print!("iterations {iterations}\n{}", protocol::write_result(&result));
    std::process::exit(0);
}

/// The range that a proof allows, which its words need not express.
fn allows(range: (Bound<f64>, Bound<f64>)) -> String {
    let from = match range.0 {
        Bound::Included(n) => n.to_string(),
        Bound::Excluded(n) => format!("above {n}"),
        Bound::Unbounded => "any".to_owned(),
    };
    let to = match range.1 {
        Bound::Included(n) => n.to_string(),
        Bound::Excluded(n) => format!("below {n}"),
        Bound::Unbounded => "any".to_owned(),
    };
    format!("{from} to {to}")
}

/// The intervals of a round of a test.
const INTERVALS: usize = 3;

/// A series with fewer samples than the round has intervals.
fn thin_series(result: &RoundResult) -> Option<String> {
    let thin = |s: &&Series| s.values.is_empty() && s.samples.len() < INTERVALS;
    result.output.series.iter().find(thin).map(|s| format!("the series '{}' has {} samples", s.name, s.samples.len()))
}

/// The range of a quantity's values on any machine, in SI units: a thousandth of a cycle to a
/// minute, a byte a second to a petabyte. A forgotten or inverted unit is a factor of a million or
/// more.
fn plausible(quantity: Quantity) -> RangeInclusive<f64> {
    match quantity {
        Quantity::Latency => 1e-13..=60.0,
        Quantity::TimePerGigabyte => 1e-6..=1e9,
        Quantity::Bandwidth => 1.0..=1e15,
        Quantity::Rate => 1e-3..=1e12,
        Quantity::Count | Quantity::Size => 0.0..=1e15,
        Quantity::Ratio => 0.0..=1e6,
        Quantity::Energy => -1.0..=1.0,
        Quantity::Power => 1e-3..=1e6,
    }
}

/// A stated value that is out of the range of its quantity. The harness compares those of loops
/// with the least time that the work takes.
fn implausible(info: &Info, result: &RoundResult) -> Option<String> {
    info.outputs.iter().find_map(|output| {
        let Derivation::Series(name) = output.derivation else { return None };
        let range = plausible(info.quantity_of(output));
        let fits = |value: &f64| *value == 0.0 || range.contains(value);
        let value = result.output.series(name)?.values.iter().find(|value| !fits(value))?;
        Some(format!("{value:e} is no {:?}: the output '{}'", info.quantity_of(output), output.suffix))
    })
}

/// What a round has left in its work directory.
fn left_behind(dir: &Path) -> Option<String> {
    let names = std::fs::read_dir(dir).expect("the benchmark's directory").flatten();
    // What the members of a worker group share is removed with the directory of the run.
    let names: Vec<_> = names.map(|entry| entry.file_name()).filter(|name| name != "object").collect();
    (!names.is_empty()).then(|| format!("left {names:?} in the work directory"))
}

/// Runs all trials, several at a time; returns their outcomes in order.
fn try_all(trials: &[Trial]) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    // Polling the clock takes longer than most rounds: once for all of them.
    let clock = testing::clock();
    // More than there are CPUs: most of them wait most of the time.
    let side_by_side = 2 + std::thread::available_parallelism().map_or(1, |n| n.get().min(8));
    #[expect(clippy::disallowed_methods, reason = "nothing is measured here")]
    let mut seen: Vec<(usize, Outcome)> = std::thread::scope(|scope| {
        let work = || {
            let mut seen = Vec::new();
            while let Some((i, trial)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, trials.get(i)?)))
            {
                seen.push((i, attempt(i, trial, clock)));
            }
            seen
        };
        let workers: Vec<_> = (0..side_by_side).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("a worker of the test panicked")).collect()
    });
    seen.sort_by_key(|(i, _)| *i);
    seen.into_iter().map(|(_, seen)| seen).collect()
}

/// As [`try_all`], and runs again, a few times, those whose outcome `again` rejects. A busy machine
/// disturbs a round that has to be precise (the rate of a clock) now and then; code that is wrong
/// fails each time.
pub(crate) fn try_with_retries(trials: &[Trial], again: impl Fn(&Outcome) -> bool) -> Vec<Outcome> {
    const TIMES: usize = 3;
    let mut seen = try_all(trials);
    for _ in 0..TIMES {
        let disturbed: Vec<usize> = (0..seen.len()).filter(|i| again(&seen[*i])).collect();
        let anew: Vec<Trial> = disturbed.iter().map(|i| trials[*i].clone()).collect();
        for (i, anew) in disturbed.into_iter().zip(try_all(&anew)) {
            seen[i] = anew;
        }
    }
    seen
}

/// Runs a trial in a new process, process group and directory.
fn attempt(number: usize, trial: &Trial, (step, cost): (f64, f64)) -> Outcome {
    let dir: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", process::id()));
    std::fs::create_dir_all(&dir).expect("a directory for the benchmark");
    let (mutilation, only) = match trial.mutilation {
        None => ("none", String::new()),
        Some((Mutilation::Halved, only)) => ("halved", only.map_or(String::new(), |n| n.to_string())),
        Some((Mutilation::Idle, only)) => ("idle", only.map_or(String::new(), |n| n.to_string())),
        Some((Mutilation::Doubled, only)) => ("doubled", only.map_or(String::new(), |n| n.to_string())),
    };
    let mut command = Command::new(std::env::current_exe().expect("the test's own program"));
    // If the test is killed, no process keeps waiting for its other side.
    process::tie(&mut command);
    let mut child = command
        .args([if trial.one_cpu { TRY_ON_ONE_CPU } else { TRY }, &step.to_string(), &cost.to_string(), trial.id])
        .arg(&dir)
        .args([mutilation, &only])
        .args(&trial.params)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .expect("starting the test's own program");
    let mut out = child.stdout.take().expect("a pipe");
    let (send, receive) = mpsc::channel();
    #[expect(clippy::disallowed_methods, reason = "nothing is measured here")]
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = out.read_to_string(&mut text);
        // After the time limit nobody receives it.
        drop(send.send(read.map(|_| text)));
    });
    let text = receive.recv_timeout(PATIENCE);
    process::kill_group(child.id() as i32);
    let status = child.wait().expect("waiting for the child");
    std::fs::remove_dir_all(&dir).expect("removing the benchmark's directory");
    let text = match text {
        Ok(Ok(text)) => text,
        Ok(Err(e)) => return Outcome::failure(format!("its output cannot be read: {e}")),
        Err(_) => return Outcome::failure(format!("no answer within {PATIENCE:?}")),
    };
    let Some((iterations, rest)) = text
        .split_once("iterations ")
        .and_then(|(_, rest)| rest.split_once('\n'))
        .and_then(|(n, rest)| Some((n.parse().ok()?, rest)))
    else {
        return Outcome::failure(format!("it ended without a result: {status}"));
    };
    match protocol::read_result(rest) {
        Ok(result) => Outcome { result, iterations },
        Err(why) => Outcome::failure(why),
    }
}
