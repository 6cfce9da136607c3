//! Every row of every document has a repeat, and every column that is measured has its command.

use groma_published::{DOCUMENTS, Document, Quantity, REPEATS, Repeat, TOOLS, Table, Take, repeating, sources};
use std::collections::BTreeSet;

fn find(source: &str, column: &str) -> Option<&'static Repeat> {
    REPEATS.iter().find(|repeat| repeat.source == source && repeat.column == column)
}

#[test]
fn every_row_of_the_documents_has_a_repeat_and_no_other_has() {
    for document in &DOCUMENTS {
        let repeats = REPEATS.iter().filter(|repeat| repeat.document() == document.name);
        let repeated: BTreeSet<String> = repeats.map(|repeat| repeat.row().to_owned()).collect();
        assert_eq!(repeated, document.rows().into_iter().collect(), "{}", document.name);
    }
    let known: Vec<&str> = DOCUMENTS.iter().map(|document| document.name).chain(TOOLS.map(|(name, _)| name)).collect();
    let mut seen = BTreeSet::new();
    for repeat in REPEATS {
        assert!(known.contains(&repeat.document()) && !repeat.row().is_empty(), "{}", repeat.source);
        assert!(seen.insert((repeat.source, repeat.column)), "{} {} has two repeats", repeat.source, repeat.column);
    }
    // The report has whole numbers of tables and programs, so that none is lost from both sides.
    let rows = DOCUMENTS.each_ref().map(|document| document.rows().into_iter().collect::<BTreeSet<_>>().len());
    assert_eq!(rows, [18, 47, 9, 8, 1]);
}

fn measured_quantities() -> impl Iterator<Item = (String, &'static Quantity)> {
    let tables = |document: &'static Document| document.tables.iter().map(move |table| (document, table));
    let quantities = |(document, table): (&Document, &'static Table)| {
        let source = format!("{}:{}", document.name, table.row);
        table.quantities.iter().map(move |quantity| (source.clone(), quantity))
    };
    DOCUMENTS.iter().flat_map(tables).flat_map(quantities).filter(|(_, quantity)| quantity.is_repeated())
}

/// A measured column names a repeat, and takes half where a copy counts twice.
#[test]
fn every_measured_column_has_its_command() {
    for (source, quantity) in measured_quantities() {
        let repeat = find(&source, quantity.repeat);
        let repeat = repeat.unwrap_or_else(|| panic!("{source}: no command for the column {}", quantity.head));
        let twice = repeat.differs.contains("counts twice");
        assert_eq!(twice, matches!(quantity.take, Take::Half | Take::PerMips), "{source} {}", quantity.head);
        let net = repeat.differs.contains("`ctx.switch.net`");
        assert_eq!(net, quantity.take == Take::Outputs(&["net"]), "{source} {}", quantity.head);
    }
}

/// The repeat of a table shows a value of it, and is the command of a column.
#[test]
fn every_repeat_of_a_table_has_a_value_and_a_column() {
    let columns: BTreeSet<(String, &str)> =
        measured_quantities().map(|(source, quantity)| (source, quantity.repeat)).collect();
    for repeat in REPEATS.iter().filter(|repeat| !repeat.timed.is_empty() && repeat.document() != "lmbench3") {
        let (_, values) = repeat.printed_values().unwrap_or_else(|| panic!("{}: no table", repeat.source));
        assert!(!values.is_empty(), "{} {}", repeat.source, repeat.column);
        for cell in values.iter().flat_map(|(_, cells)| cells) {
            assert!(!cell.is_doubtful() && cell.system == values[0].1[0].system, "{cell:?}");
        }
        // The verb `hammer` prints a whole table.
        let has_column = columns.contains(&(repeat.source.to_owned(), repeat.column));
        assert_eq!(has_column, !repeat.command.starts_with("groma hammer"), "{} {}", repeat.source, repeat.column);
    }
}

#[test]
fn printed_values_are_those_of_a_known_system() {
    let of = |source: &str, column: &str| -> Vec<(&str, Vec<String>)> {
        let (_, values) = find(source, column).expect("a row").printed_values().expect("a table");
        values.into_iter().map(|(q, cells)| (q.head, cells.into_iter().map(|cell| cell.value).collect())).collect()
    };
    let plain = |head, values: &[&str]| (head, values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>());
    assert_eq!(of("lmbench1996:table11", ""), [plain("pipe latency", &["26"])]);
    assert_eq!(of("lmbench1996:table4", ""), [plain("TCP", &["9.5"])], "of a system that the table has");
    assert_eq!(of("ousterhout1990:table5", "uncached"), [plain("uncached", &["5.1"])], "not what is derived from it");
    assert_eq!(of("ousterhout1990:table8", ""), [plain("MIPS-relative", &["0.50"])]);
    let latency = of("cse221:memory_latency", "");
    assert_eq!(latency[0], plain("L1 latency", &["2", "3"]), "a range, and measured");
    assert!(!latency.iter().any(|(head, _)| *head == "memory latency"), "it was predicted only");
    assert_eq!(of("slb:memhammer", ""), of("slb:memhammer", "as a metric"));
    assert!(find("lmbench3:lat_pipe", "").expect("a row").printed_values().is_none());
}

#[test]
fn a_source_is_named_by_its_beginning() {
    let catch = find("lmbench3:lat_sig catch", "").expect("a row");
    for text in ["lmbench3", "lmbench3:lat_sig", "lmbench3:lat_sig catch", "lat_sig", "lat_sig catch"] {
        assert!(catch.is_of(text), "{text}");
    }
    for text in ["", "lmbench", "lmbench3:lat", "catch", "lat_sig prot", "lmbench3:lat_sig catch more"] {
        assert!(!catch.is_of(text), "{text}");
    }
}

#[test]
fn benchmarks_and_sources_follow_from_the_commands() {
    assert_eq!(repeating("cyclictest"), ["timer.sleep", "sched.periodic"]);
    assert_eq!(repeating("slb"), ["mem.hammer_run", "mem.hammer"]);
    assert!(repeating("lmdd").is_empty());
    assert_eq!(sources("disk.queue"), ["fio:randread", "fio:randrw", "fio:randwrite"]);
    // Two columns of a table are one source.
    assert_eq!(sources("rpc.null"), ["lmbench1996:table12", "lmbench1996:table13", "lmbench3:lat_rpc"]);
    assert!(sources("none").is_empty());
}
