//! One document, with a block of each kind, in each format.

use super::{Document, Table};
use crate::format::Format;
use crate::grid::{Align, Cell};
use crate::style::{Ink, Style};

const HOSTILE: &str = "</script>|`*\u{1b}[2J\u{202e}=1";

fn document<'a>() -> Document<'a> {
    let mut table =
        Table::new(&[("metric", Align::Left), ("value", Align::Right), ("state", Align::Left)], Some(Ink::Strong));
    table.section(Cell::ink("ipc", Ink::Strong));
    table.row(vec![Cell::new("  ipc.pipe_rtt"), Cell::new("4.12 µs").exactly(4.123_456e-6, "s"), Cell::new("ok")]);
    table.spanned(vec![Cell::new("  net.tcp_rtt")], Cell::ink("unsupported: no loopback", Ink::Warning));
    table.section(Cell::default());
    table.section(Cell::ink("count", Ink::Strong));
    table.row(vec![Cell::new(HOSTILE), Cell::count(12u64)]);
    let mut out = Document::new("A document");
    out.heading("Heading");
    out.parts("", vec![("Slower".to_owned(), Ink::Bad), (" than before.".to_owned(), Ink::Plain)]);
    out.labelled("missed  ", "twelve of the system time is in nothing that was counted");
    out.gap();
    out.table(table);
    out.lines("  a picture ▁▂▃\n  of two lines\n");
    out
}

#[test]
fn in_every_format() {
    for format in Format::COMMON {
        let style = Style::plain(60).of(format);
        let text = document().render(format, &style);
        assert!(!text.contains(['\u{1b}', '\u{202e}']) && text.ends_with('\n'), "{format:?}: {text}");
        insta::assert_snapshot!(format.word(), text);
    }
}

#[test]
fn rows_keep_their_cells_in_every_file() {
    let text = |format| document().render(format, &Style::plain(60).of(format));
    let json: serde_json::Value = serde_json::from_str(&text(Format::Json)).expect("JSON");
    let rows = json.as_array().expect("blocks").iter().find_map(|block| block["table"].as_array()).expect("a table");
    assert_eq!((rows.len(), rows[0]["value"]["value"].as_f64()), (3, Some(4.123_456e-6)));
    assert_eq!(
        (rows[0]["section"].as_str(), rows[1]["state"].as_str()),
        (Some("ipc"), Some("unsupported: no loopback"))
    );
    let csv = text(Format::Csv);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[..2], ["section,metric,value,state", "ipc,ipc.pipe_rtt,4.123456e-6,ok"]);
    let markdown = text(Format::Markdown);
    let is_whole = |line: &str| line.replace("\\|", "").matches('|').count() == 4;
    assert!(markdown.lines().filter(|line| line.starts_with('|')).all(is_whole), "{markdown}");
}

/// The verdict of a gate stands above the comparison; a file for programs is the comparison's.
#[test]
fn a_document_above_another() {
    let mut above = Document::new("verdict");
    above.say("PASSED");
    let below = Document::page("page", "lines\n".to_owned()).written(Format::Json, || "{}\n".to_owned());
    let both = above.above(below);
    assert_eq!(both.text(&Style::plain(80)), "PASSED\nlines\n");
    assert_eq!(both.render(Format::Json, &Style::plain(80)), "{}\n");
    assert!(both.render(Format::Markdown, &Style::plain(80)).starts_with("PASSED\n\n```text\nlines\n"));
}
