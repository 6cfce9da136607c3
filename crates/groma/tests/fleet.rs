//! `groma run --profile fleet` and `groma fleet judge`: hosts made from a reference machine, one of
//! them slowed, and the input that other machines may send.

use crate::common::{Ended, Place, root};
use groma_model::{Better, End, Fact, Record, RunHeader, StateCounts};
use groma_store::{Baseline, Ndjson, Sink};
use std::path::Path;

/// A host: its name, when it was measured, and by how much it is slower in the metrics with this
/// beginning.
struct Host<'h> {
    name: &'h str,
    started: &'h str,
    slow: (&'h str, f64),
}

const WELL: (&str, f64) = ("", 1.0);

fn host<'h>(name: &'h str, slow: (&'h str, f64)) -> Host<'h> {
    Host { name, started: "2026-11-20T10:00:00Z", slow }
}

/// Writes the stream of a host. Hosts differ by some tenths of a percent, by their names.
fn write(file: &Path, host: &Host<'_>) {
    let reference = root().join("crates/groma/reference/zen5-vm-2026.ndjson");
    let Baseline { head, metrics, .. } = Baseline::read(&reference).expect("the reference");
    let mut head =
        RunHeader { started: host.started.to_owned(), run: format!("{}-{}", host.started, host.name.len()), ..head };
    head.environment.facts.retain(|fact| fact.key != "host.name");
    head.environment.facts.push(Fact::new("host.name", host.name));
    let seed: u32 = host.name.bytes().map(u32::from).sum();
    let own = f64::from(seed % 5) * 0.001;
    let mut out = Ndjson::new(std::fs::File::create(file).expect("a file"), "a stream");
    out.begin(&head, &[]).expect("written");
    for metric in metrics {
        let (id, by) = host.slow;
        let slower = own + if metric.record.id.starts_with(id) { by.ln() } else { 0.0 };
        let factor = if metric.record.better == Better::Higher { -slower } else { slower }.exp();
        let scaled = |values: [f64; 2]| values.map(|value| value * factor);
        let record = Record {
            value: metric.record.value.map(|value| value * factor),
            ci: metric.record.ci.map(scaled),
            round_values: metric.record.round_values.iter().map(|value| value * factor).collect(),
            ..metric.record
        };
        out.record(&record).expect("written");
    }
    let end =
        End { states: StateCounts::default(), wall_s: 20.0, interrupted: false, cpu_limit: None, fewer_cpus: None };
    out.end(&end).expect("written");
}

/// A directory of these hosts.
fn hosts(place: &Place, name: &str, slow: &[(usize, (&str, f64))], count: usize) -> String {
    let dir = place.path(name);
    std::fs::create_dir(&dir).expect("a directory");
    for i in 0..count {
        let of = slow.iter().find(|(host, _)| *host == i).map_or(WELL, |(_, of)| *of);
        write(&dir.join(format!("n{i}.ndjson")), &host(&format!("n{i}"), of));
    }
    dir.to_str().expect("UTF-8").to_owned()
}

fn judge(place: &Place, args: &[&str]) -> Ended {
    place.groma(&[&["fleet", "judge"], args].concat())
}

#[test]
fn a_slow_host_is_named_and_bad_input_is_told_and_hinders_nothing() {
    let place = Place::new();
    let dir = hosts(&place, "all", &[(3, ("syscall.", 1.5))], 7);
    let file = |name: &str| Path::new(&dir).join(name);
    let good = std::fs::read_to_string(file("n0.ndjson")).expect("a stream");
    let lines: Vec<&str> = good.lines().collect();
    let put = |name: &str, text: &str| std::fs::write(file(name), text).expect("a file");
    put("cut.ndjson", &good[..good.len() / 2]);
    put("endless.ndjson", &lines[..lines.len() - 1].join("\n"));
    put("empty.ndjson", "");
    put("nonsense.ndjson", "{\"kind\": 7}\n");
    put("newer.ndjson", &good.replacen("\"schema\":1", "\"schema\":99", 1));
    put("many.ndjson", &[&[lines[0]][..], &vec![lines[1]; 10_001], &lines[lines.len() - 1..]].concat().join("\n"));
    let hostile = "x\\u001b[2J\\u202e$(touch pwned)";
    put("hostile.ndjson", &good.replacen("\"value\":\"n0\"", &format!("\"value\":\"{hostile}\""), 1));
    put(
        "unknown.ndjson",
        &good.replacen("AMD EPYC", "another CPU", 1).replacen("\"value\":\"n0\"", "\"value\":\"u\"", 1),
    );
    write(&file("older.ndjson"), &Host { started: "2026-11-01T10:00:00Z", ..host("n1", WELL) });
    write(&file("early.ndjson"), &Host { started: "2026-11-01T10:00:00Z", ..host("n9", WELL) });
    let found = judge(&place, &[&dir]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let first = found.out.lines().next().unwrap_or_default();
    assert!(first.starts_with("1 of 10 hosts is suspect: n3. 1 is not judged, 8 are well."), "{first}");
    let says = "n3: mitigations: only what enters the kernel is slower";
    assert!(found.out.contains(says), "{}", found.out);
    let input = found.out.split("\nInput\n").nth(1).expect("a section").replace("\n  ", " ");
    for told in [
        "cut.ndjson:",
        "endless.ndjson: run",
        "empty.ndjson:",
        "nonsense.ndjson:",
        "newer.ndjson:",
        "many.ndjson:",
        "n1: twice",
        "n9: measured 19 days before most others",
    ] {
        assert_eq!(input.matches(told).count(), 1, "{told}: {input}");
    }
    // Nothing of the hostile host reaches a terminal, a shell or a page.
    for format in ["table", "drain", "json", "markdown", "html", "openmetrics"] {
        let text = judge(&place, &[&dir, "--format", format]);
        assert!(!text.out.contains(['\u{1b}', '\u{202e}']) && !text.err.contains('\u{1b}'), "{format}");
    }
    let drain = judge(&place, &[&dir, "--format", "drain"]);
    assert!(drain.out.starts_with("n3 groma: mitigations: ") && drain.out.lines().count() == 1, "{drain:?}");
    assert!(drain.err.contains("cut.ndjson"), "whoever reads only the lines is told: {drain:?}");
}

#[test]
fn exit_codes_and_errors_in_one_line() {
    let place = Place::new();
    let (well, few) = (hosts(&place, "well", &[], 6), hosts(&place, "few", &[], 2));
    let code = |args: &[&str]| judge(&place, args).code;
    assert_eq!(code(&[&well]), Some(0));
    let alone = judge(&place, &[&few]);
    assert!(alone.code == Some(4) && alone.out.contains("fewer than five hosts are like it"), "{alone:?}");
    assert!(alone.out.replace("\n ", "").contains("reference machines"), "{alone:?}");
    let wrong = place.path("wrong");
    std::fs::write(&wrong, "signature x\n  slow: nowhere\n").expect("a file");
    let wrong = wrong.to_str().expect("UTF-8");
    for (args, said) in [
        (&[&well, "nowhere"][..], "nowhere: No such file"),
        (&[&well, "--signatures", wrong], "wrong:2: 'nowhere' is no area"),
        (&[&well, "--baseline", wrong], "expected value"),
        (&[&well, "--confirm", "true"], "does not hold {host}"),
        (&[&well, "--at-least", "x"], "expected percent"),
        (&["/dev/null"], "none of the input is a run"),
    ] {
        let ended = judge(&place, args);
        assert!(ended.code == Some(2) && ended.err.contains(said), "{args:?}: {ended:?}");
    }
    let odd = place.groma(&["run", "--profile", "fleet", "syscall"]);
    assert!(odd.code == Some(2) && odd.err.contains("--profile fleet chooses itself"), "{odd:?}");
}

#[test]
fn a_suspect_is_measured_again_before_it_is_named() {
    let place = Place::new();
    let dir = hosts(&place, "all", &[(2, ("syscall.", 1.5)), (4, ("syscall.", 1.5))], 8);
    let fresh = place.path("fresh");
    std::fs::create_dir(&fresh).expect("a directory");
    write(&fresh.join("n2"), &host("n2", ("syscall.", 1.5)));
    write(&fresh.join("n4"), &host("n4", WELL));
    let command = format!("cat {}/{{host}}", fresh.display());
    let found = judge(&place, &[&dir, "--confirm", &command]);
    assert!(found.code == Some(1) && found.out.starts_with("1 of 8 hosts is suspect: n2. 1 is noisy"), "{found:?}");
    assert!(found.out.contains("confirmed by fresh runs") && found.out.contains("n4: was slow"), "{found:?}");
    std::fs::remove_file(fresh.join("n2")).expect("removed");
    let failed = judge(&place, &[&dir, "--confirm", &command]);
    assert!(failed.code == Some(1) && failed.out.contains("not confirmed: "), "what cannot be asked stays: {failed:?}");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

#[test]
fn what_changes_on_all_hosts_is_told_beside_an_earlier_judgement() {
    let place = Place::new();
    let before = hosts(&place, "before", &[], 8);
    let slower: Vec<(usize, (&str, f64))> = (0..8).map(|i| (i, ("vm.cow", 1.3))).collect();
    let after = hosts(&place, "after", &slower, 8);
    let judged = place.path("judged.json");
    let judged = judged.to_str().expect("UTF-8");
    assert_eq!(judge(&place, &[&before, "-o", judged]).code, Some(0));
    let found = judge(&place, &[&after, "--baseline", judged]);
    assert!(
        found.code == Some(0) && found.out.contains("the group of 8 hosts: vm.cow 1.30 times as slow"),
        "{found:?}"
    );
    let same = judge(&place, &[&before, "--baseline", judged]);
    assert!(same.out.contains("no group has changed as a whole"), "{same:?}");
}

#[test]
fn one_host_is_judged_against_a_baseline() {
    let place = Place::new();
    let good = hosts(&place, "good", &[], 8);
    let json = place.path("good.json");
    let json = json.to_str().expect("UTF-8");
    assert_eq!(judge(&place, &[&good, "-o", json]).code, Some(0));
    let file = place.path("node.ndjson");
    let file = file.to_str().expect("UTF-8");
    let of = |what: &Host<'_>, json: &str| {
        write(Path::new(file), what);
        judge(&place, &[file, "--baseline", json])
    };
    let slow = of(&host("m7", ("syscall.", 1.5)), json);
    assert!(slow.code == Some(1) && slow.out.starts_with("1 of 1 host is suspect: m7."), "{slow:?}");
    let line = "m7: mitigations: only what enters the kernel is slower";
    assert!(slow.out.contains(line) && slow.out.contains("judged against the baseline of 8 runs"), "{slow:?}");
    assert!(slow.out.contains("in the baseline") && !slow.out.contains("earlier judgement"), "{slow:?}");
    let well = of(&host("m8", WELL), json);
    assert!(well.code == Some(0) && well.out.contains("1 host is judged against the baseline of 8 runs"), "{well:?}");
    // A setting of this host alone is said; a host of another kind is as unjudged as without.
    let text = std::fs::read_to_string(json).expect("it");
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        let other = place.path("other.json");
        std::fs::write(&other, text.replacen(from, to, 1)).expect("a file");
        other.to_str().expect("UTF-8").to_owned()
    };
    let set = of(&host("m7", ("syscall.", 1.5)), &with("\"kernel.release\": \"", "\"kernel.release\": \"other-"));
    assert!(set.out.contains("of 8 runs: kernel.release is "), "{set:?}");
    let other = of(&host("m7", ("syscall.", 1.5)), &with("AMD EPYC", "another CPU"));
    assert!(other.code == Some(4) && other.out.contains("fewer than five hosts are like it"), "{other:?}");
    let wrong = of(&host("m7", WELL), &with("\"spread\": ", "\"spread\": -"));
    assert!(wrong.code == Some(2) && wrong.err.contains("other.json: a subject without center, spread"), "{wrong:?}");
}

/// Two hosts, three runs of each: too few hosts, enough runs. One file is there twice.
#[test]
fn every_run_of_a_few_hosts_makes_a_baseline() {
    let place = Place::new();
    let dir = hosts(&place, "good", &[], 2);
    for name in ["n0", "n1"] {
        for day in 21..23 {
            let started = format!("2026-11-{day}T10:00:00Z");
            write(
                &Path::new(&dir).join(format!("{name}-{day}.ndjson")),
                &Host { started: &started, ..host(name, WELL) },
            );
        }
    }
    std::fs::copy(Path::new(&dir).join("n0.ndjson"), Path::new(&dir).join("copy.ndjson")).expect("a copy");
    assert_eq!(judge(&place, &[&dir]).code, Some(4), "the newest run of each is one of two hosts");
    let all = judge(&place, &[&dir, "--every-run", "--json"]);
    assert!(all.code == Some(0) && all.out.contains("1 run there twice"), "{all:?}");
    let json = place.path("good.json");
    std::fs::write(&json, &all.out).expect("a file");
    let json = json.to_str().expect("UTF-8");
    let slow = hosts(&place, "later", &[(1, ("syscall.", 1.5))], 2);
    let found = judge(&place, &[&slow, "--baseline", json]);
    assert!(found.code == Some(1) && found.out.starts_with("1 of 2 hosts is suspect: n1. 1 is well."), "{found:?}");
    assert!(found.out.replace('\n', " ").contains("2 hosts are judged against the baseline of 6 runs"), "{found:?}");
    let few = judge(&place, &[&slow, "--json"]);
    std::fs::write(json, few.out).expect("a file");
    let none = judge(&place, &[&slow, "--baseline", json]);
    assert!(none.code == Some(2) && none.err.contains("no five runs in it are alike"), "{none:?}");
}

/// Clones of an image have one name. Each was up while the other was measured, so they are two.
#[test]
fn two_machines_of_one_name_are_both_judged() {
    let place = Place::new();
    let dir = hosts(&place, "all", &[], 6);
    let file = |name: &str| Path::new(&dir).join(name);
    let text = std::fs::read_to_string(file("n0.ndjson")).expect("a stream");
    let put = |name: &str, boot: &str, uptime: &str, started: &str| {
        let facts = format!(
            "\"environment\":[{{\"key\":\"host.boot\",\"value\":\"{boot}\"}},\
             {{\"key\":\"host.uptime_s\",\"value\":\"{uptime}\"}},"
        );
        let own = text.replace("\"key\":\"host.uptime_s\"", "\"key\":\"x\"").replace("\"environment\":[", &facts);
        std::fs::write(file(name), own.replace("2026-11-20T10:00:00Z", started)).expect("a file");
    };
    put("n0.ndjson", "0a0a0a0a", "100000", "2026-11-20T10:00:00Z");
    put("clone.ndjson", "0b0b0b0b", "90000", "2026-11-20T10:05:00Z");
    let both = judge(&place, &[&dir]);
    assert!(both.out.contains("All well: 7 hosts") && both.out.contains("n0: the name of 2 machines"), "{both:?}");
    // The same machine after a reboot is one.
    put("clone.ndjson", "0c0c0c0c", "60", "2026-11-20T10:05:00Z");
    let one = judge(&place, &[&dir]);
    assert!(one.out.contains("All well: 6 hosts") && one.out.contains("n0: twice"), "{one:?}");
}

#[test]
fn a_host_writes_one_file_that_is_named_by_it_and_knows_its_job() {
    let place = Place::new();
    let dir = place.path("out");
    std::fs::create_dir(&dir).expect("a directory");
    let mut command =
        place.command(&["run", "--profile", "fleet", "--budget", "1s", "--out", dir.to_str().expect("UTF-8")]);
    command.env_remove("GROMA_STORE").env_remove("HOME");
    command.env("SLURM_PROCID", "5").env("SLURMD_NODENAME", "node-17").env("SLURM_JOB_ID", "99");
    let mut run = || crate::common::ended(command.output().expect("it starts"));
    let ended = run();
    // A busy machine may measure nothing in a second; the file is there all the same.
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    let files = || {
        let all = std::fs::read_dir(&dir).expect("it").flatten();
        let mut files: Vec<String> = all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        files.sort();
        files
    };
    let all = files();
    let [file] = &all[..] else { panic!("{all:?}") };
    assert!(file.starts_with("node-17-") && file.ends_with(".ndjson") && file.len() == "node-17-01234567.ndjson".len());
    let text = std::fs::read_to_string(dir.join(file)).expect("a stream");
    // A second run, or a machine of the same name that is alike, overwrites nothing.
    let again = run();
    let [second, first] = &files()[..] else { panic!("{:?}", files()) };
    assert_eq!((first, second), (file, &file.replace(".ndjson", "-2.ndjson")));
    assert!(again.err.contains("node-17") && again.err.contains("-2.ndjson"), "{again:?}");
    assert_eq!(std::fs::read_to_string(dir.join(file)).expect("a stream"), text);
    for fact in ["\"launcher.name\",\"value\":\"slurm\"", "\"launcher.rank\",\"value\":\"5\"", "\"profile\":\"fleet\""]
    {
        assert!(text.contains(fact), "{fact}");
    }
}

#[cfg(not(feature = "postgres"))]
#[test]
fn a_program_without_postgresql_says_how_to_build_one_with_it() {
    let place = Place::new();
    for args in
        [&["push", "postgres://me:hunter2@db/fleet", "."][..], &["fleet", "judge", "postgres://me:hunter2@db/fleet"]]
    {
        let end = place.groma(args);
        assert!(end.code == Some(2) && end.err.contains("--features postgres"), "{:?} {}", end.code, end.err);
        assert!(!end.err.contains("hunter2") && end.err.lines().count() == 1, "{}", end.err);
    }
    let end = place.groma(&["push", "results/", "postgres://db/fleet"]);
    assert!(end.code == Some(2) && end.err.contains("expected postgres://user@host"), "{}", end.err);
}
