//! Checks the records of known samples, and that recomputing them gives the same:
//! docs/methods/validation.md#guards.
use super::*;
use crate::fixtures::{self, HOST};
use groma_model::{
    Better, Derivation, Interference, Label, LabelCounts, Labels, Proof, Remark, RoundOutput, RoundResult, Sample,
    Series, Span,
};

mod flags;
mod groups;

fn metric(quantity: Quantity, derivation: Derivation<&'static str>) -> Metric {
    Metric {
        id: "test.metric".into(),
        summary: "A metric".into(),
        quantity,
        better: Better::Lower,
        derivation: derivation.owned(),
        detail: false,
    }
}

/// A point with the dropping rules of a benchmark on one CPU.
fn plain_point() -> Point {
    Point {
        bench: "test.metric".to_owned(),
        timing: Timing::Floor,
        drops: Interference::Cpu.drops(),
        target_half_width: 0.01,
        ..fixtures::point(Vec::new())
    }
}

fn point(timing: Timing, metric: Metric) -> Point {
    Point { timing, metrics: vec![metric], ..plain_point() }
}

/// Samples of 100 iterations with these nanoseconds per operation.
fn series(name: &str, ns: &[u64], labels: Labels) -> Series {
    let sample = |(i, ns): (usize, &u64)| Sample {
        t0_ns: 1000 * i as u64,
        elapsed_ns: ns * 100,
        iters: 100,
        labels,
        ..Sample::default()
    };
    Series {
        name: name.into(),
        iters: 100,
        per_iter: 1.0,
        samples: ns.iter().enumerate().map(sample).collect(),
        ..Series::default()
    }
}

fn round(round: u32, series: Vec<Series>) -> Round {
    Round { round, result: RoundResult::ok(RoundOutput { series, core_hz: Some(2e9), ..RoundOutput::default() }) }
}

fn close(seen: Option<f64>, expected: f64) -> bool {
    seen.is_some_and(|s| (s / expected - 1.0).abs() < 1e-9)
}

/// Nine rounds with medians of 100..=108 ns.
fn nine() -> Vec<Round> {
    (0..9).map(|r| round(r, vec![series("", &[90 + u64::from(r), 100 + u64::from(r), 300], Labels::NONE)])).collect()
}

fn one(point: &Point, rounds: &[Round]) -> Record {
    summarise(point, rounds, &HOST).remove(0)
}

fn has(record: &Record, flag: &str) -> bool {
    record.flags.iter().any(|f| f.starts_with(flag))
}

#[test]
fn the_headline_is_the_median_over_rounds_of_the_median_of_samples() {
    let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let record = one(&point, &nine());
    assert!(close(record.value, 104e-9), "{:?}", record.value);
    // Nine rounds: the exact 95 % interval excludes one at each end.
    assert_eq!(record.ci, Some([record.round_values[1], record.round_values[7]]));
    assert!(close(record.cycles, 208.0));
    assert_eq!((record.rounds, record.samples, record.clean), (9, 27, 27));
    assert_eq!(record.state, State::Ok);
    assert!(record.flags.iter().any(|f| f.starts_with("imprecise")));
    assert!(close(record.max, 300e-9));
}

#[test]
fn a_value_missing_in_every_round_is_unresolved_and_in_some_gives_few_rounds() {
    let point = point(Timing::Stated, metric(Quantity::Latency, Derivation::Series("")));
    let stated = |values: &[f64]| Series { values: values.to_vec(), ..series("", &[], Labels::NONE) };
    let open = |n: u32| {
        let mut open = round(n, vec![]);
        open.result.output.remarks.push("cannot tell: nobody came".into());
        open
    };
    let mut rounds: Vec<Round> = (0..9).map(open).collect();
    let record = one(&point, &rounds);
    assert_eq!(
        (record.state, record.reason.as_str(), record.value),
        (State::Unresolved, "cannot tell: nobody came", None)
    );
    rounds[3] = round(3, vec![stated(&[1e-7])]);
    let record = one(&point, &rounds);
    assert_eq!((record.state, record.rounds), (State::Ok, 1));
    assert!(has(&record, "few rounds"));
    assert!(close(record.value, 1e-7));
    // Without a remark about it, it is a failure.
    assert_eq!(one(&point, &[round(0, vec![])]).state, State::Failed);
}

#[test]
fn a_constant_of_the_hardware_takes_the_fast_tenth() {
    let floor = point(Timing::Floor, metric(Quantity::Latency, Derivation::Series("")));
    let ns: Vec<u64> = (0..=10).map(|i| 100 + i).collect();
    let rounds: Vec<Round> = (0..6).map(|r| round(r, vec![series("", &ns, Labels::NONE)])).collect();
    assert!(close(one(&floor, &rounds).value, 101e-9));
    let rate = point(Timing::Floor, metric(Quantity::Rate, Derivation::Series("")));
    // For rates, the fast tenth is the 90th percentile.
    assert!(close(one(&rate, &rounds).value, 1.0 / 101e-9));
}

#[test]
fn labelled_samples_are_kept_and_not_counted() {
    let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let mixed = |r| {
        let mut s = series("", &[100; 12], Labels::NONE);
        s.samples.extend(series("", &[900; 6], Labels::of(&[Label::Preempted])).samples);
        round(r, vec![s])
    };
    let record = one(&point, &(0..6).map(mixed).collect::<Vec<_>>());
    assert!(close(record.value, 100e-9));
    assert_eq!((record.samples, record.clean), (108, 72));
    assert_eq!(record.labels, LabelCounts(vec![('P', 36)]));
    assert_eq!(record.state, State::Ok);
    assert!(close(record.max, 900e-9));
    assert!(record.interference.expect("samples") > 3.0);
}

/// Rounds with this many samples of 100 ns on a core of their own, and of 130 ns next to a busy
/// sibling thread.
fn beside_a_neighbour(own: &[usize], shared: usize) -> Record {
    let mut point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    point.drops.add(Label::Shared);
    let rounds = own.iter().enumerate().map(|(r, own)| {
        let mut s = series("", &vec![100; *own], Labels::NONE);
        s.samples.extend(series("", &vec![130; shared], Labels::of(&[Label::Shared])).samples);
        round(r as u32, vec![s])
    });
    one(&point, &rounds.collect::<Vec<_>>())
}

#[test]
fn the_headline_is_of_an_unshared_core_if_enough_rounds_had_one() {
    // Most samples are of a shared core: that does not degrade the others.
    let record = beside_a_neighbour(&[5; 8], 20);
    assert!(close(record.value, 100e-9));
    assert_eq!((record.state, record.rounds, record.clean), (State::Ok, 8, 40));
    let shared = record.shared.expect("samples of a shared core");
    assert!(close(shared.value, 130e-9) && (shared.share - 0.8).abs() < 1e-9);
    assert!(!record.flags.iter().any(|flag| flag.starts_with("shared core")), "{:?}", record.flags);
    // Six rounds suffice, whatever the others met.
    assert!(close(beside_a_neighbour(&[5, 5, 0, 5, 5, 2, 5, 5], 20).value, 100e-9));
    assert_eq!(beside_a_neighbour(&[20; 8], 0).shared, None);
}

#[test]
fn too_few_rounds_on_an_unshared_core_are_flagged() {
    let record = beside_a_neighbour(&[5, 2, 0, 5, 0, 5, 5, 5], 20);
    assert!(close(record.value, 130e-9));
    assert_eq!(record.state, State::Ok);
    let flag = "shared core: the sibling thread was busy in 86 % of the samples".to_owned();
    assert!(record.flags.contains(&flag), "{:?}", record.flags);
    // With fewer than six rounds, all must have their own core.
    assert!(close(beside_a_neighbour(&[5; 3], 20).value, 100e-9));
    assert!(close(beside_a_neighbour(&[5, 0, 5], 20).value, 130e-9));
}

/// Rounds that state these values, had alone or beside a busy sibling thread.
fn record_of(rounds: &[(f64, bool)]) -> Record {
    let mut point = point(Timing::Stated, metric(Quantity::Count, Derivation::Series("")));
    point.drops.add(Label::Shared);
    let rounds = rounds.iter().enumerate().map(|(r, (value, alone))| {
        let value_labels = if *alone { Labels::NONE } else { Labels::of(&[Label::Shared]) };
        round(r as u32, vec![Series { value_labels, ..Series::stated("", vec![*value]) }])
    });
    one(&point, &rounds.collect::<Vec<_>>())
}

#[test]
fn what_a_round_found_alone_is_the_core_s_whatever_the_others_found() {
    let (own, share) = ((256.0, true), (127.0, false));
    let record = record_of(&[share, share, own, share, share, own, share]);
    assert_eq!((record.value, record.state, record.rounds), (Some(256.0), State::Ok, 2));
    assert_eq!((record.samples, record.clean, record.labels), (7, 2, LabelCounts(vec![('N', 5)])));
    assert_eq!(record.shared.and_then(|shared| shared.value), Some(127.0));
    assert!(!record.flags.iter().any(|flag| flag.starts_with("shared core")), "{:?}", record.flags);
    let never = record_of(&[share; 6]);
    assert_eq!((never.value, never.state), (Some(127.0), State::Ok));
    assert!(has(&never, "shared core: the sibling thread was busy in 100 % of the samples"), "{:?}", never.flags);
    assert_eq!(record_of(&[own; 6]).shared, None);
}

#[test]
fn too_few_clean_samples_are_noisy_then_unresolved() {
    let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let with_clean = |clean: usize| {
        let rounds: Vec<Round> = (0..6)
            .map(|r| {
                let mut s = series("", &vec![100; clean], Labels::NONE);
                s.samples.extend(series("", &vec![900; 20 - clean], Labels::of(&[Label::Stolen])).samples);
                round(r, vec![s])
            })
            .collect();
        one(&point, &rounds)
    };
    assert_eq!(with_clean(10).state, State::Ok);
    assert_eq!(with_clean(9).state, State::Noisy);
    assert_eq!(with_clean(3).state, State::Unresolved);
    let none = with_clean(0);
    assert_eq!(none.reason, "only 0 of 120 samples were undisturbed: time stolen by the host or interrupts in 120");
    assert!(close(none.value, 900e-9), "kept, though never compared");
}

#[test]
fn a_difference_is_paired_and_never_clamped() {
    let net = Derivation::Difference { of: "raw", minus: "control", per: 2.0 };
    let point = point(Timing::Batched, metric(Quantity::Latency, net));
    let rounds = |raw: u64, control: u64| -> Vec<Round> {
        // Rounds differ by far more than the variants do: pairing removes that.
        (0..9)
            .map(|r| {
                let shift = u64::from(r) * 1000;
                let variant = |name, ns| series(name, &[ns + shift; 9], Labels::NONE);
                round(r, vec![variant("raw", raw), variant("control", control)])
            })
            .collect()
    };
    let record = one(&point, &rounds(150, 100));
    assert!(close(record.value, 25e-9), "{:?}", record.value);
    assert_eq!(record.state, State::Ok);
    let negative = one(&point, &rounds(100, 150));
    assert!(close(negative.value, -25e-9));
    let nothing = one(&point, &rounds(100, 100));
    assert_eq!((nothing.state, nothing.value), (State::Unresolved, Some(0.0)));
}

#[test]
fn a_ratio_is_that_of_each_round() {
    let ratio = Derivation::Ratio { of: "chain", to: "parallel" };
    let point = point(Timing::Floor, metric(Quantity::Ratio, ratio));
    let rounds: Vec<Round> = (0..9)
        .map(|r| {
            // The clock jumps from round to round, which cancels in a ratio.
            let variant = |name, ns| series(name, &[ns * (3 + u64::from(r)); 9], Labels::NONE);
            round(r, vec![variant("chain", 400), variant("parallel", 100)])
        })
        .collect();
    let record = one(&point, &rounds);
    assert!(close(record.value, 4.0), "{:?}", record.value);
    assert_eq!(record.state, State::Ok);
}

#[test]
fn a_scaled_metric_takes_its_factor_from_the_round() {
    let scaled = point(Timing::Batched, metric(Quantity::Bandwidth, Derivation::Scaled { of: "", by: "factor" }));
    let mut rounds = nine();
    for r in &mut rounds {
        r.result.output.facts.push(Fact::new("factor", 1.5));
    }
    let plain = point(Timing::Batched, metric(Quantity::Bandwidth, Derivation::Series("")));
    let base = one(&plain, &rounds).value.expect("a value");
    assert!(close(one(&scaled, &rounds).value, 1.5 * base));
}

/// What a round states of a series.
fn values(name: &str, values: &[f64]) -> Series {
    Series { values: values.to_vec(), ..series(name, &[], Labels::NONE) }
}

#[test]
fn a_maximum_is_that_of_all_rounds_and_has_no_interval() {
    let point = point(Timing::Stated, metric(Quantity::Latency, Derivation::Max("gap")));
    // The maximum is neither in the last round nor in most of them.
    let rounds: Vec<Round> =
        (0..3).map(|r| round(r, vec![values("gap", &[1.0, if r == 1 { 900.0 } else { 2.0 }])])).collect();
    let record = one(&point, &rounds);
    assert_eq!((record.value, record.ci, record.ci_display), (Some(900.0), None, None));
    assert_eq!(record.round_values, [2.0, 900.0, 2.0]);
    // Three rounds are few for a median, but enough for a maximum.
    assert_eq!((record.state, record.reason.as_str(), record.flags.len()), (State::Ok, "", 0));
    let median = Point { metrics: vec![metric(Quantity::Latency, Derivation::Series("gap"))], ..point };
    assert_eq!(one(&median, &rounds).state, State::Noisy);
}

#[test]
fn a_ratio_of_totals_adds_up_all_rounds() {
    let totals = Derivation::Totals { of: "lost", to: "sent" };
    let point = point(Timing::Stated, metric(Quantity::Ratio, totals));
    // One batch of nine has losses; the rounds send different amounts.
    let rounds: Vec<Round> = (0..3)
        .map(|r| {
            let (lost, sent) = if r == 0 { ([0.0, 30.0, 0.0], [200.0; 3]) } else { ([0.0; 3], [100.0; 3]) };
            round(r, vec![values("lost", &lost), values("sent", &sent)])
        })
        .collect();
    let record = one(&point, &rounds);
    assert!(close(record.value, 30.0 / 1200.0), "{:?}", record.value);
    assert_eq!((record.ci, record.state, record.flags.len()), (None, State::Ok, 0));
    // Nothing lost is a result; nothing sent is not.
    let of = |sent| one(&point, &[round(0, vec![values("lost", &[0.0]), values("sent", &[sent])])]);
    assert_eq!((of(100.0).value, of(100.0).state), (Some(0.0), State::Ok));
    assert_eq!((of(0.0).value, of(0.0).state), (None, State::Failed));
}

#[test]
fn the_worst_round_decides_and_is_named() {
    let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let mut rounds = nine();
    rounds[4].result = RoundResult::ended(State::Failed, "the worker was ended by signal 11 (SIGSEGV)");
    let record = one(&point, &rounds);
    assert_eq!(record.state, State::Failed);
    assert_eq!(record.reason, "1 of 9 rounds: the worker was ended by signal 11 (SIGSEGV)");
    assert_eq!(record.rounds, 8);
    let record = one(&point, &[]);
    assert_eq!((record.state, record.reason.as_str()), (State::Unresolved, "not reached within the budget"));
}

#[test]
fn the_worst_of_several_failures_is_reported() {
    let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let mut rounds = nine();
    rounds[1].result = RoundResult::ended(State::Timeout, "did not end within 10.0 s");
    rounds[2].result = RoundResult::ended(State::Failed, "took no samples");
    rounds[3].result = RoundResult::ended(State::Denied, "no");
    let record = one(&point, &rounds);
    assert_eq!((record.state, record.reason.as_str()), (State::Failed, "1 of 9 rounds: took no samples"));
}

#[test]
fn an_output_without_a_value_is_unresolved_for_its_own_reason() {
    let ended = |name: &'static str, notes: &[&str]| {
        let point = point(Timing::Stated, metric(Quantity::Count, Derivation::Series(name)));
        let notes = notes.iter().map(|n| Remark::from(*n)).collect();
        let mut rounds: Vec<Round> = (0..9).map(|r| round(r, Vec::new())).collect();
        rounds[8].result.output.remarks = notes;
        let record = one(&point, &rounds);
        (record.state, record.reason)
    };
    let unresolved = |why: &str| (State::Unresolved, why.to_owned());
    assert_eq!(ended("", &["cannot tell: no step"]), unresolved("cannot tell: no step"));
    assert_eq!(ended("l2", &["cannot tell: no step"]), unresolved("cannot tell: no step"));
    let both = ["l2_hit: cannot tell: b", "cannot tell: c", "l2: cannot tell: a"];
    assert_eq!(ended("l2", &both), unresolved("l2: cannot tell: a"));
    // The reason is for another output, or there is none.
    assert_eq!(ended("l2", &["l2_hit: cannot tell: b"]).0, State::Failed);
    assert_eq!(ended("", &["unsteady"]).0, State::Failed);
}

#[test]
fn a_round_without_clean_samples_is_skipped_if_others_have_some() {
    let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let lost = Labels::of(&[Label::Stolen]);
    let mut rounds: Vec<Round> = (0..8).map(|r| round(r, vec![series("", &[100; 9], Labels::NONE)])).collect();
    rounds.push(round(8, vec![series("", &[9000; 9], lost)]));
    let record = one(&point, &rounds);
    assert_eq!((record.rounds, record.samples, record.clean), (8, 81, 72));
    assert!(record.round_values.iter().all(|v| (v / 100e-9 - 1.0).abs() < 1e-9), "{:?}", record.round_values);
}

#[test]
fn a_broken_proof_is_shown_before_those_that_hold() {
    let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let mut rounds = nine();
    for (i, r) in rounds.iter_mut().enumerate() {
        let (seen, holds) = if i == 3 { (0.5, false) } else { (1.0, true) };
        r.result.output.proofs.push(Proof { name: "faults per touch".into(), expected: "1".into(), seen, holds });
    }
    let proofs = one(&point, &rounds).proofs;
    assert_eq!((proofs.len(), proofs[0].seen, proofs[0].holds), (1, 0.5, false));
}

#[test]
fn facts_that_differ_become_medians_or_lists() {
    let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let mut rounds = nine();
    for (i, r) in rounds.iter_mut().enumerate() {
        r.result.output.facts =
            vec![Fact::new("same", "ext4"), Fact::new("number", i), Fact::new("text", if i < 5 { "a" } else { "b" })];
    }
    let facts = one(&point, &rounds).facts;
    let get = |key: &str| facts.iter().find(|f| f.key == key).map(|f| f.value.as_str());
    assert_eq!((get("same"), get("number"), get("text")), (Some("ext4"), Some("4"), Some("a | b")));
}

#[test]
fn few_rounds_have_no_interval() {
    let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let record = one(&point, &nine()[..5]);
    assert_eq!(record.ci, None);
    assert!(record.flags.contains(&"few rounds: 5, no interval".to_owned()));
    assert!(one(&point, &nine()[..6]).ci.is_some());
}

/// Values whose median is in the middle by rank only: the mean and the extremes are far from it.
const SKEWED: [u64; 9] = [9000, 100, 101, 20, 5000, 10, 102, 7000, 30];

#[test]
fn samples_and_rounds_are_summarised_by_medians_not_means() {
    let batched = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let within: Vec<Round> = (0..9).map(|r| round(r, vec![series("", &SKEWED, Labels::NONE)])).collect();
    let record = one(&batched, &within);
    assert!(close(record.value, 101e-9), "{:?}", record.value);
    assert!(record.round_values.iter().all(|v| (v / 101e-9 - 1.0).abs() < 1e-9), "{:?}", record.round_values);
    // 81 samples: p10 is the 9th and the 50th percentile the 41st.
    assert!(close(record.p10, 10e-9) && close(record.p50, 101e-9) && close(record.p90, 9000e-9), "{record:?}");
    assert!(record.interference.is_some_and(|r| (r - 21363.0 / 9.0 / 101.0).abs() < 1e-9));

    let between: Vec<Round> =
        (0..9).map(|r| round(r, vec![series("", &[SKEWED[r as usize]; 9], Labels::NONE)])).collect();
    let record = one(&batched, &between);
    assert!(close(record.value, 101e-9) && close(record.cycles, 202.0), "{:?} {:?}", record.value, record.cycles);

    // An even number: the mean of the middle two, and of no others.
    let record = one(&batched, &between[..8]);
    assert!(close(record.value, 101.5e-9), "{:?}", record.value);

    let stated =
        |ns: &[u64]| Series { values: ns.iter().map(|n| *n as f64).collect(), ..series("", &[], Labels::NONE) };
    let stating = point(Timing::Stated, metric(Quantity::Count, Derivation::Series("")));
    let rounds: Vec<Round> = (0..9).map(|r| round(r, vec![stated(&SKEWED)])).collect();
    assert!(close(one(&stating, &rounds).value, 101.0));
}

#[test]
fn cycles_facts_and_members_are_summarised_by_medians_not_means() {
    let batched = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    // The clock of a round belongs to its value: take the median of the products, not the product
    // of the medians.
    let mut rounds: Vec<Round> = (0..9).map(|r| round(r, vec![series("", &[100; 9], Labels::NONE)])).collect();
    for (r, n) in rounds.iter_mut().zip(SKEWED) {
        r.result.output.core_hz = Some(n as f64 * 1e7);
        r.result.output.facts.push(Fact::new("number", n));
    }
    let record = one(&batched, &rounds);
    assert!(close(record.cycles, 101.0), "{:?}", record.cycles);
    let fact = |record: &Record, key: &str| record.facts.iter().find(|f| f.key == key).map(|f| f.value.clone());
    assert_eq!(fact(&record, "number"), Some("101".to_owned()));

    // Nine members, with samples as skewed as the members themselves.
    let mut group = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    group.workers = 9;
    let samples = SKEWED.iter().enumerate().flat_map(|(worker, ns)| {
        [1, 1, 50].map(|times| Sample {
            worker: worker as u32,
            t0_ns: 0,
            elapsed_ns: ns * times * 100,
            iters: 100,
            ..Sample::default()
        })
    });
    let all = Series { samples: samples.collect(), ..series("", &[], Labels::NONE) };
    let record = one(&group, &[round(0, vec![all])]);
    let seconds = |key: &str| fact(&record, key).and_then(|v| v.parse::<f64>().ok());
    assert!(close(seconds("group.fastest_s"), 10e-9) && close(seconds("group.slowest_s"), 9000e-9), "{record:?}");
    assert!(close(seconds("group.median_s"), 101e-9), "{record:?}");
}

#[test]
fn a_sample_without_time_or_without_work_has_no_value() {
    let of = |quantity| {
        let mut s = series("", &[100; 9], Labels::NONE);
        let sample = |elapsed_ns, iters| Sample { elapsed_ns, iters, ..Sample::default() };
        s.samples.extend([sample(0, 100), sample(0, 100), sample(10_000, 0), sample(10_000, 0), sample(0, 0)]);
        let point = point(Timing::Floor, metric(quantity, Derivation::Series("")));
        let rounds: Vec<Round> = (0..6).map(|r| round(r, vec![s.clone()])).collect();
        one(&point, &rounds)
    };
    let latency = of(Quantity::Latency);
    assert!(close(latency.value, 100e-9) && close(latency.max, 100e-9), "{latency:?}");
    assert_eq!((latency.samples, latency.clean), (84, 54));
    let rate = of(Quantity::Rate);
    assert!(close(rate.value, 1e7) && close(rate.max, 1e7), "{rate:?}");
}

#[test]
fn an_iteration_may_hold_many_operations_or_bytes() {
    let of = |quantity, workers: u32| {
        let point = Point { workers, ..point(Timing::Batched, metric(quantity, Derivation::Series(""))) };
        let held = Series { per_iter: 4096.0, ..series("", &[100], Labels::NONE) };
        one(&point, &[round(0, vec![held])]).value
    };
    assert!(close(of(Quantity::Latency, 1), 100e-9 / 4096.0));
    for workers in [1, 2] {
        assert!(close(of(Quantity::Bandwidth, workers), 4096.0 / 100e-9), "{workers}");
    }
}

#[test]
fn below_a_fifth_or_six_clean_samples_noisy_becomes_unresolved() {
    let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    // This many rounds of one clean sample, and disturbed ones in the first.
    let of = |clean: u32, disturbed: usize| {
        let mut rounds: Vec<Round> = (0..clean).map(|r| round(r, vec![series("", &[100], Labels::NONE)])).collect();
        let lost = series("", &vec![900; disturbed], Labels::of(&[Label::Stolen]));
        rounds[0].result.output.series[0].samples.extend(lost.samples);
        let record = one(&point, &rounds);
        (record.state, record.reason)
    };
    assert_eq!(of(6, 24), (State::Noisy, "6 of 30 samples were undisturbed".to_owned()));
    assert_eq!(
        of(6, 25),
        (
            State::Unresolved,
            "only 6 of 31 samples were undisturbed: time stolen by the host or interrupts in 25".to_owned()
        )
    );
    assert_eq!(of(6, 6).0, State::Ok);
    assert_eq!(of(5, 1), (State::Unresolved, "only 5 of 6 samples were undisturbed: fewer than 6".to_owned()));
    assert_eq!(of(5, 0).0, State::Ok, "without a disturbed one there is no noise");
}

#[test]
fn the_first_broken_proof_is_reported() {
    let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let mut rounds = nine();
    for (i, r) in rounds.iter_mut().enumerate() {
        let (seen, holds) = (i as f64, !(3..=5).contains(&i));
        r.result.output.proofs.push(Proof { name: "answers".into(), expected: "0".into(), seen, holds });
    }
    let proofs = one(&point, &rounds).proofs;
    assert_eq!((proofs.len(), proofs[0].seen, proofs[0].holds), (1, 3.0, false));
}

#[test]
fn a_fact_on_which_all_rounds_agree_is_unchanged() {
    let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let mut rounds = nine();
    rounds.iter_mut().for_each(|r| r.result.output.facts = vec![Fact::new("share", "1.500")]);
    assert_eq!(one(&point, &rounds).facts[0].value, "1.500");
}
