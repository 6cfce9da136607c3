//! A metric over many runs: injected steps are found where they are, and nowhere else.

use crate::common::Place;
use rusqlite::Connection;

/// The columns of a table, with what each of them becomes in a copy.
fn copy(store: &Connection, table: &str, becomes: &[(&str, &str)]) -> String {
    let mut of_table = store.prepare("SELECT name FROM pragma_table_info(?1)").expect("a statement");
    let columns: Vec<String> =
        of_table.query_map([table], |row| row.get(0)).expect("columns").map(|name| name.expect("a name")).collect();
    let value = |column: &String| {
        becomes.iter().find(|(name, _)| name == column).map_or(column.clone(), |(_, becomes)| (*becomes).to_owned())
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!("INSERT INTO {table} ({}) SELECT {} FROM {table} WHERE run = ?1", columns.join(", "), values.join(", "))
}

/// A store with 200 runs of one metric on consecutive days: three steps, noise of half a percent,
/// and another kernel from the second step on.
fn two_hundred_runs() -> Place {
    let place = Place::new();
    let run = ["run", "syscall.getppid", "--profile", "quick", "--rounds", "1", "--json"];
    let first = place.json(&run)["run"]["run"].as_str().expect("an id").to_owned();
    place.calm();
    let mut store = Connection::open(place.store()).expect("a store");
    let kernel = "json_set(json_set(header, '$.run', ?2, '$.started', ?3), '$.environment',
                  json((SELECT json_group_array(CASE value ->> 'key' WHEN 'kernel.release' THEN json_set(value, '$.value', ?4)
                                                ELSE json(value) END) FROM json_each(header, '$.environment'))))";
    let runs = copy(&store, "runs", &[("run", "?2"), ("started", "?3"), ("header", kernel)]);
    let points = copy(&store, "points", &[("run", "?2")]);
    let scaled = "json_set(result, '$.series[0].per_iter', (result ->> '$.series[0].per_iter') / ?3)";
    let rounds = copy(&store, "rounds", &[("run", "?2"), ("result", scaled)]);
    let all = store.transaction().expect("a transaction");
    for i in 0..200u32 {
        let level = [1.0, 1.10, 1.05, 1.30][(i / 50) as usize];
        let noise = 1.0 + 0.005 * (f64::from(i * 7919 % 101) / 50.0 - 1.0);
        let (id, day) =
            (format!("2020{i:04}T000000Z-copy"), format!("2020-{:02}-{:02}T00:00:00Z", i / 28 + 1, i % 28 + 1));
        let kernel = if i < 100 { "5.4" } else { "5.5" };
        all.execute(&runs, (&first, &id, &day, kernel)).expect("a run");
        all.execute(&points, (&first, &id)).expect("points");
        all.execute(&rounds, (&first, &id, level * noise)).expect("rounds");
    }
    all.execute("DELETE FROM runs WHERE run NOT LIKE '%-copy'", []).expect("what was measured goes");
    all.commit().expect("it is written");
    place
}

#[test]
fn injected_steps_are_found_where_they_are() {
    let place = two_hundred_runs();
    let json = place.json(&["trend", "syscall.getppid", "--format", "json"]);
    let series = json.as_array().expect("series");
    let one = series.iter().find(|one| one["id"] == "syscall.getppid").expect("the metric");
    assert_eq!(one["runs"].as_array().expect("runs").len(), 200);
    let changes = one["changes"].as_array().expect("changes");
    let found: Vec<(&str, f64)> = changes
        .iter()
        .map(|change| (change["run"].as_str().expect("an id"), change["ratio"].as_f64().expect("a ratio")))
        .collect();
    let expected = [("20200050T", 1.10), ("20200100T", 1.05 / 1.10), ("20200150T", 1.30 / 1.05)];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((run, ratio), (at, factor)) in found.iter().zip(expected) {
        assert!(run.starts_with(at) && (ratio / factor - 1.0).abs() < 0.01, "{run} {ratio}: {at} {factor}");
    }
    assert_eq!(changes[1]["environment"][0]["key"], "kernel.release");
    let text = place.groma(&["trend", "syscall.getppid"]).out;
    assert!(text.contains("200 runs") && text.contains("kernel.release 5.4 → 5.5"), "{text}");
    let table = place.groma(&["trend", "--changes"]).out;
    assert_eq!(table.lines().filter(|line| line.starts_with("syscall.getppid")).count(), 3, "{table}");
    // Of the runs with one level there is no change.
    let few = place.groma(&["trend", "syscall.getppid", "--last", "40"]).out;
    assert!(few.contains("40 runs") && few.contains("no change"), "{few}");
    let csv = place.groma(&["trend", "syscall.getppid", "--format", "csv"]).out;
    assert!(csv.lines().count() > 200, "{csv}");
}

#[test]
fn a_plot_has_a_dot_for_each_run_and_a_line_for_each_change() {
    let place = two_hundred_runs();
    let (svg, png) = (place.path("trend.svg"), place.path("trend.png"));
    let has_png = cfg!(feature = "png");
    for file in [Some(&svg), Some(&png).filter(|_| has_png)].into_iter().flatten() {
        let ended = place.groma(&["trend", "syscall.getppid", "-o", file.to_str().expect("a path")]);
        assert!(ended.code == Some(0) && ended.out.is_empty(), "{ended:?}");
    }
    let svg = std::fs::read_to_string(&svg).expect("an SVG");
    assert_eq!((svg.matches("<circle").count(), svg.matches("stroke-dasharray").count()), (200, 3));
    assert!(svg.contains("kernel.release 5.4 → 5.5") && svg.contains("syscall.getppid over 200 runs"));
    assert!(!has_png || std::fs::read(&png).expect("a PNG").starts_with(b"\x89PNG"));
    // In the terminal it stands below the text.
    let text = place.groma(&["trend", "syscall.getppid"]).out;
    assert!(text.contains("┊ changes") && text.contains("2020-01-01"), "{text}");
}

#[test]
fn what_cannot_be_shown_is_refused_in_a_line() {
    let place = Place::new();
    assert_eq!(place.groma(&["run", "syscall.getppid", "--profile", "quick", "--rounds", "1"]).code, Some(0));
    place.calm();
    for (args, expected) in [
        (&["trend"][..], "name a metric, as in groma trend ipc.pipe_rtt"),
        (&["trend", "ipc.pipe_rtt"], "ipc.pipe_rtt"),
        (&["trend", "syscall.getppid", "--host", "nowhere"], "--host nowhere: there are runs of "),
        (&["trend", "syscall.getppid", "--tag", "none"], "--tag none: no run has any"),
        (&["trend", "syscall.getppid", "--param", "size=1"], "--param size=1: no complete run of these holds"),
        (&["trend", "syscall.getppid", "-P", "7"], "-P 7: no complete run of these holds syscall.getppid there"),
        (&["trend", "nonesuch"], "nonesuch"),
        (&["trend", "syscall.getppid", "--format", "junit"], "expected one of table, markdown, html, json, csv"),
        (&["trend", "syscall.getppid", "--since", "soon"], "--since"),
        (
            &["trend", "syscall.getppid", "-o", "trend.pdf"],
            "-o trend.pdf: expected a file that ends in .txt, .md, .html, .json, .csv, .svg or .png",
        ),
        (&["trend", "syscall.getppid", "-o", "trend.svg"], "syscall.getppid has a value in one run"),
    ] {
        let ended = place.groma(args);
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.err.contains(expected) && ended.out.is_empty(), "{args:?}: {ended:?}");
    }
    assert!(place.groma(&["trend", "syscall.getppid"]).out.contains("1 run, "));
    let none = place.groma(&["runs", "--host", "nowhere"]).out;
    assert!(none.starts_with("no such runs: --host nowhere: there are runs of "), "{none}");
}

/// Of several points the error lists the commands that differ, and each of them draws.
#[test]
fn a_plot_of_several_points_names_the_command_for_each() {
    let place = Place::new();
    let run = ["run", "syscall.getppid", "-P", "1,2", "--placement", "free", "--profile", "quick", "--rounds", "1"];
    for _ in 0..2 {
        // 4: on a busy machine the two workers may not have overlapped.
        assert!(matches!(place.groma(&run).code, Some(0 | 4)));
    }
    place.calm();
    let file = place.path("trend.svg").to_str().expect("a path").to_owned();
    let several = place.groma(&["trend", "syscall.getppid", "-o", &file]);
    assert_eq!(several.code, Some(2), "{several:?}");
    let commands = several.err.split_once(" are named: ").expect("a list").1.trim();
    let mut commands: Vec<&str> = commands.split("; ").collect();
    // Which of them has a value first depends on the machine.
    commands.sort_unstable();
    assert_eq!(commands, ["groma trend syscall.getppid -P 1", "groma trend syscall.getppid -P 2"], "{several:?}");
    for command in commands {
        let words: Vec<&str> = command.split(' ').skip(1).chain(["-o", &file]).collect();
        assert_eq!(place.groma(&words).code, Some(0), "{command}");
        std::fs::remove_file(&file).expect("a picture");
    }
}
