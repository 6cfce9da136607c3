//! `groma site`: many machines as pages that need no server.

mod directory;
mod gather;

use super::paper::printed;
use crate::args::StoreArgs;
use crate::parallel::in_order;
use crate::print::{name, print};
use crate::program::Program;
use anyhow::{Result, bail};
use clap::Args;
use directory::Directory;
use gather::{Input, Part};
use groma_harness::model::Info;
use groma_report::units::counted;
use groma_report::{Preparation, Site, SiteOptions};
use std::ops::ControlFlow;
use std::path::PathBuf;

const HELP: &str = "Examples:
  groma site -o public/                 all runs of the store
  groma site results/ -o public/        all files below a directory
  groma site latest base.ndjson db1.0 old.db reference -o public/
      a run, a baseline, a file of lmbench, a store, the reference machines
  groma site postgres://groma@db/bench -o public/
      the newest run of each host in a database
  groma site --host-names --title 'Build hosts' results/ -o public/
      machines by their names

The pages need no server, load nothing from elsewhere and can be read without JavaScript; with it \
tables sort and filter, and any two machines or metrics can be put beside each other. Called \
again, it writes only what changed, and removes the pages of what is no longer there. Beside the \
machines stand those that five documents measured from 1990 to 2014; --no-documents leaves them out.";

/// Write many machines as a site: side by side, metric by metric, and over the years
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SiteArgs {
    /// Runs by id, tag or host:NAME; stores, streams, baselines, Parquet files of records and
    /// result files of lmbench; directories with such files; the URL of a database; or reference
    /// [default: all runs of the store, and reference]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// All files below this directory; may be repeated
    #[arg(long, value_name = "DIR")]
    from: Vec<PathBuf>,
    /// Write the pages into this directory, which is new, empty, or such a site
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Call machines by their host names; without it, by processor and a short code
    #[arg(long)]
    host_names: bool,
    /// Leave out what documents printed
    #[arg(long)]
    no_documents: bool,
    /// The title of the first page
    #[arg(long, default_value = "Machines")]
    title: String,
    #[command(flatten)]
    store: StoreArgs,
}

/// Writes a site.
pub(super) fn run(program: &Program, args: &SiteArgs) -> Result<u8> {
    let mut directory = Directory::open(&args.output)?;
    let input = Input::of(&args.runs, &args.from, &args.store)?;
    let catalogue: Vec<&Info> = program.all().iter().map(|bench| &bench.info).collect();
    let families = program.known_families();
    let options = SiteOptions { families, catalogue: &catalogue, host_names: args.host_names, title: &args.title };
    let preparation = Preparation::new(&options);
    let mut site = Site::new(options);
    let mut left_out = Vec::new();
    in_order(
        &input.parts,
        |part: &Part| part.read(program, &preparation),
        |_, read| {
            read.runs.into_iter().for_each(|run| {
                site.add(run);
            });
            left_out.extend(read.notes);
            ControlFlow::Continue(())
        },
    );
    for note in left_out.iter().rev() {
        warn!("{note}");
    }
    let measured = site.counts();
    if measured.machines == 0 {
        bail!("no run with a value: name runs, files or directories, or measure one: {} run", name());
    }
    if !args.no_documents && program.with_groma {
        printed(program).into_iter().for_each(|system| site.add_printed(system));
    }
    let counts = site.counts();
    let pages = site.pages();
    let mut written = Ok(());
    in_order(
        &pages.parts(),
        |part| pages.files(*part),
        |_, files| {
            written = files.into_iter().try_for_each(|(path, content)| directory.write(&path, &content));
            if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    written?;
    let wrote = directory.finish()?;
    let beside = if counts.printed > 0 {
        format!(", {} of documents", counted(counts.printed, "system"))
    } else {
        String::new()
    };
    print(&format!(
        "{}: {}, {}{beside}; {}, {:.1} MB, {} written, {} removed\n",
        args.output.join("index.html").display(),
        counted(counts.machines, "machine"),
        counted(counts.runs, "run"),
        counted(wrote.files, "file"),
        wrote.bytes as f64 / 1e6,
        wrote.changed,
        wrote.removed,
    ))?;
    Ok(if left_out.is_empty() { 0 } else { crate::exit::USAGE })
}
