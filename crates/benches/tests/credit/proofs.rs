//! The proofs that each benchmark makes, how strict they are, and the facts that it tells, said a
//! second time.
//!
//! A proof that is no longer made, or that more values satisfy than before, breaks nothing: all
//! others hold. `proofs.txt` therefore has every proof of every benchmark with what it says that it
//! expects, the range that it allows, and the parameters that it was first seen with. A proof of
//! the table has to be made where these parameters can be had; on the machines that the table is
//! from, it has to have every proof.
//!
//! A fact has a line with its key; its value is left to the benchmark's own tests. It has to be
//! told where its parameters can be had. A fact that the table lacks is no mistake: it may be one
//! that only another machine has.
//!
//! After a change, `GROMA_UPDATE=1 cargo test -p groma-benches --test credit` writes the file. Read
//! the difference: a line that vanishes is a proof or a fact that is lost.

use crate::trial::{Seen, Trial};
use groma_harness::model::State;
use groma_harness::sys::pages;
use std::path::Path;

/// The table.
const PROOFS: &str = include_str!("proofs.txt");
/// What a line begins with whose proof is not made in all states of a machine.
const SOMETIMES: &str = "? ";
/// A number that differs between rounds or machines.
const NUMBER: char = '#';
/// The proof whose expectation names the loop that came closest, and what the clock costs.
const FLOOR: (&str, &str) = ("measured time / minimum possible time", "1 or more");

/// Marks the line of a fact: the first stands before its key, the second where a proof says what it
/// expects.
const FACT: (&str, &str) = ("fact ", "told");

/// The proof that the harness makes of every loop, unless all of its attempts were disturbed.
const SCALING: &str = "time of 2k iterations over time of k";

/// A proof: the benchmark, the parameters of the first trial that made it, its name, and what it
/// expects: in words, and the range that it allows.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    id: String,
    with: String,
    name: String,
    expected: String,
    sometimes: bool,
}

impl Line {
    fn read(line: &str) -> Line {
        let (line, sometimes) = line.strip_prefix(SOMETIMES).map_or((line, false), |line| (line, true));
        let fields: Vec<&str> = line.splitn(4, " | ").collect();
        let [id, with, name, expected] = fields[..] else { panic!("proofs.txt: not four fields: {line}") };
        let [id, with, name, expected] = [id, with, name, expected].map(|field| field.trim().to_owned());
        Line { id, with, name, expected, sometimes }
    }

    fn written(&self) -> String {
        let Line { id, with, name, expected, sometimes } = self;
        format!("{}{id} | {with} | {name} | {expected}\n", if *sometimes { SOMETIMES } else { "" })
    }

    /// Whether both are the same proof, whoever made it first.
    fn is(&self, seen: &Line) -> bool {
        self.id == seen.id && self.name == seen.name && fits(&self.expected, &seen.expected)
    }
}

/// Whether a text is this one, but for numbers.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once(NUMBER) else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    let number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    number.len() < rest.len() && fits(after, number)
}

/// A text whose numbers of more than four digits, which are of the round or the machine, may be
/// any.
fn without_long_numbers(text: &str) -> String {
    let is_long = |word: &&str| word.parse::<f64>().is_ok() && word.matches(|c: char| c.is_ascii_digit()).count() > 4;
    let words = text.split(' ').map(|word| if is_long(&word) { "#" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// The parameters of a trial as a line has them.
fn with(trial: &Trial) -> String {
    let words = trial.params.iter().map(String::as_str).chain(trial.one_cpu.then_some("(one CPU)"));
    match words.collect::<Vec<_>>().join(" ") {
        none if none.is_empty() => "-".to_owned(),
        some => some,
    }
}

/// The key of a fact with each number, such as that of a CPU, replaced by [`NUMBER`].
fn key(key: &str) -> String {
    let mut words = String::new();
    for c in key.chars() {
        match c.is_ascii_digit() {
            true if words.ends_with(NUMBER) => {}
            true => words.push(NUMBER),
            false => words.push(c),
        }
    }
    words
}

/// Whether every round, or every round with a work directory, tells this fact. The kind of file
/// system is kept: it shows that there was a directory.
fn is_of_the_place(key: &str) -> bool {
    key.starts_with("worker.") || (key.starts_with("work_dir.") && key != "work_dir.fs")
}

/// The proofs and facts of the rounds that ended well, each once.
fn made(trials: &[(&Trial, &Seen)]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (trial, seen) in trials {
        let output = &seen.result.output;
        let proofs = output.proofs.iter().filter(|proof| proof.name != SCALING).map(|proof| {
            let expected = if proof.name == FLOOR.0 { FLOOR.1 } else { &proof.expected };
            (proof.name.clone(), expected)
        });
        let own = output.facts.iter().filter(|fact| !is_of_the_place(&fact.key));
        let facts = own.map(|fact| (format!("{}{}", FACT.0, key(&fact.key)), FACT.1));
        for (name, expected) in proofs.chain(facts) {
            let (id, expected) = (trial.id.to_owned(), expected.to_owned());
            let line = Line { id, with: with(trial), name, expected, sometimes: false };
            if !lines.iter().any(|other| other.is(&line)) {
                lines.push(line);
            }
        }
    }
    lines
}

/// Where the table and what was made differ; writes the table anew where it is told to.
pub(crate) fn differences(tried: &[(&Trial, &Seen)]) -> Vec<String> {
    let ok: Vec<_> = tried.iter().copied().filter(|(_, seen)| seen.result.state == State::Ok).collect();
    let table: Vec<Line> = PROOFS.lines().filter(|l| !l.is_empty() && !l.starts_with("# ")).map(Line::read).collect();
    let made = made(&ok);
    let can_be_had = |line: &Line| ok.iter().any(|(trial, _)| trial.id == line.id && with(trial) == line.with);
    let lost: Vec<&Line> =
        table.iter().filter(|line| can_be_had(line) && !made.iter().any(|seen| line.is(seen))).collect();
    let new: Vec<&Line> = made.iter().filter(|seen| !table.iter().any(|line| line.is(seen))).collect();
    if std::env::var_os("GROMA_UPDATE").is_some() {
        let stays = |line: &&Line| line.sometimes || !lost.contains(line);
        let mut lines: Vec<Line> = table.iter().filter(stays).cloned().collect();
        lines.extend(new.iter().map(|line| Line { expected: without_long_numbers(&line.expected), ..(*line).clone() }));
        lines.sort_by(|a, b| a.id.cmp(&b.id));
        let comments = PROOFS.lines().filter(|line| line.starts_with("# ")).map(|line| format!("{line}\n"));
        let text: String = comments.chain(lines.iter().map(Line::written)).collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/credit/proofs.txt");
        std::fs::write(path, text).expect("writing proofs.txt");
        return Vec::new();
    }
    let lost = lost.into_iter().filter(|line| !line.sometimes);
    let mut wrong: Vec<String> =
        lost.map(|line| format!("a proof or fact is lost: {}", line.written().trim_end())).collect();
    // Other pages and other instructions make other proofs; a benchmark without a line could not be
    // had where the table was written.
    if cfg!(all(target_arch = "x86_64", target_os = "linux")) && pages::page_size() == 4096 {
        let known = |seen: &&&Line| seen.expected != FACT.1 && table.iter().any(|line| line.id == seen.id);
        wrong.extend(
            new.iter()
                .filter(known)
                .map(|line| format!("a proof that proofs.txt lacks: {}", line.written().trim_end())),
        );
    }
    wrong
}
