//! What the spins of the preflight say of the noise: which part of what they lost went to others,
//! and which to the CPU quota of our own control groups.

use super::Spin;
use crate::model::{CpuLimit, Noise};
use crate::sys::facts::CpuAccount;

/// The quota of this process's own control groups and the share of the time that it took from the
/// spins; `None` without one. The spinners lacked a CPU for `lacked_ns` together. What the quota
/// held back is the same part of that as of what the spins lost: spins are shorter than that time,
/// and a period of a quota may be longer than a spin.
pub(super) fn own_limit(
    before: CpuAccount,
    after: CpuAccount,
    lacked_ns: u64,
    spins: &[(u32, Spin)],
) -> Option<CpuLimit> {
    let held_ns = after.held_back_ns.unwrap_or(0).saturating_sub(before.held_back_ns.unwrap_or(0));
    let part = (held_ns as f64 / lacked_ns.max(1) as f64).min(1.0);
    let all = spins.iter().map(|(_, spin)| lost(spin)).sum::<f64>() / spins.len().max(1) as f64;
    (after.cpus.is_some() || held_ns > 0).then_some(CpuLimit { cpus: after.cpus, held_back: part * all })
}

/// What spinning on all CPUs at once says of the noise, given the share of the time that each lost
/// to others; `None` where no CPU could be watched.
pub(super) fn noise(spins: &[(u32, Spin)], lost: &[(u32, f64)]) -> Option<Noise> {
    let lost: Vec<f64> = lost.iter().map(|(_, lost)| *lost).collect();
    Some(Noise {
        lost: lost.iter().sum::<f64>() / lost.len() as f64,
        worst_cpu_lost: lost.iter().copied().reduce(f64::max)?,
        longest_gap_ns: spins.iter().map(|(_, spin)| spin.longest_ns).max()?,
    })
}

/// The share of the time that a spin lost.
fn lost(spin: &Spin) -> f64 {
    spin.lost_ns as f64 / spin.wall_ns.max(1) as f64
}

/// The share of the time that each spin lost to others: without the part that the quota of our own
/// control groups took, which the kernel counts for all CPUs together.
pub(super) fn lost_to_others(spins: &[(u32, Spin)], limit: Option<CpuLimit>) -> Vec<(u32, f64)> {
    let all = spins.iter().map(|(_, spin)| lost(spin)).sum::<f64>() / spins.len().max(1) as f64;
    let part = limit.filter(|_| all > 0.0).map_or(0.0, |limit| limit.held_back / all);
    spins.iter().map(|(cpu, spin)| (*cpu, lost(spin) * (1.0 - part))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_is_the_mean_over_cpus_and_names_the_worst() {
        let spin = |lost_ns, longest_ns| (0, Spin { wall_ns: 1000, lost_ns, longest_ns, ..Spin::default() });
        let of = |spins: &[(u32, Spin)], limit| noise(spins, &lost_to_others(spins, limit));
        let spins = [spin(10, 7), spin(200, 5), spin(0, 0)];
        assert_eq!(of(&spins, None), Some(Noise { lost: 0.07, worst_cpu_lost: 0.2, longest_gap_ns: 7 }));
        assert_eq!(of(&[], None), None);
        // The spinners lacked a CPU for 400 ns, 300 of them for the quota: so three quarters of
        // what each lost.
        let at = |ns| CpuAccount { cpus: Some(0.5), held_back_ns: Some(ns) };
        let limit = own_limit(at(1000), at(1300), 400, &spins);
        let held_back = limit.expect("a quota").held_back;
        assert!((held_back - 0.07 * 0.75).abs() < 1e-12, "{held_back}");
        let others = of(&spins, limit).expect("three spins");
        assert!((others.lost + held_back - 0.07).abs() < 1e-12, "{others:?}");
        assert!((others.worst_cpu_lost - 0.05).abs() < 1e-12, "{others:?}");
        // Without a quota there is no limit; one that is set outside the container cannot be read.
        let unread = |ns| CpuAccount { cpus: None, held_back_ns: Some(ns) };
        assert_eq!(own_limit(unread(7), unread(7), 400, &spins), None);
        let above = own_limit(unread(0), unread(9000), 400, &spins).expect("it held something back");
        assert!(above.cpus.is_none() && (above.held_back - 0.07).abs() < 1e-12, "{above:?}");
        assert!(of(&spins, Some(above)).is_some_and(|noise| noise.lost.abs() < 1e-12));
    }
}
