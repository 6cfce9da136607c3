//! Sends streams, one run after the other, and tries again while the server is away.

use super::PushArgs;
use crate::directory::with_ending;
use crate::exit;
use crate::print::print;
use crate::store::{stored, tell_lost};
use anyhow::{Context, Result};
use groma_store::Ndjson;
use groma_store::ndjson::without_others;
use groma_store::postgres::{Pushed, Server, ServerError, Streamed, runs_of};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first pause before another attempt, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The most bytes of a file: a run with all samples has about 70 MB.
const MAX_BYTES: u64 = 512 << 20;
/// Where files go that were sent.
const SENT: &str = "sent";

/// A file or a run to send.
struct Item {
    /// Its name in messages.
    name: String,
    text: Result<String>,
    /// The directory that it is moved below, once sent.
    spool: Option<(PathBuf, PathBuf)>,
}

#[derive(Default)]
struct Counts {
    added: usize,
    known: usize,
    unusable: usize,
}

/// See [`super::run`].
pub(super) fn push(args: &PushArgs) -> Result<u8> {
    let files = files(args)?;
    let mut line = Line { url: &args.url, server: None, until: Instant::now() + args.wait.unwrap_or_default() };
    let mut counts = Counts::default();
    for file in files {
        let item = read(args, file);
        if let Err(error) = send(&mut line, item, &mut counts) {
            warn!("{}; sent before: {}", error, summary(&counts));
            return Ok(exit::FAILED);
        }
    }
    print(&format!("{}\n", summary(&counts)))?;
    Ok(if counts.unusable > 0 { exit::USAGE } else { 0 })
}

fn summary(counts: &Counts) -> String {
    let Counts { added, known, unusable } = counts;
    let runs = groma_report::units::counted(*added, "run");
    let known = if *known > 0 { format!(", {known} known already") } else { String::new() };
    let unusable = if *unusable > 0 { format!(", {unusable} left out") } else { String::new() };
    format!("{runs} added{known}{unusable}")
}

/// What was named: files, those of directories, and runs of the store.
fn files(args: &PushArgs) -> Result<Vec<(PathBuf, bool)>> {
    let mut all = Vec::new();
    for what in &args.what {
        if !what.is_dir() {
            all.push((what.clone(), false));
            continue;
        }
        all.extend(with_ending(what, "ndjson")?.into_iter().map(|file| (file, true)));
    }
    Ok(all)
}

fn read(args: &PushArgs, (path, in_directory): (PathBuf, bool)) -> Item {
    let name = path.display().to_string();
    // What was sent from there before stays where it is.
    let spool = path.parent().filter(|dir| in_directory && !args.keep && !dir.ends_with(SENT));
    let spool = spool.map(|dir| (path.clone(), dir.join(SENT)));
    let text = match std::fs::metadata(&path) {
        Ok(file) if file.len() > MAX_BYTES => Err(anyhow::anyhow!("more than {} MiB", MAX_BYTES >> 20)),
        Ok(_) => of_file(&path),
        // No file: a run of the store.
        Err(_) if !in_directory => of_store(args, &name),
        Err(error) => Err(error.into()),
    };
    Item { text, spool, name }
}

/// The runs of a file, without what stands between their lines if it was captured from a console.
fn of_file(path: &Path) -> Result<String> {
    let (text, lost) = without_others(std::fs::read(path)?);
    tell_lost(&path.display().to_string(), lost.as_ref());
    String::from_utf8(text).context("it is not UTF-8")
}

/// A stored run as a stream with its rounds.
fn of_store(args: &PushArgs, name: &str) -> Result<String> {
    let mut stream = Ndjson::new(Vec::new(), name).with_rounds();
    crate::store::records(stored(&args.store, name)?, true).write(&mut stream)?;
    Ok(String::from_utf8(stream.into_inner())?)
}

/// Sends all runs of a file; fails when the server is away for too long, or refuses.
fn send(line: &mut Line<'_>, item: Item, counts: &mut Counts) -> Result<()> {
    let left_out = |counts: &mut Counts, why: &str| {
        counts.unusable += 1;
        warn!("{}: {why}; left out", item.name);
    };
    let text = match item.text {
        Ok(text) => text,
        Err(error) => {
            left_out(counts, &format!("{error:#}"));
            return Ok(());
        }
    };
    let runs = match runs_of(&text, Path::new(&item.name)) {
        Ok(runs) => runs,
        Err(error) => {
            counts.unusable += 1;
            warn!("{error}; left out");
            return Ok(());
        }
    };
    let mut whole = true;
    for run in runs {
        if run.run.end.is_none() {
            whole = false;
            left_out(counts, &format!("run {} has no end: it was cut off, or is still written", run.run.header.run));
            continue;
        }
        match line.push(&run)? {
            Pushed::Added => counts.added += 1,
            Pushed::Known => counts.known += 1,
        }
    }
    if let Some((file, sent)) = item.spool.filter(|_| whole) {
        // The server has it, so a file that cannot be moved is only sent again, and known.
        let moved = std::fs::create_dir_all(&sent)
            .and_then(|()| std::fs::rename(&file, sent.join(file.file_name().unwrap_or_default())));
        if let Err(error) = moved {
            warn!("{}: sent, and cannot be moved to {}: {error}", file.display(), sent.display());
        }
    }
    Ok(())
}

/// The connection, made when it is needed and made again when it broke.
struct Line<'a> {
    url: &'a str,
    server: Option<Server>,
    until: Instant,
}

impl Line<'_> {
    fn push(&mut self, run: &Streamed<'_>) -> Result<Pushed> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.once(run) {
                Ok(pushed) => return Ok(pushed),
                Err(error @ ServerError::Away { .. }) if Instant::now() < self.until => {
                    self.server = None;
                    if pause == FIRST_PAUSE {
                        warn!("{error}; trying again");
                    }
                    let left = self.until.saturating_duration_since(Instant::now());
                    // What is waited for is another machine, which sends nothing when it is back.
                    std::thread::sleep(pause.min(left));
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn once(&mut self, run: &Streamed<'_>) -> Result<Pushed, ServerError> {
        let server = match &mut self.server {
            Some(server) => server,
            none => none.insert(Server::open(self.url)?),
        };
        server.push(run)
    }
}
