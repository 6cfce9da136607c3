//! What a record is called: its family, its point (parameters, placement, crew), and the text of one parameter.

use groma_model::{Params, Placement, Record, State, Value, WorkerKind};

/// The part of an id before the first dot.
pub(crate) fn family(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}

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
    // Alone it is pinned, and nobody pins a worker group unless asked: over the members of the worker group that is one curve.
    let unplaced = [Placement::Pinned, Placement::Free].contains(&record.placement);
    if record.placement != Placement::Pinned && !(unplaced && without.contains(&WORKERS)) {
        parts.push(record.placement.to_string());
    }
    if record.workers != 1 && !without.contains(&WORKERS) {
        parts.push(workers(record));
    }
    parts.join(" ")
}

/// The name by which [`point_without`] and curves know the members of a worker group.
pub(crate) const WORKERS: &str = "workers";

/// `4 threads`.
pub(crate) fn workers(record: &Record) -> String {
    let what = match record.worker_kind {
        WorkerKind::Processes => "processes",
        WorkerKind::Threads => "threads",
    };
    format!("{} {what}", record.workers)
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

/// The text of one parameter: what stands in `params_text` between `name=` and the next parameter. A text may have spaces
/// (`size=64 KiB`), so the names of the others are what ends it.
fn text_of<'a>(params: &Params, text: &'a str, name: &str) -> &'a str {
    let start_of = |name: &str| {
        let key = format!("{name}=");
        text.match_indices(&key)
            .find(|(at, _)| *at == 0 || text[..*at].ends_with(' '))
            .map(|(at, _)| (at, at + key.len()))
    };
    let Some((_, from)) = start_of(name) else { return "" };
    let next = params.0.iter().filter_map(|(n, _)| start_of(n)).map(|(at, _)| at).filter(|at| *at > from).min();
    text[from..next.unwrap_or(text.len())].trim_end()
}

/// Whether a numeric parameter is a size: its text carries a unit of bytes.
pub(crate) fn is_size(record: &Record, name: &str) -> bool {
    matches!(record.params.get(name), Some(Value::Int(_)))
        && text_of(&record.params, &record.params_text, name).ends_with('B')
}

/// Whether two records of one benchmark are of one point.
pub(crate) fn same_point(a: &Record, b: &Record) -> bool {
    a.params == b.params && a.placement == b.placement && a.workers == b.workers
}

/// The value of a record that was measured.
pub(crate) fn measured(record: &Record) -> Option<f64> {
    let usable = matches!(record.state, State::Ok | State::Noisy);
    record.value.filter(|v| usable && v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::record;
    use groma_model::Quantity;

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
