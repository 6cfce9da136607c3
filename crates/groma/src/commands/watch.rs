//! `groma watch`: how much of each CPU others take, a line a second, and a summary.

use super::{print, style};
use crate::flags::WatchArgs;
use anyhow::{Context, Result};
use groma_harness::sys::io as sysio;
use groma_report as report;
use groma_runner::signals::{exit_code, watch_signals};
use groma_runner::watch::Watch;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// From one line to the next.
const EVERY: Duration = Duration::from_secs(1);

/// Watches until the time is over or a signal comes; either way the summary is printed.
pub(crate) fn watch(args: &WatchArgs) -> Result<u8> {
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
