//! Known truths, measured in real time (docs/methods/validation.md#guards): ratios and
//! identities only, which hold at load 20.

mod common;
use common::{Place, metric};
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Concurrent tests would disturb each other: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn value(m: &Value) -> f64 {
    m["value"].as_f64().unwrap_or_else(|| panic!("no value: {m}"))
}

/// A spin of known length is measured within 0.5 % or two clock steps
/// (docs/methods/validation.md#guards).
#[test]
fn a_spin_of_known_length_is_measured_right() {
    let _alone = alone();
    let place = Place::new();
    let run = place.json(&["run", "selftest.spin", "--rounds", "9", "--budget", "60s", "--json"]);
    let step = run["run"]["host"]["clock_step_ns"].as_f64().expect("a step") * 1e-9;
    let cost = run["run"]["host"]["clock_cost_ns"].as_f64().expect("a cost") * 1e-9;
    for m in run["metrics"].as_array().expect("metrics") {
        let known = m["params"]["span_ns"].as_f64().expect("a span") * 1e-9;
        // A spin ends with the first read at or after its end: half a read late on average, and the
        // same at its start.
        let allowed = (0.005 * known).max(2.0 * step) + cost;
        assert!((value(m) - known).abs() <= allowed, "{known} came out as {} ({m})", value(m));
    }
}

/// The bound of an offset is the offset and half of the round trip that it was seen with; of
/// several pairs it is the largest.
#[test]
fn an_offset_and_half_a_round_trip_are_within_the_bound() {
    let _alone = alone();
    let place = Place::new();
    for _ in 0..3 {
        let run = place.json(&["run", "clock.offset", "--rounds", "1", "--budget", "20s", "--json"]);
        let (offset, bound) = (metric(&run, "clock.offset"), metric(&run, "clock.offset.bound"));
        let fact = |key: &str| -> Option<f64> {
            let facts = offset["facts"].as_array()?;
            facts.iter().find(|fact| fact["key"] == key)?["value"].as_str()?.parse().ok()
        };
        let (Some(half), Some(pairs)) = (fact("offset.uncertainty"), fact("offset.pairs")) else {
            println!("skipped: {} {}", offset["state"], offset["reason"]);
            continue;
        };
        let (offset, bound) = (value(offset), value(bound));
        // The fact is rounded to four digits.
        let within = |least: f64, most: f64| least <= 1.001 * most;
        assert!(within(offset.max(half), bound) && within(bound, offset + half), "{offset} {half} {bound}");
        assert!(pairs > 1.0 || within(offset + half, bound), "{offset} {half} {bound}");
    }
}

/// Half of the interval of a metric, over its value.
fn half_width(metric: &Value) -> f64 {
    let end = |i: usize| metric["ci"][i].as_f64().expect("an interval");
    (end(1) - end(0)) / 2.0 / value(metric)
}

/// Twice the work takes twice the time (docs/methods/validation.md#guards).
#[test]
fn twice_the_additions_take_twice_as_long() {
    let _alone = alone();
    let place = Place::new();
    let args =
        ["run", "selftest.add_chain", "--param", "ops=6400,12800,25600", "--rounds", "9", "--budget", "60s", "--json"];
    // The three are compared within one run, in cycles: many hosts change the core's clock by
    // percents between rounds. A host that changes it between a frequency probe and the samples
    // next to it is given more chances. Where it does so all the time, each round's cycles are off
    // (up to 4 % were seen), and the times have to agree within their intervals: wide ones there,
    // narrow ones where nothing disturbs.
    let mut seen = Vec::new();
    let mut agree = 0;
    for _ in 0..8 {
        let run = place.json(&args);
        let metrics = run["metrics"].as_array().expect("metrics");
        let cycles: Vec<f64> = metrics.iter().filter_map(|m| m["cycles"].as_f64()).collect();
        assert_eq!(cycles.len(), 3, "{metrics:#?}");
        let error = cycles.windows(2).map(|w| (w[1] / w[0] / 2.0 - 1.0).abs()).fold(0.0, f64::max);
        if error <= 0.002 {
            return;
        }
        seen.push(error);
        let is_twice = |w: &[Value]| {
            let (ratio, widths) = (value(&w[1]) / value(&w[0]) / 2.0, half_width(&w[0]) + half_width(&w[1]));
            (ratio - 1.0).abs() <= widths
        };
        agree += usize::from(metrics.windows(2).all(is_twice));
    }
    assert!(agree > seen.len() / 2, "off by {seen:?} in every run, within the intervals of the times in {agree}");
    println!("the host moves the core's clock: off by {seen:?}, within the intervals of the times in {agree}");
}

/// Competitors on the same CPU do not move the headline; they show in the labels
/// (docs/methods/timing.md#labels).
#[test]
fn competitors_change_the_labels_but_not_the_value() {
    let _alone = alone();
    let place = Place::new();
    let cpu = first_cpu();
    let args = [
        "run",
        "selftest.add_chain",
        "--param",
        "ops=6400",
        "--placement",
        &cpu,
        "--rounds",
        "9",
        "--budget",
        "60s",
        "--json",
    ];
    let known = 6400.0;
    // In cycles, of which an addition takes one: hosts change the core's clock between the two
    // runs. A host that changes it within the rounds is given more chances.
    let mut seen = Vec::new();
    for _ in 0..8 {
        let quiet = place.json(&args);
        let spinners: Vec<_> = (0..3).map(|_| Spinner::on(&cpu)).collect();
        let busy = place.json(&args);
        drop(spinners);
        let (q, b) = (metric(&quiet, "selftest.add_chain"), metric(&busy, "selftest.add_chain"));
        let cycles = |m: &Value| m["cycles"].as_f64().unwrap_or_else(|| panic!("no cycles: {m}"));
        let right = |m: &Value| (cycles(m) / known - 1.0).abs() <= 0.02;
        // A lost time slice shows as a preemption, or as stolen time if the competitor came with an
        // interrupt.
        let share =
            |m: &Value, label: &str| m["labels"][label].as_f64().unwrap_or(0.0) / m["samples"].as_f64().unwrap_or(1.0);
        let disturbed = |m: &Value| share(m, "P") + share(m, "S");
        if right(q) && right(b) && (disturbed(b) > disturbed(q) || disturbed(b) > 0.02) {
            return;
        }
        seen.push((cycles(q), q["labels"].clone(), cycles(b), b["labels"].clone()));
    }
    panic!("{known} cycles are known; quiet and busy: {seen:#?}");
}

struct Spinner(std::process::Child);

impl Spinner {
    /// A busy loop on that CPU until it is dropped.
    fn on(cpu: &str) -> Spinner {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!("taskset -cp {cpu} $$ >/dev/null 2>&1; while :; do :; done")]);
        Spinner(command.spawn().expect("sh"))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn first_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let list = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).expect("a list").trim().to_owned();
    list.split([',', '-']).next().expect("a CPU").to_owned()
}
