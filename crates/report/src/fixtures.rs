//! A realistic run of a two-socket Intel server: every family, every state, two latency curves of
//! 40 points.
//!
//! Test support only. The numbers are made up, of realistic size, and the same each time.

mod survey;

/// The families of the catalogue: snapshots contain their sentences.
pub(crate) fn families() -> groma_model::Families<'static> {
    static ALL: std::sync::LazyLock<Vec<&'static groma_model::Family>> =
        std::sync::LazyLock::new(groma_benches::families);
    groma_model::Families { all: &ALL, pages: groma_benches::pages() }
}

pub(crate) use survey::{guest, nodes, pairs, survey, two_caches};

use groma_model::{
    Derivation, End, Fact, Host, Interference, Label, LabelCounts, Labels, Machine, Metric, NoiseVerdict, Params,
    Placement, Point, Profile, Proof, Quantity, Record, Round, RoundOutput, RoundResult, RunHeader, SCHEMA, Sample,
    Series, State, StateCounts, Timing, Value, WorkerKind, parse_size, size_text,
};
use std::collections::BTreeSet;

const CORE_HZ: f64 = 3.5e9;

/// An `ok`, pinned record of one worker with an interval of ±0.8 %; `params` as displayed.
pub(crate) fn record(id: &str, params: &str, quantity: Quantity, value: f64) -> Record {
    let half = value.abs() * 0.008;
    let latency = quantity == Quantity::Latency;
    Record {
        id: id.to_owned(),
        version: 1,
        summary: format!("what {id} measures"),
        params: parse(params),
        params_text: params.to_owned(),
        placement: Placement::Pinned,
        workers: 1,
        worker_kind: WorkerKind::Processes,
        state: State::Ok,
        reason: String::new(),
        quantity,
        unit: quantity.unit(),
        better: quantity.better(),
        timing: Timing::Batched,
        detail: false,
        value: Some(value),
        ci: Some([value - 1.2 * half, value + 1.2 * half]),
        ci_display: Some([value - half, value + half]),
        p10: Some(value * 0.99),
        p50: Some(value * 1.002),
        p90: Some(value * 1.06),
        p99: Some(value * 1.31),
        max: Some(value * 9.0),
        interference: Some(1.04),
        cycles: latency.then_some(value * CORE_HZ),
        rounds: 11,
        samples: 341,
        clean: 333,
        labels: LabelCounts(vec![('P', 8)]),
        shared: None,
        proofs: vec![],
        round_values: (0..11).map(|i| value * (0.995 + 0.001 * f64::from(i))).collect(),
        flags: vec![],
        facts: vec![],
        at_one_clock: None,
        round_samples: None,
    }
}

fn parse(text: &str) -> Params {
    let mut params: Vec<(String, String)> = Vec::new();
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        match (word.split_once('='), params.last_mut()) {
            (Some((name, value)), _) => params.push((name.to_owned(), value.to_owned())),
            (None, Some((_, value))) => value.push_str(word),
            (None, None) => {}
        }
    }
    let value = |text: String| match parse_size(&text) {
        Ok(n) => Value::Int(n),
        Err(_) => Value::Word(text),
    };
    Params(params.into_iter().map(|(name, text)| (name, value(text))).collect())
}

fn time(id: &str, params: &str, seconds: f64) -> Record {
    record(id, params, Quantity::Latency, seconds)
}

fn rate(id: &str, params: &str, bytes_per_s: f64) -> Record {
    record(id, params, Quantity::Bandwidth, bytes_per_s)
}

fn at(mut record: Record, placement: Placement) -> Record {
    record.placement = placement;
    record
}

fn workers(mut record: Record, n: u32) -> Record {
    record.workers = n;
    record.worker_kind = WorkerKind::Threads;
    record.placement = Placement::Compact;
    record
}

fn flagged(mut record: Record, flags: &[&str]) -> Record {
    record.flags = flags.iter().map(|f| (*f).to_owned()).collect();
    record
}

fn noisy(mut record: Record, half: f64, reason: &str) -> Record {
    record.state = State::Noisy;
    record.reason = reason.to_owned();
    let value = record.value.unwrap_or_default();
    record.ci_display = Some([value * (1.0 - half), value * (1.0 + half)]);
    record
}

/// A record that has no value.
pub(crate) fn without(mut record: Record, state: State, reason: &str) -> Record {
    record.state = state;
    record.reason = reason.to_owned();
    record.value = None;
    record.ci = None;
    record.ci_display = None;
    for quantile in [&mut record.p10, &mut record.p50, &mut record.p90, &mut record.p99, &mut record.max] {
        *quantile = None;
    }
    record.interference = None;
    record.cycles = None;
    record.rounds = 0;
    record.samples = 0;
    record.clean = 0;
    record.labels = LabelCounts::default();
    record.round_values.clear();
    record
}

/// Sizes from 4 KiB to 512 MiB in 40 steps, rounded to cache lines, with the declared capacities
/// among them.
fn sizes() -> Vec<u64> {
    let mut sizes: Vec<u64> = (0..37).map(|i| (4096.0 * 2f64.powf(f64::from(i) * 17.0 / 36.0)) as u64 & !63).collect();
    sizes.extend([48 << 10, 2 << 20, 60 << 20]);
    sizes.sort_unstable();
    sizes
}

/// L1 48 KiB 1.43 ns, L2 2 MiB 4.5 ns, L3 60 MiB 30 ns, memory 110 ns; each edge spans half an
/// octave, smooth in the logarithm.
fn latency(size: u64) -> f64 {
    let levels: [(f64, f64, f64); 3] =
        [(48.0 * 1024.0, 4.5, 0.5), (2048.0 * 1024.0, 30.0, 0.9), (61440.0 * 1024.0, 110.0, 1.1)];
    let mut ns: f64 = 1.43;
    for (capacity, next, octaves) in levels {
        let beyond = ((size as f64 / capacity).log2() / octaves).clamp(0.0, 1.0);
        ns = (ns.ln() * (1.0 - beyond) + next.ln() * beyond).exp();
    }
    ns * 1e-9
}

/// The added cost of address translation: none up to 384 KiB, then the second-level TLB, then
/// walks.
fn translation(size: u64) -> f64 {
    let walk = ((size as f64 / (6144.0 * 1024.0)).log2() / 5.0).clamp(0.0, 1.0) * 31e-9;
    let second = ((size as f64 / (384.0 * 1024.0)).log2()).clamp(0.0, 1.0) * 2e-9;
    walk + second
}

/// The records of the run, family by family.
#[expect(clippy::too_many_lines, reason = "a list of records, one of each kind")]
pub(crate) fn records() -> Vec<Record> {
    let mut all = vec![
        time("clock.read", "", 21.3e-9),
        time("clock.step", "", 10.0e-9),
        record("cpu.frequency", "", Quantity::Rate, 3.4987e9),
        time("cpu.call", "args=0", 1.14e-9),
        time("cpu.call", "args=7", 2.29e-9),
        time("syscall.getppid", "", 115.6e-9),
        time("syscall.read", "", 183e-9),
        time("syscall.write", "", 161e-9),
        flagged(time("syscall.stat", "", 642e-9), &["bimodal"]),
        time("syscall.fstat", "", 214e-9),
        time("syscall.open_close", "", 1.62e-6),
        time("vdso.clock_gettime", "clock=monotonic", 21.1e-9),
        time("signal.install", "", 131e-9),
        time("signal.catch", "", 1.08e-6),
        without(
            time("signal.catch.net", "", 0.0),
            State::Unresolved,
            "the interval of the net value, -31 ns to 29 ns, spans zero",
        ),
        time("proc.fork_exit", "", 112e-6),
        time("proc.vfork_exit", "", 38.4e-6),
        time("proc.spawn", "", 246e-6),
        time("proc.exec", "target=static", 287e-6),
        time("proc.exec", "target=dynamic", 613e-6),
        noisy(time("proc.shell", "", 1.31e-3), 0.124, "41 % of 186 samples were undisturbed"),
        without(time("proc.shell", "shell=/bin/zsh", 0.0), State::Unsupported, "there is no program /bin/zsh"),
        time("thread.create_join", "", 14.8e-6),
        at(time("ctx.switch", "tasks=2 set=0 B kind=process", 1.73e-6), Placement::SameCpu),
        at(time("ctx.switch.net", "tasks=2 set=0 B kind=process", 1.41e-6), Placement::SameCpu),
        at(time("ctx.switch", "tasks=16 set=64 KiB kind=process", 9.2e-6), Placement::SameCpu),
        flagged(
            at(
                noisy(time("ctx.switch.net", "tasks=16 set=64 KiB kind=process", 4.6e-6), 0.31, "the interval is wide"),
                Placement::SameCpu,
            ),
            &["drift", "imprecise"],
        ),
        at(time("ipc.pipe_rtt", "size=1 B", 4.83e-6), Placement::SameCpu),
        at(
            noisy(time("ipc.pipe_rtt", "size=1 B", 30.3e-6), 0.052, "38 % of 341 samples were undisturbed"),
            Placement::SameLlc,
        ),
        at(time("ipc.pipe_rtt", "size=1 B", 41.7e-6), Placement::CrossNode),
        at(
            without(
                time("ipc.pipe_rtt", "size=1 B", 0.0),
                State::Unsupported,
                "no two allowed CPUs are hardware threads of one core (SMT is off or not present)",
            ),
            Placement::Smt,
        ),
        at(time("ipc.pipe_rtt", "size=1 B", 7.9e-6), Placement::Free),
        at(rate("ipc.pipe_bandwidth", "size=64 KiB", 3.42e9), Placement::SameLlc),
        at(time("net.tcp_rtt", "size=1 B", 18.6e-6), Placement::SameCpu),
        at(time("net.tcp_rtt", "size=1 B", 44.1e-6), Placement::SameLlc),
        without(
            time("net.tcp_connect", "", 0.0),
            State::Failed,
            "proof broken: retransmitted SYNs, expected 0, saw 3; the listener's queue overflowed, and one second of \
             retransmit timer is not the cost of a connection",
        ),
        time("vm.fault", "kind=anonymous", 512e-9),
        time("vm.fault", "kind=zero", 241e-9),
        time("vm.fault", "kind=file", 388e-9),
        time("vm.fault", "kind=copy-on-write", 934e-9),
        without(time("vm.fault", "kind=huge", 0.0), State::Timeout, "no answer within 5 s of its deadline"),
        time("file.create_delete", "size=0 B", 11.2e-6),
        flagged(rate("file.reread", "size=64 MiB", 9.81e9), &["few rounds"]),
        without(
            time("file.create_delete", "size=10 KiB", 0.0),
            State::Denied,
            "creating a file in /work/scratch: Permission denied (EACCES); choose another with --work-dir",
        ),
    ];
    for chain in ["amortised", "included"] {
        for size in sizes() {
            let seconds = latency(size) + if chain == "included" { translation(size) } else { 0.0 };
            let params = format!("size={} chain={chain}", size_text(size));
            let mut record = time("mem.latency", &params, seconds);
            // The text is rounded; the value is not.
            record.params.0[0].1 = Value::Int(size);
            record.timing = Timing::Floor;
            all.push(record);
        }
    }
    for (kernel, top) in [("read", 1.0), ("write", 0.62), ("copy", 0.71)] {
        for (i, size) in [16u64 << 10, 1 << 20, 16 << 20, 512 << 20].into_iter().enumerate() {
            let gbps = [205.0, 96.0, 31.0, 14.2][i] * top;
            all.push(rate("mem.bandwidth", &format!("size={} kernel={kernel}", size_text(size)), gbps * 1e9));
        }
    }
    for (n, gbps) in [(1, 14.2), (2, 27.9), (4, 54.1), (8, 98.0), (16, 151.0), (32, 187.0)] {
        all.push(workers(rate("mem.bandwidth", "size=512 MiB kernel=read", gbps * 1e9), n));
    }
    all
}

/// A record with raw samples of three rounds: a body, a second mode, and a disturbed tail.
pub(crate) fn sampled() -> Record {
    let mut record = at(time("ipc.pipe_rtt", "size=1 B", 4.83e-6), Placement::SameCpu);
    let mut state = 12345u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / f64::from(1u32 << 31)
    };
    let rounds = (0..3)
        .map(|round| {
            let samples = (0..400u32)
                .map(|i| {
                    let bell = (0..6).map(|_| random()).sum::<f64>() / 6.0 - 0.5;
                    let mut ns = 4830.0 * (1.0 + 0.12 * bell);
                    let mut labels = Labels::NONE;
                    if i % 5 == 0 {
                        ns *= 1.12;
                    }
                    if i % 37 == 0 {
                        ns *= 1.2 + 3.0 * random();
                        labels.add(Label::Preempted);
                    }
                    Sample {
                        worker: 0,
                        cpu: 3,
                        t0_ns: u64::from(i) * 10_000,
                        elapsed_ns: ns as u64,
                        iters: 1,
                        cpu_ns: ns as u64,
                        labels,
                        margin_ns: None,
                    }
                })
                .collect();
            let series = Series { name: String::new(), iters: 1, per_iter: 1.0, samples, ..Series::default() };
            Round { round, result: RoundResult::ok(RoundOutput { series: vec![series], ..RoundOutput::default() }) }
        })
        .collect();
    record.proofs = vec![Proof {
        name: "voluntary switches per round trip".to_owned(),
        expected: "1.9..2.1".to_owned(),
        seen: 2.0,
        holds: true,
    }];
    record.round_samples = Some(rounds);
    record
}

/// The point of [`sampled`] and its rounds.
pub(crate) fn sampled_point() -> (Point, Vec<Round>) {
    let record = sampled();
    let metric = Metric {
        id: record.id.clone(),
        summary: record.summary.clone(),
        quantity: record.quantity,
        better: record.better,
        derivation: Derivation::Series(String::new()),
        detail: false,
    };
    let point = Point {
        params: record.params.clone(),
        params_text: record.params_text.clone(),
        placement: record.placement.clone(),
        metrics: vec![metric],
        ..point(&record.id)
    };
    (point, record.round_samples.unwrap_or_default())
}

/// A point without metrics.
pub(crate) fn point(bench: &str) -> Point {
    Point {
        bench: bench.into(),
        version: 1,
        params: Params::default(),
        params_text: String::new(),
        placement: Placement::Pinned,
        workers: 1,
        worker_kind: WorkerKind::Processes,
        timing: Timing::Floor,
        drops: Interference::Cpu.drops(),
        target_half_width: 0.01,
        metrics: Vec::new(),
    }
}

pub(crate) fn machine() -> Machine {
    let facts = [
        ("host.name", "node17"),
        ("cpu.model", "Intel(R) Xeon(R) Gold 6430"),
        ("cpu.vendor", "GenuineIntel"),
        ("cpu.online", "0-63"),
        ("cpu.allowed", "0-63"),
        ("cpu.count", "64"),
        ("cpu.smt", "off"),
        ("cpu.governor", "performance"),
        ("cache.l1d.size", "48 KiB"),
        ("cache.l1d.ways", "12"),
        ("cache.l2.size", "2 MiB"),
        ("cache.l3.size", "60 MiB"),
        ("kernel.name", "Linux"),
        ("kernel.release", "6.18.2-amd64"),
        (
            "kernel.cmdline",
            "BOOT_IMAGE=/boot/vmlinuz-6.18.2-amd64 root=UUID=3e6be9de-8139-11d1-9106-a43f08d823a6 ro quiet splash",
        ),
        ("memory.total", "270582939648"),
        ("memory.thp", "madvise"),
        ("limits.memory", "max"),
    ];
    Machine { facts: facts.into_iter().map(|(key, value)| Fact::new(key, value)).collect() }
}

pub(crate) fn header() -> RunHeader {
    RunHeader {
        schema: SCHEMA,
        run: "20261121T073812Z-5f3a".to_owned(),
        started: "2026-11-21T07:38:12Z".to_owned(),
        groma: "0.1.0".to_owned(),
        build: "x86_64-unknown-linux-gnu release rustc 1.95.0 static".to_owned(),
        args: vec!["run".to_owned()],
        tags: BTreeSet::new(),
        in_turns: None,
        seed: 0x5eed,
        profile: Profile::Standard,
        budget_s: 60.0,
        environment: machine(),
        host: Host {
            clock_step_ns: 1.0,
            clock_cost_ns: 21.0,
            timeslice_ns: 4e6,
            timeslice_assumed: false,
            interval_ns: 200_000.0,
            proportionality: Some(0.0004),
            counter_hz: Some(2.1e9),
            beyond_caches: Some(128 << 20),
            core: None,
        },
        noise: Some(NoiseVerdict::Fine),
        noise_lost: Some(0.0091),
        cpu_limit: None,
        remarks: Vec::new(),
    }
}

/// The end of a run with these records.
pub(crate) fn end(records: &[Record]) -> End {
    let count = |state| records.iter().filter(|r| r.state == state).count() as u64;
    let states = State::ALL.into_iter().map(|s| (s, count(s))).filter(|(_, n)| *n > 0).collect();
    End { states: StateCounts(states), wall_s: 58.94, interrupted: false, cpu_limit: None, fewer_cpus: None }
}
