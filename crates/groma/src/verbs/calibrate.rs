//! `groma calibrate`: measures the same several times, so that the store holds by how much runs of
//! this machine differ although nothing has changed.

use super::baseline;
use crate::args::StoreArgs;
use crate::measure::{Outputs, measure};
use crate::parse::parse_time;
use crate::print::print_measured;
use crate::program::Program;
use crate::view::View;
use anyhow::Result;
use clap::Args;
use groma_harness::model::Profile;
use groma_harness::sys::topology::Topology;
use groma_runner::{RunRequest, of_pages, plan};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const HELP: &str = "Examples:
  groma calibrate
      five surveys of this machine, in five minutes
  groma calibrate ipc --runs 8 --budget 2m
  groma baseline show calibration            the table again

Runs of one machine differ although nothing has changed, by more than their rounds show. \
compare, gate and trend learn by how much from all runs of the same machine in the same state \
that the store holds; calibrate makes some. Run it while the machine is as busy as it usually is \
during measurements, and again after the machine has changed.";

/// Learn by how much runs of this machine differ although nothing has changed
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CalibrateArgs {
    /// Ids, groups or patterns [default: what stands on the two pages]
    #[arg(value_name = "SELECT")]
    select: Vec<String>,
    /// How many runs
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=100))]
    runs: u32,
    /// The time for all of them together
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_time)]
    budget: Duration,
    /// A directory for benchmarks that need files
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// Every metric, not only those of the pages
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// The tag of its runs.
const TAG: &str = "calibration";

/// Measures the runs, and shows the smallest change that they detect in each metric.
pub(super) fn run(program: &Program, args: &CalibrateArgs) -> Result<u8> {
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
                code => {
                    // What is not in the store is shown nowhere else.
                    if measured.is_incomplete() {
                        print_measured(&measured.page(program, args.all));
                    }
                    return Ok(code);
                }
            },
            ControlFlow::Break(code) => return Ok(code),
        }
    }
    baseline::show(program, &["latest".to_owned()], args.all, View::terminal(args.all), &args.store)?;
    Ok(0)
}
