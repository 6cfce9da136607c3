//! `groma machine`: what the machine declares, how busy it is, and a recording of its CPUs.

use crate::out_file::Named;
use crate::program::Program;
use crate::view::ViewArgs;
use anyhow::Result;
use clap::Args;
use groma_harness::sys::recording::Recording;
use groma_report as report;
use groma_runner::{Gauged, NotMeasured, gauge, identity, signals};
use std::path::PathBuf;
use std::time::Duration;

/// Show what this machine declares about itself, and how busy it is
#[derive(Debug, Args)]
pub(crate) struct MachineArgs {
    #[command(flatten)]
    view: ViewArgs,
    /// Skip measuring the noise, which takes a second
    #[arg(long)]
    no_gauge: bool,
    /// Every fact, not only those that numbers depend on most
    #[arg(long)]
    all: bool,
    /// Write what the kernel says of the CPUs into this file instead, for groma run --dry-run
    /// --machine on any computer
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "format", "output", "no_gauge", "all"])]
    record: Option<PathBuf>,
}

/// Shows the machine, or records its CPUs.
pub(super) fn run(_: &Program, args: &MachineArgs) -> Result<u8> {
    if let Some(file) = &args.record {
        let out = Named::open("--record", file)?;
        out.write(Recording::of_this_machine().to_string().as_bytes())?;
        return Ok(0);
    }
    let view = args.view.open(args.all)?;
    let machine = identity::machine();
    let mut gauged = Gauged::default();
    if !args.no_gauge {
        match gauge(Duration::from_millis(1500)) {
            Ok(found) => gauged = found,
            Err(NotMeasured::Signal(signal)) => return Ok(signals::exit_code(signal)),
            // The machine is shown without its noise.
            Err(_) => {}
        }
    }
    let Gauged { lost, own } = gauged;
    let document = report::machine(&machine, lost, own, &view.style);
    view.show(&document)?;
    Ok(0)
}
