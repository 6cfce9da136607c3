//! Selects benchmarks by id, family, metric or pattern, and suggests the closest id for a typo.

use groma_harness::Benchmark;
use groma_harness::model::{Tier, is_metric_of};
use std::fmt;

/// A text that names no benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBenchmark {
    /// The text.
    pub text: String,
    /// The most similar id, if one is close.
    pub suggestion: Option<&'static str>,
}

impl fmt::Display for UnknownBenchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no benchmark '{}'", self.text)?;
        self.suggestion.map_or(Ok(()), |close| write!(f, "; did you mean '{close}'?"))
    }
}

impl std::error::Error for UnknownBenchmark {}

/// The benchmarks that the texts select, in the order of the catalogue. Without texts, those that a
/// run of this tier measures. `repeating` gives the ids of the benchmarks that repeat a test of
/// another tool: this crate does not know the other tools.
///
/// # Errors
/// Names the first text that selects nothing, with the closest id.
pub fn select(
    all: &[&'static Benchmark],
    texts: &[String],
    tier: Tier,
    repeating: fn(&str) -> Vec<&'static str>,
) -> Result<Vec<&'static Benchmark>, UnknownBenchmark> {
    if texts.is_empty() {
        return Ok(all.iter().copied().filter(|b| b.info.tier <= tier).collect());
    }
    // Once, not for each benchmark: a text may be long.
    let texts: Vec<(&str, How)> = texts.iter().map(|text| (text.as_str(), How::of(text, all, repeating))).collect();
    for (text, how) in &texts {
        if !all.iter().any(|b| fits(text, how, b)) {
            return Err(UnknownBenchmark { text: (*text).to_owned(), suggestion: suggestion(all, text) });
        }
    }
    Ok(all.iter().copied().filter(|b| texts.iter().any(|(text, how)| fits(text, how, b))).collect())
}

/// How a text selects benchmarks.
enum How {
    /// As an id or a family: nothing else is meant, though perf bench has a `syscall fork`.
    Exactly,
    /// As a pattern.
    Pattern,
    /// As a metric, a word of an id, or a test of another tool: the ids of what repeats it.
    Loosely(Vec<&'static str>),
}

impl How {
    fn of(text: &str, all: &[&'static Benchmark], repeating: fn(&str) -> Vec<&'static str>) -> How {
        if is_pattern(text) {
            How::Pattern
        } else if all.iter().any(|bench| is_exactly(text, bench)) {
            How::Exactly
        } else {
            How::Loosely(repeating(text))
        }
    }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

fn is_exactly(text: &str, bench: &Benchmark) -> bool {
    text == bench.info.id || (text == bench.info.family() && bench.info.tier != Tier::Named)
}

/// Whether a text selects a benchmark: as its id or family, a pattern, one of its metrics, a test
/// of another tool that it repeats (`lat_pipe`), or a word of its id (`pipe`).
fn fits(text: &str, how: &How, bench: &Benchmark) -> bool {
    let info = &bench.info;
    match how {
        How::Exactly => is_exactly(text, bench),
        How::Pattern => info.tier != Tier::Named && glob(text.as_bytes(), info.id.as_bytes()),
        How::Loosely(repeating) => {
            let is_word = info.tier != Tier::Named && info.id.split(['.', '_']).any(|word| word == text);
            let suffix = text.strip_prefix(info.id).and_then(|rest| rest.strip_prefix('.')).unwrap_or_default();
            is_word
                || repeating.contains(&info.id)
                || (!suffix.is_empty() && info.outputs.iter().any(|o| o.suffix == suffix))
        }
    }
}

/// Whether a text names the metric or benchmark with this id: for views of records, and for
/// parameters of selected benchmarks.
pub fn names_metric(text: &str, id: &str) -> bool {
    is_metric_of(id, text) || (is_pattern(text) && glob(text.as_bytes(), id.as_bytes()))
}

/// Matches a pattern: `*` any characters, `?` one.
///
/// Only the last `*` is retried, because a longer match of an earlier one leaves less for the rest.
/// So the time is at most the product of the two lengths; plain recursion took hours for a pattern
/// with twenty `*`.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // The position after the last `*`, and the end of its match in the text.
    let mut again = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                p += 1;
                again = Some((p, t));
            }
            Some(&c) if c == b'?' || c == text[t] => (p, t) = (p + 1, t + 1),
            _ => {
                let Some((after, from)) = again else { return false };
                again = Some((after, from + 1));
                (p, t) = (after, from + 1);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

/// The least Jaro-Winkler similarity of a suggestion.
const CLOSE: f64 = 0.8;

fn suggestion(all: &[&'static Benchmark], text: &str) -> Option<&'static str> {
    // A family selects nothing that is only measured when named.
    let mut families: Vec<&str> = all.iter().filter(|b| b.info.tier != Tier::Named).map(|b| b.info.family()).collect();
    families.dedup();
    let length = text.chars().count();
    let similarity = |id: &str| match most_similar(text, length, id) {
        most if most < CLOSE => 0.0,
        _ => strsim::jaro_winkler(text, id),
    };
    let ids = all.iter().map(|b| {
        // Compare with the last part as well: "pipe" should find "ipc.pipe_rtt".
        let name = b.info.id.split('.').next_back().unwrap_or(b.info.id);
        (similarity(b.info.id).max(similarity(name)), b.info.id)
    });
    ids.chain(families.into_iter().map(|family| (similarity(family), family)))
        .filter(|(similarity, _)| *similarity >= CLOSE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, id)| id)
}

/// An upper bound of the Jaro-Winkler similarity from the lengths and the first four letters: as if
/// all of the shorter text occurred in the longer one, in order. The similarity itself takes time
/// proportional to the product of the lengths, for each benchmark.
fn most_similar(text: &str, length: usize, id: &str) -> f64 {
    let (shorter, longer) = (length.min(id.len()), length.max(id.len()));
    let jaro = (shorter as f64 / longer.max(1) as f64 + 1.0 + 1.0) / 3.0;
    let prefix = text.chars().zip(id.chars()).take(4).take_while(|(a, b)| a == b).count();
    jaro + 0.1 * prefix as f64 * (1.0 - jaro)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_similarity_exceeds_its_bound() {
        let words = ["", "m", "mem", "latency", "mem.latency", "ipc.pipe_rtt", "pipe_rtt", "lat", "μμ", "me", "memory"];
        let long: Vec<String> = (1..40).map(|n| "mem.latency".repeat(n)).collect();
        for text in words.into_iter().chain(long.iter().map(String::as_str)) {
            for id in words.into_iter().filter(|id| id.is_ascii() && !id.is_empty()) {
                let (most, is) = (most_similar(text, text.chars().count(), id), strsim::jaro_winkler(text, id));
                assert!(is <= most, "{text} and {id}: {is}, at most {most}");
                assert!(
                    !id.starts_with(text) || text.len() * 2 < id.len() || is == most,
                    "{text} begins {id}: {is}, not {most}"
                );
            }
        }
    }

    #[test]
    fn a_name_includes_what_is_below_it() {
        for (text, id, expected) in [
            ("mem", "mem.latency", true),
            ("mem.latency", "mem.latency", true),
            ("ctx.switch", "ctx.switch.net", true),
            ("ctx.switch.net", "ctx.switch.net_rotating", false),
            ("file.create", "file.create_delete", false),
            ("me", "mem.latency", false),
            ("mem.latency", "mem", false),
            ("*.latency", "mem.latency", true),
        ] {
            assert_eq!(names_metric(text, id), expected, "{text} {id}");
        }
    }

    #[test]
    fn patterns_match() {
        for (pattern, text, expected) in [
            ("mem.*", "mem.latency", true),
            ("*", "", true),
            ("m?m.*", "mem.latency", true),
            ("mem", "mem.latency", false),
            ("*lat*", "mem.latency", true),
            ("?", "", false),
            ("", "", true),
            ("mem", "mem", true),
            ("mem.latency?", "mem.latency", false),
            ("mem.latency*", "mem.latency", true),
            ("*ab", "aab", true),
            ("*ab*ab", "abxab", true),
            ("*ab*ab", "ab", false),
            ("a*b*c", "abbc", true),
            ("a*b*c", "acb", false),
        ] {
            assert_eq!(glob(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }
}
