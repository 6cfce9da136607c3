//! Text in HTML, SVG and XML: the one place that escapes.
//!
//! A [`Markup`] takes tags and attribute names written in this crate (`&'static str`) and escapes
//! everything else, so no text from outside can become an element. Characters that steer a terminal
//! or reorder a line are escaped as everywhere (`groma_model::plain`).

use std::borrow::Cow;
use std::fmt::Write;

use groma_model::{plain, plain_json};
use serde::Serialize;

/// Escapes text for an element or a double-quoted attribute.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    const SPECIAL: [char; 5] = ['&', '<', '>', '"', '\''];
    let text = plain(text);
    if !text.contains(SPECIAL) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A part of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Markup(String);

impl Markup {
    /// The crate's own markup, unescaped.
    pub(crate) fn own(&mut self, text: &'static str) {
        self.0 += text;
    }

    /// A tag without attributes, and its content.
    pub(crate) fn tag(&mut self, name: &'static str, inside: impl FnOnce(&mut Markup)) {
        self.with(name, &[], inside);
    }

    /// A tag with attributes, without the empty ones, and its content.
    pub(crate) fn with(
        &mut self,
        name: &'static str,
        attributes: &[(&'static str, &str)],
        inside: impl FnOnce(&mut Markup),
    ) {
        self.open(name, attributes);
        inside(self);
        for part in ["</", name, ">"] {
            self.0 += part;
        }
    }

    /// A tag without content and end tag.
    pub(crate) fn open(&mut self, name: &'static str, attributes: &[(&'static str, &str)]) {
        self.0 += "<";
        self.0 += name;
        for (name, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
            for part in [" ", name, "=\"", &escape(value), "\""] {
                self.0 += part;
            }
        }
        self.0 += ">";
    }

    /// An SVG element without content.
    pub(crate) fn leaf(&mut self, name: &'static str, attributes: &[(&'static str, &str)]) {
        self.open(name, attributes);
        self.0.pop();
        self.0 += "/>";
    }

    /// Escaped text.
    pub(crate) fn text(&mut self, text: &str) {
        self.0 += &escape(text);
    }

    /// A tag without attributes around a text.
    pub(crate) fn say(&mut self, name: &'static str, text: &str) {
        self.tag(name, |inside| inside.text(text));
    }

    /// A tag of a class around a text.
    pub(crate) fn say_of(&mut self, name: &'static str, class: &str, text: &str) {
        self.with(name, &[("class", class)], |inside| inside.text(text));
    }

    /// Another part.
    pub(crate) fn add(&mut self, part: Markup) {
        self.0 += &part.0;
    }

    /// CSS rules for a light and a dark background, written in this crate.
    pub(crate) fn colours(&mut self, [light, dark]: &[String; 2]) {
        let _ =
            write!(self.0, "{}@media (prefers-color-scheme:dark){{@media screen{{{}}}}}", escape(light), escape(dark));
    }

    /// A line break in the source, so that two documents can be diffed.
    pub(crate) fn newline(&mut self) {
        self.0.push('\n');
    }

    /// Data for the page's script. Only `<` can end a script element; in JSON it occurs in strings
    /// only, where its escape is equivalent.
    pub(crate) fn data(&mut self, id: &'static str, data: &impl Serialize) {
        // Only a map with non-text keys could fail, and no data has one.
        let json = serde_json::to_string(data).unwrap_or_default();
        let json = plain_json(&json).replace('<', "\\u003c");
        let _ = writeln!(self.0, "<script type=\"application/json\" id=\"{id}\">{json}</script>");
    }

    /// The document.
    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><script>alert('1')</script>\"'& \u{202e}\u{1b}[2J";

    #[test]
    fn nothing_from_outside_becomes_markup() {
        let mut out = Markup::default();
        out.with("p", &[("title", HOSTILE), ("class", "")], |p| p.text(HOSTILE));
        let escaped =
            "&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&#39;&amp; \\u{202e}\\u{1b}[2J";
        assert_eq!(out.into_string(), format!("<p title=\"{escaped}\">{escaped}</p>"));
    }

    #[test]
    fn data_cannot_end_its_script() {
        let mut out = Markup::default();
        out.data("d", &[HOSTILE, "<!--"]);
        let text = out.into_string();
        let json = text.strip_prefix("<script type=\"application/json\" id=\"d\">");
        let json = json.and_then(|rest| rest.strip_suffix("</script>\n")).expect("one element");
        assert!(!json.contains(['<', '\u{1b}', '\u{202e}']), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(json).expect("JSON"), [HOSTILE, "<!--"]);
    }
}
