//! The formats of a run, and the one function that renders them.

use groma_model::{End, Families, Record, RunHeader};

use crate::{Style, export, hardware, json, markdown, page, table};

/// A format of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Aligned text for people.
    #[default]
    Table,
    /// One JSON object: `run`, `metrics`, `end`.
    Json,
    /// One line per metric, long form, SI units.
    Csv,
    /// A table for GitHub and similar sites.
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

    /// The format with this name, if any.
    pub fn from_word(word: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.word() == word)
    }
}

/// Renders a run. JSON and CSV contain every digit and ignore `style`. The other formats show the
/// pages if the run has enough of their metrics and `style.all` is not set, else a table of all
/// metrics, below the hardware page if the run has enough for that one. `end` is `None` while the
/// run goes on, or after it was killed. `families` provide sentences and rows.
pub fn render(
    families: Families<'_>,
    run: &RunHeader,
    records: &[Record],
    end: Option<&End>,
    format: Format,
    style: &Style,
) -> String {
    let pages = |style: &Style| if style.all { None } else { page::pages(families, run, records, end, style) };
    match format {
        Format::Table => pages(style).unwrap_or_else(|| {
            let table = table::table(families, run, records, end, style);
            // A rule with nothing below it is not a page.
            match hardware::hardware(families, run, records, style).filter(|page| page.lines().count() > 1) {
                Some(page) => format!("{page}\n{table}"),
                None => table,
            }
        }),
        Format::Json => json::json(run, records, end),
        Format::Csv => export::csv_records(run, records),
        Format::Markdown => match pages(&markdown::in_a_block(style)) {
            Some(pages) => markdown::block(&pages),
            None => markdown::markdown(families, run, records, end, style),
        },
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
    fn any_record_can_be_rendered() {
        let strange = [f64::NAN, f64::INFINITY, -1.0, 0.0, -0.0, 1e300, 5e-324, 1e-9];
        let mut records = fixtures::records();
        records.push(fixtures::sampled());
        for (i, record) in records.iter_mut().enumerate() {
            let of = |k: usize| strange[(i / 3 + k) % strange.len()];
            record.value = Some(of(0));
            record.ci_display = Some([of(1), of(2)]);
            (record.p90, record.p99, record.cycles) = (Some(of(3)), Some(of(4)), Some(of(5)));
            match i % 4 {
                0 => record.params_text = "=size= =".to_owned(),
                1 => record.id = String::new(),
                2 => record.reason = "µ\u{301}\n\t|\"<&".repeat(40),
                _ => {}
            }
        }
        let (run, end) = (fixtures::header(), fixtures::end(&records));
        for width in [0, 1, 40, 80, 300] {
            for unicode in [true, false] {
                let style = Style { colour: true, width, unicode, all: width == 40, program: "groma" };
                for format in Format::ALL {
                    render(fixtures::families(), &run, &records, Some(&end), format, &style);
                }
                for record in &records {
                    crate::live_line(record, &style);
                    let same = records.iter().filter(|r| r.id == record.id).collect();
                    let source = [crate::Source { run: &run, called: "", records: same }];
                    let curve = crate::plot(fixtures::families(), &source, None, &[]);
                    for chart in
                        [curve, crate::histogram(&run, record, groma_model::Labels::NONE)].into_iter().flatten()
                    {
                        chart.terminal(&style);
                        chart.svg();
                    }
                }
            }
        }
    }

    #[test]
    fn every_format_names_every_metric() {
        let records = fixtures::records();
        let style = Style { all: true, ..Style::plain(120) };
        for format in Format::ALL {
            let text = render(
                fixtures::families(),
                &fixtures::header(),
                &records,
                Some(&fixtures::end(&records)),
                format,
                &style,
            );
            assert!(text.ends_with('\n'), "{format:?}");
            for record in &records {
                assert!(text.contains(&record.id), "{format:?} lacks {}", record.id);
            }
        }
    }
}
