//! `groma machine`: what the machine declares, how busy it is, and a recording of its CPUs.

use super::{print, style};
use crate::out_file::Named;
use anyhow::Result;
use groma_harness::model::NoiseVerdict;
use groma_harness::sys::recording::Recording;
use groma_report as report;
use groma_runner::{NotMeasured, gauge, identity, signals};
use std::path::Path;
use std::time::Duration;

/// Shows the machine; with `noise` its noise as well, which takes about a second to gauge.
pub(crate) fn machine(json: bool, noise: bool, all: bool) -> Result<u8> {
    let machine = identity::machine();
    let mut lost = None;
    if noise {
        match gauge(Duration::from_millis(1500)) {
            Ok(found) => lost = found,
            Err(NotMeasured::Signal(signal)) => return Ok(signals::exit_code(signal)),
            // The machine can be shown without.
            Err(_) => {}
        }
    }
    let noise = lost.map(NoiseVerdict::of_lost);
    print(&if json {
        report::machine_json(&machine, noise, lost)
    } else {
        report::machine(&machine, noise, lost, &style(all))
    })?;
    Ok(0)
}

/// Records what the kernel says of the CPUs.
pub(crate) fn record(file: &Path) -> Result<u8> {
    let out = Named::open("--record", file)?;
    out.write(Recording::of_this_machine().to_string().as_bytes())?;
    Ok(0)
}
