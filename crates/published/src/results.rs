//! Result files of lmbench 2 and 3: what their lines are, and a parser for them.
//!
//! [`KINDS`] is the one table of lines: how each is written, its unit, and the metric of groma that
//! measures the same, if there is one. Reading ([`read()`]), writing and the summary all follow it.
//!
//! Not here: files, metrics of a run, and text for people. The parser is a function from bytes to
//! values with the numbers of their lines; it takes any input.

mod date;
mod kinds;
mod number;
mod read;

pub use date::Date;
pub use kinds::KINDS;
pub use read::{File, Line, Run, Value, read};

/// A kind of line: one program of lmbench in one mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// Its name. A value that no metric of groma corresponds to is `lmbench.NAME`.
    pub name: &'static str,
    /// What is timed, in half a line.
    pub what: &'static str,
    /// How it is written.
    pub form: Form,
    /// The unit of its numbers.
    pub unit: Unit,
    /// The parameters that its keys become, in the order of [`Value::keys`].
    pub keys: &'static [&'static str],
    /// The metric with the same definition, except for a fixed factor.
    pub ours: Option<Ours>,
    /// Metrics of nearly the same operation, best first. A run of groma fills the line from them,
    /// but an imported value does not become one.
    pub near: &'static [Ours],
    /// Whether several processes take part, which lmbench leaves to the scheduler.
    pub tasks: Tasks,
    /// Whether its program takes `-P`, the number of copies.
    pub takes_copies: bool,
}

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `LABEL: NUMBER UNIT`.
    Label(&'static str),
    /// `LABEL NAME: NUMBER UNIT`; the name is that of the peer or of a file.
    Named(&'static str),
    /// `BEFORE COUNT AFTER: NUMBER UNIT`.
    Counted(&'static str, &'static str),
    /// Any text that ends in `write bandwidth: NUMBER KB/sec`.
    WriteRate,
    /// `[KEY: NUMBER ...]` among the lines of the head.
    Head(&'static str),
    /// `tlb: PAGES pages NANOSECONDS nanoseconds`: the first or the second number.
    Tlb(usize),
    /// The last number of a transfer by HTTP.
    Http,
    /// A row of two columns, the first in this form, below a line that opens a section.
    Row(&'static str, Column),
    /// As `Row`, below a line that ends in the name of a peer or a device.
    NamedRow(&'static str, Column),
    /// The third or the fourth column below `"File system latency`.
    Files(usize),
    /// A row below `"size=<n>k ovr=<us>`.
    Switch,
    /// The overhead in that line.
    SwitchOverhead,
    /// A row of a block `"stride=<n>` below this line.
    Load(&'static str),
}

/// How the first column of a row is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Bytes in units of 10^6: six decimals below one, else two.
    Megabytes,
    /// As `Megabytes`, always with six decimals.
    MegabytesExactly,
    /// As `Megabytes`, with one decimal.
    MegabytesCoarsely,
    /// Bytes in units of 2^20, five decimals.
    Mebibytes,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `microseconds`.
    Microseconds,
    /// `nanoseconds`.
    Nanoseconds,
    /// Milliseconds, a column without a name.
    Milliseconds,
    /// `MB/sec`: 10^6 bytes.
    Megabytes,
    /// `KB/sec`: 10^3 bytes.
    Kilobytes,
    /// Events a second.
    PerSecond,
    /// 10^6 events a second.
    Megahertz,
    /// A count.
    Count,
    /// Bytes.
    Bytes,
    /// A quotient.
    Ratio,
}

/// How many processes a program of lmbench has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tasks {
    /// One: it stays on its CPU, as if pinned.
    One,
    /// Several, which the scheduler places.
    Several,
}

/// A metric of groma that corresponds to a kind of line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ours {
    /// Its id.
    pub metric: &'static str,
    /// The parameters that are fixed, as typed.
    pub params: &'static [(&'static str, &'static str)],
    /// The parameters that keys become, each with the factor of the key, or [`PERCENT`]; in the
    /// order of the keys.
    pub keys: &'static [(&'static str, u64)],
    /// groma's value over lmbench's, both in SI units.
    pub factor: f64,
    /// Whether groma has the time, and lmbench the rate.
    pub inverse: bool,
    /// A metric of the same run that lmbench's program has subtracted from its value, with its
    /// parameters.
    pub less: Option<(&'static str, &'static [(&'static str, &'static str)])>,
    /// What differs nevertheless, or why the factor is not 1; empty for nothing.
    pub note: &'static str,
}

/// Instead of a factor: the key is an offset in bytes, the parameter so many percent of the disk.
pub const PERCENT: u64 = 0;

/// Why a value is doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// There is no number.
    Missing,
    /// The file ends within it.
    CutOff,
    /// It is zero.
    Zero,
    /// It is less than zero.
    Negative,
    /// It is infinite, or no number.
    NotFinite,
    /// Its comma separates decimals or thousands, and nothing tells which.
    Ambiguous,
    /// It has another unit.
    OtherUnit,
    /// It is no number.
    Unreadable,
}

impl Doubt {
    /// The reason, after a number or a line: `is zero`.
    pub const fn reason(self) -> &'static str {
        match self {
            Doubt::Missing => "has no number",
            Doubt::CutOff => "may be cut off: the file ends there",
            Doubt::Zero => "is zero",
            Doubt::Negative => "is negative",
            Doubt::NotFinite => "is not finite",
            Doubt::Ambiguous => "has a comma for decimals or for thousands",
            Doubt::OtherUnit => "has another unit than expected",
            Doubt::Unreadable => "is not a number",
        }
    }
}

impl Unit {
    /// The word behind a number; empty for none.
    pub const fn word(self) -> &'static str {
        match self {
            Unit::Microseconds => "microseconds",
            Unit::Nanoseconds => "nanoseconds",
            Unit::Megabytes => "MB/sec",
            Unit::Kilobytes => "KB/sec",
            Unit::Milliseconds | Unit::PerSecond | Unit::Megahertz | Unit::Count | Unit::Bytes | Unit::Ratio => "",
        }
    }

    /// The decimals that lmbench prints at least.
    pub const fn decimals(self) -> usize {
        match self {
            Unit::Microseconds => 4,
            Unit::Nanoseconds | Unit::Milliseconds | Unit::Megabytes | Unit::Ratio => 2,
            Unit::Kilobytes | Unit::PerSecond | Unit::Megahertz | Unit::Count | Unit::Bytes => 0,
        }
    }

    /// The power of ten of this unit.
    const fn exponent(self) -> i32 {
        match self {
            Unit::Nanoseconds => -9,
            Unit::Microseconds => -6,
            Unit::Milliseconds => -3,
            Unit::PerSecond | Unit::Count | Unit::Bytes | Unit::Ratio => 0,
            Unit::Kilobytes => 3,
            Unit::Megabytes | Unit::Megahertz => 6,
        }
    }

    /// A number of this unit in SI units.
    pub fn to_si(self, number: f64) -> f64 {
        number * 10_f64.powi(self.exponent())
    }

    /// The inverse of [`Unit::to_si`].
    pub fn of_si(self, value: f64) -> f64 {
        value * 10_f64.powi(-self.exponent())
    }

    /// The digits of a number of this unit in SI units: their decimal point is moved, so nothing is
    /// rounded twice, and every value has a text that reads as it. 0 for a text that is no number.
    pub fn decimal_to_si(self, decimal: &str) -> f64 {
        // The digits may have an exponent of their own.
        let (digits, exponent) = decimal.split_once(['e', 'E']).unwrap_or((decimal, "0"));
        let exponent = exponent.parse::<i32>().ok().and_then(|own| own.checked_add(self.exponent()));
        exponent.and_then(|exponent| format!("{digits}e{exponent}").parse().ok()).unwrap_or_default()
    }

    /// The digits of a value in SI units, in this unit, without an exponent.
    pub fn decimal_of_si(self, value: f64) -> String {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent = exponent.parse::<i32>().unwrap_or_default() - self.exponent();
        let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
        let digits = digits.replace('.', "");
        // Where the decimal point goes: behind this many digits.
        let point = exponent + 1;
        let after = usize::try_from(point).unwrap_or_default();
        match point {
            ..=0 => format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
            _ if after >= digits.len() => format!("{sign}{digits}{}", "0".repeat(after - digits.len())),
            _ => format!("{sign}{}.{}", &digits[..after], &digits[after..]),
        }
    }
}

impl Ours {
    /// groma's value of a value of lmbench, both in SI units.
    pub fn value(&self, si: f64) -> f64 {
        (if self.inverse { 1.0 / si } else { si }) * self.factor
    }

    /// The inverse of [`Ours::value`].
    pub fn of_value(&self, value: f64) -> f64 {
        let si = value / self.factor;
        if self.inverse { 1.0 / si } else { si }
    }
}

impl Kind {
    /// The id of its values where groma has no such metric.
    pub fn id(&self) -> String {
        format!("lmbench.{}", self.name)
    }
}

/// The kind of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a value in any unit reads as that value, bit for bit.
    #[test]
    fn every_value_has_a_text() {
        let mut seed = 1_u64;
        for unit in [Unit::Nanoseconds, Unit::Microseconds, Unit::Megabytes, Unit::Kilobytes, Unit::Ratio] {
            for _ in 0..2000 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let mantissa = 1.0 + (seed >> 12) as f64 / (1_u64 << 52) as f64;
                let value = mantissa * 10_f64.powi((seed % 31) as i32 - 15);
                let text = unit.decimal_of_si(value);
                assert!(!text.contains('e'), "{text}");
                assert_eq!(unit.decimal_to_si(&text), value, "{text}");
            }
        }
        assert_eq!(Unit::Microseconds.decimal_of_si(0.4182e-6), "0.4182");
        assert_eq!(Unit::Nanoseconds.decimal_of_si(1.5), "1500000000");
        assert_eq!(Unit::Microseconds.decimal_to_si("1e-05"), 1e-11);
        assert_eq!(Unit::Microseconds.decimal_to_si("x"), 0.0);
    }
}
