//! Runs of the store as the verbs that list and change them show them.

use groma_harness::model::{StateCounts, Tag};
use groma_report::{self as report, RunLine};
use groma_runner::identity;
use groma_store::{RunRow, RunStatus};
use std::collections::BTreeSet;

/// A run as the view of runs takes it.
pub(super) fn line(row: RunRow) -> RunLine {
    RunLine {
        status: match row.status {
            RunStatus::Complete => report::RunStatus::Complete,
            RunStatus::Interrupted => report::RunStatus::Interrupted,
            RunStatus::Running if is_being_written(&row) => report::RunStatus::Running,
            RunStatus::Running | RunStatus::Killed => report::RunStatus::Killed,
        },
        run: row.run,
        started: row.started,
        groma: row.groma,
        profile: row.profile,
        host: row.host.unwrap_or_default(),
        kernel: row.kernel.unwrap_or_default(),
        tags: row.tags,
        asked: request_of(&row.args),
        args: row.args,
        points: row.points,
        rounds: row.rounds,
        states: row.end.as_ref().map_or_else(StateCounts::default, |e| e.states.clone()),
        wall_s: row.end.as_ref().map(|e| e.wall_s),
    }
}

/// Whether a process is still writing the run.
pub(super) fn is_being_written(row: &RunRow) -> bool {
    row.end.is_none() && identity::is_alive(&row.owner)
}

/// Joins tags for a message.
pub(super) fn tag_list(tags: &BTreeSet<Tag>) -> String {
    let tags: Vec<&str> = tags.iter().map(Tag::as_str).collect();
    if tags.is_empty() { "none".to_owned() } else { tags.join(", ") }
}

/// Options of the output, with the number of their values.
const OF_OUTPUT: [(&str, usize); 9] = [
    ("--store", 1),
    ("--no-store", 0),
    ("--out", 1),
    ("-o", 1),
    ("--json", 0),
    ("--samples", 0),
    ("--tag", 1),
    ("--label", 1),
    ("--all", 0),
];

/// Options with which a run without a selection is still a survey.
const OF_SURVEY: [&str; 8] =
    ["--profile", "--budget", "--seed", "--rounds", "--round-length", "--deadline", "--require", "--work-dir"];

/// The request of a run from its command line: without options of the output, and with `survey` if
/// it selects nothing.
fn request_of(args: &[String]) -> String {
    let mut rest = args.iter().map(String::as_str);
    let verb = rest.next().filter(|verb| *verb != "run");
    let mut words: Vec<&str> = verb.into_iter().collect();
    while let Some(word) = rest.next() {
        let is_it = |(name, _): &&(&str, usize)| word.split('=').next() == Some(name);
        // `--all` also selects: with it the run is not a survey.
        match OF_OUTPUT.iter().find(is_it).filter(|(name, _)| *name != "--all") {
            Some((_, values)) if !word.contains('=') => rest.by_ref().take(*values).for_each(drop),
            Some(_) => {}
            None => words.push(word),
        }
    }
    let mut left = words.iter();
    let mut is_survey = verb.is_none();
    while let Some(word) = left.next() {
        let (name, value) = word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
        let value = value.or_else(|| left.next().copied());
        is_survey &= OF_SURVEY.contains(&name) && !matches!(value, Some("complete" | "rigorous"));
    }
    if is_survey {
        words.insert(0, "survey");
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_leaves_out_options_of_the_output() {
        for (args, expected) in [
            ("run", "survey"),
            ("run --store x.db --no-store --out=y -o z --json --samples --tag a --label=b", "survey"),
            ("run --profile quick --budget=5s", "survey --profile quick --budget=5s"),
            ("run --profile rigorous", "--profile rigorous"),
            ("run --profile=complete", "--profile=complete"),
            ("run --all", "--all"),
            ("run ipc mem --store x.db --budget 30s", "ipc mem --budget 30s"),
            ("run --budget 30s ipc", "--budget 30s ipc"),
            ("run -P 1,2", "-P 1,2"),
            ("hammer 16 10 -o x", "hammer 16 10"),
            ("run --tag", "survey"),
            ("", "survey"),
        ] {
            let words: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
            assert_eq!(request_of(&words), expected, "{args}");
        }
    }
}
