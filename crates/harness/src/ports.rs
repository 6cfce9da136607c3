//! Whether the system has few local ports, which is why some calls of the network fail.

use std::fs::read_to_string;

/// Fewer ports than this run out during a benchmark with a worker group, or with ports in
/// TIME_WAIT; the default is 28232.
const FEW_PORTS: u32 = 1000;

/// The number of ports that the kernel chooses from, and what helps, if they are few.
pub(crate) fn few_ports() -> Option<String> {
    too_few(&read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?)
}

fn too_few(range: &str) -> Option<String> {
    let (first, last) = range.trim().split_once(|c: char| c.is_ascii_whitespace())?;
    let (first, last): (u32, u32) = (first.parse().ok()?, last.trim().parse().ok()?);
    let ports = last.saturating_add(1).saturating_sub(first);
    (ports < FEW_PORTS)
        .then(|| format!("{ports} local ports: sysctl -w net.ipv4.ip_local_port_range='32768 60999' gives more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_ports_are_counted() {
        assert!(too_few("40000\t40003\n").is_some_and(|told| told.starts_with("4 local ports")));
        assert!(too_few("40000 40998").is_some());
        assert_eq!((too_few("40000 40999"), too_few("32768\t60999\n"), too_few("x")), (None, None, None));
    }
}
