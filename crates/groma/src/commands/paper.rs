//! `groma paper`: the tables of earlier documents, with this machine among their rows.

mod listed;
mod machines;
mod measure;
mod names;
mod repeats;
mod taken;
mod values;

use std::path::Path;

use anyhow::{Context, Result, bail};
use groma_harness::sys::topology::Topology;
use groma_published::{Checked, DOCUMENTS, Document, Shape, Table, check};
use groma_report::{self as report, Chart, Paper, PaperFormat};
use groma_runner::Planned;

use super::{print, style};
use crate::flags::PaperArgs;
use crate::program::Program;
use machines::Machine;
use repeats::Repeats;

/// Shows tables.
pub(crate) fn paper(program: &Program, args: &PaperArgs) -> Result<u8> {
    let tables = tables(args)?;
    if tables.is_empty() {
        print(&report::paper_list(&style(false)))?;
        return Ok(0);
    }
    if args.check {
        return checked(tables[0].0);
    }
    let repeats = Repeats::of(program, &Topology::for_plan(), &tables);
    let points: Vec<&Planned> = repeats.points();
    let mut code = 0;
    if args.measure {
        let here = machines::here(&args.store, &points)?;
        code = measure::measure(program, args, &points, here.as_ref())?;
    }
    let machines = shown(args, &points)?;
    let papers: Vec<Paper<'_>> =
        tables.iter().map(|(document, table)| values::paper(document, table, &repeats, &machines)).collect();
    let is_empty = |machine: &Machine| machine.records.iter().all(|record| record.value.is_none());
    if let Some(machine) = machines.iter().find(|machine| is_empty(machine) && !args.run.is_empty()) {
        let table = args.table.as_deref().map(|table| format!(" {table}")).unwrap_or_default();
        bail!(
            "run {} holds no value of {}{table}",
            machine.head.run,
            args.document.as_deref().unwrap_or("these tables")
        );
    }
    if let Some(file) = args.output.as_deref().filter(|file| ends_in(file, &["svg", "png"])) {
        drawn(&papers, file)?;
        return Ok(code);
    }
    let texts = papers.iter().filter(|paper| paper.table.shape == Shape::Raw).map(|paper| paper.table.name);
    let texts: Vec<&str> = texts.collect();
    if format(args) == PaperFormat::Csv && papers.len() > 1 && !texts.is_empty() {
        warn!("left out, because their columns are others: {}; each alone is a file", texts.join(", "));
    }
    let text = report::papers(&papers, format(args), &style(false));
    match &args.output {
        None => print(&text)?,
        Some(file) => std::fs::write(file, text).with_context(|| format!("--output {}", file.display()))?,
    }
    Ok(code)
}

/// The machines whose rows are wanted: those of the runs that are named, or this one.
fn shown(args: &PaperArgs, points: &[&Planned]) -> Result<Vec<Machine>> {
    if args.run.is_empty() {
        return Ok(machines::here(&args.store, points)?.into_iter().collect());
    }
    let mut all: Vec<Machine> =
        args.run.iter().map(|run| machines::of_run(&args.store, run, points)).collect::<Result<_>>()?;
    machines::tell_apart(&mut all);
    Ok(all)
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

/// Draws a figure into a file.
fn drawn(papers: &[Paper<'_>], file: &Path) -> Result<()> {
    let of_file = || format!("--output {}", file.display());
    let [one] = papers else { bail!("{}: a picture shows one figure, such as lmbench1996 figure1", of_file()) };
    let chart = Chart::published(one).with_context(|| {
        format!("{}: {} {} is not a figure; name a file ending in .html", of_file(), one.document.name, one.table.name)
    })?;
    let bytes =
        if ends_in(file, &["png"]) { chart.png(2.0).map_err(anyhow::Error::msg)? } else { chart.svg().into_bytes() };
    std::fs::write(file, bytes).with_context(of_file)
}

fn ends_in(file: &Path, endings: &[&str]) -> bool {
    file.extension().is_some_and(|own| endings.iter().any(|ending| own == *ending))
}

/// The tables that are asked for; none for the list of them.
fn tables(args: &PaperArgs) -> Result<Vec<(&'static Document, &'static Table)>> {
    let of = |document: &'static Document| document.tables.iter().map(move |table| (document, table));
    if args.all {
        return Ok(DOCUMENTS.iter().flat_map(of).collect());
    }
    let Some(name) = &args.document else {
        if args.measure || !args.run.is_empty() || args.output.is_some() {
            bail!("name a document, or all of them with --all");
        }
        return Ok(Vec::new());
    };
    let document = DOCUMENTS.iter().find(|document| document.name == name).with_context(|| {
        let known: Vec<&str> = DOCUMENTS.iter().map(|document| document.name).collect();
        format!("there is no document '{name}' (known: {})", known.join(", "))
    })?;
    let Some(name) = &args.table else { return Ok(of(document).collect()) };
    let table = document.table(name).with_context(|| {
        let known: Vec<&str> = document.tables.iter().map(|table| table.name).collect();
        format!("{} has no table '{name}' (known: {})", document.name, known.join(", "))
    })?;
    Ok(vec![(document, table)])
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
