//! The energy that the processor packages have used, by the kernel's power capping (RAPL on Intel
//! and AMD).
//!
//! Only the packages are summed: their parts (cores, graphics) are in them, and memory has a zone
//! of its own on servers alone.

use std::fs::{File, read_dir, read_to_string};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Where the kernel has its zones.
pub const ZONES: &str = "/sys/class/powercap";

/// The packages' counters.
#[derive(Debug)]
pub struct Packages {
    zones: Vec<Zone>,
}

#[derive(Debug)]
struct Zone {
    counter: File,
    /// Where the counter starts again, in microjoules.
    range: u64,
    last: u64,
    /// Microjoules since the first reading.
    used: u64,
}

impl Packages {
    /// The zones below a directory ([`ZONES`]) that are packages.
    ///
    /// # Errors
    /// `NotFound` where there is none; `PermissionDenied`: since Linux 5.10 only root may read
    /// them.
    pub fn below(directory: &Path) -> io::Result<Packages> {
        let mut zones = Vec::new();
        for entry in read_dir(directory)? {
            let zone = entry?.path();
            let name = read_to_string(zone.join("name")).unwrap_or_default();
            if !name.starts_with("package-") {
                continue;
            }
            let counter = File::open(zone.join("energy_uj"))?;
            let range = number(&read_to_string(zone.join("max_energy_range_uj"))?)?;
            let last = read(&counter)?;
            zones.push(Zone { counter, range, last, used: 0 });
        }
        if zones.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(Packages { zones }) }
    }

    /// How many packages there are.
    pub fn count(&self) -> usize {
        self.zones.len()
    }

    /// Joules that all of them have used since the start. To be asked at least once a minute: a
    /// counter that starts again twice between two readings would be missed.
    ///
    /// # Errors
    /// Those of reading.
    pub fn joules(&mut self) -> io::Result<f64> {
        let mut all = 0;
        for zone in &mut self.zones {
            let now = read(&zone.counter)?;
            let more = if now >= zone.last { now - zone.last } else { zone.range.saturating_sub(zone.last) + now };
            (zone.used, zone.last) = (zone.used + more, now);
            all += zone.used;
        }
        Ok(all as f64 * 1e-6)
    }
}

fn number(text: &str) -> io::Result<u64> {
    text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

fn read(counter: &File) -> io::Result<u64> {
    let mut text = [0; 32];
    let length = counter.read_at(&mut text, 0)?;
    number(std::str::from_utf8(&text[..length]).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;
    use std::fs::{create_dir, write};

    /// Two packages, of which one starts again, and a part that is not counted.
    #[test]
    fn packages_are_summed_and_may_start_again() {
        let tree = Scratch::new("energy");
        let zone = |name: &str, kind: &str, energy: u64| {
            let at = tree.0.join(name);
            create_dir(&at).expect("a directory");
            write(at.join("name"), format!("{kind}\n")).expect("a file");
            write(at.join("max_energy_range_uj"), "1000000\n").expect("a file");
            write(at.join("energy_uj"), format!("{energy}\n")).expect("a file");
        };
        let is_missing = |made: io::Result<Packages>| made.err().map(|e| e.kind()) == Some(io::ErrorKind::NotFound);
        assert!(is_missing(Packages::below(&tree.0)) && is_missing(Packages::below(&tree.0.join("none"))));
        zone("intel-rapl:0", "package-0", 100);
        zone("intel-rapl:0:0", "core", 5);
        zone("intel-rapl:1", "package-1", 999_000);
        let mut packages = Packages::below(&tree.0).expect("two packages");
        assert_eq!((packages.count(), packages.joules().expect("a reading")), (2, 0.0));
        write(tree.0.join("intel-rapl:0/energy_uj"), "2000100\n").expect("a file");
        write(tree.0.join("intel-rapl:0:0/energy_uj"), "900\n").expect("a file");
        assert_eq!(packages.joules().expect("a reading"), 2.0);
        write(tree.0.join("intel-rapl:1/energy_uj"), "499000\n").expect("a file");
        assert_eq!(packages.joules().expect("a reading"), 2.5);
    }
}
