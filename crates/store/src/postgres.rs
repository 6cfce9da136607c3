//! Runs of many hosts in PostgreSQL: each is added once, by one transaction, whoever sends it and
//! however often. Not the store of one machine, which is SQLite (`store.rs`).
//!
//! A run is kept as the stream that was sent, so that nothing is lost and the same parser reads it
//! back; columns and rows beside it are for SQL. Rounds as rows were rejected: a fleet asks for
//! values, and its judge for records.
//!
//! Two writers of one run: its id is the primary key, so the second waits for the first and then
//! finds it known. An acknowledgement that is lost with the server: the run is sent again, and
//! found known.
//!
//! Without TLS: a Unix socket, a private network, or an encrypted tunnel to the server.

use std::borrow::Cow;
use std::io::{Cursor, Write};
use std::path::Path;
use std::time::Duration;

use groma_model::Record;
use postgres::config::Host;
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Config, NoTls};

use crate::StoreError;
use crate::ndjson::{RecordedRun, RecordedRuns, kind_of};
use crate::store::HOST_NAME;

/// The migrations, each in a file; their number is the version of the tables.
const MIGRATIONS: [&str; 1] = [include_str!("postgres.sql")];
/// The advisory lock that is held while the tables are made or changed: the letters "groma".
const LOCK: i64 = 0x67_726f_6d61;
/// A server that does not answer within this time is away.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a run could not be sent or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The server cannot be reached, is starting or stopping, or went away: later it may be there.
    #[error("{server}: {why}")]
    Away {
        /// The server, without a password.
        server: String,
        /// What happened.
        why: String,
    },
    /// What another attempt does not mend: the address, the password, the permissions.
    #[error("{server}: {why}")]
    Refused {
        /// The server, without a password.
        server: String,
        /// What happened.
        why: String,
    },
    /// The run itself cannot be used.
    #[error(transparent)]
    Run(#[from] StoreError),
}

/// What became of a run that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The server did not have it.
    Added,
    /// It was there.
    Known,
}

/// A run with its stream.
#[derive(Debug)]
pub struct Streamed<'a> {
    /// The run.
    pub run: RecordedRun,
    /// Its lines.
    pub text: &'a str,
}

/// Divides a stream into its runs. Those without an end were cut off, or are still being written.
///
/// # Errors
/// When it is no stream, or a line of it cannot be used.
pub fn runs_of<'a>(text: &'a str, path: &Path) -> Result<Vec<Streamed<'a>>, StoreError> {
    let mut begins: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if kind_of(line).as_deref() == Some("run") {
            begins.push(at);
        }
        at += line.len();
    }
    // What stands before the first head is looked at as well, so that a file of another kind is
    // told.
    if let Some(first) = begins.first_mut() {
        *first = 0;
    } else {
        begins.push(0);
    }
    let ends = begins.iter().skip(1).copied().chain([text.len()]);
    let mut all = Vec::new();
    for (begin, end) in begins.iter().copied().zip(ends) {
        let text = &text[begin..end];
        for run in RecordedRuns::of(Cursor::new(text.as_bytes()), path) {
            all.push(Streamed { run: run?, text });
        }
    }
    Ok(all)
}

/// A connection to a server, and which one it is.
pub struct Server {
    client: Client,
    name: String,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Server {
    /// Connects to `postgres://user:password@host:port/database`, and makes the tables if they are
    /// missing.
    ///
    /// # Errors
    /// [`ServerError::Away`], [`ServerError::Refused`]; neither holds the password.
    pub fn open(url: &str) -> Result<Server, ServerError> {
        let refused = |why: String| ServerError::Refused { server: scheme(url), why };
        let mut config: Config = url.parse().map_err(|e: postgres::Error| refused(chain(&e)))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        config.application_name("groma");
        let name = name(&config);
        let client = config.connect(NoTls).map_err(|e| server_error(&name, &e))?;
        let mut server = Server { client, name };
        server.migrate()?;
        Ok(server)
    }

    /// Its name, without a password.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn migrate(&mut self) -> Result<(), ServerError> {
        let Server { client, name } = self;
        let failed = |e: postgres::Error| server_error(name, &e);
        let mut all = client.transaction().map_err(failed)?;
        all.execute("select pg_advisory_xact_lock($1)", &[&LOCK]).map_err(failed)?;
        let asked = "select to_regclass('groma.version') is not null";
        let is_there: bool = all.query_one(asked, &[]).map_err(failed)?.get(0);
        let version = if is_there {
            all.query_one("select max(version) from groma.version", &[]).map_err(failed)?.get::<_, Option<i32>>(0)
        } else {
            None
        };
        let version = usize::try_from(version.unwrap_or(0)).unwrap_or(usize::MAX);
        if version > MIGRATIONS.len() {
            let known = MIGRATIONS.len();
            let why = format!("its tables are of a newer groma (version {version}, this one knows {known})");
            return Err(ServerError::Refused { server: name.clone(), why });
        }
        for (number, sql) in (1..).zip(MIGRATIONS).skip(version) {
            all.batch_execute(sql).map_err(failed)?;
            if number == 1 {
                all.batch_execute("create table groma.version (version integer primary key)").map_err(failed)?;
            }
            all.execute("insert into groma.version values ($1)", &[&number]).map_err(failed)?;
        }
        all.commit().map_err(failed)
    }

    /// Adds a run, unless it is there. When this returns, the server has it on its disk.
    ///
    /// # Errors
    /// [`ServerError::Away`] when the server went away: the run is there as a whole or not
    /// at all, and pushing it again is safe. [`ServerError::Refused`] otherwise.
    pub fn push(&mut self, sent: &Streamed<'_>) -> Result<Pushed, ServerError> {
        let Server { client, name } = self;
        let failed = |e: postgres::Error| server_error(name, &e);
        let header = &sent.run.header;
        let interrupted = sent.run.end.as_ref().is_none_or(|end| end.interrupted);
        let host = plain(header.environment.get(HOST_NAME).unwrap_or_default());
        let facts: serde_json::Map<String, serde_json::Value> = header
            .environment
            .facts
            .iter()
            .map(|fact| (plain(&fact.key).into_owned(), plain(&fact.value).into_owned().into()))
            .collect();
        let facts = serde_json::Value::Object(facts).to_string();
        let mut one = client.transaction().map_err(failed)?;
        let added = one
            .execute(
                "insert into groma.run (run, host, started, groma, profile, interrupted, facts, stream) \
                 values ($1, $2, $3::text::timestamptz, $4, $5, $6, $7::text::jsonb, $8) on conflict do nothing",
                &[
                    &plain(&header.run),
                    &host,
                    &plain(&header.started),
                    &plain(&header.groma),
                    &header.profile.word(),
                    &interrupted,
                    &facts,
                    &plain(sent.text),
                ],
            )
            .map_err(failed)?;
        if added == 0 {
            return Ok(Pushed::Known);
        }
        let columns = "run, place, id, params, placement, workers, state, unit, value, low, high";
        let mut rows = one.copy_in(&format!("copy groma.metric ({columns}) from stdin")).map_err(failed)?;
        let mut row = String::new();
        for (place, record) in sent.run.records.iter().enumerate() {
            copy_row(&mut row, &header.run, place, record);
            let written = rows.write_all(row.as_bytes());
            written.map_err(|e| ServerError::Away { server: name.clone(), why: e.to_string() })?;
        }
        rows.finish().map_err(failed)?;
        one.commit().map_err(failed)?;
        Ok(Pushed::Added)
    }

    /// Hands over the newest run of each host that was not ended early, one at a time; of runs of
    /// the profile `fleet`, if there are any.
    ///
    /// # Errors
    /// Those of the server. A run that cannot be read is handed over as its error.
    pub fn newest(&mut self, mut each: impl FnMut(Result<RecordedRun, StoreError>)) -> Result<(), ServerError> {
        let Server { client, name } = self;
        let failed = |e: postgres::Error| server_error(name, &e);
        let sql = "select distinct on (host) stream from groma.run where not interrupted and \
                   (profile = 'fleet' or not exists (select from groma.run where profile = 'fleet')) \
                   order by host, started desc, run desc";
        let none: [&str; 0] = [];
        let mut rows = client.query_raw(sql, none).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let text: String = row.try_get(0).map_err(failed)?;
            RecordedRuns::of(Cursor::new(text.into_bytes()), Path::new(name)).for_each(&mut each);
        }
        Ok(())
    }
}

/// What PostgreSQL's text cannot hold is left out: the character of value 0.
fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { Cow::Borrowed(text) }
}

/// A line of the text format of `COPY`.
fn copy_row(row: &mut String, run: &str, place: usize, record: &Record) {
    row.clear();
    let placement = record.placement.to_string();
    let (workers, place) = (record.workers.to_string(), place.to_string());
    let unit = serde_json::to_value(record.unit).unwrap_or_default();
    let texts = [
        run,
        &place,
        &record.id,
        &record.params_text,
        &placement,
        &workers,
        record.state.word(),
        unit.as_str().unwrap_or_default(),
    ];
    for text in texts {
        for letter in plain(text).chars() {
            match letter {
                '\\' => row.push_str("\\\\"),
                '\t' => row.push_str("\\t"),
                '\n' => row.push_str("\\n"),
                '\r' => row.push_str("\\r"),
                letter => row.push(letter),
            }
        }
        row.push('\t');
    }
    let ends = record.ci.map_or([None; 2], |ci| ci.map(Some));
    for (i, number) in [record.value, ends[0], ends[1]].into_iter().enumerate() {
        match number.filter(|number| number.is_finite()) {
            Some(number) => row.push_str(&format!("{number:e}")),
            None => row.push_str("\\N"),
        }
        row.push(if i == 2 { '\n' } else { '\t' });
    }
}

/// The beginning of a URL, for errors about one that cannot be parsed: it may hold a password.
fn scheme(url: &str) -> String {
    url.split_once("://").map_or("the URL".to_owned(), |(scheme, _)| format!("{scheme}://…"))
}

/// `postgres://host:port/database`
fn name(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string(),
        None => String::new(),
    };
    let port = config.get_ports().first().map(|port| format!(":{port}")).unwrap_or_default();
    format!("postgres://{host}{port}/{}", config.get_dbname().unwrap_or_default())
}

/// An error with its causes, which the crate prints one by one.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        let more = one.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = one.source();
    }
    text.replace('\n', " ")
}

fn server_error(server: &str, error: &postgres::Error) -> ServerError {
    let (server, why) = (server.to_owned(), chain(error));
    let is_away = match error.code() {
        // The server ends (also: a crash of another of its processes), is starting, or has too many
        // clients; two transactions were in each other's way.
        Some(code) => {
            [
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
                SqlState::CANNOT_CONNECT_NOW,
                SqlState::TOO_MANY_CONNECTIONS,
                SqlState::T_R_DEADLOCK_DETECTED,
                SqlState::T_R_SERIALIZATION_FAILURE,
            ]
            .contains(code)
                || code.code().starts_with("08")
        }
        // Without a word of the server: it was not reached, or the connection broke. A URL that
        // lacks a user or asks for TLS is no such thing.
        None => error.is_closed() || caused_by_io(error),
    };
    if is_away { ServerError::Away { server, why } } else { ServerError::Refused { server, why } }
}

fn caused_by_io(error: &postgres::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(error);
    while let Some(one) = cause {
        if one.is::<std::io::Error>() {
            return true;
        }
        cause = one.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_never_holds_the_password() {
        for url in ["postgres://me:hunter2@[::1/db", "postgres://me:hunter2@127.0.0.1:1/db?connect_timeout=1"] {
            let error = Server::open(url).expect_err("nothing listens there").to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_server_that_is_not_there_may_come_and_a_url_that_is_none_does_not() {
        let away = Server::open("postgres://me@127.0.0.1:1/db").expect_err("nothing listens there");
        assert!(matches!(away, ServerError::Away { .. }), "{away:?}");
        for url in ["postgres://me@127.0.0.1:port/db", "postgres://me@127.0.0.1:1/db?no_such_option=1"] {
            let refused = Server::open(url).expect_err("no URL");
            assert!(matches!(refused, ServerError::Refused { .. }), "{refused:?}");
        }
    }
}
