//! Judgements of made-up fleets with fixed seeds: what is found, and what is not taken for a fault.

use groma_model::{CpuLimit, Fact, Params, Quantity, Record, RunHeader};
use groma_stats::Rng;

use super::drift::Past;
use super::finding::{Finding, Subject};
use super::groups::{Basis, Difference, settings};
use super::outliers::Usual;
use super::references::known_values;
use super::signatures::{Example, Signatures};
use super::*;
use crate::fixtures::{header, record};

/// What a host has: `metric` is slower by the factor, and measured with errors `wide` times as
/// large.
#[derive(Clone, Copy)]
struct Odd {
    host: usize,
    metric: usize,
    factor: f64,
    wide: f64,
}

/// Metrics of one area of the signatures, and then metrics of others.
const METRICS: [(&str, Quantity); 8] = [
    ("cpu.frequency", Quantity::Rate),
    ("cpu.branch", Quantity::Latency),
    ("cpu.atomic", Quantity::Latency),
    ("syscall.getppid", Quantity::Latency),
    ("vdso.clock_gettime", Quantity::Latency),
    ("disk.read", Quantity::Bandwidth),
    ("vm.fault", Quantity::Latency),
    ("net.tcp_bandwidth", Quantity::Bandwidth),
];

/// One value in so many is disturbed in a noisy fleet: slower by up to some spreads.
const DISTURBED: u64 = 20;

/// A run of a host.
fn run(name: &str, host: usize, (spread, noisy): (f64, bool), odds: &[Odd], rng: &mut Rng) -> (RunHeader, Vec<Record>) {
    let mut head = header();
    head.environment.facts = vec![Fact::new("host.name", name), Fact::new("cpu.model", "X")];
    let records = METRICS.iter().enumerate().map(|(metric, (id, quantity))| {
        let odd = odds.iter().find(|odd| odd.host == host && odd.metric == metric);
        let wide = odd.map_or(1.0, |odd| odd.wide);
        let disturbed = if noisy && rng.below(DISTURBED) == 0 { 2.0 * rng.normal().abs() } else { 0.0 };
        let mut cost = spread * (rng.normal() + disturbed);
        cost += odd.map_or(0.0, |odd| odd.factor.ln());
        let sign = if quantity.is_rate() { -1.0 } else { 1.0 };
        let mut record = record(id, *quantity, (sign * cost).exp());
        let half = 0.7 * spread * wide;
        let value = record.value.expect("a value");
        record.ci = Some([value * (-half).exp(), value * half.exp()]);
        record
    });
    (head, records.collect())
}

fn fleet(hosts: usize, spread: f64, odds: &[Odd], seed: u64) -> Fleet {
    fleet_with(hosts, (spread, false), odds, seed)
}

fn fleet_with(hosts: usize, spread: (f64, bool), odds: &[Odd], seed: u64) -> Fleet {
    let rng = Rng::new(seed);
    let mut fleet = Fleet::default();
    for host in 0..hosts {
        let (head, records) = run(&format!("n{host}"), host, spread, odds, &mut rng.fork(host as u64));
        fleet.add(&head, &records).expect("a host");
    }
    fleet
}

fn options() -> Options {
    Options { at_least: 0.05, signatures: Signatures::own(), references: HashMap::new(), past: Vec::new() }
}

/// The numbers of the hosts with a verdict.
fn hosts(judgement: &Judgement, verdict: Verdict) -> Vec<usize> {
    let mut hosts: Vec<usize> =
        judgement.hosts.iter().filter(|judged| judged.verdict == verdict).map(|judged| judged.host).collect();
    hosts.sort_unstable();
    hosts
}

/// The only group of a judgement, as a later one gets it.
fn past(fleet: &Fleet, judgement: &Judgement) -> Past {
    let (mut metrics, mut areas) = (HashMap::new(), HashMap::new());
    for (subject, usual) in &judgement.usual[0].subjects {
        let usual = Usual::earlier(usual.crowd, usual.error);
        match subject {
            Subject::Metric(metric) => metrics.insert(fleet.metrics[*metric as usize].key.clone(), usual),
            Subject::Area(area) => areas.insert(options().signatures.areas[*area].name.clone(), usual),
        };
    }
    Past {
        kind: judgement.grouping.families[0].clone(),
        hosts: fleet.hosts.iter().map(|host| host.name.clone()).collect(),
        runs: fleet.hosts.len(),
        settings: settings(&fleet.hosts, &judgement.grouping.groups[0].hosts),
        metrics,
        areas,
    }
}

const fn odd(host: usize, metric: usize, factor: f64) -> Odd {
    Odd { host, metric, factor, wide: 1.0 }
}

#[test]
fn equal_hosts_are_well_and_slow_ones_are_found() {
    let judged = judge(&fleet(2000, 0.01, &[], 1), &options());
    assert_eq!(hosts(&judged, Verdict::Suspect), [0; 0], "false alarms");
    assert!(judged.count(Verdict::Noisy) <= 20, "{} noisy", judged.count(Verdict::Noisy));
    // 20 of 2,000 hosts, one metric each, 10 % at a spread of 1 %.
    let odds: Vec<Odd> = (0..20).map(|i| odd(i * 100, i % METRICS.len(), 1.10)).collect();
    let found = hosts(&judge(&fleet(2000, 0.01, &odds, 2), &options()), Verdict::Suspect);
    let right = found.iter().filter(|host| *host % 100 == 0).count();
    assert!(right >= 19 && found.len() - right <= 2, "{found:?}");
}

/// A third of all hosts has a disturbed value: what that explains is not named, and a fault of half
/// as much again is.
#[test]
fn a_fleet_with_heavy_tails_names_less() {
    let noisy = |odds: &[Odd], seed: u64| {
        hosts(&judge(&fleet_with(2000, (0.01, true), odds, seed), &options()), Verdict::Suspect)
    };
    let odds: Vec<Odd> = (0..20).map(|i| odd(i * 100, i % METRICS.len(), 1.2)).collect();
    let (none, found) = (noisy(&[], 1), noisy(&odds, 2));
    let right = found.iter().filter(|host| *host % 100 == 0).count();
    assert!(none.len() <= 2 && right >= 19 && found.len() - right <= 10, "{none:?} {found:?}");
}

#[test]
fn only_what_is_slower_counts() {
    let faster = [odd(3, 0, 0.5), odd(4, 1, 0.5)];
    assert_eq!(judge(&fleet(40, 0.01, &faster, 3), &options()).count(Verdict::Well), 40);
    // A rate that halves and a time that doubles are the same.
    let slower = [odd(3, 0, 2.0), odd(4, 1, 2.0)];
    let judged = judge(&fleet(40, 0.01, &slower, 3), &options());
    assert_eq!(hosts(&judged, Verdict::Suspect), [3, 4]);
    let times: Vec<f64> = judged.hosts[..2].iter().map(|judged| judged.findings[0].times).collect();
    assert!(times.iter().all(|times| (times / 2.0).ln().abs() < 0.1), "{times:?}");
}

#[test]
fn what_is_too_small_to_matter_is_no_fault() {
    // 4 % beyond all doubt.
    let odds = [odd(7, 1, 1.04)];
    assert_eq!(judge(&fleet(100, 0.002, &odds, 4), &options()).count(Verdict::Suspect), 0);
    let strict = Options { at_least: 0.03, ..options() };
    assert_eq!(hosts(&judge(&fleet(100, 0.002, &odds, 4), &strict), Verdict::Suspect), [7]);
}

#[test]
fn a_host_that_is_only_noisy_is_not_slow() {
    let wide = Odd { host: 5, metric: 2, factor: 1.3, wide: 20.0 };
    let judged = judge(&fleet(60, 0.01, &[wide], 5), &options());
    assert_eq!((hosts(&judged, Verdict::Suspect), hosts(&judged, Verdict::Noisy)), (vec![], vec![5]));
}

#[test]
fn a_slow_host_of_five_is_found_and_four_are_not_judged() {
    let odds = [odd(2, 3, 1.5)];
    assert_eq!(hosts(&judge(&fleet(5, 0.01, &odds, 6), &options()), Verdict::Suspect), [2]);
    // Two references, one of which is as slow as the slow host.
    let machine = |factor: f64| {
        let mut record = record("syscall.getppid", Quantity::Latency, factor);
        record.ci = Some([factor * 0.99, factor * 1.01]);
        vec![record]
    };
    let beside = |worst: f64| {
        let options = Options { references: known_values(&[machine(1.0), machine(worst)]), ..options() };
        let judged = judge(&fleet(4, 0.01, &odds, 6), &options);
        assert_eq!(judged.count(Verdict::Unjudged), 4);
        let of = judged.hosts.iter().find(|judged| judged.host == 2).expect("the host");
        let beside = of.beside.clone().expect("a comparison");
        assert_eq!((beside.compared, judged.grouping.groups[0].basis), (1, Basis::References));
        beside.worse.len()
    };
    assert_eq!((beside(1.1), beside(1.6)), (1, 0));
}

/// Three metrics of the clock, each slower by 8 % at a spread of 2 %, are no outliers one by one.
#[test]
fn related_metrics_show_together_what_none_shows_alone() {
    let all: Vec<Odd> = (0..3).map(|metric| odd(8, metric, 1.09)).collect();
    let together = judge(&fleet(300, 0.02, &all, 9), &options());
    let judged = together.hosts.iter().find(|judged| judged.host == 8).expect("the host");
    assert_eq!(judged.verdict, Verdict::Suspect);
    assert!(judged.findings.iter().any(|found| matches!(found.subject, Subject::Area(_))), "{:?}", judged.findings);
    let one = judge(&fleet(300, 0.02, &all[..1], 9), &options());
    assert_eq!(one.count(Verdict::Suspect), 0);
}

/// Neither makes a value slower, because what is interrupted is measured again. The slowest value
/// of the host is not what the sentence is about.
#[test]
fn a_quota_and_a_neighbour_are_named() {
    let (quota, others) = (Some(CpuLimit { cpus: Some(0.5), held_back: 0.5 }), Some(0.5));
    for (limit, lost, expected) in
        [(quota, None, Some("quota")), (None, others, Some("neighbour")), (None, Some(0.1), None)]
    {
        let mut fleet = fleet(20, 0.01, &[], 31);
        let odds = if expected.is_some() { vec![odd(20, 0, 5.0)] } else { vec![] };
        let (mut head, records) = run("held", 20, (0.01, false), &odds, &mut Rng::new(5));
        (head.cpu_limit, head.noise_lost) = (limit, lost);
        fleet.add(&head, &records).expect("a host");
        let judged = judge(&fleet, &options());
        let named: Vec<_> = judged.hosts.iter().filter(|host| host.verdict == Verdict::Suspect).collect();
        assert_eq!(
            named.iter().map(|host| host.host).collect::<Vec<_>>(),
            if expected.is_some() { vec![20] } else { vec![] }
        );
        if let [host] = named[..] {
            let fit = host.fit.as_ref().expect("a signature");
            assert_eq!(Some(&*fit.name), expected);
            assert!(fit.says.contains("2.00 times"), "{}", fit.says);
        }
    }
}

#[test]
fn a_fresh_run_confirms_a_slow_host_and_clears_a_lucky_one() {
    let odds = [odd(11, 1, 1.3)];
    let mut fleet = fleet(60, 0.01, &odds, 10);
    let judged = judge(&fleet, &options());
    let suspect = judged.hosts[0].clone();
    assert_eq!((suspect.host, suspect.verdict), (11, Verdict::Suspect));
    let mut fresh = |odds: &[Odd]| {
        let (head, records) = run("n11", 11, (0.01, false), odds, &mut Rng::new(77));
        let host = fleet.host(&head, &records).expect("a host");
        is_confirmed(&judged, &suspect, &host, &options())
    };
    assert!(fresh(&odds) && !fresh(&[]));
    // Slow in something else is not what was found.
    assert!(!fresh(&[odd(11, 6, 1.3)]));
}

#[test]
fn a_whole_group_that_changed_is_no_outlier_and_is_reported() {
    let before = fleet(50, 0.01, &[], 12);
    let then = judge(&before, &options());
    let options = Options { past: vec![past(&before, &then)], ..options() };
    let all: Vec<Odd> = (0..50).map(|host| odd(host, 6, 1.2)).collect();
    let now = judge(&fleet(50, 0.01, &all, 13), &options);
    let ids: Vec<(u32, bool)> = now.drifts[0].iter().map(|drift| (drift.metric, drift.times > 1.15)).collect();
    assert_eq!((ids, now.count(Verdict::Suspect)), (vec![(6, true)], 0));
    assert_eq!(judge(&fleet(50, 0.01, &[], 14), &options).drifts[0], []);
    // 3 % is beyond chance, and matters to no one.
    let little: Vec<Odd> = (0..50).map(|host| odd(host, 6, 1.03)).collect();
    assert_eq!(judge(&fleet(50, 0.01, &little, 15), &options).drifts[0], []);
}

/// Alone, a host is named by chance in at most 5 % of judgements, whatever its baseline of eight
/// was, and one that is slower by twenty spreads is found.
#[test]
fn a_host_alone_is_judged_against_an_earlier_group() {
    let suspects = |odds: &[Odd], seed: u64| {
        let before = fleet(8, 0.01, &[], 10_000 + seed);
        let options = Options { past: vec![past(&before, &judge(&before, &options()))], ..options() };
        let judged = judge(&fleet(1, 0.01, odds, seed), &options);
        assert_eq!(judged.grouping.groups[0].basis, Basis::Past(8));
        judged.count(Verdict::Suspect)
    };
    let alarms: usize = (0..1000).map(|seed| suspects(&[], seed)).sum();
    let found: usize = (0..200).map(|seed| suspects(&[odd(0, 3, 1.20)], seed)).sum();
    assert!(alarms <= 50 && found >= 190, "{alarms} of 1,000; {found} of 200");
}

#[test]
fn an_earlier_group_of_another_kind_says_nothing() {
    let with = |kind: &str| {
        let before = fleet(60, 0.01, &[], 21);
        let mut past = past(&before, &judge(&before, &options()));
        past.kind[1] = kind.to_owned();
        let options = Options { past: vec![past], ..options() };
        let suspect = |seed| judge(&fleet(1, 0.01, &[odd(0, 3, 1.09)], seed), &options).count(Verdict::Suspect);
        (100..200).map(suspect).sum::<usize>()
    };
    let [same, other] = [with("X"), with("Y")];
    assert!(same >= 80 && other == 0, "{same} {other}");
}

/// What a signature asks for, and no more, is explained by it.
#[test]
fn every_signature_explains_its_own_example() {
    let signatures = Signatures::own();
    let mut fleet = Fleet::default();
    let (head, records) = run("n0", 0, (0.01, false), &[], &mut Rng::new(1));
    let host = fleet.host(&head, &records).expect("a host");
    let metrics: Vec<Metric> = signatures.examples().into_iter().map(metric).collect();
    let members = signatures.members(&metrics);
    let empty = signatures.areas.iter().zip(&members).filter(|(_, members)| members.is_empty());
    assert_eq!(empty.map(|(area, _)| area.name.as_str()).collect::<Vec<_>>(), [""; 0], "areas without metrics");
    let mut explained = 0;
    for signature in signatures.all.iter().filter(|signature| !signature.is_remark()) {
        let (slow, facts, differs) = signature.example();
        let findings: Vec<Finding> = slow
            .into_iter()
            .map(|area| Finding { subject: Subject::Area(area), times: 1.3, interval: [1.28, 1.32], p: 1e-6 })
            .collect();
        let mut host = host.clone();
        host.facts.extend(facts);
        host.slow_cpus = vec![(3, 1.3)];
        let differs: Vec<Difference> = differs
            .into_iter()
            .map(|key| Difference { key, here: Some("a".to_owned()), there: Some("b".to_owned()) })
            .collect();
        let fit = signatures.best(&findings, &host, &differs, &members).map(|fit| fit.name);
        assert_eq!(fit.as_deref(), Some(signature.name.as_str()));
        explained += 1;
    }
    assert!(explained > 15, "{explained}");
}

/// A signature of an operator comes first, but only where it explains everything that is slow.
#[test]
fn a_signature_that_leaves_something_unexplained_does_not_fit() {
    let signatures = |also: &str| {
        let text = format!("signature own\n  slow: disk\n{also}  says: ours\n  next: look\n");
        Signatures::with_own(&text).expect("a signature")
    };
    let mut fleet = Fleet::default();
    let (head, records) = run("n0", 0, (0.01, false), &[], &mut Rng::new(1));
    let host = fleet.host(&head, &records).expect("a host");
    let fits = |also: &str, slow: &[&str]| {
        let all = signatures(also);
        let area = |name: &&str| all.areas.iter().position(|area| area.name == *name).expect("an area");
        let finding = |area| Finding { subject: Subject::Area(area), times: 1.3, interval: [1.28, 1.32], p: 1e-6 };
        let findings: Vec<Finding> = slow.iter().map(area).map(finding).collect();
        let members = all.members(&fleet.metrics);
        all.best(&findings, &host, &[], &members).is_some_and(|fit| fit.name == "own")
    };
    assert!(fits("", &["disk"]) && !fits("", &["disk", "clock"]) && fits("  also: clock\n", &["disk", "clock"]));
    assert!(fits("  also: *\n", &["disk", "clock"]) && !fits("  also: *\n  fine: clock\n", &["disk", "clock"]));
    assert!(!fits("", &["clock"]) && fits("  size: 1.2 1.4\n", &["disk"]) && !fits("  size: 2 3\n", &["disk"]));
}

/// A metric that a selector takes.
fn metric(example: Example) -> Metric {
    let mut params = Params::default();
    for (name, value) in example.params {
        let text = groma_model::parse_size(&value).map_or(groma_model::Value::Word(value), groma_model::Value::Int);
        params.0.push((name, text));
    }
    Metric {
        key: example.id.clone(),
        id: example.id,
        summary: String::new(),
        params,
        params_text: String::new(),
        placement: example.placement,
        workers: example.workers,
        quantity: Quantity::Latency,
        unit: groma_model::Unit::Seconds,
        better: groma_model::Better::Lower,
    }
}

#[test]
fn hostile_records_are_no_values() {
    let mut fleet = Fleet::default();
    let (head, good) = run("n0", 0, (0.01, false), &[], &mut Rng::new(1));
    let with = |change: &dyn Fn(&mut Record)| {
        let mut records = good.clone();
        change(&mut records[1]);
        records
    };
    // Beside the two of its head.
    let mut values = |records: &[Record]| fleet.host(&head, records).map(|host| host.values.len() - 2);
    assert_eq!(values(&good), Ok(METRICS.len()));
    for value in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        assert_eq!(values(&with(&|record| record.value = Some(value))), Ok(METRICS.len() - 1), "{value}");
    }
    // An interval that reaches where no value is.
    assert_eq!(values(&with(&|record| record.ci = Some([-1.0, 1.1]))), Ok(METRICS.len()));
    assert!(values(&vec![good[0].clone(); MAX_METRICS + 1]).is_err());
    assert_eq!(values(&[good[1].clone(), good[1].clone()]), Ok(1), "a metric that is there twice");
    assert!(fleet.host(&header(), &good).is_err(), "a run without a name");
}
