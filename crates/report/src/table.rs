//! The result table of a run, for a terminal or a pipe.
//!
//! One block per family: its name and the headings, a row per metric, and its sentence. A metric
//! without a value shows its state and reason instead of numbers; a reason too long for its row is
//! in full in the summary below.

use groma_model::{End, Families, Record, RunHeader, State};

use crate::compare::capital;
use crate::document::{Document, Table};
use crate::grid::{Align, Cell};
use crate::limits::foremost;
use crate::machine::host;
use crate::rows::{Body, Group, HEADS, Row, groups};
use crate::style::{Ink, Style, ink, wrap_behind};
use crate::summary::summary;

/// From this width on, the point has its own column, if all points fit.
const WIDE: usize = 110;

/// From this width on, the second quantile is shown.
const ROOMY: usize = 132;

/// With at most this many metrics all are shown, including controls and raw loops.
const MAX_SHOWN_WHOLE: usize = 30;

/// The column left out for lack of room, by its index in [`HEADS`].
const SECOND_QUANTILE: usize = 3;

/// The table of a run.
pub(crate) fn table<'a>(
    families: Families<'_>,
    run: &RunHeader,
    records: &[Record],
    end: Option<&End>,
    style: &Style,
) -> Document<'a> {
    let hidden = !style.all && records.len() > MAX_SHOWN_WHOLE;
    let shown: Vec<Record> = records.iter().filter(|r| !(hidden && r.detail)).cloned().collect();
    let groups = groups(families, &shown, style);
    let laid_out = |wide| {
        let mut table = Table::new(&columns(style, wide), None);
        groups.iter().for_each(|group| add(&mut table, group, style, wide));
        table
    };
    // Points with many parameters do not fit next to their ids on any terminal.
    let beside = (style.width >= WIDE).then(|| laid_out(true)).filter(|table| table.fits(style));
    let mut out = Document::new(format!("run {}", run.run));
    head(run, &mut out);
    out.gap();
    out.table(beside.unwrap_or_else(|| laid_out(false)));
    out.lines(summary(run, records, end, style));
    if shown.len() < records.len() {
        let what = format!("controls and raw loops are kept as well: {} show --all", style.program);
        out.lines(style.text(&format!("{} {what}", records.len() - shown.len())) + "\n");
    }
    out
}

/// Which run this is, and where it ran.
fn head(run: &RunHeader, out: &mut Document<'_>) {
    let rest = format!(", {}, groma {}", run.profile.word(), run.groma);
    out.parts("", vec![(format!("run {}", run.run), Ink::Strong), (rest, Ink::Plain)]);
    out.say(host(&run.environment));
    for text in foremost(run) {
        out.say(format!("{}.", capital(&text)));
    }
}

/// The numeric columns that fit, by their index in [`HEADS`].
fn chosen(style: &Style) -> impl Iterator<Item = usize> {
    let all = style.width >= ROOMY;
    (0..HEADS.len()).filter(move |i| all || *i != SECOND_QUANTILE)
}

fn columns(style: &Style, wide: bool) -> Vec<(&'static str, Align)> {
    let mut columns = vec![("metric", Align::Left)];
    columns.extend(wide.then_some(("point", Align::Left)));
    columns.extend(chosen(style).map(|i| (HEADS[i], Align::Right)));
    columns.push(("state", Align::Left));
    columns
}

fn add(grid: &mut Table, group: &Group<'_>, style: &Style, wide: bool) {
    let mut heads = vec![Cell::ink(group.family, Ink::Strong)];
    if wide {
        heads.push(Cell::default());
    }
    heads.extend(chosen(style).map(|i| Cell::ink(HEADS[i], Ink::Faint)));
    heads.push(Cell::ink("state", Ink::Faint));
    grid.row(heads);
    let mut above = "";
    for (i, row) in group.rows.iter().enumerate() {
        let first = row.id != above;
        let alone = first && group.rows.get(i + 1).is_none_or(|next| next.id != row.id);
        if !wide && first && !alone && !row.point.is_empty() {
            grid.section(Cell::new(row.id));
        }
        add_row(grid, row, names(row, first, alone, wide), style);
        above = row.id;
    }
    grid.note(&group.sentence, style);
    if !group.curves.is_empty() {
        let (program, curves) = (style.program, group.curves.join(", "));
        grid.note(&format!("each point: {program} show --all; as a plot: {program} plot {curves}"), style);
    }
    grid.section(Cell::default());
}

impl Table {
    fn note(&mut self, text: &str, style: &Style) {
        for line in wrap_behind(&style.text("  → "), text, style.width).lines() {
            self.section(Cell::ink(line, Ink::Faint));
        }
    }
}

/// The first cells of a row. A narrow table puts the points of a metric below its id; a wide one
/// has a column for them, and shows the id once.
fn names(row: &Row<'_>, first: bool, alone: bool, wide: bool) -> Vec<Cell> {
    let indent = if row.part { "  " } else { "" };
    let point = format!("{indent}{}", row.point);
    match (wide, row.point.is_empty()) {
        (true, _) => vec![Cell::new(if first { row.id } else { "" }), Cell::new(point)],
        (false, true) => vec![Cell::new(row.id)],
        (false, false) if alone => vec![Cell::new(format!("{} {point}", row.id))],
        (false, false) => vec![Cell::new(format!("  {point}"))],
    }
}

fn add_row(grid: &mut Table, row: &Row<'_>, mut cells: Vec<Cell>, style: &Style) {
    match &row.body {
        Body::Values { numbers, ended } => {
            cells.extend(chosen(style).map(|i| Cell::new(numbers[i].clone())));
            if let Some((state, flags)) = ended {
                let words: Vec<&str> = [state.word()].into_iter().chain(flags.iter().map(String::as_str)).collect();
                let ink = if *state == State::Ok && !flags.is_empty() { Ink::Plain } else { ink(*state) };
                cells.push(Cell::ink(words.join(", "), ink));
            }
            grid.row(cells);
        }
        Body::Reason(state, reason) => {
            let text = if reason.is_empty() { state.word().to_owned() } else { format!("{}: {reason}", state.word()) };
            grid.spanned(cells, Cell::ink(text, ink(*state)));
        }
        Body::Curve { line, text } => {
            let blank = vec![Cell::default(); cells.len()];
            grid.spanned(cells, Cell::new(text.clone()));
            grid.spanned(blank, Cell::ink(line.clone(), Ink::First));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::style::columns;

    fn shown(style: &Style) -> String {
        let records = fixtures::records();
        let end = fixtures::end(&records);
        table(fixtures::families(), &fixtures::header(), &records, Some(&end), style).text(style)
    }

    #[test]
    fn at_80_columns() {
        insta::assert_snapshot!(shown(&Style::plain(80)));
    }

    #[test]
    fn at_120_columns() {
        insta::assert_snapshot!(shown(&Style::plain(120)));
    }

    #[test]
    fn in_ascii() {
        let ascii = shown(&Style { unicode: false, ..Style::plain(80) });
        assert!(ascii.is_ascii(), "{ascii}");
        insta::assert_snapshot!(ascii);
    }

    #[test]
    fn no_line_is_too_long_and_colour_moves_nothing() {
        for width in [80, 100, 120, 200] {
            let plain = shown(&Style::plain(width));
            for line in plain.lines() {
                assert!(columns(line) <= width, "{width}: {line}");
                assert_eq!(line.trim_end(), line);
            }
            let colour = shown(&Style { colour: true, ..Style::plain(width) });
            assert_ne!(colour, plain);
            assert_eq!(without_escapes(&colour), plain);
        }
    }

    #[test]
    fn points_too_long_for_a_column_go_below_their_ids() {
        let long = "size=1 KiB connection=keep_alive from=memory kernel=best direction=both";
        let mut records = fixtures::records();
        for id in ["http.get.with_a_long_suffix", "mem.bandwidth"] {
            records.push(fixtures::record(id, long, groma_model::Quantity::Latency, 1e-6));
        }
        for width in [80, 100, 120, 132, 200] {
            let style = Style::plain(width);
            let text = table(fixtures::families(), &fixtures::header(), &records, None, &style).text(&style);
            assert!(text.contains(long), "{text}");
            for line in text.lines().filter(|line| !line.trim_end().ends_with(long)) {
                assert!(columns(line) <= width, "{width}: {line}");
            }
        }
    }

    fn without_escapes(text: &str) -> String {
        let mut out = String::new();
        for (i, part) in text.split('\x1b').enumerate() {
            out.push_str(if i == 0 { part } else { part.split_once('m').map_or("", |p| p.1) });
        }
        out
    }

    #[test]
    fn every_record_is_there_when_all_are_asked_for() {
        let all = shown(&Style { all: true, ..Style::plain(120) });
        assert_eq!(all.matches("chain=amortised").count(), 40);
        assert!(!all.contains("points over"));
    }

    #[test]
    fn a_run_without_records_is_not_an_error() {
        let text =
            table(fixtures::families(), &fixtures::header(), &[], None, &Style::plain(80)).text(&Style::plain(80));
        assert!(text.contains("0 metrics"), "{text}");
    }
}
