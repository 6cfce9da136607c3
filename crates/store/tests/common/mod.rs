//! A run with every kind of data, shared by all tests.
#![allow(dead_code, reason = "each test file uses a part")]

use groma_model::{
    Better, CoreRates, CpuLimit, Derivation, End, Fact, Host, Label, LabelCounts, Labels, Machine, Metric,
    NoiseVerdict, Params, Phase, Phases, Placement, Point, Profile, Proof, Quantity, Record, Round, RoundOutput,
    RoundResult, RunHeader, SCHEMA, Sample, Series, State, StateCounts, Timing, Unit, Value, WorkerKind,
};
use groma_store::{Sink, Store};
use std::collections::BTreeSet;

/// The head of a run. The digits of its id determine its start time, so runs sort by their ids.
pub(crate) fn header(run: &str) -> RunHeader {
    RunHeader {
        schema: SCHEMA,
        run: run.to_owned(),
        started: format!("2026-01-02T03:04:{run}Z"),
        groma: "0.1.0".to_owned(),
        build: "x86_64-unknown-linux-gnu release rustc 1.95.0 dynamic".to_owned(),
        args: vec!["run".to_owned(), "ipc.*".to_owned(), "--param=name=\"a b\"\n\u{1F4CF}".to_owned()],
        tags: BTreeSet::from(["before".parse().expect("a tag")]),
        in_turns: None,
        seed: u64::MAX,
        profile: Profile::Standard,
        budget_s: 60.0,
        environment: Machine {
            facts: vec![Fact::new(groma_store::HOST_NAME, "bench-1"), Fact::new("kernel.release", "6.18.5")],
        },
        host: Host {
            clock_step_ns: 0.3333333333333333,
            clock_cost_ns: 23.7,
            timeslice_ns: 4e6,
            timeslice_assumed: true,
            interval_ns: 1e5,
            proportionality: Some(0.1 + 0.2),
            counter_hz: None,
            beyond_caches: Some(128 << 20),
            core: None,
        },
        noise: Some(NoiseVerdict::Fine),
        noise_lost: Some(5e-324),
        cpu_limit: Some(CpuLimit { cpus: Some(1.5), held_back: 0.1 }),
        remarks: vec!["cycle counter not used: it stops".into()],
    }
}

fn params(list: &[(&str, Value)]) -> Params {
    Params(list.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

fn metric(id: &str, derivation: Derivation<String>) -> Metric {
    Metric {
        id: id.to_owned(),
        summary: format!("what {id} is"),
        quantity: Quantity::Latency,
        better: Better::Lower,
        derivation,
        detail: false,
    }
}

pub(crate) fn points() -> Vec<Point> {
    let pipe = Point {
        bench: "ipc.pipe_rtt".to_owned(),
        version: 2,
        params: params(&[("size", Value::Int(65536)), ("kind", Value::Word("read".to_owned()))]),
        params_text: "size=64 KiB kind=read".to_owned(),
        placement: Placement::SameCpu,
        workers: 1,
        worker_kind: WorkerKind::Processes,
        timing: Timing::Each,
        drops: Labels::of(&[Label::Migrated, Label::Overlap]),
        target_half_width: 0.01,
        metrics: vec![metric("ipc.pipe_rtt", Derivation::Series(String::new()))],
    };
    let ring = Point {
        bench: "ctx.switch".to_owned(),
        version: 1,
        params: params(&[("tasks", Value::Int(u64::MAX))]),
        params_text: "tasks=many".to_owned(),
        placement: Placement::List(vec![0, 3]),
        workers: 4,
        worker_kind: WorkerKind::Threads,
        metrics: vec![
            metric("ctx.switch", Derivation::Series("raw".to_owned())),
            metric(
                "ctx.switch.net",
                Derivation::Difference { of: "raw".to_owned(), minus: "control".to_owned(), per: 3.0 },
            ),
            metric("ctx.switch.scaled", Derivation::Scaled { of: "raw".to_owned(), by: "bytes.per.byte".to_owned() }),
        ],
        ..pipe.clone()
    };
    let never = Point { bench: "clock.step".to_owned(), params: Params::default(), ..pipe.clone() };
    vec![pipe, ring, never]
}

/// A round of `n` samples. All its numbers follow from `round`, so that a reader can check them.
pub(crate) fn round(round: u32, n: u64) -> Round {
    let seed = u64::from(round) * 7919;
    let samples = (0..n).map(|i| Sample {
        worker: (i % 4) as u32,
        cpu: (seed + i) as u32 % 2,
        t0_ns: 1_000_000_000 + seed * 1_000_003 + i * 104_729,
        elapsed_ns: 100_000 + (seed + i * 37) % 911,
        iters: 1000,
        cpu_ns: 99_000 + (seed + i * 41) % 997,
        labels: if i % 10 == 3 { Labels::of(&[Label::Preempted, Label::Overlap]) } else { Labels::NONE },
        margin_ns: if i % 2 == 0 { Some(i as i64 - 5) } else { None },
    });
    let main =
        Series { name: String::new(), iters: 1000, per_iter: 1.0, samples: samples.collect(), ..Series::default() };
    let result = RoundResult {
        state: State::Ok,
        reason: String::new(),
        pid: 4711,
        output: RoundOutput {
            series: vec![main],
            proofs: vec![Proof {
                name: "switches per round trip".to_owned(),
                expected: "1.9..2.1".to_owned(),
                seen: 2.0 + f64::from(round) / 3.0,
                holds: true,
            }],
            facts: vec![Fact::new("fork.rss", 1_306_624)],
            remarks: vec!["retry".into()],
            core: CoreRates::default(),
            core_hz: Some(2.999_999_999_7e9),
            phases: phases(),
            preflight: None,
        },
        wall_ns: 12_345_678,
    };
    Round { round, result }
}

fn phases() -> Phases {
    let mut phases = Phases::default();
    phases.add(Phase::Sampling, 4_000_000);
    phases
}

/// A round of two named series, the second with stated values instead of samples.
pub(crate) fn round_of_two(number: u32) -> Round {
    let mut made = round(number, 3);
    made.result.output.series[0].name = "raw".to_owned();
    made.result.output.series.push(Series {
        name: "control".to_owned(),
        iters: 1,
        per_iter: 0.1,
        values: vec![0.1 + 0.2, -0.0, 1.797_693_134_862_315_7e308, 2.225_073_858_507_201e-308, 1.0 / 3.0],
        ..Series::default()
    });
    made.result.output.core_hz = None;
    made
}

pub(crate) fn failed_round(number: u32) -> Round {
    Round { round: number, result: RoundResult::ended(State::Timeout, "the worker did not answer in 2 s") }
}

pub(crate) fn end(interrupted: bool) -> End {
    End {
        states: StateCounts(vec![(State::Ok, 120), (State::Noisy, 2), (State::Failed, 1)]),
        wall_s: 58.912_345_678_9,
        interrupted,
        cpu_limit: Some(CpuLimit { cpus: None, held_back: 0.25 }),
        fewer_cpus: Some([4, 2]),
    }
}

pub(crate) fn record() -> Record {
    Record {
        id: "ipc.pipe_rtt".to_owned(),
        version: 2,
        summary: "Round trip between two processes over pipes".to_owned(),
        params: points()[0].params.clone(),
        params_text: "size=64 KiB kind=read".to_owned(),
        placement: Placement::SameCpu,
        workers: 1,
        worker_kind: WorkerKind::Processes,
        state: State::Noisy,
        reason: "9 of 20 samples clean".to_owned(),
        quantity: Quantity::Latency,
        unit: Unit::Seconds,
        better: Better::Lower,
        timing: Timing::Each,
        detail: false,
        value: Some(4.1e-6),
        ci: Some([4.0e-6, 0.1 + 0.2]),
        ci_display: Some([4.05e-6, 4.2e-6]),
        p10: Some(4.0e-6),
        p50: Some(4.1e-6),
        p90: Some(5.5e-6),
        p99: None,
        max: Some(f64::INFINITY),
        interference: Some(1.07),
        cycles: Some(12300.0),
        rounds: 7,
        samples: 20,
        clean: 9,
        labels: LabelCounts(vec![('P', 3), ('M', 8)]),
        shared: None,
        proofs: vec![Proof {
            name: "switches per round trip".to_owned(),
            expected: "1.9..2.1".to_owned(),
            seen: f64::NAN,
            holds: false,
        }],
        round_values: vec![4.1e-6, 4.0e-6],
        flags: vec!["few rounds".to_owned()],
        facts: vec![Fact::new("fork.rss", 1_306_624)],
        at_one_clock: None,
        round_samples: None,
    }
}

/// The rounds of the fixture with their points, in order of arrival.
pub(crate) fn rounds() -> Vec<(usize, Round)> {
    vec![(1, round_of_two(0)), (0, round(0, 25)), (0, round(1, 25)), (1, failed_round(1)), (0, round(2, 25))]
}

/// Writes the fixture up to its end.
pub(crate) fn write_unended(store: &Store, run: &str) {
    let mut writer = store.writer("4711 123456 boot-id").expect("writer");
    writer.begin(&header(run), &points()).expect("begin");
    for (point, round) in rounds() {
        writer.round(point, &round).expect("round");
        writer.record(&record()).expect("record");
    }
}

pub(crate) fn write(store: &Store, run: &str) {
    let mut writer = store.writer("4711 123456 boot-id").expect("writer");
    writer.begin(&header(run), &points()).expect("begin");
    for (point, round) in rounds() {
        writer.round(point, &round).expect("round");
    }
    writer.end(&end(false)).expect("end");
}
