//! Views of a judgement of made-up hosts.

use groma_analysis::fleet::signatures::Signatures;
use groma_analysis::fleet::{Fleet, Options, judge};
use groma_model::{Fact, Quantity};

use super::{FleetReport, fleet};
use crate::fixtures::{header, record};
use crate::{Format, Style};

/// What an unfriendly host may call itself, and what it may claim to run.
const HOSTILE: &str = "</script>\u{1b}[2J|`*\u{202e}; rm -rf /";

/// Hosts with a clock and a system call; the first two are slow, one of them is hostile and
/// differs.
fn judged(hosts: usize, show: impl Fn(&FleetReport<'_>)) {
    let mut all = Fleet::default();
    for host in 0..hosts {
        let mut head = header();
        let name = if host == 1 { HOSTILE.to_owned() } else { format!("n{host}") };
        let kernel = if host == 1 { HOSTILE } else { "6.8.0" };
        head.environment.facts = [("host.name", name.as_str()), ("cpu.model", "X"), ("kernel.release", kernel)]
            .map(|(key, value)| Fact::new(key, value))
            .to_vec();
        let slow = if host < 2 { 1.5 } else { 1.0 + 0.001 * (host % 7) as f64 };
        let records = [("cpu.frequency", Quantity::Rate, 3e9 / slow), ("syscall.getppid", Quantity::Latency, 1e-7)]
            .map(|(id, quantity, value)| {
                let mut record = record(id, "", quantity, value);
                record.ci = Some([value * 0.999, value * 1.001]);
                record
            });
        all.add(&head, &records).expect("a host");
    }
    let signatures = Signatures::own();
    let options =
        Options { at_least: 0.05, signatures: signatures.clone(), references: Default::default(), past: Vec::new() };
    let judgement = judge(&all, &options);
    show(&FleetReport {
        fleet: &all,
        judgement: &judgement,
        signatures: &signatures,
        at_least: 0.05,
        has_past: true,
        notes: &[format!("{HOSTILE}.ndjson: cut off")],
        groma: "0.1.0",
    });
}

#[test]
fn every_format_names_the_suspects_and_nothing_hostile_gets_through() {
    judged(12, |report| {
        let shown = |format| {
            let style = Style::plain(80).of(format);
            fleet(report, &style).render(format, &style)
        };
        for format in Format::COMMON.into_iter().chain([Format::Drain, Format::Openmetrics]) {
            let text = shown(format);
            assert!(text.contains("n0"), "{format:?}: {text}");
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{format:?}: {text}");
        }
        let first = |format| shown(format).lines().next().map(str::to_owned);
        let answer = first(Format::Table).unwrap_or_default();
        assert!(answer.starts_with("2 of 12 hosts are suspect: "), "{answer}");
        let page = fleet(report, &Style::plain(200).of(Format::Table)).render(Format::Table, &Style::plain(200));
        assert!(page.contains("kernel.release: 6.8.0 on 11 hosts, "), "what splits comes first: {page}");
        assert!(
            page.contains("cpu.frequency 1.50 times as slow (1.49 to 1.50): 2.00 GHz, 2.99 GHz on the others"),
            "{page}"
        );
        // A name that may do harm in a shell has no line to drain it by.
        let drain = fleet(report, &Style::plain(80).of(Format::Drain)).render(Format::Drain, &Style::plain(80));
        assert_eq!(drain.lines().count(), 1, "{drain}");
        let (host, reason) = drain.trim_end().split_once(' ').expect("a name and a reason");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_.,:;()/%+=".contains(c);
        assert!(host == "n0" && reason.starts_with("groma: ") && reason.chars().all(is_plain), "{drain}");
        let html = fleet(report, &Style::plain(80).of(Format::Html)).render(Format::Html, &Style::plain(80));
        assert!(html.contains("&lt;/script&gt;") && !html.contains("<script"), "{html}");
        // A table of Markdown has as many cells in each row as in its head.
        let markdown =
            fleet(report, &Style::plain(80).of(Format::Markdown)).render(Format::Markdown, &Style::plain(80));
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        let rows: Vec<usize> = markdown.lines().filter(|line| line.starts_with('|')).map(bars).collect();
        assert!(rows.len() == 4 && rows.iter().all(|bars| *bars == 5), "{markdown}");
    });
}

#[test]
fn a_map_of_thousands_of_hosts_is_small_and_hides_no_suspect() {
    judged(3000, |report| {
        let html = fleet(report, &Style::plain(80).of(Format::Html)).render(Format::Html, &Style::plain(80));
        let rows = html.matches("<th scope=\"row\"").count();
        assert!((150..200).contains(&rows) && html.len() < 200_000, "{rows} rows, {} bytes", html.len());
        assert!(html.contains(">n0</th>") && html.contains("hosts that are well"), "rows of hosts and of bands");
        assert_eq!(html.matches("cpu.frequency: 1.50").count(), 2);
    });
}

#[test]
fn a_judgement_in_json_holds_what_was_usual() {
    judged(12, |report| {
        let text = fleet(report, &Style::plain(80).of(Format::Json)).render(Format::Json, &Style::plain(80));
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((json["counts"]["suspect"].as_u64(), json["counts"]["well"].as_u64()), (Some(2), Some(10)));
        let usual = &json["groups"][0]["metrics"][0];
        assert!(usual["key"].as_str().is_some_and(|key| key.starts_with("cpu.frequency|")), "{usual}");
        assert!((usual["value"].as_f64().expect("a number") / 2.99e9 - 1.0).abs() < 0.01, "{usual}");
        assert_eq!(json["groups"][1]["judged_by"].as_u64(), Some(0), "beside the larger group");
    });
}
