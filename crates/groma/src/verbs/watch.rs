//! `groma watch`: how much of each CPU others take, with a line each second and a summary.

use crate::exit;
use crate::measure::opened_or_told;
use crate::parse::parse_time;
use crate::print::{is_broken_pipe, print, print_measured, style};
use crate::program::Program;
use anyhow::{Context, Result};
use clap::Args;
use groma_harness::sys::io as sysio;
use groma_report::{self as report, Format};
use groma_runner::signals::{exit_code, watch_signals};
use groma_runner::watch::Watch;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const HELP: &str = "\
A core with two hardware threads gives each about half of what it can do when both are busy. \
On a rented machine the other thread may run somebody else's work, and no counter of the \
kernel shows it. A probe of 3 us, 100 times a second on each CPU, does; it takes half a \
percent of each. Beside it stand the time that the host stole, the core's clock, and, as \
'waiting', the share of the time in which some task of this machine waited for a CPU.

--record keeps the course of the host, for simulations: on one CPU of each core, at most four, a \
thread probes every 10 us, for each of them, and never sleeps. It writes 6 MB a minute \
(docs/records.md), and what other work on those CPUs takes from it is marked.

Examples:
  groma watch                                 until Ctrl-C
  groma watch --for 10m --out shared.ndjson   and keep every second
  groma watch --for 30s --record host.course  keep the course of the host
  groma watch --for 10s --openmetrics > groma.prom
      for a collector";

/// Watch how much of each CPU others take: busy sibling threads, stolen time, the clock
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct WatchArgs {
    /// How long to watch: 30s, 10m, 1h [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    time: Option<Duration>,

    /// Also write every second as NDJSON
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Probe without a pause, and write what each probe found: 6 MB a minute
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Print nothing but the summary, as OpenMetrics text
    #[arg(long, requires = "time")]
    openmetrics: bool,
}

/// The interval between lines.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// A file that every second is added to. The summary is of all of them, also of those that a full
/// disk does not take.
#[derive(Default)]
struct Kept {
    option: &'static str,
    file: Option<File>,
    lost: bool,
}

impl Kept {
    fn open(option: &'static str, path: Option<&Path>) -> Result<Kept> {
        let mut kept = Kept { option, ..Kept::default() };
        if let Some(path) = path {
            let made = File::create(path).with_context(|| format!("{option} {}", path.display()));
            kept.file = opened_or_told(made, &mut kept.lost)?;
        }
        Ok(kept)
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(Err(e)) = self.file.as_mut().map(|file| file.write_all(bytes)) {
            warn!("{}: {e}; what follows is not kept there", self.option);
            (self.file, self.lost) = (None, true);
        }
    }
}

/// Watches until the time is over or a signal arrives, and prints the summary.
pub(super) fn run(_: &Program, args: &WatchArgs) -> Result<u8> {
    let mut out = Kept::open("--out", args.out.as_deref())?;
    let mut course = Kept::open("--record", args.record.as_deref())?;
    let style = style(false);
    let signals = watch_signals()?;
    let begun = if args.record.is_some() { Watch::record() } else { Watch::begin() };
    let mut watch = begun.context("the CPUs cannot be watched")?;
    if let Some(head) = watch.head() {
        course.write(format!("{}\n", head.line()).as_bytes());
    }
    let started = Instant::now();
    let end = args.time.map(|time| started + time);
    let mut next = started + LINE_INTERVAL;
    let (mut signal, mut lines, mut shown) = (None, 0, Ok(()));
    while signal.is_none() && end.is_none_or(|end| next <= end) {
        sysio::readable(&[signals.as_fd()], next.saturating_duration_since(Instant::now()));
        signal = signals.next();
        if signal.is_some() || Instant::now() < next {
            continue;
        }
        next += LINE_INTERVAL;
        let second = watch.second();
        let line = serde_json::to_string(&second).context("--out")?;
        out.write(format!("{line}\n").as_bytes());
        course.write(&watch.take_recorded());
        if !args.openmetrics {
            if lines % report::WATCH_HEAD_EVERY == 0 {
                shown = shown.and_then(|()| print(&report::watch_head(&second, &style)));
            }
            shown = shown.and_then(|()| print(&report::watch_line(&second, &style)));
            lines += 1;
        }
        // Who closed the pipe has read enough; a full disk is told with the summary.
        if shown.as_ref().is_err_and(is_broken_pipe) {
            return Ok(0);
        }
    }
    // What came after the last whole second.
    course.write(&watch.take_recorded());
    let watched = watch.end();
    let summary =
        report::watched(&watched).render(if args.openmetrics { Format::Openmetrics } else { Format::Table }, &style);
    let lost = !print_measured(&summary) || out.lost || course.lost;
    Ok(signal.map_or(if lost { exit::FAILED } else { 0 }, exit_code))
}
