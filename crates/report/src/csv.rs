//! Comma-separated values in SI units with every digit, for spreadsheets and data frames. RFC 4180
//! quoting, `\n` line ends; a missing value is an empty field.
//!
//! Spreadsheets evaluate text that begins with `=`, `+`, `-` or `@`. Such a text gets a leading
//! apostrophe, their own mark for text; a number stays a number, even a negative one.

use groma_model::plain_lines;

/// The shortest text that parses back to the same number.
pub(crate) fn number(value: Option<f64>) -> String {
    match value {
        Some(v) if !v.is_finite() => String::new(),
        Some(v) if v != 0.0 && !(1e-4..1e15).contains(&v.abs()) => format!("{v:e}"),
        Some(v) => v.to_string(),
        None => String::new(),
    }
}

/// A text as a field: quoted where RFC 4180 requires it, and never a formula. Plain characters,
/// except for line breaks.
pub(crate) fn text(text: &str) -> String {
    // The full-width forms are from East Asian keyboards; a reader may drop a line break.
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let text = plain_lines(text);
    if formula {
        format!("\"'{}\"", text.replace('"', "\"\""))
    } else if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}

pub(crate) fn line(out: &mut String, fields: &[String]) {
    for (i, field) in fields.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(field);
    }
    out.push('\n');
}
