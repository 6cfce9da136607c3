//! What a document lists by name only, and which rows of the lineage those names ask for.

use groma_harness::model::Repeat;
use groma_published::{Document, Table};

use crate::lineage::REPEATS;

/// The names in a table of names.
pub(super) fn names(table: &Table) -> Option<Vec<String>> {
    let raw = table.raw();
    let at = raw.head.iter().position(|head| head == "name")?;
    Some(raw.rows.iter().filter_map(|row| row.get(at).cloned()).collect())
}

/// Whether a row of the lineage is of a program of a document: `lat_sig catch` of `lat_sig`.
pub(super) fn is_of_name(repeat: &Repeat, document: &Document, name: &str) -> bool {
    let row = repeat.source.strip_prefix(document.name).and_then(|rest| rest.strip_prefix(':'));
    row.and_then(|row| row.split(' ').next()) == Some(name)
}

/// The rows of the lineage that a table of names asks for.
pub(super) fn wanted(document: &Document, table: &Table) -> Vec<(String, &'static str)> {
    let names = names(table).unwrap_or_default();
    let named = |repeat: &&Repeat| names.iter().any(|name| is_of_name(repeat, document, name));
    REPEATS.iter().filter(named).map(|repeat| (repeat.source.to_owned(), repeat.column)).collect()
}
