//! Helpers that the tests of this crate share.

use std::collections::BTreeSet;

use groma_model::{
    Host, LabelCounts, Labels, Machine, Metric, Params, Placement, Point, Profile, Quantity, Record, RunHeader, SCHEMA,
    State, Timing, WorkerKind,
};

/// A point without parameters that reports these metrics. Its samples are values that a benchmark
/// stated, and no label drops one.
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

/// The header of a run on an unknown machine.
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
        cpu_limit: None,
        remarks: Vec::new(),
    }
}

/// An `ok` record of a metric without parameters and without an interval.
pub(crate) fn record(id: &str, quantity: Quantity, value: f64) -> Record {
    Record {
        id: id.to_owned(),
        version: 1,
        summary: String::new(),
        params: Params::default(),
        params_text: String::new(),
        placement: Placement::Pinned,
        workers: 1,
        worker_kind: WorkerKind::Processes,
        state: State::Ok,
        reason: String::new(),
        quantity,
        unit: quantity.unit(),
        better: quantity.better(),
        timing: Timing::Batched,
        detail: false,
        value: Some(value),
        ci: None,
        ci_display: None,
        p10: None,
        p50: None,
        p90: None,
        p99: None,
        max: None,
        interference: None,
        cycles: None,
        rounds: 9,
        samples: 100,
        clean: 100,
        labels: LabelCounts::default(),
        shared: None,
        proofs: Vec::new(),
        round_values: Vec::new(),
        flags: Vec::new(),
        facts: Vec::new(),
        at_one_clock: None,
        round_samples: None,
    }
}

/// A host with a sufficiently good clock.
pub(crate) const HOST: Host = Host {
    clock_step_ns: 1.0,
    clock_cost_ns: 20.0,
    timeslice_ns: 4e6,
    timeslice_assumed: false,
    interval_ns: 2e5,
    proportionality: Some(0.0004),
    counter_hz: None,
    beyond_caches: None,
    core: None,
};
