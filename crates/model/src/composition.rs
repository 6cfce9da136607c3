//! What a composed cost consists of: measured costs of the same machine, each so many times. Data
//! beside the benchmark; `groma-analysis` computes with it.
//!
//! It is a model of the operation and says nothing of how it was measured. What it does not name is
//! the rest.

use crate::page::Shown;

/// A composed cost and its model, in the shape of CSE 221: an estimate from the hardware alone, a
/// prediction from primitives that were measured, and beside them the measurement.
#[derive(Clone, Copy, Debug)]
pub struct Composition {
    /// The metric that is explained, and at which of its points. Where it names no value of a
    /// parameter, points with any value are explained.
    pub of: Shown,
    /// What the operation cannot do without, as bandwidths and latencies of the hardware: bytes
    /// that are copied, lines that move from one core to another. Empty where nothing can be said.
    pub hardware: &'static [Part],
    /// The primitives.
    pub parts: &'static [Part],
    /// What the rest holds, in half a sentence.
    pub rest: &'static str,
}

/// A cost that is contained in another one.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// How often.
    pub times: Times,
    /// What it is in the operation that is explained.
    pub what: &'static str,
    /// The measured cost of one.
    pub cost: Shown,
    /// What is subtracted from the cost first, because it is no part of the operation.
    pub less: Option<Shown>,
}

/// How often a part occurs. Of a bandwidth it is the number of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Times {
    /// As often as this.
    Fixed(f64),
    /// This many times the parameter of the composed cost with this name.
    Param(f64, &'static str),
    /// This many times the fact of the composed cost with this name.
    Fact(f64, &'static str),
    /// As often as a proof of the composed cost counted it for each iteration, plus this number.
    Counted(&'static str, f64),
}

impl Part {
    /// A cost that occurs so often.
    pub const fn of(times: f64, what: &'static str, cost: Shown) -> Part {
        Part { times: Times::Fixed(times), what, cost, less: None }
    }

    /// What one cost has more than another.
    pub const fn difference(times: f64, what: &'static str, cost: Shown, less: Shown) -> Part {
        Part { times: Times::Fixed(times), what, cost, less: Some(less) }
    }

    /// The same so many times.
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
