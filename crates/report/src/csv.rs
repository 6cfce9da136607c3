//! Comma-separated values in SI units, every digit kept, for spreadsheets and data frames. RFC 4180
//! quoting, `\n` at line ends; an empty field is a value that is not there.
//!
//! Spreadsheets calculate what begins with `=`, `+`, `-` or `@`, whoever wrote it. A text that does
//! so gets an apostrophe before it, as they themselves mark a text; a number, also a negative one,
//! stays a number.

use groma_model::plain_lines;

/// The shortest text that reads back as the same number.
pub(crate) fn number(value: Option<f64>) -> String {
    match value {
        Some(v) if !v.is_finite() => String::new(),
        Some(v) if v != 0.0 && !(1e-4..1e15).contains(&v.abs()) => format!("{v:e}"),
        Some(v) => v.to_string(),
        None => String::new(),
    }
}

/// A text as a field: quoted where RFC 4180 wants it, and no formula. Plain characters, but for
/// line breaks.
pub(crate) fn text(text: &str) -> String {
    // The wide forms are those of East Asian keyboards; a line break may be dropped by whoever
    // reads the file.
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
