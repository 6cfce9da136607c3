//! The smallest detectable change of each metric, given how much runs on this host vary.

use groma_analysis::floors::Floor;
use groma_model::{Families, Record};
use groma_stats::order;

use crate::compare::page_name;
use crate::document::{Document, Table};
use crate::grid::{Align, Cell};
use crate::style::Ink;
use crate::units;

/// A sentence about all metrics, then a row for each: its value, by how much two of its runs
/// differ, and the smallest change that a comparison of this many metrics detects in four cases of
/// five.
pub fn floors<'a>(families: Families<'_>, all: &[(&Record, Floor)]) -> Document<'a> {
    let found: Vec<f64> = all.iter().filter_map(|(_, floor)| floor.detectable).collect();
    let runs = all.iter().map(|(_, floor)| floor.runs).max().unwrap_or(0);
    let text = match found.len() {
        0 => format!(
            "{} of {}: by how much runs differ takes two of them.",
            units::counted(all.len(), "metric"),
            units::counted(runs, "run")
        ),
        1 => {
            let from = units::percent(found[0] - 1.0);
            format!("1 metric of {runs} runs: a change of {from} or more is found.")
        }
        n => {
            let at = |share: f64| units::percent(order::nearest_rank(&found, share).unwrap_or(f64::NAN) - 1.0);
            format!(
                "{n} metrics of {runs} runs: a change of {} or more is found in the steadiest tenth of them, of {} in \
                 half, of {} in nine tenths.",
                at(0.1),
                at(0.5),
                at(0.9)
            )
        }
    };
    let mut out = Document::new("smallest changes that are found");
    out.say(text);
    out.gap();
    let side = |head: &str| if head == "metric" { Align::Left } else { Align::Right };
    let heads = ["metric", "value", "runs", "two runs differ by", "found from"];
    let mut table = Table::new(&heads.map(|head| (head, side(head))), Some(Ink::Strong));
    for (record, floor) in all {
        let percent = |ratio: Option<f64>| {
            let text = ratio.map_or(units::NONE.to_owned(), |ratio| units::percent(ratio - 1.0));
            Cell::new(text).exactly(ratio.map(|ratio| ratio - 1.0), "")
        };
        table.row(vec![
            Cell::new(page_name(families, record)),
            Cell::new(units::headline(record).unwrap_or_default()).exactly(record.value, record.unit.symbol()),
            Cell::count(floor.runs as u64),
            percent(floor.between_runs),
            percent(floor.detectable),
        ]);
    }
    out.table(table);
    out
}
