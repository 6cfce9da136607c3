//! An axis: its range, its scale, and its ticks.

use crate::units::{self, Scale};

/// How an axis is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// Equal steps.
    Even,
    /// Equal factors, ticks at powers of two: sizes and counts.
    Doubling,
    /// Equal factors, ticks at 1, 2, 5, 10: times.
    Decades,
}

impl Growth {
    /// For measured values and selected times: logarithmic if they span more than a factor of 8.
    pub(super) fn of(values: &[f64]) -> Growth {
        let (low, high) = ends(values);
        if low > 0.0 && high / low > 8.0 { Growth::Decades } else { Growth::Even }
    }

    /// For selected counts: doubling if they span more than a factor of 8.
    fn of_counts(values: &[f64]) -> Growth {
        let (low, high) = ends(values);
        if low > 0.0 && high / low > 8.0 { Growth::Doubling } else { Growth::Even }
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (low, high)
}

/// An axis.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) label: String,
    growth: Growth,
    scale: Scale,
    from: f64,
    to: f64,
    /// Whether only whole numbers are possible.
    whole: bool,
    /// Labels for 0, 1, 2 and so on, instead of numbers.
    names: Vec<String>,
}

impl Axis {
    /// An axis from the first to the last value, for selected values.
    pub(super) fn over(values: &[f64], growth: Growth, scale: Scale) -> Axis {
        let (from, to) = ends(values);
        Axis::sound(growth, scale, from, to)
    }

    /// An axis of selected counts, from the smallest to the largest.
    pub(super) fn of_counts(values: &[f64]) -> Axis {
        Axis { whole: true, ..Axis::over(values, Growth::of_counts(values), Scale::Count) }
    }

    /// An axis with room for measured values, down to `lowest` times the smallest. A linear one
    /// starts at zero, so that heights compare.
    pub(super) fn values(values: &[f64], growth: Growth, scale: Scale, lowest: f64) -> Axis {
        let (low, high) = ends(values);
        let (from, to) = match growth {
            Growth::Even => {
                let (bottom, top) = (low.min(0.0), high.max(0.0));
                let step = nice_step((top - bottom).max(f64::MIN_POSITIVE) / 5.0);
                // Bars and lines may touch the top, but not cross it.
                ((bottom / step).floor() * step, ((top / step) - 1e-9).ceil() * step)
            }
            Growth::Doubling | Growth::Decades => {
                let steps: Vec<f64> = one_two_five(low * lowest * 0.499, high * 2.001).collect();
                let from = steps.iter().copied().rfind(|s| *s <= low * lowest * 1.0001).unwrap_or(low * lowest);
                (from, steps.iter().copied().find(|s| *s >= high * 1.05).unwrap_or(high * 1.1))
            }
        };
        Axis::sound(growth, scale, from, to)
    }

    /// An axis as narrow as the values, for values that vary little: it does not start at zero.
    pub(super) fn narrow(values: &[f64], scale: Scale) -> Axis {
        let (low, high) = ends(values);
        // If all values are equal, a hundredth on either side.
        let (low, high) = if high > low { (low, high) } else { (low - low.abs() / 100.0, high + high.abs() / 100.0) };
        let step = nice_step((high - low).max(f64::MIN_POSITIVE) / 5.0);
        Axis::sound(Growth::Even, scale, (low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step)
    }

    /// An axis of named items.
    pub(super) fn of_names(names: Vec<String>) -> Axis {
        let last = names.len().saturating_sub(1).max(1) as f64;
        Axis { names, whole: true, ..Axis::sound(Growth::Even, Scale::Count, 0.0, last) }
    }

    /// An axis with a non-empty finite range, whatever the values.
    fn sound(growth: Growth, scale: Scale, from: f64, to: f64) -> Axis {
        let from = if from.is_finite() { from } else { 0.0 };
        let to = if to.is_finite() && to > from { to } else { from + from.abs().max(1.0) };
        let growth = if from > 0.0 { growth } else { Growth::Even };
        Axis { label: String::new(), growth, scale, from, to, whole: false, names: Vec::new() }
    }

    pub(super) fn named(mut self, label: &str) -> Axis {
        self.label = label.to_owned();
        self
    }

    /// The unit scale of its values.
    pub(super) fn scale(&self) -> Scale {
        self.scale
    }

    /// The position of a value: 0 at the start of the axis, 1 at its end.
    pub(super) fn position(&self, value: f64) -> f64 {
        let grow = |v: f64| if self.growth == Growth::Even { v } else { v.max(self.from * 1e-9).ln() };
        (grow(value) - grow(self.from)) / (grow(self.to) - grow(self.from))
    }

    /// At most `most` ticks, with values and texts.
    pub(super) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let most = most.max(2);
        let values: Vec<f64> = match self.growth {
            Growth::Even => {
                let step = self.even_step(most);
                let first = (self.from / step - 1e-9).ceil() as i64;
                let last = (self.to / step + 1e-9).floor() as i64;
                (first..=last).map(|i| i as f64 * step).collect()
            }
            Growth::Doubling => {
                let first = (self.from.log2() - 1e-9).ceil() as i32;
                let last = (self.to.log2() + 1e-9).floor() as i32;
                let count = (last - first + 1).max(1) as usize;
                let every = count.div_ceil(most);
                let every = [1, 2, 3, 5, 10].into_iter().find(|e| *e >= every).unwrap_or(every);
                (first..=last).filter(|e| *e % every as i32 == 0).map(|e| 2f64.powi(e)).collect()
            }
            Growth::Decades => {
                let fine: Vec<f64> = one_two_five(self.from * 0.999, self.to * 1.001).collect();
                let decades: Vec<f64> =
                    fine.iter().copied().filter(|v| (v.log10() - v.log10().round()).abs() < 1e-6).collect();
                if fine.len() <= most {
                    fine
                } else {
                    let every = decades.len().div_ceil(most).max(1);
                    decades.into_iter().step_by(every).collect()
                }
            }
        };
        values.into_iter().map(|v| (v, self.tick_text(v, most))).collect()
    }

    fn even_step(&self, most: usize) -> f64 {
        let step = nice_step((self.to - self.from) / most.saturating_sub(1).max(1) as f64);
        if self.whole { step.max(1.0) } else { step }
    }

    /// The text of a tick: the value without unnecessary digits.
    fn tick_text(&self, value: f64, most: usize) -> String {
        if !self.names.is_empty() {
            return self.names.get(value.round() as usize).cloned().unwrap_or_default();
        }
        if value == 0.0 {
            return "0".to_owned();
        }
        if self.scale == Scale::Count && self.growth == Growth::Even {
            let decimals = (-self.even_step(most).log10().floor()).max(0.0) as usize;
            return format!("{value:.decimals$}");
        }
        // Ticks close to each other need the digits that distinguish them.
        let step =
            (self.growth == Growth::Even).then(|| self.even_step(most)).filter(|step| *step < value.abs() / 50.0);
        let text = units::value(value, self.scale, step);
        let (number, unit) = text.split_once(' ').map_or((text.as_str(), ""), |(n, u)| (n, u));
        let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
        if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `step`.
fn nice_step(step: f64) -> f64 {
    one_two_five(step * 0.9999, step * 11.0).next().unwrap_or(step)
}

/// 1, 2 and 5 times the powers of ten between two positive numbers.
fn one_two_five(from: f64, to: f64) -> impl Iterator<Item = f64> {
    let usable = from > 0.0 && to.is_finite();
    let first = if usable { from.log10().floor() as i32 } else { 0 };
    let last = if usable { to.log10().ceil() as i32 } else { -1 };
    let all = (first..=last).flat_map(|e| [1, 2, 5].map(|m| format!("{m}e{e}").parse().unwrap_or(0.0)));
    all.filter(move |v: &f64| (from..=to).contains(v))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis, most: usize) -> Vec<String> {
        axis.ticks(most).into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn sizes_double() {
        let axis = Axis::over(&[4096.0, 512.0 * 1048576.0], Growth::Doubling, Scale::Size);
        assert_eq!(
            texts(&axis, 9),
            ["4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB", "64 MiB", "256 MiB"]
        );
        assert_eq!(texts(&axis, 4), ["32 KiB", "1 MiB", "32 MiB"]);
        assert!((axis.position(4096.0)).abs() < 1e-12 && (axis.position(512.0 * 1048576.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn times_go_by_one_two_five() {
        let axis = Axis::values(&[1.4e-9, 110e-9], Growth::Decades, Scale::Time, 0.5);
        assert_eq!(texts(&axis, 9), ["0.5 ns", "1 ns", "2 ns", "5 ns", "10 ns", "20 ns", "50 ns", "100 ns", "200 ns"]);
        assert_eq!(texts(&axis, 4), ["1 ns", "10 ns", "100 ns"]);
    }

    #[test]
    fn even_axes_start_at_zero() {
        let axis = Axis::values(&[14e9, 187e9], Growth::Even, Scale::Bandwidth, 1.0);
        assert_eq!(texts(&axis, 6), ["0", "50 GB/s", "100 GB/s", "150 GB/s", "200 GB/s"]);
        let axis = Axis::values(&[0.0, 7.0], Growth::Even, Scale::Count, 1.0);
        assert_eq!(texts(&axis, 6), ["0", "2", "4", "6", "8"]);
    }

    #[test]
    fn narrow_axes_hold_the_values_and_little_more() {
        let axis = Axis::narrow(&[6.29e-6, 6.33e-6], Scale::Time);
        assert_eq!(texts(&axis, 6), ["6.29 µs", "6.3 µs", "6.31 µs", "6.32 µs", "6.33 µs"]);
        let axis = Axis::narrow(&[5.0, 5.0], Scale::Count);
        assert!((axis.position(5.0) - 0.5).abs() < 1e-6);
        let axis = Axis::of_names(["a", "b", "c"].map(str::to_owned).to_vec());
        assert_eq!(texts(&axis, 9), ["a", "b", "c"]);
    }

    #[test]
    fn any_values_give_a_valid_axis() {
        for growth in [Growth::Even, Growth::Doubling, Growth::Decades] {
            for values in [&[][..], &[0.0], &[5.0], &[-3.0, -3.0]] {
                let axis = Axis::values(values, growth, Scale::Time, 1.0);
                assert!(axis.ticks(8).len() < 100);
                let axis = Axis::over(values, growth, Scale::Size);
                assert!(axis.ticks(8).len() < 100);
            }
        }
    }
}
