//! Sanitises text from outside: which characters may reach a terminal, and the escapes of the
//! others.
//!
//! Names, facts, reasons and arguments come from other programs, other machines and stored files.
//! Printed unescaped, they could move the cursor, set the window title, insert terminal input, or
//! reorder a line so that it reads as something else. All code that shows such a text uses these
//! functions, so that there is one list of harmful characters.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character is safe to print as it is.
///
/// Not plain are the control characters of ASCII and Latin-1 (a terminal may read U+009B as
/// `ESC [`), the controls of the bidirectional algorithm, line and paragraph separators, and
/// invisible and zero-width characters.
pub const fn is_plain(c: char) -> bool {
    !matches!(
        c,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The text in one line of plain characters: a line break or a tab becomes a space, any other
/// character that is not plain its escape, such as `\u{202e}`. Dropping them was rejected: a name
/// that contains one should look suspicious.
pub fn plain(text: &str) -> Cow<'_, str> {
    with_escapes(text, is_plain, |out, c| match c {
        '\n' | '\t' => out.push(' '),
        c => out.extend(c.escape_unicode()),
    })
}

/// As [`plain`], but keeps line breaks, for text of several lines.
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    with_escapes(
        text,
        |c| is_plain(c) || c == '\n',
        |out, c| match c {
            '\t' => out.push(' '),
            c => out.extend(c.escape_unicode()),
        },
    )
}

/// Equivalent JSON that consists of plain characters and line breaks only. JSON itself requires
/// escapes only below U+0020. The other characters that are not plain can occur only in strings,
/// where an escape such as `\u009b` means the same.
pub fn plain_json(json: &str) -> Cow<'_, str> {
    with_escapes(
        json,
        |c| is_plain(c) || c == '\n',
        |out, c| {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        },
    )
}

/// The text with every character that is not plain replaced by `escape`; a text without any is not
/// copied.
fn with_escapes(text: &str, stays: impl Fn(char) -> bool, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let Some(first) = text.find(|c| !stays(c)) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        if stays(c) { out.push(c) } else { escape(&mut out, c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(plain("a\x1b]0;t\x07b"), "a\\u{1b}]0;t\\u{7}b");
        assert_eq!(plain("\u{9b}2J \u{7f}"), "\\u{9b}2J \\u{7f}");
        assert_eq!(plain("one\ntwo\tthree\r"), "one two three\\u{d}");
        assert_eq!(plain_lines("one\ntwo\tthree\r"), "one\ntwo three\\u{d}");
        let reordering = (0x202a..=0x202e).chain(0x2066..=0x2069).chain([0x200e, 0x200f, 0x61c]);
        let invisible = [0x200b, 0x200c, 0x200d, 0x2028, 0x2029, 0x2060, 0xfeff, 0xe0041];
        for code in reordering.chain(invisible) {
            let c = char::from_u32(code).expect("a character");
            assert_eq!(plain(&c.to_string()), format!("\\u{{{code:x}}}"));
        }
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in ["4.49 µs ± 0.8 %", "▁▂█ ⣿ │ ┤", "Grüße, 東京, עברית", "e\u{301}", "a\\b|\"<`"]
        {
            assert!(matches!(plain(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn json_keeps_its_meaning() {
        assert_eq!(plain_json("{\n  \"a\": \"\u{9b}2J\"\n}"), "{\n  \"a\": \"\\u009b2J\"\n}");
        assert_eq!(plain_json("\"\u{e0041}\""), "\"\\udb40\\udc41\"");
    }
}
