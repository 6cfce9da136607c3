//! What the tests of this crate share.

use std::collections::BTreeSet;

use groma_model::{
    Host, Labels, Machine, Metric, Params, Placement, Point, Profile, RunHeader, SCHEMA, Timing, WorkerKind,
};

/// A point without parameters that reports these metrics. Its samples are the values that a
/// benchmark states, and no label drops one.
pub(crate) fn point(metrics: Vec<Metric>) -> Point {
    Point {
        bench: "a.b".to_owned(),
        version: 1,
        params: Params::default(),
        params_text: String::new(),
        placement: Placement::Pinned,
        workers: 1,
        worker_kind: WorkerKind::Processes,
        timing: Timing::Stated,
        drops: Labels::NONE,
        target_half_width: 0.05,
        metrics,
    }
}

/// The head of a run about whose machine nothing is known.
pub(crate) fn header() -> RunHeader {
    RunHeader {
        schema: SCHEMA,
        run: "20261121T073812Z-5f3a".to_owned(),
        started: "2026-11-21T07:38:12Z".to_owned(),
        groma: "0.1.0".to_owned(),
        build: String::new(),
        args: Vec::new(),
        tags: BTreeSet::new(),
        in_turns: None,
        seed: 1,
        profile: Profile::Standard,
        budget_s: 60.0,
        environment: Machine::default(),
        host: Host::UNKNOWN,
        noise: None,
        noise_lost: None,
        remarks: Vec::new(),
    }
}
