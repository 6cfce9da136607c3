//! Callbacks that report a run's progress.

use groma_harness::model::{Host, Point, Round};

/// Called between rounds, never during one.
pub trait Observer {
    /// What is measured next.
    fn next(&mut self, what: &str);

    /// The rounds of a point so far, of which the last has just ended.
    fn measured(&mut self, _point: &Point, _rounds: &[Round], _host: &Host) {}

    /// What the run goes on without.
    fn warn(&mut self, text: &str);
}
