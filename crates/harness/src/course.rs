//! The course of a host: how much of each core its other thread left, some ten thousand times a
//! second, as a compact file (docs/records.md#courses).
//!
//! `groma watch --record` writes one; the tests of the sampler run on them. Not here: the probing.

use crate::model::CoreProbe;
use crate::stats::idle_rate::{bin_rate, log_bin};
use serde::{Deserialize, Serialize};

/// Most CPUs of a course: each has a thread that never sleeps.
pub const MAX_CPUS: usize = 4;
/// The distance of the probes of one CPU; that of several is as many times longer, so that all
/// write 100 kB a second.
const SPACING_NS: u64 = 10_000;
/// The byte of a rate this many bins above the idle rate, 10 %, is 0: the idle rate of a trial can
/// be one beside a neighbour.
const HEADROOM: i16 = 40;
/// The slowest rate that can be told, in bins below the top: 0.59 of the idle one.
const SLOWEST_BIN: u8 = 254;
/// The byte of a probe that was not made.
const AWAY: u8 = 255;
const KIND: &str = "course";
const SCHEMA: u32 = 1;
/// The longest first line.
const LONGEST_LINE: usize = 4096;

/// The first line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    kind: String,
    schema: u32,
    /// The model of the processor.
    pub host: String,
    /// The CPUs that were probed.
    pub cpus: Vec<u32>,
    /// The rate of an idle core when the recording began, in operations per cycle.
    pub idle: f64,
    /// The step of the counter as a fraction of what it counts during a probe.
    pub step: f64,
    /// The length of a probe as a multiple of the shortest.
    pub length: u32,
    /// Nanoseconds from one probe of a CPU to the next.
    pub spacing_ns: u64,
    /// The bin (`log_bin`) of the rate whose byte is 0.
    top: i16,
}

impl Head {
    /// The head of a course of these CPUs, of which the first [`MAX_CPUS`] are kept.
    ///
    /// `None` where the probe knows no idle rate.
    pub fn new(host: &str, cpus: &[u32], probe: &CoreProbe) -> Option<Head> {
        let cpus = cpus[..cpus.len().min(MAX_CPUS)].to_vec();
        Some(Head {
            kind: KIND.to_owned(),
            schema: SCHEMA,
            host: host.to_owned(),
            idle: probe.idle,
            step: probe.step,
            length: probe.length,
            spacing_ns: SPACING_NS * cpus.len().max(1) as u64,
            top: log_bin(probe.idle)? + HEADROOM,
            cpus,
        })
    }

    /// The line, without its end.
    pub fn line(&self) -> String {
        // Finite numbers and strings always have a form in JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The byte of a probe that found a rate of this bin; `None` is one that was not made, because
    /// the CPU was taken away.
    pub fn byte(&self, bin: Option<i16>) -> u8 {
        bin.map_or(AWAY, |bin| self.top.saturating_sub(bin).clamp(0, i16::from(SLOWEST_BIN)) as u8)
    }

    fn check(&self) -> Result<(), &'static str> {
        let is_known = self.kind == KIND && self.schema == SCHEMA;
        let is_bin = log_bin(self.idle).is_some_and(|bin| (bin..=bin + 2 * HEADROOM).contains(&self.top));
        match () {
            () if !is_known => Err("not a course of a version that is known"),
            () if self.cpus.is_empty() || self.cpus.len() > MAX_CPUS => Err("its CPUs are none or too many"),
            () if !is_bin => Err("its idle rate is no rate, or not on its scale"),
            () if !(0.0..1.0).contains(&self.step) => Err("the step of its counter is no part of a probe"),
            () if !(1_000..=1_000_000_000).contains(&self.spacing_ns) => Err("its spacing is not from 1 us to 1 s"),
            () => Ok(()),
        }
    }
}

/// A course that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// What was probed.
    pub head: Head,
    probes: Vec<u8>,
}

impl Course {
    /// Reads a whole file.
    ///
    /// # Errors
    /// What is wrong with it, in a line.
    pub fn read(file: &[u8]) -> Result<Course, String> {
        let end = file.iter().take(LONGEST_LINE).position(|byte| *byte == b'\n').ok_or("no course: no first line")?;
        let head: Head = serde_json::from_slice(&file[..end]).map_err(|e| format!("no course: first line: {e}"))?;
        head.check()?;
        let probes = file[end + 1..].to_vec();
        if probes.is_empty() {
            return Err("a course without probes".to_owned());
        }
        if !probes.len().is_multiple_of(head.cpus.len()) {
            return Err("a course that is cut off: its CPUs have not equally many probes".to_owned());
        }
        Ok(Course { head, probes })
    }

    /// The rates that probes of the CPU at this place of [`Head::cpus`] found, one for each
    /// [`Head::spacing_ns`]; `None` where none was made.
    ///
    /// # Panics
    /// When there is no such place.
    pub fn rates(&self, place: usize) -> impl Iterator<Item = Option<f64>> {
        assert!(place < self.head.cpus.len(), "CPU {place} of {}", self.head.cpus.len());
        let of_cpu = self.probes.iter().skip(place).step_by(self.head.cpus.len());
        of_cpu.map(|byte| (*byte != AWAY).then(|| bin_rate(self.head.top - i16::from(*byte))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        let probe = CoreProbe { length: 2, step: 0.01, idle: 4.0, alone: true, shared_below: Some(3.9) };
        Head::new("a \"quoted\" processor", &[3, 5], &probe).expect("an idle rate")
    }

    fn file(head: &Head, bytes: &[u8]) -> Vec<u8> {
        [head.line().as_bytes(), b"\n", bytes].concat()
    }

    #[test]
    fn what_was_written_is_read() {
        let head = head();
        let rates = [Some(4.0), Some(2.4), None, Some(3.9), Some(1.0), Some(9.0)];
        let bytes = rates.map(|rate| head.byte(rate.and_then(log_bin)));
        let course = Course::read(&file(&head, &bytes)).expect("a course");
        assert_eq!(course.head, head);
        let of_cpu = |place| course.rates(place).collect::<Vec<_>>();
        // What is off the scale is at its end.
        let expected = [[Some(4.0), None, Some(2.34)], [Some(2.4), Some(3.9), Some(4.42)]];
        for (place, expected) in expected.iter().enumerate() {
            for (read, expected) in of_cpu(place).iter().zip(expected) {
                assert_eq!(read.is_some(), expected.is_some());
                let off = read.zip(*expected).map_or(0.0, |(read, expected)| read / expected - 1.0);
                assert!(off.abs() < 0.003, "CPU {place}: {read:?}, not {expected:?}");
            }
        }
        assert_eq!(of_cpu(1).len(), 3);
    }

    #[test]
    fn all_cpus_together_write_as_much_as_one() {
        let of = |n: u32| Head::new("", &(0..n).collect::<Vec<_>>(), &crate::fake::core()).expect("an idle rate");
        for n in [1, 2, 4, 64] {
            let head = of(n);
            assert!(head.cpus.len() <= MAX_CPUS);
            assert_eq!(head.cpus.len() as u64 * 1_000_000_000 / head.spacing_ns, 100_000);
        }
        let unknown = CoreProbe { idle: 0.0, ..crate::fake::core() };
        assert_eq!(Head::new("", &[0], &unknown), None);
    }

    #[test]
    fn a_bad_file_is_refused_in_one_line() {
        let good = head();
        let bad = |file: &[u8], expected: &str| {
            let refused = Course::read(file).expect_err("it is bad");
            assert!(refused.contains(expected) && !refused.contains('\n'), "{refused}");
        };
        bad(b"", "no first line");
        bad(&[b'x'; 5000], "no first line");
        bad(b"{\"kind\":\"run\"}\n12", "first line: missing field");
        bad(&file(&good, b""), "without probes");
        bad(&file(&good, b"123"), "cut off");
        bad(&file(&Head { schema: 2, ..head() }, b"12"), "version");
        bad(&file(&Head { kind: "run".to_owned(), ..head() }, b"12"), "version");
        bad(&file(&Head { cpus: Vec::new(), ..head() }, b"12"), "none or too many");
        bad(&file(&Head { cpus: vec![1; 5], ..head() }, b"12345"), "none or too many");
        bad(&file(&Head { idle: -1.0, ..head() }, b"12"), "idle rate");
        bad(&file(&Head { top: i16::MAX, ..head() }, b"12"), "idle rate");
        bad(&file(&Head { step: 1.0, ..head() }, b"12"), "step");
        bad(&file(&Head { spacing_ns: 0, ..head() }, b"12"), "spacing");
    }
}
