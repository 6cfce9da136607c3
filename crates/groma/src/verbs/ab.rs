//! `groma ab`: measures two conditions in turns, round by round, and compares them in pairs.
//!
//! Each side is a run in the store. `groma compare` recognises that the two were measured in turns,
//! and shows the same.

use crate::args::StoreArgs;
use crate::command_line;
use crate::earlier::Earlier;
use crate::exit;
use crate::measure::{Sinks, begin, count, end_code, records, redacted};
use crate::parse::{parse_setting, parse_state, parse_time};
use crate::print::{print_measured, style};
use crate::program::Program;
use crate::store::{add_worker_facts, open_store, state_dir};
use crate::view::{WithJunit, parse_format};
use crate::wanted::{Missing, Wanted};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use groma_analysis::compare::environment::differences;
use groma_analysis::compare::{Comparison, PairedRounds, compare_pairs, paired_rounds};
use groma_harness::model::{End, Fact, InTurns, Placement, Point, Profile, Record, Round, RunHeader, plain};
use groma_harness::sys::programs;
use groma_harness::sys::topology::Topology;
use groma_report::{self as report, Compared, Relative, Side};
use groma_runner::redact::Redactor;
use groma_runner::{
    Condition, Launcher, Planned, Run, RunRequest, Setting, identity as run_identity, of_pages, on_both_sides, plan,
};
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const HELP: &str = "Examples:
  groma ab -- -- bwrap --bind / / --dev /dev --proc /proc
      nothing beside a sandbox, in a minute
  groma ab --profile standard -- -- bwrap --bind / / --proc /proc
      the same for all of the two pages, in three
  groma ab syscall ipc --budget 2m -- -- unshare -Urn
      some groups beside a user and network namespace
  groma ab mem.latency -- taskset -c 0 -- taskset -c 1
      two CPUs
  groma ab vm.fault --set-a vm.overcommit_memory=0 \\
      --set-b vm.overcommit_memory=1
      a setting of the kernel
  groma ab net --before 'tc qdisc del dev lo root; true' \\
      --after 'tc qdisc add dev lo root fq'
      what a script changes
  groma ab --program-b target/release/groma -- --
      this groma beside another one
  groma ab --same -- --   the same twice: what is found is noise

Each worker is started behind the command of its side, which gets the path of groma and an \
argument, and has to pass standard input, output and error on; starting it is not measured. \
Rounds come in pairs, one of each side in random order, with the same seed. Both sides are kept \
as runs, and groma compare A B shows them again. For an exit code use groma gate.

What --set-a and --set-b write, groma itself restores at the end, also when it is interrupted or \
fails; after SIGKILL the next groma run does. To undo what --before and --after change, it runs \
--before again. These two are never timed; processes that they leave in the background are ended \
with them.";

/// The survey whose metrics are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SurveyArg {
    /// What a quick survey measures
    Quick,
    /// What stands on the two pages
    Standard,
}

/// Measure two conditions in turns and compare them: what a sandbox costs, or another groma
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AbArgs {
    /// Ids, groups or patterns [default: those of the profile]
    #[arg(value_name = "SELECT")]
    pub(super) select: Vec<String>,
    /// Where nothing is selected: what to measure
    #[arg(long, value_enum, default_value_t = SurveyArg::Quick, conflicts_with_all = ["select", "params"])]
    pub(super) profile: SurveyArg,
    /// The commands of the two sides, each after a --; an empty one starts workers as usual, and
    /// the second may hold a -- of its own
    #[arg(last = true, value_name = "CMD_A -- CMD_B", allow_hyphen_values = true)]
    pub(super) commands: Vec<OsString>,
    /// Another groma whose workers measure on the first side [default: this one]
    #[arg(long, value_name = "FILE")]
    pub(super) program_a: Option<PathBuf>,
    /// The same for the second side
    #[arg(long, value_name = "FILE")]
    pub(super) program_b: Option<PathBuf>,
    /// A file that holds this value in the rounds of the first side, such as
    /// /sys/kernel/mm/transparent_hugepage/enabled=never, or a sysctl: vm.swappiness=10; a file
    /// that only the other side names has its present value
    #[arg(long, value_name = "FILE=VALUE", value_parser = parse_state)]
    pub(super) set_a: Vec<(PathBuf, String)>,
    /// The same for the second side
    #[arg(long, value_name = "FILE=VALUE", value_parser = parse_state)]
    pub(super) set_b: Vec<(PathBuf, String)>,
    /// A shell command that puts the machine into the state of the first side, which is its present
    /// state; run when the sides change, and at the end
    #[arg(long, value_name = "CMD", requires = "after", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(super) before: Option<String>,
    /// The same for the second side
    #[arg(long, value_name = "CMD", requires = "before", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(super) after: Option<String>,
    /// Both sides are the same on purpose
    #[arg(long)]
    pub(super) same: bool,
    /// The time for all rounds of both sides [default: 60s, 3m with --profile standard]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(super) budget: Option<Duration>,
    /// Pairs of rounds at most [default: 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) rounds: Option<u32>,
    /// Set a parameter, as for groma run
    #[arg(long = "param", value_name = "[SELECT:]NAME=VALUE,...", value_parser = parse_setting)]
    pub(super) params: Vec<Setting>,
    /// Where to run, as for groma run
    #[arg(long)]
    pub(super) placement: Option<Placement>,
    /// The longest that one round, or a shell command, may take before it is killed
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(super) deadline: Option<Duration>,
    /// The seed of every random choice
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// A directory for benchmarks that need files
    #[arg(long, value_name = "DIR")]
    pub(super) work_dir: Option<PathBuf>,
    /// Every metric with its interval and verdict, controls too
    #[arg(long)]
    pub(super) all: bool,
    /// Do not keep the two runs
    #[arg(long)]
    pub(super) no_store: bool,
    /// The format: table, markdown, html, json, csv or junit
    #[arg(long, default_value = "table", value_parser = parse_format::<WithJunit>)]
    pub(super) format: groma_report::Format,
    #[command(flatten)]
    pub(super) store: StoreArgs,
}

/// The default maximum number of pairs of rounds: forty find differences of 2 to 3 % in most
/// metrics (docs/methods/statistics.md#ratio-of-pairs).
const PAIRS: u32 = 40;

/// The default budget of both sides. A pair of rounds of the quick survey takes 3 s, one of the
/// standard survey 13 s, and twelve are wanted.
const BUDGET: Duration = Duration::from_secs(60);

/// The budget of a standard survey in multiples of that of a quick one.
const STANDARD: u32 = 3;

/// The default budget where that of a quick survey is `quick`.
pub(super) fn default_budget(args: &AbArgs, quick: Duration) -> Duration {
    quick * if args.profile == SurveyArg::Standard { STANDARD } else { 1 }
}

/// Measures two conditions in turns and compares them.
pub(super) fn run(program: &Program, args: &AbArgs) -> Result<u8> {
    let started = Instant::now();
    let request = request(args)?;
    let plan = planned(program, args, &request)?;
    let measured = match measure(program, args, &request, &plan, started)? {
        ControlFlow::Continue(measured) => measured,
        ControlFlow::Break(code) => return Ok(code),
    };
    let shown = |record: &&Record| args.all || !record.detail;
    let [a, b] = measured.records.each_ref().map(|all| all.iter().filter(shown).cloned().collect::<Vec<_>>());
    let comparison = compare_pairs(&a, &b, &measured.paired());
    if comparison.pairs.is_empty() && measured.signal.is_none() {
        // A busy machine or a side that dies is not a usage error.
        warn!("{}", no_values(&comparison));
        let least = if comparison.is_unresolved() { exit::TOO_NOISY } else { exit::FAILED };
        return Ok(measured.report_end().max(least));
    }
    let other = measured.beside(comparison);
    let first = measured.side(0);
    let style = style(args.all).of(args.format);
    let others = [other];
    let compared = report::compare(program.known_families(), first, &others, Relative::Absolute, &style);
    let printed = print_measured(&compared.render(args.format, &style));
    let code = measured.report_end();
    Ok(if code == 0 && !printed { exit::FAILED } else { code })
}

/// Says that no metric has a value on both sides, and why the first has none; a failure is named
/// before other reasons.
pub(super) fn no_values(comparison: &Comparison<'_>) -> String {
    let reasons = || comparison.without_value.iter().flatten().filter(|record| !record.reason.is_empty());
    let why = reasons().find(|record| record.state.fails_run()).or_else(|| reasons().next());
    let why = why.map_or(String::new(), |record| format!(": {}: {}", record.id, record.reason));
    plain(&format!("no metric has a value on both sides{why}")).into_owned()
}

/// Two finished runs that were measured in turns; arrays hold the first and the second side.
pub(super) struct InTurnsMeasured {
    pub(super) heads: [RunHeader; 2],
    pub(super) records: [Vec<Record>; 2],
    points: Vec<Point>,
    rounds: [Vec<Vec<Round>>; 2],
    signal: Option<i32>,
    /// What one of the sides could not measure.
    missing: Missing,
    /// Why the store does not hold both runs.
    complaints: Vec<String>,
    /// Whether a store that was named could not be opened, which was told before the run.
    lost: bool,
    /// Why the machine could not be restored to its former state.
    unrestored: Option<String>,
}

impl InTurnsMeasured {
    /// The values of the rounds that both sides completed.
    pub(super) fn paired(&self) -> PairedRounds {
        paired_rounds(&self.points, [&self.rounds[0], &self.rounds[1]])
    }

    pub(super) fn side(&self, side: usize) -> Side<'_> {
        Side { name: &self.heads[side].run, head: &self.heads[side], runs: 1, like: 0 }
    }

    /// The second side, compared with the first.
    pub(super) fn beside<'r>(&'r self, comparison: Comparison<'r>) -> Compared<'r> {
        Compared {
            side: self.side(1),
            differences: differences(&self.heads[0], &self.heads[1]),
            comparison,
            in_turns: true,
        }
    }

    /// Warns of what was not restored or kept; returns the exit code.
    pub(super) fn report_end(&self) -> u8 {
        if let Some(unrestored) = &self.unrestored {
            warn!("{}", plain(unrestored));
        }
        let code = end_code(self.signal, &self.complaints, &self.missing, self.records.iter().flatten());
        if code == 0 && (self.lost || self.unrestored.is_some()) { exit::FAILED } else { code }
    }
}

/// The request that measures both sides.
pub(super) fn request(args: &AbArgs) -> Result<RunRequest> {
    let conditions = conditions(args);
    Ok(RunRequest {
        // Short rounds, as in a survey: more pairs give more than longer rounds.
        survey: true,
        params: args.params.clone(),
        placement: args.placement.clone(),
        budget: Some(args.budget.unwrap_or_else(|| default_budget(args, BUDGET))),
        rounds: Some(args.rounds.unwrap_or(PAIRS)),
        deadline: args.deadline,
        seed: args.seed,
        work_dir: args.work_dir.clone(),
        sides: sides(args, conditions.as_ref())?.to_vec(),
        conditions,
        state_dir: state_dir(),
        ..RunRequest::new(Profile::Quick)
    })
}

/// The points of one side: the selected ones, or those of a survey. The points of the quick survey
/// are taken from the plan of the standard one.
pub(super) fn planned(program: &Program, args: &AbArgs, request: &RunRequest) -> Result<Vec<Planned>> {
    let everything = args.select.is_empty() && args.params.is_empty();
    let wanted = RunRequest { profile: if everything { Profile::Standard } else { Profile::Quick }, ..request.clone() };
    let benches = program.select(&args.select, wanted.tier())?;
    let plan = plan(&benches, &wanted, &Topology::for_plan())?;
    Ok(if everything { of_pages(plan, program.known_families().pages, args.profile == SurveyArg::Quick) } else { plan })
}

/// Measures these points on both sides in turns, and keeps both as runs. Breaks with the exit code
/// if they do not begin.
pub(super) fn measure(
    program: &Program,
    args: &AbArgs,
    request: &RunRequest,
    plan: &[Planned],
    started: Instant,
) -> Result<ControlFlow<u8, InTurnsMeasured>> {
    let plan = on_both_sides(plan.to_vec());
    let mut lost = false;
    let opening = Instant::now();
    let mut store = open_store(args.no_store, &args.store, &mut lost)?;
    let started = started + opening.elapsed();
    let (mut run, mut progress) = match begin(request, &plan, started, store.as_mut(), false)? {
        ControlFlow::Continue(begun) => begun,
        ControlFlow::Break(code) => return Ok(ControlFlow::Break(code)),
    };
    let redactor = Redactor::of_this_user();
    let mut heads = heads(&run, &request.sides, request.conditions.as_ref(), &redactor);
    if let Some(store) = &store {
        run.recall(&Earlier::before(&heads[0], store).core_probes());
    }
    let points = redacted(program, &redactor, plan.iter().step_by(2));
    let mut sinks = [Sinks::new(store.as_ref(), None), Sinks::new(store.as_ref(), None)];
    for (sinks, head) in sinks.iter_mut().zip(&heads) {
        sinks.begin(head, &points);
    }
    let outcome = run.work(&plan, &mut progress, |point, round| {
        redactor.round(round);
        sinks[point % 2].round(point / 2, round);
        Ok(())
    })?;
    drop(progress);
    let mut rounds: [Vec<Vec<Round>>; 2] = Default::default();
    outcome.rounds.into_iter().enumerate().for_each(|(i, of_point)| rounds[i % 2].push(of_point));
    let of = |side: usize| records(&points, &rounds[side], &heads[side].host);
    let of_sides: [Vec<Record>; 2] = [of(0), of(1)];
    let mut complaints: Vec<String> = Vec::new();
    for (sinks, records) in sinks.iter_mut().zip(&of_sides) {
        let wall_s = started.elapsed().as_secs_f64();
        let interrupted = outcome.signal.is_some() || outcome.stopped.is_some();
        let (cpu_limit, fewer_cpus) = (outcome.cpu_limit, outcome.fewer_cpus);
        sinks.end(&End { states: count(records), wall_s, interrupted, cpu_limit, fewer_cpus });
        complaints.append(&mut sinks.complaints);
    }
    // Both sides write to one store, which fails once.
    complaints.dedup();
    drop(sinks);
    drop(run);
    for (head, rounds) in heads.iter_mut().zip(&rounds) {
        add_worker_facts(head, rounds.iter().map(Vec::as_slice));
    }
    if let Some(why) = outcome.stopped {
        bail!("{why}; the rounds until then are kept");
    }
    let wanted = Wanted { select: args.select.clone(), strict: false };
    let [first, second] = of_sides.each_ref().map(|records| wanted.missing(request, &points, records));
    let measured = InTurnsMeasured {
        missing: if first.failure.is_some() { first } else { second },
        heads,
        records: of_sides,
        points,
        rounds,
        signal: outcome.signal,
        complaints,
        lost,
        unrestored: outcome.unrestored,
    };
    Ok(ControlFlow::Continue(measured))
}

/// Whether the arguments name two sides.
pub(super) fn has_sides(args: &AbArgs) -> bool {
    let programs = args.program_a.is_some() || args.program_b.is_some();
    !args.commands.is_empty() || programs || conditions(args).is_some()
}

/// The states of the machine that the sides are measured in; `None` if no argument names any.
fn conditions(args: &AbArgs) -> Option<[Condition; 2]> {
    let condition =
        |set: &[(PathBuf, String)], command: &Option<String>| Condition { set: set.to_vec(), command: command.clone() };
    let both = [condition(&args.set_a, &args.before), condition(&args.set_b, &args.after)];
    both.iter().any(|side| !side.is_empty()).then_some(both)
}

/// The commands that start the workers of each side.
fn sides(args: &AbArgs, conditions: Option<&[Condition; 2]>) -> Result<[Launcher; 2]> {
    // Only at the first `--`: the second command may contain another, as many sandboxes need.
    let mut parts = args.commands.splitn(2, |word| word == "--").map(<[_]>::to_vec);
    let (a, b) = match (parts.next(), parts.next()) {
        (Some(a), Some(b)) => (a, b),
        (Some(none), None) if none.is_empty() && conditions.is_some() => Default::default(),
        _ => {
            bail!("expected two commands, each after its own --, such as: ipc -- -- taskset -c 0 (the first is empty)")
        }
    };
    let programs = [&args.program_a, &args.program_b];
    let one_state = conditions.is_none_or(|[a, b]| a == b);
    if a == b && programs[0] == programs[1] && one_state && !args.same {
        bail!("both sides are the same, which shows the noise of this machine: add --same if that is meant");
    }
    for program in programs.into_iter().flatten() {
        program.metadata().with_context(|| format!("--program-a, --program-b: {}", program.display()))?;
    }
    let [of_a, of_b] = programs;
    // Both sides inherit the environment if either has a command.
    let inherits = !a.is_empty() || !b.is_empty();
    Ok([(a, of_a), (b, of_b)].map(|(command, program)| Launcher {
        command,
        program: program.clone(),
        inherits,
        forked: None,
    }))
}

/// The file of the program in front of the workers of a side.
fn file_of(side: &Launcher) -> Option<PathBuf> {
    side.command.first().and_then(|name| programs::find(name, &programs::users_path()))
}

/// The headers of the two runs. They differ in id, condition, and the facts that the condition
/// changes.
fn heads(run: &Run, sides: &[Launcher], conditions: Option<&[Condition; 2]>, redactor: &Redactor) -> [RunHeader; 2] {
    let ids = [run.header().run.clone(), run_identity::run_id(run_identity::now(), run_identity::random_seed())];
    [0, 1].map(|side: usize| {
        let (environment, set) = run.side(side);
        let fact = |fact: Fact| Fact { key: redactor.text(&fact.key), value: redactor.text(&fact.value) };
        let prepared_by = conditions.and_then(|both| both[side].command.as_deref()).map(|text| redactor.text(text));
        let mut head = RunHeader {
            run: ids[side].clone(),
            args: redactor.args(command_line::arguments()),
            in_turns: Some(InTurns {
                with: ids[1 - side].clone(),
                command: redactor.args(sides[side].words()).join(" "),
                file: file_of(&sides[side]).map_or(String::new(), |file| redactor.text(&file.display().to_string())),
                set: set.into_iter().map(fact).collect(),
                prepared_by: prepared_by.unwrap_or_default(),
            }),
            environment,
            ..run.header().clone()
        };
        redactor.header(&mut head);
        head
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    fn args(words: &[&str]) -> AbArgs {
        let all = [&["ab"], words, &["--same", "--", "--"]].concat();
        let matches = AbArgs::augment_args(clap::Command::new("ab")).try_get_matches_from(all);
        AbArgs::from_arg_matches(&matches.expect("no mistake")).expect("all are there")
    }

    #[test]
    fn the_profile_says_what_is_measured_where_nothing_is_selected_and_for_how_long() {
        let program = Program::new().with_groma();
        let of = |words: &[&str]| {
            let args = args(words);
            let request = request(&args).expect("two sides");
            (planned(&program, &args, &request).expect("a plan").len(), request.budget.expect("a budget"))
        };
        let (usual, quick) = (of(&[]), of(&["--profile", "quick"]));
        let (standard, selected) = (of(&["--profile", "standard"]), of(&["syscall.getppid"]));
        assert_eq!(usual, quick);
        assert!(standard.0 > 2 * quick.0 && selected.0 == 1, "{standard:?} {quick:?} {selected:?}");
        assert_eq!([quick.1, standard.1, selected.1], [60, 180, 60].map(Duration::from_secs));
        assert_eq!(of(&["--profile", "standard", "--budget", "7s"]), (standard.0, Duration::from_secs(7)));
    }
}
