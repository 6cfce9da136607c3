//! The catalogue: each benchmark is in one file that is named like it, its descriptor is complete
//! and consistent, and pages, models and prices name only what is measured.

use groma_harness::model::family::{Figure, Select};
use groma_harness::model::page::{On, Shown};
use groma_harness::model::{Derivation, Info, Interference, Need, Placement, Quantity, Tier, Times, Timing, Value};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// `family.name` of every file that holds a benchmark.
fn files() -> BTreeSet<String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders = fs::read_dir(src).expect("the source folder").flatten().filter(|e| e.path().is_dir());
    let mut ids = BTreeSet::new();
    for folder in folders {
        let family = folder.file_name().into_string().expect("a plain name");
        for file in fs::read_dir(folder.path()).expect("a family's folder").flatten() {
            let name = file.file_name().into_string().expect("a plain name");
            let holds_one =
                || fs::read_to_string(file.path()).expect("a source file").contains("static BENCH: Benchmark");
            if let Some(name) = name.strip_suffix(".rs")
                && holds_one()
            {
                ids.insert(format!("{family}.{name}"));
            }
        }
    }
    ids
}

#[test]
fn files_and_ids_are_the_same() {
    let listed: Vec<&str> = groma_benches::all().iter().map(|bench| bench.info.id).collect();
    let ids: BTreeSet<String> = listed.iter().map(|id| (*id).to_owned()).collect();
    if let Some(id) = files().difference(&ids).next() {
        let (family, name) = id.split_once('.').expect("family.name");
        panic!("{id} is not in the catalogue: add 'mod {name};' to crates/benches/src/{family}/mod.rs");
    }
    assert_eq!(files(), ids, "the files (left) and the ids of the catalogue (right)");
    assert_eq!(ids.len(), listed.len(), "a benchmark is in the list twice");
}

/// The ids of all metrics.
fn metrics() -> BTreeSet<String> {
    let id = |bench: &str, suffix: &str| if suffix.is_empty() { bench.to_owned() } else { format!("{bench}.{suffix}") };
    let outputs = |info: &Info| info.outputs.iter().map(|o| id(info.id, o.suffix)).collect::<Vec<_>>();
    groma_benches::all().iter().flat_map(|bench| outputs(&bench.info)).collect()
}

#[test]
fn families_are_those_of_the_benchmarks_and_name_only_metrics_that_exist() {
    let families = groma_benches::families();
    let mut of_benchmarks: Vec<&str> = groma_benches::all().iter().map(|bench| bench.info.family()).collect();
    of_benchmarks.dedup();
    assert_eq!(families.iter().map(|f| f.name).collect::<Vec<_>>(), of_benchmarks);
    let metrics = metrics();
    let named: Vec<(&str, &str)> =
        families.iter().flat_map(|f| f.metrics().into_iter().map(move |id| (f.name, id))).collect();
    let unknown: Vec<_> = named.iter().filter(|(_, id)| !metrics.contains(*id)).collect();
    assert!(named.len() > 60 && unknown.is_empty(), "of {} names the catalogue lacks {unknown:?}", named.len());
    for family in families {
        assert!(!family.summary.is_empty() && !family.summary.ends_with('.'), "{}", family.name);
        for (text, figures) in family.says.texts() {
            assert_eq!(text.matches("{}").count(), figures.len(), "{}: {text}", family.name);
        }
    }
}

/// Values of parameters that a sentence names are among those that the parameter takes.
#[test]
fn the_values_that_families_name_are_those_of_the_parameters() {
    let all = groma_benches::all();
    let texts = groma_benches::families().into_iter().flat_map(|f| f.says.texts());
    for of in texts.flat_map(|(_, figures)| figures).flat_map(Figure::selections) {
        let Select::With(metric, params) = of else { continue };
        let bench = all.iter().find(|b| metric == b.info.id || metric.starts_with(&format!("{}.", b.info.id)));
        for (name, text) in params {
            let param = bench.and_then(|b| b.info.params.iter().find(|p| p.name == *name));
            let value = param.and_then(|p| p.parse(text).ok()).map(|value| value.to_string());
            assert_eq!(value.as_deref(), Some(*text), "{metric} {name}");
        }
    }
}

#[test]
fn outputs_per_gigabyte_have_the_unit_for_it() {
    let mut found = 0;
    for bench in groma_benches::all() {
        for output in bench.info.outputs.iter().filter(|o| o.summary.contains("for a gigabyte")) {
            assert_eq!(output.quantity, Some(Quantity::TimePerGigabyte), "{}.{}", bench.info.id, output.suffix);
            found += 1;
        }
    }
    assert!(found >= 8, "{found}");
}

#[test]
fn every_descriptor_is_complete() {
    for bench in groma_benches::all() {
        let info = &bench.info;
        assert!(
            !info.summary.is_empty() && !info.summary.ends_with('.'),
            "{}: the summary is half a sentence",
            info.id
        );
        assert!(info.about.text.lines().count() > 3, "{}: 'about: about!(\"<file>.rs\")' is missing", info.id);
        assert!(!info.placements.is_empty() && !info.outputs.is_empty(), "{}", info.id);
        assert!(info.target_half_width > 0.0 && info.target_half_width < 1.0, "{}: width is a fraction", info.id);
        assert!(
            info.scaling.processes && info.scaling.threads || !info.scaling.why.is_empty(),
            "{}: say why not",
            info.id
        );
        for param in info.params {
            assert!(!param.help.is_empty(), "{}: parameter {}", info.id, param.name);
            assert_eq!(param.check(), Ok(()), "{}: parameter {}", info.id, param.name);
        }
        assert!(info.outputs[0].suffix.is_empty(), "{}: the main output comes first", info.id);
        assert!(info.outputs[1..].iter().all(|o| !o.summary.is_empty()), "{}: an output says nothing", info.id);
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(info.about.file);
        assert!(file.is_file(), "{}: {} is no file of this repository", info.id, info.about.file);
        // A self-test measures groma, and says so by what it is.
        let more: &[&str] = if info.family() == "selftest" { &[] } else { &["Does not measure", "Pitfalls"] };
        let known = ["Measures", "Does not measure", "Method", "Calls", "Proofs", "Pitfalls", "Sources"];
        let labels = info.about.text.lines().filter_map(|line| line.strip_prefix("**")?.split_once(":**"));
        let labels: Vec<&str> = labels.map(|(label, _)| label).collect();
        for label in ["Measures", "Method", "Sources"].iter().chain(more) {
            assert!(labels.contains(label), "{}: the header lacks '//! **{label}:**' and its text", info.about.file);
        }
        let unknown: Vec<&&str> = labels.iter().filter(|label| !known.contains(*label)).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?} is none of {known:?}", info.about.file);
        let mut suffixes: Vec<&str> = info.outputs.iter().map(|o| o.suffix).collect();
        suffixes.sort_unstable();
        suffixes.dedup();
        assert_eq!(suffixes.len(), info.outputs.len(), "{}: two outputs have one name", info.id);
    }
}

/// Placements that need two CPUs.
const TWO_CPUS: [Placement; 5] =
    [Placement::Smt, Placement::SameLlc, Placement::CrossLlc, Placement::CrossNode, Placement::EveryPair];

#[test]
fn placements_and_scaling_agree() {
    for bench in groma_benches::all() {
        let Info { id, placements, needs, scaling, .. } = bench.info;
        assert_eq!(placements.iter().collect::<BTreeSet<_>>().len(), placements.len(), "{id}: a placement twice");
        // The other side is forked, which a member that is a thread must not do, or it is a thread.
        assert!(bench.info.sides() == 1 || !scaling.threads, "{id}: threads with two sides each");
        if placements.iter().all(|place| TWO_CPUS.contains(place)) {
            assert!(needs.contains(&Need::Cpus(2)), "{id} does not say that it needs two CPUs");
        }
        let in_groups = |params| (bench.info.group_tier)(params) < Tier::Named;
        assert!(scaling.processes || !bench.info.points(Tier::Full).iter().any(in_groups), "{id}: groups of one");
        let by_class = bench.info.class_tier < Tier::Named;
        assert!(!by_class || placements.contains(&Placement::Pinned), "{id}: no CPU to choose the class of");
        for need in needs {
            let Need::WorkDirFor { param, values } = need else { continue };
            let param = bench.info.params.iter().find(|p| p.name == *param);
            let is_value = |value: &&str| param.is_some_and(|p| p.values(Tier::Named).contains(value));
            assert!(values.iter().all(is_value), "{id}: {need:?}");
        }
    }
}

#[test]
fn timing_and_quantities_fit_what_is_measured() {
    for bench in groma_benches::all() {
        let info = &bench.info;
        assert!(info.version >= 1, "{}", info.id);
        // A floor is a constant of the hardware, which neither waits nor faults.
        assert!(info.timing != Timing::Floor || info.interference == Interference::Cpu, "{}", info.id);
        for output in info.outputs {
            let what = format!("{}: {:?}", info.metric(output), output.derivation);
            match output.derivation {
                Derivation::Ratio { .. } | Derivation::Totals { .. } => {
                    assert!(matches!(info.quantity_of(output), Quantity::Ratio | Quantity::Count), "{what}");
                }
                Derivation::Difference { of, minus, per } => {
                    assert!(of != minus && per > 0.0 && info.quantity_of(output) == Quantity::Latency, "{what}");
                }
                Derivation::Series(_) | Derivation::Scaled { .. } | Derivation::Max(_) => {}
            }
        }
    }
}

/// The points of all benchmarks that a run of this tier measures when nothing is named.
fn points(tier: Tier) -> BTreeSet<String> {
    let all = groma_benches::all();
    let measured = all.iter().map(|bench| &bench.info).filter(|info| info.tier <= tier);
    measured.flat_map(|info| info.points(tier).into_iter().map(|params| format!("{} {params}", info.id))).collect()
}

#[test]
fn a_larger_run_measures_what_a_smaller_one_does_and_more() {
    let [quick, standard, full] = [Tier::Quick, Tier::Standard, Tier::Full].map(points);
    assert!(quick.is_subset(&standard) && standard.is_subset(&full));
    // A round takes 20 ms and more: ten seconds hold some rounds of so many points, and 60 s of
    // more.
    assert!((50..150).contains(&quick.len()), "a quick run has {} points", quick.len());
    assert!((2 * quick.len()..600).contains(&standard.len()), "a standard run has {} points", standard.len());
    assert!(full.len() > 5 * standard.len(), "a full run has {} points", full.len());
    let named = |info: &Info| info.tier == Tier::Named;
    for bench in groma_benches::all().iter().filter(|bench| named(&bench.info)) {
        assert!(!full.iter().any(|point| point.split(' ').next() == Some(bench.info.id)), "{}", bench.info.id);
    }
}

#[test]
fn every_value_is_measured_by_a_run_of_its_tier() {
    for bench in groma_benches::all() {
        let info = &bench.info;
        let points = [Tier::Quick, Tier::Standard, Tier::Full].map(|tier| (tier, info.points(tier)));
        for (tier, points) in &points {
            assert!(!points.is_empty(), "{}: a {tier:?} run measures nothing of it", info.id);
            assert!(points.iter().all(|params| info.params_tier(params) <= *tier), "{}: {tier:?}", info.id);
        }
        for param in info.params {
            for text in param.values(Tier::Named) {
                let value: Value = param.parse(text).expect("checked by every_descriptor_is_complete");
                for (tier, points) in &points {
                    // A combination may raise a value to the full run, and nothing lowers it.
                    let measured = points.iter().any(|params| params.get(param.name) == Some(&value));
                    let within = param.tier(&value) <= *tier;
                    let what = format!("{}: {}={text}, {tier:?}", info.id, param.name);
                    assert!(if *tier == Tier::Full { measured == within } else { within || !measured }, "{what}");
                }
            }
        }
    }
}

/// A survey measures what a page shows: the metric exists, and a standard run of its benchmark has
/// a point with these parameters. Names leave room for the values.
#[test]
fn pages_show_what_a_survey_measures() {
    let all = groma_benches::all();
    let pages = groma_benches::pages();
    for shown in pages.measured_metrics() {
        let of = |info: &Info| {
            let ids = info.outputs.iter().map(|o| [info.id, o.suffix].join(".").trim_end_matches('.').to_owned());
            ids.into_iter().any(|id| id == shown.metric)
        };
        let bench = all.iter().find(|b| of(&b.info)).unwrap_or_else(|| panic!("no metric {}", shown.metric));
        for (name, value) in shown.params {
            let param = bench.info.params.iter().find(|p| p.name == *name);
            let param = param.unwrap_or_else(|| panic!("{} has no parameter {name}", shown.metric));
            param.parse(value).unwrap_or_else(|why| panic!("{} {name}: {why}", shown.metric));
        }
        let points = bench.info.points(Tier::Standard);
        assert!(points.iter().any(|params| shown.has(params)), "{} {:?} is not measured", shown.metric, shown.params);
    }
    for block in pages.system.iter().chain(pages.hardware) {
        for line in block.lines {
            assert!(line.name.chars().count() <= 26, "{}", line.name);
            let (shown, beyond) = line.values.split_at(block.columns());
            assert!(shown.iter().any(Option::is_some), "{}: {}", block.title, line.name);
            assert!(beyond.iter().all(Option::is_none), "{}: {}", block.title, line.name);
        }
    }
    assert!(pages.shown_metrics().filter(|shown| shown.quick).count() <= 45, "a quick survey has ten seconds");
}

/// The benchmark that reports a metric.
fn that_reports(metric: &str) -> &'static Info {
    let all = groma_benches::all();
    let reports = |info: &Info| info.outputs.iter().any(|output| info.metric(output) == metric);
    let bench = all.iter().find(|bench| reports(&bench.info)).unwrap_or_else(|| panic!("no metric {metric}"));
    &bench.info
}

/// The benchmark that reports a metric; a standard run must measure this point of it.
fn that_measures(shown: &Shown) -> &'static str {
    let info = that_reports(shown.metric);
    let measured = info.points(Tier::Standard).iter().any(|params| shown.has(params));
    assert!(measured, "{} {:?} is not measured", shown.metric, shown.params);
    // A plan has a list of two CPUs for each pair.
    let pair = Placement::List(vec![0, 1]);
    let fits = info.placements.iter().chain([&pair]).any(|place| shown.rank(place, 1).is_some());
    assert!(fits, "{} is not measured {:?}", shown.metric, shown.on);
    info.id
}

/// A model names metrics that exist, at points that a run of their benchmarks measures, and
/// explains a metric of its own benchmark.
#[test]
fn models_name_costs_that_are_measured() {
    let all = groma_benches::all();
    let mut explained = BTreeSet::new();
    for bench in &all {
        for model in bench.info.composed_of {
            assert_eq!(that_measures(&model.of), bench.info.id);
            assert!(!model.parts.is_empty() && !model.rest.is_empty(), "{}", model.of.metric);
            assert!(model.shown().map(that_measures).count() >= model.parts.len());
            let itself = model.shown().any(|shown| (shown.metric, shown.params) == (model.of.metric, model.of.params));
            assert!(!itself, "{} explains itself", model.of.metric);
            for part in model.parts.iter().chain(model.hardware) {
                let declared = |name: &str| bench.info.params.iter().any(|param| param.name == name);
                assert!(!matches!(part.times, Times::Param(_, name) if !declared(name)), "{}", part.what);
            }
            explained.insert(model.of.metric);
        }
    }
    assert!(explained.len() >= 10, "{explained:?}");
}

/// After a survey `groma explain --run latest` has every part of what is on the pages: without one,
/// the rest would include it.
#[test]
fn a_survey_measures_the_parts_of_what_it_explains() {
    let pages = groma_benches::pages();
    let same = |a: &Shown, b: &Shown| {
        let holds = |(name, value): &(&str, &str)| a.params.iter().any(|(n, v)| (n, v) == (name, value));
        // A model may name more parameters than a page does.
        that_reports(a.metric).id == that_reports(b.metric).id
            && b.params.iter().all(holds)
            && (a.on == b.on || b.on == On::Each)
    };
    let is_measured = |shown: &Shown| pages.measured_metrics().any(|measured| same(shown, measured));
    let mut parts = 0;
    for bench in groma_benches::all() {
        for model in bench.info.composed_of.iter().filter(|model| is_measured(&model.of)) {
            for shown in model.shown() {
                assert!(
                    is_measured(shown),
                    "{}: no survey measures {} {:?}",
                    model.of.metric,
                    shown.metric,
                    shown.params
                );
                parts += 1;
            }
        }
    }
    assert!(parts > 40, "only {parts} parts");
}

#[test]
fn prices_name_costs_that_are_measured_and_each_name_has_one() {
    let mut names = BTreeSet::new();
    for price in groma_benches::prices() {
        assert!(!price.what.is_empty() && !price.each.is_empty());
        for part in price.each.iter().chain(price.byte) {
            assert!(matches!(part.times, Times::Fixed(times) if times != 0.0), "{}", price.what);
            for shown in [Some(part.cost), part.less].iter().flatten() {
                that_measures(shown);
            }
        }
        for name in price.names {
            assert!(names.insert(*name), "{name} has two prices");
        }
    }
    assert!(names.len() > 100, "{}", names.len());
}
