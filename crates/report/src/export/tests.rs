//! Tables of runs; that of Parquet is in `parquet.rs`.

use super::*;
use crate::fixtures;

/// Collects rows.
struct Kept<'k>(&'k mut Vec<Vec<String>>);

impl TableWriter for Kept<'_> {
    fn row(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        self.0.push(row.iter().map(|cell| format!("{cell:?}")).collect());
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_row_has_all_columns_with_their_kinds() {
    let records = fixtures::records();
    let (point, rounds) = fixtures::sampled_point();
    let head = fixtures::header();
    let run = Exported { head: &head, points: &[point], rounds: &[rounds], records: &records };
    for (table, number) in [(Table::Records, records.len()), (Table::Rounds, 3), (Table::Samples, 1200)] {
        let mut rows = Vec::new();
        write_rows(table, &run, &mut Kept(&mut rows)).expect("rows");
        assert_eq!(rows.len(), number, "{table:?}");
        let columns = table.columns();
        for row in &rows {
            assert_eq!(row.len(), columns.len(), "{table:?}");
            for (cell, (name, kind)) in row.iter().zip(&columns) {
                let of_kind = match kind {
                    Kind::Text | Kind::Time => "Text(",
                    Kind::Int => "Int(",
                    Kind::Float => "Float(",
                    Kind::Flag => "Flag(",
                };
                assert!(cell == "Nothing" || cell.starts_with(of_kind), "{table:?} {name}: {cell}");
            }
        }
        for (i, (name, _)) in columns.iter().enumerate() {
            assert!(columns[..i].iter().all(|(other, _)| other != name), "{table:?}: {name} is there twice");
        }
    }
}

#[test]
fn moments() {
    for (moment, seconds) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2000-02-29T23:59:59Z", 951_868_799),
        ("2026-11-21T07:38:12Z", 1_795_246_692),
        ("2026-11-21T07:38:12.75Z", 1_795_246_692),
        ("2100-03-01T00:00:00Z", 4_107_542_400),
    ] {
        assert_eq!(unix_seconds(moment), Some(seconds), "{moment}");
    }
    for text in ["", "soon", "2026-11-21", "2026-13-01T00:00:00Z", "9223372036854775807-11-01T00:00:00Z"] {
        assert_eq!(unix_seconds(text), None, "{text}");
    }
}

/// Where no round had the core to itself, samples with neighbours count, and their rows say so.
#[test]
fn a_sample_is_clean_where_it_counts() {
    use groma_model::Label;
    let (mut point, mut rounds) = fixtures::sampled_point();
    point.drops.add(Label::Shared);
    let samples = rounds.iter_mut().flat_map(|round| &mut round.result.output.series[0].samples);
    samples.for_each(|sample| sample.labels = groma_model::Labels::of(&[Label::Shared]));
    let head = fixtures::header();
    let run = Exported { head: &head, points: &[point], rounds: &[rounds], records: &[] };
    let mut rows = Vec::new();
    write_rows(Table::Samples, &run, &mut Kept(&mut rows)).expect("rows");
    let at = Table::Samples.columns().iter().position(|(name, _)| *name == "clean").expect("a column");
    assert!(!rows.is_empty() && rows.iter().all(|row| row[at] == "Flag(true)"), "{}", rows[0][at]);
}
