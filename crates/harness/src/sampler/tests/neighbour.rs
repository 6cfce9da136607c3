//! The busy sibling: which samples it labels, and which begin when it rests.

use super::super::*;
use super::take_with;
use crate::fake::{Fake, core, rules};
use crate::labels::Rules;
use crate::model::{CoreProbe, Label, Labels};

#[test]
fn samples_beside_a_busy_sibling_are_labelled_and_more_are_taken() {
    let (fake, rules) = (Fake::new(), Rules { core: Some(core()), ..rules() });
    let idle = fake.block_ticks.get();
    // The neighbour comes with every third call, during it, and leaves during the next.
    let taken = take_with(&fake, &rules, |fake, n| {
        fake.block_ticks.set(if n % 3 == 0 { 2 * idle } else { idle });
    });
    let samples = &taken.output.series[0].samples;
    let shared = samples.iter().filter(|s| s.labels.has(Label::Shared)).count();
    assert!(samples.iter().all(|s| s.labels.without(Label::Shared) == Labels::NONE));
    // Two of three: the sample in which it came, and the one in which it went.
    assert!((shared as f64 / samples.len() as f64 - 2.0 / 3.0).abs() < 0.05, "{shared} of {}", samples.len());
    assert!(samples.len() - shared >= 25, "{} samples with a core of their own", samples.len() - shared);
    // The probes before and after each sample are counted by their rates.
    let rates = &taken.output.core.rates;
    assert_eq!((rates.total() as usize, rates.0.len()), (2 * samples.len(), 2));
}

/// With what a round may wait, nearly every sample has the core to itself, since it is begun when
/// the neighbour has just left. That ends when a dozen have.
#[test]
fn a_sample_begins_when_the_sibling_rests() {
    let shared = |wait_ns| {
        let (fake, rules) = (Fake::new(), Rules { core: Some(core()), wait_ns, ..rules() });
        let idle = fake.block_ticks.get();
        let taken = take_with(&fake, &rules, |fake, n| {
            // It comes during every fourth sample, and rests again after 1 ms.
            fake.block_ticks.set(if n % 4 == 0 { 2 * idle } else { fake.block_ticks.get() });
            fake.idle_from.set(Some(fake.now.get() + 1_000_000));
        });
        let samples = &taken.output.series[0].samples[..16];
        (samples.iter().filter(|s| s.labels.has(Label::Shared)).count(), taken.output.core.waited_ns)
    };
    let (waiting, waited_ns) = shared(1_000_000_000);
    assert!((3..=5).contains(&waiting) && (3_000_000..6_000_000).contains(&waited_ns), "{waiting}, {waited_ns} ns");
    let (not, waited_ns) = shared(0);
    assert!(not >= 14 && waited_ns == 0, "{not}, {waited_ns} ns");
}

/// A group ends with the sample during which the neighbour came; those before it are its own.
#[test]
fn a_look_between_short_samples_tells_which_of_a_group_are_shared() {
    let (fake, rules) = (Fake::new(), Rules { core: Some(core()), interval_ns: 40_000.0, ..rules() });
    let idle = fake.block_ticks.get();
    let (mut seen, mut from) = (Vec::new(), None);
    let taken = take_with(&fake, &rules, |fake, n| {
        if n == 60 {
            fake.block_ticks.set(2 * idle);
            from = Some(fake.now.get());
        } else if n == 63 {
            fake.block_ticks.set(idle);
            seen.push(fake.now.get());
        }
    });
    let labelled: Vec<u64> =
        taken.output.series[0].samples.iter().filter(|s| s.labels.has(Label::Shared)).map(|s| s.t0_ns).collect();
    let from = from.expect("it came");
    assert_eq!(labelled.len(), 4, "{labelled:?}, from {from} to {seen:?}");
    assert!(labelled[0] < from && labelled[1] >= from && labelled[3] < seen[0], "{labelled:?}, {from}, {seen:?}");
}

/// A neighbour that comes during one of two loops ends each of its groups after a sample, and none
/// of the other's: neither has fewer samples than a round.
#[test]
fn each_of_two_loops_has_the_samples_of_a_round() {
    let (fake, quick) = (Fake::new(), Rules { intervals: 3, interval_ns: 20_000.0, ..rules() });
    let busy = 2 * fake.block_ticks.get();
    let body = |is_beside: bool| {
        let fake = &fake;
        move |iters: u64| {
            fake.run(10 * iters);
            if is_beside {
                fake.block_ticks.set(busy);
                fake.idle_from.set(Some(fake.now.get() + 1_000_000));
            }
            Ok(())
        }
    };
    let mut variants = [Variant::new("alone", body(false)), Variant::new("beside", body(true))];
    let rules = Rules { core: Some(core()), wait_ns: 1_000_000_000, ..quick };
    let taken = alone(&fake, &rules, &mut variants, &[], &mut Rng::new(1)).expect("runs");
    let counts: Vec<usize> = taken.output.series.iter().map(|series| series.samples.len()).collect();
    assert!(counts[0] > 3 * counts[1] && counts[1] >= MIN_SAMPLES, "{counts:?}");
}

#[test]
fn no_sample_is_labelled_shared_where_nothing_can_be_told() {
    let fake = Fake::new();
    fake.block_ticks.set(20_000);
    let unknown = CoreProbe { shared_below: None, ..core() };
    for probe in [Some(unknown), None] {
        let taken = take_with(&fake, &Rules { core: probe, wait_ns: 1_000_000, ..rules() }, |_, _| {});
        assert!(taken.output.series[0].samples.iter().all(|s| s.labels == Labels::NONE));
        assert_eq!(taken.output.core.waited_ns, 0);
        assert_eq!(taken.output.core.is_empty(), probe.is_none());
    }
}
