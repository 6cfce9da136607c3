//! What a watch of the CPUs found: how much of each core others take.

/// What a CPU was in one second, or in all of them.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CpuShare {
    /// The CPU.
    pub cpu: u32,
    /// Probes that were not interrupted.
    pub probes: u64,
    /// The share of them that found a busy sibling thread; `None` where none was taken, or nothing
    /// slower than the best is known so far.
    pub shared: Option<f64>,
    /// The share of the time in which the host ran another guest, as the kernel counts it.
    pub stolen: Option<f64>,
    /// The core's clock, in hertz.
    pub core_hz: Option<f64>,
    /// The longest time without a probe that found the core its own, in seconds.
    pub longest_s: f64,
}

/// One second.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Second {
    /// Seconds since the watch began, at its end.
    pub at_s: f64,
    /// The CPUs, by number.
    pub cpus: Vec<CpuShare>,
    /// The share of the time in which some task of this machine waited for a CPU (PSI).
    pub waiting: Option<f64>,
}

/// All seconds together.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Watched {
    /// How long it was.
    pub wall_s: f64,
    /// The CPUs, by number, with the boundary as it was known in the end.
    pub cpus: Vec<CpuShare>,
    /// The CPU time that the watch took, as a share of one CPU.
    pub cost: f64,
}

impl Watched {
    /// The share of all probes that found a busy sibling thread; `None` where nothing slower than
    /// the best was seen.
    pub fn shared(&self) -> Option<f64> {
        let known = || self.cpus.iter().filter_map(|cpu| Some((cpu.shared?, cpu.probes as f64)));
        let probes: f64 = known().map(|(_, probes)| probes).sum();
        (probes > 0.0).then(|| known().map(|(shared, probes)| shared * probes).sum::<f64>() / probes)
    }
}
