//! Reads the runs of all hosts. What cannot be used is noted, a line each, and the rest is judged.

use crate::args::StoreArgs;
use crate::directory::with_ending;
use crate::parallel::in_order;
use crate::store::{existing_store, records};
use crate::verbs::push::is_server;
use anyhow::{Context, Result, bail};
use groma_analysis::fleet::{Fleet, Host};
use groma_harness::model::{Record, RunHeader};
use groma_report::units::counted;
use groma_store::ndjson::{Lost, RecordedRuns};
use groma_store::{Source, Store, StoreError};
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Runs further apart than this are of different states of the fleet; clocks that far apart are
/// wrong.
const APART_S: i64 = 24 * 3600;
/// The most hosts whose clocks are noted one by one.
const MAX_NOTED_HOSTS: usize = 3;
/// By this much a clock may be ahead of ours.
const AHEAD_S: i64 = 300;
/// The ending of the streams in a directory.
const ENDING: &str = "ndjson";

/// The runs of all hosts.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) fleet: Fleet,
    /// What was left out or is odd, a line each.
    pub(super) notes: Vec<String>,
    /// Whether some of the input could not be used.
    pub(super) is_unusable: bool,
    /// Whether every run of a host counts, not its newest alone.
    pub(super) every_run: bool,
}

/// What one file holds: its runs, and why the rest of it cannot be used.
struct Parsed {
    runs: Vec<(RunHeader, Vec<Record>)>,
    note: Option<String>,
    /// What was skipped, if the file was captured from a console.
    lost: Option<Lost>,
}

impl Input {
    /// Reads files, directories and stores; without any, the store.
    ///
    /// # Errors
    /// When a named path does not exist, or the store cannot be opened.
    pub(super) fn read(&mut self, paths: &[PathBuf], store: &StoreArgs) -> Result<()> {
        if paths.is_empty() {
            self.of_store(&existing_store(store)?)?;
        }
        let mut streams = Vec::new();
        for path in paths {
            if let Some(url) = path.to_str().filter(|path| is_server(path)) {
                self.of_server(url)?;
            } else if path.is_dir() {
                let inside = with_ending(path, ENDING)?;
                if inside.is_empty() {
                    bail!("{}: no file *.{ENDING} in it", path.display());
                }
                streams.extend(inside);
            } else {
                std::fs::metadata(path).with_context(|| path.display().to_string())?;
                match Source::open(path) {
                    Ok(Source::Store(store)) => self.of_store(&store)?,
                    _ => streams.push(path.clone()),
                }
            }
        }
        self.of_streams(&streams);
        self.each_once();
        self.note_clocks();
        Ok(())
    }

    /// Takes the newest complete run of each host, or every one; runs of the profile `fleet` alone
    /// if there are any.
    fn of_store(&mut self, store: &Store) -> Result<()> {
        let mut rows = store.runs()?;
        rows.retain(|row| row.status.word() == "complete");
        if rows.iter().any(|row| row.profile == "fleet") {
            rows.retain(|row| row.profile == "fleet");
        }
        let mut seen = HashMap::new();
        for row in rows {
            if seen.insert(row.host.clone(), ()).is_some() && !self.every_run {
                continue;
            }
            match store.load(&row.run) {
                Ok(run) => {
                    let shown = records(run, false);
                    self.add(&shown.head, &shown.records, &format!("run {}", row.run));
                }
                Err(error) => self.leave_out(error.to_string()),
            }
        }
        Ok(())
    }

    /// Takes the newest run of each host from a server.
    #[cfg(feature = "postgres")]
    fn of_server(&mut self, url: &str) -> Result<()> {
        let mut server = groma_store::postgres::Server::open(url)?;
        let name = server.name().to_owned();
        server.newest(|run| match run {
            Ok(run) => self.add(&run.header, &run.records, &name),
            Err(error) => self.leave_out(error.to_string()),
        })?;
        Ok(())
    }

    #[cfg(not(feature = "postgres"))]
    fn of_server(&mut self, _: &str) -> Result<()> {
        Err(crate::features::Feature::POSTGRES.missing())
    }

    /// Parses streams on several threads, and takes them in their order.
    fn of_streams(&mut self, files: &[PathBuf]) {
        in_order(
            files,
            |file| parse(file),
            |file, parsed| {
                self.take(parsed, file);
                ControlFlow::Continue(())
            },
        );
    }

    fn take(&mut self, parsed: Parsed, file: &Path) {
        for (head, records) in parsed.runs {
            self.add(&head, &records, &file.display().to_string());
        }
        parsed.note.into_iter().for_each(|note| self.leave_out(note));
        if let Some(lost) = parsed.lost {
            self.is_unusable |= lost.is_of_groma();
            self.notes.push(format!("{}: {lost}", file.display()));
        }
    }

    fn leave_out(&mut self, note: String) {
        self.notes.push(note);
        self.is_unusable = true;
    }

    fn add(&mut self, head: &RunHeader, records: &[Record], file: &str) {
        if let Err(why) = self.fleet.add(head, records) {
            self.leave_out(format!("{file}: {why}; left out"));
        }
    }

    /// Keeps the newest run of each host, or each run once.
    fn each_once(&mut self) {
        if self.every_run {
            let mut seen = HashSet::new();
            let runs = self.fleet.hosts.len();
            self.fleet.hosts.retain(|host| seen.insert((host.name.clone(), host.run.clone())));
            let twice = runs - self.fleet.hosts.len();
            if twice > 0 {
                self.notes.push(format!("{} there twice; each counts once", counted(twice, "run")));
            }
            return;
        }
        // Of each name the newest run of each machine.
        let mut newest: HashMap<String, Vec<usize>> = HashMap::new();
        let mut keep = vec![true; self.fleet.hosts.len()];
        for (i, host) in self.fleet.hosts.iter().enumerate() {
            let of_name = newest.entry(host.name.clone()).or_default();
            let known = of_name.iter_mut().find(|other| !are_two_machines(host, &self.fleet.hosts[**other]));
            let Some(other) = known else {
                of_name.push(i);
                continue;
            };
            let of_other = &self.fleet.hosts[*other];
            let (old, new) = if host.started >= of_other.started { (*other, i) } else { (i, *other) };
            keep[old] = false;
            *other = new;
            let [old, new] = [old, new].map(|i| &self.fleet.hosts[i]);
            self.notes.push(format!(
                "{}: twice; its run {} is judged, {} is left out (other hosts of this name would be, too)",
                host.name, new.run, old.run
            ));
        }
        let mut several: Vec<_> = newest.into_iter().filter(|(_, machines)| machines.len() > 1).collect();
        several.sort();
        for (name, machines) in several {
            let runs: Vec<&str> = machines.iter().map(|i| self.fleet.hosts[*i].run.as_str()).collect();
            let (n, runs) = (runs.len(), runs.join(", "));
            self.notes.push(format!(
                "{name}: the name of {n} machines, which were up at the same time; all are judged (runs {runs}); set \
                 NODE_NAME to tell them apart"
            ));
        }
        let mut keep = keep.into_iter();
        self.fleet.hosts.retain(|_| keep.next().unwrap_or(true));
    }

    /// Notes runs that began long before or after most others, and clocks that are ahead of ours.
    fn note_clocks(&mut self) {
        let second = |host: &Host| host.started.parse::<Timestamp>().ok().map(Timestamp::as_second);
        let mut all: Vec<i64> = self.fleet.hosts.iter().filter_map(second).collect();
        all.sort_unstable();
        let Some(&middle) = all.get(all.len() / 2) else { return };
        let now = Timestamp::now().as_second();
        let mut odd = Vec::new();
        for host in &self.fleet.hosts {
            let apart = match second(host) {
                None => Some(format!("'{}' is no time", host.started)),
                Some(at) if at > now + AHEAD_S => {
                    Some(format!("its clock says {}, which is yet to come", host.started))
                }
                Some(at) if (at - middle).abs() > APART_S => {
                    let days = (at - middle).abs() / APART_S;
                    let when = if at < middle { "before" } else { "after" };
                    Some(format!("measured {} {when} most others", report_days(days)))
                }
                Some(_) => None,
            };
            odd.extend(apart.map(|what| format!("{}: {what}; judged all the same", host.name)));
        }
        let more = odd.len().saturating_sub(MAX_NOTED_HOSTS);
        odd.truncate(MAX_NOTED_HOSTS);
        if more > 0 {
            odd.push(format!(
                "{more} more hosts were measured over a day before or after most others, or by a wrong clock"
            ));
        }
        self.notes.extend(odd);
    }
}

/// Whether two runs of one name are of two machines: each has been up since before the other ran,
/// and not since the same boot.
fn are_two_machines(a: &Host, b: &Host) -> bool {
    let fact = |host: &Host, key: &str| host.facts.get(key).cloned();
    let booted = |host: &Host| {
        let started = host.started.parse::<Timestamp>().ok()?.as_second();
        Some((started, started - fact(host, "host.uptime_s")?.parse::<i64>().ok()?))
    };
    let (Some(boot_a), Some(boot_b)) = (fact(a, "host.boot"), fact(b, "host.boot")) else { return false };
    let (Some((started_a, booted_a)), Some((started_b, booted_b))) = (booted(a), booted(b)) else { return false };
    boot_a != boot_b && booted_a < started_b && booted_b < started_a
}

fn report_days(days: i64) -> String {
    counted(usize::try_from(days).unwrap_or(usize::MAX), "day")
}

/// Reads the runs of a stream. A run without an end was cut off, and is left out.
fn parse(file: &Path) -> Parsed {
    let mut parsed = Parsed { runs: Vec::new(), note: None, lost: None };
    let fail = |error: &StoreError| Some(format!("{error}; left out"));
    let mut runs = match RecordedRuns::open(file) {
        Ok(runs) => runs,
        Err(error) => return Parsed { note: fail(&error), ..parsed },
    };
    for run in runs.by_ref() {
        match run {
            Ok(run) if run.end.is_some() => parsed.runs.push((run.header, run.records)),
            Ok(run) => {
                parsed.note =
                    Some(format!("{}: run {} is cut off: it has no end; left out", file.display(), run.header.run));
            }
            Err(error) => parsed.note = fail(&error),
        }
    }
    parsed.lost = runs.lost().cloned();
    parsed
}

/// Reads the only run of a stream, for a fresh run of a suspect.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn only(file: &Path) -> Result<(RunHeader, Vec<Record>)> {
    let mut parsed = parse(file);
    match (parsed.runs.pop(), parsed.note) {
        (Some(run), None) => Ok(run),
        (_, Some(note)) => bail!("{note}"),
        (None, None) => bail!("{}: no run", file.display()),
    }
}
