//! Units: what one iteration holds, and what becomes of it, said a second time.
//!
//! `units.txt` has a line for every benchmark: what one iteration of each loop holds, for
//! parameters where it matters, and its outputs. It is written by hand from what the benchmarks say
//! that they do, and never made from the code: a `per_iter` that is twice what it should be is a
//! wrong number that nothing else would notice. A benchmark without a line fails the test.

use crate::trial::{Seen, Trial, bench};
use groma_harness::Benchmark;
use groma_harness::model::{Derivation, State};

/// The table.
const UNITS: &str = include_str!("units.txt");

/// One benchmark's line.
#[derive(Debug)]
pub(crate) struct Unit {
    /// Which.
    pub(crate) id: &'static str,
    /// Parameters, and what one iteration of each loop holds with them; none for a benchmark that
    /// states its values.
    pub(crate) cases: Vec<Case>,
    /// For one that states its values: the proof that what it states has happened.
    pub(crate) stated: Option<&'static str>,
    outputs: &'static str,
}

/// Parameters, and the loops.
#[derive(Debug)]
pub(crate) struct Case {
    params: Vec<String>,
    loops: Vec<(String, f64)>,
}

impl Case {
    /// The benchmark with these parameters.
    pub(crate) fn trial(&self, id: &'static str) -> Trial {
        Trial { params: self.params.clone(), ..Trial::of(id) }
    }

    /// How many loops it has.
    pub(crate) fn loops(&self) -> usize {
        self.loops.len()
    }
}

/// A sum of products of numbers, each with K for 1024.
fn value(text: &str) -> f64 {
    let number = |text: &str| {
        let (digits, unit) = text.strip_suffix('K').map_or((text, 1.0), |digits| (digits, 1024.0));
        match digits.parse::<f64>() {
            Ok(n) => n * unit,
            Err(_) => panic!("units.txt: '{text}' is no number"),
        }
    };
    text.split('+').map(|sum| sum.split('*').map(number).product::<f64>()).sum()
}

fn case(text: &str) -> Case {
    let (params, loops) = text.split_once(": ").unwrap_or(("", text));
    let loops = loops.split_whitespace().map(|one| match one.split_once('=') {
        Some((name, holds)) => (name.trim_matches('_').to_owned(), value(holds)),
        None => panic!("units.txt: '{one}' is no loop=number"),
    });
    Case { params: params.split_whitespace().map(str::to_owned).collect(), loops: loops.collect() }
}

/// All lines.
pub(crate) fn table() -> Vec<Unit> {
    let lines = UNITS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(" | ").map(str::trim).collect();
            let [id, loops, outputs] = fields[..] else { panic!("units.txt: not three fields: {line}") };
            let stated = loops.strip_prefix("stated: ");
            let cases = if stated.is_some() { Vec::new() } else { loops.split("; ").map(case).collect() };
            Unit { id, cases, stated, outputs }
        })
        .collect()
}

/// A benchmark's outputs as the table has them.
fn outputs(bench: &Benchmark) -> String {
    let name = |series: &'static str| if series.is_empty() { "_" } else { series };
    let outputs = bench.info.outputs.iter().map(|output| {
        let derived = match output.derivation {
            Derivation::Series(of) => name(of).to_owned(),
            Derivation::Difference { of, minus, per } => format!("({} - {}) / {per}", name(of), name(minus)),
            Derivation::Ratio { of, to } => format!("{} / {}", name(of), name(to)),
            Derivation::Scaled { of, by } => format!("{} * {by}", name(of)),
            Derivation::Max(of) => format!("max of {}", name(of)),
            Derivation::Totals { of, to } => format!("all {} / all {}", name(of), name(to)),
        };
        let suffix = if output.suffix.is_empty() { "main" } else { output.suffix };
        let quantity = bench.info.quantity_of(output).word();
        format!("{suffix} {quantity} = {derived}")
    });
    outputs.collect::<Vec<_>>().join("; ")
}

/// Where the table and the catalogue differ without anything being run.
pub(crate) fn differences(table: &[Unit], catalogue: &[&'static Benchmark]) -> Vec<String> {
    let mut wrong = Vec::new();
    let missing = catalogue.iter().filter(|b| !table.iter().any(|unit| unit.id == b.info.id));
    wrong.extend(missing.map(|b| format!("{}: no line in units.txt", b.info.id)));
    for (i, unit) in table.iter().enumerate() {
        if table[..i].iter().any(|before| before.id == unit.id) {
            wrong.push(format!("{}: two lines in units.txt", unit.id));
        }
        if !catalogue.iter().any(|b| b.info.id == unit.id) {
            wrong.push(format!("{}: in units.txt and not in the catalogue", unit.id));
            continue;
        }
        let seen = outputs(bench(unit.id));
        if seen != unit.outputs {
            wrong.push(format!("{}: its outputs are '{seen}', and in units.txt '{}'", unit.id, unit.outputs));
        }
    }
    wrong
}

/// Where a round of a benchmark with the parameters of this case differs from it.
pub(crate) fn differs(case: &Case, seen: &Seen) -> Option<String> {
    match seen.result.state {
        State::Unsupported | State::Denied => return None,
        State::Ok => {}
        state => return Some(format!("{}: {}", state.word(), seen.result.reason)),
    }
    let mut sampled: Vec<(String, f64)> = seen
        .result
        .output
        .series
        .iter()
        .filter(|s| !s.samples.is_empty())
        .map(|s| (s.name.clone(), s.per_iter))
        .collect();
    let mut expected = case.loops.clone();
    sampled.sort_by(|a, b| a.0.cmp(&b.0));
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    (sampled != expected).then(|| format!("its iterations hold {sampled:?}, not {expected:?}"))
}
