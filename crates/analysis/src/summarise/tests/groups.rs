//! Records of worker groups.

use super::*;

#[test]
fn only_the_common_window_counts_for_a_worker_group() {
    let mut both = point(Timing::Batched, metric(Quantity::Rate, Derivation::Series("")));
    both.workers = 2;
    // Member 0 works from 0 to 100 ns, member 1 from 50 to 150, at one iteration per nanosecond
    // each.
    let sample = |worker, t0_ns| Sample { worker, t0_ns, elapsed_ns: 100, iters: 100, ..Sample::default() };
    let s = Series { samples: vec![sample(0, 0), sample(1, 50)], ..series("", &[], Labels::NONE) };
    assert!(close(one(&both, &[round(0, vec![s])]).value, 2e9));
}

#[test]
fn the_rate_of_a_worker_group_is_a_median_not_a_mean() {
    let mut group = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    group.workers = 2;
    let at = |ns: u64| {
        let sample = |worker| Sample { worker, t0_ns: 0, elapsed_ns: ns * 100, iters: 100, ..Sample::default() };
        Series { samples: vec![sample(0), sample(1)], ..series("", &[], Labels::NONE) }
    };
    let rounds: Vec<Round> = (0..9).map(|r| round(r, vec![at(SKEWED[r as usize])])).collect();
    let record = one(&group, &rounds);
    let rate = record.facts.iter().find(|f| f.key == "group.aggregate_per_s").and_then(|f| f.value.parse().ok());
    assert!(close(rate, 2.0 / 101e-9), "{rate:?}");
}

/// The rate of a series of two members whose samples of 1 ms have these labels and iterations,
/// alternating with another series.
fn rate_beside_another(samples: &[(Labels, u64)]) -> Option<f64> {
    let member = |worker: u32, late: u64| {
        samples.iter().zip(0..).map(move |(&(labels, iters), k)| Sample {
            worker,
            t0_ns: late + 2_000_000 * k,
            elapsed_ns: 1_000_000,
            iters,
            labels,
            ..Sample::default()
        })
    };
    let all: Vec<Sample> = member(0, 0).chain(member(1, 100_000)).collect();
    let other = all.iter().map(|s| Sample { t0_ns: s.t0_ns + 1_000_000, labels: Labels::NONE, ..*s }).collect();
    let control = Series { samples: other, ..series("control", &[], Labels::NONE) };
    let main = Series { samples: all, ..series("", &[], Labels::NONE) };
    let mut group = point(Timing::Batched, metric(Quantity::Rate, Derivation::Series("")));
    group.workers = 2;
    one(&group, &[round(0, vec![main, control])]).value
}

#[test]
fn the_rate_of_a_worker_group_covers_the_time_of_its_series() {
    assert!(close(rate_beside_another(&[(Labels::NONE, 1000); 4]), 2e6));
    // Alone, the time between two samples counts as well.
    let mut group = point(Timing::Batched, metric(Quantity::Rate, Derivation::Series("")));
    group.workers = 2;
    let sample = |worker, k: u64| Sample { worker, t0_ns: 1100 * k, elapsed_ns: 1000, iters: 9, ..Sample::default() };
    let samples = (0..2).flat_map(|worker| (0..5).map(move |k| sample(worker, k))).collect();
    let rate = one(&group, &[round(0, vec![Series { samples, ..series("", &[], Labels::NONE) }])]).value;
    assert!(close(rate, 90.0 / 5.4e-6), "{rate:?}");
}

#[test]
fn the_rate_of_a_worker_group_counts_the_time_between_timed_parts() {
    let mut group = point(Timing::Batched, metric(Quantity::Rate, Derivation::Series("")));
    group.workers = 2;
    // Nine parts untimed, one timed: 1,000 iterations in 10 ms, of which 1 ms is timed.
    let span = |worker, k: u64| Span {
        worker,
        t0_ns: 10_000_000 * k,
        wall_ns: 10_000_000,
        timed_ns: 1_000_000,
        iters: 1000,
        labels: Labels::NONE,
    };
    let spans: Vec<Span> = (0..2).flat_map(|worker| (0..5).map(move |k| span(worker, k))).collect();
    let samples = spans.iter().map(|s| Sample {
        worker: s.worker,
        t0_ns: s.t0_ns,
        elapsed_ns: s.timed_ns,
        iters: s.iters,
        ..Sample::default()
    });
    let timed = Series { samples: samples.collect(), spans, ..series("", &[], Labels::NONE) };
    let rate = one(&group, &[round(0, vec![timed.clone()])]).value;
    assert!(close(rate, 200e3), "{rate:?}");
    // A group of one, the baseline of a scaling run, follows the same rule.
    group.workers = 1;
    let alone = Series {
        spans: timed.spans[..5].to_vec(),
        samples: timed.samples[..5].to_vec(),
        ..series("", &[], Labels::NONE)
    };
    assert!(close(one(&group, &[round(0, vec![alone])]).value, 100e3));
}

#[test]
fn excluded_samples_are_excluded_from_group_rates() {
    let good = (Labels::NONE, 1000);
    for label in [Label::Overlap, Label::Clock] {
        let bad = (Labels::of(&[label]), 77_000);
        assert!(close(rate_beside_another(&[good, bad, good, bad]), 2e6), "{label:?}");
        // Where there is nothing else, everything counts.
        assert!(close(rate_beside_another(&[bad; 2]), 2.0 * 77e6), "{label:?}");
    }
    // Waiting for a CPU is part of the rate.
    let preempted = (Labels::of(&[Label::Preempted]), 500);
    assert!(close(rate_beside_another(&[good, preempted]), 1.5e6));
}

#[test]
fn each_member_is_prorated_to_the_common_window() {
    let both = Point { workers: 3, ..point(Timing::Batched, metric(Quantity::Rate, Derivation::Series(""))) };
    let of = |members: &[(u64, u64, u64)]| {
        let sample = |(worker, &(t0_ns, end, iters)): (usize, &(u64, u64, u64))| Sample {
            worker: worker as u32,
            t0_ns,
            elapsed_ns: end - t0_ns,
            iters,
            ..Sample::default()
        };
        let samples = members.iter().enumerate().map(sample).collect();
        one(&both, &[round(0, vec![Series { samples, ..series("", &[], Labels::NONE) }])])
    };
    // All work from 50 to 100 ns: 50, 150 and 25 of their iterations fall into that window.
    assert!(close(of(&[(0, 100, 100), (50, 150, 300), (20, 120, 50)]).value, 225.0 / 50e-9));
    // If one starts as the other ends, or later, nothing was done together.
    for start in [100, 120] {
        let apart = of(&[(0, 100, 100), (start, 200, 100)]);
        assert_eq!((apart.value, apart.state), (None, State::Unresolved), "{start}");
        assert!(apart.reason.contains("never undisturbed at the same time"), "{}", apart.reason);
    }
    // A round without a common window takes nothing from the others.
    let sample = |worker, t0_ns| Sample { worker, t0_ns, elapsed_ns: 100, iters: 100, ..Sample::default() };
    let of = |second| Series { samples: vec![sample(0, 0), sample(1, second)], ..series("", &[], Labels::NONE) };
    let two = Point { workers: 2, ..both.clone() };
    let record = one(&two, &[round(0, vec![of(0)]), round(1, vec![of(100)]), round(2, vec![of(0)])]);
    assert!(close(record.value, 2e9) && record.rounds == 2, "{record:?}");
}

#[test]
fn only_single_workers_have_cycles_and_only_group_latencies_member_facts() {
    let of = |quantity, workers: u32, timing| {
        let point = Point { workers, ..point(timing, metric(quantity, Derivation::Series(""))) };
        let record = one(&point, &nine());
        (record.cycles.is_some(), record.facts.iter().filter(|f| f.key.starts_with("group.")).count())
    };
    assert_eq!(of(Quantity::Latency, 1, Timing::Batched), (true, 0));
    assert_eq!(of(Quantity::Latency, 1, Timing::Floor), (true, 0));
    assert_eq!(of(Quantity::Latency, 1, Timing::Each), (false, 0));
    assert_eq!(of(Quantity::Rate, 1, Timing::Batched), (false, 0));
    assert_eq!(of(Quantity::Latency, 2, Timing::Batched), (false, 4));
    assert_eq!(of(Quantity::Rate, 2, Timing::Batched), (false, 0));
}

#[test]
fn member_fairness_uses_clean_samples_of_existing_members() {
    let group = Point { workers: 2, ..point(Timing::Batched, metric(Quantity::Latency, Derivation::Series(""))) };
    let sample = |worker, ns: u64, labels| Sample { worker, elapsed_ns: ns, iters: 1, labels, ..Sample::default() };
    let lost = Labels::of(&[Label::Stolen]);
    let samples = vec![
        sample(0, 100, Labels::NONE),
        sample(0, 1, lost),
        sample(0, 1, lost),
        sample(1, 300, Labels::NONE),
        sample(1, 9000, lost),
        sample(1, 9000, lost),
        sample(2, 5000, Labels::NONE),
    ];
    let record = one(&group, &[round(0, vec![Series { samples, ..series("", &[], Labels::NONE) }])]);
    let fact = |key: &str| record.facts.iter().find(|f| f.key == key).and_then(|f| f.value.parse().ok());
    assert!(close(fact("group.fastest_s"), 100e-9) && close(fact("group.slowest_s"), 300e-9), "{record:?}");
}
