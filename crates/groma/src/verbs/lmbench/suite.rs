//! `groma lmbench run`: what lmbench's driver measures, in one run of groma, and its result file.
//!
//! The lines are those of `groma_published::results`, the points what fills them, the file what
//! `groma export --format lmbench` writes: so this is a selection, not another way to measure. It
//! asks nothing. Rejected: calling the programs one after the other, as the driver does; they are
//! 300 processes, each with a preflight of its own, whose values share no run.
//!
//! What other machines measure is a run of its own for each of them, and in the same file.

use super::config::{Config, HARDWARE, SYSTEM};
use crate::args::StoreArgs;
use crate::measure::{Measured, Outputs, measure};
use crate::out_file::Named;
use crate::parse::parse_time;
use crate::print::print;
use crate::program::Program;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use groma_harness::model::{End, Fact, Info, Placement, Profile, Remote, Tier, is_metric_of};
use groma_harness::remote::Control;
use groma_harness::sys::topology::Topology;
use groma_published::results::{KINDS, Kind};
use groma_report::{self as report, LMBENCH_COPIES, LMBENCH_NAME, Wanted};
use groma_runner::{Planned, RunRequest, Setting};
use groma_store::HOST_NAME;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const HELP: &str = "\
It asks nothing. Of the file that lmbench's configuration has saved for this host it takes MB, \
SYNC_MAX, LMBENCH_SCHED, FSDIR, FASTMEM, SLOWFS, DISKS, REMOTE and the parts (BENCHMARK_...); \
without a file it measures everything, with one copy, up to 64 MB. Mail is never sent. For REMOTE, \
groma serve has to listen on each of the machines, with the token in GROMA_TOKEN.

Examples:
  groma lmbench run
  groma lmbench run --config bin/x86_64-linux-gnu/CONFIG.db1 -o db1.0
  groma summary                        lmbench's summary of it";

/// Measure the whole suite and write lmbench's result file
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SuiteArgs {
    /// The configuration of this host, as lmbench saves it: shell assignments, which are read, not
    /// executed
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The result file [default: results/OS/HOST.N, with the first N that is not there]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Time for all, but for other machines, which take half a minute each
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_time)]
    budget: Duration,
    /// The token of other machines
    #[arg(long, value_name = "TOKEN", env = "GROMA_TOKEN", hide_env_values = true, default_value = "")]
    token: String,
    /// Do not keep the run in the store, wherever it is
    #[arg(long)]
    no_store: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// The time for another machine.
const REMOTE: Duration = Duration::from_secs(30);

/// The lines of the suite by what the configuration chooses, and the subset that each belongs to. A
/// star stands for any end of a name. lmbench's driver runs no others.
const PARTS: [(&str, &str, &[&str]); 18] = [
    ("SYSCALL", SYSTEM, &["null", "read", "write", "stat", "fstat", "open_close"]),
    ("SELECT", SYSTEM, &["select_*"]),
    ("", SYSTEM, &["signal_*", "protection_fault"]),
    ("PIPE", SYSTEM, &["pipe", "pipe_bandwidth"]),
    ("UNIX", SYSTEM, &["unix", "unix_bandwidth"]),
    ("PROC", SYSTEM, &["fork", "exec", "shell"]),
    ("OPS", HARDWARE, &["int_*", "int64_*", "float_*", "double_*"]),
    ("PAGEFAULT", SYSTEM, &["page_fault"]),
    ("MMAP", SYSTEM, &["mmap", "mmap_*"]),
    ("FILE", SYSTEM, &["file_*"]),
    ("UDP", SYSTEM, &["udp"]),
    ("TCP", SYSTEM, &["tcp", "tcp_bandwidth"]),
    ("RPC", SYSTEM, &["rpc_*"]),
    ("CONNECT", SYSTEM, &["tcp_connect"]),
    ("HTTP", SYSTEM, &["http"]),
    ("BCOPY", HARDWARE, &["bcopy*", "bzero", "copy", "mem_*", "partial_*"]),
    ("CTX", SYSTEM, &["switch*"]),
    ("MEM", HARDWARE, &["tlb", "load_parallelism", "stream*", "load", "random_load"]),
];
/// What the head of every file has.
const HEAD: [&str; 2] = ["mhz", "line"];
/// What is measured with another machine.
const NETWORK: [&str; 7] = ["udp", "tcp", "rpc_udp", "rpc_tcp", "tcp_connect", "tcp_bandwidth", "http"];

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

/// Measures, and writes the file.
pub(super) fn run(program: &Program, args: &SuiteArgs) -> Result<u8> {
    let started = Instant::now();
    let config = config(args.config.as_deref())?;
    let remote = config.remote.iter().map(|(host, address)| {
        let remote = Remote { address: *address, token: args.token.clone() };
        // Only now can it be said before the minutes that the rest takes.
        Control::open(&remote).map_err(|e| anyhow!("REMOTE: {host}: {e}"))?;
        Ok((host.as_str(), remote))
    });
    let remote: Vec<(&str, Remote)> = remote.collect::<Result<_>>()?;
    let path = args.output.clone().map_or_else(first_unused, Ok)?;
    let out = Named::open("-o", &path)?;
    let outputs = Outputs { no_store: args.no_store, ..Outputs::to_store(&args.store) };

    let mut request = request(&config, args.budget);
    let plan = plan(program, &config, &mut request, &wanted(&config))?;
    let mut file = match part(program, &request, &outputs, &plan, started)? {
        ControlFlow::Continue(measured) => measured,
        ControlFlow::Break(code) => return Ok(code),
    };
    let mut code = file.report_end(true);
    if let Some(directory) = &config.directory {
        // The name that lmbench gives to the file; ours had another one there.
        let name = Fact::new(LMBENCH_NAME, directory.join("XXX").display());
        file.records
            .iter_mut()
            .filter(|record| record.id == "vm.map" && record.params.word("touch") == Some("all"))
            .for_each(|record| record.facts.push(name.clone()));
    }
    let mut wall_s = file.end().wall_s;
    for (host, remote) in remote {
        let mut request = RunRequest { remote: Some(remote), budget: Some(REMOTE), ..request.clone() };
        let wanted: Vec<_> = NETWORK.iter().flat_map(|name| of_kind(name, &config)).collect();
        let plan = self::plan(program, &config, &mut request, &wanted)?;
        let ControlFlow::Continue(mut there) = part(program, &request, &outputs, &plan, Instant::now())? else {
            bail!("REMOTE: {host}: the run did not begin");
        };
        code = code.max(there.report_end(true));
        wall_s += there.end().wall_s;
        for record in &mut there.records {
            record.facts.push(Fact::new(LMBENCH_NAME, host));
        }
        file.records.append(&mut there.records);
    }
    let end = End { wall_s, ..file.end().clone() };
    let written = report::lmbench_file(&file.head, &file.records, Some(&end));
    out.write(written.text.as_bytes())?;
    print(&format!(
        "{}: {} of run {}\n",
        path.display(),
        report::units::counted(written.values, "value"),
        file.head.run
    ))?;
    Ok(code)
}

fn config(file: Option<&Path>) -> Result<Config> {
    let text = match file {
        Some(file) => std::fs::read_to_string(file).with_context(|| format!("--config {}", file.display()))?,
        None => String::new(),
    };
    let name = file.map(|file| file.display().to_string()).unwrap_or_default();
    let of_file = |why: String| if name.is_empty() { anyhow!(why) } else { anyhow!("{name}:{why}") };
    let config = Config::parse(&text).map_err(of_file)?;
    for remark in &config.remarks {
        warn!("{name}: {remark}");
    }
    Ok(config)
}

/// `results/OS/HOST.N`, as lmbench names it; its directory is made.
fn first_unused() -> Result<PathBuf> {
    let facts = groma_runner::identity::machine();
    let host = facts.get(HOST_NAME).unwrap_or("host").replace('/', "_");
    // What lmbench guesses on any Linux, whatever its library.
    let dir = PathBuf::from(format!("results/{}-linux-gnu", std::env::consts::ARCH));
    std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    let unused = (0..).map(|n| dir.join(format!("{host}.{n}"))).find(|path| !path.exists());
    unused.context("every name is in use")
}

fn request(config: &Config, budget: Duration) -> RunRequest {
    let copies = Fact::new(LMBENCH_COPIES, config.copies);
    RunRequest {
        // Many points with short rounds, as a survey has.
        survey: true,
        budget: Some(budget),
        work_dir: config.directory.clone(),
        facts: config.facts().into_iter().chain([copies]).collect(),
        ..RunRequest::new(Profile::Standard)
    }
}

fn part(
    program: &Program,
    request: &RunRequest,
    outputs: &Outputs<'_>,
    plan: &[Planned],
    started: Instant,
) -> Result<ControlFlow<u8, Measured>> {
    Ok(match measure(program, request, outputs, plan, started)? {
        ControlFlow::Continue(measured) if measured.signal().is_some() => ControlFlow::Break(measured.report_end(true)),
        other => other,
    })
}

/// A point to measure: what fills a line, and of which kind the line is.
type Line = (&'static Kind, Wanted);

/// What the configuration chooses.
fn wanted(config: &Config) -> Vec<Line> {
    let parts = PARTS.iter().filter(|(part, subset, _)| config.measures(part, subset));
    let names = HEAD.iter().chain(parts.flat_map(|(_, _, names)| *names));
    let mut lines: Vec<Line> = names.flat_map(|name| of_kind(name, config)).collect();
    if config.measures("", HARDWARE) {
        lines.extend(config.disks.iter().flat_map(|device| disk(device)));
    }
    lines
}

/// The lines of the kinds of this name.
fn of_kind(name: &str, config: &Config) -> Vec<Line> {
    let is_it = |kind: &&Kind| match name.strip_suffix('*') {
        Some(begin) => kind.name.starts_with(begin),
        None => kind.name == name,
    };
    let line = |kind: &'static Kind, keys: Vec<u64>| {
        let (metric, mut params) = report::lmbench_wanted(kind.name, &keys)?;
        if metric == "mem.stream" {
            params.push(("size", format!("{}M", config.megabytes)));
        }
        Some((kind, (metric, params)))
    };
    KINDS
        .iter()
        .filter(is_it)
        .flat_map(|kind| keys(kind, config).into_iter().filter_map(move |of| line(kind, of)))
        .collect()
}

/// A device: seeks over these percentages of it, and reads there.
fn disk(device: &str) -> Vec<Line> {
    const DISTANCES: [u64; 8] = [1, 2, 5, 10, 20, 40, 70, 95];
    const POSITIONS: [u64; 6] = [0, 20, 40, 60, 80, 100];
    let of = |name: &'static str, percent: &u64| {
        let kind = KINDS.iter().find(|kind| kind.name == name)?;
        let (metric, mut params) = report::lmbench_wanted(name, &[*percent])?;
        params.push(("on", std::path::absolute(device).ok()?.display().to_string()));
        Some((kind, (metric, params)))
    };
    let seeks = DISTANCES.iter().filter_map(|at| of("disk_seek", at));
    seeks.chain(POSITIONS.iter().filter_map(|at| of("disk_zone", at))).collect()
}

/// The keys of the lines of a kind, as lmbench's driver chooses them, but for fewer sizes of
/// lat_mem_rd: two for each doubling instead of eight.
fn keys(kind: &Kind, config: &Config) -> Vec<Vec<u64>> {
    let most = config.megabytes * M;
    let doubling = |least: u64, most: u64| {
        std::iter::successors(Some(least), |size| Some(size * 2)).take_while(move |size| *size <= most)
    };
    let each = |keys: &mut dyn Iterator<Item = u64>| keys.map(|key| vec![key]).collect::<Vec<_>>();
    let loads = |strides: &[u64]| {
        let between = doubling(2 * K, most).map(|size| size / 2 * 3).filter(|size| *size <= most);
        let mut sizes: Vec<u64> = doubling(512, most).chain(between).collect();
        sizes.sort_unstable();
        let fits = |stride: u64, size: u64| size >= stride && size.is_multiple_of(stride);
        let of =
            |stride: u64| sizes.iter().filter(move |size| fits(stride, **size)).map(move |size| vec![stride, *size]);
        strides.iter().flat_map(|stride| of(*stride)).collect()
    };
    match kind.name {
        "select_file" | "select_tcp" => each(&mut [10, 100, 250, 500].into_iter()),
        "file_create" | "file_delete" if config.is_slow => Vec::new(),
        "file_create" | "file_delete" => each(&mut [0, K, 4 * K, 10 * K].into_iter()),
        // The largest message there has 10 MB, here 1 MiB.
        "tcp_bandwidth" => each(&mut [1, 64, 128, 256, 512, K, 1437, M].into_iter()),
        // Smaller mappings print nothing there.
        "mmap" => each(&mut doubling(512 * K, most)),
        // The read is 64 KiB long, of a mapping a page.
        "file_reread" | "file_open_reread" | "mmap_reread" | "mmap_open_reread" => each(&mut doubling(64 * K, most)),
        "bcopy" | "bcopy_conflict" | "copy" | "partial_copy" => each(&mut doubling(512, most / 2)),
        "bzero" | "mem_read" | "mem_write" | "partial_read" | "partial_write" | "partial_update" => {
            each(&mut doubling(512, most))
        }
        "load_parallelism" => each(&mut doubling(4 * K, most)),
        "switch_overhead" => each(&mut [0, 4, 8, 16, 32, 64].map(|kilobytes| kilobytes * K).into_iter()),
        "switch" => {
            let rings = [2, 4, 8, 16, 24, 32, 64, 96];
            [0, 4, 8, 16, 32, 64].iter().flat_map(|k| rings.map(|tasks| vec![k * K, tasks])).collect()
        }
        "load" if config.is_fast => loads(&[128]),
        "load" => loads(&[16, 32, 64, 128, 256, 512, K]),
        "random_load" => loads(&[16]),
        _ => vec![Vec::new()],
    }
}

/// The points of these lines. Some lines have the same.
fn plan(program: &Program, config: &Config, request: &mut RunRequest, lines: &[Line]) -> Result<Vec<Planned>> {
    let topology = Topology::for_plan();
    let mut plan: Vec<Planned> = Vec::new();
    let mut unplaced = None;
    for (kind, (metric, params)) in lines {
        let mut ids = program.all().iter().map(|bench| &bench.info);
        let Some(info) = ids.find(|info| is_metric_of(metric, info.id)) else { continue };
        let benches = program.select(&[info.id.to_owned()], Tier::Full)?;
        let setting =
            |(name, text): &(&str, String)| Setting { of: None, name: (*name).to_owned(), values: vec![text.clone()] };
        let copies = if kind.takes_copies { config.copies } else { 1 };
        request.params = params.iter().map(setting).collect();
        request.parallel = if copies > 1 { vec![copies] } else { Vec::new() };
        request.placement = match &request.remote {
            Some(_) => None,
            None => placement(config, info, copies, &topology, &mut unplaced),
        };
        let planned = groma_runner::plan(&benches, request, &topology)?.into_iter().next();
        plan.extend(planned.filter(|new| plan.iter().all(|known| known.point != new.point)));
    }
    if let Some(why) = unplaced {
        warn!("{why}; the scheduler places them");
    }
    (request.params, request.parallel, request.placement) = (Vec::new(), Vec::new(), None);
    Ok(plan)
}

/// Where the policy puts the members; what it cannot place is left to the scheduler.
fn placement(
    config: &Config,
    info: &Info,
    copies: u32,
    topology: &Topology,
    unplaced: &mut Option<String>,
) -> Option<Placement> {
    config.policy.placement(info, copies, topology).unwrap_or_else(|why| {
        *unplaced = Some(why);
        info.placements.contains(&Placement::Free).then_some(Placement::Free)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every name of the parts is a line that something of groma fills, and the points of all are
    /// in the catalogue: their parameters take the values that the sizes come to.
    #[test]
    fn every_line_of_the_suite_has_a_point() {
        let program = Program::new().with_groma();
        let config = Config::parse("FSDIR=/tmp\n").expect("a configuration");
        for name in HEAD.iter().chain(&NETWORK).chain(PARTS.iter().flat_map(|(_, _, names)| *names)) {
            assert!(!of_kind(name, &config).is_empty(), "{name}");
        }
        let lines = wanted(&config);
        let mut request = request(&config, Duration::from_secs(1));
        let plan = plan(&program, &config, &mut request, &lines).expect("a plan");
        assert!(lines.len() > plan.len() && plan.len() > 500, "{} {}", lines.len(), plan.len());
        let unlike = plan.iter().find(|planned| planned.point.workers != 1);
        assert!(unlike.is_none(), "{:?}", unlike.map(|planned| planned.point.name()));
        let all = [0, 1].map(|n| disk("/dev/null").iter().filter(|line| line.1.1.len() > n).count());
        assert_eq!(all, [14, 14], "a distance and the device for each");
    }

    /// Two copies are two members, but of what takes none.
    #[test]
    fn copies_are_members_of_what_takes_copies() {
        let program = Program::new().with_groma();
        let config = Config::parse("SYNC_MAX=2\nBENCHMARK_OPS=YES\nBENCHMARK_PIPE=YES\n").expect("a configuration");
        let mut request = request(&config, Duration::from_secs(1));
        let plan = plan(&program, &config, &mut request, &wanted(&config)).expect("a plan");
        let workers = |bench: &str| plan.iter().find(|planned| planned.point.bench == bench).map(|p| p.point.workers);
        assert_eq!(
            [workers("ipc.pipe_rtt"), workers("cpu.operation"), workers("syscall.read")],
            [Some(2), Some(1), None]
        );
    }
}
