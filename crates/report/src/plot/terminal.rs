//! A chart on a character grid: lines in braille dots (eight per character), distributions as
//! horizontal bars.

use super::axis::Axis;
use super::heat::{DEEP, Heat, NUMBERED, STEPS};
use super::{Bar, Chart, Field, Line, Mark, Plane};
use crate::style::{Ink, Style, columns, wrap};
use crate::units;

pub(super) fn terminal(chart: &Chart, style: &Style) -> String {
    let mut out = paragraph(&chart.title, Ink::Strong, style);
    for text in chart.sources.iter().chain([&chart.about]) {
        out += &paragraph(text, Ink::Faint, style);
    }
    out.push('\n');
    out + &field(chart, style)
}

/// The field and the axes.
pub(super) fn field(chart: &Chart, style: &Style) -> String {
    match &chart.field {
        Field::Plane(plane) if plane.bars.is_empty() => lines(plane, style),
        Field::Plane(plane) => bars(plane, style),
        Field::Heat(_, Some(sentence)) => paragraph(sentence, Ink::Plain, style),
        Field::Heat(heat, None) => matrix(heat, style),
    }
}

/// A wrapped text; a word longer than a line is cut.
fn paragraph(text: &str, ink: Ink, style: &Style) -> String {
    let lines = wrap(&style.text(text), style.width);
    lines.iter().map(|line| style.paint(ink, &style.cut(line, style.width)) + "\n").collect()
}

/// The colours of lines, which repeat after the last.
const INKS: [Ink; 6] = [Ink::First, Ink::Second, Ink::Third, Ink::Fourth, Ink::Fifth, Ink::Sixth];

/// The marks of lines without Unicode, which repeat after the last.
const MARKS: [char; 9] = ['*', '+', 'o', 'x', '#', '%', '@', '=', '~'];

/// The points of unjoined lines, one shape per line: without colour nothing else distinguishes
/// them.
const POINTS: [char; 6] = ['○', '□', '△', '◇', '▽', '☆'];
/// As [`POINTS`], without Unicode.
const PLAIN_POINTS: [char; 6] = ['O', 'H', 'A', 'X', 'V', 'Z'];

/// The mark of the points of line `at`, if that is not joined.
fn ring(lines: &[Line], at: usize, style: &Style) -> Option<char> {
    let before = lines[..at].iter().filter(|line| !line.joined).count();
    let marks = if style.unicode { POINTS } else { PLAIN_POINTS };
    (!lines[at].joined).then_some(marks[before % marks.len()])
}

/// The border of a cache.
const fn rule(style: &Style) -> char {
    if style.unicode { '┊' } else { ':' }
}

/// The content of a grid cell.
#[derive(Clone, Copy)]
struct Cell {
    /// The set braille dots.
    dots: u8,
    /// The line that set the last one.
    line: usize,
    /// A letter of a label, instead of dots.
    letter: Option<(char, Ink)>,
}

struct Canvas {
    width: usize,
    height: usize,
    cells: Vec<Cell>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Canvas {
        Canvas { width, height, cells: vec![Cell { dots: 0, line: 0, letter: None }; width * height] }
    }

    /// Sets a dot; a cell is two dots wide and four high.
    fn dot(&mut self, x: usize, y: usize, line: usize) {
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let (x, y) = (x.min(self.width * 2 - 1), y.min(self.height * 4 - 1));
        let cell = &mut self.cells[y / 4 * self.width + x / 2];
        cell.dots |= BITS[y % 4][x % 2];
        cell.line = line;
    }

    fn stroke(&mut self, from: (f64, f64), to: (f64, f64), line: usize) {
        let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().max(1.0);
        for step in 0..=steps as usize {
            let share = step as f64 / steps;
            let x = from.0 + (to.0 - from.0) * share;
            let y = from.1 + (to.1 - from.1) * share;
            self.dot(x.round().max(0.0) as usize, y.round().max(0.0) as usize, line);
        }
    }

    /// Writes a text that ends before column `end`, if the cells are free; returns whether it did.
    fn write(&mut self, row: usize, end: usize, text: &str, ink: Ink) -> bool {
        let Some(start) = end.checked_sub(columns(text)) else { return false };
        if row >= self.height || end > self.width {
            return false;
        }
        let free = |p: &Cell| p.dots == 0 && p.letter.is_none();
        let around = start.saturating_sub(1)..(end + 1).min(self.width);
        if !self.cells[row * self.width..][around].iter().all(free) {
            return false;
        }
        for (cell, letter) in self.cells[row * self.width + start..].iter_mut().zip(text.chars()) {
            cell.letter = Some((letter, ink));
        }
        true
    }

    /// Writes a character over any content; `row` and `column` must be inside.
    fn mark(&mut self, row: usize, column: usize, letter: char, ink: Ink) {
        self.cells[row * self.width + column].letter = Some((letter, ink));
    }

    /// Writes a character into the free cells of a column.
    fn rule(&mut self, column: usize, letter: char) {
        for cell in self.cells.iter_mut().skip(column).step_by(self.width) {
            if cell.dots == 0 && cell.letter.is_none() {
                cell.letter = Some((letter, Ink::Faint));
            }
        }
    }

    fn row(&self, row: usize, style: &Style) -> String {
        let mut out = String::new();
        for cell in &self.cells[row * self.width..][..self.width] {
            match (cell.letter, cell.dots) {
                (Some((letter, ink)), _) => out += &style.paint(ink, &letter.to_string()),
                (None, 0) => out.push(' '),
                (None, dots) => {
                    let braille = char::from_u32(0x2800 + u32::from(dots)).unwrap_or('*');
                    let mark = if style.unicode { braille } else { MARKS[cell.line % MARKS.len()] };
                    out += &style.paint(INKS[cell.line % INKS.len()], &mark.to_string());
                }
            }
        }
        out
    }
}

/// Columns between the name of the last level and the labels of the lines.
const LABEL_GAP: usize = 6;

fn lines(chart: &Plane, style: &Style) -> String {
    let height = (style.width / 5).clamp(12, 22);
    let y_ticks = chart.y.ticks(height * 3 / 5);
    let left = y_ticks.iter().map(|t| columns(&style.text(&t.1))).max().unwrap_or(0) + 2;
    let labels: Vec<String> = (0..chart.lines.len()).map(|i| label(&chart.lines, i, style)).collect();
    let right = labels.iter().filter(|text| !text.is_empty()).map(|text| columns(text) + 1).max().unwrap_or(0);
    let width = style.width.saturating_sub(left + right).max(20);

    let mut canvas = Canvas::new(width, height);
    let across = |x: f64| chart.x.position(x) * (width * 2 - 1) as f64;
    let down = |y: f64| (1.0 - chart.y.position(y).clamp(0.0, 1.0)) * (height * 4 - 1) as f64;
    let row_of = |y: f64| (down(y).round() as usize) / 4;
    let column_of = |x: f64| (across(x).round() as usize / 2).min(width - 1);
    // Draw the first line last, over the others, and unjoined points over all.
    for (i, line) in chart.lines.iter().enumerate().rev().filter(|(_, line)| line.joined) {
        let points: Vec<(f64, f64)> = line.points.iter().map(|p| (across(p.x), down(p.y))).collect();
        for pair in points.windows(2) {
            canvas.stroke(pair[0], pair[1], i);
        }
    }
    for (i, line) in chart.lines.iter().enumerate() {
        let Some(ring) = ring(&chart.lines, i, style) else { continue };
        for point in &line.points {
            canvas.mark(row_of(point.y), column_of(point.x), ring, INKS[i % INKS.len()]);
        }
    }
    if let Some(series) = &chart.series {
        for [from, to, level] in &series.levels {
            canvas.stroke((across(*from), down(*level)), (across(*to), down(*level)), 1);
        }
        for point in &series.points {
            canvas.dot(across(point.x).round() as usize, down(point.y).round() as usize, 0);
        }
        for change in &series.changes {
            canvas.rule(column_of(change.x), rule(style));
        }
    }
    for level in &chart.levels {
        // Below its end, or slightly to the right, where the next rise leaves room.
        let (end, row) = (column_of(level.to) + 1, row_of(level.y));
        // The last one must not touch the labels of the lines.
        let end = if end + 1 >= width { width - LABEL_GAP } else { end };
        let mut write = |row: usize, text: &str, ink: Ink| (end..end + 6).any(|end| canvas.write(row, end, text, ink));
        let fits = (row + 1..row + 3).find(|r| write(*r, &style.text(&level.name), Ink::Strong));
        if let Some(row) = fits {
            write(row + 1, &style.text(&level.cost), Ink::Plain);
        }
    }
    let mut out = String::new();
    if !chart.borders.is_empty() {
        for border in &chart.borders {
            canvas.rule(column_of(border.x), rule(style));
        }
        let names = chart.borders.iter().map(|border| (column_of(border.x), border.name.to_owned()));
        out += &style.paint(Ink::Faint, &beside_each_other(names, left, width));
        out.push('\n');
    }
    let margin = margin(chart, &labels, height, row_of);
    for (row, beside) in margin.iter().enumerate() {
        let tick = y_ticks.iter().find(|(value, _)| row_of(*value) == row);
        let text = tick.map_or(String::new(), |t| style.text(&t.1));
        let edge = match (style.unicode, tick.is_some()) {
            (true, true) => '┤',
            (true, false) => '│',
            (false, true) => '+',
            (false, false) => '|',
        };
        out += &format!("{}{text} {edge}", " ".repeat((left - 2).saturating_sub(columns(&text))));
        out += &canvas.row(row, style);
        if let Some((text, ink)) = beside {
            out += &format!(" {}", style.paint(*ink, text));
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    let key = match &chart.series {
        Some(series) if !series.changes.is_empty() => format!("   {} changes", rule(style)),
        _ if chart.borders.is_empty() => String::new(),
        _ => format!("   {} caches as declared", rule(style)),
    };
    out + &x_axis(&chart.x, &key, left, width, style)
}

/// The label at the end of a line.
fn label(lines: &[Line], at: usize, style: &Style) -> String {
    let (line, ring) = (&lines[at], ring(lines, at, style).map(|ring| format!("{ring} ")));
    if line.label.is_empty() { String::new() } else { ring.unwrap_or_default() + &style.text(&line.label) }
}

/// Texts centred at their columns, in one line; one that would touch the one before is left out.
fn beside_each_other(texts: impl Iterator<Item = (usize, String)>, left: usize, width: usize) -> String {
    let mut line = String::new();
    for (column, text) in texts {
        let start =
            (left + column).saturating_sub(columns(&text) / 2).min((left + width).saturating_sub(columns(&text)));
        if line.is_empty() || start > columns(&line) {
            line += &" ".repeat(start - columns(&line));
            line += &text;
        }
    }
    line
}

/// The text to the right of the canvas, by row: the label of each line at its end, or below the
/// label before.
fn margin(
    chart: &Plane,
    labels: &[String],
    height: usize,
    row_of: impl Fn(f64) -> usize,
) -> Vec<Option<(String, Ink)>> {
    let end = |(i, (line, label)): (usize, (&Line, &String))| {
        let last = line.points.last().filter(|_| !label.is_empty())?;
        Some((last.y, (label.clone(), INKS[i % INKS.len()])))
    };
    let mut ends: Vec<(f64, (String, Ink))> = chart.lines.iter().zip(labels).enumerate().filter_map(end).collect();
    ends.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut margin = vec![None; height];
    let mut free = 0;
    let count = ends.len();
    for (i, (y, text)) in ends.into_iter().enumerate() {
        let row = row_of(y).max(free).min(height.saturating_sub(count - i)).max(free);
        if let Some(cell) = margin.get_mut(row) {
            *cell = Some(text);
        }
        free = row + 1;
    }
    margin
}

/// The backgrounds of cells from pale to deep, from the 256 colours: close to those of a drawing.
const GROUNDS: [u8; STEPS] = [230, 187, 115, 73, 37, 31, 25, 24, 17];
/// Cells without colour, from pale to deep.
const SHADES: [char; STEPS] = ['·', '·', '░', '░', '▒', '▒', '▓', '▓', '█'];
/// As [`SHADES`], in ASCII.
const ASCII_SHADES: [char; STEPS] = ['.', ':', '-', '=', '+', '*', '%', '@', '#'];

/// A matrix: numbers on colours if there is room, else only colours or shades.
fn matrix(heat: &Heat, style: &Style) -> String {
    let n = heat.names.len();
    let names = heat.names.iter().map(|t| columns(t)).max().unwrap_or(0);
    let breaks = heat.breaks.len() * 2;
    let wide = |fine: bool| {
        let numbers = (0..n * n).filter_map(|i| Some(columns(&heat.number(heat.cell(i / n, i % n)?, fine))));
        numbers.max().unwrap_or(0).max(names) + 1
    };
    let fits = |fine: &bool| n <= NUMBERED && names + 1 + n * wide(*fine) + breaks <= style.width;
    let fine = [true, false].into_iter().find(fits);
    // Cells this wide; with more CPUs than columns, this many CPUs per cell.
    let room = style.width.saturating_sub(names + 2 + breaks).max(8);
    let cell = fine.map_or((room / n.max(1)).clamp(1, 2), wide);
    let every = if fine.is_some() { 1 } else { n.div_ceil(room / cell).max(1) };
    let starts: Vec<usize> = (0..n).step_by(every).collect();
    let border = |i: usize| heat.breaks.iter().any(|b| (i..i + every).contains(b) && i > 0);
    let (bar, dash, cross) = if style.unicode { ('│', '─', '┼') } else { ('|', '-', '+') };

    let mut out = String::new();
    let [rows, across] = heat.axes;
    if rows != across {
        out += &format!("down: {rows}; across: {across}\n");
    }
    let mut head = " ".repeat(names + 1);
    let mut rule = " ".repeat(names + 1);
    // Names wider than their cells extend over the next ones, which have none.
    let named = if columns(&heat.names[0]) < cell { 1 } else { (names + 1).div_ceil(cell) };
    for (i, &column) in starts.iter().enumerate() {
        if border(column) {
            head += if columns(&head) > columns(&rule) { "" } else { "  " };
            rule += &format!("{dash}{cross}");
        }
        let end = columns(&rule) + cell;
        let name = &heat.names[column];
        if i % named == 0 && columns(&head) < end {
            head += &" ".repeat(end.saturating_sub(columns(&head) + columns(name)));
            head += name;
        }
        head += &" ".repeat(end.saturating_sub(columns(&head)));
        rule += &dash.to_string().repeat(cell);
    }
    out += &style.paint(Ink::Faint, style.cut(&head, style.width).trim_end());
    out.push('\n');
    for &row in &starts {
        if border(row) {
            out += &style.paint(Ink::Faint, &rule);
            out.push('\n');
        }
        let mut line = format!("{} ", style.paint(Ink::Faint, &format!("{:>names$}", heat.names[row])));
        for &column in &starts {
            if border(column) {
                line += &format!(" {}", style.paint(Ink::Faint, &bar.to_string()));
            }
            line += &cells(heat, (row, column), every, cell, fine, style);
        }
        let kept = line.trim_end().len();
        line.truncate(kept);
        out += &line;
        out.push('\n');
    }
    out + &scale(heat, fine.is_some(), every, style)
}

/// A row of terminal cells, each for one of the matrix or the median of a square.
fn cells(heat: &Heat, at: (usize, usize), every: usize, width: usize, fine: Option<bool>, style: &Style) -> String {
    let (row, column) = at;
    let square = (row..row + every).flat_map(|r| (column..column + every).map(move |c| (r, c)));
    let values: Vec<f64> = square.filter_map(|(r, c)| heat.cell(r, c)).collect();
    let Some(value) = groma_stats::median(&values) else { return " ".repeat(width) };
    let depth = heat.depth(value);
    if let Some(fine) = fine {
        return style.on(GROUNDS[depth], depth >= DEEP, &format!("{:>width$}", heat.number(value, fine)));
    }
    if style.colour {
        return style.on(GROUNDS[depth], false, &" ".repeat(width));
    }
    let shades = if style.unicode { SHADES } else { ASCII_SHADES };
    shades[depth].to_string().repeat(width)
}

/// The key to the depths.
fn scale(heat: &Heat, numbered: bool, every: usize, style: &Style) -> String {
    let [low, high] = heat.ends();
    if numbered && !style.colour {
        return style.text(&format!("{low} to {high}")) + "\n";
    }
    let shades = if style.unicode { SHADES } else { ASCII_SHADES };
    let depth = |d: usize| {
        if style.colour { style.on(GROUNDS[d], false, "  ") } else { shades[d].to_string().repeat(2) }
    };
    let all: String = (0..=heat.deepest()).map(depth).collect();
    let cells = if every > 1 { format!("; a cell is the median of {every} × {every}") } else { String::new() };
    format!("{} {all} {}\n", style.text(&low), style.text(&format!("{high}{cells}")))
}

/// The axis below the canvas: its line, the texts of its ticks if they do not touch, its label, and
/// then the key to the canvas.
fn x_axis(axis: &Axis, key: &str, left: usize, width: usize, style: &Style) -> String {
    let (corner, line, tick) = if style.unicode { ('└', '─', '┬') } else { ('+', '-', '+') };
    let mut rule = vec![line; width];
    let ticks = axis.ticks(width / 9).into_iter().map(|(value, text)| {
        let column = ((axis.position(value) * (width - 1) as f64).round() as usize).min(width - 1);
        (column, style.text(&text))
    });
    let ticks: Vec<(usize, String)> = ticks.collect();
    for (column, _) in &ticks {
        rule[*column] = tick;
    }
    let texts = beside_each_other(ticks.into_iter(), left, width);
    let rule: String = rule.into_iter().collect();
    let label = style.text(&axis.label) + key;
    let middle = (left + width / 2).saturating_sub(columns(&label) / 2);
    format!("{}{corner}{rule}\n{}\n{}{label}\n", " ".repeat(left - 1), texts.trim_end(), " ".repeat(middle))
}

/// A distribution: a row per bin, as in a picture.
fn bars(chart: &Plane, style: &Style) -> String {
    let rows = &chart.bars;
    let most = rows.iter().map(|b| b.clean + b.labelled).max().unwrap_or(0).max(1);
    let texts: Vec<String> =
        rows.iter().map(|b| style.text(&units::value(b.low, chart.x.scale(), Some(0.0)))).collect();
    let notes: Vec<String> = notes(chart, style);
    let left = texts.iter().map(|t| columns(t)).max().unwrap_or(0);
    let beside = notes.iter().map(|t| columns(t)).max().unwrap_or(0);
    let counts = most.to_string().len();
    let room = style.width.saturating_sub(left + counts + 4 + beside).max(10);
    let [edge, inside, full, other] = if style.unicode { ['│', '┃', '█', '░'] } else { ['|', '+', '#', '.'] };
    let in_band = |bar: &Bar| chart.band.is_some_and(|[low, high]| bar.low <= high && bar.high >= low);
    let mut out = String::new();
    for ((bar, text), note) in rows.iter().zip(texts).zip(notes) {
        let share = |n: usize| (n * room).div_ceil(most);
        let clean = share(bar.clean);
        let labelled = share(bar.clean + bar.labelled) - clean;
        let labelled = if bar.labelled > 0 { labelled.max(1).min(room.saturating_sub(clean)) } else { 0 };
        let first: String = std::iter::repeat_n(full, clean).collect();
        let second: String = std::iter::repeat_n(other, labelled).collect();
        let edge = if in_band(bar) { inside } else { edge };
        out += &format!(
            "{}{text} {edge}{}{} {}{}",
            " ".repeat(left.saturating_sub(columns(&text))),
            style.paint(Ink::First, &first),
            style.paint(Ink::Warning, &second),
            bar.clean + bar.labelled,
            style.paint(Ink::Strong, &note)
        );
        out.push('\n');
    }
    let mut keys = Vec::new();
    if rows.iter().any(|b| b.labelled > 0) {
        keys.extend([format!("{full} undisturbed"), format!("{other} disturbed")]);
    }
    if rows.iter().any(in_band) {
        keys.push(format!("{inside} 95 % interval over rounds"));
    }
    if !keys.is_empty() {
        out += &format!("{} {}\n", " ".repeat(left), keys.join("  "));
    }
    out
}

/// The text after the count of each row: the marks in that bin, or beyond it for the first and the
/// last.
fn notes(chart: &Plane, style: &Style) -> Vec<String> {
    let arrow = if style.unicode { '◄' } else { '<' };
    let last = chart.bars.len().saturating_sub(1);
    let row_of = |mark: &Mark| chart.bars.iter().position(|bar| mark.x < bar.high).unwrap_or(last);
    let text = |mark: &Mark| {
        let outside = |bar: &Bar| mark.x < bar.low || mark.x > bar.high;
        let beyond = if chart.bars.get(row_of(mark)).is_some_and(outside) { "beyond: " } else { "" };
        format!("{beyond}{}", style.text(&mark.label))
    };
    let of_row = |row: usize| chart.marks.iter().filter(|mark| row_of(mark) == row).map(text).collect::<Vec<_>>();
    let note =
        |texts: Vec<String>| if texts.is_empty() { String::new() } else { format!(" {arrow} {}", texts.join("; ")) };
    (0..chart.bars.len()).map(of_row).map(note).collect()
}
