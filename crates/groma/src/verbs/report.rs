//! `groma report`: runs in one file: for a browser, for paper, or to paste elsewhere.

mod chromium;

use super::explain::meanings;
use super::paper::beside_runs;
use crate::args::StoreArgs;
use crate::out_file::Named;
use crate::print::{name, print, style};
use crate::program::Program;
use crate::sides::{are_in_turns, beside, runs_like};
use crate::store::{Shown, existing_store, read};
use anyhow::{Context, Result, bail};
use chromium::Chromium;
use clap::{Args, ValueEnum};
use groma_analysis::compare::environment::differences;
use groma_analysis::compare::identity;
use groma_harness::model::{Info, Record};
use groma_report::units::counted;
use groma_report::{self as report, Compared, Format, Papers, Relative, Report, ReportRun, Side};
use groma_runner::signals::exit_code;
use std::collections::HashMap;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

const HELP: &str = "Examples:
  groma report -o report.html           the latest run
  groma report before latest -o report.html
      two runs, the second compared with the first
  groma report A B C -o machines.html
      three machines, by the ids of their runs (groma runs)
  groma report --with lmbench1996 -o report.html
      the same, and its values in the tables of that paper
  groma report --format markdown
      the pages, to be pasted into a forum or a pull request
  groma report -o report.pdf            on paper, where Chromium is installed

The file is complete: it needs no network, no fonts and no other files. Without JavaScript all \
values, curves and explanations are there; with it tables sort and filter, curves can be zoomed \
and read off, and the rounds and samples of each metric can be looked at.";

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// One file for a browser.
    Html,
    /// The pages and the comparison, to be pasted.
    Markdown,
    /// The HTML file, printed by Chromium.
    Pdf,
}

/// Write runs into one file for a browser: the pages, curves, every value with its rounds, a
/// comparison of several runs, and what each benchmark measures
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ReportArgs {
    /// The runs: ids, beginnings of ids, tags, latest, latest~1, host:NAME, or files of streams;
    /// the others are compared with the first [default: the latest one]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Add the tables of a document, with the values of these runs among their rows: lmbench1996,
    /// lmbench3, ousterhout1990, cse221 or slb; may be repeated (groma paper shows them alone)
    #[arg(long, value_name = "DOCUMENT")]
    with: Vec<String>,
    /// Write this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format [default: by the ending of FILE, or html]
    #[arg(long)]
    format: Option<ReportFormat>,
    #[command(flatten)]
    store: StoreArgs,
}

impl ReportArgs {
    /// The format of `--format`, or that of the file extension.
    fn format(&self) -> Result<ReportFormat, String> {
        let ending = self.output.as_deref().and_then(Path::extension).map(|ending| ending.to_string_lossy());
        match (self.format, ending.as_deref()) {
            (Some(format), _) => Ok(format),
            (None, Some("md" | "markdown")) => Ok(ReportFormat::Markdown),
            (None, Some("pdf")) => Ok(ReportFormat::Pdf),
            (None, None | Some("html" | "htm")) => Ok(ReportFormat::Html),
            (None, Some(other)) => Err(format!(
                "--output: expected a file that ends in .html, .md or .pdf, or --format, and it ends in .{other}"
            )),
        }
    }
}

/// Writes a report.
pub(super) fn run(program: &Program, args: &ReportArgs) -> Result<u8> {
    let format = args.format().map_err(anyhow::Error::msg)?;
    let to_terminal = args.output.is_none() && std::io::stdout().is_terminal();
    if format == ReportFormat::Pdf && args.output.is_none() || format == ReportFormat::Html && to_terminal {
        bail!("name a file for the report: {} report -o report.html", name());
    }
    let out = Named::open_any("-o", args.output.as_deref())?;
    let browser = if format == ReportFormat::Pdf { Some(Chromium::find()?) } else { None };
    let latest = ["latest".to_owned()];
    let names = if args.runs.is_empty() { &latest[..] } else { &args.runs };
    let runs = names.iter().map(|run| load(args, run)).collect::<Result<Vec<Shown>>>()?;
    for (i, run) in runs.iter().enumerate() {
        if runs[..i].iter().any(|other| other.head.run == run.head.run) {
            bail!("run {} is named twice", run.head.run);
        }
    }
    let papers = papers(program, args, &runs)?;
    let compared = compare(args, names, &runs);
    let compared = compared.as_ref().map(|(first, others)| (*first, others.as_slice()));
    let text = match format {
        ReportFormat::Markdown => markdown(program, &runs, compared, &papers),
        ReportFormat::Html | ReportFormat::Pdf => html(program, &runs, compared, papers),
    };
    match (out, &browser) {
        (None, _) => print(&text)?,
        (Some(out), Some(browser)) => match browser.print(&text)? {
            ControlFlow::Continue(pdf) => out.write(&pdf)?,
            ControlFlow::Break(signal) => return Ok(exit_code(signal)),
        },
        (Some(out), None) => out.write(text.as_bytes())?,
    }
    if let Some(path) = args.output.as_ref().filter(|path| path.as_os_str() != "-") {
        print(&summary_line(path, &runs)?)?;
    }
    Ok(0)
}

/// Reads a run that has a metric, and flags records that contradict earlier runs.
fn load(args: &ReportArgs, run: &str) -> Result<Shown> {
    let mut shown = read(&args.store, run)?;
    if shown.records.is_empty() {
        bail!("run {} holds no metric: there is nothing to report", shown.head.run);
    }
    shown.flag_contradictions(&args.store, run)?;
    Ok(shown)
}

/// Compares each other run with the first; `None` if there is only one.
fn compare<'r>(args: &ReportArgs, names: &'r [String], runs: &'r [Shown]) -> Option<(Side<'r>, Vec<Compared<'r>>)> {
    let (first, rest) = runs.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let ids: Vec<String> = runs.iter().map(|run| run.head.run.clone()).collect();
    // Rounds in turns need no other runs, and files of streams need no store.
    let (like, known) = match existing_store(&args.store) {
        Ok(store) if !rest.iter().all(|run| are_in_turns(first, run)) => runs_like(first, &ids, &store),
        _ => (0, HashMap::new()),
    };
    let earlier = |record: &Record| known.get(&identity(record)).cloned().unwrap_or_default();
    let side = |(name, run): (&'r String, &'r Shown)| Side { name, head: &run.head, runs: 1, like };
    let compared = |(name, run): (&'r String, &'r Shown)| {
        let in_turns = are_in_turns(first, run);
        let comparison = beside([first, run].map(|run| (run, &run.records[..])), in_turns, &earlier);
        Compared { side: side((name, run)), differences: differences(&first.head, &run.head), comparison, in_turns }
    };
    let mut named = names.iter().zip(runs);
    let first = named.next().map(side)?;
    Some((first, named.map(compared).collect()))
}

/// The tables of the documents of `--with`, with the runs among their rows; several runs are named
/// by letters.
fn papers(program: &Program, args: &ReportArgs, runs: &[Shown]) -> Result<Papers<'static>> {
    if args.with.is_empty() {
        return Ok(Papers::default());
    }
    let called = |i: usize| if runs.len() > 1 { format!("{}: ", report::letter(i)) } else { String::new() };
    let runs: Vec<_> = runs.iter().enumerate().map(|(i, run)| (called(i), &run.head, &run.records[..])).collect();
    beside_runs(program, &args.with, &runs)
}

/// The document for a browser.
fn html<'r>(
    program: &Program,
    runs: &'r [Shown],
    compared: Option<(Side<'_>, &[Compared<'_>])>,
    papers: Papers<'r>,
) -> String {
    let of_run = |run: &'r Shown| {
        let Shown { head, points, rounds, records, end } = run;
        ReportRun { head, points, rounds, records, end: end.as_ref() }
    };
    let catalogue: Vec<&Info> = program.all().iter().map(|bench| &bench.info).collect();
    let words: Vec<(String, String)> = meanings().map(|(word, meaning)| (word.to_owned(), meaning)).collect();
    report::html(&Report {
        families: program.known_families(),
        catalogue: &catalogue,
        words: &words,
        runs: &runs.iter().map(of_run).collect::<Vec<_>>(),
        compared,
        papers,
        program: name(),
    })
}

/// The comparison, the pages of each run, and the tables of documents.
fn markdown(
    program: &Program,
    runs: &[Shown],
    compared: Option<(Side<'_>, &[Compared<'_>])>,
    papers: &Papers<'_>,
) -> String {
    let (families, style) = (program.known_families(), style(false).of(Format::Markdown));
    let of_run = |run: &Shown| {
        let shown = report::run(families, &run.head, &run.records, run.end.as_ref(), &style);
        shown.render(Format::Markdown, &style)
    };
    let mut parts: Vec<String> = runs.iter().map(of_run).collect();
    if let Some((first, others)) = compared {
        let compared = report::compare(families, first, others, Relative::Absolute, &style);
        parts.insert(0, compared.render(Format::Markdown, &style));
    }
    if !papers.tables.is_empty() {
        parts.push(report::papers(papers, &style).render(Format::Markdown, &style));
    }
    parts.join("\n")
}

/// `report.html: 412 kB, 1 run, 146 metrics`.
fn summary_line(path: &Path, runs: &[Shown]) -> Result<String> {
    let bytes = std::fs::metadata(path).with_context(|| path.display().to_string())?.len();
    let metrics: usize = runs.iter().map(|run| run.records.len()).sum();
    let kilobytes = bytes.div_ceil(1000);
    let (runs, metrics) = (counted(runs.len(), "run"), counted(metrics, "metric"));
    Ok(format!("{}: {kilobytes} kB, {runs}, {metrics}\n", path.display()))
}
