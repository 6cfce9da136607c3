//! Checks the text with an independent strict parser: names, labels, escapes, order, end.

use super::*;
use crate::fixtures;
use std::collections::{BTreeMap, BTreeSet};

/// The metadata of a family, and its samples by labels.
#[derive(Default)]
struct Family {
    kind: String,
    unit: String,
    help: String,
    samples: Vec<(BTreeMap<String, String>, f64)>,
}

/// Parses the text; panics where it is not valid OpenMetrics or Prometheus text.
fn parse(text: &str) -> BTreeMap<String, Family> {
    let body = text.strip_suffix("# EOF\n").expect("the end is marked");
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in body.lines() {
        if let Some(described) = line.strip_prefix("# ") {
            let mut words = described.splitn(3, ' ');
            let [what, name, rest] = [0; 3].map(|_| words.next().expect("three words"));
            assert!(is_name(name, true), "{line}");
            if what == "TYPE" {
                assert!(!families.contains_key(name), "{name} is there twice");
                current = name.to_owned();
                families.entry(current.clone()).or_default().kind = rest.to_owned();
                continue;
            }
            assert_eq!(name, current, "{line}: a family is not interrupted");
            let family = families.get_mut(name).expect("its type comes first");
            assert!(family.samples.is_empty(), "{line}: behind its samples");
            match what {
                "UNIT" => family.unit = rest.to_owned(),
                "HELP" => family.help = unescaped(rest),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (name, rest) = line.split_once('{').expect("labels");
        assert_eq!(name, current, "{line}: a gauge has the name of its family");
        let (pairs, value) = rest.rsplit_once("} ").expect("a value");
        let value: f64 = value.parse().expect("a number, and no timestamp");
        families.get_mut(name).expect("it is described").samples.push((pairs_of(pairs), value));
    }
    families
}

fn is_name(name: &str, colon: bool) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colon && c == ':');
    name.chars().all(fits) && !name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty()
}

/// A text without its escapes; a quote must be escaped.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some(c @ ('\\' | '"')) => out.push(c),
                other => panic!("{text}: escape of {other:?}"),
            },
            '"' => panic!("{text}: a bare quote"),
            c => out.push(c),
        }
    }
    out
}

fn pairs_of(mut text: &str) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"").expect("a label");
        assert!(is_name(name, false), "{name}");
        let mut escaped = false;
        let end = rest.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let (value, behind) = rest.split_at(end.expect("the value ends"));
        assert!(pairs.insert(name.to_owned(), unescaped(value)).is_none(), "{name} is there twice");
        text = behind[1..].strip_prefix(',').unwrap_or(&behind[1..]);
    }
    pairs
}

#[test]
fn a_strict_parser_finds_every_record() {
    let (head, records) = (fixtures::header(), fixtures::records());
    let families = parse(&openmetrics(&[(&head, &records)]));
    assert_eq!(families["groma_record_state"].samples.len(), records.len());
    for (name, family) in &families {
        assert_eq!(family.kind, "gauge", "{name}");
        assert!(name.ends_with(&family.unit) && !family.help.is_empty(), "{name}");
        let labels: BTreeSet<_> = family.samples.iter().map(|(labels, _)| labels).collect();
        assert_eq!(labels.len(), family.samples.len(), "{name}: two samples have the same labels");
    }
    for record in &records {
        let name = format!("groma_{}_{}", record.id.replace('.', "_"), unit(record.unit));
        let family = |name: &str| families.get(name).map_or(&[][..], |family| &family.samples[..]);
        let of = |samples: &[(BTreeMap<String, String>, f64)]| {
            let is_it = |labels: &BTreeMap<String, String>| {
                labels["id"] == record.id
                    && labels["params"] == record.params.to_string()
                    && labels["placement"] == record.placement.to_string()
                    && labels["workers"] == record.workers.to_string()
                    && labels["host"] == "node17"
            };
            samples.iter().find(|(labels, _)| is_it(labels)).map(|(_, value)| *value)
        };
        assert_eq!(of(family(&name)), record.value, "{name}");
        let low = name.replace("_seconds", "_ci_low_seconds");
        if record.unit == Unit::Seconds {
            assert_eq!(of(family(&low)), record.ci.map(|ci| ci[0]), "{low}");
        }
    }
    assert_eq!(families["groma_run_start_time_seconds"].samples[0].1, 1_795_246_692.0);
}

#[test]
fn labels_and_help_survive_any_text() {
    let mut head = fixtures::header();
    let mut record = fixtures::records().remove(0);
    head.environment.facts[0].value = "a\\b\"c\nd}".to_owned();
    record.summary = "says \"no\" \\ and\nleaves".to_owned();
    let families = parse(&openmetrics(&[(&head, &[record])]));
    let (labels, _) = &families["groma_record_state"].samples[0];
    assert_eq!(labels["host"], "a\\b\"c d}");
    assert_eq!(families["groma_clock_read_seconds"].help, "says 'no' \\ and leaves");
}

#[test]
fn ids_that_become_one_name_are_one_family() {
    let head = fixtures::header();
    let mut records = fixtures::records();
    records.truncate(2);
    (records[0].id, records[1].id) = ("a.b_c".to_owned(), "a_b.c".to_owned());
    let families = parse(&openmetrics(&[(&head, &records)]));
    assert_eq!(families["groma_a_b_c_seconds"].samples.len(), 2);
}

#[test]
fn the_text_has_this_form() {
    let records: Vec<Record> = fixtures::records().into_iter().filter(|r| r.id.starts_with("ipc.pipe_rtt")).collect();
    insta::assert_snapshot!(openmetrics(&[(&fixtures::header(), &records[..2])]));
}
