//! The CPU: its name, clocking, idle states, and the caches it declares.

use super::cpu_names;
use super::{Book, binary, each_once};
use crate::cpu_list::format_cpus;
use crate::topology::{Cache, Topology};
use std::collections::BTreeSet;

const CPUS: &str = "sys/devices/system/cpu";

/// Flags of x86 and features of Arm that affect what a benchmark does or which instruction a kernel
/// or libc chooses.
const RELEVANT_FLAGS: [&str; 40] = [
    "aes",
    "amx_tile",
    "asimd",
    "atomics",
    "avx",
    "avx2",
    "avx512f",
    "bf16",
    "bmi2",
    "clflushopt",
    "clwb",
    "cldemote",
    "crc32",
    "erms",
    "fsgsbase",
    "fsrm",
    "hypervisor",
    "i8mm",
    "invpcid",
    "la57",
    "lrcpc",
    "mba",
    "movdir64b",
    "mte",
    "pcid",
    "pdpe1gb",
    "popcnt",
    "rdpid",
    "rdtscp",
    "rtm",
    "sha_ni",
    "sme",
    "sse4_2",
    "sve",
    "sve2",
    "uscat",
    "vaes",
    "waitpkg",
    "xsaveopt",
    "xsaves",
];

pub(super) fn cpu(book: &mut Book, topology: &Topology) {
    // The first CPU's entry is enough; some kernels take long for each.
    let text = book.tree.head("proc/cpuinfo", 16 << 10).unwrap_or_default();
    let info = CpuInfo::parse(&text);
    book.say_if("cpu.model", info.model().or_else(|| board_cpu(book)));
    book.say_if("cpu.vendor", info.get(&["vendor_id", "CPU implementer", "mvendorid"]));
    book.say_if("cpu.family", info.family());
    book.say_if("cpu.core", info.core());
    book.say_if("cpu.stepping", info.get(&["stepping", "CPU revision", "mimpid", "revision"]));
    book.say_if("cpu.microcode", info.get(&["microcode"]));
    book.say_if("cpu.isa", info.get(&["isa"]));
    book.say("cpu.flags", info.relevant_flags());

    book.copy("cpu.online", &format!("{CPUS}/online"));
    book.say("cpu.allowed", format_cpus(&topology.usable()));
    book.say("cpu.count", topology.usable().len());
    let distinct = |of: fn(&crate::topology::Cpu) -> u32| topology.cpus().iter().map(of).collect::<BTreeSet<_>>().len();
    if book.tree.exists(&format!("{CPUS}/cpu{}/topology", topology.usable().first().unwrap_or(&0))) {
        book.say("cpu.cores", distinct(|cpu| cpu.core));
        book.say("cpu.packages", distinct(|cpu| cpu.package));
    }
    book.say("cpu.classes", classes(topology));
    book.say("cpu.topology_notes", topology.notes().join("; "));
    book.copy("cpu.smt", &format!("{CPUS}/smt/control"));
    book.copy("cpu.isolated", &format!("{CPUS}/isolated"));
    frequency(book);
    idle(book);
}

/// The CPUs of each class of core of a hybrid machine, the most capable first.
fn classes(topology: &Topology) -> String {
    let list = |class: u32, name: &String| {
        let of_class = topology.cpus().iter().filter(|cpu| cpu.class == class);
        let cpus = of_class.map(|cpu| cpu.id).collect::<Vec<_>>();
        (!cpus.is_empty()).then(|| format!("{name} {}", format_cpus(&cpus)))
    };
    (0..).zip(topology.classes()).filter_map(|(class, name)| list(class, name)).collect::<Vec<_>>().join(" / ")
}

fn frequency(book: &mut Book) {
    let policies: Vec<String> =
        book.tree.names(&format!("{CPUS}/cpufreq")).into_iter().filter(|name| name.starts_with("policy")).collect();
    let all = |book: &Book, file: &str, write: fn(String) -> String| {
        each_once(
            policies.iter().filter_map(|policy| book.tree.text(&format!("{CPUS}/cpufreq/{policy}/{file}"))).map(write),
        )
    };
    let mhz = |khz: String| khz.parse::<u64>().map_or(khz, |khz| format!("{} MHz", khz / 1000));
    book.say("cpu.driver", all(book, "scaling_driver", |text| text));
    book.say("cpu.governor", all(book, "scaling_governor", |text| text));
    book.say("cpu.preference", all(book, "energy_performance_preference", |text| text));
    book.say("cpu.min", all(book, "scaling_min_freq", mhz));
    book.say("cpu.max", all(book, "scaling_max_freq", mhz));
    let boost = book.tree.text(&format!("{CPUS}/cpufreq/boost"));
    let no_turbo = || {
        let text = book.tree.text(&format!("{CPUS}/intel_pstate/no_turbo"))?;
        Some(if text == "0" { "1" } else { "0" }.to_owned())
    };
    book.say_if("cpu.boost", boost.or_else(no_turbo).map(|on| if on == "0" { "off" } else { "on" }));
    book.copy("cpu.intel_pstate", &format!("{CPUS}/intel_pstate/status"));
    book.copy("cpu.amd_pstate", &format!("{CPUS}/amd_pstate/status"));
}

fn idle(book: &mut Book) {
    book.copy("cpu.cpuidle.driver", &format!("{CPUS}/cpuidle/current_driver"));
    // Before Linux 5.8 only the second was readable.
    let governor = book.tree.text(&format!("{CPUS}/cpuidle/current_governor"));
    book.say_if(
        "cpu.cpuidle.governor",
        governor.or_else(|| book.tree.text(&format!("{CPUS}/cpuidle/current_governor_ro"))),
    );
    let states = book.tree.names(&format!("{CPUS}/cpu0/cpuidle"));
    let state = |name: &String| {
        let file = |file: &str| book.tree.text(&format!("{CPUS}/cpu0/cpuidle/{name}/{file}"));
        let off = if file("disable").is_some_and(|text| text != "0") { " (disabled)" } else { "" };
        let latency = file("latency").map(|us| format!(" {us} us")).unwrap_or_default();
        Some(format!("{}{latency}{off}", file("name")?))
    };
    let states: Vec<String> = states.iter().filter_map(state).collect();
    book.say("cpu.cpuidle.states", states.join(", "));
    let haltpoll = "sys/module/haltpoll/parameters";
    for name in book.tree.names(haltpoll) {
        let Some(short) = name.strip_prefix("guest_halt_poll_") else { continue };
        book.copy(format!("cpu.haltpoll.{short}"), &format!("{haltpoll}/{name}"));
    }
    book.copy("cpu.kvm_halt_poll_ns", "sys/module/kvm/parameters/halt_poll_ns");
}

pub(super) fn caches(book: &mut Book, topology: &Topology) {
    let names: Vec<String> = topology.caches().iter().map(Cache::name).collect();
    for name in names.iter().enumerate().filter(|(at, name)| !names[..*at].contains(name)).map(|(_, name)| name) {
        let of_name: Vec<&Cache> = topology.caches().iter().filter(|cache| cache.name() == *name).collect();
        let each = |of: fn(&Cache) -> Option<String>| each_once(of_name.iter().filter_map(|cache| of(cache)));
        book.say(format!("cache.{name}.size"), each(|cache| cache.size.map(binary)));
        book.say(format!("cache.{name}.line"), each(|cache| cache.line.map(|bytes| binary(bytes.into()))));
        book.say(format!("cache.{name}.ways"), each(|cache| cache.ways.map(|ways| ways.to_string())));
        // On a large machine the first CPU's cache stands for all.
        book.say_if(format!("cache.{name}.shared"), of_name.first().map(|cache| format_cpus(&cache.shared)));
        book.say(format!("cache.{name}.count"), of_name.len());
    }
}

/// The first entry of `/proc/cpuinfo`, as the architecture writes it.
pub(super) struct CpuInfo<'a> {
    fields: Vec<(&'a str, &'a str)>,
}

impl<'a> CpuInfo<'a> {
    pub(super) fn parse(text: &'a str) -> CpuInfo<'a> {
        let lines = text.lines().take_while(|line| !line.trim().is_empty());
        let fields = lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name.trim(), value.trim()));
        CpuInfo { fields: fields.filter(|(_, value)| !value.is_empty()).collect() }
    }

    /// The first of these names that has a value.
    pub(super) fn get(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| {
            self.fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
        })
    }

    /// The name of the CPU: its own, or from the numbers by which Arm identifies its cores.
    pub(super) fn model(&self) -> Option<String> {
        let named = self.get(&["model name", "cpu model", "cpu", "uarch"]).map(str::to_owned);
        named.or_else(|| {
            let number =
                |name| self.get(&[name]).and_then(|text| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok());
            let (implementer, part) = (number("CPU implementer")?, number("CPU part")?);
            let unknown = || format!("implementer {implementer:#x} part {part:#x}");
            Some(cpu_names::arm(implementer, part).map_or_else(unknown, str::to_owned))
        })
    }

    /// Family and model number of x86, part and variant of Arm, architecture of RISC-V.
    pub(super) fn family(&self) -> Option<String> {
        let both = |major: &str, minor: &str| match (self.get(&[major]), self.get(&[minor])) {
            (Some(major), Some(minor)) => Some(format!("{major}/{minor}")),
            (major, _) => major.map(str::to_owned),
        };
        both("cpu family", "model").or_else(|| both("CPU part", "CPU variant")).or_else(|| both("marchid", "mmu"))
    }

    /// The name of an x86 core, which the model names of virtual CPUs hide; `None` where its
    /// numbers and its instructions contradict each other.
    pub(super) fn core(&self) -> Option<String> {
        let number = |name| self.get(&[name])?.parse().ok();
        let (family, model, stepping) = (number("cpu family")?, number("model")?, number("stepping").unwrap_or(0));
        let name = cpu_names::x86(self.get(&["vendor_id"])?, family, model, stepping)?;
        (cpu_names::may_have_amx(name) || !self.flag("amx_tile")).then(|| name.to_owned())
    }

    pub(super) fn flag(&self, flag: &str) -> bool {
        self.get(&["flags", "Features"]).is_some_and(|flags| flags.split_whitespace().any(|word| word == flag))
    }

    fn relevant_flags(&self) -> String {
        RELEVANT_FLAGS.into_iter().filter(|flag| self.flag(flag)).collect::<Vec<_>>().join(" ")
    }
}

/// The name of the first CPU in the device tree, which boards have: `sifive,u74-mc riscv`.
fn board_cpu(book: &Book) -> Option<String> {
    let text = book.tree.text("proc/device-tree/cpus/cpu@0/compatible")?;
    Some(text.replace('\0', " "))
}
