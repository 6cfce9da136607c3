//! A composed cost and its parts: the estimate from the hardware, the prediction from primitives,
//! the measurement, and the rest.

use groma_analysis::composition::{Amount, Cost, Explained, Source};
use groma_model::page::Shown;
use groma_model::{State, Times, Unit};
use std::collections::BTreeSet;

use crate::document::{Document, Table};
use crate::grid::{Align, Cell};
use crate::point::name;
use crate::style::Ink;
use crate::units::{self, NONE, Scale, time};

/// One composed cost with all of its parts.
fn composition<'a>(explained: &Explained<'_>) -> Document<'a> {
    let mut out = Document::new(name(explained.record));
    let head = (name(explained.record), Ink::Strong);
    out.parts("", vec![head, (format!(": {}", verdict(explained)), Ink::Plain)]);
    let mut line = |label: &str, text: String| out.labelled(format!("  {label:<18}"), text);
    line(
        "hardware estimate",
        explained.estimate.as_ref().map_or("none: nothing of it follows from bytes or lines".to_owned(), amount),
    );
    let whole = if explained.is_whole() { "" } else { ", without the parts that were not measured" };
    line("prediction", explained.predicted.as_ref().map_or(NONE.to_owned(), amount) + whole);
    line("measurement", amount(&explained.measured));
    let rest = match (&explained.rest, explained.rest_share()) {
        (Some(rest), Some(share)) => {
            format!("{}, {} of the measurement{}", amount(rest), units::percent(share), stands_for(explained))
        }
        _ => NONE.to_owned(),
    };
    line(left(explained), rest);
    out.gap();
    out.table(parts(explained));
    for doubt in doubts(explained) {
        out.labelled("  ", doubt);
    }
    out
}

/// Each composed cost with all of its parts.
pub fn each_composition<'a>(all: &[Explained<'_>]) -> Document<'a> {
    let mut out = Document::new("composed costs");
    for (i, one) in all.iter().enumerate() {
        if i > 0 {
            out.gap();
        }
        out.append(composition(one));
    }
    out
}

/// The label of the rest.
fn left(explained: &Explained<'_>) -> &'static str {
    if explained.is_whole() { "unexplained rest" } else { "not explained" }
}

/// What the rest is attributed to: the model's reason if all parts are known, else mostly the
/// missing ones.
fn stands_for(explained: &Explained<'_>) -> String {
    let unmeasured: Vec<&str> =
        explained.parts.iter().filter(|cost| cost.total.is_none()).map(|cost| cost.part.what).collect();
    match unmeasured[..] {
        [] => format!(": {}", explained.model.rest),
        [..] => format!(", of which the parts not measured: {}", unmeasured.join("; ")),
    }
}

/// How much of the cost is explained.
fn verdict(explained: &Explained<'_>) -> String {
    match explained.rest_share() {
        Some(share) if share < 0.0 => format!("its parts predict {} too much", units::percent(-share)),
        Some(share) if explained.is_whole() => format!("its parts explain {}", units::percent(1.0 - share)),
        Some(share) => {
            let known = explained.parts.iter().filter(|cost| cost.total.is_some()).count();
            let explain = if known == 1 { "explains" } else { "explain" };
            let of = explained.parts.len();
            format!("{known} of {of} parts {explain} {}, the others were not measured", units::percent(1.0 - share))
        }
        None => "none of its parts was measured".to_owned(),
    }
}

/// What makes the explanation uncertain: values that are noisy or come from another run.
fn doubts(explained: &Explained<'_>) -> Vec<String> {
    let costs = explained.parts.iter().chain(&explained.hardware);
    let sources: Vec<Source<'_>> = costs.flat_map(|cost| [cost.source, cost.less]).flatten().collect();
    let own = [explained.record].into_iter().chain(sources.iter().map(|source| source.record));
    let noisy: BTreeSet<&str> =
        own.filter(|record| record.state == State::Noisy).map(|record| record.id.as_str()).collect();
    let runs: BTreeSet<&str> = sources.iter().filter_map(|source| source.run).collect();
    let list = |texts: BTreeSet<&str>| texts.into_iter().collect::<Vec<_>>().join(", ");
    let mut doubts = Vec::new();
    if !noisy.is_empty() {
        doubts.push(format!("noisy: {}", list(noisy)));
    }
    if !runs.is_empty() {
        doubts.push(format!("* from other runs of this machine in the same state: {}", list(runs)));
    }
    doubts
}

/// The table of the parts, those of the hardware estimate last.
fn parts(explained: &Explained<'_>) -> Table {
    use Align::{Left, Right};
    let columns = [
        ("count", Right),
        ("each", Right),
        ("together", Right),
        ("share", Right),
        ("what", Left),
        ("measured as", Left),
    ];
    let mut table = Table::new(&columns, Some(Ink::Faint));
    let whole = explained.measured.value;
    for cost in &explained.parts {
        table.row(row(cost, whole));
    }
    if let (Some(rest), Some(share)) = (explained.rest, explained.rest_share()) {
        let cells = [String::new(), String::new(), time(rest.value), units::percent(share), left(explained).to_owned()];
        table.row(cells.map(|text| Cell::ink(text, Ink::Strong)).into());
    }
    for cost in &explained.hardware {
        let mut cells = row(cost, whole);
        cells[4] = Cell::new(format!("hardware: {}", cost.part.what));
        table.row(cells);
    }
    table
}

fn row(cost: &Cost<'_>, whole: f64) -> Vec<Cell> {
    let total = cost.total.map(|total| total.value);
    let each = match (cost.source, cost.less) {
        (None, _) => NONE.to_owned(),
        (Some(_), None) if cost.part.less.is_some() => NONE.to_owned(),
        // A byte takes picoseconds; bandwidths are more familiar.
        (Some(source), _) if source.record.unit == Unit::BytesPerSecond => {
            units::headline(source.record).unwrap_or_default()
        }
        _ => total.zip(cost.count).filter(|(_, count)| *count != 0.0).map_or(NONE.to_owned(), |(t, n)| time(t / n)),
    };
    let count = cost.count.map_or(NONE.to_owned(), |count| count_text(cost.part.times, count));
    let share = total.map(|total| total / whole);
    vec![
        Cell::new(count).exactly(cost.count, ""),
        Cell::new(each),
        Cell::new(total.map_or("not measured".to_owned(), time)).exactly(total, "s"),
        Cell::new(share.map_or(NONE.to_owned(), units::percent)).exactly(share, ""),
        Cell::new(cost.part.what),
        Cell::new(measured_as(cost)),
    ]
}

/// A count; one measured in the run may be fractional.
fn count_text(times: Times, count: f64) -> String {
    match times {
        Times::Counted(..) => units::significant(count, 3),
        _ => units::value(count, Scale::Count, None),
    }
}

/// The metrics of a part, with what makes them uncertain.
fn measured_as(cost: &Cost<'_>) -> String {
    let of = |shown: &Shown, source: Option<Source<'_>>| {
        let elsewhere = if source.is_some_and(|source| source.run.is_some()) { "*" } else { "" };
        let params: String = shown.params.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        format!("{}{params}{elsewhere}", shown.metric)
    };
    let less = cost.part.less.as_ref().map(|less| format!(" less {}", of(less, cost.less)));
    of(&cost.part.cost, cost.source) + &less.unwrap_or_default()
}

/// One line per composed cost: predicted, measured, the rest.
pub fn compositions<'a>(all: &[Explained<'_>]) -> Document<'a> {
    use Align::{Left, Right};
    let not_measured = if all.iter().any(|one| !one.is_whole()) { "not measured" } else { "" };
    let columns = [
        ("composed cost", Left),
        ("hardware", Right),
        ("predicted", Right),
        ("measured", Right),
        ("rest", Right),
        (not_measured, Left),
    ];
    let mut table = Table::new(&columns, Some(Ink::Faint));
    for one in all {
        let unknown = one.parts.iter().filter(|cost| cost.total.is_none()).count();
        let unknown = if unknown == 0 { String::new() } else { format!("{unknown} of {} parts", one.parts.len()) };
        let value = |of: Option<Amount>| {
            let text = of.map_or(NONE.to_owned(), |amount| time(amount.value));
            Cell::new(text).exactly(of.map(|amount| amount.value), "s")
        };
        let share = one.rest_share();
        table.row(vec![
            Cell::new(name(one.record)),
            value(one.estimate),
            value(one.predicted),
            value(Some(one.measured)),
            Cell::new(share.map_or(NONE.to_owned(), units::percent)).exactly(share, ""),
            Cell::new(unknown),
        ]);
    }
    let mut out = Document::new("composed costs");
    out.table(table);
    out
}

/// A time with its interval: `12.3 ms (11.9 ms to 13.0 ms)`.
pub(crate) fn amount(amount: &Amount) -> String {
    let interval = amount.interval.map(|[low, high]| format!(" ({} to {})", time(low), time(high)));
    time(amount.value) + &interval.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;
    use crate::fixtures::{record, without};
    use groma_analysis::composition::{Known, explain};
    use groma_model::{Composition, Part, Quantity, Record};

    const SWITCH: Shown = Shown::of("ctx.yield.net", &[]);
    const ASLEEP: Shown = Shown::of("ctx.futex.net", &[("kind", "thread")]);

    static PIPE: Composition = Composition {
        of: Shown::of("ipc.pipe_rtt", &[]),
        hardware: &[Part::of(4.0, "bytes copied", Shown::of("mem.bandwidth", &[]))],
        parts: &[
            Part::of(2.0, "writes of a byte", Shown::of("syscall.write", &[])),
            Part::of(2.0, "switches between two tasks", SWITCH),
            Part::difference(2.0, "falling asleep and being woken", ASLEEP, SWITCH),
        ],
        rest: "the pipe: its lock and its buffer",
    };

    fn latency(id: &str, params: &str, value: f64) -> Record {
        record(id, params, Quantity::Latency, value)
    }

    fn run() -> Vec<Record> {
        vec![
            latency("ipc.pipe_rtt", "size=1 B", 6.7e-6),
            latency("syscall.write", "", 240e-9),
            latency("ctx.yield.net", "", 900e-9),
            latency("ctx.futex.net", "kind=thread", 2.2e-6),
            record("mem.bandwidth", "", Quantity::Bandwidth, 12e9),
        ]
    }

    #[test]
    fn of_a_run_that_has_every_part() {
        let own = run();
        let all = explain(&[&PIPE], &Known { own: &own, others: &[] });
        insta::assert_snapshot!(composition(&all[0]).text(&Style::plain(100)));
        insta::assert_snapshot!(compositions(&all).text(&Style::plain(80)));
    }

    #[test]
    fn of_a_run_that_lacks_some_and_has_one_from_another() {
        let mut own = run();
        own[2] = without(own[2].clone(), State::Failed, "it did");
        own[0].state = State::Noisy;
        let switch = run().remove(1);
        own.remove(1);
        let others = [("20261120T010203Z-1a2b".to_owned(), vec![switch])];
        let all = explain(&[&PIPE], &Known { own: &own, others: &others });
        insta::assert_snapshot!(composition(&all[0]).text(&Style::plain(100)));
        insta::assert_snapshot!(compositions(&all).text(&Style::plain(80)));
    }

    #[test]
    fn too_large_a_prediction_is_reported() {
        let mut own = run();
        own[0].value = Some(2e-6);
        let all = explain(&[&PIPE], &Known { own: &own, others: &[] });
        let text = composition(&all[0]).text(&Style::plain(100));
        assert!(text.starts_with("ipc.pipe_rtt size=1 B: its parts predict 144 % too much\n"), "{text}");
        let all = explain(&[&PIPE], &Known { own: &own[..1], others: &[] });
        let text = composition(&all[0]).text(&Style::plain(100));
        assert!(text.starts_with("ipc.pipe_rtt size=1 B: none of its parts was measured\n"), "{text}");
    }
}
