//! The levels of a memory hierarchy, from a curve of latency over buffer size.
//!
//! Implements docs/methods/statistics.md#levels-of-a-memory-curve. It takes the points as they are:
//! medians over allocations, at any spacing, with points missing. It does not know the names of the
//! levels or what the machine declares.

use std::ops::RangeInclusive;

use crate::isotonic::isotonic;
use crate::order::median;

/// A level rises by less than this factor from its first to its last point.
const FLAT: f64 = 1.08;

/// A level spans at least this number of octaves of size...
const MIN_OCTAVES: f64 = 0.75;

/// ...less what rounding to whole lines may take: at 4 KiB, a line of 64 B is 0.022 octaves.
const ROUNDING_OCTAVES: f64 = 0.025;

/// ...and has at least this number of points.
const MIN_POINTS: usize = 3;

/// Adjacent levels whose latencies differ by less than this factor are one level.
const DISTINCT: f64 = 1.25;

/// The lower share of a level's octaves from which its latency is taken: at the upper end the next
/// level seeps in.
const CORE: f64 = 2.0 / 3.0;

/// A level: a range of sizes with about the same latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// The smallest size on the level.
    pub from: f64,
    /// The largest size on the level.
    pub to: f64,
    /// The last size before the curve leaves the level, which is `to`; `None` if the curve ends
    /// before it has risen to where another level could be (25 %), because then the capacity was
    /// not seen.
    pub capacity_hard: Option<f64>,
    /// The size at which the curve crosses the geometric mean of this latency and the next level's;
    /// `None` for the last level.
    pub capacity_soft: Option<f64>,
    /// The median latency of the points in the lower two thirds of the level.
    pub latency: f64,
}

/// The levels of a curve of points (size, latency), the smallest first.
///
/// Latency cannot fall with size, so the curve is first made non-decreasing; a level is then a
/// longest flat run. Points may come in any order; those that are not positive and finite are
/// dropped, and those of equal size become one point, their median. A curve that rises all the
/// time, or has fewer than 3 points, has no levels.
#[must_use]
pub fn find_levels(points: &[(f64, f64)]) -> Vec<Level> {
    let curve = Curve::of(points);
    let mut runs: Vec<RangeInclusive<usize>> = Vec::new();
    for mut run in curve.flat_runs(0, curve.sizes.len()) {
        while let Some(last) = runs.pop_if(|last| curve.latency(&run) < DISTINCT * curve.latency(last)) {
            run = *last.start()..=*run.end();
        }
        runs.push(run);
    }
    let level = |(index, run): (usize, &RangeInclusive<usize>)| {
        let (from, to, latency) = (curve.sizes[*run.start()], curve.sizes[*run.end()], curve.latency(run));
        Level {
            from,
            to,
            capacity_hard: curve.reaches(DISTINCT * latency).then_some(to),
            capacity_soft: runs.get(index + 1).and_then(|next| curve.crossing(run, next)),
            latency,
        }
    };
    runs.iter().enumerate().map(level).collect()
}

/// The points in order of size, and the fit to them.
struct Curve {
    sizes: Vec<f64>,
    latencies: Vec<f64>,
    /// The logarithms of the latencies, made non-decreasing.
    fit: Vec<f64>,
}

impl Curve {
    fn of(points: &[(f64, f64)]) -> Self {
        let usable = |value: f64| value.is_finite() && value > 0.0;
        let mut points: Vec<(f64, f64)> =
            points.iter().copied().filter(|&(size, latency)| usable(size) && usable(latency)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (sizes, latencies): (Vec<f64>, Vec<f64>) = points
            .chunk_by(|a, b| a.0 == b.0)
            .filter_map(|same| {
                let latencies: Vec<f64> = same.iter().map(|point| point.1).collect();
                Some((same.first()?.0, median(&latencies)?))
            })
            .unzip();
        let logarithms: Vec<f64> = latencies.iter().map(|latency| latency.ln()).collect();
        Self { fit: isotonic(&logarithms), sizes, latencies }
    }

    fn reaches(&self, latency: f64) -> bool {
        self.fit.last().is_some_and(|&most| most >= latency.ln())
    }

    fn octaves(&self, from: usize, to: usize) -> f64 {
        (self.sizes[to] / self.sizes[from]).log2()
    }

    /// The flat runs among the points from `start` to before `end`: the longest, and those on
    /// either side of it.
    fn flat_runs(&self, start: usize, end: usize) -> Vec<RangeInclusive<usize>> {
        let flat_from = |first: usize| {
            let flat = self.fit[first..end].partition_point(|level| level - self.fit[first] < FLAT.ln());
            first..=first + flat - 1
        };
        let long_enough = |run: &RangeInclusive<usize>| {
            run.end() - run.start() + 1 >= MIN_POINTS
                && self.octaves(*run.start(), *run.end()) >= MIN_OCTAVES - ROUNDING_OCTAVES
        };
        // `max_by` returns the last of equals, so iterate from the right to get the leftmost of
        // equally long runs.
        let longest = (start..end)
            .rev()
            .map(flat_from)
            .filter(long_enough)
            .max_by(|a, b| self.octaves(*a.start(), *a.end()).total_cmp(&self.octaves(*b.start(), *b.end())));
        let Some(longest) = longest else {
            return Vec::new();
        };
        let mut runs = self.flat_runs(start, *longest.start());
        let right = self.flat_runs(longest.end() + 1, end);
        runs.push(longest);
        runs.extend(right);
        runs
    }

    /// The latency of a run, from the measured points.
    fn latency(&self, run: &RangeInclusive<usize>) -> f64 {
        let core = CORE * self.octaves(*run.start(), *run.end());
        let points: Vec<f64> = run
            .clone()
            .filter(|&index| self.octaves(*run.start(), index) <= core)
            .map(|index| self.latencies[index])
            .collect();
        median(&points).unwrap_or(self.latencies[*run.start()])
    }

    /// The size at which the fit passes the geometric mean of the latencies of two runs, by linear
    /// interpolation on logarithmic axes.
    fn crossing(&self, run: &RangeInclusive<usize>, next: &RangeInclusive<usize>) -> Option<f64> {
        let middle = f64::midpoint(self.latency(run).ln(), self.latency(next).ln());
        let before =
            (*run.start()..*next.end()).find(|&index| self.fit[index] < middle && middle <= self.fit[index + 1])?;
        let fraction = (middle - self.fit[before]) / (self.fit[before + 1] - self.fit[before]);
        Some(self.sizes[before] * (self.sizes[before + 1] / self.sizes[before]).powf(fraction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    const KIB: f64 = 1024.0;
    const MIB: f64 = 1024.0 * KIB;

    /// Capacities and latencies of a made-up machine.
    const MACHINE: [(f64, f64); 4] = [(32.0 * KIB, 1.0), (MIB, 3.5), (32.0 * MIB, 11.0), (f64::INFINITY, 100.0)];

    /// Four points per octave up to 4 MiB, two above, to 1 GiB; whole lines.
    fn sweep() -> Vec<f64> {
        let fine = (0..40).map(|step| 4.0 * KIB * (f64::from(step) / 4.0).exp2());
        let coarse = (0..=16).map(|step| 4.0 * MIB * (f64::from(step) / 2.0).exp2());
        fine.chain(coarse).map(|size| (size / 64.0).round() * 64.0).collect()
    }

    /// Every size has the latency of the smallest level that holds it.
    fn cliffs(levels: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let latency = |size: f64| levels.iter().find(|level| size <= level.0).map_or(f64::NAN, |level| level.1);
        sweep().into_iter().map(|size| (size, latency(size))).collect()
    }

    /// Beyond a capacity some accesses still hit: the share of the smaller level fades out over an
    /// octave and a half.
    fn slopes(levels: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let latency = |size: f64| {
            levels.windows(2).fold(levels[0].1, |latency, pair| {
                let hits = 1.0 - ((size / pair[0].0).log2() / 1.5).clamp(0.0, 1.0);
                if size <= pair[0].0 { latency } else { pair[1].1 + hits * (latency - pair[1].1) }
            })
        };
        sweep().into_iter().map(|size| (size, latency(size))).collect()
    }

    /// Multiplies every latency by a random factor of up to `amount` more or less.
    fn noisy(mut points: Vec<(f64, f64)>, amount: f64, rng: &mut Rng) -> Vec<(f64, f64)> {
        for point in &mut points {
            point.1 *= 1.0 + amount * (2.0 * rng.unit() - 1.0);
        }
        points
    }

    /// Asserts that `levels` are those of the machine: latencies within `tolerance`, hard and soft
    /// capacities within a factor of `edge`.
    fn assert_machine(levels: &[Level], machine: &[(f64, f64)], tolerance: f64, edge: f64, case: &str) {
        assert_eq!(levels.len(), machine.len(), "{case}: {levels:#?}");
        for (level, &(capacity, latency)) in levels.iter().zip(machine) {
            assert!((level.latency / latency - 1.0).abs() <= tolerance, "{case}: {level:?}, not {latency}");
            for found in [level.capacity_hard, level.capacity_soft] {
                let right =
                    found.map_or(capacity.is_infinite(), |found| found <= edge * capacity && capacity <= edge * found);
                assert!(right, "{case}: {level:?}, not {capacity}");
            }
        }
    }

    #[test]
    fn cliffs_are_found_to_the_point() {
        let levels = find_levels(&cliffs(&MACHINE));
        assert_machine(&levels, &MACHINE, 0.0, 1.2, "cliffs");
        assert_eq!(levels[0].from, 4.0 * KIB);
        let hard: Vec<Option<f64>> = levels.iter().map(|level| level.capacity_hard).collect();
        assert_eq!(hard, [Some(32.0 * KIB), Some(MIB), Some(32.0 * MIB), None]);
        assert!(levels[..3].iter().all(|level| level.capacity_hard == Some(level.to)));
        assert_eq!((levels[3].to, levels[3].capacity_soft), (1024.0 * MIB, None));
    }

    /// On a cliff between two points the curve passes the geometric mean of the latencies at the
    /// geometric mean of the sizes.
    #[test]
    fn the_soft_edge_is_where_the_curve_passes_the_geometric_mean() {
        let levels = find_levels(&cliffs(&MACHINE));
        let soft = levels[2].capacity_soft.expect("there is a next level");
        assert!((soft / (32.0 * MIB * 2f64.powf(0.25)) - 1.0).abs() < 1e-6, "{soft}");
        let sloped = find_levels(&slopes(&MACHINE));
        for level in &sloped[..3] {
            assert!(level.capacity_soft > level.capacity_hard, "{level:?}");
        }
    }

    #[test]
    fn sloping_edges() {
        assert_machine(&find_levels(&slopes(&MACHINE)), &MACHINE, 0.02, 2.0, "slopes");
    }

    #[test]
    fn noise() {
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            let case = format!("seed {seed}");
            assert_machine(&find_levels(&noisy(cliffs(&MACHINE), 0.03, &mut rng)), &MACHINE, 0.03, 1.2, &case);
            assert_machine(&find_levels(&noisy(slopes(&MACHINE), 0.03, &mut rng)), &MACHINE, 0.05, 2.2, &case);
        }
    }

    /// A lucky allocation keeps a size fast and an unlucky one slows it down, at every place but
    /// the last, where it looks like an edge.
    #[test]
    fn dips_and_spikes() {
        let points = cliffs(&MACHINE);
        for index in 0..points.len() - 1 {
            for factor in [0.5, 0.8, 1.3, 4.0] {
                let mut points = points.clone();
                points[index].1 *= factor;
                let case = format!("{} times {factor}", points[index].0);
                assert_machine(&find_levels(&points), &MACHINE, 0.0, 2.0, &case);
            }
        }
    }

    #[test]
    fn missing_points() {
        let points = cliffs(&MACHINE);
        for seed in 0..100 {
            let mut rng = Rng::new(seed);
            let left: Vec<(f64, f64)> = points.iter().copied().filter(|_| rng.below(5) > 0).collect();
            assert_machine(&find_levels(&left), &MACHINE, 0.0, 3.0, &format!("seed {seed}"));
        }
        let mut unusable = points.clone();
        unusable.extend([(f64::NAN, 1.0), (64.0 * KIB, f64::NAN), (0.0, 1.0), (MIB, -1.0), (f64::INFINITY, 9.0)]);
        assert_eq!(find_levels(&unusable), find_levels(&points));
    }

    #[test]
    fn order_and_repetition_of_points_do_not_matter() {
        let points = cliffs(&MACHINE);
        let mut shuffled = [points.clone(), points.clone(), points.clone()].concat();
        Rng::new(1).shuffle(&mut shuffled);
        assert_eq!(find_levels(&shuffled), find_levels(&points));
    }

    /// A cache shared with others: it rises by 4 % per octave, 23 % in all, and is one level.
    #[test]
    fn a_gradual_level_is_one_level() {
        let mut points = cliffs(&MACHINE);
        for (size, latency) in &mut points {
            if *latency == 11.0 {
                *latency *= 1.04f64.powf((*size / MIB).log2());
            }
        }
        let levels = find_levels(&points);
        assert_eq!(levels.len(), 4, "{levels:#?}");
        assert!((11.0..13.5).contains(&levels[2].latency), "{:?}", levels[2]);
        let (hard, soft) = (levels[2].capacity_hard.expect("an edge"), levels[2].capacity_soft.expect("a next level"));
        // What is left after the last flat run is too short to be one: the hard edge is early by a
        // point.
        assert!(
            (22.0 * MIB..=32.0 * MIB).contains(&hard) && (32.0 * MIB..46.0 * MIB).contains(&soft),
            "{:?}",
            levels[2]
        );
    }

    #[test]
    fn two_levels_only() {
        let machine = [(512.0 * KIB, 2.0), (f64::INFINITY, 80.0)];
        assert_machine(&find_levels(&cliffs(&machine)), &machine, 0.0, 1.2, "two levels");
    }

    #[test]
    fn neighbours_closer_than_a_quarter_are_one_level() {
        let with_third = |latency: f64| [(32.0 * KIB, 1.0), (MIB, 10.0), (32.0 * MIB, latency), (f64::INFINITY, 100.0)];
        assert_eq!(find_levels(&cliffs(&with_third(12.4))).len(), 3);
        assert_eq!(find_levels(&cliffs(&with_third(12.6))).len(), 4);
    }

    /// The same latency from 45 to 64 KiB is half an octave; from 45 to 76, three quarters.
    #[test]
    fn a_short_flat_run_is_not_a_level() {
        let with_step = |end: f64| {
            let machine = [(38.1 * KIB, 1.0), (end * KIB, 2.0), (MIB, 4.0), (f64::INFINITY, 60.0)];
            find_levels(&cliffs(&machine)).len()
        };
        assert_eq!(with_step(65.0), 3);
        assert_eq!(with_step(77.0), 4);
    }

    /// Flat means less than 8 % within three quarters of an octave: four points at four per octave.
    #[test]
    fn a_steady_rise_is_a_level_only_if_it_is_slow() {
        let levels = |per_octave: f64| find_levels(&rising(per_octave)).len();
        let limit = 1.08f64.powf(4.0 / 3.0);
        assert!(levels(limit * 0.999) > 0);
        assert_eq!(levels(limit * 1.001), 0);
    }

    fn rising(per_octave: f64) -> Vec<(f64, f64)> {
        sweep()
            .into_iter()
            .filter(|&size| size >= MIB)
            .map(|size| (size, per_octave.powf((size / MIB).log2())))
            .collect()
    }

    /// Two points an octave apart are flat by accident; three are a level.
    #[test]
    fn two_points_are_not_a_level() {
        let with_points = |count: usize| {
            let far = (0..count).map(|step| (64.0 * MIB * (step as f64).exp2(), 300.0));
            let near = (0..20).map(|step| (4.0 * KIB * (f64::from(step) / 4.0).exp2(), 1.0));
            find_levels(&near.chain(far).collect::<Vec<_>>()).len()
        };
        assert_eq!((with_points(2), with_points(3)), (1, 2));
    }

    /// In the upper third of a level the next one seeps in.
    #[test]
    fn latency_is_that_of_the_lower_two_thirds() {
        let points: Vec<(f64, f64)> = (0..=12)
            .map(|step| (2f64.powi(step), if step <= 4 { 10.0 } else { 10.0 + 0.05 * f64::from(step) }))
            .collect();
        let levels = find_levels(&points);
        // The median of steps 0 to 8, not of 0 to 12.
        assert_eq!(levels.len(), 1);
        assert_eq!(levels[0].latency, 10.0);
    }

    #[test]
    fn no_levels() {
        assert_eq!(find_levels(&[]), []);
        assert_eq!(find_levels(&[(4096.0, 1.0), (8192.0, 1.0)]), []);
        let rising: Vec<(f64, f64)> = sweep().into_iter().map(|size| (size, size.sqrt())).collect();
        assert_eq!(find_levels(&rising), []);
    }

    /// A disturbed end of the last level is not an edge; the beginning of a continued rise is.
    #[test]
    fn an_edge_is_followed_by_a_rise() {
        let with_end = |factor: f64| {
            let mut points = cliffs(&[(f64::INFINITY, 5.0)]);
            let last = points.len() - 1;
            points[last].1 *= factor;
            find_levels(&points)[0].capacity_hard
        };
        assert_eq!(with_end(1.2), None);
        assert_eq!(with_end(1.3), Some(1024.0 * MIB * 0.5f64.sqrt()).map(|size| (size / 64.0).round() * 64.0));
    }

    #[test]
    fn one_level_whose_end_was_not_seen() {
        let levels = find_levels(&cliffs(&[(f64::INFINITY, 5.0)]));
        assert_eq!(levels.len(), 1);
        assert_eq!((levels[0].capacity_hard, levels[0].capacity_soft), (None, None));
    }

    /// The last point of the first run is near the second one as well; it belongs to the first
    /// alone.
    #[test]
    fn runs_share_no_point() {
        let fit = vec![0.0, 0.0, 0.0, 0.0, 0.07, 0.10, 0.10, 0.10];
        let curve = Curve {
            sizes: (0..8).map(|i| f64::from(1 << i)).collect(),
            latencies: fit.iter().map(|level: &f64| level.exp()).collect(),
            fit,
        };
        assert_eq!(curve.flat_runs(0, 8), [0..=4, 5..=7]);
    }
}
