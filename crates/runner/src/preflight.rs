//! Runs the preflight in a worker: clock, scheduler, noise.

use crate::launcher::Launcher;
use crate::supervise::{Ended, Supervisor};
use groma_harness::model::Host;
use groma_harness::model::{
    CpuLimit, Fact, Job, NoiseVerdict, OF_PROCESS, Params, Placement, Preflight, Remark, State, Value, WorkerKind,
};
use groma_harness::preflight as host_preflight;
use std::fmt;
use std::time::Duration;

/// How much longer than its time the preflight may take: on an emulated machine with a slow clock
/// its checks took 25 s.
const PREFLIGHT_DEADLINE: Duration = Duration::from_secs(90);

/// Why nothing was measured.
#[derive(Clone, Debug, PartialEq)]
pub enum NotMeasured {
    /// This signal arrived.
    Signal(i32),
    /// The preflight failed, for this reason.
    Failed(String),
    /// Others and the run's own CPU quota take more of the time than what was required.
    TooNoisy {
        /// The share of the time lost to others, from 0 to 1, where that is known.
        lost: Option<f64>,
        /// The run's own quota and what it took, if there is one.
        own: Option<CpuLimit>,
        /// What was required.
        limit: NoiseVerdict,
    },
}

impl fmt::Display for NotMeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotMeasured::Signal(signal) => write!(f, "ended by signal {signal}"),
            NotMeasured::Failed(why) => write!(f, "this machine cannot be measured: {why}"),
            NotMeasured::TooNoisy { lost, own, .. } => {
                let own = own.filter(CpuLimit::is_felt);
                let others = match lost {
                    None => Some("how noisy the machine is is not known".to_owned()),
                    // Others took nothing that is worth a word beside the limit.
                    Some(lost) if own.is_some() && NoiseVerdict::of_lost(*lost) == NoiseVerdict::Quiet => None,
                    Some(lost) => {
                        let word = NoiseVerdict::of_lost(*lost).word();
                        Some(format!("the machine is {word}: {:.1} % of the time went to others", lost * 100.0))
                    }
                };
                let parts: Vec<String> = own.map(|own| own.to_string()).into_iter().chain(others).collect();
                f.write_str(&parts.join("; "))
            }
        }
    }
}

impl std::error::Error for NotMeasured {}

/// What takes time from the programs of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gauged {
    /// The share of the time that was lost to others, from 0 to 1, if it could be measured.
    pub lost: Option<f64>,
    /// The CPU quota of this process's own control groups and what it took; `None` without one.
    pub own: Option<CpuLimit>,
}

/// Runs the preflight for about `time`. Standard input and output are not touched.
///
/// # Errors
/// When a signal arrives or the preflight fails.
pub fn gauge(time: Duration) -> Result<Gauged, NotMeasured> {
    let failed = |e: std::io::Error| NotMeasured::Failed(format!("the supervisor cannot start: {e}"));
    let supervisor = Supervisor::new().map_err(failed)?;
    let found = preflight(&supervisor, &Launcher::default(), time, crate::identity::random_seed(), &[], false);
    found.map(|(found, ..)| Gauged { lost: found.noise.map(|noise| noise.lost), own: found.cpu_limit })
}

/// Runs the preflight in a worker, for the clock on one of these CPUs if there are any. It looks
/// for the end of the caches if `end_of_caches` is set. Also returns its remarks, and what the
/// worker knows of itself.
pub(crate) fn preflight(
    supervisor: &Supervisor,
    launcher: &Launcher,
    time: Duration,
    seed: u64,
    cpus: &[u32],
    end_of_caches: bool,
) -> Result<(Preflight, Vec<Remark>, Vec<Fact>), NotMeasured> {
    let asked =
        if end_of_caches { vec![(host_preflight::END_OF_CACHES.to_owned(), Value::Int(1))] } else { Vec::new() };
    let job = Job {
        id: host_preflight::ID.to_owned(),
        params: Params(asked),
        placement: Placement::Free,
        cpus: cpus.to_vec(),
        workers: 1,
        group: false,
        worker_kind: WorkerKind::Processes,
        round: 0,
        seed,
        intervals: 0,
        time_limit_ns: time.as_nanos() as u64,
        wait_ns: 0,
        warm_ns: 0,
        frozen: Vec::new(),
        work_dir: None,
        run_file: None,
        remote: None,
        host: Host::UNKNOWN,
    };
    match supervisor.run((&job, launcher), 0, PREFLIGHT_DEADLINE + time, None) {
        Ended::Signal(signal) => Err(NotMeasured::Signal(signal)),
        Ended::OutOfBudget => Err(NotMeasured::Failed("the preflight did not end".to_owned())),
        Ended::Result(result) if result.state == State::Timeout => {
            let limit = (PREFLIGHT_DEADLINE + time).as_secs();
            Err(NotMeasured::Failed(format!(
                "the look at the clock and the noise before the run took more than {limit} s"
            )))
        }
        Ended::Result(result) if result.state != State::Ok => Err(NotMeasured::Failed(result.reason)),
        Ended::Result(result) => {
            let found = result.output.preflight;
            let found =
                found.ok_or_else(|| NotMeasured::Failed("the preflight did not say what it found".to_owned()))?;
            let mut facts = result.output.facts;
            facts.retain(|fact| fact.key.starts_with(OF_PROCESS));
            Ok((*found, result.output.remarks, facts))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The job is larger than a pipe, so its reader is gone while it is written.
    #[test]
    fn a_command_that_ends_before_reading_its_job_is_quoted() {
        let supervisor = Supervisor::new().expect("a supervisor");
        let command = ["sh", "-c", "echo no room >&2; exit 7"].map(Into::into).to_vec();
        let launcher = Launcher { command, ..Launcher::default() };
        let refused = preflight(&supervisor, &launcher, Duration::from_millis(1), 1, &[0; 100_000], false);
        let Err(NotMeasured::Failed(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains("exited with code 7 and no result: no room"), "{why}");
    }

    #[test]
    fn the_job_of_a_preflight_holds_its_cpus_time_and_seed() {
        let place = tempfile::tempdir().expect("a directory");
        let kept = place.path().join("job");
        let supervisor = Supervisor::new().expect("a supervisor");
        let command = ["sh", "-c", &format!("cat > '{}'", kept.display())].map(Into::into).to_vec();
        let launcher = Launcher { command, ..Launcher::default() };
        for (cpus, end_of_caches) in [(&[5, 7][..], true), (&[], false)] {
            let failed = preflight(&supervisor, &launcher, Duration::from_millis(1234), 99, cpus, end_of_caches);
            assert!(failed.is_err(), "a shell finds nothing out");
            let text = std::fs::read_to_string(&kept).expect("a job");
            let job = groma_harness::protocol::read_job(&text).expect("a job").1;
            assert_eq!((job.id.as_str(), job.cpus.as_slice(), job.seed), (host_preflight::ID, cpus, 99));
            assert_eq!((job.time_limit_ns, job.workers, job.group), (1_234_000_000, 1, false));
            assert_eq!(job.params.int(host_preflight::END_OF_CACHES).is_some(), end_of_caches);
        }
    }

    #[test]
    fn errors_are_one_line() {
        let noisy = |lost, own| NotMeasured::TooNoisy { lost, own, limit: NoiseVerdict::Quiet }.to_string();
        assert_eq!(NotMeasured::Signal(15).to_string(), "ended by signal 15");
        assert_eq!(NotMeasured::Failed("no clock".to_owned()).to_string(), "this machine cannot be measured: no clock");
        assert_eq!(noisy(None, None), "how noisy the machine is is not known");
        let word = NoiseVerdict::Noisy.word();
        assert_eq!(noisy(Some(0.05), None), format!("the machine is {word}: 5.0 % of the time went to others"));
        // Each is blamed for what it took.
        let own = CpuLimit { cpus: Some(0.1), held_back: 0.9 };
        assert_eq!(noisy(Some(0.001), Some(own)), own.to_string());
        let both = noisy(Some(0.05), Some(own));
        assert!(both.starts_with(&format!("{own}; the machine is {word}: ")), "{both}");
        let idle = CpuLimit { held_back: 0.0, ..own };
        assert_eq!(noisy(Some(0.05), Some(idle)), noisy(Some(0.05), None));
    }
}
