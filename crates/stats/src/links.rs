//! Values of pairs, taken apart: what all have in common, what is of each member, and what is left
//! for the pair. Not a model of queues: an additive one, of logarithms, as a slow network card adds
//! to every link of its host by the same factor.
//!
//! By medians (Tukey's median polish, *Exploratory Data Analysis*, 1977, for a symmetric table with
//! holes), so that a member with a fault, or a few bad pairs, do not spread over all others as a
//! least-squares fit would spread them.

use crate::order::median;

/// Passes over the members: the fit of a hundred members stands after three to five.
const PASSES: usize = 20;
/// A pass that moves nothing by more than this is the last.
const STILL: f64 = 1e-9;

/// The parts of the values of pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Additive {
    /// What all have in common.
    pub base: f64,
    /// What is of each member, on top; most are near 0.
    pub members: Vec<f64>,
    /// What is left of each value, in their order.
    pub residuals: Vec<f64>,
}

/// Takes the values of pairs of `members` apart. A member needs three partners and more to be told
/// from its pairs. `None` without a finite value.
///
/// # Panics
/// If a pair names a member that does not exist.
pub fn additive(members: usize, pairs: &[(usize, usize, f64)]) -> Option<Additive> {
    let mut of_member: Vec<Vec<(usize, f64)>> = vec![Vec::new(); members];
    for &(a, b, value) in pairs.iter().filter(|(_, _, value)| value.is_finite()) {
        of_member[a].push((b, value));
        of_member[b].push((a, value));
    }
    let middle = |values: Vec<f64>| median(&values);
    // The median over members of their medians: a slow member spoils its own, and not the middle of
    // all, even where its pairs are half of all pairs.
    let firsts: Vec<Option<f64>> =
        of_member.iter().map(|all| middle(all.iter().map(|(_, value)| *value).collect())).collect();
    let mut base = middle(firsts.iter().flatten().copied().collect())?;
    let mut parts: Vec<f64> = firsts.iter().map(|first| first.map_or(0.0, |first| first - base)).collect();
    for _ in 0..PASSES {
        let mut moved = 0.0f64;
        for member in 0..members {
            let left = of_member[member].iter().map(|(other, value)| value - base - parts[*other]).collect();
            if let Some(part) = middle(left) {
                moved = moved.max((part - parts[member]).abs());
                parts[member] = part;
            }
        }
        // Each pair holds two members, so what they share counts twice.
        let shared = middle(parts.clone())?;
        parts.iter_mut().for_each(|part| *part -= shared);
        base += 2.0 * shared;
        if moved <= STILL {
            break;
        }
    }
    let residuals = pairs.iter().map(|(a, b, value)| value - base - parts[*a] - parts[*b]).collect();
    Some(Additive { base, members: parts, residuals })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    /// All pairs of so many members, with this noise and what `of` adds to a pair.
    fn pairs(members: usize, noise: f64, of: impl Fn(usize, usize) -> f64, rng: &mut Rng) -> Vec<(usize, usize, f64)> {
        let all = (0..members).flat_map(|a| (a + 1..members).map(move |b| (a, b)));
        all.map(|(a, b)| (a, b, 3.0 + of(a, b) + noise * rng.normal())).collect()
    }

    #[test]
    fn a_slow_member_is_told_from_a_slow_pair() {
        let rng = &mut Rng::new(1);
        for members in [4, 5, 8, 50] {
            // Of four members, one that is slow and another's slow pair look like two slow members.
            let slow_pair = if members > 4 { (0, members - 1) } else { (0, 0) };
            let of = |a: usize, b: usize| {
                f64::from(u8::from(a == 1 || b == 1)) + 2.0 * f64::from(u8::from((a, b) == slow_pair))
            };
            let values = pairs(members, 0.01, of, rng);
            let fit = additive(members, &values).expect("values");
            assert!((fit.base - 3.0).abs() < 0.05, "{members}: {fit:?}");
            assert!((fit.members[1] - 1.0).abs() < 0.1, "{members}: {fit:?}");
            let others = fit.members.iter().enumerate().filter(|(member, _)| *member != 1);
            assert!(others.clone().all(|(_, part)| part.abs() < 0.1), "{members}: {fit:?}");
            for ((a, b, _), residual) in values.iter().zip(&fit.residuals) {
                let expected = if (*a, *b) == slow_pair { 2.0 } else { 0.0 };
                assert!((residual - expected).abs() < 0.15, "{members}: {a} {b} {residual}");
            }
        }
    }

    /// A sample of the pairs: each of 40 members has some partners only.
    #[test]
    fn holes_are_no_values() {
        let rng = &mut Rng::new(2);
        let mut values = pairs(40, 0.01, |a, b| f64::from(u8::from(a == 7 || b == 7)), rng);
        values.retain(|(a, b, _)| (a + b) % 5 == 0 || *a == 7 || *b == 7);
        values.push((0, 1, f64::NAN));
        let fit = additive(40, &values).expect("values");
        assert!((fit.members[7] - 1.0).abs() < 0.05, "{fit:?}");
        assert!(fit.members.iter().enumerate().all(|(member, part)| member == 7 || part.abs() < 0.05), "{fit:?}");
        assert!(fit.residuals[values.len() - 1].is_nan());
        assert_eq!(additive(3, &[(0, 1, f64::NAN)]), None);
    }
}
