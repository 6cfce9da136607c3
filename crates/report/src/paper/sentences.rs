//! Summarises a table in sentences: this machine's value compared with the best and the median of
//! then, how that varies between columns, and what was timed. Everything is computed from the
//! values, without knowledge of any particular table.

use groma_published::{Cell, Quantity, Shape, Sheet, Take};

use super::layout::{DOUBT, OURS, is_bound, quotient};
use super::{Paper, PaperMachine, Timed};
use crate::units::{counted, percent, significant, times};

/// The paragraph about a machine, and the column that it starts with.
struct Paragraph {
    text: String,
    column: String,
}

impl Paper<'_> {
    /// The summary of the table, a paragraph per machine; without any, how to get values.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let sheet = self.table.sheet();
        let all: Vec<Paragraph> = match (self.table.shape, &sheet) {
            (_, None) => return self.or_missing(self.of_names()),
            (Shape::Systems(_), Some(sheet)) => {
                self.machines.iter().filter_map(|machine| self.of_systems(sheet, machine)).collect()
            }
            (Shape::Figure(_), Some(sheet)) => {
                self.machines.iter().filter_map(|machine| self.of_figure(sheet, machine)).collect()
            }
            (_, Some(sheet)) => (0..self.machines.len()).filter_map(|i| self.of_quantities(sheet, i)).collect(),
        };
        // What was timed is only mentioned once.
        let timed: Vec<String> = all.iter().map(|paragraph| self.timed(&paragraph.column)).collect();
        let is_repeated = |i: usize| timed[..i].contains(&timed[i]);
        let text =
            |(i, paragraph): (usize, &Paragraph)| paragraph.text.clone() + if is_repeated(i) { "" } else { &timed[i] };
        self.or_missing(all.iter().enumerate().map(text).collect())
    }

    fn or_missing(&self, all: Vec<String>) -> Vec<String> {
        if all.is_empty() { self.missing.iter().cloned().collect() } else { all }
    }

    /// For a table of names: of how many a machine has a value.
    fn of_names(&self) -> Vec<String> {
        let of = |(head, cells): &(String, Vec<String>)| {
            let name = head.strip_prefix(OURS)?;
            let held = cells.iter().filter(|cell| !cell.is_empty()).count();
            Some(format!(
                "{name}: a value of {held} of the {}. The document prints none to stand beside them.",
                counted(cells.len(), "name")
            ))
        };
        self.beside.iter().filter_map(of).collect()
    }

    fn of_systems(&self, sheet: &Sheet, machine: &PaperMachine) -> Option<Paragraph> {
        let values = &machine.rows.first()?.values;
        // The columns with a value, each with the ratio of the value to the best of then.
        let column = |i: usize| -> Vec<&Cell> { sheet.rows.iter().filter_map(|row| row.cells[i].first()).collect() };
        let gain = |i: usize| {
            let (value, best) = (values[i]?, best(&column(i), values[i]?)?);
            Some((i, quotient(value, best)))
        };
        let gains: Vec<(usize, f64)> = (0..values.len()).filter_map(gain).collect();
        // Bounds are only mentioned if there is nothing else.
        let is_plain = |(i, _): &&(usize, f64)| is_comparable(&self.table.quantities[*i]);
        let plain: Vec<(usize, f64)> = gains.iter().filter(is_plain).copied().collect();
        let sorted = self.sorted_by().filter(|by| plain.iter().any(|(i, _)| i == by));
        let at = sorted.or_else(|| plain.first().or(gains.first()).map(|(i, _)| *i))?;
        let value = values[at]?;
        let published = column(at);
        let best = best(&published, value)?;
        let of =
            if self.document.year.is_empty() { "published".to_owned() } else { format!("of {}", self.document.year) };
        let bound = is_bound(&self.table.quantities[at]);
        let head = format!("{}{}", sheet.columns[at].head, if bound { " at most" } else { "" });
        let mut text = beside(&machine.name, &head, value, best, &format!("the best {of} ({}", best.system));
        if published.len() > 2 {
            let median = median(published.iter().map(|cell| cell.number()).collect());
            text += &format!(
                " and {} the median of {} ({}{})",
                how(value, median, best),
                counted(published.len(), "row"),
                significant(median, 3),
                behind(&best.unit)
            );
        }
        text += ".";
        text += &self.extremes(sheet, &plain);
        Some(Paragraph { text, column: sheet.columns[at].head.clone() })
    }

    /// The columns that gained most and least over the best of then.
    fn extremes(&self, sheet: &Sheet, gains: &[(usize, f64)]) -> String {
        let by = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
        let (Some(least), Some(most)) = (gains.iter().min_by(by), gains.iter().max_by(by)) else {
            return String::new();
        };
        if least.0 == most.0 {
            return String::new();
        }
        let [most, least] = [most, least].map(|(i, gain)| format!("{} ({})", sheet.columns[*i].head, ahead(*gain)));
        format!(" Of {}, {most} is furthest ahead of the best, {least} the least.", counted(gains.len(), "column"))
    }

    /// What a column times, and what differs today.
    fn timed(&self, head: &str) -> String {
        // A row's name may have parameters after its head; a figure times one thing.
        let is_of =
            |timed: &&Timed| head.is_empty() || head == timed.head || head.starts_with(&(timed.head.clone() + " "));
        let Some(timed) = self.timed.iter().find(is_of) else { return String::new() };
        match timed.differs.as_str() {
            "" => format!(" Timed then and now: {}.", timed.what),
            differs => format!(" Timed then and now: {} (here: {differs}).", timed.what),
        }
    }

    fn of_quantities(&self, sheet: &Sheet, machine: usize) -> Option<Paragraph> {
        let pair = |row: &groma_published::Row| {
            let measured = row.cells.iter().flatten().find(|cell| cell.param("kind") == Some("measured"))?.clone();
            let (value, quantity) = self.of_quantity(row).swap_remove(machine);
            let value = value.filter(|_| quantity.is_some_and(is_comparable))?;
            Some((row.name.clone(), quotient(value, &measured), value, measured))
        };
        let pairs: Vec<(String, f64, f64, Cell)> = sheet.rows.iter().filter_map(pair).collect();
        let (row, _, value, measured) = pairs.first()?;
        let name = &self.machines[machine].name;
        let whose = format!("the machine of {} ({}", self.document.year, measured.system);
        let mut text = beside(name, row, *value, measured, &whose) + ".";
        let by = |a: &&(String, f64, f64, Cell), b: &&(String, f64, f64, Cell)| a.1.total_cmp(&b.1);
        if let (2.., Some(least), Some(most)) = (pairs.len(), pairs.iter().min_by(by), pairs.iter().max_by(by)) {
            let [most, least] = [most, least].map(|(name, gain, ..)| format!("{name} ({})", ahead(*gain)));
            text += &format!(" Of {}, {most} is furthest ahead of it, {least} the least.", counted(pairs.len(), "row"));
        }
        Some(Paragraph { text, column: row.clone() })
    }

    fn of_figure(&self, sheet: &Sheet, machine: &PaperMachine) -> Option<Paragraph> {
        let Shape::Figure(axes) = self.table.shape else { return None };
        let at = sheet.keys.iter().position(|key| key == axes.x)?;
        let position = |text: &str| text.parse::<f64>().ok();
        let mut gains = Vec::new();
        for own in &machine.rows {
            let x = own.keys.iter().find(|(key, _)| key == axes.x).and_then(|(_, text)| position(text))?;
            // Positions in the source file are rounded.
            let is_here = |row: &&groma_published::Row| position(&row.keys[at]).is_some_and(|y| (x - y).abs() < 1e-3);
            for row in sheet.rows.iter().filter(is_here) {
                let pairs = own.values.iter().zip(&row.cells);
                gains.extend(pairs.filter_map(|(value, cells)| Some(quotient((*value)?, cells.first()?))));
            }
        }
        let (least, most) =
            gains.iter().fold((f64::INFINITY, 0f64), |(low, high), gain| (low.min(*gain), high.max(*gain)));
        let system = sheet.rows.first().map(|row| row.name.as_str()).unwrap_or_default();
        let text = match gains.len() {
            0 => return None,
            n => format!(
                "{}: at {} that the figure has too, {} to {} as fast as {system} in {}, at half of them {} or more.",
                machine.name,
                counted(n, "point"),
                ahead(least),
                ahead(most),
                self.document.year,
                ahead(median(gains)),
            ),
        };
        Some(Paragraph { text, column: String::new() })
    }
}

/// Whether more or less of a quantity is better: not for a size or a ratio of two values, and a
/// bound says little.
fn is_comparable(quantity: &Quantity) -> bool {
    !is_bound(quantity) && !matches!(quantity.take, Take::Capacity(_) | Take::Ratio(..))
}

/// The best published value.
fn best<'c>(all: &[&'c Cell], beside: f64) -> Option<&'c Cell> {
    all.iter().copied().min_by(|a, b| quotient(beside, a).total_cmp(&quotient(beside, b)))
}

/// `vm: read 3.1 us, 4.2 times as fast as the best of 1996 (Linux/i686, 13 us)`.
fn beside(name: &str, head: &str, value: f64, cell: &Cell, best: &str) -> String {
    let doubt = if cell.is_doubtful() { DOUBT } else { "" };
    let unit = behind(&cell.unit);
    format!(
        "{name}: {head} {}{unit}, {} {best}, {}{doubt}{unit})",
        significant(value, 3),
        how(value, cell.number(), cell),
        cell.value
    )
}

/// How many times as good a value is as another, for the quantity of `like`.
fn how(value: f64, other: f64, like: &Cell) -> String {
    let higher = like.better == "higher";
    let factor = if higher { value / other } else { other / value };
    match (higher, factor >= 1.0) {
        (true, true) => format!("{} as much as", times(factor)),
        (true, false) => format!("{} of", percent(factor)),
        (false, true) => format!("{} as fast as", times(factor)),
        (false, false) => format!("{} as long as", times(1.0 / factor)),
    }
}

/// How far a value is ahead: `14 times`, or if it is behind, `35 %`.
fn ahead(gain: f64) -> String {
    if gain >= 0.95 { times(gain) } else { percent(gain) }
}

/// The unit after a number; a ratio has none.
fn behind(unit: &str) -> String {
    if unit.is_empty() || unit == "ratio" { String::new() } else { format!(" {unit}") }
}

/// The middle value, or the mean of the middle two.
fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    let middle = all.len() / 2;
    if all.len() % 2 == 1 { all[middle] } else { (all[middle - 1] + all[middle]) / 2.0 }
}
