//! `groma hammer`: a given number of stores to random places in memory, by one writer and then by
//! all at once, reported in the form of Closson's `memhammer`.
//!
//! A run of `mem.hammer_run` with two points. Workers, store, signals and deadlines are those of
//! any run; only the choice of points and the text are here. LOOPS is split into equal rounds, each
//! with fresh pages, so that progress can be shown and kept.

use crate::args::{StoreArgs, TagsArgs};
use crate::measure::{Outputs, carry_out};
use crate::parse::parse_time;
use crate::program::Program;
use crate::wanted::Wanted;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use groma_harness::model::{Profile, Round, State, Tier};
use groma_harness::sys::arch::hammer::HAMMER_PAGE;
use groma_harness::sys::cpu_list::{format_cpus, parse_cpus};
use groma_harness::sys::facts::{Room, memory_headroom};
use groma_harness::sys::numa;
use groma_harness::sys::topology::Topology;
use groma_report::units::{Scale, value};
use groma_runner::{Planned, RunRequest, Setting, plan};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const HELP: &str = "\
Each writer has PAGES pages of memory of its own and does PAGES x LOOPS operations, as in the \
SLB: first one writer alone, then all at once. The work is split into equal parts for fresh \
processes, as many as divide LOOPS, nine at most: Ctrl-C keeps the parts that are complete. \
What an operation is, and why its time is a throughput and not a latency: groma explain \
mem.hammer.

Examples:
  groma hammer 262144 6000
      1 GiB and 1572864000 stores on each CPU, the original run of the SLB
  groma hammer 32768 100 --cpus 0,4      CPU 0 alone, then CPUs 0 and 4
  groma hammer 32768 100 --cpus 0 --mem-nodes 1
      with memory of another node
  groma hammer 32768 100 --variant own   ownership latency instead";

/// Store to random places in memory, with one writer and then with all CPUs at once (Closson's
/// memhammer)
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct HammerArgs {
    /// Pages of 4 KiB for each writer
    #[arg(value_parser = clap::value_parser!(u64).range(1..=groma_harness::sys::arch::hammer::MAX_PAGES))]
    pages: u64,

    /// Operations per page
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    loops: u64,

    /// The CPUs of the writers, in their order; the first one also works alone: 0,2 or 0-3
    /// [default: all allowed]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,

    /// The memory nodes of the writers, in their order, repeated as needed: 0,1 [default: that of
    /// each CPU]
    #[arg(long, value_name = "LIST")]
    mem_nodes: Option<String>,

    /// The operation: a store to the first cache line of a page, anywhere in it, or ownership of
    /// one line after the other
    #[arg(long, value_name = "KIND", default_value = "store", value_parser = ["store", "line", "own"])]
    variant: String,

    /// The longest that one part may take before it is killed
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time)]
    deadline: Duration,

    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,

    /// Also write the records as NDJSON ('-' for standard output)
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Do not keep the run in the store, wherever it is
    #[arg(long)]
    no_store: bool,

    #[command(flatten)]
    tags: TagsArgs,

    #[command(flatten)]
    store: StoreArgs,
}

const BENCH: &str = "mem.hammer_run";
/// The maximum number of rounds, as in a standard run.
const ROUNDS: u64 = 9;

/// Measures and prints.
pub(super) fn run(program: &Program, args: &HammerArgs) -> Result<u8> {
    let started = Instant::now();
    let outputs = Outputs {
        json: args.json,
        out: args.out.as_deref(),
        no_store: args.no_store,
        wanted: Wanted { select: vec![BENCH.to_owned()], strict: true },
        ..Outputs::to_store(&args.store)
    };
    outputs.check()?;
    let topology = Topology::read();
    let cpus = match &args.cpus {
        None => topology.usable(),
        Some(list) => in_order(list).map_err(|why| anyhow!("--cpus {list}: {why}"))?,
    };
    topology.check(&cpus).map_err(anyhow::Error::msg).context("--cpus")?;
    let twice = cpus.iter().enumerate().find(|(i, cpu)| cpus[..*i].contains(cpu));
    if let Some((_, cpu)) = twice {
        bail!("--cpus: CPU {cpu} is named twice; each writer has one of its own");
    }
    if let Some(list) = &args.mem_nodes {
        let nodes = in_order(list).map_err(|why| anyhow!("--mem-nodes {list}: {why}"))?;
        let there = numa::with_memory().unwrap_or_default();
        if let Some(node) = nodes.iter().find(|node| !there.is_empty() && !there.contains(node)) {
            bail!("--mem-nodes: node {node} has no memory; with memory: {}", format_cpus(&there));
        }
    }
    check_memory(args.pages, cpus.len() as u64, memory_headroom().as_ref())?;

    let rounds = rounds_of(args.loops);
    let loops = args.loops / rounds;
    let mut writers = vec![1];
    if cpus.len() > 1 {
        writers.push(cpus.len());
    }
    let mut run = RunRequest::new(Profile::Standard);
    run.tags = args.tags.tags.iter().cloned().collect();
    run.rounds = Some(rounds as u32);
    run.deadline = Some(args.deadline);
    // The number of operations is given, so only the deadline of a round may cut it, not the
    // budget.
    run.budget = Some(args.deadline * (rounds as u32 * writers.len() as u32 + 1));
    let list = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut points: Vec<Planned> = Vec::new();
    let benches = program.select(&[BENCH.to_owned()], Tier::Full)?;
    for n in &writers {
        let one = |name: &str, value: String| Setting { of: None, name: name.to_owned(), values: vec![value] };
        run.params = vec![
            one("variant", args.variant.clone()),
            one("writers", n.to_string()),
            one("pages", args.pages.to_string()),
            one("loops", loops.to_string()),
            one("cpus", list.clone()),
            one("nodes", args.mem_nodes.clone().unwrap_or_else(|| "local".to_owned())),
        ];
        points.extend(plan(&benches, &run, &topology)?);
    }
    carry_out(program, &run, &outputs, &points, started, |_, _, _, worked| {
        let ordered = Ordered { ops: args.pages * loops, rounds: rounds as usize };
        text(&ordered, &cpus, worked)
    })
}

/// Parses a list of numbers, in the order in which they were typed.
fn in_order(list: &str) -> Result<Vec<u32>, String> {
    let parts: Vec<Vec<u32>> = list.split(',').map(parse_cpus).collect::<Result<_, _>>()?;
    Ok(parts.concat())
}

/// The largest number of rounds, up to [`ROUNDS`], that divides `loops`.
fn rounds_of(loops: u64) -> u64 {
    (1..=ROUNDS.min(loops)).rev().find(|n| loops.is_multiple_of(*n)).unwrap_or(1)
}

/// Refuses to take more than half of the available memory.
fn check_memory(pages: u64, writers: u64, room: Option<&Room>) -> Result<()> {
    let size = |bytes: u64| value(bytes as f64, Scale::Size, None);
    let needed = pages.saturating_mul(HAMMER_PAGE as u64).saturating_mul(writers);
    match room {
        Some(room) if needed > room.bytes / 2 => {
            let fit = room.bytes / 2 / HAMMER_PAGE as u64 / writers;
            let remedy = if fit == 0 {
                "--cpus with fewer CPUs".to_owned()
            } else {
                format!("at most {fit} pages, or fewer --cpus")
            };
            let of = if writers > 1 { format!(" for {writers} writers") } else { String::new() };
            bail!(
                "PAGES: needs {}{of}, half of what {} leaves is {}: {remedy}",
                size(needed),
                room.limit,
                size(room.bytes / 2)
            )
        }
        _ => Ok(()),
    }
}

/// The work of each writer: the operations of a round, and the rounds.
struct Ordered {
    ops: u64,
    rounds: usize,
}

/// The work of the writers of a point in all rounds that are ok.
struct Done {
    rounds: usize,
    /// Seconds that each writer worked.
    elapsed: Vec<f64>,
    /// Seconds from the first start to the last end of a round, summed.
    wall: f64,
    /// The seconds of these in which all writers worked.
    shared: f64,
}

impl Done {
    fn of(rounds: &[Round]) -> Option<Done> {
        let good: Vec<_> = rounds.iter().map(|r| &r.result).filter(|r| r.state == State::Ok).collect();
        let values = |name: &str| good.iter().filter_map(|r| Some(&r.series(name)?.values)).collect::<Vec<_>>();
        let (elapsed, wall, overlap) = (values("elapsed"), values("wall"), values("overlap"));
        let writers = elapsed.first()?.len();
        let of_writer = |i: usize| elapsed.iter().filter_map(|round| round.get(i)).sum();
        Some(Done {
            rounds: elapsed.len(),
            elapsed: (0..writers).map(of_writer).collect(),
            wall: wall.iter().filter_map(|round| round.first()).sum(),
            shared: wall.iter().zip(overlap).filter_map(|(wall, share)| Some(wall.first()? * share.first()?)).sum(),
        })
    }
}

/// A line in the format of the SLB.
fn line(ops: f64, per_op: f64, seconds: f64) -> String {
    format!(
        "total ops {ops:.0}  avg nsec/op {:.1}  usec elapsed {:.0}  ops/sec {:.1}",
        per_op * 1e9,
        seconds * 1e6,
        ops / seconds
    )
}

/// The lines of all points: one for each writer, and one for all together.
fn text(ordered: &Ordered, cpus: &[u32], points: &[Vec<Round>]) -> String {
    let mut text = String::new();
    let mut alone = None;
    for rounds in points {
        if let Some(bad) = rounds.iter().find(|r| r.result.state != State::Ok) {
            text += &format!("{}: {}\n", bad.result.state.word(), bad.result.reason);
        }
        let Some(done) = Done::of(rounds) else { continue };
        let ops = (ordered.ops * done.rounds as u64) as f64;
        let many = done.elapsed.len();
        for (cpu, seconds) in cpus.iter().zip(&done.elapsed) {
            let per_op = seconds / ops;
            let beside = match alone {
                None if many == 1 => "  alone".to_owned(),
                Some(alone) => format!("  slow-down {:.2}", per_op / alone),
                None => String::new(),
            };
            text += &format!("CPU {cpu}: {}{beside}\n", line(ops, per_op, *seconds));
        }
        let mean = done.elapsed.iter().sum::<f64>() / many as f64 / ops;
        if many > 1 {
            let beside = alone.map_or(String::new(), |alone| format!("  slow-down {:.2}", mean / alone));
            // Writers do the same number of operations, so some end early. The share of the time in
            // which all worked says how meaningful the slow-down is.
            let shared = format!("  all at work {:.0} % of the time", done.shared / done.wall * 100.0);
            text += &format!("together: {}{beside}{shared}\n", line(ops * many as f64, mean, done.wall));
        } else {
            alone = Some(mean);
        }
        if done.rounds < ordered.rounds {
            text += &format!("({} of {} parts were done)\n", done.rounds, ordered.rounds);
        }
    }
    if text.is_empty() { "nothing was done\n".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::{RoundResult, Series};

    fn round(state: State, elapsed: &[f64], wall: f64) -> Round {
        let series =
            |name: &str, values: &[f64]| Series { name: name.into(), values: values.to_vec(), ..Series::default() };
        let mut result = RoundResult::ended(state, if state == State::Ok { "" } else { "because" });
        if state == State::Ok {
            result.output.series = vec![series("elapsed", elapsed), series("wall", &[wall]), series("overlap", &[0.5])];
        }
        Round { round: 0, result }
    }

    #[test]
    fn loops_are_split_into_equal_rounds() {
        for (loops, rounds) in [(6000, 8), (9, 9), (1, 1), (7, 7), (6007, 1), (100, 5), (18, 9)] {
            assert_eq!(rounds_of(loops), rounds, "{loops}");
        }
    }

    #[test]
    fn the_text_has_the_format_of_the_slb_and_the_slow_down() {
        let alone = vec![round(State::Ok, &[1.0], 1.0), round(State::Ok, &[1.2], 1.2)];
        let both = vec![round(State::Ok, &[1.4, 3.0], 3.0), round(State::Ok, &[1.8, 3.6], 3.6)];
        let text = text(&Ordered { ops: 100_000_000, rounds: 2 }, &[0, 3], &[alone, both]);
        assert_eq!(
            text,
            "CPU 0: total ops 200000000  avg nsec/op 11.0  usec elapsed 2200000  ops/sec 90909090.9  alone\n\
             CPU 0: total ops 200000000  avg nsec/op 16.0  usec elapsed 3200000  ops/sec 62500000.0  slow-down 1.45\n\
             CPU 3: total ops 200000000  avg nsec/op 33.0  usec elapsed 6600000  ops/sec 30303030.3  slow-down 3.00\n\
             together: total ops 400000000  avg nsec/op 24.5  usec elapsed 6600000  ops/sec 60606060.6  slow-down 2.23  all at work 50 % of the time\n"
        );
    }

    #[test]
    fn missing_parts_are_reported() {
        let cut = vec![round(State::Ok, &[1.0], 1.0)];
        let bad = vec![round(State::Timeout, &[], 0.0)];
        let ordered = Ordered { ops: 100, rounds: 2 };
        let seen = text(&ordered, &[0, 1], &[cut, bad]);
        assert!(seen.contains("(1 of 2 parts were done)\n") && seen.ends_with("timeout: because\n"), "{seen}");
        assert_eq!(text(&ordered, &[0], &[Vec::new()]), "nothing was done\n");
    }

    #[test]
    fn more_memory_than_half_is_refused_with_the_remedy() {
        let room = Room { bytes: 4 << 30, limit: "the memory available".to_owned() };
        let refused = |pages, writers| check_memory(pages, writers, Some(&room)).expect_err("too much").to_string();
        assert_eq!(
            refused(1 << 20, 1),
            "PAGES: needs 4 GiB, half of what the memory available leaves is 2 GiB: at most 524288 pages, or fewer --cpus"
        );
        assert!(refused(1 << 19, 2).starts_with("PAGES: needs 4 GiB for 2 writers, "));
        assert!(refused(u64::MAX, 2).starts_with("PAGES: needs "));
        assert!(check_memory(1 << 19, 1, Some(&room)).is_ok() && check_memory(1 << 40, 1, None).is_ok());
    }
}
