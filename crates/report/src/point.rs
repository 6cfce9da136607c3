//! What a record is called: its family, its point (parameters, placement, worker group), and the text of
//! one parameter.

use groma_analysis::curve::{Curve, Rank};
use groma_analysis::point::{WORKERS, is_unplaced, text_of};
use groma_model::{Placement, Record};
use std::collections::BTreeSet;

/// Everything but the id that tells one metric from another: `size=64 KiB same-llc 4 threads`.
pub(crate) fn point(record: &Record) -> String {
    point_without(record, &[])
}

/// As [`point`], some parameters left out.
pub(crate) fn point_without(record: &Record, without: &[&str]) -> String {
    let mut parts: Vec<String> = params(record)
        .filter(|(name, _)| !without.contains(name))
        .map(|(name, text)| format!("{name}={text}"))
        .collect();
    if record.placement != Placement::Pinned && !(is_unplaced(record) && without.contains(&WORKERS)) {
        parts.push(record.placement.to_string());
    }
    if record.workers != 1 && !without.contains(&WORKERS) {
        parts.push(workers(record));
    }
    parts.join(" ")
}

/// What the records of a curve have in common besides the id: `chain=amortised`.
pub(crate) fn rest(curve: &Curve<'_>) -> String {
    curve.points.first().map_or(String::new(), |(_, record)| point_without(record, &[&curve.over]))
}

/// The name of a level of a memory hierarchy: `L2`, `memory`.
pub(crate) fn level_name(rank: Rank) -> String {
    match rank {
        Rank::Cache(number) => format!("L{number}"),
        Rank::Memory => "memory".to_owned(),
        Rank::Beyond => "beyond".to_owned(),
    }
}

/// A set as `0-3,8`.
pub(crate) fn cpu_list(cpus: &BTreeSet<u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => runs.push((*cpu, *cpu)),
        }
    }
    let text = |(a, b): &(u32, u32)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

/// `4 threads`.
pub(crate) fn workers(record: &Record) -> String {
    format!("{} {}", record.workers, record.worker_kind.word())
}

/// `ipc.pipe_rtt size=1 same-cpu`.
pub(crate) fn name(record: &Record) -> String {
    let point = point(record);
    if point.is_empty() { record.id.clone() } else { format!("{} {point}", record.id) }
}

/// The parameters with their texts for people, in order.
pub(crate) fn params(record: &Record) -> impl Iterator<Item = (&str, &str)> {
    record.params.0.iter().map(|(name, _)| (name.as_str(), text_of(&record.params, &record.params_text, name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::record;
    use groma_analysis::point::is_size;
    use groma_model::{Quantity, WorkerKind};

    #[test]
    fn texts_of_parameters_may_have_spaces() {
        let mut r = record("mem.bandwidth", "size=64 KiB resize=2 MiB kernel=read", Quantity::Bandwidth, 1e9);
        let all: Vec<_> = params(&r).collect();
        assert_eq!(all, [("size", "64 KiB"), ("resize", "2 MiB"), ("kernel", "read")]);
        assert!(is_size(&r, "size") && !is_size(&r, "kernel") && !is_size(&r, "none"));
        r.workers = 4;
        r.worker_kind = WorkerKind::Threads;
        r.placement = Placement::Spread;
        assert_eq!(point(&r), "size=64 KiB resize=2 MiB kernel=read spread 4 threads");
        assert_eq!(point_without(&r, &["size", WORKERS]), "resize=2 MiB kernel=read spread");
    }
}
