//! What a file is: decided here alone, by how it begins.

use std::fs::File;
use std::io::{BufRead, BufReader, Chain, Cursor, Read};
use std::path::Path;

use crate::StoreError;
use crate::ndjson::{Found, find_object, kind_of};

/// What an SQLite file begins with.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// What a Parquet file begins with.
const PARQUET: &[u8] = b"PAR1";
/// What the first line of a result file of lmbench begins with.
const LMBENCH: &[u8] = b"[lmbench";
/// In how many bytes a line of groma is looked for: what a machine says while it boots has some
/// hundred kB, and a device that never ends has to be refused.
const SEARCHED: u64 = 16 << 20;

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
        let kind = match is_binary(file.fill_buf().map_err(unreadable)?) {
            Some(kind) => kind,
            None => of_text(&mut file, &mut begun).map_err(unreadable)?,
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
