//! `groma calibrate`: several runs of the same, so that the store knows by how much runs of this
//! machine differ when nothing has changed.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Result;
use groma_harness::model::Profile;
use groma_harness::sys::topology::Topology;
use groma_runner::{RunRequest, of_pages, plan};

use super::baseline;
use super::measure::{Outputs, measure};
use crate::flags::CalibrateArgs;
use crate::program::Program;

/// What its runs are called.
const TAG: &str = "calibration";

/// Measures the same several times, and shows the smallest change detected in each metric.
pub(crate) fn calibrate(program: &Program, args: &CalibrateArgs) -> Result<u8> {
    let request = RunRequest {
        survey: true,
        budget: Some(args.budget / args.runs),
        work_dir: args.work_dir.clone(),
        tags: TAG.parse().ok().into_iter().collect(),
        ..RunRequest::new(Profile::Standard)
    };
    let benches = program.select(&args.select, request.tier())?;
    let mut points = plan(&benches, &request, &Topology::for_plan())?;
    if args.select.is_empty() {
        points = of_pages(points, program.known_families().pages, false);
    }
    let outputs = Outputs::to_store(&args.store);
    for run in 1..=args.runs {
        warn!("run {run} of {}", args.runs);
        match measure(program, &request, &outputs, &points, Instant::now())? {
            ControlFlow::Continue(measured) => match measured.report_end(true) {
                0 => {}
                code => return Ok(code),
            },
            ControlFlow::Break(code) => return Ok(code),
        }
    }
    baseline::show(program, &["latest".to_owned()], args.all, &args.store)?;
    Ok(0)
}
