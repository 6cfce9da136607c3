//! A judgement as Markdown.

use std::fmt::Write;

use groma_analysis::fleet::Verdict;
use groma_model::plain;

use super::FleetReport;
use super::says::{Names, answer, how, name, sentence, split, times};

/// Rows of hosts that are neither well nor suspect.
const MAX_OTHER_HOSTS: usize = 50;

pub(super) fn markdown(report: &FleetReport<'_>) -> String {
    let names = Names::of(&report.fleet.metrics);
    let mut out = format!("**{}**\n", cell(&answer(report)));
    let splits = &report.judgement.grouping.splits;
    if !splits.is_empty() {
        out += "\nWhat splits the hosts:\n\n";
        splits.iter().for_each(|one| _ = writeln!(out, "- {}", cell(&split(report, one))));
    }
    let shown = report.judgement.hosts.iter().filter(|judged| judged.verdict != Verdict::Well);
    let others = report.judgement.hosts.len() - report.judgement.count(Verdict::Well);
    let suspects = report.judgement.count(Verdict::Suspect);
    let most = suspects + MAX_OTHER_HOSTS;
    if others > 0 {
        out += "\n| host | verdict | what it looks like | slowest |\n| --- | --- | --- | --- |\n";
        for judged in shown.take(most) {
            let slowest = judged.findings.first();
            let slowest = slowest.map(|found| format!("{} {}", names.subject(report, found.subject), times(found)));
            let says =
                if judged.verdict == Verdict::Suspect { sentence(report, &names, judged) } else { String::new() };
            let cells = [name(report, judged), judged.verdict.word(), &says, &slowest.unwrap_or_default()].map(cell);
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        if others > most {
            let _ = writeln!(out, "\nand {} more.", others - most);
        }
    }
    if !report.notes.is_empty() {
        out += "\nInput:\n\n";
        report.notes.iter().for_each(|note| _ = writeln!(out, "- {}", cell(note)));
    }
    let _ = writeln!(out, "\n{}", cell(&how(report)));
    out
}

/// Text from outside as text of a cell: no markup, no end of the cell.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in plain(text).chars() {
        if "\\`*_[]<>|#&~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
