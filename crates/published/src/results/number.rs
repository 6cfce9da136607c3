//! Numbers as a result file has them: with a decimal comma where a locale put one, and the sizes
//! that lmbench rounded.

use super::{Column, Doubt};

/// Reads a number; also gives its text with a decimal point. `whole` says that lmbench prints this
/// one without decimals, so a comma in it separates thousands.
pub(super) fn number(text: &str, whole: bool) -> Result<(f64, String), Doubt> {
    let (commas, dots) = (text.matches(',').count(), text.matches('.').count());
    let decimal = match (commas, dots) {
        (0, _) => text.to_owned(),
        // 1,234.56, 1,234 of a whole number, and 1,234,567, which has two commas.
        _ if is_grouped(text) && (dots == 1 || whole || commas > 1) => text.replace(',', ""),
        (1, 0) if !whole => text.replace(',', "."),
        _ => return Err(Doubt::Ambiguous),
    };
    let value: f64 = decimal.parse().map_err(|_| Doubt::Unreadable)?;
    match value {
        v if !v.is_finite() => Err(Doubt::NotFinite),
        v if v < 0.0 => Err(Doubt::Negative),
        0.0 => Err(Doubt::Zero),
        v => Ok((v, decimal)),
    }
}

/// Whether its commas stand before groups of three digits of its whole part.
fn is_grouped(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.contains(',') {
        return false;
    }
    let mut groups = whole.trim_start_matches('-').split(',');
    let digits = |group: &str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit());
    groups.next().is_some_and(|first| digits(first) && first.len() <= 3)
        && groups.all(|group| digits(group) && group.len() == 3)
}

/// Largest size that is read, 2^50 bytes: beyond it a double of megabytes no longer tells bytes.
const MAX_SIZE: f64 = (1_u64 << 50) as f64;

/// The bytes of a first column.
///
/// lmbench rounds them: 1 MiB is `1.05`. A number with two decimals is a whole number of MiB if one
/// is printed so, and `0.00049` MiB are a multiple of 512 bytes for the same reason; otherwise it
/// is taken as it stands.
pub(super) fn bytes(text: &str, column: Column) -> Option<u64> {
    let value = match number(text, false) {
        Ok((value, _)) => value,
        Err(Doubt::Zero) => 0.0,
        Err(_) => return None,
    };
    let (unit, step) = match column {
        Column::Megabytes => (1e6, f64::from(1 << 20)),
        Column::MegabytesExactly | Column::MegabytesCoarsely => (1e6, 1.0),
        Column::Mebibytes => (f64::from(1 << 20), 512.0),
    };
    let exact = value * unit;
    if exact > MAX_SIZE {
        return None;
    }
    let near = (exact / step).round() * step;
    let is_printed_so = format_bytes(near as u64, column) == text.replace(',', ".");
    Some(if is_printed_so { near } else { exact.round() } as u64)
}

/// A size as lmbench prints it.
pub(super) fn format_bytes(bytes: u64, column: Column) -> String {
    let megabytes = bytes as f64 / 1e6;
    match column {
        Column::Megabytes if megabytes >= 1.0 => format!("{megabytes:.2}"),
        Column::Megabytes | Column::MegabytesExactly => format!("{megabytes:.6}"),
        Column::MegabytesCoarsely => format!("{megabytes:.1}"),
        Column::Mebibytes => format!("{:.5}", bytes as f64 / f64::from(1 << 20)),
    }
}

impl Column {
    /// A size in this form.
    pub fn text(self, bytes: u64) -> String {
        format_bytes(bytes, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_are_decimals_or_thousands() {
        for (text, whole, read) in [
            ("0,4182", false, Ok(0.4182)),
            ("1,234", false, Ok(1.234)),
            ("1,234", true, Ok(1234.0)),
            ("1,234.5", false, Ok(1234.5)),
            ("1,234,567", false, Ok(1_234_567.0)),
            ("12,345,678", true, Ok(12_345_678.0)),
            ("1,2,3", false, Err(Doubt::Ambiguous)),
            ("1,23", true, Err(Doubt::Ambiguous)),
            ("1.234,5", false, Err(Doubt::Ambiguous)),
            ("-1", false, Err(Doubt::Negative)),
            ("-0.0", false, Err(Doubt::Zero)),
            ("inf", false, Err(Doubt::NotFinite)),
            ("1e-05", false, Ok(1e-5)),
            ("", false, Err(Doubt::Unreadable)),
        ] {
            assert_eq!(number(text, whole).map(|(value, _)| value), read, "{text}");
        }
    }

    /// Every size of the suite's lists is read back from its rounded text.
    #[test]
    fn rounded_sizes_become_what_they_were() {
        for shift in 9..36 {
            let size = 1_u64 << shift;
            assert_eq!(bytes(&format_bytes(size, Column::Megabytes), Column::Megabytes), Some(size));
            for eighth in 8..16 {
                let size = (size / 8).next_multiple_of(512).max(512) * eighth / 8;
                let size = size.next_multiple_of(512);
                assert_eq!(bytes(&format_bytes(size, Column::Mebibytes), Column::Mebibytes), Some(size));
            }
        }
        assert_eq!(bytes("10.49", Column::Megabytes), Some(10 << 20));
        assert_eq!(bytes("0.001437", Column::Megabytes), Some(1437));
        assert_eq!(bytes("1,05", Column::Megabytes), Some(1 << 20));
        assert_eq!(bytes("1e300", Column::Megabytes), None);
    }
}
