//! The names of a record: its family, its point (parameters, placement, worker group), and the text
//! of one parameter.

use groma_analysis::curve::{Curve, Rank};
use groma_analysis::point::{WORKERS, is_unplaced, text_of};
use groma_model::{Placement, Record, Value, parse_nanoseconds};
use std::collections::BTreeSet;

/// What distinguishes one metric from others of its id: `size=64 KiB same-llc 4 threads`.
pub(crate) fn point(record: &Record) -> String {
    point_without(record, &[])
}

/// As [`point`], without some parameters.
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

/// What the records of a curve share besides the id: `chain=amortised`.
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

/// The parameters with their displayed texts, in order.
pub(crate) fn params(record: &Record) -> impl Iterator<Item = (&str, &str)> {
    record.params.0.iter().map(|(name, _)| (name.as_str(), text_of(&record.params, &record.params_text, name)))
}

/// The parameters as command line options: ` --param size=65536 --param kind=stream`. Texts are
/// left out: they may be anything, and only their fingerprints are stored.
pub fn typed_params(record: &Record) -> String {
    let is_plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "_.:-".contains(c));
    let typed = |(name, value): &(String, Value)| {
        // A time needs its unit; a size with a rounded text needs its bytes.
        let shown = text_of(&record.params, &record.params_text, name);
        let text = match value {
            Value::Int(n) if parse_nanoseconds(shown) == Ok(*n) => shown.to_owned(),
            Value::Int(n) => n.to_string(),
            Value::Word(word) => word.clone(),
        };
        is_plain(&text).then(|| format!(" --param {name}={text}"))
    };
    record.params.0.iter().filter_map(typed).collect()
}

/// The worker group and the placement as command line options: ` -P 2 --placement same-cpu`.
pub fn typed_place(record: &Record) -> String {
    let group = if record.workers > 1 { format!(" -P {}", record.workers) } else { String::new() };
    let is_said = record.placement != Placement::Pinned;
    let placement = if is_said { format!(" --placement {}", record.placement) } else { String::new() };
    group + &placement
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::record;
    use groma_analysis::point::Numbers;
    use groma_model::{Quantity, WorkerKind};

    #[test]
    fn texts_of_parameters_may_have_spaces() {
        let mut r = record("mem.bandwidth", "size=64 KiB resize=2 MiB kernel=read", Quantity::Bandwidth, 1e9);
        let all: Vec<_> = params(&r).collect();
        assert_eq!(all, [("size", "64 KiB"), ("resize", "2 MiB"), ("kernel", "read")]);
        let kinds = ["size", "kernel", "none"].map(|name| Numbers::of(&r, name));
        assert_eq!(kinds, [Numbers::Sizes, Numbers::Counts, Numbers::Counts]);
        r.workers = 4;
        r.worker_kind = WorkerKind::Threads;
        r.placement = Placement::Spread;
        assert_eq!(point(&r), "size=64 KiB resize=2 MiB kernel=read spread 4 threads");
        assert_eq!(point_without(&r, &["size", WORKERS]), "resize=2 MiB kernel=read spread");
    }

    #[test]
    fn parameters_can_be_typed_again() {
        let mut r = record("timer.sleep", "length=100us size=1.44 KiB of=a-b command=x;y", Quantity::Latency, 1e-6);
        let word = |text: &str| Value::Word(text.to_owned());
        let values = [("length", Value::Int(100_000)), ("size", Value::Int(1470)), ("of", word("a-b"))];
        r.params.0 = values.map(|(name, value)| (name.to_owned(), value)).into();
        r.params.0.push(("command".to_owned(), word("x;y")));
        assert_eq!(typed_params(&r), " --param length=100us --param size=1470 --param of=a-b");
        for (text, is) in [("100us", true), ("0.1ms", true), ("100000", true), ("100", false)] {
            assert_eq!(r.params.0[0].1.is_typed(text), is, "{text}");
        }
    }
}
