//! What is shown of the documents is what they printed, cell by cell; and how it looks beside a
//! machine.

use super::*;
use groma_published::{Cell, Sheet, Take};

/// A machine that has a value of everything that is repeated: each a tenth of the first published.
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
    }
}

fn paper(document: &'static Document, table: &'static Table, beside: bool) -> Paper<'static> {
    let machines = if beside && table.shape != Shape::Raw { vec![machine(table)] } else { Vec::new() };
    let notes = vec![("a".to_owned(), "is measured otherwise".to_owned())];
    Paper { document, table, machines, notes, beside: Vec::new() }
}

fn every_table() -> impl Iterator<Item = (&'static Document, &'static Table)> {
    DOCUMENTS.iter().flat_map(|document| document.tables.iter().map(move |table| (document, table)))
}

/// The cells of a row of a Markdown table, as they were before they were escaped.
fn cells(line: &str) -> Vec<String> {
    let inside = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")).expect("a row");
    inside.split(" | ").map(|cell| cell.trim().replace('\\', "")).collect()
}

/// The published rows of a table as Markdown, without the columns and the rows of machines.
fn shown(text: &str) -> Vec<Vec<String>> {
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(2).map(cells);
    rows.filter(|row| !row.iter().any(|cell| cell.starts_with("**→"))).collect()
}

/// What the file has for a place, with the document's own digits.
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
            let text = papers(&[paper(document, table, beside)], PaperFormat::Markdown, &Style::plain(100));
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
                    // A unit that is not that of the column stands behind.
                    let bare = shown.split(' ').next().unwrap_or_default();
                    assert_eq!(bare, value, "{} {}: {row:?}", document.name, table.name);
                    seen += usize::from(value != "–" && !beside);
                }
            }
        }
    }
    // All values of the files; the two ends of 9 ranges stand in one place each.
    assert_eq!(seen, 1338 + 22 + 521 + 70 + 213 - 9);
}

/// The long form holds each line of the file, and the machine's values beside them.
#[test]
fn csv_is_the_file_again() {
    for (document, table) in every_table() {
        let text = papers(&[paper(document, table, true)], PaperFormat::Csv, &Style::plain(100));
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

/// A row of a machine stands behind what is better by the column of the sorting, and before the
/// rest.
#[test]
fn a_machine_is_put_in_its_place() {
    let document = &DOCUMENTS[0];
    let table = document.table("table7").expect("it is there");
    let mut one = paper(document, table, true);
    for (value, before) in [(1.0, 0), (2.0, 2), (3.5, 3), (24.0, 15), (25.0, 15)] {
        one.machines[0].rows[0].values = vec![Some(value)];
        let text = papers(&[one.clone()], PaperFormat::Markdown, &Style::plain(100));
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
        assert_eq!(rows.iter().position(|row| row.contains('→')), Some(before), "{value}: {text}");
    }
    // Without a value to sort by it stands last.
    one.machines[0].rows[0].values = vec![None];
    let text = papers(&[one], PaperFormat::Markdown, &Style::plain(100));
    assert!(text.lines().rfind(|line| line.starts_with("| ")).is_some_and(|row| row.contains('→')), "{text}");
}

fn text(document: &str, table: &str) -> String {
    let document = DOCUMENTS.iter().find(|one| one.name == document).expect("a document");
    let table = document.table(table).expect("a table");
    papers(&[paper(document, table, true)], PaperFormat::Table, &Style::plain(100))
}

#[test]
fn as_text() {
    insta::assert_snapshot!(text("lmbench1996", "table10"));
    insta::assert_snapshot!(text("ousterhout1990", "table2"));
    insta::assert_snapshot!(text("cse221", "memory_latency"));
    insta::assert_snapshot!(paper_list(&Style::plain(100)));
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
    let page = papers(&all, PaperFormat::Html, &Style::plain(100));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("<h3 ").count(), all.len());
    assert_eq!(page.matches("<svg ").count(), 2);
    for outside in ["<b>&\u{1b}", "<script", "http://", "https://", "\u{1b}"] {
        assert!(!page.replace("http://www.w3.org/2000/svg", "").contains(outside), "{outside:?}");
    }
    assert!(page.contains("&lt;b&gt;&amp;"));
}
