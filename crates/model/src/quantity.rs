//! Quantities, units, and the direction that is an improvement.

/// The physical kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Quantity {
    /// Time for one operation.
    Latency,
    /// Time per gigabyte moved (decimal: 10^9 bytes).
    #[cfg_attr(feature = "serde", serde(rename = "time_per_gigabyte"))]
    TimePerGigabyte,
    /// Bytes per second (decimal: 1 GB/s = 10^9 B/s).
    Bandwidth,
    /// Events per second.
    Rate,
    /// A count.
    Count,
    /// Bytes (binary multiples when printed: 64 KiB).
    Size,
    /// A quotient of two values with the same unit.
    Ratio,
    /// Energy.
    Energy,
    /// Energy per second.
    Power,
}

/// The SI unit in which values are stored. Views choose readable multiples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Unit {
    /// Seconds.
    #[cfg_attr(feature = "serde", serde(rename = "s"))]
    Seconds,
    /// Seconds per gigabyte (10^9 bytes).
    #[cfg_attr(feature = "serde", serde(rename = "s/GB"))]
    SecondsPerGigabyte,
    /// Bytes per second.
    #[cfg_attr(feature = "serde", serde(rename = "B/s"))]
    BytesPerSecond,
    /// Per second.
    #[cfg_attr(feature = "serde", serde(rename = "1/s"))]
    PerSecond,
    /// Bytes.
    #[cfg_attr(feature = "serde", serde(rename = "B"))]
    Bytes,
    /// Joules.
    #[cfg_attr(feature = "serde", serde(rename = "J"))]
    Joules,
    /// Watts.
    #[cfg_attr(feature = "serde", serde(rename = "W"))]
    Watts,
    /// Dimensionless.
    #[cfg_attr(feature = "serde", serde(rename = "1"))]
    One,
}

/// Which direction is an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Better {
    /// A smaller value is better.
    Lower,
    /// A larger value is better.
    Higher,
    /// Neither: the value describes something but does not rank it (a clock step, a cache size).
    Neither,
}

impl Quantity {
    /// The unit in which values of this quantity are stored.
    pub const fn unit(self) -> Unit {
        match self {
            Quantity::Latency => Unit::Seconds,
            Quantity::TimePerGigabyte => Unit::SecondsPerGigabyte,
            Quantity::Bandwidth => Unit::BytesPerSecond,
            Quantity::Rate => Unit::PerSecond,
            Quantity::Count | Quantity::Ratio => Unit::One,
            Quantity::Size => Unit::Bytes,
            Quantity::Energy => Unit::Joules,
            Quantity::Power => Unit::Watts,
        }
    }

    /// Whether a value is work per second, the inverse of a time per iteration.
    pub const fn is_rate(self) -> bool {
        matches!(self, Quantity::Bandwidth | Quantity::Rate)
    }

    /// The default direction of improvement.
    pub const fn better(self) -> Better {
        match self {
            Quantity::Latency | Quantity::TimePerGigabyte | Quantity::Energy | Quantity::Power => Better::Lower,
            Quantity::Bandwidth | Quantity::Rate => Better::Higher,
            Quantity::Count | Quantity::Size | Quantity::Ratio => Better::Neither,
        }
    }

    /// The word used in records and help.
    pub const fn word(self) -> &'static str {
        match self {
            Quantity::Latency => "latency",
            Quantity::TimePerGigabyte => "time_per_gigabyte",
            Quantity::Bandwidth => "bandwidth",
            Quantity::Rate => "rate",
            Quantity::Count => "count",
            Quantity::Size => "size",
            Quantity::Ratio => "ratio",
            Quantity::Energy => "energy",
            Quantity::Power => "power",
        }
    }
}

impl Unit {
    /// The symbol used in records: `s`, `s/GB`, `B/s`, `1/s`, `B`, `J`, `W` or `1`.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::SecondsPerGigabyte => "s/GB",
            Unit::BytesPerSecond => "B/s",
            Unit::PerSecond => "1/s",
            Unit::Bytes => "B",
            Unit::Joules => "J",
            Unit::Watts => "W",
            Unit::One => "1",
        }
    }
}
