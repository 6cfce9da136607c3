//! How operating systems use the speed of their processors: table columns relative to MIPS, over
//! the document's machines ordered by their ratings, with today's last.

use groma_published::{Cell, Take, mips};

use super::axis::{Axis, Growth};
use super::{Chart, Field, Line, Plane, Point};
use crate::paper::{Paper, PaperMachine};
use crate::units::Scale;

/// A published machine, by name and rating.
struct PublishedMachine {
    name: String,
    mips: f64,
}

impl Chart {
    /// The chart of a document's tables, with the machines whose MIPS are known; `None` if no table
    /// has such a column.
    pub fn relative(papers: &[Paper<'_>], title: &str) -> Option<Chart> {
        let first = papers.first()?;
        let columns: Vec<(&Paper<'_>, usize)> = papers.iter().filter_map(column).collect();
        let mut published: Vec<PublishedMachine> = Vec::new();
        for cell in columns.iter().flat_map(|(paper, at)| cells(paper, *at)) {
            let name = hardware(&cell);
            if let (false, Some(mips)) = (published.iter().any(|known| known.name == name), mips(&cell.system)) {
                published.push(PublishedMachine { name, mips });
            }
        }
        published.sort_by(|a, b| a.mips.total_cmp(&b.mips));
        let mut machines: Vec<&PaperMachine> = Vec::new();
        let rated = |machine: &&PaperMachine| machine.mips.is_some();
        for machine in columns.iter().flat_map(|(paper, _)| &paper.machines).filter(rated) {
            if !machines.iter().any(|known| known.name == machine.name) {
                machines.push(machine);
            }
        }
        let mut lines = Vec::new();
        for (paper, at) in &columns {
            let cells = cells(paper, *at);
            let best = |machine: &PublishedMachine| {
                let own = cells.iter().filter(|cell| hardware(cell) == machine.name).map(Cell::number);
                own.reduce(f64::max)
            };
            let bound = |machine: &&PaperMachine| {
                let own = paper.machines.iter().find(|own| own.name == machine.name)?;
                own.rows.first()?.values[*at]
            };
            let values = published.iter().map(best).chain(machines.iter().map(bound)).enumerate();
            let point = |(x, y): (usize, Option<f64>)| Some(Point { x: x as f64, y: y?, interval: None });
            let metric = paper.table.quantities[*at].metric;
            let label = metric.trim_end_matches(".mips_relative");
            lines.push(Line { label: label.to_owned(), points: values.filter_map(point).collect(), joined: true });
        }
        lines.retain(|line| !line.points.is_empty());
        let ys: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|point| point.y).collect();
        if ys.is_empty() {
            return None;
        }
        let short = |name: &str| name.split(',').next().unwrap_or_default().to_owned();
        let ours = machines.iter().map(|machine| format!("≤ {}", short(&machine.name)));
        let names: Vec<String> = published.iter().map(|machine| machine.name.clone()).chain(ours).collect();
        let bounds = machines.iter().map(|machine| format!("; {}: upper bounds", machine.name));
        Some(Chart {
            title: title.to_owned(),
            sources: vec![format!("{}: {}", first.document.name, first.document.title)],
            about: ["performance relative to MIPS; 1 is that of a Microvax II".to_owned()]
                .into_iter()
                .chain(bounds)
                .collect(),
            field: Field::Plane(Plane {
                lines,
                ..Plane::new(
                    Axis::of_names(names).named("machines by their MIPS"),
                    Axis::values(&ys, Growth::of(&ys), Scale::Ratio, 1.0).named("performance by MIPS"),
                )
            }),
        })
    }
}

/// The column of a table that is relative to MIPS.
fn column<'p, 'a>(paper: &'p Paper<'a>) -> Option<(&'p Paper<'a>, usize)> {
    let at = paper.table.quantities.iter().position(|quantity| quantity.take == Take::Relative)?;
    Some((paper, at))
}

/// Its published values, for local files only.
fn cells(paper: &Paper<'_>, at: usize) -> Vec<Cell> {
    let is_local = |cell: &Cell| matches!(cell.param("access"), None | Some("local"));
    let of_it = |cell: &Cell| paper.table.quantities[at].is_of(cell) && is_local(cell);
    paper.table.cells().into_iter().filter(of_it).collect()
}

/// The hardware of a system: the first word of its name.
fn hardware(cell: &Cell) -> String {
    cell.system.split(' ').next().unwrap_or_default().to_owned()
}
