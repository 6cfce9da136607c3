use super::*;
use crate::fixtures;
use crate::paper::tests::{paper, table};
use groma_analysis::compare::{compare, environment::differences};
use groma_model::{Derivation, Fact, Metric, is_metric_of};
use sha2::{Digest, Sha256};

const HOSTILE: &str =
    "</td></script><script>alert('x')</script><img src=x onerror=alert(1)>\" onload=\"&\u{1b}[2J\u{202e}";

/// Runs with their points and rounds.
struct Runs(Vec<Whole>);

/// A run with its points and rounds.
type Whole = (RunHeader, Vec<Record>, Vec<Point>, Vec<Vec<Round>>, End);

impl Runs {
    fn of(runs: Vec<(RunHeader, Vec<Record>)>) -> Runs {
        let point = |record: &Record| {
            let derivation = Derivation::Series(String::new());
            let Record { id, summary, quantity, better, detail, .. } = record.clone();
            let metrics = vec![Metric { id: id.clone(), summary, quantity, better, derivation, detail }];
            let is_of = |bench: &&str| is_metric_of(&id, bench);
            let benches = groma_benches::all();
            let bench = benches.iter().map(|bench| bench.info.id).filter(is_of).max_by_key(|bench| bench.len());
            Point { metrics, params: record.params.clone(), ..fixtures::point(bench.unwrap_or(&id)) }
        };
        let whole = |(head, records): (RunHeader, Vec<Record>)| {
            let points = records.iter().map(point).collect();
            let rounds = records.iter().map(|record| record.round_samples.clone().unwrap_or_default()).collect();
            let end = fixtures::end(&records);
            (head, records, points, rounds, end)
        };
        Runs(runs.into_iter().map(whole).collect())
    }

    fn html(&self) -> String {
        self.with(Papers::default())
    }

    fn with(&self, papers: Papers<'_>) -> String {
        let runs: Vec<ReportRun<'_>> = self
            .0
            .iter()
            .map(|(head, records, points, rounds, end)| ReportRun { head, points, rounds, records, end: Some(end) })
            .collect();
        let side = |run: &ReportRun<'_>| Side { name: "a", head: self.head(run), runs: 1, like: 0 };
        let none = |_: &Record| Vec::new();
        let beside = |run: &ReportRun<'_>| Compared {
            side: side(run),
            differences: differences(runs[0].head, run.head),
            comparison: compare(self.records(&runs[0]), self.records(run), &none),
            in_turns: false,
        };
        let others: Vec<Compared<'_>> = runs[1..].iter().map(beside).collect();
        let benches = groma_benches::all();
        let catalogue: Vec<&Info> = benches.iter().map(|bench| &bench.info).collect();
        html(&Report {
            families: fixtures::families(),
            catalogue: &catalogue,
            words: &[("ok".to_owned(), "it is".to_owned()), ("drift".to_owned(), HOSTILE.to_owned())],
            runs: &runs,
            compared: (runs.len() > 1).then_some((side(&runs[0]), &others)),
            papers,
            program: "groma",
        })
    }

    /// The parts of a run, which live as long as all runs.
    fn head(&self, run: &ReportRun<'_>) -> &RunHeader {
        &self.0.iter().find(|own| own.0.run == run.head.run).expect("one of these").0
    }

    fn records(&self, run: &ReportRun<'_>) -> &[Record] {
        &self.0.iter().find(|own| own.0.run == run.head.run).expect("one of these").1
    }
}

fn survey() -> Vec<(RunHeader, Vec<Record>)> {
    let (head, mut records) = fixtures::survey();
    records.push(fixtures::sampled());
    vec![(head, records)]
}

/// The same machine twice more, once with a slower kernel, and a machine with many CPUs.
fn three() -> Vec<(RunHeader, Vec<Record>)> {
    let mut all = survey();
    let (mut head, mut records) = all[0].clone();
    head.run = "20261122T090000Z-1234".to_owned();
    head.environment.facts.push(Fact::new("kernel.hz", "1000"));
    for record in &mut records {
        record.value = record.value.map(|value| value * 1.6);
        record.round_values.iter_mut().for_each(|value| *value *= 1.6);
    }
    all.push((head, records));
    let (mut head, records) = fixtures::two_caches();
    head.run = "20261123T090000Z-1234".to_owned();
    all.push((head, records));
    all
}

/// The tags of a document in order: `a`, `/a`. Panics at an unclosed one.
fn tags(html: &str) -> Vec<&str> {
    // Script and style contain text only.
    let mut rest = html;
    let mut tags = Vec::new();
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        tags.push(tag);
        rest = &rest[end + 1..];
        for raw in ["script", "style"] {
            if tag.split(' ').next() == Some(raw) {
                rest = &rest[rest.find(&format!("</{raw}>")).expect("its end")..];
            }
        }
    }
    tags
}

/// Asserts that every element is closed by its own end tag, that ids are unique, and that every
/// link has a target.
fn is_sound(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let (mut ids, mut links) = (Vec::new(), Vec::new());
    for tag in tags(html) {
        let name = tag.split(' ').next().unwrap_or(tag);
        let attribute = |name: &str| Some(tag.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0);
        ids.extend(attribute("id"));
        links.extend(attribute("href"));
        match name.strip_prefix('/') {
            Some(end) => assert_eq!(open.pop(), Some(end), "{tag}"),
            None if tag.ends_with('/') || ["!doctype", "meta", "input"].contains(&name) => {}
            None => open.push(name),
        }
    }
    assert_eq!(open, [""; 0]);
    let all: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(all.len(), ids.len(), "an id is there twice");
    assert!(links.len() > 100, "{links:?}");
    for link in links {
        let to = link.strip_prefix('#').unwrap_or_else(|| panic!("{link} leaves the file"));
        assert!(all.contains(to), "nothing is at {link}");
    }
}

#[test]
fn documents_are_sound_and_hold_every_value() {
    for runs in [survey(), three()] {
        let n = runs.len();
        let all = Runs::of(runs);
        let html = all.html();
        is_sound(&html);
        let rows = html.matches("<tr id=\"m").count();
        let mut identities: Vec<String> =
            all.0.iter().flat_map(|run| &run.1).map(groma_analysis::compare::identity).collect();
        identities.sort();
        identities.dedup();
        assert_eq!(rows, identities.len());
        for text in ["null call (getppid)", "Caches and memory", "Round trips", "with those of curves"] {
            assert!(html.contains(text), "{text}");
        }
        assert_eq!(html.contains("B beside A"), n > 1);
        // A slower metric is mentioned and marked.
        assert_eq!(html.contains("n slower"), n > 1);
        assert_eq!(html.contains("<tr class=\"differs\"><th scope=\"row\">kernel.hz"), n > 1);
        // The matrix of the machine with many CPUs is a table.
        assert_eq!(html.contains("<table class=\"matrix"), n > 1);
        assert!(html.len() < 3_000_000, "{}", html.len());
    }
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let html = Runs::of(three()).html();
    for tag in tags(&html) {
        for attribute in [" src=", " srcset=", " xlink:href=", " action=", " data=", " poster="] {
            assert!(!tag.contains(attribute), "{tag}");
        }
        assert!(!tag.starts_with("link") && !tag.starts_with("iframe") && !tag.starts_with("img"), "{tag}");
    }
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    for word in ["fetch", "XMLHttpRequest", "WebSocket", "sendBeacon", "import(", "innerHTML", "eval("] {
        assert!(!SCRIPT.contains(word), "{word}");
    }
}

#[test]
fn text_from_outside_is_text() {
    let mut runs = three();
    for (head, records) in &mut runs {
        head.run += HOSTILE;
        head.started += HOSTILE;
        head.groma += HOSTILE;
        head.args.push(HOSTILE.to_owned());
        head.environment.facts.iter_mut().for_each(|fact| fact.value += HOSTILE);
        head.environment.facts.push(Fact::new(HOSTILE, HOSTILE));
        for record in records {
            record.reason += HOSTILE;
            record.summary += HOSTILE;
            record.params_text += HOSTILE;
            record.flags.push(HOSTILE.to_owned());
            record.facts.push(Fact::new(HOSTILE, HOSTILE));
            record.proofs.push(groma_model::Proof {
                name: HOSTILE.to_owned(),
                expected: HOSTILE.to_owned(),
                seen: 1.0,
                holds: true,
            });
        }
    }
    let mut odd = fixtures::record("odd", "", groma_model::Quantity::Latency, 1e-6);
    odd.id += HOSTILE;
    odd.params.0.push((HOSTILE.to_owned(), groma_model::Value::Word(HOSTILE.to_owned())));
    runs[0].1.push(odd);
    let html = Runs::of(runs).html();
    is_sound(&html);
    assert_eq!(html.matches("<script").count(), 2);
    assert!(!html.contains("<img") && !html.contains("</td></script>") && !html.contains(")>\" onload"));
    let steers = |c: char| !groma_model::is_plain(c) && c != '\n';
    assert!(!html.contains(steers), "{:?}", html.find(steers));
    assert!(html.contains("&lt;script&gt;alert(&#39;x&#39;)"));
}

/// Published tables in a report sort by the values of cells, draw figures over the curves, and
/// contain no markup from outside.
#[test]
fn published_tables_are_a_section() {
    let tables = ["table2", "table6", "figure2", "systems"].map(|name| {
        let (document, table) = table("lmbench1996", name);
        let mut paper = paper(document, table, true);
        paper.machines.iter_mut().for_each(|machine| machine.name = HOSTILE.to_owned());
        paper
    });
    let all = Runs::of(survey());
    let html = all.with(Papers { tables: tables.to_vec(), pictures: Vec::new() });
    is_sound(&html);
    assert!(html.contains("<a href=\"#papers\">Beside the papers</a>") && html.len() < 3_000_000);
    assert!(!all.html().contains("Beside the papers"));
    let section = html.split("<section id=\"papers\"").nth(1).and_then(|rest| rest.split("</section>").next());
    let section = section.expect("a section");
    assert_eq!(section.matches("<table class=\"data sortable\">").count(), 3);
    assert_eq!(section.matches("<tr class=\"ours\">").count(), 2);
    assert_eq!((section.matches("<figure ").count(), section.matches("<script").count()), (1, 0));
    // 1 MiB among KiB, and a doubtful number.
    assert!(section.contains("data-v=\"1.024000e3\">1 MiB</td>"), "{section}");
    assert!(html.matches("<script").count() == 2 && !html.contains("<img"));
}

#[test]
fn any_run_has_a_report() {
    let (head, records) = fixtures::guest();
    let failed = |r: &Record| fixtures::without(r.clone(), groma_model::State::Failed, "it went wrong");
    for records in [vec![records[0].clone()], records.iter().map(failed).collect()] {
        let html = Runs::of(vec![(head.clone(), records)]).html();
        assert!(html.ends_with("</html>\n") && !html.replace(SCRIPT, "").contains("NaN"), "{html}");
    }
}

/// The document's policy contains the digest of the script: an injected script would not run.
/// `.ci/update` writes the digest of a changed script.
#[test]
fn the_policy_lets_this_script_run_and_no_other() {
    let digest = base64(&Sha256::digest(SCRIPT));
    if std::env::var_os("GROMA_UPDATE").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/html/script.sha256");
        std::fs::write(file, &digest).expect("it can be written");
    } else {
        assert_eq!(include_str!("script.sha256"), digest, "the script has changed: run .ci/update");
    }
    let html = Runs::of(survey()).html();
    assert!(html.contains("default-src &#39;none&#39;") && html.contains(&format!("<script>{SCRIPT}</script>")));
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, i| bits << 8 | u32::from(three.get(i).copied().unwrap_or(0)));
        let letter = |i: usize| char::from(LETTERS[(bits >> (18 - 6 * i) & 63) as usize]);
        out.extend((0..4).map(|i| if i > three.len() { '=' } else { letter(i) }));
    }
    out
}
