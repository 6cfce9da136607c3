//! What a gate says, before the comparison that it rests on.

use groma_analysis::compare::{Comparison, Gate, Pair, Verdict, identity};
use groma_analysis::gate::Suspects;
use groma_model::Families;

use crate::compare::{CompareFormat, change, page_name};
use crate::style::{Ink, Style, wrap_behind};
use crate::units::{self, Scale};

/// Suspects that are named; the others are counted.
const NAMED: usize = 5;

/// The verdict in a sentence, then a line for each confirmed regression, and a sentence about the
/// suspects that were none. `tolerance` is a fraction. Plain lines, or Markdown.
pub fn gate(
    families: Families<'_>,
    comparison: &Comparison<'_>,
    (verdict, suspects): (Gate, &Suspects),
    tolerance: f64,
    format: CompareFormat,
    style: &Style,
) -> String {
    let all = comparison.pairs.len();
    let slower: Vec<&Pair<'_>> = comparison.pairs.iter().filter(|pair| pair.verdict == Verdict::Slower).collect();
    let by = format!("{} %", (tolerance * 1e4).round() / 100.0);
    let (ink, word, what) = match verdict {
        Gate::Passes => (Ink::Strong, "PASSED", format!("none of {all} metrics became slower by more than {by}.")),
        Gate::Fails => {
            let n = slower.len();
            let what = format!("{n} of {all} metrics became slower by more than {by}, confirmed by fresh rounds:");
            (Ink::Bad, "FAILED", what)
        }
        Gate::Unclear if all == 0 => {
            (Ink::Warning, "CANNOT TELL", "no metric has a value on both sides; a longer --budget may help.".to_owned())
        }
        Gate::Unclear => {
            let [unclear, all] = comparison.untold();
            let what = format!("no regression found; {unclear} of {all} metrics are inconclusive.");
            (Ink::Warning, "CANNOT TELL", what)
        }
    };
    let lines = slower.iter().map(|pair| line(families, pair));
    let cleared = cleared(families, comparison, suspects);
    if format == CompareFormat::Markdown {
        // Line by line: what comes from outside must not begin one.
        let lines: String = lines.map(|line| format!("- {}\n", style.text(&line))).collect();
        let cleared = cleared.map_or(String::new(), |text| format!("\n{}\n", style.text(&text)));
        return format!("**{word}**: {}\n\n{lines}{cleared}\n", style.text(&what));
    }
    let mut out = wrap_behind(&format!("{}  ", style.paint(ink, word)), &style.text(&what), style.width);
    lines.for_each(|line| out += &wrap_behind("  ", &style.text(&line), style.width));
    cleared.iter().for_each(|text| out += &wrap_behind("", &style.text(text), style.width));
    out.push('\n');
    out
}

/// `Round trips, 1 CPU: pipe: 6.16 µs → 7.10 µs, +15 % (+11 % to +19 %)`.
fn line(families: Families<'_>, pair: &Pair<'_>) -> String {
    let [before, after] = [0, 1].map(|side| units::value(pair.values[side], Scale::of(pair.sides[side]), None));
    let interval = pair.interval.map(|[low, high]| format!(" ({} to {})", change(low), change(high)));
    let name = page_name(families, pair.sides[0]);
    format!("{name}: {before} → {after}, {}{}", change(pair.ratio), interval.unwrap_or_default())
}

/// The suspects that fresh rounds did not confirm, and those that they were too few to judge.
fn cleared(families: Families<'_>, comparison: &Comparison<'_>, suspects: &Suspects) -> Option<String> {
    let listed = |undecided: bool, what: &str| {
        let others = comparison.pairs.iter().filter(|pair| pair.verdict != Verdict::Slower);
        let mut all: Vec<String> = others
            .filter(|pair| pair.is_undecided() == undecided)
            .filter_map(|pair| {
                let first = suspects.get(&identity(pair.sides[0]))?;
                Some(format!("{} {}, then {}", page_name(families, pair.sides[0]), change(*first), change(pair.ratio)))
            })
            .collect();
        let more = all.len().saturating_sub(NAMED);
        all.truncate(NAMED);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        (!all.is_empty()).then(|| format!("{what}: {}{more}.", all.join("; ")))
    };
    let sentences: Vec<String> = [
        listed(false, "Looked slower at first, not in fresh rounds"),
        listed(true, "Looked slower at first, with too few fresh rounds to tell"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}
