//! Which hosts should be equal: those with the same hardware and the same settings. What splits
//! them is a finding of its own, since a setting of the firmware or of the kernel that differs is
//! the commonest fault.
//!
//! What a host *is* (`KINDS`) separates families, which are never compared with each other. What
//! it is *set to* (`SETTINGS`) separates the groups of a family. A group of fewer than
//! [`MIN_HOSTS`] is judged beside the group of its family that it differs least from; without
//! such a group against a group of its family in an earlier judgement; without that beside the
//! references.

use std::collections::{BTreeMap, BTreeSet};

use groma_model::{Machine, RunHeader, parse_size};

use super::Host;

/// The fewest hosts of a group that is judged by itself: the median of fewer says little, and one
/// faulty host of four is a quarter of its own measure.
pub const MIN_HOSTS: usize = 5;

/// The facts that say what a host is. One that ends in a dot stands for all facts below it.
const KINDS: [&str; 4] = ["host.machine", "cpu.model", "virt.hypervisor", "build.kind"];

/// The facts that say how a host is equipped and set, the likeliest cause of a difference first.
const SETTINGS: [&str; 40] = [
    "groma",
    "cpu.governor",
    "cpu.boost",
    "cpu.smt",
    "cpu.max",
    "cpu.min",
    "cpu.driver",
    "cpu.preference",
    "cpu.count",
    "cpu.cores",
    "cpu.packages",
    "cpu.isolated",
    "cpu.microcode",
    "cpu.stepping",
    "memory.total",
    "memory.dimms",
    "numa.nodes",
    "numa.memory",
    "numa.distances",
    "cache.l1d.size",
    "cache.l2.size",
    "cache.l3.size",
    "security.",
    "kernel.release",
    "kernel.version",
    "kernel.cmdline",
    "kernel.preempt",
    "kernel.tracer",
    "kernel.scheduler",
    "memory.thp",
    "memory.thp_defrag",
    "memory.hugetlb",
    "memory.swap",
    "memory.numa_balancing",
    "memory.ksm",
    "memory.zswap",
    "cpu.cpuidle.",
    "clock.source",
    "cgroup.cpu.max",
    "virt.dmi",
];

/// Facts that are kept beside those: signatures ask for them.
const HEALTH: &str = "health.";
/// Facts that tell two machines of one name apart.
const OF_BOOT: [&str; 2] = ["host.boot", "host.uptime_s"];

/// Whether a fact is kept, and makes no two hosts unequal.
fn is_beside(key: &str) -> bool {
    key.starts_with(HEALTH) || OF_BOOT.contains(&key)
}

/// Parameters of the kernel's command line that name a host or an image and set nothing.
const NO_SETTING: [&str; 4] = ["BOOT_IMAGE", "initrd", "root", "ip"];

/// The amount of memory.
const MEMORY: &str = "memory.total";
/// Amounts of memory that differ by less count as equal: a kernel reserves a few pages more or
/// fewer from boot to boot.
const AS_MUCH: f64 = 1.01;
/// Values longer than this are cut: no fact of groma is as long.
const LONGEST_VALUE: usize = 4096;

/// The version of groma, which is no fact of the machine.
const GROMA: &str = "groma";

/// The position of a fact in a list of names, if it is there.
fn place(key: &str, names: &[&str]) -> Option<usize> {
    names.iter().position(|name| key == *name || (name.ends_with('.') && key.starts_with(name)))
}

/// The name of a host: that which its launcher knows it by, else its own.
pub fn host_name(machine: &Machine) -> Option<&str> {
    machine.get("launcher.node").or_else(|| machine.get("host.name")).filter(|name| !name.is_empty())
}

/// Whether a text, such as the name of a host, may stand in a command, in a line of a list and as a
/// name of a file.
pub fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && name.len() <= 253 && name.bytes().all(is_plain) && !name.starts_with(['-', '.'])
}

/// The facts of a run that a judgement needs.
pub(super) fn facts_to_keep(head: &RunHeader) -> BTreeMap<String, String> {
    let mut kept = of_machine(&head.environment);
    kept.insert(GROMA.to_owned(), cut(&head.groma));
    kept
}

fn cut(text: &str) -> String {
    text.chars().take(LONGEST_VALUE).collect()
}

/// The facts of a machine that a judgement needs.
fn of_machine(machine: &Machine) -> BTreeMap<String, String> {
    let is_kept = |key: &str| place(key, &KINDS).is_some() || place(key, &SETTINGS).is_some() || is_beside(key);
    let facts = machine.facts.iter().filter(|fact| is_kept(&fact.key));
    let mut kept: BTreeMap<String, String> = facts.map(|fact| (cut(&fact.key), cut(&fact.value))).collect();
    // Of one node, `memory.total` says as much; and a guest that gets its memory as it uses it
    // shows another total of the node from minute to minute.
    if kept.get("numa.nodes").is_some_and(|nodes| nodes == "0") {
        kept.remove("numa.memory");
    }
    if let Some(line) = kept.get_mut("kernel.cmdline") {
        let is_setting = |word: &&str| !NO_SETTING.contains(&word.split('=').next().unwrap_or(word));
        let words: BTreeSet<&str> = line.split_whitespace().filter(is_setting).collect();
        *line = words.into_iter().collect::<Vec<_>>().join(" ");
    }
    kept
}

/// The name of a host's file, without an ending: `node17-5d2f09c1`, its name and the
/// [`fingerprint`].
pub fn file_stem(machine: &Machine) -> String {
    const LONGEST_NAME: usize = 64;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name = host_name(machine).unwrap_or("host").trim_start_matches(['.', '-']);
    let name: String = name.chars().take(LONGEST_NAME).map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!("{name}-{}", fingerprint(machine))
}

/// The fingerprint of what a host should share with its equals, so theirs have the same: eight
/// hexadecimal digits.
pub fn fingerprint(machine: &Machine) -> String {
    let mut facts = of_machine(machine);
    facts.retain(|key, _| !is_beside(key));
    // In whole GiB, which do not change from boot to boot.
    if let Some(bytes) = facts.get(MEMORY).and_then(|text| size(text)) {
        facts.insert(MEMORY.to_owned(), ((bytes + (1 << 29)) >> 30).to_string());
    }
    // FNV-1a, 64 bits: the name of a file, not a secret.
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let bytes = facts.iter().flat_map(|(key, value)| key.bytes().chain([0]).chain(value.bytes()).chain([0]));
    format!("{:08x}", bytes.fold(0xcbf2_9ce4_8422_2325, hash) >> 32)
}

/// The bytes of a fact such as `24684084 KiB`.
fn size(text: &str) -> Option<u64> {
    parse_size(&text.replace(' ', "")).ok()
}

/// What a group is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Its own hosts.
    Itself,
    /// Another group of its family, by its index: it is too small.
    Group(usize),
    /// A group of its family in the earlier judgement, of so many runs.
    Past(usize),
    /// The references: no group of its family is large enough.
    References,
}

/// How hosts are set: the value of each setting that one of them has; `None` where they differ.
pub type Settings = BTreeMap<String, Option<String>>;

/// The settings of some hosts.
pub fn settings(hosts: &[Host], members: &[usize]) -> Settings {
    let of = |key: &str| {
        let mut values = values_of(key, members, hosts);
        let only = values.pop().filter(|_| values.is_empty());
        (key.to_owned(), only.and_then(|(value, _)| value))
    };
    keys_of(hosts, members).into_iter().map(of).collect()
}

/// The settings by which hosts differ from others, the likeliest cause first. What is not the same
/// on one of the sides says nothing.
pub fn differing(here: &Settings, there: &Settings) -> Vec<Difference> {
    let keys: BTreeSet<&String> = here.keys().chain(there.keys()).collect();
    let difference = |key: &String| {
        let [here, there] = [here, there].map(|side| side.get(key));
        if here == Some(&None) || there == Some(&None) {
            return None;
        }
        let [here, there] = [here, there].map(|value| value.cloned().flatten());
        (!is_equal(key, here.as_deref(), there.as_deref())).then(|| Difference { key: key.clone(), here, there })
    };
    let mut all: Vec<Difference> = keys.into_iter().filter_map(difference).collect();
    all.sort_by_key(|difference| place(&difference.key, &SETTINGS));
    all
}

fn is_equal(key: &str, here: Option<&str>, there: Option<&str>) -> bool {
    let [a, b] = [here, there].map(|text| text.filter(|_| key == MEMORY).and_then(size));
    match (a, b) {
        (Some(a), Some(b)) => a.max(b) as f64 <= a.min(b) as f64 * AS_MUCH,
        _ => here == there,
    }
}

/// Hosts that should be equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The indices of its hosts.
    pub hosts: Vec<usize>,
    /// What it is judged by.
    pub basis: Basis,
    /// The settings by which it differs from the group that it is judged by.
    pub differs: Vec<Difference>,
    /// The family that it belongs to.
    pub family: usize,
}

/// A setting of a group beside that of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key of the fact.
    pub key: String,
    /// The value here; `None` where the hosts do not have the fact.
    pub here: Option<String>,
    /// The value there.
    pub there: Option<String>,
}

/// A setting that is not the same on all hosts of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The family.
    pub family: usize,
    /// The key of the fact.
    pub key: String,
    /// The values, each with its hosts; that of most hosts first.
    pub values: Vec<(Option<String>, Vec<usize>)>,
    /// Whether so many values differ that it does not separate groups.
    pub is_ignored: bool,
}

/// The groups of all hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grouping {
    /// The groups, largest first.
    pub groups: Vec<Group>,
    /// What splits families, the likeliest cause first.
    pub splits: Vec<Split>,
    /// What each family is: the value of each fact of its kind.
    pub families: Vec<Vec<String>>,
}

/// Finds the groups.
pub fn groups(hosts: &[Host]) -> Grouping {
    let mut families: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for (i, host) in hosts.iter().enumerate() {
        let kind = KINDS.iter().map(|key| host.facts.get(*key).cloned().unwrap_or_default()).collect();
        families.entry(kind).or_default().push(i);
    }
    let mut grouping = Grouping::default();
    for (family, (kind, members)) in families.into_iter().enumerate() {
        grouping.families.push(kind);
        of_family(family, &members, hosts, &mut grouping);
    }
    let rank = |split: &Split| place(&split.key, &SETTINGS).unwrap_or(SETTINGS.len());
    grouping.splits.sort_by(|a, b| (a.family, rank(a), &a.key).cmp(&(b.family, rank(b), &b.key)));
    grouping
}

/// The settings that some of these hosts have.
fn keys_of<'h>(hosts: &'h [Host], members: &[usize]) -> BTreeSet<&'h str> {
    let keys = members.iter().flat_map(|host| hosts[*host].facts.keys()).map(String::as_str);
    keys.filter(|key| place(key, &SETTINGS).is_some()).collect()
}

/// Adds the groups and the splits of a family.
fn of_family(family: usize, members: &[usize], hosts: &[Host], grouping: &mut Grouping) {
    let mut splits = Vec::new();
    for key in keys_of(hosts, members) {
        let values = values_of(key, members, hosts);
        if values.len() > 1 {
            // What differs on most hosts describes the host, and would leave no groups.
            let is_ignored = members.len() >= MIN_HOSTS && 2 * values.len() > members.len();
            splits.push(Split { family, key: key.to_owned(), values, is_ignored });
        }
    }
    // Which value of each split a host has is what places it.
    let mut places: BTreeMap<usize, Vec<usize>> = members.iter().map(|host| (*host, Vec::new())).collect();
    for split in splits.iter().filter(|split| !split.is_ignored) {
        for (value, (_, with)) in split.values.iter().enumerate() {
            with.iter().for_each(|host| places.entry(*host).or_default().push(value));
        }
    }
    let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for (host, place) in places {
        groups.entry(place).or_default().push(host);
    }
    let mut groups: Vec<(Vec<usize>, Vec<usize>)> = groups.into_iter().collect();
    groups.sort_by_key(|(place, hosts)| (std::cmp::Reverse(hosts.len()), place.clone()));
    let first = grouping.groups.len();
    let used: Vec<&Split> = splits.iter().filter(|split| !split.is_ignored).collect();
    for (place, members) in &groups {
        let (mut basis, mut differs) = (Basis::Itself, Vec::new());
        if members.len() < MIN_HOSTS {
            let unlike = |other: &[usize]| place.iter().zip(other).filter(|(a, b)| a != b).count();
            let large = groups.iter().enumerate().filter(|(_, (_, hosts))| hosts.len() >= MIN_HOSTS);
            // Of equally near ones the first, which is the largest.
            let nearest = large.min_by_key(|(_, (other, _))| unlike(other));
            basis = nearest.map_or(Basis::References, |(i, _)| Basis::Group(first + i));
            if let Some((_, (other, _))) = nearest {
                differs = differences(&used, place, other);
            }
        }
        grouping.groups.push(Group { hosts: members.clone(), basis, differs, family });
    }
    grouping.splits.extend(splits);
}

/// The settings by which two groups differ, the likeliest cause first.
fn differences(splits: &[&Split], here: &[usize], there: &[usize]) -> Vec<Difference> {
    let mut all: Vec<Difference> = splits
        .iter()
        .zip(here.iter().zip(there))
        .filter(|(_, (here, there))| here != there)
        .map(|(split, (here, there))| Difference {
            key: split.key.clone(),
            here: split.values[*here].0.clone(),
            there: split.values[*there].0.clone(),
        })
        .collect();
    all.sort_by_key(|difference| place(&difference.key, &SETTINGS));
    all
}

/// The values of a fact with their hosts, that of most hosts first.
fn values_of(key: &str, members: &[usize], hosts: &[Host]) -> Vec<(Option<String>, Vec<usize>)> {
    let mut values: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for &host in members {
        values.entry(hosts[host].facts.get(key).map(String::as_str)).or_default().push(host);
    }
    let mut values: Vec<(Option<String>, Vec<usize>)> =
        values.into_iter().map(|(value, hosts)| (value.map(str::to_owned), hosts)).collect();
    if key == MEMORY {
        values = of_like_sizes(values);
    }
    values.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
    values
}

/// Takes sizes that follow each other within [`AS_MUCH`] as one, called after that of most hosts.
fn of_like_sizes(values: Vec<(Option<String>, Vec<usize>)>) -> Vec<(Option<String>, Vec<usize>)> {
    let mut sizes: Vec<(u64, Option<String>, Vec<usize>)> = Vec::new();
    let mut others = Vec::new();
    for (text, hosts) in values {
        match text.as_deref().and_then(size) {
            Some(bytes) => sizes.push((bytes, text, hosts)),
            None => others.push((text, hosts)),
        }
    }
    sizes.sort_by_key(|(bytes, _, _)| *bytes);
    let mut last = None::<(u64, usize)>;
    for (bytes, text, hosts) in sizes {
        match (last, others.last_mut()) {
            (Some((before, most)), Some((name, all))) if bytes as f64 <= before as f64 * AS_MUCH => {
                if hosts.len() > most {
                    *name = text;
                }
                last = Some((bytes, most.max(hosts.len())));
                all.extend(hosts);
            }
            _ => {
                last = Some((bytes, hosts.len()));
                others.push((text, hosts));
            }
        }
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{header, record};
    use crate::fleet::Fleet;
    use groma_model::{Fact, Quantity};

    #[test]
    fn names_that_would_lead_out_of_a_directory_or_into_an_option_are_none() {
        for name in ["", "..", "a/b", "-x", ".hidden", "a b", "ä"] {
            assert!(!is_plain_name(name), "{name}");
        }
        assert!(is_plain_name("n07.rack-3_a"));
    }

    /// Hosts with these facts, named by their number.
    fn hosts(facts: &[&[(&str, &str)]]) -> Vec<Host> {
        let mut fleet = Fleet::default();
        for (i, facts) in facts.iter().enumerate() {
            let mut head = header();
            head.environment.facts = facts.iter().map(|(key, value)| Fact::new(*key, value)).collect();
            head.environment.facts.push(Fact::new("host.name", format!("n{i}")));
            let mut record = record("a.b", Quantity::Latency, 1e-6);
            record.ci = Some([0.99e-6, 1.01e-6]);
            fleet.add(&head, &[record]).expect("a host");
        }
        fleet.hosts
    }

    #[test]
    fn a_setting_splits_a_family_and_a_few_hosts_are_judged_beside_the_many() {
        let plain: &[(&str, &str)] = &[("cpu.model", "X"), ("cpu.governor", "performance")];
        let odd: &[(&str, &str)] = &[("cpu.model", "X"), ("cpu.governor", "powersave")];
        let other: &[(&str, &str)] = &[("cpu.model", "Y"), ("cpu.governor", "powersave")];
        let found = groups(&hosts(&[plain, plain, odd, plain, plain, plain, other]));
        assert_eq!(found.groups.iter().map(|group| group.hosts.len()).collect::<Vec<_>>(), [5, 1, 1]);
        assert_eq!(found.groups[0].basis, Basis::Itself);
        assert_eq!((&found.groups[1].hosts[..], found.groups[1].basis), (&[2][..], Basis::Group(0)));
        let differs = Difference {
            key: "cpu.governor".to_owned(),
            here: Some("powersave".to_owned()),
            there: Some("performance".to_owned()),
        };
        assert_eq!(found.groups[1].differs, [differs]);
        assert_eq!(found.groups[2].basis, Basis::References, "another CPU is another family");
        assert_eq!(found.splits.len(), 1);
        assert_eq!(found.splits[0].values[1], (Some("powersave".to_owned()), vec![2]));
    }

    #[test]
    fn what_differs_on_every_host_splits_nothing() {
        let facts: Vec<Vec<(&str, &str)>> =
            ["a", "b", "c", "d", "e", "f"].iter().map(|dmi| vec![("cpu.model", "X"), ("virt.dmi", *dmi)]).collect();
        let found = groups(&hosts(&facts.iter().map(Vec::as_slice).collect::<Vec<_>>()));
        assert_eq!((found.groups.len(), found.splits.len(), found.splits[0].is_ignored), (1, 1, true));
    }

    #[test]
    fn a_few_pages_of_memory_and_the_image_of_a_kernel_split_nothing() {
        let of = |total: &'static str, line: &'static str| [("memory.total", total), ("kernel.cmdline", line)];
        let all = [
            of("24684084 KiB", "BOOT_IMAGE=/a quiet nosmt"),
            of("24684080 KiB", "nosmt BOOT_IMAGE=/b quiet"),
            of("23.5 GiB", "quiet nosmt root=(hidden)"),
        ];
        let found = groups(&hosts(&[&all[0], &all[1], &all[2]]));
        assert_eq!((found.groups.len(), &found.splits[..]), (1, &[][..]));
        let half = groups(&hosts(&[&all[0], &of("12342042 KiB", "quiet nosmt")]));
        assert_eq!(half.splits.iter().map(|split| split.key.as_str()).collect::<Vec<_>>(), ["memory.total"]);
    }

    #[test]
    fn hosts_differ_from_an_earlier_group_by_what_is_the_same_on_each_side() {
        let there = hosts(&[
            &[("memory.total", "24684084 KiB"), ("cpu.governor", "performance"), ("virt.dmi", "a")],
            &[("memory.total", "24684080 KiB"), ("cpu.governor", "performance"), ("virt.dmi", "b")],
        ]);
        let here = hosts(&[&[("memory.total", "24684000 KiB"), ("cgroup.cpu.max", "1"), ("virt.dmi", "c")]]);
        let [here, there] = [(&here, &[0][..]), (&there, &[0, 1])].map(|(hosts, all)| settings(hosts, all));
        assert_eq!(there["virt.dmi"], None, "{there:?}");
        let found = differing(&here, &there);
        let texts: Vec<_> = found.iter().map(|one| (&*one.key, one.here.as_deref(), one.there.as_deref())).collect();
        assert_eq!(texts, [("cpu.governor", None, Some("performance")), ("cgroup.cpu.max", Some("1"), None)]);
    }

    #[test]
    fn the_memory_of_the_only_node_is_no_setting() {
        let stem = |nodes: &str, memory: &str| {
            let facts = [("host.name", "n1"), ("numa.nodes", nodes), ("numa.memory", memory)];
            file_stem(&Machine { facts: facts.map(|(key, value)| Fact::new(key, value)).to_vec() })
        };
        assert_eq!(stem("0", "node0 10 GiB"), stem("0", "node0 11 GiB"));
        assert_ne!(stem("0-1", "node0 10 GiB, node1 10 GiB"), stem("0-1", "node0 20 GiB"));
    }

    #[test]
    fn files_are_named_by_host_and_equal_hosts_have_one_fingerprint() {
        let stem = |name: &str, model: &str| {
            let facts = [("host.name", name), ("cpu.model", model), ("host.uptime_s", name)];
            file_stem(&Machine { facts: facts.map(|(key, value)| Fact::new(key, value)).to_vec() })
        };
        let (a, b, c) = (stem("n1", "X"), stem("n2", "X"), stem("n2", "Y"));
        assert!(a.starts_with("n1-") && a[3..] == b[3..] && b != c, "{a} {b} {c}");
        assert!(stem("../../etc/x\u{1b}", "X").starts_with("_.._etc_x_-"), "{}", stem("../../etc/x\u{1b}", "X"));
    }
}
