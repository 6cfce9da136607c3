//! What one iteration of each loop holds and what becomes of it, written down a second time.
//!
//! `units.txt` is written by hand from what the benchmarks say that they do, never from the code:
//! nothing else would notice a `per_iter` that is twice what it should be. A benchmark without a
//! line has one loop, without a name, that does one operation an iteration, and its latency is the
//! only output.

use crate::trial::{Outcome, Trial};
use groma_harness::Benchmark;
use groma_harness::model::{Derivation, State};

/// The table.
const UNITS: &str = include_str!("units.txt");
/// What to do about a difference. It does not tell the line: whoever copies it from the code proves
/// nothing.
const HINT: &str = "either it is wrong, or its line of crates/benches/tests/credit/units.txt, which you write by hand: \
     'ID | PARAMETERS: LOOP=HOLDS ... | OUTPUT QUANTITY = DERIVATION; ...'";
/// The loops of a benchmark without a line.
const ONE_LOOP: &str = "_=1";
/// The outputs of a line without a third field.
const ONE_OUTPUT: &str = "main latency = _";

/// What the table says of a benchmark.
#[derive(Debug)]
pub(crate) struct Unit {
    /// Its id.
    pub(crate) id: &'static str,
    /// What its iterations hold.
    pub(crate) iterations: Iterations,
    outputs: &'static str,
}

/// What the iterations of a benchmark hold.
#[derive(Debug)]
pub(crate) enum Iterations {
    /// In each loop, with some parameters each; at least one case.
    Of(Vec<Case>),
    /// Nothing: the benchmark states its values. The proof that what it states has happened.
    Stated(&'static str),
}

/// Parameters, and what an iteration of each loop holds with them.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    params: Vec<String>,
    loops: Vec<(String, f64)>,
}

impl Case {
    fn read(text: &str) -> Case {
        let (params, loops) = text.split_once(": ").unwrap_or(("", text));
        let loops = loops.split_whitespace().map(|one| match one.split_once('=') {
            Some((name, holds)) => (name.trim_matches('_').to_owned(), value(holds)),
            None => panic!("units.txt: '{one}' is no loop=number"),
        });
        Case { params: params.split_whitespace().map(str::to_owned).collect(), loops: loops.collect() }
    }

    /// How many loops it has.
    pub(crate) fn loops(&self) -> usize {
        self.loops.len()
    }

    /// How a round with these parameters differs from the table.
    pub(crate) fn differs(&self, seen: &Outcome) -> Option<String> {
        match seen.result.state {
            State::Unsupported | State::Denied => return None,
            State::Ok => {}
            state => return Some(format!("{}: {}", state.word(), seen.result.reason)),
        }
        let sampled = seen.result.output.series.iter().filter(|s| !s.samples.is_empty());
        let mut sampled: Vec<(String, f64)> = sampled.map(|s| (s.name.clone(), s.per_iter)).collect();
        let mut expected = self.loops.clone();
        sampled.sort_by(|a, b| a.0.cmp(&b.0));
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        (sampled != expected).then(|| format!("its iterations hold {sampled:?}, not {expected:?}: {HINT}"))
    }
}

impl Unit {
    /// Without a line.
    fn of(id: &'static str) -> Unit {
        Unit { id, iterations: Iterations::Of(vec![Case::read(ONE_LOOP)]), outputs: ONE_OUTPUT }
    }

    /// Its cases; none where it states its values.
    pub(crate) fn cases(&self) -> &[Case] {
        match &self.iterations {
            Iterations::Of(cases) => cases,
            Iterations::Stated(_) => &[],
        }
    }

    /// The rounds that the table describes, each with its case.
    pub(crate) fn trials(&self) -> Vec<(Trial, Option<&Case>)> {
        match &self.iterations {
            Iterations::Stated(_) => vec![(Trial::of(self.id), None)],
            Iterations::Of(cases) => {
                let trial = |case: &Case| Trial { params: case.params.clone(), ..Trial::of(self.id) };
                cases.iter().map(|case| (trial(case), Some(case))).collect()
            }
        }
    }

    /// The first of its rounds, which the other ones vary.
    pub(crate) fn base(&self) -> Trial {
        self.trials().swap_remove(0).0
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

/// The lines of the table, one for each id.
fn lines() -> Vec<Unit> {
    let lines = UNITS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let units = lines.flat_map(|line| {
        let mut fields = line.split(" | ").map(str::trim);
        let (ids, loops, outputs) = (fields.next(), fields.next(), fields.next());
        let (Some(ids), Some(loops)) = (ids, loops) else { panic!("units.txt: not two fields: {line}") };
        ids.split(", ").map(move |id| {
            let iterations = match loops.strip_prefix("stated: ") {
                Some(proof) => Iterations::Stated(proof),
                None => Iterations::Of(loops.split("; ").map(Case::read).collect()),
            };
            Unit { id, iterations, outputs: outputs.unwrap_or(ONE_OUTPUT) }
        })
    });
    units.collect()
}

/// What the table says of each benchmark of the catalogue, and how it contradicts the catalogue.
pub(crate) fn table(catalogue: &[&'static Benchmark]) -> (Vec<Unit>, Vec<String>) {
    let (mut units, mut wrong) = (Vec::new(), Vec::new());
    let mut lines = lines();
    for bench in catalogue {
        let id = bench.info.id;
        let unit = lines.iter().position(|line| line.id == id).map_or(Unit::of(id), |i| lines.remove(i));
        let seen = outputs(bench);
        if seen != unit.outputs {
            wrong.push(format!("{id}: its outputs are '{seen}', not '{}': {HINT}", unit.outputs));
        }
        units.push(unit);
    }
    wrong.extend(lines.iter().map(|line| format!("{}: not in the catalogue, or two lines of units.txt", line.id)));
    (units, wrong)
}

/// A benchmark's outputs as the table writes them.
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

/// What is wrong with a round of a benchmark that states its values; `proof` is that of the table.
pub(crate) fn states_wrongly(seen: &Outcome, proof: &str) -> Option<String> {
    let result = &seen.result;
    let (output, is_probed) = (&result.output, proof == "probe" && seen.iterations > 0);
    match result.state {
        State::Unsupported | State::Denied => None,
        State::Ok if output.series.iter().any(|s| !s.samples.is_empty()) => {
            Some("units.txt says that it states its values, and it has samples".to_owned())
        }
        // A probe counts what it does and fails by itself.
        State::Ok if is_probed || output.proofs.iter().any(|p| p.name == proof) => None,
        State::Ok if proof.starts_with("none: ") && output.proofs.is_empty() => None,
        // Without a value there is nothing to prove: a busy sibling thread can hide the clock for
        // minutes.
        State::Ok if !seen.has_values() => None,
        State::Ok => Some(format!("it has no proof '{proof}' but {:?}", output.proofs)),
        state => Some(format!("{}: {}", state.word(), result.reason)),
    }
}
