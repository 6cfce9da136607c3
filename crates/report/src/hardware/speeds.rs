//! How fast it is: bandwidth by size, and the rest a line each.

use groma_analysis::claims::{Hierarchy, Seen, ended, reaches_memory};
use groma_analysis::matrix::{Matrix, protocol};
use groma_analysis::point::{differ_only_in, measured, same_point};
use groma_model::family::Row;
use groma_model::{Params, Record, Unit, Value};

use super::{Line, Table};
use crate::units::{self, NONE, Scale, size, time};

/// The operations of the table and what they are called there.
const SHOWN: [(&str, &str); 4] =
    [("read", "read"), ("write", "write"), ("write_nt", "write, no cache"), ("copy", "copy")];

/// The operations that fill memory and read nothing: one of them is the best store at a size.
const STORES: [(&str, &str); 4] =
    [("write", "write"), ("write_nt", "no cache"), ("zero_line", "zero line"), ("rep_stos", "rep stos")];

/// Sizes that the table has columns for, in 80; of more it shows the ends and some between.
const MOST_SIZES: usize = 6;

fn gigabytes(bytes_per_second: f64) -> String {
    units::significant(bytes_per_second / 1e9, 3)
}

/// Bandwidth by size, and which store wins at which. Sizes are the columns.
pub(super) fn bandwidth(row: &Row, seen: &Seen<'_>, hierarchies: &[Hierarchy<'_>]) -> Option<Table> {
    let Row::Bandwidth(id) = row else { return None };
    let records: Vec<&Record> = seen.all(id).filter(|r| r.params.word("op").is_some()).collect();
    let mut sizes: Vec<u64> =
        records.iter().filter(|r| measured(r).is_some()).filter_map(|r| r.number("size")).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() > MOST_SIZES {
        let (last, steps) = (sizes.len() - 1, MOST_SIZES - 1);
        sizes = (0..=steps).map(|i| sizes[(i * last + steps / 2) / steps]).collect();
    }
    let at = |op: &str, size: u64| {
        // Of several kernels the fastest: that of the CPU's widest registers, as a rule.
        let of_it = records.iter().filter(|r| r.params.word("op") == Some(op) && r.number("size") == Some(size));
        of_it.filter_map(|r| measured(r)).max_by(f64::total_cmp)
    };
    let mut heads = vec!["GB/s".to_owned()];
    heads.extend(sizes.iter().map(|s| size(*s as f64)));
    let mut rows = Vec::new();
    for (op, name) in SHOWN {
        if sizes.iter().any(|s| at(op, *s).is_some()) {
            let cells = sizes.iter().map(|s| at(op, *s).map_or(NONE.to_owned(), gigabytes));
            rows.push([name.to_owned()].into_iter().chain(cells).collect());
        }
    }
    if rows.is_empty() {
        return None;
    }
    let stores: Vec<_> = STORES.iter().filter(|(op, _)| sizes.iter().any(|s| at(op, *s).is_some())).collect();
    if stores.len() > 1 {
        let best = |size: u64| {
            let all = stores.iter().filter_map(|(op, name)| Some((at(op, size)?, name)));
            all.max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let names = sizes.iter().map(|s| best(*s).map_or(NONE.to_owned(), |b| b.1.to_string()));
        rows.push(["best store".to_owned()].into_iter().chain(names).collect());
        if stores.iter().any(|(op, _)| !SHOWN.iter().any(|(shown, _)| shown == op)) {
            let values = sizes.iter().map(|s| best(*s).map_or(NONE.to_owned(), |b| gigabytes(b.0)));
            rows.push([String::new()].into_iter().chain(values).collect());
        }
    }
    let largest = *sizes.last()?;
    let caution = (reaches_memory(hierarchies, largest as f64) == Some(false)).then(|| {
        let largest = size(largest as f64);
        format!("{largest} is not memory alone here: its latency still rises there (larger: --param size=1G)")
    });
    Some(Table { heads, rows, caution })
}

/// The line of a row that is one.
pub(super) fn line(row: &Row, seen: &Seen<'_>) -> Option<Line> {
    let (label, id, text) = match *row {
        Row::Stream(id) => ("STREAM", id, stream(id, seen)),
        Row::Parallelism { loads, random } => ("at once", loads, parallelism(loads, random, seen)),
        Row::Access(id) => ("by access", id, access(id, seen)),
        Row::Prefetch { ratio, chain } => ("prefetch", ratio, prefetch(ratio, chain, seen)),
        Row::LoadedLatency { median, p95, bandwidth } => ("loaded", median, loaded(median, p95, bandwidth, seen)),
        Row::Transfers(id) => ("core to core", id, cores(id, seen)),
        Row::Operations { latency, throughput } => ("operations", latency, operations(latency, throughput, seen)),
        Row::Branches(id) => ("branches", id, branches(id, seen)),
        _ => return None,
    };
    Some(Line { label, text: text?, is_measured: seen.all(id).any(|r| measured(r).is_some()) })
}

/// A text of these records, or of why there is none.
fn told(parts: Vec<String>, records: &[&Record]) -> Option<String> {
    if !parts.is_empty() {
        return Some(parts.join(", "));
    }
    let worst = records.iter().max_by_key(|r| r.state)?;
    let state = ended(worst).word();
    Some(if worst.reason.is_empty() { state.to_owned() } else { format!("{state}: {}", worst.reason) })
}

/// Keeps the records that differ from the first measured one in this parameter only.
fn alike(records: &mut Vec<&Record>, but: &str) {
    let Some(first) = records.iter().find(|r| measured(r).is_some()).copied() else { return };
    records.retain(|r| differ_only_in(r, first, &[but]));
}

fn stream(id: &str, seen: &Seen<'_>) -> Option<String> {
    // With ordinary stores, as everybody's STREAM has them.
    let plain = |r: &&&Record| r.params.word("store").is_none_or(|s| s == "plain");
    let four = |records: &[&Record]| -> Vec<String> {
        let of = |op: &&str| {
            let mut of_it = records.iter().filter(plain).filter(|r| r.params.word("op") == Some(op));
            Some(format!("{op} {}", gigabytes(of_it.find_map(|r| measured(r))?)))
        };
        ["copy", "scale", "add", "triad"].iter().filter_map(of).collect()
    };
    let records: Vec<&Record> = seen.all(id).collect();
    let alone = four(&records);
    let unit = if alone.is_empty() { "" } else { " GB/s" };
    let text = told(alone, &records)? + unit;
    let group = seen.of_largest_group(id);
    let together = four(&group);
    Some(match group.first() {
        Some(first) if !together.is_empty() => {
            format!("{text}; {} CPUs: {} GB/s", first.workers, together.join(", "))
        }
        _ => text,
    })
}

/// How many misses at once, by size, and what limits them.
fn parallelism(loads: &str, random: &str, seen: &Seen<'_>) -> Option<String> {
    let mut records: Vec<&Record> = seen.all(loads).collect();
    alike(&mut records, "size");
    records.sort_by_key(|r| r.number("size"));
    let of = |r: &&Record| {
        let value = units::significant(measured(r)?, 3);
        let at = r.number("size").map(|s| format!("{}: ", size(s as f64))).unwrap_or_default();
        let limiter = r.fact("limiter").map(|l| format!(" ({l})")).unwrap_or_default();
        Some(format!("{at}{value} loads{limiter}"))
    };
    let mut text = told(records.iter().filter_map(of).collect(), &records)?;
    if let Some(rate) = seen.value(random) {
        text += &format!("; {} lines at random", units::value(rate, Scale::Events, None));
    }
    Some(text)
}

/// Latency by kind of access, at the largest size of each.
fn access(id: &str, seen: &Seen<'_>) -> Option<String> {
    let records: Vec<&Record> = seen.all(id).collect();
    let largest = records.iter().filter(|r| measured(r).is_some()).filter_map(|r| r.number("size")).max();
    let of = |kind: &str| {
        let mut all = records.iter().filter(|r| r.params.word("kind") == Some(kind) && r.number("size") == largest);
        all.find_map(|r| measured(r))
    };
    let kinds = [("read", "read"), ("dirty", "read what is dirty"), ("own", "own")];
    let parts: Vec<String> = kinds.iter().filter_map(|(k, name)| Some(format!("{name} {}", time(of(k)?)))).collect();
    let text = told(parts, &records)?;
    Some(largest.map_or(text.clone(), |l| format!("{text} at {}", size(l as f64))))
}

fn prefetch(id: &str, chain: &str, seen: &Seen<'_>) -> Option<String> {
    let record = seen.first(id, |_| true)?;
    let text = measured(record).map(|ratio| {
        format!("{chain}'s chain takes {} times as long as one that nothing foresees", units::significant(ratio, 3))
    });
    told(text.into_iter().collect(), &[record])
}

/// The two ends of the curve of latency under load.
fn loaded(median: &str, p95: &str, bandwidth: &str, seen: &Seen<'_>) -> Option<String> {
    let mut records: Vec<&Record> = seen.all(median).collect();
    alike(&mut records, "pace");
    let mut pairs: Vec<(f64, f64, Option<f64>)> = records
        .iter()
        .filter_map(|r| {
            let beside = |id: &str| seen.first(id, |other| same_point(other, r)).and_then(measured);
            Some((beside(bandwidth)?, measured(r)?, beside(p95)))
        })
        .collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let text = |(bandwidth, latency, p95): &(f64, f64, Option<f64>)| {
        let slow = p95.map(|p| format!(" (95 %: {})", time(p))).unwrap_or_default();
        format!("{}{slow} at {} GB/s", time(*latency), gigabytes(*bandwidth))
    };
    let parts = match (pairs.first(), pairs.last()) {
        (Some(least), Some(most)) if pairs.len() > 1 => vec![format!("{} to {}", text(least), text(most))],
        (Some(only), _) => vec![text(only)],
        _ => Vec::new(),
    };
    told(parts, &records)
}

fn cores(id: &str, seen: &Seen<'_>) -> Option<String> {
    let records: Vec<&Record> = seen.all(id).collect();
    let Some(matrix) = Matrix::of_cores(&records, None) else { return told(Vec::new(), &records) };
    let all = matrix.off_diagonal();
    let low = all.iter().copied().min_by(f64::total_cmp)?;
    let high = all.iter().copied().max_by(f64::total_cmp)?;
    let word = protocol(&records, None).unwrap_or_default();
    let pairs = all.len() / 2;
    Some(if pairs == 1 {
        format!("{word} {} one way", time(low))
    } else {
        format!("{word} {} one way, {pairs} pairs", units::range(low, high, Scale::Time))
    })
}

/// Latency and throughput of each operation, in cycles where the clock was seen beside them.
fn operations(latency: &str, throughput: &str, seen: &Seen<'_>) -> Option<String> {
    let records: Vec<&Record> = seen.all(latency).collect();
    let mut in_time = false;
    let mut cost = |r: &Record| {
        let value = measured(r)?;
        match (r.cycles, r.unit) {
            (Some(cycles), _) => Some(short(cycles)),
            (None, Unit::Seconds) => {
                in_time = true;
                Some(short(value * 1e9))
            }
            (None, _) => Some(units::value(value, Scale::of(r), None)),
        }
    };
    let mut parts = Vec::new();
    for record in &records {
        let Some(latency) = cost(record) else { continue };
        let name = name(&record.params);
        let throughput = seen.first(throughput, |t| same_point(t, record)).and_then(&mut cost);
        parts.push(format!("{name} {latency}{}", throughput.map(|t| format!("/{t}")).unwrap_or_default()));
    }
    let any = !parts.is_empty();
    let unit = if in_time { "ns" } else { "cycles" };
    let text = told(parts, &records)?;
    Some(if any { format!("{text} ({unit}: latency/throughput)") } else { text })
}

/// A number of a few cycles or nanoseconds, to two decimals at most.
fn short(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}") } else { units::significant(value, 3) }
}

/// The words of a point: `i64.add`.
fn name(params: &Params) -> String {
    let word = |v: &Value| match v {
        Value::Word(w) => w.clone(),
        Value::Int(n) => n.to_string(),
    };
    params.0.iter().map(|(_, v)| word(v)).collect::<Vec<_>>().join(" ")
}

fn branches(id: &str, seen: &Seen<'_>) -> Option<String> {
    let records: Vec<&Record> = seen.all(id).collect();
    let of = |r: &&Record| {
        let value = measured(r)?;
        let cost = r.cycles.map_or_else(|| units::value(value, Scale::of(r), None), units::cycles);
        Some(format!("{} {cost}", name(&r.params)))
    };
    told(records.iter().filter_map(of).collect(), &records)
}
