//! The history: which runs a store holds. It is told what they are; it knows no store.

use groma_model::StateCounts;
use serde::Serialize;

use crate::grid::{Align, Cell, Grid};
use crate::json::pretty;
use crate::style::{Ink, Style};
use crate::units::{self, NONE};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It did what was planned.
    Complete,
    /// Ctrl-C or SIGTERM ended it; what was measured is kept.
    Interrupted,
    /// It goes on at this moment.
    Running,
    /// It was killed; the rounds that had ended are kept.
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
    /// The word of its profile.
    pub profile: String,
    /// The host's name; empty when it is not known.
    pub host: String,
    /// Metrics by state.
    pub states: StateCounts,
    /// Its wall time in seconds; `None` while it has no end.
    pub wall_s: Option<f64>,
    /// How it ended.
    pub status: RunStatus,
}

/// The runs, a line each, in the given order. A narrow view leaves out the start, which the id
/// begins with.
pub fn runs(runs: &[RunLine], style: &Style) -> String {
    if runs.is_empty() {
        return "no runs yet\n".to_owned();
    }
    use Align::{Left, Right};
    let mut grid = Grid::new(&[Left, Left, Left, Right, Left, Left], style);
    let heads = ["run", "profile", "host", "wall", "status", "metrics"];
    grid.row(heads.iter().map(|h| Cell::ink(*h, Ink::Strong)).collect());
    for run in runs {
        let ink = if run.status == RunStatus::Complete { Ink::Plain } else { Ink::Warning };
        let started = if style.width < 100 { String::new() } else { format!("  {}", minute(&run.started)) };
        let host = if run.host.is_empty() { NONE } else { &run.host };
        grid.row(vec![
            Cell::new(format!("{}{started}", run.run)),
            Cell::new(run.profile.clone()),
            Cell::new(style.cut(&style.text(host), 20)),
            Cell::new(run.wall_s.map_or(NONE.to_owned(), units::wall)),
            Cell::ink(run.status.word(), ink),
            Cell::new(counts(&run.states)),
        ]);
    }
    grid.render()
}

/// `2026-11-21 07:38` of an RFC 3339 time; the id tells the seconds.
pub(crate) fn minute(started: &str) -> String {
    match (started.get(..10), started.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time}"),
        _ => started.to_owned(),
    }
}

/// `120 ok, 3 noisy`.
fn counts(states: &StateCounts) -> String {
    states.0.iter().map(|(state, n)| format!("{n} {}", state.word())).collect::<Vec<_>>().join(", ")
}

/// The runs as a JSON array.
pub fn runs_json(runs: &[RunLine]) -> String {
    pretty(&runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_model::State;

    fn history() -> Vec<RunLine> {
        let states = |counts: &[(State, u64)]| StateCounts(counts.to_vec());
        let line = |run: &str, states, wall_s, status| RunLine {
            run: run.to_owned(),
            started: format!("{}-{}-{}T07:38:12Z", &run[..4], &run[4..6], &run[6..8]),
            profile: "standard".to_owned(),
            host: "node17".to_owned(),
            states,
            wall_s,
            status,
        };
        vec![
            line(
                "20261121T073812Z-5f3a",
                states(&[(State::Ok, 121), (State::Noisy, 4), (State::Unsupported, 6), (State::Failed, 1)]),
                Some(58.94),
                RunStatus::Complete,
            ),
            line("20261120T073812Z-00c1", states(&[(State::Ok, 40)]), Some(21.2), RunStatus::Interrupted),
            RunLine {
                profile: "rigorous".to_owned(),
                host: String::new(),
                ..line("20261119T073812Z-9e42", states(&[]), None, RunStatus::Killed)
            },
        ]
    }

    #[test]
    fn at_80_and_120_columns() {
        insta::assert_snapshot!(runs(&history(), &Style::plain(80)));
        insta::assert_snapshot!(runs(&history(), &Style::plain(120)));
        assert_eq!(runs(&[], &Style::plain(80)), "no runs yet\n");
    }

    #[test]
    fn as_json() {
        insta::assert_snapshot!(runs_json(&history()[..1]));
    }
}
