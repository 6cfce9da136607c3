//! Who is told how a run goes on.

use groma_harness::model::{Host, Point, Round};

/// Is told what a run does, between rounds and never during one.
pub trait Observer {
    /// What is measured next.
    fn next(&mut self, what: &str);

    /// The rounds of a point so far, of which the last has just ended.
    fn measured(&mut self, _point: &Point, _rounds: &[Round], _host: &Host) {}

    /// What the run goes on without.
    fn warn(&mut self, text: &str);
}
