//! What a person wants first of a comparison: what is compared, what differs between the machines,
//! how many metrics became slower or faster, and which of them by most.

use groma_analysis::compare::{ASSUMED_NOISE, Pair, Verdict, Why};
use groma_analysis::point::family;
use groma_model::page::Shown;
use groma_model::{Families, InTurns, Record, RunHeader};

use super::lines::title;
use super::{Compared, Relative, Side, change, difference, letter, sign};
use crate::machine::host;
use crate::point::name;
use crate::runs::minute;
use crate::style::{Ink, Style, wrap_behind};
use crate::units;

/// Differences between machines that are written out; the others are counted.
const DIFFERENCES: usize = 6;
/// A fact's text is cut to so many columns on each side.
const FACT: usize = 40;
/// From so many other runs on, their spread is known well enough
/// (docs/methods/statistics.md#noise-floor).
const ENOUGH: usize = 6;
/// Metrics that are named of each verdict.
const NAMED: usize = 3;

/// The first lines of a comparison.
pub(super) fn summary(
    families: Families<'_>,
    first: Side<'_>,
    others: &[Compared<'_>],
    relative: Relative<'_>,
    style: &Style,
) -> String {
    let mut out = String::new();
    let mut here = String::new();
    for (i, side) in [first].into_iter().chain(others.iter().map(|other| other.side)).enumerate() {
        let letter = letter(i);
        let machine = host(&side.head.environment);
        let where_ = if machine == here { "the same machine".to_owned() } else { machine.clone() };
        here = machine;
        out += &wrap_behind(&format!("{letter}  "), &style.text(&format!("{}; {where_}", run(side))), style.width);
    }
    match relative {
        Relative::Absolute => {}
        Relative::Cycles => out += &wrap_behind("", "Times are in cycles of the core's clock.", style.width),
        Relative::Metric(id) => {
            out += &wrap_behind("", &style.text(&format!("Values are relative to {id}.")), style.width);
        }
    }
    let told = told(families, first, others, style);
    for (i, sentences) in told.of_others.iter().enumerate() {
        out.push('\n');
        if others.len() > 1 {
            out += &style.paint(Ink::Strong, &format!("{} beside A", letter(i + 1)));
            out.push('\n');
        }
        for text in sentences {
            out += &wrap_behind("", &style.text(text), style.width);
        }
    }
    out.push('\n');
    for text in &told.of_all {
        out += &wrap_behind("", &style.text(text), style.width);
    }
    out
}

/// What is said of a comparison, in sentences.
pub(crate) struct Told {
    /// Of each other side beside the first.
    pub(crate) of_others: Vec<Vec<String>>,
    /// What it rests on, and what the signs mean.
    pub(crate) of_all: Vec<String>,
}

/// What is to be said of a comparison.
pub(crate) fn told(families: Families<'_>, first: Side<'_>, others: &[Compared<'_>], style: &Style) -> Told {
    let in_turns = others.iter().all(|other| other.in_turns);
    let evidence = if in_turns { IN_TURNS.to_owned() } else { evidence(first) };
    Told {
        of_others: (1..).zip(others).map(|(i, other)| sentences(families, first, other, letter(i), style)).collect(),
        of_all: vec![evidence, legend(others, style)],
    }
}

/// What a comparison of runs that were made in turns rests on.
const IN_TURNS: &str = "Rounds were made in turns: each ratio is that of two neighbouring rounds, and no change is \
                        called that may be below 1 %.";

/// What tells how runs of the first side differ when nothing has changed.
fn evidence(first: Side<'_>) -> String {
    match first.like {
        0 => format!(
            "No other run of A's machine in this state is known, so only differences of more than {} are called: \
             repeat A to find smaller ones.",
            units::percent(ASSUMED_NOISE - 1.0)
        ),
        1 => "Held against 1 other run of A's machine in this state; with six or more, smaller differences are found."
            .to_owned(),
        n if n < ENOUGH => {
            format!(
                "Held against {n} other runs of A's machine in this state; with six or more, smaller differences are found."
            )
        }
        n => format!("Held against {n} other runs of A's machine in this state."),
    }
}

/// What a run is called: what was typed for it, and when it began.
fn run(side: Side<'_>) -> String {
    let when = minute(&side.head.started);
    let id = if side.name == side.head.run { String::new() } else { format!("{}: ", side.name) };
    let more = if side.runs > 1 { format!(" and {} more", side.runs - 1) } else { String::new() };
    let condition = side.head.in_turns.as_ref().map_or(String::new(), condition);
    format!("{id}run {}{more}{condition}, {when} UTC, groma {}", side.head.run, side.head.groma)
}

/// What was particular to the rounds of one side.
fn condition(turns: &InTurns) -> String {
    let mut words: Vec<String> = turns.set.iter().map(|fact| format!(" with {}={}", fact.key, fact.value)).collect();
    if !turns.prepared_by.is_empty() {
        words.push(format!(" after '{}'", turns.prepared_by));
    }
    match turns.command.as_str() {
        "" if words.is_empty() => words.push(" behind nothing".to_owned()),
        "" => {}
        command => words.push(format!(" behind {command}")),
    }
    words.concat()
}

fn sentences(
    families: Families<'_>,
    first: Side<'_>,
    other: &Compared<'_>,
    called: char,
    style: &Style,
) -> Vec<String> {
    let pairs = &other.comparison.pairs;
    let is = |word: &'static str| move |pair: &&Pair<'_>| pair.verdict.word() == word;
    let count = |word| pairs.iter().filter(is(word)).count();
    let mut out = vec![differ(first.head, other, style)];
    let mut counts = vec![
        format!("{} slower", count("slower")),
        format!("{} faster", count("faster")),
        format!("{} the same", count("same")),
    ];
    let changed = count("changed");
    if changed > 0 {
        counts.push(format!("{changed} changed"));
    }
    let unclear: Vec<Why> = pairs
        .iter()
        .filter_map(|pair| match pair.verdict {
            Verdict::Unclear(why) => Some(why),
            _ => None,
        })
        .collect();
    if !unclear.is_empty() {
        counts.push(format!("{} cannot be told ({})", unclear.len(), reasons(&unclear)));
    }
    let metrics = if pairs.len() == 1 { "metric" } else { "metrics" };
    out.push(format!("{} {metrics}: {}.", pairs.len(), counts.join(", ")));
    for (word, worst_first) in [("slower", true), ("faster", false)] {
        let mut some: Vec<&Pair<'_>> = pairs.iter().filter(is(word)).collect();
        some.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
        if !worst_first {
            some.reverse();
        }
        let named: Vec<String> = some.iter().take(NAMED).map(|pair| named(families, pair)).collect();
        match some.len() {
            0 => {}
            n if n > NAMED => out.push(format!("Most of all {word}: {}.", named.join("; "))),
            _ => out.push(format!("{}: {}.", capital(word), named.join("; "))),
        }
    }
    out.extend(by_family(pairs));
    let left_out = left_out(other, called);
    if !left_out.is_empty() {
        out.push(format!("Not compared: {} ({} compare --all lists them).", left_out.join(", "), style.program));
    }
    out
}

/// `kernel.release 6.12 → 6.18; host noise 0.4 % → 12 %`.
fn differ(first: &RunHeader, other: &Compared<'_>, style: &Style) -> String {
    let second = other.side.head;
    let mut parts: Vec<String> =
        other.differences.iter().take(DIFFERENCES).map(|d| difference(d, FACT, style)).collect();
    let more = other.differences.len().saturating_sub(DIFFERENCES);
    if more > 0 {
        parts.push(format!("{more} more facts"));
    }
    if first.groma != second.groma || first.build != second.build {
        parts.push(format!("groma {} ({}) → {} ({})", first.groma, first.build, second.groma, second.build));
    }
    let lost = [first, second].map(|head| head.noise_lost.unwrap_or(0.0));
    let noisier = lost[0].max(lost[1]) > 0.03 && lost[0].max(lost[1]) > 2.0 * lost[0].min(lost[1]);
    if noisier {
        parts.push(format!("time lost to others {} → {}", units::percent(lost[0]), units::percent(lost[1])));
    }
    if parts.is_empty() {
        return "Nothing that groma knows of the machine differs.".to_owned();
    }
    format!("Differs: {}.", parts.join("; "))
}

/// How often each reason, the most frequent first.
fn reasons(unclear: &[Why]) -> String {
    let kind = |why: &Why| match why {
        Why::Imprecise => "intervals too wide",
        Why::FewRounds => "too few rounds",
        Why::RunNoise(_) => "no more than runs here differ",
        Why::SharedCore => "one side on a shared core",
    };
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for why in unclear {
        match kinds.iter_mut().find(|(text, _)| *text == kind(why)) {
            Some((_, n)) => *n += 1,
            None => kinds.push((kind(why), 1)),
        }
    }
    kinds.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    if let [(only, _)] = kinds.as_slice() {
        return (*only).to_owned();
    }
    kinds.iter().map(|(text, n)| format!("{n} {text}")).collect::<Vec<_>>().join(", ")
}

/// A metric by the name of its line, with its change and the interval of that.
fn named(families: Families<'_>, pair: &Pair<'_>) -> String {
    let ends = pair.interval.map(|ends| ends.map(change));
    let interval = ends.map(|[low, high]| format!(" ({} to {high})", low.trim_end_matches(" %")));
    format!("{} {}{}", page_name(families, pair.sides[0]), change(pair.ratio), interval.unwrap_or_default())
}

/// `Round trips, 2 CPUs: pipe`; of what stands on no line its id and parameters.
pub(crate) fn page_name(families: Families<'_>, record: &Record) -> String {
    let is_it = |shown: &Shown| {
        let here = shown.rank(&record.placement, record.workers).is_some() && shown.has(&record.params);
        shown.metric == record.id && here && !shown.in_cycles
    };
    let blocks = families.pages.system.iter().chain(families.pages.hardware);
    let lines = blocks.flat_map(|block| block.lines.iter().map(move |line| (block, line)));
    let mut found = lines.filter_map(|(block, line)| {
        let column = line.values.iter().position(|shown| shown.as_ref().is_some_and(is_it))?;
        Some(format!("{}: {}", title(block, column), line.name))
    });
    found.next().unwrap_or_else(|| name(record))
}

/// How many metrics of each family changed.
fn by_family(pairs: &[Pair<'_>]) -> Option<String> {
    let mut families: Vec<&str> = Vec::new();
    for pair in pairs {
        if !families.contains(&family(&pair.sides[0].id)) {
            families.push(family(&pair.sides[0].id));
        }
    }
    let of = |name: &str| {
        let own: Vec<&Pair<'_>> = pairs.iter().filter(|pair| family(&pair.sides[0].id) == name).collect();
        let count = |word| {
            let changes: Vec<f64> = own.iter().filter(|p| p.verdict.word() == word).map(|p| p.ratio).collect();
            let least = changes.iter().copied().fold(f64::INFINITY, f64::min);
            let most = changes.iter().copied().fold(0.0, f64::max);
            let range = match (change(least), change(most)) {
                (least, most) if least == most => least,
                (least, most) => format!("{least} to {most}"),
            };
            (!changes.is_empty()).then(|| format!("{} of {} {word} ({range})", changes.len(), own.len()))
        };
        let parts: Vec<String> = ["slower", "faster"].into_iter().filter_map(count).collect();
        (!parts.is_empty()).then(|| format!("{name} {}", parts.join(" and ")))
    };
    let sentences: Vec<String> = families.into_iter().filter_map(of).collect();
    (!sentences.is_empty()).then(|| format!("By family: {}.", sentences.join("; ")))
}

/// What is not compared, counted.
fn left_out(other: &Compared<'_>, called: char) -> Vec<String> {
    let comparison = &other.comparison;
    let counts = [
        (comparison.alone[0].len(), "only in A".to_owned()),
        (comparison.alone[1].len(), format!("only in {called}")),
        (comparison.without_value.len(), "without a value".to_owned()),
        (comparison.unlike.len(), "defined anew in between, or in other units or on other storage".to_owned()),
    ];
    counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect()
}

/// The signs that are used, with their meaning.
fn legend(others: &[Compared<'_>], style: &Style) -> String {
    let verdicts = others.iter().flat_map(|other| &other.comparison.pairs).map(|pair| pair.verdict);
    let mut used: Vec<String> = Vec::new();
    for verdict in verdicts {
        let word = match verdict {
            Verdict::Same { .. } => "the same within 5 %",
            Verdict::Unclear(_) => "cannot be told",
            other => other.word(),
        };
        let text = format!("{} {word}", sign(verdict, style));
        if !used.contains(&text) {
            used.push(text);
        }
    }
    used.sort();
    if used.is_empty() { String::new() } else { format!("{}.", used.join(", ")) }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|c| c.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
