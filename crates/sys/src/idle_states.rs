//! The idle states of a CPU as the kernel's `cpuidle` has them: what they are, how deep a CPU may
//! go, and how often and for how long it was in each.

use std::fs::{File, read_dir, read_to_string};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Where the kernel has its CPUs.
pub const CPUS: &str = "/sys/devices/system/cpu";
/// The device that takes requests of how long a CPU may need to leave an idle state, in
/// microseconds.
pub const LATENCY_DEVICE: &str = "/dev/cpu_dma_latency";

/// The idle states of one CPU, the shallowest first.
#[derive(Debug)]
pub struct IdleStates {
    states: Vec<State>,
}

#[derive(Debug)]
struct State {
    directory: PathBuf,
    name: String,
    latency_us: u64,
    residency_us: u64,
}

/// How often a CPU was in a state, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stays {
    /// Entries.
    pub entered: u64,
    /// Time, in microseconds.
    pub us: u64,
}

impl IdleStates {
    /// Those of this CPU below a directory ([`CPUS`]).
    ///
    /// # Errors
    /// `NotFound` where the kernel has none: a guest without a driver for them, or `idle=poll`.
    pub fn of(cpus: &Path, cpu: u32) -> io::Result<IdleStates> {
        let all = cpus.join(format!("cpu{cpu}/cpuidle"));
        let count =
            read_dir(&all)?.flatten().filter(|e| e.file_name().as_encoded_bytes().starts_with(b"state")).count();
        let state = |number: usize| {
            let directory = all.join(format!("state{number}"));
            Ok(State {
                name: read_to_string(directory.join("name"))?.trim().to_owned(),
                latency_us: number_in(&directory.join("latency"))?,
                residency_us: number_in(&directory.join("residency"))?,
                directory,
            })
        };
        let states = (0..count).map(state).collect::<io::Result<Vec<State>>>()?;
        if states.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(IdleStates { states }) }
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.states.iter().map(|state| state.name.as_str())
    }

    /// How long leaving this state takes at most, as the kernel was told, in microseconds.
    pub fn latency_us(&self, depth: usize) -> u64 {
        self.states[depth].latency_us
    }

    /// How long a CPU has to be in it to save energy, in microseconds.
    pub fn residency_us(&self, depth: usize) -> u64 {
        self.states[depth].residency_us
    }

    /// Whether an administrator has switched it off.
    pub fn is_off(&self, depth: usize) -> bool {
        number_in(&self.states[depth].directory.join("disable")).is_ok_and(|off| off != 0)
    }

    /// The stays in each, since the machine started.
    ///
    /// # Errors
    /// Those of reading.
    pub fn stays(&self) -> io::Result<Vec<Stays>> {
        let of = |state: &State| {
            let number = |file| number_in(&state.directory.join(file));
            Ok(Stays { entered: number("usage")?, us: number("time")? })
        };
        self.states.iter().map(of).collect()
    }
}

fn number_in(file: &Path) -> io::Result<u64> {
    read_to_string(file)?.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

/// A request that the CPUs use only idle states that they leave within so many microseconds. It
/// holds while it exists.
#[derive(Debug)]
pub struct LatencyLimit {
    _device: File,
    in_force: i32,
}

impl LatencyLimit {
    /// Makes the request.
    ///
    /// # Errors
    /// Those of opening [`LATENCY_DEVICE`], which root may: `NotFound` where the kernel has none.
    pub fn new(us: i32) -> io::Result<LatencyLimit> {
        let mut device = File::options().read(true).write(true).open(LATENCY_DEVICE)?;
        device.write_all(&us.to_ne_bytes())?;
        let mut limit = [0; 4];
        device.read_exact_at(&mut limit, 0)?;
        Ok(LatencyLimit { _device: device, in_force: i32::from_ne_bytes(limit) })
    }

    /// The strictest of all requests, of other programs too.
    pub fn in_force(&self) -> i32 {
        self.in_force
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;
    use std::fs::{create_dir_all, write};

    #[test]
    fn states_are_in_the_order_of_their_numbers() {
        let tree = Scratch::new("idle");
        // As on a server: the third is off. The eleventh comes before the second by name.
        for number in 0..11 {
            let at = tree.0.join(format!("cpu3/cpuidle/state{number}"));
            create_dir_all(&at).expect("a directory");
            for (file, value) in [("latency", number * 10), ("residency", number * 30), ("usage", 7), ("time", number)]
            {
                write(at.join(file), format!("{value}\n")).expect("a file");
            }
            write(at.join("name"), format!("C{number}\n")).expect("a file");
            write(at.join("disable"), if number == 2 { "1\n" } else { "0\n" }).expect("a file");
        }
        let missing = IdleStates::of(&tree.0, 0).map(|_| ()).map_err(|e| e.kind());
        assert_eq!(missing, Err(io::ErrorKind::NotFound));
        let states = IdleStates::of(&tree.0, 3).expect("states");
        assert_eq!(states.names().collect::<Vec<_>>()[..3], ["C0", "C1", "C2"]);
        assert_eq!((states.latency_us(10), states.residency_us(2)), (100, 60));
        assert_eq!([1, 2, 3].map(|depth| states.is_off(depth)), [false, true, false]);
        assert_eq!(states.stays().expect("counts")[10], Stays { entered: 7, us: 10 });
    }

    #[test]
    fn a_request_is_in_force_while_it_exists() {
        match LatencyLimit::new(0) {
            Ok(limit) => assert_eq!(limit.in_force(), 0),
            Err(e) => println!("no requests here: {e}"),
        }
    }
}
