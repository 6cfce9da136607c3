//! The static descriptor of a benchmark: everything that `list`, `explain`, help, the manual, the
//! plan and the reports know about it.

use crate::{AUTO, Auto, Better, Composition, Label, Labels, Param, Params, Placement, Quantity, Tier};

/// A benchmark's module comment: what it measures and what not, its method, its pitfalls, its
/// source.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The comment, without `//!`.
    pub text: &'static str,
    /// Its file, relative to the root of the workspace.
    pub file: &'static str,
}

impl About {
    /// No comment.
    pub const NONE: About = About { text: "", file: "" };
}

/// Whether a metric belongs to a benchmark: its id is that of the benchmark, or `id.output`.
pub fn is_metric_of(metric: &str, benchmark: &str) -> bool {
    metric.strip_prefix(benchmark).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The descriptor of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// `family.name`; the file is `family/name.rs`.
    pub id: &'static str,
    /// Increases when a change of the definition makes old and new values incomparable.
    pub version: u32,
    /// What it measures, in one line.
    pub summary: &'static str,
    /// The module comment.
    pub about: About,
    /// The quantity of the main value.
    pub quantity: Quantity,
    /// Which direction is an improvement, if it differs from the quantity's.
    pub better: Option<Better>,
    /// What one iteration does, and how many operations that is.
    pub iteration: &'static str,
    /// How it is timed.
    pub timing: Timing,
    /// The metrics that it reports; the first is the main one.
    pub outputs: &'static [Output],
    /// Its parameters.
    pub params: &'static [Param],
    /// Whether it runs as N processes or threads at once, and why not.
    pub scaling: Scaling,
    /// The smallest run that measures it when no benchmark is named on the command line.
    pub tier: Tier,
    /// The smallest run that measures this combination of parameter values, if that is a larger run
    /// than each value alone requires. With `--param`, every combination is measured.
    pub combination_tier: fn(&Params) -> Tier,
    /// The smallest run that also measures this combination of parameter values in a worker group
    /// with one member pinned to each allowed CPU, and on a machine of several NUMA nodes to each
    /// CPU of one. Every run measures a single worker; `-P` asks for other sizes.
    pub group_tier: fn(&Params) -> Tier,
    /// The smallest run that, on a hybrid machine, measures a task that runs on one CPU on a core
    /// of every other class as well.
    pub class_tier: Tier,
    /// The placements that make sense. Those that a machine does not have are `unsupported`.
    pub placements: &'static [Placement],
    /// What it needs.
    pub needs: &'static [Need],
    /// The most bytes of files that a member has in the work directory at a time, without those
    /// that a parameter declares ([`crate::Memory::Files`]). Directories, locks and a few empty
    /// files are allowed for anyway.
    pub files: fn(&Params) -> u64,
    /// The measured costs that its values consist of; empty for a primitive.
    pub composed_of: &'static [Composition],
    /// Which labels drop a sample.
    pub interference: Interference,
    /// The half-width of the confidence interval, as a fraction of the value, at which the
    /// benchmark is precise enough.
    pub target_half_width: f64,
}

impl Info {
    /// A descriptor with default values, to be completed with `..Info::new(...)`.
    pub const fn new(id: &'static str) -> Info {
        Info {
            id,
            version: 1,
            summary: "",
            about: About::NONE,
            quantity: Quantity::Latency,
            better: None,
            iteration: "one operation",
            timing: Timing::Batched,
            outputs: &[Output::MAIN],
            params: &[],
            scaling: Scaling::BOTH,
            tier: Tier::Quick,
            combination_tier: |_| Tier::Quick,
            group_tier: |_| Tier::Named,
            class_tier: Tier::Named,
            placements: &[Placement::Pinned],
            needs: &[],
            files: |_| 0,
            composed_of: &[],
            interference: Interference::Cpu,
            target_half_width: 0.01,
        }
    }

    /// The family, which is the part of the id before the first dot.
    pub fn family(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }

    /// The smallest run that measures a selected benchmark with these parameters: the highest tier
    /// of the values and of their combination.
    pub fn params_tier(&self, params: &Params) -> Tier {
        let of_value = |param: &Param| params.get(param.name).map_or(Tier::Quick, |value| param.tier(value));
        let of_values = self.params.iter().map(of_value).max().unwrap_or(Tier::Quick);
        of_values.max((self.combination_tier)(params))
    }

    /// Whether the preflight of a run with these parameters must find the end of the caches.
    pub fn needs_end_of_caches(&self, params: &Params) -> bool {
        let follows = |param: &Param| {
            matches!(param.auto(), Some(Auto::BeyondCaches(_))) && params.word(param.name) == Some(AUTO)
        };
        self.needs.contains(&Need::EndOfCaches) || self.params.iter().any(follows)
    }

    /// The parameters of all points of a selected benchmark in a run of this tier. For
    /// [`Tier::Named`], all combinations of the declared values.
    pub fn points(&self, tier: Tier) -> Vec<Params> {
        let parsed = |param: &Param| param.values(tier).iter().filter_map(|text| param.parse(text).ok()).collect();
        let values: Vec<_> = self.params.iter().map(|param| (param.name, parsed(param))).collect();
        let mut all = Params::combinations(&values);
        all.retain(|params| self.params_tier(params) <= tier);
        all
    }

    /// The number of processes or threads that each member of a worker group consists of: two if
    /// one of its placements is for a pair of tasks.
    pub fn sides(&self) -> u64 {
        let two = |placement: &Placement| {
            Placement::TWO_SIDED.contains(placement) || matches!(placement, Placement::Remote | Placement::EveryPair)
        };
        if self.placements.iter().any(two) { 2 } else { 1 }
    }

    /// The id of the metric of an output.
    pub fn metric(&self, output: &Output) -> String {
        if output.suffix.is_empty() { self.id.to_owned() } else { format!("{}.{}", self.id, output.suffix) }
    }

    /// The quantity of an output.
    pub const fn quantity_of(&self, output: &Output) -> Quantity {
        match output.quantity {
            Some(quantity) => quantity,
            None => self.quantity,
        }
    }

    /// The direction that is an improvement.
    pub const fn better(&self) -> Better {
        match self.better {
            Some(better) => better,
            None => self.quantity.better(),
        }
    }
}

/// The suffix of an output that the harness adds: the median of the first operations of a round,
/// before the warm-up has changed what the system does.
pub const FIRST: &str = "first_trips";

/// How iterations are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Timing {
    /// Many iterations in one short interval: operations far below 2 us. The headline is the median
    /// interval.
    Batched,
    /// As `Batched`; the headline is the 10th percentile, for constants of the hardware that noise
    /// can only slow down.
    Floor,
    /// Many iterations in an interval of at least 5 ms, for streams whose two sides block on each
    /// other.
    Stream,
    /// Each operation is timed alone: operations of 2 us and more. The headline is the median
    /// operation.
    Each,
    /// The benchmark computes its values itself.
    Stated,
}

/// One metric of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Appended to the benchmark's id with a dot; empty for the main one.
    pub suffix: &'static str,
    /// What it is, in half a line; empty for the main one.
    pub summary: &'static str,
    /// How it is computed from the series.
    pub derivation: Derivation<&'static str>,
    /// Its quantity, if it differs from the benchmark's.
    pub quantity: Option<Quantity>,
    /// An intermediate result (a control, a raw loop): stored, and shown only if all metrics are
    /// asked for.
    pub detail: bool,
}

impl Output {
    /// The main output: the samples of the series with the empty name.
    pub const MAIN: Output =
        Output { suffix: "", summary: "", derivation: Derivation::Series(""), quantity: None, detail: false };

    /// A further output: the samples of the series of the same name.
    pub const fn named(suffix: &'static str, summary: &'static str) -> Output {
        Output { suffix, summary, derivation: Derivation::Series(suffix), ..Output::MAIN }
    }

    /// With the samples of the series of this name instead.
    pub const fn series(self, of: &'static str) -> Output {
        Output { derivation: Derivation::Series(of), ..self }
    }

    /// One series minus another, round by round.
    pub const fn difference(self, of: &'static str, minus: &'static str) -> Output {
        Output { derivation: Derivation::Difference { of, minus, per: 1.0 }, ..self }
    }

    /// One series minus another, round by round, divided by `per`: the number of operations by
    /// which they differ.
    pub const fn difference_per(self, of: &'static str, minus: &'static str, per: f64) -> Output {
        Output { derivation: Derivation::Difference { of, minus, per }, ..self }
    }

    /// One series divided by another, round by round.
    pub const fn ratio(self, of: &'static str, to: &'static str) -> Output {
        Output { derivation: Derivation::Ratio { of, to }, ..self }
    }

    /// A series times the fact with this key.
    pub const fn scaled(self, of: &'static str, by: &'static str) -> Output {
        Output { derivation: Derivation::Scaled { of, by }, ..self }
    }

    /// The largest value of a series in all rounds.
    pub const fn max(self, of: &'static str) -> Output {
        Output { derivation: Derivation::Max(of), ..self }
    }

    /// The sum of a series in all rounds, divided by that of another.
    pub const fn totals(self, of: &'static str, to: &'static str) -> Output {
        Output { derivation: Derivation::Totals { of, to }, ..self }
    }

    /// With another quantity than the benchmark's.
    pub const fn quantity(self, quantity: Quantity) -> Output {
        Output { quantity: Some(quantity), ..self }
    }

    /// As an intermediate result: a control or a raw loop, left out of large tables.
    pub const fn detail(self) -> Output {
        Output { detail: true, ..self }
    }
}

/// How a metric is computed from the series of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Derivation<S> {
    /// The series itself.
    Series(S),
    /// Round by round, one series minus another, divided by a constant; never clamped.
    Difference {
        /// The raw series.
        of: S,
        /// Its control.
        minus: S,
        /// The divisor.
        per: f64,
    },
    /// Round by round, one series divided by another: parallelism, a slow-down.
    Ratio {
        /// The numerator.
        of: S,
        /// The denominator.
        to: S,
    },
    /// A series times a number that the worker reports as a fact (modelled bytes per program byte).
    Scaled {
        /// The series.
        of: S,
        /// The fact's key.
        by: S,
    },
    /// The largest value of a series in all rounds: the longest gap, the latest wake-up.
    Max(S),
    /// The sum of one series over all rounds, divided by that of another: a share that is often 0
    /// in a round, and still not 0.
    Totals {
        /// The numerator.
        of: S,
        /// The denominator.
        to: S,
    },
}

impl<S> Derivation<S> {
    /// Its series; of two, the one that is not the control.
    pub fn source(&self) -> &S {
        match self {
            Derivation::Series(of)
            | Derivation::Max(of)
            | Derivation::Difference { of, .. }
            | Derivation::Ratio { of, .. }
            | Derivation::Scaled { of, .. }
            | Derivation::Totals { of, .. } => of,
        }
    }

    /// All series that it is computed from.
    pub fn sources(&self) -> Vec<&S> {
        match self {
            Derivation::Series(of) | Derivation::Max(of) => vec![of],
            Derivation::Difference { of, minus: other, .. }
            | Derivation::Ratio { of, to: other }
            | Derivation::Scaled { of, by: other }
            | Derivation::Totals { of, to: other } => vec![of, other],
        }
    }

    /// Whether there is one value for all rounds instead of one per round. Then there is no
    /// interval.
    pub fn takes_all_rounds(&self) -> bool {
        matches!(self, Derivation::Max(_) | Derivation::Totals { .. })
    }
}

impl Derivation<&'static str> {
    /// A copy with owned names, for records.
    pub fn owned(&self) -> Derivation<String> {
        match *self {
            Derivation::Series(of) => Derivation::Series(of.to_owned()),
            Derivation::Difference { of, minus, per } => {
                Derivation::Difference { of: of.to_owned(), minus: minus.to_owned(), per }
            }
            Derivation::Ratio { of, to } => Derivation::Ratio { of: of.to_owned(), to: to.to_owned() },
            Derivation::Scaled { of, by } => Derivation::Scaled { of: of.to_owned(), by: by.to_owned() },
            Derivation::Max(of) => Derivation::Max(of.to_owned()),
            Derivation::Totals { of, to } => Derivation::Totals { of: of.to_owned(), to: to.to_owned() },
        }
    }
}

/// Whether N instances of a benchmark may run at once, as processes or as threads.
#[derive(Clone, Copy, Debug)]
pub struct Scaling {
    /// N processes.
    pub processes: bool,
    /// N threads of one process.
    pub threads: bool,
    /// Why one of them is not allowed.
    pub why: &'static str,
}

impl Scaling {
    /// Processes and threads.
    pub const BOTH: Scaling = Scaling { processes: true, threads: true, why: "" };

    /// Only processes.
    pub const fn processes(why: &'static str) -> Scaling {
        Scaling { processes: true, threads: false, why }
    }

    /// A single instance only.
    pub const fn alone(why: &'static str) -> Scaling {
        Scaling { processes: false, threads: false, why }
    }
}

/// Something that a benchmark requires. The worker checks it and reports what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// At least this number of allowed CPUs.
    Cpus(u32),
    /// A directory to write in.
    WorkDir,
    /// A directory to write in, if a parameter has one of these values.
    WorkDirFor {
        /// The parameter's name.
        param: &'static str,
        /// Its values that need the directory.
        values: &'static [&'static str],
    },
    /// An executable file at this path.
    Program(&'static str),
    /// A device or any other file at this path.
    File(&'static str),
    /// Superuser privileges.
    Root,
    /// A kernel of this name (`Linux`).
    System(&'static str),
    /// Loopback networking.
    Loopback,
    /// That the preflight has looked for the end of the caches ([`crate::Host::beyond_caches`]),
    /// whether it found it or not. A parameter that is `auto` implies this need.
    EndOfCaches,
}

impl Need {
    /// Whether it means a directory to write in if the benchmark runs with these parameters.
    pub fn is_work_dir(&self, params: &Params) -> bool {
        match self {
            Need::WorkDir => true,
            Need::WorkDirFor { param, values } => params.word(param).is_some_and(|chosen| values.contains(&chosen)),
            _ => false,
        }
    }
}

/// Which disturbances invalidate a sample, and which are part of what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interference {
    /// Runs on one CPU without blocking: losing the CPU invalidates the sample.
    Cpu,
    /// As `Cpu`, but page faults are the subject.
    Faults,
    /// Blocks by nature: context switches are part of the operation.
    Blocking,
    /// Creates processes or threads: switches and faults are part of the operation. CPU time that
    /// neither parent nor child received invalidates the sample.
    Tasks,
}

impl Interference {
    /// The labels that drop a sample from the headline (docs/methods/timing.md#labels).
    pub const fn drops(self) -> Labels {
        use Label::{Clock, Faulted, Migrated, Overlap, Preempted, Stolen, Voluntary};
        match self {
            Interference::Cpu => Labels::of(&[Preempted, Voluntary, Migrated, Faulted, Stolen, Clock, Overlap]),
            Interference::Faults => Labels::of(&[Preempted, Voluntary, Migrated, Stolen, Clock, Overlap]),
            Interference::Blocking => Labels::of(&[Migrated, Faulted, Clock, Overlap]),
            Interference::Tasks => Labels::of(&[Migrated, Stolen, Clock, Overlap]),
        }
    }

    /// The labels that drop a sample if there are more members than CPUs: waiting for a CPU is then
    /// part of what is measured.
    pub const fn drops_crowded(self) -> Labels {
        Labels::of(&[Label::Clock, Label::Overlap])
    }

    /// A description for `groma explain`.
    pub const fn meaning(self) -> &'static str {
        match self {
            Interference::Cpu => "runs without blocking; a sample during which the CPU was taken away is dropped",
            Interference::Faults => {
                "takes page faults by nature; a sample during which the CPU was taken away is dropped"
            }
            Interference::Blocking => "blocks by nature; only migrations, faults and clock trouble drop a sample",
            Interference::Tasks => {
                "creates tasks; a sample during which neither they nor their maker had the CPU is dropped"
            }
        }
    }
}

/// How much time a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Profile {
    /// About 10 s for the most common questions; too coarse for decisions.
    Quick,
    /// About 60 s for what the pages show.
    Standard,
    /// Everything, in the time that it takes.
    Complete,
    /// Until each metric is precise enough, at most 10 minutes.
    Rigorous,
    /// 20 to 60 s for what tells a slow host from its equals (docs/fleet.md).
    Fleet,
}

impl Profile {
    /// The tier of a run with this profile. `--full` raises it to [`Tier::Full`].
    pub const fn tier(self) -> Tier {
        match self {
            Profile::Quick => Tier::Quick,
            Profile::Standard | Profile::Complete | Profile::Rigorous | Profile::Fleet => Tier::Standard,
        }
    }

    /// The word used on the command line and in records.
    pub const fn word(self) -> &'static str {
        match self {
            Profile::Quick => "quick",
            Profile::Standard => "standard",
            Profile::Complete => "complete",
            Profile::Rigorous => "rigorous",
            Profile::Fleet => "fleet",
        }
    }
}
