//! Terminal control sequences in a store, in a server's answers and on the command line: every view
//! shows them and executes none.

use crate::common::{Ended, Place, ended, is_executable};
use groma_model::{Fact, Point, Round, RoundResult, State};
use groma_store::{Sink, Store};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;

/// Sets a title, clears the screen, sets colours by a Latin-1 control, reverses the text direction,
/// hides text, ends lines and cells, starts a program from a spreadsheet, and is markup.
const HOSTILE: &str =
    "=cmd()<script>&\x1b]0;owned\x07\x1b[2J\x1b[8m\u{9b}31m\u{202e}live\u{2066}\u{200b}\u{2028}\x7f\t\r\n| `x` |\\";

/// Characters that must not be printed. Defined here a second time, so that the test does not rely
/// on the list it checks.
fn controls(c: char) -> bool {
    let code = u32::from(c);
    let control = code < 0x20 && c != '\n' || (0x7f..0xa0).contains(&code);
    let order = [0x61c, 0x200e, 0x200f].contains(&code)
        || (0x202a..=0x202e).contains(&code)
        || (0x2066..=0x2069).contains(&code);
    let unseen = [0x200b, 0x200c, 0x200d, 0x2028, 0x2029, 0x2060, 0xfeff].contains(&code);
    control || order || unseen
}

#[track_caller]
fn is_harmless(what: &str, text: &str) {
    let found = text.char_indices().find(|(_, c)| controls(*c));
    if let Some((at, c)) = found {
        let around: String = text[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
        panic!("{what}: {c:?} behind {around:?}");
    }
}

/// A store with a run in which every text was replaced: the run that `groma run` stored, with
/// hostile points and rounds next to the real ones, which still give curves and the hardware page.
fn hostile_store(place: &Place) -> String {
    let args =
        ["run", "mem.bandwidth", "syscall.getppid", "--param", "size=16K,1M,4M", "--profile", "quick", "--rounds", "2"];
    let run = place.groma(&args);
    assert!(matches!(run.code, Some(0 | 4)), "{run:?}");
    place.calm();
    let real = Store::open(&place.store()).expect("a store");
    let mut run = real.load(&real.find("latest").expect("a run")).expect("it reads");
    drop(real);

    let head = &mut run.header;
    head.run += HOSTILE;
    head.started += HOSTILE;
    head.groma += HOSTILE;
    head.build += HOSTILE;
    head.args.push(HOSTILE.to_owned());
    let is_text = |fact: &&mut Fact| fact.value.parse::<f64>().is_err();
    head.environment.facts.iter_mut().filter(is_text).for_each(|fact| fact.value += HOSTILE);
    head.environment.facts.push(Fact::new(format!("odd.{HOSTILE}"), HOSTILE));
    for (point, rounds) in &mut run.points {
        for round in rounds.iter_mut() {
            round.result.output.facts.iter_mut().filter(is_text).for_each(|fact| fact.value += HOSTILE);
            round.result.output.remarks.push(HOSTILE.into());
        }
        point.metrics.iter_mut().for_each(|metric| metric.summary += HOSTILE);
    }
    let hostile = |(point, rounds): &(Point, Vec<Round>)| {
        let (mut point, mut rounds) = (point.clone(), rounds.clone());
        point.bench += HOSTILE;
        point.params_text += HOSTILE;
        point.params.0.push((HOSTILE.to_owned(), groma_model::Value::Word(HOSTILE.to_owned())));
        point.metrics.iter_mut().for_each(|metric| metric.id += HOSTILE);
        for round in &mut rounds {
            round.result.output.series.iter_mut().for_each(|series| series.name += HOSTILE);
        }
        let failed = Round { round: 0, result: RoundResult::ended(State::Failed, HOSTILE) };
        let mut bad = point.clone();
        bad.metrics.iter_mut().for_each(|metric| metric.id.insert_str(0, HOSTILE));
        [(point, rounds), (bad, vec![failed])]
    };
    let first = |bench: &str| run.points.iter().find(|(p, _)| p.bench == bench).expect("a point");
    let more = [first("mem.bandwidth"), first("syscall.getppid")].map(hostile).concat();
    run.points.extend(more);

    let path = place.path("hostile.db");
    let store = Store::open(&path).expect("a store");
    let points: Vec<Point> = run.points.iter().map(|(point, _)| point.clone()).collect();
    // One whose writer is gone, and then one that ended.
    let mut killed = run.header.clone();
    (killed.run, killed.started) = (format!("killed{HOSTILE}"), "1".to_owned());
    store.writer(HOSTILE).expect("a writer").begin(&killed, &points).expect("a head");
    let mut writer = store.writer(HOSTILE).expect("a writer");
    writer.begin(&run.header, &points).expect("a head");
    for (i, (_, rounds)) in run.points.iter().enumerate() {
        rounds.iter().for_each(|round| writer.round(i, round).expect("a round"));
    }
    writer.end(&run.end.expect("an end")).expect("an end");
    path.display().to_string()
}

fn has_fact(json: &Value) -> bool {
    let facts = json["run"]["environment"].as_array().expect("facts");
    facts.iter().any(|fact| fact["value"] == HOSTILE)
}

/// Parses CSV text by the rules of RFC 4180.
fn records(text: &str) -> Vec<Vec<(String, bool)>> {
    let (mut all, mut record, mut field) = (Vec::new(), Vec::new(), (String::new(), false));
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.0.push(chars.next().expect("a quote")),
            '"' => (quoted, field.1) = (!quoted, true),
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                all.push(std::mem::take(&mut record));
            }
            c => field.0.push(c),
        }
    }
    assert!(!quoted && record.is_empty(), "the last line does not end");
    all
}

/// Markdown without its blocks of code, in which nothing is markup; each is closed by its own
/// fence.
fn outside_of_code(markdown: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut text = String::new();
    for line in markdown.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            Some(open) if ticks.len() >= open.len() => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => text += &format!("{line}\n"),
        }
    }
    assert!(fence.is_none(), "a block of code does not end: {markdown}");
    text
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of views, each asked for once")]
fn no_view_of_a_hostile_store_controls_the_terminal() {
    let place = Place::new();
    let store = hostile_store(&place);
    let svg = place.path("plot.svg").display().to_string();
    let ask = |columns: &str, args: &[&str]| -> Ended {
        let mut command = place.command(args);
        ended(command.env("GROMA_STORE", &store).env("COLUMNS", columns).output().expect("it starts"))
    };
    let (named, titled) = (format!("syscall.getppid{HOSTILE}"), place.path("titled.svg").display().to_string());
    let views: &[&[&str]] = &[
        &["runs", "--kernel", ""],
        &["forget", "latest"],
        &["forget", "--tag", "absent"],
        &["runs"],
        &["runs", "--json"],
        &["show"],
        &["show", "--all"],
        &["show", "--hardware"],
        &["show", "--states"],
        &["show", "syscall.getppid"],
        &["show", "--times"],
        &["show", "--times", "--format", "json"],
        &["show", "--format", "json"],
        &["show", "--format", "json", "--samples"],
        &["show", "--format", "csv"],
        &["show", "--format", "csv", "--samples"],
        &["show", "--format", "markdown"],
        &["show", "--format", "markdown", "--hardware"],
        &["export", "--format", "csv"],
        &["export", "--format", "csv", "--table", "rounds"],
        &["export", "--format", "csv", "--table", "samples"],
        &["export", "--format", "json"],
        &["export", "--format", "ndjson"],
        &["export", "--format", "openmetrics"],
        &["report"],
        &["report", "--format", "markdown"],
        &["plot", "mem.bandwidth"],
        &["plot", "mem.bandwidth", "-o", &svg],
        &["plot", "syscall.getppid", "--histogram"],
        &["plot", &named, "--histogram"],
        &["plot", &named, "--histogram", "-o", &titled],
    ];
    for args in views {
        for columns in ["60", "200"] {
            let ended = ask(columns, args);
            assert_eq!(ended.code, Some(0), "{args:?}: {ended:?}");
            is_harmless(&args.join(" "), &ended.out);
            assert_eq!(ended.err, "", "{args:?}");
        }
    }
    // It says on standard error what is blank.
    let summary = ask("200", &["export", "--format", "lmbench"]);
    assert_eq!(summary.code, Some(0), "{summary:?}");
    is_harmless("lmbench's summary", &(summary.out + &summary.err));
    // The human-readable views escape odd characters and do not drop them.
    for args in [&["runs"][..], &["show", "--all"], &["show", "--format", "markdown"], &["show", "--hardware"]] {
        let shown = ask("200", args).out;
        assert!(shown.contains("\\u{1b}"), "{args:?}: {shown}");
    }
    let report = ask("100", &["report"]).out;
    assert!(report.contains("&lt;script&gt;&amp;\\u{1b}]0;owned"), "{report}");
    assert_eq!(report.matches("<script").count(), 2, "{report}");
    for file in [&svg, &titled] {
        let drawn = std::fs::read_to_string(file).expect("a plot");
        is_harmless("an SVG file", &drawn);
        assert!(drawn.contains("&lt;script&gt;&amp;") && !drawn.contains("<script"), "{drawn}");
    }
    let markdown = outside_of_code(&ask("100", &["show", "--format", "markdown"]).out);
    assert_eq!(markdown.matches("<script").count(), markdown.matches("\\<script").count(), "{markdown}");

    // JSON keeps its meaning; a spreadsheet calculates nothing, and numbers are numbers.
    let json: Value = serde_json::from_str(&ask("100", &["show", "--format", "json"]).out).expect("JSON");
    assert!(has_fact(&json), "{:#}", json["run"]);
    assert!(json["metrics"].as_array().expect("metrics").iter().any(|m| m["reason"] == HOSTILE));
    for args in [&["show", "--format", "csv"][..], &["show", "--format", "csv", "--samples"]] {
        let rows = records(&ask("100", args).out);
        assert!(rows.len() > 5);
        for row in &rows {
            assert_eq!(row.len(), rows[0].len(), "{row:?}");
            for (field, quoted) in row {
                let number = !quoted && field.parse::<f64>().is_ok();
                assert!(number || !field.starts_with(['=', '+', '-', '@', '\t', '\r']), "{field:?}");
            }
        }
    }

    // Errors quote what was typed, and name what the store holds.
    let nothing = format!("--select={HOSTILE}x");
    let errors: &[&[&str]] = &[
        &["show", "nothing"],
        &["show", "host:nobody"],
        &["show", "latest~9"],
        &["show", &HOSTILE[1..]],
        &["tag", "latest", HOSTILE],
        &["tag", "nothing", "a"],
        &["tag", "-d", "latest", "a"],
        &["forget", "nothing"],
        &["runs", "--since", HOSTILE],
        &["merge", "/\x1b[2J\u{202e}"],
        &["show", &nothing],
        &["plot", HOSTILE],
        &["plot", "mem.bandwidth", "--over", HOSTILE],
        &["plot", "mem.bandwidth", "--param", "op=\x1b[2J"],
        &["plot", "mem.bandwidth", "-o", "\x1b[2J.gif"],
        &["explain", HOSTILE],
        &["list", HOSTILE],
        &["run", HOSTILE],
        &["run", "--budget", HOSTILE],
        &["run", "--param", HOSTILE],
        &["run", "--placement", HOSTILE],
        &["run", "--work-dir", HOSTILE],
        &["show", "--format", HOSTILE],
        &["manual", HOSTILE],
        &["dd", HOSTILE],
        &["dd", "if=\x1b[2J\u{202e}"],
        &["show", "--store", "/\x1b[2J\u{202e}"],
        &[HOSTILE],
    ];
    for args in errors {
        let ended = ask("100", args);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{args:?}: {ended:?}");
        is_harmless(&args.join(" "), &ended.err);
        // No message of groma is made to look like two.
        let ours = ended.err.starts_with("groma: ");
        assert!(!ours || ended.err.lines().count() == 1, "{args:?}: {ended:?}");
    }
    let found = ask("100", &["show", "nothing"]).err;
    assert!(found.contains("\\u{1b}]0;owned\\u{7}"), "{found}");
    // An error of the command line has several lines, but none that was typed.
    let typed = ask("100", &["run", "--budget", HOSTILE]).err;
    assert!(typed.contains("| `x` |") && !typed.contains("\n|"), "{typed}");
    let mut by_variable = place.command(&["run", "--dry-run"]);
    let refused = ended(by_variable.env("GROMA_TOKEN", HOSTILE).output().expect("it starts"));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    is_harmless("an error of a variable", &refused.err);

    // A passing notice.
    let after = ask("100", &["run", "syscall.getppid", "--profile", "quick", "--budget", "2s", "--rounds", "1"]);
    assert!(after.err.starts_with("groma: run killed=cmd()"), "{after:?}");
    is_harmless("the notice about a killed run", &after.err);
}

#[test]
fn on_a_terminal_only_groma_s_own_colours_pass() {
    if !is_executable("script") {
        eprintln!("skipped: no script (util-linux), which makes a terminal");
        return;
    }
    let place = Place::new();
    let store = hostile_store(&place);
    let program = env!("CARGO_BIN_EXE_groma");
    let on_terminal = |args: &str| {
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &format!("{program} {args}"), "/dev/null"]).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("TERM", "xterm").env("HOME", place.tmp()).env("GROMA_STORE", &store);
        command.env("HOSTILE", HOSTILE).env("SHELL", "/bin/sh");
        String::from_utf8(command.output().expect("script starts").stdout).expect("UTF-8")
    };
    for args in
        ["show --all", "show --hardware", "plot mem.bandwidth", "show nothing", "runs", "run --budget \"$HOSTILE\""]
    {
        let shown = on_terminal(args);
        // The terminal itself ends lines with both characters.
        let text = shown.replace("\r\n", "\n");
        let colours = ["0", "1", "2", "4", "31", "32", "33", "34", "35", "36"];
        let bare = colours.iter().fold(text.clone(), |text, colour| text.replace(&format!("\x1b[{colour}m"), ""));
        is_harmless(args, &bare);
        assert!(bare != text || args == "show nothing", "{args}: {text}");
        // A plot shows only a part of its words.
        assert!(text.contains("\\u{1b}") || args == "plot mem.bandwidth", "{args}: {text}");
    }
}

#[test]
fn the_answer_of_a_server_does_not_control_the_terminal() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let answers = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().expect("a client");
        // Works whichever side speaks first: neither waits more than a moment for the other.
        connection.set_read_timeout(Some(std::time::Duration::from_millis(200))).expect("a time-out");
        let _ = connection.read(&mut [0; 512]);
        let _ = connection.write_all(format!("refused\t{}\n", HOSTILE.replace('\n', " ")).as_bytes());
    });
    let place = Place::new();
    let ended = place.groma(&["run", "net.tcp_rtt", "--host", &address, "--no-store"]);
    answers.join().expect("the server ends");
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
    assert!(ended.err.starts_with("groma: --host "), "{ended:?}");
    is_harmless("a server's answer", &ended.err);
}
