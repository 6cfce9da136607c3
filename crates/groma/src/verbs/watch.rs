//! `groma watch`: how much of each CPU others take, with a line each second and a summary.

use crate::parse::parse_time;
use crate::print::{print, style};
use crate::program::Program;
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
    let mut out = match &args.out {
        Some(file) => {
            let made = File::create(file).with_context(|| format!("--out {}", file.display()))?;
            Some(BufWriter::new(made))
        }
        None => None,
    };
    let style = style(false);
    let signals = watch_signals()?;
    let mut watch = Watch::begin().context("the CPUs cannot be watched")?;
    let started = Instant::now();
    let end = args.time.map(|time| started + time);
    let mut next = started + EVERY;
    let (mut signal, mut lines) = (None, 0);
    while signal.is_none() && end.is_none_or(|end| next <= end) {
        sysio::readable(&[signals.as_fd()], next.saturating_duration_since(Instant::now()));
        signal = signals.next();
        if signal.is_some() || Instant::now() < next {
            continue;
        }
        next += EVERY;
        let second = watch.second();
        if let Some(out) = &mut out {
            serde_json::to_writer(&mut *out, &second).context("--out")?;
            writeln!(out).and_then(|()| out.flush()).context("--out")?;
        }
        if !args.openmetrics {
            if lines % report::WATCH_HEAD_EVERY == 0 {
                print(&report::watch_head(&second, &style))?;
            }
            print(&report::watch_line(&second, &style))?;
            lines += 1;
        }
    }
    let watched = watch.end();
    print(&if args.openmetrics { report::watch_openmetrics(&watched) } else { report::watched(&watched, &style) })?;
    Ok(signal.map_or(0, exit_code))
}
