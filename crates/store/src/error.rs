//! The errors of stores and streams, each one line that names the file.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rusqlite::ffi;

/// An error of a store or a stream.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file is not a store of groma; it was not touched.
    #[error("{}: not a groma store: {what}", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// A newer groma wrote the file: it can be read, not written.
    #[error(
        "{}: written by a newer groma (store version {found}, this one knows {known}): it can be read, not written",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A newer groma wrote the run, with a newer meaning of its fields.
    #[error("{}: run {run} was written by groma {groma} (schema {found}, this one knows {known})", path.display())]
    NewerRun {
        /// The file.
        path: PathBuf,
        /// The run.
        run: String,
        /// The groma that wrote it.
        groma: String,
        /// The schema of its JSON.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// No space is left; everything written before is kept.
    #[error("{}: no space left", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The place refuses to be written: permissions, a read-only file system, a missing directory.
    #[error("{}: cannot be written: {reason}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file is there and cannot be read.
    #[error("{}: cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Another process held the store for longer than the 10 s that we wait.
    #[error("{}: held by another process for more than 10 s", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// SQLite found the file damaged.
    #[error("{}: the database is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        reason: String,
    },
    /// A run of this id is in the store already.
    #[error("{}: run {run} is in it already", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
        /// The run.
        run: String,
    },
    /// The store holds no run at all.
    #[error("{}: holds no runs yet", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// No run has this id or prefix.
    #[error("{}: no run '{text}'; the latest: {}", path.display(), listed(latest))]
    NoRun {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        text: String,
        /// The newest runs there are.
        latest: Vec<String>,
    },
    /// More than one run begins so.
    #[error("{}: '{text}' fits {} runs: {}", path.display(), candidates.len(), listed(candidates))]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        text: String,
        /// All runs that begin so, newest first.
        candidates: Vec<String>,
    },
    /// Something in the store is not what this groma writes, or was not written because it could
    /// not be read back.
    #[error("{}: {what} does not read as groma writes it: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Which part.
        what: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A round or an end came before the head of its run.
    #[error("{}: a run was continued before it began", path.display())]
    NotBegun {
        /// The file.
        path: PathBuf,
    },
    /// The reader of the stream has closed it.
    #[error("{name}: the reader has gone")]
    BrokenPipe {
        /// The stream.
        name: String,
    },
    /// The stream cannot be written.
    #[error("{name}: cannot be written: {source}")]
    Output {
        /// The stream.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// Any other error of SQLite.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}

/// The first five runs, and the number of others.
fn listed(runs: &[String]) -> String {
    let more = runs.len().saturating_sub(5);
    let shown = runs[..runs.len() - more].join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

impl StoreError {
    /// Maps SQLite's error codes to the variants that a caller can act on.
    pub(crate) fn sqlite(path: &Path, source: rusqlite::Error) -> StoreError {
        let path = path.to_owned();
        let rusqlite::Error::SqliteFailure(code, text) = &source else {
            return StoreError::Sqlite { path, source };
        };
        let reason = || text.clone().unwrap_or_else(|| code.to_string());
        match (code.code, code.extended_code) {
            // The shared-memory file beside the store is the first to find a small disk full.
            (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full { path },
            (ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied, _) => {
                StoreError::Unwritable { path, reason: reason() }
            }
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => StoreError::Busy { path },
            (ErrorCode::DatabaseCorrupt, _) => StoreError::Damaged { path, reason: reason() },
            (ErrorCode::NotADatabase, _) => StoreError::NotAStore { path, what: "not an SQLite database".to_owned() },
            _ => StoreError::Sqlite { path, source },
        }
    }

    /// Maps an error of the system while writing a stream.
    pub(crate) fn output(name: &str, source: io::Error) -> StoreError {
        match source.kind() {
            io::ErrorKind::BrokenPipe => StoreError::BrokenPipe { name: name.to_owned() },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path: PathBuf::from(name) },
            _ => StoreError::Output { name: name.to_owned(), source },
        }
    }
}
