//! Every value of every file is in its table once, and tables keep the order of their documents.

use groma_published::{Cell, DOCUMENTS, Shape, check, mips, relative};

/// The number of values of each document, counted during transcription.
const VALUES: [(&str, usize); 5] =
    [("lmbench1996", 1338), ("lmbench3", 22), ("ousterhout1990", 521), ("cse221", 70), ("slb", 213)];

#[test]
fn every_value_is_in_its_table_once() {
    let counted: Vec<(&str, usize)> = DOCUMENTS
        .iter()
        .map(|document| {
            let of = |table: &groma_published::Table| {
                let Some(sheet) = table.sheet() else { return 0 };
                let all = table.cells();
                let shown: Vec<Cell> = sheet.rows.iter().flat_map(|row| row.cells.iter().flatten().cloned()).collect();
                assert_eq!(all.len(), shown.len(), "{} {}", document.name, table.name);
                assert!(all.iter().all(|cell| shown.contains(cell)), "{} {}", document.name, table.name);
                assert_eq!(table.lines().len(), all.len() + 1, "{} {}: a line was not read", document.name, table.name);
                all.len()
            };
            (document.name, document.tables.iter().map(of).sum())
        })
        .collect();
    assert_eq!(counted, VALUES);
}

#[test]
fn names_are_given_once_and_values_are_numbers() {
    for document in &DOCUMENTS {
        let mut names: Vec<&str> = document.tables.iter().map(|table| table.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), document.tables.len(), "{}", document.name);
        for cell in document.tables.iter().flat_map(|table| table.cells()) {
            assert!(cell.number().is_finite(), "{cell:?}");
            assert!(["lower", "higher"].contains(&cell.better.as_str()), "{cell:?}");
        }
    }
}

/// Two values in one cell are the ends of a range.
#[test]
fn a_cell_holds_one_value_or_a_range() {
    for table in DOCUMENTS.iter().flat_map(|document| document.tables) {
        for row in table.sheet().into_iter().flat_map(|sheet| sheet.rows) {
            for cells in &row.cells {
                let bounds: Vec<Option<&str>> = cells.iter().map(|cell| cell.param("bound")).collect();
                let fine = bounds.len() < 2 || bounds == [Some("low"), Some("high")];
                assert!(fine, "{} {}: {cells:?}", table.name, row.name);
            }
        }
    }
}

#[test]
fn sorted_tables_are_in_the_order_of_their_column() {
    let mut sorted = 0;
    for document in &DOCUMENTS {
        for table in document.tables {
            let (Shape::Systems(Some(by)), Some(sheet)) = (table.shape, table.sheet()) else { continue };
            let column: Vec<&Cell> = sheet.rows.iter().filter_map(|row| row.cells[by].first()).collect();
            let unit = |cell: &Cell| if cell.unit == "MiB" { 1024.0 } else { 1.0 };
            let values: Vec<f64> = column.iter().map(|cell| cell.number() * unit(cell)).collect();
            let fine = match column[0].better.as_str() {
                "lower" => values.is_sorted(),
                _ => values.iter().rev().is_sorted(),
            };
            assert!(fine, "{} {}: {values:?}", document.name, table.name);
            sorted += 1;
        }
    }
    assert_eq!(sorted, 24);
}

#[test]
fn doubtful_cells_keep_their_mark() {
    let all = DOCUMENTS.iter().flat_map(|document| document.tables).flat_map(|table| table.cells());
    assert_eq!(all.filter(Cell::is_doubtful).count(), 49);
}

/// Derived numbers that no rounding of the document's own numbers gives.
const ERRORS: [(&str, &str, &str); 12] = [
    ("table3", "SS1 SunOS 4.0.3", "0.32"),
    ("table5", "Sun4 Sprite", "0.55"),
    ("table5", "DS3100 Sprite", "0.43"),
    ("table5", "DS3100 Mach 2.5", "0.39"),
    ("table5", "DS3100 Ultrix 3.1", "0.39"),
    ("table5", "Sun4 SunOS 4.0.3", "0.52"),
    ("table5", "Sun4 Mach 2.5", "0.56"),
    ("table8", "Sun3 SunOS 3.5", "1.4"),
    ("table10", "M2000 RISC/os 4.0", "0.12"),
    ("table10", "DS5000 Ultrix 3.1D", "0.09"),
    ("task_creation", "Core i5-4258U", "25"),
    ("context_switch", "Core i5-4258U", "10"),
];

#[test]
fn derived_numbers_are_those_of_the_papers_but_for_known_errors() {
    let all: Vec<_> = DOCUMENTS.iter().flat_map(check).collect();
    let off: Vec<(&str, &str, &str)> = all
        .iter()
        .filter(|one| !one.fits)
        .map(|one| (one.table, one.printed.system.as_str(), one.printed.value.as_str()))
        .collect();
    assert_eq!(off, ERRORS);
    // 16 of tables 2, 3, 4 and 6, 25 of 7 and 8, 11 penalties, 15 of 5, 27 of 9 and 10, and two
    // ratios.
    assert_eq!(all.len(), 4 * 16 + 2 * 25 + 11 + 15 + 2 * 27 + 2);
}

#[test]
fn ratings_are_found_by_the_hardware() {
    assert_eq!(mips("DS3100 Ultrix 3.1"), Some(12.0));
    assert_eq!(mips("MVAX2 Ultrix 3.0"), Some(0.9));
    assert_eq!(mips("PDP-11"), None);
}

/// Twice the time on a processor of twice the speed is a quarter; the reference machine is 1.
#[test]
fn what_is_relative_to_mips_is_relative_to_the_reference_machine() {
    let all: Vec<Cell> =
        DOCUMENTS.iter().flat_map(|document| document.tables).flat_map(|table| table.cells()).collect();
    let find = |metric: &str, access: Option<&str>| {
        all.iter().find(|c| c.source == "ousterhout1990" && c.metric == metric && c.param("access") == access)
    };
    let pipe = find("pipe.latency", None).expect("table 3");
    assert_eq!(relative(3.66, 0.9, pipe), Some(1.0));
    assert!((relative(7.32, 1.8, pipe).expect("a number") - 0.25).abs() < 1e-12);
    let read = find("file.reread_bw", None).expect("table 6");
    let doubled = relative(2.0, 0.9, read).zip(relative(1.0, 0.9, read)).map(|(two, one)| two / one);
    assert_eq!(doubled, Some(2.0), "a higher bandwidth is better");
    // A value over a network is relative to the reference machine over a network.
    let [local, remote] = ["local", "nfs"].map(|access| find("andrew.total", Some(access)).expect("table 7"));
    assert_eq!((relative(1416.0, 0.9, local), relative(1707.0, 0.9, remote)), (Some(1.0), Some(1.0)));
}

/// Pictures are not tables, and each says in a sentence what it shows.
#[test]
fn pictures_are_named_once_and_described() {
    for document in &DOCUMENTS {
        for picture in document.pictures {
            assert!(document.table(picture.name).is_none(), "{} {}", document.name, picture.name);
            assert_eq!(document.picture(picture.name).map(|own| own.title), Some(picture.title));
            assert!(picture.shows.ends_with('.') && picture.shows.len() > 60, "{}", picture.shows);
        }
    }
    let count = |name: &str| DOCUMENTS.iter().find(|one| one.name == name).map(|one| one.pictures.len());
    assert_eq!((count("lmbench3"), count("ousterhout1990")), (Some(10), Some(1)));
}
