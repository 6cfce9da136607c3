//! The CPU quota of a run's own control groups. What it takes from a run is not the load of others.

use std::fmt;

/// A CPU quota, and what it cost.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CpuLimit {
    /// The CPUs' worth of time that it leaves; `None` if it is set outside the container and cannot
    /// be read.
    pub cpus: Option<f64>,
    /// The share of the time for which it held back tasks that wanted to run, from 0 to 1.
    pub held_back: f64,
}

impl CpuLimit {
    /// A smaller share is not worth a sentence: it makes no verdict worse.
    const MIN_SHARE: f64 = 0.005;

    /// Whether it cost something.
    pub fn is_felt(&self) -> bool {
        self.held_back >= CpuLimit::MIN_SHARE
    }
}

impl fmt::Display for CpuLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this control group ")?;
        match self.cpus {
            // Three digits tell any two quotas apart that make a difference.
            Some(1.0) => f.write_str("may use 1 CPU and ")?,
            Some(cpus) => write!(f, "may use {} CPUs and ", (cpus * 1000.0).round() / 1000.0)?,
            None => {}
        }
        let percent = self.held_back.clamp(0.0, 1.0) * 100.0;
        write!(f, "was held back for {percent:.*} % of the time", usize::from(percent < 9.95))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_sentence() {
        let of = |cpus, held_back| CpuLimit { cpus, held_back }.to_string();
        let held = "was held back for";
        assert_eq!(of(Some(0.1), 0.948), format!("this control group may use 0.1 CPUs and {held} 95 % of the time"));
        assert_eq!(of(Some(1.0), 0.0451), format!("this control group may use 1 CPU and {held} 4.5 % of the time"));
        assert_eq!(of(None, 0.0996), format!("this control group {held} 10 % of the time"));
        assert!(CpuLimit { cpus: None, held_back: 0.005 }.is_felt());
        assert!(!CpuLimit { cpus: Some(0.1), held_back: 0.004 }.is_felt());
    }
}
