//! A table as Parquet: row groups of 100,000 rows, every column optional, compressed with Snappy.
//!
//! Uses the crate's own column writers: rows come one at a time, so Arrow arrays would be an extra
//! copy.

use std::io::{self, Write};
use std::sync::Arc;

use groma_model::plain_lines;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::{Cell, Kind, Table, TableWriter, unix_seconds};

/// Rows kept in memory: about 30 MB of samples.
const ROWS: usize = 100_000;

/// A file in progress.
pub(super) struct Parquet<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    rows: usize,
}

/// The unwritten rows of a column: whether each has a value, and the values.
struct Column {
    kind: Kind,
    present: Vec<i16>,
    values: Values,
}

enum Values {
    Texts(Vec<ByteArray>),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Flags(Vec<bool>),
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(table: Table, out: W) -> io::Result<Parquet<W>> {
        let columns = table.columns();
        let fields: Vec<Arc<Type>> = columns.iter().map(|(name, kind)| field(name, *kind)).collect::<Result<_>>()?;
        let schema = Type::group_type_builder("groma").with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_created_by(concat!("groma ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(Parquet { file, columns: columns.into_iter().map(|(_, kind)| Column::new(kind)).collect(), rows: 0 })
    }

    /// Writes the rows in memory.
    fn flush(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        self.columns.iter_mut().try_for_each(|column| column.write(&mut group))?;
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

impl<W: Write + Send> TableWriter for Parquet<W> {
    fn row(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(row) {
            column.push(cell);
        }
        self.rows += 1;
        if self.rows == ROWS { self.flush().map_err(io::Error::from) } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.flush()?;
        self.file.close()?;
        Ok(())
    }
}

/// A column of the schema; every column is optional.
fn field(name: &str, kind: Kind) -> Result<Arc<Type>> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        Kind::Int => (Physical::INT64, None),
        Kind::Float => (Physical::DOUBLE, None),
        Kind::Flag => (Physical::BOOLEAN, None),
    };
    let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
    Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).build()?))
}

impl Column {
    fn new(kind: Kind) -> Column {
        let values = match kind {
            Kind::Text => Values::Texts(Vec::new()),
            Kind::Time | Kind::Int => Values::Ints(Vec::new()),
            Kind::Float => Values::Floats(Vec::new()),
            Kind::Flag => Values::Flags(Vec::new()),
        };
        Column { kind, present: Vec::new(), values }
    }

    fn push(&mut self, cell: &Cell<'_>) {
        let present = match (&mut self.values, cell) {
            (Values::Texts(texts), Cell::Text(text)) => {
                push_text(texts, &plain_lines(text));
                true
            }
            (Values::Ints(ints), Cell::Text(text)) if self.kind == Kind::Time => {
                let moment = unix_seconds(text).map(|seconds| seconds * 1000);
                ints.extend(moment);
                moment.is_some()
            }
            (Values::Ints(ints), Cell::Int(n)) => {
                ints.push(*n);
                true
            }
            (Values::Floats(floats), Cell::Float(value)) => {
                floats.push(*value);
                true
            }
            (Values::Flags(flags), Cell::Flag(flag)) => {
                flags.push(*flag);
                true
            }
            (_, Cell::Nothing) => false,
            (_, cell) => {
                debug_assert!(false, "{cell:?} in a column of {:?}", self.kind);
                false
            }
        };
        self.present.push(i16::from(present));
    }

    fn write<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        let missing = || ParquetError::General("the schema has too few columns".to_owned());
        let mut column = group.next_column()?.ok_or_else(missing)?;
        let present = Some(&self.present[..]);
        match (&mut self.values, column.untyped()) {
            (Values::Texts(texts), ColumnWriter::ByteArrayColumnWriter(to)) => {
                to.write_batch(texts, present, None)?;
                texts.clear();
            }
            (Values::Ints(ints), ColumnWriter::Int64ColumnWriter(to)) => {
                to.write_batch(ints, present, None)?;
                ints.clear();
            }
            (Values::Floats(floats), ColumnWriter::DoubleColumnWriter(to)) => {
                to.write_batch(floats, present, None)?;
                floats.clear();
            }
            (Values::Flags(flags), ColumnWriter::BoolColumnWriter(to)) => {
                to.write_batch(flags, present, None)?;
                flags.clear();
            }
            _ => return Err(ParquetError::General(format!("a column of {:?} has another type", self.kind))),
        }
        self.present.clear();
        column.close()
    }
}

/// Adds a text. One equal to the text before shares its memory, as those of a run or a point do.
fn push_text(texts: &mut Vec<ByteArray>, text: &str) {
    let same = texts.last().filter(|last| last.data() == text.as_bytes()).cloned();
    texts.push(same.unwrap_or_else(|| ByteArray::from(text)));
}

#[cfg(test)]
mod tests;
