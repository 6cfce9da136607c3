//! How busy each CPU is, from `/proc/stat`.

/// The time that a CPU had since the machine was started, in ticks of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTime {
    /// The kernel's number.
    pub cpu: u32,
    /// With tasks, interrupts, or taken by the host.
    pub busy: u64,
    /// All of it.
    pub total: u64,
}

/// The times of the CPUs that are online, by number; empty where `/proc/stat` does not say.
pub fn of_cpus() -> Vec<CpuTime> {
    std::fs::read_to_string("/proc/stat").map(|text| parse(&text)).unwrap_or_default()
}

fn parse(text: &str) -> Vec<CpuTime> {
    let of_line = |line: &str| {
        let mut fields = line.strip_prefix("cpu")?.split_ascii_whitespace();
        let cpu = fields.next()?.parse().ok()?;
        // user nice system idle iowait irq softirq steal; what follows is part of the first two.
        let times: Vec<u64> = fields.take(8).map_while(|field| field.parse().ok()).collect();
        let idle: u64 = times.iter().skip(3).take(2).sum();
        let total: u64 = times.iter().sum();
        Some(CpuTime { cpu, busy: total - idle, total })
    };
    // "cpu " is the sum of all. The CPUs come first, and the line of interrupts is long.
    text.lines()
        .take_while(|line| line.starts_with("cpu"))
        .filter(|line| !line.starts_with("cpu "))
        .filter_map(of_line)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_waiting_is_not_busy_and_stolen_is() {
        let text =
            "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 4 1000 500 8 16 32 64 128\ncpu12 5 0 0 7\nintr 5\ncpu3 1 1 1 1\n";
        let cpu = |cpu, busy, total| CpuTime { cpu, busy, total };
        assert_eq!(parse(text), [cpu(0, 63, 1563), cpu(12, 5, 12)]);
        assert!(parse("").is_empty());
    }

    #[test]
    fn every_cpu_that_may_be_used_has_a_time() {
        let all = of_cpus();
        if all.is_empty() {
            return println!("skipped: /proc/stat does not say");
        }
        let numbers: Vec<u32> = all.iter().map(|time| time.cpu).collect();
        assert!(numbers.is_sorted() && all.iter().all(|time| time.busy <= time.total), "{all:?}");
        assert!(crate::topology::allowed_cpus().iter().all(|cpu| numbers.contains(cpu)), "{numbers:?}");
    }
}
