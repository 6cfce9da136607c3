//! `groma paper`: a stored value in its place among published ones, and input that is refused.

use crate::common::{self, Ended, Place, has_value};
use groma_published::{DOCUMENTS, Drawn};

/// Runs `groma paper` with these arguments.
fn paper(place: &Place, args: &[&str]) -> Ended {
    place.groma(&[&["paper"], args].concat())
}

#[test]
fn a_measured_value_stands_in_its_place() {
    let place = Place::new();
    let before = paper(&place, &["lmbench1996", "table7"]);
    assert_eq!(before.code, Some(0), "{before:?}");
    assert!(before.out.contains("Nothing of it is measured here yet: groma paper lmbench1996 table7 --measure"));
    let measured = paper(&place, &["lmbench1996", "table7", "--measure"]);
    assert_eq!(measured.code, Some(0), "{measured:?}");
    assert!(measured.err.contains("measuring 1 point in at most"), "{measured:?}");
    place.calm();
    let shown = paper(&place, &["lmbench1996", "table7"]);
    let rows: Vec<&str> = shown.out.lines().skip_while(|line| !line.starts_with("system")).skip(1).take(16).collect();
    assert_eq!(rows.iter().filter(|row| row.starts_with("→ ")).count(), 1, "{shown:?}");
    // What is there is not measured again, and the value is the record's, in microseconds.
    let again = paper(&place, &["lmbench1996", "table7", "--measure", "--format", "csv"]);
    assert_eq!((again.code, again.err.as_str()), (Some(0), ""));
    let run = place.json(&["show", "--format", "json"]);
    let value = common::metric(&run, "syscall.write_libc")["value"].as_f64().expect("a value");
    let own = again.out.lines().find(|line| line.contains("measured by groma")).expect("a line of this machine");
    let shown: f64 = own
        .split(",us,")
        .next()
        .and_then(|line| line.rsplit(',').next())
        .and_then(|v| v.parse().ok())
        .expect("a number");
    assert!((shown / (value * 1e6) - 1.0).abs() < 1e-9, "{own} {value}");
    assert_eq!(again.out.lines().count(), 1 + 15 + 1);
    // Named runs: each its row, told apart where host and processor are the same.
    let id = run["run"]["run"].as_str().expect("an id");
    let two = paper(&place, &["lmbench1996", "table7", "--run", id, "--run", "latest"]);
    assert_eq!(
        two.out.lines().filter(|line| line.starts_with("→ ") && line.contains(&format!("({id})"))).count(),
        4,
        "{two:?}"
    );
    // A run that holds nothing of a table.
    let none = paper(&place, &["lmbench1996", "table11", "--run", id]);
    assert_eq!((none.code, none.err), (Some(2), format!("groma: run {id} holds no value of lmbench1996 table11\n")));
    let page = place.path("all.html");
    let all = paper(&place, &["--all", "-o", page.to_str().expect("a path")]);
    assert_eq!((all.code, all.out.as_str()), (Some(0), ""), "{all:?}");
    let html = std::fs::read_to_string(page).expect("the page");
    assert!(html.contains("<tr class=\"ours\">") && html.contains("times as fast as the best of 1996"), "{html}");
}

/// A copy counts half, a bandwidth for each MIPS is of the rate of additions, and a clock is a
/// period.
#[test]
fn values_are_converted_to_what_the_papers_print() {
    let place = Place::new();
    let measured = paper(&place, &["ousterhout1990", "table5", "--measure"]);
    assert_eq!(measured.code, Some(0), "{measured:?}");
    place.calm();
    let table = paper(&place, &["ousterhout1990", "table5", "--format", "csv"]);
    let run = place.json(&["show", "--format", "json"]);
    // What was not reached in time has no value, and no place in the table.
    let record = |id: &str, buffer: Option<u64>| {
        let all = run["metrics"].as_array().expect("metrics").iter();
        let mut own = all.filter(|m| m["id"] == id && buffer.is_none_or(|size| m["params"]["buffer"] == size));
        own.next().filter(|m| has_value(m)).and_then(|m| m["value"].as_f64())
    };
    let shown = |text: &str, metric: &str, params: &str| -> Option<f64> {
        let own = text.lines().find(|l| l.contains("measured by groma") && l.contains(&format!(",{metric},{params},")));
        own?.split(&format!(",{metric},{params},")).nth(1)?.split(',').next()?.parse().ok()
    };
    let close = |shown: Option<f64>, expected: Option<f64>| {
        assert_eq!(shown.is_some(), expected.is_some(), "{shown:?} {expected:?}");
        assert!(shown.zip(expected).is_none_or(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{shown:?} {expected:?}");
    };
    let (cached, uncached) = (record("mem.libc", Some(16 << 10)), record("mem.libc", Some(128 << 20)));
    let hertz = record("cpu.frequency", None);
    assert!(cached.is_some(), "{run}");
    close(shown(&table.out, "mem.bcopy_libc_bw", "cached=yes"), cached.map(|rate| rate / 2.0 / 1e6));
    close(shown(&table.out, "mem.bcopy_libc_bw", "cached=no"), uncached.map(|rate| rate / 2.0 / 1e6));
    let for_each = uncached.zip(hertz).map(|(rate, hertz)| rate / 2.0 / hertz);
    close(shown(&table.out, "mem.bcopy_libc_bw.mb_per_mips", "cached=no"), for_each);
    let clock = paper(&place, &["lmbench1996", "table6", "--format", "csv"]);
    close(shown(&clock.out, "cpu.clock_period", ""), hertz.map(|hertz| 1e9 / hertz));
    // As text, it says that this is a bound and of what.
    let text = paper(&place, &["ousterhout1990", "table5"]).out;
    let bound = text.contains("≤ ") && text.contains("the rate of integer additions that wait for each other");
    assert!(bound || for_each.is_none(), "{text}");
}

#[test]
fn a_ratio_is_that_of_the_rows_it_names() {
    let place = Place::new();
    let csv = paper(&place, &["cse221", "task_creation", "--run", "reference:zen4-vm-2026", "--format", "csv"]);
    let value = |metric: &str| -> f64 {
        let own = |line: &&str| line.contains("measured by groma") && line.contains(metric);
        let line = csv.out.lines().find(own).unwrap_or_else(|| panic!("{metric}: {csv:?}"));
        let after = line.split(&format!(",{metric},,")).nth(1).expect("no parameters");
        after.split(',').next().and_then(|value| value.parse().ok()).expect("a number")
    };
    let ratio = value("proc.create") / value("thread.create");
    assert!(ratio > 1.5 && (value("proc_thread.create_ratio") / ratio - 1.0).abs() < 1e-9, "{csv:?}");
}

/// A run that holds nothing of a table is left out, unless there is no other; a machine that groma
/// knows is one more row.
#[test]
fn runs_without_a_value_are_left_out() {
    let place = Place::new();
    let run = |bench: &str| {
        let run = place.json(&["run", bench, "--profile", "quick", "--rounds", "2", "--json"]);
        run["run"]["run"].as_str().expect("an id").to_owned()
    };
    let (stat, other) = (run("syscall.stat"), run("syscall.getppid"));
    place.calm();
    let named = ["cse221", "system_call", "--run", &stat, "--run", &other, "--run", "reference"];
    let ended = paper(&place, &named);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.err, format!("groma: left out: run {other} holds no value of cse221 system_call\n"));
    let head = ended.out.lines().find(|line| line.starts_with("quantity")).expect("a head");
    assert_eq!(head.matches("→ ").count(), 2, "{ended:?}");
    assert!(ended.out.contains("emerald-vm-2026"), "{ended:?}");
    let one = paper(&place, &["cse221", "system_call", "--run", "reference:zen4-vm-2026"]);
    assert!(one.code == Some(0) && one.out.contains("→ zen4-vm-2026"), "{one:?}");
    let none = paper(&place, &["cse221", "system_call", "--run", &other, "--run", &other]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert_eq!(none.err.matches(&format!("run {other} holds no value of cse221 system_call")).count(), 2, "{none:?}");
}

/// Figures without numbers say what they show and how to draw the like; each of their commands
/// plans something or is a plot of what another one measures.
#[test]
fn figures_without_numbers_have_commands() {
    let place = Place::new();
    let mut seen = 0;
    for picture in DOCUMENTS.iter().flat_map(|document| document.pictures) {
        let Drawn::By(commands) = picture.drawn else { continue };
        let ended = paper(&place, &["lmbench3", picture.name]);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(ended.code == Some(0) && words(&ended.out).contains(picture.shows), "{ended:?}");
        for command in commands {
            assert!(ended.out.lines().any(|line| line.trim() == *command), "{command}: {ended:?}");
            let args: Vec<&str> = command.split(' ').skip(1).collect();
            if args[0] == "run" {
                let planned = place.groma(&[&args[..], &["--dry-run"]].concat());
                assert_eq!(planned.code, Some(0), "{command}: {planned:?}");
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 20);
    // Ousterhout's is drawn from his tables, with a bound for this machine.
    let file = place.path("figure1.svg");
    let drawn = paper(&place, &["ousterhout1990", "figure1", "--measure", "-o", file.to_str().expect("a path")]);
    assert_eq!(drawn.code, Some(0), "{drawn:?}");
    let svg = std::fs::read_to_string(file).expect("a picture");
    assert!(svg.contains("file.create_delete") && svg.contains("MVAX2"), "{svg}");
    let text = paper(&place, &["ousterhout1990", "figure1"]).out;
    let bound = text.contains("upper bounds, relative to the ");
    assert_eq!(bound, svg.contains("upper bounds"), "{text}");
}

#[test]
fn files_of_values_say_what_they_lack() {
    let all = paper(&Place::new(), &["--all", "--format", "csv"]);
    assert_eq!(all.code, Some(0), "{all:?}");
    assert!(
        all.err.contains("lmbench1996 systems, lmbench3 table2, lmbench3 systems, ousterhout1990 systems"),
        "{all:?}"
    );
}

#[test]
fn the_list_names_every_table() {
    let list = paper(&Place::new(), &[]);
    assert_eq!(list.code, Some(0), "{list:?}");
    for document in &DOCUMENTS {
        assert!(list.out.contains(document.title), "{}", document.name);
        for picture in document.pictures {
            let line = |line: &&str| line.trim_start().starts_with(&format!("{} ", picture.name));
            assert!(list.out.lines().any(|l| line(&l) && l.contains(picture.title)), "{}", picture.name);
        }
        for table in document.tables {
            let line =
                |line: &&str| line.trim_start().starts_with(&format!("{} ", table.name)) && line.contains(table.title);
            assert!(list.out.lines().any(|l| line(&l)), "{} {}", document.name, table.name);
        }
    }
    let errors = paper(&Place::new(), &["ousterhout1990", "--check"]);
    assert!(
        errors.out.starts_with("ousterhout1990: 10 of 194 derived numbers are not what the others give"),
        "{errors:?}"
    );
    assert_eq!(errors.out.lines().count(), 11);
}

#[test]
fn bad_input_is_refused_in_a_line() {
    let place = Place::new();
    for (args, expected) in [
        (
            &["lmbench"][..],
            "there is no document 'lmbench' (known: lmbench1996, lmbench3, ousterhout1990, cse221, slb)",
        ),
        (&["lmbench1996", "table99"], "lmbench1996 has no table 'table99' (known: table1, table2"),
        (&["lmbench3", "figure12"], "lmbench3 has no table 'figure12' (known: table2, table3, text, systems, figure2"),
        (&["lmbench3", "figure7", "--format", "csv"], "lmbench3 figure7 prints no numbers: there is nothing for CSV"),
        (
            &["lmbench3", "figure7", "-o", "x.svg"],
            "-o x.svg: lmbench3 figure7 prints no numbers; of this machine: groma run timer.sleep ",
        ),
        (&["slb", "memhammer", "--run", "reference:none"], "no reference 'none' (known: reference:emerald-vm-2026"),
        (&["--measure"], "name a document, or all of them with --all"),
        (&["slb", "--format", "xml"], "expected one of table, markdown, html, json, csv"),
        (&["slb", "memhammer", "--run", "nope"], "groma.db: no store here yet"),
        (&["slb", "memhammer", "-o", "x.svg"], "-o x.svg: slb memhammer is not a figure"),
        (&["slb", "-o", "x.svg"], "-o x.svg: a picture shows one figure"),
        (&["slb", "-o", "/nonexistent/x.html"], "-o /nonexistent/x.html: No such file"),
    ] {
        let ended = paper(&place, args);
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.err.contains(expected) && ended.out.is_empty(), "{args:?}: {ended:?}");
    }
}
