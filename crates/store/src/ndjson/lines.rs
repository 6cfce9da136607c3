//! The lines of a stream, also of one that went through other hands: another program wrote its JSON
//! again, a mailer its line ends, or it was captured from a serial console, where messages of the
//! kernel and of a shell stand between its lines and in them.
//!
//! In a file without any text of others a line that cannot be read is an error: nothing but damage
//! explains it. In a capture such lines are skipped and counted ([`Lost`]). Which of the two it is
//! may be known only behind the line, so the first damage is kept until the end of its run.

use std::fmt;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use groma_model::SCHEMA;

use crate::StoreError;

/// The kinds of lines that groma writes to streams and baselines.
const KINDS: [&str; 7] = ["run", "point", "round", "metric", "end", "baseline", "fact"];
/// Those of the files of `groma fleet pairs`, in which streams stand.
const KINDS_OF_PAIRS: [&str; 5] = ["pairs", "pair", "served", "missed", "pairs end"];
/// How far in a line its object may begin: a prompt is shorter.
const LONGEST_PROMPT: usize = 4096;
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing but blanks.
    Blank,
    /// An object from this byte on.
    Object(usize),
    /// Text, and an object of groma behind it.
    Behind(usize),
    /// Something else.
    Foreign,
}

/// Looks for an object in a line.
pub(crate) fn find_object(line: &[u8]) -> Found {
    let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii_start();
    let begins = line.len() - text.len();
    match text.first() {
        None => Found::Blank,
        Some(b'{') => Found::Object(begins),
        Some(_) => {
            let most = text.len().min(LONGEST_PROMPT);
            let mut braces = text[..most].iter().enumerate().filter(|(_, byte)| **byte == b'{');
            // A part of a line may hold {"kind":"read"}, a parameter.
            let known = |at: usize| {
                written_kind(&text[at..]).is_some_and(|kind| KINDS.contains(&kind) || KINDS_OF_PAIRS.contains(&kind))
            };
            braces.find(|(at, _)| known(*at)).map_or(Found::Foreign, |(at, _)| Found::Behind(begins + at))
        }
    }
}

/// The kind of an object if that is its first field, as groma writes it. The rest of the line is
/// not read and may be cut.
pub(crate) fn written_kind(object: &[u8]) -> Option<&str> {
    let after = |text: &'_ [u8], what: &str| -> Option<usize> {
        let rest = text.trim_ascii_start();
        rest.starts_with(what.as_bytes()).then(|| text.len() - rest.len() + what.len())
    };
    let mut rest = object;
    for what in ["{", "\"kind\"", ":", "\""] {
        rest = &rest[after(rest, what)?..];
    }
    let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    if rest[end] == b'\\' { None } else { std::str::from_utf8(&rest[..end]).ok() }
}

/// The kind of the object that a line holds, wherever it stands in it.
pub fn kind_of(line: &str) -> Option<String> {
    let (Found::Object(at) | Found::Behind(at)) = find_object(line.as_bytes()) else { return None };
    let object = &line.as_bytes()[at..];
    written_kind(object).map(str::to_owned).or_else(|| parse_line::<Kind>(object).ok()?.kind)
}

/// A stream without what is not groma's, for readers that divide it by its lines: other lines, text
/// before lines, other line ends; in a captured one also damaged lines, which are counted. The head
/// of a run stays if it is damaged, since what follows would seem to be of the run before it.
pub fn without_others(text: Vec<u8>) -> (Vec<u8>, Option<Lost>) {
    let is_plain = |line: &[u8]| line.starts_with(b"{") && line.last().is_some_and(|byte| !byte.is_ascii_whitespace());
    if text.strip_suffix(b"\n").unwrap_or(&text).split(|byte| *byte == b'\n').all(is_plain) {
        return (text, None);
    }
    let mut lines = Lines::new(&*text, Path::new(""), (u64::MAX, u64::MAX), "metric");
    let mut all = Vec::new();
    while let Ok(true) = lines.advance() {
        let kind = lines.kind().and_then(|kind| kind.kind);
        if kind.as_deref() == Some("metric") {
            lines.count(true);
        }
        let is_kept = kind.is_some() || lines.written_kind() == Some("run");
        all.push((lines.line[lines.begins..].trim_ascii_end().to_vec(), is_kept));
    }
    let is_captured = lines.is_captured();
    let kept = all.into_iter().filter(|(_, is_kept)| *is_kept || !is_captured);
    let text = kept.flat_map(|(line, _)| [line, b"\n".to_vec()]).flatten().collect();
    // Of a file with nothing of groma's there is nothing to tell: it is refused.
    let lost = lines.lost().filter(|lost| lost.read > 0 || lost.is_of_groma());
    (text, lost.cloned())
}

/// The fields that decide how to read a line; which are present depends on its kind.
#[derive(Deserialize)]
pub(crate) struct Kind {
    pub(crate) kind: Option<String>,
    pub(crate) schema: Option<u32>,
    pub(crate) groma: Option<String>,
    run: Option<String>,
}

impl Kind {
    /// Refuses the head of a run that only a newer groma can read.
    pub(super) fn check_schema(self, path: &Path) -> Result<(), StoreError> {
        match self.schema {
            Some(found) if found > SCHEMA => Err(StoreError::NewerRun {
                path: path.to_owned(),
                run: self.run.unwrap_or_default(),
                groma: self.groma.unwrap_or_default(),
                found,
                known: SCHEMA,
            }),
            _ => Ok(()),
        }
    }
}

/// What of a captured stream was skipped, and what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Lines of others, whether or not they are objects.
    foreign: u64,
    /// Damaged lines of each of [`KINDS`].
    cut: [u64; KINDS.len()],
    /// What is counted as read: rounds or metrics.
    what: &'static str,
    read: u64,
    /// Those of them that were whole, and whose run or point was not.
    without: u64,
}

impl Lost {
    /// Counts a damaged line; returns whether it is one of groma.
    fn count_cut(&mut self, kind: Option<&str>) -> bool {
        let known = kind.and_then(|kind| KINDS.iter().position(|known| *known == kind));
        match known {
            Some(i) => self.cut[i] += 1,
            None => self.foreign += 1,
        }
        known.is_some()
    }

    /// Whether any line of groma could not be used.
    pub fn is_of_groma(&self) -> bool {
        self.without > 0 || self.cut.iter().any(|n| *n > 0)
    }
}

fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let are = |n: u64| if n == 1 { "is" } else { "are" };
        let mut parts = Vec::new();
        if self.foreign > 0 {
            parts.push(format!("{} {} not groma's", counted(self.foreign, "line"), are(self.foreign)));
        }
        for (kind, &n) in KINDS.iter().zip(&self.cut).filter(|(_, n)| **n > 0) {
            parts.push(format!("{} {} cut", counted(n, kind), are(n)));
        }
        if self.without > 0 {
            let have = if self.without == 1 { "has" } else { "have" };
            parts.push(format!("{} {have} lost the point or run", counted(self.without, self.what)));
        }
        let cut = KINDS.iter().zip(&self.cut).find(|(kind, _)| **kind == self.what).map_or(0, |(_, n)| *n);
        let all = self.read + cut + self.without;
        let read = if all == self.read { "all".to_owned() } else { format!("{} of", self.read) };
        write!(f, "{}: {read} {} read", parts.join(", "), counted(all, self.what))
    }
}

/// The lines of a stream that hold objects.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    pub(crate) path: PathBuf,
    /// The most bytes of a line, of a run, and what is left of the latter.
    longest: u64,
    most: u64,
    left: u64,
    /// The current line, where its object begins, and its number from 1.
    line: Vec<u8>,
    begins: usize,
    number: u64,
    /// Whether the current line is also the next.
    again: bool,
    /// Whether text of others was found.
    is_captured: bool,
    /// What is wrong with the first line that cannot be used.
    damage: Option<StoreError>,
    /// The same of the first line of groma, which a capture that holds no run is refused with.
    damage_of_groma: Option<StoreError>,
    lost: Lost,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `input`, which errors call `path`. They have at most `longest` bytes, those of
    /// a run `most`; `what` is counted as read.
    pub(crate) fn new(input: R, path: &Path, (longest, most): (u64, u64), what: &'static str) -> Lines<R> {
        Lines {
            input,
            path: path.to_owned(),
            longest,
            most,
            left: most,
            line: Vec::new(),
            begins: 0,
            number: 0,
            again: false,
            is_captured: false,
            damage: None,
            damage_of_groma: None,
            lost: Lost { what, ..Lost::default() },
        }
    }

    /// Reads up to the next line with an object; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, StoreError> {
        if std::mem::take(&mut self.again) {
            return Ok(!self.line.is_empty());
        }
        loop {
            self.line.clear();
            self.number += 1;
            let limit = self.longest.min(self.left);
            let mut input = (&mut self.input).take(limit);
            let read = input.read_until(b'\n', &mut self.line).map_err(|e| StoreError::unreadable(&self.path, &e))?;
            self.left -= read as u64;
            if read as u64 == limit && self.line.last() != Some(&b'\n') {
                let (what, most) = if limit == self.longest { ("it", self.longest) } else { ("its run", self.most) };
                return Err(self.error(format!("{what} has more than {most} bytes")));
            }
            if read == 0 {
                return Ok(false);
            }
            match find_object(&self.line) {
                Found::Blank => {}
                Found::Object(at) => {
                    self.begins = at;
                    return Ok(true);
                }
                Found::Behind(at) => {
                    self.begins = at;
                    self.is_captured = true;
                    return Ok(true);
                }
                Found::Foreign => {
                    self.is_captured = true;
                    self.lost.foreign += 1;
                }
            }
        }
    }

    /// The kind of the line as groma writes it, which may be a damaged line.
    pub(crate) fn written_kind(&self) -> Option<&str> {
        written_kind(&self.line[self.begins..])
    }

    /// Reads the object of the line; nothing if that cannot be done, which is then noted.
    pub(crate) fn parse<T: DeserializeOwned>(&mut self) -> Option<T> {
        self.peek().map_err(|what| self.damaged(what)).ok()
    }

    /// Reads the object of the line, and notes nothing.
    pub(crate) fn peek<T: DeserializeOwned>(&self) -> Result<T, String> {
        parse_line(&self.line[self.begins..])
    }

    /// Reads the kind of the line. A line without one is somebody else's, or damaged.
    pub(crate) fn kind(&mut self) -> Option<Kind> {
        let kind: Kind = self.parse()?;
        if kind.kind.is_none() {
            self.damaged("it has no 'kind'".to_owned());
            return None;
        }
        Some(kind)
    }

    /// Notes that the line cannot be used.
    pub(crate) fn damaged(&mut self, what: String) {
        let kind = written_kind(&self.line[self.begins..]);
        let is_of_groma = self.lost.count_cut(kind);
        self.note(what, is_of_groma);
    }

    /// Notes that the line is whole, and that what it belongs to is not there.
    pub(crate) fn stray(&mut self, kind: &str) {
        if kind == self.lost.what {
            self.lost.without += 1;
        }
        self.note(format!("a '{kind}' line outside of a run"), true);
    }

    fn note(&mut self, what: String, is_of_groma: bool) {
        let of_line = |what| StoreError::Line { path: self.path.clone(), line: self.number, what };
        if is_of_groma {
            self.damage_of_groma.get_or_insert_with(|| of_line(what.clone()));
        }
        self.damage.get_or_insert_with(|| of_line(what));
    }

    /// Counts a round or a metric of which nothing is missing, or whose point is.
    pub(crate) fn count(&mut self, is_used: bool) {
        let n = if is_used { &mut self.lost.read } else { &mut self.lost.without };
        *n += 1;
    }

    pub(crate) fn error(&self, what: String) -> StoreError {
        StoreError::Line { path: self.path.clone(), line: self.number, what }
    }

    /// Why a file that has ended holds no run.
    pub(crate) fn nothing(&mut self) -> StoreError {
        let damage = if self.is_captured { self.damage_of_groma.take() } else { self.damage.take() };
        damage.unwrap_or_else(|| StoreError::NotAStream { path: self.path.clone() })
    }

    /// Whether text of others was found up to here.
    pub(crate) fn is_captured(&self) -> bool {
        self.is_captured
    }

    /// What becomes of a run that was read: the first damage comes before it and before any later
    /// error, unless the file is a capture. The line behind the run may be the first that tells.
    pub(crate) fn settle<T>(&mut self, read: Result<T, StoreError>) -> Result<T, StoreError> {
        self.left = self.most;
        let Some(damage) = self.damage.take() else { return read };
        if !self.is_captured && read.is_ok() && self.advance().is_ok() {
            self.again = true;
        }
        if self.is_captured { read } else { Err(damage) }
    }

    /// What was skipped so far, if anything was.
    pub(crate) fn lost(&self) -> Option<&Lost> {
        (self.is_captured && (self.lost.foreign > 0 || self.lost.is_of_groma())).then_some(&self.lost)
    }
}

/// Reads an object from a line; the error says what is wrong and where.
pub(crate) fn parse_line<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    // From text like all other JSON here: serde_json's reader of bytes would be a second copy of
    // its code in the program.
    let text = std::str::from_utf8(line.trim_ascii_end())
        .map_err(|e| format!("it is not UTF-8, at column {}", e.valid_up_to() + 1))?;
    serde_json::from_str(text).map_err(|e| {
        if e.is_eof() {
            return "it is cut off".to_owned();
        }
        // The line that serde_json names is always 1.
        let text = e.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        format!("{what}, at column {}", e.column())
    })
}
