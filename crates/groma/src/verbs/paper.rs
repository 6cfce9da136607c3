//! `groma paper`: the tables of earlier documents, with this machine among their rows.

mod listed;
mod machines;
mod pictures;
mod printed;
mod quantities;
mod repeats;
mod values;

use crate::args::StoreArgs;
use crate::features::Feature;
use crate::measure::{Outputs, carry_out};
use crate::out_file::Named;
use crate::print::print;
use crate::program::Program;
use crate::view::{ViewArgs, WithPlots, ends_in};
use anyhow::{Context, Result, bail};
use clap::Args;
use groma_analysis::point::measured_value;
use groma_harness::model::{Placement, Profile, Record, RunHeader};
use groma_harness::sys::topology::Topology;
use groma_published::{Checked, DOCUMENTS, Document, Picture, Shape, Table, check};
use groma_report::{self as report, Chart, Format, Papers, units};
use groma_runner::{Planned, RunRequest};
use machines::{Machine, is_of};
pub(super) use printed::printed;
use repeats::Repeats;
use std::path::Path;
use std::time::{Duration, Instant};

const HELP: &str = "Examples:
  groma paper                                   the documents and their tables
  groma paper lmbench1996 table7
      the system calls of 1996, and this machine's among them
  groma paper lmbench1996 table7 --measure
      the same, after measuring what the store lacks
  groma paper ousterhout1990                    all tables of a document
  groma paper lmbench1996 table2 --run A --run B
      two runs of other machines instead
  groma paper lmbench1996 table2 --format csv
      every number as printed, with its notes
  groma paper lmbench1996 table12 --run reference
      a machine that groma knows
  groma paper lmbench1996 figure1
      the figure again, with this machine's curves in it
  groma paper lmbench3 figure7
      what a figure without numbers shows, and what draws it here
  groma paper ousterhout1990 --check
      what the paper derived otherwise than its numbers give
  groma paper --all -o papers.html              everything, on a page to send

A cell of this machine is filled where the store holds the same operation with the same \
parameters (groma list --lineage lmbench1996:table7 shows the command); otherwise a line below \
says why not.";

/// Show the tables of the papers that came before, with this machine among their rows
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PaperArgs {
    /// The document: lmbench1996, lmbench3, ousterhout1990, cse221 or slb [default: a list of all]
    #[arg(value_name = "DOCUMENT", conflicts_with = "all")]
    document: Option<String>,
    /// The table or figure: table7, figure1 [default: all of the document]
    #[arg(value_name = "TABLE")]
    table: Option<String>,
    /// The tables of all documents
    #[arg(long)]
    all: bool,
    /// Show this run's machine instead of this one: an id, a tag, host:NAME, the file of a stream,
    /// or reference:NAME; of several, each that holds anything has its row [default: the newest
    /// stored values of this machine]
    #[arg(long, value_name = "RUN")]
    run: Vec<String>,
    /// First measure what the store lacks of these tables, coarsely, and keep it there
    #[arg(long, conflicts_with = "run")]
    measure: bool,
    /// Only compute the document's derived numbers again from its others, and list where they
    /// differ
    #[arg(long, conflicts_with_all = ["measure", "run", "table", "format", "output"], requires = "document")]
    check: bool,
    #[command(flatten)]
    view: ViewArgs<WithPlots>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Shows, measures or checks tables.
pub(super) fn run(program: &Program, args: &PaperArgs) -> Result<u8> {
    let wanted = wanted(args)?;
    if wanted.is_empty() {
        args.view.open(false)?.show(&report::paper_list())?;
        return Ok(0);
    }
    if let (true, Some(name)) = (args.check, &args.document) {
        return checked(document(name)?);
    }
    let repeats = wanted.repeats(program);
    let points: Vec<&Planned> = repeats.points();
    let picture = args.view.plot_file();
    let out = picture.map(|file| Named::open("-o", file)).transpose()?;
    let view = if picture.is_some() { None } else { Some(args.view.open(false)?) };
    if picture.is_some_and(|file| ends_in(file, &["png"])) {
        Feature::PNG.require()?;
    }
    // Errors of the output come before minutes of measuring.
    let without = || wanted.beside(&repeats, &[]);
    match picture {
        Some(file) if args.measure => drop(drawn(&without(), file)?),
        None if view.as_ref().is_some_and(|view| view.format == Format::Csv) => left_out_of_csv(&without())?,
        _ => {}
    }
    let mut code = 0;
    if args.measure {
        let here = machines::here(&args.store, &points)?;
        code = measure(program, args, &points, here.as_ref())?;
    }
    let papers = wanted.beside(&repeats, &shown(args, &points)?);
    if let (Some(file), Some(out)) = (picture, out) {
        out.write(&drawn(&papers, file)?)?;
    }
    if let Some(view) = view {
        let document = report::papers(&papers, &view.style);
        view.show(&document)?;
    }
    Ok(code)
}

/// The tables of documents with runs among their rows, for a report. Each run comes with the prefix
/// of its name there.
pub(super) fn beside_runs(
    program: &Program,
    documents: &[String],
    runs: &[(String, &RunHeader, &[Record])],
) -> Result<Papers<'static>> {
    let mut wanted = Wanted::default();
    for name in documents {
        let document = document(name).with_context(|| format!("--with {name}"))?;
        if !wanted.tables.iter().any(|(known, _)| known.name == document.name) {
            wanted.add(document);
        }
    }
    let repeats = wanted.repeats(program);
    let points: Vec<&Planned> = repeats.points();
    let machine = |(called, head, records): &(String, &RunHeader, &[Record])| {
        let mut machine = machines::of_records(head, records, &points);
        machine.name.insert_str(0, called);
        machine
    };
    let machines: Vec<Machine> = runs.iter().map(machine).collect();
    Ok(wanted.beside(&repeats, &machines))
}

/// The tables and figures to show.
#[derive(Default)]
struct Wanted {
    tables: Vec<(&'static Document, &'static Table)>,
    pictures: Vec<(&'static Document, &'static Picture)>,
}

impl Wanted {
    fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.pictures.is_empty()
    }

    /// Adds all of a document.
    fn add(&mut self, document: &'static Document) {
        self.tables.extend(document.tables.iter().map(|table| (document, table)));
        self.pictures.extend(document.pictures.iter().map(|picture| (document, picture)));
    }

    /// The commands that repeat them.
    fn repeats(&self, program: &Program) -> Repeats {
        let drawn_from = self.pictures.iter().flat_map(|(document, picture)| pictures::tables_of(document, picture));
        let tables: Vec<_> = self.tables.iter().copied().chain(drawn_from).collect();
        Repeats::of(program, &Topology::for_plan(), &tables)
    }

    /// The tables and figures with the rows of these machines.
    fn beside(&self, repeats: &Repeats, machines: &[Machine]) -> Papers<'static> {
        let table =
            |(document, table): &(&'static Document, &'static Table)| values::paper(document, table, repeats, machines);
        let picture = |(document, picture): &(&'static Document, &'static Picture)| {
            pictures::picture(document, picture, repeats, machines)
        };
        Papers {
            tables: self.tables.iter().map(table).collect(),
            pictures: self.pictures.iter().map(picture).collect(),
        }
    }
}

/// The machines to show: those of the runs of `--run`, or this one. Runs without a wanted value are
/// left out.
///
/// # Errors
/// When no named run has a wanted value.
fn shown(args: &PaperArgs, points: &[&Planned]) -> Result<Vec<Machine>> {
    if args.run.is_empty() {
        return Ok(machines::here(&args.store, points)?.into_iter().collect());
    }
    let all: Vec<Machine> =
        args.run.iter().map(|run| machines::of_run(&args.store, run, points)).collect::<Result<_>>()?;
    // Figures that are not drawn want no values.
    if points.is_empty() {
        return Ok(all);
    }
    let table = args.table.as_deref().map(|table| format!(" {table}")).unwrap_or_default();
    let nothing = |machine: &Machine| {
        let what = args.document.as_deref().unwrap_or("these tables");
        format!("run {} holds no value of {what}{table}", machine.head.run)
    };
    let (mut held, empty): (Vec<Machine>, Vec<Machine>) = all.into_iter().partition(Machine::has_values);
    if held.is_empty() {
        bail!("{}", empty.iter().map(nothing).collect::<Vec<_>>().join("; "));
    }
    for machine in &empty {
        warn!("left out: {}", nothing(machine));
    }
    machines::tell_apart(&mut held);
    Ok(held)
}

/// Warns of tables that CSV leaves out.
fn left_out_of_csv(papers: &Papers<'_>) -> Result<()> {
    let Papers { tables, pictures } = papers;
    if let ([], [first, ..]) = (&tables[..], &pictures[..]) {
        bail!("{} {} prints no numbers: there is nothing for CSV", first.document.name, first.picture.name);
    }
    let texts = tables.iter().filter(|paper| paper.table.shape == Shape::Raw);
    let texts: Vec<String> = texts.map(|paper| format!("{} {}", paper.document.name, paper.table.name)).collect();
    if tables.len() > 1 && !texts.is_empty() {
        warn!("left out, because their columns are others: {}; each alone is a file", texts.join(", "));
    }
    Ok(())
}

/// Draws a figure in the format of the file extension.
fn drawn(papers: &Papers<'_>, file: &Path) -> Result<Vec<u8>> {
    let of_file = || format!("-o {}", file.display());
    let chart = match (&papers.tables[..], &papers.pictures[..]) {
        ([one], []) => Chart::published(one).with_context(|| {
            format!(
                "{}: {} {} is not a figure; name a file ending in .html",
                of_file(),
                one.document.name,
                one.table.name
            )
        })?,
        ([], [one]) => one.chart.clone().with_context(|| {
            let (document, name) = (one.document.name, one.picture.name);
            let commands = one.commands.join("; ");
            format!("{}: {document} {name} prints no numbers; of this machine: {commands}", of_file())
        })?,
        _ => bail!("{}: a picture shows one figure, such as lmbench1996 figure1", of_file()),
    };
    if ends_in(file, &["png"]) { super::plot::png(&chart) } else { Ok(chart.svg().into_bytes()) }
}

/// The tables and figures that the arguments name; none for the list of documents.
fn wanted(args: &PaperArgs) -> Result<Wanted> {
    let mut wanted = Wanted::default();
    if args.all {
        DOCUMENTS.iter().for_each(|document| wanted.add(document));
        return Ok(wanted);
    }
    let Some(name) = &args.document else {
        if args.measure || !args.run.is_empty() || args.view.file().is_some() {
            bail!("name a document, or all of them with --all");
        }
        return Ok(wanted);
    };
    let document = document(name)?;
    match args.table.as_deref().map(|name| (name, document.table(name), document.picture(name))) {
        None => wanted.add(document),
        Some((_, Some(table), _)) => wanted.tables.push((document, table)),
        Some((_, _, Some(picture))) => wanted.pictures.push((document, picture)),
        Some((name, None, None)) => {
            let tables = document.tables.iter().map(|table| table.name);
            let known: Vec<&str> = tables.chain(document.pictures.iter().map(|picture| picture.name)).collect();
            bail!("{} has no table '{name}' (known: {})", document.name, known.join(", "));
        }
    }
    Ok(wanted)
}

fn document(name: &str) -> Result<&'static Document> {
    DOCUMENTS.iter().find(|document| document.name == name).with_context(|| {
        let known: Vec<&str> = DOCUMENTS.iter().map(|document| document.name).collect();
        format!("there is no document '{name}' (known: {})", known.join(", "))
    })
}

/// Prints the derived numbers of a document that do not follow from its others.
fn checked(document: &Document) -> Result<u8> {
    let all = check(document);
    let off: Vec<&Checked> = all.iter().filter(|one| !one.fits).collect();
    let mut text = match all.len() {
        0 => format!("{} has no number that follows from its others\n", document.name),
        n => format!(
            "{}: {} of {n} derived numbers are not what the others give, beyond rounding\n",
            document.name,
            off.len()
        ),
    };
    for one in off {
        text += &format!("  {}: {}\n", one.table, values::sentence(one));
    }
    print(&text)?;
    Ok(0)
}

/// The budget for each point: enough for three coarse rounds of operations that take milliseconds.
const EACH: Duration = Duration::from_millis(400);
/// The smallest budget of a run.
const MIN_BUDGET: Duration = Duration::from_secs(10);

/// Measures the points that this machine has no value of, and keeps the run; returns the exit code.
fn measure(program: &Program, args: &PaperArgs, points: &[&Planned], here: Option<&Machine>) -> Result<u8> {
    let has = |planned: &Planned| {
        let held =
            |machine: &Machine| machine.records.iter().any(|r| measured_value(r).is_some() && is_of(r, &planned.point));
        here.is_some_and(held)
    };
    let can = |planned: &&&Planned| planned.unsupported.is_none() && planned.point.placement != Placement::Remote;
    let missing: Vec<Planned> =
        points.iter().filter(can).filter(|planned| !has(planned)).map(|planned| (*planned).clone()).collect();
    if missing.is_empty() {
        return Ok(0);
    }
    let budget = MIN_BUDGET.max(EACH * missing.len() as u32);
    warn!("measuring {} in at most {}", units::counted(missing.len(), "point"), units::wall(budget.as_secs_f64()));
    let request = RunRequest { budget: Some(budget), ..RunRequest::new(Profile::Quick) };
    let outputs = Outputs::to_store(&args.store);
    carry_out(program, &request, &outputs, &missing, Instant::now(), |_, _, _, _| String::new())
}
