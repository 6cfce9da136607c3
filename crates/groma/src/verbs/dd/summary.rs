//! What `groma dd` did: its text, its histogram and its JSON.

use groma_report::units::{Scale, significant, value};
use groma_stats::Tally;
use serde_json::json;
use std::time::Duration;

/// The counts and times of a transfer.
#[derive(Default)]
pub(crate) struct Moved {
    pub(crate) bytes: u64,
    pub(crate) elapsed: Duration,
    pub(crate) reads: Latencies,
    pub(crate) writes: Latencies,
    pub(crate) mismatches: u64,
}

/// The latencies of reads or writes, in a fixed amount of memory.
pub(crate) struct Latencies {
    ns: Tally,
    /// The bins of the histogram: below 2 us, below 4 us and so on.
    octaves: [u64; u64::BITS as usize],
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies { ns: Tally::default(), octaves: [0; u64::BITS as usize] }
    }
}

impl Latencies {
    pub(super) fn record(&mut self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.ns.record(ns);
        self.octaves[(ns / 1000).max(1).ilog2() as usize] += 1;
    }
}

impl Moved {
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    fn sides(&self) -> [(&'static str, &Latencies); 2] {
        [("read", &self.reads), ("write", &self.writes)]
    }

    pub(super) fn text(&self, histogram: bool) -> String {
        let mut text = format!(
            "{} MB in {} s, {}\n",
            significant(self.bytes as f64 / 1e6, 4),
            significant(self.elapsed.as_secs_f64(), 4),
            value(self.rate(), Scale::Bandwidth, None)
        );
        for (what, took) in self.sides() {
            let (Some(least), Some(most)) = (took.ns.least(), took.ns.most()) else { continue };
            let time = |ns: f64| value(ns / 1e9, Scale::Time, None);
            text += &format!("{} {what}s: least {}", took.ns.count(), time(least as f64));
            for (name, p) in [("median", 0.5), ("p90", 0.9), ("p99", 0.99)] {
                if let Some(ns) = took.ns.quantile_if_enough(p) {
                    text += &format!(", {name} {}", time(ns));
                }
            }
            text += &format!(", most {}\n", time(most as f64));
            if histogram {
                text += &histogram_of(&took.octaves);
            }
        }
        if self.mismatches > 0 {
            text += &format!("words that are not their offset: {}\n", self.mismatches);
        }
        text
    }

    pub(super) fn json(&self) -> String {
        let side = |took: &Latencies| {
            let took = &took.ns;
            let seconds = |ns: u64| ns as f64 / 1e9;
            let at = |p| took.quantile_if_enough(p).map(|ns| ns / 1e9);
            json!({
                "transfers": took.count(), "min": took.least().map(seconds), "p50": at(0.5), "p90": at(0.9), "p99": at(0.99),
                "max": took.most().map(seconds),
            })
        };
        json!({
            "bytes": self.bytes, "seconds": self.elapsed.as_secs_f64(), "bytes_per_second": self.rate(),
            "reads_s": side(&self.reads), "writes_s": side(&self.writes), "mismatches": self.mismatches,
        })
        .to_string()
    }
}

/// A histogram with a line for each bin, from the first to the last that is not empty.
fn histogram_of(octaves: &[u64]) -> String {
    /// Columns of the longest bar.
    const WIDTH: u64 = 40;
    let (Some(first), Some(last)) = (octaves.iter().position(|n| *n > 0), octaves.iter().rposition(|n| *n > 0)) else {
        return String::new();
    };
    let most = octaves.iter().copied().max().unwrap_or(1);
    let bar = |n: u64| "#".repeat((u128::from(n) * u128::from(WIDTH)).div_ceil(u128::from(most)) as usize);
    (first..=last)
        .map(|octave| {
            let (from, n) = (if octave == 0 { 0 } else { 1u64 << octave }, octaves[octave]);
            format!("  {from:>9} to {:>9} us {n:>9}  {}\n", 1u128 << (octave + 1), bar(n))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_histogram_counts_every_transfer() {
        let mut took = Latencies::default();
        [500, 1000, 3000, 9000].into_iter().for_each(|ns| took.record(Duration::from_nanos(ns)));
        assert_eq!((took.ns.count(), took.ns.least(), took.ns.most()), (4, Some(500), Some(9000)));
        let text = histogram_of(&took.octaves);
        let counts: Vec<&str> = text.lines().map(|l| l.split_whitespace().nth(4).expect("a count")).collect();
        assert_eq!(counts, ["2", "1", "0", "1"]);
    }
}
