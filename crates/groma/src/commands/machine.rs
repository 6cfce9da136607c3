//! `groma machine`: what the machine declares, and how busy it is.

use super::run::{Refusal, signal_code};
use super::{print, style};
use crate::context;
use crate::supervise::Supervisor;
use anyhow::Result;
use groma_harness::model::NoiseVerdict;
use groma_report as report;
use std::time::Duration;

/// Shows the machine; `gauge` measures the noise for about a second first.
pub(crate) fn machine(json: bool, gauge: bool) -> Result<u8> {
    let machine = context::machine();
    let mut lost = None;
    if gauge {
        let supervisor = Supervisor::new()?;
        match super::run::preflight(&supervisor, Duration::from_millis(1500), context::random_seed()) {
            Ok((_, found, _)) => lost = found,
            Err(Refusal::Signal(signal)) => return Ok(signal_code(signal)),
            // The machine can be shown without.
            Err(Refusal::Failed(_)) => {}
        }
    }
    let noise = lost.map(NoiseVerdict::of_lost);
    print(&if json {
        report::machine_json(&machine, noise, lost)
    } else {
        report::machine(&machine, noise, lost, &style(false))
    })?;
    Ok(0)
}
