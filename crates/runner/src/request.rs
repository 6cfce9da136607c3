//! What a run is asked for.

use crate::conditions::Condition;
use crate::effort::Effort;
use crate::launcher::Launcher;
use groma_harness::model::{NoiseVerdict, Placement, Profile, Remote, Tag, Tier};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The values of a parameter that somebody named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The benchmarks that are meant, as in a selection: an id, a family or a pattern. `None` means
    /// all that have the parameter and no setting of their own.
    pub of: Option<String>,
    /// The parameter.
    pub name: String,
    /// All values to measure.
    pub values: Vec<String>,
}

/// Writes `size` or `mem.*:size`, as it was typed.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.of {
            Some(of) => write!(f, "{of}:{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// What a run is asked for: which points of the selected benchmarks, and how they are measured.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// How much is spent where nothing else is said.
    pub profile: Profile,
    /// Whether it is a survey: many short rounds of what stands on the pages.
    pub survey: bool,
    /// The full set of each parameter instead of that of the profile.
    pub full: bool,
    /// Parameters with all the values to measure.
    pub params: Vec<Setting>,
    /// Where to run, instead of where each benchmark says.
    pub placement: Option<Placement>,
    /// Sizes of worker groups, instead of those of each benchmark.
    pub parallel: Vec<u32>,
    /// Whether the members of worker groups are threads.
    pub threads: bool,
    /// The machine where the peers of network benchmarks run, when it is another one.
    pub remote: Option<Remote>,
    /// The time for the whole run, instead of that of the profile.
    pub budget: Option<Duration>,
    /// What workers are started behind, one for each side of a plan whose points come in pairs;
    /// none for a plan without sides.
    pub sides: Vec<Launcher>,
    /// The states of the machine that the two sides are measured in; `None` where they have one.
    pub conditions: Option<[Condition; 2]>,
    /// The directory for the state of programs (XDG_STATE_HOME), where it is written down what
    /// `conditions` change; they need it.
    pub state_dir: Option<PathBuf>,
    /// Rounds for each point at most, instead of those of the profile.
    pub rounds: Option<u32>,
    /// How long a round samples, instead of the time of the profile.
    pub round_length: Option<Duration>,
    /// The longest that one round may take before it is killed [10 s, more for longer rounds].
    pub deadline: Option<Duration>,
    /// The seed of every random choice, instead of a random one.
    pub seed: Option<u64>,
    /// Refuse to measure on a machine that is noisier than this.
    pub require: Option<NoiseVerdict>,
    /// The directory for benchmarks that need files, instead of the temporary one.
    pub work_dir: Option<PathBuf>,
    /// What the run is called.
    pub tags: BTreeSet<Tag>,
}

impl RunRequest {
    /// A run of this profile with nothing else asked for.
    pub fn new(profile: Profile) -> RunRequest {
        RunRequest {
            profile,
            survey: false,
            sides: Vec::new(),
            conditions: None,
            state_dir: None,
            full: false,
            params: Vec::new(),
            placement: None,
            parallel: Vec::new(),
            threads: false,
            remote: None,
            budget: None,
            rounds: None,
            round_length: None,
            deadline: None,
            seed: None,
            require: None,
            work_dir: None,
            tags: BTreeSet::new(),
        }
    }

    /// The highest tier that the run measures.
    pub fn tier(&self) -> Tier {
        if self.full { Tier::Full } else { self.profile.tier() }
    }

    /// The time for the whole run: what was asked for, or that of the profile.
    pub fn total_budget(&self) -> Duration {
        self.budget.unwrap_or_else(|| Effort::of(self.profile).budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_time_and_the_tier_of_its_profile_unless_others_were_named() {
        let mut request = RunRequest::new(Profile::Quick);
        assert_eq!((request.total_budget(), request.tier()), (Duration::from_secs(10), Tier::Quick));
        (request.budget, request.full) = (Some(Duration::from_secs(3)), true);
        assert_eq!((request.total_budget(), request.tier()), (Duration::from_secs(3), Tier::Full));
        assert_eq!(RunRequest::new(Profile::Rigorous).total_budget(), Duration::from_secs(600));
        let setting =
            |of: Option<&str>| Setting { of: of.map(str::to_owned), name: "size".to_owned(), values: Vec::new() };
        assert_eq!([setting(None), setting(Some("mem.*"))].map(|s| s.to_string()), ["size", "mem.*:size"]);
    }
}
