//! Clock rates that the machine declares, from the CPU itself and from the kernel. Reports show
//! them beside measured rates.

pub use crate::arch::declared_counter;
use std::fs::read_to_string;

const CPUS: &str = "/sys/devices/system/cpu";

/// The declared clock of a core: its source, and hertz; the highest first where known.
pub fn declared_core(cpu: u32) -> Vec<(&'static str, f64)> {
    let of_kernel = of_kernel(|file| read_to_string(format!("{CPUS}/cpu{cpu}/cpufreq/{file}")).ok());
    let mut rates: Vec<_> = crate::arch::declared_core().into_iter().chain(of_kernel).collect();
    rates.sort_by(|a, b| b.1.total_cmp(&a.1));
    rates
}

/// What the kernel says, as `text` reads its files: kilohertz
/// (Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst).
fn of_kernel(text: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, f64)> {
    let rate = |name| {
        let khz = text(name)?.trim().parse::<f64>().ok()?;
        (khz > 0.0).then_some((name, khz * 1e3))
    };
    ["cpuinfo_max_freq", "base_frequency"].into_iter().filter_map(rate).collect()
}

/// The kernel's clock source: `tsc`, `kvm-clock`, `arch_sys_counter`.
pub fn clock_source() -> Option<String> {
    let text = read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok()?;
    Some(text.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_rates_are_rates() {
        for (name, hz) in declared_core(0).into_iter().chain(declared_counter()) {
            assert!((1e5..1e11).contains(&hz), "{name}: {hz}");
        }
        let core = declared_core(0);
        assert!(core.is_sorted_by(|a, b| a.1 >= b.1), "{core:?}");
        assert!(clock_source().is_none_or(|name| !name.contains(char::is_whitespace)));
    }

    #[test]
    fn the_kernel_declares_kilohertz() {
        let of = |max: &'static str, base: &'static str| {
            of_kernel(|file| match file {
                "cpuinfo_max_freq" => Some(max.to_owned()),
                "base_frequency" => Some(base.to_owned()),
                _ => None,
            })
        };
        assert_eq!(of("3800000\n", "2100000\n"), [("cpuinfo_max_freq", 3.8e9), ("base_frequency", 2.1e9)]);
        assert_eq!(of("0\n", "<unknown>\n"), []);
    }

    #[test]
    fn the_clock_source_is_one_of_those_available() {
        let available = read_to_string("/sys/devices/system/clocksource/clocksource0/available_clocksource");
        let (Ok(available), Some(source)) = (available, clock_source()) else {
            return println!("skipped: the kernel does not say");
        };
        assert!(available.split_whitespace().any(|name| name == source), "{source} of {available}");
    }
}
