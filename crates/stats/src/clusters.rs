//! Groups items by the distances between them: CPUs by cache-line transfer latency.
//!
//! Single linkage on the logarithm of the distances (docs/methods/statistics.md#clusters): two
//! items are in one group if a path leads from one to the other without a link longer than the
//! group's. A level ends where the lengths of the links that join groups leave a gap: the threads
//! of a core, the cores below a cache, the packages. The number of levels is not assumed.

/// Two successive links belong to different levels if one is longer by this factor. The page that a
/// line is on moves the latency by 10 to 20 %, and the closest two levels known are a factor of 1.5
/// apart (load and store between threads of a core, and between cores of one cache).
const GAP: f64 = 1.3;

/// A level: the groups that remain when links longer than `within` are ignored.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouping {
    /// The longest link within a group.
    pub within: f64,
    /// The shortest link between two groups.
    pub between: f64,
    /// The groups, each sorted, ordered by their first member.
    pub groups: Vec<Vec<usize>>,
}

/// The levels of a square matrix of distances, the finest first; empty if all items are equally far
/// apart.
///
/// Of the two directions of a pair the smaller distance counts, because interference only adds.
/// Returns `None` if a pair has no positive, finite distance in either direction: with a pair
/// missing, no grouping is reported.
#[must_use]
pub fn clusters(distances: &[Vec<Option<f64>>]) -> Option<Vec<Grouping>> {
    let n = distances.len();
    let mut steps: Vec<(f64, usize, usize)> = Vec::new();
    for a in 0..n {
        for b in a + 1..n {
            let at = |i: usize, j: usize| distances.get(i)?.get(j).copied().flatten();
            let usable = |d: &f64| d.is_finite() && *d > 0.0;
            let both = [at(a, b), at(b, a)];
            let shortest = both.into_iter().flatten().filter(usable).min_by(f64::total_cmp)?;
            steps.push((shortest, a, b));
        }
    }
    steps.sort_by(|x, y| x.0.total_cmp(&y.0));
    // The links that join two groups (Kruskal), as single linkage needs them.
    let mut group: Vec<usize> = (0..n).collect();
    let mut joins: Vec<(f64, usize, usize)> = Vec::new();
    for step in steps {
        if join(&mut group, step.1, step.2) {
            joins.push(step);
        }
    }
    let mut group: Vec<usize> = (0..n).collect();
    let mut levels = Vec::new();
    for (i, (step, a, b)) in joins.iter().enumerate() {
        join(&mut group, *a, *b);
        if let Some((next, ..)) = joins.get(i + 1)
            && next / step >= GAP
        {
            levels.push(Grouping { within: *step, between: *next, groups: members(&group) });
        }
    }
    Some(levels)
}

/// Merges the groups of `a` and `b`; returns whether they were two.
fn join(group: &mut [usize], a: usize, b: usize) -> bool {
    let (one, other) = (group[a], group[b]);
    let (keep, give) = (one.min(other), one.max(other));
    for of in group.iter_mut().filter(|of| **of == give) {
        *of = keep;
    }
    one != other
}

/// The members of each group.
fn members(group: &[usize]) -> Vec<Vec<usize>> {
    let of = |first: usize| (0..group.len()).filter(|i| group[*i] == first).collect::<Vec<_>>();
    (0..group.len()).map(of).filter(|members| !members.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// A matrix of distances given by a rule, upper half only. Each distance is enlarged by up to
    /// `noise`, as a share of itself.
    fn matrix(n: usize, noise: f64, distance: impl Fn(usize, usize) -> f64) -> Vec<Vec<Option<f64>>> {
        let mut rng = Rng::new(5);
        let mut moved = |d: f64| d * (1.0 + noise * (rng.below(1001) as f64 / 1000.0));
        let row = |a: usize, moved: &mut dyn FnMut(f64) -> f64| {
            (0..n).map(|b| (a < b).then(|| moved(distance(a, b)))).collect::<Vec<_>>()
        };
        (0..n).map(|a| row(a, &mut moved)).collect()
    }

    #[test]
    fn threads_caches_and_packages_are_three_levels() {
        // 32 CPUs: sibling threads 16 apart, four cores below a cache, eight cores a package.
        let distance = |a: usize, b: usize| match (a % 16, b % 16) {
            (x, y) if x == y => 7.0,
            (x, y) if x / 4 == y / 4 => 25.0,
            (x, y) if x / 8 == y / 8 => 97.0,
            _ => 210.0,
        };
        for noise in [0.0, 0.2] {
            let levels = clusters(&matrix(32, noise, distance)).expect("all are known");
            let groups: Vec<usize> = levels.iter().map(|level| level.groups.len()).collect();
            assert_eq!(groups, [16, 4, 2], "{noise}");
            assert_eq!(levels[0].groups[3], [3, 19]);
            assert_eq!(levels[1].groups[1], [4, 5, 6, 7, 20, 21, 22, 23]);
            assert_eq!(levels[2].groups[1], (8..16).chain(24..32).collect::<Vec<_>>());
            assert!(levels.iter().all(|l| l.between / l.within >= GAP));
        }
    }

    #[test]
    fn a_mesh_and_a_pair_have_no_groups() {
        // On a mesh latency grows by the hop, 45 to 75, and nearest neighbours are alike.
        let mesh = |a: usize, b: usize| 45.0 + 5.0 * ((a % 4).abs_diff(b % 4) + (a / 4).abs_diff(b / 4)) as f64;
        assert_eq!(clusters(&matrix(16, 0.05, mesh)), Some(vec![]));
        assert_eq!(clusters(&matrix(2, 0.0, |_, _| 50.0)), Some(vec![]));
        assert_eq!(clusters(&matrix(1, 0.0, |_, _| 50.0)), Some(vec![]));
        assert_eq!(clusters(&[]), Some(vec![]));
    }

    #[test]
    fn two_caches_are_two_groups_even_of_one_and_three() {
        let distance = |a: usize, _| if a == 0 { 100.0 } else { 25.0 };
        let levels = clusters(&matrix(4, 0.1, distance)).expect("all are known");
        assert_eq!(levels.len(), 1);
        assert_eq!(levels[0].groups, [vec![0], vec![1, 2, 3]]);
    }

    #[test]
    fn the_smaller_direction_counts_and_an_unknown_pair_gives_no_groups() {
        let mut both = matrix(3, 0.0, |a, _| if a == 0 { 90.0 } else { 30.0 });
        both[2][1] = Some(500.0);
        let levels = clusters(&both).expect("all are known");
        assert_eq!((levels[0].within, levels[0].between), (30.0, 90.0));
        both[0][2] = None;
        assert_eq!(clusters(&both), None);
        both[2][0] = Some(f64::NAN);
        assert_eq!(clusters(&both), None);
        for nonsense in [0.0, -90.0, f64::INFINITY, f64::NEG_INFINITY] {
            both[2][0] = Some(nonsense);
            assert_eq!(clusters(&both), None, "{nonsense}");
        }
        both[2][0] = Some(90.0);
        assert!(clusters(&both).is_some());
    }
}
