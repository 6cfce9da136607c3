//! The page about the site: what is here, from whom, and how to read it.

use super::Whole;
use super::frame::{Page, page};
use super::prepare::SiteKind;
use crate::units::counted;

/// What signs and colours mean.
const SIGNS: [(&str, &str); 8] = [
    (
        "~",
        "imprecise: the 95 % interval over rounds is wider than ± 5 %, or there were too few rounds for one; lighter",
    ),
    ("?", "unresolved: the rounds did not determine the value"),
    ("–", "not here: the machine lacks it or does not permit it"),
    ("!", "failed: the operation did not happen as claimed, or did not end in time"),
    ("≠", "the document measured something slightly different; the title of the cell says what"),
    ("measured", "by groma, in a run of that machine"),
    ("reference, lmbench", "a reference machine or a baseline of groma's; a result file of lmbench"),
    ("printed", "by a document; such values have no interval"),
];

/// The page.
pub(super) fn about(all: &Whole<'_>) -> String {
    page(&Page { title: "About", path: "about.html", scripts: &[] }, |out| {
        let counts = [SiteKind::Measured, SiteKind::Reference, SiteKind::Imported, SiteKind::Printed]
            .map(|kind| (kind, all.machines.iter().filter(|machine| machine.kind == kind).count()));
        let counts: Vec<String> =
            counts.iter().filter(|(_, n)| *n > 0).map(|(kind, n)| format!("{n} {}", kind.word())).collect();
        out.say_of("p", "lead", &format!("{}: {}.", counted(all.machines.len(), "machine"), counts.join(", ")));
        out.say("p", "Made by groma site from the files of runs. Nothing is loaded from elsewhere, and nothing is sent. The value of a \
                      machine is that of its newest run that has one; the page of a machine shows how it moved. Values of another \
                      version of a benchmark are marked, and stand in no range and on no axis of years.");
        out.say("h2", "Signs");
        out.with("dl", &[("class", "words")], |dl| {
            for (sign, meaning) in SIGNS {
                dl.say("dt", sign);
                dl.say("dd", meaning);
            }
        });
        if !all.site.printed.is_empty() {
            out.say("h2", "Documents");
            let mut titles: Vec<&str> = all.site.printed.iter().map(|system| system.title.as_str()).collect();
            titles.sort_unstable();
            titles.dedup();
            out.tag("ul", |ul| titles.iter().for_each(|title| ul.say("li", title)));
        }
    })
}
