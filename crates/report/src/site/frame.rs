//! What all pages of a site share: head, navigation, style.

use super::digits;
use crate::html::STYLE;
use crate::markup::Markup;
use crate::plot::colours;

/// What the pages may do: use the files beside them. Nothing else is loaded, and nothing is sent.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'self' 'unsafe-inline'; \
                      script-src 'self'; img-src 'self'";

/// The pages that the navigation leads to.
const NAVIGATION: [(&str, &str); 5] = [
    ("index.html", "Machines"),
    ("metrics.html", "Metrics"),
    ("beside.html", "Side by side"),
    ("years.html", "Thirty years"),
    ("about.html", "About"),
];

/// A page.
pub(super) struct Page<'p> {
    pub(super) title: &'p str,
    /// Its path below the root of the site.
    pub(super) path: &'p str,
    /// Scripts beside that of all pages, from the root of the site.
    pub(super) scripts: &'p [&'p str],
}

impl Page<'_> {
    /// The way from this page to the root of the site.
    pub(super) fn root(&self) -> &'static str {
        if self.path.contains('/') { "../" } else { "" }
    }
}

/// The style sheet of all pages.
pub(super) fn style() -> String {
    let mut out = Markup::default();
    out.own(STYLE);
    out.own(include_str!("site.css"));
    out.colours(&colours());
    out.into_string()
}

/// A page with its frame.
pub(super) fn page(about: &Page<'_>, body: impl FnOnce(&mut Markup)) -> String {
    let root = about.root();
    let mut out = Markup::default();
    out.own("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
    out.own("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.own("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    out.say("title", about.title);
    out.newline();
    out.open("link", &[("rel", "stylesheet"), ("href", &format!("{root}site.css"))]);
    for script in about.scripts.iter().chain(&["script.js"]) {
        out.with("script", &[("src", &format!("{root}{script}")), ("defer", "defer")], |_| {});
    }
    out.own("\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
    out.with("nav", &[("aria-label", "Site")], |nav| {
        for (path, name) in NAVIGATION {
            let here = if path == about.path { "page" } else { "" };
            nav.with("a", &[("href", &format!("{root}{path}")), ("aria-current", here)], |a| a.text(name));
            nav.own(" ");
        }
    });
    out.newline();
    out.with("main", &[("id", "main")], |main| {
        main.say("h1", about.title);
        main.newline();
        body(main);
    });
    out.own("\n</body>\n</html>\n");
    out.into_string()
}

/// A cell with a number, which it is sorted by.
pub(super) fn number(out: &mut Markup, value: f64, text: &str) {
    out.with("td", &[("class", "n"), ("data-v", &digits(value))], |td| td.text(text));
}

/// A link.
pub(super) fn link(out: &mut Markup, href: &str, text: &str) {
    out.with("a", &[("href", href)], |a| a.text(text));
}

/// The heads of a table; numbers are at the right.
pub(super) fn heads<'h>(out: &mut Markup, heads: impl IntoIterator<Item = (&'h str, bool)>) {
    out.tag("thead", |head| {
        head.tag("tr", |tr| {
            for (text, is_number) in heads {
                // A column of pictures has no head, and is not sorted by.
                if text.is_empty() {
                    tr.own("<td></td>");
                    continue;
                }
                tr.with("th", &[("scope", "col"), ("class", if is_number { "n" } else { "" })], |th| th.text(text));
            }
        })
    });
}
