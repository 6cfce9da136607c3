//! The parser. It takes any bytes: what it cannot read stays as a numbered line, and a number that
//! cannot be what was measured as a [`Doubt`].

use super::number::{bytes, number};
use super::{Column, Date, Doubt, Form, KINDS, Kind, Unit};

/// A file: the runs in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// The runs, in order.
    pub runs: Vec<Run>,
    /// The first lines that belong to no run.
    pub stray: Vec<Line>,
}

/// A line that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: usize,
    /// Its beginning.
    pub text: String,
}

/// A run of lmbench.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The number of its first line.
    pub line: usize,
    /// Its text, with line ends of one byte.
    pub text: String,
    /// The version in its first line: `3.0`.
    pub version: String,
    /// The words of `uname -a` there.
    pub uname: Vec<String>,
    /// Its head: keys and values, without networks and mounts.
    pub head: Vec<(String, String)>,
    /// Its dates: the first and the last tell how long it took.
    pub dates: Vec<Date>,
    /// A line that looks like a date and may be read in two ways, or in none.
    pub unread_date: Option<Line>,
    /// Its values, in order.
    pub values: Vec<Value>,
    /// The first lines that were not read: messages of programs, sections without rows.
    pub unread: Vec<Line>,
    /// How many there are.
    pub unread_lines: usize,
}

/// A value of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The number of its line.
    pub line: usize,
    /// What was measured.
    pub kind: &'static Kind,
    /// The values of the kind's keys; sizes in bytes.
    pub keys: Vec<u64>,
    /// The peer, file or device that its line names.
    pub name: Option<String>,
    /// The number as printed.
    pub printed: String,
    /// How many operations the line says that there were.
    pub count: Option<u64>,
    /// The number, in the unit of the kind, if it can be one.
    pub number: Result<f64, Doubt>,
    /// The same in SI units, from its decimal digits; 0 without a number.
    pub si: f64,
}

/// How many unread lines are kept of a run: one program may print a million.
const KEPT: usize = 8;
/// The longest text that is kept of a line or a number, in characters.
const LONGEST_TEXT: usize = 120;

fn cut(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

impl Run {
    /// The value of a key of the head, whatever its case.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.head.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| value.as_str())
    }

    /// How many copies of each program ran at once.
    pub fn copies(&self) -> u32 {
        self.get("SYNC_MAX").and_then(|text| text.parse().ok()).filter(|copies| *copies > 0).unwrap_or(1)
    }

    /// Whether a name is that of the machine itself.
    pub fn is_itself(&self, peer: &str) -> bool {
        let own = ["HOSTNAME", "NODENAME"].into_iter().filter_map(|key| self.get(key));
        let own = own.chain(self.uname.get(1).map(String::as_str));
        ["localhost", "127.0.0.1"].into_iter().chain(own).any(|name| name == peer)
    }

    fn unread(&mut self, number: usize, text: &str) {
        self.unread_lines += 1;
        if self.unread.len() < KEPT {
            self.unread.push(Line { number, text: cut(text) });
        }
    }
}

/// Reads a result file.
pub fn read(file: &[u8]) -> File {
    let text = String::from_utf8_lossy(file);
    let mut reader = Reader::default();
    let mut lines = text.split('\n').enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        // What split finds behind the last line end is no line.
        if lines.peek().is_none() && line.is_empty() {
            break;
        }
        reader.line(at + 1, line, lines.peek().is_none());
    }
    reader.close();
    reader.file
}

/// Which rows may follow.
#[derive(Clone, Default)]
enum Section {
    #[default]
    None,
    Rows(&'static Kind, Column, Option<String>),
    Files,
    Switches(u64),
    /// Blocks of strides; the stride of the current one.
    Loads(&'static Kind, Option<u64>),
}

#[derive(Default)]
struct Reader {
    file: File,
    run: Option<Run>,
    section: Section,
    /// The line that opened the section, and whether a row has followed.
    opened: Option<(usize, String)>,
    /// The current line, and whether the file ends within it.
    number: usize,
    is_cut: bool,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str, is_cut: bool) {
        // Line ends of other systems, as bytes or as an editor shows them; progress that was
        // overwritten on a terminal.
        let line = line.trim_end().trim_end_matches("^M").trim_end();
        let line = line.rsplit('\r').next().unwrap_or_default().trim_start();
        (self.number, self.is_cut) = (number, is_cut);
        if let Some(first) = line.strip_prefix("[lmbench") {
            return self.begin(line, first);
        }
        let Some(run) = &mut self.run else {
            if !line.is_empty() && self.file.stray.len() < KEPT {
                self.file.stray.push(Line { number, text: cut(line) });
            }
            return;
        };
        run.text.push_str(line);
        run.text.push('\n');
        if line.is_empty() {
            self.end_section();
        } else if let Some(head) = line.strip_prefix('[') {
            self.end_section();
            self.head(head.strip_suffix(']').unwrap_or(head));
        } else if !(self.section(line) || self.row(line) || self.value(line)) {
            self.unread(line);
        }
    }

    fn begin(&mut self, line: &str, first: &str) {
        self.close();
        let (version, uname) = first.split_once(" results for ").unwrap_or((first, ""));
        if !version.starts_with(['2', '3']) {
            let text = format!("lmbench {}: only versions 2 and 3 are read", cut(version));
            self.file.stray.push(Line { number: self.number, text });
            return;
        }
        let uname = uname.strip_suffix(']').unwrap_or(uname).split_whitespace().map(cut).collect();
        self.run =
            Some(Run { line: self.number, version: cut(version), uname, text: format!("{line}\n"), ..Run::default() });
    }

    /// Ends the run.
    fn close(&mut self) {
        self.end_section();
        self.section = Section::None;
        self.file.runs.extend(self.run.take());
    }

    fn unread(&mut self, line: &str) {
        let number = self.number;
        if let Some(run) = &mut self.run {
            run.unread(number, line);
        }
    }

    /// Ends the section; blocks of strides go on behind a blank line.
    fn end_section(&mut self) {
        if let (Some((number, marker)), Some(run)) = (self.opened.take(), &mut self.run) {
            run.unread(number, &format!("{marker} has no rows"));
        }
        self.section = match self.section {
            Section::Loads(kind, _) => Section::Loads(kind, None),
            _ => Section::None,
        };
    }

    fn head(&mut self, text: &str) {
        let Some(run) = &mut self.run else { return };
        if let Some(date) = Date::of(text) {
            run.dates.push(date);
            return;
        }
        if Date::is_like(text) {
            let number = self.number;
            run.unread_date.get_or_insert_with(|| Line { number, text: cut(text) });
            return;
        }
        let Some((key, value)) = text.split_once(':') else { return };
        let is_key = |b: u8| b.is_ascii_alphabetic() || b == b'_' || b == b' ';
        // Of the network and the mounts nothing is read: addresses and names of others.
        if !key.bytes().all(is_key) || ["net", "if", "mount"].contains(&key) || key.contains("load average") {
            return;
        }
        let value = value.trim();
        run.head.push((cut(key), cut(value)));
        let kind = KINDS.iter().find(|kind| matches!(kind.form, Form::Head(of) if of.eq_ignore_ascii_case(key)));
        if let (Some(kind), Some(number)) = (kind, value.split_whitespace().next()) {
            self.push(kind, Vec::new(), None, Some(number), None);
        }
    }

    /// A line that opens a section.
    fn section(&mut self, line: &str) -> bool {
        let marker = line.strip_prefix('"').unwrap_or(line);
        let Some(section) = self.section_of(marker) else { return false };
        self.end_section();
        // The line above the blocks of strides has no rows of its own.
        if !matches!(section, Section::Loads(_, None)) {
            self.opened = Some((self.number, cut(line)));
        }
        if let (Section::Switches(size), Some((_, overhead))) = (&section, marker.split_once("ovr=")) {
            let kind = KINDS.iter().find(|kind| kind.form == Form::SwitchOverhead);
            let (size, overhead) = (*size, overhead.to_owned());
            if let Some(kind) = kind {
                self.push(kind, vec![size], None, Some(&overhead), None);
            }
        }
        self.section = section;
        true
    }

    fn section_of(&self, marker: &str) -> Option<Section> {
        if marker == "File system latency" {
            return Some(Section::Files);
        }
        if let Some(rest) = marker.strip_prefix("size=") {
            return Some(Section::Switches(kilobytes(rest.split(' ').next()?)?));
        }
        if let (Some(stride), Section::Loads(kind, _)) = (marker.strip_prefix("stride="), &self.section) {
            return Some(Section::Loads(kind, Some(stride.parse().ok()?)));
        }
        KINDS.iter().find_map(|kind| match kind.form {
            Form::Row(of, column) if of == marker => Some(Section::Rows(kind, column, None)),
            Form::NamedRow(of, column) => {
                let name = marker.strip_prefix(of)?.strip_prefix(' ')?;
                Some(Section::Rows(kind, column, Some(cut(name))))
            }
            Form::Load(of) if of == marker => Some(Section::Loads(kind, None)),
            _ => None,
        })
    }

    /// A row of the section.
    fn row(&mut self, line: &str) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        let section = self.section.clone();
        let read = match section {
            Section::None | Section::Loads(_, None) => return false,
            Section::Rows(kind, column, name) => self.pair(kind, &words, |text| bytes(text, column), &[], name),
            Section::Switches(size) => {
                let Some(kind) = KINDS.iter().find(|kind| kind.form == Form::Switch) else { return false };
                self.pair(kind, &words, |text| text.parse().ok(), &[size], None)
            }
            Section::Loads(kind, Some(stride)) => {
                self.pair(kind, &words, |text| bytes(text, Column::Mebibytes), &[stride], None)
            }
            Section::Files => self.files(&words),
        };
        if read {
            self.opened = None;
        }
        read
    }

    /// A row of a key and a number, and perhaps its unit.
    fn pair(
        &mut self,
        kind: &'static Kind,
        words: &[&str],
        key: impl Fn(&str) -> Option<u64>,
        before: &[u64],
        name: Option<String>,
    ) -> bool {
        let (first, printed) = match *words {
            [first] => (first, None),
            [first, number] => (first, Some(number)),
            [first, number, unit] if unit == kind.unit.word() => (first, Some(number)),
            _ => return false,
        };
        let Some(key) = key(first) else { return false };
        // An ended word behind the number shows that the number is whole.
        let was_cut = self.is_cut;
        self.is_cut &= words.len() < 3;
        self.push(kind, [before, &[key]].concat(), name, printed, None);
        self.is_cut = was_cut;
        true
    }

    /// `size n create/s delete/s`.
    fn files(&mut self, words: &[&str]) -> bool {
        let Some(size) = words.first().and_then(|first| kilobytes(first)) else { return false };
        if words.len() > 4 {
            return false;
        }
        let count = words.get(1).and_then(|count| count.parse().ok());
        for kind in KINDS {
            if let Form::Files(column) = kind.form {
                let was_cut = self.is_cut;
                self.is_cut &= words.len() <= column + 1;
                self.push(kind, vec![size], None, words.get(column).copied(), count);
                self.is_cut = was_cut;
            }
        }
        true
    }

    /// A value in a line of its own.
    fn value(&mut self, line: &str) -> bool {
        // The older label of the same loops.
        let older = line.strip_prefix("uint64 ").map(|rest| format!("int64 {rest}"));
        let line = older.as_deref().unwrap_or(line);
        let mut found = false;
        for kind in KINDS {
            let Some((keys, name, rest)) = split_label(kind.form, line) else { continue };
            found = true;
            let words: Vec<&str> = rest.split_whitespace().collect();
            match kind.form {
                Form::Tlb(at) => {
                    let (number, unit) = (words.get(2 * at), words.get(2 * at + 1));
                    // The cost is printed only if it was asked for.
                    if at == 0 || number.is_some() {
                        let unit_is = if at == 0 { "pages" } else { kind.unit.word() };
                        self.with_unit(kind, keys, name, number.copied(), unit.copied(), unit_is);
                    }
                }
                Form::Http => self.http(kind, &words),
                _ => {
                    let unit = match &words[..] {
                        [_, rest @ ..] => Some(rest.join(" ")).filter(|unit| !unit.is_empty()),
                        [] => None,
                    };
                    self.with_unit(kind, keys, name, words.first().copied(), unit.as_deref(), kind.unit.word());
                }
            }
            if !matches!(kind.form, Form::Tlb(_)) {
                break;
            }
        }
        if found {
            self.end_section();
        }
        found
    }

    /// The rate of a transfer, which lmbench prints in one of two units.
    fn http(&mut self, kind: &'static Kind, words: &[&str]) {
        let [.., number, unit] = *words else { return self.push(kind, Vec::new(), None, None, None) };
        self.with_unit(kind, Vec::new(), None, Some(number), Some(unit), kind.unit.word());
        if let (Unit::Megabytes, "KB/sec") = (kind.unit, unit)
            && let Some(value) = self.run.as_mut().and_then(|run| run.values.last_mut())
        {
            let unit = Unit::Kilobytes;
            let read = self::number(number, true);
            value.si = read.as_ref().map_or(0.0, |(_, decimal)| unit.decimal_to_si(decimal));
            value.number = read.map(|(kilobytes, _)| kilobytes / 1e3);
        }
    }

    /// Adds a value that a unit must follow.
    fn with_unit(
        &mut self,
        kind: &'static Kind,
        keys: Vec<u64>,
        name: Option<String>,
        number: Option<&str>,
        unit: Option<&str>,
        expected: &str,
    ) {
        let was_cut = self.is_cut;
        let unit = unit.unwrap_or_default();
        let is_begun = expected.starts_with(unit) && unit != expected;
        self.is_cut &= is_begun || expected.is_empty();
        self.push(kind, keys, name, number, None);
        self.is_cut = was_cut;
        if unit == expected {
            return;
        }
        if let Some(value) = self.run.as_mut().and_then(|run| run.values.last_mut())
            && value.number.is_ok()
        {
            value.number = Err(if is_begun { Doubt::CutOff } else { Doubt::OtherUnit });
        }
    }

    /// Adds a value to the run.
    fn push(
        &mut self,
        kind: &'static Kind,
        keys: Vec<u64>,
        name: Option<String>,
        printed: Option<&str>,
        count: Option<u64>,
    ) {
        let whole =
            matches!(kind.unit, Unit::Kilobytes | Unit::PerSecond | Unit::Megahertz | Unit::Count | Unit::Bytes);
        let number = match printed {
            None => Err(Doubt::Missing),
            Some(text) => match number(text, whole) {
                Ok(_) if self.is_cut => Err(Doubt::CutOff),
                read => read,
            },
        };
        let printed = cut(printed.unwrap_or_default());
        let si = number.as_ref().map_or(0.0, |(_, decimal)| kind.unit.decimal_to_si(decimal));
        let number = number.map(|(number, _)| number);
        if let Some(run) = &mut self.run {
            run.values.push(Value { line: self.number, kind, keys, name, printed, count, number, si });
        }
    }
}

/// What follows the label of a line of this form, with the key and the name in it.
fn split_label(form: Form, line: &str) -> Option<(Vec<u64>, Option<String>, &str)> {
    let plain = |rest| Some((Vec::new(), None, rest));
    match form {
        Form::Label(label) => plain(line.strip_prefix(label)?.strip_prefix(':')?),
        Form::Named(label) => {
            let rest = line.strip_prefix(label)?.strip_prefix(' ')?;
            let (name, rest) = rest.rsplit_once(": ").unwrap_or((rest, ""));
            Some((Vec::new(), Some(cut(name)), rest))
        }
        Form::Counted(before, after) => {
            let (count, rest) = line.strip_prefix(before)?.strip_prefix(' ')?.split_once(' ')?;
            Some((vec![count.parse().ok()?], None, rest.strip_prefix(after)?.strip_prefix(':')?))
        }
        Form::WriteRate => plain(line.rsplit_once("write bandwidth:")?.1),
        Form::Tlb(_) => plain(line.strip_prefix("tlb:")?),
        Form::Http => plain(line.strip_prefix("Avg xfer")?),
        _ => None,
    }
}

/// `64k` in bytes.
fn kilobytes(text: &str) -> Option<u64> {
    text.strip_suffix('k')?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests;
