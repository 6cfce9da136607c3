//! The descriptors, said a second time.
//!
//! A benchmark that is timed in another way, that may be placed elsewhere, or whose parameter has
//! another usual value still works, and all of its proofs hold: the number is plausible, and of
//! something else. `descriptors.txt` therefore has what each descriptor says but for its sentences.
//!
//! After a change, `GROMA_UPDATE=1 cargo test -p groma-benches --test catalogue` writes the file,
//! and the difference is to be read.

use groma_harness::model::page::Shown;
use groma_harness::model::{Composition, Info, Output, Param, Part, Tier};
use std::path::Path;

/// The table.
const DESCRIPTORS: &str = include_str!("descriptors.txt");
/// The runs, small to large.
const RUNS: [Tier; 3] = [Tier::Quick, Tier::Standard, Tier::Full];

/// A metric at a point, as `metric param=value on Two`.
fn shown(of: &Shown) -> String {
    let params: String = of.params.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{}{params} on {:?}", of.metric, of.on)
}

fn part(part: &Part) -> String {
    let less = part.less.as_ref().map(|less| format!(" less {}", shown(less))).unwrap_or_default();
    format!("{:?} of {}{less}", part.times, shown(&part.cost))
}

fn composition(of: &Composition) -> String {
    let parts = |parts: &[Part]| parts.iter().map(part).collect::<Vec<_>>().join(" + ");
    format!("{} = {} ({})", shown(&of.of), parts(of.parts), parts(of.hardware))
}

fn output(info: &Info, output: &Output) -> String {
    let detail = if output.detail { ", detail" } else { "" };
    format!("{} = {:?}, {:?}{detail}", info.metric(output), output.derivation, info.quantity_of(output))
}

/// The values by the smallest run that measures them, the usual one, and what `auto` stands for.
fn param(param: &Param) -> String {
    let all = param.values(Tier::Named);
    let of = |tier: Tier| {
        let is_of = |text: &&str| param.parse(text).is_ok_and(|value| param.tier(&value) == tier);
        all.iter().copied().filter(is_of).collect::<Vec<_>>().join(" ")
    };
    let by_run: Vec<String> = [Tier::Quick, Tier::Standard, Tier::Full, Tier::Named].map(of).to_vec();
    let auto = param.auto().map(|auto| format!(", auto is {auto:?}")).unwrap_or_default();
    let past = if param.goes_past_caches() { ", past the caches" } else { "" };
    format!("{}: {}; usually {:?}{auto}{past}", param.name, by_run.join(" | "), param.usual())
}

/// How many points each run measures, and how many of them in groups as well.
fn points(info: &Info) -> String {
    let of_run = |tier: Tier| {
        let points = info.points(tier);
        let groups = points.iter().filter(|params| (info.group_tier)(params) <= tier).count();
        format!("{} points, {groups} in groups", points.len())
    };
    RUNS.map(of_run).join("; ")
}

/// What a descriptor says but for its sentences.
fn said(info: &Info) -> String {
    let Info { timing, interference, target_half_width, version, tier, class_tier, .. } = info;
    let (better, scaling) = (info.better(), info.scaling);
    let mut lines = vec![
        format!("version {version}, {:?}, {better:?} is better, {timing:?}", info.quantity),
        format!("{interference:?} drops samples, half-width {target_half_width}"),
        format!("in {tier:?} runs, classes in {class_tier:?}; {}", points(info)),
        format!(
            "processes {}, threads {}; {:?}; needs {:?}",
            scaling.processes, scaling.threads, info.placements, info.needs
        ),
    ];
    lines.extend(info.params.iter().map(param));
    lines.extend(info.outputs.iter().map(|of| output(info, of)));
    lines.extend(info.composed_of.iter().map(composition));
    lines.into_iter().map(|line| format!("{} | {line}\n", info.id)).collect()
}

#[test]
fn descriptors_are_those_of_the_table() {
    let said: String = groma_benches::all().iter().map(|bench| said(&bench.info)).collect();
    if std::env::var_os("GROMA_UPDATE").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/catalogue/descriptors.txt");
        std::fs::write(path, said).expect("writing descriptors.txt");
        return;
    }
    let (now, before): (Vec<&str>, Vec<&str>) = (said.lines().collect(), DESCRIPTORS.lines().collect());
    let lost: Vec<_> = before.iter().filter(|line| !now.contains(line)).collect();
    let new: Vec<_> = now.iter().filter(|line| !before.contains(line)).collect();
    assert!(lost.is_empty() && new.is_empty(), "descriptors.txt has {lost:#?}, the descriptors {new:#?}");
}
