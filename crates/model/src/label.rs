//! Labels: what happened during a sample, one bit each. They come from readings outside the timed
//! region; docs/methods/timing.md#labels gives the thresholds.

/// An event during a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Label {
    /// `P`: preempted (involuntary context switches grew).
    Preempted = 1 << 0,
    /// `V`: blocked (voluntary context switches grew).
    Voluntary = 1 << 1,
    /// `M`: moved to another CPU.
    Migrated = 1 << 2,
    /// `F`: page faults that the benchmark does not declare.
    Faulted = 1 << 3,
    /// `S`: time was lost that no context switch explains (steal time, interrupts).
    Stolen = 1 << 4,
    /// `T`: two clocks disagree, or one went backwards.
    Clock = 1 << 5,
    /// `C`: the frequency probe was more than 1 % off: the core frequency changed.
    Frequency = 1 << 6,
    /// `H`: steal time or throttling of this cgroup grew during the round.
    Host = 1 << 7,
    /// `O`: not all members of the worker group were working during the whole sample.
    Overlap = 1 << 8,
    /// `N`: another hardware thread was busy on the same core right before or right after.
    Shared = 1 << 9,
}

impl Label {
    /// All labels, in the order in which views show their letters: P V M F S T C H O N.
    pub const ALL: [Label; 10] = [
        Label::Preempted,
        Label::Voluntary,
        Label::Migrated,
        Label::Faulted,
        Label::Stolen,
        Label::Clock,
        Label::Frequency,
        Label::Host,
        Label::Overlap,
        Label::Shared,
    ];

    /// The letter used in records and views.
    pub const fn letter(self) -> char {
        match self {
            Label::Preempted => 'P',
            Label::Voluntary => 'V',
            Label::Migrated => 'M',
            Label::Faulted => 'F',
            Label::Stolen => 'S',
            Label::Clock => 'T',
            Label::Frequency => 'C',
            Label::Host => 'H',
            Label::Overlap => 'O',
            Label::Shared => 'N',
        }
    }

    /// The meaning of the letter, for help and reports.
    pub const fn meaning(self) -> &'static str {
        match self {
            Label::Preempted => "preempted",
            Label::Voluntary => "blocked",
            Label::Migrated => "moved to another CPU",
            Label::Faulted => "unexpected page faults",
            Label::Stolen => "time stolen by the host or interrupts",
            Label::Clock => "clocks disagree",
            Label::Frequency => "core frequency changed",
            Label::Host => "throttled or stolen from during the round",
            Label::Overlap => "worker group not complete for the whole sample",
            Label::Shared => "the sibling thread of the core was busy",
        }
    }
}

/// A set of labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Labels(pub u16);

impl Labels {
    /// The empty set.
    pub const NONE: Labels = Labels(0);

    /// The set of these labels.
    pub const fn of(labels: &[Label]) -> Labels {
        let mut bits = 0;
        let mut i = 0;
        while i < labels.len() {
            bits |= labels[i] as u16;
            i += 1;
        }
        Labels(bits)
    }

    /// Adds a label.
    pub fn add(&mut self, label: Label) {
        self.0 |= label as u16;
    }

    /// The labels of both sets.
    #[must_use]
    pub const fn and(self, other: Labels) -> Labels {
        Labels(self.0 | other.0)
    }

    /// The set without a label.
    #[must_use]
    pub const fn without(self, label: Label) -> Labels {
        Labels(self.0 & !(label as u16))
    }

    /// Whether the label is in the set.
    pub const fn has(self, label: Label) -> bool {
        self.0 & label as u16 != 0
    }

    /// Whether the two sets share a label.
    pub const fn meets(self, other: Labels) -> bool {
        self.0 & other.0 != 0
    }

    /// The letters of the set, for instance `"PM"`; empty for the empty set.
    pub fn letters(self) -> String {
        Label::ALL.into_iter().filter(|&l| self.has(l)).map(Label::letter).collect()
    }
}
