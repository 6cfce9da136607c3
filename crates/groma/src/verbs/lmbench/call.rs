//! A program of lmbench, and one call of it.

use super::options::{self, Words};
use crate::program;
use groma_harness::model::{Remote, plain, plain_lines};
use groma_harness::sys::disk;
use std::cell::{Cell, RefCell};
use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program of lmbench: its command line, what it prints, and what is different here.
#[derive(Debug)]
pub(crate) struct Program {
    /// Its name.
    pub(crate) name: &'static str,
    /// What follows the name in its usage line.
    pub(super) usage: &'static str,
    /// Its letters; one that takes a value stands before a colon.
    pub(super) letters: &'static str,
    /// What it prints.
    pub(super) prints: &'static str,
    /// What makes its number another than its name says or than groma's; of what `--strict`
    /// changes.
    pub(super) differs: &'static str,
    /// The command of groma for the same operation.
    pub(super) native: &'static str,
    pub(super) run: fn(&mut Call<'_>) -> Outcome,
}

/// The end of a call.
pub(super) type Outcome = Result<(), Stop>;

/// Why a call ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// Wrong arguments: one line that names them, and the usage.
    Usage(String),
    /// Something that was named is not there, or is in the way: a server, a file, a port.
    Missing(String),
    /// What lmbench's program does not measure either: it ends without a word, as its driver
    /// expects. The reason is a note.
    Silent(String),
    /// Nothing could be measured.
    Unmeasured(String),
    /// A signal ended it.
    Signal(i32),
}

impl From<String> for Stop {
    fn from(why: String) -> Stop {
        Stop::Usage(why)
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Stop {
        Stop::Unmeasured(format!("{error:#}"))
    }
}

/// One call of a program.
pub(super) struct Call<'p> {
    /// The benchmarks that measure.
    pub(super) groma: &'p program::Program,
    pub(super) program: &'static Program,
    pub(super) words: Words,
    /// The server, for a client.
    pub(super) remote: Option<Remote>,
    /// Where files are made.
    pub(super) work_dir: Option<PathBuf>,
    /// Whether a line is missing.
    pub(super) failed: Cell<bool>,
    /// The values that are imprecise: their parameters, and the half-widths of their intervals.
    pub(super) imprecise: RefCell<Vec<(String, f64)>>,
}

/// Writes a note to the file that `GROMA_NOTES` names (`-` is standard error), or to a terminal.
/// libgroma-lmbench does the same.
pub(super) fn note(program: &str, what: &str) {
    let line = format!("{program}: {}\n", plain(what));
    match std::env::var_os(NOTES).filter(|name| !name.is_empty()) {
        Some(name) if name != "-" => {
            let file = OpenOptions::new().append(true).create(true).open(&name);
            if let Err(e) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
                eprintln!("{program}: {NOTES}: {}: {e}", name.display());
            }
        }
        None if !std::io::stderr().is_terminal() => {}
        // Who closed standard error does not want to know.
        _ => drop(std::io::stderr().lock().write_all(line.as_bytes())),
    }
}

/// The variable that says where notes go.
const NOTES: &str = "GROMA_NOTES";

impl Call<'_> {
    /// Prints a line of results on standard error, where lmbench prints them; or nothing where
    /// there is no value, which is a failure that was told before.
    pub(super) fn line(&self, line: Option<String>) {
        let Some(line) = line else { return self.failed.set(true) };
        // A tab separates columns; it would become a space.
        let plain = line.split('\t').map(plain_lines).collect::<Vec<_>>().join("\t");
        let _ = std::io::stderr().lock().write_all(format!("{plain}\n").as_bytes());
    }

    /// Prints a result on standard output, as the helpers do.
    pub(super) fn out(&self, line: Option<String>) {
        let Some(line) = line else { return self.failed.set(true) };
        let mut out = std::io::stdout().lock();
        if let Err(e) = writeln!(out, "{}", plain_lines(&line)).and_then(|()| out.flush()) {
            self.absent(&format!("standard output: {e}"));
        }
    }

    /// Says why a line is missing; the exit code will say so, too.
    pub(super) fn absent(&self, why: &str) {
        self.failed.set(true);
        self.tell(why);
    }

    /// Says something about a line: on a terminal, or where `GROMA_NOTES` wants it. In captured
    /// output it would stand among the rows, whose parsers take every line for one.
    pub(super) fn tell(&self, what: &str) {
        note(self.program.name, what);
    }

    /// Says which values are imprecise, in one line for all.
    pub(super) fn tell_imprecise(&self) {
        let all = self.imprecise.borrow();
        let most = all.iter().map(|(_, half)| half * 100.0).fold(0.0, f64::max);
        match all.as_slice() {
            [] => {}
            [(of, _)] => self.tell(&format!("imprecise{of}: 95 % interval \u{b1} {most:.0} %")),
            [(of, _), ..] => self.tell(&format!(
                "{} values are imprecise, the first of them{of}: 95 % intervals of up to \u{b1} {most:.0} %",
                all.len()
            )),
        }
    }

    pub(super) fn strict(&self) -> bool {
        self.words.strict
    }

    pub(super) fn has(&self, letter: char) -> bool {
        self.words.has(letter)
    }

    pub(super) fn operand(&self, n: usize) -> Option<&str> {
        self.words.operands.get(n).map(String::as_str)
    }

    /// An operand that must be there.
    pub(super) fn needed(&self, n: usize, what: &str) -> Result<&str, Stop> {
        self.operand(n).ok_or_else(|| Stop::Usage(format!("{what} is missing")))
    }

    /// Refuses more operands than these.
    pub(super) fn at_most(&self, n: usize) -> Outcome {
        match self.operand(n) {
            Some(more) => Err(Stop::Usage(format!("'{more}': unexpected"))),
            None => Ok(()),
        }
    }

    /// The size of an operand or a value.
    pub(super) fn size(&self, text: &str) -> Result<u64, Stop> {
        Ok(options::bytes(text, self.strict())?)
    }

    /// The size after a letter, or the default.
    pub(super) fn size_of(&self, letter: char, default: u64) -> Result<u64, Stop> {
        let Some(text) = self.words.value(letter) else { return Ok(default) };
        options::bytes(text, self.strict()).map_err(|why| Stop::Usage(format!("-{letter}: {why}")))
    }

    /// The whole number after a letter, within bounds.
    pub(super) fn number_of(&self, letter: char, default: u64, bounds: [u64; 2]) -> Result<u64, Stop> {
        let Some(text) = self.words.value(letter) else { return Ok(default) };
        self.number(&format!("-{letter}: '{text}'"), text, bounds)
    }

    /// A whole number within bounds.
    pub(super) fn number(&self, what: &str, text: &str, [least, most]: [u64; 2]) -> Result<u64, Stop> {
        let n = text.parse::<u64>().ok().filter(|n| (least..=most).contains(n));
        n.ok_or_else(|| Stop::Usage(format!("{what}: expected a whole number from {least} to {most}")))
    }

    /// Copies that work at once.
    pub(super) fn copies(&self) -> Result<u32, Stop> {
        Ok(self.number_of('P', 1, [1, MAX_COPIES])? as u32)
    }

    /// The shortest time before anything counts.
    pub(super) fn warm_up(&self) -> Result<Duration, Stop> {
        Ok(Duration::from_micros(self.number_of('W', 0, [0, MAX_WARM_UP_US])?))
    }

    /// Repetitions, which are rounds here; `None` leaves their number to the precision. As there,
    /// 0 and less are 1.
    pub(super) fn repetitions(&self) -> Result<Option<u32>, Stop> {
        let Some(text) = self.words.value('N') else { return Ok(None) };
        let n = self.number(&format!("-N: '{text}'"), text, [0, u64::from(u32::MAX)])?;
        Ok(Some((n as u32).clamp(1, MAX_REPETITIONS)))
    }

    /// Checks a file that was named: it must exist and hold so many bytes.
    pub(super) fn file(&self, file: &str, least: u64) -> Outcome {
        let is = std::fs::metadata(file).map_err(|e| Stop::Missing(format!("{file}: {e}")))?;
        if !is.is_file() {
            return Err(Stop::Missing(format!("{file}: is not a file")));
        }
        if is.len() < least {
            return Err(Stop::Missing(format!("{file}: has {} bytes, and {least} are needed", is.len())));
        }
        Ok(())
    }

    /// Makes files of groma's own on the file system of this one, which is left alone: in a
    /// directory for temporary files if one is there, else beside it. Where that takes no files
    /// they are made in the usual place, which is told.
    pub(super) fn beside(&mut self, file: &str) -> Outcome {
        let of = |path: &Path| std::fs::metadata(path).map(|is| is.dev());
        let absolute = std::path::absolute(file).map_err(|e| Stop::Missing(format!("{file}: {e}")))?;
        let device = of(&absolute).map_err(|e| Stop::Missing(format!("{file}: {e}")))?;
        let beside = absolute.parent().unwrap_or(Path::new("/")).to_owned();
        let mut places = [std::env::temp_dir(), PathBuf::from("/var/tmp"), beside].into_iter();
        match places.find(|place| of(place).is_ok_and(|at| at == device) && disk::is_writable(place)) {
            Some(place) => self.work_dir = Some(place),
            None => self.tell(&format!("{file}: its file system takes no files of ours, so another one is measured")),
        }
        Ok(())
    }
}

/// As many members as a worker group may have.
const MAX_COPIES: u64 = 4096;
/// As many rounds as `groma run` takes.
const MAX_REPETITIONS: u32 = 1000;
/// Ten seconds, above the default of `bw_tcp`, 7.5 s.
const MAX_WARM_UP_US: u64 = 10_000_000;
