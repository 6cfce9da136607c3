//! How often each kind of interrupt came to one CPU, as `/proc/interrupts` and `/proc/softirqs` count them.

use std::collections::BTreeMap;

/// The counts of one CPU by kind: `LOC`, `24`, `TIMER`.
pub type Counts = BTreeMap<String, u64>;

/// Of hardware and of the kernel's own, at this moment; empty where neither file can be read.
pub fn of_cpu(cpu: u32) -> Counts {
    ["/proc/interrupts", "/proc/softirqs"]
        .into_iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .flat_map(|text| column(&text, cpu))
        .collect()
}

/// What came after `before`, kinds that did not move left out.
pub fn since(after: &Counts, before: &Counts) -> Counts {
    let added = |(kind, n): (&String, &u64)| {
        let n = n.wrapping_sub(before.get(kind).copied().unwrap_or(0));
        (n > 0).then(|| (kind.clone(), n))
    };
    after.iter().filter_map(added).collect()
}

/// The column of a CPU: the first line names the CPUs, each other one begins with a kind and a colon.
fn column(text: &str, cpu: u32) -> Vec<(String, u64)> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let name = format!("CPU{cpu}");
    let Some(index) = head.split_ascii_whitespace().position(|c| c == name) else { return Vec::new() };
    let cell = |line: &str| {
        let (kind, cells) = line.split_once(':')?;
        let count = cells.split_ascii_whitespace().nth(index)?.parse().ok()?;
        Some((kind.trim().to_owned(), count))
    };
    lines.filter_map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "           CPU0       CPU2\n 24:          1          7  IO-APIC  5-edge  ACPI:Ged\n\
                        LOC:       100        200   Local timer interrupts\nERR:          3\n";

    #[test]
    fn a_cpu_is_found_by_its_name() {
        assert_eq!(column(TEXT, 2), [("24".to_owned(), 7), ("LOC".to_owned(), 200)]);
        assert_eq!(column(TEXT, 0), [("24".to_owned(), 1), ("LOC".to_owned(), 100), ("ERR".to_owned(), 3)]);
        assert!(column(TEXT, 1).is_empty() && column("", 0).is_empty());
    }

    #[test]
    fn only_what_moved_is_told() {
        let before: Counts = [("24".to_owned(), 7), ("LOC".to_owned(), 190)].into();
        let after: Counts = column(TEXT, 2).into_iter().collect();
        assert_eq!(since(&after, &before), [("LOC".to_owned(), 10)].into());
    }
}
