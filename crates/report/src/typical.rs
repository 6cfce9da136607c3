//! Compares a run with the machines that groma knows: the lines of the pages with the range of
//! their values, and what lies outside it.

use groma_analysis::compare::{differs, identity};
use groma_analysis::point::measured_value;
use groma_model::{Better, Families, Record};
use serde_json::{Value as Json, json};
use std::rc::Rc;

use crate::compare::{PageLines, Side, factor, page_lines, page_name, run};
use crate::document::{Document, Table};
use crate::format::Format;
use crate::grid::{Align, Cell};
use crate::json::pretty;
use crate::layout::{Strip, rule, stacked};
use crate::machine::host;
use crate::markdown;
use crate::style::{Ink, Style, wrap_behind};
use crate::units::{self, Scale};

/// A range needs this many machines; with fewer known, all of them must have a value.
const MIN_MACHINES: usize = 3;
/// A value this factor outside counts as inside: comparisons also treat such a difference as none.
const MARGIN: f64 = 1.05;
/// Outside lines that are named.
const NAMED: usize = 3;
/// The widest line: in a wider one names would be far from their values.
const MAX_WIDTH: usize = 80;
/// The width of a range, and of a sign with its factor.
const RANGE: usize = 19;
const OUTSIDE: usize = 9;

/// A value's position relative to the range.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Position {
    Within,
    /// Slower than the slowest machine, by this factor.
    Slower(f64),
    /// Faster than the fastest, by this factor.
    Faster(f64),
    /// Outside the range by this factor, where neither direction is better.
    Beyond(f64),
    /// Too few machines have a value.
    Unknown,
}

/// A line: its metric, the range, its number of machines, and the value's position.
struct Line<'r> {
    name: String,
    record: &'r Record,
    value: f64,
    range: [f64; 2],
    machines: usize,
    position: Position,
}

/// Lines under one heading.
struct Stack<'r> {
    title: String,
    in_gigabytes: bool,
    lines: Vec<Line<'r>>,
}

/// Compares a run with the range of these machines, each with its records; the run itself is not
/// among them.
pub fn typical<'a>(
    families: Families<'a>,
    side: Side<'a>,
    records: &'a [Record],
    machines: &'a [(Side<'a>, &'a [Record])],
    style: &Style,
) -> Document<'a> {
    let stacks = Rc::new(stacks(families, records, machines));
    let of_page = style.of_page();
    let page = format!("{}\n{}", summary(families, side, machines, &stacks, &of_page), lines(&stacks, &of_page));
    let [of_markdown, of_csv] = [0, 1].map(|_| Rc::clone(&stacks));
    Document::page(format!("{} among the reference machines", side.name), page)
        .written(Format::Json, move || json(side, machines, &stacks))
        .written(Format::Csv, move || rows(&of_csv).render(Format::Csv, &of_page))
        .written(Format::Markdown, move || {
            let style = markdown::in_a_block(&of_page);
            let summary = summary(families, side, machines, &of_markdown, &style);
            markdown::folded(&summary, "All lines", &lines(&of_markdown, &style))
        })
}

/// A row for each line.
fn rows<'a>(stacks: &[Stack<'_>]) -> Document<'a> {
    let heads = ["group", "line", "metric", "unit", "value", "lowest", "highest", "machines"];
    let mut table = Table::new(&heads.map(|head| (head, Align::Left)), None);
    for (stack, line) in stacks.iter().flat_map(|stack| stack.lines.iter().map(move |line| (stack, line))) {
        let unit = line.record.unit.symbol();
        let [low, high] = line.range.map(|value| Cell::default().exactly(Some(value).filter(|v| v.is_finite()), unit));
        table.row(vec![
            Cell::new(stack.title.as_str()),
            Cell::new(line.name.as_str()),
            Cell::new(crate::point::name(line.record)),
            Cell::new(unit),
            Cell::default().exactly(measured_value(line.record), unit),
            low,
            high,
            Cell::count(line.machines as u64),
        ]);
    }
    let mut out = Document::new("");
    out.table(table);
    out
}

fn stacks<'r>(families: Families<'_>, records: &'r [Record], machines: &[(Side<'_>, &[Record])]) -> Vec<Stack<'r>> {
    let stack = |PageLines { title, in_gigabytes, lines, .. }: PageLines| {
        let unit = if in_gigabytes { ", GB/s" } else { "" };
        let lines = lines.into_iter().filter_map(|(name, at)| line(name, &records[at], machines)).collect();
        Stack { title: title + unit, in_gigabytes, lines }
    };
    let mut stacks: Vec<Stack<'_>> = page_lines(families, records).into_iter().map(stack).collect();
    stacks.retain(|stack| !stack.lines.is_empty());
    stacks
}

fn line<'r>(name: String, record: &'r Record, machines: &[(Side<'_>, &[Record])]) -> Option<Line<'r>> {
    let value = measured_value(record)?;
    let key = identity(record);
    let is_it = |other: &&Record| identity(other) == key && differs(record, other).is_none();
    let values: Vec<f64> = machines
        .iter()
        .filter_map(|(_, all)| measured_value(all.iter().find(is_it)?))
        .filter(|value| *value > 0.0)
        .collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    let is_known = !values.is_empty() && values.len() >= MIN_MACHINES.min(machines.len());
    let position = if is_known { position(record.better, value, [low, high]) } else { Position::Unknown };
    Some(Line { name, record, value, range: [low, high], machines: values.len(), position })
}

fn position(better: Better, value: f64, [low, high]: [f64; 2]) -> Position {
    let (below, above) = (low / value, value / high);
    let beyond = below.max(above);
    match better {
        _ if beyond <= MARGIN => Position::Within,
        Better::Neither => Position::Beyond(beyond),
        Better::Lower if above > below => Position::Slower(beyond),
        Better::Higher if below > above => Position::Slower(beyond),
        Better::Lower | Better::Higher => Position::Faster(beyond),
    }
}

fn summary(
    families: Families<'_>,
    side: Side<'_>,
    machines: &[(Side<'_>, &[Record])],
    stacks: &[Stack<'_>],
    style: &Style,
) -> String {
    let what = format!("{}; {}", run(side), host(&side.head.environment));
    let mut out = wrap_behind("", &style.text(&what), style.width);
    let named: Vec<String> = machines.iter().map(|(side, _)| host(&side.head.environment)).collect();
    let n = units::counted(machines.len(), "machine");
    let typical = format!("typical: from the lowest to the highest value of {n}: {}", named.join("; "));
    out += &wrap_behind("", &style.text(&typical), style.width);
    let all = || stacks.iter().flat_map(|stack| &stack.lines);
    let count = |is: fn(Position) -> bool| all().filter(|line| is(line.position)).count();
    let known = all().count() - count(|position| position == Position::Unknown);
    let mut counts = vec![
        format!("{} within", count(|position| position == Position::Within)),
        format!("{} slower than all", count(|position| matches!(position, Position::Slower(_)))),
        format!("{} faster than all", count(|position| matches!(position, Position::Faster(_)))),
    ];
    match count(|position| matches!(position, Position::Beyond(_))) {
        0 => {}
        other => counts.push(format!("{other} beyond, where neither is better")),
    }
    out.push('\n');
    out += &wrap_behind("", &format!("{known} lines: {}.", counts.join(", ")), style.width);
    let mut outside: Vec<(f64, String)> = all().filter_map(|line| far(families, line)).collect();
    outside.sort_by(|a, b| b.0.total_cmp(&a.0));
    let farthest: Vec<String> = outside.into_iter().take(NAMED).map(|(_, text)| text).collect();
    if !farthest.is_empty() {
        out += &wrap_behind("", &style.text(&format!("Farthest: {}.", farthest.join("; "))), style.width);
    }
    let unknown = all().count() - known;
    if unknown > 0 {
        let needed = units::counted(MIN_MACHINES.min(machines.len()), "machine");
        let text =
            format!("{} without a range: fewer than {needed} have such a value.", units::counted(unknown, "line"));
        out += &wrap_behind("", &text, style.width);
    }
    let [slower, faster, beyond] = signs(style);
    out + &wrap_behind(
        "",
        &format!("{slower} slower than all, {faster} faster than all, {beyond} beyond, by more than 5 %."),
        style.width,
    )
}

/// How far outside a line is, and the same in words; `None` if inside.
fn far(families: Families<'_>, line: &Line<'_>) -> Option<(f64, String)> {
    let (times, word) = match line.position {
        Position::Slower(times) => (times, "slower than all"),
        Position::Faster(times) => (times, "faster than all"),
        Position::Beyond(_) | Position::Within | Position::Unknown => return None,
    };
    Some((times, format!("{} {} times {word}", page_name(families, line.record), factor(times))))
}

fn signs(style: &Style) -> [&'static str; 3] {
    if style.unicode { ["▼", "▲", "≠"] } else { ["!", "*", "#"] }
}

fn lines(stacks: &[Stack<'_>], style: &Style) -> String {
    let width = style.width.min(MAX_WIDTH);
    let [range_end, value_end] = [width.saturating_sub(OUTSIDE), width.saturating_sub(OUTSIDE + RANGE)];
    let strips = |stack: &Stack<'_>| -> Vec<Strip> {
        let faint = |text: &str| Strip::new(style, Ink::Faint, text);
        let head = Strip::new(style, Ink::Strong, &stack.title)
            .ending_at(faint("this"), value_end)
            .ending_at(faint("typical"), range_end);
        let line = |line: &Line<'_>| {
            let (value, range) = texts(line, stack.in_gigabytes);
            let (ink, mark) = mark(line.position, style);
            Strip::plain(style, &format!("  {}", line.name))
                .ending_at(Strip::plain(style, &value), value_end)
                .ending_at(Strip::new(style, Ink::Faint, &range), range_end)
                .ending_at(Strip::of_ink(style, ink, &mark), width)
        };
        std::iter::once(head).chain(stack.lines.iter().map(line)).collect()
    };
    let all: Vec<Vec<Strip>> = stacks.iter().map(strips).collect();
    let across = Style { width, ..*style };
    let mut out = String::new();
    for strip in [rule("VALUES", &across)].into_iter().chain(stacked(&all)) {
        out += strip.line();
        out.push('\n');
    }
    out
}

/// A value and its range as text.
fn texts(line: &Line<'_>, in_gigabytes: bool) -> (String, String) {
    let [low, high] = line.range;
    let gigabytes = |value: f64| units::significant(value / 1e9, 3);
    let scale = Scale::of(line.record);
    let value = if in_gigabytes { gigabytes(line.value) } else { units::value(line.value, scale, None) };
    let range = match line.position {
        Position::Unknown => units::NONE.to_owned(),
        _ if in_gigabytes => format!("{}–{}", gigabytes(low), gigabytes(high)),
        _ => units::range(low, high, scale),
    };
    (value, range)
}

/// `▼ 1.6x`; empty if inside.
fn mark(position: Position, style: &Style) -> (Ink, String) {
    let [slower, faster, beyond] = signs(style);
    let (ink, sign, times) = match position {
        Position::Slower(times) => (Ink::Bad, slower, times),
        Position::Faster(times) => (Ink::Fourth, faster, times),
        Position::Beyond(times) => (Ink::Warning, beyond, times),
        Position::Within | Position::Unknown => return (Ink::Plain, String::new()),
    };
    (ink, format!("{sign} {}x", factor(times)))
}

fn json(side: Side<'_>, machines: &[(Side<'_>, &[Record])], stacks: &[Stack<'_>]) -> String {
    let run = |side: &Side<'_>| json!({ "name": side.name, "run": side.head });
    let lines = stacks.iter().flat_map(|stack| stack.lines.iter().map(move |line| of_line(stack, line)));
    pretty(&json!({
        "run": run(&side),
        "machines": machines.iter().map(|(side, _)| run(side)).collect::<Vec<_>>(),
        "lines": lines.collect::<Vec<_>>(),
    }))
}

fn of_line(stack: &Stack<'_>, line: &Line<'_>) -> Json {
    let (position, times) = match line.position {
        Position::Within => ("within", None),
        Position::Slower(times) => ("slower", Some(times)),
        Position::Faster(times) => ("faster", Some(times)),
        Position::Beyond(times) => ("beyond", Some(times)),
        Position::Unknown => ("unknown", None),
    };
    let record = line.record;
    json!({
        "heading": stack.title,
        "line": line.name,
        "id": record.id,
        "params": record.params,
        "placement": record.placement,
        "workers": record.workers,
        "unit": record.unit,
        "better": record.better,
        "value": line.value,
        "typical": (line.position != Position::Unknown).then_some(line.range),
        "machines": line.machines,
        "place": position,
        "times": times,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::style::columns;

    /// The survey as three machines measured it: half, the same and twice.
    fn shown(run: f64, machines: &[f64], format: Format, style: &Style) -> String {
        let (head, records) = fixtures::survey();
        let times = |factor: f64| -> Vec<Record> {
            let scaled = |record: &Record| Record { value: record.value.map(|value| value * factor), ..record.clone() };
            records.iter().map(scaled).collect()
        };
        let others: Vec<Vec<Record>> = machines.iter().map(|factor| times(*factor)).collect();
        let side = Side { name: "latest", head: &head, runs: 1, like: 0 };
        let machines: Vec<(Side<'_>, &[Record])> = others.iter().map(|all| (side, &all[..])).collect();
        typical(fixtures::families(), side, &times(run), &machines, &style.of(format)).render(format, style)
    }

    #[test]
    fn values_outside_the_range_are_counted_and_marked() {
        for width in [80, 120] {
            let text = shown(3.0, &[0.5, 1.0, 2.0], Format::Table, &Style::plain(width));
            assert!(text.lines().all(|line| columns(line) <= width && line.trim_end() == line), "{text}");
            assert!(text.contains("value of 3 machines") && text.contains(" 0 within"), "{text}");
            assert!(text.contains("▼ 1.5x") && text.contains("▲ 1.5x"), "times are slower, rates faster: {text}");
        }
        insta::assert_snapshot!(shown(3.0, &[0.5, 1.0, 2.0], Format::Table, &Style::plain(80)));
        // The ends belong to the range, and so does a value 4 % outside.
        for inside in [0.5, 1.3, 2.0, 2.08] {
            let text = shown(inside, &[0.5, 1.0, 2.0], Format::Table, &Style::plain(80));
            assert!(text.contains(" 0 slower than all, 0 faster than all"), "{inside}: {text}");
        }
        let ascii = shown(3.0, &[1.0], Format::Table, &Style { unicode: false, ..Style::plain(80) });
        assert!(ascii.is_ascii() && ascii.contains("value of 1 machine:"), "{ascii}");
    }

    #[test]
    fn a_range_needs_three_machines_or_all_known() {
        let (head, records) = fixtures::survey();
        let side = Side { name: "latest", head: &head, runs: 1, like: 0 };
        let position = |n: usize, holders: usize| {
            let machines: Vec<(Side<'_>, &[Record])> =
                (0..n).map(|i| (side, if i < holders { &records[..] } else { &[] })).collect();
            line(String::new(), &records[0], &machines).expect("a value").position
        };
        assert_eq!([position(4, 3), position(4, 2)], [Position::Within, Position::Unknown]);
        assert_eq!([position(2, 2), position(2, 1)], [Position::Within, Position::Unknown]);
    }

    #[test]
    fn json_has_a_line_for_each() {
        let text = shown(3.0, &[0.5, 2.0], Format::Json, &Style::plain(80));
        let json: Json = serde_json::from_str(&text).expect("JSON");
        let lines = json["lines"].as_array().expect("lines");
        assert!(lines.len() > 20 && json["machines"].as_array().is_some_and(|all| all.len() == 2));
        let getppid = lines.iter().find(|line| line["id"] == "syscall.getppid").expect("it is on a page");
        assert_eq!((getppid["place"].as_str(), getppid["machines"].as_u64()), (Some("slower"), Some(2)));
        assert!(getppid["times"].as_f64().is_some_and(|times| (times - 1.5).abs() < 1e-9), "{getppid}");
        let markdown = shown(3.0, &[0.5, 2.0], Format::Markdown, &Style::plain(80));
        assert!(markdown.contains("<details>") && markdown.matches("```").count() == 4, "{markdown}");
    }

    /// A benchmark with another definition, or a value in another unit, is another metric.
    #[test]
    fn another_metric_makes_no_range() {
        let (head, records) = fixtures::survey();
        let side = Side { name: "latest", head: &head, runs: 1, like: 0 };
        let of = |other: &Record| {
            let machines = [(side, std::slice::from_ref(other)); 3];
            let line = line(String::new(), &records[0], &machines).expect("a value");
            (line.machines, line.position)
        };
        assert_eq!(of(&records[0]), (3, Position::Within));
        let newer = Record { version: records[0].version + 1, ..records[0].clone() };
        let elsewhere = Record { unit: groma_model::Unit::Bytes, ..records[0].clone() };
        for other in [newer, elsewhere] {
            assert_eq!(of(&other), (0, Position::Unknown));
        }
    }
}
