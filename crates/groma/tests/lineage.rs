//! The rows of five earlier suites and papers, and the commands that repeat them.
//!
//! `groma::lineage` has a command for each row, and the benchmarks of that command claim the
//! row: neither may say what the other does not. docs/lineage.md is the same list for people. And
//! every command is run for a moment.
//!
//! `GROMA_UPDATE=1 cargo test -p groma --test program lineage` rewrites docs/lineage.md.

use crate::common::serve::Serve;
use crate::common::{Place, eight_at_a_time};
use groma::lineage::{DOCUMENTS, REPEATS};
use groma_harness::model::Repeat;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// The rows of a document, and what may be claimed in addition.
struct Rows {
    document: &'static str,
    rows: &'static [&'static str],
    /// Programs that are no rows to cover.
    besides: &'static [&'static str],
}

/// lmbench3: the rows of its Table II, latency, bandwidth and other; in addition, its programs
/// without a row there. lmbench 1996: Tables 2 to 17; Table 1 lists the machines. Ousterhout 1990:
/// Tables 2 to 10; Table 1 lists the machines and their MIPS. CSE 221: the sections of the report.
/// SLB: its one program.
const ROWS: [Rows; 5] = [
    Rows {
        document: "lmbench3",
        rows: &[
            "lat_connect",
            "lat_ctx",
            "lat_dram_page",
            "lat_fcntl",
            "lat_fifo",
            "lat_fs",
            "lat_http",
            "lat_mem_rd",
            "lat_mmap",
            "lat_ops",
            "lat_pagefault",
            "lat_pipe",
            "lat_pmake",
            "lat_proc",
            "lat_rand",
            "lat_rpc",
            "lat_select",
            "lat_sem",
            "lat_sig",
            "lat_syscall",
            "lat_tcp",
            "lat_udp",
            "lat_unix",
            "lat_unix_connect",
            "lat_usleep",
            "bw_file_rd",
            "bw_mem",
            "bw_mmap_rd",
            "bw_pipe",
            "bw_tcp",
            "bw_unix",
            "disk",
            "line",
            "lmdd",
            "mhz",
            "par_mem",
            "par_ops",
            "stream",
            "tlb",
        ],
        besides: &["bw_udp", "cache", "enough", "lat_cmd", "loop_o", "memsize", "seek", "timing_o"],
    },
    Rows {
        document: "lmbench1996",
        rows: &[
            "table2", "table3", "table4", "table5", "table6", "table7", "table8", "table9", "table10", "table11",
            "table12", "table13", "table14", "table15", "table16", "table17", "figure1", "figure2",
        ],
        besides: &[],
    },
    Rows {
        document: "ousterhout1990",
        rows: &["table2", "table3", "table4", "table5", "table6", "table7", "table8", "table9", "table10"],
        besides: &[],
    },
    Rows {
        document: "cse221",
        rows: &[
            "measurement_overhead",
            "procedure_call",
            "system_call",
            "task_creation",
            "context_switch",
            "memory_latency",
            "ram_bandwidth",
            "page_fault",
        ],
        besides: &[],
    },
    Rows { document: "slb", rows: &["memhammer"], besides: &[] },
];

/// `lmbench3:lat_sig catch` is of the row `lat_sig` of lmbench3.
fn row_of(source: &str) -> (&str, &str) {
    let (document, rest) = source.split_once(':').unwrap_or_else(|| panic!("'{source}' is not document:row"));
    (document, rest.split(' ').next().unwrap_or(rest))
}

#[test]
fn every_row_of_the_documents_has_a_repeat_and_no_other_has() {
    let repeated: BTreeSet<(&str, &str)> = REPEATS.iter().map(|repeat| row_of(repeat.source)).collect();
    for Rows { document, rows, besides } in &ROWS {
        let of_document = repeated.iter().filter(|(of, _)| of == document).map(|(_, row)| *row);
        let known: BTreeSet<&str> = rows.iter().chain(*besides).copied().collect();
        assert_eq!(of_document.collect::<BTreeSet<_>>(), known, "{document}");
    }
    let documents: BTreeSet<&str> = ROWS.iter().map(|rows| rows.document).collect();
    assert_eq!(DOCUMENTS.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>(), documents);
    assert!(repeated.iter().all(|(document, _)| documents.contains(document)));
    let mut columns: Vec<_> = REPEATS.iter().map(|repeat| (repeat.source, repeat.column)).collect();
    let all = columns.len();
    columns.sort_unstable();
    columns.dedup();
    assert_eq!(columns.len(), all, "a column has two repeats");
}

/// A benchmark claims a row if and only if the command for one of its columns runs it.
#[test]
fn benchmarks_claim_what_their_commands_repeat() {
    let ours = |source: &str| DOCUMENTS.iter().any(|(name, _)| source.split(':').next() == Some(*name));
    let mut claimed = BTreeSet::new();
    // All of them: a list leaves out those that only run when named.
    for info in groma_benches::all().iter().map(|bench| &bench.info) {
        for source in info.lineage {
            assert!(source.contains(':'), "{}: '{source}' is not document:row", info.id);
            if ours(source) {
                assert!(claimed.insert((info.id.to_owned(), (*source).to_owned())), "{} claims it twice", info.id);
            }
        }
    }
    let benchmarks = |repeat: &Repeat| -> Vec<_> {
        repeat.benchmarks().into_iter().map(|id| (id.to_owned(), repeat.source.to_owned())).collect()
    };
    let repeated: BTreeSet<_> = REPEATS.iter().flat_map(benchmarks).collect();
    let only = |of: &BTreeSet<(String, String)>, other| of.difference(other).cloned().collect::<Vec<_>>();
    assert_eq!(only(&claimed, &repeated), [], "claimed by a benchmark that no command of the row runs");
    assert_eq!(only(&repeated, &claimed), [], "run by a command for a row that the benchmark does not claim");
}

/// docs/lineage.md, made from the rows.
fn document() -> String {
    let mut out = "# What repeats what\n\n\
        <!-- Made from crates/groma/src/lineage.rs by crates/groma/tests/lineage.rs; not to be edited. -->\n\n\
        Each row of five earlier suites and papers, with the command that times the same operation with the same \
        parameters. `groma list --lineage ROW` prints one of them. Published values are those of one machine of the \
        document, to recognise the row by; programs of lmbench 3 print none of their own. `ADDRESS` is that of another \
        machine, where `groma serve` runs. What differs from the source beyond the harness (fresh processes, pinned \
        CPUs, proofs) is said in the last column.\n"
        .to_owned();
    for (name, title) in DOCUMENTS {
        let _ = write!(
            out,
            "\n## {title}\n\n| row | timed | command | published | differs |\n| --- | --- | --- | --- | --- |\n"
        );
        for repeat in REPEATS.iter().filter(|repeat| row_of(repeat.source).0 == name) {
            let row = repeat.source.split_once(':').map_or("", |(_, row)| row);
            let column = if repeat.column.is_empty() { String::new() } else { format!(", {}", repeat.column) };
            let _ = writeln!(
                out,
                "| {row}{column} | {} | `{}` | {} | {} |",
                repeat.timed, repeat.command, repeat.published, repeat.differs
            );
        }
    }
    out
}

#[test]
fn the_list_for_people_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lineage.md");
    if std::env::var_os("GROMA_UPDATE").is_some() {
        std::fs::write(&path, document()).expect("the list can be written");
        return;
    }
    let there = std::fs::read_to_string(&path).expect("docs/lineage.md");
    assert!(there == document(), "docs/lineage.md is stale: GROMA_UPDATE=1 cargo test -p groma --test program lineage");
}

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
    assert!(others.contains("rt-tests:cyclictest") && others.contains("groma run sched.periodic"), "{others}");
    let none = place.groma(&["list", "--lineage", "lat_pip"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.err.starts_with("groma: --lineage lat_pip: nothing repeats it (known: cse221, "), "{none:?}");
}

/// What one invocation of `groma run` measures: benchmarks with the settings of each, and the
/// placement or the other machine for all of them.
#[derive(Debug, Default)]
struct Packed {
    everywhere: Vec<String>,
    of: BTreeMap<String, Vec<String>>,
}

/// How many benchmarks an invocation has at most: one with all that need no settings would run on
/// alone when the others have ended.
const MOST: usize = 12;

/// The commands of `groma run` in few invocations: a benchmark is in each of them once, with its
/// settings.
fn packed(address: &str) -> Vec<Packed> {
    let mut all: Vec<Packed> = Vec::new();
    for repeat in REPEATS.iter().filter(|repeat| repeat.command.starts_with("groma run ")) {
        let [id] = repeat.benchmarks()[..] else { panic!("{}: a row is one benchmark's", repeat.command) };
        let (mut everywhere, mut settings) = (Vec::new(), Vec::new());
        let options: Vec<&str> = repeat.command.split(' ').skip(3).collect();
        for option in options.chunks(2) {
            match option {
                ["--param", setting] => settings.push(format!("{id}:{setting}")),
                [name, value] => everywhere.extend([(*name).to_owned(), value.replace("ADDRESS", address)]),
                _ => panic!("{}: an option without a value", repeat.command),
            }
        }
        let with_it = |pack: &&mut Packed| {
            pack.everywhere == everywhere
                && match pack.of.get(id) {
                    Some(of) => *of == settings,
                    None => pack.of.len() < MOST,
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

/// The benchmarks of a pack that did not end as they should, with the reason.
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

/// Runs a pack. A proof that a busy machine broke holds the next time.
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
    // The last is taken first: the longest.
    packs.sort_by_key(|pack| pack.of.len());
    eight_at_a_time(packs, |pack| runs(&place, pack));
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
