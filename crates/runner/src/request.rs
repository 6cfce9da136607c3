//! The request for a run.

use crate::conditions::Condition;
use crate::effort::Effort;
use crate::launcher::Launcher;
use groma_harness::model::{Fact, NoiseVerdict, Placement, Profile, Remote, Tag, Tier};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Values of a parameter from the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The benchmarks that it applies to: an id, a family or a pattern. `None` means all that have
    /// the parameter and no other setting.
    pub of: Option<String>,
    /// The parameter.
    pub name: String,
    /// All values to measure.
    pub values: Vec<String>,
}

/// `size` or `mem.*:size`, as typed.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.of {
            Some(of) => write!(f, "{of}:{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The request for a run: which points of the selected benchmarks, and how to measure them.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The effort, unless other fields override it.
    pub profile: Profile,
    /// Whether it is a survey: many short rounds of what the pages show.
    pub survey: bool,
    /// Measures the full set of values of each parameter instead of the profile's.
    pub full: bool,
    /// Parameters with the values to measure.
    pub params: Vec<Setting>,
    /// The placement, instead of those of each benchmark.
    pub placement: Option<Placement>,
    /// Sizes of worker groups, instead of those of each benchmark.
    pub parallel: Vec<u32>,
    /// Whether the members of worker groups are threads.
    pub threads: bool,
    /// The machine of the peers of network benchmarks, if it is another one.
    pub remote: Option<Remote>,
    /// The time for the whole run, instead of the profile's.
    pub budget: Option<Duration>,
    /// The launchers of the sides, for a plan whose points come in pairs; empty for a plan without
    /// sides.
    pub sides: Vec<Launcher>,
    /// The machine states of the two sides; `None` if no side sets any.
    pub conditions: Option<[Condition; 2]>,
    /// The directory for program state (XDG_STATE_HOME), for the journal of what `conditions`
    /// change; required by them.
    pub state_dir: Option<PathBuf>,
    /// The number of rounds of each point, instead of the profile's.
    pub rounds: Option<u32>,
    /// The sampling time of a round, instead of the profile's.
    pub round_length: Option<Duration>,
    /// The shortest warm-up of a round, if it is longer than the profile's.
    pub warm_up: Option<Duration>,
    /// The time after which a round is killed; default 10 s, more for longer rounds.
    pub deadline: Option<Duration>,
    /// The seed of every random choice, instead of a random one.
    pub seed: Option<u64>,
    /// Refuses to measure on a machine that is noisier than this.
    pub require: Option<NoiseVerdict>,
    /// The parent of the work directory, instead of the temporary directory.
    pub work_dir: Option<PathBuf>,
    /// The tags of the run.
    pub tags: BTreeSet<Tag>,
    /// What the caller knows of the run besides; kept with the facts of the machine.
    pub facts: Vec<Fact>,
}

impl RunRequest {
    /// A request with this profile and no overrides.
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
            warm_up: None,
            deadline: None,
            seed: None,
            require: None,
            work_dir: None,
            tags: BTreeSet::new(),
            facts: Vec::new(),
        }
    }

    /// The largest tier that the run measures.
    pub fn tier(&self) -> Tier {
        if self.full { Tier::Full } else { self.profile.tier() }
    }

    /// The time for the whole run.
    pub fn total_budget(&self) -> Duration {
        self.budget.unwrap_or_else(|| Effort::of(self.profile).budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_overrides_the_time_and_the_tier_of_its_profile() {
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
