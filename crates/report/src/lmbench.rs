//! Runs in the layout of lmbench's summary: tables by subject, one line per run. The program
//! supplies the cells as data ([`LmbenchTable`]); this file only knows the layout.

use groma_model::page::Shown;
use groma_model::{Record, RunHeader};

use crate::grid::{Align, Cell, Grid};
use crate::style::Style;
use crate::units::significant;

/// A table of the summary.
#[derive(Clone, Copy, Debug)]
pub struct LmbenchTable {
    /// The subject and unit.
    pub title: &'static str,
    /// The columns after host and system.
    pub columns: &'static [LmbenchColumn],
}

/// A column of the summary.
#[derive(Clone, Copy, Debug)]
pub struct LmbenchColumn {
    /// The two lines of the heading.
    pub heads: [&'static str; 2],
    /// The cell's value: the mean of the first of these lists whose values a run has completely.
    pub of: &'static [&'static [Shown]],
    /// Multiplier from SI units.
    pub factor: f64,
}

impl LmbenchColumn {
    /// The value of a run, in the unit of the table.
    pub fn value(&self, records: &[Record]) -> Option<f64> {
        let mean = |all: &&[Shown]| {
            let values: Option<Vec<f64>> = all.iter().map(|shown| shown.find(records)?.value).collect();
            values.filter(|values| !values.is_empty()).map(|values| values.iter().sum::<f64>() / values.len() as f64)
        };
        self.of.iter().find_map(mean).map(|value| value * self.factor)
    }
}

/// The summary of some runs. A cell is blank where a run lacks its metrics.
pub fn lmbench(tables: &[LmbenchTable], runs: &[(&RunHeader, &[Record])]) -> String {
    // Lines are never broken: they are read by column.
    let style = Style::plain(usize::MAX);
    let mut out = "groma runs in the layout of lmbench 3: make see\n".to_owned();
    for table in tables {
        out.push_str(&format!("\n{}\n", table.title));
        let mut align = vec![Align::Left; 2];
        align.resize(2 + table.columns.len(), Align::Right);
        let mut grid = Grid::new(&align, &style);
        for (line, names) in [["Host", "OS"], ["", ""]].into_iter().enumerate() {
            let heads = table.columns.iter().map(|column| column.heads[line]);
            grid.row(names.into_iter().chain(heads).map(Cell::new).collect());
        }
        let rows: Vec<Vec<String>> = runs.iter().map(|(head, records)| row(table, head, records)).collect();
        let rule = |i: usize| {
            let heads = match i {
                0 | 1 => ["Host", "OS"][i].len(),
                _ => table.columns[i - 2].heads.iter().map(|head| head.len()).max().unwrap_or_default(),
            };
            "-".repeat(rows.iter().map(|row| row[i].chars().count()).max().unwrap_or_default().max(heads))
        };
        grid.row((0..align.len()).map(|i| Cell::new(rule(i))).collect());
        for row in &rows {
            grid.row(row.iter().map(Cell::new).collect());
        }
        out.push_str(&grid.render());
    }
    out
}

fn row(table: &LmbenchTable, head: &RunHeader, records: &[Record]) -> Vec<String> {
    let fact = |key| head.environment.get(key).unwrap_or_default();
    // What follows the release only says whose build it is.
    let release = fact("kernel.release").split('-').next().unwrap_or_default();
    let names = [fact("host.name").to_owned(), format!("{} {release}", fact("kernel.name"))];
    let values = table.columns.iter().map(|column| column.value(records));
    names.into_iter().chain(values.map(|value| value.map_or_else(String::new, text))).collect()
}

/// Three digits; a count has no decimal point.
fn text(value: f64) -> String {
    if value >= 10.0 && value.fract() == 0.0 { value.to_string() } else { significant(value, 3) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    const TABLES: &[LmbenchTable] = &[
        LmbenchTable {
            title: "Calls, microseconds",
            columns: &[
                LmbenchColumn {
                    heads: ["null", "call"],
                    of: &[&[Shown::of("syscall.none", &[])], &[Shown::of("syscall.getppid", &[])]],
                    factor: 1e6,
                },
                LmbenchColumn {
                    heads: ["null", "I/O"],
                    of: &[&[Shown::of("syscall.read", &[]), Shown::of("syscall.write", &[])]],
                    factor: 1e6,
                },
                LmbenchColumn { heads: ["sig", "hndl"], of: &[&[Shown::of("signal.catch.net", &[])]], factor: 1e6 },
                LmbenchColumn { heads: ["Pipe", ""], of: &[&[Shown::of("ipc.pipe_rtt", &[])]], factor: 1e6 },
            ],
        },
        LmbenchTable {
            title: "Memory, nanoseconds",
            columns: &[LmbenchColumn {
                heads: ["L1", "$"],
                of: &[&[Shown::of("mem.latency", &[("size", "4K"), ("chain", "amortised")])]],
                factor: 1e9,
            }],
        },
    ];

    #[test]
    fn one_line_per_run_with_blanks_for_missing_values() {
        let (head, records) = (fixtures::header(), fixtures::records());
        let mut other = head.clone();
        other.environment.facts[0].value = "b\x1b[2J".to_owned();
        insta::assert_snapshot!(lmbench(TABLES, &[(&head, &records), (&other, &records[..6])]));
    }

    #[test]
    fn a_mean_needs_all_of_its_values() {
        let of = |ids: &[&str]| {
            let records = fixtures::records();
            records.into_iter().filter(|r| ids.contains(&r.id.as_str())).collect::<Vec<Record>>()
        };
        let column = TABLES[0].columns[1];
        let mean = column.value(&of(&["syscall.read", "syscall.write"])).expect("both");
        assert!((mean - 0.172).abs() < 1e-9, "{mean}");
        assert_eq!(column.value(&of(&["syscall.read"])), None);
    }
}
