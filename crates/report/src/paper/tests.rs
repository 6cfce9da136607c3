//! Checks that documents are shown as they were printed, cell by cell, and how they look next to a
//! machine.

use super::*;
use crate::style::columns;
use groma_published::{Cell, Sheet, Take};

/// A machine with a value for everything that is repeated: a tenth of the first published one.
fn machine(table: &Table) -> PaperMachine {
    let cells = table.cells();
    let value = |quantity: &groma_published::Quantity| {
        let is_repeated = !matches!(quantity.take, Take::Nothing(_));
        cells.iter().find(|cell| is_repeated && quantity.is_of(cell)).map(|cell| cell.number() / 10.0)
    };
    PaperMachine {
        name: "node17, Intel Xeon Gold 6430".to_owned(),
        os: "Linux 6.18.2-amd64".to_owned(),
        runs: vec!["20261121T073812Z-5f3a".to_owned()],
        rows: vec![PaperRow {
            keys: vec![("access".to_owned(), "local".to_owned())],
            values: table.quantities.iter().map(value).collect(),
        }],
        mips: None,
    }
}

pub(crate) fn paper(document: &'static Document, table: &'static Table, beside: bool) -> Paper<'static> {
    let machines = if beside && table.shape != Shape::Raw { vec![machine(table)] } else { Vec::new() };
    let notes = vec![("a".to_owned(), "is measured otherwise".to_owned())];
    Paper { document, table, machines, notes, beside: Vec::new(), timed: Vec::new(), missing: None }
}

/// One table in a format.
fn one(paper: Paper<'_>, format: Format) -> String {
    let style = Style::plain(100).of(format);
    papers(&Papers { tables: vec![paper], pictures: Vec::new() }, &style).render(format, &style)
}

/// A document and one of its tables.
pub(crate) fn table(document: &str, table: &str) -> (&'static Document, &'static Table) {
    let document = DOCUMENTS.iter().find(|one| one.name == document).expect("a document");
    (document, document.table(table).expect("a table"))
}

fn every_table() -> impl Iterator<Item = (&'static Document, &'static Table)> {
    DOCUMENTS.iter().flat_map(|document| document.tables.iter().map(move |table| (document, table)))
}

/// The cells of a Markdown table row, unescaped.
fn cells(line: &str) -> Vec<String> {
    let inside = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")).expect("a row");
    inside.split(" | ").map(|cell| cell.trim().replace('\\', "")).collect()
}

/// The published rows of a Markdown table, without the columns and rows of machines.
fn shown(text: &str) -> Vec<Vec<String>> {
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(2).map(cells);
    rows.filter(|row| !row.iter().any(|cell| cell.starts_with("**→"))).collect()
}

/// The text of a cell in the source file, with the document's own digits.
fn printed(cells: &[Cell]) -> String {
    let values: Vec<String> =
        cells.iter().map(|cell| cell.value.clone() + if cell.note.contains("DOUBT") { "?" } else { "" }).collect();
    if values.is_empty() { "–".to_owned() } else { values.join("–") }
}

fn values_of(sheet: &Sheet) -> Vec<Vec<String>> {
    sheet.rows.iter().map(|row| row.cells.iter().map(|cells| printed(cells)).collect()).collect()
}

#[test]
fn every_cell_of_every_table_is_shown_as_it_was_printed() {
    let mut seen = 0;
    for (document, table) in every_table() {
        for beside in [false, true] {
            let text = one(paper(document, table, beside), Format::Markdown);
            let rows = shown(&text);
            let Some(sheet) = table.sheet() else {
                assert_eq!(rows, table.raw().rows, "{} {}", document.name, table.name);
                continue;
            };
            let expected = values_of(&sheet);
            assert_eq!(rows.len(), expected.len(), "{} {}", document.name, table.name);
            let ours = if beside && table.shape == Shape::Quantities { 1 } else { 0 };
            for (row, expected) in rows.iter().zip(&expected) {
                let end = row.len() - ours;
                let own = &row[end - expected.len()..end];
                for (shown, value) in own.iter().zip(expected) {
                    // A unit other than the column's follows the value.
                    let bare = shown.split(' ').next().unwrap_or_default();
                    assert_eq!(bare, value, "{} {}: {row:?}", document.name, table.name);
                    seen += usize::from(value != "–" && !beside);
                }
            }
        }
    }
    // All values of the files; the two ends of 9 ranges share a cell.
    assert_eq!(seen, 1338 + 22 + 521 + 70 + 213 - 9);
}

/// The long form has each line of the file, and the machine's values next to them.
#[test]
fn csv_is_the_file_again() {
    for (document, table) in every_table() {
        let text = one(paper(document, table, true), Format::Csv);
        let mut lines: Vec<&str> = text.lines().filter(|line| !line.contains("measured by groma")).collect();
        let ours = text.lines().count() - lines.len();
        let mut file: Vec<String> = table
            .lines()
            .iter()
            .map(|fields| fields.iter().map(|field| crate::csv::text(field)).collect::<Vec<_>>().join(","))
            .collect();
        lines.sort_unstable();
        file.sort_unstable();
        assert_eq!(lines, file, "{} {}", document.name, table.name);
        let expected =
            if table.shape == Shape::Raw { 0 } else { machine(table).rows[0].values.iter().flatten().count() };
        assert_eq!(ours, expected, "{} {}", document.name, table.name);
    }
}

/// A machine's row comes after those that are better by the sorted column, and before the rest.
#[test]
fn a_machine_is_sorted_among_the_published_rows() {
    let document = &DOCUMENTS[0];
    let table = document.table("table7").expect("it is there");
    let mut own = paper(document, table, true);
    for (value, before) in [(1.0, 0), (2.0, 2), (3.5, 3), (24.0, 15), (25.0, 15)] {
        own.machines[0].rows[0].values = vec![Some(value)];
        let text = one(own.clone(), Format::Markdown);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
        assert_eq!(rows.iter().position(|row| row.contains('→')), Some(before), "{value}: {text}");
    }
    // Without a value to sort by it comes last.
    own.machines[0].rows[0].values = vec![None];
    let text = one(own, Format::Markdown);
    assert!(text.lines().rfind(|line| line.starts_with("| ")).is_some_and(|row| row.contains('→')), "{text}");
}

fn text(document: &str, table: &str) -> String {
    let (document, table) = self::table(document, table);
    one(paper(document, table, true), Format::Table)
}

#[test]
fn as_text() {
    insta::assert_snapshot!(text("lmbench1996", "table10"));
    insta::assert_snapshot!(text("ousterhout1990", "table2"));
    insta::assert_snapshot!(text("cse221", "memory_latency"));
    insta::assert_snapshot!(paper_list().text(&Style::plain(100)));
}

#[test]
fn html_is_one_page_and_text_is_no_markup() {
    let all: Vec<Paper<'_>> = every_table()
        .map(|(document, table)| {
            let mut one = paper(document, table, true);
            one.machines.iter_mut().for_each(|machine| machine.name = "<b>&\u{1b}[2J".to_owned());
            one
        })
        .collect();
    let tables = all.len();
    let page = papers(&Papers { tables: all, pictures: Vec::new() }, &Style::plain(100))
        .render(Format::Html, &Style::plain(100));
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("<h4 ").count(), tables);
    assert_eq!(page.matches("<svg ").count(), 2);
    for outside in ["<b>&\u{1b}", "<script", "http://", "https://", "\u{1b}"] {
        assert!(!page.replace("http://www.w3.org/2000/svg", "").contains(outside), "{outside:?}");
    }
    assert!(page.contains("&lt;b&gt;&amp;"));
}

/// Sentences are computed: the best, the median, the columns that differ most, and what is timed.
#[test]
fn a_table_is_summarised_in_a_paragraph() {
    let (document, table) = table("lmbench1996", "table2");
    let mut own = paper(document, table, true);
    own.machines[0].rows[0].values = [484.0, 1710.0, 470.0, 546.0].map(Some).to_vec();
    own.timed = vec![Timed { head: "bcopy unrolled".to_owned(), what: "a copy".to_owned(), differs: String::new() }];
    let expected = "node17, Intel Xeon Gold 6430: bcopy unrolled 484 MB/s, 2.0 times as much as the best of 1996 (IBM \
                    Power2, 242 MB/s) and 12 times as much as the median of 15 rows (42.0 MB/s). Of 4 columns, bcopy \
                    libc (10 times) is furthest ahead of the best, write (1.5 times) the least. Timed then and now: a \
                    copy.";
    assert_eq!(own.sentences(), [expected]);
    // For a second machine, what was timed is not repeated; worse values are given in percent.
    own.machines.push(own.machines[0].clone());
    own.machines[1].rows[0].values = vec![Some(24.2), None, None, None];
    own.timed[0].differs = "nothing is".to_owned();
    let [first, second] = &own.sentences()[..] else { panic!("two") };
    assert!(first.ends_with(" Timed then and now: a copy (here: nothing is)."), "{first}");
    assert!(second.contains("24.2 MB/s, 10 % of the best of 1996") && second.ends_with("(42.0 MB/s)."), "{second}");
    own.machines.clear();
    own.missing = Some("measure it".to_owned());
    assert_eq!(own.sentences(), ["measure it"]);
}

/// Every table with a value of a machine has a paragraph; none mentions sizes or ratios.
#[test]
fn every_table_with_a_value_is_summarised() {
    for (document, table) in every_table().filter(|(_, table)| table.shape != Shape::Raw) {
        let own = paper(document, table, true);
        let has_values = own.machines[0].rows[0].values.iter().any(Option::is_some);
        let sentences = own.sentences();
        // The only row of a figure that this machine has here is not on its axis.
        if !matches!(table.shape, Shape::Figure(_)) {
            assert_eq!(sentences.len(), usize::from(has_values), "{} {}", document.name, table.name);
        }
        assert!(!sentences.iter().any(|text| text.contains(" size (")), "{sentences:?}");
    }
    let (document, table) = table("lmbench1996", "figure2");
    let mut own = paper(document, table, true);
    let row = |procs: &str, value: f64| PaperRow {
        keys: vec![("procs".to_owned(), procs.to_owned())],
        values: vec![Some(value), None, None, None, None],
    };
    own.machines[0].rows = vec![row("2", 3.0), row("8", 3.5), row("3", 1.0)];
    assert_eq!(
        own.sentences(),
        ["node17, Intel Xeon Gold 6430: at 2 points that the figure has too, 2.0 times to 2.0 times as fast as Linux \
          i686@167MHz in 1996, at half of them 2.0 times or more."]
    );
}

/// Cells are wrapped between words where they do not fit, and no word is lost.
#[test]
fn tables_of_names_stay_within_the_width() {
    let (document, table) = table("lmbench3", "table2");
    let mut own = paper(document, table, false);
    let names = table.raw().rows.len();
    own.beside = vec![
        ("repeated by".to_owned(), vec!["syscall.getppid_libc, syscall.read, syscall.write_libc".to_owned(); names]),
        ("→ node17, Intel Xeon Gold 6430".to_owned(), vec!["1.08 µs, 2.10 µs".to_owned(); names]),
    ];
    for width in [80, 100, 300] {
        let all = Papers { tables: vec![own.clone()], pictures: Vec::new() };
        let text = papers(&all, &Style::plain(width)).text(&Style::plain(width));
        let widest = text.lines().map(columns).max().unwrap_or(0);
        assert!(widest <= width, "{widest} of {width}:\n{text}");
        assert_eq!(text.matches("syscall.write_libc").count(), names);
        assert_eq!(text.matches("2.10").count(), names);
    }
}

fn picture(document: &str, name: &str) -> PaperPicture<'static> {
    let document = DOCUMENTS.iter().find(|one| one.name == document).expect("a document");
    let picture = document.picture(name).expect("a picture");
    PaperPicture { document, picture, chart: None, notes: Vec::new(), commands: vec!["groma plot <it>".to_owned()] }
}

/// Every format describes a figure without numbers, among its document's tables.
#[test]
fn pictures_are_described() {
    let (document, of) = table("lmbench3", "text");
    let tables = vec![paper(document, of, false)];
    let all = Papers { tables, pictures: vec![picture("lmbench3", "figure7")] };
    for format in [Format::Table, Format::Markdown, Format::Html] {
        let text = papers(&all, &Style::plain(200).of(format)).render(format, &Style::plain(200));
        for part in ["lmbench3 figure7: How late a sleep ends", "interval timer outlast", "groma plot "] {
            assert_eq!(text.matches(part).count(), if format == Format::Html && part.contains(": ") { 2 } else { 1 });
        }
        assert!(format != Format::Html || text.contains("groma plot &lt;it&gt;"));
    }
    assert_eq!(
        papers(&all, &Style::plain(200)).render(Format::Csv, &Style::plain(200)).lines().count(),
        1 + of.cells().len()
    );
}

/// The chart of Ousterhout's figure has a line per table with a column relative to MIPS: the best
/// of several systems on a machine, and this machine last.
#[test]
fn performance_by_mips_is_drawn_from_the_tables() {
    let document = DOCUMENTS.iter().find(|one| one.name == "ousterhout1990").expect("a document");
    let all: Vec<Paper<'_>> = document.tables.iter().map(|table| paper(document, table, true)).collect();
    let drawn = |mips: Option<f64>| {
        let mut all = all.clone();
        all.iter_mut().flat_map(|paper| &mut paper.machines).for_each(|machine| machine.mips = mips);
        Chart::relative(&all, "a title").expect("a chart").svg()
    };
    let of_this_machine = ["≤ node17", "upper bounds"];
    let svg = drawn(Some(4000.0));
    for part in ["syscall.getpid", "pipe.latency", "file.create_delete", "MVAX2"].iter().chain(&of_this_machine) {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    // Nothing can be relative to an unknown number.
    let svg = drawn(None);
    assert!(svg.contains("MVAX2") && of_this_machine.iter().all(|part| !svg.contains(part)), "{svg}");
    assert!(Chart::relative(&all[..1], "no such column").is_none());
}
