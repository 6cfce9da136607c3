//! A judgement as one JSON object. A later judgement reads its groups as what was usual then.

use groma_analysis::fleet::drift::Drift;
use groma_analysis::fleet::finding::Subject;
use groma_analysis::fleet::groups::{Basis, settings};
use groma_analysis::fleet::outliers::Usual;
use groma_analysis::fleet::{Judged, Verdict, value_of};
use serde_json::{Value, json};

use super::FleetReport;
use super::says::{Names, answer, confirmed, sentence};
use crate::json::pretty;

pub(super) fn json(report: &FleetReport<'_>) -> String {
    let names = Names::of(&report.fleet.metrics);
    let judgement = report.judgement;
    let counts = Verdict::ALL.map(|verdict| (verdict.word().to_owned(), json!(judgement.count(verdict))));
    let groups: Vec<Value> =
        (0..judgement.grouping.groups.len()).map(|group| of_group(report, &names, group)).collect();
    let splits: Vec<Value> = judgement
        .grouping
        .splits
        .iter()
        .map(|split| {
            let value = |(value, hosts): &(Option<String>, Vec<usize>)| {
                json!({ "value": value, "hosts": named(report, hosts) })
            };
            json!({
                "family": split.family,
                "fact": split.key,
                "separates": !split.is_ignored,
                "values": split.values.iter().map(value).collect::<Vec<_>>(),
            })
        })
        .collect();
    pretty(&json!({
        "kind": "fleet judgement",
        "schema": groma_model::SCHEMA,
        "groma": report.groma,
        "answer": answer(report),
        "at_least": report.at_least,
        "counts": serde_json::Map::from_iter(counts),
        "hosts": judgement.hosts.iter().map(|judged| of_host(report, &names, judged)).collect::<Vec<_>>(),
        "splits": splits,
        "groups": groups,
        "notes": report.notes,
    }))
}

fn named<'r>(report: &FleetReport<'r>, hosts: &[usize]) -> Vec<&'r str> {
    hosts.iter().map(|host| report.fleet.hosts[*host].name.as_str()).collect()
}

fn of_host(report: &FleetReport<'_>, names: &Names, judged: &Judged) -> Value {
    let host = &report.fleet.hosts[judged.host];
    let is_suspect = judged.verdict == Verdict::Suspect;
    let finding = |found: &groma_analysis::fleet::finding::Finding| {
        let key = match found.subject {
            Subject::Metric(metric) => Some(&report.fleet.metrics[metric as usize].key),
            Subject::Area(_) => None,
        };
        json!({
            "metric": names.subject(report, found.subject),
            "key": key,
            "times": found.times,
            "interval": found.interval,
            "p": found.p,
        })
    };
    json!({
        "host": host.name,
        "run": host.run,
        "started": host.started,
        "group": judged.group,
        "verdict": judged.verdict.word(),
        "signature": judged.fit.as_ref().map(|fit| &fit.name),
        "sentence": is_suspect.then(|| sentence(report, names, judged)),
        "confirm": judged.fit.as_ref().map(|fit| &fit.confirm),
        "next": judged.fit.as_ref().map(|fit| &fit.next),
        "confirmed": confirmed(judged),
        "findings": judged.findings.iter().map(finding).collect::<Vec<_>>(),
        "remarks": judged.remarks.iter().map(|fit| &fit.says).collect::<Vec<_>>(),
        "failed": host.failed,
    })
}

fn of_group(report: &FleetReport<'_>, names: &Names, index: usize) -> Value {
    let judgement = report.judgement;
    let group = &judgement.grouping.groups[index];
    let basis = match group.basis {
        Basis::Itself => json!("itself"),
        Basis::Group(other) => json!(other),
        Basis::Past(_) => json!("baseline"),
        Basis::References => json!("references"),
    };
    let usual = |usual: &Usual| {
        let crowd = &usual.crowd;
        json!({ "center": crowd.center, "spread": crowd.spread, "count": crowd.count, "error": usual.error })
    };
    let (mut metrics, mut areas) = (Vec::new(), Vec::new());
    // What was usual in a baseline stays there: it is not known of these hosts.
    let own = (group.basis == Basis::Itself).then(|| &judgement.usual[index].subjects);
    for (subject, of) in own.into_iter().flatten() {
        let mut json = usual(of);
        match subject {
            Subject::Metric(metric) => {
                let known = &report.fleet.metrics[*metric as usize];
                json["metric"] = json!(names.metric(*metric));
                json["key"] = json!(known.key);
                json["value"] = json!(value_of(known, of.crowd.center));
                metrics.push(json);
            }
            Subject::Area(area) => {
                json["area"] = json!(report.signatures.areas[*area].name);
                areas.push(json);
            }
        }
    }
    let drift = |one: &Drift| json!({ "metric": names.metric(one.metric), "times": one.times, "p": one.p });
    json!({
        "kind": judgement.grouping.families[group.family],
        "hosts": named(report, &group.hosts),
        "runs": group.hosts.len(),
        "judged_by": basis,
        "settings": settings(&report.fleet.hosts, &group.hosts),
        "metrics": metrics,
        "areas": areas,
        "drift": judgement.drifts[index].iter().map(drift).collect::<Vec<_>>(),
    })
}
