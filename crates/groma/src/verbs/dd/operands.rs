//! The operands of `groma dd`: `name=value` as for `lmdd` and `dd`, but parsed strictly.

use anyhow::{Context, Result, bail};
use groma_harness::model::parse_size;
use groma_harness::sys::disk::ALIGNMENT;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

/// Switches: `name=1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    Append,
    Direct,
    Fsync,
    Hist,
    Idirect,
    Ipat,
    Json,
    Nocreate,
    Norepeat,
    Notrunc,
    Odirect,
    Opat,
    Osync,
}

const SWITCHES: [(&str, Switch); 13] = [
    ("append", Switch::Append),
    ("direct", Switch::Direct),
    ("fsync", Switch::Fsync),
    ("hist", Switch::Hist),
    ("idirect", Switch::Idirect),
    ("ipat", Switch::Ipat),
    ("json", Switch::Json),
    ("nocreate", Switch::Nocreate),
    ("norepeat", Switch::Norepeat),
    ("notrunc", Switch::Notrunc),
    ("odirect", Switch::Odirect),
    ("opat", Switch::Opat),
    ("osync", Switch::Osync),
];

const VALUES: [&str; 11] = ["if", "of", "bs", "count", "move", "skip", "rand", "start", "seed", "mismatch", "time"];

/// A transfer.
#[derive(Debug)]
pub struct Job {
    /// A path, `-` or `internal`.
    pub input: OsString,
    /// As `input`.
    pub output: OsString,
    /// Bytes of a block.
    pub bs: usize,
    /// The maximum number of blocks.
    pub count: Option<u64>,
    /// The maximum number of bytes.
    pub total: Option<u64>,
    /// Blocks to skip at the start of input and output.
    pub skip: u64,
    /// The range of random offsets, in bytes; `None` for sequential blocks.
    pub(super) random: Option<u64>,
    /// Bytes added to every offset.
    pub(super) start: u64,
    pub(super) seed: u64,
    /// The number of mismatches after which it ends.
    pub(super) mismatch: Option<u64>,
    /// The maximum time.
    pub time: Option<Duration>,
    switches: Vec<Switch>,
}

impl Job {
    /// Parses operands.
    ///
    /// # Errors
    /// Names the operand, and says what was expected.
    pub fn parse(words: &[impl AsRef<OsStr>]) -> Result<Job> {
        let mut job = Job {
            input: "internal".into(),
            output: "internal".into(),
            bs: 64 << 10,
            count: None,
            total: None,
            skip: 0,
            random: None,
            start: 0,
            seed: 1,
            mismatch: None,
            time: None,
            switches: Vec::new(),
        };
        for bytes in words.iter().map(AsRef::as_ref) {
            // File names may be any bytes; other values that are not UTF-8 are refused below.
            let word = bytes.to_string_lossy();
            let (name, value) =
                word.split_once('=').with_context(|| format!("{word}: expected name=value, as in bs=64K"))?;
            let size = || parse_size(value).map_err(|why| anyhow::anyhow!("{name}: {why}"));
            let count = || value.parse::<u64>().with_context(|| format!("{name}: '{value}' is not a whole number"));
            match name {
                "if" => job.input = OsString::from_vec(bytes.as_bytes()["if=".len()..].to_vec()),
                "of" => job.output = OsString::from_vec(bytes.as_bytes()["of=".len()..].to_vec()),
                "bs" => job.bs = usize::try_from(size()?).context("bs")?,
                "count" => job.count = Some(count()?),
                "move" => job.total = Some(size()?),
                "skip" => job.skip = count()?,
                "rand" => job.random = Some(size()?),
                "start" => job.start = size()?,
                "seed" => job.seed = count()?,
                "mismatch" => job.mismatch = Some(count()?),
                "time" => {
                    job.time = Some(crate::parse::parse_time(value).map_err(|why| anyhow::anyhow!("time: {why}"))?)
                }
                _ => {
                    let Some((_, switch)) = SWITCHES.iter().find(|(n, _)| *n == name) else {
                        let known: Vec<&str> = VALUES.into_iter().chain(SWITCHES.iter().map(|(n, _)| *n)).collect();
                        bail!("{name}: is not an operand of dd (known: {})", known.join(", "));
                    };
                    match value {
                        "1" | "on" | "yes" => job.switches.push(*switch),
                        "0" | "off" | "no" => job.switches.retain(|s| s != switch),
                        _ => bail!("{name}: expected 1 or 0, not '{value}'"),
                    }
                }
            }
        }
        job.check()?;
        Ok(job)
    }

    /// Refuses operands that contradict each other.
    fn check(&self) -> Result<()> {
        const MAX_BLOCK: usize = 1 << 30;
        if self.bs == 0 || self.bs > MAX_BLOCK {
            bail!("bs: expected 1 B to 1 GiB");
        }
        let reads = self.input != "internal";
        if !reads && self.output == "internal" {
            bail!("nothing to do: name a file with if= or of=");
        }
        let bounded = self.count.is_some() || self.total.is_some() || self.time.is_some();
        let ends = bounded || self.has(Switch::Norepeat) || (reads && self.random.is_none());
        if !ends {
            bail!("this would never end: limit it with count=, move= or time=");
        }
        if self.random.is_some_and(|range| range < self.bs as u64) {
            bail!("rand: expected at least one block of bs={}", self.bs);
        }
        if self.has(Switch::Norepeat) && self.random.is_none() {
            bail!("norepeat: needs rand=");
        }
        if self.has(Switch::Ipat) && !reads {
            bail!("ipat: needs an if= to look at");
        }
        if (self.has(Switch::Ipat) || self.has(Switch::Opat)) && !self.bs.is_multiple_of(8) {
            bail!("bs: a pattern needs a multiple of 8");
        }
        if self.mismatch.is_some() && !self.has(Switch::Ipat) {
            bail!("mismatch: needs ipat=1");
        }
        if self.has(Switch::Append) && self.random.is_some() {
            bail!("append: writes at the end, rand= at offsets: use one of them");
        }
        let aligned = |n: u64| n.is_multiple_of(ALIGNMENT as u64);
        if (self.direct_input() || self.direct_output()) && !(aligned(self.bs as u64) && aligned(self.start)) {
            bail!("direct: bs and start must be multiples of {ALIGNMENT}");
        }
        Ok(())
    }

    pub(super) fn has(&self, switch: Switch) -> bool {
        self.switches.contains(&switch)
    }

    /// Whether reads bypass the page cache.
    pub fn direct_input(&self) -> bool {
        self.has(Switch::Direct) || self.has(Switch::Idirect)
    }

    /// Whether writes bypass the page cache.
    pub fn direct_output(&self) -> bool {
        self.has(Switch::Direct) || self.has(Switch::Odirect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Job> {
        Job::parse(&text.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn operands_are_parsed() {
        let job = parse("if=a of=b bs=1M count=3 opat=1 fsync=on direct=0 time=2m").expect("all is well");
        assert_eq!(
            (job.input.to_str(), job.output.to_str(), job.bs, job.count),
            (Some("a"), Some("b"), 1 << 20, Some(3))
        );
        assert!(job.has(Switch::Opat) && job.has(Switch::Fsync) && !job.has(Switch::Direct));
        assert_eq!(job.time, Some(Duration::from_secs(120)));
        // lmdd reads `opat=0` as on, and `K` as 1000.
        assert!(!parse("of=b count=1 opat=0").expect("off").has(Switch::Opat));
        assert_eq!(parse("of=b count=1 bs=4K").expect("a size").bs, 4096);
    }

    #[test]
    fn contradictions_and_mistakes_are_refused() {
        for (text, why) in [
            ("if=a bs=2q", "bs: '2q' is not a size"),
            ("if=a cnt=3", "cnt: is not an operand of dd (known: if, of, bs"),
            ("if", "expected name=value"),
            ("", "nothing to do"),
            ("of=a", "never end"),
            ("if=a rand=1M", "never end"),
            ("if=a rand=1K count=1", "rand: expected at least one block"),
            ("if=a norepeat=1", "norepeat: needs rand="),
            ("of=a count=1 ipat=1", "ipat: needs an if="),
            ("if=a ipat=1 bs=1001", "a multiple of 8"),
            ("if=a mismatch=1", "mismatch: needs ipat="),
            ("if=a bs=512 direct=1", "multiples of 4096"),
            ("of=a count=1 append=1 rand=1M", "append: writes at the end"),
            ("if=a hist=maybe", "hist: expected 1 or 0"),
            ("if=a bs=0", "bs: expected 1 B"),
        ] {
            let error = format!("{:#}", parse(text).expect_err(text));
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
