//! The configuration file of a host, as lmbench's configuration script saves it
//! (`bin/OS/CONFIG.HOST`): shell assignments.
//!
//! It is read, not executed: nothing is expanded, and no command runs. Names that lmbench knows and
//! that decide nothing here (the mail, the calibration, the status file) are skipped. So are names
//! that nobody knows, with a line on standard error, since a shell file may set anything.

use super::sched::Policy;
use super::{call::Stop, servers};
use crate::parse::parse_address;
use groma_harness::model::Fact;
use groma_harness::sys::disk;
use std::collections::BTreeMap;
use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;

/// What a run of the suite measures, and with what.
#[derive(Debug)]
pub(super) struct Config {
    /// The largest size in binary megabytes.
    pub(super) megabytes: u64,
    /// Copies of each program at once.
    pub(super) copies: u32,
    pub(super) policy: Policy,
    /// Where files are made.
    pub(super) directory: Option<PathBuf>,
    pub(super) disks: Vec<String>,
    /// Other machines by their names in the file, where `groma serve` listens.
    pub(super) remote: Vec<(String, SocketAddr)>,
    /// Whether memory has one stride only.
    pub(super) is_fast: bool,
    /// Whether files are neither created nor deleted.
    pub(super) is_slow: bool,
    /// What was answered of the parts; empty for all.
    parts: Vec<String>,
    /// What the file says and only the head repeats.
    told: Vec<Fact>,
    /// Lines to be told before the run.
    pub(super) remarks: Vec<String>,
}

/// The default of `MB`: beyond every cache but the largest. lmbench takes 70 % of the memory, which
/// makes a run of hours.
const MEGABYTES: u64 = 64;
/// lmbench refuses less.
const MIN_MEGABYTES: u64 = 8;
/// Beyond it each row takes seconds and repeats the one before.
const MAX_MEGABYTES: u64 = 512;
const MAX_COPIES: u64 = 4096;
/// The default of `FSDIR`, as there, if it can be written.
const DIRECTORY: &str = "/var/tmp";

/// What the head repeats as it is, besides [`Config::facts`].
const TOLD: [&str; 6] = ["DISKS", "DISK_DESC", "FASTMEM", "MOTHERBOARD", "PROCESSORS", "SLOWFS"];
/// What decides nothing here.
const SKIPPED: [&str; 21] = [
    "ALL",
    "ENOUGH",
    "FAST",
    "FILE",
    "HALF",
    "INFO",
    "LINE_SIZE",
    "LMBENCH_VER",
    "LOOP_O",
    "MAIL",
    "MHZ",
    "NETWORKS",
    "OS",
    "OUTPUT",
    "RCP",
    "RESULTS",
    "RSH",
    "TIMING_O",
    "TOTAL_MEM",
    "USER",
    "VERSION",
];
/// The parts that a configuration chooses from, besides the two subsets.
const PARTS: [&str; 17] = [
    "SYSCALL",
    "SELECT",
    "PROC",
    "CTX",
    "PAGEFAULT",
    "FILE",
    "MMAP",
    "PIPE",
    "UNIX",
    "UDP",
    "TCP",
    "CONNECT",
    "RPC",
    "HTTP",
    "BCOPY",
    "MEM",
    "OPS",
];
const PART: &str = "BENCHMARK_";
pub(super) const HARDWARE: &str = "HARDWARE";
pub(super) const SYSTEM: &str = "OS";

/// Values with the numbers of their lines.
#[derive(Default)]
struct Values(BTreeMap<String, (usize, String)>);

impl Config {
    /// Reads a configuration; an empty text is the default one.
    ///
    /// # Errors
    /// One line that begins with the number of the bad one.
    pub(super) fn parse(text: &str) -> Result<Config, String> {
        let mut values = Values::default();
        for (at, line) in text.lines().enumerate() {
            for (name, value) in assignments(line).map_err(|why| format!("{}: {why}", at + 1))? {
                values.0.insert(name, (at + 1, value));
            }
        }
        let mut remarks = Vec::new();
        let mut megabytes = values.number("MB", MEGABYTES, [MIN_MEGABYTES, 1 << 24])?;
        if megabytes > MAX_MEGABYTES {
            remarks.push(format!("MB={megabytes}: sizes end at {MAX_MEGABYTES} MiB; larger ones say no more"));
            megabytes = MAX_MEGABYTES;
        }
        let copies = values.number("SYNC_MAX", 1, [1, MAX_COPIES])? as u32;
        let policy = values.with("LMBENCH_SCHED", |text| match text {
            Some(text) => Policy::parse(text),
            None => Policy::of_environment(),
        })?;
        let disks: Vec<String> = values.with("DISKS", |text| words(text).map(readable).collect())?;
        let remote: Vec<_> = values.with("REMOTE", |text| words(text).map(peer).collect())?;
        if copies > 1 && !(disks.is_empty() && remote.is_empty()) {
            remarks.push("with several copies neither disks nor other machines are measured, as there".to_owned());
        }
        let config = Config {
            megabytes,
            copies,
            policy,
            directory: values.with("FSDIR", |text| match text.filter(|text| !text.is_empty()) {
                Some(text) => directory(text).map(Some),
                None => Ok(directory(DIRECTORY).ok()),
            })?,
            disks: if copies > 1 { Vec::new() } else { disks },
            remote: if copies > 1 { Vec::new() } else { remote },
            is_fast: values.is_yes("FASTMEM")?,
            is_slow: values.is_yes("SLOWFS")?,
            parts: values.parts()?,
            told: values.facts(),
            remarks: [remarks, values.unknown()].concat(),
        };
        Ok(config)
    }

    /// What the head of the result file says of the configuration; the parsers of such files look
    /// for the size and the subsets.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let fact = |name: &str, value: String| Fact::new(format!("lmbench.{name}"), value);
        let subset = |name: &str| {
            let answer = if self.measures(name, name) { "YES" } else { "NO" };
            fact(&format!("{PART}{name}"), answer.to_owned())
        };
        let mut facts = vec![subset(HARDWARE), subset(SYSTEM), fact("MB", self.megabytes.to_string())];
        facts.extend(self.told.iter().cloned());
        facts
    }

    /// Whether a part is measured: everything unless the file chooses, else the parts and subsets
    /// that it answers with yes. The signals have no answer of their own.
    pub(super) fn measures(&self, part: &str, subset: &str) -> bool {
        let has = |name: &str| self.parts.iter().any(|chosen| chosen == name);
        self.parts.is_empty() || has(part) || has(subset)
    }
}

impl Values {
    /// What a function makes of a value, which may not be there; its error gets the line.
    fn with<T>(&self, name: &str, of: impl Fn(Option<&str>) -> Result<T, String>) -> Result<T, String> {
        let known = self.0.get(name);
        of(known.map(|(_, text)| text.as_str())).map_err(|why| match known {
            Some((line, _)) => format!("{line}: {name}: {why}"),
            None => why,
        })
    }

    fn number(&self, name: &str, default: u64, [least, most]: [u64; 2]) -> Result<u64, String> {
        self.with(name, |text| {
            let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(default) };
            let number = text.parse::<u64>().ok().filter(|n| (least..=most).contains(n));
            number.ok_or_else(|| format!("'{text}': expected a whole number from {least} to {most}"))
        })
    }

    fn is_yes(&self, name: &str) -> Result<bool, String> {
        self.with(name, |text| match text.unwrap_or_default().to_ascii_uppercase().as_str() {
            "YES" | "Y" => Ok(true),
            "NO" | "N" | "" => Ok(false),
            other => Err(format!("'{other}': expected YES or NO")),
        })
    }

    /// The parts that are answered with yes. Where none is, there is nothing to measure.
    fn parts(&self) -> Result<Vec<String>, String> {
        let mut chosen = Vec::new();
        let mut last = None;
        for (name, (line, _)) in &self.0 {
            let Some(part) = name.strip_prefix(PART).filter(|part| is_part(part)) else { continue };
            last = last.max(Some(*line));
            if self.is_yes(name)? {
                chosen.push(part.to_owned());
            }
        }
        match last {
            Some(line) if chosen.is_empty() => Err(format!("{line}: {PART}...: every part is answered with NO")),
            _ => Ok(chosen),
        }
    }

    fn facts(&self) -> Vec<Fact> {
        let told = TOLD.iter().filter_map(|name| Some((name, &self.0.get(*name)?.1)));
        told.filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| Fact::new(format!("lmbench.{name}"), text))
            .collect()
    }

    /// A remark for each name that is none of lmbench's.
    fn unknown(&self) -> Vec<String> {
        const READ: [&str; 5] = ["MB", "SYNC_MAX", "LMBENCH_SCHED", "FSDIR", "REMOTE"];
        let is_known = |name: &str| {
            [&TOLD[..], &SKIPPED, &READ].concat().contains(&name) || name.strip_prefix(PART).is_some_and(is_part)
        };
        let unknown = self.0.iter().filter(|(name, _)| !is_known(name));
        unknown.map(|(name, (line, _))| format!("line {line}: {name}: is no setting of lmbench, and ignored")).collect()
    }
}

fn is_part(name: &str) -> bool {
    [HARDWARE, SYSTEM].contains(&name) || PARTS.contains(&name)
}

fn words(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().split_ascii_whitespace()
}

/// A device that can be read.
fn readable(device: &str) -> Result<String, String> {
    let size = File::open(device).and_then(|file| disk::size(file.as_fd()));
    size.map(|_| device.to_owned()).map_err(|e| format!("{device}: {e}"))
}

fn directory(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.is_dir() && disk::is_writable(&path) {
        true => Ok(path),
        false => Err(format!("'{text}': expected a directory that can be written")),
    }
}

/// Another machine: its name without the port, and the address of its `groma serve`.
fn peer(host: &str) -> Result<(String, SocketAddr), String> {
    if let Ok(address) = parse_address(host) {
        return Ok((address.ip().to_string(), address));
    }
    match servers::address(host) {
        Ok(ip) => Ok((host.to_owned(), parse_address(&ip.to_string())?)),
        Err(Stop::Missing(why)) => Err(why),
        Err(_) => Err(format!("'{host}': expected an address")),
    }
}

/// The assignments of a line: `MB=64`, `A="b c"; export A`, a comment.
fn assignments(line: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    let mut exports = false;
    for word in shell_words(line)? {
        let is_name = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match word.split_once('=') {
            Some((name, value)) if is_name(name) => found.push((name.to_owned(), value.to_owned())),
            _ if word == "export" => exports = true,
            None if exports && is_name(&word) => {}
            _ => return Err(format!("'{word}': expected NAME=value")),
        }
    }
    Ok(found)
}

/// The words of a line, without their quotes; a comment ends it. Semicolons separate words: of
/// commands there are none but `export`.
fn shell_words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match (c, quote) {
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            ('$' | '`', None | Some('"')) => return Err(format!("'{c}': nothing is expanded here; write the value")),
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(rest.next()),
            ('#', None) if word.is_none() => break,
            (';', None) => words.extend(word.take()),
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(quote) => Err(format!("{quote} is not closed in this line")),
        None => Ok(words.into_iter().chain(word).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_a_shell_reads_it() {
        let text = "# lmbench\nMB=128\nSYNC_MAX=\"2\"; export SYNC_MAX\nMAIL=no\nFASTMEM='YES' SLOWFS=NO\nexport A MB\n\
                    BENCHMARK_OS=NO\nBENCHMARK_MEM=YES\nLMBENCH_SCHED=\"CUSTOM 0 1\"\nDISK_DESC=\"a \\\"fast\\\" one\"\n";
        let config = Config::parse(text).expect("it is good");
        assert_eq!((config.megabytes, config.copies, config.is_fast, config.is_slow), (128, 2, true, false));
        assert_eq!(config.policy, Policy::Custom(vec![0, 1]));
        assert!(config.measures("MEM", HARDWARE) && !config.measures("OPS", HARDWARE));
        assert!(!config.measures("SYSCALL", SYSTEM) && !config.measures("", SYSTEM));
        for (name, value) in [("DISK_DESC", "a \"fast\" one"), ("BENCHMARK_OS", "NO"), ("MB", "128")] {
            assert!(config.facts().contains(&Fact::new(format!("lmbench.{name}"), value)), "{name}");
        }
        assert!(config.remarks.is_empty(), "{:?}", config.remarks);
        let all = Config::parse("").expect("it is good");
        assert!(all.measures("OPS", HARDWARE) && all.measures("", SYSTEM) && all.megabytes == MEGABYTES);
        // What lmbench writes by default is 70 % of the memory.
        let large = Config::parse("MB=16800\nFROB=1\nREMOTE='localhost 127.0.0.9:99'\n").expect("it is good");
        let remote: Vec<String> = large.remote.iter().map(|(name, at)| format!("{name} {at}")).collect();
        assert_eq!(remote, ["localhost 127.0.0.1:24766", "127.0.0.9 127.0.0.9:99"]);
        assert_eq!((large.megabytes, large.remarks.len()), (512, 2), "{:?}", large.remarks);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, why) in [
            ("MB=64\nSYNC_MAX=0\n", "2: SYNC_MAX: '0': expected a whole number from 1"),
            ("MB=7", "1: MB: '7': expected a whole number from 8"),
            ("MB=64m", "1: MB: '64m': expected"),
            ("\n\nMB=$(memsize)", "3: '$': nothing is expanded"),
            ("INFO='a", "1: ' is not closed"),
            ("rm -rf /", "1: 'rm': expected NAME=value"),
            ("FSDIR=/nonexistent", "1: FSDIR: '/nonexistent': expected a directory"),
            ("FASTMEM=maybe", "1: FASTMEM: 'MAYBE': expected YES or NO"),
            ("LMBENCH_SCHED=\"CUSTOM_SPREAD 0\"", "1: LMBENCH_SCHED: LMBENCH_SCHED: 'CUSTOM_SPREAD 0' is no policy"),
            ("DISKS=/nonexistent", "1: DISKS: /nonexistent: No such file"),
            ("REMOTE=no-such-host.invalid", "1: REMOTE: no-such-host.invalid: expected an address"),
            ("BENCHMARK_OS=NO\nBENCHMARK_MEM=NO", "2: BENCHMARK_...: every part is answered with NO"),
        ] {
            let said = Config::parse(text).err().unwrap_or_else(|| panic!("{text} passes"));
            assert!(said.starts_with(why), "{text}: {said}");
        }
    }
}
