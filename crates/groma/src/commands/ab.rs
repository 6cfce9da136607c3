//! `groma ab`: two conditions measured in turns, round by round, and compared in pairs.
//!
//! Both sides are runs of their own in the store; `groma compare` knows that they were made in
//! turns and shows the same.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use groma_analysis::compare::environment::differences;
use groma_analysis::compare::{Comparison, PairedRounds, compare_pairs, paired_rounds};
use groma_harness::model::{End, Fact, InTurns, Point, Profile, Record, Round, RunHeader, plain};
use groma_harness::sys::topology::Topology;
use groma_report::{self as report, Compared, Relative, Side};
use groma_runner::redact::Redactor;
use groma_runner::{
    Condition, Launcher, Planned, Run, RunRequest, identity as run_identity, of_pages, on_both_sides, plan,
};

use super::compare::TOO_NOISY;
use super::earlier::Earlier;
use super::measure::{SOME_FAILED, Sinks, begin, count, end_code, open_store, records, redacted};
use super::{print, state_dir, style};
use crate::flags::AbArgs;
use crate::flags::ab::SurveyArg;
use crate::program::Program;

/// Rounds of each side at most, unless more are asked for: forty pairs find 2 to 3 % in most
/// metrics (docs/methods/statistics.md#ratio-of-pairs).
const PAIRS: u32 = 40;

/// The time for both sides, unless another is asked for. A pair of rounds of the quick survey takes
/// 3 s, one of the standard survey 13 s, and twelve are wanted.
const BUDGET: Duration = Duration::from_secs(60);

/// How many times as long a standard survey has.
const STANDARD: u32 = 3;

/// The time for a survey where none is asked for and the quick one has `quick`.
pub(super) fn default_budget(args: &AbArgs, quick: Duration) -> Duration {
    quick * if args.profile == SurveyArg::Standard { STANDARD } else { 1 }
}

/// Measures two conditions in turns and compares them.
pub(crate) fn ab(program: &Program, args: &AbArgs) -> Result<u8> {
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
        // That the machine is too busy, or that a side dies, is no mistake of the command line.
        warn!("{}", valueless(&comparison));
        let least = if comparison.is_unresolved() { TOO_NOISY } else { SOME_FAILED };
        return Ok(measured.report_end().max(least));
    }
    let other = measured.beside(comparison);
    let first = measured.side(0);
    print(&report::compare(
        program.known_families(),
        first,
        &[other],
        Relative::Absolute,
        args.format,
        &style(args.all),
    ))?;
    Ok(measured.report_end())
}

/// That no metric has a value on both sides, and why the first has none: what failed before what is
/// missing for another reason.
pub(super) fn valueless(comparison: &Comparison<'_>) -> String {
    let reasons = || comparison.without_value.iter().flatten().filter(|record| !record.reason.is_empty());
    let why = reasons().find(|record| record.state.fails_run()).or_else(|| reasons().next());
    let why = why.map_or(String::new(), |record| format!(": {}: {}", record.id, record.reason));
    plain(&format!("no metric has a value on both sides{why}")).into_owned()
}

/// What two conditions in turns have brought: the two of each are those of the sides.
pub(super) struct InTurnsMeasured {
    pub(super) heads: [RunHeader; 2],
    pub(super) records: [Vec<Record>; 2],
    points: Vec<Point>,
    rounds: [Vec<Vec<Round>>; 2],
    signal: Option<i32>,
    /// Why not everything is kept.
    complaint: Option<String>,
    /// Why the machine is not in the state that it was in before.
    unrestored: Option<String>,
}

impl InTurnsMeasured {
    /// The values of the rounds that both sides have.
    pub(super) fn paired(&self) -> PairedRounds {
        paired_rounds(&self.points, [&self.rounds[0], &self.rounds[1]])
    }

    pub(super) fn side(&self, side: usize) -> Side<'_> {
        Side { name: &self.heads[side].run, head: &self.heads[side], runs: 1, like: 0 }
    }

    /// The second side beside the first.
    pub(super) fn beside<'r>(&'r self, comparison: Comparison<'r>) -> Compared<'r> {
        Compared {
            side: self.side(1),
            differences: differences(&self.heads[0], &self.heads[1]),
            comparison,
            in_turns: true,
        }
    }

    /// Says what could not be kept; the exit code of the runs.
    pub(super) fn report_end(&self) -> u8 {
        if let Some(unrestored) = &self.unrestored {
            warn!("{}", plain(unrestored));
        }
        let code = end_code(self.signal, self.complaint.as_deref(), self.records.iter().flatten());
        if code == 0 && self.unrestored.is_some() { SOME_FAILED } else { code }
    }
}

/// What is asked of the run of both sides.
pub(super) fn request(args: &AbArgs) -> Result<RunRequest> {
    let conditions = conditions(args);
    Ok(RunRequest {
        // Short rounds, as in a survey: many pairs are worth more than long ones.
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

/// The points of one side: what is selected, or those of a survey. What a quick survey measures are
/// points of the standard one.
pub(super) fn planned(program: &Program, args: &AbArgs, request: &RunRequest) -> Result<Vec<Planned>> {
    let everything = args.select.is_empty() && args.params.is_empty();
    let wanted = RunRequest { profile: if everything { Profile::Standard } else { Profile::Quick }, ..request.clone() };
    let benches = program.select(&args.select, wanted.tier())?;
    let plan = plan(&benches, &wanted, &Topology::for_plan())?;
    Ok(if everything { of_pages(plan, program.known_families().pages, args.profile == SurveyArg::Quick) } else { plan })
}

/// Measures these points on both sides in turns and keeps both as runs; the exit code where they do
/// not begin.
pub(super) fn measure(
    program: &Program,
    args: &AbArgs,
    request: &RunRequest,
    plan: &[Planned],
    started: Instant,
) -> Result<ControlFlow<u8, InTurnsMeasured>> {
    let plan = on_both_sides(plan.to_vec());
    let mut store = open_store(args.no_store, &args.store)?;
    let (mut run, mut progress) = match begin(request, &plan, started, store.as_mut())? {
        ControlFlow::Continue(begun) => begun,
        ControlFlow::Break(code) => return Ok(ControlFlow::Break(code)),
    };
    let redactor = Redactor::of_this_user();
    let heads = heads(&run, &request.sides, request.conditions.as_ref(), &redactor);
    if let Some(store) = &store {
        run.recall(&Earlier::before(&heads[0], store).core_probes());
    }
    let points = redacted(program, &redactor, plan.iter().step_by(2));
    let mut sinks = [Sinks::new(store.as_ref(), None)?, Sinks::new(store.as_ref(), None)?];
    for (sinks, head) in sinks.iter_mut().zip(&heads) {
        sinks.begin(head, &points)?;
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
    let mut complaint = None;
    for (sinks, records) in sinks.iter_mut().zip(&of_sides) {
        let wall_s = started.elapsed().as_secs_f64();
        let interrupted = outcome.signal.is_some() || outcome.stopped.is_some();
        sinks.end(&End { states: count(records), wall_s, interrupted });
        complaint = complaint.or(sinks.complaint.take());
    }
    drop(sinks);
    drop(run);
    if let Some(why) = outcome.stopped {
        bail!("{why}; the rounds until then are kept");
    }
    let measured = InTurnsMeasured {
        heads,
        records: of_sides,
        points,
        rounds,
        signal: outcome.signal,
        complaint,
        unrestored: outcome.unrestored,
    };
    Ok(ControlFlow::Continue(measured))
}

/// Whether two sides are named at all.
pub(super) fn has_sides(args: &AbArgs) -> bool {
    let programs = args.program_a.is_some() || args.program_b.is_some();
    !args.commands.is_empty() || programs || conditions(args).is_some()
}

/// The states of the machine that the two sides are measured in, where they were named.
fn conditions(args: &AbArgs) -> Option<[Condition; 2]> {
    let condition =
        |set: &[(PathBuf, String)], command: &Option<String>| Condition { set: set.to_vec(), command: command.clone() };
    let both = [condition(&args.set_a, &args.before), condition(&args.set_b, &args.after)];
    both.iter().any(|side| !side.is_empty()).then_some(both)
}

/// The commands behind which the workers of each side are started.
fn sides(args: &AbArgs, conditions: Option<&[Condition; 2]>) -> Result<[Launcher; 2]> {
    // At the first only: the second command may hold one of its own, as many sandboxes need it.
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
    // What a command needs of the environment, both sides have.
    let inherits = !a.is_empty() || !b.is_empty();
    Ok([(a, of_a), (b, of_b)].map(|(command, program)| Launcher { command, program: program.clone(), inherits }))
}

/// The heads of the two runs: the second differs in its id, in its condition, and in what the
/// machine says of itself then.
fn heads(run: &Run, sides: &[Launcher], conditions: Option<&[Condition; 2]>, redactor: &Redactor) -> [RunHeader; 2] {
    let ids = [run.header().run.clone(), run_identity::run_id(jiff::Timestamp::now(), run_identity::random_seed())];
    [0, 1].map(|side: usize| {
        let (environment, set) = run.side(side);
        let fact = |fact: Fact| Fact { key: redactor.text(&fact.key), value: redactor.text(&fact.value) };
        let prepared_by = conditions.and_then(|both| both[side].command.as_deref()).map(|text| redactor.text(text));
        let mut head = RunHeader {
            run: ids[side].clone(),
            args: redactor.args(std::env::args_os().skip(1)),
            in_turns: Some(InTurns {
                with: ids[1 - side].clone(),
                command: redactor.args(sides[side].words()).join(" "),
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
    use clap::{Args as _, FromArgMatches};

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
