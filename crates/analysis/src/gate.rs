//! A gate: fails only for regressions that fresh rounds confirm.
//!
//! A first measurement screens the whole suite for suspects. Only these are measured again, and the
//! verdict rests on the second measurement alone. Otherwise a metric selected for looking slow
//! would be tested on the rounds that selected it, and a host that was disturbed for some seconds
//! would fail it (docs/methods/statistics.md#gate). Not here: measuring, and text.

use std::collections::{BTreeMap, HashMap};

use groma_model::{Better, Point, Record};

use crate::compare::{Comparison, Gate, Pair, PairedRounds, Verdict, compare, compare_pairs, identities, identity};

/// The two sides of a gate: a baseline and a new measurement, or two interleaved ones.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The records of both sides, the baseline's first.
    pub sides: [Vec<Record>; 2],
    /// The rounds that both sides have, where they were interleaved.
    pub paired: Option<PairedRounds>,
}

impl Suite {
    /// Compares the two sides; `earlier` as for [`compare`].
    pub fn compare(&self, earlier: &dyn Fn(&Record) -> Vec<f64>) -> Comparison<'_> {
        match &self.paired {
            Some(paired) => compare_pairs(&self.sides[0], &self.sides[1], paired),
            None => compare(&self.sides[0], &self.sides[1], earlier),
        }
    }

    /// Replaces records by their fresh measurements.
    pub fn replace(&mut self, fresh: Suite) {
        for (side, anew) in self.sides.iter_mut().zip(fresh.sides) {
            let mut anew: HashMap<String, Record> = anew.into_iter().map(|r| (identity(&r), r)).collect();
            side.iter_mut().for_each(|record| {
                if let Some(anew) = anew.remove(&identity(record)) {
                    *record = anew;
                }
            });
        }
        if let (Some(paired), Some(anew)) = (&mut self.paired, fresh.paired) {
            paired.extend(anew);
        }
    }
}

/// The metrics to measure again, by [`identity`], with the ratios seen.
pub type Suspects = BTreeMap<String, f64>;

/// The metrics to measure again: those worse by more than `tolerance`, a fraction, whose interval
/// excludes "no change". The criterion is weak on purpose: what is not suspected is not found.
pub fn suspects(comparison: &Comparison<'_>, tolerance: f64) -> Suspects {
    let suspicious = |pair: &&Pair<'_>| {
        let apart = pair.interval.is_some_and(|[low, high]| !(low..=high).contains(&1.0));
        pair.cost() > 1.0 + tolerance && apart && !matches!(pair.verdict, Verdict::Changed)
    };
    comparison.pairs.iter().filter(suspicious).map(|pair| (identity(pair.sides[0]), pair.ratio)).collect()
}

/// Whether a point reports one of the suspects.
pub fn reports_any(point: &Point, suspects: &Suspects) -> bool {
    identities(point).any(|identity| suspects.contains_key(&identity))
}

/// Whether fresh rounds neither confirm nor clear a suspect: they point the same way, and their
/// interval reaches beyond `tolerance`.
pub fn is_doubtful(pair: &Pair<'_>, suspects: &Suspects, tolerance: f64) -> bool {
    let worst = pair.interval.map(|[low, high]| match pair.sides[0].better {
        Better::Lower | Better::Neither => high,
        Better::Higher => 1.0 / low,
    });
    suspects.contains_key(&identity(pair.sides[0]))
        && !pair.is_undecided()
        && !matches!(pair.verdict, Verdict::Slower | Verdict::Changed)
        && pair.cost() > 1.0
        && worst.is_some_and(|worst| worst > 1.0 + tolerance)
}

/// The gate's verdict on a suite whose `suspects` were measured again. An unconfirmed `Slower`
/// becomes `Same` within its interval, and so does one within the tolerance. The gate does not pass
/// with a suspect that has too few or too noisy fresh rounds to judge.
pub fn judge(comparison: &mut Comparison<'_>, suspects: &Suspects, tolerance: f64) -> Gate {
    for pair in &mut comparison.pairs {
        let confirmed = suspects.contains_key(&identity(pair.sides[0])) && pair.cost() > 1.0 + tolerance;
        if let (Verdict::Slower, Some([low, high]), false) = (pair.verdict, pair.interval, confirmed) {
            pair.verdict = Verdict::Same { within: (1.0 - low).max(high - 1.0) };
        }
    }
    let is_suspect = |record: &Record| suspects.contains_key(&identity(record));
    let is_open =
        |pair: &Pair<'_>| pair.is_undecided() && is_suspect(pair.sides[0]) || is_doubtful(pair, suspects, tolerance);
    let undecided =
        comparison.pairs.iter().any(is_open) || comparison.without_value.iter().any(|sides| is_suspect(sides[0]));
    match comparison.gate(tolerance) {
        Gate::Passes if undecided => Gate::Unclear,
        verdict => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Share;
    use crate::compare::tests::latency;
    use groma_model::State;
    use groma_stats::Rng;

    /// Metrics `a.0`, `a.1` ... with these costs, whose rounds spread by 1 %.
    fn side(costs: &[f64], rng: &mut Rng) -> Vec<Record> {
        let of = |(i, cost): (usize, &f64)| Record { id: format!("a.{i}"), ..latency(1e-6 * cost, rng) };
        costs.iter().enumerate().map(of).collect()
    }

    /// The verdict at a tolerance of 5 % after screening `screened` and measuring `fresh`, and the
    /// number of suspects.
    fn gate(screened: &[f64], fresh: &[f64]) -> (Gate, usize) {
        let rng = &mut Rng::new(7);
        let mut suite = Suite { sides: [side(&vec![1.0; screened.len()], rng), side(screened, rng)], paired: None };
        let others = |_: &Record| [0.999, 1.001, 1.0, 1.002, 0.998, 1.0].map(|x| 1e-6 * x).to_vec();
        let suspected = suspects(&suite.compare(&others), 0.05);
        let again: Vec<Record> =
            side(fresh, rng).into_iter().filter(|record| suspected.contains_key(&identity(record))).collect();
        suite.replace(Suite { sides: [Vec::new(), again], paired: None });
        let mut comparison = suite.compare(&others);
        let verdict = judge(&mut comparison, &suspected, 0.05);
        let slower = comparison.pairs.iter().filter(|pair| pair.verdict == Verdict::Slower).count();
        assert_eq!(slower > 0, verdict == Gate::Fails, "what is called slower fails the gate, and nothing else");
        (verdict, suspected.len())
    }

    #[test]
    fn a_gate_fails_where_fresh_rounds_confirm_it() {
        assert_eq!(gate(&[1.0, 1.2, 1.0], &[1.0, 1.2, 1.0]), (Gate::Fails, 1));
        // One was slower only at first; another is slower now, but was not suspected.
        assert_eq!(gate(&[1.0, 1.2, 1.0], &[1.0, 1.0, 1.2]), (Gate::Passes, 1));
        // Faster, and slower within the tolerance.
        assert_eq!(gate(&[0.7, 1.03, 1.0], &[0.7, 1.03, 1.0]), (Gate::Passes, 0));
        assert_eq!(gate(&[1.2, 1.0, 1.0], &[1.03, 1.0, 1.0]), (Gate::Passes, 1));
    }

    /// One of five metrics was suspected, and when measured again it had too few rounds or no
    /// value.
    #[test]
    fn a_gate_does_not_pass_with_a_suspect_that_could_not_be_measured_again() {
        let verdict = |spoil: &dyn Fn(&mut Record)| {
            let rng = &mut Rng::new(7);
            let (before, mut now) = (side(&[1.0; 5], rng), side(&[1.0; 5], rng));
            let suspected = Suspects::from([(identity(&now[3]), 1.2)]);
            spoil(&mut now[3]);
            let suite = Suite { sides: [before, now], paired: None };
            judge(&mut suite.compare(&|_| vec![1e-6; 6]), &suspected, 0.05)
        };
        assert_eq!(verdict(&|_| ()), Gate::Passes);
        assert_eq!(verdict(&|record| record.round_values.truncate(1)), Gate::Unclear);
        assert_eq!(verdict(&|record| (record.value, record.state) = (None, State::Unresolved)), Gate::Unclear);
    }

    /// Two interleaved sides: the first of five metrics was a suspect, whose fresh pairs have this
    /// cost and this spread. Screened at +28 %, then +51 % with a wide interval, it must not pass.
    #[test]
    fn a_gate_does_not_pass_with_a_doubtful_suspect() {
        let verdict = |cost: f64, spread: f64, tolerance: f64| {
            let rng = &mut Rng::new(11);
            let (before, now) = (side(&[1.0; 5], rng), side(&[cost, 1.0, 1.0, 1.0, 1.0], rng));
            let mut paired = PairedRounds::new();
            for (i, before) in before.iter().enumerate() {
                // As many above the cost as below, and one at it: the median is the cost.
                let wide = |k: usize| match k {
                    12 => 1.0,
                    k if k % 2 == 0 => 1.0 + spread,
                    _ => 1.0 / (1.0 + spread),
                };
                let now_takes = |k: usize| if i == 0 { 1e-6 * cost * wide(k) } else { 1e-6 };
                paired.insert(identity(before), [vec![1e-6; 13], (0..13).map(now_takes).collect()]);
            }
            let suspected = Suspects::from([(identity(&now[0]), 1.28)]);
            let suite = Suite { sides: [before, now], paired: Some(paired) };
            judge(&mut suite.compare(&|_| Vec::new()), &suspected, tolerance)
        };
        assert_eq!(verdict(1.51, 1.0, 0.05), Gate::Unclear, "slower again, and it may be chance");
        assert_eq!(verdict(1.51, 0.01, 0.05), Gate::Fails, "slower again beyond doubt");
        assert_eq!(verdict(0.90, 1.0, 0.05), Gate::Passes, "it points the other way");
        assert_eq!(verdict(1.02, 0.01, 0.05), Gate::Passes, "more than the tolerance is ruled out");
        assert_eq!(verdict(1.51, 1.0, 9.0), Gate::Passes, "nothing in its interval is beyond the tolerance");
    }

    /// Three unchanged metrics, some of which have no value now.
    #[test]
    fn a_gate_does_not_pass_without_values() {
        let verdict = |lost: usize, state| {
            let rng = &mut Rng::new(7);
            let (before, mut now) = (side(&[1.0; 3], rng), side(&[1.0; 3], rng));
            for record in &mut now[..lost] {
                (record.value, record.state) = (None, state);
            }
            let suite = Suite { sides: [before, now], paired: None };
            let mut comparison = suite.compare(&|_| vec![1e-6; 6]);
            let verdict = judge(&mut comparison, &Suspects::new(), 0.05);
            let Share { count, total } = comparison.inconclusive();
            (verdict, [count, total], comparison.is_unresolved())
        };
        assert_eq!(verdict(0, State::Unresolved), (Gate::Passes, [0, 3], false));
        assert_eq!(verdict(1, State::Unresolved), (Gate::Passes, [1, 3], true));
        assert_eq!(verdict(2, State::Unresolved), (Gate::Unclear, [2, 3], true));
        assert_eq!(verdict(3, State::Unresolved), (Gate::Unclear, [3, 3], true));
        // Metrics that are unsupported or failed have an exit code and a list of their own.
        assert_eq!(verdict(2, State::Failed), (Gate::Passes, [0, 1], false));
        assert_eq!(verdict(3, State::Unsupported), (Gate::Unclear, [0, 0], false));
    }

    /// A rate between 10 % lower and 2 % higher may cost 11 % more, so at a tolerance of 5 % the
    /// gate cannot decide; between 2 % lower and 10 % higher it can.
    #[test]
    fn the_worst_of_a_rate_is_its_lower_end() {
        let a = crate::fixtures::record("a.rate", groma_model::Quantity::Bandwidth, 100.0);
        let pair = |ratio: f64, interval: [f64; 2]| Pair {
            sides: [&a, &a],
            values: [100.0, 100.0 * ratio],
            shared_core: false,
            ratio,
            interval: Some(interval),
            p: Some(0.5),
            detectable: None,
            verdict: Verdict::Unclear(crate::compare::Why::Imprecise),
        };
        let suspected = Suspects::from([(identity(&a), 0.9)]);
        assert!(is_doubtful(&pair(0.97, [0.90, 1.02]), &suspected, 0.05));
        assert!(!is_doubtful(&pair(0.99, [0.98, 1.10]), &suspected, 0.05));
    }
}
