//! `groma fleet`: many hosts that should be equal, and which of them are slow.

mod confirm;
mod input;
mod links;
mod pairs;
mod past;

use crate::args::StoreArgs;
use crate::exit;
use crate::parse::parse_percent;
use crate::program::Program;
use crate::reference;
use crate::view::{ViewArgs, WithGauges};
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use groma_analysis::fleet::signatures::Signatures;
use groma_analysis::fleet::{Judgement, Options, Verdict, judge, references};
use groma_harness::model::Record;
use groma_report::{self as report, FleetReport, Format};
use groma_runner::signals::exit_code;
use input::Input;
use std::ops::ControlFlow;
use std::path::PathBuf;

const HELP: &str = "Examples:
  srun -N 100 --ntasks-per-node=1 groma run --profile fleet --out results/
      one file for each host, in 20 s
  groma fleet judge results/            which hosts are slow, and why
  groma fleet judge results/ --format drain
      a line for each of them, to drain it by
  groma fleet judge results/ -o fleet.html
      a heat map of hosts and metrics
  groma fleet judge results/ --confirm 'ssh {host} ./again'
      measures each suspect again before it is named; ./again prints what
      groma run --profile fleet --out - does
  groma fleet judge results/ --json > judged.json
  groma fleet judge later/ --baseline judged.json
      also what changed on whole groups
  groma fleet judge good/ --every-run --json > good.json
  groma fleet judge node.ndjson --baseline good.json
      one host, against several good runs of it or of a few like it

docs/fleet.md has recipes for Slurm, MPI, Kubernetes, Ansible, ReFrame and Prometheus.";

/// Find the slow hosts of many that should be equal
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Judge the runs of many hosts: groups of equals, what sets hosts apart, and which are slow
    Judge(JudgeArgs),
    /// Measure the network between all hosts, in pairs
    Pairs(pairs::PairsArgs),
    /// Find slow links, hosts and switches in what pairs has measured
    Links(links::LinksArgs),
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
struct JudgeArgs {
    /// Streams of groma run --out, directories of them (*.ndjson), or stores; of a host the newest
    /// run counts [default: the store]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The smallest slow-down that matters, in percent
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = parse_percent)]
    at_least: f64,
    /// An earlier judgement (--json): what has changed on whole groups since. Hosts of which fewer
    /// than five are alike are judged against it
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Take every run of a host for a host of its own, not the newest one alone: a few hosts that
    /// are known to be good make a baseline
    #[arg(long, conflicts_with = "confirm")]
    every_run: bool,
    /// Further signatures of faults; docs/fleet.md describes the file
    #[arg(long, value_name = "FILE")]
    signatures: Option<PathBuf>,
    /// A shell command that measures a suspect again and prints the stream: it is only named if it
    /// is slow again. {host} stands for its name
    #[arg(long, value_name = "CMD")]
    confirm: Option<String>,
    /// Every finding and every host
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    view: ViewArgs<WithGauges>,
    #[command(flatten)]
    store: StoreArgs,
}

const EXIT_CODES: &str = "Exit codes:
  0  all hosts that could be judged are well
  1  there are suspects
  2  usage error; or there is no suspect, and some of the input cannot be used
  4  no host could be judged";

/// Judges hosts.
pub(super) fn run(_: &Program, args: &FleetArgs) -> Result<u8> {
    match &args.verb {
        Verb::Judge(args) => run_judge(args),
        Verb::Pairs(args) => pairs::run(args),
        Verb::Links(args) => links::run(args),
    }
}

fn run_judge(args: &JudgeArgs) -> Result<u8> {
    let view = args.view.open(args.all)?;
    let options = options(args)?;
    if args.confirm.as_ref().is_some_and(|command| !command.contains(confirm::HOST)) {
        bail!("--confirm: the command does not hold {}, which stands for the host", confirm::HOST);
    }
    let mut input = Input { every_run: args.every_run, ..Input::default() };
    input.read(&args.files, &args.store)?;
    if input.fleet.hosts.is_empty() {
        input.notes.iter().for_each(|note| warn!("{note}"));
        bail!("none of the input is a run of a host");
    }
    let mut judgement = judge(&input.fleet, &options);
    if let Some(command) = &args.confirm
        && let ControlFlow::Break(signal) = confirm::confirm(command, &mut input, &mut judgement, &options)?
    {
        return Ok(exit_code(signal));
    }
    let report = FleetReport {
        fleet: &input.fleet,
        judgement: &judgement,
        signatures: &options.signatures,
        at_least: options.at_least,
        has_past: args.baseline.is_some(),
        notes: &input.notes,
        groma: env!("CARGO_PKG_VERSION"),
    };
    // Whoever reads only the lines of --format drain must not miss what was not judged.
    if !matches!(view.format, Format::Table | Format::Markdown) || args.view.file().is_some() {
        input.notes.iter().for_each(|note| warn!("{note}"));
    }
    let document = report::fleet(&report, &view.style);
    view.show(&document)?;
    Ok(code(&judgement, input.is_unusable))
}

fn code(judgement: &Judgement, is_unusable: bool) -> u8 {
    if judgement.count(Verdict::Suspect) > 0 {
        exit::REGRESSION
    } else if judgement.count(Verdict::Unjudged) == judgement.hosts.len() {
        exit::FAILED
    } else if is_unusable {
        exit::USAGE
    } else {
        0
    }
}

fn options(args: &JudgeArgs) -> Result<Options> {
    let signatures = match &args.signatures {
        None => Signatures::own(),
        Some(file) => {
            let of_file = || format!("--signatures {}", file.display());
            let text = std::fs::read_to_string(file).with_context(of_file)?;
            Signatures::with_own(&text).map_err(|(line, why)| anyhow!("{}:{line}: {why}", of_file()))?
        }
    };
    let machine = |machine: reference::Reference| -> Result<Vec<Record>> {
        let baseline = machine.baseline().context(machine.name())?;
        Ok(baseline.metrics.into_iter().map(|metric| metric.record).collect())
    };
    let machines: Vec<Vec<Record>> = reference::all().map(machine).collect::<Result<_>>()?;
    Ok(Options {
        at_least: args.at_least / 100.0,
        signatures,
        references: references::known_values(&machines),
        past: args.baseline.as_deref().map(past::read).transpose()?.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_analysis::fleet::Metric;
    use groma_harness::model::page::On;
    use groma_harness::model::{Better, OneCpu, Params, Placement, Quantity, Unit, Value, parse_size};

    /// What a fleet run measures has an area: what is in none is not judged.
    #[test]
    fn every_value_of_a_fleet_run_is_judged() {
        let program = Program::new().with_groma();
        let fleet = program.known_families().pages.fleet;
        let value = |text: &str| parse_size(text).map_or_else(|_| Value::Word(text.to_owned()), Value::Int);
        let metric = |shown: &groma_harness::model::page::Shown| Metric {
            id: shown.metric.to_owned(),
            summary: String::new(),
            params: Params(shown.params.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()),
            params_text: String::new(),
            placement: match shown.on {
                On::One | On::Any | On::Each => Placement::Pinned,
                On::Two => Placement::SameLlc,
                On::All => Placement::Compact,
                On::Nodes => Placement::On(OneCpu::default()),
            },
            workers: if matches!(shown.on, On::All | On::Nodes) { 2 } else { 1 },
            quantity: Quantity::Latency,
            unit: Unit::Seconds,
            better: Better::Lower,
            key: String::new(),
        };
        let all: Vec<Metric> = fleet.iter().map(metric).collect();
        let judged: Vec<u32> = Signatures::own().members(&all).concat();
        let missing = (0..).zip(&all).filter(|(i, _)| !judged.contains(i)).map(|(_, metric)| &metric.id);
        assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
        assert!((40..60).contains(&all.len()), "{}", all.len());
    }
}
