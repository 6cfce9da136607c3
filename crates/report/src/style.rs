//! How text for people looks: width, colour, alphabet. Not its content.

use std::borrow::Cow;

use groma_model::{State, is_plain, plain, plain_lines};

/// The appearance of a view for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to colour with ANSI escapes. Colour only repeats what words say.
    pub colour: bool,
    /// The maximum width in columns. Numbers and identities are never cut, so a line may be longer
    /// in a very narrow view.
    pub width: usize,
    /// Whether characters outside ASCII may be used (`µ`, `±`, block and braille graphics).
    pub unicode: bool,
    /// Whether each point of a curve gets its own row, instead of one line for the curve.
    pub all: bool,
    /// The name of the program, for suggested commands.
    pub program: &'static str,
}

impl Style {
    /// No colour, full Unicode, curves as one line: the style for pipes.
    pub const fn plain(width: usize) -> Style {
        Style { colour: false, width, unicode: true, all: false, program: "groma" }
    }

    /// The text in a colour, if enabled.
    pub(crate) fn paint(&self, ink: Ink, text: &str) -> String {
        match ink.code() {
            Some(code) if self.colour && !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }

    /// The text on a background of the 256 colours, in black or white, if colour is enabled.
    pub(crate) fn on(&self, ground: u8, light: bool, text: &str) -> String {
        let ink = if light { 231 } else { 16 };
        if self.colour { format!("\x1b[38;5;{ink};48;5;{ground}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// The text in the chosen alphabet, in plain characters ([`plain`]): a reason or a fact comes
    /// from outside, and must not steer the terminal or split a row.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in plain(text).chars() {
            match c {
                c if self.unicode || c.is_ascii() => out.push(c),
                'µ' => out.push('u'),
                '±' => out.push_str("+-"),
                '–' => out.push('-'),
                '≤' => out.push_str("<="),
                '×' => out.push('x'),
                '·' => out.push(','),
                '→' => out.push_str("->"),
                '…' => out.push_str("..."),
                '─' => out.push('-'),
                _ => out.push('?'),
            }
        }
        out
    }

    /// The text, with its end replaced by an ellipsis if it is wider than `width`.
    pub(crate) fn cut(&self, text: &str, width: usize) -> String {
        if columns(text) <= width {
            return text.to_owned();
        }
        let ellipsis = self.text("…");
        let mut out: String = text.chars().take(width.saturating_sub(columns(&ellipsis))).collect();
        out.truncate(out.trim_end().len());
        out + &ellipsis
    }
}

/// A wrapped text.
pub fn wrapped(text: &str, style: &Style) -> String {
    wrap_behind("", &style.text(text), style.width)
}

/// Filters text for a terminal: plain characters, line breaks and, with `colour`, the escapes that
/// views use. Views make all text from outside plain before they colour it; this is a safety net in
/// case one forgets.
pub fn for_terminal(text: &str, colour: bool) -> Cow<'_, str> {
    if text.chars().all(|c| is_plain(c) || c == '\n') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (i, part) in text.split('\x1b').enumerate() {
        let colours = if i > 0 && colour { length_of_colour(part) } else { 0 };
        if i > 0 {
            out.push_str(if colours > 0 { "\x1b" } else { "\\u{1b}" });
        }
        out.push_str(&part[..colours]);
        out.push_str(&plain_lines(&part[colours..]));
    }
    Cow::Owned(out)
}

/// The length of a colour escape after its ESC: `[1m`, `[31m`, `[38;5;16;48;5;230m`; 0 if there is
/// none. Accepts bold, faint, underlined and the basic colours, as used by views, `--help` and
/// errors. None of them can hide text.
fn length_of_colour(text: &str) -> usize {
    let Some((inside, _)) = text.strip_prefix('[').and_then(|rest| rest.split_once('m')) else { return 0 };
    let number = |text: &str| text.parse::<u8>().is_ok() && !text.starts_with('+');
    let known = match inside.split(';').collect::<Vec<_>>()[..] {
        [one] => matches!(one, "0" | "1" | "2" | "4" | "31" | "32" | "33" | "34" | "35" | "36"),
        ["38", "5", ink @ ("16" | "231"), "48", "5", ground] => number(ground) && ground != ink,
        _ => false,
    };
    if known { inside.len() + 2 } else { 0 }
}

/// The meaning of a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ink {
    #[default]
    Plain,
    /// A heading.
    Strong,
    /// Less important text.
    Faint,
    /// Worth noticing.
    Warning,
    /// Requires action.
    Bad,
    /// The first line of a plot, and other uses.
    First,
    /// The second line of a plot.
    Second,
    /// The third line of a plot.
    Third,
    /// The fourth line of a plot.
    Fourth,
    /// The fifth line of a plot.
    Fifth,
    /// The sixth line of a plot.
    Sixth,
}

impl Ink {
    /// The parameter of the ANSI escape: basic colours, which every terminal theme keeps readable.
    const fn code(self) -> Option<&'static str> {
        match self {
            Ink::Plain => None,
            Ink::Strong => Some("1"),
            Ink::Faint => Some("2"),
            Ink::Warning => Some("33"),
            Ink::Bad => Some("31"),
            Ink::First => Some("36"),
            Ink::Second => Some("33"),
            Ink::Third => Some("35"),
            Ink::Fourth => Some("32"),
            Ink::Fifth => Some("34"),
            Ink::Sixth => Some("31"),
        }
    }
}

/// The colour of a state.
pub(crate) fn ink(state: State) -> Ink {
    match state {
        State::Ok | State::Unsupported => Ink::Faint,
        State::Noisy | State::Unresolved => Ink::Warning,
        State::Denied | State::Timeout | State::Failed => Ink::Bad,
    }
}

/// The width of a text: one column per character, which holds for everything that views write, and
/// none for the escapes of [`Style::paint`].
pub(crate) fn columns(text: &str) -> usize {
    let behind_escape = |part: &str| part.split_once('m').map_or(0, |(_, shown)| shown.chars().count());
    let mut parts = text.split("\x1b[");
    parts.next().map_or(0, |part| part.chars().count()) + parts.map(behind_escape).sum::<usize>()
}

/// Wraps the text into lines of at most `width` columns; a longer word gets its own line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// As [`wrap`], with the first line after `first` and the others aligned below it; returns one text
/// in which each line ends in a newline.
pub(crate) fn wrap_behind(first: &str, text: &str, width: usize) -> String {
    let indent = columns(first);
    let mut out = String::new();
    for (i, line) in wrap(text, width.saturating_sub(indent).max(20)).iter().enumerate() {
        if i == 0 {
            out.push_str(first);
        } else {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_only_there_when_wanted() {
        let plain = Style::plain(80);
        assert_eq!(plain.paint(Ink::Bad, "failed"), "failed");
        let colour = Style { colour: true, ..plain };
        let painted = format!("{} b", colour.paint(Ink::Strong, "aä a"));
        assert_eq!((columns(&painted), columns("")), (6, 0));
        assert_eq!(wrap(&painted, 6), ["\x1b[1maä a\x1b[0m b"], "colour takes no columns");
        assert_eq!(colour.paint(Ink::Bad, "failed"), "\x1b[31mfailed\x1b[0m");
        assert_eq!(colour.paint(Ink::Plain, "ok"), "ok");
        assert_eq!(colour.paint(Ink::Bad, ""), "");
    }

    #[test]
    fn text_from_outside_cannot_steer_the_terminal() {
        let style = Style::plain(80);
        assert_eq!(style.text("a\x1b[2Jb\nc\u{202e}"), "a\\u{1b}[2Jb c\\u{202e}");
    }

    #[test]
    fn the_filter_passes_colours_and_nothing_else() {
        let style = Style { colour: true, ..Style::plain(80) };
        let ours = style.paint(Ink::Bad, "failed") + "\n" + &style.on(230, true, "12") + &style.paint(Ink::Strong, "x");
        assert_eq!(for_terminal(&ours, true), ours);
        let shown = for_terminal(&ours, false);
        assert!(shown.starts_with("\\u{1b}[31mfailed\\u{1b}[0m\n"), "{shown}");
        // Hidden, blinking, moved, titled, unfinished, Latin-1, alone.
        for text in ["[8m", "[5m", "[2J", "]0;t\x07", "[31", "[38;5;300;48;5;1m", "[38;5;16;48;5;16m", "[;m", ""] {
            let shown = for_terminal(&format!("\x1b{text}\u{9b}"), true).into_owned();
            assert!(shown.starts_with(&format!("\\u{{1b}}{}", plain(text))), "{shown}");
            assert!(shown.chars().all(is_plain), "{shown}");
        }
    }

    #[test]
    fn ascii_replaces_unicode() {
        let ascii = Style { unicode: false, ..Style::plain(80) };
        assert_eq!(ascii.text("4.49 µs ± 0.8 % – …"), "4.49 us +- 0.8 % - ...");
        assert_eq!(ascii.cut("abcdefgh", 6), "abc...");
        assert_eq!(Style::plain(80).cut("abcdefgh", 6), "abcde…");
        assert_eq!(Style::plain(80).cut("abcdef", 6), "abcdef");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two  three\nfour", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("unbreakable word", 4), ["unbreakable", "word"]);
        assert_eq!(wrap_behind("x: ", "one two three four five six", 23), "x: one two three four\n   five six\n");
    }
}
