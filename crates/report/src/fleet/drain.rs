//! A line for each suspect: its name, a space, and a reason for whoever drains it.

use groma_analysis::fleet::{Verdict, is_plain_name};

use super::FleetReport;
use super::says::{Names, name, sentence};

/// The most characters of a reason: what a line of `sinfo -R` and a label still show.
const LONGEST_REASON: usize = 160;

/// The lines. Reasons hold letters, digits and plain punctuation only, so that they can be quoted
/// in any shell; a host whose name holds anything else is left to the other formats.
pub(super) fn drain(report: &FleetReport<'_>) -> String {
    let names = Names::of(&report.fleet.metrics);
    let suspects = report.judgement.hosts.iter().filter(|judged| judged.verdict == Verdict::Suspect);
    let line = |judged| {
        let host = name(report, judged);
        let reason = format!("groma: {}", sentence(report, &names, judged));
        is_plain_name(host).then(|| format!("{host} {}\n", reason_of(&reason)))
    };
    suspects.filter_map(line).collect()
}

fn reason_of(text: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || " -_.,:;()/%+=".contains(c);
    let plain: String = text.chars().map(|c| if is_kept(c) { c } else { '_' }).take(LONGEST_REASON).collect();
    plain.trim_end().to_owned()
}
