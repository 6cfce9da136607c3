//! Limits of its own: each is named as the limit it is, and none is blamed on others; and what of a
//! run may fail it.

use crate::common::control_group::ControlGroup;
use crate::common::{Ended, Place, denied, ended, metric};
use groma_harness::sys::filter;
use serde_json::Value;

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {ended:?}"))
}

#[test]
fn a_cpu_quota_is_not_the_load_of_others() {
    let Some(group) = ControlGroup::of_a_tenth_of_a_cpu() else { return };
    let place = Place::new();
    let run = ["run", "syscall.getppid", "--profile", "quick", "--rounds", "2"];
    let quick = group.run(&place, &[&run[..], &["--json", "--budget", "5m"]].concat());
    let json = json(&quick);
    for limit in [&json["run"]["cpu_limit"], &json["end"]["cpu_limit"]] {
        assert_eq!(limit["cpus"], 0.1, "{json}");
        let held_back = limit["held_back"].as_f64().expect("a share");
        assert!(held_back > 0.0 && held_back <= 1.0, "{limit}");
    }
    // Two parts of what was lost.
    let both = json["run"]["noise_lost"].as_f64().zip(json["run"]["cpu_limit"]["held_back"].as_f64());
    assert!(both.is_some_and(|(others, own)| others >= 0.0 && others + own <= 1.0 + 1e-9), "{both:?}");
    let refused = group.run(&place, &[&run[..], &["--require", "noisy"]].concat());
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.err.starts_with("groma: this control group may use 0.1 CPUs and was held back"), "{refused:?}");
    assert!(refused.err.ends_with("; --require noisy refuses to measure\n"), "{refused:?}");
}

#[test]
fn a_run_that_took_no_sample_fails_and_names_a_budget() {
    let place = Place::new();
    let ended = place.groma(&["run", "syscall", "--budget", "1ms", "--profile", "quick"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let first = ended.err.lines().next().unwrap_or_default();
    assert!(first.starts_with("groma: nothing was measured: not reached within the budget of "), "{first}");
    let (_, advice) = first.rsplit_once("; --budget ").expect("an advice");
    let budget = advice.strip_suffix(" would do").expect("a budget");
    assert_eq!(place.groma(&["run", "syscall", "--budget", budget, "--dry-run"]).code, Some(0), "{budget}");
}

#[test]
fn what_is_denied_fails_a_run_only_where_it_was_named() {
    let place = Place::new();
    let brief = ["--profile", "quick", "--rounds", "1", "--budget", "5m", "--json"];
    let run = |words: &[&str]| denied(&filter::URING_AND_PERF, place.command(&[&["run"], words, &brief[..]].concat()));
    let Some(chosen) = run(&["uring", "syscall.getppid"]) else { return };
    let nop = json(&chosen);
    // Where the kernel has no io_uring, nothing is denied.
    if metric(&nop, "uring.nop")["state"] != "denied" {
        println!("skipped: {}", metric(&nop, "uring.nop"));
        return;
    }
    assert_eq!(chosen.code, Some(0), "{chosen:?}");
    let said = chosen.err.lines().filter(|line| line.contains("points are denied here")).count();
    assert_eq!(said, 1, "{}", chosen.err);
    for words in [&["uring.nop", "syscall.getppid"][..], &["uring", "syscall.getppid", "--strict"]] {
        let named = run(words).expect("filters work");
        assert_eq!(named.code, Some(4), "{named:?}");
        assert!(named.err.lines().any(|line| line.starts_with("groma: uring.nop")), "{words:?}: {}", named.err);
    }
    let filters: u64 = nop["run"]["environment"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|fact| fact["key"] == "security.seccomp_filters")
        .and_then(|fact| fact["value"].as_str()?.parse().ok())
        .unwrap_or(0);
    assert!(filters > 0, "the run knows of the filter");
}

#[test]
fn a_placement_that_was_not_named_may_be_missing() {
    let place = Place::new();
    // One CPU has no two that share a cache; the benchmark has other placements.
    let allowed = groma_harness::sys::affinity::allowed().expect("a mask")[0].to_string();
    let on_one = |words: &[&str]| {
        let args = [&["run", "ipc.pipe_rtt", "--profile", "quick", "--rounds", "1", "--budget", "5m"], words].concat();
        ended(place.wrapped(&["taskset", "-c", &allowed], &args).output().expect("it starts")).code
    };
    if !crate::common::is_executable("taskset") {
        println!("skipped: no taskset");
        return;
    }
    assert_eq!(on_one(&[]), Some(0));
    assert_eq!(on_one(&["--placement", "same-llc"]), Some(4));
}

#[test]
fn a_small_stack_is_refused_and_does_not_overflow() {
    let place = Place::new();
    let small = ["sh", "-c", "ulimit -s 96 && exec \"$@\"", "sh"];
    let refused = ended(place.wrapped(&small, &["run", "syscall.getppid"]).output().expect("sh"));
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{refused:?}");
    assert_eq!(refused.err.lines().count(), 1, "{refused:?}");
    assert!(
        refused.err.contains("the stack is limited to 96 KiB") && refused.err.contains("ulimit -s "),
        "{refused:?}"
    );
}

/// Two tasks are the supervisor and a worker, which gets none of its own.
#[test]
fn a_limit_on_tasks_is_named_and_denies_alike() {
    let Some(group) = ControlGroup::of_tasks(2) else { return };
    let place = Place::new();
    let args =
        ["run", "proc", "thread", "ipc.pipe_rtt", "--profile", "quick", "--rounds", "1", "--budget", "5m", "--json"];
    let ended = group.run(&place, &args);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let json = json(&ended);
    let metrics = json["metrics"].as_array().expect("metrics");
    let refused = metrics.iter().filter(|m| m["reason"].as_str().is_some_and(|why| why.contains("os error 11")));
    let mut seen = 0;
    for m in refused {
        assert_eq!(m["state"], "denied", "{m}");
        assert!(m["reason"].as_str().is_some_and(|why| why.contains("/pids.max of 2")), "{m}");
        seen += 1;
    }
    assert!(seen > 5, "{json}");
    assert!(metrics.iter().all(|m| m["state"] != "failed"), "{json}");
}
