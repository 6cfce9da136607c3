//! Everything that a run will measure, fixed before it starts: which points, where, in worker
//! groups of which sizes.
//!
//! A point that cannot be measured on this machine stays in the plan with its reason, so that no
//! line of a table goes missing silently.

use crate::request::{RunRequest, Setting};
use crate::select::names_metric;
use anyhow::{Context, Result, bail};
use groma_harness::Benchmark;
use groma_harness::model::{Info, Interference, Metric, ParamKind, Params, Placement, Point, Tier, Value, WorkerKind};
use groma_harness::sys::topology::{Relation, Topology};

/// One point of the plan.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What is measured.
    pub point: Point,
    /// The CPUs of the benchmark and its peer, or of the members of the group; empty where the
    /// worker or the scheduler chooses.
    pub cpus: Vec<u32>,
    /// Whether it runs as a worker group: with several members, and with one as the baseline of a
    /// scaling run.
    pub group: bool,
    /// Whether its sides wake each other on different CPUs.
    pub wakes: bool,
    /// Whether it needs a directory to write in.
    pub work_dir: bool,
    /// Why it cannot be measured here.
    pub unsupported: Option<String>,
}

/// The points that were asked for, in the catalogue's order.
///
/// # Errors
/// Names the option or the parameter that no benchmark takes, and what was expected.
pub fn plan(benches: &[&'static Benchmark], args: &RunRequest, topology: &Topology) -> Result<Vec<Planned>> {
    check_settings(benches, &args.params)?;
    if args.placement == Some(Placement::Remote) && args.remote.is_none() {
        bail!("--placement remote: name the other machine with --host ADDRESS, where a groma serve listens");
    }
    if args.remote.is_some() && args.placement.as_ref().is_some_and(|p| *p != Placement::Remote) {
        bail!("--placement: with --host the peer is on the machine that --host names");
    }
    if let Some(Placement::List(cpus)) = &args.placement {
        topology.check(cpus).map_err(anyhow::Error::msg).context("--placement")?;
    }
    let mut points = Vec::new();
    for bench in benches {
        for params in combinations(bench, args, topology)? {
            for (layout, workers, group) in layouts(&bench.info, &params, args, topology) {
                for placement in spelled_out(layout, args.tier() == Tier::Full, topology) {
                    let kind = (workers, group, args.threads);
                    points.push(planned(&bench.info, params.clone(), placement, kind, topology));
                }
            }
        }
    }
    if points.is_empty() {
        bail!("the selection holds no point to measure");
    }
    Ok(points)
}

/// Refuses a setting that would change nothing, or that another one contradicts.
fn check_settings(benches: &[&'static Benchmark], settings: &[Setting]) -> Result<()> {
    for (i, setting) in settings.iter().enumerate() {
        if settings[..i].iter().any(|other| (&other.of, &other.name) == (&setting.of, &setting.name)) {
            bail!("--param {setting}: given twice; write its values with commas: {setting}=A,B");
        }
        let meant: Vec<_> = benches
            .iter()
            .filter(|b| setting.of.as_ref().is_none_or(|of| names_metric(of, b.info.id)))
            .map(|b| &b.info)
            .collect();
        if let Some(of) = setting.of.as_ref().filter(|_| meant.is_empty()) {
            bail!("--param {setting}: '{of}' is not among the selected benchmarks: select it as well");
        }
        let mut known: Vec<&str> = meant.iter().flat_map(|info| info.params).map(|p| p.name).collect();
        if !known.contains(&setting.name.as_str()) {
            known.sort_unstable();
            known.dedup();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            match &setting.of {
                Some(of) => bail!("--param {setting}: {of} has no such parameter (known: {known})"),
                None => bail!("--param {setting}: no selected benchmark has it (known: {known})"),
            }
        }
    }
    Ok(())
}

/// The setting of a parameter of a benchmark: the last one that names the benchmark, else the one
/// for all.
fn setting_of<'a>(settings: &'a [Setting], bench: &Benchmark, name: &str) -> Option<&'a Setting> {
    let of_name = || settings.iter().filter(|setting| setting.name == name);
    let named = of_name().rfind(|setting| setting.of.as_ref().is_some_and(|of| names_metric(of, bench.info.id)));
    named.or_else(|| of_name().find(|setting| setting.of.is_none()))
}

/// All combinations of the wanted values of a benchmark's parameters.
fn combinations(bench: &Benchmark, args: &RunRequest, topology: &Topology) -> Result<Vec<Params>> {
    let info = &bench.info;
    let setting = |name: &str| setting_of(&args.params, bench, name);
    let typed = |name: &str| setting(name).map(|setting| &setting.values);
    if !info.params.iter().any(|param| typed(param.name).is_some()) {
        return Ok(past_caches(info, info.points(args.tier()), args.tier(), topology));
    }
    // With values that somebody names, every combination is measured.
    let mut wanted = Vec::new();
    for param in info.params {
        let typed = typed(param.name);
        // A text is one value, commas and all.
        let whole = typed.filter(|_| param.kind == ParamKind::Text).map(|values| values.join(","));
        let texts: Vec<&str> = match typed {
            Some(_) if whole.is_some() => whole.as_deref().into_iter().collect(),
            Some(values) => values.iter().map(String::as_str).collect(),
            None => param.values(args.tier()),
        };
        let values: Vec<Value> = texts
            .iter()
            .map(|text| param.parse(text).map_err(|why| refused(info, setting(param.name), &why)))
            .collect::<Result<_>>()?;
        wanted.push((param.name, values));
    }
    Ok(Params::combinations(&wanted))
}

/// How many times the last cache the sizes of a curve reach.
const PAST: u64 = 4;

/// The points, and on a machine whose last cache is large those beyond: the sizes of a curve go on,
/// doubling, from the largest that is listed.
fn past_caches(info: &Info, mut points: Vec<Params>, tier: Tier, topology: &Topology) -> Vec<Params> {
    let last = topology.last_caches().iter().filter_map(|cache| cache.size).max().unwrap_or(0);
    let Some(param) = info.params.iter().find(|param| param.goes_past_caches() && tier >= Tier::Standard) else {
        return points;
    };
    let size = |params: &Params| params.int(param.name);
    while let Some(largest) = points.iter().filter_map(size).max().filter(|largest| *largest < PAST * last) {
        let doubled = |params: &Params| {
            let mut params = params.clone();
            params.set(param.name, Value::Int(2 * largest));
            params
        };
        let more: Vec<Params> = points.iter().filter(|p| size(p) == Some(largest)).map(doubled).collect();
        points.extend(more);
    }
    points
}

/// A value that a benchmark does not take. What was meant for others can be said to be.
fn refused(info: &Info, setting: Option<&Setting>, why: &str) -> anyhow::Error {
    match setting {
        Some(Setting { of: None, name, .. }) => {
            anyhow::anyhow!("--param {name}: {why} ({}); for some benchmarks only: --param ID:{name}=VALUE", info.id)
        }
        Some(setting) => anyhow::anyhow!("--param {setting}: {why} ({})", info.id),
        None => anyhow::anyhow!("{}: {why}", info.id),
    }
}

/// Whether a benchmark has two sides that can be on a pair of CPUs; alone and free is one that the
/// scheduler places.
fn two_sided(info: &Info) -> bool {
    info.placements.iter().any(|p| Placement::TWO_SIDED[..5].contains(p))
}

/// How many of the CPUs that a compact group takes first are of one NUMA node.
fn of_first_node(topology: &Topology) -> u32 {
    let node = |id: &u32| topology.cpus().iter().find(|cpu| cpu.id == *id).and_then(|cpu| cpu.node);
    let order = topology.compact(topology.usable().len());
    order.iter().take_while(|id| node(id) == node(&order[0])).count() as u32
}

/// Where, by how many, and whether as a worker group a benchmark is to be run.
fn layouts(info: &Info, params: &Params, args: &RunRequest, topology: &Topology) -> Vec<(Placement, u32, bool)> {
    let cpus = topology.usable().len() as u32;
    let two_sided = two_sided(info);
    let (of_pairs, of_nodes) =
        (info.placements.contains(&Placement::EveryPair), info.placements.contains(&Placement::EveryNodePair));
    let placements: Vec<Placement> = match &args.placement {
        // Whoever names another machine asks for it alone; whoever names none has none.
        _ if args.remote.is_some() => vec![Placement::Remote],
        // A pair is named by its CPUs or by how they lie to each other.
        Some(placement @ Placement::List(_)) if of_pairs => vec![placement.clone()],
        Some(placement) if of_pairs && Placement::TWO_SIDED[1..5].contains(placement) => vec![placement.clone()],
        Some(_) if of_pairs => info.placements.to_vec(),
        Some(placement @ Placement::Nodes { .. }) if of_nodes => vec![placement.clone()],
        Some(_) if of_nodes => info.placements.to_vec(),
        Some(Placement::Nodes { .. } | Placement::EveryPair | Placement::EveryNodePair) => info.placements.to_vec(),
        // Two sides take a pair: the first CPU is that of the side that measures.
        Some(placement @ Placement::List(_)) if two_sided => vec![placement.clone()],
        Some(placement) if two_sided == Placement::TWO_SIDED[..5].contains(placement) => vec![placement.clone()],
        Some(Placement::Free) => vec![Placement::Free],
        _ => {
            let here = info.placements.iter().filter(|p| **p != Placement::Remote).cloned();
            // A quick run has time for one placement of each.
            here.take(if args.tier() == Tier::Quick { 1 } else { usize::MAX }).collect()
        }
    };
    let mut workers: Vec<u32> = if args.parallel.is_empty() {
        if (info.group_tier)(params) <= args.tier() { vec![1, of_first_node(topology), cpus] } else { vec![1] }
    } else {
        args.parallel.clone()
    };
    workers.dedup();
    // The curve of a scaling run begins with a group of one: one that runs alone is timed by other
    // means where its value is a rate.
    let scales = if args.threads { info.scaling.threads } else { info.scaling.processes };
    let is_scaling = args.parallel.len() > 1 && scales;
    let mut all = Vec::new();
    for &n in &workers {
        for placement in &placements {
            let placement = match placement {
                // A worker group that nobody placed: one CPU a member where each is to have its
                // own, else the scheduler's choice.
                Placement::Pinned if n > 1 && args.parallel.is_empty() => Placement::Compact,
                Placement::Pinned if n > 1 || is_scaling => Placement::Free,
                other => other.clone(),
            };
            let is_placed = matches!(placement, Placement::Free | Placement::Compact | Placement::Spread);
            let layout = (placement, n, n > 1 || (is_scaling && is_placed));
            if !all.contains(&layout) {
                all.push(layout);
            }
        }
    }
    all
}

/// Up to this many CPUs every pair is measured by default: 28 pairs
/// (docs/methods/processor.md#choice-of-pairs).
const FEW_CPUS: usize = 8;
/// The number of pairs chosen where there are more CPUs.
const CHOSEN_PAIRS: usize = 32;

/// A placement that stands for many, as those of this machine; where there are none, one is kept
/// for its reason.
fn spelled_out(placement: Placement, full: bool, topology: &Topology) -> Vec<Placement> {
    match placement {
        Placement::EveryPair => {
            let usable = topology.usable();
            if usable.len() < 2 {
                return vec![Placement::List(usable)];
            }
            let kinds = Relation::ALL[1..].iter().filter_map(|relation| topology.pair(*relation).ok());
            let pairs = pairs(&usable, &kinds.collect::<Vec<_>>(), full);
            pairs.into_iter().map(|(a, b)| Placement::List(vec![a, b])).collect()
        }
        Placement::EveryNodePair => {
            let mut of_cpus: Vec<u32> = topology.cpus().iter().filter(|c| c.online).filter_map(|c| c.node).collect();
            of_cpus.sort_unstable();
            of_cpus.dedup();
            let pair = |cpu: u32| move |memory: &u32| Placement::Nodes { cpu, memory: *memory };
            let all: Vec<_> = of_cpus.iter().flat_map(|cpu| topology.memory_nodes().iter().map(pair(*cpu))).collect();
            if all.is_empty() { vec![Placement::Nodes { cpu: 0, memory: 0 }] } else { all }
        }
        other => vec![other],
    }
}

/// The pairs of CPUs to measure: all where there are few CPUs or all were asked for. Otherwise one
/// of each kind, and the first CPU with others evenly spaced, which shows the distances in bounded
/// time (576 CPUs have 165 600 pairs).
fn pairs(usable: &[u32], kinds: &[(u32, u32)], full: bool) -> Vec<(u32, u32)> {
    let Some((&first, others)) = usable.split_first() else { return Vec::new() };
    if full || usable.len() <= FEW_CPUS {
        let from = |(i, &a): (usize, &u32)| usable[i + 1..].iter().map(move |&b| (a, b)).collect::<Vec<_>>();
        return usable.iter().enumerate().flat_map(from).collect();
    }
    let mut chosen: Vec<(u32, u32)> = kinds.to_vec();
    let room = CHOSEN_PAIRS.saturating_sub(chosen.len()).min(others.len());
    // The last CPU is among them: the farthest one where CPUs are numbered in order.
    let spaced = (1..=room).map(|i| (first, others[i * others.len() / room - 1]));
    for pair in spaced {
        if !chosen.contains(&pair) {
            chosen.push(pair);
        }
    }
    chosen
}

/// One sentence on what the plan leaves out on purpose, if it does.
pub fn left_out(plan: &[Planned], topology: &Topology) -> Option<String> {
    let of_pair = |p: &&Planned| p.point.bench == "cpu.core_to_core" && p.cpus.len() == 2;
    let mut seen: Vec<&[u32]> = plan.iter().filter(of_pair).map(|p| p.cpus.as_slice()).collect();
    seen.sort_unstable();
    seen.dedup();
    let n = topology.usable().len();
    let all = n * n.saturating_sub(1) / 2;
    // A single pair was named by the user.
    (seen.len() > 1 && seen.len() < all)
        .then(|| format!("cpu.core_to_core: {} of {all} pairs of CPUs (all of them with --full)", seen.len()))
}

fn planned(
    info: &Info,
    params: Params,
    placement: Placement,
    (workers, group, threads): (u32, bool, bool),
    topology: &Topology,
) -> Planned {
    let worker_kind = if threads { WorkerKind::Threads } else { WorkerKind::Processes };
    let cpus = cpus(info, &placement, workers, topology);
    let scales = match worker_kind {
        WorkerKind::Processes => info.scaling.processes,
        WorkerKind::Threads => info.scaling.threads,
    };
    let unsupported = match &cpus {
        Err(why) => Some(why.clone()),
        Ok(_) if placement == Placement::Remote && !info.placements.contains(&placement) => {
            Some("has no peer that could run on another machine".to_owned())
        }
        Ok(_) if workers > 1 && !scales => {
            let kind = if threads { "threads" } else { "processes" };
            Some(format!("does not run as several {kind}: {}", info.scaling.why))
        }
        Ok(_) => None,
    };
    // In a worker group that shares its CPUs, because it has more members than there are CPUs or is
    // not pinned, preemption and migration are part of what is measured
    // (docs/methods/timing.md#intervals-of-a-worker-group).
    let shares = workers as usize > topology.usable().len() || (group && cpus.as_ref().is_ok_and(Vec::is_empty));
    let drops = if shares { info.interference.drops_crowded() } else { info.interference.drops() };
    let show = |(name, value): &(String, Value)| {
        let param = info.params.iter().find(|p| p.name == name);
        format!("{name}={}", param.map_or_else(|| value.to_string(), |p| p.show(value)))
    };
    let metrics = info.outputs.iter().map(|output| {
        let quantity = info.quantity_of(output);
        Metric {
            id: if output.suffix.is_empty() { info.id.to_owned() } else { format!("{}.{}", info.id, output.suffix) },
            summary: if output.summary.is_empty() { info.summary } else { output.summary }.to_owned(),
            quantity,
            better: if output.quantity.is_none() { info.better() } else { quantity.better() },
            derivation: output.derivation.owned(),
            detail: output.detail,
        }
    });
    let wakes = info.interference == Interference::Blocking
        && cpus.as_ref().is_ok_and(|cpus| cpus.len() > 1 && cpus.iter().any(|cpu| *cpu != cpus[0]));
    Planned {
        group,
        work_dir: info.needs.iter().any(|need| need.is_work_dir(&params)),
        point: Point {
            bench: info.id.to_owned(),
            version: info.version,
            params_text: params.0.iter().map(show).collect::<Vec<_>>().join(" "),
            params,
            placement,
            workers,
            worker_kind,
            timing: info.timing,
            drops,
            target_half_width: info.target_half_width,
            metrics: metrics.collect(),
        },
        wakes: wakes && workers == 1,
        cpus: cpus.unwrap_or_default(),
        unsupported,
    }
}

/// The CPUs that a placement means on this machine, or why there are none.
fn cpus(info: &Info, placement: &Placement, workers: u32, topology: &Topology) -> Result<Vec<u32>, String> {
    let only_free = || Err("worker groups of two-sided benchmarks are placed with --placement free".to_owned());
    let pair = |relation| {
        if workers > 1 {
            return only_free();
        }
        topology.pair(relation).map(|(a, b)| vec![a, b])
    };
    match placement {
        Placement::Pinned | Placement::Free | Placement::Remote => Ok(Vec::new()),
        Placement::SameCpu => pair(Relation::SameCpu),
        Placement::Smt => pair(Relation::Smt),
        Placement::SameLlc => pair(Relation::SameLlc),
        Placement::CrossLlc => pair(Relation::CrossLlc),
        Placement::CrossNode => pair(Relation::CrossNode),
        Placement::Compact => Ok(topology.compact(workers as usize)),
        Placement::Spread => Ok(topology.spread(workers as usize)),
        Placement::List(cpus) if info.placements.contains(&Placement::EveryPair) => match cpus.as_slice() {
            [a, b] if a != b => Ok(cpus.clone()),
            [_] if topology.usable().len() == 1 => Err("one CPU allowed".to_owned()),
            _ => Err("a pair is two different CPUs".to_owned()),
        },
        Placement::List(cpus) if two_sided(info) => match cpus.len() {
            _ if workers > 1 => only_free(),
            2 => Ok(cpus.clone()),
            n => Err(format!("its two sides take a pair of CPUs such as 0,1, not {n}")),
        },
        Placement::List(cpus) => Ok(cpus.clone()),
        Placement::Nodes { cpu, memory } => {
            let on = |node: u32| topology.cpus().iter().find(move |c| c.online && c.node == Some(node));
            match on(*cpu) {
                _ if topology.memory_nodes().len() < 2 && cpu == memory => Err("one NUMA node".to_owned()),
                _ if !topology.memory_nodes().contains(memory) => Err(format!("node {memory} has no memory")),
                None => Err(format!("no CPU of node {cpu} is allowed and online")),
                Some(found) => Ok(vec![found.id]),
            }
        }
        Placement::EveryPair | Placement::EveryNodePair => Err(format!("{placement} stands for several placements")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::Run;
    use groma_harness::model::{Param, Profile};

    #[test]
    fn all_pairs_of_few_cpus_and_a_bounded_choice_of_many() {
        assert_eq!(pairs(&[3, 5], &[(3, 5)], false), [(3, 5)]);
        assert_eq!(pairs(&[0, 1, 2], &[], false), [(0, 1), (0, 2), (1, 2)]);
        let eight: Vec<u32> = (0..8).collect();
        assert_eq!(pairs(&eight, &[(0, 4)], false).len(), 28);
        let many: Vec<u32> = (0..576).collect();
        let kinds = [(0, 288), (0, 1), (0, 8), (0, 96)];
        let chosen = pairs(&many, &kinds, false);
        assert!(chosen.starts_with(&kinds) && chosen.len() <= CHOSEN_PAIRS && chosen.len() > 28, "{chosen:?}");
        assert!(chosen.contains(&(0, 575)) && chosen.iter().all(|(a, b)| a < b), "{chosen:?}");
        let distinct: std::collections::BTreeSet<_> = chosen.iter().collect();
        assert_eq!(distinct.len(), chosen.len());
        assert_eq!(pairs(&many, &kinds, true).len(), 576 * 575 / 2);
        let nine: Vec<u32> = (0..9).collect();
        assert_eq!(pairs(&nine, &[(0, 1)], false), (1..9).map(|b| (0, b)).collect::<Vec<_>>());
        assert_eq!(pairs(&[7], &[], false), []);
    }

    static CALL: Benchmark = Benchmark {
        info: Info { params: &[Param::count("n", "").quick(&["1"])], ..Info::new("one.call") },
        run: Run::NotHere("a test"),
    };
    static COPY: Benchmark = Benchmark {
        info: Info {
            params: &[Param::count("n", "").quick(&["2"]), Param::word("op", "", &["a", "b"]).quick(&["a"])],
            ..Info::new("two.copy")
        },
        run: Run::NotHere("a test"),
    };

    /// The parameters of the points that settings give, or why they are refused.
    fn set(settings: &[(Option<&str>, &str, &str)]) -> Result<Vec<String>, String> {
        let mut request = RunRequest::new(Profile::Quick);
        request.params = settings
            .iter()
            .map(|(of, name, values)| Setting {
                of: of.map(str::to_owned),
                name: (*name).to_owned(),
                values: values.split(',').map(str::to_owned).collect(),
            })
            .collect();
        let points = plan(&[&CALL, &COPY], &request, &Topology::read()).map_err(|e| e.to_string())?;
        Ok(points.iter().map(|p| format!("{} {}", p.point.bench, p.point.params)).collect())
    }

    #[test]
    fn a_setting_reaches_all_benchmarks_or_those_that_it_names() {
        assert_eq!(set(&[(None, "n", "7")]), Ok(vec!["one.call n=7".into(), "two.copy n=7 op=a".into()]));
        assert_eq!(set(&[(None, "op", "b")]), Ok(vec!["one.call n=1".into(), "two.copy n=2 op=b".into()]));
        let both = vec!["one.call n=7".into(), "two.copy n=8 op=a".into(), "two.copy n=9 op=a".into()];
        assert_eq!(set(&[(Some("two.copy"), "n", "8,9"), (None, "n", "7")]), Ok(both.clone()));
        assert_eq!(set(&[(None, "n", "7"), (Some("two"), "n", "8,9")]), Ok(both.clone()));
        // Of those that name a benchmark the last one counts.
        assert_eq!(set(&[(Some("*"), "n", "7"), (Some("t*"), "n", "8,9")]), Ok(both));
    }

    #[test]
    fn a_setting_without_effect_is_refused() {
        for (settings, expected) in [
            (&[(None, "m", "1")][..], "--param m: no selected benchmark has it (known: n, op)"),
            (&[(Some("one.*"), "op", "a")], "--param one.*:op: one.* has no such parameter (known: n)"),
            (&[(Some("three"), "n", "1")], "--param three:n: 'three' is not among the selected benchmarks"),
            (&[(None, "n", "1"), (None, "n", "2")], "--param n: given twice; write its values with commas: n=A,B"),
            (&[(None, "n", "x")], "--param n: 'x' is not a count (a whole number such as 16) (one.call); for some"),
            (&[(Some("two"), "op", "c")], "--param two:op: 'c' is not one of a, b (two.copy)"),
        ] {
            let refused = set(settings).expect_err(expected);
            assert!(refused.starts_with(expected), "{refused}");
        }
    }

    /// A tree of `/sys` with six cores of two threads, of which three share a last cache each.
    #[test]
    fn the_chosen_pairs_hold_one_of_each_kind() {
        let root = tempfile::tempdir().expect("a directory");
        let write = |path: String, text: String| {
            let path = root.path().join("sys/devices/system/cpu").join(path);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        };
        write("online".into(), "0-11\n".into());
        for cpu in 0..12 {
            let (core, group) = (cpu % 6, cpu % 6 / 3);
            write(format!("cpu{cpu}/topology/core_cpus_list"), format!("{core},{}\n", core + 6));
            for (file, text) in [("level", "3\n".to_owned()), ("type", "Unified\n".to_owned())] {
                write(format!("cpu{cpu}/cache/index0/{file}"), text);
            }
            let (a, b) = (group * 3, group * 3 + 6);
            write(format!("cpu{cpu}/cache/index0/shared_cpu_list"), format!("{a}-{},{b}-{}\n", a + 2, b + 2));
        }
        let topology = Topology::from_tree(root.path(), &(0..12).collect::<Vec<u32>>());
        let relations: Vec<Relation> = spelled_out(Placement::EveryPair, false, &topology)
            .iter()
            .filter_map(|placement| match placement {
                Placement::List(pair) => topology.relation(pair[0], pair[1]),
                _ => None,
            })
            .collect();
        // The others are those of the first CPU.
        assert!(relations.starts_with(&[Relation::Smt, Relation::SameLlc, Relation::CrossLlc]), "{relations:?}");
    }

    #[test]
    fn what_stands_for_many_is_never_planned() {
        let topology = Topology::read();
        for placement in [Placement::EveryPair, Placement::EveryNodePair] {
            let all = spelled_out(placement, false, &topology);
            assert!(!all.is_empty());
            let concrete = |p: &Placement| matches!(p, Placement::List(_) | Placement::Nodes { .. });
            assert!(all.iter().all(concrete), "{all:?}");
        }
    }

    #[test]
    fn two_sides_have_the_cpus_that_their_placement_says() {
        let topology = Topology::read();
        let info = Info { placements: &Placement::TWO_SIDED, ..Info::new("test.sides") };
        let usable = topology.usable();
        for (placement, relation) in [
            (Placement::SameCpu, Relation::SameCpu),
            (Placement::Smt, Relation::Smt),
            (Placement::SameLlc, Relation::SameLlc),
            (Placement::CrossLlc, Relation::CrossLlc),
            (Placement::CrossNode, Relation::CrossNode),
        ] {
            match cpus(&info, &placement, 1, &topology) {
                Ok(pair) => {
                    let [a, b] = *pair else { panic!("{placement}: {pair:?}") };
                    assert!(usable.contains(&a) && usable.contains(&b), "{placement}: {pair:?}");
                    assert_eq!(a == b, placement == Placement::SameCpu, "{placement}: {pair:?}");
                    assert_eq!(topology.relation(a, b), Some(relation), "{placement}: {pair:?}");
                }
                Err(why) => assert!(placement != Placement::SameCpu && !why.is_empty(), "{placement}: {why}"),
            }
            assert!(cpus(&info, &placement, 2, &topology).is_err(), "a worker group of {placement}");
        }
        for placement in [Placement::Free, Placement::Pinned, Placement::Remote] {
            assert_eq!(cpus(&info, &placement, 1, &topology), Ok(Vec::new()), "{placement}");
        }
        for n in [1, 2, 5] {
            assert_eq!(cpus(&info, &Placement::Compact, n, &topology), Ok(topology.compact(n as usize)));
            assert_eq!(cpus(&info, &Placement::Spread, n, &topology), Ok(topology.spread(n as usize)));
        }
        let list = |cpus: &[u32]| Placement::List(cpus.to_vec());
        let one = Info { placements: &[Placement::Pinned], ..Info::new("test.one") };
        assert_eq!(cpus(&one, &list(&usable[..1]), 1, &topology), Ok(vec![usable[0]]));
        let pair = [*usable.last().expect("a CPU"), usable[0]];
        assert_eq!(cpus(&info, &list(&pair), 1, &topology), Ok(pair.to_vec()));
        for (wrong, workers) in [(&pair[..1], 1), (&[0, 0, 0], 1), (&pair, 2)] {
            assert!(cpus(&info, &list(wrong), workers, &topology).is_err(), "{wrong:?} for {workers}");
        }
        let mut request = RunRequest::new(Profile::Standard);
        request.placement = Some(list(&pair));
        assert_eq!(layouts(&info, &Params::default(), &request, &topology), [(list(&pair), 1, false)]);
    }

    /// Sizes of a curve end at four times the last cache or later, whatever the machine.
    #[test]
    fn a_curve_goes_past_the_last_cache_of_a_large_machine() {
        const SIZE: Param = Param::size("size", "").past_caches().quick(&["64M"]).standard(&["16K", "256M"]);
        let info = Info { params: &[SIZE], ..Info::new("test.curve") };
        let dir = std::env::temp_dir().join(format!("groma-plan-{}", std::process::id()));
        let cache = dir.join("sys/devices/system/cpu/cpu0/cache/index0");
        std::fs::create_dir_all(&cache).expect("a directory");
        for (file, text) in [("level", "3"), ("type", "Unified"), ("shared_cpu_list", "0")] {
            std::fs::write(cache.join(file), text).expect("a file");
        }
        std::fs::write(dir.join("sys/devices/system/cpu/online"), "0").expect("a file");
        let largest = |size: &str, tier: Tier| {
            std::fs::write(cache.join("size"), size).expect("a file");
            let topology = Topology::from_tree(&dir, &[0]);
            let points = past_caches(&info, info.points(tier), tier, &topology);
            points.iter().filter_map(|p| p.int("size")).max().map(|size| size >> 20)
        };
        assert_eq!(largest("512M", Tier::Standard), Some(2048));
        assert_eq!(largest("96M", Tier::Standard), Some(512));
        assert_eq!(largest("32M", Tier::Standard), Some(256));
        assert_eq!(largest("512M", Tier::Quick), Some(64));
        std::fs::remove_dir_all(&dir).expect("nothing else is in it");
    }
}
