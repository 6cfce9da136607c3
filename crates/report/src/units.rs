//! Numbers as text: the one place that formats SI values for people.
//!
//! - Times are `ns`, `µs`, `ms` or `s`; rates of bytes are decimal (`12.4 GB/s` is 12.4·10⁹ B/s);
//!   sizes are binary (`64 KiB`).
//! - Rates of events are `k/s`, `M/s`, `G/s`, except the clock rate of a core (a metric whose name
//!   contains `frequency`), which is `kHz`, `MHz`, `GHz`.
//! - A number has three significant digits, and a fourth where its interval is narrow enough to
//!   support it. Counts are whole.
//! - An interval is shown as half of the display interval relative to the value, `± 0.8 %`; if the
//!   value is smaller than that, it is absolute, `± 31.0 ns`. A missing number is [`NONE`].

use groma_model::{Quantity, Record, Unit};

/// Shown in place of a missing number.
pub const NONE: &str = "–";

/// How values of a metric are displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Seconds: `4.49 µs`.
    Time,
    /// Seconds per gigabyte: `53.6 ms/GB`.
    TimePerGigabyte,
    /// Bytes per second: `12.4 GB/s`.
    Bandwidth,
    /// Hertz: `3.40 GHz`.
    Frequency,
    /// Events per second: `1.25 M/s`.
    Events,
    /// Bytes: `64 KiB`.
    Size,
    /// A plain count: `72`.
    Count,
    /// Joules: `123 pJ`.
    Energy,
    /// Watts: `42.5 W`.
    Power,
    /// A quotient: `3.00`.
    Ratio,
}

const TIME: [(f64, &str); 4] = [(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")];
const TIME_PER_GIGABYTE: [(f64, &str); 4] = [(1.0, " s/GB"), (1e-3, " ms/GB"), (1e-6, " µs/GB"), (1e-9, " ns/GB")];
const BANDWIDTH: [(f64, &str); 5] = [(1e12, " TB/s"), (1e9, " GB/s"), (1e6, " MB/s"), (1e3, " kB/s"), (1.0, " B/s")];
const FREQUENCY: [(f64, &str); 4] = [(1e9, " GHz"), (1e6, " MHz"), (1e3, " kHz"), (1.0, " Hz")];
const EVENTS: [(f64, &str); 4] = [(1e9, " G/s"), (1e6, " M/s"), (1e3, " k/s"), (1.0, " /s")];
const SIZE: [(f64, &str); 5] =
    [(1_099_511_627_776.0, " TiB"), (1_073_741_824.0, " GiB"), (1_048_576.0, " MiB"), (1024.0, " KiB"), (1.0, " B")];
const ENERGY: [(f64, &str); 6] =
    [(1.0, " J"), (1e-3, " mJ"), (1e-6, " µJ"), (1e-9, " nJ"), (1e-12, " pJ"), (1e-15, " fJ")];
const POWER: [(f64, &str); 3] = [(1e3, " kW"), (1.0, " W"), (1e-3, " mW")];
const BARE: [(f64, &str); 1] = [(1.0, "")];

impl Scale {
    /// The scale of a record's values.
    pub fn of(record: &Record) -> Scale {
        match record.unit {
            Unit::Seconds => Scale::Time,
            Unit::SecondsPerGigabyte => Scale::TimePerGigabyte,
            Unit::BytesPerSecond => Scale::Bandwidth,
            Unit::PerSecond if record.id.contains("frequency") => Scale::Frequency,
            Unit::PerSecond => Scale::Events,
            Unit::Bytes => Scale::Size,
            Unit::Joules => Scale::Energy,
            Unit::Watts => Scale::Power,
            Unit::One if record.quantity == Quantity::Count => Scale::Count,
            Unit::One => Scale::Ratio,
        }
    }

    /// The units, the largest first.
    pub(crate) fn units(self) -> &'static [(f64, &'static str)] {
        match self {
            Scale::Time => &TIME,
            Scale::TimePerGigabyte => &TIME_PER_GIGABYTE,
            Scale::Bandwidth => &BANDWIDTH,
            Scale::Frequency => &FREQUENCY,
            Scale::Events => &EVENTS,
            Scale::Size => &SIZE,
            Scale::Energy => &ENERGY,
            Scale::Power => &POWER,
            Scale::Count | Scale::Ratio => &BARE,
        }
    }
}

/// A size given in bytes.
pub fn size(bytes: f64) -> String {
    value(bytes, Scale::Size, None)
}

/// A time given in seconds.
pub(crate) fn time(seconds: f64) -> String {
    value(seconds, Scale::Time, None)
}

/// A smaller ratio is written in millionths: the zeros of 0.00000088 are hard to count.
const PER_MILLE: f64 = 1e-3;

/// A value with its unit, with as many digits as half the width of its interval supports (three
/// without one).
pub fn value(value: f64, scale: Scale, half_width: Option<f64>) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let units = scale.units();
    if value == 0.0 {
        return format!("0{}", units.last().map_or("", |u| u.1));
    }
    let whole = matches!(scale, Scale::Count | Scale::Size);
    if scale == Scale::Count && value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let digits = digits(value, half_width);
    if scale == Scale::Ratio && value.abs() < PER_MILLE {
        return significant(value * 1e6, digits) + " ppm";
    }
    // Choose the unit after rounding: 999.9 ns is 1.00 µs.
    let rounded = |unit: f64| round_to(value / unit, digits).abs();
    let (unit, name) =
        units.iter().copied().find(|&(unit, _)| rounded(unit) >= 1.0).or(units.last().copied()).unwrap_or((1.0, ""));
    let scaled = value / unit;
    if whole && scaled.fract() == 0.0 { format!("{scaled:.0}{name}") } else { significant(scaled, digits) + name }
}

/// The unit for a value, with its name.
pub(crate) fn unit_of(value: f64, scale: Scale) -> (f64, &'static str) {
    let units = scale.units();
    let fits = |unit: &&(f64, &str)| round_to(value / unit.0, 3).abs() >= 1.0;
    units.iter().find(fits).or(units.last()).copied().unwrap_or((1.0, ""))
}

/// Two values of one scale: `9.00–31.0 ns`, `0.9–1.10 µs`, `4 KiB–1 MiB`.
pub fn range(low: f64, high: f64, scale: Scale) -> String {
    let (from, to) = (value(low, scale, None), value(high, scale, None));
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}–{to}"),
        (Some(_), Some(_)) => {
            // The lower one in the unit of the other, which is shorter, unless it is too small for
            // that.
            let in_unit = low / unit_of(high, scale).0;
            if in_unit >= 0.1 { format!("{}–{to}", round_to(in_unit, 3)) } else { format!("{from}–{to}") }
        }
        _ => format!("{from}–{to}"),
    }
}

/// The number of significant digits that a value's interval supports: three or four.
pub fn digits(value: f64, half_width: Option<f64>) -> usize {
    let fourth = 10f64.powi(value.abs().log10().floor() as i32 - 3);
    match half_width {
        Some(half) if half <= fourth => 4,
        _ => 3,
    }
}

/// A number with this many significant digits; digits before the point are never dropped.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let before_point = value.abs().log10().floor().max(0.0) as usize + 1;
    let rounded = round_to(value, digits.max(before_point));
    let exponent = rounded.abs().log10().floor() as i64;
    let decimals = (digits as i64 - 1 - exponent).clamp(0, 12) as usize;
    format!("{rounded:.decimals$}")
}

fn round_to(value: f64, digits: usize) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // Via decimal text, which avoids the error of multiplying by a power of ten.
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

/// The headline of a record.
pub fn headline(record: &Record) -> Option<String> {
    record.value.filter(|v| v.is_finite()).map(|v| value(v, Scale::of(record), half_width(record)))
}

/// Half the width of the display interval, in the unit of the record.
pub fn half_width(record: &Record) -> Option<f64> {
    record.ci_display.map(|[low, high]| (high - low) / 2.0).filter(|half| half.is_finite() && *half >= 0.0)
}

/// The interval of a record without its sign: `0.8 %`, or `31.0 ns` if the value is smaller than
/// its uncertainty.
pub fn interval(record: &Record) -> Option<String> {
    let (value, half) = (record.value?, half_width(record)?);
    Some(if half > 0.0 && value.abs() < half {
        self::value(half, Scale::of(record), None)
    } else if half == 0.0 {
        percent(0.0)
    } else {
        percent(half / value.abs())
    })
}

/// A count of things: `1 run`, `3 runs`. The plural must end in `s`.
pub fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// A fraction as a percentage: `0.04 %`, `0.8 %`, `12 %`.
pub fn percent(fraction: f64) -> String {
    match fraction * 100.0 {
        x if !x.is_finite() => NONE.to_owned(),
        0.0 => "0 %".to_owned(),
        x if x.abs() < 0.005 => "< 0.01 %".to_owned(),
        x if x.abs() < 0.095 => format!("{x:.2} %"),
        x if x.abs() < 9.95 => format!("{x:.1} %"),
        x if x.abs() < 999.5 => format!("{x:.0} %"),
        _ => "> 999 %".to_owned(),
    }
}

/// Core clock cycles: `4.00 cy`.
pub fn cycles(cycles: f64) -> String {
    let text = bare_cycles(cycles);
    if text.ends_with(|c: char| c.is_ascii_alphabetic()) { text + "cy" } else { text + " cy" }
}

/// Cycles without their unit, for a column with a heading: `4.00`, `412 k`.
pub(crate) fn bare_cycles(cycles: f64) -> String {
    match cycles.abs() {
        c if !c.is_finite() => NONE.to_owned(),
        c if c >= 999_500_000.0 => significant(cycles / 1e9, 3) + " G",
        c if c >= 999_500.0 => significant(cycles / 1e6, 3) + " M",
        c if c >= 9_995.0 => significant(cycles / 1e3, 3) + " k",
        _ => significant(cycles, 3),
    }
}

/// A quotient as a multiple: `14 times`, `1.3 times`.
pub(crate) fn times(quotient: f64) -> String {
    if quotient >= 9.95 { format!("{quotient:.0} times") } else { format!("{quotient:.1} times") }
}

/// A wall time given in seconds: `58.9 s`, `4 min 05 s`.
pub fn wall(seconds: f64) -> String {
    if seconds < 119.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    format!("{} min {:02} s", whole / 60, whole % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(v: f64) -> String {
        value(v, Scale::Time, None)
    }

    #[test]
    fn a_time_per_gigabyte_names_its_unit() {
        let mut record =
            crate::fixtures::record("ipc.pipe_bandwidth.cpu_reader", "", Quantity::TimePerGigabyte, 0.0536);
        record.ci_display = None;
        assert_eq!(headline(&record).as_deref(), Some("53.6 ms/GB"));
    }

    #[test]
    fn times_take_the_unit_that_fits() {
        for (v, text) in [
            (0.0, "0 ns"),
            (2.5e-10, "0.250 ns"),
            (1.4e-9, "1.40 ns"),
            (1.17e-7, "117 ns"),
            (9.994e-7, "999 ns"),
            (9.996e-7, "1.00 µs"),
            (4.487e-6, "4.49 µs"),
            (1.0e-3, "1.00 ms"),
            (0.25, "250 ms"),
            (12.0, "12.0 s"),
            (-3.2e-9, "-3.20 ns"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(time(v), text);
        }
    }

    #[test]
    fn rates_are_decimal_and_sizes_binary() {
        assert_eq!(value(12.4e9, Scale::Bandwidth, None), "12.4 GB/s");
        assert_eq!(value(999.6e6, Scale::Bandwidth, None), "1.00 GB/s");
        assert_eq!(value(3.4e9, Scale::Frequency, None), "3.40 GHz");
        assert_eq!(value(1.25e6, Scale::Events, None), "1.25 M/s");
        assert_eq!(value(12.0, Scale::Events, None), "12.0 /s");
        assert_eq!(value(65536.0, Scale::Size, None), "64 KiB");
        assert_eq!(value(48.0 * 1024.0, Scale::Size, None), "48 KiB");
        assert_eq!(value(1.5 * 1048576.0, Scale::Size, None), "1.50 MiB");
        assert_eq!(value(1.234e-10, Scale::Energy, None), "123 pJ");
        assert_eq!(value(42.5, Scale::Power, None), "42.5 W");
        assert_eq!(value(72.0, Scale::Count, None), "72");
        assert_eq!(value(16.5, Scale::Count, None), "16.5");
        assert_eq!(value(3.0, Scale::Ratio, None), "3.00");
    }

    #[test]
    fn a_range_has_one_unit() {
        assert_eq!(range(9e-9, 31e-9, Scale::Time), "9.00–31.0 ns");
        assert_eq!(range(9e-7, 1.1e-6, Scale::Time), "0.9–1.10 µs");
        assert_eq!(range(9e-9, 1.1e-6, Scale::Time), "9.00 ns–1.10 µs");
        assert_eq!(range(998e-9, 1.004e-6, Scale::Time), "0.998–1.00 µs", "not in terms of the rounded end");
        assert_eq!(range(524_288.0, 1_101_005.0, Scale::Size), "0.5–1.05 MiB");
        assert_eq!(range(1.0, 2.0, Scale::Count), "1–2");
    }

    #[test]
    fn a_digit_is_printed_only_when_the_interval_supports_it() {
        assert_eq!(value(1.2343e-6, Scale::Time, Some(1.0e-9)), "1.234 µs");
        assert_eq!(value(1.2345e-6, Scale::Time, Some(1.1e-9)), "1.23 µs");
        assert_eq!(value(9.2345e-6, Scale::Time, Some(1.0e-8)), "9.23 µs");
        assert_eq!(value(3.0, Scale::Ratio, Some(0.0)), "3.000");
        assert_eq!(value(1.17e-7, Scale::Time, Some(5e-8)), "117 ns", "three at least");
    }

    #[test]
    fn percentages_keep_what_matters() {
        for (fraction, text) in [
            (0.0, "0 %"),
            (0.00001, "< 0.01 %"),
            (0.0004, "0.04 %"),
            (0.00096, "0.1 %"),
            (0.008, "0.8 %"),
            (0.0996, "10 %"),
            (0.12, "12 %"),
            (1.4, "140 %"),
            (20.0, "> 999 %"),
        ] {
            assert_eq!(percent(fraction), text);
        }
    }

    #[test]
    fn an_interval_wider_than_its_value_is_absolute() {
        let mut record = crate::fixtures::record("signal.catch.net", "", Quantity::Latency, 2.0e-9);
        record.ci_display = Some([-29.0e-9, 33.0e-9]);
        assert_eq!(interval(&record).as_deref(), Some("31.0 ns"));
        record.ci_display = Some([1.9e-9, 2.1e-9]);
        assert_eq!(interval(&record).as_deref(), Some("5.0 %"));
        record.ci_display = None;
        assert_eq!(interval(&record), None);
    }

    #[test]
    fn cycles_and_wall_times() {
        assert_eq!(cycles(4.0), "4.00 cy");
        assert_eq!(cycles(14.02), "14.0 cy");
        assert_eq!(cycles(1234.0), "1234 cy");
        assert_eq!(cycles(412_000.0), "412 kcy");
        assert_eq!(wall(58.94), "58.9 s");
        assert_eq!(wall(245.2), "4 min 05 s");
        assert_eq!(times(13.6), "14 times");
        assert_eq!(times(6.25), "6.2 times");
    }

    #[test]
    fn any_value_survives() {
        for exponent in -20..20 {
            for mantissa in [1.0, 9.995, 9.9999, 4.321, -5.5] {
                let v = mantissa * 10f64.powi(exponent);
                for scale in [Scale::Time, Scale::Bandwidth, Scale::Events, Scale::Size, Scale::Count, Scale::Ratio] {
                    let text = value(v, scale, None);
                    assert!(!text.is_empty() && !text.contains("NaN") && !text.contains("inf"), "{v} {text}");
                }
            }
        }
    }
}
