//! What a benchmark sees of the harness: its parameters, its measuring verbs, its proofs.
//!
//! A benchmark does not time, print, parse, choose repetitions, or know statistics. Set-up is the code before a measuring
//! verb, clean-up is `Drop`.

use crate::benchmark::{BenchError, Outcome};
use crate::evidence::{self, Peers};
use crate::instruments::{Instruments, Real};
use crate::model::{Fact, Info, Interference, Job, Placement, Proof, Remark, Remote, RoundOutput, Series};
use crate::probe::Cost;
use crate::sampler::{self, Rules, Samples, Stopwatch};
use crate::sys;
use crate::sys::clock::Clock;
use crate::worker_group::Member;
use groma_stats::rng::Rng;
use std::ops::RangeBounds;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// One of the loops that are measured in turn within a round: the operation, its control, another baseline.
pub struct Variant<'a> {
    pub(crate) name: &'static str,
    pub(crate) per_iter: f64,
    pub(crate) max_iters: u64,
    /// Iterations credited up to now, warm-up included.
    pub(crate) done: u64,
    pub(crate) body: Body<'a>,
}

/// Does so many iterations and keeps the watch.
pub(crate) type Body<'a> = Box<dyn FnMut(u64, &mut Stopwatch<'_>) -> Outcome + 'a>;

impl<'a> Variant<'a> {
    /// A loop timed as a whole: `body(iters)` does `iters` iterations.
    pub fn new(name: &'static str, mut body: impl FnMut(u64) -> Outcome + 'a) -> Variant<'a> {
        Variant::staged(name, move |iters, watch| {
            watch.start();
            let outcome = body(iters);
            watch.stop();
            outcome
        })
    }

    /// A loop that starts and stops the watch itself, to leave set-up and clean-up of each interval out.
    pub fn staged(name: &'static str, body: impl FnMut(u64, &mut Stopwatch<'_>) -> Outcome + 'a) -> Variant<'a> {
        Variant { name, per_iter: 1.0, max_iters: u64::MAX, done: 0, body: Box::new(body) }
    }

    /// What one iteration holds: operations, or bytes for a bandwidth. 1 unless said.
    #[must_use]
    pub fn per_iter(mut self, n: f64) -> Variant<'a> {
        self.per_iter = n;
        self
    }

    /// The most iterations that one interval may do, for operations that use something up.
    #[must_use]
    pub fn max_iters(mut self, n: u64) -> Variant<'a> {
        self.max_iters = n.max(1);
        self
    }
}

/// The harness as one round of one benchmark sees it.
pub struct Ctx<'j> {
    job: &'j Job,
    info: &'j Info,
    member: Option<Member<'j>>,
    rng: Rng,
    peers: Peers,
    /// What the round has brought up to now.
    pub(crate) output: RoundOutput,
    /// Iterations of all measured loops.
    iterations: u64,
    /// The same by loop, for those that [`Ctx::measure_variants`] ran.
    by_loop: Vec<(&'static str, u64)>,
}

impl<'j> Ctx<'j> {
    /// Made by the worker only: whoever holds the list of benchmarks cannot run one by mistake.
    pub(crate) fn new(job: &'j Job, info: &'j Info, member: Option<Member<'j>>) -> Ctx<'j> {
        let stream = member.as_ref().map_or(0, |m| u64::from(m.index()) + 1);
        Ctx {
            job,
            info,
            rng: Rng::new(job.seed).fork(stream),
            member,
            peers: Peers::default(),
            output: RoundOutput::default(),
            iterations: 0,
            by_loop: Vec::new(),
        }
    }

    /// What the round brought, with what the harness itself proves of it.
    pub(crate) fn conclude(self, ins: &impl Instruments) -> Samples {
        let mut output = self.output;
        evidence::of_time(ins, self.info, &self.job.host, &mut output);
        evidence::of_place(self.job, &mut output, Some(&self.peers));
        Samples { output, iterations: self.iterations, scaling: None }
    }

    /// The value of a size or count parameter.
    ///
    /// # Panics
    /// When the descriptor declares no such parameter: a mistake in the benchmark, recorded as `failed`.
    pub fn int(&self, name: &str) -> u64 {
        match self.job.params.int(name) {
            Some(n) => n,
            None => panic!("{} declares no size or count '{name}'", self.info.id),
        }
    }

    /// The value of a word parameter.
    ///
    /// # Panics
    /// As [`Ctx::int`].
    pub fn word(&self, name: &str) -> &'j str {
        match self.job.params.word(name) {
            Some(word) => word,
            None => panic!("{} declares no word '{name}'", self.info.id),
        }
    }

    /// Random numbers of this round and member.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// The private directory that this round may write in; removed afterwards. Declare
    /// `Need::WorkDir` or `Need::WorkDirFor` to have one.
    ///
    /// # Errors
    /// `Unsupported` when there is none; `Failed` when the need is not declared: a run makes the
    /// directory only for who needs it.
    pub fn work_dir(&self) -> Result<&'j Path, BenchError> {
        if !self.info.needs.iter().any(|need| need.is_work_dir(&self.job.params)) {
            return Err(BenchError::Failed(format!("{} does not declare that it needs a directory", self.info.id)));
        }
        match &self.job.work_dir {
            Some(dir) => Ok(Path::new(dir)),
            None => Err(BenchError::Unsupported("no directory to write in (see --work-dir)".to_owned())),
        }
    }

    /// Which round of the run this is, from 0.
    pub fn round(&self) -> u32 {
        self.job.round
    }

    /// Which member of the worker group this is, from 0.
    pub fn member(&self) -> u32 {
        self.member.as_ref().map_or(0, Member::index)
    }

    /// Members of the worker group.
    pub fn workers(&self) -> u32 {
        self.job.workers
    }

    /// Iterations that the measured loops have run in this process up to now, warm-up included: the denominator of proofs.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// As [`Ctx::iterations`], of the loop of that name alone.
    pub fn iterations_of(&self, name: &str) -> u64 {
        self.by_loop.iter().filter(|(of, _)| *of == name).map(|(_, n)| n).sum()
    }

    /// Forks a helper that runs `body` on the CPU of the other side, as the placement says. The helper first closes its copies of
    /// `close`: while it held the other end of a pipe that it reads, it would never see the end of it.
    ///
    /// # Errors
    /// Those of the fork and of pinning.
    pub fn fork_peer(
        &self,
        close: &[BorrowedFd<'_>],
        body: impl FnOnce() -> i32,
    ) -> Result<sys::fork::Child, BenchError> {
        let cpu = self.peer_cpu();
        // By the job, not by what this function pins to: a helper that was pinned to the wrong CPU must show.
        let planned = if self.job.workers == 1 { self.job.cpus.get(1).copied() } else { None };
        let watched = match planned {
            Some(cpu) => {
                let board =
                    self.peers.forking().map_err(|e| BenchError::from_io("sharing memory with the other side", &e))?;
                Some((board, cpu))
            }
            None => None,
        };
        let look = move || {
            if let Some((board, cpu)) = watched {
                evidence::look(board, cpu);
            }
        };
        sys::fork::fork(move || {
            if let Some(cpu) = cpu
                && let Err(e) = sys::affinity::pin(cpu)
            {
                eprintln!("the other side cannot be pinned to CPU {cpu}: {e}");
                return 1;
            }
            sys::fork::close_copies(close);
            look();
            let code = body();
            look();
            code
        })
        .map_err(|e| BenchError::from_io("forking the other side", &e))
    }

    /// The `groma serve` that is the other side, when that is on another machine.
    pub fn remote(&self) -> Option<&'j Remote> {
        self.job.remote.as_ref()
    }

    /// The CPU of the other side of a two-sided benchmark; `None` where the scheduler chooses.
    pub fn peer_cpu(&self) -> Option<u32> {
        if self.job.workers > 1 { None } else { self.job.cpus.get(1).copied() }
    }

    /// Where the point is placed.
    pub fn placement(&self) -> &'j Placement {
        &self.job.placement
    }

    /// Leaves open in this round what could not be told, and says why: an output that no round gave a value is `unresolved` for
    /// this reason. `output` is the suffix of one, or empty for all that have no reason of their own.
    pub fn unresolved(&mut self, output: &str, reason: &str) {
        self.remark(Remark::Unresolved { output: output.to_owned(), reason: reason.to_owned() });
    }

    fn rules(&self) -> Rules {
        let class = self.info.interference;
        Rules {
            timing: self.info.timing,
            interval_ns: self.job.host.interval_ns,
            intervals: self.job.intervals,
            time_limit_ns: self.job.time_limit_ns,
            warm_ns: self.job.warm_ns,
            drops: class.drops(),
            faults_expected: matches!(self.info.interference, Interference::Faults | Interference::Tasks),
            blocks: matches!(self.info.interference, Interference::Blocking | Interference::Tasks),
            tasks: self.info.interference == Interference::Tasks,
            counter_hz: self.job.host.counter_hz,
        }
    }

    /// Measures a loop: `body(iters)` does `iters` iterations.
    ///
    /// # Errors
    /// What `body` returns; `Failed` when it takes no time.
    pub fn measure(&mut self, body: impl FnMut(u64) -> Outcome) -> Outcome {
        self.measure_variants(&mut [Variant::new("", body)])
    }

    /// As [`Ctx::measure`], for an iteration that holds `per_iter` operations or bytes.
    ///
    /// # Errors
    /// As [`Ctx::measure`].
    pub fn measure_per(&mut self, per_iter: f64, body: impl FnMut(u64) -> Outcome) -> Outcome {
        self.measure_variants(&mut [Variant::new("", body).per_iter(per_iter)])
    }

    /// Measures a loop that starts and stops the watch itself.
    ///
    /// # Errors
    /// As [`Ctx::measure`].
    pub fn measure_staged(&mut self, body: impl FnMut(u64, &mut Stopwatch<'_>) -> Outcome) -> Outcome {
        self.measure_variants(&mut [Variant::staged("", body)])
    }

    /// Measures several loops in turn within the same round, so that their differences are paired.
    ///
    /// # Errors
    /// As [`Ctx::measure`].
    pub fn measure_variants(&mut self, variants: &mut [Variant<'_>]) -> Outcome {
        let rules = self.rules();
        crate::testing::mutilate(variants);
        if let Some(member) = &mut self.member {
            let (series, iterations) = member.measure(&Real, &rules, variants)?;
            self.output.series.extend(series);
            self.iterations += iterations;
            self.by_loop.extend(variants.iter().map(|variant| (variant.name, variant.done)));
            return Ok(());
        }
        let samples = sampler::alone(&Real, &rules, variants, &self.job.frozen, &mut self.rng)?;
        self.output.append(samples.output);
        self.iterations += samples.iterations;
        self.by_loop.extend(variants.iter().map(|variant| (variant.name, variant.done)));
        if let Some(ratio) = samples.scaling {
            self.prove_scaling(ratio);
        }
        Ok(())
    }

    /// What one iteration of `body(iters)` costs, from the fastest of `windows` short windows: for benchmarks that go through many
    /// settings in one round (sizes, strides, numbers of chains) and state what they found.
    ///
    /// A window lasts a quarter of an interval or one iteration; it is right on a busy machine because it is short, and the
    /// fastest counts because interference only adds. The core's clock is taken on both sides of each window, so that costs can
    /// be compared in cycles where the clock hops; windows in which it changed or the kernel took the CPU away count only when
    /// there are no others.
    ///
    /// # Errors
    /// What `body` returns; `Failed` when it takes no time.
    pub fn probe(&mut self, windows: u32, body: impl FnMut(u64) -> Outcome) -> Result<Cost, BenchError> {
        let body = crate::testing::mutilated(body);
        let cost = crate::probe::probe(&Real, windows, self.job.host.interval_ns / 4.0, body, &mut self.iterations)?;
        self.output.core_hz = Some(cost.core_hz);
        Ok(cost)
    }

    /// A loop whose time does not grow with its iterations was optimised away: that is a broken proof. A ratio that is merely
    /// off is noise or a remark, never a reason to throw a result away.
    fn prove_scaling(&mut self, ratio: f64) {
        if !(1.9..=2.1).contains(&ratio) {
            self.note(format!("2k iterations took {ratio:.2} times as long as k"));
        }
        self.prove(
            "time of 2k iterations over time of k",
            "1.9..2.1, broken below 1.5",
            ratio,
            sampler::LEAST_SCALING..,
        );
    }

    /// States a value outright, in SI units, for benchmarks that are no time per iteration.
    pub fn state(&mut self, value: f64) {
        self.state_as("", value);
    }

    /// States a value of a named series.
    pub fn state_as(&mut self, series: &str, value: f64) {
        match self.output.series.iter_mut().find(|s| s.name == series) {
            Some(s) => s.values.push(value),
            None => self.output.series.push(Series {
                name: series.to_owned(),
                iters: 1,
                per_iter: 1.0,
                samples: Vec::new(),
                values: vec![value],
            }),
        }
    }

    /// Evidence: `seen` has to be within `range`, of which `expected` tells people.
    pub fn prove(&mut self, name: &str, expected: &str, seen: f64, range: impl RangeBounds<f64>) {
        self.output.proofs.push(Proof {
            name: name.to_owned(),
            expected: expected.to_owned(),
            seen,
            holds: seen.is_finite() && range.contains(&seen),
        });
    }

    /// A fact about the round: `kernel = avx512`, `fork.resident = 2359296`.
    pub fn fact(&mut self, key: &str, value: impl ToString) {
        self.output.facts.push(Fact::new(key, value));
    }

    /// A remark for the record, for people only.
    pub fn note(&mut self, text: impl Into<String>) {
        self.remark(Remark::Note(text.into()));
    }

    /// A remark that decides something.
    pub(crate) fn remark(&mut self, remark: Remark) {
        self.output.remarks.push(remark);
    }

    /// The harness's clock, for benchmarks that state values.
    pub fn now_ns(&self) -> u64 {
        Real.now_ns()
    }

    /// The core's clock as a short arithmetic chain sees it at this moment, in hertz: smallest of `tries`.
    pub fn core_hz(&self, tries: u32) -> f64 {
        let fastest = (0..tries.max(1)).map(|_| Real.frequency_probe_ns()).min().unwrap_or(1);
        crate::instruments::FREQUENCY_PROBE_OPS as f64 / fastest.max(1) as f64 * 1e9
    }

    /// What the preflight found about clock and scheduler.
    pub fn host(&self) -> &'j crate::model::Host {
        &self.job.host
    }

    /// The time box of the round, in nanoseconds, for benchmarks that state values.
    pub fn time_limit_ns(&self) -> u64 {
        self.job.time_limit_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::{Benchmark, Run};
    use crate::model::{Need, Output, Param, Timing, WorkerKind};

    static INFO: Info = Info {
        params: &[Param::count("n", "").quick(&["7"]), Param::word("w", "", &["a", "b"]).quick(&["b"]).named(&["a"])],
        needs: &[Need::WorkDir],
        ..Info::new("test.ctx")
    };

    fn job() -> Job {
        let bench = Benchmark { info: INFO, run: Run::NotHere("") };
        crate::testing::job(&bench, &[], None, 1, WorkerKind::Processes)
    }

    #[test]
    fn a_ratio_of_one_breaks_the_scaling_and_one_that_is_off_is_a_remark() {
        let proven = |ratio: f64| {
            let job = job();
            let mut ctx = Ctx::new(&job, &INFO, None);
            ctx.prove_scaling(ratio);
            let [proof] = ctx.output.proofs.as_slice() else { panic!("one proof") };
            assert!(proof.seen == ratio || ratio.is_nan());
            (proof.holds, ctx.output.remarks)
        };
        for (ratio, holds, noted) in [
            (0.0, false, true),
            (1.0, false, true),
            (1.49, false, true),
            (f64::NAN, false, true),
            (1.5, true, true),
            (1.89, true, true),
            (1.9, true, false),
            (2.0, true, false),
            (2.1, true, false),
            (2.11, true, true),
            (30.0, true, true),
        ] {
            let (held, notes) = proven(ratio);
            assert_eq!((held, !notes.is_empty()), (holds, noted), "{ratio}: {notes:?}");
        }
        assert_eq!(proven(1.0).1, ["2k iterations took 1.00 times as long as k"].map(Remark::from));
    }

    #[test]
    fn a_proof_is_within_its_range_and_a_number() {
        let job = job();
        let mut ctx = Ctx::new(&job, &INFO, None);
        for (seen, range, holds) in [
            (1.0, 1.0..=2.0, true),
            (2.0, 1.0..=2.0, true),
            (0.999, 1.0..=2.0, false),
            (2.001, 1.0..=2.0, false),
            (f64::NAN, 1.0..=2.0, false),
            (f64::INFINITY, 1.0..=f64::INFINITY, false),
        ] {
            ctx.prove("x", "1..2", seen, range);
            assert_eq!(
                ctx.output.proofs.pop().map(|p| (p.name, p.expected, p.holds)),
                Some(("x".into(), "1..2".into(), holds))
            );
        }
    }

    #[test]
    fn what_is_said_is_kept() {
        let job = Job { round: 4, seed: 9, workers: 1, work_dir: Some("/d".into()), ..job() };
        let mut ctx = Ctx::new(&job, &INFO, None);
        assert_eq!((ctx.int("n"), ctx.word("w"), ctx.round(), ctx.member(), ctx.workers()), (7, "b", 4, 0, 1));
        assert_eq!(
            (ctx.work_dir(), ctx.time_limit_ns(), ctx.iterations()),
            (Ok(Path::new("/d")), job.time_limit_ns, 0)
        );
        assert!(ctx.remote().is_none() && *ctx.placement() == Placement::Free);
        ctx.state(1.0);
        ctx.state_as("b", 2.0);
        ctx.state(3.0);
        let values: Vec<_> =
            ctx.output.series.iter().map(|s| (s.name.as_str(), s.values.as_slice(), s.iters)).collect();
        assert_eq!(values, [("", &[1.0, 3.0][..], 1), ("b", &[2.0], 1)]);
        ctx.unresolved("", "nobody came");
        ctx.unresolved("l2", "no step");
        ctx.note("by the way");
        assert_eq!(
            ctx.output.remarks,
            ["cannot tell: nobody came", "l2: cannot tell: no step", "by the way"].map(Remark::from)
        );
        ctx.fact("k", 2);
        assert_eq!(ctx.output.facts, [Fact::new("k", 2)]);
        let before = ctx.now_ns();
        while ctx.now_ns() == before {}
        assert!(ctx.core_hz(3) > 1e7, "a core of less than 10 MHz");
        assert_eq!(ctx.host().interval_ns, 50_000.0);
        let other = Job { work_dir: None, ..job.clone() };
        assert!(matches!(Ctx::new(&other, &INFO, None).work_dir(), Err(BenchError::Unsupported(_))));
        let seeds = [1, 2].map(|seed| Ctx::new(&Job { seed, ..job.clone() }, &INFO, None).rng().next_u64());
        assert_ne!(seeds[0], seeds[1]);
    }

    #[test]
    fn the_other_side_has_the_second_cpu_of_a_worker_alone() {
        let peer = |cpus: &[u32], workers: u32| {
            let job = Job { cpus: cpus.to_vec(), workers, ..job() };
            Ctx::new(&job, &INFO, None).peer_cpu()
        };
        assert_eq!((peer(&[3, 5], 1), peer(&[3], 1), peer(&[], 1), peer(&[3, 5], 2)), (Some(5), None, None, None));
    }

    #[test]
    fn the_rules_are_those_of_the_descriptor_and_the_job() {
        for (interference, faults, blocks, tasks) in [
            (Interference::Cpu, false, false, false),
            (Interference::Faults, true, false, false),
            (Interference::Blocking, false, true, false),
            (Interference::Tasks, true, true, true),
        ] {
            let info = Info { interference, timing: Timing::Each, ..INFO };
            let mut job = Job { intervals: 11, time_limit_ns: 12, warm_ns: 13, ..job() };
            (job.host.interval_ns, job.host.counter_hz) = (14.0, Some(15.0));
            let rules = Ctx::new(&job, &info, None).rules();
            assert_eq!((rules.faults_expected, rules.blocks, rules.tasks), (faults, blocks, tasks), "{interference:?}");
            assert_eq!((rules.timing, rules.intervals, rules.time_limit_ns, rules.warm_ns), (Timing::Each, 11, 12, 13));
            assert_eq!((rules.interval_ns, rules.counter_hz, rules.drops), (14.0, Some(15.0), interference.drops()));
        }
    }

    /// Three ways to measure, each of a chain of additions.
    static MEASURES: Benchmark = Benchmark {
        info: Info {
            outputs: &[Output::MAIN],
            params: &[Param::word("how", "", &["plain", "per", "staged", "probe"])
                .quick(&["plain"])
                .named(&["per", "staged", "probe"])],
            ..Info::new("cpu.measures")
        },
        run: Run::Here(|ctx| {
            let chain = |iters: u64| {
                sys::arch::add_chain(iters * 64);
                Ok(())
            };
            let staged = |iters: u64, watch: &mut Stopwatch<'_>| {
                watch.start();
                sys::arch::add_chain(iters * 64);
                watch.stop();
                Ok(())
            };
            match ctx.word("how") {
                "plain" => ctx.measure(chain),
                "per" => ctx.measure_per(64.0, chain),
                "staged" => ctx.measure_staged(staged),
                _ => {
                    let cost = ctx.probe(3, chain)?;
                    ctx.state(cost.seconds);
                    Ok(())
                }
            }
        }),
    };

    #[test]
    fn every_way_to_measure_takes_samples_and_counts_iterations() {
        for (how, per_iter) in [("plain", 1.0), ("per", 64.0), ("staged", 1.0)] {
            let tried = crate::testing::try_out(&MEASURES, &[("how", how)], None).expect("it runs");
            let series = tried.result.series("").expect("samples");
            assert!(series.samples.len() >= 3 && series.per_iter == per_iter, "{how}");
            assert!(tried.iterations >= series.samples.iter().map(|s| s.iters).sum::<u64>(), "{how}");
            assert!(tried.proven("time of 2k iterations over time of k") >= 1.5);
            assert!(tried.result.output.core_hz.is_some_and(|hz| hz > 1e7));
        }
        let probed = crate::testing::try_out(&MEASURES, &[("how", "probe")], None).expect("it runs");
        assert!(probed.iterations > 3 && probed.result.output.core_hz.is_some_and(|hz| hz > 1e7));
        assert!(probed.result.series("").is_some_and(|s| s.values.len() == 1 && s.values[0] > 1e-9));
    }

    #[test]
    fn iterations_are_counted_in_all_and_by_loop() {
        let job = Job { workers: 3, ..job() };
        let mut ctx = Ctx::new(&job, &INFO, None);
        let did = [std::cell::Cell::new(0), std::cell::Cell::new(0)];
        let count = |i: usize| {
            let did = &did[i];
            move |iters: u64| {
                did.set(did.get() + iters);
                crate::sys::arch::add_chain(iters * 64);
                Ok(())
            }
        };
        ctx.measure_variants(&mut [Variant::new("a", count(0)), Variant::new("b", count(1))])
            .expect("loops that do something");
        assert_eq!([ctx.iterations_of("a"), ctx.iterations_of("b")], [did[0].get(), did[1].get()]);
        assert_eq!((ctx.iterations(), ctx.iterations_of("c")), (did[0].get() + did[1].get(), 0));
        assert_eq!((ctx.workers(), ctx.member()), (3, 0));
    }

    /// An interruption may make one iteration last as long as a window, but not each time.
    #[test]
    fn a_window_of_a_probe_holds_more_than_one_short_iteration() {
        let job = job();
        let mut ctx = Ctx::new(&job, &INFO, None);
        let mut most = 0;
        for _ in 0..20 {
            let body = |iters: u64| {
                most = most.max(iters);
                crate::sys::arch::add_chain(iters * 64);
                Ok(())
            };
            ctx.probe(3, body).expect("a loop that does something");
        }
        assert!(most > 1, "64 additions do not take a quarter of an interval");
    }
}
