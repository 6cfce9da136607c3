//! The files of a site: whole, linked, and saying what is known.

use std::collections::BTreeMap;

use groma_model::{Fact, Record, RunHeader};

use super::*;
use crate::fixtures::{end, families, survey};

type Files = BTreeMap<String, String>;

fn site(runs: &[(RunHeader, Vec<Record>)], host_names: bool, printed: Vec<PrintedSystem>) -> Files {
    let options = SiteOptions { families: families(), catalogue: &[], host_names, title: "Machines" };
    let preparation = Preparation::new(&options);
    let mut site = Site::new(options);
    for (head, records) in runs {
        let end = end(records);
        let run = SiteRun { head, records, end: Some(&end), is_reference: false };
        assert!(site.add(preparation.prepare(&run)));
        assert!(!site.add(preparation.prepare(&run)), "a run is there once");
    }
    printed.into_iter().for_each(|system| site.add_printed(system));
    let mut files = Files::new();
    let pages = site.pages();
    for (path, content) in pages.parts().into_iter().flat_map(|part| pages.files(part)) {
        let text = String::from_utf8(content).expect("text");
        assert!(files.insert(path.clone(), text).is_none(), "{path} is made twice");
    }
    files
}

/// A run of this host on this day, its values times a factor.
fn run(host: &str, day: u32, factor: f64) -> (RunHeader, Vec<Record>) {
    let (mut head, mut records) = survey();
    head.run = format!("202611{day:02}T000000Z-{}", prepare::short(host));
    head.started = format!("2026-11-{day:02}T00:00:00Z");
    head.environment.facts.retain(|fact| fact.key != "host.name");
    head.environment.facts.push(Fact::new("host.name", host));
    for record in &mut records {
        let scaled = |value: f64| value * factor;
        record.value = record.value.map(scaled);
        record.ci_display = record.ci_display.map(|ends| ends.map(scaled));
        record.ci = record.ci.map(|ends| ends.map(scaled));
    }
    (head, records)
}

#[test]
fn the_order_of_the_runs_changes_nothing() {
    let mut runs: Vec<_> =
        [("a", 1), ("b", 2), ("a", 3), ("a", 5), ("b", 4)].map(|(host, day)| run(host, day, f64::from(day))).into();
    // One has a metric less, so that another is the first to have it.
    runs[0].1.remove(0);
    let expected = site(&runs, false, Vec::new());
    for _ in 0..runs.len() {
        runs.rotate_left(1);
        assert!(site(&runs, false, Vec::new()) == expected);
    }
    runs.reverse();
    assert!(site(&runs, false, Vec::new()) == expected);
}

fn null_call() -> Record {
    let (_, records) = survey();
    records.into_iter().find(|record| record.id == "syscall.getppid").expect("it is on the pages")
}

fn printed(value: f64) -> PrintedSystem {
    PrintedSystem {
        key: ["lmbench1996".to_owned(), "Linux/i586".to_owned()],
        os: "Linux 1.3.28".to_owned(),
        year: 1995,
        hz: Some(120e6),
        title: "a document".to_owned(),
        values: vec![Printed {
            of: PrintedOf::Metric(Box::new(null_call())),
            value,
            source: "lmbench1996 table7".to_owned(),
            differs: "a write to /dev/null".to_owned(),
        }],
    }
}

/// The values of an attribute in a page.
fn attributes<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    text.split(&format!(" {name}=\"")).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_place_in_it() {
    let files = site(&[run("a", 1, 1.0), run("b", 2, 1.5), run("b", 3, 1.5)], false, vec![printed(2e-6)]);
    let mut links = 0;
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".html")) {
        assert!(!text.contains("http://") && !text.contains("https://"), "{path} leads outside");
        for link in attributes(text, "href").into_iter().chain(attributes(text, "src")) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = match (file, path.split_once('/')) {
                ("", _) => path.clone(),
                (file, Some((folder, _))) => file.strip_prefix("../").map_or(format!("{folder}/{file}"), str::to_owned),
                (file, None) => file.to_owned(),
            };
            let found = files.get(&target).unwrap_or_else(|| panic!("{path}: {link} leads nowhere"));
            // What `beside.html` shows is in its address, not in the page.
            let is_place = place.is_empty() || target == "beside.html" || found.contains(&format!("id=\"{place}\""));
            assert!(is_place, "{path}: {link}: no such place");
            links += 1;
        }
    }
    assert!(links > 200, "{links} links");
    for needed in [
        "index.html",
        "years.html",
        "beside.html",
        "metrics/syscall.getppid.html",
        "metrics/syscall.getppid-1.svg",
        "data/index.js",
    ] {
        assert!(files.contains_key(needed), "no {needed}");
    }
}

#[test]
fn host_names_are_told_only_if_asked_for() {
    let runs = [run("secret-host", 1, 1.0), run("other-host", 2, 1.0)];
    let told = |host_names| {
        site(&runs, host_names, Vec::new())
            .iter()
            .any(|(path, text)| path.contains("secret") || text.contains("secret"))
    };
    assert!(!told(false), "the name of a host is on a page");
    assert!(told(true));
}

#[test]
fn names_of_machines_cannot_become_markup() {
    let hostile = "</script><img src=x onerror=alert(1)>\"'\u{1b}[2J";
    let (mut head, records) = run(hostile, 1, 1.0);
    for fact in &mut head.environment.facts {
        if ["cpu.model", "kernel.release", "virt.hypervisor"].contains(&fact.key.as_str()) {
            fact.value = hostile.to_owned();
        }
    }
    for (path, text) in site(&[(head, records), run("b", 2, 1.0)], true, Vec::new()) {
        // In a CSV it is a text.
        assert!(path.ends_with(".csv") || !text.contains("<img") && !text.contains('\u{1b}'), "{path}");
        assert!(path.split('/').all(|part| !part.is_empty() && part != ".."), "{path}");
    }
}

#[test]
fn thirty_years_say_how_many_times_and_from_whom() {
    let own = null_call().value.expect("it has a value");
    let files = site(&[run("a", 1, 1.0), run("b", 2, 1.0), run("c", 3, 1.0)], false, vec![printed(own * 50.0)]);
    let page = &files["years.html"];
    assert!(page.contains("About a hundred times faster") && page.contains("<b>50</b>"), "{page}");
    assert!(page.contains("lmbench1996 table7 ≠") && page.contains("a write to /dev/null"), "{page}");
    assert!(page.contains("1995 Linux/i586"), "no point of the printed machine");
    // In cycles of its 120 MHz.
    assert!(page.contains(&crate::units::bare_cycles(own * 50.0 * 120e6)), "{page}");
}

#[test]
fn another_definition_stands_apart() {
    let (head, mut records) = run("old", 1, 1.0);
    records.iter_mut().for_each(|record| record.version += 1);
    let newer = (head, records);
    let own = null_call().value.expect("it has a value");
    let files = site(&[newer, run("b", 2, 3.0)], false, vec![printed(own * 50.0)]);
    let page = &files["metrics/syscall.getppid.html"];
    assert!(page.contains("older definition"), "{page}");
    // The older machine is neither among those of now, nor on the axis of years.
    let years = &files["years.html"];
    assert!(!years.contains(&digits(own * 3.0)), "{years}");
}

#[test]
fn what_lies_outside_of_its_kin_and_what_changed_is_named() {
    let mut runs: Vec<_> = ["a", "b", "c"].into_iter().map(|host| run(host, 1, 1.0)).collect();
    runs.push(run("slow", 1, 2.0));
    let files = site(&runs, true, Vec::new());
    let page = |files: &Files, host: &str| {
        let found = files
            .iter()
            .find(|(path, text)| path.starts_with("machines/") && text.contains(&format!("<h1>{host}</h1>")));
        found.map(|(_, text)| text.clone()).unwrap_or_else(|| panic!("no page of {host}"))
    };
    assert!(page(&files, "slow").contains("2.00 ×"));
    assert!(page(&files, "a").contains("every value lies within their range"), "{}", page(&files, "a"));
    // Twelve runs of one machine, slower from the seventh on.
    let history: Vec<_> = (1..=12)
        .map(|day| run("d", day, (if day < 7 { 1.0 } else { 1.3 }) * (1.0 + f64::from(day % 3) / 1000.0)))
        .collect();
    let text = page(&site(&history, true, Vec::new()), "d");
    assert!(text.contains("since 2026-11-07 ") && text.contains("% worse"), "{text}");
}
