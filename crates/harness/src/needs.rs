//! Whether this machine has what a benchmark needs, checked in the worker before anything is set up.

use crate::benchmark::{Outcome, Stop};
use crate::model::{Job, Need};
use crate::sys::affinity;
use std::os::unix::fs::PermissionsExt;

/// The first need that is not met, as a reason.
pub(crate) fn check(needs: &[Need], job: &Job) -> Outcome {
    for need in needs {
        match *need {
            Need::Cpus(n) => {
                let have = affinity::allowed()?.len();
                if have < n as usize {
                    return Err(Stop::Unsupported(format!("needs {n} CPUs, {have} allowed")));
                }
            }
            Need::WorkDir | Need::WorkDirFor { .. } => {
                if need.is_work_dir(&job.params) && job.work_dir.is_none() {
                    return Err(Stop::Unsupported("no directory to write in (see --work-dir)".to_owned()));
                }
            }
            Need::Program(path) => match std::fs::metadata(path) {
                Ok(meta) if meta.is_file() && meta.permissions().mode() & 0o111 != 0 => {}
                Ok(_) => return Err(Stop::Unsupported(format!("{path} is not an executable file"))),
                Err(e) => return Err(Stop::Unsupported(format!("{path}: {e}"))),
            },
            Need::File(path) => {
                if let Err(e) = std::fs::metadata(path) {
                    return Err(Stop::Unsupported(format!("{path}: {e}")));
                }
            }
            Need::Root => {
                if !crate::sys::process::is_root() {
                    return Err(Stop::Denied("needs root".to_owned()));
                }
            }
            Need::System(name) => {
                if !name.eq_ignore_ascii_case(std::env::consts::OS) {
                    return Err(Stop::Unsupported(format!("needs {name}")));
                }
            }
            Need::Loopback => {
                if let Err(e) = std::net::TcpListener::bind(("127.0.0.1", 0)) {
                    return Err(Stop::Unsupported(format!("no loopback network: {e}")));
                }
            }
        }
    }
    Ok(())
}
