//! Recomputes what the documents derived from their own numbers.
//!
//! A printed number stands for all numbers that round to it, and so do those that it was derived
//! from. A derived number is wrong only if none of these gives it.

use crate::{Cell, DOCUMENTS, Document};

/// The reference machine of the MIPS-relative columns in all of Ousterhout's tables.
const REFERENCE: &str = "MVAX2 Ultrix 3.0";

/// A derived number, and what the other numbers of its document give.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Its table.
    pub table: &'static str,
    /// The number as printed.
    pub printed: Cell,
    /// The least and the greatest value that rounding allows.
    pub computed: [f64; 2],
    /// Whether the printed value can be in that range.
    pub fits: bool,
}

/// The derived numbers of a document, recomputed.
pub fn check(document: &Document) -> Vec<Checked> {
    let all: Vec<(&'static str, Cell)> =
        document.tables.iter().flat_map(|table| table.cells().into_iter().map(|cell| (table.name, cell))).collect();
    let numbers: Vec<&Cell> = all.iter().map(|(_, cell)| cell).collect();
    let one = |(table, printed): &(&'static str, Cell)| {
        let computed = derived(printed, &numbers)?;
        let [low, high] = rounded(printed);
        // Tolerance for binary fractions.
        let fits = computed[0] <= high * (1.0 + 1e-9) && computed[1] >= low * (1.0 - 1e-9);
        Some(Checked { table, printed: printed.clone(), computed, fits })
    };
    all.iter().filter_map(one).collect()
}

/// The MIPS rating of a system of Ousterhout's: that of its hardware, the first word of its name.
pub fn mips(system: &str) -> Option<f64> {
    let document = DOCUMENTS.iter().find(|document| document.name == "ousterhout1990")?;
    let ratings = document.table("table1")?.cells();
    let hardware = system.split(' ').next();
    ratings.iter().find(|cell| Some(cell.system.as_str()) == hardware).map(Cell::number)
}

/// A value of a machine with this MIPS rating, relative to the reference machine: 1 if it is faster
/// by the ratio of the ratings. `of` is a published value of the same quantity, with the same kind
/// of file access.
///
/// `None` if the reference machine has no such value.
pub fn relative(value: f64, rating: f64, of: &Cell) -> Option<f64> {
    let numbers: Vec<Cell> = DOCUMENTS
        .iter()
        .filter(|d| d.name == of.source)
        .flat_map(|d| d.tables)
        .flat_map(|table| table.cells())
        .collect();
    let all: Vec<&Cell> = numbers.iter().collect();
    let reference = reference_of(of, &all)?.number();
    let faster = if of.better == "higher" { value / reference } else { reference / value };
    Some(faster / (rating / mips(REFERENCE)?))
}

/// The value of the reference machine for the same quantity, over a network if this one is.
fn reference_of<'c>(of: &Cell, all: &[&'c Cell]) -> Option<&'c Cell> {
    let access = of.param("access").map(|access| if access == "local" { "local" } else { "nfs" });
    let same = |(key, value): &(String, String)| key == "access" || of.param(key) == Some(value);
    let is_it = |cell: &&&Cell| {
        cell.metric == of.metric
            && cell.system == REFERENCE
            && cell.param("access") == access
            && cell.params.iter().all(same)
    };
    all.iter().find(is_it).copied()
}

/// The range that rounds to a printed number.
fn rounded(cell: &Cell) -> [f64; 2] {
    let places = cell.value.split_once('.').map_or(0, |(_, places)| places.len());
    let half = 0.5 * 0.1f64.powi(places as i32);
    [cell.number() - half, cell.number() + half]
}

fn quotient(of: [f64; 2], by: [f64; 2]) -> [f64; 2] {
    [of[0] / by[1], of[1] / by[0]]
}

/// The range of a derived number; `None` if it is not derived.
fn derived(cell: &Cell, all: &[&Cell]) -> Option<[f64; 2]> {
    let with = |metric: &str, params: &dyn Fn(&Cell) -> bool| {
        all.iter().copied().find(|other| other.metric == metric && other.system == cell.system && params(other))
    };
    let alike = |other: &Cell| other.params == cell.params;
    let measured = |other: &Cell| other.param("kind") == Some("measured");
    let of = |metric: &str| with(metric, &alike).map(rounded);
    if let Some(metric) = cell.metric.strip_suffix(".mips_relative") {
        let base = with(metric, &alike)?;
        let (own, reference) = (rounded(base), rounded(reference_of(base, all)?));
        let faster = if base.better == "higher" { quotient(own, reference) } else { quotient(reference, own) };
        // The reference machine relative to itself is exactly 1, whatever the rounding.
        let faster = if base.system == REFERENCE { [1.0; 2] } else { faster };
        let processor = mips(&cell.system)? / mips(REFERENCE)?;
        return Some(faster.map(|x| x / processor));
    }
    if let Some(metric) = cell.metric.strip_suffix(".mb_per_mips") {
        let mips = mips(&cell.system)?;
        return of(metric).map(|bounds| bounds.map(|x| x / mips));
    }
    match cell.metric.as_str() {
        "andrew.total" => {
            let (copy, compile) = (of("andrew.copy")?, of("andrew.compile")?);
            // The documents add the printed, whole seconds.
            let sum = (copy[0] + copy[1] + compile[0] + compile[1]) / 2.0;
            Some([sum, sum])
        }
        "andrew.remote_penalty" => {
            let local = with("andrew.total", &|other| other.param("access") == Some("local")).map(rounded)?;
            Some(quotient(of("andrew.total")?, local).map(|x| 100.0 * (x - 1.0)))
        }
        "proc_thread.create_ratio" if measured(cell) => {
            Some(quotient(rounded(with("proc.create", &measured)?), rounded(with("thread.create", &measured)?)))
        }
        "ctx.process_thread_ratio" if measured(cell) => {
            Some(quotient(rounded(with("ctx.process", &measured)?), rounded(with("ctx.thread", &measured)?)))
        }
        _ => None,
    }
}
