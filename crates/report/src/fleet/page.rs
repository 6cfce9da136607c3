//! A judgement on a terminal. The first line is the answer.

use std::fmt::Write;

use groma_analysis::fleet::groups::Basis;
use groma_analysis::fleet::{Judged, Verdict};

use super::FleetReport;
use super::says::{Names, answer, beside, confirmed, how, judged_by, name, sentence, split, times, two, values};
use crate::Style;
use crate::style::{Ink, wrap_behind};

/// The findings of a suspect that are shown, unless all are asked for.
const MAX_FINDINGS: usize = 4;
/// The hosts of each verdict but the suspects.
const MAX_HOSTS: usize = 20;

pub(super) fn page(report: &FleetReport<'_>, style: &Style) -> String {
    let names = Names::of(&report.fleet.metrics);
    let mut out = Page { out: String::new(), style };
    let any = report.judgement.count(Verdict::Suspect) > 0;
    out.paragraph("", &answer(report), if any { Ink::Bad } else { Ink::Strong });
    let splits = &report.judgement.grouping.splits;
    if !splits.is_empty() {
        out.title("What splits the hosts that have one CPU model");
        splits.iter().for_each(|one| out.paragraph("  ", &split(report, one), Ink::Plain));
    }
    let of = |verdict: Verdict| report.judgement.hosts.iter().filter(move |judged| judged.verdict == verdict);
    if any {
        out.title("Suspects");
        of(Verdict::Suspect).for_each(|judged| suspect(report, &names, judged, &mut out));
    }
    if of(Verdict::Noisy).next().is_some() {
        out.title("Noisy: measured too imprecisely to tell; measure again");
        out.some(of(Verdict::Noisy), |judged| {
            let host = &report.fleet.hosts[judged.host];
            let more = confirmed(judged).or_else(|| host.failed.first().cloned());
            format!("{}{}", host.name, more.map(|more| format!(": {more}")).unwrap_or_default())
        });
    }
    if of(Verdict::Unjudged).next().is_some() {
        out.title("Not judged");
        out.some(of(Verdict::Unjudged), |judged| {
            let text = beside(report, &names, judged);
            format!("{}: {}", name(report, judged), text.unwrap_or_else(|| "no value in common".to_owned()))
        });
    }
    drifts(report, &names, &mut out);
    let remarked: Vec<&Judged> = report.judgement.hosts.iter().filter(|judged| !judged.remarks.is_empty()).collect();
    if !remarked.is_empty() {
        out.title("Remarks");
        out.some(remarked.into_iter(), |judged| {
            let says: Vec<&str> = judged.remarks.iter().map(|fit| fit.says.as_str()).collect();
            format!("{}: {}", name(report, judged), says.join("; "))
        });
    }
    if !report.notes.is_empty() {
        out.title("Input");
        report.notes.iter().for_each(|note| out.paragraph("  ", note, Ink::Warning));
    }
    out.out.push('\n');
    out.paragraph("", &how(report), Ink::Faint);
    out.out
}

fn suspect(report: &FleetReport<'_>, names: &Names, judged: &Judged, out: &mut Page<'_>) {
    let host = name(report, judged);
    out.paragraph("  ", &format!("{host}: {}.", sentence(report, names, judged)), Ink::Strong);
    if let Some(text) = judged_by(report, judged) {
        out.paragraph("    ", &text, Ink::Plain);
    }
    let most = if out.style.all { usize::MAX } else { MAX_FINDINGS };
    for found in judged.findings.iter().take(most) {
        let values = values(report, judged, found).map(|values| format!(": {values}")).unwrap_or_default();
        let text = format!("{} {}{values}", names.subject(report, found.subject), times(found));
        out.paragraph("    ", &text, Ink::Plain);
    }
    let more = judged.findings.len().saturating_sub(most);
    if more > 0 {
        out.paragraph("    ", &format!("and {more} more (--all)"), Ink::Faint);
    }
    if let Some(text) = confirmed(judged) {
        out.paragraph("    ", &text, Ink::Plain);
    }
    if let Some(fit) = &judged.fit {
        let lines = [("confirm there: ", &fit.confirm), ("next: ", &fit.next)];
        for (what, text) in lines.into_iter().filter(|(_, text)| !text.is_empty()) {
            out.paragraph("    ", &format!("{what}{text}"), Ink::Plain);
        }
    }
}

fn drifts(report: &FleetReport<'_>, names: &Names, out: &mut Page<'_>) {
    let groups = &report.judgement.grouping.groups;
    if !report.has_past || groups.iter().all(|group| group.basis != Basis::Itself) {
        return;
    }
    out.title("Since the earlier judgement");
    let mut any = false;
    for (group, drifts) in groups.iter().zip(&report.judgement.drifts) {
        for drift in drifts {
            any = true;
            let hosts = group.hosts.len();
            let text = match drift.times {
                slower if slower > 1.0 => format!("{} times as slow", two(slower)),
                faster => format!("{} times as fast", two(1.0 / faster)),
            };
            let text = format!("the group of {hosts} hosts: {} {text}", names.metric(drift.metric));
            out.paragraph("  ", &text, Ink::Warning);
        }
    }
    if !any {
        out.paragraph("  ", "no group has changed as a whole", Ink::Plain);
    }
}

struct Page<'s> {
    out: String,
    style: &'s Style,
}

impl Page<'_> {
    fn title(&mut self, text: &str) {
        let _ = writeln!(self.out, "\n{}", self.style.paint(Ink::Strong, &self.style.text(text)));
    }

    fn paragraph(&mut self, indent: &str, text: &str, ink: Ink) {
        for line in wrap_behind(indent, &self.style.text(text), self.style.width).lines() {
            let _ = writeln!(self.out, "{}", self.style.paint(ink, line));
        }
    }

    /// A line for each of the first hosts, and how many more there are.
    fn some<'j>(&mut self, hosts: impl Iterator<Item = &'j Judged>, line: impl Fn(&Judged) -> String) {
        let hosts: Vec<&Judged> = hosts.collect();
        let most = if self.style.all { usize::MAX } else { MAX_HOSTS };
        hosts.iter().take(most).for_each(|judged| self.paragraph("  ", &line(judged), Ink::Plain));
        if hosts.len() > most {
            self.paragraph("  ", &format!("and {} more (--all)", hosts.len() - most), Ink::Faint);
        }
    }
}
