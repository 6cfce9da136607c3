//! `groma watch`: how much of each CPU others take, with a line each second and a summary.

use crate::measure::opened_or_told;
use crate::parse::parse_time;
use crate::print::{is_broken_pipe, print, print_measured, style};
use crate::program::Program;
use crate::verbs::exit;
use anyhow::{Context, Result};
use clap::Args;
use groma_harness::sys::io as sysio;
use groma_report as report;
use groma_runner::signals::{exit_code, watch_signals};
use groma_runner::watch::Watch;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const HELP: &str = "\
A core with two hardware threads gives each about half of what it can do when both are busy. \
On a rented machine the other thread may run somebody else's work, and no counter of the \
kernel shows it. A probe of 3 us, 100 times a second on each CPU, does; it takes half a \
percent of each. Beside it stand the time that the host stole, the core's clock, and, as \
'waiting', the share of the time in which some task of this machine waited for a CPU.

Examples:
  groma watch                                 until Ctrl-C
  groma watch --for 10m --out shared.ndjson   and keep every second
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

    /// Print nothing but the summary, as OpenMetrics text
    #[arg(long, requires = "time")]
    openmetrics: bool,
}

/// The interval between lines.
const EVERY: Duration = Duration::from_secs(1);

/// Watches until the time is over or a signal arrives, and prints the summary.
pub(super) fn run(_: &Program, args: &WatchArgs) -> Result<u8> {
    let mut lost = false;
    let opened = args.out.as_deref().map(|path| {
        let made = File::create(path).with_context(|| format!("--out {}", path.display()));
        opened_or_told(made, &mut lost)
    });
    let mut out = opened.transpose()?.flatten().map(BufWriter::new);
    let style = style(false);
    let signals = watch_signals()?;
    let mut watch = Watch::begin().context("the CPUs cannot be watched")?;
    let started = Instant::now();
    let end = args.time.map(|time| started + time);
    let mut next = started + EVERY;
    let (mut signal, mut lines, mut shown) = (None, 0, Ok(()));
    while signal.is_none() && end.is_none_or(|end| next <= end) {
        sysio::readable(&[signals.as_fd()], next.saturating_duration_since(Instant::now()));
        signal = signals.next();
        if signal.is_some() || Instant::now() < next {
            continue;
        }
        next += EVERY;
        let second = watch.second();
        if let Some(file) = &mut out {
            let line = serde_json::to_string(&second).context("--out")?;
            // The summary is of every second, also of those that are not kept.
            if let Err(e) = writeln!(file, "{line}").and_then(|()| file.flush()) {
                warn!("--out: {e}; what follows is not kept there");
                (out, lost) = (None, true);
            }
        }
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
    let watched = watch.end();
    let summary =
        if args.openmetrics { report::watch_openmetrics(&watched) } else { report::watched(&watched, &style) };
    lost |= !print_measured(&summary);
    Ok(signal.map_or(if lost { exit::FAILED } else { 0 }, exit_code))
}
