//! The lines of the pages with the values of two or more sides.

use groma_analysis::compare::{Pair, Verdict};
use groma_model::page::{On, Values};
use groma_model::{Families, Record};

use super::names::{numbers, row_name, title};
use super::{Compared, Relative, change, is_of, letter, sign, verdict_word};
use crate::grid::{Align, Cell, Grid};
use crate::layout::{GAP, Strip, in_two_columns, rule, stacked};
use crate::point::{name, params, point_without};
use crate::style::{Ink, Style};
use crate::units::{self, Scale};

/// The narrowest view with two columns of lines: a name of 26 columns, two values and a change.
const TWO_COLUMNS: usize = 112;
/// The width of a value: `76.9 µs`, `769 MB/s`.
const VALUE: usize = 9;
/// The width of a change: `▼ +85 %`, `? -0.8 %`.
const CHANGE: usize = 9;
/// A single column is no wider: names would be far from their values.
const MAX_WIDTH: usize = 80;

/// A line: a metric of the first side, and its pair with each other side.
pub(crate) struct Line<'r> {
    pub(crate) name: String,
    pub(crate) pairs: Vec<Option<&'r Pair<'r>>>,
}

impl Line<'_> {
    /// Whether nothing differs. A curve of thirty sizes need not say so for each.
    fn is_the_same(&self) -> bool {
        self.pairs.iter().flatten().all(|pair| matches!(pair.verdict, Verdict::Same { .. }))
    }
}

/// Lines under one heading.
pub(crate) struct Stack<'r> {
    pub(crate) title: String,
    /// Whether values are in GB/s, as the title says.
    pub(crate) in_gigabytes: bool,
    pub(crate) lines: Vec<Line<'r>>,
}

/// The lines of all compared metrics, the pages first; with `style.all` a table of every metric.
pub(super) fn lines(families: Families<'_>, others: &[Compared<'_>], relative: Relative<'_>, style: &Style) -> String {
    if style.all {
        return others.iter().map(|other| table(other, style)).collect::<Vec<_>>().join("\n");
    }
    let stacks = stacks(families, others, relative);
    let two = style.width >= TWO_COLUMNS && others.len() == 1;
    let width = if two { (style.width.min(TWO_COLUMNS) - GAP) / 2 } else { style.width.min(MAX_WIDTH) };
    let strips: Vec<Vec<Strip>> = stacks.iter().map(|stack| strips(stack, relative, width, style)).collect();
    let body = if two { in_two_columns(strips, width + GAP) } else { stacked(&strips) };
    let across = Style { width: if two { 2 * width + GAP } else { width }, ..*style };
    let mut out = String::new();
    for strip in [rule("VALUES", &across)].into_iter().chain(body) {
        out += strip.line();
        out.push('\n');
    }
    out
}

/// The metrics of the pages under the headings of their blocks, then the others by family.
pub(crate) fn stacks<'r>(families: Families<'_>, others: &'r [Compared<'r>], relative: Relative<'_>) -> Vec<Stack<'r>> {
    let first: Vec<&Pair<'_>> = all_pairs(others);
    let records: Vec<Record> = first.iter().map(|pair| pair.sides[0].clone()).collect();
    let line = |(name, at): (String, usize)| Line { name, pairs: of(others, first[at].sides[0]) };
    let stack = |lines: PageLines| {
        let in_gigabytes = lines.in_gigabytes && relative == Relative::Absolute;
        let unit = match relative {
            Relative::Absolute if in_gigabytes => ", GB/s",
            Relative::Metric(_) if lines.in_gigabytes => ", bytes in that time",
            _ => "",
        };
        let mut shown: Vec<Line<'_>> = lines.lines.into_iter().map(line).collect();
        if lines.is_rows {
            let same = shown.extract_if(.., |line| line.is_the_same()).count();
            let more = if shown.is_empty() { format!("all {same}") } else { format!("{same} more") };
            if same > 0 {
                shown.push(Line { name: format!("{more}: the same"), pairs: Vec::new() });
            }
        }
        Stack { title: lines.title + unit, in_gigabytes, lines: shown }
    };
    page_lines(families, &records).into_iter().map(stack).collect()
}

/// Lines under one heading: the name and the index of the record of each.
pub(crate) struct PageLines {
    pub(crate) title: String,
    /// Whether values are in GB/s.
    pub(crate) in_gigabytes: bool,
    /// Whether rows of the hardware page are made from them, as from the latency curve.
    pub(crate) is_rows: bool,
    pub(crate) lines: Vec<(String, usize)>,
}

/// The records as the pages show them: first under the headings of their blocks, then those that
/// rows are made from; all of them where none is on a page.
pub(crate) fn page_lines(families: Families<'_>, records: &[Record]) -> Vec<PageLines> {
    let mut taken = vec![false; records.len()];
    let mut take = |at: usize| !std::mem::replace(&mut taken[at], true);
    let mut stacks = Vec::new();
    for block in families.pages.system.iter().chain(families.pages.hardware) {
        for column in 0..block.columns() {
            let of_line = |line: &groma_model::page::Line| {
                let shown = line.values[column].filter(|shown| !shown.in_cycles)?;
                let found = shown.find(records)?;
                let at = records.iter().position(|record| std::ptr::eq(record, found))?;
                take(at).then(|| (line.name.to_owned(), at))
            };
            let lines: Vec<(String, usize)> = block.lines.iter().filter_map(of_line).collect();
            let in_gigabytes = block.values == Values::Gigabytes;
            stacks.push(PageLines { title: title(block, column), in_gigabytes, is_rows: false, lines });
        }
    }
    // Records that have no line: the latency curve, the rows of caches.
    let mut rows = Vec::new();
    for shown in families.pages.rows {
        let is_it = |record: &Record| record.id == shown.metric && shown.has(&record.params);
        let mut here: Vec<usize> = (0..records.len()).filter(|i| is_it(&records[*i])).collect();
        here.sort_by_key(|i| numbers(&records[*i]));
        here.truncate(if shown.on == On::Each { usize::MAX } else { 1 });
        for i in here.into_iter().filter(|i| take(*i)) {
            rows.push((row_name(families, &records[i]).unwrap_or_else(|| name(&records[i])), i));
        }
    }
    let title = "Clock, caches, memory".to_owned();
    stacks.push(PageLines { title, in_gigabytes: false, is_rows: true, lines: rows });
    stacks.retain(|stack| !stack.lines.is_empty());
    if stacks.is_empty() && !records.is_empty() {
        let lines = records.iter().map(name).zip(0..).collect();
        stacks.push(PageLines { title: "Metrics".to_owned(), in_gigabytes: false, is_rows: false, lines });
    }
    stacks
}

/// Every metric of the first side that another side has, once.
fn all_pairs<'r>(others: &'r [Compared<'r>]) -> Vec<&'r Pair<'r>> {
    let mut all: Vec<&Pair<'_>> = Vec::new();
    for pair in others.iter().flat_map(|other| &other.comparison.pairs) {
        if !all.iter().any(|known| is_of(known, pair.sides[0])) {
            all.push(pair);
        }
    }
    all
}

/// The pair of a metric with each other side.
fn of<'r>(others: &'r [Compared<'r>], record: &Record) -> Vec<Option<&'r Pair<'r>>> {
    others.iter().map(|other| other.comparison.pairs.iter().find(|pair| is_of(pair, record))).collect()
}

/// The lines of a stack, `width` columns wide.
fn strips(stack: &Stack<'_>, relative: Relative<'_>, width: usize, style: &Style) -> Vec<Strip> {
    let others = stack.lines.iter().map(|line| line.pairs.len()).max().unwrap_or(0).max(1);
    let faint = |text: String| Strip::new(style, Ink::Faint, &text);
    // Changes end at the right edge; the values come before them, the first side's first.
    let changes = others * CHANGE;
    let values = if others == 1 { 2 } else { 1 };
    let value_ends = |i: usize| width.saturating_sub(changes + (values - 1 - i) * VALUE);
    let change_ends = |i: usize| width.saturating_sub((others - 1 - i) * CHANGE);
    let mut head = Strip::new(style, Ink::Strong, &stack.title);
    for i in 0..values {
        head = head.ending_at(faint(letter(i).to_string()), value_ends(i));
    }
    for i in 0..others {
        head = head.ending_at(
            faint(if others == 1 { "change".to_owned() } else { letter(i + 1).to_string() }),
            change_ends(i),
        );
    }
    let mut out = vec![head];
    for line in &stack.lines {
        let mut row = Strip::plain(style, &format!("  {}", line.name));
        let Some(first) = line.pairs.iter().flatten().next() else {
            out.push(row);
            continue;
        };
        let value = |side: usize| Strip::plain(style, &value(first, side, stack.in_gigabytes, relative));
        row = row.ending_at(value(0), value_ends(0));
        if others == 1 {
            row = row.ending_at(value(1), value_ends(1));
        }
        for (i, pair) in line.pairs.iter().enumerate() {
            let Some(pair) = pair else { continue };
            let (ink, text) = mark(pair, style);
            row = row.ending_at(Strip::of_ink(style, ink, &text), change_ends(i));
        }
        out.push(row);
    }
    out
}

/// A value in three digits.
fn value(pair: &Pair<'_>, side: usize, in_gigabytes: bool, relative: Relative<'_>) -> String {
    let value = pair.values[side];
    match relative {
        Relative::Absolute if in_gigabytes => units::significant(value / 1e9, 3),
        Relative::Absolute => units::value(value, Scale::of(pair.sides[side]), None),
        Relative::Cycles => units::bare_cycles(value),
        Relative::Metric(_) => units::significant(value, 3),
    }
}

/// The sign of a verdict and the change: `▼ +12 %`, `= +0.4 %`, `? +3.1 %`.
fn mark(pair: &Pair<'_>, style: &Style) -> (Ink, String) {
    let ink = match pair.verdict {
        Verdict::Slower => Ink::Bad,
        Verdict::Faster => Ink::Fourth,
        Verdict::Changed => Ink::Warning,
        Verdict::Same { .. } | Verdict::Unclear(_) => Ink::Faint,
    };
    (ink, format!("{} {}", sign(pair.verdict, style), change(pair.ratio)))
}

/// A table of every metric compared with one other side. Several points of one metric are grouped
/// under its id, so that their names leave room for the numbers.
fn table(other: &Compared<'_>, style: &Style) -> String {
    use Align::{Left, Right};
    let mut grid = Grid::new(&[Left, Right, Right, Right, Right, Right, Left], style);
    let heads = ["metric", "A", "B", "B/A", "interval", "from", ""];
    grid.row(heads.iter().map(|head| Cell::ink(*head, Ink::Strong)).collect());
    let pairs = in_order(&other.comparison.pairs);
    for (i, pair) in pairs.iter().enumerate() {
        let id = &pair.sides[0].id;
        let is_same = |other: Option<&&Pair<'_>>| other.is_some_and(|other| other.sides[0].id == *id);
        let follows = i > 0 && is_same(pairs.get(i - 1));
        let is_one_of_several = follows || is_same(pairs.get(i + 1));
        if is_one_of_several && !follows {
            grid.line(Cell::new(id.as_str()));
        }
        let name = if is_one_of_several { format!("  {}", distinguishing(pair, &pairs)) } else { id.clone() };
        let (ink, _) = mark(pair, style);
        let shown = |side: usize| value(pair, side, false, Relative::Absolute);
        let [a, b] = [shown(0), shown(1)];
        let number = |x: f64| units::significant(x, 3);
        let ends = |[low, high]: [f64; 2]| format!("{}–{}", number(low), number(high));
        let interval = pair.interval.map_or(units::NONE.to_owned(), ends);
        let from = pair.detectable.map_or(units::NONE.to_owned(), |ratio| units::percent(ratio - 1.0));
        let cells = [name, a, b, number(pair.ratio), interval, from];
        let verdict = format!("{} {}", sign(pair.verdict, style), verdict_word(pair.verdict));
        grid.row(cells.into_iter().map(Cell::new).chain([Cell::ink(verdict, ink)]).collect());
    }
    let mut out = grid.render();
    let names = |records: &[&Record]| records.iter().map(|record| name(record)).collect::<Vec<_>>();
    let comparison = &other.comparison;
    let lists = [
        ("only in A", names(&comparison.alone[0])),
        ("only in B", names(&comparison.alone[1])),
        ("without a value on a side", comparison.without_value.iter().map(|sides| name(sides[0])).collect()),
        ("defined anew in between", comparison.unlike.iter().map(|(_, sides)| name(sides[0])).collect()),
    ];
    for (what, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        out += &crate::style::wrap_behind(&format!("{what}: "), &style.text(&names.join(", ")), style.width);
    }
    out
}

/// The pairs, those of one metric in the order of their numbers.
fn in_order<'p, 'r>(pairs: &'p [Pair<'r>]) -> Vec<&'p Pair<'r>> {
    let first = |pair: &Pair<'_>| pairs.iter().position(|other| other.sides[0].id == pair.sides[0].id);
    let mut all: Vec<&Pair<'_>> = pairs.iter().collect();
    all.sort_by_key(|pair| (first(pair), numbers(pair.sides[0])));
    all
}

/// What distinguishes a point of a metric from its others, without the parameters they all share.
fn distinguishing(pair: &Pair<'_>, pairs: &[&Pair<'_>]) -> String {
    let record = pair.sides[0];
    let alike = || pairs.iter().map(|pair| pair.sides[0]).filter(|other| other.id == record.id);
    let is_common = |name: &str| alike().all(|other| other.params.get(name) == record.params.get(name));
    let common: Vec<&str> = params(record).map(|(name, _)| name).filter(|name| is_common(name)).collect();
    point_without(record, &common)
}
