//! Merges the evidence and the facts of several rounds into those of one record.

use groma_model::{Fact, Proof, Round};
use groma_stats::median;

/// The evidence of all rounds, one line per name: a broken one takes precedence.
pub(crate) fn proofs(rounds: &[Round]) -> Vec<Proof> {
    let mut merged: Vec<Proof> = Vec::new();
    for proof in rounds.iter().flat_map(|r| &r.result.output.proofs) {
        match merged.iter_mut().find(|p| p.name == proof.name) {
            None => merged.push(proof.clone()),
            Some(seen) if seen.holds && !proof.holds => *seen = proof.clone(),
            Some(_) => {}
        }
    }
    merged
}

/// The facts of the rounds: unchanged where all agree, else the median of numbers or a list of
/// texts.
pub(crate) fn facts(rounds: &[&Round]) -> Vec<Fact> {
    let mut keys: Vec<&str> = Vec::new();
    for fact in rounds.iter().flat_map(|r| &r.result.output.facts) {
        if !keys.contains(&fact.key.as_str()) {
            keys.push(&fact.key);
        }
    }
    let all = |key: &str| -> Vec<&str> {
        let facts = rounds.iter().flat_map(|r| &r.result.output.facts).filter(|f| f.key == key);
        facts.map(|f| f.value.as_str()).collect()
    };
    let mut out = Vec::new();
    for key in keys {
        let values = all(key);
        let numbers: Option<Vec<f64>> = values.iter().map(|v| v.parse().ok()).collect();
        let value = if values.iter().all(|v| *v == values[0]) {
            values[0].to_owned()
        } else if let Some(middle) = numbers.and_then(|n| median(&n)) {
            middle.to_string()
        } else {
            let mut distinct: Vec<&str> = Vec::new();
            for value in values {
                if !distinct.contains(&value) {
                    distinct.push(value);
                }
            }
            distinct.join(" | ")
        };
        out.push(Fact { key: key.to_owned(), value });
    }
    out
}
