//! lmdd: the transfers of `groma dd`, with the operands and the lines of lmdd.
//!
//! Its suffixes are its own: `k`, `m`, `g` are binary and `K`, `M`, `G` decimal. Operands that
//! `groma dd` has no word for are refused, not ignored.

use super::super::call::{Call, Outcome, Program, Stop};
use super::super::lines::{bandwidth, micro};
use crate::verbs::dd::operands::Job;
use crate::verbs::dd::summary::Moved;
use crate::verbs::dd::transfer;

pub(in super::super) static PROGRAMS: &[Program] = &[Program {
    name: "lmdd",
    usage: "name=value...",
    letters: "",
    prints: "8.3886 MB in 0.0015 secs, 5412.0052 MB/sec, or what print= says",
    differs: "a switch with the value 0 is off; a pattern is of words of 8 bytes, with groma's \
              offsets; devices are not written to; sync= is fsync=, and operands that groma dd \
              does not have are refused",
    native: "groma dd, whose K is 1024: latencies, histograms and JSON as well",
    run,
}];

/// Operands that `groma dd` has under the same name.
const SAME: [&str; 20] = [
    "if", "of", "count", "skip", "mismatch", "norepeat", "ipat", "opat", "fsync", "osync", "append", "notrunc",
    "nocreate", "direct", "idirect", "odirect", "time", "bs", "move", "rand",
];
/// Of these, the sizes.
const SIZES: [&str; 3] = ["bs", "move", "rand"];
/// The block where none is named.
const BLOCK: &str = "bs=8192";

fn run(call: &mut Call<'_>) -> Outcome {
    call.needed(0, "an operand, such as if=FILE")?;
    let (mut words, mut label, mut print) = (vec![BLOCK.to_owned()], "", "");
    for word in &call.words.operands {
        let (name, value) = word.split_once('=').ok_or_else(|| format!("'{word}': expected name=value"))?;
        match name {
            "label" => label = value,
            "print" => print = value,
            "srand" => words.push(format!("seed={value}")),
            "start" => words.push(format!("start={}", size(name, value)?)),
            "sync" => words.push(format!("fsync={value}")),
            name if SIZES.contains(&name) => words.push(format!("{name}={}", size(name, value)?)),
            name if SAME.contains(&name) => words.push(word.clone()),
            _ => {
                return Err(Stop::Usage(format!(
                    "{name}: is no operand here (known: {}, start, srand, sync, label, print)",
                    SAME.join(", ")
                )));
            }
        }
    }
    let job = Job::parse(&words).map_err(|e| Stop::Usage(format!("{e:#}")))?;
    let (moved, ended) = transfer(&job, false).map_err(|e| Stop::Missing(format!("{e:#}")))?;
    if let Err(why) = ended {
        call.absent(&why);
    }
    if moved.mismatches > 0 {
        call.absent(&format!("words that are not their offset: {}", moved.mismatches));
    }
    if print != "0" {
        call.line(statistics(print, &moved, job.bs as u64).map(|line| format!("{label}{line}")));
    }
    Ok(())
}

/// Bytes of a value of lmdd.
fn size(name: &str, text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let unit: u64 = match suffix {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return Err(format!("{name}: '{text}' is not a size (write 8192, 64k, 8m or 1g; K, M, G are decimal)")),
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(unit))
        .ok_or_else(|| format!("{name}: '{text}' is not a size"))
}

/// The line that `print` asks for.
fn statistics(print: &str, moved: &Moved, block: u64) -> Option<String> {
    let seconds = moved.elapsed.as_secs_f64();
    let (bytes, rate) = (moved.bytes as f64, moved.bytes as f64 / seconds);
    let times = moved.bytes.div_ceil(block.max(1)).max(1);
    if moved.bytes == 0 || seconds <= 0.0 {
        return None;
    }
    Some(match print {
        "1" if times == 1 => {
            format!("{:.1}KB in {:.4} millisecs, {:.2} MB/sec", bytes / 1e3, seconds * 1e3, rate / 1e6)
        }
        "1" => format!(
            "{times} {}KB xfers in {seconds:.2} secs, {:.4} millisec/xfer, {:.2} MB/sec",
            block / 1000,
            seconds * 1e3 / times as f64,
            rate / 1e6
        ),
        "2" => return micro("", seconds / times as f64),
        "3" => format!("{:.0} KB/sec", rate / 1e3),
        "4" => format!("{:.2} MB/sec", rate / 1e6),
        "5" => return bandwidth(moved.bytes, rate),
        _ => format!("{:.4} MB in {seconds:.4} secs, {:.4} MB/sec", bytes / 1e6, rate / 1e6),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn small_letters_are_binary_and_capital_ones_decimal() {
        let of = |text: &str| size("bs", text).ok();
        assert_eq!(
            [of("8192"), of("64k"), of("64K"), of("2g"), of("2G")],
            [Some(8192), Some(65536), Some(64000), Some(2 << 30), Some(2_000_000_000)]
        );
        assert_eq!([of("2q"), of("k"), of("")], [None; 3]);
    }

    #[test]
    fn statistics_have_the_forms_of_lmdd() {
        let moved = Moved { bytes: 8_388_608, elapsed: Duration::from_micros(1_500), ..Moved::default() };
        let of = |print: &str| statistics(print, &moved, 65536).expect("something was moved");
        assert_eq!(of(""), "8.3886 MB in 0.0015 secs, 5592.4053 MB/sec");
        assert_eq!(of("1"), "128 65KB xfers in 0.00 secs, 0.0117 millisec/xfer, 5592.41 MB/sec");
        assert_eq!([of("2"), of("3")], [": 11.7188 microseconds", "5592405 KB/sec"]);
        assert_eq!([of("4"), of("5")], ["5592.41 MB/sec", "8.39 5592.41"]);
        assert_eq!(statistics("", &Moved::default(), 65536), None);
    }
}
