//! The progress of a run: a line on a terminal that is redrawn, or a line every ten seconds in a
//! log. The supervising thread writes it between rounds, never during one: a ticker thread would
//! disturb measurements.

use groma_model::{Host, Point, Round, plain};
use groma_report::units::headline;
use groma_runner::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// The progress line, on standard error.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    drawn: Option<Instant>,
    started: Instant,
    budget: Duration,
    /// The latest value; empty before the first.
    value: String,
    silent: bool,
}

/// The shortest time between two redraws.
const REDRAW: Duration = Duration::from_millis(250);
/// The time between two lines of a log.
const LOG_EVERY: Duration = Duration::from_secs(10);

impl Progress {
    /// A line for a run with this budget; a silent one is neither drawn nor logged.
    pub(crate) fn new(budget: Duration, silent: bool) -> Progress {
        let bar = if !silent && draws_progress() {
            ProgressBar::with_draw_target(Some(budget.as_millis() as u64), ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        // If this constant template were wrong, indicatif's default would do.
        if let Ok(style) = ProgressStyle::with_template("{bar:24.cyan/blue} {msg}") {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Progress { bar, drawn: None, started: Instant::now(), budget, value: String::new(), silent }
    }

    /// Whether it is time to draw or log the line again.
    fn is_due(&self) -> bool {
        if self.silent {
            return false;
        }
        let since = self.drawn.unwrap_or(self.started).elapsed();
        if self.bar.is_hidden() { since >= LOG_EVERY } else { self.drawn.is_none() || since >= REDRAW }
    }

    /// Clears the line.
    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn next(&mut self, what: &str) {
        if !self.is_due() {
            return;
        }
        let log = self.bar.is_hidden();
        self.drawn = Some(Instant::now());
        let spent = self.started.elapsed();
        let left = self.budget.saturating_sub(spent);
        let what = match self.value.as_str() {
            "" => plain(what).into_owned(),
            value => format!("{}; {value}", plain(what)),
        };
        if log {
            warn!("{} s of {}: {what}", spent.as_secs(), self.budget.as_secs());
            return;
        }
        self.bar.set_position(spent.as_millis() as u64);
        self.bar.set_message(format!("{:>3} s left  {what}", left.as_secs()));
    }

    fn on_round(&mut self, point: &Point, rounds: &[Round], host: &Host) {
        if !self.is_due() {
            return;
        }
        let first = groma_analysis::summarise(point, rounds, host).into_iter().find(|record| record.value.is_some());
        let value = first.as_ref().and_then(headline).map(|value| format!("{}: {value}", point.name()));
        self.value = value.unwrap_or_default();
    }

    fn warn(&mut self, text: &str) {
        self.bar.suspend(|| warn!("{text}"));
    }
}

impl Drop for Progress {
    /// Clears the line, however the run ends.
    fn drop(&mut self) {
        self.finish();
    }
}

/// Whether standard error is a terminal that can redraw a line.
fn draws_progress() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}
