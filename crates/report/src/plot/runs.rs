//! Describes the runs of a plot: where and when each was made, and a short name that distinguishes
//! it.

use groma_model::{Record, RunHeader};

use crate::machine::host;
use crate::runs::minute_utc;

/// The records of one run in a plot.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// The run.
    pub run: &'a RunHeader,
    /// Its name next to others; empty for an automatic one.
    pub called: &'a str,
    /// Its records.
    pub records: Vec<&'a Record>,
}

/// Refuses to draw values together whose definition has changed between these runs.
pub(super) fn refuse_versions(sources: &[Source<'_>]) -> Result<(), String> {
    let first = |source: &Source<'_>| source.records.first().map(|r| (r.version, r.id.clone(), source.run.run.clone()));
    let mut all = sources.iter().filter_map(first);
    let Some((version, id, run)) = all.next() else { return Ok(()) };
    match all.find(|other| other.0 != version) {
        None => Ok(()),
        Some((other, _, at)) => Err(format!(
            "{id} has version {version} in run {run} and version {other} in run {at}: their values do not compare"
        )),
    }
}

/// What distinguishes each run: the host, the kernel, the day, the time or the id, as few as
/// necessary, after its given name. Empty for a single run.
pub(super) fn names(sources: &[Source<'_>]) -> Vec<String> {
    let fact = |run: &RunHeader, key| run.environment.get(key).unwrap_or("?").to_owned();
    let keys: [&dyn Fn(&RunHeader) -> String; 5] = [
        &|run| fact(run, "host.name"),
        &|run| fact(run, "kernel.release"),
        &|run| run.started.get(..10).unwrap_or_default().to_owned(),
        &|run| run.started.get(11..16).unwrap_or_default().to_owned(),
        &|run| run.run.clone(),
    ];
    let mut names: Vec<String> = sources.iter().map(|source| source.called.to_owned()).collect();
    for key in keys {
        if differ(&names) == names.len() || names.len() < 2 {
            break;
        }
        let words: Vec<String> = sources.iter().map(|source| key(source.run)).collect();
        if differ(&words) > 1 {
            for (name, word) in names.iter_mut().zip(words) {
                *name = format!("{name} {word}").trim_start().to_owned();
            }
        }
    }
    names
}

/// The number of distinct texts.
fn differ(texts: &[String]) -> usize {
    texts.iter().collect::<std::collections::BTreeSet<_>>().len()
}

/// The machine, the kernel, the date and the id of each run, in lines; a shared machine is given
/// once. What [`names`] uses is in the run's line.
pub(super) fn lines(sources: &[Source<'_>]) -> Vec<String> {
    let id = |run: &RunHeader| format!("{}, groma {}, run {}", minute_utc(&run.started), run.groma, run.run);
    let hosts: Vec<String> = sources.iter().map(|source| host(&source.run.environment)).collect();
    let shared = differ(&hosts) == 1;
    let mut lines = if shared { hosts[..1].to_vec() } else { Vec::new() };
    let own = sources.iter().zip(&hosts).map(|(source, host)| match shared {
        true => id(source.run),
        false => format!("{host}; {}", id(source.run)),
    });
    lines.extend(own);
    lines.retain(|line| !line.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use groma_model::Fact;

    fn run(host: &str, kernel: &str, id: &str) -> RunHeader {
        let mut run = fixtures::header();
        let facts = [("host.name", host), ("kernel.release", kernel)];
        run.environment.facts = facts.into_iter().map(|(key, value)| Fact::new(key, value)).collect();
        run.run = format!("{id}-0000");
        run.started = format!("{}-{}-{}T{}:{}:00Z", &id[..4], &id[4..6], &id[6..8], &id[9..11], &id[11..13]);
        run
    }

    fn named(runs: &[RunHeader]) -> Vec<String> {
        names(&runs.iter().map(|run| Source { run, called: "", records: Vec::new() }).collect::<Vec<_>>())
    }

    #[test]
    fn a_run_is_named_by_what_distinguishes_it() {
        let a = run("a", "6.1", "20261121T0738");
        let b = run("b", "6.1", "20261122T0738");
        assert_eq!(named(&[a.clone(), b.clone()]), ["a", "b"]);
        assert_eq!(named(&[a.clone(), run("a", "6.2", "20261122T0738")]), ["6.1", "6.2"]);
        assert_eq!(named(&[a.clone(), run("a", "6.1", "20261122T0738")]), ["2026-11-21", "2026-11-22"]);
        assert_eq!(named(&[a.clone(), run("a", "6.1", "20261121T0739")]), ["07:38", "07:39"]);
        let mut twin = a.clone();
        twin.run = "20261121T0738-1111".to_owned();
        assert_eq!(named(&[a.clone(), twin]), ["20261121T0738-0000", "20261121T0738-1111"]);
        // No single property distinguishes all three, but two do.
        assert_eq!(named(&[a.clone(), b, run("b", "6.2", "20261121T0738")]), ["a 6.1", "b 6.1", "b 6.2"]);
        assert_eq!(named(&[a]), [""]);
    }

    #[test]
    fn a_machine_that_all_runs_share_stands_once() {
        let (a, b, c) =
            (run("a", "6.1", "20261121T0738"), run("a", "6.1", "20261122T0738"), run("c", "6.1", "20261122T0738"));
        let of = |runs: &[&RunHeader]| {
            lines(&runs.iter().map(|run| Source { run, called: "", records: Vec::new() }).collect::<Vec<_>>())
        };
        assert_eq!(of(&[&a]), ["a: 6.1", "2026-11-21 07:38 UTC, groma 0.1.0, run 20261121T0738-0000"]);
        assert_eq!(
            of(&[&a, &b]),
            [
                "a: 6.1",
                "2026-11-21 07:38 UTC, groma 0.1.0, run 20261121T0738-0000",
                "2026-11-22 07:38 UTC, groma 0.1.0, run 20261122T0738-0000"
            ]
        );
        assert_eq!(of(&[&a, &c]).len(), 2);
        assert!(of(&[&a, &c])[1].starts_with("c: 6.1; 2026-11-22 07:38 UTC"));
    }
}
