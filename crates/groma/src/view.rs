//! How a verb shows a document: the same `--format`, `--json` and `--output` for all of them.

use crate::out_file::Named;
use crate::parse::one_of;
use crate::print::{print, style};
use anyhow::{Context, Result};
use clap::Args;
use groma_report::{Document, Format, Style};
use std::borrow::Borrow;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// What a verb offers beyond the formats of all verbs.
pub(crate) trait Offer: Clone + Debug + Send + Sync + 'static {
    /// Further formats.
    const FURTHER: &'static [Format] = &[];
    /// Whether a file that ends in .svg or .png gets a plot.
    const PLOTS: bool = false;
}

/// Nothing more.
#[derive(Clone, Debug)]
pub(crate) struct Common;
/// Plots.
#[derive(Clone, Debug)]
pub(crate) struct WithPlots;
/// Test cases.
#[derive(Clone, Debug)]
pub(crate) struct WithJunit;
/// Reasons for draining a host.
#[derive(Clone, Debug)]
pub(crate) struct WithDrain;
/// Reasons for draining a host, and gauges.
#[derive(Clone, Debug)]
pub(crate) struct WithGauges;

impl Offer for Common {}

impl Offer for WithPlots {
    const PLOTS: bool = true;
}

impl Offer for WithJunit {
    const FURTHER: &'static [Format] = &[Format::Junit];
}

impl Offer for WithDrain {
    const FURTHER: &'static [Format] = &[Format::Drain];
}

impl Offer for WithGauges {
    const FURTHER: &'static [Format] = &[Format::Drain, Format::Openmetrics];
}

/// The endings of files that get a plot.
const PLOTS: [&str; 2] = ["svg", "png"];

/// The formats that a verb offers.
fn formats<F: Offer>() -> impl Iterator<Item = Format> {
    Format::COMMON.iter().chain(F::FURTHER).copied()
}

/// `a, b or c`.
fn one_of_these(words: &[impl Borrow<str>]) -> String {
    match words {
        [first @ .., last] => format!("{} or {}", first.join(", "), last.borrow()),
        [] => String::new(),
    }
}

fn format_help<F: Offer>() -> String {
    let words: Vec<&str> = formats::<F>().map(Format::word).collect();
    format!("The format: {} [default: by the file's ending, else table]", one_of_these(&words))
}

fn file_help<F: Offer>() -> String {
    let plots = if F::PLOTS { "; a plot, and nothing else, where it ends in .svg or .png" } else { "" };
    format!("Write to this file instead{plots}")
}

/// The format of a view, and where it goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct ViewArgs<F: Offer = Common> {
    #[arg(long, help = format_help::<F>(), value_parser = parse_format::<F>)]
    format: Option<Format>,
    /// As --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[arg(short, long, value_name = "FILE", help = file_help::<F>())]
    output: Option<PathBuf>,
    #[arg(skip)]
    offer: PhantomData<F>,
}

/// Parses a format that the verb offers.
pub(crate) fn parse_format<F: Offer>(text: &str) -> Result<Format, String> {
    one_of(text, &formats::<F>().collect::<Vec<_>>(), Format::word)
}

impl<F: Offer> ViewArgs<F> {
    /// The file of `--output`.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// The file of `--output` if it gets a plot.
    pub(crate) fn plot_file(&self) -> Option<&Path> {
        self.file().filter(|file| F::PLOTS && ends_in(file, &PLOTS))
    }

    /// The format: the named one, else that of the file's ending.
    fn format(&self) -> Result<Format> {
        let ending = self.file().and_then(Path::extension).and_then(OsStr::to_str);
        let (file, ending) = match (self.format, self.file().zip(ending)) {
            _ if self.json => return Ok(Format::Json),
            (Some(format), _) => return Ok(format),
            (None, None) => return Ok(Format::Table),
            (None, Some(ending)) => ending,
        };
        let mut known = formats::<F>();
        known.find(|format| format.ending() == Some(ending)).with_context(|| {
            let plots = if F::PLOTS { &PLOTS[..] } else { &[] };
            let endings = formats::<F>().filter_map(Format::ending).chain(plots.iter().copied());
            let endings: Vec<String> = endings.map(|ending| format!(".{ending}")).collect();
            format!("-o {}: expected a file that ends in {}, or a --format", file.display(), one_of_these(&endings))
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

/// Whether a file has one of these endings.
pub(crate) fn ends_in(file: &Path, endings: &[&str]) -> bool {
    file.extension().is_some_and(|own| endings.iter().any(|ending| own == *ending))
}
