//! Why values are imprecise: one cause for each, the first that its record shows.
//!
//! Not here: which values are imprecise (views decide), and causes that no record holds.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use groma_model::{Label, Record};
use groma_stats::median;

use crate::point::{family, is_between_cpus, is_of_shared_core};

/// A busy sibling thread makes operations take at most this many times as long:
/// docs/methods/neighbour.md#what-feels-it.
const SLOWEST_BESIDE: f64 = 1.55;

/// Why a value is imprecise, in the order in which causes are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause<'r> {
    /// Fewer than half of the samples counted: most of the others bear this label.
    Dropped(Label),
    /// Too few rounds for an interval.
    FewRounds,
    /// Its two sides ran on two CPUs, and rounds differ.
    BetweenCpus,
    /// It was measured beside a busy sibling thread, and rounds differ by no more than that
    /// explains.
    Beside,
    /// Its rounds differ, and only its family is known.
    Family(&'r str),
}

impl<'r> Cause<'r> {
    /// The cause of an imprecise record.
    fn of(record: &'r Record) -> Cause<'r> {
        let dropped = if record.clean * 2 < record.samples { dropped_by(record) } else { None };
        match (dropped, record.precision()) {
            // Rounds without a clean sample do not count, so this comes before too few rounds.
            (Some(label), _) => Cause::Dropped(label),
            (None, None) => Cause::FewRounds,
            (None, Some(_)) if is_between_cpus(record) => Cause::BetweenCpus,
            (None, Some(half)) if is_of_shared_core(record) && half <= (SLOWEST_BESIDE - 1.0) / 2.0 => Cause::Beside,
            (None, Some(_)) => Cause::Family(family(&record.id)),
        }
    }
}

/// The labels that dropped samples of a record, with their numbers of samples.
///
/// A record does not hold which labels drop a sample of its benchmark. A label that more samples
/// bear than were dropped does not, and preemptions only do where blocking does
/// (docs/methods/timing.md#labels).
pub fn dropping(record: &Record) -> impl DoubleEndedIterator<Item = (Label, u64)> {
    let count = |label: Label| record.labels.count(label);
    let dropped = record.samples.saturating_sub(record.clean);
    let drops = move |label: Label| match label {
        Label::Frequency | Label::Host => false,
        // Of worker groups it is counted only.
        Label::Shared => record.shared.is_some() && !is_of_shared_core(record),
        Label::Preempted => count(Label::Voluntary) <= dropped,
        _ => true,
    };
    let all = Label::ALL.into_iter().map(move |label| (label, count(label)));
    all.filter(move |(label, n)| (1..=dropped).contains(n) && drops(*label))
}

/// The label that most of the dropped samples bear; `None` if none was dropped.
fn dropped_by(record: &Record) -> Option<Label> {
    // Of equal ones the first of `Label::ALL`.
    dropping(record).rev().max_by_key(|(_, n)| *n).map(|(label, _)| label)
}

/// The imprecise values with one cause.
#[derive(Debug, PartialEq)]
pub struct Group<'r> {
    /// The cause.
    pub cause: Cause<'r>,
    /// Their number.
    pub count: usize,
    /// The median of their precisions; `None` without any interval.
    pub half_width: Option<f64>,
    /// The family that most of them belong to, and how many.
    pub most: (&'r str, usize),
}

/// Imprecise values by cause, the largest group first.
pub fn by_cause<'r>(imprecise: &[&'r Record]) -> Vec<Group<'r>> {
    let group = |(cause, records): (Cause<'r>, Vec<&'r Record>)| {
        let halves: Vec<f64> = records.iter().filter_map(|r| r.precision()).collect();
        let (most, of_most) = group_by_key(&records, |r| family(&r.id)).swap_remove(0);
        Group { cause, count: records.len(), half_width: median(&halves), most: (most, of_most.len()) }
    };
    group_by_key(imprecise, Cause::of).into_iter().map(group).collect()
}

/// Records with the same key together, the largest group first; among equal ones in the order of
/// keys.
fn group_by_key<'r, K: Ord>(records: &[&'r Record], key: impl Fn(&'r Record) -> K) -> Vec<(K, Vec<&'r Record>)> {
    let mut groups: BTreeMap<K, Vec<&Record>> = BTreeMap::new();
    for record in records {
        groups.entry(key(record)).or_default().push(record);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, records)| Reverse(records.len()));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use groma_model::{Flag, LabelCounts, Placement, Quantity, SharedCore};

    /// A record with an interval of this half-width.
    fn wide(id: &str, half: f64) -> Record {
        let record = fixtures::record(id, Quantity::Latency, 1e-6);
        Record { ci_display: Some([1e-6 * (1.0 - half), 1e-6 * (1.0 + half)]), ..record }
    }

    fn beside(record: Record) -> Record {
        Record { flags: vec![Flag::SharedCore { share: 0.7 }.to_string()], ..record }
    }

    fn at(placement: Placement, record: Record) -> Record {
        Record { placement, ..record }
    }

    /// A record of 100 samples, of which so many are clean, with these labels.
    fn record_with_labels(clean: u64, labels: &[(char, u64)], record: Record) -> Record {
        Record { clean, labels: LabelCounts(labels.to_vec()), ..record }
    }

    #[test]
    fn samples_are_dropped_by_the_label_that_most_of_them_bear() {
        let shared = |record| Record {
            shared: Some(SharedCore { value: None, share: 0.6, round_values: Vec::new() }),
            ..record
        };
        let by = |record: &Record| dropped_by(record);
        let most = record_with_labels(30, &[('P', 9), ('S', 2), ('N', 60)], wide("cpu.a", 0.2));
        assert_eq!(by(&shared(most.clone())), Some(Label::Shared));
        // Of a worker group it is counted only; and with the flag these samples count.
        assert_eq!(by(&most), Some(Label::Preempted));
        assert_eq!(by(&beside(shared(most))), Some(Label::Preempted));
        // Nothing is dropped by a change of the clock or of the host, nor by what more samples
        // bear.
        let counted = [('V', 71), ('C', 70), ('H', 70), ('S', 1)];
        assert_eq!(by(&record_with_labels(30, &counted, wide("cpu.a", 0.2))), Some(Label::Stolen));
        // Where blocking drops nothing, preemption does not either.
        assert_eq!(
            by(&record_with_labels(30, &[('P', 70), ('V', 71), ('M', 1)], wide("ipc.a", 0.2))),
            Some(Label::Migrated)
        );
        assert_eq!(by(&record_with_labels(100, &[('V', 100)], wide("ipc.a", 0.2))), None);
    }

    #[test]
    fn the_first_cause_that_a_record_shows_is_its_own() {
        let few = Record { ci_display: None, clean: 50, ..beside(wide("mem.a", 0.0)) };
        let by_faults = |clean, record| record_with_labels(clean, &[('F', 50)], record);
        let dropped = by_faults(49, at(Placement::SameLlc, wide("ipc.a", 0.2)));
        let all_rounds = Record { ci_display: None, ..by_faults(10, wide("mem.a", 0.0)) };
        let half = by_faults(50, wide("mem.a", 0.2));
        let pair = |cpus: &[u32]| at(Placement::List(cpus.to_vec()), wide("cpu.a", 0.2));
        let group = Record { workers: 2, ..pair(&[0, 1]) };
        for (record, cause) in [
            (few, Cause::FewRounds),
            (dropped, Cause::Dropped(Label::Faulted)),
            (all_rounds, Cause::Dropped(Label::Faulted)),
            // Without a label, the clock did not advance.
            (record_with_labels(49, &[], wide("mem.a", 0.2)), Cause::Family("mem")),
            (half, Cause::Family("mem")),
            (at(Placement::SameLlc, beside(wide("ipc.a", 0.2))), Cause::BetweenCpus),
            (at(Placement::SameCpu, beside(wide("ipc.a", 0.2))), Cause::Beside),
            (pair(&[0, 1]), Cause::BetweenCpus),
            (pair(&[1, 1]), Cause::Family("cpu")),
            (group, Cause::Family("cpu")),
            (beside(wide("disk.a", 0.27)), Cause::Beside),
            // More than a busy sibling thread does.
            (beside(wide("disk.a", 0.28)), Cause::Family("disk")),
        ] {
            assert_eq!(Cause::of(&record), cause, "{record:?}");
        }
    }

    #[test]
    fn each_value_is_in_one_group_and_the_largest_is_first() {
        let none = |id| Record { ci_display: None, ..wide(id, 0.0) };
        let all = [
            wide("vm.a", 0.3),
            none("cpu.a"),
            wide("disk.a", 0.1),
            none("mem.a"),
            wide("disk.b", 0.4),
            beside(wide("cpu.b", 0.1)),
            none("mem.b"),
            wide("disk.c", 0.2),
            wide("disk.d", 0.2),
        ];
        let groups = by_cause(&all.iter().collect::<Vec<_>>());
        let found: Vec<(Cause<'_>, usize)> = groups.iter().map(|group| (group.cause, group.count)).collect();
        let family = Cause::Family;
        assert_eq!(found, [(family("disk"), 4), (Cause::FewRounds, 3), (Cause::Beside, 1), (family("vm"), 1)]);
        assert_eq!(groups.iter().map(|group| group.count).sum::<usize>(), all.len());
        assert!((groups[0].half_width.expect("intervals") - 0.2).abs() < 1e-9, "{:?}", groups[0]);
        assert_eq!((groups[1].half_width, groups[1].most), (None, ("mem", 2)));
        assert!(by_cause(&[]).is_empty());
    }
}
