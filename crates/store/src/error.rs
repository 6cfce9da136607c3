//! The errors of a store or a stream. Each is one line that names the file.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rusqlite::ffi;

/// Why an operation on a store or a stream failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file at the path is not a groma store; it was not touched.
    #[error("{}: not a groma store: {what}", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// A newer groma wrote the file.
    #[error("{}: written by a newer groma (store version {found}, this one knows {known})", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest that this groma knows.
        known: u32,
    },
    /// An older groma wrote the file, and it cannot be migrated because it is opened read-only.
    #[error(
        "{}: has store version {found}, this groma reads {known}: open it once where it can be written",
        path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The only one that this groma reads.
        known: u32,
    },
    /// A version of groma before the first release wrote the file.
    #[error(
        "{}: written by a development version of groma (store version {version}): 'export' its runs with that version",
        path.display()
    )]
    Development {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// A run whose schema is newer than this groma knows.
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
        /// The newest that this groma knows.
        known: u32,
    },
    /// No space is left; rounds acknowledged before are kept.
    #[error("{}: no space left", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written: permissions, a read-only file system, a missing directory.
    #[error("{}: cannot be written: {reason}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
        /// Whether another name would do ([`StoreError::is_mistake`]).
        mistake: bool,
    },
    /// The file exists and cannot be read.
    #[error("{}: cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
        /// Whether another name would do ([`StoreError::is_mistake`]).
        mistake: bool,
    },
    /// The file, or its directory, was removed while a run was written to it.
    #[error("{}: was removed during the run, and the run with it", path.display())]
    Removed {
        /// The file.
        path: PathBuf,
    },
    /// Another process held the store for longer than the timeout of 10 s.
    #[error("{}: held by another process for more than 10 s", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The store has a lock file, in a place without locks.
    #[error(
        "{}: locked by {} for more than 10 s: if no groma is running, remove that directory, or name another store \
         with --store FILE",
        path.display(),
        lock.display()
    )]
    LockFile {
        /// The file.
        path: PathBuf,
        /// Its lock.
        lock: PathBuf,
    },
    /// SQLite found the file damaged, or its parts contradict each other.
    #[error("{}: the database is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says, or what contradicts.
        reason: String,
    },
    /// The store already has a run with this id.
    #[error("{}: run {run} already exists", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
        /// The run.
        run: String,
    },
    /// The store has no runs.
    #[error("{}: holds no runs yet", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// No run has this id, prefix or tag.
    #[error("{}: no run '{text}'; the latest: {}{}", path.display(), list_first(latest), list_named("; tags: ", tags))]
    NoRun {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        text: String,
        /// The newest runs.
        latest: Vec<String>,
        /// All tags.
        tags: Vec<String>,
    },
    /// No run was made on this host.
    #[error("{}: no run of host '{host}'{}", path.display(), list_named("; hosts: ", hosts))]
    NoHost {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        host: String,
        /// The hosts of all runs.
        hosts: Vec<String>,
    },
    /// A reference such as `before~2` goes back further than there are runs.
    #[error("{}: '{text}' goes back too far; there are only {}: {}", path.display(), runs.len(), list_first(runs))]
    TooFew {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        text: String,
        /// The runs, newest first.
        runs: Vec<String>,
    },
    /// The prefix matches more than one run.
    #[error("{}: '{text}' matches {} runs: {}", path.display(), candidates.len(), list_first(candidates))]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        text: String,
        /// All runs with this prefix, newest first.
        candidates: Vec<String>,
    },
    /// The store has a different run with this id.
    #[error("{}: run {run} exists already, and is a different one ({what})", path.display())]
    Another {
        /// The file.
        path: PathBuf,
        /// The run.
        run: String,
        /// The run in the store: where and when it began.
        what: String,
    },
    /// A malformed line of a stream.
    #[error("{}: line {line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// A stream without any run.
    #[error("{}: neither a groma store nor a stream of a run", path.display())]
    NotAStream {
        /// The file.
        path: PathBuf,
    },
    /// A store, where the stream of one run is expected.
    #[error("{}: a store; name a run of it with --store FILE, or take its runs with 'merge FILE'", path.display())]
    IsAStore {
        /// The file.
        path: PathBuf,
    },
    /// A baseline, where runs are expected.
    #[error(
        "{}: a baseline, which has no rounds that could become a run; 'compare FILE latest' and 'gate --baseline FILE' \
         take it",
        path.display()
    )]
    IsABaseline {
        /// The file.
        path: PathBuf,
    },
    /// A stream that holds the records of a run without its rounds.
    #[error("{}: holds the records of run {run} and not its rounds ('run --out FILE --samples' keeps them)", path.display())]
    NoRounds {
        /// The file.
        path: PathBuf,
        /// The run.
        run: String,
    },
    /// A stream of several runs, where one is expected.
    #[error("{}: holds several runs ('merge' takes all of them into a store)", path.display())]
    SeveralRuns {
        /// The file.
        path: PathBuf,
    },
    /// A value in the store cannot be read, or a value was not stored because it would not read
    /// back.
    #[error("{}: {what} is malformed: {}", path.display(), shorten_error(source))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Which part.
        what: String,
        /// The parse error.
        source: serde_json::Error,
    },
    /// A round or an end was written before the head of its run.
    #[error("{}: a round or an end was written before the head of its run", path.display())]
    NotBegun {
        /// The file.
        path: PathBuf,
    },
    /// The reader of the stream has closed it.
    #[error("{name}: the reader has closed the stream")]
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
    /// Any other SQLite error.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}

/// The first five texts and the number of the others.
fn list_first(runs: &[String]) -> String {
    let more = runs.len().saturating_sub(5);
    let shown = runs[..runs.len() - more].join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// `word` followed by the texts; empty if there are none.
fn list_named(word: &str, texts: &[String]) -> String {
    if texts.is_empty() { String::new() } else { word.to_owned() + &list_first(texts) }
}

impl StoreError {
    /// The store can be read and not written, for this reason if it is not a matter of rights.
    pub(crate) fn read_only(path: &Path, reason: Option<&str>) -> StoreError {
        let reason = reason.unwrap_or("it is read-only").to_owned();
        StoreError::Unwritable { path: path.to_owned(), reason, mistake: false }
    }

    /// What an SQLite error says of a place, without its path.
    pub(crate) fn sqlite_reason(source: &rusqlite::Error) -> String {
        let text = match source {
            rusqlite::Error::SqliteFailure(code, text) => match code.extended_code {
                code if NO_SHARED_MEMORY.contains(&code) => {
                    Some("memory cannot be shared there (mmap of the file -shm)".to_owned())
                }
                code if code == ffi::SQLITE_BUSY || NO_LOCKS.contains(&code) => {
                    Some("files cannot be locked there, or another process holds the store".to_owned())
                }
                _ => text.clone(),
            },
            _ => None,
        };
        text.unwrap_or_else(|| source.to_string())
    }

    /// The file cannot be read.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> StoreError {
        StoreError::Unreadable { path: path.to_owned(), reason: error.to_string(), mistake: names_nothing(error) }
    }

    /// Whether the name is at fault, and not what is at that name: a full or read-only file system,
    /// a quota, a limit, a device that fails, a store that another process holds.
    pub fn is_mistake(&self) -> bool {
        match self {
            StoreError::Full { .. }
            | StoreError::Busy { .. }
            | StoreError::LockFile { .. }
            | StoreError::Removed { .. }
            | StoreError::BrokenPipe { .. }
            | StoreError::Sqlite { .. } => false,
            StoreError::Unwritable { mistake, .. } | StoreError::Unreadable { mistake, .. } => *mistake,
            StoreError::Output { source, .. } => names_nothing(source),
            _ => true,
        }
    }

    /// Maps an SQLite error to the variants that a caller can act on.
    pub(crate) fn sqlite(path: &Path, source: rusqlite::Error) -> StoreError {
        let path = path.to_owned();
        let rusqlite::Error::SqliteFailure(code, text) = &source else {
            return StoreError::Sqlite { path, source };
        };
        let reason = || text.clone().unwrap_or_else(|| code.to_string());
        match (code.code, code.extended_code) {
            // On a small full disk the shared-memory file beside the store fails first.
            (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full { path },
            (ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied, _) => {
                let mistake = code.code == ErrorCode::PermissionDenied;
                StoreError::Unwritable { path, reason: reason(), mistake }
            }
            // SQLite takes only ENOSPC for a full disk.
            (_, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_TRUNCATE | ffi::SQLITE_IOERR_FSYNC) => {
                let reason = format!("{} (a quota, a limit such as RLIMIT_FSIZE, or a device that fails)", reason());
                StoreError::Unwritable { path, reason, mistake: false }
            }
            _ if NO_SHARED_MEMORY.contains(&code.extended_code) || NO_LOCKS.contains(&code.extended_code) => {
                let reason = format!("{}; name a local one with --store FILE", StoreError::sqlite_reason(&source));
                StoreError::Unwritable { path, reason, mistake: false }
            }
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => StoreError::Busy { path },
            (ErrorCode::DatabaseCorrupt, _) => StoreError::Damaged { path, reason: reason() },
            (ErrorCode::NotADatabase, _) => StoreError::NotAStore { path, what: "not an SQLite database".to_owned() },
            _ => StoreError::Sqlite { path, source },
        }
    }

    /// Maps an I/O error of a stream.
    pub(crate) fn output(name: &str, source: io::Error) -> StoreError {
        match source.kind() {
            io::ErrorKind::BrokenPipe => StoreError::BrokenPipe { name: name.to_owned() },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path: PathBuf::from(name) },
            _ => StoreError::Output { name: name.to_owned(), source },
        }
    }
}

/// The errors of a place in which processes cannot share memory.
pub(crate) const NO_SHARED_MEMORY: [i32; 3] =
    [ffi::SQLITE_IOERR_SHMMAP, ffi::SQLITE_IOERR_SHMOPEN, ffi::SQLITE_IOERR_SHMLOCK];
/// Those of a place in which files cannot be locked, but for `ENOLCK`, which SQLite takes for a
/// lock that somebody holds.
pub(crate) const NO_LOCKS: [i32; 4] =
    [ffi::SQLITE_IOERR_LOCK, ffi::SQLITE_IOERR_RDLOCK, ffi::SQLITE_IOERR_UNLOCK, ffi::SQLITE_IOERR_CHECKRESERVEDLOCK];

/// Whether an error says that a name leads to nothing that can be written: that is found out before
/// anything is measured, and another name helps.
pub fn names_nothing(error: &io::Error) -> bool {
    use io::ErrorKind::{
        InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied, Unsupported,
    };
    let kinds = [NotFound, PermissionDenied, NotADirectory, IsADirectory, InvalidInput, InvalidFilename, Unsupported];
    kinds.contains(&error.kind())
}

/// A parse error, shortened: serde quotes the value that it found, however long it is.
fn shorten_error(source: &serde_json::Error) -> String {
    const LONGEST_QUOTE: usize = 160;
    let text = source.to_string();
    let position = format!("at line {} column {}", source.line(), source.column());
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}... {position}", &text[..end]),
        None => text,
    }
}
