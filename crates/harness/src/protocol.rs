//! What supervisor and worker say to each other: a job on standard input, a result on a duplicate
//! of standard output.
//!
//! Each is one line of JSON, and its newline ends it: JSON text holds none. The end of the file
//! does not, because a forked helper may still hold the pipe open. A worker serialises its result
//! after the last sample, so nothing of this is in a timed path.

use crate::model::{Job, RoundResult};
use serde::{Deserialize, Serialize};

/// What a worker receives.
#[derive(Serialize, Deserialize)]
struct Order<J> {
    /// The process that gives the job.
    parent: i32,
    job: J,
}

/// Stands for the parent's process id where the worker runs behind a command, which may be its
/// parent.
pub const BEHIND_A_COMMAND: i32 = 0;

/// One line of JSON. A value of the model always is JSON: its maps have texts as keys, and numbers
/// that are not finite are null.
pub(crate) fn line(value: &impl Serialize) -> String {
    match serde_json::to_string(value) {
        Ok(text) => text + "\n",
        Err(e) => unreachable!("a value of the model is no JSON: {e}"),
    }
}

/// A worker's order: the process that gives it, and the job.
pub fn write_job(parent: i32, job: &Job) -> String {
    line(&Order { parent, job })
}

/// Reads what [`write_job`] wrote.
///
/// # Errors
/// What cannot be read, or is missing.
pub fn read_job(text: &str) -> Result<(i32, Job), String> {
    let order: Order<Job> = serde_json::from_str(text).map_err(|e| e.to_string())?;
    Ok((order.parent, order.job))
}

/// What a worker says of its round.
pub fn write_result(result: &RoundResult) -> String {
    line(result)
}

/// Whether what has come so far ends a result.
pub fn is_complete(bytes: &[u8]) -> bool {
    bytes.last() == Some(&b'\n')
}

/// Reads what [`write_result`] wrote.
///
/// # Errors
/// What cannot be read, or is missing.
pub fn read_result(text: &str) -> Result<RoundResult, String> {
    serde_json::from_str(text).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Fact, Host, Label, Labels, Noise, Params, Placement, Preflight, Proof, Remote, RoundOutput, RunFile, Sample,
        Series, Span, State, Value, WorkerKind,
    };
    use groma_stats::rng::Rng;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    fn job() -> Job {
        Job {
            id: "ipc.pipe_rtt".into(),
            params: Params(vec![("size".into(), Value::Int(64)), ("kind".into(), Value::Word("odd\tword\\n".into()))]),
            placement: Placement::List(vec![1, 0]),
            cpus: vec![1, 0],
            workers: 2,
            group: true,
            worker_kind: WorkerKind::Threads,
            round: 3,
            seed: u64::MAX,
            intervals: 25,
            time_limit_ns: 40_000_000,
            wait_ns: 0,
            warm_ns: 10_000_000,
            frozen: vec![(String::new(), 1234), ("control".into(), 99)],
            work_dir: Some(OsString::from_vec(b"/tmp/a dir\nwith a \\x41 line\xff \\".to_vec()).into()),
            run_file: Some(RunFile { path: "/proc/7/fd/3".into(), fill_ns: 5 }),
            remote: Some(Remote { address: "[::1]:47".parse().expect("an address"), token: "a\tb".into() }),
            host: Host {
                clock_step_ns: 10.5,
                clock_cost_ns: 20.25,
                timeslice_ns: 4e6,
                timeslice_assumed: false,
                interval_ns: 2e5,
                proportionality: None,
                counter_hz: Some(2.3e9),
                beyond_caches: Some(128 << 20),
                core: None,
            },
        }
    }

    fn result() -> RoundResult {
        RoundResult {
            state: State::Ok,
            reason: String::new(),
            pid: 77,
            wall_ns: 0,
            output: RoundOutput {
                series: vec![
                    Series {
                        name: "ring".into(),
                        iters: 100,
                        per_iter: 0.1,
                        clock_ns: 20.25,
                        samples: vec![
                            Sample {
                                worker: 1,
                                cpu: 3,
                                t0_ns: 1 << 60,
                                elapsed_ns: 5,
                                iters: 100,
                                cpu_ns: 4,
                                labels: Labels::of(&[Label::Migrated]),
                                margin_ns: Some(-3),
                            },
                            Sample::default(),
                        ],
                        spans: vec![
                            Span {
                                worker: 1,
                                t0_ns: 1 << 60,
                                wall_ns: 7,
                                timed_ns: 5,
                                iters: 100,
                                labels: Labels::of(&[Label::Preempted]),
                            },
                            Span::default(),
                        ],
                        values: vec![],
                        value_labels: Labels::NONE,
                    },
                    Series {
                        name: String::new(),
                        iters: 1,
                        per_iter: 1.0,
                        values: vec![1e-9, 0.1 + 0.2],
                        value_labels: Labels::of(&[Label::Shared]),
                        ..Series::default()
                    },
                ],
                proofs: vec![Proof { name: "a\tb".into(), expected: "1..2".into(), seen: 1.5, holds: true }],
                facts: vec![Fact::new("k", "v\nw")],
                remarks: vec!["unsteady".into()],
                core: Default::default(),
                core_hz: Some(3.7e9),
                phases: {
                    let mut phases = crate::model::Phases::default();
                    phases.add(crate::model::Phase::Sampling, 4_000_000);
                    phases
                },
                preflight: Some(Box::new(Preflight {
                    host: Host { counter_hz: Some(2.1e9), ..Host::UNKNOWN },
                    noise: Some(Noise { lost: 0.1, worst_cpu_lost: 0.2, longest_gap_ns: 3 }),
                    lost: vec![(0, 0.0), (7, 0.2)],
                    cpu_limit: Some(crate::model::CpuLimit { cpus: Some(0.5), held_back: 0.25 }),
                })),
            },
        }
    }

    #[test]
    fn a_job_comes_back_as_it_was() {
        assert_eq!(read_job(&write_job(42, &job())), Ok((42, job())));
    }

    #[test]
    fn a_result_comes_back_as_it_was() {
        assert_eq!(read_result(&write_result(&result())), Ok(result()));
    }

    /// Where a result is cut it is not complete, and cannot be read.
    #[test]
    fn only_the_newline_ends_a_result() {
        let (job, result) = (write_job(42, &job()), write_result(&result()));
        assert!(is_complete(result.as_bytes()));
        assert_eq!((job.matches('\n').count(), result.matches('\n').count()), (1, 1));
        for cut in 0..result.len() - 1 {
            assert!(!is_complete(&result.as_bytes()[..cut]), "cut at {cut}");
            assert!(result.get(..cut).is_none_or(|text| read_result(text).is_err()), "cut at {cut}");
        }
        for cut in 0..job.len() - 1 {
            assert!(job.get(..cut).is_none_or(|text| read_job(text).is_err()), "cut at {cut}");
        }
    }

    /// A second writer's words would follow the last.
    #[test]
    fn nothing_more_than_was_written_is_accepted() {
        let (job, result) = (write_job(42, &job()), write_result(&result()));
        for more in ["x", "{}", "0", &result] {
            assert!(read_job(&format!("{job}{more}")).is_err(), "{more:?}");
            assert!(read_result(&format!("{result}{more}")).is_err(), "{more:?}");
        }
        assert!(read_job(&format!("{job}{job}")).is_err());
        // One inside the other, or one in the place of the other.
        assert!(read_job(&result).is_err() && read_result(&job).is_err());
        assert!(read_result(&result.replacen('{', &result, 1)).is_err());
    }

    #[test]
    fn non_finite_numbers_are_read_back_as_nan_or_none() {
        let mut sent = result();
        sent.output.proofs[0].seen = f64::INFINITY;
        sent.output.series[1].values[0] = f64::NAN;
        sent.output.series[1].per_iter = f64::NEG_INFINITY;
        sent.output.core_hz = Some(f64::NAN);
        let back = read_result(&write_result(&sent)).expect("it reads");
        assert!(back.output.proofs[0].seen.is_nan() && back.output.series[1].per_iter.is_nan());
        let values = &back.output.series[1].values;
        assert!(values[0].is_nan() && values[1] == 0.1 + 0.2, "{values:?}");
        assert_eq!((back.output.core_hz, &back.output.series[0]), (None, &sent.output.series[0]));
    }

    #[test]
    fn garbage_is_an_error_and_never_a_panic() {
        let mut rng = Rng::new(7);
        let (good_job, good_result) = (write_job(1, &job()), write_result(&result()));
        for round in 0..20_000 {
            let good = if round % 2 == 0 { &good_job } else { &good_result };
            let mut bytes = good.clone().into_bytes();
            for _ in 0..=rng.below(4) {
                let at = rng.below(bytes.len() as u64) as usize;
                match rng.below(3) {
                    0 => bytes[at] = rng.below(256) as u8,
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"\"\n\\0-e{[,"[rng.below(9) as usize]),
                }
            }
            let text = String::from_utf8_lossy(&bytes);
            // Whatever comes back must be writable again.
            if let Ok((parent, job)) = read_job(&text) {
                let _ = write_job(parent, &job);
            }
            if let Ok(result) = read_result(&text) {
                let _ = write_result(&result);
            }
        }
    }
}
