//! The plan of a run, made before it starts: its points, their CPUs and worker groups.
//!
//! A point that cannot be measured on this machine stays in the plan with its reason, so that no
//! line of a table is missing silently.

use crate::places::{Cpus, cpus, expand, on_one_cpu, on_other_classes, two_sided};
use crate::request::{RunRequest, Setting};
use crate::select::names_metric;
use anyhow::{Context, Result, bail};
use groma_harness::Benchmark;
use groma_harness::model::{
    Info, Interference, Label, Metric, OneCpu, ParamKind, Params, Placement, Point, Tier, Value, WorkerKind,
};
use groma_harness::sys::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};

/// One point of the plan.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What is measured.
    pub point: Point,
    /// Where it runs.
    pub cpus: Cpus,
    /// Whether it runs as a worker group: of several members, or of one as the baseline of a
    /// scaling run.
    pub group: bool,
    /// Whether its sides wake each other on different CPUs.
    pub wakes: bool,
    /// Whether it needs a directory to write in.
    pub work_dir: bool,
    /// Whether it needs the end of the caches (the preflight finds it).
    pub end_of_caches: bool,
    /// The side of the request that it belongs to.
    pub side: usize,
    /// Why it cannot be measured here.
    pub unsupported: Option<String>,
}

/// The requested points, in the order of the catalogue.
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
    if let Some(Placement::On(one)) = &args.placement {
        topology.site(one.class.as_deref(), one.node).map_err(anyhow::Error::msg).context("--placement")?;
    }
    let mut points = Vec::new();
    for bench in benches {
        for params in combinations(bench, args, topology)? {
            for (layout, workers, group) in layouts(&bench.info, &params, args, topology) {
                for placement in expand(layout, args.tier() == Tier::Full, topology) {
                    let kind = (workers, group, args.threads);
                    points.push(plan_point(&bench.info, params.clone(), placement, kind, topology));
                }
            }
        }
    }
    if points.is_empty() {
        bail!("the selection holds no point to measure");
    }
    Ok(points)
}

/// Each point twice in succession: on the first side and on the second.
pub fn on_both_sides(plan: Vec<Planned>) -> Vec<Planned> {
    plan.into_iter().flat_map(|planned| [0, 1].map(|side| Planned { side, ..planned.clone() })).collect()
}

/// Refuses a setting that has no effect or is given twice.
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

/// The setting of a parameter for a benchmark: the last one that names the benchmark, else the one
/// without a name.
fn setting_of<'a>(settings: &'a [Setting], bench: &Benchmark, name: &str) -> Option<&'a Setting> {
    let of_name = || settings.iter().filter(|setting| setting.name == name);
    let named = of_name().rfind(|setting| setting.of.as_ref().is_some_and(|of| names_metric(of, bench.info.id)));
    named.or_else(|| of_name().find(|setting| setting.of.is_none()))
}

/// All combinations of the requested values of a benchmark's parameters.
fn combinations(bench: &Benchmark, args: &RunRequest, topology: &Topology) -> Result<Vec<Params>> {
    let info = &bench.info;
    let setting = |name: &str| setting_of(&args.params, bench, name);
    let typed = |name: &str| setting(name).map(|setting| &setting.values);
    if !info.params.iter().any(|param| typed(param.name).is_some()) {
        return Ok(past_caches(info, info.points(args.tier()), args.tier(), topology));
    }
    // With values from the command line, every combination is measured.
    let mut wanted = Vec::new();
    for param in info.params {
        let typed = typed(param.name);
        // A text is one value, even with commas.
        let whole = typed.filter(|_| param.kind == ParamKind::Text).map(|values| values.join(","));
        let texts: Vec<&str> = match typed {
            Some(_) if whole.is_some() => whole.as_deref().into_iter().collect(),
            Some(values) => values.iter().map(String::as_str).collect(),
            None => param.values(args.tier()),
        };
        let values: Vec<Value> = texts
            .iter()
            .map(|text| param.parse(text).map_err(|why| refusal(info, setting(param.name), &why)))
            .collect::<Result<_>>()?;
        wanted.push((param.name, values));
    }
    Ok(Params::combinations(&wanted))
}

/// Multiple of the last-level cache that the sizes of a curve reach.
const PAST: u64 = 4;

/// The points, with one more size on a machine with a large last-level cache: the largest size of
/// a curve, doubled until it reaches 8/9 of [`PAST`] times that cache. The tolerance ends the curve
/// of a cache of 260 MiB at 1 GiB: a round of 2 GiB takes 4.6 s, a thirteenth of a survey, and
/// shows the same memory. The sizes between would cost as much again, and show neither the cache
/// nor memory.
fn past_caches(info: &Info, mut points: Vec<Params>, tier: Tier, topology: &Topology) -> Vec<Params> {
    let Some(param) = info.params.iter().find(|param| param.goes_past_caches() && tier >= Tier::Standard) else {
        return points;
    };
    let last = topology.last_caches().iter().filter_map(|cache| cache.size).max().unwrap_or(0);
    let size = |params: &Params| params.int(param.name);
    let Some(largest) = points.iter().filter_map(size).max() else { return points };
    let mut past = largest;
    while past + past / 8 < PAST * last {
        past *= 2;
    }
    if past > largest {
        let grown = |params: &Params| {
            let mut params = params.clone();
            params.set(param.name, Value::Int(past));
            params
        };
        let more: Vec<Params> = points.iter().filter(|p| size(p) == Some(largest)).map(grown).collect();
        points.extend(more);
    }
    points
}

/// The error for a value that a benchmark does not take, with the syntax that limits a setting to
/// some benchmarks.
fn refusal(info: &Info, setting: Option<&Setting>, why: &str) -> anyhow::Error {
    match setting {
        Some(Setting { of: None, name, .. }) => {
            anyhow::anyhow!("--param {name}: {why} ({}); for some benchmarks only: --param ID:{name}=VALUE", info.id)
        }
        Some(setting) => anyhow::anyhow!("--param {setting}: {why} ({})", info.id),
        None => anyhow::anyhow!("{}: {why}", info.id),
    }
}

/// The size of the compact worker group that fills its first NUMA node.
fn of_first_node(topology: &Topology) -> u32 {
    let node = |id: &u32| topology.cpus().iter().find(|cpu| cpu.id == *id).and_then(|cpu| cpu.node);
    let order = topology.compact(topology.usable().len());
    order.iter().take_while(|id| node(id) == node(&order[0])).count() as u32
}

/// Placement, number of workers, and whether they are a worker group, of each point of a benchmark.
pub(crate) fn layouts(
    info: &Info,
    params: &Params,
    args: &RunRequest,
    topology: &Topology,
) -> Vec<(Placement, u32, bool)> {
    let cpus = topology.usable().len() as u32;
    let two_sided = two_sided(info);
    let (of_pairs, of_nodes) =
        (info.placements.contains(&Placement::EveryPair), info.placements.contains(&Placement::EveryNodePair));
    let placements: Vec<Placement> = match &args.placement {
        // With `--host`, only the placement on the other machine is measured; else never.
        _ if args.remote.is_some() => vec![Placement::Remote],
        // A pair is requested by its CPUs or by their relation.
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
    // The curve of a scaling run begins with a group of one: a worker alone is timed differently if
    // its value is a rate.
    let scales = if args.threads { info.scaling.threads } else { info.scaling.processes };
    let is_scaling = args.parallel.len() > 1 && scales;
    let mut all = Vec::new();
    for &n in &workers {
        let alone = n == 1 && !is_scaling;
        let mut here = placements.clone();
        if alone && args.placement.is_none() && info.class_tier <= args.tier() && here.contains(&Placement::Pinned) {
            here.extend(on_other_classes(topology));
        }
        for placement in &here {
            let placement = match placement {
                // Where nothing can be tied to a CPU, what needs no CPU of its own is measured
                // where the scheduler puts it, under that name. A survey shows two sides by the
                // CPUs that they are on.
                one if topology.is_pinning_refused()
                    && args.placement.is_none()
                    && !(two_sided && args.survey)
                    && !matches!(one, Placement::EveryPair | Placement::EveryNodePair | Placement::Remote) =>
                {
                    Placement::Free
                }
                // A worker group without a requested placement: one CPU for each member if its size
                // comes from the machine, else the scheduler's choice.
                Placement::Pinned if n > 1 && args.parallel.is_empty() => Placement::Compact,
                Placement::Pinned if n > 1 || is_scaling => Placement::Free,
                Placement::Pinned => on_one_cpu(&OneCpu::default(), topology),
                Placement::On(one) => match on_one_cpu(one, topology) {
                    // The machine has one class and one node.
                    Placement::Pinned if !alone => Placement::Compact,
                    on => on,
                },
                other => other.clone(),
            };
            let is_placed =
                matches!(placement, Placement::Free | Placement::Compact | Placement::Spread | Placement::On(_));
            let layout = (placement, n, n > 1 || (is_scaling && is_placed));
            if !all.contains(&layout) {
                all.push(layout);
            }
        }
    }
    all
}

/// A sentence on pairs of CPUs that the plan leaves out, if it does.
pub fn left_out(plan: &[Planned], topology: &Topology) -> Option<String> {
    let mut pairs: BTreeMap<&str, BTreeSet<&[u32]>> = BTreeMap::new();
    for planned in plan {
        if let (Placement::List(_), Cpus::Each(pair)) = (&planned.point.placement, &planned.cpus) {
            pairs.entry(&planned.point.bench).or_default().insert(pair);
        }
    }
    let n = topology.usable().len();
    let all = n * n.saturating_sub(1) / 2;
    // A single pair was requested.
    let (bench, some) = pairs.into_iter().find(|(_, pairs)| pairs.len() > 1 && pairs.len() < all)?;
    Some(format!("{bench}: {} of {all} pairs of CPUs (all of them with --full)", some.len()))
}

fn plan_point(
    info: &Info,
    params: Params,
    placement: Placement,
    (workers, group, threads): (u32, bool, bool),
    topology: &Topology,
) -> Planned {
    let worker_kind = if threads { WorkerKind::Threads } else { WorkerKind::Processes };
    let cpus = cpus(info, &placement, (workers, group), topology);
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
    let shares = workers as usize > topology.usable().len() || (group && cpus == Ok(Cpus::Any));
    let mut drops = if shares { info.interference.drops_crowded() } else { info.interference.drops() };
    // A worker group, or a pair on two threads of a core, keeps sibling threads busy itself.
    if !group && placement != Placement::Smt {
        drops.add(Label::Shared);
    }
    let show = |(name, value): &(String, Value)| {
        let param = info.params.iter().find(|p| p.name == name);
        format!("{name}={}", param.map_or_else(|| value.to_string(), |p| p.show(value)))
    };
    let metrics = info.outputs.iter().map(|output| {
        let quantity = info.quantity_of(output);
        Metric {
            id: info.metric(output),
            summary: if output.summary.is_empty() { info.summary } else { output.summary }.to_owned(),
            quantity,
            better: if output.quantity.is_none() { info.better() } else { quantity.better() },
            derivation: output.derivation.owned(),
            detail: output.detail,
        }
    });
    let wakes = info.interference == Interference::Blocking
        && matches!(&cpus, Ok(Cpus::Each(cpus)) if cpus.iter().any(|cpu| *cpu != cpus[0]));
    Planned {
        group,
        work_dir: info.needs.iter().any(|need| need.is_work_dir(&params)),
        end_of_caches: info.needs_end_of_caches(&params),
        side: 0,
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
        cpus: cpus.unwrap_or(Cpus::Any),
        unsupported,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::Run;
    use groma_harness::model::{Param, Profile};

    mod descriptors;

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

    /// The parameters of the points that the settings select, or the error.
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
    fn a_setting_applies_to_all_benchmarks_or_to_those_that_it_names() {
        assert_eq!(set(&[(None, "n", "7")]), Ok(vec!["one.call n=7".into(), "two.copy n=7 op=a".into()]));
        assert_eq!(set(&[(None, "op", "b")]), Ok(vec!["one.call n=1".into(), "two.copy n=2 op=b".into()]));
        let both = vec!["one.call n=7".into(), "two.copy n=8 op=a".into(), "two.copy n=9 op=a".into()];
        assert_eq!(set(&[(Some("two.copy"), "n", "8,9"), (None, "n", "7")]), Ok(both.clone()));
        assert_eq!(set(&[(None, "n", "7"), (Some("two"), "n", "8,9")]), Ok(both.clone()));
        // The last setting that names a benchmark wins.
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

    /// A container may refuse `sched_setaffinity`, and a kernel may lack it.
    #[test]
    fn what_needs_no_cpu_of_its_own_is_measured_where_nothing_can_be_pinned() {
        static TASK: Benchmark = Benchmark {
            info: Info { group_tier: |_| Tier::Standard, ..Info::new("test.task") },
            run: Run::NotHere("a test"),
        };
        static PAIR: Benchmark = Benchmark {
            info: Info { placements: &Placement::TWO_SIDED, ..Info::new("test.pair") },
            run: Run::NotHere("a test"),
        };
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(root.path().join("sys/devices/system/cpu")).expect("a directory");
        std::fs::write(root.path().join("sys/devices/system/cpu/online"), "0-1").expect("a file");
        let usual = Topology::from_tree(root.path(), &[0, 1]);
        let refused = usual.clone().without_pinning();
        let names = |topology: &Topology, request: &RunRequest| -> Vec<String> {
            let plan = plan(&[&TASK, &PAIR], request, topology).expect("a plan");
            plan.iter().map(|planned| planned.point.name()).collect()
        };
        let request = RunRequest::new(Profile::Standard);
        assert_eq!(names(&usual, &request)[0], "test.task");
        assert_eq!(
            names(&refused, &request),
            ["test.task placement=free", "test.task placement=free workers=2", "test.pair placement=free"]
        );
        // What was named is not replaced.
        let named = RunRequest { placement: Some(Placement::SameCpu), ..request };
        assert!(names(&refused, &named).contains(&"test.pair placement=same-cpu".to_owned()));
    }

    #[test]
    fn a_curve_reaches_four_times_the_last_cache() {
        const SIZE: Param = Param::size("size", "").past_caches().quick(&["64M"]).standard(&["16K", "256M"]);
        let info = Info { params: &[SIZE], ..Info::new("test.curve") };
        let root = tempfile::tempdir().expect("a directory");
        let dir = root.path();
        let cache = dir.join("sys/devices/system/cpu/cpu0/cache/index0");
        std::fs::create_dir_all(&cache).expect("a directory");
        for (file, text) in [("level", "3"), ("type", "Unified"), ("shared_cpu_list", "0")] {
            std::fs::write(cache.join(file), text).expect("a file");
        }
        std::fs::write(dir.join("sys/devices/system/cpu/online"), "0").expect("a file");
        let largest = |size: &str, tier: Tier| {
            std::fs::write(cache.join("size"), size).expect("a file");
            let topology = Topology::from_tree(dir, &[0]);
            let points = past_caches(&info, info.points(tier), tier, &topology);
            points.iter().filter_map(|p| p.int("size")).max().map(|size| size >> 20)
        };
        assert_eq!(largest("512M", Tier::Standard), Some(2048));
        assert_eq!(largest("260M", Tier::Standard), Some(1024));
        assert_eq!(largest("96M", Tier::Standard), Some(512));
        assert_eq!(largest("32M", Tier::Standard), Some(256));
        assert_eq!(largest("512M", Tier::Quick), Some(64));
    }

    #[test]
    fn a_curve_goes_past_the_largest_of_several_last_caches() {
        const SIZE: Param = Param::size("size", "").past_caches().quick(&["64M"]).standard(&["256M"]);
        let info = Info { params: &[SIZE], ..Info::new("test.curve") };
        let root = tempfile::tempdir().expect("a directory");
        let cpus = root.path().join("sys/devices/system/cpu");
        for (cpu, size) in ["32M", "260M", "96M"].into_iter().enumerate() {
            let cache = cpus.join(format!("cpu{cpu}/cache/index0"));
            std::fs::create_dir_all(&cache).expect("a directory");
            let own = cpu.to_string();
            for (file, text) in [("level", "3"), ("type", "Unified"), ("shared_cpu_list", &own), ("size", size)] {
                std::fs::write(cache.join(file), text).expect("a file");
            }
        }
        std::fs::write(cpus.join("online"), "0-2").expect("a file");
        let topology = Topology::from_tree(root.path(), &[0, 1, 2]);
        let points = past_caches(&info, info.points(Tier::Standard), Tier::Standard, &topology);
        assert_eq!(points.iter().filter_map(|p| p.int("size")).max(), Some(1 << 30));
    }

    /// A machine with two CPUs and no other information.
    fn two_cpus() -> Topology {
        let root = tempfile::tempdir().expect("a directory");
        let cpu = root.path().join("sys/devices/system/cpu");
        std::fs::create_dir_all(&cpu).expect("a directory");
        std::fs::write(cpu.join("online"), "0-1\n").expect("a file");
        Topology::from_tree(root.path(), &[0, 1])
    }

    #[test]
    fn a_busy_sibling_drops_no_sample_of_smt_pairs_and_worker_groups() {
        let info = Info { placements: &Placement::TWO_SIDED, ..Info::new("test.sides") };
        let drops = |placement: Placement, workers: u32| {
            let kind = (workers, workers > 1, false);
            plan_point(&info, Params::default(), placement, kind, &two_cpus()).point.drops.has(Label::Shared)
        };
        assert!(drops(Placement::Pinned, 1) && drops(Placement::SameCpu, 1));
        assert!(!drops(Placement::Smt, 1) && !drops(Placement::Free, 2));
    }

    /// They get a longer warm-up, in which the kernel adapts to them.
    #[test]
    fn blocking_sides_on_two_cpus_wake_each_other_and_no_others_do() {
        let wakes = |interference: Interference, cpus: [u32; 2], workers: u32| {
            let info = Info { placements: &Placement::TWO_SIDED, interference, ..Info::new("test.sides") };
            let kind = (workers, workers > 1, false);
            plan_point(&info, Params::default(), Placement::List(cpus.to_vec()), kind, &two_cpus()).wakes
        };
        assert!(wakes(Interference::Blocking, [0, 1], 1));
        assert!(!wakes(Interference::Blocking, [1, 1], 1));
        assert!(!wakes(Interference::Cpu, [0, 1], 1));
        assert!(!wakes(Interference::Blocking, [0, 1], 2));
    }

    /// Members that the scheduler places share CPUs even if there are enough. For members with one
    /// CPU each, preemption is a disturbance.
    #[test]
    fn preemption_drops_no_sample_of_members_that_share_cpus() {
        let info = Info { placements: &[Placement::Pinned], ..Info::new("test.members") };
        let drops = |placement: Placement, workers: u32| {
            let kind = (workers, workers > 1, false);
            plan_point(&info, Params::default(), placement, kind, &two_cpus()).point.drops.has(Label::Preempted)
        };
        assert!(drops(Placement::Pinned, 1) && drops(Placement::Compact, 2));
        assert!(!drops(Placement::Free, 2) && !drops(Placement::Compact, 3));
    }
}
