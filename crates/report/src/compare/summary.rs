//! The summary of a comparison: what is compared, what differs between the machines, how many
//! metrics became slower or faster, and which ones changed most.

use groma_analysis::compare::{ASSUMED_NOISE, Pair, Verdict, Why};
use groma_analysis::point::family;
use groma_model::{Families, InTurns, RunHeader};

use super::differs::in_words;
use super::names::page_name;
use super::{Compared, Relative, Side, letter, sign, verdict_word, why};
use crate::machine::host;
use crate::runs::minute_utc;
use crate::style::{Ink, Style, columns, wrap_behind};
use crate::units;

/// Differences between machines that are listed; the rest are counted.
const DIFFERENCES: usize = 6;
/// With this many other runs, their spread is known well enough
/// (docs/methods/statistics.md#noise-floor).
const MIN_RUNS: usize = 6;
/// Metrics that are named per verdict.
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
        Relative::Metric(base) => {
            let text = format!("Times are multiples of {base}; rates are what happens in that time.");
            out += &wrap_behind("", &style.text(&text), style.width);
        }
    }
    let sentences = sentences(families, first, others, relative, style);
    for (i, beside) in sentences.of_others.iter().enumerate() {
        out.push('\n');
        if others.len() > 1 {
            out += &style.paint(Ink::Strong, &format!("{} beside A", letter(i + 1)));
            out.push('\n');
        }
        for text in &beside.sentences {
            out += &wrap_behind("", &style.text(text), style.width);
        }
        if !beside.by_family.is_empty() {
            out += "By family:\n";
        }
        let longest = beside.by_family.iter().map(|(family, _)| columns(family)).max().unwrap_or(0);
        for (family, text) in &beside.by_family {
            out += &wrap_behind(&format!("  {:<longest$}  ", style.text(family)), text, style.width);
        }
        if let Some(text) = &beside.not_compared {
            out += &wrap_behind("", &style.text(text), style.width);
        }
    }
    out.push('\n');
    for text in &sentences.of_all {
        out += &wrap_behind("", &style.text(text), style.width);
    }
    out
}

/// The sentences about a comparison.
pub(crate) struct Sentences {
    /// About each other side, compared with the first.
    pub(crate) of_others: Vec<Beside>,
    /// About the evidence, and the meaning of the signs.
    pub(crate) of_all: Vec<String>,
}

/// The sentences about one side compared with the first.
pub(crate) struct Beside {
    /// What differs between the machines, how many metrics changed, and which ones changed most.
    pub(crate) sentences: Vec<String>,
    /// Each family with changes, and how much it changed.
    pub(crate) by_family: Vec<(String, String)>,
    /// What is not compared, such as metrics that only one side has.
    pub(crate) not_compared: Option<String>,
}

/// Composes the sentences about a comparison.
pub(crate) fn sentences(
    families: Families<'_>,
    first: Side<'_>,
    others: &[Compared<'_>],
    relative: Relative<'_>,
    style: &Style,
) -> Sentences {
    let in_turns = others.iter().all(|other| other.in_turns);
    let evidence = if in_turns { IN_TURNS.to_owned() } else { evidence(first) };
    Sentences {
        of_others: (1..)
            .zip(others)
            .map(|(i, other)| about_side(families, first, (letter(i), other), relative, style))
            .collect(),
        of_all: [vec![evidence], legend(others, style)].concat(),
    }
}

/// The evidence for a comparison of interleaved runs.
const IN_TURNS: &str = "Rounds were made in turns: each ratio is that of two neighbouring rounds, and no change is \
                        called that may be below 1 %.";

/// The evidence for how much runs of the first side vary by themselves.
fn evidence(first: Side<'_>) -> String {
    match first.like {
        0 => format!(
            "No other run of A's machine in this state is known, so only differences of more than {} are called: \
             repeat A to find smaller ones.",
            units::percent(ASSUMED_NOISE - 1.0)
        ),
        1 => "Held against 1 other run of A's machine in this state; with six or more, smaller differences are found."
            .to_owned(),
        n if n < MIN_RUNS => {
            format!(
                "Held against {n} other runs of A's machine in this state; with six or more, smaller \
                    differences are found."
            )
        }
        n => format!("Held against {n} other runs of A's machine in this state."),
    }
}

/// The name of a run: the argument that named it, and its start.
pub(crate) fn run(side: Side<'_>) -> String {
    let when = minute_utc(&side.head.started);
    let id = if side.name == side.head.run { String::new() } else { format!("{}: ", side.name) };
    let more = if side.runs > 1 { format!(" and {} more", side.runs - 1) } else { String::new() };
    let condition = side.head.in_turns.as_ref().map_or(String::new(), condition);
    format!("{id}run {}{more}{condition}, {when}, groma {}", side.head.run, side.head.groma)
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
        command => {
            let is_told = turns.file.is_empty() || command.split(' ').next() == Some(&turns.file);
            let file = if is_told { String::new() } else { format!(" ({})", turns.file) };
            words.push(format!(" behind {command}{file}"));
        }
    }
    words.concat()
}

fn about_side(
    families: Families<'_>,
    first: Side<'_>,
    (called, other): (char, &Compared<'_>),
    relative: Relative<'_>,
    style: &Style,
) -> Beside {
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
        counts.push(format!("{} inconclusive ({})", unclear.len(), reasons(&unclear)));
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
    Beside { sentences: out, by_family: by_family(pairs), not_compared: not_compared(other, called, relative, style) }
}

/// `CPU Zen 5 → Emerald Rapids; kernel 6.12 → 6.18; others took 0.4 % → 12 % of the host`.
fn differ(first: &RunHeader, other: &Compared<'_>, style: &Style) -> String {
    let second = other.side.head;
    let mut parts = in_words(&other.differences, style);
    let more = if style.all { 0 } else { parts.len().saturating_sub(DIFFERENCES) };
    if more > 0 {
        parts.truncate(DIFFERENCES);
        parts.push(format!("{more} more (with --all)"));
    }
    if first.groma != second.groma || first.build != second.build {
        parts.push(format!("groma {} ({}) → {} ({})", first.groma, first.build, second.groma, second.build));
    }
    let lost = [first, second].map(|head| head.noise_lost.unwrap_or(0.0));
    let noisier = lost[0].max(lost[1]) > 0.03 && lost[0].max(lost[1]) > 2.0 * lost[0].min(lost[1]);
    if noisier {
        parts.push(format!("others took {} → {} of the host", units::percent(lost[0]), units::percent(lost[1])));
    }
    // The run's own quota is another fact than the load of others.
    let held = [first, second].map(|head| head.cpu_limit.map_or(0.0, |limit| limit.held_back));
    if held[0].max(held[1]) > 0.03 && held[0].max(held[1]) > 2.0 * held[0].min(held[1]) {
        let [one, other] = held.map(units::percent);
        parts.push(format!("a CPU quota of its own held it back for {one} → {other} of the time"));
    }
    if parts.is_empty() {
        return "Nothing that groma knows of the machine differs.".to_owned();
    }
    format!("Differs: {}.", parts.join("; "))
}

/// The reasons with their counts, the most frequent first.
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

/// A metric by the name of its line, with the factor by which it became slower or faster, and the
/// interval of that factor.
fn named(families: Families<'_>, pair: &Pair<'_>) -> String {
    let name = page_name(families, pair.sides[0]);
    let ends = pair.interval.map(|[low, high]| if pair.ratio > 1.0 { [low, high] } else { [1.0 / high, 1.0 / low] });
    let digits = |x: f64| units::significant(x, 3);
    let interval = ends.map_or(String::new(), |[low, high]| format!(" ({} to {})", digits(low), digits(high)));
    format!("{name} {} times{interval}", digits(pair.size()))
}

/// How many metrics of each family changed, and by how much: `8 of 19 slower, 1.4 to 2.7 times`.
fn by_family(pairs: &[Pair<'_>]) -> Vec<(String, String)> {
    let mut families: Vec<&str> = Vec::new();
    for pair in pairs {
        if !families.contains(&family(&pair.sides[0].id)) {
            families.push(family(&pair.sides[0].id));
        }
    }
    let of = |name: &str| {
        let own: Vec<&Pair<'_>> = pairs.iter().filter(|pair| family(&pair.sides[0].id) == name).collect();
        let mut total = format!(" of {}", own.len());
        let mut count = |word| {
            let changes: Vec<f64> = own.iter().filter(|p| p.verdict.word() == word).map(|p| p.size()).collect();
            let least = changes.iter().copied().fold(f64::INFINITY, f64::min);
            let most = changes.iter().copied().fold(0.0, f64::max);
            let range = match (factor(least), factor(most)) {
                (least, most) if least == most => least,
                (least, most) => format!("{least} to {most}"),
            };
            // The second count has the same total.
            let named = || format!("{}{} {word}, {range} times", changes.len(), std::mem::take(&mut total));
            (!changes.is_empty()).then(named)
        };
        let parts: Vec<String> = ["slower", "faster"].into_iter().filter_map(&mut count).collect();
        (!parts.is_empty()).then(|| (name.to_owned(), parts.join("; ")))
    };
    families.into_iter().filter_map(of).collect()
}

/// The factor by which an operation became slower or faster, whatever its unit: 2 for half the
/// bandwidth and for double the time. As `1.06`, `2.7`, `54`.
pub(crate) fn factor(times: f64) -> String {
    match times {
        x if x < 1.095 => format!("{x:.2}"),
        x if x < 9.95 => format!("{x:.1}"),
        x => format!("{x:.0}"),
    }
}

/// Counts of what is not compared.
fn not_compared(other: &Compared<'_>, called: char, relative: Relative<'_>, style: &Style) -> Option<String> {
    let comparison = &other.comparison;
    let unscaled = match relative {
        Relative::Absolute => "are in no common unit",
        Relative::Cycles => "have no cycles",
        Relative::Metric(_) => "are neither times nor rates",
    };
    let counts = [
        (comparison.unscaled, unscaled.to_owned()),
        (comparison.alone[0].len(), "only in A".to_owned()),
        (comparison.alone[1].len(), format!("only in {called}")),
        (comparison.without_value.len(), "without a value".to_owned()),
        (comparison.unlike.len(), "defined anew in between, or in other units or on other storage".to_owned()),
    ];
    let counted = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let counted = counted.collect::<Vec<_>>().join(", ");
    (!counted.is_empty()).then(|| format!("Not compared: {counted} ({} compare --all lists them).", style.program))
}

/// The signs in use, with their meaning; for a table of every metric also its words.
fn legend(others: &[Compared<'_>], style: &Style) -> Vec<String> {
    let verdicts = || others.iter().flat_map(|other| &other.comparison.pairs).map(|pair| pair.verdict);
    let mut used: Vec<String> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    for verdict in verdicts() {
        let word = match verdict {
            Verdict::Same { .. } => "the same within 5 %",
            Verdict::Unclear(_) => "inconclusive",
            other => other.word(),
        };
        let sign = format!("{} {word}", sign(verdict, style));
        let reason = match verdict {
            Verdict::Unclear(Why::RunNoise(_)) => "runs of this host differ by as much".to_owned(),
            Verdict::Unclear(reason) => why(reason),
            _ => String::new(),
        };
        for (known, new) in [(&mut used, sign), (&mut words, format!("{}: {reason}", verdict_word(verdict)))] {
            if !known.contains(&new) && !new.ends_with(": ") {
                known.push(new);
            }
        }
    }
    used.sort();
    words.sort();
    let mut out = if used.is_empty() { Vec::new() } else { vec![format!("{}.", used.join(", "))] };
    if style.all && !used.is_empty() {
        words.push("interval: of B/A, 95 %".to_owned());
        words.push("from: the smallest change that would be called in four cases of five".to_owned());
        out.push(format!("{}.", capital(&words.join("; "))));
    }
    out
}

pub(crate) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|c| c.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
