use super::relative::{in_cycles, relative_to};
use super::*;
use crate::{fixtures, summarise};
use groma_model::{Derivation, Host, Metric, Quantity, RoundOutput, RoundResult, Series, SharedCore, Unit, Value};
use groma_stats::Rng;

fn metric(id: &str, quantity: Quantity) -> Metric {
    Metric {
        id: id.to_owned(),
        summary: String::new(),
        quantity,
        better: quantity.better(),
        derivation: Derivation::Series(String::new()),
        detail: false,
    }
}

fn round(round: u32, value: f64) -> Round {
    let output = RoundOutput { series: vec![Series::stated("", vec![value])], ..RoundOutput::default() };
    Round { round, result: RoundResult::ok(output) }
}

/// A record of ten rounds around a value, with a spread of `spread` in the logarithm.
fn record(id: &str, quantity: Quantity, value: f64, spread: f64, rng: &mut Rng) -> Record {
    let rounds: Vec<Round> = (0..10).map(|n| round(n, value * (spread * rng.normal()).exp())).collect();
    summarise(&fixtures::point(vec![metric(id, quantity)]), &rounds, &Host::UNKNOWN).remove(0)
}

/// A latency of ten rounds with a spread of 1 %.
pub(crate) fn latency(value: f64, rng: &mut Rng) -> Record {
    record("a.latency", Quantity::Latency, value, 0.01, rng)
}

/// The verdict on one metric with these two values, and these values in other runs.
fn verdict_of(sides: [Record; 2], earlier: &[f64]) -> Verdict {
    let [a, b] = sides.map(|record| vec![record]);
    let found = compare(&a, &b, &|_| earlier.to_vec());
    assert_eq!(found.pairs.len(), 1);
    found.pairs[0].verdict
}

#[test]
fn records_are_matched_by_what_they_are() {
    let rng = &mut Rng::new(1);
    let mut sized = |size: u64| {
        let mut record = record("a.sized", Quantity::Latency, 1e-6, 0.01, rng);
        record.params = Params(vec![("size".to_owned(), Value::Int(size))]);
        record
    };
    let a = vec![sized(1), sized(2), sized(3)];
    let mut b = vec![sized(4), sized(3), sized(2)];
    b[1].version = 2;
    let found = compare(&a, &b, &|_| Vec::new());
    let size = |record: &Record| record.params.int("size");
    let pairs: Vec<_> = found.pairs.iter().map(|pair| pair.sides.map(size)).collect();
    assert_eq!(pairs, [[Some(2); 2]]);
    assert_eq!(found.unlike.iter().map(|(why, _)| *why).collect::<Vec<_>>(), [Unlike::Version]);
    let alone = found.alone.each_ref().map(|records| records.iter().map(|r| size(r)).collect::<Vec<_>>());
    assert_eq!(alone, [vec![Some(1)], vec![Some(4)]]);
    // A metric without a value on one side is counted, but not compared.
    b[2].value = None;
    let found = compare(&a, &b, &|_| Vec::new());
    assert_eq!((found.pairs.len(), found.without_value.len()), (0, 1));
}

#[test]
fn the_direction_is_that_of_the_metric() {
    let rng = &mut Rng::new(2);
    let mut of = |quantity, factor: f64| {
        let sides = [1.0, factor].map(|x| record("a.b", quantity, 1e-6 * x, 0.01, rng));
        verdict_of(sides, &[])
    };
    assert_eq!(of(Quantity::Latency, 1.5), Verdict::Slower);
    assert_eq!(of(Quantity::Latency, 0.6), Verdict::Faster);
    assert_eq!(of(Quantity::Bandwidth, 1.5), Verdict::Faster);
    assert_eq!(of(Quantity::Bandwidth, 0.6), Verdict::Slower);
    assert_eq!(of(Quantity::Count, 1.5), Verdict::Changed);
}

#[test]
fn earlier_runs_set_the_noise_floor() {
    let rng = &mut Rng::new(3);
    let mut sides = || [1.0, 1.08].map(|x| latency(1e-6 * x, rng));
    let steady: Vec<f64> = [0.998, 1.001, 1.0, 0.999, 1.002, 1.0].map(|x| 1e-6 * x).to_vec();
    let restless: Vec<f64> = [0.9, 1.1, 1.0, 0.93, 1.08, 1.0].map(|x| 1e-6 * x).to_vec();
    assert_eq!(verdict_of(sides(), &steady), Verdict::Slower);
    assert!(matches!(verdict_of(sides(), &restless), Verdict::Unclear(_)));
    // Without other runs only a large difference counts.
    let Verdict::Unclear(Why::RunNoise(floor)) = verdict_of(sides(), &[]) else { panic!("8 % is called") };
    assert!(floor > 1.08);
    // Equal values are `Same`, from the rounds alone or with steady runs.
    let equal = [latency(1e-6, rng), latency(1e-6, rng)];
    assert!(matches!(verdict_of(equal, &steady), Verdict::Same { within } if within < 0.03));
}

#[test]
fn a_gate_fails_beyond_its_tolerance() {
    let rng = &mut Rng::new(12);
    let mut gate = |factor: f64, spread: f64, tolerance: f64| {
        let [a, b] = [1.0, factor].map(|x| vec![record("a.b", Quantity::Latency, 1e-6 * x, spread, rng)]);
        compare(&a, &b, &|_| Vec::new()).gate(tolerance)
    };
    assert_eq!(gate(1.5, 0.01, 0.0), Gate::Fails);
    assert_eq!(gate(1.5, 0.01, 0.6), Gate::Passes);
    assert_eq!(gate(0.6, 0.01, 0.0), Gate::Passes, "faster");
    assert_eq!(gate(1.0, 0.005, 0.0), Gate::Passes);
    assert_eq!(gate(1.0, 0.4, 0.0), Gate::Unclear);
    assert_eq!(compare(&[], &[], &|_| Vec::new()).gate(0.0), Gate::Unclear, "of nothing");
}

#[test]
fn too_few_or_too_noisy_rounds_are_inconclusive() {
    let rng = &mut Rng::new(4);
    let mut sides = [latency(1e-6, rng), latency(3e-6, rng)];
    for side in &mut sides {
        side.round_values.truncate(3);
    }
    assert_eq!(verdict_of(sides, &[]), Verdict::Unclear(Why::FewRounds));
    let sides = [1.0, 1.2].map(|x| record("a.b", Quantity::Latency, 1e-6 * x, 0.3, rng));
    assert_eq!(verdict_of(sides, &[]), Verdict::Unclear(Why::Imprecise));
}

#[test]
fn a_shared_core_is_compared_with_a_shared_core() {
    let rng = &mut Rng::new(5);
    let own = || latency(1.0e-6, &mut Rng::new(6));
    let mut shared = latency(1.4e-6, rng);
    shared.flags.push("shared core: the sibling thread was busy in 90 % of the samples".to_owned());
    // The other side has no shared-core samples: 40 % more decides nothing.
    assert_eq!(verdict_of([own(), shared.clone()], &[]), Verdict::Unclear(Why::SharedCore));
    let with = |mut record: Record, value: f64, rng: &mut Rng| {
        let rounds = latency(value, rng).round_values;
        record.shared = Some(SharedCore { value: Some(value), share: 0.5, round_values: rounds });
        record
    };
    let sides = [with(own(), 1.4e-6, rng), with(shared, 1.4e-6, rng)];
    let found = compare(&sides[..1], &sides[1..], &|_| Vec::new());
    let pair = &found.pairs[0];
    assert!(pair.shared_core && pair.values == [1.4e-6; 2], "{pair:?}");
    assert!(matches!(pair.verdict, Verdict::Same { .. }), "{pair:?}");
}

/// Equal suites where half of the host's runs differ by 3 %: no change may be reported.
#[test]
fn equal_suites_give_no_alarm() {
    let rng = &mut Rng::new(7);
    let mut alarms = 0;
    for _ in 0..40 {
        let mut suite = |drift: f64| -> Vec<Record> {
            let ids = (0..100).map(|i| format!("a.metric{i}"));
            ids.map(|id| record(&id, Quantity::Latency, 1e-6 * drift, 0.02, rng)).collect()
        };
        let runs: Vec<Vec<Record>> = (0..8).map(|run| suite(1.0 + 0.03 * f64::from(run % 2))).collect();
        let earlier = |of: &Record| -> Vec<f64> {
            let same = runs[2..].iter().flatten().filter(|record| record.id == of.id);
            same.filter_map(|record| record.value).collect()
        };
        let found = compare(&runs[0], &runs[1], &earlier);
        let is_alarm = |pair: &&Pair<'_>| matches!(pair.verdict, Verdict::Slower | Verdict::Faster);
        alarms += usize::from(found.pairs.iter().any(|pair| is_alarm(&pair)));
    }
    assert!(alarms <= 2, "{alarms} of 40 suites");
}

#[test]
fn several_runs_are_pooled() {
    let rng = &mut Rng::new(8);
    let runs: Vec<Vec<Record>> = (0..3).map(|_| vec![latency(1e-6, rng)]).collect();
    let mut other = latency(1e-6, rng);
    other.version = 2;
    let all = pool(vec![runs[0].clone(), runs[1].clone(), runs[2].clone(), vec![other]]);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].rounds, all[0].round_values.len(), all[0].version), (30, 30, 1));
    assert!(all[0].ci.is_some());
}

#[test]
fn relative_values_have_no_unit() {
    let rng = &mut Rng::new(9);
    let mut one = latency(1e-6, rng);
    one.cycles = one.value.map(|value| value * 3e9);
    let rate = record("a.rate", Quantity::Bandwidth, 1e9, 0.01, rng);
    let records = [one, rate];
    let cycles = in_cycles(&records);
    assert_eq!(cycles.len(), 1, "a rate has no cycles");
    assert!((cycles[0].value.expect("a value") / (records[0].value.expect("a value") * 3e9) - 1.0).abs() < 1e-12);
    assert_eq!(cycles[0].unit, Unit::One);
    let relative = relative_to(&records, &identity(&records[0])).expect("its time is known");
    let per_call = records[1].value.zip(records[0].value).map(|(rate, time)| rate * time);
    assert_eq!(relative.iter().map(|record| record.value).collect::<Vec<_>>(), [per_call]);
    assert!(relative_to(&records, "a.other").is_none());
}

/// A two-sided test counts both directions.
#[test]
fn the_probability_of_pairs_is_two_sided() {
    let dearer: Vec<f64> = (0..10).map(|i| 1.05 + 0.01 * f64::from(i)).collect();
    let cheaper: Vec<f64> = dearer.iter().map(|ratio| 1.0 / ratio).collect();
    let one_sided = signed_rank(&dearer, NOTHING).expect("enough pairs");
    for ratios in [dearer, cheaper] {
        let p = two_sided(&ratios).expect("enough pairs");
        assert!((p / one_sided - 2.0).abs() < 1e-9, "{p} {one_sided}");
    }
}

/// A round that one side failed to make has no partner, and later rounds keep theirs.
#[test]
fn rounds_are_paired_by_their_number() {
    let points = [fixtures::point(vec![metric("a.latency", Quantity::Latency)])];
    let [a, b] = [[(0, 1.0), (2, 3.0), (3, 4.0)], [(0, 10.0), (1, 20.0), (2, 30.0)]]
        .map(|side| vec![side.map(|(n, value)| round(n, value)).to_vec()]);
    let paired: Vec<[Vec<f64>; 2]> = paired_rounds(&points, [&a, &b]).into_values().collect();
    assert_eq!(paired, [[vec![1.0, 3.0], vec![10.0, 30.0]]]);
}
