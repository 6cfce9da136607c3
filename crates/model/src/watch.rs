//! The results of a watch of the CPUs: how much of each core other threads use.

/// The state of a CPU in one second, or in all of them.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CpuShare {
    /// The CPU.
    pub cpu: u32,
    /// Probes that were not interrupted.
    pub probes: u64,
    /// The share of them that found a busy sibling thread; `None` without probes, or until the rate
    /// of the core is known.
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
    /// The CPUs, by number: the sums of all seconds.
    pub cpus: Vec<CpuShare>,
    /// Whether a core was ever seen alone.
    pub alone: bool,
    /// The CPU time that the watch took, as a share of one CPU.
    pub cost: f64,
}

impl Second {
    /// The share of all probes that found a busy sibling thread; `None` if nothing can be told.
    pub fn shared(&self) -> Option<f64> {
        shared(&self.cpus)
    }
}

impl Watched {
    /// The share of all probes that found a busy sibling thread; `None` if nothing can be told.
    pub fn shared(&self) -> Option<f64> {
        shared(&self.cpus)
    }
}

/// The share over all CPUs. Each probe counts once: a CPU that others kept from being probed says
/// less.
fn shared(cpus: &[CpuShare]) -> Option<f64> {
    let known = || cpus.iter().filter_map(|cpu| Some((cpu.shared?, cpu.probes as f64)));
    let probes: f64 = known().map(|(_, probes)| probes).sum();
    (probes > 0.0).then(|| known().map(|(shared, probes)| shared * probes).sum::<f64>() / probes)
}
