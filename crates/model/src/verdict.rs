//! Flags and reasons of a record: verdicts of the statistics, for people.

use crate::{AtOneClock, Label, Remark};
use std::fmt;

/// A property of a record that does not decide its state. Records and JSON contain its text, whose
/// part before the colon identifies the kind of flag.
#[derive(Clone, Debug, PartialEq)]
pub enum Flag {
    /// The interval is wider than the target.
    Imprecise {
        /// The target half-width, as a fraction of the value.
        wanted: f64,
    },
    /// Too few rounds for a confidence interval.
    FewRounds {
        /// The number of rounds with a value.
        rounds: usize,
    },
    /// The samples have more than one mode.
    Modes {
        /// Whether rounds differ, rather than samples within a round.
        between_rounds: bool,
        /// The share of the samples in each, as a fraction, and its centre in the unit of the
        /// metric.
        modes: Vec<(f64, f64)>,
    },
    /// Values rose or fell during the run.
    Drift {
        /// The change as a fraction.
        relative: f64,
    },
    /// Values are multiples of the clock step.
    Quantised,
    /// A remark of most rounds.
    Remarked(&'static str),
    /// The preflight did not show that time is proportional to work at the chosen interval
    /// (docs/methods/timing.md#proportionality-check).
    TimingUnverified {
        /// The error that the check found, as a fraction; `None` when it could not be made.
        error: Option<f64>,
    },
    /// The benchmark shared its CPU with other tasks.
    Contended {
        /// The mean divided by the median.
        ratio: f64,
    },
    /// Reading the clock took a large part of what was timed, and was subtracted.
    ClockCost {
        /// Its share of the time of an operation before subtraction.
        share: f64,
    },
    /// Rounds differ because the clock of the core did.
    ClockMoved(AtOneClock),
    /// The value is far from those of all earlier runs of this machine.
    Contradicts {
        /// The value divided by their median.
        ratio: f64,
        /// The number of these runs.
        runs: usize,
    },
    /// The value is that of a shared core, because the sibling thread was busy in too many samples
    /// (docs/methods/neighbour.md#headline).
    SharedCore {
        /// The share of the samples, as a fraction.
        share: f64,
    },
    /// The benchmark left processes behind.
    LeftProcesses(Remark),
}

/// The text of [`Flag::SharedCore`] before and after the percentage.
const SHARED_CORE: &str = "shared core: the sibling thread was busy in ";
const OF_THE_SAMPLES: &str = " % of the samples";

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flag::Imprecise { wanted } => write!(f, "imprecise: wanted ± {:.1} %", wanted * 100.0),
            Flag::FewRounds { rounds } => write!(f, "few rounds: {rounds}, no interval"),
            Flag::Modes { between_rounds, modes } => {
                let how = if *between_rounds { "between rounds" } else { "within rounds" };
                write!(f, "{} modes: {how}", modes.len())?;
                modes.iter().try_for_each(|(share, at)| write!(f, ", {:.0} % at {at:.4e}", share * 100.0))
            }
            Flag::Drift { relative } => write!(f, "drift: {:+.1} %", relative * 100.0),
            Flag::Quantised => f.write_str("quantised"),
            Flag::Remarked(word) => f.write_str(word),
            Flag::TimingUnverified { error: Some(error) } => {
                write!(f, "timing-unverified: time and work differ by {:.2} %", error * 100.0)
            }
            Flag::TimingUnverified { error: None } => f.write_str("timing-unverified: too often interrupted to check"),
            Flag::Contended { ratio } => write!(f, "contended: the mean is {ratio:.1} times the median"),
            Flag::ClockCost { share } => write!(f, "clock cost: {:.0} % of the time read, taken off", share * 100.0),
            Flag::ClockMoved(at) => {
                let [least, most] = at.hz.map(|hz| hz / 1e9);
                let half = at.half_width * 100.0;
                write!(f, "clock moved: {least:.2} to {most:.2} GHz; at one clock ± {half:.1} %")
            }
            Flag::Contradicts { ratio, runs } => {
                write!(f, "contradicts: {ratio:.2} times the median of {runs} earlier runs of this machine")
            }
            Flag::SharedCore { share } => {
                write!(f, "{SHARED_CORE}{:.0}{OF_THE_SAMPLES}", share * 100.0)
            }
            Flag::LeftProcesses(remark) => write!(f, "left processes: {remark}"),
        }
    }
}

impl Flag {
    /// Parses the text of [`Flag::Modes`], because a record holds its flags as text; `None` for
    /// other texts.
    pub fn modes_of(text: &str) -> Option<Vec<(f64, f64)>> {
        let (_, list) = text.split_once(" modes: ")?;
        let mode = |part: &str| {
            let (share, at) = part.split_once(" % at ")?;
            Some((share.parse::<f64>().ok()? / 100.0, at.parse().ok()?))
        };
        list.split(", ").skip(1).map(mode).collect()
    }

    /// Parses the share in the text of [`Flag::SharedCore`]; `None` for other texts.
    pub fn shared_core_of(text: &str) -> Option<f64> {
        let percent = text.strip_prefix(SHARED_CORE)?.strip_suffix(OF_THE_SAMPLES)?;
        Some(percent.parse::<f64>().ok()? / 100.0)
    }
}

/// The fewest clean samples that give a value if others were disturbed. A round with fewer
/// continues or starts again (docs/methods/timing.md#clean-samples).
pub const MIN_CLEAN_SAMPLES: usize = 6;

/// Why a metric did not end `ok`.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// No round was started.
    NotReached,
    /// Some rounds did not end `ok`.
    Rounds {
        /// The number of rounds that ended in the same way.
        same: usize,
        /// The number of all rounds.
        of: usize,
        /// The reason given by one of them.
        reason: String,
    },
    /// A round could not determine the value.
    Unresolved(Remark),
    /// No round took a sample.
    NoSamples,
    /// No round measured or stated the series that the metric is computed from.
    NoSeries {
        /// Its name.
        wanted: String,
        /// The names of those that there are.
        there: Vec<String>,
    },
    /// In no round were all members of the worker group undisturbed at the same time.
    NeverTogether,
    /// The confidence interval of a difference contains zero.
    NotDistinctFromZero,
    /// Too few samples were undisturbed to trust the value.
    TooFewClean {
        /// Undisturbed samples.
        clean: usize,
        /// All samples.
        taken: usize,
        /// What disturbed most samples, and how many, where one thing did.
        mostly: Option<(Label, u64)>,
    },
    /// Fewer than half of the samples were undisturbed.
    FewClean {
        /// Undisturbed samples.
        clean: usize,
        /// All samples.
        taken: usize,
    },
    /// A difference of too few rounds for a confidence interval.
    FewRounds {
        /// The number of rounds required.
        needed: usize,
    },
    /// The half-width of the confidence interval exceeds a limit.
    Wide {
        /// The limit, as a fraction of the value.
        limit: f64,
    },
}

impl Reason {
    /// Whether this is the text of [`Reason::TooFewClean`].
    pub fn is_too_few_clean(text: &str) -> bool {
        let counts = text.strip_prefix("only ").and_then(|rest| rest.split_once(" samples were undisturbed"));
        counts
            .filter(|(_, rest)| rest.is_empty() || rest.starts_with(": "))
            .map(|(counts, _)| counts)
            .and_then(|counts| counts.split_once(" of "))
            .is_some_and(|(clean, taken)| [clean, taken].iter().all(|count| count.parse::<usize>().is_ok()))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotReached => f.write_str("not reached within the budget"),
            Reason::Rounds { same, of, reason } if same == of => f.write_str(reason),
            Reason::Rounds { same, of, reason } => write!(f, "{same} of {of} rounds: {reason}"),
            Reason::Unresolved(remark) => write!(f, "{remark}"),
            Reason::NeverTogether => f.write_str("the members of the group were never undisturbed at the same time"),
            Reason::NoSamples => f.write_str("took no samples"),
            Reason::NoSeries { wanted, there } => {
                let there: Vec<String> = there.iter().map(|name| format!("'{name}'")).collect();
                write!(f, "nothing was measured or stated as '{wanted}', only as {}", there.join(", "))
            }
            Reason::NotDistinctFromZero => f.write_str("the difference cannot be told from zero"),
            Reason::TooFewClean { clean, taken, mostly } => {
                write!(f, "only {clean} of {taken} samples were undisturbed")?;
                match mostly {
                    Some((label, n)) => write!(f, ": {} in {n}", label.meaning()),
                    None if clean * 2 > *taken => write!(f, ": fewer than {MIN_CLEAN_SAMPLES}"),
                    None => Ok(()),
                }
            }
            Reason::FewClean { clean, taken } => write!(f, "{clean} of {taken} samples were undisturbed"),
            Reason::FewRounds { needed } => {
                write!(f, "too few rounds to tell the difference from zero: fewer than {needed}")
            }
            Reason::Wide { limit } => write!(f, "rounds differ by more than ± {:.0} %", limit * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_back_from_their_text() {
        let modes = vec![(0.62, 4.83e-6), (0.38, 5.4e-6)];
        for between_rounds in [true, false] {
            let text = Flag::Modes { between_rounds, modes: modes.clone() }.to_string();
            assert_eq!(Flag::modes_of(&text), Some(modes.clone()), "{text}");
        }
        for other in ["drift: +3.1 %", "", "2 modes: within rounds, 62 %", "2 modes: x, a % at 1e-6"] {
            assert_eq!(Flag::modes_of(other), None, "{other}");
        }
    }

    #[test]
    fn too_few_clean_samples_are_read_back_from_their_text() {
        for mostly in [None, Some((Label::Faulted, 6))] {
            let reason = Reason::TooFewClean { clean: 5, taken: 11, mostly };
            assert!(Reason::is_too_few_clean(&reason.to_string()), "{reason}");
        }
        let rounds = Reason::Rounds { same: 1, of: 2, reason: "only 5 of 11 samples were undisturbed".to_owned() };
        for other in [Reason::FewClean { clean: 5, taken: 11 }, Reason::NotDistinctFromZero, Reason::NotReached, rounds]
        {
            assert!(!Reason::is_too_few_clean(&other.to_string()), "{other}");
        }
        assert!(!Reason::is_too_few_clean("only some of 11 samples were undisturbed"));
    }

    #[test]
    fn a_shared_core_is_read_back_from_its_text() {
        let text = Flag::SharedCore { share: 0.86 }.to_string();
        assert_eq!(text, "shared core: the sibling thread was busy in 86 % of the samples");
        assert_eq!(Flag::shared_core_of(&text), Some(0.86));
        for other in ["shared core", "shared cores: 2", "drift: +3.1 %", ""] {
            assert_eq!(Flag::shared_core_of(other), None, "{other}");
        }
    }
}
