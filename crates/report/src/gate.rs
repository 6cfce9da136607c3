//! The verdict of a gate, shown before the comparison that it rests on.

use groma_analysis::compare::{Comparison, Gate, Pair, Share, Verdict, identity};
use groma_analysis::gate::{Suspects, is_doubtful};
use groma_model::Families;

use crate::compare::{change, page_name};
use crate::document::Document;
use crate::format::Format;
use crate::style::{Ink, Style};
use crate::units::{self, Scale};

/// Suspects that are named; the rest are counted.
const NAMED: usize = 5;

/// The verdict in a sentence, a line for each confirmed regression, and a sentence about the
/// cleared suspects. `tolerance` is a fraction. It stands above the comparison
/// ([`Document::above`]).
pub fn gate<'a>(
    families: Families<'_>,
    comparison: &Comparison<'_>,
    (verdict, suspects): (Gate, &Suspects),
    tolerance: f64,
) -> Document<'a> {
    let all = comparison.pairs.len();
    let slower: Vec<&Pair<'_>> = comparison.pairs.iter().filter(|pair| pair.verdict == Verdict::Slower).collect();
    let by = percent(tolerance);
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
            let Share { count: unclear, total: all } = comparison.inconclusive();
            let doubtful = comparison.pairs.iter().filter(|pair| is_doubtful(pair, suspects, tolerance)).count();
            let what = match doubtful {
                0 => format!("no regression found; {unclear} of {all} metrics are inconclusive."),
                n => format!(
                    "{n} of {all} metrics looked slower twice, too noisy to say whether by more than {by}; \
                     a longer --budget may help."
                ),
            };
            (Ink::Warning, "CANNOT TELL", what)
        }
    };
    let lines: Vec<String> = slower.iter().map(|pair| line(families, pair)).collect();
    let cleared = cleared(families, comparison, suspects, tolerance);
    let mut out = Document::new("gate");
    out.headed(format!("{word}  "), ink, what.clone());
    lines.iter().for_each(|text| out.labelled("  ", text.as_str()));
    out.say(cleared.clone().unwrap_or_default());
    out.gap();
    out.written(Format::Markdown, move || {
        let plain = |text: &str| Style::plain(usize::MAX).text(text);
        // Escape line by line: text from outside must not begin a line.
        let lines: String = lines.iter().map(|line| format!("- {}\n", plain(line))).collect();
        let cleared = cleared.as_ref().map_or(String::new(), |text| format!("\n{}\n", plain(text)));
        format!("**{word}**: {}\n\n{lines}{cleared}\n", plain(&what))
    })
}

/// `Round trips, 1 CPU: pipe: 6.16 µs → 7.10 µs, +15 % (+11 % to +19 %)`.
fn line(families: Families<'_>, pair: &Pair<'_>) -> String {
    let [before, after] = [0, 1].map(|side| units::value(pair.values[side], Scale::of(pair.sides[side]), None));
    let interval = pair.interval.map(|[low, high]| format!(" ({} to {})", change(low), change(high)));
    let name = page_name(families, pair.sides[0]);
    format!("{name}: {before} → {after}, {}{}", change(pair.ratio), interval.unwrap_or_default())
}

/// Why fresh rounds did not confirm a suspect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// It is not slower by more than the tolerance.
    Cleared,
    /// It is slower again, but that may be chance.
    Doubtful,
    /// There were too few rounds.
    Undecided,
}

/// The suspects that fresh rounds did not confirm, by reason.
fn cleared(families: Families<'_>, comparison: &Comparison<'_>, suspects: &Suspects, tolerance: f64) -> Option<String> {
    let left = |pair: &Pair<'_>| match pair {
        pair if pair.is_undecided() => Left::Undecided,
        pair if is_doubtful(pair, suspects, tolerance) => Left::Doubtful,
        _ => Left::Cleared,
    };
    let listed = |wanted: Left, what: &str| {
        let others = comparison.pairs.iter().filter(|pair| pair.verdict != Verdict::Slower);
        let mut all: Vec<String> = others
            .filter(|pair| left(pair) == wanted)
            .filter_map(|pair| {
                let first = suspects.get(&identity(pair.sides[0]))?;
                let name = page_name(families, pair.sides[0]);
                let interval = pair.interval.filter(|_| wanted == Left::Doubtful);
                let interval = interval.map(|[low, high]| format!(" ({} to {})", change(low), change(high)));
                let then = change(pair.ratio);
                Some(format!("{name} {}, then {then}{}", change(*first), interval.unwrap_or_default()))
            })
            .collect();
        let more = all.len().saturating_sub(NAMED);
        all.truncate(NAMED);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        (!all.is_empty()).then(|| format!("{what}: {}{more}.", all.join("; ")))
    };
    let by = percent(tolerance);
    let sentences: Vec<String> = [
        listed(Left::Doubtful, "Slower again in fresh rounds, but not beyond doubt"),
        listed(Left::Cleared, &format!("Looked slower by more than {by} at first, not in fresh rounds")),
        listed(Left::Undecided, "Looked slower at first, with too few fresh rounds to tell"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// A tolerance, as typed.
fn percent(tolerance: f64) -> String {
    format!("{} %", (tolerance * 1e4).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use groma_analysis::compare::Why;

    /// The report on two suspects: the first is slower again with this interval, the second is not.
    fn report(interval: [f64; 2], verdict: Gate) -> String {
        let (_, records) = fixtures::survey();
        let pair = |at: usize, ratio: f64, interval: [f64; 2], verdict| Pair {
            sides: [&records[at], &records[at]],
            values: [1e-6, ratio * 1e-6],
            shared_core: false,
            ratio,
            interval: Some(interval),
            p: Some(0.2),
            detectable: None,
            verdict,
        };
        let unclear = Verdict::Unclear(Why::Imprecise);
        let pairs = vec![pair(0, 1.51, interval, unclear), pair(1, 0.99, [0.98, 1.01], Verdict::Same { within: 0.02 })];
        let suspects = pairs.iter().map(|pair| (identity(pair.sides[0]), 1.28)).collect();
        let comparison = Comparison { pairs, ..Comparison::default() };
        gate(fixtures::families(), &comparison, (verdict, &suspects), 0.05).text(&Style::plain(400))
    }

    #[test]
    fn a_suspect_that_is_slower_again_is_not_cleared() {
        let text = report([0.97, 2.4], Gate::Unclear);
        assert!(text.starts_with("CANNOT TELL  1 of 2 metrics looked slower twice, too noisy to say"), "{text}");
        let [doubtful, cleared] =
            ["Slower again in fresh rounds, but not beyond doubt: ", "at first, not in fresh rounds: "]
                .map(|words| text.find(words).unwrap_or_else(|| panic!("{words}: {text}")));
        let [first, second] = ["+28 %, then +51 % (-3.0 % to 2.4x)", "+28 %, then -1.0 %"]
            .map(|words| text.find(words).unwrap_or_else(|| panic!("{words}: {text}")));
        assert!(doubtful < first && first < cleared && cleared < second, "{text}");
    }
}
