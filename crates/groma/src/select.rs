//! From what a person names to benchmarks: ids, groups, patterns, and a suggestion where nothing fits.

use anyhow::{Result, bail};
use groma_harness::Benchmark;
use groma_harness::model::Tier;

/// The benchmarks that the texts name, in the catalogue's order; nothing named means what a run of
/// this tier measures.
///
/// # Errors
/// Names the first text that fits nothing, with the closest id.
pub(crate) fn select(all: &[&'static Benchmark], texts: &[String], tier: Tier) -> Result<Vec<&'static Benchmark>> {
    if texts.is_empty() {
        return Ok(all.iter().copied().filter(|b| b.info.tier <= tier).collect());
    }
    for text in texts {
        if !all.iter().any(|b| fits(text, b)) {
            match suggestion(all, text) {
                Some(close) => bail!("no benchmark '{text}'; did you mean '{close}'? (groma list shows all)"),
                None => bail!("no benchmark '{text}' (groma list shows all)"),
            }
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

/// Whether a metric's id is named by a text; for views of records.
pub(crate) fn names_metric(text: &str, id: &str) -> bool {
    text == id
        || id.strip_prefix(text).is_some_and(|rest| rest.starts_with('.'))
        || (text.contains(['*', '?']) && glob(text.as_bytes(), id.as_bytes()))
}

/// `*` fits any run of characters, `?` any one; everything else itself.
///
/// Only the last `*` is ever tried again, since an earlier one that takes more leaves less for the
/// rest: the time is the product of the two lengths at most. The obvious recursion took hours for
/// twenty of them in a row.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // What follows the last `*`, and where the text goes on if that takes one more byte.
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
    /// Below this Jaro-Winkler similarity a suggestion would only confuse.
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

    fn ids(texts: &[&str]) -> Result<Vec<&'static str>, String> {
        let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
        select(&groma_benches::all(), &texts, Tier::Standard)
            .map(|list| list.iter().map(|b| b.info.id).collect())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn ids_groups_and_patterns() {
        assert_eq!(ids(&["syscall.getppid"]), Ok(vec!["syscall.getppid"]));
        assert!(ids(&["ipc"]).expect("a group").contains(&"ipc.pipe_rtt"));
        assert!(ids(&["*.latency"]).expect("a pattern").contains(&"mem.latency"));
        let all = ids(&[]).expect("the default set");
        assert!(all.contains(&"mem.latency") && !all.iter().any(|id| id.starts_with("selftest.")));
        let of = |texts: &[String]| -> Vec<&str> {
            select(&groma_benches::all(), texts, Tier::Quick)
                .expect("both are there")
                .iter()
                .map(|b| b.info.id)
                .collect()
        };
        let quick = of(&[]);
        assert!(quick.contains(&"mem.latency") && !quick.contains(&"vm.brk") && all.contains(&"vm.brk"));
        assert_eq!(of(&["vm.brk".to_owned()]), ["vm.brk"]);
    }

    #[test]
    fn a_slip_gets_a_suggestion() {
        let error = ids(&["syscall.getpid"]).expect_err("no such id");
        assert_eq!(error, "no benchmark 'syscall.getpid'; did you mean 'syscall.getppid'? (groma list shows all)");
        assert!(ids(&["xyzzy"]).expect_err("no such id").starts_with("no benchmark 'xyzzy' ("));
    }

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
