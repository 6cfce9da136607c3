//! Tests of the curves and levels of the fixtures, by their displayed names.

use crate::fixtures;
use crate::point::{level_name, rest};
use groma_analysis::curve::{curves, for_levels, levels, widest};
use groma_analysis::point::Numbers;
use groma_model::Record;

fn latencies(records: &[Record]) -> Vec<&Record> {
    records.iter().filter(|r| r.id == "mem.latency").collect()
}

#[test]
fn a_size_sweep_of_two_chains_is_two_curves() {
    let records = fixtures::records();
    let records = latencies(&records);
    let (over, values) = widest(&records).expect("there are numbers");
    assert_eq!((over.as_str(), values), ("size", 40));
    let curves = curves(&records, &over);
    let names: Vec<String> = curves.iter().map(rest).collect();
    assert_eq!(names, ["chain=amortised", "chain=included"]);
    assert!(curves.iter().all(|c| c.numbers == Numbers::Sizes && c.points.len() == 40));
}

#[test]
fn levels_are_named_and_come_from_the_chain_without_translation() {
    let records = fixtures::records();
    let curves = curves(&latencies(&records), "size");
    let curve = for_levels(&curves).expect("it has levels");
    assert_eq!(rest(curve), "chain=amortised");
    let levels = levels(curve);
    let names: Vec<String> = levels.iter().map(|l| level_name(l.rank)).collect();
    assert_eq!(names, ["L1", "L2", "L3", "memory"]);
    assert_eq!(levels[0].capacity, Some(48.0 * 1024.0));
    assert!(levels[3].capacity.is_none());
    let cycles = levels[0].cycles.expect("cycles were seen");
    assert!((cycles - 5.0).abs() < 0.1, "{cycles}");
}

/// Neighbours left one quiet size on the first level, so it is not found; the next level must not
/// be taken for it.
#[test]
fn a_missed_first_level_is_still_counted() {
    let mut records = fixtures::records();
    let size = |record: &Record| record.params.int("size").unwrap_or(0);
    let smallest = latencies(&records).into_iter().map(size).min().expect("sizes");
    records.retain(|r| r.id != "mem.latency" || size(r) == smallest || size(r) > 60 << 10);
    let curves = curves(&latencies(&records), "size");
    let levels = levels(for_levels(&curves).expect("it has levels"));
    let names: Vec<String> = levels.iter().map(|l| level_name(l.rank)).collect();
    assert_eq!(names, ["L2", "L3", "memory"]);
}

#[test]
fn a_bandwidth_has_no_levels() {
    let records = fixtures::records();
    let records: Vec<&Record> = records.iter().filter(|r| r.id == "mem.bandwidth").collect();
    let (over, _) = widest(&records).expect("there are numbers");
    assert!(for_levels(&curves(&records, &over)).is_none());
}
