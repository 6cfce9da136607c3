//! The commands that repeat the columns of published tables, and the points that they measure here.
//!
//! A command is parsed and planned as by `groma run`, so the points looked up in the store are
//! those that it measures.

use crate::program::Program;
use crate::verbs::Command;
use crate::verbs::run::request;
use groma_harness::sys::topology::Topology;
use groma_published::{Document, Quantity, REPEATS, Repeat, Table, Take};
use groma_runner::{Planned, plan};

/// A command, and the points that it measures on this machine.
pub(super) struct Planning {
    pub(super) repeat: &'static Repeat,
    pub(super) points: Vec<Planned>,
}

/// The commands of some tables.
pub(super) struct Repeats(Vec<Planning>);

/// The lineage row of a machine's integer speed: the rate of dependent additions.
pub(super) const SPEED: (&str, &str) = ("lmbench1996:table6", "clock");

impl Repeats {
    /// The commands of these tables.
    pub(super) fn of(
        program: &Program,
        topology: &Topology,
        tables: &[(&'static Document, &'static Table)],
    ) -> Repeats {
        let mut wanted: Vec<(String, &str)> = Vec::new();
        for (document, table) in tables {
            for quantity in table.quantities.iter().filter(|quantity| quantity.is_repeated()) {
                wanted.push((source(document, table), quantity.repeat));
                let in_cycles = |cell: &groma_published::Cell| cell.unit == "cycles" && quantity.is_of(cell);
                if matches!(quantity.take, Take::Relative | Take::PerMips) || table.cells().iter().any(in_cycles) {
                    wanted.push((SPEED.0.to_owned(), SPEED.1));
                }
            }
        }
        wanted.extend(tables.iter().flat_map(|(document, table)| rows_of_names(document, table)));
        wanted.sort_unstable();
        wanted.dedup();
        let named = |repeat: &&Repeat| {
            wanted.iter().any(|(source, column)| repeat.source == source && repeat.column == *column)
        };
        Repeats(REPEATS.iter().filter(named).map(|repeat| planning(program, topology, repeat)).collect())
    }

    /// All points, each once.
    pub(super) fn points(&self) -> Vec<&Planned> {
        let mut all: Vec<&Planned> = Vec::new();
        for planned in self.0.iter().flat_map(|planning| &planning.points) {
            if !all.iter().any(|other| other.point == planned.point) {
                all.push(planned);
            }
        }
        all
    }

    /// All commands.
    pub(super) fn all(&self) -> &[Planning] {
        &self.0
    }

    /// The command of a column.
    pub(super) fn find(&self, source: &str, column: &str) -> Option<&Planning> {
        self.0.iter().find(|planning| planning.repeat.source == source && planning.repeat.column == column)
    }

    /// The command of a quantity of a table.
    pub(super) fn of_quantity(&self, document: &Document, table: &Table, quantity: &Quantity) -> Option<&Planning> {
        self.find(&source(document, table), quantity.repeat)
    }
}

/// The source of a table in the lineage.
pub(super) fn source(document: &Document, table: &Table) -> String {
    format!("{}:{}", document.name, table.row)
}

/// Whether a row of the lineage is that of a program of this name.
pub(super) fn is_of_name(repeat: &Repeat, document: &Document, name: &str) -> bool {
    (repeat.document(), repeat.row()) == (document.name, name)
}

/// The lineage rows of the programs in a table of names.
fn rows_of_names(document: &Document, table: &Table) -> Vec<(String, &'static str)> {
    let names = table.names();
    let named = |repeat: &&Repeat| names.iter().any(|name| is_of_name(repeat, document, name));
    REPEATS.iter().filter(named).map(|repeat| (repeat.source.to_owned(), repeat.column)).collect()
}

/// The points of a command; none if this program lacks its benchmark. Where the command leaves a
/// parameter or the placement open, only the first value is taken: the document has no more.
fn planning(program: &Program, topology: &Topology, repeat: &'static Repeat) -> Planning {
    let points = || {
        // Any address will do: it is not part of a point.
        let words = repeat.command.split(' ').map(|word| word.replace("ADDRESS", "127.0.0.1"));
        let Ok(Command::Run(args)) = program.parse(words).map(|cli| cli.command) else { return None };
        let request = request(&args);
        let benches = program.select(&args.select, request.tier()).ok()?;
        let mut all = plan(&benches, &request, topology).ok()?;
        all.retain(|planned| planned.point.workers == 1);
        let named = |name: &str| args.params.iter().any(|setting| setting.name == name);
        let first = all.first()?.point.clone();
        let like_the_first = |planned: &Planned| {
            let of = |point: &groma_harness::model::Point| -> Vec<_> {
                point.params.0.iter().filter(|(name, _)| !named(name)).cloned().collect()
            };
            planned.point.placement == first.placement && of(&planned.point) == of(&first)
        };
        all.retain(like_the_first);
        Some(all)
    };
    Planning { repeat, points: points().unwrap_or_default() }
}
