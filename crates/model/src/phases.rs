//! Where the wall time of a round goes. Not here: what a run makes of it (`groma-report`'s
//! `times`).

/// A part of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Start of the worker process, its job and its result on their way.
    Start,
    /// Set-up of the benchmark, and all of its work that belongs to no other phase.
    SetUp,
    /// The search for the number of iterations.
    Calibration,
    /// The proof that twice the iterations take twice the time.
    Scaling,
    /// Warm-up: turns of the loop that do not count.
    WarmUp,
    /// From the first sample of a measurement to its last, and windows of probes.
    Sampling,
    /// Proofs and clean-up after the last sample.
    Proofs,
    /// End of the worker process.
    End,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Phase; 8] = [
        Phase::Start,
        Phase::SetUp,
        Phase::Calibration,
        Phase::Scaling,
        Phase::WarmUp,
        Phase::Sampling,
        Phase::Proofs,
        Phase::End,
    ];

    /// The word used in views.
    pub const fn word(self) -> &'static str {
        match self {
            Phase::Start => "start",
            Phase::SetUp => "set-up",
            Phase::Calibration => "calibration",
            Phase::Scaling => "scaling",
            Phase::WarmUp => "warm-up",
            Phase::Sampling => "sampling",
            Phase::Proofs => "proofs",
            Phase::End => "end",
        }
    }
}

/// The wall time of each phase, in nanoseconds, in the order of [`Phase::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Phases([u64; Phase::ALL.len()]);

impl Phases {
    /// The time of one phase.
    pub const fn of(&self, phase: Phase) -> u64 {
        self.0[phase as usize]
    }

    /// Adds to one phase.
    pub fn add(&mut self, phase: Phase, ns: u64) {
        self.0[phase as usize] += ns;
    }

    /// Adds each phase of another measurement.
    pub fn append(&mut self, more: &Phases) {
        self.0.iter_mut().zip(more.0).for_each(|(sum, ns)| *sum += ns);
    }

    /// The time of all phases.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }
}
