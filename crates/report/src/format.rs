//! The formats of all views, and the view of a run.

use groma_model::{End, Families, Record, RunHeader};

use crate::document::Document;
use crate::{Style, export, hardware, json, markdown, page, table};

/// A format of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Aligned text for people.
    #[default]
    Table,
    /// Tables for GitHub and its like.
    Markdown,
    /// A page for a browser, in one file.
    Html,
    /// JSON, with every digit.
    Json,
    /// The rows of its tables, in SI units, with every digit.
    Csv,
    /// Test cases for continuous integration.
    Junit,
    /// A line for each slow host: its name, a space, a reason for draining it.
    Drain,
    /// Gauges for Prometheus.
    Openmetrics,
}

impl Format {
    /// The formats that every view has.
    pub const COMMON: [Format; 5] = [Format::Table, Format::Markdown, Format::Html, Format::Json, Format::Csv];

    /// The word used on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Markdown => "markdown",
            Format::Html => "html",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Junit => "junit",
            Format::Drain => "drain",
            Format::Openmetrics => "openmetrics",
        }
    }

    /// The ending of its files, if one says what they are.
    pub const fn ending(self) -> Option<&'static str> {
        Some(match self {
            Format::Table => "txt",
            Format::Markdown => "md",
            Format::Html => "html",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Junit => "xml",
            Format::Openmetrics => "prom",
            Format::Drain => return None,
        })
    }
}

/// A run: its pages if it has enough of their metrics and `style.all` is not set, else a table of
/// all metrics, below the hardware page if the run has enough for that one. JSON and CSV contain
/// every metric with every digit. `end` is `None` while the run goes on, or after it was killed.
/// `families` provide sentences and rows.
pub fn run<'a>(
    families: Families<'a>,
    run: &'a RunHeader,
    records: &'a [Record],
    end: Option<&'a End>,
    style: &Style,
) -> Document<'a> {
    let of_page = style.of_page();
    let pages = if style.all { None } else { page::pages(families, run, records, end, &of_page) };
    let title = format!("run {}", run.run);
    let has_pages = pages.is_some();
    let mut document = match pages {
        Some(pages) => Document::page(title, pages),
        None => {
            let mut document = Document::new(title);
            // A rule with nothing below it is not a page.
            let hardware = hardware::page(families, run, records, &of_page);
            if let Some(page) = hardware.filter(|page| page.lines().count() > 1) {
                document.lines(page);
                document.gap();
            }
            document.append(table::table(families, run, records, end, style));
            document
        }
    };
    if !has_pages {
        let style = *style;
        document = document.written(Format::Markdown, move || markdown::markdown(families, run, records, end, &style));
    }
    document
        .written(Format::Json, move || json::json(run, records, end))
        .written(Format::Csv, move || export::csv_records(run, records))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

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
        let (header, end) = (fixtures::header(), fixtures::end(&records));
        for width in [0, 1, 40, 80, 300] {
            for unicode in [true, false] {
                let style = Style { colour: true, width, unicode, all: width == 40, program: "groma" };
                for format in Format::COMMON {
                    let style = style.of(format);
                    run(fixtures::families(), &header, &records, Some(&end), &style).render(format, &style);
                }
                for record in &records {
                    crate::live_line(record, &style);
                    let same = records.iter().filter(|r| r.id == record.id).collect();
                    let source = [crate::Source { run: &header, called: "", records: same }];
                    let curve = crate::plot(fixtures::families(), &source, None, &[]);
                    for chart in
                        [curve, crate::histogram(&header, record, groma_model::Labels::NONE)].into_iter().flatten()
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
        let (header, end) = (fixtures::header(), fixtures::end(&records));
        for format in Format::COMMON {
            let style = style.of(format);
            let text = run(fixtures::families(), &header, &records, Some(&end), &style).render(format, &style);
            assert!(text.ends_with('\n'), "{format:?}");
            for record in &records {
                assert!(text.contains(&record.id), "{format:?} lacks {}", record.id);
            }
        }
    }
}
