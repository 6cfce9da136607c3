//! The lines of lmbench: how its programs print a time or a rate. Times are in seconds, rates in
//! bytes per second, here as everywhere in groma; the lines have decimal megabytes.
//!
//! A time of zero has no line there, so it has none here.

/// `LABEL: 1.2345 microseconds`.
pub(super) fn micro(label: &str, seconds: f64) -> Option<String> {
    positive(seconds).map(|s| format!("{label}: {:.4} microseconds", s * 1e6))
}

/// `LABEL: 1.23 nanoseconds`.
pub(super) fn nano(label: &str, seconds: f64) -> Option<String> {
    positive(seconds).map(|s| format!("{label}: {:.2} nanoseconds", s * 1e9))
}

/// `LABEL: 1234.56 MB/sec`.
pub(super) fn rate(label: &str, bytes_per_second: f64) -> Option<String> {
    positive(bytes_per_second).map(|rate| format!("{label}: {:.2} MB/sec", rate / 1e6))
}

/// `8.39 12345.67`: megabytes and megabytes per second.
pub(super) fn bandwidth(bytes: u64, bytes_per_second: f64) -> Option<String> {
    positive(bytes_per_second)
        .map(|rate| format!("{} {}", format_pair_number(bytes as f64 / 1e6), format_pair_number(rate / 1e6)))
}

/// `1.048576 55`: megabytes and microseconds.
pub(super) fn megabytes_micro(bytes: u64, seconds: f64) -> Option<String> {
    let micros = positive(seconds)? * 1e6;
    let digits = if micros >= 10.0 { 0 } else { 3 };
    Some(format!("{:.6} {micros:.digits$}", bytes as f64 / 1e6))
}

/// A number of a pair: `%.6f` below 1, else `%.2f`.
pub(super) fn format_pair_number(number: f64) -> String {
    if number < 1.0 { format!("{number:.6}") } else { format!("{number:.2}") }
}

fn positive(number: f64) -> Option<f64> {
    (number > 0.0 && number.is_finite()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_digits_of_lmbench() {
        let text = |line: Option<String>| line.unwrap_or_default();
        assert_eq!(text(micro("Simple syscall", 4.182e-7)), "Simple syscall: 0.4182 microseconds");
        assert_eq!(text(nano("integer div", 7.92e-9)), "integer div: 7.92 nanoseconds");
        assert_eq!(text(rate("Pipe bandwidth", 1.83883e9)), "Pipe bandwidth: 1838.83 MB/sec");
        assert_eq!(text(bandwidth(1 << 20, 2.125183e10)), "1.05 21251.83");
        assert_eq!(text(bandwidth(512, 3.19773e10)), "0.000512 31977.30");
        assert_eq!(text(bandwidth(1, 2.2e5)), "0.000001 0.220000");
        assert_eq!(text(megabytes_micro(1 << 20, 55.4e-6)), "1.048576 55");
        assert_eq!(text(megabytes_micro(1 << 20, 5.54e-6)), "1.048576 5.540");
    }

    #[test]
    fn what_was_not_measured_has_no_line() {
        assert_eq!(
            [micro("a", 0.0), nano("a", -1e-9), rate("a", f64::INFINITY), bandwidth(1, f64::NAN)],
            [const { None }; 4]
        );
    }
}
