//! What `groma report` takes.

use super::StoreArgs;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

pub(super) const HELP: &str = "Examples:
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

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The runs: ids, beginnings of ids, tags, latest, latest~1, host:NAME, or files of streams;
    /// the others are compared with the first [default: the latest one]
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Add the tables of a document, with the values of these runs among their rows: lmbench1996,
    /// lmbench3, ousterhout1990, cse221 or slb; may be repeated (groma paper shows them alone)
    #[arg(long, value_name = "DOCUMENT")]
    pub(crate) with: Vec<String>,
    /// Write this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The format [default: by the ending of FILE, or html]
    #[arg(long)]
    format: Option<ReportFormat>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

impl ReportArgs {
    /// The format that was asked for, or else the one that the file's name ends with.
    pub(crate) fn format(&self) -> Result<ReportFormat, String> {
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
