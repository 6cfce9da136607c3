//! Rows of earlier suites and papers, with the commands that repeat them.

use groma_model::Info;
use groma_published::{Cell, Quantity, Repeat, Shape};

use crate::document::{Document, Table};
use crate::grid::{Align, Cell as Shown};
use crate::style::{Ink, Style};

/// A block per row; in files a table of them. If the row does not say what is timed, the summaries
/// of its benchmarks do.
pub fn lineage<'a>(repeats: &[&Repeat], infos: &[&Info], style: &Style) -> Document<'a> {
    let mut out = Document::new("What repeats what");
    let columns = ["row", "timed", "command", "published", "differs"].map(|head| (head, Align::Left));
    let mut table = Table::new(&columns, None);
    for repeat in repeats {
        let column = if repeat.column.is_empty() { String::new() } else { format!(": {}", repeat.column) };
        let ids = repeat.benchmarks();
        let summaries: Vec<&str> =
            infos.iter().filter(|info| ids.contains(&info.id)).map(|info| info.summary).collect();
        let timed = if repeat.timed.is_empty() { summaries.join("; ") } else { repeat.timed.to_owned() };
        let (published, differs) = (published(repeat), repeat.differs.to_owned());
        if style.is_of_file() {
            let name = format!("{}{column}", repeat.source);
            let row = [Shown::code(name), Shown::new(timed), Shown::code(repeat.command)];
            table.row(row.into_iter().chain([published, differs].map(Shown::new)).collect());
            continue;
        }
        out.parts("", vec![(repeat.source.to_owned(), Ink::Strong), (column, Ink::Plain)]);
        // The command has a line of its own, unbroken, to be copied.
        out.lines(format!("  {}\n", style.text(repeat.command)));
        for (head, text) in [("timed", timed), ("published", published), ("differs", differs)] {
            out.labelled(format!("  {head:<9} "), text);
        }
        out.gap();
    }
    if !table.is_empty() {
        out.table(table);
    }
    out
}

/// The value that the document prints for a row, and the system: `26 us (Linux/i686)`. Empty if it
/// prints none.
pub fn published(repeat: &Repeat) -> String {
    /// With more values, only the first and the last are shown.
    const MAX_VALUES: usize = 6;
    /// The parameters to show next to the system.
    const SHOWN: [&str; 4] = ["access", "fs", "net", "procs"];
    let Some((table, all)) = repeat.printed_values() else { return String::new() };
    let Some((quantity, cell)) = all.first().and_then(|(quantity, cells)| Some((quantity, cells.first()?))) else {
        return String::new();
    };
    let is_figure = matches!(table.shape, Shape::Figure(_));
    let texts: Vec<String> = all.iter().map(|(quantity, cells)| value(quantity, cells, all.len() > 1)).collect();
    let values = match &texts[..] {
        [first, .., last] if texts.len() > MAX_VALUES => format!("{first} to {last}"),
        _ => texts.join(", "),
    };
    let is_shown =
        |key: &str| is_figure || (SHOWN.contains(&key) && !quantity.fixed_params().any(|(name, _)| name == key));
    let mut system = cell.system.clone();
    for (key, value) in cell.params.iter().filter(|(key, _)| is_shown(key)) {
        system += &match value.parse::<f64>() {
            Ok(log2) if key == "log2_bytes" => format!(", size={}", log2.exp2().round()),
            _ => format!(", {key}={value}"),
        };
    }
    format!("{values} ({system})")
}

/// `L1 latency 2 to 3 ns`.
fn value(quantity: &Quantity, cells: &[Cell], named: bool) -> String {
    let numbers: Vec<&str> = cells.iter().map(|cell| cell.value.as_str()).collect();
    let unit = cells.first().map_or("", |cell| &cell.unit);
    let head = if named { format!("{} ", quantity.head) } else { String::new() };
    let unit = if unit == "ratio" { String::new() } else { format!(" {unit}") };
    format!("{head}{}{unit}", numbers.join(" to "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::tests::PIPE;
    use groma_published::REPEATS;

    fn of(text: &str) -> Vec<&'static Repeat> {
        REPEATS.iter().filter(|repeat| repeat.is_of(text)).collect()
    }

    #[test]
    fn lineages() {
        let both = [of("lmbench1996:table11"), of("perf_bench:sched pipe")].concat();
        insta::assert_snapshot!(lineage(&both, &[&PIPE], &Style::plain(80)).text(&Style::plain(80)));
    }

    #[test]
    fn values_are_those_of_one_system() {
        let shown: Vec<String> =
            ["lmbench1996:table4", "lmbench1996:table6", "figure1", "cse221", "slb", "lmbench3:lat_pipe"]
                .into_iter()
                .flat_map(of)
                .map(|repeat| format!("{} {}: {}", repeat.source, repeat.column, published(repeat)))
                .collect();
        insta::assert_snapshot!(shown.join("\n"));
    }
}
