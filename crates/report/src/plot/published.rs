//! A published figure, redrawn from its points, with the lines of machines over it.

use groma_published::{Row, Shape};

use super::axis::{Axis, Growth};
use super::{Chart, Field, Line, Plane, Point};
use crate::paper::{Paper, PaperRow};
use crate::units::Scale;

impl Chart {
    /// The figure of a document with the machines' values; `None` for a table.
    pub fn published(paper: &Paper<'_>) -> Option<Chart> {
        let Shape::Figure(axes) = paper.table.shape else { return None };
        let sheet = paper.table.sheet()?;
        let sizes = axes.x.starts_with("log2");
        let place = |text: &str| {
            let number: f64 = text.parse().ok()?;
            Some(if sizes { number.exp2().round() } else { number })
        };
        let seconds = if sheet.columns.first()?.unit == "ns" { 1e-9 } else { 1e-6 };
        let at = sheet.keys.iter().position(|key| key == axes.x)?;
        let published = |row: &Row, i: usize| {
            Some(Point { x: place(&row.keys[at])?, y: row.cells[i].first()?.number() * seconds, interval: None })
        };
        let own = |row: &PaperRow, i: usize| {
            let x = row.keys.iter().find(|(key, _)| key == axes.x).and_then(|(_, text)| place(text))?;
            Some(Point { x, y: row.values.get(i).copied().flatten()? * seconds, interval: None })
        };
        let mut lines = Vec::new();
        for (i, quantity) in paper.table.quantities.iter().enumerate() {
            let points = sheet.rows.iter().filter_map(|row| published(row, i)).collect();
            lines.push(Line { label: quantity.head.to_owned(), points, joined: true });
        }
        for machine in &paper.machines {
            for (i, quantity) in paper.table.quantities.iter().enumerate() {
                let points = machine.rows.iter().filter_map(|row| own(row, i)).collect();
                lines.push(Line { label: format!("→ {}", quantity.head), points, joined: true });
            }
        }
        lines.retain(|line| line.points.len() >= 2);
        let all = || lines.iter().flat_map(|line| &line.points);
        let (xs, ys): (Vec<f64>, Vec<f64>) = all().map(|point| (point.x, point.y)).unzip();
        let x = if sizes { Axis::over(&xs, Growth::Doubling, Scale::Size) } else { Axis::of_counts(&xs) };
        let y = Axis::values(&ys, Growth::of(&ys), Scale::Time, 1.0).named("latency");
        let mut systems: Vec<&str> = sheet.rows.iter().map(|row| row.name.as_str()).collect();
        systems.dedup();
        let ours = paper.machines.iter().map(|machine| format!("→ {}", machine.name));
        Some(Chart {
            title: paper.table.title.to_owned(),
            sources: vec![format!("{} {}: {}", paper.document.name, paper.table.name, paper.document.title)],
            about: [format!("{}, a line for each {}", systems.join(", "), axes.line.replace('_', " "))]
                .into_iter()
                .chain(ours)
                .collect::<Vec<_>>()
                .join("; "),
            field: Field::Plane(Plane { lines, ..Plane::new(x.named(axes.over), y) }),
        })
    }
}
