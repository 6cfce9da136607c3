//! The history: the runs in a store. The caller reads the store.

use std::collections::BTreeSet;

use groma_model::{StateCounts, Tag};
use serde::Serialize;

use crate::document::{Document, Table};
use crate::format::Format;
use crate::grid::{Align, Cell};
use crate::json::pretty;
use crate::style::{Ink, Style};
use crate::units::NONE;

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It ran as planned.
    Complete,
    /// Ended by Ctrl-C or SIGTERM; measured values are kept.
    Interrupted,
    /// It is still running.
    Running,
    /// It was killed; finished rounds are kept.
    Killed,
}

impl RunStatus {
    /// The word used in views.
    pub const fn word(self) -> &'static str {
        match self {
            RunStatus::Complete => "complete",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Running => "running",
            RunStatus::Killed => "killed",
        }
    }
}

/// A run in the history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// Its id.
    pub run: String,
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// The version of groma that measured it.
    pub groma: String,
    /// The word of its profile.
    pub profile: String,
    /// The host's name; empty if unknown.
    pub host: String,
    /// The release of the host's kernel; empty if unknown.
    pub kernel: String,
    /// Its tags.
    pub tags: BTreeSet<Tag>,
    /// What was requested, in short: `survey`, `ipc mem --budget 30s`.
    pub asked: String,
    /// The command line after the program's name.
    pub args: Vec<String>,
    /// The number of planned points.
    pub points: u64,
    /// The number of measured rounds.
    pub rounds: u64,
    /// Metrics by state.
    pub states: StateCounts,
    /// Its wall time in seconds; `None` before its end.
    pub wall_s: Option<f64>,
    /// How it ended.
    pub status: RunStatus,
}

/// The tags of a store, each with its number of runs and the start of the newest.
pub fn tags<'a>(tags: &[(Tag, usize, String)], style: &Style) -> Document<'a> {
    let mut out = Document::new("tags");
    if tags.is_empty() {
        out.say(format!("no run has a tag ({} run --tag NAME, {0} runs tag RUN NAME)", style.program));
        return out;
    }
    let columns = [("tag", Align::Left), ("runs", Align::Right), ("newest, UTC", Align::Left)];
    let mut table = Table::new(&columns, Some(Ink::Strong));
    for (tag, runs, newest) in tags {
        table.row(vec![Cell::new(tag.as_str()), Cell::count(*runs as u64), Cell::new(minute(newest))]);
    }
    out.table(table);
    out
}

/// From this width on, what was requested goes into the row of its run, as far as there is room,
/// not below it: other programs search one line per run.
const ROOMY: usize = 100;

/// From this width on, there is room for the start, which the id also shows.
const WIDE: usize = 132;

/// The runs in the given order: one line each, or two in a narrow view.
pub fn runs<'a>(runs: &'a [RunLine], style: &Style) -> Document<'a> {
    let mut out = Document::new("runs").written(Format::Json, move || pretty(&runs));
    if runs.is_empty() {
        out.say("no runs yet");
        return out;
    }
    use Align::{Left, Right};
    let (roomy, wide) = (style.width >= ROOMY, style.width >= WIDE);
    // The columns that a host and a kernel may take.
    let (host, kernel) = match style.width {
        usize::MAX => (usize::MAX, usize::MAX),
        _ if wide => (20, 24),
        _ => (9, 16),
    };
    let mut columns = vec![("run", Left), ("host", Left), ("kernel", Left), ("status", Left)];
    columns.extend([("points", Right), ("rounds", Right)]);
    if wide {
        columns.insert(1, ("started", Left));
    }
    if roomy {
        columns.push(("[tags] asked for", Left));
    }
    let mut table = Table::new(&columns, Some(Ink::Strong));
    for run in runs {
        let ink = if run.status == RunStatus::Complete { Ink::Plain } else { Ink::Warning };
        let name = |text: &str, width| {
            let text = if text.is_empty() { NONE } else { text };
            Cell::new(style.cut(&style.text(text), width))
        };
        let mut cells = vec![Cell::new(run.run.clone()), name(&run.host, host), name(&run.kernel, kernel)];
        cells.push(Cell::ink(run.status.word(), ink));
        cells.extend([run.points, run.rounds].map(Cell::count));
        if wide {
            cells.insert(1, Cell::new(minute(&run.started)));
        }
        if !roomy {
            table.row(std::mem::take(&mut cells));
            cells.push(Cell::default());
        }
        table.spanned(cells, Cell::new(asked(run)));
    }
    out.table(table);
    out
}

/// The tags, and what was requested.
fn asked(run: &RunLine) -> String {
    let tags: Vec<&str> = run.tags.iter().map(Tag::as_str).collect();
    let tags = if tags.is_empty() { String::new() } else { format!("[{}] ", tags.join(", ")) };
    tags + &run.asked
}

/// The start of a run whose file has no date that can be read.
pub const NO_DATE: &str = "1970-01-01T00:00:00Z";

/// `2026-11-21 07:38 UTC`, or that there is none.
pub(crate) fn minute_utc(started: &str) -> String {
    if started == NO_DATE { minute(started) } else { format!("{} UTC", minute(started)) }
}

/// `2026-11-21 07:38` of an RFC 3339 time; the id has the seconds.
pub(crate) fn minute(started: &str) -> String {
    if started == NO_DATE {
        return "no date".to_owned();
    }
    match (started.get(..10), started.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time}"),
        _ => started.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::columns;
    use groma_model::State;

    fn history() -> Vec<RunLine> {
        let tags = |tags: &[&str]| tags.iter().map(|tag| tag.parse().expect("a tag")).collect();
        let line = |run: &str, asked: &str, rounds, status| RunLine {
            run: run.to_owned(),
            started: format!("{}-{}-{}T07:38:12Z", &run[..4], &run[4..6], &run[6..8]),
            groma: "0.1.0".to_owned(),
            profile: "standard".to_owned(),
            host: "node17".to_owned(),
            kernel: "6.12.57+deb13-amd64".to_owned(),
            tags: BTreeSet::new(),
            asked: asked.to_owned(),
            args: vec!["run".to_owned()],
            points: 148,
            rounds,
            states: StateCounts(vec![(State::Ok, 121), (State::Noisy, 4)]),
            wall_s: Some(58.94),
            status,
        };
        vec![
            RunLine {
                tags: tags(&["patched", "v6.18-rc3"]),
                ..line("20261121T073812Z-5f3a", "survey", 1048, RunStatus::Complete)
            },
            RunLine {
                tags: tags(&["before"]),
                ..line("20261120T073812Z-00c1", "syscall ctx ipc --budget 30s", 96, RunStatus::Interrupted)
            },
            RunLine {
                host: "a-machine-of.example.org".to_owned(),
                kernel: "5.14.0-611.el9.x86_64_with_a_long_suffix".to_owned(),
                ..line("20261119T073812Z-9e42", "hammer 262144 6000", 0, RunStatus::Killed)
            },
            RunLine {
                host: String::new(),
                kernel: String::new(),
                ..line("20261118T073812Z-0000", &"mem.latency --param size=64K ".repeat(5), 7, RunStatus::Running)
            },
        ]
    }

    #[test]
    fn lines_fit() {
        for width in [80, 100, 140] {
            let style = Style::plain(width);
            let text = runs(&history(), &style).text(&style);
            assert!(text.lines().all(|line| columns(line) <= width), "{text}");
            insta::assert_snapshot!(format!("at_{width}"), text);
        }
        assert_eq!(runs(&[], &Style::plain(80)).text(&Style::plain(80)), "no runs yet\n");
    }

    #[test]
    fn as_json() {
        insta::assert_snapshot!(runs(&history()[..1], &Style::plain(80)).render(Format::Json, &Style::plain(80)));
    }
}
