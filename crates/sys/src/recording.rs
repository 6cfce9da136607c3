//! The files of `/sys` and `/proc` that a [`Topology`] is read from, as one text, so that a run can
//! be planned for a machine that is somewhere else.
//!
//! A line is `path<TAB>text`, without the slash in front. A file of several lines has one line for
//! each. Equal files of several CPUs are one line: `cpu{0-3,8}` in a path stands for `cpu0` to
//! `cpu3` and `cpu8`. Empty lines and those that begin with `#` say nothing.
//!
//! The CPUs that the process may use are the line `Cpus_allowed_list:` of `proc/self/status`. No
//! other property of a process is recorded, and no name of a device.

use crate::cpu_list::{format_cpus, parse_cpus};
use crate::interrupts;
use crate::topology::{Topology, allowed_cpus};
use crate::tree::{Files, Tree};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The directory of a CPU, without its number.
const CPU: &str = "sys/devices/system/cpu/cpu";
const STATUS: &str = "proc/self/status";
const ALLOWED: &str = "Cpus_allowed_list:";
/// Files of a recording, at most: far above what 8192 CPUs have.
const MAX_FILES: usize = 1 << 20;

/// Files and their texts, without the white space at their ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording(Files);

impl Recording {
    /// What this machine says of its CPUs, and which of them the calling thread may use.
    pub fn of_this_machine() -> Recording {
        Recording::of_tree(Path::new("/"), &allowed_cpus())
    }

    /// What the `sys` and `proc` directories below `root` say, with these CPUs allowed.
    pub fn of_tree(root: &Path, allowed: &[u32]) -> Recording {
        let tree = Tree::noting(root);
        // The reader itself says what it reads, so a recording can never lack a file.
        let _ = Topology::of_tree(&tree, allowed);
        let mut files = BTreeMap::new();
        for (path, text) in tree.noted().0 {
            let text = if path == interrupts::PATH { interrupts::devices(&text) } else { text };
            // The format cannot hold these characters, which no list of CPUs and no number has.
            if !path.contains(['\t', '\n']) {
                files.insert(path, text.trim_end().to_owned());
            }
        }
        files.insert(STATUS.to_owned(), format!("{ALLOWED}\t{}", format_cpus(allowed)));
        Recording(Files(files))
    }

    /// The CPUs that the process was allowed to use.
    fn allowed(&self) -> Vec<u32> {
        let list = self.0.text(STATUS).and_then(|text| text.strip_prefix(ALLOWED));
        list.and_then(|list| parse_cpus(list).ok()).unwrap_or_default()
    }
}

/// The number and the rest of a path below the directory of a CPU.
fn of_cpu(path: &str) -> Option<(u32, &str)> {
    let (number, rest) = path.strip_prefix(CPU)?.split_once('/')?;
    Some((number.parse().ok()?, rest))
}

impl Topology {
    /// As [`Topology::for_plan`], of a recorded machine.
    pub fn recorded(recording: &Recording) -> Topology {
        Topology::of_tree(&Tree::recorded(&recording.0), &recording.allowed())
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, path: &str, text: &str| {
            // An empty file has a line as well.
            text.split('\n').try_for_each(|part| writeln!(f, "{path}\t{part}"))
        };
        let mut alike: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
        for (path, text) in &self.0.0 {
            match of_cpu(path) {
                Some((cpu, rest)) => alike.entry((rest, text)).or_default().push(cpu),
                None => line(f, path, text)?,
            }
        }
        for ((rest, text), mut cpus) in alike {
            cpus.sort_unstable();
            match cpus[..] {
                [cpu] => line(f, &format!("{CPU}{cpu}/{rest}"), text)?,
                _ => line(f, &format!("{CPU}{{{}}}/{rest}", format_cpus(&cpus)), text)?,
            }
        }
        Ok(())
    }
}

impl FromStr for Recording {
    type Err = String;

    fn from_str(text: &str) -> Result<Recording, String> {
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let parts =
                line.split_once('\t').ok_or_else(|| format!("line {number}: expected a path, a tab and a text"));
            let (path, text) = parts?;
            for path in spelled_out(path).map_err(|why| format!("line {number}: {why}"))? {
                let more = |whole: &mut String| {
                    whole.push('\n');
                    whole.push_str(text);
                };
                files.entry(path).and_modify(more).or_insert_with(|| text.to_owned());
                if files.len() > MAX_FILES {
                    return Err(format!("line {number}: more than {MAX_FILES} files"));
                }
            }
        }
        let recording = Recording(Files(files));
        if recording.allowed().is_empty() {
            return Err(format!("no recorded machine: expected a line '{STATUS}', a tab and '{ALLOWED} 0-3'"));
        }
        Ok(recording)
    }
}

/// The paths that a path with a list of CPUs in braces stands for.
fn spelled_out(path: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = path.split_once('{') else { return Ok(vec![path.to_owned()]) };
    let (list, after) = rest.split_once('}').ok_or("a brace is not closed")?;
    Ok(parse_cpus(list)?.into_iter().map(|cpu| format!("{before}{cpu}{after}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "proc/self/status\tCpus_allowed_list:\t0-2,9\nproc/two\ta\nproc/two\tb\n\
                        sys/devices/system/cpu/cpu1/x\t\nsys/devices/system/cpu/cpu{0-2,9}/y/z\t7\n";

    #[test]
    fn a_recording_is_written_as_it_is_read() {
        let recording: Recording = TEXT.parse().expect("a recording");
        assert_eq!(recording.to_string(), TEXT);
        assert_eq!(format!("# a comment\n\n{TEXT}").parse().as_ref(), Ok(&recording));
        assert_eq!(recording.allowed(), [0, 1, 2, 9]);
        assert_eq!(recording.0.text("proc/two"), Some("a\nb"));
        assert_eq!(recording.0.text("sys/devices/system/cpu/cpu9/y/z"), Some("7"));
        assert_eq!(recording.0.names("/sys/devices/system/cpu"), ["cpu0", "cpu1", "cpu2", "cpu9"]);
        assert_eq!(recording.0.names("sys/devices/system/cpu/cpu1"), ["x", "y"]);
        assert!(recording.0.names("sys/devices/system/cpu/cp").is_empty());
    }

    #[test]
    fn invalid_recordings_are_refused_with_the_line() {
        for (text, expected) in [
            ("", "no recorded machine: expected"),
            ("proc/self/status\tName:\tx\n", "no recorded machine: expected"),
            ("\n# one\na b\n", "line 3: expected a path, a tab and a text"),
            ("a{0-\tb\n", "line 1: a brace is not closed"),
            ("a{x}\tb\n", "line 1: \"x\" is not a CPU number"),
        ] {
            let refused = text.parse::<Recording>().expect_err(expected);
            assert!(refused.starts_with(expected), "{refused}");
        }
        let endless: String = (0..20).map(|i| format!("{i}/{{0-65535}}\tx\n")).collect();
        assert!(endless.parse::<Recording>().is_err_and(|why| why.contains("files")));
    }

    #[test]
    fn this_machine_is_read_from_its_recording_as_from_its_files() {
        let allowed = allowed_cpus();
        let recording: Recording = Recording::of_this_machine().to_string().parse().expect("its own text");
        assert_eq!(recording.allowed(), allowed);
        let (recorded, mut now) =
            (Topology::recorded(&recording), Topology::of_tree(&Tree::at(Path::new("/")), &allowed));
        // The counts of interrupts grow between the readings, for the same CPUs.
        let (before, after) = (&recorded.interrupts, &now.interrupts);
        assert!(before.keys().eq(after.keys()), "{before:?} {after:?}");
        assert!(before.values().zip(after.values()).all(|(before, after)| before <= after), "{before:?} {after:?}");
        now.interrupts.clone_from(&recorded.interrupts);
        assert_eq!(recorded, now);
    }
}
