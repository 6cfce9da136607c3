//! What a benchmark sees of the harness: its parameters, its measuring verbs, its proofs.
//!
//! A benchmark does not time, print, parse, choose repetitions, or know statistics. Set-up is the
//! code before a measuring verb, clean-up is `Drop`.

use crate::core_watch::CoreWatch;
use crate::error::{BenchError, Outcome};
use crate::evidence::{self, PeerPlace, Peers};
use crate::instruments::{Instruments, Real};
use crate::iterations::MIN_SCALING;
use crate::labels::Rules;
use crate::member::Member;
use crate::model::{
    FIRST, Fact, Info, Interference, Job, Label, Need, Params, Phase, Placement, Proof, Remark, Remote, RoundOutput,
    RunFile, Series,
};
use crate::mutation;
use crate::probe::Cost;
use crate::sampler::{self, Samples};
use crate::stopwatch::Stopwatch;
use crate::sys;
use crate::sys::clock::Clock;
use crate::variant::Variant;
use groma_stats::rng::Rng;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::os::fd::BorrowedFd;
use std::path::Path;

/// The harness as one round of one benchmark sees it.
pub struct Ctx<'j> {
    job: &'j Job,
    info: &'j Info,
    member: Option<Member<'j>>,
    rng: Rng,
    peers: Peers,
    /// What the round has brought up to now.
    pub(crate) output: RoundOutput,
    /// What each of its proofs allows.
    allowed: Vec<(Bound<f64>, Bound<f64>)>,
    /// Iterations of all measured loops.
    iterations: u64,
    /// When the last measurement ended, on the harness's clock.
    measured_ns: Option<u64>,
    /// The same by loop, for those that [`Ctx::measure_variants`] ran.
    by_loop: Vec<(&'static str, u64)>,
    /// The watch of all probes, which share what the round may wait.
    watch: Option<CoreWatch<'static, Real>>,
}

impl<'j> Ctx<'j> {
    /// Private to the crate, so that holding the list of benchmarks is not enough to run one.
    pub(crate) fn new(job: &'j Job, info: &'j Info, member: Option<Member<'j>>) -> Ctx<'j> {
        let stream = member.as_ref().map_or(0, |m| u64::from(m.index()) + 1);
        Ctx {
            job,
            info,
            rng: Rng::new(job.seed).fork(stream),
            member,
            peers: Peers::default(),
            output: RoundOutput::default(),
            allowed: Vec::new(),
            iterations: 0,
            by_loop: Vec::new(),
            measured_ns: None,
            watch: None,
        }
    }

    /// What the round brought, with what the harness itself proves of it.
    pub(crate) fn conclude(self, ins: &impl Instruments) -> Samples {
        let mut output = self.output;
        if let Some(watch) = &self.watch {
            output.core.add(&watch.seen);
        }
        evidence::of_time(ins, self.info, &self.job.host, &mut output);
        evidence::of_place(self.job, &mut output, Some(&self.peers));
        if let Some(measured_ns) = self.measured_ns {
            output.phases.add(Phase::Proofs, ins.now_ns().saturating_sub(measured_ns));
        }
        Samples { output, iterations: self.iterations, scaling: None, allowed: self.allowed }
    }

    /// The value of a size or count parameter.
    ///
    /// # Panics
    /// When the descriptor declares no such parameter: a mistake in the benchmark, recorded as
    /// `failed`.
    pub fn int(&self, name: &str) -> u64 {
        match self.job.params.int(name) {
            Some(n) => n,
            None => panic!("{} declares no size or count '{name}'", self.info.id),
        }
    }

    /// The value of a size parameter; `None` where a word stands in its place.
    pub fn size_unless_word(&self, name: &str) -> Option<u64> {
        self.job.params.int(name)
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

    /// The id of the benchmark.
    pub fn id(&self) -> &'j str {
        self.info.id
    }

    /// All chosen parameters.
    pub fn params(&self) -> &'j Params {
        &self.job.params
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

    /// The file that all rounds of the run share, where this run has one: empty until a round
    /// writes to it.
    pub fn run_file(&self) -> Option<&'j RunFile> {
        self.job.run_file.as_ref()
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

    /// Iterations that the measured loops have run in this process up to now, warm-up included: the
    /// denominator of proofs.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// As [`Ctx::iterations`], of the loop of that name alone.
    pub fn iterations_of(&self, name: &str) -> u64 {
        self.by_loop.iter().filter(|(of, _)| *of == name).map(|(_, n)| n).sum()
    }

    /// Forks a peer that runs `body` on the CPU that the placement gives it. Where that is not the
    /// CPU of this side, one peer at least must be forked like this or be a thread in a
    /// [`Ctx::peer_place`], or the round fails. The peer first closes its copies of `close`: while
    /// it held the other end of a pipe that it reads, it would never see the end of it.
    ///
    /// # Errors
    /// Those of the fork and of pinning.
    pub fn fork_peer(
        &self,
        close: &[BorrowedFd<'_>],
        body: impl FnOnce() -> i32,
    ) -> Result<sys::fork::Child, BenchError> {
        let place = self.peer_place()?;
        sys::fork::fork(move || {
            if let Some(cpu) = place.cpu
                && let Err(e) = sys::affinity::pin(cpu)
            {
                eprintln!("the peer cannot be pinned to CPU {cpu}: {e}");
                return 1;
            }
            sys::fork::close_copies(close);
            place.look();
            let code = body();
            place.look();
            code
        })
        .map_err(|e| BenchError::from_io("forking the peer", &e))
    }

    /// The place of a peer that is a thread of this process, which goes there by itself
    /// ([`PeerPlace::occupy`]). It counts as a peer as one that [`Ctx::fork_peer`] forks.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn peer_place(&self) -> Result<PeerPlace, BenchError> {
        // By the job, not by what the peer pins itself to: one that was pinned to the wrong CPU
        // must be noticed.
        let planned = if self.job.workers == 1 { self.job.cpus.get(1).copied() } else { None };
        let watched = planned.map(|cpu| Ok((self.peers.making()?, cpu))).transpose();
        let watched = watched.map_err(|e: io::Error| BenchError::from_io("sharing memory with the peer", &e))?;
        Ok(PeerPlace { cpu: self.peer_cpu(), watched })
    }

    /// The `groma serve` that runs the peer, when the peer is on another machine.
    pub fn remote(&self) -> Option<&'j Remote> {
        self.job.remote.as_ref()
    }

    /// The peer's CPU in a two-sided benchmark; `None` where the scheduler chooses.
    pub fn peer_cpu(&self) -> Option<u32> {
        if self.job.workers > 1 { None } else { self.job.cpus.get(1).copied() }
    }

    /// Where the point is placed.
    pub fn placement(&self) -> &'j Placement {
        &self.job.placement
    }

    /// States that an output has no value in this round, and why: an output without a value in any
    /// round is `unresolved` for this reason. `output` is the suffix of one, or empty for all that
    /// have no reason of their own.
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
            sleeps: self.job.cpus.iter().any(|cpu| *cpu != self.job.cpus[0]) || self.job.cpus.is_empty(),
            tasks: self.info.interference == Interference::Tasks,
            first: self.info.outputs.iter().any(|output| output.suffix == FIRST),
            rate: self.info.outputs.first().map_or(self.info.quantity, |o| self.info.quantity_of(o)).is_rate(),
            clock_cost_ns: self.job.host.clock_cost_ns,
            counter_hz: self.job.host.counter_hz,
            core: self.job.host.core,
            wait_ns: self.job.wait_ns,
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
        mutation::mutilate(variants);
        if let Some(member) = &mut self.member {
            let (series, iterations) = member.measure(&Real, &rules, variants, &mut self.rng)?;
            self.output.series.extend(series);
            self.iterations += iterations;
            self.by_loop.extend(variants.iter().map(|variant| (variant.name, variant.done)));
            return Ok(());
        }
        let samples = sampler::alone(&Real, &rules, variants, &self.job.frozen, &mut self.rng)?;
        self.output.append(samples.output);
        self.measured_ns = Some(Real.now_ns());
        self.iterations += samples.iterations;
        self.by_loop.extend(variants.iter().map(|variant| (variant.name, variant.done)));
        if let Some(ratio) = samples.scaling {
            self.prove_scaling(ratio);
        }
        Ok(())
    }

    /// What one iteration of `body(iters)` costs, from the fastest of `windows` short windows: for
    /// benchmarks that go through many settings in one round (sizes, strides, numbers of chains)
    /// and state what they found.
    ///
    /// A window lasts a quarter of an interval or one iteration; it is right on a busy machine
    /// because it is short, and the fastest counts because interference only adds. The core's clock
    /// is taken on both sides of each window, so that costs can be compared in cycles where the
    /// clock hops; windows in which it changed or the kernel took the CPU away count only when
    /// there are no others, and those beside a busy sibling thread only when none was alone. Each
    /// begins when the sibling rests, as long as the round may wait
    /// (docs/methods/neighbour.md#what-is-stated).
    ///
    /// # Errors
    /// What `body` returns; `Failed` when it takes no time.
    pub fn probe(&mut self, windows: u32, body: impl FnMut(u64) -> Outcome) -> Result<Cost, BenchError> {
        self.probe_at_most(windows, u64::MAX, body)
    }

    /// As [`Ctx::probe`], with windows of at most `most` iterations: for what is used up, such as
    /// lines that no cache holds.
    ///
    /// # Errors
    /// As [`Ctx::probe`].
    pub fn probe_at_most(
        &mut self,
        windows: u32,
        most: u64,
        body: impl FnMut(u64) -> Outcome,
    ) -> Result<Cost, BenchError> {
        let (body, least_ns) = (mutation::mutilated(body), self.job.host.interval_ns / 4.0);
        let begun = Real.now_ns();
        let watch = self.watch.get_or_insert_with(|| CoreWatch::new(&Real, self.job.host.core, self.job.wait_ns));
        let cost = crate::probe::probe((&Real, watch), windows, least_ns, most, body, &mut self.iterations)?;
        self.sampled_since(begun);
        self.output.core_hz = Some(cost.core_hz);
        Ok(cost)
    }

    /// A loop whose time does not grow with its iterations was optimised away: that is a broken
    /// proof. A ratio that is merely off is noise or a remark, never a reason to throw a result
    /// away.
    fn prove_scaling(&mut self, ratio: f64) {
        if !(1.9..=2.1).contains(&ratio) {
            self.note(format!("2k iterations took {ratio:.2} times as long as k"));
        }
        self.prove("time of 2k iterations over time of k", "1.9..2.1, broken below 1.5", ratio, MIN_SCALING..);
    }

    /// States a value outright, in SI units, for benchmarks that are no time per iteration.
    pub fn state(&mut self, value: f64) {
        self.state_as("", value);
    }

    /// States a value of a named series.
    pub fn state_as(&mut self, series: &str, value: f64) {
        self.state_seen(series, value, true);
    }

    /// As [`Ctx::state_as`], of what probes found. Unless it was seen `alone` ([`Cost::alone`]), it
    /// is what a busy sibling thread leaves, and labelled so.
    pub fn state_seen(&mut self, series: &str, value: f64, alone: bool) {
        if !value.is_finite() {
            self.prove(&format!("values stated as '{series}' that are no number"), "0", 1.0, ..=0.0);
            return;
        }
        let at = self.output.series.iter().position(|s| s.name == series).unwrap_or_else(|| {
            self.output.series.push(Series::stated(series, Vec::new()));
            self.output.series.len() - 1
        });
        let series = &mut self.output.series[at];
        series.values.push(value);
        if !alone {
            series.value_labels.add(Label::Shared);
        }
    }

    /// Adds a proof: `seen` must be within `range`; `expected` describes the range for people.
    pub fn prove(&mut self, name: &str, expected: &str, seen: f64, range: impl RangeBounds<f64>) {
        self.allowed.push((range.start_bound().cloned(), range.end_bound().cloned()));
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

    /// States that what was measured may have come from the memory of a device or of the host.
    pub fn suspect_cache(&mut self) {
        self.remark(Remark::Cache);
    }

    /// A remark that decides something.
    pub(crate) fn remark(&mut self, remark: Remark) {
        self.output.remarks.push(remark);
    }

    /// The harness's clock, for benchmarks that state values.
    pub fn now_ns(&self) -> u64 {
        Real.now_ns()
    }

    /// The core's clock as a short arithmetic chain sees it at this moment, in hertz: smallest of
    /// `tries`.
    pub fn core_hz(&self, tries: u32) -> f64 {
        let fastest = (0..tries.max(1)).map(|_| Real.frequency_probe_ns()).min().unwrap_or(1);
        crate::instruments::FREQUENCY_PROBE_OPS as f64 / fastest.max(1) as f64 * 1e9
    }

    /// What the preflight found about clock and scheduler.
    pub fn host(&self) -> &'j crate::model::Host {
        &self.job.host
    }

    /// Bytes of which the caches of one CPU hold little; `None` where the run found no end of them.
    ///
    /// # Errors
    /// Without [`Need::EndOfCaches`], by which a run knows that it has to look.
    pub fn beyond_caches(&self) -> Result<Option<u64>, BenchError> {
        if self.info.needs.contains(&Need::EndOfCaches) {
            return Ok(self.job.host.beyond_caches);
        }
        Err(BenchError::Failed("asks for the end of the caches without Need::EndOfCaches".to_owned()))
    }

    /// Attributes the time since `begun_ns` to sampling: for benchmarks that state values of a loop
    /// of their own, whose time would count as set-up.
    pub fn sampled_since(&mut self, begun_ns: u64) {
        let ended = Real.now_ns();
        self.output.phases.add(Phase::Sampling, ended.saturating_sub(begun_ns));
        self.measured_ns = Some(ended);
    }

    /// The time limit of the round, in nanoseconds, for benchmarks that state values.
    pub fn time_limit_ns(&self) -> u64 {
        self.job.time_limit_ns
    }
}

#[cfg(test)]
mod tests;
