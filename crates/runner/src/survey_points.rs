//! The points of a survey: those that the pages at its end show, and no others.

use crate::Planned;
use groma_analysis::point::family;
use groma_harness::model::Pages;
use groma_harness::model::page::{On, Shown};

/// Keeps the points of a plan that the pages show (in a quick survey, those marked as quick), and
/// all points of families that no page knows: a user's own benchmarks.
pub fn of_pages(plan: Vec<Planned>, pages: Pages<'_>, quick: bool) -> Vec<Planned> {
    let known: Vec<&str> = pages.shown_metrics().map(|shown| family(shown.metric)).collect();
    let mut keep: Vec<bool> = plan.iter().map(|planned| !known.contains(&family(&planned.point.bench))).collect();
    for shown in pages.measured_metrics().filter(|shown| shown.quick || !quick) {
        points_of(shown, &plan).into_iter().for_each(|i| keep[i] = true);
    }
    plan.into_iter().zip(keep).filter_map(|(planned, keep)| keep.then_some(planned)).collect()
}

/// The points at which a value of a page is measured: the best-ranked placement that this machine
/// has, or all of them for [`On::Each`] and [`On::Nodes`].
pub(crate) fn points_of(shown: &Shown, plan: &[Planned]) -> Vec<usize> {
    let fits = plan.iter().enumerate().filter_map(|(i, planned)| {
        let point = &planned.point;
        let rank = shown.rank(&point.placement, point.workers)?;
        let is_it = shown.is_of(&point.metrics) && shown.has(&point.params);
        is_it.then_some((planned.unsupported.is_some(), rank, i))
    });
    match shown.on {
        On::Each | On::Nodes => fits.map(|(_, _, i)| i).collect(),
        _ => fits.min().map(|(_, _, i)| i).or_else(|| last_resort(shown, plan)).into_iter().collect(),
    }
}

/// The point that is measured where no task can be tied to a CPU.
fn last_resort(shown: &Shown, plan: &[Planned]) -> Option<usize> {
    plan.iter().position(|Planned { point, .. }| {
        let here = shown.is_last_resort(&point.placement, point.workers);
        here && shown.is_of(&point.metrics) && shown.has(&point.params)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Cpus;
    use groma_harness::model::{
        Better, Derivation, Labels, Metric, Params, Placement, Point, Quantity, Timing, WorkerKind,
    };

    fn planned(placement: Placement, unsupported: bool) -> Planned {
        let metric = Metric {
            id: "test.pair".to_owned(),
            summary: String::new(),
            quantity: Quantity::Latency,
            better: Better::Lower,
            derivation: Derivation::Series(String::new()),
            detail: false,
        };
        Planned {
            point: Point {
                bench: "test.pair".to_owned(),
                version: 1,
                params: Params::default(),
                params_text: String::new(),
                placement,
                workers: 1,
                worker_kind: WorkerKind::Processes,
                timing: Timing::Batched,
                drops: Labels::NONE,
                target_half_width: 0.01,
                metrics: vec![metric],
            },
            cpus: Cpus::Any,
            group: false,
            wakes: false,
            work_dir: false,
            end_of_caches: false,
            side: 0,
            unsupported: unsupported.then(|| "not here".to_owned()),
        }
    }

    #[test]
    fn the_best_placement_that_this_machine_has_is_measured() {
        let shown = Shown::of("test.pair", &[]).on(On::Two);
        let of = |near: bool, far: bool| {
            let plan = [(Placement::CrossNode, far), (Placement::SameLlc, near), (Placement::CrossLlc, false)];
            points_of(&shown, &plan.map(|(placement, unsupported)| planned(placement, unsupported)))
        };
        assert_eq!((of(false, false), of(true, false)), (vec![1], vec![2]));
    }

    /// The pages know the family `test` and not the family `own`.
    #[test]
    fn a_survey_measures_what_is_shown_its_parts_and_unknown_families() {
        const SHOWN: &[Shown] = &[Shown::of("test.shown", &[]).quick(), Shown::of("test.slow", &[])];
        const PARTS: &[Shown] = &[Shown::of("test.part", &[]).quick()];
        let of = |bench: &&str| {
            let mut planned = planned(Placement::Pinned, false);
            planned.point.bench = (*bench).to_owned();
            planned.point.metrics[0].id = (*bench).to_owned();
            planned
        };
        let plan = || ["own.one", "test.part", "test.rest", "test.shown", "test.slow"].iter().map(of).collect();
        let pages = Pages { rows: SHOWN, parts: PARTS, ..Pages::default() };
        let kept = |quick| {
            let kept = of_pages(plan(), pages, quick);
            kept.into_iter().map(|planned| planned.point.bench).collect::<Vec<_>>()
        };
        assert_eq!(kept(false), ["own.one", "test.part", "test.shown", "test.slow"]);
        assert_eq!(kept(true), ["own.one", "test.part", "test.shown"]);
    }
}
