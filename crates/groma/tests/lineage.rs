//! The commands that repeat rows of earlier suites and papers: `groma list --lineage` finds them,
//! and each is accepted and runs.
//!
//! That every row has a command is tested where the rows are (`crates/published/tests`).

use crate::common::serve::Serve;
use crate::common::{Place, eight_at_a_time};
use groma_published::{DOCUMENTS, REPEATS, Repeat};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn a_row_can_be_looked_up() {
    let place = Place::new();
    let pipe = place.groma(&["list", "--lineage", "lmbench3:lat_pipe"]);
    assert_eq!(pipe.code, Some(0), "{pipe:?}");
    assert!(pipe.out.contains("\n  groma run ipc.pipe_rtt --param size=1\n"), "{pipe:?}");
    assert!(!pipe.out.contains("lat_fifo"), "{pipe:?}");
    let tables = place.groma(&["list", "--lineage", "table10"]).out;
    assert!(tables.contains("lmbench1996:table10: 8 processes, 32 KB") && tables.contains("ousterhout1990:table10"));
    assert!(!tables.contains("table1:") && !tables.contains("table11"), "{tables}");
    let others = place.groma(&["list", "--lineage", "rt-tests"]).out;
    assert!(
        others.contains("rt-tests:cyclictest") && others.contains("groma run timer.sleep sched.periodic"),
        "{others}"
    );
    let all = place.groma(&["list", "--lineage", "all", "--format", "csv"]).out;
    assert_eq!(all.lines().count(), 1 + REPEATS.len());
    let none = place.groma(&["list", "--lineage", "lat_pip"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.err.starts_with("groma: --lineage lat_pip: nothing repeats it (known: cse221, "), "{none:?}");
}

/// What one invocation of `groma run` measures: benchmarks with their settings, and the options for
/// all of them (placement, the other machine).
#[derive(Debug, Default)]
struct Packed {
    everywhere: Vec<String>,
    of: BTreeMap<String, Vec<String>>,
}

/// The most benchmarks of one invocation: one with all that need no settings would still run when
/// the others have ended.
const MAX_BENCHMARKS: usize = 12;

/// Of a list of values the first and the last. All of them took 600 points, and only differ in
/// size.
fn ends(setting: &str) -> String {
    let (name, values) = setting.split_once('=').expect("name=value");
    match values.split(',').collect::<Vec<_>>()[..] {
        [first, .., last] => format!("{name}={first},{last}"),
        _ => setting.to_owned(),
    }
}

/// The commands of `groma run` that repeat rows of documents, in few invocations, each with a
/// benchmark and its settings at most once. Tests of other tools are plain runs, which
/// `environments.rs` has.
fn packed(address: &str) -> Vec<Packed> {
    let mut all: Vec<Packed> = Vec::new();
    let of_documents = |repeat: &&Repeat| DOCUMENTS.iter().any(|document| document.name == repeat.document());
    let runs = REPEATS.iter().filter(|repeat| repeat.command.starts_with("groma run "));
    for repeat in runs.filter(of_documents) {
        let [id] = repeat.benchmarks()[..] else { panic!("{}: a row is one benchmark's", repeat.command) };
        let (mut everywhere, mut settings) = (Vec::new(), Vec::new());
        let options: Vec<&str> = repeat.command.split(' ').skip(3).collect();
        for option in options.chunks(2) {
            match option {
                ["--param", setting] => settings.push(format!("{id}:{}", ends(setting))),
                [name, value] => everywhere.extend([(*name).to_owned(), value.replace("ADDRESS", address)]),
                _ => panic!("{}: an option without a value", repeat.command),
            }
        }
        let with_it = |pack: &&mut Packed| {
            pack.everywhere == everywhere
                && match pack.of.get(id) {
                    Some(of) => *of == settings,
                    None => pack.of.len() < MAX_BENCHMARKS,
                }
        };
        match all.iter_mut().find(with_it) {
            Some(pack) => drop(pack.of.insert(id.to_owned(), settings)),
            None => all.push(Packed { everywhere, of: [(id.to_owned(), settings)].into() }),
        }
    }
    all
}

/// What a machine may lack: a disk under the work directory, rows of a DRAM bank that can be told
/// apart, memory, a TLB that can be told from the caches.
const MAY_LACK: [&str; 8] = [
    "disk.read",
    "disk.seek",
    "disk.size",
    "disk.overhead",
    "vm.fault_major",
    "mem.dram_page",
    "mem.hammer",
    "mem.tlb",
];

/// The benchmarks of a pack without a valid result, with the reason.
fn wrong(place: &Place, pack: &Packed) -> BTreeMap<String, String> {
    let mut args: Vec<&str> =
        "run --profile quick --rounds 1 --budget 10m --deadline 2m --no-store --json".split(' ').collect();
    args.extend(pack.of.keys().map(String::as_str));
    for setting in pack.of.values().flatten() {
        args.extend(["--param", setting]);
    }
    args.extend(pack.everywhere.iter().map(String::as_str));
    let run = place.json(&args);
    let mut wrong = BTreeMap::new();
    let mut measured = BTreeSet::new();
    for metric in run["metrics"].as_array().expect("metrics") {
        let text = |key: &str| metric[key].as_str().unwrap_or_default();
        let bench = pack.of.keys().find(|id| text("id") == *id || text("id").starts_with(&format!("{id}.")));
        let bench = bench.unwrap_or_else(|| panic!("{} was not asked for", text("id")));
        measured.insert(bench.clone());
        let (state, reason) = (text("state"), text("reason"));
        let fine = match state {
            "ok" | "noisy" => true,
            // One round on a busy machine may not tell a difference from nothing.
            "unresolved" => reason != "not reached within the budget",
            "unsupported" => {
                // String instructions are x86's.
                let foreign = bench == "mem.bandwidth" && !cfg!(target_arch = "x86_64");
                !reason.is_empty() && (foreign || MAY_LACK.contains(&bench.as_str()))
            }
            _ => false,
        };
        if !fine {
            wrong.insert(bench.clone(), format!("{} {}: {state}: {reason}", text("id"), metric["params"]));
        }
    }
    wrong.extend(pack.of.keys().filter(|id| !measured.contains(*id)).map(|id| (id.clone(), "no metric".to_owned())));
    wrong
}

/// Runs a pack, and again what a busy machine disturbed.
fn runs(place: &Place, mut pack: Packed) {
    let mut last = wrong(place, &pack);
    for _ in 0..2 {
        pack.of.retain(|id, _| last.contains_key(id));
        if !pack.of.is_empty() {
            last = wrong(place, &pack);
        }
    }
    assert!(last.is_empty(), "{last:#?}");
}

#[test]
fn every_command_runs() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "127.0.0.1:0"]);
    let mut packs = packed(&serve.address);
    // The last is taken first: let that be the longest.
    packs.sort_by_key(|pack| pack.of.len());
    eight_at_a_time(packs, |pack| runs(&place, pack));
    // Each as it stands is accepted, with all its values.
    let commands: BTreeSet<&str> = REPEATS.iter().map(|repeat| repeat.command).collect();
    let planned = commands.into_iter().filter(|command| command.starts_with("groma run "));
    eight_at_a_time(planned.collect(), |command| {
        let command = command.replace("ADDRESS", &serve.address) + " --dry-run";
        let ended = place.groma(&command.split(' ').skip(1).collect::<Vec<_>>());
        assert_eq!(ended.code, Some(0), "{command}: {ended:?}");
    });
    let others = REPEATS.iter().filter(|repeat| !repeat.command.starts_with("groma run "));
    eight_at_a_time(others.collect(), |repeat| {
        // A gigabyte 6000 times over takes minutes.
        let command = repeat.command.replace("hammer 262144 6000", "hammer 256 2 --no-store");
        let args: Vec<&str> = command.split(' ').skip(1).collect();
        let ended = place.groma(&args);
        assert_eq!(ended.code, Some(0), "{command}: {ended:?}");
    });
    assert_eq!(place.left_behind(), [] as [&str; 0]);
}
