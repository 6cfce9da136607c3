//! How a verb shows a document: the same `--format`, `--json` and `--output` for all of them.

use crate::out_file::Named;
use crate::parse::one_of;
use crate::print::{print, style};
use anyhow::{Result, bail};
use clap::Args;
use groma_report::{Document, Format, Style};
use std::ffi::OsStr;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// The formats that a verb offers beyond those of all verbs.
pub(crate) trait Offer: Clone + Debug + Send + Sync + 'static {
    /// They.
    const FURTHER: &'static [Format];
    /// The help of `--format`.
    const HELP: &'static str;
    /// The help of `--output`.
    const FILE: &'static str = "Write to this file instead";
    /// The endings of its files, for an error.
    const ENDINGS: &'static str = ".txt, .md, .html, .json or .csv";
}

/// The formats of all verbs.
#[derive(Clone, Debug)]
pub(crate) struct Common;
/// Those, and plots in files that end in .svg or .png.
#[derive(Clone, Debug)]
pub(crate) struct WithPlots;
/// Also test cases.
#[derive(Clone, Debug)]
pub(crate) struct WithJunit;
/// Also reasons for draining a host.
#[derive(Clone, Debug)]
pub(crate) struct WithDrain;
/// Also gauges, and reasons for draining a host.
#[derive(Clone, Debug)]
pub(crate) struct WithGauges;

impl Offer for Common {
    const FURTHER: &'static [Format] = &[];
    const HELP: &'static str =
        "The format: table, markdown, html, json or csv [default: by the file's ending, else table]";
}

impl Offer for WithPlots {
    const FURTHER: &'static [Format] = &[];
    const HELP: &'static str = Common::HELP;
    const FILE: &'static str = "Write to this file instead; a plot, and nothing else, where it ends in .svg or .png";
    const ENDINGS: &'static str = ".txt, .md, .html, .json, .csv, .svg or .png";
}

impl Offer for WithJunit {
    const FURTHER: &'static [Format] = &[Format::Junit];
    const HELP: &'static str =
        "The format: table, markdown, html, json, csv or junit [default: by the file's ending, else table]";
}

impl Offer for WithDrain {
    const FURTHER: &'static [Format] = &[Format::Drain];
    const HELP: &'static str =
        "The format: table, drain, markdown, html, json or csv [default: by the file's ending, else table]";
}

impl Offer for WithGauges {
    const FURTHER: &'static [Format] = &[Format::Drain, Format::Openmetrics];
    const HELP: &'static str = "The format: table, drain, markdown, html, json, csv or openmetrics [default: by the file's \
                                ending, else table]";
}

/// The format of a view, and where it goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct ViewArgs<F: Offer = Common> {
    #[arg(long, help = F::HELP, value_parser = parse_format::<F>)]
    format: Option<Format>,
    /// As --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[arg(short, long, value_name = "FILE", help = F::FILE)]
    output: Option<PathBuf>,
    #[arg(skip)]
    offer: PhantomData<F>,
}

/// Parses a format that the verb offers.
pub(crate) fn parse_format<F: Offer>(text: &str) -> Result<Format, String> {
    one_of(text, &[&Format::COMMON, F::FURTHER].concat(), Format::word)
}

impl<F: Offer> ViewArgs<F> {
    /// The file of `--output`.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// The format: the named one, else that of the file's ending.
    ///
    /// # Errors
    /// Where no format has this ending.
    pub(crate) fn format(&self) -> Result<Format> {
        let ending = self.file().and_then(Path::extension).and_then(OsStr::to_str);
        Ok(match (self.format, ending) {
            _ if self.json => Format::Json,
            (Some(format), _) => format,
            (None, None) => Format::Table,
            (None, Some(ending)) => match Format::of_ending(ending) {
                Some(format) if Format::COMMON.contains(&format) || F::FURTHER.contains(&format) => format,
                _ => {
                    let file = self.file().unwrap_or(Path::new("")).display();
                    bail!("-o {file}: expected a file that ends in {}, or a --format", F::ENDINGS)
                }
            },
        })
    }

    /// The view, with its file opened, so that a misspelt directory costs no measurement. `all`
    /// shows every point and value.
    ///
    /// # Errors
    /// Where the file cannot be written, or its ending is unknown.
    pub(crate) fn open(&self, all: bool) -> Result<View> {
        let format = self.format()?;
        let out = Named::open_any("-o", self.file())?;
        let of_terminal = style(all);
        let of_file = Style { all, program: of_terminal.program, ..Style::plain(100) };
        let style = if out.is_some() { of_file } else { of_terminal }.of(format);
        Ok(View { format, style, out })
    }
}

/// A format, its style, and where it goes.
pub(crate) struct View {
    pub(crate) format: Format,
    /// What documents are made with.
    pub(crate) style: Style,
    out: Option<Named>,
}

impl View {
    /// A table on standard output.
    pub(crate) fn terminal(all: bool) -> View {
        View { format: Format::Table, style: style(all), out: None }
    }

    /// Writes or prints a document.
    ///
    /// # Errors
    /// Those of the file or of standard output.
    pub(crate) fn show(self, document: &Document<'_>) -> Result<()> {
        let text = document.render(self.format, &self.style);
        self.show_text(&text)
    }

    /// Writes or prints a text in the format.
    ///
    /// # Errors
    /// As [`show`](View::show).
    pub(crate) fn show_text(self, text: &str) -> Result<()> {
        match self.out {
            Some(out) => out.write(text.as_bytes()),
            None => print(text),
        }
    }
}
