//! The lines of the pages with the values of both sides, or of several.

use groma_analysis::compare::{Pair, Verdict};
use groma_model::page::{Aside, Block, On, Shown, Values};
use groma_model::{Families, Record};

use super::{Compared, Relative, change, is_of, letter, said, sign};
use crate::grid::{Align, Cell, Grid};
use crate::layout::{GAP, Strip, in_two_columns, rule, stacked};
use crate::point::{name, params};
use crate::style::{Ink, Style};
use crate::units::{self, Scale};

/// The narrowest view with two columns of lines: a name of 26 columns, two values and a change.
const TWO_COLUMNS: usize = 112;
/// The columns of a value: `76.9 µs`, `769 MB/s`.
const VALUE: usize = 9;
/// The columns of a change: `▼ +85 %`, `? -0.8 %`.
const CHANGE: usize = 9;
/// A line of one column is not made wider: a name would be far from its value.
const WIDEST: usize = 80;

/// What every line is made of: a metric of the first side, and what each other side has of it.
pub(crate) struct Line<'r> {
    pub(crate) name: String,
    pub(crate) pairs: Vec<Option<&'r Pair<'r>>>,
}

impl Line<'_> {
    /// Whether nothing differs, which of a curve of thirty sizes need not be said for each.
    fn is_the_same(&self) -> bool {
        self.pairs.iter().flatten().all(|pair| matches!(pair.verdict, Verdict::Same { .. }))
    }
}

/// Lines under one heading.
pub(crate) struct Stack<'r> {
    pub(crate) title: String,
    /// Its values are in GB/s, which its title says.
    pub(crate) in_gigabytes: bool,
    pub(crate) lines: Vec<Line<'r>>,
}

/// The lines of all metrics that are compared, the pages first; with `style.all` a table of every
/// metric.
pub(super) fn lines(families: Families<'_>, others: &[Compared<'_>], relative: Relative<'_>, style: &Style) -> String {
    if style.all {
        return others.iter().map(|other| table(other, style)).collect::<Vec<_>>().join("\n");
    }
    let stacks = stacks(families, others);
    let two = style.width >= TWO_COLUMNS && others.len() == 1;
    let width = if two { (style.width.min(TWO_COLUMNS) - GAP) / 2 } else { style.width.min(WIDEST) };
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

/// The metrics of the pages under the headings of their blocks, then the others under their
/// families.
pub(crate) fn stacks<'r>(families: Families<'_>, others: &'r [Compared<'r>]) -> Vec<Stack<'r>> {
    let first: Vec<&Pair<'_>> = all_pairs(others);
    let records: Vec<Record> = first.iter().map(|pair| pair.sides[0].clone()).collect();
    let mut taken = vec![false; first.len()];
    let mut take = |shown: &Shown| {
        let found = shown.find(&records)?;
        let at = records.iter().position(|record| std::ptr::eq(record, found))?;
        (!std::mem::replace(&mut taken[at], true)).then(|| first[at].sides[0])
    };
    let mut stacks = Vec::new();
    for block in families.pages.system.iter().chain(families.pages.hardware) {
        for column in 0..block.columns() {
            let of_line = |line: &groma_model::page::Line| {
                let shown = line.values[column].filter(|shown| !shown.in_cycles)?;
                Some(Line { name: line.name.to_owned(), pairs: of(others, take(&shown)?) })
            };
            let lines: Vec<Line<'_>> = block.lines.iter().filter_map(of_line).collect();
            let in_gigabytes = block.values == Values::Gigabytes;
            let unit = if in_gigabytes { ", GB/s" } else { "" };
            stacks.push(Stack { title: title(block, column) + unit, in_gigabytes, lines });
        }
    }
    // What stands on no line of its own: the curve of latency, the rows of caches.
    let mut rows = Vec::new();
    for shown in families.pages.rows {
        let here = records.iter().enumerate().filter(|(_, r)| r.id == shown.metric && shown.has(&r.params));
        let most = if shown.on == On::Each { usize::MAX } else { 1 };
        for (i, record) in here.take(most) {
            if !std::mem::replace(&mut taken[i], true) {
                rows.push(Line { name: short(record, shown), pairs: of(others, first[i].sides[0]) });
            }
        }
    }
    let same = rows.extract_if(.., |line| line.is_the_same()).count();
    if same > 0 {
        let name = if rows.is_empty() { format!("all {same}: the same") } else { format!("{same} more: the same") };
        rows.push(Line { name, pairs: Vec::new() });
    }
    stacks.push(Stack { title: "Clock, caches, memory".to_owned(), in_gigabytes: false, lines: rows });
    stacks.retain(|stack| !stack.lines.is_empty());
    if stacks.is_empty() {
        let lines = first.iter().map(|pair| Line { name: name(pair.sides[0]), pairs: of(others, pair.sides[0]) });
        stacks.push(Stack { title: "Metrics".to_owned(), in_gigabytes: false, lines: lines.collect() });
    }
    stacks
}

/// Every metric of the first side that some other side has, once.
fn all_pairs<'r>(others: &'r [Compared<'r>]) -> Vec<&'r Pair<'r>> {
    let mut all: Vec<&Pair<'_>> = Vec::new();
    for pair in others.iter().flat_map(|other| &other.comparison.pairs) {
        if !all.iter().any(|known| is_of(known, pair.sides[0])) {
            all.push(pair);
        }
    }
    all
}

/// What each side has of a metric.
fn of<'r>(others: &'r [Compared<'r>], record: &Record) -> Vec<Option<&'r Pair<'r>>> {
    others.iter().map(|other| other.comparison.pairs.iter().find(|pair| is_of(pair, record))).collect()
}

/// The title of a block, with what its column is of.
pub(super) fn title(block: &Block, column: usize) -> String {
    let several = block.lines.iter().flat_map(|line| &line.values[1..]).flatten().any(|shown| !shown.in_cycles);
    match block.aside {
        Aside::Heads(heads) if several => format!("{}, {}", block.title, heads[column]),
        _ => block.title.to_owned(),
    }
}

/// A metric without its family, and what tells it from others on the page: `latency 64 KiB`.
fn short(record: &Record, shown: &Shown) -> String {
    let fixed = |name: &str| shown.params.iter().any(|(fixed, _)| *fixed == name);
    let is_wanted = |name: &str| fixed(name) != (shown.on == On::Each);
    let texts = params(record).filter(|(name, _)| is_wanted(name)).map(|(_, text)| text);
    let id = record.id.split_once('.').map_or(record.id.as_str(), |(_, rest)| rest);
    std::iter::once(id).chain(texts).collect::<Vec<_>>().join(" ")
}

/// The lines of a stack within so many columns.
fn strips(stack: &Stack<'_>, relative: Relative<'_>, width: usize, style: &Style) -> Vec<Strip> {
    let others = stack.lines.iter().map(|line| line.pairs.len()).max().unwrap_or(0).max(1);
    let faint = |text: String| Strip::new(style, Ink::Faint, &text);
    // The changes end where the line ends; the values stand before them, the first side's first.
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

/// A value to three digits.
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

/// Every metric that is compared with one other side, a row each.
fn table(other: &Compared<'_>, style: &Style) -> String {
    use Align::{Left, Right};
    let mut grid = Grid::new(&[Left, Right, Right, Right, Right, Right, Left], style);
    let heads = ["metric", "A", "B", "B/A", "95 % interval", "finds", "verdict"];
    grid.row(heads.iter().map(|head| Cell::ink(*head, Ink::Strong)).collect());
    let number = |x: f64| format!("{x:.3}");
    for pair in &other.comparison.pairs {
        let (ink, _) = mark(pair, style);
        let shown = |side: usize| value(pair, side, false, Relative::Absolute);
        let [a, b] = [shown(0), shown(1)];
        let interval = pair.interval.map_or(units::NONE.to_owned(), |[low, high]| format!("{low:.3}–{high:.3}"));
        let finds = pair.detectable.map_or(units::NONE.to_owned(), |ratio| units::percent(ratio - 1.0));
        let cells = [name(pair.sides[0]), a, b, number(pair.ratio), interval, finds];
        let cells = cells.into_iter().map(Cell::new).chain([Cell::ink(said(pair), ink)]);
        grid.row(cells.collect());
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
