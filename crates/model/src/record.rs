//! What is kept of a run: its head, its points, their rounds, and the records of its metrics.
//!
//! Rounds are the primary data. A [`Record`] is recomputed from them by one function (in
//! `groma-analysis`), for a live run and a stored one alike.

use crate::{
    Better, CpuLimit, Derivation, Host, Label, Labels, Params, Placement, Profile, Proof, Quantity, Reason, Remark,
    RoundResult, State, Tag, Timing, Unit, WorkerKind,
};
use std::collections::BTreeSet;

/// A fact about the machine or a round.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fact {
    /// Its key, with dots: `kernel.release`, `cpu.l1d.size`, `fork.rss`.
    pub key: String,
    /// Its value as text. Sizes are in bytes.
    pub value: String,
}

impl Fact {
    /// A fact.
    pub fn new(key: impl Into<String>, value: impl ToString) -> Fact {
        Fact { key: key.into(), value: value.to_string() }
    }

    /// The value of the first fact with this key.
    pub(crate) fn find<'a>(facts: &'a [Fact], key: &str) -> Option<&'a str> {
        facts.iter().find(|f| f.key == key).map(|f| f.value.as_str())
    }
}

/// The facts about a machine: a flat list, so that two machines can be compared line by line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Machine {
    /// The facts, grouped by the first part of their keys.
    pub facts: Vec<Fact>,
}

impl Machine {
    /// The value of a fact.
    pub fn get(&self, key: &str) -> Option<&str> {
        Fact::find(&self.facts, key)
    }
}

/// How disturbed the host was before the run (docs/methods/timing.md#host-noise).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum NoiseVerdict {
    /// Lost less than 0.5 % of the time.
    Quiet,
    /// Less than 3 %.
    Fine,
    /// 3 to 20 %.
    Noisy,
    /// More than 20 %.
    Hostile,
}

impl NoiseVerdict {
    /// The verdict for the share of time lost in gaps of more than 5 us, as a fraction.
    pub fn of_lost(share: f64) -> NoiseVerdict {
        match share {
            s if s < 0.005 => NoiseVerdict::Quiet,
            s if s < 0.03 => NoiseVerdict::Fine,
            s if s <= 0.20 => NoiseVerdict::Noisy,
            _ => NoiseVerdict::Hostile,
        }
    }

    /// The word used on the command line and in records.
    pub const fn word(self) -> &'static str {
        match self {
            NoiseVerdict::Quiet => "quiet",
            NoiseVerdict::Fine => "fine",
            NoiseVerdict::Noisy => "noisy",
            NoiseVerdict::Hostile => "hostile",
        }
    }
}

/// A metric that a point reports, described completely, so that stored rounds remain readable after
/// the benchmark is removed.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Metric {
    /// `ipc.pipe_rtt`, or for a further output `ctx.switch.net`.
    pub id: String,
    /// What it measures, in one line.
    pub summary: String,
    /// Its quantity.
    pub quantity: Quantity,
    /// Which direction is an improvement.
    pub better: Better,
    /// How it is computed from the series of a round.
    pub derivation: Derivation<String>,
    /// An intermediate result: stored, and shown only if all metrics are asked for.
    #[cfg_attr(feature = "serde", serde(default))]
    pub detail: bool,
}

/// A benchmark with all its choices made: what a plan lists, a round runs, and the store keeps.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Point {
    /// The benchmark's id.
    pub bench: String,
    /// The version of its definition.
    pub version: u32,
    /// Its parameters.
    pub params: Params,
    /// Its parameters for people (`size=64 KiB`).
    pub params_text: String,
    /// Where it runs.
    pub placement: Placement,
    /// Members of the worker group.
    pub workers: u32,
    /// What they are.
    #[cfg_attr(feature = "serde", serde(rename = "crew"))]
    pub worker_kind: WorkerKind,
    /// How it is timed.
    pub timing: Timing,
    /// The labels that drop a sample.
    pub drops: Labels,
    /// The relative half-width of the confidence interval at which it is precise enough.
    #[cfg_attr(feature = "serde", serde(rename = "width"))]
    pub target_half_width: f64,
    /// The metrics that it reports.
    pub metrics: Vec<Metric>,
}

impl Point {
    /// Its name in messages: `ipc.pipe_rtt size=1 placement=same-cpu`.
    pub fn name(&self) -> String {
        let mut name = self.bench.clone();
        if !self.params_text.is_empty() {
            name.push(' ');
            name.push_str(&self.params_text);
        }
        match &self.placement {
            Placement::Pinned => {}
            Placement::On(one) => name.push_str(&format!(" {one}")),
            other => name.push_str(&format!(" placement={other}")),
        }
        if self.workers != 1 {
            name.push_str(&format!(" workers={}", self.workers));
        }
        name
    }
}

/// A round of a point, as stored.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Round {
    /// The number of the round, from 0.
    pub round: u32,
    /// Its result.
    pub result: RoundResult,
}

/// The value of a metric beside a busy sibling thread (docs/methods/neighbour.md#headline).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SharedCore {
    /// The median of its rounds over the samples whose core was shared; `None` if there are too
    /// few.
    pub value: Option<f64>,
    /// The share of the samples whose core was shared, from 0 to 1.
    pub share: f64,
    /// The values of the rounds that `value` is the median of, in order.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub round_values: Vec<f64>,
}

/// The precision of a metric without the effect of the core's changing clock
/// (docs/methods/statistics.md#one-clock).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AtOneClock {
    /// The half-width of the interval of [`Record::ci`] with every round brought to one clock, as a
    /// fraction of the value.
    pub half_width: f64,
    /// The lowest and the highest clock of its rounds, in Hz.
    pub hz: [f64; 2],
}

/// The summary of all rounds of one metric; the `metric` line of NDJSON (docs/records.md#metric).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Record {
    /// The metric's id.
    pub id: String,
    /// The version of its definition.
    pub version: u32,
    /// What it measures, in one line.
    pub summary: String,
    /// Its parameters.
    pub params: Params,
    /// Its parameters for people.
    pub params_text: String,
    /// Where it ran.
    pub placement: Placement,
    /// Members of the worker group.
    pub workers: u32,
    /// What they were.
    #[cfg_attr(feature = "serde", serde(rename = "crew"))]
    pub worker_kind: WorkerKind,
    /// How it ended.
    pub state: State,
    /// Why it is not `ok`.
    pub reason: String,
    /// Its quantity.
    pub quantity: Quantity,
    /// The SI unit of all values in this record.
    pub unit: Unit,
    /// Which direction is an improvement.
    pub better: Better,
    /// How it was timed.
    pub timing: Timing,
    /// An intermediate result (a control, a raw loop): views omit it unless all metrics are asked
    /// for.
    #[cfg_attr(feature = "serde", serde(default))]
    pub detail: bool,
    /// The headline: the median over rounds of the median (for constants of the hardware: the 10th
    /// percentile, of rates the 90th) over clean samples.
    pub value: Option<f64>,
    /// The conservative 95 % order-statistic interval of the headline over rounds; `None` below 6
    /// rounds.
    pub ci: Option<[f64; 2]>,
    /// The interpolated confidence interval, for display.
    pub ci_display: Option<[f64; 2]>,
    /// A quantile of all samples, clean or not; `None` if there are too few samples for it.
    pub p10: Option<f64>,
    /// See `p10`.
    pub p50: Option<f64>,
    /// See `p10`.
    pub p90: Option<f64>,
    /// See `p10`.
    pub p99: Option<f64>,
    /// The largest sample.
    pub max: Option<f64>,
    /// The mean of all samples divided by their median: how much the run was disturbed, although
    /// the headline is not affected.
    pub interference: Option<f64>,
    /// The headline in core clock cycles, if it is a latency and the clock was measured.
    pub cycles: Option<f64>,
    /// The precision at one clock; absent unless rounds differ because the clock of the core did.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub at_one_clock: Option<AtOneClock>,
    /// The number of rounds with a value.
    pub rounds: u32,
    /// The number of samples taken.
    pub samples: u64,
    /// The number of clean samples: those without a label that drops them.
    pub clean: u64,
    /// How often each label was set, by letter.
    pub labels: LabelCounts,
    /// Its value beside a busy sibling thread; absent if no sample was.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub shared: Option<SharedCore>,
    /// The proofs; if rounds differ, the worst.
    pub proofs: Vec<Proof>,
    /// The value of each round, in order.
    pub round_values: Vec<f64>,
    /// What else a reader must know, each as a word or `word: detail`: `imprecise`, `2 modes`,
    /// `drift`, `contended`, `contradicts`, `clock cost`, `clock moved`, `quantised`, `few rounds`,
    /// `shared core`, `left processes`, `unsteady`, `short-interval`, `cache`,
    /// `timing-unverified`.
    pub flags: Vec<String>,
    /// Facts that all rounds agree on, and remarks.
    pub facts: Vec<Fact>,
    /// The raw samples of each round, if asked for.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub round_samples: Option<Vec<Round>>,
}

impl Record {
    /// The half-width of the displayed interval, as a fraction of the value. `None` without an
    /// interval.
    pub fn half_width(&self) -> Option<f64> {
        let half = self.ci_display.zip(self.value).map(|([low, high], value)| (high - low) / 2.0 / value.abs());
        half.filter(|half| half.is_finite() && *half >= 0.0)
    }

    /// The half-width at one clock if the clock explains why rounds differ, else
    /// [`Self::half_width`].
    pub fn precision(&self) -> Option<f64> {
        self.at_one_clock.as_ref().map(|at| at.half_width).or_else(|| self.half_width())
    }

    /// The value, if one was measured: also where too few samples were undisturbed to rely on it,
    /// but not a difference that cannot be told from zero, nor what some rounds did not determine.
    pub fn measured_value(&self) -> Option<f64> {
        let is_measured = match self.state {
            State::Ok | State::Noisy => true,
            State::Unresolved => Reason::is_too_few_clean(&self.reason),
            _ => false,
        };
        self.value.filter(|_| is_measured)
    }

    /// The value of a fact.
    pub fn fact(&self, key: &str) -> Option<&str> {
        Fact::find(&self.facts, key)
    }

    /// The number of a parameter; for a size of `auto`, the bytes that were used.
    pub fn number(&self, param: &str) -> Option<u64> {
        let used = || self.fact(&auto_fact(param))?.parse().ok();
        self.params.int(param).or_else(used)
    }
}

/// The key of the fact with the bytes that were used for a size of `auto`.
pub fn auto_fact(param: &str) -> String {
    format!("auto.{param}")
}

/// How often each label was set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelCounts(pub Vec<(char, u64)>);

impl LabelCounts {
    /// How often one of them was set.
    pub fn count(&self, label: Label) -> u64 {
        self.0.iter().find(|(letter, _)| *letter == label.letter()).map_or(0, |(_, n)| *n)
    }
}

/// The head of a run; the `run` line of NDJSON (docs/records.md#run).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RunHeader {
    /// [`crate::SCHEMA`].
    pub schema: u32,
    /// The run's id: its start in UTC and a random tail, so that ids sort by time.
    pub run: String,
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// The version of groma.
    pub groma: String,
    /// How groma was built: target, profile, compiler, static or dynamic.
    pub build: String,
    /// The command line without the program's name.
    pub args: Vec<String>,
    /// Its tags. Those of a stored run can change.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "BTreeSet::is_empty"))]
    pub tags: BTreeSet<Tag>,
    /// The run that was measured in turns with this one, and the condition of this one; absent for
    /// a run alone.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub in_turns: Option<InTurns>,
    /// The seed of every random choice.
    #[cfg_attr(feature = "serde", serde(with = "exact"))]
    pub seed: u64,
    /// Its profile.
    pub profile: Profile,
    /// The time budget in seconds.
    pub budget_s: f64,
    /// The facts about the machine.
    pub environment: Machine,
    /// The measurements of the preflight.
    pub host: Host,
    /// How disturbed the host was by others before the run; `None` if that could not be measured.
    pub noise: Option<NoiseVerdict>,
    /// The share of time lost to others, on which the verdict is based.
    pub noise_lost: Option<f64>,
    /// The CPU quota of the run's own control groups and what it took in the preflight, which is
    /// not part of the noise; absent without one.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub cpu_limit: Option<CpuLimit>,
    /// Remarks of the preflight.
    #[cfg_attr(feature = "serde", serde(default, rename = "notes", skip_serializing_if = "Vec::is_empty"))]
    pub remarks: Vec<Remark>,
}

/// One of two runs that were measured in turns, round by round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InTurns {
    /// The id of the other run.
    pub with: String,
    /// The command in front of this run's workers; empty for none.
    pub command: String,
    /// The file of the program that this command begins with; absent if it is not known.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "String::is_empty"))]
    pub file: String,
    /// The files that were set for its rounds with their content; absent for none.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub set: Vec<Fact>,
    /// The shell command that was run before its rounds, after rounds of the other run; absent for
    /// none.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "String::is_empty"))]
    pub prepared_by: String,
}

/// The end of a run; the `end` line of NDJSON (docs/records.md#end).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct End {
    /// The number of metrics by state, in the order of [`State::ALL`], without states that do not
    /// occur.
    pub states: StateCounts,
    /// Wall time of the run in seconds.
    pub wall_s: f64,
    /// Whether it was interrupted (Ctrl-C, SIGTERM).
    pub interrupted: bool,
    /// The CPU quota of the run's own control groups and what it took from the whole run; absent
    /// without one.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub cpu_limit: Option<CpuLimit>,
    /// How many CPUs the run was allowed to use at its start and at its end, if that became fewer.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub fewer_cpus: Option<[u32; 2]>,
}

/// The number of metrics by state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateCounts(pub Vec<(State, u64)>);

#[cfg(feature = "serde")]
mod exact {
    //! An integer that every reader of JSON keeps: a string above 2^53, where doubles, which many
    //! readers store, have gaps. Both forms are read.
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        if *number > 1 << 53 { serializer.collect_str(number) } else { serializer.serialize_u64(*number) }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Number(u64),
        Text(String),
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        match Form::deserialize(deserializer)? {
            Form::Number(number) => Ok(number),
            Form::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}

#[cfg(feature = "serde")]
mod as_maps {
    //! Counts as JSON objects: `{"P": 3}`, `{"ok": 120, "noisy": 2}`.
    use super::{LabelCounts, StateCounts};
    use crate::State;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    impl Serialize for LabelCounts {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|(letter, n)| (letter, n)))
        }
    }

    impl<'de> Deserialize<'de> for LabelCounts {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let map = BTreeMap::<char, u64>::deserialize(deserializer)?;
            let order = |letter: char| crate::Label::ALL.iter().position(|l| l.letter() == letter);
            let mut counts: Vec<_> = map.into_iter().collect();
            counts.sort_by_key(|(letter, _)| order(*letter));
            Ok(LabelCounts(counts))
        }
    }

    impl Serialize for StateCounts {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|(state, n)| (state.word(), n)))
        }
    }

    impl<'de> Deserialize<'de> for StateCounts {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let map = BTreeMap::<String, u64>::deserialize(deserializer)?;
            let mut counts = Vec::new();
            for (word, n) in map {
                let state = State::from_word(&word)
                    .ok_or_else(|| serde::de::Error::custom(format!("'{word}' is not a state")))?;
                counts.push((state, n));
            }
            counts.sort();
            Ok(StateCounts(counts))
        }
    }
}
