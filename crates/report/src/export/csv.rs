//! A table as comma-separated values.

use std::io::{self, Write};

use super::{Cell, Table, TableWriter};
use crate::csv::{line, number, text};

/// A table, line by line.
pub(crate) struct Csv<W> {
    out: W,
    line: String,
}

impl<W: Write> Csv<W> {
    /// Writes the names of the columns, in quotes: readers that guess the format (DuckDB) learn
    /// from them that fields may be quoted, even if the first such field comes 20,000 rows later.
    pub(crate) fn new(table: Table, out: W) -> io::Result<Csv<W>> {
        let mut csv = Csv { out, line: String::new() };
        let names: Vec<String> = table.columns().into_iter().map(|(name, _)| format!("\"{name}\"")).collect();
        line(&mut csv.line, &names);
        csv.out.write_all(csv.line.as_bytes())?;
        Ok(csv)
    }
}

impl<W: Write> TableWriter for Csv<W> {
    fn row(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        let fields: Vec<String> = row.iter().map(field).collect();
        self.line.clear();
        line(&mut self.line, &fields);
        self.out.write_all(self.line.as_bytes())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}

fn field(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Nothing => String::new(),
        Cell::Text(cell) => text(cell),
        Cell::Int(n) => n.to_string(),
        Cell::Float(value) => number(Some(*value)),
        Cell::Flag(flag) => flag.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Exported, csv_records, csv_text};
    use super::*;
    use crate::fixtures;
    use groma_model::Record;

    fn csv(records: &[Record]) -> String {
        csv_records(&fixtures::header(), records)
    }

    #[test]
    fn one_line_a_metric() {
        let records: Vec<Record> =
            fixtures::records().into_iter().filter(|r| r.id.starts_with("ipc") || r.id.starts_with("net")).collect();
        insta::assert_snapshot!(csv(&records));
    }

    #[test]
    fn every_line_has_every_field_and_quotes_survive() {
        let mut record = fixtures::records().remove(0);
        record.reason = "he said \"no\",\nand left".to_owned();
        let text = csv(&[record]);
        assert!(text.contains("\"he said \"\"no\"\",\nand left\""), "{text}");
        let fields = |line: &str| line.matches(',').count();
        let text = csv(&fixtures::records()[..4]);
        assert!(text.lines().all(|l| fields(l) == Table::Records.columns().len() - 1), "{text}");
    }

    #[test]
    fn text_is_never_a_formula_and_numbers_stay_numbers() {
        for (cell, field) in [
            ("=cmd()", "\"'=cmd()\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@SUM(\"a\")", "\"'@SUM(\"\"a\"\")\""),
            ("\t=1", "\"' =1\""),
            ("\r=1", "\"'\\u{d}=1\""),
            ("＝1", "\"'＝1\""),
            ("a=1", "a=1"),
            ("a\x1b[2J\u{202e}", "a\\u{1b}[2J\\u{202e}"),
            ("", ""),
        ] {
            assert_eq!(text(cell), field);
        }
        let mut record = fixtures::records().remove(0);
        (record.value, record.reason) = (Some(-2.5e-12), "-2.5e-12".to_owned());
        let line = csv(&[record]);
        assert!(line.contains(",-2.5e-12,") && line.contains(",\"'-2.5e-12\","), "{line}");
    }

    #[test]
    fn numbers_read_back_as_they_were() {
        for v in [0.0, 1.156e-7, 3.4987e9, 1e20, -2.5e-12, 0.1 + 0.2] {
            assert_eq!(number(Some(v)).parse(), Ok(v));
        }
        assert_eq!(number(None), "");
        assert_eq!(number(Some(f64::NAN)), "");
    }

    #[test]
    fn samples_one_line_each() {
        let (point, rounds) = fixtures::sampled_point();
        let run = Exported { head: &fixtures::header(), points: &[point], rounds: &[rounds], records: &[] };
        let text = csv_text(Table::Samples, &run);
        assert_eq!(text.lines().count(), 1 + 3 * 400);
        let head: Vec<&str> = text.lines().take(3).collect();
        insta::assert_snapshot!(head.join("\n"));
    }
}
