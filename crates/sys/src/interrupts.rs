//! Interrupts of each kind on some CPUs, from `/proc/interrupts` and `/proc/softirqs`.

use std::collections::BTreeMap;

/// The counts by kind: `LOC`, `24`, `TIMER`.
pub type Counts = BTreeMap<String, u64>;

/// Hardware and software interrupts on these CPUs together, now; empty where neither file is
/// readable. Each file is read once, however many CPUs there are, because the kernel computes the
/// whole table for each reading.
pub fn of_cpus(cpus: &[u32]) -> Counts {
    ["/proc/interrupts", "/proc/softirqs"]
        .into_iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .flat_map(|text| columns(&text, cpus))
        .collect()
}

/// The increase since `before`, without kinds that did not change.
pub fn since(after: &Counts, before: &Counts) -> Counts {
    let added = |(kind, n): (&String, &u64)| {
        let before = before.get(kind).copied().unwrap_or(0);
        // The kernel counts in 32 bits (LOC wraps after 50 days at 1000 Hz).
        let n = n.checked_sub(before).unwrap_or_else(|| (n + (1 << 32)).saturating_sub(before));
        (n > 0).then(|| (kind.clone(), n))
    };
    after.iter().filter_map(added).collect()
}

/// The sum of the columns of these CPUs: the first line names the CPUs, each other one starts with
/// a kind and a colon.
fn columns(text: &str, cpus: &[u32]) -> Vec<(String, u64)> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default().split_ascii_whitespace();
    let wanted: Vec<bool> = head
        .map(|name| name.strip_prefix("CPU").and_then(|n| n.parse().ok()).is_some_and(|n| cpus.contains(&n)))
        .collect();
    if !wanted.contains(&true) {
        return Vec::new();
    }
    let row = |line: &str| {
        let (kind, cells) = line.split_once(':')?;
        let cells = cells.split_ascii_whitespace().zip(&wanted).filter(|(_, wanted)| **wanted);
        let mut counts = cells.map_while(|(cell, _)| cell.parse::<u64>().ok());
        let first = counts.next()?;
        Some((kind.trim().to_owned(), first + counts.sum::<u64>()))
    };
    lines.filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "           CPU0       CPU2\n 24:          1          7  IO-APIC  5-edge  ACPI:Ged\n\
                        LOC:       100        200   Local timer interrupts\nERR:          3\n";

    #[test]
    fn cpus_are_found_by_their_names_and_added_up() {
        let of = |cpus: &[u32]| columns(TEXT, cpus);
        assert_eq!(of(&[2]), [("24".to_owned(), 7), ("LOC".to_owned(), 200)]);
        assert_eq!(of(&[0]), [("24".to_owned(), 1), ("LOC".to_owned(), 100), ("ERR".to_owned(), 3)]);
        assert_eq!(of(&[2, 0, 9]), [("24".to_owned(), 8), ("LOC".to_owned(), 300), ("ERR".to_owned(), 3)]);
        assert!(of(&[1]).is_empty() && columns("", &[0]).is_empty());
    }

    #[test]
    fn only_what_moved_is_told() {
        let before: Counts = [("24".to_owned(), 7), ("LOC".to_owned(), 190)].into();
        let after: Counts = columns(TEXT, &[2]).into_iter().collect();
        assert_eq!(since(&after, &before), [("LOC".to_owned(), 10)].into());
    }

    #[test]
    fn a_count_that_went_round_is_no_huge_one() {
        let before: Counts = [("LOC".to_owned(), (1 << 32) - 5)].into();
        assert_eq!(since(&[("LOC".to_owned(), 2)].into(), &before), [("LOC".to_owned(), 7)].into());
    }
}
