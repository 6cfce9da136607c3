//! The last lines of a run, and the progress line of a metric.

use groma_analysis::point::is_of_shared_core;
use groma_model::{End, Record, RunHeader, State};

use crate::compare::capital;
use crate::document::{Document, Table};
use crate::grid::{Align, Cell};
use crate::layout::{Mark, PRECISE};
use crate::limits::{foremost, of_this_run};
use crate::point::{name, params, point_without};
use crate::style::{Ink, Style, columns, ink, wrap_behind};
use crate::units;

/// One metric in one line of at most `style.width` columns, unless its name alone is longer: its
/// name, its value with the interval, and its number of rounds, or why it is not `ok`.
pub fn live_line(record: &Record, style: &Style) -> String {
    let name = style.text(&name(record));
    let column = style.width.saturating_sub(40).clamp(20, 56);
    let room = style.width.saturating_sub(columns(&name).max(column) + 2).max(20);
    let mut text = String::new();
    if let Some(value) = units::headline(record) {
        let interval = units::interval(record).map(|i| format!("± {i}")).unwrap_or_default();
        text = format!("{value:>9} {interval:<8}  ");
    }
    if record.state != State::Ok {
        text += record.state.word();
        if !record.reason.is_empty() {
            text += &format!(": {}", record.reason);
        }
    } else if columns(&text) + 10 <= room {
        text += &units::counted(record.rounds as usize, "round");
    }
    let ink = if record.state == State::Ok { Ink::Plain } else { ink(record.state) };
    format!("{name:<column$}  {}", style.paint(ink, style.cut(&style.text(&text), room).trim_end()))
}

/// Which values of a run are not good, and why; in files for programs a row for each metric.
pub fn states<'a>(run: &'a RunHeader, records: &'a [Record], end: Option<&'a End>, style: &Style) -> Document<'a> {
    let mut out = Document::new(format!("states of run {}", run.run));
    if style.is_of_file() {
        let columns = ["metric", "state", "reason"].map(|head| (head, Align::Left));
        let mut table = Table::new(&columns, None);
        for record in records {
            table.row([&name(record), record.state.word(), &record.reason].map(Cell::new).into());
        }
        out.table(table);
    } else {
        foremost(run).iter().for_each(|text| out.say(format!("{}.", capital(text))));
        out.lines(summary(run, records, end, style));
    }
    out
}

/// The last lines of a run: metrics by state, the full reason of each that is not `ok`, time
/// against budget, and the noise of the host. Metrics with the same reason share a line.
pub fn summary(run: &RunHeader, records: &[Record], end: Option<&End>, style: &Style) -> String {
    let count = |state| records.iter().filter(|r| r.state == state).count() as u64;
    let counted: Vec<(State, u64)> = State::ALL.into_iter().map(|s| (s, count(s))).filter(|(_, n)| *n > 0).collect();
    let states = end.map_or(&counted, |e| &e.states.0);
    let total: u64 = states.iter().map(|(_, n)| n).sum();
    let each: Vec<String> = states.iter().map(|(state, n)| format!("{n} {}", state.word())).collect();
    let colon = if each.is_empty() { "" } else { ": " };
    let total = units::counted(total as usize, "metric");
    let mut out = wrap_behind("", &format!("{total}{colon}{}", each.join(", ")), style.width);
    for (state, reason, same) in reasons(records) {
        let text = style.text(&with_reason(&names(&same, records), same.len(), reason));
        let first = format!("  {:<11} ", state.word());
        let lines = wrap_behind(&first, &text, style.width);
        let word = style.paint(ink(state), state.word());
        out += &lines.replacen(state.word(), &word, 1);
    }
    for text in programs(records) {
        out += &wrap_behind("", &style.text(&text), style.width);
    }
    out += &imprecise(records, style);
    if let Some(shared) = shared_cores(records) {
        out += &wrap_behind("", &style.text(&shared), style.width);
    }
    out += &wrap_behind("", &style.text(&closing(run, end)), style.width);
    out
}

/// The `ok` metrics that a page marks as imprecise, with what to do.
fn imprecise(records: &[Record], style: &Style) -> String {
    let is = |r: &&Record| r.state == State::Ok && !r.detail && Mark::of(r) == Mark::Imprecise;
    let (few, wide): (Vec<&Record>, Vec<&Record>) = records.iter().filter(is).partition(|r| r.precision().is_none());
    let group = |some: &[&Record], why: &str| match some {
        [] => String::new(),
        _ => {
            let text = with_reason(&names(some, records), some.len(), why);
            wrap_behind("  imprecise   ", &style.text(&text), style.width)
        }
    };
    let longer = format!("a longer --budget narrows it ({} run --budget 3m for a survey)", style.program);
    group(&few, &format!("too few rounds for an interval; {longer}"))
        + &group(&wide, &format!("the half-width of the interval is above {}; {longer}", units::percent(PRECISE)))
}

/// Metrics that did not end `ok`, grouped by state and reason; the worst state last.
fn reasons(records: &[Record]) -> Vec<(State, &str, Vec<&Record>)> {
    let mut all: Vec<(State, &str, Vec<&Record>)> = Vec::new();
    for record in records.iter().filter(|r| r.state != State::Ok) {
        match all.iter_mut().find(|(s, why, _)| *s == record.state && *why == record.reason) {
            Some((_, _, same)) => same.push(record),
            None => all.push((record.state, &record.reason, vec![record])),
        }
    }
    all.sort_by_key(|(state, _, _)| *state);
    all
}

/// Names and reason; the reason comes first if the names are long.
fn with_reason(names: &str, count: usize, reason: &str) -> String {
    match (reason, count) {
        ("", _) => names.to_owned(),
        (_, ..=3) => format!("{names}: {reason}"),
        _ => format!("{reason} ({count} metrics): {names}"),
    }
}

/// The names of some metrics, each with only those parameters in which points of that metric differ
/// among `all`; more than three points of one metric are counted.
fn names(some: &[&Record], all: &[Record]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut done: Vec<&str> = Vec::new();
    for record in some {
        let same = some.iter().filter(|r| r.id == record.id).count();
        if same <= 3 {
            let others = || all.iter().filter(|r| r.id == record.id);
            let common: Vec<&str> = params(record)
                .filter(|param| others().all(|other| params(other).any(|of_other| of_other == *param)))
                .map(|(name, _)| name)
                .collect();
            let point = point_without(record, &common);
            parts.push(format!("{} {point}", record.id).trim_end().to_owned());
        } else if !done.contains(&record.id.as_str()) {
            parts.push(format!("{} ({same} points)", record.id));
            done.push(&record.id);
        }
    }
    parts.join(", ")
}

/// The share of samples next to a busy sibling thread, if it is worth a line
/// (docs/methods/neighbour.md#headline).
pub(crate) fn shared_share(records: &[Record]) -> Option<f64> {
    /// A smaller share is not worth mentioning.
    const MIN_SHARE: f64 = 0.005;
    let alone = || records.iter().filter(|r| r.workers == 1);
    let all: u64 = alone().map(|r| r.samples).sum();
    let shared: f64 = alone().filter_map(|r| Some(r.shared.as_ref()?.share * r.samples as f64)).sum();
    Some(shared / all.max(1) as f64).filter(|share| *share >= MIN_SHARE)
}

/// Which files the measured commands are: `command=true is /usr/bin/true`.
fn programs(records: &[Record]) -> Vec<String> {
    let of = |record: &Record| {
        let file = record.fact("command.path")?;
        Some(format!("{} is {file}", record.params_text.trim()))
    };
    let mut all: Vec<String> = Vec::new();
    for text in records.iter().filter_map(of) {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

/// How much of the run shared its cores.
fn shared_cores(records: &[Record]) -> Option<String> {
    let percent = units::percent(shared_share(records)?);
    let except = if records.iter().any(is_of_shared_core) { ", except where it says shared core" } else { "" };
    Some(format!("others used the core's other thread in {percent} of the samples; these are left out{except}"))
}

/// Time against budget, the host's noise, and whether the run was complete.
fn closing(run: &RunHeader, end: Option<&End>) -> String {
    let mut parts = Vec::new();
    if let Some(end) = end {
        // An imported run had none.
        let of = if run.budget_s > 0.0 { format!(" of a budget of {}", budget(run.budget_s)) } else { String::new() };
        parts.push(format!("{}{of}", units::wall(end.wall_s)));
    }
    if let Some(noise) = run.noise {
        let lost = run.noise_lost.map(|lost| format!(" ({} of its time lost)", units::percent(lost)));
        parts.push(format!("host {} before the run{}", noise.word(), lost.unwrap_or_default()));
    }
    // The others stand above the values.
    parts.extend(of_this_run(run, end));
    match end {
        None => parts.push("no end recorded: the run goes on, or was killed".to_owned()),
        Some(end) if end.interrupted => parts.push("interrupted: only a part of the plan was measured".to_owned()),
        Some(_) => {}
    }
    parts.join("; ")
}

fn budget(seconds: f64) -> String {
    if seconds.fract() == 0.0 && seconds < 120.0 { format!("{seconds} s") } else { units::wall(seconds) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use groma_model::{Quantity, SharedCore};

    fn shown(width: usize, change: impl FnOnce(&mut End)) -> String {
        let records = fixtures::records();
        let mut end = fixtures::end(&records);
        change(&mut end);
        summary(&fixtures::header(), &records, Some(&end), &Style::plain(width))
    }

    #[test]
    fn at_80_columns() {
        insta::assert_snapshot!(shown(80, |_| ()));
    }

    #[test]
    fn at_120_columns_interrupted() {
        insta::assert_snapshot!(shown(120, |end| end.interrupted = true));
    }

    #[test]
    fn a_shared_core_is_reported_if_significant() {
        let with = |share: f64, flags: &[&str]| {
            let mut record = fixtures::record("syscall.getppid", "", Quantity::Latency, 1e-7);
            record.shared = Some(SharedCore { value: Some(1.3e-7), share, round_values: Vec::new() });
            record.flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
            let quiet = fixtures::record("proc.fork_exit", "", Quantity::Latency, 1e-4);
            shared_cores(&[record, quiet])
        };
        assert_eq!(with(0.009, &[]), None);
        let left_out = "others used the core's other thread in 20 % of the samples; these are left out";
        assert_eq!(with(0.4, &[]).as_deref(), Some(left_out));
        let flagged = with(0.4, &["shared core: the sibling thread was busy in 40 % of the samples"]);
        assert_eq!(flagged, Some(format!("{left_out}, except where it says shared core")));
    }

    #[test]
    fn points_that_share_a_reason_share_a_line() {
        let one = |size: &str| {
            let r = fixtures::record("mem.latency", size, Quantity::Latency, 0.0);
            fixtures::without(r, State::Unresolved, "the budget ended before it")
        };
        let records: Vec<Record> = ["size=1 MiB", "size=2 MiB", "size=4 MiB", "size=8 MiB"].map(one).into();
        let text = summary(&fixtures::header(), &records, None, &Style::plain(80));
        insta::assert_snapshot!(text, @r"
        4 metrics: 4 unresolved
          unresolved  the budget ended before it (4 metrics): mem.latency (4 points)
        host fine before the run (0.9 % of its time lost); no end recorded: the run goes
        on, or was killed
        ");
    }

    #[test]
    fn live_lines_fit() {
        let records = fixtures::records();
        let pick = ["syscall.getppid", "ipc.pipe_rtt", "proc.shell", "net.tcp_connect", "ctx.switch.net"];
        let mut out = String::new();
        for width in [80, 120] {
            for record in records.iter().filter(|r| pick.contains(&r.id.as_str())) {
                let line = live_line(record, &Style::plain(width));
                assert!(columns(&line) <= width, "{line}");
                out += &line;
                out += "\n";
            }
        }
        insta::assert_snapshot!(out);
    }
}
