use super::*;
use crate::fixtures;
use crate::style::columns;
use groma_analysis::compare::compare as records_beside;
use groma_analysis::compare::environment::differences;
use groma_analysis::point::family;
use groma_model::{Fact, InTurns};

/// The survey again with another kernel: system calls 15 % slower, round trips 30 % faster, the
/// rest unchanged, and one metric missing.
fn other() -> (RunHeader, Vec<Record>) {
    let (mut head, mut records) = fixtures::survey();
    head.run = "20261122T090000Z-1234".to_owned();
    let release = |fact: &&mut Fact| fact.key == "kernel.release";
    head.environment.facts.iter_mut().filter(release).for_each(|fact| fact.value = "7.1.0".to_owned());
    head.noise_lost = Some(0.12);
    for record in &mut records {
        let factor = match family(&record.id) {
            "syscall" => 1.30,
            "ipc" => 0.7,
            _ => 1.0,
        };
        record.value = record.value.map(|value| value * factor);
        record.round_values.iter_mut().for_each(|value| *value *= factor);
    }
    records.retain(|record| record.id != "signal.install");
    (head, records)
}

fn text(format: Format, style: &Style) -> String {
    let (first, records) = fixtures::survey();
    let (second, others) = other();
    let none = |_: &Record| Vec::new();
    let side = Side { name: "before", head: &first, runs: 1, like: 0 };
    let compared = |name, head| Compared {
        side: Side { name, head, runs: 1, like: 0 },
        differences: differences(&first, head),
        comparison: records_beside(&records, if name == "again" { &records } else { &others }, &none),
        in_turns: false,
    };
    let mut all = vec![compared("after", &second)];
    if style.width == 81 {
        all.push(compared("again", &first));
    }
    compare(fixtures::families(), side, &all, Relative::Absolute, &style.of(format)).render(format, style)
}

#[test]
fn two_runs_at_80_and_120_columns_and_three_at_81() {
    for width in [80, 81, 120] {
        let text = text(Format::Table, &Style::plain(width));
        for line in text.lines() {
            assert!(columns(line) <= width, "{width}: {line}");
            assert_eq!(line.trim_end(), line);
        }
        insta::assert_snapshot!(format!("compare_{width}"), text);
    }
}

#[test]
fn every_metric_on_request() {
    let text = text(Format::Table, &Style { all: true, ..Style::plain(140) });
    assert!(text.contains("only in A: signal.install"), "{text}");
    insta::assert_snapshot!("compare_all", text);
}

/// One row each at 100 columns, the width of a pipe: nothing is wrapped, and a verdict is a sign
/// and a word.
#[test]
fn every_metric_is_one_row_at_100_columns() {
    let text = text(Format::Table, &Style { all: true, ..Style::plain(100) });
    assert!(text.contains("from: the smallest change that would be called"), "{text}");
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("metric")).skip(1).collect();
    let lists = rows.iter().position(|row| row.starts_with("only in ")).expect("what is not compared");
    // A line is either a name without numbers, which begins a group, or has a verdict.
    let is_verdict = |row: &str| ["▼", "▲", "=", "?", "≠"].iter().any(|sign| row.contains(&format!("  {sign} ")));
    for row in &rows[..lists] {
        assert!(is_verdict(row) || !row.contains("  "), "{row}");
    }
}

/// Half the bandwidth and twice the time count as one direction and one number.
#[test]
fn families_are_lines_of_times_in_one_direction() {
    let (head, records) = fixtures::survey();
    let mut others = records.clone();
    for record in others.iter_mut().filter(|record| family(&record.id) == "ipc") {
        let factor = if record.better == groma_model::Better::Higher { 0.5 } else { 2.0 };
        record.value = record.value.map(|value| value * factor);
        record.round_values.iter_mut().for_each(|value| *value *= factor);
    }
    let side = Side { name: "a", head: &head, runs: 1, like: 0 };
    let comparison = records_beside(&records, &others, &|_| Vec::new());
    let both = comparison.pairs.iter().filter(|pair| family(&pair.sides[0].id) == "ipc").map(|pair| pair.ratio > 1.0);
    assert!(both.clone().any(|more| more) && both.clone().any(|more| !more), "rates and times");
    let compared = [Compared { side, differences: Vec::new(), comparison, in_turns: false }];
    let text = summary::summary(fixtures::families(), side, &compared, Relative::Absolute, &Style::plain(80));
    let line = text.lines().find(|line| line.starts_with("  ipc")).expect("a line of its own");
    assert!(line.ends_with(" slower, 2.0 times"), "{line}");
}

#[test]
fn sizes_are_sorted_as_numbers() {
    let (_, mut records) = fixtures::guest();
    // In text order, as in a file with sorted lines.
    records.sort_by(|a, b| a.params_text.cmp(&b.params_text));
    let rows = lines::page_lines(fixtures::families(), &records);
    let sizes = rows.iter().flat_map(|rows| &rows.lines).filter_map(|(name, _)| name.strip_prefix("memory latency, "));
    let bytes: Vec<u64> = sizes.filter_map(|size| groma_model::parse_size(&size.replace(' ', "")).ok()).collect();
    assert!(bytes.len() > 3 && bytes.is_sorted(), "{bytes:?}");
}

#[test]
fn ratios_have_no_unit_above_them() {
    let (head, records) = fixtures::survey();
    let side = Side { name: "a", head: &head, runs: 1, like: 0 };
    let text = |relative| {
        let comparison = records_beside(&records, &records, &|_| Vec::new());
        let comparison = groma_analysis::compare::Comparison { unscaled: 147, ..comparison };
        let compared = [Compared { side, differences: Vec::new(), comparison, in_turns: false }];
        compare(fixtures::families(), side, &compared, relative, &Style::plain(80)).text(&Style::plain(80))
    };
    let relative = text(Relative::Metric("syscall.getppid (100 ns, 100 ns)"));
    assert!(!relative.contains("GB/s") && relative.contains("Bandwidth, 1 CPU, bytes in that time"), "{relative}");
    assert!(text(Relative::Absolute).contains("Bandwidth, 1 CPU, GB/s"));
    assert!(text(Relative::Cycles).contains("Not compared: 147 have no cycles"));
}

#[test]
fn ascii_is_ascii_and_colour_moves_nothing() {
    let ascii = text(Format::Table, &Style { unicode: false, ..Style::plain(120) });
    assert!(ascii.is_ascii(), "{ascii}");
    let plain = text(Format::Table, &Style::plain(120));
    let colour = text(Format::Table, &Style { colour: true, ..Style::plain(120) });
    let parts = colour.split("\x1b[").enumerate();
    let without: String =
        parts.map(|(i, part)| if i == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) }).collect();
    assert_eq!(without, plain);
}

#[test]
fn files_hold_every_metric() {
    let style = Style::plain(80);
    let json: serde_json::Value = serde_json::from_str(&text(Format::Json, &style)).expect("JSON");
    let metrics = json["others"][0]["metrics"].as_array().expect("metrics").clone();
    let csv = text(Format::Csv, &style);
    let junit = text(Format::Junit, &style);
    assert_eq!(csv.lines().count(), metrics.len() + 1);
    assert_eq!(junit.matches("<testcase ").count(), metrics.len());
    let slower = metrics.iter().filter(|metric| metric["verdict"] == "slower").count();
    assert!(slower > 3, "{slower}");
    assert_eq!(junit.matches("<failure ").count(), slower);
    assert!(junit.contains(&format!("failures=\"{slower}\"")));
    let heads = csv.lines().next().map_or(0, |line| line.split(',').count());
    assert!(csv.lines().filter(|line| !line.contains('"')).all(|line| line.split(',').count() == heads), "{csv}");
}

#[test]
fn markdown_folds_the_lines() {
    let text = text(Format::Markdown, &Style::plain(80));
    let (summary, lines) = text.split_once("<details>").expect("folded lines");
    assert!(summary.contains("slower") && lines.contains("null call (getppid)"), "{text}");
    assert_eq!(text.matches("```").count(), 4);
}

#[test]
fn changes_are_percentages_or_factors() {
    for (ratio, text) in [
        (1.0, "0 %"),
        (1.0004, "0 %"),
        (0.992, "-0.8 %"),
        (1.12, "+12 %"),
        (0.5, "-50 %"),
        (2.44, "2.4x"),
        (23.0, "23x"),
    ] {
        assert_eq!(change(ratio), text);
    }
    assert_eq!(change(f64::NAN), units::NONE);
}

#[test]
fn each_side_names_its_settings_and_commands() {
    let (first, records) = fixtures::survey();
    let turns = |command: &str, value: &str, prepared_by: &str| InTurns {
        with: "other".to_owned(),
        file: String::new(),
        command: command.to_owned(),
        set: vec![Fact::new("/sys/kernel/mm/transparent_hugepage/enabled", value)],
        prepared_by: prepared_by.to_owned(),
    };
    let heads = [turns("", "never", ""), turns("taskset -c 1", "always", "load on")]
        .map(|turns| RunHeader { in_turns: Some(turns), ..first.clone() });
    let side = |i: usize| Side { name: &heads[i].run, head: &heads[i], runs: 1, like: 0 };
    let comparison = records_beside(&records, &records, &|_| Vec::new());
    let differences = differences(&heads[0], &heads[1]);
    let others = [Compared { side: side(1), differences, comparison, in_turns: true }];
    let text = summary::summary(fixtures::families(), side(0), &others, Relative::Absolute, &Style::plain(100));
    insta::assert_snapshot!("sides_of_two_states", text);
}

#[test]
fn text_cannot_end_an_xml_attribute() {
    let (head, mut records) = fixtures::survey();
    records.truncate(1);
    records[0].params_text = "command=\"><evil/>&\u{1b}[2J\n".to_owned();
    let side = Side { name: "a", head: &head, runs: 1, like: 0 };
    let comparison = records_beside(&records, &records, &|_| Vec::new());
    let compared = Compared { side, differences: Vec::new(), comparison, in_turns: false };
    let text = files::junit(side, &[compared]);
    assert!(!text.contains("<evil") && !text.contains('\u{1b}'), "{text}");
}

/// Others' load and a quota of its own differ apart from each other.
#[test]
fn a_quota_of_its_own_is_not_what_others_took() {
    let (first, records) = fixtures::survey();
    let limit = groma_model::CpuLimit { cpus: Some(0.1), held_back: 0.9 };
    let second = RunHeader { cpu_limit: Some(limit), ..first.clone() };
    let side = |head| Side { name: "a", head, runs: 1, like: 0 };
    let comparison = records_beside(&records, &records, &|_| Vec::new());
    let others = [Compared { side: side(&second), differences: Vec::new(), comparison, in_turns: false }];
    let text = summary::summary(fixtures::families(), side(&first), &others, Relative::Absolute, &Style::plain(200));
    assert!(text.contains("a CPU quota of its own held it back for 0 % → 90 % of the time"), "{text}");
    assert!(!text.contains("others took"), "{text}");
}
