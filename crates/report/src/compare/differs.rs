//! Differences between two machines in words: common names where there are any, consequences of
//! another difference left out, and the rest by the keys of the facts.

use groma_analysis::compare::environment::Difference;
use groma_model::{Fact, parse_size};

use super::difference;
use crate::machine;
use crate::style::Style;
use crate::units;

/// The text of a fact is cut to this many columns per side.
const FACT: usize = 40;
/// Vulnerabilities that are named; the rest are counted.
const NAMED: usize = 3;

/// Where the kernel reports the mitigation of each vulnerability of the processor.
const MITIGATION: &str = "security.vulnerabilities.";

/// Facts with a common name.
const WORDS: [(&str, &str); 25] = [
    ("clock.source", "clock source"),
    ("cpu.boost", "boost"),
    ("cpu.cores", "cores"),
    ("cpu.count", "CPUs"),
    ("cpu.cpuidle.governor", "idle governor"),
    ("cpu.cpuidle.states", "idle states"),
    ("cpu.driver", "frequency driver"),
    ("cpu.family", "CPU family"),
    ("cpu.governor", "governor"),
    ("cpu.microcode", "microcode"),
    ("cpu.smt", "SMT"),
    ("cpu.stepping", "stepping"),
    ("host.machine", "architecture"),
    ("kernel.cmdline", "kernel command line"),
    ("kernel.hz", "timer interrupts per second"),
    ("kernel.preempt", "preemption"),
    ("kernel.release", "kernel"),
    ("kernel.version", "kernel build"),
    ("memory.swap", "swap"),
    ("memory.thp", "huge pages"),
    ("memory.total", "memory"),
    ("security.indirect_branch", "indirect branch speculation"),
    ("virt.container", "container"),
    ("virt.hypervisor", "hypervisor"),
    ("work_dir.fs", "file system"),
];

/// The differences as parts of a sentence, the most likely cause first: `CPU Zen 5 → Emerald
/// Rapids`, `kernel 6.12 → 6.18`.
pub(super) fn in_words(found: &[Difference], style: &Style) -> Vec<String> {
    let differs = |key: &str| found.iter().find(|d| d.key == key);
    let processor = differs("cpu.core").filter(|d| d.values.iter().all(Option::is_some)).or(differs("cpu.model"));
    let follows = |d: &Difference| match d.key.as_str() {
        "cpu.model" | "cpu.core" => processor.is_some_and(|shown| shown.key != d.key),
        "cpu.family" | "cpu.stepping" | "cpu.vendor" | "cpu.flags" | "cpu.microcode" => processor.is_some(),
        "cpu.online" | "cpu.allowed" => differs("cpu.count").is_some(),
        // The line of each side shows it.
        "host.name" => true,
        "kernel.version" => differs("kernel.release").is_some(),
        // Reference machines do not record theirs, which is not a difference.
        "kernel.cmdline" => d.values.iter().any(Option::is_none),
        key => key.starts_with("cache.") && processor.is_some(),
    };
    let mitigations: Vec<&Difference> = found.iter().filter(|d| d.key.starts_with(MITIGATION)).collect();
    let mut parts = Vec::new();
    for difference in found.iter().filter(|d| !follows(d)) {
        if !difference.key.starts_with(MITIGATION) {
            parts.push(self::part(difference, style));
        } else if std::ptr::eq(mitigations[0], difference) {
            parts.push(of_mitigations(&mitigations, style));
        }
    }
    parts
}

/// `governor powersave → performance`.
fn part(found: &Difference, style: &Style) -> String {
    let word = WORDS.iter().find(|(key, _)| *key == found.key).map(|(_, word)| *word);
    let word = word.or(matches!(found.key.as_str(), "cpu.model" | "cpu.core").then_some("CPU"));
    let shown = |text: &String| match parse_size(&text.replace(' ', "")) {
        Ok(bytes) if found.key == "memory.total" => units::size(bytes as f64),
        _ => machine::value(&Fact::new(found.key.as_str(), text)),
    };
    let values = found.values.each_ref().map(|text| text.as_ref().map(shown));
    let named = Difference { key: word.unwrap_or(&found.key).to_owned(), values };
    difference(&named, FACT, style)
}

/// `mitigation of retbleed: Not affected → Vulnerable`; for several only their names.
fn of_mitigations(found: &[&Difference], style: &Style) -> String {
    let name = |d: &Difference| d.key.trim_start_matches(MITIGATION).replace('_', " ");
    if let [one] = found {
        let named = Difference { key: format!("mitigation of {}:", name(one)), values: one.values.clone() };
        return difference(&named, FACT, style);
    }
    let names: Vec<String> = found.iter().take(NAMED).map(|d| name(d)).collect();
    match found.len().saturating_sub(NAMED) {
        0 => format!("mitigations of {}", names.join(", ")),
        more => format!("mitigations of {} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(found: &[(&str, &str, &str)]) -> String {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let difference =
            |(key, a, b): &(&str, &str, &str)| Difference { key: (*key).to_owned(), values: [text(a), text(b)] };
        let all: Vec<Difference> = found.iter().map(difference).collect();
        in_words(&all, &Style::plain(80)).join("; ")
    }

    #[test]
    fn common_names_are_used_and_consequences_left_out() {
        let other_machine = [
            ("host.name", "db1", "db2"),
            ("cpu.model", "AMD EPYC", "Intel(R) Xeon(R) Processor"),
            ("cpu.core", "Zen 5", "Emerald Rapids"),
            ("kernel.release", "6.12", "6.18"),
            ("kernel.version", "#1", "#2"),
            ("security.vulnerabilities.indirect_target_selection", "Not affected", "Vulnerable"),
            ("security.vulnerabilities.retbleed", "Not affected", "Vulnerable"),
            ("kernel.cmdline", "", "quiet"),
            ("cpu.governor", "powersave", "performance"),
            ("cpu.family", "26/2", "6/207"),
            ("cpu.stepping", "1", "2"),
            ("memory.total", "24684092 KiB", "49368184 KiB"),
            ("cache.l3.size", "32 MiB", "260 MiB"),
            ("net.somaxconn", "128", "4096"),
        ];
        assert_eq!(
            words(&other_machine),
            "CPU Zen 5 → Emerald Rapids; kernel 6.12 → 6.18; mitigations of indirect target selection, retbleed; \
             governor powersave → performance; memory 23.5 GiB → 47.1 GiB; net.somaxconn 128 → 4096"
        );
        // Within one processor model, only stepping and microcode differ.
        let same_model = [("cpu.stepping", "1", "2"), ("cpu.microcode", "0x1", "0x2"), ("kernel.version", "#1", "#2")];
        assert_eq!(words(&same_model), "stepping 1 → 2; microcode 0x1 → 0x2; kernel build #1 → #2");
        let one = [("security.vulnerabilities.retbleed", "Not affected", "Vulnerable")];
        assert_eq!(words(&one), "mitigation of retbleed: Not affected → Vulnerable");
        // A core known on one side only cannot name both.
        let unknown = [("cpu.model", "AMD EPYC", "New"), ("cpu.core", "Zen 5", "")];
        assert_eq!(words(&unknown), "CPU AMD EPYC → New");
    }
}
