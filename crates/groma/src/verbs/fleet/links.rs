//! `groma fleet links`: judges what `groma fleet pairs` has measured.

use super::pairs::METRICS;
use crate::directory::with_ending;
use crate::exit;
use crate::parse::parse_percent;
use crate::view::{ViewArgs, WithDrain};
use anyhow::{Context, Result, bail};
use clap::Args;
use groma_analysis::links::{Measured, MetricOfLinks, judge};
use groma_harness::model::{Better, Record};
use groma_report::{Format, LinksReport, links};
use groma_store::ndjson::{RecordedRuns, kind_of, without_others};
use serde_json::Value;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::io::Cursor;
use std::path::{Path, PathBuf};

const HELP: &str = "\
A slow host has slow links to nearly all others, a slow link is slow beside what its two hosts \
explain, and behind a slow switch the links that cross it are slow and those within are not.

--switches names a file with a line for each switch: its name, a colon, and its hosts.
  rack1: n01 n02 n03

Examples:
  groma fleet links /shared/links/
  groma fleet links /shared/links/ --format drain

Exit codes:
  0  no link is slower than the others
  1  some are
  2  usage error; or none is slow, and some of the input cannot be used
  4  too few hosts to tell a slow host from a slow link";

/// Find slow links, hosts and switches in what fleet pairs has measured
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct LinksArgs {
    /// The files of the hosts (NAME.pairs), or directories of them
    #[arg(required = true, value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
    /// The smallest slow-down that matters, in percent
    #[arg(long, value_name = "PERCENT", default_value = "20", value_parser = parse_percent)]
    at_least: f64,
    /// Which hosts are behind which switch
    #[arg(long, value_name = "FILE")]
    switches: Option<PathBuf>,
    #[command(flatten)]
    view: ViewArgs<WithDrain>,
}

/// The ending of the files.
const ENDING: &str = "pairs";
/// The most bytes of a file: 200 peers with some 20 kB each.
const MAX_BYTES: u64 = 64 << 20;
/// The most hosts.
const MAX_HOSTS: usize = 100_000;

/// A stretch of time in which a host was busy with a peer, by its own clock.
type Busy = (u64, u64);

/// Who measured whom, and the value.
type OfPair = (String, String, f64);

/// What all files hold.
#[derive(Default)]
struct Input {
    /// By metric: whether lower is better, and what was measured.
    values: BTreeMap<String, (bool, Vec<OfPair>)>,
    hosts: BTreeSet<String>,
    busy: BTreeMap<String, Vec<Busy>>,
    plans: BTreeSet<String>,
    files: BTreeMap<String, PathBuf>,
    notes: Vec<String>,
    is_unusable: bool,
}

/// Judges links.
pub(super) fn run(args: &LinksArgs) -> Result<u8> {
    let mut input = Input::default();
    for file in files(&args.files)? {
        if let Err(error) = input.read(&file) {
            input.notes.push(format!("{}: {error:#}; left out", file.display()));
            input.is_unusable = true;
        }
    }
    if input.hosts.is_empty() {
        input.notes.iter().for_each(|note| warn!("{note}"));
        bail!("none of the input was written by groma fleet pairs");
    }
    if input.plans.len() > 1 {
        input.notes.push(format!("{} meetings in one: hosts may have changed in between", input.plans.len()));
    }
    let silent: Vec<&String> = input.hosts.iter().filter(|host| !input.files.contains_key(*host)).collect();
    if !silent.is_empty() {
        let names = silent.iter().take(5).map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        let more = silent.len().saturating_sub(5);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        input.notes.push(format!("no file of {names}{more}: what the others measured of them is judged"));
    }
    let hosts: Vec<String> = input.hosts.iter().cloned().collect();
    let place = |name: &String| hosts.binary_search(name).ok();
    let metrics: Vec<MetricOfLinks> = input
        .values
        .iter()
        .map(|(name, (lower_is_better, values))| MetricOfLinks {
            name: name.clone(),
            lower_is_better: *lower_is_better,
            values: values
                .iter()
                .filter_map(|(from, to, value)| Some(Measured { from: place(from)?, to: place(to)?, value: *value }))
                .collect(),
        })
        .collect();
    let (names, switches) = match &args.switches {
        Some(file) => read_switches(file, &hosts).with_context(|| format!("--switches {}", file.display()))?,
        None => (Vec::new(), Vec::new()),
    };
    let at_least = args.at_least / 100.0;
    let judgement = judge(hosts.len(), &metrics, &switches, at_least);
    let alone = (!input.busy.is_empty()).then(|| input.busy.values().all(|times| is_alone(times)));
    let report = LinksReport {
        hosts: &hosts,
        switches: &names,
        metrics: &metrics,
        judgement: &judgement,
        at_least,
        alone,
        notes: &input.notes,
    };
    let view = args.view.open(false)?;
    if view.format == Format::Drain {
        input.notes.iter().for_each(|note| warn!("{note}"));
    }
    let document = links(&report, &view.style);
    view.show(&document)?;
    Ok(match () {
        () if !judgement.findings.is_empty() => exit::REGRESSION,
        () if !judgement.is_judged => exit::FAILED,
        () if input.is_unusable => exit::USAGE,
        () => 0,
    })
}

fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in named {
        if !path.is_dir() {
            std::fs::metadata(path).with_context(|| path.display().to_string())?;
            all.push(path.clone());
            continue;
        }
        let inside = with_ending(path, ENDING)?;
        if inside.is_empty() {
            bail!("{}: no file *.{ENDING} in it", path.display());
        }
        all.extend(inside);
    }
    Ok(all)
}

/// Whether no two of these stretches overlap.
fn is_alone(times: &[Busy]) -> bool {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

impl Input {
    fn read(&mut self, file: &Path) -> Result<()> {
        if std::fs::metadata(file)?.len() > MAX_BYTES {
            bail!("more than {} MiB", MAX_BYTES >> 20);
        }
        let (text, lost) = without_others(std::fs::read(file)?);
        let text = String::from_utf8(text).context("it is not UTF-8")?;
        let mut lines = text.lines();
        let head: Value = lines.next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
        if head["kind"] != "pairs" {
            bail!("not written by groma fleet pairs");
        }
        if head["version"] != 1 {
            bail!("written by another version of groma (version {})", head["version"]);
        }
        if let Some(lost) = lost {
            self.is_unusable |= lost.is_of_groma();
            self.notes.push(format!("{}: {lost}", file.display()));
        }
        let name = |value: &Value| value.as_str().map(|text| groma_harness::model::plain(text).into_owned());
        let Some(own) = name(&head["host"]) else { bail!("it names no host") };
        match self.files.entry(own.clone()) {
            Entry::Vacant(free) => free.insert(file.to_owned()),
            Entry::Occupied(other) => bail!("of host {own}, as {} is", other.get().display()),
        };
        let named = head["hosts"].as_array().into_iter().flatten().filter_map(name);
        self.hosts.extend(named.take(MAX_HOSTS));
        self.plans.extend(name(&head["plan"]));
        let (mut pair, mut stream, mut ended) = (None, String::new(), false);
        for line in lines {
            let kind = kind_of(line);
            let Some(kind @ ("pair" | "served" | "missed" | "pairs end")) = kind.as_deref() else {
                stream.push_str(line);
                stream.push('\n');
                continue;
            };
            let value: Value = serde_json::from_str(line).with_context(|| format!("a '{kind}' line"))?;
            self.take(&own, pair.take(), std::mem::take(&mut stream), file)?;
            match kind {
                "missed" => {
                    let [peer, why] = ["peer", "why"].map(|key| name(&value[key]).unwrap_or_default());
                    self.notes.push(format!("{own} has not measured {peer}: {why}"));
                    self.is_unusable = true;
                }
                "pairs end" => ended = true,
                _ => {
                    let [begin, end] = ["begin_ns", "end_ns"].map(|key| value[key].as_u64());
                    if let (Some(begin), Some(end)) = (begin, end) {
                        self.busy.entry(own.clone()).or_default().push((begin, end));
                    }
                    pair = (kind == "pair").then(|| name(&value["to"])).flatten();
                }
            }
        }
        self.take(&own, pair, stream, file)?;
        if !ended {
            self.notes.push(format!("{}: it has no end: host {own} was interrupted", file.display()));
            self.is_unusable = true;
        }
        Ok(())
    }

    /// Takes the values that a host has measured of a peer.
    fn take(&mut self, from: &str, to: Option<String>, stream: String, file: &Path) -> Result<()> {
        let Some(to) = to else { return Ok(()) };
        for run in RecordedRuns::of(Cursor::new(stream.into_bytes()), file) {
            for record in run?.records.iter().filter(|record| !record.detail) {
                let lower = record.better == Better::Lower;
                for (name, value) in shown(record) {
                    let (_, values) = self.values.entry(name).or_insert_with(|| (lower, Vec::new()));
                    values.push((from.to_owned(), to.clone(), value));
                }
            }
        }
        Ok(())
    }
}

/// The values of a record that are judged: of the metrics of links, and the tail of round trips.
fn shown(record: &Record) -> Vec<(String, f64)> {
    if !METRICS.contains(&record.id.as_str()) {
        return Vec::new();
    }
    let tail = record.p99.filter(|_| record.id == "net.tcp_rtt").map(|value| (format!("{} p99", record.id), value));
    record.value.map(|value| (record.id.clone(), value)).into_iter().chain(tail).collect()
}

/// The names of the switches, and the indices of their hosts.
fn read_switches(file: &Path, hosts: &[String]) -> Result<(Vec<String>, Vec<Vec<usize>>)> {
    let text = std::fs::read_to_string(file)?;
    let mut all = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some((name, members)) = line.split_once(':') else {
            bail!("'{line}': expected a name, a colon, and hosts");
        };
        let mut inside = Vec::new();
        for member in members.split_whitespace() {
            match hosts.iter().position(|host| host == member) {
                Some(host) => inside.push(host),
                None => warn!("--switches: {member} was not measured"),
            }
        }
        all.0.push(name.trim().to_owned());
        all.1.push(inside);
    }
    Ok(all)
}
