//! Remarks: what a round or a preflight reports besides numbers.

use std::fmt;

/// The text of a [`Remark::Unresolved`] between the name of the output and the reason.
const CANNOT_TELL: &str = "cannot tell: ";

/// A remark. It has a variant of its own if code depends on it.
///
/// Records and the store contain remarks as text. Parsing a text gives the variant that prints
/// exactly this text, or [`Remark::Note`] if there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// The samples were not steady by the middle of the round.
    Unsteady,
    /// The intervals of a worker group were shorter than the rule for its size requires
    /// (docs/methods/timing.md#intervals-of-a-worker-group).
    ShortInterval,
    /// Reading a block of a disk for the first time took no longer than reading it again
    /// (docs/methods/operating-system.md#disk-caches).
    Cache,
    /// Too few samples were clean, so the sampler halved the interval and sampled again.
    IntervalHalved {
        /// Samples without a label that drops them.
        clean: usize,
        /// Samples taken.
        taken: usize,
    },
    /// The members of a worker group did not have a CPU each all the time, although there were
    /// enough.
    GroupCpuShare {
        /// The share of the time in which a member had a CPU, in percent.
        percent: u32,
    },
    /// The cycle counter is not used to cross-check the clock.
    CounterUnused {
        /// Why not.
        reason: String,
    },
    /// The benchmark left processes behind, and the worker ended them.
    LeftProcesses {
        /// The number that had already ended.
        ended: usize,
        /// The number that were still running.
        running: usize,
        /// The number that could not be ended.
        remaining: usize,
    },
    /// An output has no value in this round.
    Unresolved {
        /// The suffix of the output; empty for all outputs without their own reason.
        output: String,
        /// Why it has none.
        reason: String,
    },
    /// Any other text, for people only.
    Note(String),
}

impl Remark {
    /// The flag that a record gets if most of its rounds have this remark.
    pub const fn flag(&self) -> Option<&'static str> {
        match self {
            Remark::Unsteady => Some("unsteady"),
            Remark::ShortInterval => Some("short-interval"),
            Remark::Cache => Some("cache: of the device or host"),
            _ => None,
        }
    }

    /// The free text in the remark, which may quote user input.
    pub fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Remark::CounterUnused { reason } | Remark::Unresolved { reason, .. } | Remark::Note(reason) => Some(reason),
            _ => None,
        }
    }

    /// Parses the typed remarks. A text that only resembles one may give a remark that prints
    /// another text.
    fn parse(text: &str) -> Option<Remark> {
        let typed = [Remark::Unsteady, Remark::ShortInterval, Remark::Cache];
        if let Some(remark) = typed.into_iter().find(|remark| remark.flag() == Some(text)) {
            return Some(remark);
        }
        if let Some(rest) = text.strip_prefix("interval halved: ") {
            let (clean, rest) = rest.split_once(" of ")?;
            let taken = rest.strip_suffix(" samples clean")?;
            return Some(Remark::IntervalHalved { clean: clean.parse().ok()?, taken: taken.parse().ok()? });
        }
        if let Some(rest) = text.strip_prefix("members had a CPU ") {
            return Some(Remark::GroupCpuShare { percent: rest.strip_suffix(" % of the time")?.parse().ok()? });
        }
        if let Some(reason) = text.strip_prefix("cycle counter not used: ") {
            return Some(Remark::CounterUnused { reason: reason.to_owned() });
        }
        if let Some(rest) = text.strip_prefix("left ") {
            let (ended, rest) = rest.split_once(" ended and ")?;
            let (running, rest) = rest.split_once(" running children behind")?;
            let remaining = match rest.strip_prefix(", ") {
                Some(rest) => rest.strip_suffix(" of which cannot be ended")?.parse().ok()?,
                None => 0,
            };
            return Some(Remark::LeftProcesses {
                ended: ended.parse().ok()?,
                running: running.parse().ok()?,
                remaining,
            });
        }
        let (output, reason) = text.split_once(CANNOT_TELL)?;
        let output = if output.is_empty() { "" } else { output.strip_suffix(": ")? };
        // The name of an output is one word; with more, this is a sentence that happens to contain
        // the phrase.
        (!output.contains(char::is_whitespace))
            .then(|| Remark::Unresolved { output: output.to_owned(), reason: reason.to_owned() })
    }
}

impl From<String> for Remark {
    fn from(text: String) -> Remark {
        Remark::parse(&text).filter(|remark| remark.to_string() == text).unwrap_or(Remark::Note(text))
    }
}

impl From<&str> for Remark {
    fn from(text: &str) -> Remark {
        text.to_owned().into()
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(flag) = self.flag() {
            return f.write_str(flag);
        }
        match self {
            Remark::Unsteady | Remark::ShortInterval | Remark::Cache => Ok(()),
            Remark::IntervalHalved { clean, taken } => write!(f, "interval halved: {clean} of {taken} samples clean"),
            Remark::GroupCpuShare { percent } => write!(f, "members had a CPU {percent} % of the time"),
            Remark::CounterUnused { reason } => write!(f, "cycle counter not used: {reason}"),
            Remark::LeftProcesses { ended, running, remaining } => {
                write!(f, "left {ended} ended and {running} running children behind")?;
                if *remaining > 0 {
                    write!(f, ", {remaining} of which cannot be ended")?;
                }
                Ok(())
            }
            Remark::Unresolved { output, reason } if output.is_empty() => write!(f, "{CANNOT_TELL}{reason}"),
            Remark::Unresolved { output, reason } => write!(f, "{output}: {CANNOT_TELL}{reason}"),
            Remark::Note(text) => f.write_str(text),
        }
    }
}

#[cfg(feature = "serde")]
mod as_text {
    use super::Remark;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    impl Serialize for Remark {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    impl<'de> Deserialize<'de> for Remark {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            String::deserialize(deserializer).map(Remark::from)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_reads_back_from_its_text() {
        let unresolved =
            |output: &str, reason: &str| Remark::Unresolved { output: output.into(), reason: reason.into() };
        for (remark, text) in [
            (Remark::Unsteady, "unsteady"),
            (Remark::ShortInterval, "short-interval"),
            (Remark::Cache, "cache: of the device or host"),
            (Remark::IntervalHalved { clean: 2, taken: 75 }, "interval halved: 2 of 75 samples clean"),
            (Remark::GroupCpuShare { percent: 94 }, "members had a CPU 94 % of the time"),
            (Remark::CounterUnused { reason: "no: it stops".into() }, "cycle counter not used: no: it stops"),
            (
                Remark::LeftProcesses { ended: 1, running: 2, remaining: 0 },
                "left 1 ended and 2 running children behind",
            ),
            (
                Remark::LeftProcesses { ended: 0, running: 2, remaining: 2 },
                "left 0 ended and 2 running children behind, 2 of which cannot be ended",
            ),
            (unresolved("", "no step"), "cannot tell: no step"),
            (unresolved("l2_hit", "a: b"), "l2_hit: cannot tell: a: b"),
            (Remark::Note("by the way".into()), "by the way"),
        ] {
            assert_eq!(remark.to_string(), text);
            assert_eq!(Remark::from(text), remark);
        }
    }

    /// A text that no typed remark prints becomes a note, so that no text is lost or changed.
    #[test]
    fn a_text_that_only_resembles_a_remark_is_a_note() {
        for text in [
            "",
            "unsteady ",
            "left",
            "left a tip",
            "left 01 ended and 2 running children behind",
            "left 1 ended and 2 running children behind, 0 of which cannot be ended",
            "left 1 ended and 2 running children behind us",
            "interval halved: -1 of 2 samples clean",
            "members had a CPU most of the time",
            "two clocks: cannot tell: which",
            ": cannot tell: x",
            "I cannot tell: x",
        ] {
            assert_eq!(Remark::from(text), Remark::Note(text.to_owned()));
        }
    }

    #[test]
    fn flags_are_words_and_texts_are_free() {
        let mut all =
            ["unsteady", "short-interval", "cannot tell: x", "cycle counter not used: y", "z"].map(Remark::from);
        assert_eq!(all.each_ref().map(Remark::flag), [Some("unsteady"), Some("short-interval"), None, None, None]);
        let texts = all.each_mut().map(|remark| remark.text_mut().cloned().unwrap_or_default());
        assert_eq!(texts, ["", "", "x", "y", "z"]);
    }
}
