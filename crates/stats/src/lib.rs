//! Statistics for measurements of time: pure functions from slices of numbers to numbers.
//!
//! This crate has no clock, no input or output, no units and no benchmarks, and its only randomness
//! is the seeded [`Rng`]. No input makes a function panic: without an answer (no values, too few,
//! or one not finite) it returns `None`, so a missing number can never be taken for a small one.
//!
//! The rule behind the headline figures: **the independent unit is the fresh process** (a *round*),
//! not the interval timed within it (docs/methods/statistics.md#rounds). [`headline`] therefore
//! takes one value per round; [`widened_interval`], which looks inside one process, is for
//! diagnosis only.
//!
//! The items cite the sections with the methods, their measurements and the rejected alternatives.

#![forbid(unsafe_code)]

pub mod change_points;
pub mod clusters;
pub mod comparison;
pub mod crowd;
pub mod drift;
pub mod growth;
pub mod histogram;
pub mod idle_rate;
pub mod increments;
pub mod interval;
pub mod isotonic;
pub mod links;
pub mod mann_whitney;
pub mod many_tests;
pub mod modes;
pub mod order;
pub mod paired;
pub mod permutation;
pub mod plateaus;
pub mod rng;
pub mod rounds;
pub mod run_noise;
pub mod samples;
pub mod student;
pub mod tally;
pub mod transient;

mod binomial;
mod normal;

pub use change_points::{ChangePoint, change_points};
pub use clusters::{Grouping, clusters};
pub use comparison::{Comparison, Measured, compare};
pub use crowd::Crowd;
pub use drift::{Change, Drift, Trend, drift, mann_kendall, theil_sen_slope};
pub use growth::{CostGrowth, Order, cost_growth};
pub use histogram::{Bin, log_histogram};
pub use increments::{common_step, mode_step};
pub use interval::{Interval, median_interval, median_interval_interpolated, widened_interval};
pub use isotonic::isotonic;
pub use links::{Additive, additive};
pub use mann_whitney::{mann_whitney, shift_interval, shift_ratio};
pub use many_tests::{benjamini_hochberg, holm, holm_known};
pub use modes::{Modality, Mode, modality, split_between_rounds};
pub use order::{greatest, least, median, nearest_rank, quantile, quantile_if_enough, sorted, upper_median};
pub use paired::{detectable_pair_ratio, pair_ratios, sign_test, signed_rank};
pub use permutation::Permutation;
pub use plateaus::{Level, find_levels};
pub use rng::Rng;
pub use rounds::{Headline, checkpoints, headline, need, round_medians, should_stop, useful_rounds};
pub use run_noise::RunNoise;
pub use samples::{interference, quantised};
pub use tally::Tally;
pub use transient::{Transient, transient};
