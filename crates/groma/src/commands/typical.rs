//! `groma compare RUN --with reference`: a run among all machines that groma was developed on.

use anyhow::{Context, Result, bail};
use groma_report::{self as report, CompareFormat, Side};
use groma_runner::select::names_metric;
use groma_store::Baseline;

use super::sides::Runs;
use super::{print, style};
use crate::flags::CompareArgs;
use crate::program::Program;
use crate::reference;

/// Shows where the values of a run lie among those of the reference machines.
pub(super) fn typical(program: &Program, args: &CompareArgs) -> Result<u8> {
    let run = match &args.runs[..] {
        [] => "latest",
        [one] => one,
        [_, second, ..] => bail!("--with reference takes one run, and '{second}' is another"),
    };
    if matches!(args.format, CompareFormat::Csv | CompareFormat::Junit) {
        bail!("--format {}: --with reference has table, json and markdown", args.format.word());
    }
    let is_asked = |id: &str| args.select.is_empty() || args.select.iter().any(|select| names_metric(select, id));
    let side = Runs::load(&args.store, &(run.to_owned(), vec![run.to_owned()]), args.all, is_asked)?;
    if side.records.iter().all(|record| record.value.is_none()) {
        let select =
            if args.select.is_empty() { String::new() } else { format!("--select {}: ", args.select.join(",")) };
        bail!("{select}run {} has no such value", side.head().run);
    }
    let known: Vec<(&str, Baseline)> = reference::all()
        .map(|machine| Ok((machine.name(), machine.baseline().context(machine.name())?)))
        .collect::<Result<_>>()?;
    // A reference machine is not held against itself.
    let others = known.iter().filter(|(_, machine)| !machine.runs.iter().any(|run| side.runs.contains(run)));
    let others: Vec<(Side<'_>, Vec<_>)> = others
        .map(|(name, machine)| {
            let records = machine.metrics.iter().map(|metric| metric.record.clone()).collect();
            (Side { name, head: &machine.head, runs: machine.runs.len(), like: 0 }, records)
        })
        .collect();
    let machines: Vec<(Side<'_>, &[_])> = others.iter().map(|(side, records)| (*side, &records[..])).collect();
    let families = program.known_families();
    print(&report::typical(families, side.side(), &side.records, &machines, args.format, &style(args.all)))?;
    Ok(0)
}
