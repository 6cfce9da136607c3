//! The paragraph `**Calls:**` of a benchmark's header: which system calls a worker makes.
//!
//! People read it in the file and in `groma explain`; `words.rs`, `words/timed.rs` and
//! `parameters.rs` compare it with what `strace` sees. Its items are:
//!
//! ```text
//! - `CALL`                           a round repeats this call
//! - `key=shared`: `CALL`, not `CALL` with this parameter: the one, and not the other
//! - once `size=64K`: `CALL`          at least once, as in set-up
//! - timed: `clock connect clock`     the worker repeats these steps in this order
//! - no trace of `access`: why        no call tells which value the parameter has
//! ```
//!
//! A call is a part of a line of `strace`, in which `..` is any text. Parameters that are not named
//! have their usual values. After `; ` a remark may follow.

use groma_harness::Benchmark;
use groma_harness::model::Params;

/// The label of the paragraph.
const LABEL: &str = "**Calls:**";
/// What the item of a parameter without a trace begins with.
const SILENT: &str = "no trace of ";

/// An item.
pub(crate) struct Item {
    /// The benchmark that it describes.
    pub(crate) bench: &'static Benchmark,
    /// Its file and line.
    pub(crate) place: String,
    /// Its text.
    pub(crate) text: String,
    /// What it says.
    pub(crate) says: Says,
}

/// What an item says.
#[derive(Debug, PartialEq)]
pub(crate) enum Says {
    /// A round with these parameters repeats the call, or makes it `once` or more often, and does
    /// not repeat the other one, which may be empty.
    Makes { params: Params, once: bool, call: String, never: String },
    /// A round with these parameters repeats these steps.
    Times { params: Params, steps: Vec<String> },
    /// No call shows the values of these parameters.
    Silent(Vec<String>),
}

impl Item {
    /// What is wrong, with the place of the item.
    pub(crate) fn wrong(&self, why: &str) -> String {
        format!("{}: '{}': {why}", self.place, self.text)
    }
}

/// The items of all headers. Panics with file and line of those that are malformed.
pub(crate) fn all() -> Vec<Item> {
    let (mut items, mut wrong) = (Vec::new(), Vec::new());
    for bench in groma_benches::all() {
        let file = bench.info.about.file;
        match lines(bench.info.about.text) {
            Ok(lines) => {
                for (line, text) in lines {
                    let place = format!("{file}:{line}");
                    match says(bench, &text) {
                        Ok(says) => items.push(Item { bench, place, text, says }),
                        Err(why) => wrong.push(format!("{place}: '{text}': {why}")),
                    }
                }
            }
            Err((line, why)) => wrong.push(format!("{file}:{line}: {why}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}\nThe form is that of crates/groma/tests/words/calls.rs.");
    items
}

/// All parameters of a benchmark: those that are given, as a user types them, and the usual values
/// of the others.
pub(crate) fn params(bench: &Benchmark, given: &str) -> Result<Params, String> {
    let mut given: Vec<(&str, &str)> = given
        .split_whitespace()
        .map(|param| param.split_once('=').ok_or_else(|| format!("'{param}' is no parameter=value")))
        .collect::<Result<_, _>>()?;
    let mut all = Vec::new();
    for param in bench.info.params {
        let at = given.iter().position(|(name, _)| *name == param.name);
        let text = at.map(|at| given.remove(at).1).or(param.usual()).unwrap_or_default();
        let value = param.parse(text).map_err(|why| format!("{}={text}: {why}", param.name))?;
        all.push((param.name.to_owned(), value));
    }
    match given[..] {
        [] => Ok(Params(all)),
        [(name, _), ..] => Err(format!("{} has no parameter '{name}', or it is given twice", bench.info.id)),
    }
}

/// Whether a line of `strace` shows this call.
pub(crate) fn shows(line: &str, call: &str) -> bool {
    let mut rest = Some(line);
    for part in call.split("..") {
        rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, rest)| rest);
    }
    rest.is_some()
}

/// The items of a header, each in one line and with the number of its first line.
fn lines(header: &str) -> Result<Vec<(usize, String)>, (usize, &'static str)> {
    let mut items: Vec<(usize, String)> = Vec::new();
    let mut within = false;
    for (number, line) in (1..).zip(header.lines()) {
        if line.starts_with(LABEL) {
            let why = "the label of the paragraph stands once, and in a line of its own";
            within = (line == LABEL && items.is_empty()).then_some(true).ok_or((number, why))?;
        } else if within && line.is_empty() {
            within = false;
        } else if let Some(text) = line.strip_prefix("- ").filter(|_| within) {
            items.push((number, text.to_owned()));
        } else if within {
            let continued = line.strip_prefix("  ").zip(items.last_mut());
            let (text, (_, item)) = continued.ok_or((number, "this line of the paragraph begins no item"))?;
            item.extend([" ", text]);
        }
    }
    Ok(items)
}

/// What an item says.
fn says(bench: &Benchmark, text: &str) -> Result<Says, String> {
    if let Some(rest) = text.strip_prefix(SILENT) {
        let names = rest.split_once(": ").filter(|(_, why)| !why.is_empty()).map(|(names, _)| names);
        let names = names.ok_or("it does not say why")?.split(", ");
        let name = |quoted: &str| match quoted.strip_prefix('`').and_then(|quoted| quoted.strip_suffix('`')) {
            Some(name) if bench.info.params.iter().any(|param| param.name == name) => Ok(name.to_owned()),
            _ => Err(format!("{} has no parameter {quoted}", bench.info.id)),
        };
        return Ok(Says::Silent(names.map(name).collect::<Result<_, _>>()?));
    }
    let (kind, rest) = ["once", "timed"]
        .into_iter()
        .find_map(|kind| Some((kind, text.strip_prefix(kind)?.trim_start())))
        .unwrap_or(("", text));
    let (given, rest) = match quoted(rest) {
        Some((given, rest)) if rest.starts_with(": ") => (given, &rest[2..]),
        _ if kind.is_empty() => ("", rest),
        _ => ("", rest.strip_prefix(": ").ok_or("a colon is missing")?),
    };
    let params = params(bench, given)?;
    let (call, rest) = quoted(rest).ok_or("a call in backquotes is missing")?;
    let (never, rest) = match rest.strip_prefix(", not ") {
        Some(rest) => quoted(rest).ok_or("after 'not' a call in backquotes is missing")?,
        None => ("", rest),
    };
    if !rest.is_empty() && !rest.starts_with("; ") {
        return Err(format!("'{rest}' is not understood: a remark follows a semicolon"));
    }
    if kind != "timed" {
        return Ok(Says::Makes { params, once: !kind.is_empty(), call: call.to_owned(), never: never.to_owned() });
    }
    let steps: Vec<String> = call.split(' ').map(str::to_owned).collect();
    if never.is_empty() && steps.iter().any(|step| step == "clock") {
        return Ok(Says::Times { params, steps });
    }
    Err("steps include 'clock', and nothing that they are not".to_owned())
}

/// A text in backquotes that is not empty, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('`')?.split_once('`').filter(|(quoted, _)| !quoted.is_empty())
}

#[test]
fn items_are_read_and_malformed_ones_refused() {
    let bench = groma_benches::all().into_iter().find(|bench| bench.info.id == "lock.futex").expect("it is there");
    let params = |given: &str| params(bench, given).expect("parameters");
    let makes = |given: &str, once, call: &str, never: &str| {
        Ok(Says::Makes { params: params(given), once, call: call.to_owned(), never: never.to_owned() })
    };
    let says = |text: &str| says(bench, text);
    assert_eq!(says("`FUTEX_WAKE,`; a remark"), makes("op=wake key=private object=private", false, "FUTEX_WAKE,", ""));
    assert_eq!(says("`key=shared`: `a`, not `b(`"), makes("key=shared", false, "a", "b("));
    assert_eq!(says("once: `a`"), makes("", true, "a", ""));
    assert_eq!(says("once `op=wait`: `a: b`"), makes("op=wait", true, "a: b", ""));
    let steps = ["clock", "futex", "clock"].map(str::to_owned).to_vec();
    assert_eq!(says("timed: `clock futex clock`; alone"), Ok(Says::Times { params: params(""), steps }));
    assert_eq!(says("no trace of `op`, `key`: why"), Ok(Says::Silent(vec!["op".to_owned(), "key".to_owned()])));
    for wrong in [
        "",
        "a",
        "`a",
        "``",
        "`op=wake`: a",
        "`op=sleep`: `a`",
        "`size=64K`: `a`",
        "`op=wait op=wait`: `a`",
        "`op`: `a`",
        "`a`, not b",
        "`a` and `b`",
        "once `a`",
        "sometimes `op=wait`: `a`",
        "timed: `futex`",
        "timed: `clock futex clock`, not `clock`",
        "no trace of `op`",
        "no trace of `size`: why",
        "no trace of op: why",
    ] {
        assert!(says(wrong).is_err(), "{wrong}");
    }
    let header = "Text.\n\n**Calls:**\n- `a`,\n  not `b`\n- `c`\n\n**Sources:** none\n- no item\n";
    assert_eq!(lines(header), Ok(vec![(4, "`a`, not `b`".to_owned()), (6, "`c`".to_owned())]));
    for (wrong, line) in [
        ("**Calls:** `a`\n", 1),
        ("**Calls:**\n`a`\n", 2),
        ("**Calls:**\n  `a`\n", 2),
        ("**Calls:**\n- `a`\nb\n", 3),
        ("**Calls:**\n- `a`\n\n**Calls:**\n- `b`\n", 4),
    ] {
        assert_eq!(lines(wrong).map_err(|(line, _)| line), Err(line), "{wrong}");
    }
    assert!(shows("madvise(0x7f, 65536, MADV_FREE) = 0", "madvise(.., 65536, MADV_FREE)"));
    assert!(!shows("madvise(0x7f, 65536, MADV_FREE) = 0", "madvise(.., 4096, MADV_FREE)"));
    assert!(!shows("madvise(0x7f, MADV_FREE, 65536) = 0", "madvise(.., 65536, MADV_FREE"));
}
