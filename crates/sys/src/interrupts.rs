//! Interrupts of each kind on some CPUs, from `/proc/interrupts` and `/proc/softirqs`.

use crate::tree::Tree;
use std::collections::BTreeMap;

/// The file, below the root.
pub(crate) const PATH: &str = "proc/interrupts";

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

/// The head and the lines of numbered interrupts of `/proc/interrupts`, without the names of the
/// devices.
pub(crate) fn devices(text: &str) -> String {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split_ascii_whitespace().collect();
    let counts = |line: &str| {
        let (kind, cells) = line.split_once(':')?;
        kind.trim().parse::<u32>().ok()?;
        let cells: Vec<&str> = cells.split_ascii_whitespace().take(head.len()).collect();
        Some(format!("\n{}: {}", kind.trim(), cells.join(" ")))
    };
    head.join(" ") + &lines.filter_map(counts).collect::<String>()
}

/// The interrupts of devices that each CPU has served since the machine was started; empty where
/// the kernel does not say.
pub(crate) fn of_devices(tree: &Tree) -> BTreeMap<u32, u64> {
    let text = devices(&tree.text(PATH).unwrap_or_default());
    let mut lines = text.lines();
    let cpus: Vec<u32> = lines.next().into_iter().flat_map(|head| head.split(' ')).filter_map(number).collect();
    let mut served: BTreeMap<u32, u64> = cpus.iter().map(|cpu| (*cpu, 0)).collect();
    for line in lines {
        let cells = line.split_once(": ").map_or("", |(_, cells)| cells).split(' ');
        let counts: Vec<u64> = cells.map_while(|cell| cell.parse().ok()).collect();
        // What most CPUs have served is a timer or a counter of each CPU (on Arm these are
        // numbered like devices).
        if counts.iter().filter(|count| **count > 0).count() * 2 <= cpus.len() {
            cpus.iter().zip(&counts).for_each(|(cpu, count)| *served.entry(*cpu).or_default() += count);
        }
    }
    served
}

/// The number of a CPU in the head.
fn number(name: &str) -> Option<u32> {
    name.strip_prefix("CPU")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Files;

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
    fn names_of_devices_are_left_out() {
        assert_eq!(devices(TEXT), "CPU0 CPU2\n24: 1 7");
        assert_eq!(devices(&devices(TEXT)), devices(TEXT));
    }

    #[test]
    fn a_timer_of_every_cpu_is_no_device() {
        let of = |lines: &str| {
            let text = format!("CPU0 CPU2 CPU3 CPU9\n{lines}");
            let files = Files([(PATH.to_owned(), text)].into());
            of_devices(&Tree::recorded(&files)).into_iter().collect::<Vec<_>>()
        };
        let device = " 9: 51 0 49 0 IO-APIC 9-edge acpi\n";
        let timer = "11: 900 800 850 0 GICv3 27 Level arch_timer\n";
        let kernel = "LOC: 900 0 0 0 Local timer interrupts\n";
        assert_eq!(of(device), [(0, 51), (2, 0), (3, 49), (9, 0)]);
        assert_eq!(of(&[device, timer, kernel, device].concat()), [(0, 102), (2, 0), (3, 98), (9, 0)]);
        assert_eq!(of(""), [(0, 0), (2, 0), (3, 0), (9, 0)]);
        assert!(of_devices(&Tree::at(std::path::Path::new("/nowhere"))).is_empty());
    }

    #[test]
    fn unchanged_kinds_are_left_out() {
        let before: Counts = [("24".to_owned(), 7), ("LOC".to_owned(), 190)].into();
        let after: Counts = columns(TEXT, &[2]).into_iter().collect();
        assert_eq!(since(&after, &before), [("LOC".to_owned(), 10)].into());
    }

    #[test]
    fn a_count_that_wrapped_gives_a_small_increase() {
        let before: Counts = [("LOC".to_owned(), (1 << 32) - 5)].into();
        assert_eq!(since(&[("LOC".to_owned(), 2)].into(), &before), [("LOC".to_owned(), 7)].into());
    }

    /// From both files.
    #[test]
    fn interrupts_of_both_kinds_are_counted() {
        let all = crate::topology::allowed_cpus();
        let counts = of_cpus(&all);
        for path in ["/proc/interrupts", "/proc/softirqs"] {
            let Ok(text) = std::fs::read_to_string(path) else {
                println!("skipped: no {path}");
                continue;
            };
            let kinds = text.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
            let missing: Vec<String> = kinds.filter(|kind| !counts.contains_key(kind)).collect();
            // Some have one count for all CPUs, in the column of the first.
            assert!(missing.is_empty() || !all.contains(&0), "{path}: {missing:?}");
        }
        assert!(of_cpus(&[]).is_empty());
    }
}
