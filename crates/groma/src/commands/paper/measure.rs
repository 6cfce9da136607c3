//! Measuring what the store lacks of the tables that are asked for, in one run.

use std::time::{Duration, Instant};

use anyhow::Result;
use groma_analysis::point::measured;
use groma_harness::model::{Placement, Profile};
use groma_report::units;
use groma_runner::{Planned, RunRequest};

use super::super::measure::{Outputs, carry_out};
use super::machines::{Machine, is_of};
use crate::flags::PaperArgs;
use crate::program::Program;

/// What a point is given at least: three coarse rounds of what takes milliseconds.
const EACH: Duration = Duration::from_millis(400);
const LEAST: Duration = Duration::from_secs(10);

/// Measures those of the points that this machine has no value of, and keeps them; the exit code.
pub(super) fn measure(program: &Program, args: &PaperArgs, points: &[&Planned], here: Option<&Machine>) -> Result<u8> {
    let has = |planned: &Planned| {
        let held =
            |machine: &Machine| machine.records.iter().any(|r| measured(r).is_some() && is_of(r, &planned.point));
        here.is_some_and(held)
    };
    let can = |planned: &&&Planned| planned.unsupported.is_none() && planned.point.placement != Placement::Remote;
    let missing: Vec<Planned> =
        points.iter().filter(can).filter(|planned| !has(planned)).map(|planned| (*planned).clone()).collect();
    if missing.is_empty() {
        return Ok(0);
    }
    let budget = LEAST.max(EACH * missing.len() as u32);
    warn!("measuring {} in at most {}", units::counted(missing.len(), "point"), units::wall(budget.as_secs_f64()));
    let request = RunRequest { budget: Some(budget), ..RunRequest::new(Profile::Quick) };
    let outputs = Outputs::to_store(&args.store);
    carry_out(program, &request, &outputs, &missing, Instant::now(), |_, _, _, _| String::new())
}
