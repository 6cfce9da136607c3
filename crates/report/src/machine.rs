//! The description of a machine.

use groma_model::{CpuLimit, Fact, Machine, NoiseVerdict, parse_size, size_text};
use serde_json::{Map, Value as Json, json};

use crate::document::{Document, Table};
use crate::format::Format;
use crate::grid::{Align, Cell};
use crate::json::pretty;
use crate::style::{Style, columns};
use crate::units::{self, counted};
use groma_analysis::point::family;

/// The facts that numbers depend on most; `style.all` shows the others. A name that ends in a dot
/// stands for all facts below it.
pub(crate) const BRIEF: [&str; 34] = [
    "kernel.release",
    "kernel.cmdline",
    "kernel.preempt",
    "kernel.hz",
    "cpu.model",
    "cpu.core",
    "cpu.microcode",
    "cpu.allowed",
    "cpu.count",
    "cpu.cores",
    "cpu.packages",
    "cpu.smt",
    "cpu.classes",
    "cpu.driver",
    "cpu.governor",
    "cpu.boost",
    "cpu.cpuidle.governor",
    "cpu.cpuidle.states",
    "cache.l1d.size",
    "cache.l2.size",
    "cache.l3.size",
    "cache.l3.shared",
    "memory.total",
    "memory.available",
    "memory.thp",
    "memory.hugetlb",
    "numa.nodes",
    "numa.distances",
    "virt.",
    "clock.source",
    "security.indirect_branch",
    "cgroup.cpu.max",
    "cgroup.memory.max",
    "load.",
];

/// The machine in one line, its facts grouped by the first part of their keys, and the noise of the
/// host: the verdict, the share of time lost to others, and what its own CPU quota took.
pub fn machine<'a>(machine: &'a Machine, lost: Option<f64>, own: Option<CpuLimit>, style: &Style) -> Document<'a> {
    let mut out = Document::new(host(machine)).written(Format::Json, move || machine_json(machine, lost, own));
    if style.is_of_file() {
        let mut table = Table::new(&[("fact", Align::Left), ("value", Align::Left)], None);
        for fact in &machine.facts {
            table.row(vec![Cell::new(fact.key.as_str()), Cell::new(value(fact))]);
        }
        out.table(table);
        return out;
    }
    let is_brief =
        |key: &str| BRIEF.iter().any(|brief| *brief == key || (brief.ends_with('.') && key.starts_with(brief)));
    let shown: Vec<&Fact> = machine.facts.iter().filter(|fact| style.all || is_brief(&fact.key)).collect();
    let longest = shown.iter().map(|f| columns(rest(f))).max().unwrap_or(0).min(24);
    out.heading(host(machine));
    let mut done: Vec<&str> = Vec::new();
    for fact in &shown {
        let group = family(&fact.key);
        if done.contains(&group) {
            continue;
        }
        done.push(group);
        out.heading(group);
        for fact in shown.iter().filter(|f| family(&f.key) == group) {
            let value = value(fact);
            // An empty fact is shown by its name.
            let value = if value.trim().is_empty() { " ".to_owned() } else { value };
            out.labelled(format!("  {:<longest$}  ", rest(fact)), value);
        }
    }
    if let Some(lost) = lost {
        out.heading("noise");
        let word = NoiseVerdict::of_lost(lost).word();
        let text = format!("{word} ({} of the time lost)", units::percent(lost));
        out.labelled(format!("  {:<longest$}  ", "verdict"), text);
    }
    if let Some(own) = own.filter(CpuLimit::is_felt) {
        out.labelled(format!("  {:<longest$}  ", "limit"), own.to_string());
    }
    let more = machine.facts.len() - shown.len();
    if more > 0 {
        out.say(format!("{more} more facts: {} machine --all", style.program));
    }
    out
}

/// The facts as one flat object, from key to recorded text, so that two machines can be compared by
/// lines; and the noise. For a repeated key the last value counts.
fn machine_json(machine: &Machine, lost: Option<f64>, own: Option<CpuLimit>) -> String {
    let facts: Map<String, Json> =
        machine.facts.iter().map(|f| (f.key.clone(), Json::String(f.value.clone()))).collect();
    let noise = lost.map(|lost| json!({ "verdict": NoiseVerdict::of_lost(lost), "lost": lost }));
    let mut all = json!({ "facts": facts, "noise": noise });
    if let Some(own) = own {
        all["cpu_limit"] = json!(own);
    }
    pretty(&all)
}

/// The key without its group; the whole key if it has no parts.
fn rest(fact: &Fact) -> &str {
    fact.key.split_once('.').map_or(fact.key.as_str(), |(_, rest)| rest)
}

/// The value as displayed: sizes, which facts hold in bytes, get a unit.
pub(crate) fn value(fact: &Fact) -> String {
    let size = match fact.key.rsplit('.').next().unwrap_or_default() {
        "size" | "bytes" | "line" | "rss" => true,
        "total" | "available" | "free" | "limit" => family(&fact.key) == "memory",
        _ => false,
    };
    match fact.value.parse::<u64>() {
        Ok(bytes) if size => size_text(bytes),
        _ => fact.value.clone(),
    }
}

/// The model of the processor without trademark signs, and its core.
pub(crate) fn processor(machine: &Machine) -> Option<String> {
    let core = machine.get("cpu.core").map(|core| format!(" ({core})")).unwrap_or_default();
    machine.get("cpu.model").map(|model| format!("{}{core}", model.replace("(R)", "").replace("(TM)", "")))
}

/// `1 CPU`, `64 CPUs`.
pub(crate) fn cpus(machine: &Machine) -> Option<String> {
    machine.get("cpu.count")?.parse().ok().map(|n| counted(n, "CPU"))
}

/// The amount of memory.
pub(crate) fn memory(machine: &Machine) -> Option<String> {
    let bytes = parse_size(&machine.get("memory.total")?.replace(' ', "")).ok()?;
    Some(units::size(bytes as f64))
}

/// The name and the release of the kernel; empty if neither is known.
pub(crate) fn kernel(machine: &Machine) -> String {
    let known: Vec<&str> = ["kernel.name", "kernel.release"].into_iter().filter_map(|key| machine.get(key)).collect();
    known.join(" ")
}

/// The machine in one line, from the known facts.
pub(crate) fn host(machine: &Machine) -> String {
    let processor = processor(machine);
    let cpus = processor.is_some().then(|| cpus(machine)).flatten();
    let hypervisor = machine.get("virt.hypervisor").map(|hypervisor| format!("{hypervisor} guest"));
    let parts = [processor, cpus, memory(machine), Some(kernel(machine)), hypervisor];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let named = [machine.get("host.name").map(str::to_owned), Some(parts.join(", "))];
    named.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn at_80_and_120_columns() {
        let shown =
            |width| machine(&fixtures::machine(), Some(0.0091), None, &Style::plain(width)).text(&Style::plain(width));
        insta::assert_snapshot!(shown(80));
        insta::assert_snapshot!(shown(120));
    }

    #[test]
    fn as_json() {
        insta::assert_snapshot!(machine_json(&fixtures::machine(), Some(0.0091), None));
        assert_eq!(machine_json(&Machine::default(), None, None), "{\n  \"facts\": {},\n  \"noise\": null\n}\n");
    }
}
