//! What `perf stat` writes: its report (in any locale), CSV (`-x`, with any usual separator) and
//! JSON (`-j`).
//!
//! A count is a whole number, so a sign in it can only separate thousands. Times and percentages
//! tell the decimal sign, for the whole file. What could be read in two ways is refused.

use super::{Bounded, in_line, whole};
use groma_analysis::predict::Counts;
use serde_json::Value;

/// Counts that have no cost of their own.
const NO_COSTS: [&str; 9] = [
    "task-clock",
    "cpu-clock",
    "duration_time",
    "user_time",
    "system_time",
    "cpu-migrations",
    "instructions",
    "branches",
    "branch-misses",
];

/// What a file has to hold, where it holds parts.
const TOTALS: &str = "expected a total for each event, as perf stat writes without -I, -A and --per-*";

/// Adds an event, unless it has no cost.
fn add(counts: &mut Bounded, event: &str, count: f64) -> Result<(), String> {
    // Without privileges events end in `:u`. Only for cycles does it matter.
    let plain = event.trim_end_matches(":u");
    let name = if plain.ends_with("cycles") { event } else { plain };
    if NO_COSTS.contains(&plain) {
        Ok(())
    } else if plain != event && is_of_kernel(plain) {
        counts.missing(event, "perf was allowed to count in user mode only, where it does not happen");
        Ok(())
    } else {
        counts.add(name, count, None)
    }
}

/// Whether an event happens in the kernel alone: a switch, or a tracepoint
/// (`syscalls:sys_enter_read`).
fn is_of_kernel(event: &str) -> bool {
    ["context-switches", "cs", "cgroup-switches"].contains(&event) || event.contains(':')
}

/// Notes an event that perf could not count: `<not counted>`, `<not supported>`.
fn note_uncounted(counts: &mut Bounded, value: &str, event: &str) {
    if !NO_COSTS.contains(&event.trim_end_matches(":u")) {
        counts.missing(event, &format!("perf says {value}"));
    }
}

/// Adds to a time that several reports may have.
fn add_time(time: &mut Option<f64>, more: f64) {
    *time = Some(time.unwrap_or(0.0) + more);
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// The report: `1,234  page-faults  # ...`, and `0.1 seconds user` below.
pub(super) fn report(text: &str) -> Result<Counts, String> {
    let mut counts = Bounded::default();
    // With --summary, the intervals of -I are before it.
    let text = text.find("Performance counter stats").map_or(text, |at| &text[at..]);
    let decimal = decimal_sign(text)?;
    // How many reports there are, and how many have each of the three times.
    let (mut reports, mut times) = (0, [0; 3]);
    for line in text.lines() {
        // In some locales thousands are separated by spaces that are not ASCII.
        let cells: Vec<&str> = value_part(line).split_ascii_whitespace().collect();
        match cells[..] {
            [value, "seconds", "time", "elapsed"] | [value, "+-", _, "seconds", "time", "elapsed"] => {
                add_time(&mut counts.0.wall_s, seconds(value, decimal, line)?);
                times[0] += 1;
            }
            [value, "seconds", "user"] => {
                add_time(&mut counts.0.user_s, seconds(value, decimal, line)?);
                times[1] += 1;
            }
            [value, "seconds", "sys"] => {
                add_time(&mut counts.0.system_s, seconds(value, decimal, line)?);
                times[2] += 1;
            }
            ["Performance", "counter", "stats", ..] => reports += 1,
            ["<not", how, event] => note_uncounted(&mut counts, &format!("<not {how}"), event),
            [value, event] if is_number(value) => add(&mut counts, event, count(value, decimal, line)?)?,
            ["Performance" | "<not", ..] => {}
            [_, second, _, ..] if is_number(second) || second == "<not" => return Err(in_line(second, line, TOTALS)),
            _ => {}
        }
    }
    if reports > 1 {
        counts.note(format!("The file holds {reports} reports: their counts and their times are added up."));
    }
    let all = [&mut counts.0.wall_s, &mut counts.0.user_s, &mut counts.0.system_s];
    // A share of the time of some of them would be too high.
    all.into_iter().zip(times).filter(|(_, found)| *found != reports).for_each(|(time, _)| *time = None);
    Ok(counts.finished())
}

/// A line without its metric and its spread.
fn value_part(line: &str) -> &str {
    let line = line.split('#').next().unwrap_or_default();
    line.split(" (").next().unwrap_or_default()
}

/// A count of the report, in which thousands may be separated.
fn count(text: &str, decimal: Option<char>, line: &str) -> Result<f64, String> {
    let Some(sign) = text.chars().find(|c| !c.is_ascii_digit()) else { return whole(text, line) };
    let is_usual = ['.', ',', '\'', '\u{2019}', '\u{a0}', '\u{202f}', '\u{2009}', '_'].contains(&sign);
    let groups: Vec<&str> = text.split(sign).collect();
    // Of three digits each, or in India of two except for the last.
    let [first, middle @ .., last] = &groups[..] else { return whole(text, line) };
    let fits = (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && middle.iter().all(|group| [2, 3].contains(&group.len()))
        && last.len() == 3;
    if is_usual && fits && decimal != Some(sign) {
        whole(&groups.concat(), line)
    } else {
        Err(in_line(text, line, "expected a whole number of events"))
    }
}

/// A number with a sign that is no digit, if it has one: what is before the last sign, the sign,
/// and what is behind it.
fn split(text: &str) -> Option<(&str, char, &str)> {
    let text = text.trim_end_matches('%');
    let (at, sign) = text.char_indices().rev().find(|(_, c)| !c.is_ascii_digit())?;
    let (before, after) = (&text[..at], &text[at + sign.len_utf8()..]);
    (is_number(before) && !after.is_empty()).then_some((before, sign, after))
}

/// The decimal sign of a number; `None` if it has none, or if the sign may separate thousands, as
/// in `1.234`.
fn own_decimal(text: &str) -> Option<char> {
    let (before, sign, after) = split(text)?;
    let has_other = before.contains(|c: char| !c.is_ascii_digit() && c != sign);
    (after.len() != 3 || before == "0" || has_other).then_some(sign)
}

/// The decimal sign of the report, by its times and percentages.
fn decimal_sign(text: &str) -> Result<Option<char>, String> {
    let mut found: Option<(char, &str)> = None;
    for line in text.lines() {
        let value = value_part(line);
        let is_time = value.contains(" seconds ") || value.contains(" msec ");
        // The command, which a file also holds, may hold any numbers.
        let numbers = match value.trim_start() {
            _ if is_time => line,
            value_first if is_number(value_first) => &line[value.len()..],
            _ => continue,
        };
        for number in numbers.split(|c: char| c.is_ascii_whitespace() || c == '(' || c == ')') {
            match (own_decimal(number), found) {
                (Some(sign), None) => found = Some((sign, line)),
                (Some(sign), Some((other, earlier))) if sign != other => {
                    let why = format!("the decimal sign is '{other}' in the line '{}'", earlier.trim());
                    return Err(in_line(number, line, &why));
                }
                _ => {}
            }
        }
    }
    Ok(found.map(|(sign, _)| sign).filter(|sign| ['.', ','].contains(sign)))
}

/// A time in seconds.
fn seconds(text: &str, decimal: Option<char>, line: &str) -> Result<f64, String> {
    let bad = |what| in_line(text, line, what);
    let plain = match (split(text), decimal) {
        (None, _) => text.to_owned(),
        (Some((before, sign, after)), Some(decimal)) if sign == decimal => {
            format!("{}.{after}", before.replace(|c: char| !c.is_ascii_digit(), ""))
        }
        (Some(_), None) => return Err(bad("the sign may be a decimal or one of thousands")),
        (Some(_), Some(_)) => return Err(bad("expected a number of seconds")),
    };
    let number: Option<f64> = plain.parse().ok();
    number.filter(|number| number.is_finite() && *number >= 0.0).ok_or_else(|| bad("expected a number of seconds"))
}

/// Separators of `perf stat -x`, the usual ones first.
const SEPARATORS: [char; 8] = [';', ',', '\t', '|', ':', '!', '@', '~'];

/// The cells of a line of CSV: value, unit and event. `None` if these are not the first three.
fn csv_cells(line: &str, separator: char) -> Option<(&str, &str, String)> {
    let mut cells = line.split(separator).map(str::trim);
    let (value, unit) = (cells.next()?, cells.next()?);
    // The name of an event may hold the separator; a number follows it.
    let event: Vec<&str> = cells.take_while(|cell| !is_number(cell)).collect();
    let event = event.join(separator.encode_utf8(&mut [0; 4]));
    let is_event = event.starts_with(|c: char| c.is_ascii_alphabetic());
    ((is_number(value) || value.starts_with("<not ")) && !is_number(unit) && is_event).then_some((value, unit, event))
}

fn csv_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

/// The separator of CSV, if this is CSV.
pub(super) fn csv_separator(text: &str) -> Option<char> {
    let fits = |separator: char| csv_lines(text).filter(|line| csv_cells(line, separator).is_some()).count();
    let most = SEPARATORS.into_iter().rev().max_by_key(|separator| fits(*separator))?;
    (fits(most) > 0).then_some(most)
}

/// CSV: `49;;page-faults;1171439;100.00;41.829;K/sec`.
pub(super) fn csv(text: &str, separator: char) -> Result<Counts, String> {
    let mut counts = Bounded::default();
    for line in csv_lines(text) {
        let Some((value, unit, event)) = csv_cells(line, separator) else {
            let why = "expected value, unit and event, as perf stat -x ';' writes without -I, -A and --per-*";
            return Err(in_line(line.split(separator).next().unwrap_or_default(), line, why));
        };
        // What has a unit is a time, a size or an energy.
        if unit.is_empty() && is_number(value) {
            add(&mut counts, &event, whole(value, line)?)?;
        } else if !is_number(value) {
            note_uncounted(&mut counts, value, &event);
        }
    }
    Ok(counts.finished())
}

/// Whether a line is one of `perf stat -j`.
pub(super) fn is_json(line: &str) -> bool {
    line.trim_start().starts_with('{') && line.contains("\"counter-value\"")
}

/// JSON, one object a line: `{"counter-value" : "49.000000", "unit" : "", "event" : "page-faults",
/// ...}`. In some locales its numbers have commas, which is not JSON.
pub(super) fn json(text: &str) -> Result<Counts, String> {
    let mut counts = Bounded::default();
    for line in text.lines().filter(|line| is_json(line)) {
        let object: Value = serde_json::from_str(&with_points(line)).map_err(|e| in_line("{", line, &e.to_string()))?;
        let of = |key: &str| object.get(key).and_then(Value::as_str);
        let (Some(value), Some(event)) = (of("counter-value"), of("event")) else {
            return Err(in_line("{", line, "expected a counter-value and an event"));
        };
        let parts = ["interval", "cpu", "core", "die", "socket", "node", "thread", "cgroup"];
        if let Some(part) = parts.into_iter().find(|part| object.get(*part).is_some()) {
            return Err(in_line(part, line, TOTALS));
        }
        if is_number(value) && of("unit").unwrap_or_default().is_empty() {
            let (count, fraction) = value.split_once(['.', ',']).unwrap_or((value, ""));
            if fraction.contains(|c| c != '0') {
                return Err(in_line(value, line, "expected a whole number of events"));
            }
            add(&mut counts, event, whole(count, line)?)?;
        } else if value.starts_with("<not ") {
            note_uncounted(&mut counts, value, event);
        }
    }
    Ok(counts.finished())
}

/// JSON with a point where a number has a comma. Between two members perf writes a space.
fn with_points(line: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let mut before = ' ';
    let mut rest = line.chars().peekable();
    let mut written = String::with_capacity(line.len());
    while let Some(c) = rest.next() {
        let is_decimal =
            !quoted && c == ',' && before.is_ascii_digit() && rest.peek().is_some_and(char::is_ascii_digit);
        written.push(if is_decimal { '.' } else { c });
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
        before = c;
    }
    written
}

#[cfg(test)]
mod tests;
