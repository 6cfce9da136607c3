//! `groma run`: arguments become a request and a plan, rounds go to the store, records to the
//! views.

use super::measure::{Outputs, carry_out};
use super::{print, style};
use crate::flags::RunArgs;
use crate::program::Program;
use anyhow::{Context, Result, bail};
use groma_harness::model::{Profile, Remote};
use groma_harness::sys::recording::Recording;
use groma_harness::sys::topology::Topology;
use groma_report::{self as report, Format};
use groma_runner::plan::left_out;
use groma_runner::{Planned, RunRequest, complete_budget, of_pages, plan};
use std::path::Path;
use std::time::Instant;

/// Measures.
pub(crate) fn run(program: &Program, args: &RunArgs) -> Result<u8> {
    let started = Instant::now();
    let outputs = Outputs {
        json: args.json,
        out: args.out.as_deref(),
        samples: args.samples,
        all: args.all,
        no_store: args.no_store,
        store: &args.store,
    };
    outputs.check()?;
    let mut request = request(args);
    // A quick survey measures less of the pages, and not another part of each benchmark.
    let profile = if request.survey { Profile::Standard } else { request.profile };
    let wanted = RunRequest { profile, ..request.clone() };
    let benches = program.select(&args.select, wanted.tier())?;
    let topology = match &args.machine {
        None => Topology::for_plan(),
        Some(file) if args.dry_run => Topology::recorded(&recording(file)?),
        Some(file) => {
            bail!("--machine {}: another machine can be planned for, not measured: add --dry-run", file.display())
        }
    };
    let mut plan = plan(&benches, &wanted, &topology)?;
    if request.survey {
        plan = of_pages(plan, program.known_families().pages, request.profile == Profile::Quick);
    }
    if request.profile == Profile::Complete && request.budget.is_none() {
        let measured = plan.iter().filter(|planned| planned.unsupported.is_none()).count();
        let budget = complete_budget(measured);
        if !args.dry_run {
            warn!("measuring {measured} points in about {}", report::units::wall(budget.as_secs_f64()));
        }
        request.budget = Some(budget);
    }
    if args.dry_run {
        return dry_run(&plan);
    }
    if let Some(choice) = left_out(&plan, &topology) {
        warn!("{choice}");
    }
    // Nobody reads a thousand lines after six minutes: print the pages. `show --all` has the rest,
    // if the run is stored.
    let every_point = args.all && (request.profile != Profile::Complete || args.no_store);
    carry_out(program, &request, &outputs, &plan, started, |head, records, end, _| {
        report::render(program.known_families(), head, records, Some(end), Format::Table, &style(every_point))
    })
}

/// Whether nothing is asked for but a survey: what stands on the pages.
fn is_survey(args: &RunArgs) -> bool {
    let profile = Profile::from(args.profile);
    let plain = args.select.is_empty() && args.params.is_empty() && args.parallel.is_empty() && !args.threads;
    let here = args.placement.is_none() && args.host.is_none();
    plain && here && !args.all && !args.full && matches!(profile, Profile::Quick | Profile::Standard)
}

pub(super) fn request(args: &RunArgs) -> RunRequest {
    let everything = args.select.is_empty() && args.all && Profile::from(args.profile) == Profile::Standard;
    RunRequest {
        profile: if everything { Profile::Complete } else { args.profile.into() },
        survey: is_survey(args),
        full: args.full,
        params: args.params.clone(),
        placement: args.placement.clone(),
        parallel: args.parallel.clone(),
        threads: args.threads,
        remote: args.host.map(|address| Remote { address, token: args.token.clone() }),
        budget: args.budget,
        rounds: args.rounds,
        round_length: args.round_length,
        deadline: args.deadline,
        seed: args.seed,
        require: args.require.map(Into::into),
        work_dir: args.work_dir.clone(),
        tags: args.tags.tags.iter().cloned().collect(),
        ..RunRequest::new(args.profile.into())
    }
}

/// A machine that `groma machine --record` has recorded.
fn recording(file: &Path) -> Result<Recording> {
    let of_file = || format!("--machine {}", file.display());
    let text = std::fs::read_to_string(file).with_context(of_file)?;
    text.parse().map_err(anyhow::Error::msg).with_context(of_file)
}

fn dry_run(plan: &[Planned]) -> Result<u8> {
    let mut text = String::new();
    for planned in plan {
        let metrics: Vec<&str> = planned.point.metrics.iter().map(|m| m.id.as_str()).collect();
        text.push_str(&planned.point.name());
        if metrics.len() > 1 {
            text.push_str(&format!("  ({})", metrics.join(", ")));
        }
        match &planned.unsupported {
            Some(why) => text.push_str(&format!("  unsupported: {why}")),
            None => text.push_str(&format!("  on {}", planned.cpus)),
        }
        text.push('\n');
    }
    text.push_str(&format!("{} points\n", plan.len()));
    print(&text)?;
    Ok(0)
}
