//! The sentences of a judgement.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use groma_analysis::fleet::finding::{Finding, Subject};
use groma_analysis::fleet::groups::{Basis, Difference, Group, Split};
use groma_analysis::fleet::{Confirmed, Judged, Metric, Verdict, value_of};
use groma_model::{Placement, Quantity, Unit};

use super::FleetReport;
use crate::units::{self, Scale, counted};

/// The most hosts that a line names.
const MAX_NAMED: usize = 8;
/// The most characters of a value of a fact.
const LONGEST_VALUE: usize = 70;

/// The names of metrics, short: an id, and what tells it from others of the same id.
pub(super) struct Names(Vec<String>);

impl Names {
    pub(super) fn of(metrics: &[Metric]) -> Names {
        // The texts of each parameter, by id.
        let mut texts: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
        for metric in metrics {
            for (name, value) in &metric.params.0 {
                texts.entry((&metric.id, name)).or_default().insert(value.to_string());
            }
        }
        let text = |metric: &Metric| {
            let differing = metric.params.0.iter().filter(|(name, _)| texts[&(&*metric.id, &**name)].len() > 1);
            let shown = differing.map(|(name, _)| {
                let text = groma_analysis::point::text_of(&metric.params, &metric.params_text, name);
                format!(" {name}={text}")
            });
            format!("{}{}{}", metric.id, shown.collect::<String>(), place(metric))
        };
        Names(metrics.iter().map(text).collect())
    }

    pub(super) fn metric(&self, metric: u32) -> &str {
        &self.0[metric as usize]
    }

    pub(super) fn subject(&self, report: &FleetReport<'_>, subject: Subject) -> String {
        match subject {
            Subject::Metric(metric) => self.metric(metric).to_owned(),
            Subject::Area(area) => format!("{} (all together)", report.signatures.areas[area].name),
        }
    }
}

/// Where a metric ran, if not on one CPU.
fn place(metric: &Metric) -> String {
    match &metric.placement {
        Placement::Pinned | Placement::SameCpu | Placement::Free => String::new(),
        Placement::Compact | Placement::Spread => format!(" on {} CPUs", metric.workers),
        Placement::On(one) if metric.workers > 1 => format!(" on {} CPUs of {one}", metric.workers),
        other => format!(" {other}"),
    }
}

/// How values of a metric are displayed.
fn scale(metric: &Metric) -> Scale {
    match metric.unit {
        Unit::Seconds => Scale::Time,
        Unit::SecondsPerGigabyte => Scale::TimePerGigabyte,
        Unit::BytesPerSecond => Scale::Bandwidth,
        Unit::PerSecond if metric.id.contains("frequenc") => Scale::Frequency,
        Unit::PerSecond => Scale::Events,
        Unit::Bytes => Scale::Size,
        Unit::Joules => Scale::Energy,
        Unit::Watts => Scale::Power,
        Unit::One if metric.quantity == Quantity::Count => Scale::Count,
        Unit::One => Scale::Ratio,
    }
}

/// `3 of 48 hosts are suspect: n07, n12, n31. 1 is noisy, 44 are well.`
pub(super) fn answer(report: &FleetReport<'_>) -> String {
    let judgement = report.judgement;
    let all = judgement.hosts.len();
    let hosts = counted(all, "host");
    let [suspect, noisy, unjudged, well] = Verdict::ALL.map(|verdict| judgement.count(verdict));
    let first = match suspect {
        0 if well == all => return format!("All well: {hosts}, none slower than its equals."),
        0 if unjudged == all => return format!("Nothing judged: {hosts}, and too few alike to tell."),
        0 => format!("No host is suspect, of {hosts}."),
        _ => {
            let names = judgement.hosts.iter().filter(|judged| judged.verdict == Verdict::Suspect);
            let names: Vec<&str> = names.map(|judged| name(report, judged)).collect();
            format!("{suspect} of {hosts} {} suspect: {}.", are(suspect), listed(&names))
        }
    };
    let rest = [(noisy, "noisy"), (unjudged, "not judged"), (well, "well")];
    let rest = rest.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {} {what}", are(*n)));
    let rest = rest.collect::<Vec<_>>().join(", ");
    if rest.is_empty() { first } else { format!("{first} {rest}.") }
}

const fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

pub(super) fn name<'r>(report: &FleetReport<'r>, judged: &Judged) -> &'r str {
    &report.fleet.hosts[judged.host].name
}

/// Names with commas, and how many more there are.
pub(super) fn listed(names: &[&str]) -> String {
    let some = names.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMED) {
        0 => some,
        more => format!("{some} and {more} more"),
    }
}

/// How the hosts were judged, and with which error.
pub(super) fn how(report: &FleetReport<'_>) -> String {
    let groups = &report.judgement.grouping.groups;
    let own: Vec<usize> =
        groups.iter().filter(|group| group.basis == Basis::Itself).map(|group| group.hosts.len()).collect();
    let sizes: Vec<String> = own.iter().take(MAX_NAMED).map(usize::to_string).collect();
    let more = own.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let mut text = match own.len() {
        0 => "No five hosts are alike".to_owned(),
        1 => format!("One group of {} hosts", sizes[0]),
        n if own.iter().all(|size| *size == own[0]) => format!("{n} groups of {} hosts each", sizes[0]),
        n => format!("{n} groups of {}{more} hosts", sizes.join(", ")),
    };
    let alone: Vec<(usize, usize)> =
        groups.iter().filter_map(|group| Some((group.hosts.len(), past(group)?))).collect();
    for (hosts, runs) in alone.iter().take(MAX_NAMED) {
        let _ =
            write!(text, "; {} {} judged against the baseline of {runs} runs", counted(*hosts, "host"), are(*hosts));
    }
    text += ". ";
    text += match (own.len(), alone.len()) {
        (0, 0) => return text.trim_end().to_owned(),
        (0, _) => "A judgement of hosts that are well names one by chance in at most 5 % of cases",
        _ => {
            "Of the hosts that are named, at most 5 % are named by chance (Benjamini and Hochberg, \
             over hosts)"
        }
    };
    let least = units::percent(report.at_least);
    text + &format!("; what counts are slow-downs from {least} on, beyond how the hosts of a group differ.")
}

/// The number of runs of the baseline that a group is judged against, if it is.
fn past(group: &Group) -> Option<usize> {
    if let Basis::Past(runs) = group.basis { Some(runs) } else { None }
}

/// What a host is judged by if not by its own group, and the settings that differ.
pub(super) fn judged_by(report: &FleetReport<'_>, judged: &Judged) -> Option<String> {
    let groups = &report.judgement.grouping.groups;
    let group = &groups[judged.group];
    let by = match group.basis {
        Basis::Itself | Basis::References => return None,
        Basis::Group(other) => {
            format!("judged beside the {} hosts that it is most like", groups[other].hosts.len())
        }
        Basis::Past(runs) => format!("judged against the baseline of {runs} runs"),
    };
    let differs: Vec<String> = group.differs.iter().map(difference).collect();
    Some(if differs.is_empty() { by } else { format!("{by}: {}", differs.join("; ")) })
}

/// `cpu.governor: performance on 47 hosts, powersave on 1 (n07)`
pub(super) fn split(report: &FleetReport<'_>, split: &Split) -> String {
    if split.is_ignored {
        return format!("{}: {} values, which separate no groups", split.key, split.values.len());
    }
    let mut values = Vec::new();
    for (i, (text, (_, hosts))) in shortened(split).iter().zip(&split.values).enumerate() {
        let names: Vec<&str> = hosts.iter().map(|host| report.fleet.hosts[*host].name.as_str()).collect();
        let on = if i == 0 { counted(hosts.len(), "host") } else { format!("{} ({})", hosts.len(), listed(&names)) };
        values.push(format!("{text} on {on}"));
    }
    format!("{}: {}", split.key, values.join(", "))
}

/// The values of a split. Of long lists of words, only those in which they differ.
fn shortened(split: &Split) -> Vec<String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".to_owned());
    let whole: Vec<String> = split.values.iter().map(|(value, _)| text(value)).collect();
    if whole.iter().all(|value| value.chars().count() <= LONGEST_VALUE) {
        return whole;
    }
    let words: Vec<BTreeSet<&str>> = whole.iter().map(|value| value.split_whitespace().collect()).collect();
    let is_common = |word: &&&str| words.iter().all(|other| other.contains(**word));
    let own = |words: &BTreeSet<&str>| {
        let own: Vec<&str> = words.iter().filter(|word| !is_common(word)).copied().collect();
        if own.is_empty() { "without these".to_owned() } else { cut(&own.join(" ")) }
    };
    words.iter().map(own).collect()
}

fn cut(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST_VALUE).collect();
    if cut.len() < text.len() { cut + "…" } else { cut }
}

/// `cpu.governor is powersave here, performance there`
fn difference(difference: &Difference) -> String {
    let text = |value: &Option<String>| cut(value.as_deref().unwrap_or("not known"));
    format!("{} is {}, not {}", difference.key, text(&difference.here), text(&difference.there))
}

/// The one sentence on a suspect, without its name: what a signature says, else its slowest value.
pub(super) fn sentence(report: &FleetReport<'_>, names: &Names, judged: &Judged) -> String {
    if let Some(fit) = &judged.fit {
        return format!("{}: {}", fit.name, fit.says);
    }
    match judged.findings.first() {
        Some(found) => {
            let more = judged.findings.len() - 1;
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            format!("{} {}{more}", names.subject(report, found.subject), times(found))
        }
        None => judged.verdict.word().to_owned(),
    }
}

/// `1.32 times as slow (1.30 to 1.34)`
pub(super) fn times(found: &Finding) -> String {
    let [low, high] = found.interval;
    format!("{} times as slow ({} to {})", two(found.times), two(low), two(high))
}

/// A ratio with three digits.
pub(super) fn two(ratio: f64) -> String {
    units::significant(ratio, 3)
}

/// The value of a finding and that of the group: `2.41 GHz, 3.20 GHz on the others`. None for
/// areas.
pub(super) fn values(report: &FleetReport<'_>, judged: &Judged, found: &Finding) -> Option<String> {
    let Subject::Metric(index) = found.subject else { return None };
    let metric = &report.fleet.metrics[index as usize];
    let own = report.fleet.hosts[judged.host].value(index)?.value;
    let usual = report.judgement.usual_of(judged.group)?.subjects.get(&found.subject)?;
    let text = |value: f64| units::value(value, scale(metric), None);
    let there = match past(&report.judgement.grouping.groups[judged.group]) {
        Some(_) => "in the baseline",
        None => "on the others",
    };
    Some(format!("{}, {} {there}", text(own), text(value_of(metric, usual.crowd.center))))
}

/// What a fresh run said.
pub(super) fn confirmed(judged: &Judged) -> Option<String> {
    match &judged.confirmed {
        Confirmed::Unasked => None,
        Confirmed::Yes => Some("confirmed by fresh runs".to_owned()),
        Confirmed::No => Some("was slow, and is not in a fresh run".to_owned()),
        Confirmed::Failed(why) => Some(format!("not confirmed: {why}")),
    }
}

/// How a host without equals compares with the references.
pub(super) fn beside(report: &FleetReport<'_>, names: &Names, judged: &Judged) -> Option<String> {
    let beside = judged.beside.as_ref()?;
    if beside.compared == 0 {
        return Some("fewer than five hosts are like it, and the references have none of its values".to_owned());
    }
    let worse = match &beside.worse[..] {
        [] => "none is worse than on all of them".to_owned(),
        [(metric, times), rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            let slowest = names.metric(*metric);
            format!("worse than on all of them: {slowest} ({} times the slowest){more}", two(*times))
        }
    };
    let values = counted(beside.compared, "value");
    let _ = report;
    Some(format!("fewer than five hosts are like it; of {values} that the reference machines have too, {worse}"))
}
