//! Finds the benchmarks that texts name: ids, groups, patterns, and a suggestion where none fits.

use groma_harness::Benchmark;
use groma_harness::model::Tier;
use std::fmt;

/// A text that names no benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBenchmark {
    /// The text.
    pub text: String,
    /// The id that is most like it, where one is close.
    pub suggestion: Option<&'static str>,
}

impl fmt::Display for UnknownBenchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no benchmark '{}'", self.text)?;
        self.suggestion.map_or(Ok(()), |close| write!(f, "; did you mean '{close}'?"))
    }
}

impl std::error::Error for UnknownBenchmark {}

/// The benchmarks that the texts name, in the order of the catalogue. No text means what a run
/// of this tier measures.
///
/// # Errors
/// Names the first text that fits nothing, with the closest id.
pub fn select(
    all: &[&'static Benchmark],
    texts: &[String],
    tier: Tier,
) -> Result<Vec<&'static Benchmark>, UnknownBenchmark> {
    if texts.is_empty() {
        return Ok(all.iter().copied().filter(|b| b.info.tier <= tier).collect());
    }
    for text in texts {
        if !all.iter().any(|b| fits(text, b)) {
            return Err(UnknownBenchmark { text: text.clone(), suggestion: suggestion(all, text) });
        }
    }
    Ok(all.iter().copied().filter(|b| texts.iter().any(|t| fits(t, b))).collect())
}

/// Whether a text names a benchmark: its id, one of its metrics, its family, or a pattern.
fn fits(text: &str, bench: &Benchmark) -> bool {
    let info = &bench.info;
    if text == info.id || (text == info.family() && info.tier != Tier::Named) {
        return true;
    }
    if text.contains(['*', '?']) {
        return info.tier != Tier::Named && glob(text.as_bytes(), info.id.as_bytes());
    }
    info.outputs.iter().any(|o| !o.suffix.is_empty() && text == format!("{}.{}", info.id, o.suffix))
}

/// Whether a text names a metric or benchmark of this id: for views of records, and for
/// parameters of benchmarks that are selected already.
pub fn names_metric(text: &str, id: &str) -> bool {
    text == id
        || id.strip_prefix(text).is_some_and(|rest| rest.starts_with('.'))
        || (text.contains(['*', '?']) && glob(text.as_bytes(), id.as_bytes()))
}

/// `*` fits any run of characters, `?` any one; everything else itself.
///
/// Only the last `*` is ever tried again, since an earlier one that takes more leaves less for the
/// rest: the time is the product of the two lengths at most. Plain recursion took hours for twenty
/// of them in a row.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // What follows the last `*`, and where the text continues if that takes one byte more.
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

fn suggestion(all: &[&'static Benchmark], text: &str) -> Option<&'static str> {
    /// Below this Jaro-Winkler similarity a suggestion confuses more than it helps.
    const CLOSE: f64 = 0.8;
    let families = all.iter().map(|b| b.info.family());
    all.iter()
        .map(|b| b.info.id)
        .chain(families)
        .map(|id| {
            // "pipe" should find "ipc.pipe_rtt": compare with the last part as well.
            let name = id.split('.').next_back().unwrap_or(id);
            (strsim::jaro_winkler(text, id).max(strsim::jaro_winkler(text, name)), id)
        })
        .filter(|(similarity, _)| *similarity >= CLOSE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_what_is_below_it() {
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
    fn patterns() {
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
