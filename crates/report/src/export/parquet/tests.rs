//! Files read back by the crate's own reader.

use crate::export::{Exported, Table, parquet_table, write_rows};
use crate::fixtures;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::{Field, Row};
use ::parquet::schema::types::Type;

/// The names and values of the rows of a Parquet file, and its number of row groups; only these
/// columns, if any are given.
fn read(bytes: Vec<u8>, only: &[&str]) -> (Vec<Row>, usize) {
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a Parquet file");
    let schema = file.metadata().file_metadata().schema();
    let columns = schema.get_fields().iter().filter(|column| only.is_empty() || only.contains(&column.name()));
    let wanted = Type::group_type_builder(schema.name()).with_fields(columns.cloned().collect());
    let rows = file.get_row_iter(Some(wanted.build().expect("a schema"))).expect("rows");
    (rows.map(|row| row.expect("a row")).collect(), file.num_row_groups())
}

fn parquet_of(table: Table, run: &Exported<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut out = parquet_table(table, &mut bytes).expect("a file");
    write_rows(table, run, out.as_mut()).expect("rows");
    out.finish().expect("written");
    bytes
}

#[test]
fn parquet_reads_back_as_it_was_written() {
    let records = fixtures::records();
    let head = fixtures::header();
    let run = Exported { head: &head, points: &[], rounds: &[], records: &records };
    let (rows, _) = read(parquet_of(Table::Records, &run), &[]);
    assert_eq!(rows.len(), records.len());
    let of = |row: &Row, name: &str| {
        row.get_column_iter().find(|(column, _)| *column == name).expect("the column").1.clone()
    };
    for (row, record) in rows.iter().zip(&records) {
        assert_eq!(of(row, "id"), Field::Str(record.id.clone()));
        assert_eq!(of(row, "value"), record.value.map_or(Field::Null, Field::Double), "{}", record.id);
        assert_eq!(of(row, "ci_high"), record.ci.map_or(Field::Null, |ci| Field::Double(ci[1])));
        assert_eq!(of(row, "samples"), Field::Long(record.samples as i64));
        assert_eq!(of(row, "detail"), Field::Bool(record.detail));
        assert_eq!(of(row, "started"), Field::TimestampMillis(1_795_246_692_000));
    }
}

#[test]
fn rows_beyond_a_group_begin_another() {
    let (point, mut rounds) = fixtures::sampled_point();
    let samples = &mut rounds[0].result.output.series[0].samples;
    let one = samples[0];
    *samples = (0..250_001).map(|t0_ns| groma_model::Sample { t0_ns, ..one }).collect();
    rounds.truncate(1);
    let head = fixtures::header();
    let run = Exported { head: &head, points: &[point], rounds: &[rounds], records: &[] };
    let (rows, groups) = read(parquet_of(Table::Samples, &run), &["t0_ns"]);
    assert_eq!((rows.len(), groups), (250_001, 3));
    let t0 = |row: &Row| row.get_column_iter().find(|(name, _)| *name == "t0_ns").map(|(_, field)| field.clone());
    assert!(rows.iter().enumerate().all(|(i, row)| t0(row) == Some(Field::Long(i as i64))));
}
