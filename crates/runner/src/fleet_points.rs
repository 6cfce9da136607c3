//! The points of a fleet run: what its list names, on the CPUs and NUMA nodes of this machine.

use crate::plan::{Planned, plan};
use crate::request::{RunRequest, Setting};
use crate::survey_points::points_of;
use anyhow::{Context, Result};
use groma_harness::Benchmark;
use groma_harness::model::page::{On, Shown};
use groma_harness::model::{OneCpu, Placement};
use groma_harness::sys::topology::Topology;
use std::collections::BTreeMap;

/// The points of these values. What the machine lacks stays in the plan with its reason, except for
/// worker groups that it has no CPUs for.
///
/// # Errors
/// When a value names no benchmark, or a parameter that its benchmark does not take.
pub fn fleet_points(
    benches: &[&'static Benchmark],
    values: &[Shown],
    request: &RunRequest,
    topology: &Topology,
) -> Result<Vec<Planned>> {
    let mut all: Vec<Planned> = Vec::new();
    for shown in values {
        let reports =
            |bench: &&&'static Benchmark| bench.info.outputs.iter().any(|out| bench.info.metric(out) == shown.metric);
        let bench = benches.iter().find(reports).with_context(|| format!("no benchmark reports {}", shown.metric))?;
        for layout in layouts(shown, request, topology) {
            let points = plan(&[bench], &layout, topology)?;
            let wanted = points_of(shown, &points);
            let points = points.into_iter().enumerate().filter(|(i, _)| wanted.contains(i)).map(|(_, planned)| planned);
            let new: Vec<Planned> =
                points.filter(|planned| !all.iter().any(|other| other.point == planned.point)).collect();
            all.extend(new);
        }
    }
    Ok(all)
}

/// The requests whose plans hold the points of a value.
fn layouts(shown: &Shown, request: &RunRequest, topology: &Topology) -> Vec<RunRequest> {
    let setting = |(name, value): &(&str, &str)| Setting {
        of: None,
        name: (*name).to_owned(),
        values: vec![(*value).to_owned()],
    };
    let one = RunRequest { params: shown.params.iter().map(setting).collect(), ..request.clone() };
    let group = |placement: Placement, workers: usize| RunRequest {
        placement: Some(placement),
        parallel: vec![workers as u32],
        ..one.clone()
    };
    match shown.on {
        On::All => vec![group(Placement::Compact, topology.usable().len())],
        On::Nodes => {
            let nodes = cpus_of_nodes(topology);
            let on = |(node, cpus): (u32, usize)| group(Placement::On(OneCpu { class: None, node: Some(node) }), cpus);
            if nodes.len() > 1 { nodes.into_iter().map(on).collect() } else { Vec::new() }
        }
        _ => vec![one],
    }
}

/// How many usable CPUs each NUMA node has.
fn cpus_of_nodes(topology: &Topology) -> BTreeMap<u32, usize> {
    let usable = topology.usable();
    let mut nodes = BTreeMap::new();
    for node in topology.cpus().iter().filter(|cpu| usable.contains(&cpu.id)).filter_map(|cpu| cpu.node) {
        *nodes.entry(node).or_default() += 1;
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::Run;
    use groma_harness::model::{Info, Param, Profile};

    static STREAM: Benchmark = Benchmark {
        info: Info { params: &[Param::word("op", "", &["a", "b"]).quick(&["a", "b"])], ..Info::new("mem.stream") },
        run: Run::NotHere("a test"),
    };

    /// Two nodes of two CPUs each.
    fn two_nodes() -> Topology {
        let root = tempfile::tempdir().expect("a directory");
        let files = [("cpu/online", "0-3"), ("node/node0/cpulist", "0-1"), ("node/node1/cpulist", "2-3")];
        for (path, text) in files {
            let path = root.path().join("sys/devices/system").join(path);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        }
        Topology::from_tree(root.path(), &[0, 1, 2, 3])
    }

    #[test]
    fn every_node_and_all_cpus_have_a_group_and_one_parameter_value() {
        const VALUE: Shown = Shown::of("mem.stream", &[("op", "b")]);
        let request = RunRequest::new(Profile::Fleet);
        let points = |topology: &Topology| {
            let values = [VALUE, VALUE.on(On::All), VALUE.on(On::Nodes)];
            let points = fleet_points(&[&STREAM], &values, &request, topology).expect("a plan");
            let name = |planned: &Planned| format!("{} on {}", planned.point.name(), planned.cpus);
            points.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(
            points(&two_nodes()),
            [
                "mem.stream op=b node=0 on one of CPUs 0-1 (node 0)",
                "mem.stream op=b placement=compact workers=4 on CPUs 0-3",
                "mem.stream op=b node=0 workers=2 on CPUs 0-1",
                "mem.stream op=b node=1 workers=2 on CPUs 2-3",
            ]
        );
        // A machine of one CPU has no group.
        let one = Topology::from_tree(std::path::Path::new("/nowhere"), &[0]);
        assert_eq!(points(&one), ["mem.stream op=b on CPU 0"]);
        let unknown = Shown::of("mem.none", &[]);
        assert!(fleet_points(&[&STREAM], &[unknown], &request, &one).is_err());
    }
}
