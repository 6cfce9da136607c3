//! The table of all values: a row per metric, a column per run.

use groma_analysis::compare::{Pair, Verdict};
use groma_model::{Record, State};

use super::pages::{about, class, link};
use super::sheet::{Row, Sheet, state_and_reason};
use super::{Report, letter};
use crate::compare::{change, sign, verdict_text};
use crate::layout::Mark;
use crate::markup::Markup;
use crate::point::point;
use crate::rows::sparkline;
use crate::style::Style;
use crate::units::{self, NONE, Scale};

/// The table; `None` where no run has a metric.
pub(super) fn values(report: &Report<'_>, sheet: &Sheet<'_>) -> Option<Markup> {
    if sheet.rows.is_empty() {
        return None;
    }
    let mut out = Markup::default();
    let several = report.runs.len() > 1;
    out.say_of(
        "p",
        "note",
        "The value is the median over rounds (fresh processes); ± is the half-width of its 95 % interval; p90 and p99 are \
         of all samples. A name leads to its explanation.",
    );
    out.say_of("p", "note js", "The picture of the rounds opens rounds, samples, flags and proofs.");
    out.with("div", &[("class", "wide")], |div| {
        let attributes = [("class", "data sortable filterable"), ("data-of", "metrics"), ("id", "all")];
        div.with("table", &attributes, |table| {
            table.say_of("caption", "sr", "All values");
            table.tag("thead", |head| head.tag("tr", |tr| heads(report, several, tr)));
            table.tag("tbody", |body| {
                for (i, row) in sheet.rows.iter().enumerate() {
                    self::row(report, sheet, i, row, body);
                    body.newline();
                }
            });
        });
    });
    Some(out)
}

fn heads(report: &Report<'_>, several: bool, out: &mut Markup) {
    let head = |class: &str, text: &str, out: &mut Markup| {
        out.with("th", &[("scope", "col"), ("class", class)], |th| th.text(text));
    };
    head("", "metric", out);
    head("", "point", out);
    if several {
        for run in 0..report.runs.len() {
            head("n", &letter(report, run), out);
            if run > 0 {
                head("n", &format!("{} to A", letter(report, run)), out);
            }
        }
    } else {
        ["value", "±", "cycles", "p90", "p99"].iter().for_each(|text| head("n", text, out));
    }
    head("rounds", "rounds", out);
    head("", "state", out);
}

fn row(report: &Report<'_>, sheet: &Sheet<'_>, i: usize, row: &Row<'_>, out: &mut Markup) {
    let first = row.first();
    let class = if first.detail { "control" } else { "" };
    out.with("tr", &[("id", &format!("m{i}")), ("class", class)], |tr| {
        tr.with("th", &[("scope", "row")], |th| link(th, &sheet.explanation(&first.id), &first.id));
        tr.say("td", &point(first));
        if report.runs.len() > 1 {
            several(report, row, tr);
        } else {
            single(first, tr);
        }
        let longest = row.of_runs.iter().flatten().map(|entry| &entry.record.round_values);
        let rounds = longest.max_by_key(|values| values.len()).map(|values| sparkline(values, true));
        tr.say_of("td", "rounds", &rounds.unwrap_or_default());
        state(row, tr);
    });
}

/// A displayed number, and its value to sort by.
fn number(out: &mut Markup, class: &str, text: &str, value: Option<f64>, title: &str) {
    let sort = value.filter(|v| v.is_finite()).map(|v| format!("{v:.4e}")).unwrap_or_default();
    let class = format!("n {class}");
    out.with("td", &[("class", class.trim_end()), ("data-v", &sort), ("title", title)], |td| td.text(text));
}

fn single(record: &Record, out: &mut Markup) {
    let mark = Mark::of(record);
    let scale = Scale::of(record);
    let value = units::headline(record).map_or_else(|| mark.sign().to_owned(), |text| mark.sign().to_owned() + &text);
    number(out, class(mark), &value, record.value, "");
    number(out, "", &units::interval(record).unwrap_or_default(), record.half_width(), "");
    number(out, "", &record.cycles.map(units::bare_cycles).unwrap_or_default(), record.cycles, "");
    for quantile in [record.p90, record.p99] {
        number(out, "", &quantile.map(|v| units::value(v, scale, None)).unwrap_or_default(), quantile, "");
    }
}

fn several(report: &Report<'_>, row: &Row<'_>, out: &mut Markup) {
    for (run, entry) in row.of_runs.iter().enumerate() {
        let record = entry.as_ref().map(|entry| entry.record);
        match record {
            Some(record) => {
                let mark = Mark::of(record);
                let text = units::headline(record).unwrap_or_default();
                number(out, class(mark), &format!("{}{text}", mark.sign()), record.value, &about(record));
            }
            None => number(out, "", NONE, None, "not measured in this run"),
        }
        if run > 0 {
            let first = row.of_runs[0].as_ref().map(|entry| entry.record);
            changed(first.zip(record).and_then(|(a, b)| pair(report, run, a, b)), out);
        }
    }
}

/// The pair of two records in the comparison.
fn pair<'r>(report: &Report<'r>, run: usize, a: &Record, b: &Record) -> Option<&'r Pair<'r>> {
    let other = report.compared?.1.get(run - 1)?;
    let is_it = |pair: &&Pair<'_>| std::ptr::eq(pair.sides[0], a) && std::ptr::eq(pair.sides[1], b);
    other.comparison.pairs.iter().find(is_it)
}

/// A change with its sign.
pub(super) fn changed(pair: Option<&Pair<'_>>, out: &mut Markup) {
    let Some(pair) = pair else {
        out.own("<td></td>");
        return;
    };
    let class = match pair.verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Changed => "warn",
        Verdict::Same { .. } | Verdict::Unclear(_) => "faint",
    };
    let interval = pair.interval.map(|ends| ends.map(change));
    let interval = interval.map(|[low, high]| format!("95 % interval {low} to {high}; ")).unwrap_or_default();
    let text = format!("{} {}", sign(pair.verdict, &Style::plain(80)), change(pair.ratio));
    number(out, class, &text, Some(pair.ratio), &format!("{interval}{}", verdict_text(pair)));
}

/// The state of the metric in each run, and its flags.
fn state(row: &Row<'_>, out: &mut Markup) {
    let records: Vec<&Record> = row.of_runs.iter().flatten().map(|entry| entry.record).collect();
    let worst = records.iter().map(|record| record.state).max().unwrap_or(State::Ok);
    let class = match worst {
        State::Ok => "",
        State::Noisy | State::Unresolved => "warn",
        State::Unsupported => "faint",
        _ => "bad",
    };
    let mut words: Vec<&str> = Vec::new();
    let flags = records.iter().flat_map(|r| &r.flags).map(|flag| flag.split(':').next().unwrap_or(flag));
    for word in records.iter().map(|record| record.state.word()).chain(flags) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    let why = records.iter().find(|record| !record.reason.is_empty()).map(|record| state_and_reason(record));
    out.with("td", &[("class", class), ("data-state", worst.word()), ("title", &why.unwrap_or_default())], |td| {
        for (i, word) in words.iter().enumerate() {
            td.own(if i > 0 { ", " } else { "" });
            td.text(word);
        }
        // Without a value, the reason is the important part.
        if let [only] = records[..]
            && only.value.is_none()
            && !only.reason.is_empty()
        {
            td.text(&format!(": {}", only.reason));
        }
    });
}
