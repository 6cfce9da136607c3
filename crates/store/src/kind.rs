//! What a file is: decided here alone, by how it begins.

use std::fs::File;
use std::io::{BufRead, BufReader, Chain, Cursor, Read};
use std::path::Path;

use serde_json::Value;

use crate::StoreError;
use crate::ndjson::{BYTE_ORDER_MARK, Found, find_object, kind_of};

/// What an SQLite file begins with.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// What a Parquet file begins with.
const PARQUET: &[u8] = b"PAR1";
/// What the first line of a result file of lmbench begins with.
const LMBENCH: &[u8] = b"[lmbench";
/// In how many bytes a line of groma is looked for: what a machine says while it boots has some
/// hundred kB, and a device that never ends has to be refused.
const SEARCHED: u64 = 16 << 20;

/// The most of a file that a formatter has laid out, which is read as a whole.
const LAID_OUT: u64 = 1 << 30;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An SQLite file: a store, or the database of another program.
    Sqlite,
    /// Lines of JSON that are no baseline: a stream, also one that was captured from a console.
    Stream,
    /// A baseline.
    Baseline,
    /// A result file of lmbench.
    Lmbench,
    /// A Parquet file.
    Parquet,
    /// Anything else.
    Other,
}

/// A file that was opened, from its first byte.
pub type Opened = Chain<Cursor<Vec<u8>>, BufReader<File>>;

impl FileKind {
    /// What the file at a path is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: &Path) -> Result<FileKind, StoreError> {
        FileKind::open(path).map(|(kind, _)| kind)
    }

    /// Opens a file once, which may be a pipe, and tells what it is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path) -> Result<(FileKind, Opened), StoreError> {
        let unreadable = |e: std::io::Error| StoreError::unreadable(path, &e);
        let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
        let mut begun = Vec::new();
        let start = file.fill_buf().map_err(unreadable)?;
        let kind = if let Some(kind) = is_binary(start) {
            kind
        } else if is_laid_out(start) {
            begun = on_lines(&mut file).map_err(unreadable)?;
            of_text(&mut begun.as_slice(), &mut Vec::new()).map_err(unreadable)?
        } else {
            of_text(&mut file, &mut begun).map_err(unreadable)?
        };
        Ok((kind, Cursor::new(begun).chain(file)))
    }
}

/// Whether a file that begins like this is an SQLite database.
pub(crate) fn is_sqlite(start: &[u8]) -> bool {
    start.starts_with(SQLITE)
}

fn is_binary(start: &[u8]) -> Option<FileKind> {
    match start {
        _ if is_sqlite(start) => Some(FileKind::Sqlite),
        _ if start.starts_with(PARQUET) => Some(FileKind::Parquet),
        _ => None,
    }
}

/// Whether a text begins as JSON that a formatter has laid out on several lines, or has put into an
/// array.
fn is_laid_out(start: &[u8]) -> bool {
    let text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start).trim_ascii_start();
    let after = |sign: &[u8]| text.strip_prefix(sign).map(<[u8]>::trim_ascii_start);
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    after(b"[").is_some_and(|rest| rest.starts_with(b"{")) || line.trim_ascii_end() == b"{"
}

/// The objects of such a text, each on a line; the text as it is where it is no JSON.
fn on_lines(file: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(LAID_OUT).read_to_end(&mut text)?;
    let json = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    let mut lines = Vec::new();
    for value in serde_json::Deserializer::from_slice(json).into_iter::<Value>() {
        let objects = match value {
            Ok(Value::Array(objects)) => objects,
            Ok(object) => vec![object],
            Err(_) => return Ok(text),
        };
        for object in objects {
            serde_json::to_writer(&mut lines, &object)?;
            lines.push(b'\n');
        }
    }
    Ok(lines)
}

/// Reads lines into `begun` until one tells what the file is.
fn of_text(file: &mut impl BufRead, begun: &mut Vec<u8>) -> std::io::Result<FileKind> {
    let mut is_first = true;
    loop {
        let start = begun.len();
        let left = SEARCHED.saturating_sub(start as u64);
        if file.take(left).read_until(b'\n', begun)? == 0 {
            return Ok(FileKind::Other);
        }
        let line = &begun[start..];
        match find_object(line) {
            Found::Blank => continue,
            Found::Object(_) | Found::Behind(_) => {
                let kind = kind_of(&String::from_utf8_lossy(line));
                match kind.as_deref() {
                    Some("baseline") => return Ok(FileKind::Baseline),
                    Some("run" | "point" | "round" | "metric" | "end") => return Ok(FileKind::Stream),
                    // Its reader says what is wrong with it.
                    _ if is_first => return Ok(FileKind::Stream),
                    _ => {}
                }
            }
            Found::Foreign if line.trim_ascii_start().starts_with(LMBENCH) => return Ok(FileKind::Lmbench),
            Found::Foreign => {}
        }
        is_first = false;
    }
}
