//! How a cost grows with a number: as 1, log n, n, n log n, n² or n³.
//!
//! Google Benchmark fits one term through the origin. Costs of real operations have a part that
//! does not grow, which would make n log n of a line; so two terms are fitted, and relative errors
//! are minimised: in nanoseconds the largest n alone would decide.

/// How fast a cost grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It does not.
    Constant,
    /// log₂ n.
    Log,
    /// n.
    Linear,
    /// n log₂ n.
    LogLinear,
    /// n².
    Square,
    /// n³.
    Cube,
}

impl Order {
    const GROWING: [Order; 5] = [Order::Log, Order::Linear, Order::LogLinear, Order::Square, Order::Cube];

    /// Its term.
    pub fn of(self, n: f64) -> f64 {
        match self {
            Order::Constant => 1.0,
            Order::Log => n.log2(),
            Order::Linear => n,
            Order::LogLinear => n * n.log2(),
            Order::Square => n * n,
            Order::Cube => n * n * n,
        }
    }

    /// As mathematicians write it.
    pub fn word(self) -> &'static str {
        match self {
            Order::Constant => "1",
            Order::Log => "log₂ n",
            Order::Linear => "n",
            Order::LogLinear => "n log₂ n",
            Order::Square => "n²",
            Order::Cube => "n³",
        }
    }
}

/// A cost as `base + slope * order(n)`.
#[derive(Clone, Debug, PartialEq)]
pub struct CostGrowth {
    /// How fast it grows.
    pub order: Order,
    /// What does not grow; 0 where only the other term is left.
    pub base: f64,
    /// What each unit of the term adds; 0 for [`Order::Constant`].
    pub slope: f64,
    /// The root mean square of the relative errors.
    pub error: f64,
    /// Another order that fits nearly as well.
    pub or: Option<Order>,
}

/// Points that tell a line from a curve.
const MIN_POINTS: usize = 4;
/// The largest number is this many times the smallest, or a curve looks like a line.
const MIN_SPAN: f64 = 4.0;
/// Costs that differ by less do not grow.
const SAME: f64 = 1.1;
/// A fit with a larger error says nothing: steps of caches, and no growth of the operation.
const MAX_ERROR: f64 = 0.1;
/// Another order with up to this many times the error, or an error of less than [`EQUAL`], is not
/// told apart.
const RIVAL: f64 = 1.5;
/// See [`RIVAL`].
const EQUAL: f64 = 0.005;

/// Fits costs, all above 0, at numbers of 1 or more; `None` where there are too few or nothing
/// fits.
pub fn cost_growth(points: &[(f64, f64)]) -> Option<CostGrowth> {
    let ends = |of: fn(&(f64, f64)) -> f64| {
        points.iter().map(of).fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)))
    };
    let ((first, last), (least, most)) = (ends(|p| p.0), ends(|p| p.1));
    if points.len() < MIN_POINTS || first < 1.0 || last < MIN_SPAN * first || least <= 0.0 || !most.is_finite() {
        return None;
    }
    if most < SAME * least {
        let base = points.iter().map(|p| p.1).sum::<f64>() / points.len() as f64;
        let error = error_of(points, |_| base);
        return Some(CostGrowth { order: Order::Constant, base, slope: 0.0, error, or: None });
    }
    let mut all: Vec<CostGrowth> = Order::GROWING.into_iter().filter_map(|order| fit(points, order)).collect();
    all.sort_by(|a, b| a.error.total_cmp(&b.error));
    let or = all.get(1).filter(|second| second.error <= (RIVAL * all[0].error).max(EQUAL)).map(|second| second.order);
    let best = all.into_iter().next().filter(|best| best.error <= MAX_ERROR)?;
    Some(CostGrowth { or, ..best })
}

/// The least squares of relative errors, with no term below 0.
fn fit(points: &[(f64, f64)], order: Order) -> Option<CostGrowth> {
    // base * u + slope * v = 1 for each point, with u = 1/y and v = f(n)/y.
    let [mut uu, mut uv, mut vv, mut u1, mut v1] = [0.0; 5];
    for (n, y) in points {
        let (u, v) = (1.0 / y, order.of(*n) / y);
        (uu, uv, vv, u1, v1) = (uu + u * u, uv + u * v, vv + v * v, u1 + u, v1 + v);
    }
    let determinant = uu * vv - uv * uv;
    let (mut base, mut slope) = ((u1 * vv - v1 * uv) / determinant, (v1 * uu - u1 * uv) / determinant);
    if !(determinant > 0.0 && base >= 0.0) {
        (base, slope) = (0.0, v1 / vv);
    }
    let error = error_of(points, |n| base + slope * order.of(n));
    (slope > 0.0 && error.is_finite()).then_some(CostGrowth { order, base, slope, error, or: None })
}

fn error_of(points: &[(f64, f64)], cost: impl Fn(f64) -> f64) -> f64 {
    let squares = points.iter().map(|(n, y)| (cost(*n) / y - 1.0).powi(2));
    (squares.sum::<f64>() / points.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cost: impl Fn(f64) -> f64) -> Option<CostGrowth> {
        let points: Vec<(f64, f64)> = (0..10).map(|i| f64::from(1 << i) * 8.0).map(|n| (n, cost(n))).collect();
        cost_growth(&points)
    }

    /// Each order is found with its numbers, under noise of some percent, and beside a base.
    #[test]
    fn orders_are_told_apart() {
        for order in Order::GROWING {
            for base in [0.0, 40.0] {
                // Four percent up and down, in a pattern that no order follows.
                let noise = |n: f64| if (n.log2() as u32).count_ones().is_multiple_of(2) { 1.04 } else { 0.96 };
                let fit = found(|n| (base + 3.0 * order.of(n)) * noise(n)).expect("it fits");
                assert!(fit.order == order || fit.or == Some(order), "{order:?} + {base}: {fit:?}");
                let exact = found(|n| base + 3.0 * order.of(n)).expect("it fits");
                assert_eq!((exact.order, exact.or), (order, None), "{exact:?}");
                assert!((exact.slope - 3.0).abs() < 1e-6 && (exact.base - base).abs() < 1e-3, "{exact:?}");
            }
        }
        let flat = found(|n| 5.0 + n * 1e-4).expect("it fits");
        assert_eq!((flat.order, flat.slope), (Order::Constant, 0.0));
    }

    #[test]
    fn what_no_order_fits_has_none() {
        // Two levels of a memory hierarchy.
        assert_eq!(found(|n| if n < 200.0 { 1.0 } else { 60.0 }), None);
        assert_eq!(cost_growth(&[(1.0, 1.0), (2.0, 2.0), (8.0, 8.0)]), None, "too few");
        assert_eq!(cost_growth(&[(10.0, 1.0), (11.0, 2.0), (12.0, 3.0), (13.0, 4.0)]), None, "too near");
    }
}
