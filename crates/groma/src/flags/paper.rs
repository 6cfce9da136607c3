//! What `groma paper` takes.

use super::StoreArgs;
use super::parse::parse_paper_format;
use clap::Args;
use std::path::PathBuf;

pub(super) const HELP: &str = "Examples:
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

#[derive(Debug, Args)]
pub(crate) struct PaperArgs {
    /// The document: lmbench1996, lmbench3, ousterhout1990, cse221 or slb [default: a list of all]
    #[arg(value_name = "DOCUMENT", conflicts_with = "all")]
    pub(crate) document: Option<String>,
    /// The table or figure: table7, figure1 [default: all of the document]
    #[arg(value_name = "TABLE")]
    pub(crate) table: Option<String>,
    /// The tables of all documents
    #[arg(long)]
    pub(crate) all: bool,
    /// Show this run's machine instead of this one: an id, a tag, host:NAME, the file of a stream,
    /// or reference:NAME; of several, each that holds anything has its row [default: the newest
    /// stored values of this machine]
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Vec<String>,
    /// First measure what the store lacks of these tables, coarsely, and keep it there
    #[arg(long, conflicts_with = "run")]
    pub(crate) measure: bool,
    /// Only compute the document's derived numbers again from its others, and list where they
    /// differ
    #[arg(long, conflicts_with_all = ["measure", "run", "table", "format", "output"], requires = "document")]
    pub(crate) check: bool,
    /// The format: table, markdown, html or csv [default: table; html where the file of -o ends so]
    #[arg(long, value_parser = parse_paper_format)]
    pub(crate) format: Option<groma_report::PaperFormat>,
    /// Write to this file instead; of a figure also .svg or .png
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
