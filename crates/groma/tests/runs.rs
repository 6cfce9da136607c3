//! Whole runs: what they print, what they store, and that both agree.

use crate::common::{Place, has_value, metric, wait_for};
use serde_json::Value;
use std::collections::BTreeMap;

#[test]
fn a_run_is_complete_in_every_form() {
    let place = Place::new();
    let out = place.path("run.ndjson");
    let out_text = out.display().to_string();
    let args =
        ["run", "syscall.getppid", "ipc.pipe_rtt", "--profile", "quick", "--out", &out_text, "--samples", "--json"];
    let run = place.json(&args);
    let plan = place.groma(&["run", "syscall.getppid", "ipc.pipe_rtt", "--profile", "quick", "--dry-run"]);
    // A point to a line, the ids of its metrics in brackets where it has several; the last line
    // counts.
    let metrics = |line: &str| {
        line.split_once("  (")
            .filter(|(_, rest)| rest.contains("rtt"))
            .map_or(1, |(_, ids)| ids.split_once(')').map_or(ids, |(ids, _)| ids).split(", ").count())
    };
    let points = plan.out.lines().count() - 1;
    let planned: usize = plan.out.lines().take(points).map(metrics).sum();
    assert_eq!(run["metrics"].as_array().expect("metrics").len(), planned, "a missing line is a bug");

    // NDJSON: one `run` line, lines of points and rounds, a line for each metric, one `end` line.
    let text = std::fs::read_to_string(&out).expect("the NDJSON file");
    let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).expect("a JSON line")).collect();
    assert_eq!(lines[0]["kind"], "run");
    assert_eq!(lines[lines.len() - 1]["kind"], "end");
    let of_kind = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!((of_kind("run"), of_kind("metric"), of_kind("point"), of_kind("end")), (1, planned, points, 1));
    assert_eq!(lines.len(), planned + points + of_kind("round") + 2);
    for key in ["schema", "run", "groma", "build", "seed", "profile", "environment", "noise"] {
        assert!(lines[0].get(key).is_some(), "the run line lacks {key}");
    }
    for line in lines.iter().filter(|line| line["kind"] == "round") {
        let unsupported = line["result"]["state"] == "unsupported";
        assert!(unsupported || line["result"]["series"][0]["dt"][0].as_u64().is_some_and(|ns| ns > 0), "{line}");
    }
    for line in lines.iter().filter(|line| line["kind"] == "metric") {
        for key in [
            "id",
            "version",
            "params",
            "placement",
            "workers",
            "state",
            "reason",
            "quantity",
            "unit",
            "better",
            "value",
            "ci",
            "p10",
            "p50",
            "p90",
            "p99",
            "max",
            "interference",
            "cycles",
            "rounds",
            "samples",
            "clean",
            "labels",
            "proofs",
        ] {
            assert!(line.get(key).is_some(), "a metric line lacks {key}: {line}");
        }
        assert!(line.get("round_samples").is_none(), "rounds have lines of their own");
    }
    let end = &lines[lines.len() - 1];
    assert_eq!(end["interrupted"], false);
    let counted: u64 = end["states"].as_object().expect("states").values().filter_map(Value::as_u64).sum();
    assert_eq!(counted, planned as u64);

    // Records recomputed from stored rounds equal the printed ones
    // (docs/methods/validation.md#guards).
    let shown = place.json(&["show", "--format", "json", "--samples"]);
    assert_eq!(shown["metrics"], run["metrics"]);
    assert_eq!(shown["run"], run["run"]);
    // Also from the stream, and without a store.
    let streamed = place.json(&["show", &out_text, "--format", "json", "--samples", "--store", "/nonexistent/x.db"]);
    assert_eq!(streamed["metrics"], run["metrics"]);
    assert_eq!(streamed["end"], run["end"]);
    assert!(place.left_behind().is_empty());
}

/// The first two rounds of each point in the order of measurement, as (metric, round).
fn order(run: &Value) -> Vec<(String, u64)> {
    let mut seen = Vec::new();
    for m in run["metrics"].as_array().expect("metrics") {
        for round in m["round_samples"].as_array().into_iter().flatten() {
            if let Some(t0) = round["result"]["series"][0]["t0"][0].as_u64() {
                seen.push((t0, (format!("{} {}", m["id"], m["placement"]), round["round"].as_u64().expect("a round"))));
            }
        }
    }
    seen.sort();
    // More rounds make up for those beside a busy sibling thread.
    seen.into_iter().map(|(_, what)| what).filter(|(_, round)| *round < 2).collect()
}

#[test]
fn the_seed_determines_the_order() {
    let place = Place::new();
    let run = |seed: &str| {
        let brief = ["--profile", "quick", "--rounds", "2", "--budget", "60s", "--no-store", "--samples", "--json"];
        order(&place.json(&[&["run", "syscall", "ipc.pipe_rtt", "--seed", seed][..], &brief].concat()))
    };
    let first = run("7");
    assert!(first.len() >= 12, "{first:?}");
    assert_eq!(first, run("7"));
    assert_ne!(first, run("8"));
}

#[test]
fn each_metric_gets_the_rounds_of_the_profile_in_fresh_processes() {
    let place = Place::new();
    let run = place.json(&["run", "syscall.getppid", "--profile", "quick", "--samples", "--json"]);
    let m = metric(&run, "syscall.getppid");
    let rounds = m["round_samples"].as_array().expect("rounds");
    // Up to three for each that a quick run has, where a sibling thread was busy.
    let most = if m["labels"]["N"].is_null() { 6 } else { 18 };
    assert!((6..=most).contains(&rounds.len()), "{} rounds, {}", rounds.len(), m["labels"]);
    let mut pids: Vec<u64> = rounds.iter().filter_map(|r| r["result"]["pid"].as_u64()).collect();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), rounds.len(), "each round is a fresh process");
    // The iteration count is determined once and frozen for the run.
    let counts: BTreeMap<u64, usize> =
        rounds.iter().filter_map(|r| r["result"]["series"][0]["iters"].as_u64()).fold(BTreeMap::new(), |mut all, n| {
            *all.entry(n).or_default() += 1;
            all
        });
    assert_eq!(counts.len(), 1, "{counts:?}");
}

#[test]
fn the_budget_is_kept_and_unreached_metrics_are_reported() {
    let place = Place::new();
    // 5 %, plus the start of the program; at load 20 not every run is in time.
    let run = wait_for("a run that keeps its budget", || {
        let started = std::time::Instant::now();
        let run = place.json(&["run", "mem", "syscall", "ipc", "--budget", "2s", "--json"]);
        let in_time = run["end"]["wall_s"].as_f64().is_some_and(|s| s <= 2.0 * 1.05 + 0.5);
        (in_time && started.elapsed().as_secs_f64() < 2.0 * 1.05 + 1.0).then_some(run)
    });
    for m in run["metrics"].as_array().expect("metrics") {
        if m["rounds"] == 0 && m["state"] == "unresolved" {
            let reason = m["reason"].as_str().expect("a reason");
            // On a crowded machine members of a group may have worked one after the other.
            let apart = reason.contains("never undisturbed at the same time");
            assert!(reason == "not reached within the budget" || reason.contains("cannot tell: ") || apart, "{m}");
        }
    }
}

#[test]
fn worker_groups_of_processes_and_threads_prove_their_overlap() {
    let place = Place::new();
    for threads in [false, true] {
        let mut args =
            vec!["run", "syscall.getppid", "-P", "2,4", "--profile", "quick", "--rounds", "1", "--samples", "--json"];
        if threads {
            args.push("--threads");
        }
        let run = place.json(&args);
        for m in run["metrics"].as_array().expect("metrics") {
            let series = &m["round_samples"][0]["result"]["series"][0];
            let margins = series["margin"].as_array().unwrap_or_else(|| panic!("margins: {m}"));
            assert!(margins.iter().all(|v| v.as_i64().is_some_and(|v| v >= 0)), "{margins:?}");
            let mut workers: Vec<u64> =
                series["worker"].as_array().expect("workers").iter().filter_map(Value::as_u64).collect();
            workers.sort_unstable();
            workers.dedup();
            assert_eq!(workers.len() as u64, m["workers"].as_u64().expect("a number"));
        }
    }
}

#[test]
fn a_run_and_show_print_the_same() {
    let place = Place::new();
    // Enough of the hardware survey for a page.
    let run = place.groma(&["run", "cpu.frequency", "cpu.call", "mem.line", "clock.rate", "--profile", "quick"]);
    // Of a metric that a hostile machine left open there is no row, and without rows no page.
    if !run.out.contains("unresolved") {
        assert!(run.out.contains("HARDWARE") && run.out.contains("core clock"), "{run:?}");
    }
    assert_eq!(run.out, place.groma(&["show"]).out);
    // The page is that of the latest run that has one, and it says so.
    let page = place.groma(&["show", "--hardware"]);
    assert_eq!(place.groma(&["run", "syscall.getppid", "--profile", "quick", "--rounds", "1"]).code, Some(0));
    let later = place.groma(&["show", "--hardware"]);
    assert_eq!(later.out, page.out);
    assert!(page.out.is_empty() || later.err.contains("the latest run that holds hardware is"), "{later:?}");
}

#[test]
fn a_value_that_contradicts_earlier_runs_says_so() {
    let place = Place::new();
    // Those that are flagged, and those that have a value that can be.
    let flagged = |args: &[&str]| {
        let records = place.json(args)["metrics"].as_array().expect("metrics").clone();
        let flags =
            |r: &Value| r["flags"].as_array().expect("flags").iter().any(|f| f.to_string().contains("contradicts"));
        [flags, has_value].map(|is_it| records.iter().filter(|r| is_it(r)).count())
    };
    let run = ["run", "syscall.getppid", "--profile", "quick", "--rounds", "3", "--json"];
    for _ in 0..3 {
        assert_eq!(flagged(&run)[0], 0, "fewer than three runs are no rule");
    }
    // As if an iteration had been many operations.
    let store = rusqlite::Connection::open(place.store()).expect("a store");
    store
        .execute_batch("UPDATE rounds SET result = replace(result, '\"per_iter\":', '\"per_iter\":9')")
        .expect("rounds");
    let [contradicting, all] = flagged(&run);
    assert_eq!(contradicting, all);
    // Whoever looks at it later sees the same.
    assert_eq!(flagged(&["show", "--format", "json"]), [contradicting, all]);
    place.calm();
    assert_eq!(flagged(&["show", "--format", "json"]), [1, 1]);
    let shown = place.groma(&["show"]).out;
    assert!(shown.contains("contradicts"), "{shown}");
}

#[test]
fn a_metric_is_shown_on_a_card_with_what_it_was_before() {
    let place = Place::new();
    let run = ["run", "syscall.getppid", "vm.protect", "--param", "size=4K", "--profile", "quick", "--rounds", "1"];
    for _ in 0..2 {
        let ended = place.groma(&run);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    place.calm();
    let card = place.groma(&["show", "syscall.getppid"]);
    assert_eq!(card.code, Some(0), "{card:?}");
    for part in ["  value", "  rounds", "in 1 run of this machine", "again     groma run syscall.getppid\n"] {
        assert!(card.out.contains(part), "{part}: {}", card.out);
    }
    let first = place.json(&["show", "latest~1", "--format", "json"])["run"]["run"].clone();
    let first = first.as_str().expect("an id");
    assert!(!card.out.contains(first), "{}", card.out);
    let card = place.groma(&["show", "syscall.getppid", first]).out;
    assert!(card.contains(first) && !card.contains("in 1 run of this machine"), "{card}");
    let again = place.groma(&["show", "vm.protect"]).out;
    assert!(again.contains("groma run vm.protect --param size=4096 --param pages=present\n"), "{again}");
    let rows = place.groma(&["show", "vm.protect", "--format", "csv"]).out;
    assert_eq!(rows.lines().filter(|row| row.contains(",vm.protect,")).count(), 1, "{rows}");
    // Of one that no run has, and of a card that is asked to be a table.
    for (args, expected) in [
        (&["show", "mem.latency"][..], "no run holds mem.latency: groma run mem.latency"),
        (&["show", "mem.latency", "latest~1"], "run latest~1 does not hold mem.latency"),
        (&["show", "latest", "vm.protect"], "'vm.protect' is one run too many"),
        (&["show", "vm.protect", "--states"], "groma show --select vm.protect"),
    ] {
        let refused = place.groma(args);
        assert!(refused.code == Some(2) && refused.err.contains(expected), "{refused:?}");
    }
}

/// Beside what earlier runs knew, a core that is slow for the whole of a run is a shared one.
#[test]
fn a_core_that_was_never_as_fast_as_before_is_shared() {
    let place = Place::new();
    let run = ["run", "syscall.getppid", "--profile", "quick", "--rounds", "1", "--json"];
    let first = place.json(&run);
    if first["run"]["host"]["core"].is_null() {
        return;
    }
    let shared = |run: &Value| {
        let metric = &run["metrics"][0];
        let samples = metric["labels"]["N"].as_u64().unwrap_or(0);
        let flagged = metric["flags"].as_array().expect("flags").iter().any(|f| f.to_string().contains("shared core"));
        (samples, flagged)
    };
    // Two runs, as if this core had once done many times as much in a cycle.
    let length = &first["run"]["host"]["core"]["length"];
    let store = rusqlite::Connection::open(place.store()).expect("a store");
    for n in 0..2 {
        let core = format!(r#"{{"length":{length},"step":0,"idle":50,"alone":true,"shared_below":40}}"#);
        let copy = format!(
            "CREATE TEMP TABLE copy AS SELECT * FROM runs LIMIT 1;
             UPDATE copy SET run = 'copy{n}',
                header = json_set(header, '$.run', 'copy{n}', '$.host.core', json('{core}'));
             INSERT INTO runs SELECT * FROM copy;
             DROP TABLE copy;"
        );
        store.execute_batch(&copy).expect("a copy");
    }
    let beside = place.json(&run);
    let (samples, flagged) = shared(&beside);
    assert!(flagged && samples > 0, "{beside}");
    // What was recalled is no finding of this run.
    assert!(beside["run"]["host"]["core"]["idle"].as_f64().is_some_and(|idle| idle < 40.0), "{beside}");
}

#[test]
fn plot_and_show_take_the_latest_run_that_has_the_metric() {
    let place = Place::new();
    let quick = |ids: &[&str]| {
        let run = place.json(&[&["run", "--profile", "quick", "--rounds", "1", "--json"], ids].concat());
        run["run"]["run"].as_str().expect("an id").to_owned()
    };
    let with = quick(&["mem.latency"]);
    let without = quick(&["syscall.getppid"]);
    place.calm();
    for args in [&["plot", "mem.latency"][..], &["show", "--select", "mem.latency"]] {
        let shown = place.groma(args);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        assert!(shown.err.contains(&format!("the latest run that holds mem.latency is {with}")), "{shown:?}");
    }
    // A run that is named is that run, and a metric that no run has is in none.
    for args in [
        &["plot", "mem.latency", "--run", &without][..],
        &["show", &without, "--select", "mem.latency"],
        &["plot", "mem.stream"],
        &["show", "--select", "mem.stream"],
    ] {
        let refused = place.groma(args);
        assert!(refused.code != Some(0) && refused.err.contains(&without), "{refused:?}");
    }
    let latest = place.groma(&["show", "--select", "syscall"]);
    assert!(latest.out.contains(&without) && latest.err.is_empty(), "{latest:?}");
}

#[test]
fn show_takes_names_of_metrics_and_of_other_tools() {
    let place = Place::new();
    let args =
        ["--param", "size=4K,8K,16K,32K,64K", "--param", "chain=amortised", "--profile", "quick", "--rounds", "1"];
    let run = place.json(&[&["run", "mem.latency", "--json"][..], &args].concat());
    let run = run["run"]["run"].as_str().expect("an id");
    let shown = |args: &[&str]| {
        let shown = place.groma(&[&["show"], args].concat());
        assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""), "{args:?}: {shown:?}");
        shown.out
    };
    // Many points are lines of a table, which ends with the command for one of them.
    let table = shown(&["mem.latency"]);
    assert_eq!(table.matches("measures").count(), 0, "{table}");
    let command = table.lines().last().and_then(|line| line.split_once("groma show ")).expect("a command").1;
    let card = shown(&command.split(' ').collect::<Vec<_>>());
    assert!(card.starts_with("mem.latency size=4 KiB") && card.matches("\n  measures  ").count() == 1, "{card}");
    assert_eq!(shown(&["lat_mem_rd"]), table);
    assert_eq!(shown(&["lat_mem_rd", run]), table);
    assert!(shown(&["lat_mem_rd", "--param", "size=8K"]).starts_with("mem.latency size=8 KiB"));
    for (args, expected) in [
        (&["nothing"][..], "no run 'nothing'; the latest: 2"),
        (&["mem.latenc"], "and no metric: did you mean 'mem.latency'?"),
        (&["mem.latency", "--param", "size=1M"], "holds no mem.latency --param size=1M"),
        (&["lat_pipe"], "no run holds lat_pipe: groma run lat_pipe"),
        (&["latest", "--param", "size=8K"], "choose the points of one metric"),
        (&["lat_mem_rd", "--states"], "groma show --select mem.latency,mem.stride"),
    ] {
        let refused = place.groma(&[&["show"], args].concat());
        assert_eq!((refused.code, refused.err.lines().count()), (Some(2), 1), "{refused:?}");
        assert!(refused.err.contains(expected), "{args:?}: {refused:?}");
    }
}

#[test]
fn several_runs_are_drawn_together() {
    let place = Place::new();
    let quick = || {
        let args = ["--param", "size=8K,16K,32K,64K", "--profile", "quick", "--rounds", "1", "--json"];
        let run = place.json(&[&["run", "mem.latency"][..], &args].concat());
        run["run"]["run"].as_str().expect("an id").to_owned()
    };
    let (first, second) = (quick(), quick());
    place.calm();
    let svg = place.path("both.svg").display().to_string();
    let both = place.groma(&["plot", "mem.latency", "--run", &first, "--run", &second, "-o", &svg]);
    assert_eq!((both.code, both.err.as_str()), (Some(0), ""), "{both:?}");
    let drawn = std::fs::read_to_string(&svg).expect("a plot");
    assert!(drawn.contains(&first) && drawn.contains(&second));
    assert_eq!(drawn.matches("stroke-width=\"2\"").count(), 2, "{drawn}");
    for (args, expected) in [
        (&["--run", &first, "--run", "latest", "--run", &second][..], "is named twice"),
        (&["--run", &first, "--run", &second, "--histogram"], "a distribution is of one run, and 2 are named"),
        (&["--run", &first, "--run", "none"], "none"),
        (&["-P", "7"], "in that placement or worker group"),
    ] {
        let refused = place.groma(&[&["plot", "mem.latency"], args].concat());
        assert_eq!((refused.code, refused.err.lines().count()), (Some(2), 1), "{refused:?}");
        assert!(refused.err.contains(expected), "{refused:?}");
    }
}

#[test]
fn a_distribution_of_several_points_names_the_command_of_each() {
    let place = Place::new();
    // A round on a busy machine may have too few samples for a distribution.
    wait_for("a run with many samples", || {
        let args = ["run", "ipc.pipe_rtt", "--param", "size=1,64", "--profile", "quick", "--rounds", "1", "--json"];
        let run = place.json(&args);
        let of_first = |m: &&Value| m["id"] == "ipc.pipe_rtt";
        let metrics = run["metrics"].as_array().expect("metrics").iter().filter(of_first);
        metrics.map(|m| m["samples"].as_u64().unwrap_or(0)).all(|samples| samples >= 12).then_some(())
    });
    let refused = place.groma(&["plot", "ipc.pipe_rtt", "--histogram"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{refused:?}");
    let commands: Vec<&str> = refused.err.lines().skip(1).collect();
    assert_eq!(commands.len(), 2, "{refused:?}");
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let plotted = place.groma(&words);
        assert_eq!((plotted.code, plotted.err.as_str()), (Some(0), ""), "{command}: {plotted:?}");
        // Alone, without being asked for: there is no curve.
        let unasked = place.groma(&words[..words.len() - 1]);
        assert_eq!(unasked.out, plotted.out, "{command}");
    }
}

#[test]
fn lists_explanations_plots_and_completions_come_from_the_catalogue() {
    let place = Place::new();
    let list: Value = place.json(&["list", "--json"]);
    let ids: Vec<&str> = list.as_array().expect("a list").iter().filter_map(|b| b["id"].as_str()).collect();
    assert!(ids.contains(&"syscall.getppid"));
    // What is only measured when it is named has to be found; what groma tests itself with has not.
    assert!(ids.contains(&"mix.command") && !ids.iter().any(|id| id.starts_with("selftest.")));
    for id in &ids {
        let text = place.groma(&["explain", id]);
        assert_eq!(text.code, Some(0));
        assert!(text.out.starts_with(id) || text.out.contains(id), "{}", text.out);
    }
    let shells: &[&str] = if cfg!(feature = "completions") { &["bash", "zsh", "fish"] } else { &[] };
    for shell in shells {
        let proposed = place.groma(&["completions", shell]).out;
        assert!(ids.iter().all(|id| proposed.contains(id)) && proposed.contains("groma"), "{shell}");
    }
    if cfg!(feature = "manual") {
        assert!(place.groma(&["manual"]).out.contains(".TH"));
        assert!(place.groma(&["manual", "run"]).out.contains("budget"));
    }
    assert_eq!(place.groma(&["manual", "walk"]).code, Some(2));
    let machine = place.json(&["machine", "--json", "--no-gauge"]);
    assert!(machine["facts"].as_object().is_some_and(|f| f.len() > 10), "{machine}");

    place.groma(&["run", "mem.latency", "--profile", "quick", "--rounds", "1"]);
    place.calm();
    let svg = place.path("curve.svg");
    let plotted = place.groma(&["plot", "mem.latency", "-o", &svg.display().to_string()]);
    assert_eq!(plotted.code, Some(0), "{plotted:?}");
    assert!(std::fs::read_to_string(&svg).expect("a file").contains("<svg"));
    let png = place.path("curve.png");
    let plotted = place.groma(&["plot", "mem.latency", "-o", &png.display().to_string()]);
    if cfg!(feature = "png") {
        assert!(std::fs::read(&png).expect("a file").starts_with(b"\x89PNG"));
    } else {
        assert!(plotted.code == Some(2) && plotted.err.contains("--features png"), "{plotted:?}");
    }
    assert_eq!(place.groma(&["plot", "mem.latency"]).code, Some(0));
    assert_eq!(place.groma(&["runs"]).out.lines().count(), 2);
}
