//! Prints a report as PDF with an installed Chromium.

use anyhow::{Context, Result, bail};
use groma_runner::shell::run_program;
use groma_runner::signals::watch_signals;
use std::fs::DirBuilder;
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Names under which it is installed.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"];
/// The browser is killed after this time. A report takes two seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// The path of a Chromium.
pub(super) struct Chromium(PathBuf);

impl Chromium {
    /// The one that `GROMA_CHROMIUM` names, or the first on `PATH`.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn find() -> Result<Chromium> {
        if let Some(named) = std::env::var_os("GROMA_CHROMIUM") {
            let named = PathBuf::from(named);
            return if named.is_file() {
                Ok(Chromium(named))
            } else {
                bail!("GROMA_CHROMIUM: {}: no such file", named.display())
            };
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut places = std::env::split_paths(&path).flat_map(|dir| NAMES.map(|name| dir.join(name)));
        places.find(|place| place.is_file()).map(Chromium).with_context(|| {
            format!(
                "a PDF is printed by Chromium, and none of {} is on PATH (GROMA_CHROMIUM names one; any browser \
                 prints the HTML file)",
                NAMES.join(", ")
            )
        })
    }

    /// Prints a document as PDF. Breaks with the signal if one arrives first.
    ///
    /// # Errors
    /// When temporary files cannot be written, or Chromium fails.
    pub(super) fn print(&self, html: &str) -> Result<ControlFlow<i32, Vec<u8>>> {
        let work = Work::new()?;
        let inside = |name: &str| work.0.join(name);
        std::fs::write(inside("report.html"), html).with_context(|| work.0.display().to_string())?;
        let mut command = Command::new(&self.0);
        // Relative names need no quoting of a path in a URL.
        command.current_dir(&work.0).args(["--headless", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.args(["--no-pdf-header-footer", "--user-data-dir=profile", "--print-to-pdf=report.pdf"]);
        // Its sandbox does not work as root. The document is our own and loads nothing.
        if groma_harness::sys::process::is_root() {
            command.arg("--no-sandbox");
        }
        let signals = watch_signals().context("watching for signals")?;
        let name = self.0.display().to_string();
        let signal = run_program(command.arg("report.html"), &name, (PATIENCE, ""), Some(&signals))?;
        if let Some(signal) = signal {
            return Ok(ControlFlow::Break(signal));
        }
        if !inside("report.pdf").is_file() {
            bail!("{name}: it made no PDF");
        }
        let bytes = std::fs::read(inside("report.pdf")).with_context(|| work.0.display().to_string())?;
        Ok(ControlFlow::Continue(bytes))
    }
}

/// A temporary directory, removed on drop.
struct Work(PathBuf);

impl Work {
    fn new() -> Result<Work> {
        let dir = std::env::temp_dir().join(format!("groma-report-{}", std::process::id()));
        // Fails if it exists: it may be another user's.
        DirBuilder::new().mode(0o700).create(&dir).with_context(|| dir.display().to_string())?;
        Ok(Work(dir))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Nothing depends on the removal.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
