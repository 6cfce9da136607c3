//! The seven ways in which a metric can end.

/// How a metric ended. All but `Ok` have a reason next to them (see [`crate::Record`] and
/// docs/methods/statistics.md#states).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum State {
    /// Measured, and its proofs hold. It has an interval unless the flag `few rounds` says that
    /// there are too few for one.
    Ok,
    /// Measured, proofs hold, but fewer than half of the samples were undisturbed, or the rounds
    /// differ.
    Noisy,
    /// Not determined: too few clean samples, a difference whose interval contains zero, or not
    /// reached.
    Unresolved,
    /// Not possible on this machine; the reason says what is missing.
    Unsupported,
    /// Refused by the system; the reason names the privilege and the errno.
    Denied,
    /// Not finished before its deadline.
    Timeout,
    /// Failed or crashed, or a proof does not hold.
    Failed,
}

impl State {
    /// All states, from the best to the worst.
    pub const ALL: [State; 7] =
        [State::Ok, State::Noisy, State::Unresolved, State::Unsupported, State::Denied, State::Timeout, State::Failed];

    /// The word used in records and views.
    pub const fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Noisy => "noisy",
            State::Unresolved => "unresolved",
            State::Unsupported => "unsupported",
            State::Denied => "denied",
            State::Timeout => "timeout",
            State::Failed => "failed",
        }
    }

    /// The state with this word.
    pub fn from_word(word: &str) -> Option<State> {
        State::ALL.into_iter().find(|s| s.word() == word)
    }

    /// Whether it makes the run exit with code 4: `Denied` only where it was asked for, by name or
    /// by `--strict`.
    pub const fn fails_run(self) -> bool {
        matches!(self, State::Denied | State::Timeout | State::Failed)
    }
}
