//! A stored run does not reveal who measured, on whose files, and with which other machine.

use crate::common::{Place, ended, metric, write_program};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

const USER: &str = "quentin";
/// On the loopback, and not used by anything else in a run.
const ADDRESS: &str = "127.77.66.55";
const SECRETS: [&str; 7] = [USER, ADDRESS, "192.0.2.99", "2001:db8::99", "hunter2", "marge", "s3cret-token"];

/// The contents of all files in a directory: the store with its log, and the streams.
fn bytes_in(dir: &Path) -> Vec<(PathBuf, String)> {
    let files = fs::read_dir(dir).expect("a directory").flatten().map(|e| e.path()).filter(|p| p.is_file());
    files.map(|p| (p.clone(), String::from_utf8_lossy(&fs::read(&p).expect("a file")).into_owned())).collect()
}

#[test]
fn neither_store_nor_stream_reveals_who_and_where() {
    let place = Place::new();
    let home = place.path(&format!("home/{USER}"));
    let kept = home.join("kept");
    fs::create_dir_all(&kept).expect("a directory");
    fs::write(home.join("small"), [0; 100]).expect("a file");
    let tool = home.join("tool");
    write_program(&tool, "#!/bin/sh\nexit 0\n");
    let at = |name: &str| home.join(name).display().to_string();
    let mut streams = 0;
    let mut run = |args: &[&str]| {
        streams += 1;
        let (store, out) = (at("kept/groma.db"), at(&format!("kept/{streams}.ndjson")));
        let more =
            ["--store", &store, "--out", &out, "--profile", "quick", "--budget", "4s", "--rounds", "1", "--json"];
        let mut command = place.command(&[&["run"], args, &more].concat());
        command.env("HOME", &home).env("USER", USER).env("LOGNAME", USER);
        let ended = ended(command.output().expect("it starts"));
        assert!(matches!(ended.code, Some(0 | 4)), "{args:?}: {ended:?}");
        serde_json::from_str::<serde_json::Value>(&ended.out).unwrap_or_else(|e| panic!("{e}: {ended:?}"))
    };

    let command = |rest: &str| format!("command={} {rest}", tool.display());
    let (first, second) = (command("--password hunter2 192.0.2.99 /home/marge/x"), command("[2001:db8::99]:80"));
    let work_dir = format!("--work-dir={}", home.display());
    let on = format!("on={}", at("small"));
    let given = [work_dir.as_str(), "--token=s3cret-token"];
    let commands = [
        run(&[&["mix.command", "--param", &first], &given[..]].concat()),
        run(&[&["mix.command", "--param", &second], &given[..]].concat()),
        // With a parameter and a reason that hold a path.
        run(&[&["mix.command", "disk.read", "--param", &on, "--param", &first], &given[..]].concat()),
    ];
    let params =
        commands.each_ref().map(|run| metric(run, "mix.command")["params"]["command"].as_str().expect("a text"));
    assert!(params.iter().all(|text| text.starts_with("tool #")), "{params:?}");
    assert_eq!(params[0], params[2], "runs of one command are known as such");
    assert_ne!(params[0], params[1], "runs of different commands are told apart");
    for run in &commands {
        // The path is hidden from readers, not from the worker.
        assert!(metric(run, "mix.command")["value"].is_number(), "{run:#}");
        assert!(run["run"]["args"].as_array().expect("args").iter().any(|arg| arg == "--work-dir=~"), "{run:#}");
    }

    let refused = metric(&commands[2], "disk.read");
    assert_eq!(refused["params"]["on"], "~/small", "{refused:#}");
    assert!(refused["reason"].as_str().is_some_and(|why| why.starts_with("~/small: holds 100 B")), "{refused:#}");

    // Another machine.
    let mut serve = place.command(&["serve", "--bind", &format!("{ADDRESS}:0")]).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(serve.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let address = line.split("--host ").nth(1).and_then(|rest| rest.split_ascii_whitespace().next()).map(str::to_owned);
    let address = address.unwrap_or_else(|| panic!("no address in '{line}'"));
    let remote = run(&["net.tcp_rtt", "--param", "family=v4", "--host", &address]);
    serve.kill().expect("it can be ended");
    serve.wait().expect("it ends");
    let args = remote["run"]["args"].as_array().expect("args");
    assert!(args.iter().any(|arg| arg == "(hidden)"), "{args:?}");

    let files = bytes_in(&kept);
    assert!(files.len() > streams, "{files:?}");
    let home = home.display().to_string();
    for (file, text) in &files {
        for secret in SECRETS.into_iter().chain([home.as_str()]) {
            let at = text.find(secret);
            let around =
                at.map(|at| String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(80)..text.len().min(at + 80)]));
            assert!(at.is_none(), "{}: {secret} in {around:?}", file.display());
        }
    }
    // The control: text that is not secret is found.
    assert!(files.iter().any(|(_, text)| text.contains("tool #")));
}
