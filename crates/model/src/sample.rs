//! Samples, series and proofs: raw data, before any statistics.

use crate::Labels;

/// One timed interval of one member of a worker group: the times as read, never a quotient.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// The member of the worker group that took it; 0 without a group.
    pub worker: u32,
    /// The CPU on which it ended.
    pub cpu: u32,
    /// Its start, in nanoseconds of the run's monotonic clock.
    pub t0_ns: u64,
    /// Its length, in nanoseconds.
    pub elapsed_ns: u64,
    /// The number of iterations.
    pub iters: u64,
    /// The CPU time of the thread in the interval, in nanoseconds.
    pub cpu_ns: u64,
    /// What happened during the interval.
    pub labels: Labels,
    /// Nanoseconds by which the work of the whole worker group extends beyond this sample, on the
    /// side where it is less; negative if the group was not complete, `None` without a group.
    pub margin_ns: Option<i64>,
}

/// The whole time that one member of a worker group spent on one series: the timed parts and the
/// gaps between them. The rate of a group comes from these, since the timed parts of its members
/// need not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// The member of the worker group.
    pub worker: u32,
    /// Its start, in nanoseconds of the run's monotonic clock.
    pub t0_ns: u64,
    /// Its length, in nanoseconds.
    pub wall_ns: u64,
    /// The sum of the timed parts, in nanoseconds.
    pub timed_ns: u64,
    /// The number of iterations.
    pub iters: u64,
    /// What happened during that time.
    pub labels: Labels,
}

/// The samples or the values of one loop of a round: the raw ring, its control, or simply the
/// metric.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "columns::Columns", from = "columns::Columns")
)]
pub struct Series {
    /// Its name; empty for the only or the main one.
    pub name: String,
    /// Iterations per interval, the same in the whole run; 1 if each operation is timed alone.
    pub iters: u64,
    /// The work of one iteration: operations for a latency or a rate, bytes for a bandwidth.
    pub per_iter: f64,
    /// What reading the clock adds to an iteration, in nanoseconds: about the cost of one reading
    /// if each operation is timed alone. The times of samples contain it, values do not.
    pub clock_ns: f64,
    /// The samples, in order. A member of a worker group keeps a random choice if it takes more
    /// than there is room for.
    pub samples: Vec<Sample>,
    /// The spans of the members of a worker group; empty without a group.
    pub spans: Vec<Span>,
    /// Values in SI units that the benchmark computes itself, because its result is not a time per
    /// iteration (a clock step).
    pub values: Vec<f64>,
    /// What happened while these values were found.
    pub value_labels: Labels,
}

impl Series {
    /// A series of values in SI units that the benchmark computes itself.
    pub fn stated(name: &str, values: Vec<f64>) -> Series {
        Series { name: name.to_owned(), iters: 1, per_iter: 1.0, values, ..Series::default() }
    }
}

/// Evidence that the operation happened as claimed.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Proof {
    /// What was counted: `minor faults per touch`.
    pub name: String,
    /// The expected value, in words: `0.99..1.01`.
    pub expected: String,
    /// The actual value. If it is not finite, JSON has null, which is read as NaN.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "null_as_nan::number"))]
    pub seen: f64,
    /// Whether it holds. A metric with a broken proof is `failed`.
    pub holds: bool,
}

/// JSON has neither NaN nor infinities: they are written as null, and null is read as NaN.
#[cfg(feature = "serde")]
mod null_as_nan {
    use serde::{Deserialize, Deserializer};

    pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }

    pub(super) fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let numbers: Vec<Option<f64>> = Deserialize::deserialize(deserializer)?;
        Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
    }
}

#[cfg(feature = "serde")]
mod columns {
    //! Samples as columns: a tenth of the size of an array of objects, and ready for a data frame.
    //! Columns of zeros or nulls only are left out.
    use super::{Sample, Series, Span, null_as_nan};
    use crate::Labels;

    #[derive(serde::Serialize, serde::Deserialize)]
    pub(super) struct Columns {
        name: String,
        iters: u64,
        #[serde(deserialize_with = "null_as_nan::number")]
        per_iter: f64,
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_as_nan::numbers")]
        values: Vec<f64>,
        #[serde(default, skip_serializing_if = "no_labels")]
        value_labels: Labels,
        #[serde(default, skip_serializing_if = "nothing", deserialize_with = "null_as_nan::number")]
        clock: f64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        t0: Vec<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dt: Vec<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        n: Vec<u64>,
        #[serde(default, skip_serializing_if = "idle")]
        worker: Vec<u32>,
        #[serde(default, skip_serializing_if = "idle")]
        cpu: Vec<u32>,
        #[serde(default, skip_serializing_if = "idle")]
        cpu_ns: Vec<u64>,
        #[serde(default, skip_serializing_if = "idle")]
        labels: Vec<u16>,
        #[serde(default, skip_serializing_if = "idle")]
        margin: Vec<Option<i64>>,
        #[serde(default, skip_serializing_if = "no_spans")]
        spans: Spans,
    }

    #[derive(Default, serde::Serialize, serde::Deserialize)]
    struct Spans {
        t0: Vec<u64>,
        wall: Vec<u64>,
        timed: Vec<u64>,
        n: Vec<u64>,
        #[serde(default, skip_serializing_if = "idle")]
        worker: Vec<u32>,
        #[serde(default, skip_serializing_if = "idle")]
        labels: Vec<u16>,
    }

    fn no_labels(labels: &Labels) -> bool {
        *labels == Labels::NONE
    }

    fn nothing(number: &f64) -> bool {
        *number == 0.0
    }

    fn no_spans(spans: &Spans) -> bool {
        spans.t0.is_empty()
    }

    fn idle<T: Default + PartialEq>(column: &[T]) -> bool {
        column.iter().all(|v| *v == T::default())
    }

    impl From<Series> for Columns {
        fn from(s: Series) -> Columns {
            fn column<S, T>(rows: &[S], of: impl Fn(&S) -> T) -> Vec<T> {
                rows.iter().map(of).collect()
            }
            let (all, spans) = (&s.samples, &s.spans);
            Columns {
                iters: s.iters,
                per_iter: s.per_iter,
                values: s.values,
                value_labels: s.value_labels,
                clock: s.clock_ns,
                t0: column(all, |s| s.t0_ns),
                dt: column(all, |s| s.elapsed_ns),
                n: column(all, |s| s.iters),
                worker: column(all, |s| s.worker),
                cpu: column(all, |s| s.cpu),
                cpu_ns: column(all, |s| s.cpu_ns),
                labels: column(all, |s| s.labels.0),
                margin: column(all, |s| s.margin_ns),
                spans: Spans {
                    t0: column(spans, |s| s.t0_ns),
                    wall: column(spans, |s| s.wall_ns),
                    timed: column(spans, |s| s.timed_ns),
                    n: column(spans, |s| s.iters),
                    worker: column(spans, |s| s.worker),
                    labels: column(spans, |s| s.labels.0),
                },
                name: s.name,
            }
        }
    }

    impl From<Columns> for Series {
        fn from(c: Columns) -> Series {
            fn at<T: Copy + Default>(column: &[T], i: usize) -> T {
                column.get(i).copied().unwrap_or_default()
            }
            let samples = (0..c.dt.len())
                .map(|i| Sample {
                    worker: at(&c.worker, i),
                    cpu: at(&c.cpu, i),
                    t0_ns: at(&c.t0, i),
                    elapsed_ns: c.dt[i],
                    iters: at(&c.n, i),
                    cpu_ns: at(&c.cpu_ns, i),
                    labels: Labels(at(&c.labels, i)),
                    margin_ns: at(&c.margin, i),
                })
                .collect();
            let spans = (0..c.spans.t0.len())
                .map(|i| Span {
                    worker: at(&c.spans.worker, i),
                    t0_ns: c.spans.t0[i],
                    wall_ns: at(&c.spans.wall, i),
                    timed_ns: at(&c.spans.timed, i),
                    iters: at(&c.spans.n, i),
                    labels: Labels(at(&c.spans.labels, i)),
                })
                .collect();
            let Columns { name, iters, per_iter, clock, values, value_labels, .. } = c;
            Series { name, iters, per_iter, clock_ns: clock, samples, spans, values, value_labels }
        }
    }
}
