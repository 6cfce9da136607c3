//! `groma fleet pairs` and `groma fleet links`: four hosts on one machine, by its loopback, and
//! what is made of their files.

use crate::common::{Ended, Place, ended};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const HOSTS: [&str; 4] = ["n1", "n2", "n3", "n4"];

/// Measures the pairs of these hosts; returns the directory of their files and how each ended.
fn measured(place: &Place, hosts: &[&str], expect: usize) -> (PathBuf, Vec<Ended>) {
    let (meet, out) = (place.path("meet"), place.path("links"));
    let [meet, to] = [&meet, &out].map(|path| path.to_str().expect("a name"));
    let expect = expect.to_string();
    let all: Vec<_> = hosts
        .iter()
        .map(|host| {
            let args = ["fleet", "pairs", "--meet", meet, "--out", to, "--expect", &expect, "--bind", "127.0.0.1"];
            let mut command = place.command(&[&args[..], &["--name", host, "--wait", "20s"]].concat());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("groma can be started")
        })
        .collect();
    (out, all.into_iter().map(|one| ended(one.wait_with_output().expect("a child"))).collect())
}

fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn links(place: &Place, args: &[&str]) -> Ended {
    place.groma(&[&["fleet", "links"], args].concat())
}

/// A fault is given to the files of real hosts: all their values are made equal before.
fn with_fault(from: &Path, to: &Path, times: impl Fn(&str, &str, &str) -> f64) {
    fs::create_dir_all(to).expect("a directory");
    for host in HOSTS {
        let mut peer = String::new();
        let changed = lines(&from.join(format!("{host}.pairs"))).into_iter().map(|mut line| {
            match line["kind"].as_str() {
                Some("pair") => peer = line["to"].as_str().expect("a name").to_owned(),
                Some("metric") if line["detail"] == false => {
                    let id = line["id"].as_str().expect("an id").to_owned();
                    let usual = if id == "net.tcp_bandwidth" { 1e9 } else { 5e-5 };
                    let slower = times(&id, host, &peer);
                    let value = if id == "net.tcp_bandwidth" { usual / slower } else { usual * slower };
                    (line["value"], line["p99"]) = (json!(value), json!(2.0 * value));
                }
                _ => {}
            }
            format!("{line}\n")
        });
        let text: String = changed.collect();
        fs::write(to.join(format!("{host}.pairs")), text).expect("a file");
    }
}

#[test]
fn every_pair_is_measured_in_both_directions_and_faults_are_named() {
    let place = Place::new();
    let (real, ends) = measured(&place, &HOSTS, HOSTS.len());
    for end in &ends {
        assert_eq!(end.code, Some(0), "{}{}", end.out, end.err);
    }
    let mut met = BTreeSet::new();
    for host in HOSTS {
        let all = lines(&real.join(format!("{host}.pairs")));
        let of = |kind: &str| all.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();
        let [pairs, served] = [of("pair"), of("served")];
        assert_eq!([pairs.len(), served.len(), of("end").len(), of("pairs end").len()], [3, 3, 3, 1], "{host}");
        met.extend(pairs.iter().map(|pair| (host.to_owned(), pair["to"].as_str().expect("a name").to_owned())));
        let bandwidths = of("metric").iter().filter(|line| line["id"] == "net.tcp_bandwidth").count();
        assert_eq!(bandwidths, 3, "{host}");
    }
    assert_eq!(met.len(), 12);
    let judged = links(&place, &[real.to_str().expect("a name"), "--json"]);
    let json: Value = serde_json::from_str(&judged.out).expect("JSON");
    assert_eq!((&json["alone"], &json["judged"], &json["hosts"]), (&json!(true), &json!(true), &json!(HOSTS)));

    let (well, host, link) = (place.path("well"), place.path("host"), place.path("link"));
    with_fault(&real, &well, |_, _, _| 1.0);
    with_fault(&real, &host, |id, a, b| if id == "net.tcp_bandwidth" && (a == "n3" || b == "n3") { 10.0 } else { 1.0 });
    with_fault(&real, &link, |_, a, b| if [a, b] == ["n1", "n4"] || [a, b] == ["n4", "n1"] { 4.0 } else { 1.0 });
    let of = |dir: &Path, more: &[&str]| links(&place, &[&[dir.to_str().expect("a name")], more].concat());
    let end = of(&well, &[]);
    assert!(end.code == Some(0) && end.out.starts_with("All well: 6 links of 4 hosts"), "{}{}", end.out, end.err);
    let end = of(&host, &[]);
    assert!(end.code == Some(1) && end.out.starts_with("Slow is host n3, of 4 hosts.\n"), "{}{}", end.out, end.err);
    let drain = of(&host, &["--format", "drain"]);
    assert_eq!(drain.out, "n3 groma: its links move 10 % of what others do (net.tcp_bandwidth)\n");
    let end = of(&link, &[]);
    assert!(end.code == Some(1) && end.out.starts_with("Slow is link n1 to n4, of 4 hosts.\n"), "{}", end.out);
    let flat = end.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("No host had two peers at once."), "{flat}");

    odd_files_are_left_out(&place, &well);
}

/// Each is told in a line, and the rest is judged.
fn odd_files_are_left_out(place: &Place, well: &Path) {
    let dir = place.path("odd");
    fs::create_dir(&dir).expect("a directory");
    let text = |host: &str| fs::read_to_string(well.join(format!("{host}.pairs"))).expect("a file");
    fs::write(dir.join("n1.pairs"), text("n1")).expect("a file");
    fs::write(dir.join("n2.pairs"), &text("n2")[..text("n2").len() / 2]).expect("a file");
    fs::write(dir.join("n3.pairs"), text("n3").replacen("\"version\":1", "\"version\":2", 1)).expect("a file");
    fs::write(dir.join("other.pairs"), "{\"kind\":\"run\"}\n").expect("a file");
    fs::write(dir.join("twice.pairs"), text("n1")).expect("a file");
    let served =
        text("n4").replace("\"kind\":\"served\"", "\"kind\":\"missed\",\"peer\":\"\\u001b[31mn9\",\"why\":\"gone\"");
    fs::write(dir.join("n4.pairs"), served).expect("a file");
    let end = links(place, &[dir.to_str().expect("a name")]);
    assert_eq!(end.code, Some(2), "{}{}", end.out, end.err);
    let flat = end.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in ["version 2", "not written by groma fleet pairs", "of host n1, as", "no file of", "n4 has not measured"]
    {
        assert!(flat.contains(told), "{told}: {}", end.out);
    }
    assert!(flat.contains("n2") && !end.out.contains('\u{1b}'), "{}", end.out);
}

#[test]
fn what_cannot_meet_is_told_in_a_line() {
    let place = Place::new();
    // One comes, and nobody else does.
    let meet = place.path("meet");
    let (meet, out) = (meet.to_str().expect("a name"), place.path("links"));
    let out = out.to_str().expect("a name");
    let args = ["fleet", "pairs", "--meet", meet, "--out", out, "--bind", "127.0.0.1"];
    let alone = place.groma(&[&args[..], &["--expect", "2", "--wait", "300ms", "--name", "n1"]].concat());
    assert!(alone.code == Some(2) && alone.err.contains("no other host has come"), "{}", alone.err);
    let again = place.groma(&[&args[..], &["--expect", "2", "--name", "n1"]].concat());
    assert!(again.code == Some(2) && again.err.contains("the plan of earlier pairs"), "{}", again.err);
    for (more, told) in [
        (&["--expect", "1"][..], "a pair needs two hosts"),
        (&["--expect", "2", "--name", "../x"], "--name: expected letters"),
        (&[], "--expect: no launcher says"),
    ] {
        let end = place.groma(&[&args[..], more].concat());
        assert!(end.code == Some(2) && end.err.contains(told), "{more:?}: {}", end.err);
    }
    let none = links(&place, &[place.path("").to_str().expect("a name")]);
    assert!(none.code == Some(2) && none.err.contains("no file *.pairs in it"), "{}", none.err);
}
