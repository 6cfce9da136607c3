//! Models of composed costs, and the prices of what an application does: counts times measured
//! costs of the same machine. Data in `groma-benches`; `groma-analysis` computes with it.
//!
//! A composition models the operation, not its measurement. What it does not name is the rest.

use crate::page::Shown;

/// A composed cost and its model, as in CSE 221: an estimate from the hardware alone and a
/// prediction from measured primitives, to be compared with the measurement.
#[derive(Clone, Copy, Debug)]
pub struct Composition {
    /// The metric and the points that are explained. A parameter that it does not name may have any
    /// value.
    pub of: Shown,
    /// The minimum of the operation, as bandwidths and latencies of the hardware: bytes that are
    /// copied, lines that move between cores. Empty if there is no estimate.
    pub hardware: &'static [Part],
    /// The primitives.
    pub parts: &'static [Part],
    /// What the rest contains, in half a sentence.
    pub rest: &'static str,
}

/// A cost that is part of another one.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// How often.
    pub times: Times,
    /// Its role in the composed operation.
    pub what: &'static str,
    /// The measured cost of one.
    pub cost: Shown,
    /// A cost to subtract first, because it is not part of the operation.
    pub less: Option<Shown>,
}

/// How often a part occurs; for a bandwidth, the number of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Times {
    /// A constant.
    Fixed(f64),
    /// A factor times the parameter of the composed cost with this name.
    Param(f64, &'static str),
    /// A factor times the fact of the composed cost with this name.
    Fact(f64, &'static str),
    /// The count per iteration in this proof of the composed cost, plus a constant.
    Counted(&'static str, f64),
}

impl Part {
    /// A cost that occurs N times.
    pub const fn of(times: f64, what: &'static str, cost: Shown) -> Part {
        Part { times: Times::Fixed(times), what, cost, less: None }
    }

    /// The difference of two costs.
    pub const fn difference(times: f64, what: &'static str, cost: Shown, less: Shown) -> Part {
        Part { times: Times::Fixed(times), what, cost, less: Some(less) }
    }

    /// The part with another number of times.
    pub const fn times(self, times: Times) -> Part {
        Part { times, ..self }
    }
}

impl Composition {
    /// All metrics of its parts.
    pub fn shown(&self) -> impl Iterator<Item = &Shown> {
        self.hardware.iter().chain(self.parts).flat_map(|part| [Some(&part.cost), part.less.as_ref()]).flatten()
    }
}

/// The price of something that an application does.
#[derive(Clone, Copy, Debug)]
pub struct Price {
    /// Its name for people.
    pub what: &'static str,
    /// Its names in counts: those of system calls, of events of perf.
    pub names: &'static [&'static str],
    /// The cost of one.
    pub each: &'static [Part],
    /// The further cost of each byte; empty if bytes do not matter.
    pub byte: &'static [Part],
    /// The kind of time that it takes.
    pub spent: Spent,
}

/// The kind of time that a price is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// System time.
    Kernel,
    /// Waiting: no CPU time.
    Waiting,
    /// User time.
    User,
}
