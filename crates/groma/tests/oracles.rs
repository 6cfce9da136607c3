//! What groma says an operation costs, against the same operation in a few lines of C (`oracles/oracle.c`).
//!
//! The tests of a benchmark ask whether its operation happened, and they count. None of that notices a factor: a round trip
//! that is halved, a page that was touched before the watch started, bytes that are credited twice, the length of a sleep
//! left in its lateness. So each family is measured a second time by code that shares nothing with groma, and the two
//! have to agree within [`BAND`], whatever the machine and however busy it is.
//!
//! The two sides take turns, and of each the best number of all turns counts: interference only makes an operation
//! dearer, so each side's best approaches the truth by itself, and a side that was unlucky once is asked again.
//! Judging the ratio of a single turn and repeating until one fits would be another test: a number that is wrong by a factor
//! of two would pass as soon as the right one were disturbed by as much. Two turns at least are taken before anything is
//! judged, and up to [`TURNS`] for those rows that do not agree yet.
//!
//! groma is the debug program that all tests use. Its kernels are assembly and its system calls are the same, so its numbers are
//! those of a release build within a few percent. What its size changes is given to the oracle: half a MiB of private memory that
//! a fork copies.

mod common;
use common::Place;
use groma_sys::affinity;
use groma_sys::topology::Topology;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// How far apart the two sides may be, either way. They were within 1.2 of each other for nearly all rows on an idle guest
/// (AMD Turin), so a factor of two stays outside by as much again.
const BAND: f64 = 1.5;
/// The same for dependent instructions, which are counted in cycles: seen were 0.97 to 1.03. A difference of loops that is divided
/// by the calls of one of them instead of the difference (48 of 64) is 0.8.
const EXACT: f64 = 1.15;
/// The same for what neither sleeps nor depends on the layout of memory: seen were 0.90 to 1.05.
const TIGHT: f64 = 1.3;
/// Turns before any row is judged.
const FEWEST: usize = 2;
/// Turns before a row that does not agree is believed to be wrong. On a machine at load 20 five were enough.
const TURNS: usize = 10;

/// The runs of groma that a turn consists of: benchmarks with parameters of one name and other values need runs of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    /// Most of them, as a quick run has them.
    Plain,
    /// Those whose size is that of memory.
    Memory,
    /// Two sides on two CPUs.
    Apart,
}

impl Run {
    const ALL: [Run; 3] = [Run::Plain, Run::Memory, Run::Apart];

    /// The parameters that are not those of a quick run. Only those may be given that a selected benchmark has.
    fn params(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Run::Plain => &[
                ("length", "1ms"),
                ("tasks", "2,8"),
                ("working_set", "0,256K"),
                ("touch", "none,all"),
                ("mode", "read"),
            ],
            Run::Memory => &[
                ("size", "16K,512K,64M"),
                ("chain", "amortised,included"),
                ("pages", "base,huge"),
                ("op", "read,write,copy"),
                ("kind", "anon_write,zero_page,file_minor"),
                ("resident", "8M"),
            ],
            Run::Apart => &[],
        }
    }
}

/// What is measured on both sides.
struct Row {
    /// The test that judges it.
    family: &'static str,
    run: Run,
    /// The metric.
    id: &'static str,
    /// Which of its points: `name=value` with sizes in bytes, the ones that matter.
    point: &'static str,
    /// What `oracle.c` calls it, with arguments.
    oracle: &'static str,
    band: f64,
    /// There are machines that cannot do it; what every machine can do has to be measured.
    optional: bool,
}

const fn row(family: &'static str, id: &'static str, point: &'static str, oracle: &'static str) -> Row {
    Row { family, run: Run::Plain, id, point, oracle, band: BAND, optional: false }
}

impl Row {
    const fn in_run(self, run: Run) -> Row {
        Row { run, ..self }
    }

    /// For instructions whose time is a number of cycles.
    const fn exact(self) -> Row {
        Row { band: EXACT, ..self }
    }

    /// For loops that run undisturbed for an interval now and then on the busiest machine.
    const fn tight(self) -> Row {
        Row { band: TIGHT, ..self }
    }

    const fn optional(self) -> Row {
        Row { optional: true, ..self }
    }

    /// The benchmark of the metric: its id without the suffix of a further output.
    fn benchmark(&self) -> String {
        self.id.split('.').take(2).collect::<Vec<_>>().join(".")
    }

    fn is_of(&self, metric: &Value) -> bool {
        let has = |pair: &str| {
            let (name, value) = pair.split_once('=').expect("name=value");
            match &metric["params"][name] {
                Value::String(text) => text == value,
                other => other.to_string() == value,
            }
        };
        metric["id"] == self.id && self.point.split_ascii_whitespace().all(has)
    }

    fn name(&self) -> String {
        let apart = if self.run == Run::Apart { "apart" } else { "" };
        [self.id, self.point, apart].iter().filter(|s| !s.is_empty()).copied().collect::<Vec<_>>().join(" ")
    }
}

/// The rows, by the tests that judge them.
const ROWS: &[Row] = &[
    row("cpu", "cpu.operation", "op=i64.add", "add").exact(),
    row("cpu", "cpu.operation", "op=i64.mul", "mul").exact(),
    row("cpu", "cpu.call", "args=0", "call").exact(),
    row("cpu", "cpu.core_to_core", "protocol=cas1", "core_to_core").optional(),
    row("clock", "clock.read", "", "clock"),
    row("clock", "vdso.clock_gettime", "clock=monotonic", "clock"),
    row("clock", "vdso.clock_gettime.syscall", "clock=monotonic", "clock_syscall").tight(),
    row("clock", "timer.sleep", "length=1ms", "sleep"),
    row("syscall", "syscall.getppid", "", "getppid").tight(),
    row("syscall", "syscall.read", "", "read").tight(),
    row("syscall", "syscall.write", "", "write").tight(),
    row("syscall", "syscall.lseek", "", "lseek").tight(),
    row("syscall", "syscall.fstat", "", "fstat").tight(),
    row("syscall", "syscall.dup_close", "", "dup_close").tight(),
    row("syscall", "syscall.stat", "", "stat").tight(),
    row("syscall", "syscall.open_close", "", "open_close").tight(),
    row("syscall", "ready.poll", "count=100 kind=pipe", "poll").tight(),
    row("signal", "signal.install", "", "signal_install").tight(),
    row("signal", "signal.kill", "", "kill").tight(),
    row("signal", "signal.catch", "", "signal_catch").tight(),
    row("lock", "lock.mutex", "", "mutex"),
    row("lock", "lock.futex", "op=wake", "futex_wake").tight(),
    row("lock", "lock.eventfd", "", "eventfd").tight(),
    row("task", "proc.fork_exit", "resident=0", "fork"),
    row("task", "proc.fork_exit", "resident=8388608 pages=base", "fork 8388608 base").in_run(Run::Memory),
    row("task", "proc.fork_exit", "resident=8388608 pages=huge", "fork 8388608 huge").in_run(Run::Memory).optional(),
    row("task", "proc.vfork_exit", "", "vfork"),
    row("task", "proc.spawn", "", "spawn_bare"),
    row("task", "proc.exec", "target=bare", "exec_bare"),
    row("task", "proc.exec", "target=dynamic", "exec_dynamic"),
    row("task", "thread.create_join", "kind=pthread", "thread"),
    row("switch", "ctx.switch", "tasks=2 working_set=0", "ring 2 0"),
    row("switch", "ctx.switch", "tasks=8 working_set=0", "ring 8 0"),
    row("switch", "ctx.switch", "tasks=8 working_set=262144", "ring 8 262144"),
    row("trip", "ipc.pipe_rtt", "", "pipe_rtt"),
    row("trip", "ipc.unix_rtt", "", "unix_rtt"),
    row("trip", "ipc.futex_rtt", "", "futex_rtt"),
    row("trip", "net.tcp_rtt", "", "tcp_rtt"),
    row("trip", "net.udp_rtt", "", "udp_rtt"),
    row("trip", "ipc.pipe_bandwidth", "", "pipe_bandwidth"),
    row("trip", "ipc.pipe_rtt", "", "pipe_rtt").in_run(Run::Apart).optional(),
    row("trip", "ipc.unix_rtt", "", "unix_rtt").in_run(Run::Apart).optional(),
    row("trip", "net.tcp_rtt", "", "tcp_rtt").in_run(Run::Apart).optional(),
    row("fault", "vm.fault", "kind=anon_write", "anon_write").in_run(Run::Memory),
    row("fault", "vm.fault", "kind=zero_page", "zero_page").in_run(Run::Memory),
    row("fault", "vm.fault", "kind=file_minor", "file_minor").in_run(Run::Memory),
    row("fault", "vm.fault_huge", "", "huge_fault").in_run(Run::Memory).optional(),
    row("fault", "vm.map", "touch=none", "map 65536 none"),
    row("fault", "vm.map", "touch=all", "map 65536 all"),
    row("fault", "vm.protect", "size=4096", "protect 4096"),
    row("file", "file.create_delete", "size=0", "create"),
    row("file", "file.create_delete.delete", "size=0", "delete"),
    row("file", "file.reread", "", "reread"),
    row("file", "file.pread_random", "", "pread"),
    memory("mem.latency", "size=16384 chain=amortised pages=base", "latency 16384 64 base amortised").exact(),
    memory("mem.latency", "size=524288 chain=included pages=base", "latency 524288 64 base included"),
    memory("mem.latency", "size=67108864 chain=amortised pages=base", "latency 67108864 256 base amortised"),
    memory("mem.latency", "size=67108864 chain=included pages=base", "latency 67108864 256 base included"),
    memory("mem.latency", "size=67108864 chain=included pages=huge", "latency 67108864 256 huge included"),
    memory("mem.bandwidth", "size=16384 op=read", "read_all 16384"),
    memory("mem.bandwidth", "size=16384 op=write", "write_all 16384"),
    memory("mem.bandwidth", "size=16384 op=copy", "copy_all 16384"),
    memory("mem.bandwidth", "size=67108864 op=read", "read_all 67108864"),
    memory("mem.bandwidth", "size=67108864 op=write", "write_all 67108864"),
    memory("mem.bandwidth", "size=67108864 op=copy", "copy_all 67108864"),
];

const fn memory(id: &'static str, point: &'static str, oracle: &'static str) -> Row {
    row("memory", id, point, oracle).in_run(Run::Memory)
}

/// The two sides of a row: the best of each, and why groma had none.
#[derive(Clone, Debug, Default)]
struct Sides {
    ours: Option<f64>,
    oracle: Option<f64>,
    why: String,
    /// groma cannot measure it here.
    unsupported: bool,
    turns: usize,
}

impl Sides {
    fn ratio(&self) -> Option<f64> {
        Some(self.ours? / self.oracle?)
    }

    fn agree(&self, band: f64) -> bool {
        self.ratio().is_some_and(|r| (1.0 / band..=band).contains(&r))
    }
}

/// All rows, measured once for all tests of this file: they would be each other's neighbours.
static MEASURED: LazyLock<Measured> = LazyLock::new(measure);

struct Measured {
    sides: Vec<Sides>,
    /// Seconds for a load along a chain through memory that is in order.
    in_order: f64,
}

fn measure() -> Measured {
    let place = Place::new();
    let oracle = Oracle::build(&place);
    let mut sides = vec![Sides::default(); ROWS.len()];
    for turn in 1..=TURNS {
        let open = |i: usize| !sides[i].unsupported && (turn <= FEWEST || !sides[i].agree(ROWS[i].band));
        let open: Vec<usize> = (0..ROWS.len()).filter(|i| open(*i)).collect();
        if open.is_empty() {
            break;
        }
        for run in Run::ALL {
            let open: Vec<usize> = open.iter().copied().filter(|i| ROWS[*i].run == run).collect();
            if !open.is_empty() {
                ours(&place, &oracle, run, &open, &mut sides);
                theirs(&oracle, &open, &mut sides);
            }
        }
        open.iter().for_each(|i| sides[*i].turns = turn);
    }
    println!("{}", table(&sides));
    let in_order =
        (0..FEWEST).map(|_| oracle.says("latency 67108864 256 base in_order", false)).fold(f64::INFINITY, f64::min);
    Measured { sides, in_order: in_order * 1e-9 }
}

fn table(sides: &[Sides]) -> String {
    let mut text = String::new();
    for (row, s) in ROWS.iter().zip(sides) {
        let number = |n: Option<f64>| n.map_or("-".to_owned(), |n| format!("{n:.4e}"));
        let ratio = s.ratio().map_or(s.why.clone(), |r| format!("{r:.2}"));
        let (ours, oracle) = (number(s.ours), number(s.oracle));
        let _ = writeln!(text, "{:62} {ours:>11} {oracle:>11} {ratio:>6} turns {}", row.name(), s.turns);
    }
    text
}

/// Keeps the better of two numbers.
fn better(kept: &mut Option<f64>, new: f64, higher: bool) {
    *kept = Some(match *kept {
        Some(old) if higher => old.max(new),
        Some(old) => old.min(new),
        None => new,
    });
}

/// Runs groma once, for these rows of one run.
fn ours(place: &Place, oracle: &Oracle, run: Run, open: &[usize], sides: &mut [Sides]) {
    let mut ids: Vec<String> = open.iter().map(|i| ROWS[*i].benchmark()).collect();
    ids.sort();
    ids.dedup();
    let has = |name: &str| catalogue().iter().any(|(id, params)| ids.contains(id) && params.iter().any(|p| p == name));
    let mut args: Vec<String> =
        ["run", "--rounds", "1", "--budget", "4s", "--no-store", "--json", "--profile"].map(str::to_owned).to_vec();
    args.push(if run == Run::Apart { "standard" } else { "quick" }.to_owned());
    for (name, values) in run.params().iter().filter(|(name, _)| has(name)) {
        args.extend(["--param".to_owned(), format!("{name}={values}")]);
    }
    if run == Run::Apart {
        let Some(relation) = &oracle.relation else {
            open.iter().for_each(|i| sides[*i].lack("one CPU, or two that share a core"));
            return;
        };
        args.extend(["--samples".to_owned(), "--placement".to_owned(), relation.clone()]);
    }
    args.extend(ids);
    let told = place.json(&args.iter().map(String::as_str).collect::<Vec<_>>());
    for &i in open {
        let row = &ROWS[i];
        let metrics = told["metrics"].as_array().expect("metrics");
        let found: Vec<&Value> = metrics.iter().filter(|m| row.is_of(m)).collect();
        assert_eq!(found.len(), 1, "{}: {found:#?}", row.name());
        let (metric, state) = (found[0], found[0]["state"].as_str().expect("a state"));
        let value = if run == Run::Apart { lowest_tenth(metric) } else { metric["value"].as_f64() };
        match (state, value) {
            ("ok" | "noisy" | "unresolved", Some(value)) => {
                better(&mut sides[i].ours, value, metric["better"] == "higher")
            }
            ("unsupported", _) if row.optional => sides[i].lack(metric["reason"].as_str().unwrap_or("")),
            // One round on a busy machine may hold no undisturbed sample; whatever else it is stays so.
            _ => sides[i].why = format!("{state}: {}", metric["reason"]),
        }
    }
}

/// The tenth percentile of the single trips, as the oracle has it. With two sides on two CPUs one of them waits for others
/// nearly all the time on a busy machine: at load 8 the median trip took 3 ms, and the undisturbed ones 30 us.
fn lowest_tenth(metric: &Value) -> Option<f64> {
    let series = &metric["round_samples"][0]["result"]["series"][0];
    let numbers =
        |name: &str| series[name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect::<Vec<_>>();
    let per_iter = series["per_iter"].as_f64()?;
    let mut each: Vec<f64> = numbers("dt").iter().zip(numbers("n")).map(|(ns, n)| ns * 1e-9 / n / per_iter).collect();
    each.sort_by(f64::total_cmp);
    each.get(each.len() / 10).copied()
}

impl Sides {
    fn lack(&mut self, why: &str) {
        self.unsupported = true;
        self.why = format!("not here: {why}");
    }
}

/// Runs the oracle of each of these rows.
fn theirs(oracle: &Oracle, open: &[usize], sides: &mut [Sides]) {
    for &i in open.iter().filter(|i| !sides[**i].unsupported).collect::<Vec<_>>() {
        let row = &ROWS[i];
        let higher = row.id.contains("bandwidth") || row.id == "file.reread";
        let value = oracle.says(row.oracle, row.run == Run::Apart || row.oracle == "core_to_core");
        better(&mut sides[i].oracle, if higher { value } else { value * 1e-9 }, higher);
    }
}

/// The benchmarks and the names of their parameters.
fn catalogue() -> &'static [(String, Vec<String>)] {
    static CATALOGUE: LazyLock<Vec<(String, Vec<String>)>> = LazyLock::new(|| {
        let list = Place::new().json(&["list", "--json"]);
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let params = |b: &Value| b["params"].as_array().into_iter().flatten().map(|p| text(&p["name"])).collect();
        let benches = list.as_array().or(list["benchmarks"].as_array()).expect("benchmarks");
        benches.iter().map(|b| (text(&b["id"]), params(b))).collect()
    });
    &CATALOGUE
}

/// The C programs, compiled, and where they run.
struct Oracle {
    dir: tempfile::TempDir,
    cpu: u32,
    /// The other CPU, and how it lies to the first: what groma's `--placement` calls it.
    other: Option<u32>,
    relation: Option<String>,
}

impl Oracle {
    /// Compiles them, with vectors as long as the machine's, and keeps this thread and what it starts to two CPUs.
    fn build(place: &Place) -> Oracle {
        let dir = tempfile::tempdir_in(place.path("")).expect("a directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles");
        let compile = |args: &[&str], from: &str, to: &str| {
            let mut cc = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
            cc.args(["-O2", "-o"]).arg(dir.path().join(to)).arg(source.join(from)).args(args);
            cc.output().expect("a C compiler, which the build needs as well")
        };
        // Loops that copy and fill are to stay loops.
        const LOOPS: &str = "-fno-tree-loop-distribute-patterns";
        let vector = format!("-DVECTOR={}", vector_bytes());
        let native = compile(&["-pthread", LOOPS, "-march=native", &vector], "oracle.c", "oracle");
        if !native.status.success() {
            let plain = compile(&["-pthread"], "oracle.c", "oracle");
            assert!(plain.status.success(), "{}", String::from_utf8_lossy(&plain.stderr));
        }
        let leaf = compile(&["-static", "-nostdlib"], "leaf.c", "leaf");
        assert!(leaf.status.success(), "{}", String::from_utf8_lossy(&leaf.stderr));

        let topology = Topology::read();
        let cpus = affinity::allowed().expect("the allowed CPUs");
        let cpu = cpus[0];
        let far = |other: &u32| Some((*other, topology.relation(cpu, *other)?.name().to_owned()));
        let pair = cpus[1..].iter().filter_map(far).find(|(_, relation)| relation != "smt");
        let (other, relation) = pair.unzip();
        affinity::restrict(&[cpu].into_iter().chain(other).collect::<Vec<_>>()).expect("keeping to two CPUs");
        Oracle { dir, cpu, other, relation }
    }

    /// What an oracle says; its other side is on the other CPU, or on the same.
    fn says(&self, name: &str, apart: bool) -> f64 {
        let peer = if apart { self.other.unwrap_or(self.cpu) } else { self.cpu };
        let mut command = Command::new(self.dir.path().join("oracle"));
        command.args([self.cpu.to_string(), peer.to_string()]).arg(self.dir.path()).args(name.split(' '));
        let out = command.output().expect("the oracle starts");
        let text = String::from_utf8_lossy(&out.stdout);
        let number = text.trim().parse().ok().filter(|n| out.status.success() && *n > 0.0);
        number.unwrap_or_else(|| panic!("{name}: {} {text} {}", out.status, String::from_utf8_lossy(&out.stderr)))
    }
}

/// Bytes of the longest vectors that groma's kernels use here as well.
fn vector_bytes() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            return 64;
        }
        if is_x86_feature_detected!("avx2") {
            return 32;
        }
    }
    16
}

/// Every row of a family agrees with its oracle.
fn judge(family: &str) {
    let mut wrong = String::new();
    let mut judged = 0;
    for (row, sides) in ROWS.iter().zip(MEASURED.sides.iter()).filter(|(row, _)| row.family == family) {
        if sides.unsupported {
            println!("skipped {}: {}", row.name(), sides.why);
            continue;
        }
        judged += 1;
        if !sides.agree(row.band) {
            let _ = writeln!(wrong, "{}: {sides:?} is beyond {} times", row.name(), row.band);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(judged > 0, "no row of {family} was measured");
}

#[test]
fn computing_and_calling_cost_what_c_says() {
    judge("cpu");
}

#[test]
fn clocks_and_sleeps_cost_what_c_says() {
    judge("clock");
}

#[test]
fn system_calls_cost_what_c_says() {
    judge("syscall");
}

#[test]
fn signals_cost_what_c_says() {
    judge("signal");
}

#[test]
fn locks_cost_what_c_says() {
    judge("lock");
}

#[test]
fn processes_and_threads_cost_what_c_says() {
    judge("task");
}

#[test]
fn context_switches_cost_what_c_says() {
    judge("switch");
}

#[test]
fn round_trips_and_streams_cost_what_c_says() {
    judge("trip");
}

#[test]
fn faults_and_mappings_cost_what_c_says() {
    judge("fault");
}

#[test]
fn files_cost_what_c_says() {
    judge("file");
}

#[test]
fn memory_is_as_fast_as_c_says() {
    judge("memory");
}

/// What groma says of a row; nothing where it cannot be measured here.
fn said(id: &str, point: &str) -> Option<f64> {
    let found = ROWS.iter().zip(MEASURED.sides.iter()).find(|(row, _)| row.id == id && row.point == point);
    found.unwrap_or_else(|| panic!("no row {id} {point}")).1.ours
}

/// Few relations, of which no machine knows another order: they hold whatever the oracles say.
#[test]
fn what_is_more_work_takes_longer() {
    let fork = |point| said("proc.fork_exit", point);
    let latency = |point| said("mem.latency", point);
    let orders = [
        vec![said("vdso.clock_gettime", "clock=monotonic"), said("vdso.clock_gettime.syscall", "clock=monotonic")],
        vec![said("syscall.getppid", ""), said("signal.catch", ""), fork("resident=0")],
        vec![said("syscall.getppid", ""), said("syscall.stat", ""), said("syscall.open_close", "")],
        vec![said("lock.mutex", ""), said("lock.futex", "op=wake"), said("ipc.futex_rtt", "")],
        vec![said("proc.vfork_exit", ""), said("proc.exec", "target=bare"), said("proc.exec", "target=dynamic")],
        vec![fork("resident=8388608 pages=huge"), fork("resident=8388608 pages=base")],
        vec![said("vm.fault", "kind=zero_page"), said("vm.fault", "kind=anon_write")],
        vec![said("vm.map", "touch=none"), said("vm.map", "touch=all")],
        vec![
            said("cpu.operation", "op=i64.add"),
            latency("size=16384 chain=amortised pages=base"),
            latency("size=524288 chain=included pages=base"),
            latency("size=67108864 chain=amortised pages=base"),
        ],
        vec![said("mem.bandwidth", "size=67108864 op=read"), said("mem.bandwidth", "size=16384 op=read")],
        vec![said("mem.bandwidth", "size=67108864 op=copy"), said("mem.bandwidth", "size=16384 op=copy")],
    ];
    for (n, order) in orders.iter().enumerate() {
        let known: Vec<f64> = order.iter().copied().flatten().collect();
        assert!(known.is_sorted_by(|a, b| a < b), "order {n}: {order:?}");
    }
}

/// The same lines in order, which prefetchers foresee, take a fraction of the time. So a chain that goes through memory in
/// order could not agree with an oracle that does not.
#[test]
fn memory_in_order_is_another_thing_than_memory_at_random() {
    let Some(random) = said("mem.latency", "size=67108864 chain=amortised pages=base") else { return };
    let in_order = MEASURED.in_order;
    assert!(random > 3.0 * in_order, "at random {random}, in order {in_order}");
}

/// A row that no test judges would be measured for nothing.
#[test]
fn every_row_has_its_test() {
    let this = include_str!("oracles.rs");
    for row in ROWS {
        assert!(this.contains(&format!("judge(\"{}\");", row.family)), "{}", row.family);
    }
}
