//! The rows of a result table before alignment, shared by the terminal and the Markdown table.

use groma_analysis::curve::{Curve, curves, for_levels, levels, widest};
use groma_analysis::point::{Numbers, family, measured_value};
use groma_model::{Families, Record, State};

use crate::point::{level_name, point, rest};
use crate::says::says;
use crate::style::Style;
use crate::units::{self, NONE, Scale};

/// A metric with more points than this over one number becomes a curve.
const MAX_ROWS: usize = 8;

/// The headings of the numeric columns: [`Body::Values`] in this order.
pub(crate) const HEADS: [&str; 5] = ["value", "±", "cycles", "p90", "p99"];

/// The records of a family.
pub(crate) struct Group<'a> {
    pub(crate) family: &'a str,
    /// The family's sentence about them.
    pub(crate) sentence: String,
    pub(crate) rows: Vec<Row<'a>>,
    /// The metrics shown as curves.
    pub(crate) curves: Vec<&'a str>,
}

/// A row.
pub(crate) struct Row<'a> {
    pub(crate) id: &'a str,
    /// The point of the metric, or the part of a curve.
    pub(crate) point: String,
    /// Whether it is part of the curve above it.
    pub(crate) part: bool,
    pub(crate) body: Body,
}

/// The content of a row.
pub(crate) enum Body {
    /// Numbers, and the state.
    Values { numbers: [String; 5], ended: Option<(State, Vec<String>)> },
    /// The state and its reason, without numbers.
    Reason(State, String),
    /// A whole curve: its shape and its description.
    Curve { line: String, text: String },
}

/// The rows of a run in the order of the records, grouped by family and metric.
pub(crate) fn groups<'a>(families: Families<'_>, records: &'a [Record], style: &Style) -> Vec<Group<'a>> {
    by(records.iter(), |r| family(&r.id))
        .into_iter()
        .map(|(family, members)| {
            let mut group =
                Group { family, sentence: says(families, family, &members), rows: Vec::new(), curves: Vec::new() };
            for (id, members) in by(members.into_iter(), |r| r.id.as_str()) {
                metric(&mut group, id, &members, style);
            }
            group
        })
        .collect()
}

fn by<'a>(
    records: impl Iterator<Item = &'a Record>,
    key: impl Fn(&'a Record) -> &'a str,
) -> Vec<(&'a str, Vec<&'a Record>)> {
    let mut all: Vec<(&str, Vec<&Record>)> = Vec::new();
    for record in records {
        let key = key(record);
        match all.iter_mut().find(|(k, _)| *k == key) {
            Some((_, members)) => members.push(record),
            None => all.push((key, vec![record])),
        }
    }
    all
}

fn metric<'a>(group: &mut Group<'a>, id: &'a str, records: &[&'a Record], style: &Style) {
    let long = widest(records).filter(|(_, values)| *values > MAX_ROWS && !style.all);
    let Some((over, _)) = long else {
        group.rows.extend(records.iter().map(|r| row(id, r)));
        return;
    };
    let curves = curves(records, &over);
    let with_levels = for_levels(&curves);
    group.curves.push(id);
    for curve in &curves {
        if curve.points.len() <= MAX_ROWS {
            group.rows.extend(curve.points.iter().map(|(_, r)| row(id, r)));
        } else {
            curve_rows(group, id, curve, with_levels.is_some_and(|with| std::ptr::eq(with, curve)), style);
        }
    }
}

fn row<'a>(id: &'a str, record: &Record) -> Row<'a> {
    Row { id, point: point(record), part: false, body: body(record) }
}

fn body(record: &Record) -> Body {
    let Some(value) = units::headline(record) else {
        return Body::Reason(record.state, record.reason.clone());
    };
    let scale = Scale::of(record);
    let quantile = |q: Option<f64>| q.map_or(NONE.to_owned(), |v| units::value(v, scale, None));
    let numbers = [
        value,
        units::interval(record).unwrap_or(NONE.to_owned()),
        record.cycles.map_or(NONE.to_owned(), units::bare_cycles),
        quantile(record.p90),
        quantile(record.p99),
    ];
    Body::Values { numbers, ended: Some((record.state, words(record))) }
}

/// The words of the flags, without details. That a value is imprecise is visible from its interval.
fn words(record: &Record) -> Vec<String> {
    let word = |flag: &String| flag.split(':').next().unwrap_or(flag).to_owned();
    record.flags.iter().map(word).filter(|w| w != "imprecise").collect()
}

/// A curve: its shape, then its levels, or its two ends if it has none.
fn curve_rows<'a>(group: &mut Group<'a>, id: &'a str, curve: &Curve<'a>, has_levels: bool, style: &Style) {
    let part = |point: String, body: Body| Row { id, point, part: true, body };
    let measured_points = curve.measured_points();
    let values: Vec<f64> = measured_points.iter().map(|p| p.1).collect();
    let number = |value: f64| match curve.numbers {
        Numbers::Sizes => units::size(value),
        Numbers::Times => units::time(value),
        Numbers::Counts => format!("{value}"),
    };
    let of = |x: u64| number(curve.numbers.in_units(x));
    let mut text = format!("{} points over {}", curve.points.len(), curve.over);
    if let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) {
        text += &format!(", {} to {}", of(first.0), of(last.0));
    }
    let noisy = curve.points.iter().filter(|(_, r)| r.state == State::Noisy).count();
    if noisy > 0 {
        text += &format!(", {noisy} noisy");
    }
    let line = sparkline(&values, style.unicode);
    group.rows.push(Row { id, point: rest(curve), part: false, body: Body::Curve { line, text } });
    if has_levels {
        for level in levels(curve) {
            let mut to = level.capacity.map(|c| format!(" to {}", number(c)));
            if let (Some(to), Some(soft)) = (&mut to, level.soft) {
                *to += &format!(" (half-way up at {})", number(soft));
            }
            let mut numbers = [(); 5].map(|()| String::new());
            numbers[0] = units::time(level.latency);
            numbers[2] = level.cycles.map_or(NONE.to_owned(), units::bare_cycles);
            let body = Body::Values { numbers, ended: None };
            group.rows.push(part(level_name(level.rank) + &to.unwrap_or_default(), body));
        }
    } else {
        let measured_records: Vec<_> = curve.points.iter().filter(|(_, r)| measured_value(r).is_some()).collect();
        let ends = [measured_records.first(), measured_records.last()];
        for (x, record) in ends.into_iter().flatten().take(measured_records.len()) {
            group.rows.push(part(format!("{}={}", curve.over, of(*x)), body(record)));
        }
    }
    let missing: Vec<&Record> = curve.points.iter().map(|p| p.1).filter(|r| measured_value(r).is_none()).collect();
    if let Some(worst) = missing.iter().max_by_key(|r| r.state) {
        let reason = format!("{} of {} points; {}", missing.len(), curve.points.len(), worst.reason);
        group.rows.push(part("not measured".to_owned(), Body::Reason(worst.state, reason)));
    }
}

/// The shape of a curve in one line, from its smallest to its largest value; logarithmic if it
/// spans more than a factor of 8. A range below 2 % is drawn as 2 %: a change of a ten-thousandth
/// must not look like a jump.
pub(crate) fn sparkline(values: &[f64], unicode: bool) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const ASCII: [char; 8] = ['_', '.', ',', '-', '=', '+', '*', '#'];
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let log = low > 0.0 && high / low > 8.0;
    let scale = |v: f64| if log { v.ln() } else { v };
    const NARROWEST: f64 = 0.02;
    let span = (scale(high) - scale(low)).max(if log { 0.0 } else { NARROWEST * high.abs() });
    let step = |v: f64| if span > 0.0 { ((scale(v) - scale(low)) / span * 7.0).round() as usize } else { 0 };
    let marks = if unicode { BLOCKS } else { ASCII };
    values.iter().map(|v| marks[step(*v).min(7)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_shows_the_shape() {
        assert_eq!(sparkline(&[1.0, 2.0, 3.0, 8.0], true), "▁▂▃█");
        assert_eq!(sparkline(&[1.0, 10.0, 100.0], true), "▁▅█");
        assert_eq!(sparkline(&[5.0, 5.0], false), "__");
        assert_eq!(sparkline(&[1.6700, 1.6702, 1.6701], true), "▁▁▁");
        assert_eq!(sparkline(&[], true), "");
    }
}
