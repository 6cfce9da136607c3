//! The displayed name of a metric: its line of a page, or the row of the hardware page made from
//! it. Ids and parameters name those that are on neither.

use groma_analysis::claims::Subject;
use groma_model::family::Row;
use groma_model::page::{Block, Shown};
use groma_model::{Families, Placement, Record, Value};

use crate::hardware;
use crate::point::{name, params};

/// `Round trips, 2 CPUs: pipe`, `read 256 KiB, one core`; the id and parameters where no line shows
/// it.
pub(crate) fn page_name(families: Families<'_>, record: &Record) -> String {
    let is_it = |shown: &Shown| {
        let here = shown.rank(&record.placement, record.workers).is_some() && shown.has(&record.params);
        shown.metric == record.id && here && !shown.in_cycles
    };
    let blocks = families.pages.system.iter().chain(families.pages.hardware);
    let lines = blocks.flat_map(|block| block.lines.iter().map(move |line| (block, line)));
    let mut found = lines.filter_map(|(block, line)| {
        let column = line.values.iter().position(|shown| shown.as_ref().is_some_and(is_it))?;
        Some(format!("{}: {}", title(block, column), line.name))
    });
    let is_of_row = families.pages.rows.iter().any(is_it);
    let of_row = || if is_of_row { row_name(families, record) } else { None };
    found.next().or_else(of_row).unwrap_or_else(|| name(record))
}

/// The name of what a hardware page row is made from: `core clock`, `memory latency, 16 KiB`.
/// `None` where no row is made from it.
pub(super) fn row_name(families: Families<'_>, record: &Record) -> Option<String> {
    let text = |wanted: &str| params(record).find(|(name, _)| *name == wanted).map_or("", |(_, text)| text);
    let of_subject = |subject: Subject| hardware::name(subject).to_owned();
    let id = record.id.as_str();
    families.rows().into_iter().find_map(|row| match row {
        Row::CoreClock { rate, .. } if *rate == id => Some(of_subject(Subject::CoreClock)),
        Row::CounterRate(rate) if *rate == id => Some(of_subject(Subject::CounterRate)),
        Row::Caches(latency) if *latency == id => Some(format!("memory latency, {}", text("size"))),
        Row::Memory(amount) if *amount == id => Some("memory available".to_owned()),
        Row::CacheLine { line, .. } if *line == id => Some(of_subject(Subject::CacheLine)),
        Row::Ways { ways, .. } if *ways == id => Some(of_subject(Subject::Ways(usize::from(text("level") != "l1")))),
        Row::Tlb { first, .. } if *first == id => Some(match text("pages") {
            "base" => of_subject(Subject::FirstTlb),
            pages => format!("data TLB, {pages} pages"),
        }),
        Row::Nodes(latency) if *latency == id => Some(format!("memory latency, {}", record.placement)),
        Row::Bandwidth(bandwidth) if *bandwidth == id => Some(match text("size") {
            "auto" => format!("{} memory, one core", text("op")),
            size => format!("{} {size}, one core", text("op")),
        }),
        Row::SharedCache(transfer) if *transfer == id => Some(match &record.placement {
            Placement::List(cpus) if cpus.len() == 2 => format!("cache line, CPU {} to {}", cpus[0], cpus[1]),
            _ => "cache line, core to core".to_owned(),
        }),
        _ => None,
    })
}

/// The numbers among a record's parameters, to sort sizes by value, not as text.
pub(super) fn numbers(record: &Record) -> Vec<u64> {
    let number = |(_, value): &(String, Value)| if let Value::Int(n) = value { Some(*n) } else { None };
    record.params.0.iter().filter_map(number).collect()
}

/// The title of a block, with the heading of its column.
pub(super) fn title(block: &Block, column: usize) -> String {
    let several = block.lines.iter().flat_map(|line| &line.values[1..]).flatten().any(|shown| !shown.in_cycles);
    match block.heads.get(column) {
        Some(head) if several => format!("{}, {head}", block.title),
        _ => block.title.to_owned(),
    }
}
