//! What the hardware has reported as wrong since the boot: machine checks, throttling, errors of
//! memory. Counts only; a fact that the kernel does not count is absent (as in most virtual
//! machines), and 0 means that it counted none.

use super::Book;

const CPUS: &str = "sys/devices/system/cpu";
const CONTROLLERS: &str = "sys/devices/system/edac/mc";

pub(super) fn health(book: &mut Book) {
    let interrupts = book.tree.text("proc/interrupts").unwrap_or_default();
    // `MCP` beside it counts the regular looks, which are no errors.
    book.say_if("health.machine_checks", of_all_cpus(&interrupts, "MCE"));
    book.say_if("health.thermal_events", of_all_cpus(&interrupts, "TRM"));
    for (key, file) in [("core", "core_throttle_count"), ("package", "package_throttle_count")] {
        // The threads of a core and the CPUs of a package count the same events: the greatest
        // count is that of the worst one.
        let count = |cpu: u32| book.tree.number::<u64>(&format!("{CPUS}/cpu{cpu}/thermal_throttle/{file}"));
        let worst = book.tree.numbered(CPUS, "cpu").into_iter().filter_map(count).max();
        book.say_if(format!("health.throttled.{key}"), worst);
    }
    for (key, file) in [("corrected", "ce_count"), ("uncorrected", "ue_count")] {
        let count = |mc: u32| book.tree.number::<u64>(&format!("{CONTROLLERS}/mc{mc}/{file}"));
        let counts: Vec<u64> = book.tree.numbered(CONTROLLERS, "mc").into_iter().filter_map(count).collect();
        let sum = counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
        book.say_if(format!("health.memory_errors.{key}"), (!counts.is_empty()).then_some(sum));
    }
}

/// The sum over all CPUs of a line of `/proc/interrupts`: `MCE:  0  0   Machine check exceptions`.
fn of_all_cpus(interrupts: &str, name: &str) -> Option<u64> {
    let line = interrupts.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    let counts = line.split_whitespace().map_while(|word| word.parse::<u64>().ok());
    Some(counts.fold(0, u64::saturating_add))
}
