//! Measures the suspects again, by a command of the operator, before they are named. One after the
//! other, since hosts that share a switch, a disk or a machine below them would disturb each other.

use super::input::{Input, only};
use anyhow::{Context, Result, anyhow};
use groma_analysis::fleet::{Confirmed, Judgement, Options, Verdict, host_name, is_confirmed, is_plain_name};
use groma_harness::model::{Record, RunHeader};
use groma_harness::sys::signals::Watch;
use groma_runner::shell::run_program;
use groma_runner::signals::watch_signals;
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The place of the host in the command.
pub(super) const HOST: &str = "{host}";
/// The fresh runs in which a suspect has to be slow. What happens to one run in a dozen of a shared
/// host happens to two in a row of one in a hundred.
const FRESH: usize = 2;
/// A fresh run is given up after this time: three times the longest budget of a fleet run.
const PATIENCE: Duration = Duration::from_secs(180);

/// Measures each suspect again, twice; one that is not slow again is noisy. Breaks with the signal
/// that ended it.
///
/// # Errors
/// When nothing can be run at all.
pub(super) fn confirm(
    command: &str,
    input: &mut Input,
    judgement: &mut Judgement,
    options: &Options,
) -> Result<ControlFlow<i32>> {
    let signals = watch_signals().context("watching for signals")?;
    for i in 0..judgement.hosts.len() {
        if judgement.hosts[i].verdict != Verdict::Suspect {
            continue;
        }
        let name = input.fleet.hosts[judgement.hosts[i].host].name.clone();
        // The name comes from a file of another machine, and stands in a shell command.
        if !is_plain_name(&name) {
            judgement.hosts[i].confirmed = Confirmed::Failed("its name may not stand in a command".to_owned());
            continue;
        }
        let (mut confirmed, mut verdict) = (Confirmed::Yes, Verdict::Suspect);
        for _ in 0..FRESH {
            let fresh = match measured(command, &name, &signals)? {
                ControlFlow::Break(signal) => return Ok(ControlFlow::Break(signal)),
                ControlFlow::Continue(fresh) => fresh,
            };
            let fresh =
                fresh.and_then(|(head, records)| input.fleet.host(&head, &records).map_err(|why| anyhow!("{why}")));
            match fresh {
                Ok(fresh) if is_confirmed(judgement, &judgement.hosts[i], &fresh, options) => {}
                Ok(_) => (confirmed, verdict) = (Confirmed::No, Verdict::Noisy),
                Err(error) => confirmed = Confirmed::Failed(format!("{error:#}")),
            }
            if confirmed != Confirmed::Yes {
                break;
            }
        }
        (judgement.hosts[i].confirmed, judgement.hosts[i].verdict) = (confirmed, verdict);
    }
    judgement.sort(&input.fleet);
    Ok(ControlFlow::Continue(()))
}

/// Runs the command for a host; returns what it measured, or why it is of no use. Breaks with the
/// signal that ended it.
fn measured(command: &str, name: &str, signals: &Watch) -> Result<ControlFlow<i32, Result<Run>>> {
    let out = Output::new()?;
    let line = format!("exec > '{}'\n{}", out.0.display(), command.replace(HOST, name));
    let what = format!("--confirm for {name}");
    let ended = run_program(Command::new("sh").args(["-c", &line]), &what, (PATIENCE, ""), Some(signals));
    Ok(match ended {
        Ok(Some(signal)) => ControlFlow::Break(signal),
        Ok(None) => {
            ControlFlow::Continue(only(&out.0).and_then(|(head, records)| match host_name(&head.environment) {
                Some(of) if of == name => Ok((head, records)),
                of => Err(anyhow!("it measured {}", of.unwrap_or("a host without a name"))),
            }))
        }
        Err(error) => ControlFlow::Continue(Err(error)),
    })
}

type Run = (RunHeader, Vec<Record>);

/// The file that a command writes to, removed on drop.
struct Output(PathBuf);

impl Output {
    fn new() -> Result<Output> {
        let file = std::env::temp_dir().join(format!("groma-fleet-{}.ndjson", std::process::id()));
        // Fails if it exists: it may be another user's.
        let made = File::options().write(true).create_new(true).mode(0o600).open(&file);
        made.with_context(|| file.display().to_string())?;
        Ok(Output(file))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // Nothing depends on the removal.
        let _ = std::fs::remove_file(&self.0);
    }
}
