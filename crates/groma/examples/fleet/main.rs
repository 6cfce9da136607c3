//! How well slow hosts are found: judges simulated fleets whose hosts have the noise of real runs.
//!
//! A host is a reference machine, or this machine in runs that were made before (`groma run
//! --profile fleet --out`), with another run's deviations from their median and with rounds drawn
//! from real rounds. One host in a hundred has a fault: its kind and size are known, so what the
//! judgement finds can be counted. Every suspect is measured again, with fresh deviations.
//!
//! ```text
//! cargo run --release --example fleet -- [--hosts N] [--groups N] [--times N] [--only SOURCE]
//!     [--noise FACTOR] [FILE.ndjson...]
//! cargo run --release --example fleet -- --write DIR [--hosts N] [--groups N]
//! ```
//!
//! The first form prints found faults by kind and size, and false alarms (the table of
//! docs/methods/statistics.md#outliers-of-a-fleet). The second writes a stream for each host, to be
//! judged by `groma fleet judge DIR`, and prints which hosts are faulty.

mod faults;
mod hosts;

use faults::{Fault, KINDS, SIZES};
use groma_analysis::fleet::signatures::Signatures;
use groma_analysis::fleet::{Fleet, Options, Verdict, is_confirmed, judge};
use groma_stats::Rng;
use groma_store::{Ndjson, Sink};
use hosts::{Source, sources};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

type AnyError = Box<dyn std::error::Error>;

/// The fresh runs of a suspect, as many as `groma fleet judge --confirm` makes.
const FRESH: usize = 2;
/// One host in so many is faulty.
const FAULTY: usize = 100;

struct Args {
    hosts: usize,
    groups: usize,
    times: u64,
    /// The name of the only source to use.
    only: Option<String>,
    /// What deviations are multiplied by.
    noise: f64,
    write: Option<PathBuf>,
    files: Vec<PathBuf>,
}

fn args() -> Result<Args, AnyError> {
    let mut args =
        Args { hosts: 10_000, groups: 40, times: 10, only: None, noise: 1.0, write: None, files: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--hosts" => args.hosts = value()?.parse()?,
            "--groups" => args.groups = value()?.parse()?,
            "--times" => args.times = value()?.parse()?,
            "--noise" => args.noise = value()?.parse()?,
            "--only" => args.only = Some(value()?),
            "--write" => args.write = Some(value()?.into()),
            _ => args.files.push(word.into()),
        }
    }
    Ok(args)
}

fn main() -> Result<(), AnyError> {
    let args = args()?;
    let signatures = Signatures::own();
    let mut sources = sources(&args.files, args.noise, &signatures)?;
    if let Some(only) = &args.only {
        sources.retain(|source| source.name == *only);
    }
    for source in &sources {
        println!("source {}: {} metrics, {} runs", source.name, source.metrics.len(), source.runs);
    }
    match &args.write {
        Some(dir) => write(dir, &args, &sources),
        None => simulate(&args, &sources, signatures),
    }
}

/// The fault of a host, if it has one. Faults are spread over all groups and alternate in kind and
/// size.
fn fault_of(host: usize) -> Option<Fault> {
    let in_turn = host / FAULTY;
    let is_faulty = host % FAULTY == (in_turn * 37) % FAULTY;
    is_faulty.then(|| Fault { kind: in_turn % KINDS.len(), size: in_turn / KINDS.len() % SIZES.len() })
}

fn write(dir: &Path, args: &Args, sources: &[Source]) -> Result<(), AnyError> {
    std::fs::create_dir_all(dir)?;
    let rng = Rng::new(1);
    for host in 0..args.hosts {
        let fault = fault_of(host);
        let group = host % args.groups;
        let (head, records) = sources[group % sources.len()].host(host, group, fault, &mut rng.fork(host as u64));
        let file = BufWriter::new(File::create(dir.join(format!("n{host:05}.ndjson")))?);
        let mut out = Ndjson::new(file, "a stream");
        out.begin(&head, &[])?;
        records.iter().try_for_each(|record| out.record(record))?;
        out.end(&hosts::end())?;
        if let Some(fault) = fault {
            println!("n{host:05} {}", fault.name());
        }
    }
    Ok(())
}

/// What became of hosts.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    hosts: usize,
    screened: usize,
    confirmed: usize,
    named_right: usize,
}

fn simulate(args: &Args, sources: &[Source], signatures: Signatures) -> Result<(), AnyError> {
    let options = Options { at_least: 0.05, signatures, references: Default::default(), past: Vec::new() };
    let (mut by_fault, mut well) = (BTreeMap::<Fault, Counts>::new(), Counts::default());
    let (mut noisy, mut judging) = (0, Duration::ZERO);
    for time in 0..args.times {
        let rng = Rng::new(1000 + time);
        let mut fleet = Fleet::default();
        let of = |host: usize, rng: &mut Rng| {
            let group = host % args.groups;
            // Another time, another kind of fault in the same place.
            let fault = fault_of(host).map(|fault| fault.turned(time as usize));
            sources[group % sources.len()].host(host, group, fault, rng)
        };
        for host in 0..args.hosts {
            let (head, records) = of(host, &mut rng.fork(host as u64));
            fleet.add(&head, &records)?;
        }
        let began = Instant::now();
        let judgement = judge(&fleet, &options);
        judging += began.elapsed();
        noisy += judgement.count(Verdict::Noisy);
        for judged in &judgement.hosts {
            let fault = fault_of(judged.host).map(|fault| fault.turned(time as usize));
            if fault.is_some_and(|fault| !sources[judged.host % args.groups % sources.len()].shows(fault)) {
                continue;
            }
            let counts = fault.map_or(&mut well, |fault| by_fault.entry(fault).or_default());
            counts.hosts += 1;
            if judged.verdict != Verdict::Suspect {
                continue;
            }
            counts.screened += 1;
            let mut again = 0;
            for fresh in 1..=FRESH {
                let (head, records) = of(judged.host, &mut rng.fork((fresh * args.hosts + judged.host) as u64));
                let fresh = fleet.host(&head, &records)?;
                again += usize::from(is_confirmed(&judgement, judged, &fresh, &options));
            }
            if again == FRESH {
                counts.confirmed += 1;
                let expected = fault.map(|fault| fault.signature());
                let is_right = judged.fit.as_ref().map(|fit| fit.name.as_str()) == expected;
                counts.named_right += usize::from(is_right);
                if fault.is_none() {
                    let names: Vec<&str> =
                        judged.findings.iter().filter_map(|found| name(&fleet, found.subject)).collect();
                    println!("false alarm: {} times {:.2}: {}", judged.host, judged.findings[0].times, names.join(" "));
                }
            }
        }
    }
    report(&by_fault, well);
    println!("noisy: {:.2} % of all hosts", 100.0 * noisy as f64 / (args.hosts as f64 * args.times as f64));
    println!(
        "judging {} hosts in {} groups took {:.2} s",
        args.hosts,
        args.groups,
        judging.as_secs_f64() / args.times as f64
    );
    Ok(())
}

fn name(fleet: &Fleet, subject: groma_analysis::fleet::finding::Subject) -> Option<&str> {
    match subject {
        groma_analysis::fleet::finding::Subject::Metric(metric) => Some(&fleet.metrics[metric as usize].id),
        groma_analysis::fleet::finding::Subject::Area(_) => None,
    }
}

fn report(by_fault: &BTreeMap<Fault, Counts>, well: Counts) {
    println!("\n| fault | slower by | hosts | found | after confirmation | named rightly |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let share = |n: usize, of: usize| format!("{:.1} %", 100.0 * n as f64 / of.max(1) as f64);
    let mut by_size = BTreeMap::<usize, Counts>::new();
    for (fault, counts) in by_fault {
        let Counts { hosts, screened, confirmed, named_right } = *counts;
        let [found, again] = [screened, confirmed].map(|n| share(n, hosts));
        println!(
            "| {} | {:.0} % | {hosts} | {found} | {again} | {} |",
            KINDS[fault.kind].0,
            100.0 * SIZES[fault.size],
            share(named_right, confirmed)
        );
        let all = by_size.entry(fault.size).or_default();
        (all.hosts, all.screened, all.confirmed) =
            (all.hosts + hosts, all.screened + screened, all.confirmed + confirmed);
    }
    for (size, Counts { hosts, screened, confirmed, .. }) in by_size {
        let [found, again] = [screened, confirmed].map(|n| share(n, hosts));
        println!("| all | {:.0} % | {hosts} | {found} | {again} | |", 100.0 * SIZES[size]);
    }
    println!(
        "\nwell hosts: {}, of which {} were suspects and {} confirmed: {:.2} in 10,000",
        well.hosts,
        well.screened,
        well.confirmed,
        1e4 * well.confirmed as f64 / well.hosts.max(1) as f64
    );
}
