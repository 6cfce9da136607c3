//! A run as a result file of lmbench 3, which its own scripts read.
//!
//! The values are groma's; the head says so.

use std::collections::BTreeSet;

use groma_model::{End, Record, RunHeader, plain};
use groma_published::results::{Column, Form, KINDS, Tasks};
use jiff::{SignedDuration, Timestamp};

use super::{Reading, copies, readings};

/// A result file.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its text.
    pub text: String,
    /// How many values it holds.
    pub values: usize,
}

/// The result file of a run.
pub fn lmbench_file(head: &RunHeader, records: &[Record], end: Option<&End>) -> Written {
    let all: Vec<Reading<'_>> = readings(head, records).into_iter().filter(|one| one.si.is_some()).collect();
    let started = head.started.parse::<Timestamp>().ok();
    let ended = started.zip(end).and_then(|(at, end)| at.checked_add(SignedDuration::from_secs_f64(end.wall_s)).ok());
    let date = |at: Option<Timestamp>| at.map(|at| format!("[{}]\n", at.strftime("%a %b %e %H:%M:%S UTC %Y")));
    let mut text = head_of(head, &all);
    text.extend(date(started));
    for kind in KINDS {
        let of_kind: Vec<&Reading<'_>> = all.iter().filter(|one| one.kind.name == kind.name).collect();
        match kind.form {
            Form::Head(_) | Form::Files(3) | Form::Switch | Form::Tlb(1) => {}
            Form::Files(_) => text += &files(&all),
            Form::SwitchOverhead => text += &switches(&all),
            Form::Tlb(_) => text += &tlb(&all),
            Form::Load(marker) => text += &loads(marker, &of_kind),
            Form::Row(marker, column) if !of_kind.is_empty() => {
                text += &format!("\n{}\n", quoted(marker));
                for one in of_kind {
                    text += &format!("{} {}\n", column.text(one.keys[0]), number(one));
                }
                text.push('\n');
            }
            Form::NamedRow(marker, column) => {
                let names: BTreeSet<(bool, String)> = of_kind.iter().map(|one| (one.remote, name_of(one))).collect();
                for name in names {
                    text += &format!("\n{} {}\n", quoted(marker), name.1);
                    for one in of_kind.iter().filter(|one| (one.remote, name_of(one)) == name) {
                        let unit = if marker.starts_with("Socket") { " MB/sec" } else { "" };
                        text += &format!("{} {}{unit}\n", column.text(one.keys[0]), number(one));
                    }
                    text.push('\n');
                }
            }
            _ => of_kind.iter().for_each(|one| text += &line(one)),
        }
    }
    text.extend(date(ended.or(started)));
    Written { text, values: all.len() }
}

/// The head: the first line, by which lmbench's scripts know a result file, and what they read of
/// the others.
fn head_of(head: &RunHeader, all: &[Reading<'_>]) -> String {
    let fact = |key: &str| plain(head.environment.get(key).unwrap_or("unknown")).into_owned();
    let uname = ["kernel.name", "host.name", "kernel.release", "kernel.version", "host.machine"].map(fact).join(" ");
    let mut text = format!("[lmbench3.0 results for {uname}]\n[LMBENCH_VER: groma {}]\n", plain(&head.groma));
    // What an imported run says of lmbench itself goes back as it was.
    for known in &head.environment.facts {
        if let Some(key) = known.key.strip_prefix("lmbench.").filter(|key| !["SYNC_MAX", "LMBENCH_VER"].contains(key)) {
            text += &format!("[{}: {}]\n", plain(key), plain(&known.value));
        }
    }
    for one in all {
        match (one.kind.form, one.si) {
            (Form::Head(key @ "MHZ"), Some(hz)) => {
                text += &format!("[{key}: {} MHz, {:.4} nanosec clock]\n", number(one), 1e9 / hz);
            }
            (Form::Head(key), _) => text += &format!("[{key}: {}]\n", number(one)),
            _ => {}
        }
    }
    text + &format!("[SYNC_MAX: {}]\n", copies(head))
}

/// A value in a line of its own.
fn line(one: &Reading<'_>) -> String {
    let (number, unit) = (number(one), one.kind.unit.word());
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    match one.kind.form {
        Form::Label(label) => format!("{label}: {number}{unit}\n"),
        Form::Named(label) => format!("{label} {}: {number}{unit}\n", name_of(one)),
        Form::Counted(before, after) => format!("{before} {} {after}: {number}{unit}\n", one.keys[0]),
        Form::WriteRate => format!("File write bandwidth: {number}{unit}\n"),
        Form::Http => format!("Avg xfer: {number}{unit}\n"),
        _ => String::new(),
    }
}

/// The peer, file or device.
fn name_of(one: &Reading<'_>) -> String {
    match one.name.or_else(|| one.record.fact(super::LMBENCH_NAME)) {
        Some(name) => plain(name).into_owned(),
        None if one.remote => "remote".to_owned(),
        None if one.kind.tasks == Tasks::One => "file".to_owned(),
        None => "localhost".to_owned(),
    }
}

/// A line that opens a section. Some begin with a quotation mark.
fn quoted(marker: &str) -> String {
    let bare = ["Memory", "Random", "Socket"].iter().any(|word| marker.starts_with(word));
    if bare { marker.to_owned() } else { format!("\"{marker}") }
}

/// The readings of a kind, by its keys.
fn at<'a, 'r>(all: &'a [Reading<'r>], name: &str, keys: &[u64]) -> Option<&'a Reading<'r>> {
    all.iter().find(|one| one.kind.name == name && one.keys == keys)
}

/// The distinct first keys of these kinds, in ascending order.
fn first_keys(all: &[Reading<'_>], names: &[&str]) -> BTreeSet<u64> {
    all.iter().filter(|one| names.contains(&one.kind.name)).map(|one| one.keys[0]).collect()
}

/// `size n create/s delete/s`.
fn files(all: &[Reading<'_>]) -> String {
    let mut rows = String::new();
    for size in first_keys(all, &["file_create", "file_delete"]).into_iter().filter(|size| size.is_multiple_of(1024)) {
        let [made, removed] = ["file_create", "file_delete"].map(|name| at(all, name, &[size]));
        let count = made.or(removed).map_or(0, |one| {
            one.record.fact("lmbench.count").and_then(|text| text.parse().ok()).unwrap_or(one.record.samples)
        });
        // lmbench's number for what it could not measure.
        let cell = |one: Option<&Reading<'_>>| one.map_or("-1".to_owned(), number);
        rows += &format!("{}k\t{count}\t{}\t{}\n", size / 1024, cell(made), cell(removed));
    }
    if rows.is_empty() { rows } else { format!("\n\"File system latency\n{rows}\n") }
}

/// A block for each working set.
fn switches(all: &[Reading<'_>]) -> String {
    let mut text = String::new();
    for size in first_keys(all, &["switch", "switch_overhead"]).into_iter().filter(|size| size.is_multiple_of(1024)) {
        let overhead = at(all, "switch_overhead", &[size]).map_or("0.00".to_owned(), number);
        text += &format!("\n\"size={}k ovr={overhead}\n", size / 1024);
        for one in all.iter().filter(|one| one.kind.name == "switch" && one.keys[0] == size) {
            text += &format!("{} {}\n", one.keys[1], number(one));
        }
    }
    if text.is_empty() { text } else { text + "\n" }
}

fn tlb(all: &[Reading<'_>]) -> String {
    let Some(pages) = at(all, "tlb", &[]) else { return String::new() };
    let miss = at(all, "tlb_miss", &[]).map(|miss| format!(" {} nanoseconds", number(miss))).unwrap_or_default();
    format!("tlb: {} pages{miss}\n", number(pages))
}

/// A block for each stride.
fn loads(marker: &str, of_kind: &[&Reading<'_>]) -> String {
    let mut text = String::new();
    for stride in of_kind.iter().map(|one| one.keys[0]).collect::<BTreeSet<u64>>() {
        text += &format!("\"stride={stride}\n");
        for one in of_kind.iter().filter(|one| one.keys[0] == stride) {
            text += &format!("{} {}\n", Column::Mebibytes.text(one.keys[1]), number(one));
        }
        text.push('\n');
    }
    if text.is_empty() { text } else { format!("\n{marker}\n{text}") }
}

/// The number, with the decimals that lmbench prints and no fewer than four digits, since lmbench's
/// 0.01 ns says little. One that was imported has as many as read back to the same value. Never
/// with an exponent: lmbench's scripts leave such a cell blank.
fn number(one: &Reading<'_>) -> String {
    const DIGITS: i32 = 4;
    let Some(si) = one.si else { return String::new() };
    let unit = one.kind.unit;
    let (value, least) = (unit.of_si(si), unit.decimals());
    let short = format!("{value:.least$}");
    if one.record.fact("lmbench.printed").is_none() {
        let before_point = if value > 0.0 { value.log10().floor() as i32 + 1 } else { DIGITS };
        let decimals = usize::try_from(DIGITS - before_point).unwrap_or_default().min(12);
        return if least == 0 { short } else { format!("{value:.*}", least.max(decimals)) };
    }
    let reads_back = |text: &String| Some(one.value_of(unit.decimal_to_si(text))) == one.record.value;
    // The inverse of a value may lie between two numbers: then the nearest of them.
    let digits = [si, si.next_up(), si.next_down(), si].map(|si| unit.decimal_of_si(si));
    let [.., nearest] = &digits;
    [short].iter().chain(&digits).find(|text| reads_back(text)).unwrap_or(nearest).clone()
}
