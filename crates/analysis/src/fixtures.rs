//! What the tests of this crate share.

use groma_model::{Labels, Metric, Params, Placement, Point, Timing, WorkerKind};

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
