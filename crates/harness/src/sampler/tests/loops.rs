//! Loops: their warm-up, their search for a count, several in turn, and operations timed one by
//! one.

use super::super::*;
use super::take_with;
use crate::fake::{Fake, rules};
use crate::instruments::FREQUENCY_PROBE_OPS;
use crate::iterations::SEARCH_CAP_NS;
use crate::labels::*;
use crate::stopwatch::Stopwatch;
use std::cell::Cell;

/// Operations of these lengths, timed one by one; `event(variant, n)` happens in the n-th call of a
/// variant.
fn each_with(fake: &Fake, time_limit_ns: u64, lengths: &[u64], event: impl Fn(&Fake, usize, u64)) -> Samples {
    let names = ["a", "b", "c"];
    let event = &event;
    let mut variants: Vec<Variant<'_>> = lengths
        .iter()
        .enumerate()
        .map(|(i, ns)| {
            let mut calls = 0;
            Variant::new(names[i], move |iters| {
                calls += 1;
                fake.run(ns * iters);
                event(fake, i, calls);
                Ok(())
            })
        })
        .collect();
    let each = Rules { timing: Timing::Each, time_limit_ns, ..rules() };
    alone(fake, &each, &mut variants, &[], &mut Rng::new(5)).expect("nothing fails")
}

#[test]
fn groups_of_loops_of_different_length_keep_them_apart() {
    let taken = each_with(&Fake::new(), 4_000_000_000, &[3_000, 40_000, 700_000], |_, _, _| {});
    let [a, b, c] = taken.output.series.as_slice() else { panic!("three series") };
    for (series, ns) in [(a, 3_000), (b, 40_000), (c, 700_000)] {
        for sample in &series.samples {
            assert_eq!((sample.elapsed_ns, sample.iters, sample.labels), (ns, 1, Labels::NONE), "{}", series.name);
            assert_eq!((sample.cpu, sample.cpu_ns), (1, ns), "{}", series.name);
        }
    }
    // Of the long one each has a reading of its own, of the others eight share one; the turns end
    // when any series is full.
    assert_eq!(a.samples.len(), b.samples.len());
    assert_eq!((a.samples.len() / 8, c.samples.len()), (c.samples.len(), 47));
    let turned = each_with(&Fake::new(), 4_000_000_000, &[700_000, 3_000], |_, _, _| {});
    assert_eq!(turned.output.series[1].samples.len(), 376);
    let most = 125 * DIRTY_FACTOR + GROUP as usize;
    assert!(turned.output.series.iter().all(|s| s.samples.len() <= most), "more than there is room for");
    let starts = |s: &Series| s.samples.iter().map(|s| s.t0_ns).collect::<Vec<_>>();
    assert!(starts(a).windows(2).all(|w| w[0] < w[1]) && starts(c).windows(2).all(|w| w[0] < w[1]));
}

/// Of a loop that a neighbour held up nearly all samples may lie before the other one was steady.
#[test]
fn a_transient_leaves_each_loop_the_samples_of_a_round() {
    let sample = |t0_ns| Sample { t0_ns, elapsed_ns: if t0_ns < 8 { 200 } else { 100 }, iters: 1, ..Sample::default() };
    let first: Vec<Sample> = (0..20).map(sample).collect();
    for (other, cut) in [([1, 4, 9], false), ([9, 12, 15], true)] {
        let mut samples = [first.clone(), other.map(sample).to_vec()];
        assert_eq!(leave_out_transient(&rules(), &mut samples), cut, "{other:?}");
        let left = if cut { 12 } else { 20 };
        assert_eq!(samples.map(|series| series.len()), [left, 3], "{other:?}");
    }
}

#[test]
fn the_first_operations_are_stated_where_they_are_a_metric() {
    let of = |first: bool| {
        let fake = Fake::new();
        let mut turns = 0;
        let rules = Rules { timing: Timing::Each, clock_cost_ns: 20.0, first, ..rules() };
        let mut body = Variant::new("", |_| {
            turns += 1;
            // The first 32 before the system has adapted; the longest of them is no median.
            fake.run(if turns == 5 {
                400_000
            } else if turns <= 32 {
                9_000
            } else {
                5_000
            });
            Ok(())
        });
        alone(&fake, &rules, std::slice::from_mut(&mut body), &[], &mut Rng::new(1)).expect("it works").output
    };
    let stated = of(true);
    let values = &stated.series.iter().find(|s| s.name == FIRST).expect("it is stated").values;
    assert!((values[0] - 8_980e-9).abs() < 1e-12 && values.len() == 1, "{values:?}");
    assert!(stated.series[0].samples.iter().all(|s| s.elapsed_ns < 6_000), "none of them is a sample");
    assert_eq!(of(false).series.len(), 1);
}

#[test]
fn a_disturbed_operation_invalidates_only_its_group() {
    // The 26th operation is in the fourth group of the samples, or so: the warm-up has some as
    // well.
    let hit = Cell::new(0);
    let taken = each_with(&Fake::new(), 1_000_000_000, &[5_000], |fake, _, n| {
        if n == 1_000 {
            hit.set(fake.now.get());
            fake.lose(100_000);
            fake.count(|u| u.involuntary += 1);
        }
    });
    let samples = &taken.output.series[0].samples;
    let at = samples.iter().position(|s| s.t0_ns < hit.get() && hit.get() <= s.t0_ns + s.elapsed_ns);
    // A warm-up of 1 ms is 200 operations; 500 wanted.
    assert!(at.is_none(), "the thousandth operation is not among them");
    let taken = each_with(&Fake::new(), 1_000_000_000, &[5_000], |fake, _, n| {
        if n == 300 {
            hit.set(fake.now.get());
            fake.lose(100_000);
            fake.count(|u| u.involuntary += 1);
        }
    });
    let samples = &taken.output.series[0].samples;
    let at = samples.iter().position(|s| s.t0_ns < hit.get() && hit.get() <= s.t0_ns + s.elapsed_ns);
    let at = at.expect("the three hundredth operation is a sample");
    let labelled: Vec<usize> = (0..samples.len()).filter(|&i| samples[i].labels.has(Label::Preempted)).collect();
    let group = at / GROUP as usize * GROUP as usize;
    assert_eq!(labelled, (group..group + GROUP as usize).collect::<Vec<_>>(), "hit at {at}");
    assert!(samples.iter().all(|s| s.labels == Labels::NONE || s.labels == Labels::of(&[Label::Preempted])));
}

#[test]
fn long_operations_are_labelled_alone() {
    let hit = Cell::new(0);
    let taken = each_with(&Fake::new(), 1_000_000_000, &[1_000_000], |fake, _, n| {
        if n == 100 {
            hit.set(fake.now.get());
            fake.lose(2_000_000);
            fake.count(|u| u.involuntary += 1);
        }
    });
    let samples = &taken.output.series[0].samples;
    let labelled: Vec<&Sample> = samples.iter().filter(|s| s.labels != Labels::NONE).collect();
    assert_eq!(labelled.len(), 1);
    // Of 200 us and not more, eight share a reading still.
    let just = each_with(&Fake::new(), 1_000_000_000, &[LONG_OPERATION_NS], |fake, _, n| {
        if n == 100 {
            fake.count(|u| u.minor_faults += 1);
        }
    });
    let spoilt = just.output.series[0].samples.iter().filter(|s| s.labels.has(Label::Faulted)).count();
    assert_eq!(spoilt, GROUP as usize);
    assert!(labelled[0].t0_ns < hit.get() && hit.get() <= labelled[0].t0_ns + labelled[0].elapsed_ns);
}

#[test]
fn operations_longer_than_the_round_are_as_few_as_a_round_needs() {
    let count = |each_ns: u64| {
        let taken = each_with(&Fake::new(), 4_000_000, &[each_ns], |_, _, _| {});
        taken.output.series[0].samples.len()
    };
    assert_eq!(count(80_000_000), MIN_SAMPLES);
    assert!(count(LONG_OPERATION_NS) >= GROUP as usize);
}

/// A loop of 100 ns an iteration, after `untimed` ns that are not timed.
fn staged(fake: &Fake, rules: &Rules, untimed: u64) -> Samples {
    let body = |iters: u64, watch: &mut Stopwatch<'_>| {
        fake.run(untimed);
        watch.start();
        fake.run(100 * iters);
        watch.stop();
        Ok(())
    };
    alone(fake, rules, &mut [Variant::staged("", body)], &[], &mut Rng::new(3)).expect("it does not fail")
}

#[test]
fn what_is_not_timed_counts_for_the_time_limit_and_not_for_the_count() {
    let fake = Fake::new();
    let short = Rules { time_limit_ns: 40_000_000, intervals: 500, ..rules() };
    let taken = staged(&fake, &short, 3_000_000);
    let series = &taken.output.series[0];
    assert_eq!(series.iters, 2000, "200 us of the timed part");
    assert!(series.samples.iter().all(|s| s.elapsed_ns == 100 * s.iters));
    // Of 3.2 ms each, some frequency probes between.
    assert!((11..=13).contains(&series.samples.len()), "{}", series.samples.len());
    // Twice the iterations took twice the time, as the watch saw it.
    assert!((taken.scaling.expect("looked at") - 2.0).abs() < 1e-9);
}

#[test]
fn a_search_whose_timed_part_stays_short_ends_with_what_it_has() {
    let fake = Fake::new();
    let began = fake.now.get();
    let body = |iters: u64, watch: &mut Stopwatch<'_>| {
        fake.run(300_000_000 * iters);
        watch.start();
        fake.run(10 * iters);
        watch.stop();
        Ok(())
    };
    let n = choose_iterations(&fake, &mut Variant::staged("", body), 200_000.0, &mut 0).expect("a count").iters();
    let spent = fake.now.get() - began;
    assert!((1..=10).contains(&n) && spent < 10 * SEARCH_CAP_NS, "{n} iterations after {spent} ns");
    // Where the watch was never started, there is nothing to go by.
    let body = |iters: u64, _: &mut Stopwatch<'_>| {
        fake.run(300_000_000 * iters);
        Ok(())
    };
    let never = choose_iterations(&fake, &mut Variant::staged("", body), 200_000.0, &mut 0);
    assert!(matches!(&never, Err(BenchError::Failed(why)) if why.contains("no time that is measured")), "{never:?}");
}

#[test]
fn a_capped_loop_that_does_nothing_does_not_scale() {
    for cap in [2, 7, 64, 4096] {
        let fake = Fake::new();
        // Reading the clock takes 20 ns, whatever is between.
        let body = |_: u64| {
            fake.run(20);
            Ok(())
        };
        let mut variants = [Variant::new("", body).max_iters(cap)];
        let taken = alone(&fake, &rules(), &mut variants, &[], &mut Rng::new(1)).expect("samples");
        let ratio = taken.scaling.expect("it was looked at");
        assert!((ratio - 1.0).abs() < 1e-9, "{cap}: {ratio}");
    }
    // And one that does something does.
    let fake = Fake::new();
    let body = |iters: u64| {
        fake.run(500 * iters);
        Ok(())
    };
    let taken =
        alone(&fake, &rules(), &mut [Variant::new("", body).max_iters(64)], &[], &mut Rng::new(1)).expect("runs");
    assert!((taken.scaling.expect("it was looked at") - 2.0).abs() < 1e-9);
    assert_eq!(taken.output.series[0].iters, 64);
    assert!(taken.output.series[0].samples.iter().all(|s| s.iters == 64));
}

#[test]
fn the_loop_that_scales_worst_is_reported() {
    for broken in 0..2 {
        let fake = Fake::new();
        let good = |iters: u64| {
            fake.run(100 * iters);
            Ok(())
        };
        let bad = |_: u64| {
            fake.run(20);
            Ok(())
        };
        let mut variants = [Variant::new("good", good), Variant::new("bad", bad).max_iters(100)];
        if broken == 0 {
            variants.swap(0, 1);
        }
        let taken = alone(&fake, &rules(), &mut variants, &[], &mut Rng::new(1)).expect("samples");
        assert!((taken.scaling.expect("looked at") - 1.0).abs() < 1e-9, "{broken}");
    }
}

#[test]
fn the_scaling_is_of_the_smallest_times_or_the_median_of_the_ratios() {
    // What 24 tries of k and of 2k take, by the number of the call.
    let ratio = |time: &dyn Fn(u64, u64) -> u64| {
        let fake = Fake::new();
        let mut calls = 0;
        let body = |iters: u64| {
            fake.run(time(calls, iters));
            calls += 1;
            Ok(())
        };
        let ratio = scaling(&fake, &mut Variant::new("", body), 2000, &mut 0, || true).expect("it runs");
        ratio.expect("all tries were undisturbed")
    };
    // Interference that comes and goes: the smallest times are right, the ratios are not.
    let seen = ratio(&|n, iters| 100 * iters + if n < 6 { 300_000 * (n % 3) } else { 0 });
    assert!((seen - 2.0).abs() < 0.05, "{seen}");
    // One try of k whose clock ran late makes its time too small for ever: the median of the
    // ratios is right, the mean is not.
    let seen = ratio(&|n, iters| if n == 0 { 10 } else { 100 * iters });
    assert!((seen - 2.0).abs() < 1e-9, "{seen}");
    // By a small margin: the one nearer to 2 counts.
    let seen = ratio(&|n, iters| if n == 0 { 85 * iters } else { 100 * iters });
    assert!((seen - 2.0).abs() < 1e-9, "{seen}");
    // All but one time of k and one of 2k are disturbed, in different tries: the smallest are
    // right, the ratios are not.
    let seen = ratio(&|n, iters| if n == 10 || n == 21 { 100 * iters } else { 100 * iters + 90_000 + 1_000 * n });
    assert!((seen - 2.0).abs() < 1e-9, "{seen}");
    // A loop that does nothing is found out by both.
    let seen = ratio(&|n, _| 50 + n % 3);
    assert!(seen < 1.2, "{seen}");
    // No more than three are made of what takes long, and six where the proof would break.
    for (ns, scaled, made) in [(90_000_000, 1.0, 12), (60_000_000, 1.6, 6)] {
        let calls = Cell::new(0u64);
        let seen = ratio(&|n, _| {
            calls.set(n + 1);
            if n % 2 == 0 { ns } else { (ns as f64 * scaled) as u64 }
        });
        assert!((seen - scaled).abs() < 0.01 && calls.get() == made, "{seen} after {}", calls.get());
    }
    // A machine that is busy for half a second does not break it.
    let seen = ratio(&|n, iters| if n < 8 { 70_000_000 + iters } else { 100 * iters });
    assert!((seen - 2.0).abs() < 0.05, "{seen}");
    // Three ratios are looked at before the first is believed.
    let calls = Cell::new(0u64);
    let seen = ratio(&|n, iters| {
        calls.set(n + 1);
        100 * iters
    });
    assert_eq!((seen, calls.get()), (2.0, 6));
}

#[test]
fn a_scaling_proof_breaks_by_undisturbed_tries_only() {
    // The loop yields the CPU to a third task, which keeps it for 3 ms: as often in k iterations
    // as in 2k. `every` is how many tries pass from one that is left alone to the next.
    let ratio = |every: u64, iteration_ns: u64| {
        let fake = Fake::new();
        let mut calls = 0u64;
        let body = |iters: u64| {
            fake.run(iteration_ns * iters + 25);
            if !(calls / 2 + 1).is_multiple_of(every) {
                fake.lose(3_000_000);
                fake.count(|usage| usage.involuntary += 1);
            }
            calls += 1;
            Ok(())
        };
        scaling(&fake, &mut Variant::new("", body), 20, &mut 0, undisturbed(&fake, &rules())).expect("it runs")
    };
    // Never undisturbed, or in two tries of 24: a loop that does nothing cannot be told from one
    // whose time is that of others.
    assert_eq!((ratio(u64::MAX, 100), ratio(u64::MAX, 0), ratio(10, 0)), (None, None, None));
    // Alone now and then: the loop that works scales, the other does not.
    let (works, idles) = (ratio(4, 100), ratio(4, 0));
    assert!(works.is_some_and(|r| r > 1.9), "{works:?}");
    assert!(idles.is_some_and(|r| r < 1.1), "{idles:?}");
}

/// On a busy machine three tries of a row are left alone, and the core's clock is high for 2k
/// and low for k. Some rows later it is not.
#[test]
fn a_scaling_proof_does_not_break_by_one_row_of_tries() {
    const ROW: u64 = 24;
    let ratio = |rows: u64, iteration_ns: u64| {
        let fake = Fake::new();
        let mut calls = 0u64;
        let body = |iters: u64| {
            let (attempt, is_double) = (calls / 2, calls % 2 == 1);
            let cycle = if attempt < rows * ROW && is_double { 2 } else { 3 };
            fake.run(iteration_ns * iters * cycle + 25);
            if attempt % 8 != 0 {
                fake.lose(3_000_000);
                fake.count(|usage| usage.involuntary += 1);
            }
            calls += 1;
            Ok(())
        };
        scaling(&fake, &mut Variant::new("", body), 20, &mut 0, undisturbed(&fake, &rules())).expect("it runs")
    };
    for rows in [0, 1, 3] {
        assert!(ratio(rows, 100).is_some_and(|ratio| (ratio - 2.0).abs() < 0.05), "{rows}: {:?}", ratio(rows, 100));
    }
    // What stays so is no accident, and a loop that does nothing is found out as before.
    assert!(ratio(u64::MAX / ROW, 100).is_some_and(|ratio| ratio < 1.5), "{:?}", ratio(u64::MAX / ROW, 100));
    assert!(ratio(0, 0).is_some_and(|ratio| ratio < 1.1), "{:?}", ratio(0, 0));
}

#[test]
fn the_cores_clock_is_the_quantile_that_the_headline_is() {
    for (timing, p) in [(Timing::Batched, 0.5), (Timing::Floor, 0.1)] {
        let fake = Fake::new();
        let mut calls = 0;
        let body = |iters: u64| {
            calls += 1;
            fake.run(100 * iters);
            fake.frequency_probe.set([50_000, 900_000, 60_000, 60_000, 70_000, 500_000, 61_000][calls / 8 % 7]);
            Ok(())
        };
        let many = Rules { timing, intervals: 400, time_limit_ns: 60_000_000_000, ..rules() };
        let taken = alone(&fake, &many, &mut [Variant::new("", body)], &[], &mut Rng::new(3)).expect("it runs");
        let ns = FREQUENCY_PROBE_OPS as f64 * 1e9 / taken.output.core_hz.expect("frequency_probes ran");
        // Rank by rank, not by the function under test; fifty frequency probes.
        let mut seen = fake.frequency_probes.take();
        seen.sort_unstable();
        let at = (seen.len() - 1) as f64 * p;
        let (low, high) = (seen[at.floor() as usize] as f64, seen[at.ceil() as usize] as f64);
        assert!(low * 0.9999 <= ns && ns <= high * 1.0001, "{timing:?}: {ns} of {low}..{high}");
        let mean = seen.iter().sum::<u64>() as f64 / seen.len() as f64;
        assert!(mean > 1.5 * high && seen.len() > 40, "a mean cannot pass for it: {mean}");
        assert!(timing == Timing::Floor || (seen[0] as f64) < 0.9 * low, "nor the smallest");
    }
}

/// Warms a loop up whose n-th turn takes `ns(n)` a turn; its turns, and how long it took.
fn warmed(rules: &Rules, ns: impl Fn(u64) -> u64) -> (Result<u64, BenchError>, u64) {
    let fake = Fake::new();
    let began = fake.now.get();
    let mut turns = 0;
    let body = |_: u64| {
        turns += 1;
        fake.run(ns(turns));
        Ok(())
    };
    let ended = warm_up(&fake, &mut [Variant::new("", body)], &[10], rules, &mut 0);
    (ended.map(|_| turns), fake.now.get() - began)
}

#[test]
fn a_warm_up_lasts_as_long_as_asked_and_two_turns() {
    let asked = |ms: u64| Rules { warm_ns: ms * 1_000_000, ..rules() };
    assert_eq!(warmed(&asked(10), |_| 200_000), (Ok(50), 10_000_000));
    assert_eq!(warmed(&asked(1), |_| 200_000), (Ok(5), 1_000_000));
    assert_eq!(warmed(&asked(1), |_| 3_000_000), (Ok(2), 6_000_000));
    let long = Rules { warm_ns: 900_000_000, time_limit_ns: 60_000_000_000, ..rules() };
    assert_eq!(warmed(&long, |_| 200_000_000), (Ok(3), 600_000_000), "at most 500 ms");
}

/// What the first loop did before it was steady is left out of all; what was interrupted is not
/// taken for a transient.
#[test]
fn the_transient_of_a_round_is_left_out() {
    let taken = |slow: u64, interrupted: bool| {
        let fake = Fake::new();
        let mut calls = 0;
        let first = |iters: u64| {
            calls += 1;
            // The warm-up takes the first five turns, of 0.22 ms.
            fake.run(iters * if calls <= 5 + slow { 150 } else { 100 });
            if interrupted && calls == 13 {
                fake.lose(3_000_000);
                fake.count(|used| used.involuntary += 1);
            }
            Ok(())
        };
        let second = |iters: u64| {
            fake.run(iters * 70);
            Ok(())
        };
        let frozen = [("a".to_owned(), 1000), ("b".to_owned(), 1000)];
        let many = Rules { intervals: 20, warm_ns: 1_000_000, time_limit_ns: 60_000_000, ..rules() };
        let variants = &mut [Variant::new("a", first), Variant::new("b", second)];
        alone(&fake, &many, variants, &frozen, &mut Rng::new(3)).expect("it runs").output
    };
    let of = |output: &RoundOutput| {
        let longest = output.series[0].samples.iter().map(|s| s.elapsed_ns / s.iters).max();
        (output.series.iter().map(|s| s.samples.len()).collect::<Vec<_>>(), longest)
    };
    let clean = taken(0, false);
    assert_eq!((of(&clean), clean.remarks.len()), ((vec![20, 20], Some(100)), 0));
    let slow = taken(5, false);
    let (left, longest) = of(&slow);
    assert!(left[0] == left[1] && (14..20).contains(&left[0]) && longest == Some(100), "{left:?} {longest:?}");
    let (kept, _) = of(&taken(0, true));
    assert!(kept[0] >= 20, "an interrupted sample is kept with its label: {kept:?}");
}

#[test]
fn a_round_that_does_not_become_steady_says_so() {
    let fake = Fake::new();
    let body = |iters: u64| {
        let now = fake.now.get();
        fake.run(iters * (100 + now / 100_000));
        Ok(())
    };
    let taken = alone(&fake, &rules(), &mut [Variant::new("", body)], &[], &mut Rng::new(3)).expect("it runs");
    assert!(taken.output.remarks.contains(&Remark::Unsteady), "{:?}", taken.output.remarks);
    assert!(take_with(&Fake::new(), &rules(), |_, _| {}).output.remarks.is_empty());
}

#[test]
fn a_stopped_clock_is_an_error_not_a_hang() {
    let (still, ..) = warmed(&rules(), |_| 0);
    assert!(matches!(&still, Err(BenchError::Failed(why)) if why.contains("stands still")), "{still:?}");
    let fake = Fake::new();
    let each = Rules { timing: Timing::Each, ..rules() };
    let none = alone(&fake, &each, &mut [Variant::new("", |_| Ok(()))], &[], &mut Rng::new(1));
    assert!(matches!(&none, Err(BenchError::Failed(why)) if why.contains("stands still")), "{none:?}");
    let frozen = [(String::new(), 10)];
    let none = alone(&fake, &rules(), &mut [Variant::new("", |_| Ok(()))], &frozen, &mut Rng::new(1));
    assert!(matches!(&none, Err(BenchError::Failed(why)) if why.contains("stands still")), "{none:?}");
}

#[test]
fn a_coarse_clock_is_not_one_that_stands_still() {
    // It shows the time of thousands of turns at once.
    let (turns, _) = warmed(&rules(), |n| if n.is_multiple_of(5_000) { 10_000_000 } else { 0 });
    assert_eq!(turns, Ok(5_000));
}
