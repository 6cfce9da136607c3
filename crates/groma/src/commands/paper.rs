//! `groma paper`: the tables of earlier documents, with this machine among their rows.

mod machines;
mod measure;
mod names;
mod pictures;
mod repeats;
mod taken;
mod values;

use std::path::Path;

use anyhow::{Context, Result, bail};
use groma_harness::model::{Record, RunHeader};
use groma_harness::sys::topology::Topology;
use groma_published::{Checked, DOCUMENTS, Document, Picture, Shape, Table, check};
use groma_report::{self as report, Chart, PaperFormat, Papers};
use groma_runner::Planned;

use super::{print, style};
use crate::flags::PaperArgs;
use crate::out_file::Named;
use crate::program::Program;
use machines::Machine;
use repeats::Repeats;

/// Shows tables.
pub(crate) fn paper(program: &Program, args: &PaperArgs) -> Result<u8> {
    let wanted = wanted(args)?;
    if wanted.is_empty() {
        print(&report::paper_list(&style(false)))?;
        return Ok(0);
    }
    if let (true, Some(name)) = (args.check, &args.document) {
        return checked(document(name)?);
    }
    let out = Named::open_any("-o", args.output.as_deref())?;
    let repeats = wanted.repeats(program);
    let points: Vec<&Planned> = repeats.points();
    let picture = args.output.as_deref().filter(|file| ends_in(file, &["svg", "png"]));
    // What cannot be written must not cost the minutes of a measurement.
    let without = || wanted.beside(&repeats, &[]);
    match picture {
        Some(file) if args.measure => drop(drawn(&without(), file)?),
        None if format(args) == PaperFormat::Csv => left_out_of_csv(&without())?,
        _ => {}
    }
    let mut code = 0;
    if args.measure {
        let here = machines::here(&args.store, &points)?;
        code = measure::measure(program, args, &points, here.as_ref())?;
    }
    let papers = wanted.beside(&repeats, &shown(args, &points)?);
    let bytes = match picture {
        Some(file) => drawn(&papers, file)?,
        None => report::papers(&papers, format(args), &style(false)).into_bytes(),
    };
    match out {
        Some(out) => out.write(&bytes)?,
        None => print(&String::from_utf8_lossy(&bytes))?,
    }
    Ok(code)
}

/// The tables of documents with runs among their rows, for a report; the runs by what they are
/// called in it.
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

/// What is asked for.
#[derive(Default)]
struct Wanted {
    tables: Vec<(&'static Document, &'static Table)>,
    pictures: Vec<(&'static Document, &'static Picture)>,
}

impl Wanted {
    fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.pictures.is_empty()
    }

    /// All of a document.
    fn add(&mut self, document: &'static Document) {
        self.tables.extend(document.tables.iter().map(|table| (document, table)));
        self.pictures.extend(document.pictures.iter().map(|picture| (document, picture)));
    }

    /// The commands that repeat it.
    fn repeats(&self, program: &Program) -> Repeats {
        let drawn_from = self.pictures.iter().flat_map(|(document, picture)| pictures::tables_of(document, picture));
        let tables: Vec<_> = self.tables.iter().copied().chain(drawn_from).collect();
        Repeats::of(program, &Topology::for_plan(), &tables)
    }

    /// It, with these machines among the rows.
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

/// The machines whose rows are wanted: those of the runs that are named, or this one. A run that
/// holds nothing of what is wanted is left out, unless there is no other.
fn shown(args: &PaperArgs, points: &[&Planned]) -> Result<Vec<Machine>> {
    if args.run.is_empty() {
        return Ok(machines::here(&args.store, points)?.into_iter().collect());
    }
    let all: Vec<Machine> =
        args.run.iter().map(|run| machines::of_run(&args.store, run, points)).collect::<Result<_>>()?;
    // Of pictures that are not drawn there is nothing to hold.
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

/// Says what a file of values cannot hold.
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

/// The format that was named, or that a file's name ends in.
fn format(args: &PaperArgs) -> PaperFormat {
    let ends = |ending: &str| args.output.as_ref().is_some_and(|file| ends_in(file, &[ending]));
    args.format.unwrap_or(match () {
        () if ends("html") => PaperFormat::Html,
        () if ends("md") => PaperFormat::Markdown,
        () if ends("csv") => PaperFormat::Csv,
        () => PaperFormat::Table,
    })
}

/// Draws a figure as the file's name says.
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
    if ends_in(file, &["png"]) { chart.png(2.0).map_err(anyhow::Error::msg) } else { Ok(chart.svg().into_bytes()) }
}

fn ends_in(file: &Path, endings: &[&str]) -> bool {
    file.extension().is_some_and(|own| endings.iter().any(|ending| own == *ending))
}

/// What is asked for; nothing for the list of all.
fn wanted(args: &PaperArgs) -> Result<Wanted> {
    let mut wanted = Wanted::default();
    if args.all {
        DOCUMENTS.iter().for_each(|document| wanted.add(document));
        return Ok(wanted);
    }
    let Some(name) = &args.document else {
        if args.measure || !args.run.is_empty() || args.output.is_some() {
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

/// Says which derived numbers of a document are not what its others give.
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
        text += &format!("  {}: {}\n", one.table, values::said(one));
    }
    print(&text)?;
    Ok(0)
}
