//! The proofs and facts that follow from what a benchmark is: they come from the harness or from a
//! helper that a family shares.

use crate::trial::{Outcome, Trial};
use groma_harness::model::{Info, Need, Param, Placement};

/// A proof or fact of every round to which the rule applies.
pub(crate) struct Rule {
    /// The proof's name, [`WORK`], or [`FACT`] and a key.
    pub(crate) name: &'static str,
    /// What the proof expects, and the range that it allows; [`TOLD`] for a fact.
    pub(crate) expected: &'static str,
    /// Whether a round must have it.
    pub(crate) applies: fn(&Round) -> bool,
}

/// A round that ended well, and what it was asked for.
pub(crate) struct Round<'a> {
    /// The benchmark's descriptor.
    pub(crate) info: &'static Info,
    /// What was asked for.
    pub(crate) trial: &'a Trial,
    /// What came of it.
    pub(crate) outcome: &'a Outcome,
    /// How it differs from the benchmark's first round, as in `proofs.txt`.
    pub(crate) with: String,
}

/// The parameters of a benchmark's first round.
pub(crate) const BASE: &str = "-";
/// The same, with both sides on one CPU.
pub(crate) const BASE_ON_ONE_CPU: &str = "(one CPU)";
/// What comes before the key of a fact.
pub(crate) const FACT: &str = "fact ";
/// Stands for the value of a fact, which is not compared.
pub(crate) const TOLD: &str = "told";
/// The end of the name of a proof that the work counted is the work credited.
pub(crate) const WORK: &str = " credited";
/// What such a proof expects.
pub(crate) const ONCE: &str = "exactly 1 | 1 to 1";

/// Families whose benchmarks all count their work.
const COUNTING: [&str; 9] = ["clock", "cpu", "disk", "file", "lock", "mem", "ready", "syscall", "vdso"];
/// Those of these families that prove their work in another way.
const COUNT_OTHERWISE: [&str; 2] = ["cpu.split", "file.readdir"];
/// Placements of a benchmark with two sides.
const PAIRS: [Placement; 3] = [Placement::SameCpu, Placement::SameLlc, Placement::EveryPair];
/// Benchmarks that need the work directory only for a file that the members of a group map.
const ONLY_MAPPED: [&str; 2] = ["lock.futex", "lock.posix_sem"];

/// The rules.
pub(crate) const RULES: [Rule; 12] = [
    // The harness (crates/harness/src/evidence.rs).
    Rule { name: "measured time / minimum possible time", expected: "1 or more", applies: has_samples },
    Rule { name: "CPUs of the job that contradict its placement", expected: "0", applies: |r| r.trial.one_cpu },
    Rule { name: "CPUs outside the placement that this side may use", expected: "0", applies: |r| r.trial.one_cpu },
    Rule {
        name: "samples taken on another CPU than that of the placement",
        expected: "0",
        applies: |r| r.trial.one_cpu,
    },
    Rule { name: "times the peer was seen on another CPU", expected: "0", applies: |r| r.trial.one_cpu && has_peer(r) },
    // Helpers of several benchmarks.
    Rule { name: "exit code of the peer", expected: "0 | 0 to 0", applies: has_peer },
    Rule {
        name: "context switches per round trip, both sides",
        expected: "1.8 or more | 1.8 to any",
        applies: |r| r.info.id.ends_with("rtt") && r.with == BASE_ON_ONE_CPU,
    },
    Rule {
        name: "round trips that the peer did not answer",
        expected: "0 | 0 to 0",
        applies: |r| r.info.family() == "ipc" && r.info.id.ends_with("_rtt"),
    },
    Rule {
        name: "calls of 100 that the kernel was asked for",
        expected: "100 | 100 to 100",
        applies: |r| ["ready", "syscall"].contains(&r.info.family()),
    },
    Rule { name: WORK, expected: ONCE, applies: counts_work },
    Rule { name: "fact work_dir.fs", expected: TOLD, applies: writes_files },
    Rule { name: "fact directory.apart", expected: TOLD, applies: |r| r.info.family() == "file" && r.with == BASE },
];

fn has_samples(round: &Round) -> bool {
    round.outcome.result.output.series.iter().any(|series| !series.samples.is_empty())
}

/// Families and benchmarks whose other sides may be threads, or several.
const WITH_THREADS: [&str; 4] = ["ctx", "lock", "vm", "signal.interrupt"];

/// Whether its other side is one process that it forks.
fn has_peer(round: &Round) -> bool {
    let placements = round.info.placements;
    let of_threads = [round.info.family(), round.info.id].iter().any(|name| WITH_THREADS.contains(name));
    !of_threads && placements.iter().any(|place| PAIRS.contains(place))
}

fn counts_work(round: &Round) -> bool {
    let counting = COUNTING.contains(&round.info.family()) && !COUNT_OTHERWISE.contains(&round.info.id);
    counting && round.with == BASE && has_samples(round)
}

/// Whether it must state the file system of the work directory. With other parameters than the
/// first a benchmark that always asks for the directory need not use it.
fn writes_files(round: &Round) -> bool {
    let word = |param: &Param| {
        let chosen = round.trial.params.iter().find_map(|p| p.strip_prefix(param.name)?.strip_prefix('='));
        chosen.or(param.usual()).unwrap_or_default().to_owned()
    };
    let needs = |need: &Need| match need {
        Need::WorkDir => round.with == BASE,
        Need::WorkDirFor { param, values } => {
            let chosen = round.info.params.iter().find(|p| p.name == *param).map(word);
            chosen.is_some_and(|chosen| values.contains(&chosen.as_str()))
        }
        _ => false,
    };
    round.info.needs.iter().any(needs) && !ONLY_MAPPED.contains(&round.info.id)
}
