//! The results of a watch of the CPUs: how much of each core other threads use.

/// The state of a CPU in one second, or in all of them.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CpuShare {
    /// The CPU.
    pub cpu: u32,
    /// Probes that were not interrupted.
    pub probes: u64,
    /// The share of them that found a busy sibling thread; `None` without probes, or until a slower
    /// mode was seen.
    pub shared: Option<f64>,
    /// The share of the time in which the host ran another guest, as the kernel counts it.
    pub stolen: Option<f64>,
    /// The core's clock, in hertz.
    pub core_hz: Option<f64>,
    /// The longest series of probes that found the core shared, in seconds.
    pub longest_s: f64,
}

/// One second.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Second {
    /// Its end, in seconds since the watch began.
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
    /// Length of the watch, in seconds.
    pub wall_s: f64,
    /// The CPUs, by number, judged by the final boundary.
    pub cpus: Vec<CpuShare>,
    /// The CPU time that the watch took, as a share of one CPU.
    pub cost: f64,
}

impl Watched {
    /// The share of all probes that found a busy sibling thread; `None` if no slower mode was seen.
    pub fn shared(&self) -> Option<f64> {
        let known = || self.cpus.iter().filter_map(|cpu| Some((cpu.shared?, cpu.probes as f64)));
        let probes: f64 = known().map(|(_, probes)| probes).sum();
        (probes > 0.0).then(|| known().map(|(shared, probes)| shared * probes).sum::<f64>() / probes)
    }
}
