//! Everything a run will do, fixed before it starts: which points, where, in crews of which size.
//!
//! A point that cannot be measured here stays in the plan with its reason: a missing line would be a bug.

use crate::flags::RunArgs;
use anyhow::{Context, Result, bail};
use groma_harness::Benchmark;
use groma_harness::model::{
    CrewKind, Info, Metric, Param, ParamKind, Params, Placement, Point, Profile, Value, Workers,
};
use groma_harness::sys::topology::{Relation, Topology};

/// One point of the plan.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// What is measured.
    pub(crate) point: Point,
    /// The CPUs of its sides or members; empty where the worker or the scheduler chooses.
    pub(crate) cpus: Vec<u32>,
    /// Why it cannot be measured here.
    pub(crate) unsupported: Option<String>,
}

/// The points that were asked for, in the catalogue's order.
///
/// # Errors
/// Names the option or the parameter that nothing takes, and what was expected.
pub(crate) fn plan(benches: &[&'static Benchmark], args: &RunArgs, topology: &Topology) -> Result<Vec<Planned>> {
    for (name, _) in &args.params {
        if !benches.iter().any(|b| b.info.params.iter().any(|p| p.name == name)) {
            let mut names: Vec<&str> = benches.iter().flat_map(|b| b.info.params).map(|p| p.name).collect();
            names.sort_unstable();
            names.dedup();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            bail!("--param {name}: no selected benchmark has it (known: {known})");
        }
    }
    if args.placement == Some(Placement::Remote) && args.host.is_none() {
        bail!("--placement remote: name the other machine with --host ADDRESS, where a groma serve listens");
    }
    if args.host.is_some() && args.placement.as_ref().is_some_and(|p| *p != Placement::Remote) {
        bail!("--placement: the other side is where --host says");
    }
    if let Some(Placement::List(cpus)) = &args.placement {
        topology.check(cpus).map_err(anyhow::Error::msg).context("--placement")?;
    }
    let mut points = Vec::new();
    for bench in benches {
        for params in combinations(&bench.info, args)? {
            for (placement, workers) in layouts(&bench.info, args, topology) {
                points.push(planned(&bench.info, params.clone(), placement, workers, args.threads, topology));
            }
        }
    }
    if points.is_empty() {
        bail!("the selection holds no point to measure");
    }
    Ok(points)
}

/// All combinations of the wanted values of a benchmark's parameters.
fn combinations(info: &Info, args: &RunArgs) -> Result<Vec<Params>> {
    let mut all = vec![Params::default()];
    let mut chosen = args.full;
    for param in info.params {
        let typed = args.params.iter().find(|(name, _)| name == param.name).map(|(_, values)| values);
        chosen |= typed.is_some();
        // A text is one value, commas and all.
        let whole = typed.filter(|_| param.kind == ParamKind::Text).map(|values| values.join(","));
        let texts: Vec<&str> = match typed {
            Some(_) if whole.is_some() => whole.as_deref().into_iter().collect(),
            Some(values) => values.iter().map(String::as_str).collect(),
            None => defaults(param, args).to_vec(),
        };
        let values: Vec<Value> = texts
            .iter()
            .map(|text| param.parse(text).map_err(|why| anyhow::anyhow!("--param {}: {why}", param.name)))
            .collect::<Result<_>>()?;
        all = all
            .into_iter()
            .flat_map(|params| {
                values.iter().map(move |value| {
                    let mut params = params.clone();
                    params.0.push((param.name.to_owned(), value.clone()));
                    params
                })
            })
            .collect();
    }
    // What a plain run thins out is measured when somebody names values.
    if !chosen {
        all.retain(|params| (info.plain)(params));
    }
    Ok(all)
}

fn defaults(param: &Param, args: &RunArgs) -> &'static [&'static str] {
    match args.profile.into() {
        _ if args.full => param.full_values(),
        Profile::Quick => param.quick_values(),
        Profile::Standard | Profile::Rigorous => param.default,
    }
}

/// Where, and by how many, a benchmark is to be run.
fn layouts(info: &Info, args: &RunArgs, topology: &Topology) -> Vec<(Placement, u32)> {
    let cpus = topology.usable().len() as u32;
    // Two sides are those of a pair of CPUs; alone and free is one that the scheduler places.
    let two_sided = info.placements.iter().any(|p| Placement::TWO_SIDED[..5].contains(p));
    let placements: Vec<Placement> = match &args.placement {
        // Whoever names another machine asks for it alone; whoever names none has none.
        _ if args.host.is_some() => vec![Placement::Remote],
        Some(placement) if two_sided == Placement::TWO_SIDED[..5].contains(placement) => vec![placement.clone()],
        Some(Placement::Free) => vec![Placement::Free],
        _ => {
            let here = info.placements.iter().filter(|p| **p != Placement::Remote).cloned();
            // A quick run has time for one placement of each.
            here.take(if !args.full && Profile::from(args.profile) == Profile::Quick { 1 } else { usize::MAX })
                .collect()
        }
    };
    let mut workers: Vec<u32> = if args.parallel.is_empty() {
        let default = |w: &Workers| match w {
            Workers::One => 1,
            Workers::Cpus => cpus,
        };
        info.workers.iter().map(default).collect()
    } else {
        args.parallel.clone()
    };
    workers.dedup();
    let mut all = Vec::new();
    for &n in &workers {
        for placement in &placements {
            let placement = match placement {
                // A crew that nobody placed: one CPU a member where each is to have its own, else the scheduler's choice.
                Placement::Pinned if n > 1 && args.parallel.is_empty() => Placement::Compact,
                Placement::Pinned if n > 1 => Placement::Free,
                other => other.clone(),
            };
            if !all.contains(&(placement.clone(), n)) {
                all.push((placement, n));
            }
        }
    }
    all
}

fn planned(
    info: &Info,
    params: Params,
    placement: Placement,
    workers: u32,
    threads: bool,
    topology: &Topology,
) -> Planned {
    let crew = if threads { CrewKind::Threads } else { CrewKind::Processes };
    let cpus = cpus(&placement, workers, topology);
    let scales = match crew {
        CrewKind::Processes => info.scaling.processes,
        CrewKind::Threads => info.scaling.threads,
    };
    let unsupported = match &cpus {
        Err(why) => Some(why.clone()),
        Ok(_) if placement == Placement::Remote && !info.placements.contains(&placement) => {
            Some("has no other side that --host could be".to_owned())
        }
        Ok(_) if workers > 1 && !scales => {
            let kind = if threads { "threads" } else { "processes" };
            Some(format!("does not run as several {kind}: {}", info.scaling.why))
        }
        Ok(_) => None,
    };
    // A crew that shares its CPUs, by number or because nobody pinned it, is measured as it is: being preempted and moved
    // is then part of the subject (harness-methods.md 3.4).
    let shares = workers as usize > topology.usable().len() || (workers > 1 && cpus.as_ref().is_ok_and(Vec::is_empty));
    let drops = if shares { info.interference.drops_crowded() } else { info.interference.drops() };
    let show = |(name, value): &(String, Value)| {
        let param = info.params.iter().find(|p| p.name == name);
        format!("{name}={}", param.map_or_else(|| value.to_string(), |p| p.show(value)))
    };
    let metrics = info.outputs.iter().map(|output| {
        let quantity = output.quantity.unwrap_or(info.quantity);
        Metric {
            id: if output.suffix.is_empty() { info.id.to_owned() } else { format!("{}.{}", info.id, output.suffix) },
            summary: if output.summary.is_empty() { info.summary } else { output.summary }.to_owned(),
            quantity,
            better: if output.quantity.is_none() { info.better() } else { quantity.better() },
            derivation: output.derivation.owned(),
            detail: output.detail,
        }
    });
    Planned {
        point: Point {
            bench: info.id.to_owned(),
            version: info.version,
            params_text: params.0.iter().map(show).collect::<Vec<_>>().join(" "),
            params,
            placement,
            workers,
            crew,
            timing: info.timing,
            drops,
            width: info.width,
            metrics: metrics.collect(),
        },
        cpus: cpus.unwrap_or_default(),
        unsupported,
    }
}

/// The CPUs that a placement stands for on this machine, or why it has none.
fn cpus(placement: &Placement, workers: u32, topology: &Topology) -> Result<Vec<u32>, String> {
    let pair = |relation| {
        if workers > 1 {
            return Err("crews of two-sided benchmarks are placed with --placement free".to_owned());
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
        Placement::List(cpus) => Ok(cpus.clone()),
    }
}
