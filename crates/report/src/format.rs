//! The formats in which a run is shown, and the one way to show it.

use groma_model::{End, Record, RunHeader};

use crate::{Style, csv, json, markdown, table};

/// A format of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Aligned text for people.
    #[default]
    Table,
    /// One JSON object: `run`, `metrics`, `end`.
    Json,
    /// One line a metric, long form, SI units.
    Csv,
    /// A table for GitHub and its like.
    Markdown,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 4] = [Format::Table, Format::Json, Format::Csv, Format::Markdown];

    /// The word used on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Markdown => "markdown",
        }
    }

    /// The format named by `word`, if there is one.
    pub fn from_word(word: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.word() == word)
    }
}

/// A run in a format. JSON and CSV hold every digit and ignore `style`; Markdown heeds `style.all` only. `end` is missing
/// while the run goes on, or when it was killed.
pub fn render(run: &RunHeader, records: &[Record], end: Option<&End>, format: Format, style: &Style) -> String {
    match format {
        Format::Table => table::table(run, records, end, style),
        Format::Json => json::json(run, records, end),
        Format::Csv => csv::csv(run, records),
        Format::Markdown => markdown::markdown(run, records, end, style),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn words_and_back() {
        for format in Format::ALL {
            assert_eq!(Format::from_word(format.word()), Some(format));
        }
        assert_eq!(Format::from_word("xml"), None);
    }

    #[test]
    fn every_format_names_every_metric() {
        let records = fixtures::records();
        let style = Style { all: true, ..Style::plain(120) };
        for format in Format::ALL {
            let text = render(&fixtures::header(), &records, Some(&fixtures::end(&records)), format, &style);
            assert!(text.ends_with('\n'), "{format:?}");
            for record in &records {
                assert!(text.contains(&record.id), "{format:?} lacks {}", record.id);
            }
        }
    }
}
