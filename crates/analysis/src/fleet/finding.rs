//! What of a host lies beyond its group: the metric or area, and by how much.

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A metric, by its index.
    Metric(u32),
    /// An area, by its index.
    Area(usize),
}

/// A subject of a host that lies beyond its group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// What.
    pub subject: Subject,
    /// How many times as slow as the median of the group, above 1.
    pub times: f64,
    /// The interval of `times`, from that of the host's own record.
    pub interval: [f64; 2],
    /// The probability of such a value by chance, adjusted for the subjects of this host.
    pub p: f64,
}
