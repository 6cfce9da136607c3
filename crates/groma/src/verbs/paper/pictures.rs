//! Figures without printed numbers: the commands that draw the same for this machine, or a chart of
//! the columns of tables that are relative to MIPS.

use super::machines::Machine;
use super::repeats::Repeats;
use super::values;
use crate::print::name;
use groma_published::{Document, Drawn, Picture, Table, Take};
use groma_report::{Chart, Paper, PaperPicture};

/// The tables that a figure is drawn from.
pub(super) fn tables_of(
    document: &'static Document,
    picture: &Picture,
) -> impl Iterator<Item = (&'static Document, &'static Table)> {
    let is_drawn = matches!(picture.drawn, Drawn::FromRelative);
    let relative = |table: &&Table| table.quantities.iter().any(|quantity| quantity.take == Take::Relative);
    document.tables.iter().filter(move |table| is_drawn && relative(table)).map(move |table| (document, table))
}

/// A figure; if it is drawn, with these machines in it.
pub(super) fn picture(
    document: &'static Document,
    picture: &'static Picture,
    repeats: &Repeats,
    machines: &[Machine],
) -> PaperPicture<'static> {
    let mut out = PaperPicture { document, picture, chart: None, notes: Vec::new(), commands: Vec::new() };
    if let Drawn::By(commands) = picture.drawn {
        // A user's own program has another name.
        let own = |command: &&str| command.strip_prefix("groma").map_or(String::new(), |rest| name().to_owned() + rest);
        out.commands = commands.iter().map(own).collect();
        return out;
    }
    let papers: Vec<Paper<'_>> = tables_of(document, picture)
        .map(|(document, table)| values::paper(document, table, repeats, machines))
        .collect();
    out.chart = Chart::relative(&papers, picture.title);
    let shown = papers.iter().flat_map(|paper| &paper.machines);
    let command = format!("{} paper {} {} --measure", name(), document.name, picture.name);
    for (name, mips) in shown.map(|machine| (&machine.name, machine.mips)) {
        let text = match mips {
            Some(mips) => format!(
                "{name}: upper bounds, relative to the {mips:.0} million dependent integer additions a second that \
                    stand for MIPS"
            ),
            None => format!("{name} is left out: cpu.frequency, which stands for its MIPS, has no value: {command}"),
        };
        if !out.notes.contains(&text) {
            out.notes.push(text);
        }
    }
    if out.notes.is_empty() {
        out.notes.push(format!("Nothing of it is measured here yet: {command}"));
    }
    out
}
