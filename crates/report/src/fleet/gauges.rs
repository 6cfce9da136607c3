//! A judgement for Prometheus: a verdict for each host, and the factors of what is slow.

use groma_analysis::fleet::{Judged, Verdict};

use super::FleetReport;
use super::says::{Names, name};
use crate::openmetrics::{OpenMetrics, labels};

pub(super) fn gauges(report: &FleetReport<'_>) -> String {
    let names = Names::of(&report.fleet.metrics);
    let mut out = OpenMetrics::default();
    let counts =
        Verdict::ALL.map(|verdict| (labels(&[("verdict", verdict.word())]), report.judgement.count(verdict) as f64));
    out.gauge("groma_fleet_hosts", "", "Hosts with this verdict.", &counts);
    let verdict = |judged: &Judged| {
        let signature = judged.fit.as_ref().map_or("", |fit| &fit.name);
        let pairs = [("host", name(report, judged)), ("verdict", judged.verdict.word()), ("signature", signature)];
        (labels(&pairs), 1.0)
    };
    let all: Vec<(String, f64)> = report.judgement.hosts.iter().map(verdict).collect();
    out.gauge("groma_fleet_host_verdict", "", "1; the labels say what the host is.", &all);
    let mut slow = Vec::new();
    for judged in report.judgement.hosts.iter().filter(|judged| judged.verdict == Verdict::Suspect) {
        for found in &judged.findings {
            let metric = names.subject(report, found.subject);
            slow.push((labels(&[("host", name(report, judged)), ("metric", &metric)]), found.times));
        }
    }
    let help = "How many times as slow as the median of its group, for what is slow on a suspect.";
    out.gauge("groma_fleet_host_slowdown_ratio", "ratio", help, &slow);
    out.end()
}
