//! The proofs that each benchmark makes, how strict they are, and the facts that it tells, written
//! down a second time.
//!
//! A proof that is no longer made, or that allows more than before, breaks nothing: all others
//! hold. A proof or fact is therefore either demanded by a rule (`rules.rs`) or has a line in
//! `proofs.txt`, with what the proof expects, the range that it allows, and the parameters of the
//! first round that made it. It must be there wherever a round with these parameters ends well.
//! The value of a fact is not compared, and a fact without a line is no error: another machine may
//! have it.
//!
//! [`UPDATE`] rewrites the file. It runs all rounds three times, drops a line that no round makes
//! any more, and marks as [`SOMETIMES`] what is new and not made each time.

use crate::rules::{BASE, FACT, ONCE, RULES, Round, TOLD, WORK};
use crate::trial::{Outcome, Trial, bench};
use crate::units::Unit;
use groma_harness::model::State;
use groma_harness::sys::pages;
use std::collections::BTreeSet;
use std::path::Path;

/// The table.
const PROOFS: &str = include_str!("proofs.txt");
/// The variable that asks for a new table.
const UPDATE: &str = "GROMA_UPDATE";
/// What a comment of the table begins with.
const COMMENT: char = '#';
/// What to do about a difference.
const HINT: &str = "If this is intended: `.ci/update` rewrites crates/benches/tests/credit/proofs.txt; read the \
     difference, a line that vanishes is a lost proof or fact. The exceptions from a rule are in rules.rs beside it.";
/// The mark of a line whose proof or facts depend on the machine or its state.
const SOMETIMES: &str = "? ";
/// Stands for any number.
const NUMBER: char = '#';
/// The third field of a line with the keys of facts.
const FACTS: &str = "facts";
/// What separates the benchmarks of a line.
const AND: &str = ", ";
/// The proof whose expectation goes on with the loop that came closest, and the cost of the clock.
const FLOOR: &str = "measured time / minimum possible time";
/// The proof that the harness makes of every loop, unless all attempts were disturbed.
const SCALING: &str = "time of 2k iterations over time of k";
/// Benchmarks that could not run where the table was written, or not on a machine whose CPUs are
/// never idle, and whose proofs it lacks.
const UNKNOWN: [&str; 8] = [
    "clock.offset",
    "cpu.energy",
    "cpu.idle_state",
    "mem.dram_page",
    "mem.numa",
    "vm.fault_folio",
    "vm.fault_hugetlb",
    "vm.swap",
];

/// A proof or fact of a benchmark.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    id: String,
    /// The parameters of the first round that made it, where they differ from those of the
    /// benchmark's first round.
    with: String,
    /// The proof's name, or [`FACT`] and a key.
    name: String,
    /// What the proof expects in words, and the range that it allows; [`TOLD`] for a fact.
    expected: String,
    sometimes: bool,
}

impl Line {
    /// The proofs or facts of a line of the table.
    fn read(line: &str) -> Vec<Line> {
        let (line, sometimes) = line.strip_prefix(SOMETIMES).map_or((line, false), |line| (line, true));
        let fields: Vec<&str> = line.splitn(4, " | ").collect();
        let [ids, with, name, expected] = fields[..] else { panic!("proofs.txt: not four fields: {line}") };
        let of = |id: &str, name: &str, expected: &str| {
            let [id, with, name, expected] = [id, with, name, expected].map(str::to_owned);
            Line { id, with, name, expected, sometimes }
        };
        let keys = || expected.split(' ').map(|key| format!("{FACT}{key}"));
        let read = |id: &str| match name {
            FACTS => keys().map(|fact| of(id, &fact, TOLD)).collect(),
            _ => vec![of(id, name, expected)],
        };
        ids.split(AND).flat_map(read).collect()
    }

    /// Whether both are the same proof or fact, whichever round made it first.
    fn is(&self, seen: &Line) -> bool {
        let is_name = || self.name == seen.name || (self.name == WORK && seen.name.ends_with(WORK));
        self.id == seen.id && is_name() && fits(&self.expected, &seen.expected)
    }

    /// Whether it proves that the work credited was done.
    fn is_work(&self) -> bool {
        self.name.ends_with(WORK) && self.expected == ONCE
    }

    /// The line in an error message.
    fn finding(&self, what: &str) -> String {
        let name = if self.name == WORK { format!("...{WORK}") } else { self.name.clone() };
        format!("{} {}: {what}: {name} | {}", self.id, self.with, self.expected)
    }
}

/// Whether a text is this one, but for numbers.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once(NUMBER) else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    let number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    number.len() < rest.len() && fits(after, number)
}

/// A text without its numbers of more than four digits, which belong to the round or the machine.
fn without_long_numbers(text: &str) -> String {
    let is_long = |word: &&str| word.parse::<f64>().is_ok() && word.matches(|c: char| c.is_ascii_digit()).count() > 4;
    let words = text.split(' ').map(|word| if is_long(&word) { "#" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// The key of a fact with [`NUMBER`] for each number and for the names of interrupts.
fn key(key: &str) -> String {
    const INTERRUPTS: &str = "interrupts.";
    if key.starts_with(INTERRUPTS) {
        return format!("{INTERRUPTS}{NUMBER}");
    }
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

/// Whether the worker tells this fact in every round, or in every one with a work directory. The
/// kind of file system is kept: it shows that there was a directory.
fn is_of_the_worker(key: &str) -> bool {
    key.starts_with("worker.") || (key.starts_with("work_dir.") && key != "work_dir.fs")
}

/// The parameters of a round that differ from those of the benchmark's first round.
fn with(trial: &Trial, units: &[Unit]) -> String {
    let base = units.iter().find(|unit| unit.id == trial.id).map(|unit| unit.base().params).unwrap_or_default();
    let own = trial.params.iter().filter(|param| !base.contains(param)).map(String::as_str);
    match own.chain(trial.one_cpu.then_some("(one CPU)")).collect::<Vec<_>>().join(" ") {
        none if none.is_empty() => BASE.to_owned(),
        some => some,
    }
}

impl Round<'_> {
    fn line(&self, name: &str, expected: &str) -> Line {
        let [name, expected] = [name, expected].map(str::to_owned);
        Line { id: self.info.id.to_owned(), with: self.with.clone(), name, expected, sometimes: false }
    }

    /// What it proved and told.
    fn proofs_and_facts(&self) -> Vec<Line> {
        let output = &self.outcome.result.output;
        let proofs = output.proofs.iter().filter(|proof| proof.name != SCALING).map(|proof| {
            let expected = if proof.name == FLOOR { proof.expected.split(" (").next() } else { None };
            self.line(&proof.name, expected.unwrap_or(&proof.expected))
        });
        let facts = output.facts.iter().filter(|fact| !is_of_the_worker(&fact.key));
        proofs.chain(facts.map(|fact| self.line(&format!("{FACT}{}", key(&fact.key)), TOLD))).collect()
    }

    /// What the rules demand of it.
    fn demanded_lines(&self) -> Vec<Line> {
        let rules = RULES.iter().filter(|rule| (rule.applies)(self));
        rules.map(|rule| self.line(rule.name, rule.expected)).collect()
    }
}

/// Adds those lines that are not there yet.
fn add(lines: &mut Vec<Line>, more: impl IntoIterator<Item = Line>) {
    for line in more {
        if !lines.iter().any(|other| other.is(&line)) {
            lines.push(line);
        }
    }
}

/// What the rounds made, against what was written down.
struct Comparison<'a> {
    rounds: &'a [Round<'a>],
    /// What each round made.
    made_by: Vec<Vec<Line>>,
    table: Vec<Line>,
    /// What all rounds made, each once.
    made: Vec<Line>,
    /// What the rules demand of any round, each once.
    demanded: Vec<Line>,
}

impl Comparison<'_> {
    fn of<'a>(rounds: &'a [Round<'a>], table: &str) -> Comparison<'a> {
        let table = table.lines().filter(|line| !line.is_empty() && !line.starts_with(COMMENT));
        let (mut made, mut demanded) = (Vec::new(), Vec::new());
        let made_by: Vec<_> = rounds.iter().map(Round::proofs_and_facts).collect();
        for (round, made_by) in rounds.iter().zip(&made_by) {
            add(&mut made, made_by.iter().cloned());
            add(&mut demanded, round.demanded_lines());
        }
        Comparison { rounds, made_by, table: table.flat_map(Line::read).collect(), made, demanded }
    }

    /// What the rules demand of a round and it did not make.
    fn broken_rules(&self) -> BTreeSet<String> {
        let rounds = self.rounds.iter().zip(&self.made_by);
        let lost = rounds.flat_map(|(round, made)| {
            round.demanded_lines().into_iter().filter(|line| !made.iter().any(|seen| line.is(seen)))
        });
        lost.map(|line| line.finding("lost, and a rule demands it")).collect()
    }

    /// Whether rules demand what was made. Where a benchmark proves the work of several loops, none
    /// of these proofs is the one that is demanded: each has a line.
    fn is_demanded(&self, line: &Line) -> bool {
        let is_other_work = |other: &Line| other.id == line.id && other.is_work() && other.name != line.name;
        let several = line.is_work() && self.table.iter().chain(&self.made).any(is_other_work);
        !several && self.demanded.iter().any(|demanded| demanded.is(line))
    }

    /// The lines of the table that no round made, although one could have.
    fn lost(&self) -> impl Iterator<Item = &Line> {
        let could = |line: &Line| self.rounds.iter().any(|round| round.info.id == line.id && round.with == line.with);
        self.table.iter().filter(move |line| could(line) && !self.made.iter().any(|seen| line.is(seen)))
    }

    /// What was made and is neither demanded nor in the table.
    fn unlisted_lines(&self) -> impl Iterator<Item = &Line> {
        let known = |seen: &Line| self.is_demanded(seen) || self.table.iter().any(|line| line.is(seen));
        self.made.iter().filter(move |seen| !known(seen) && !UNKNOWN.contains(&seen.id.as_str()))
    }

    /// Whether each round with the parameters of a line made it.
    fn is_made_each_time(&self, line: &Line) -> bool {
        let rounds = self.rounds.iter().zip(&self.made_by);
        let mut same = rounds.filter(|(round, _)| round.info.id == line.id && round.with == line.with);
        same.all(|(_, made)| made.iter().any(|seen| line.is(seen)))
    }

    /// The table as it should be.
    fn updated_lines(&self) -> Vec<Line> {
        let lost: Vec<&Line> = self.lost().filter(|line| !line.sometimes && is_where_written()).collect();
        let stays = |line: &&Line| !lost.contains(line) && !self.is_demanded(line);
        let mut lines: Vec<Line> = self.table.iter().filter(stays).cloned().collect();
        lines.extend(self.unlisted_lines().map(|line| Line {
            expected: without_long_numbers(&line.expected),
            sometimes: !is_where_written() || !self.is_made_each_time(line),
            ..line.clone()
        }));
        lines.sort_by(|a, b| a.id.cmp(&b.id));
        lines
    }
}

/// Whether this is a machine like those that the table was written on. Other pages and other
/// instructions make other proofs.
fn is_where_written() -> bool {
    cfg!(all(target_arch = "x86_64", target_os = "linux")) && pages::page_size() == 4096
}

/// Lines as text: the facts of a benchmark in one line, then benchmarks with equal lines in one.
fn format_lines(lines: &[Line]) -> String {
    let mut whole: Vec<Line> = Vec::new();
    for line in lines {
        let Some(key) = line.name.strip_prefix(FACT) else {
            whole.push(line.clone());
            continue;
        };
        let is_same = |other: &Line| {
            other.name == FACTS && (&other.id, &other.with, other.sometimes) == (&line.id, &line.with, line.sometimes)
        };
        match whole.iter_mut().find(|other| is_same(other)) {
            Some(facts) => facts.expected = format!("{} {key}", facts.expected),
            None => whole.push(Line { name: FACTS.to_owned(), expected: key.to_owned(), ..line.clone() }),
        }
    }
    let mut shared: Vec<Line> = Vec::new();
    for line in whole {
        match shared.iter_mut().find(|other| Line { id: line.id.clone(), ..(**other).clone() } == line) {
            Some(other) => other.id = format!("{}{AND}{}", other.id, line.id),
            None => shared.push(line),
        }
    }
    let text = shared.iter().map(|Line { id, with, name, expected, sometimes }| {
        format!("{}{id} | {with} | {name} | {expected}\n", if *sometimes { SOMETIMES } else { "" })
    });
    text.collect()
}

/// Whether the table is to be rewritten.
pub(crate) fn is_update() -> bool {
    std::env::var_os(UPDATE).is_some()
}

/// How the rounds differ from the rules and the table; writes the table anew where that was asked
/// for.
pub(crate) fn differences(units: &[Unit], tried: &[(&Trial, &Outcome)]) -> Vec<String> {
    let ended_well = |outcome: &Outcome| outcome.result.state == State::Ok && outcome.has_values();
    let rounds = tried.iter().filter(|(_, outcome)| ended_well(outcome)).map(|(trial, outcome)| Round {
        info: &bench(trial.id).info,
        trial,
        outcome,
        with: with(trial, units),
    });
    let rounds: Vec<Round> = rounds.collect();
    let comparison = Comparison::of(&rounds, PROOFS);
    let mut wrong: Vec<String> = comparison.broken_rules().into_iter().collect();
    if is_update() {
        let comments = PROOFS.lines().filter(|line| line.starts_with(COMMENT)).map(|line| format!("{line}\n"));
        let text = comments.collect::<String>() + &format_lines(&comparison.updated_lines());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/credit/proofs.txt");
        std::fs::write(path, &text).expect("writing proofs.txt");
        if text != PROOFS {
            println!("proofs.txt has changed: read `git diff`. A line that vanishes is a lost proof or fact.");
        }
        return wrong;
    }
    wrong.extend(comparison.lost().filter(|line| !line.sometimes).map(|line| line.finding("lost")));
    if is_where_written() {
        let proofs = comparison.unlisted_lines().filter(|line| line.expected != TOLD);
        wrong.extend(proofs.map(|line| line.finding("not in proofs.txt")));
    }
    if !wrong.is_empty() {
        wrong.push(HINT.to_owned());
    }
    wrong
}
