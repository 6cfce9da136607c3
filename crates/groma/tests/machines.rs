//! What would be measured where, on recorded machines unlike this one.

use crate::common::{Place, eight_at_a_time};
use groma_harness::model::Profile;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What shows the rules: a single task, two sides, memory of a node, a worker group, pairs of CPUs.
const SELECTION: [&str; 9] = [
    "syscall.getppid",
    "ipc.pipe_rtt",
    "mem.numa",
    "mem.random_read",
    "cpu.core_to_core",
    "--param",
    "ipc.pipe_rtt:size=1",
    "--param",
    "cpu.core_to_core:protocol=cas1",
];

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines").join(name)
}

/// What a dry run says.
fn dry_run_of(machine: &Path, args: &[&str]) -> String {
    let machine = machine.display().to_string();
    let run = Place::new().groma(&[&["run", "--dry-run", "--machine", &machine], args].concat());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{machine}");
    run.out
}

/// The same with the pairs of CPUs in one line.
fn dry_run(machine: &Path, args: &[&str]) -> String {
    let out = dry_run_of(machine, args);
    let mut pairs: Vec<&str> = Vec::new();
    let mut text = String::new();
    for line in out.lines() {
        match line.strip_prefix("cpu.core_to_core").and_then(|rest| rest.split_once("  on CPUs ")) {
            Some((_, pair)) => pairs.push(pair),
            None => text += &format!("{line}\n"),
        }
    }
    if pairs.is_empty() { text } else { text + &format!("cpu.core_to_core: {}\n", pairs.join(" ")) }
}

#[test]
fn what_would_be_measured_where() {
    let mut names: Vec<String> = std::fs::read_dir(recording(""))
        .expect("the recordings")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort_unstable();
    assert!(names.len() >= 8, "{names:?}");
    for name in names {
        insta::assert_snapshot!(name.trim_end_matches(".txt"), dry_run(&recording(&name), &SELECTION));
    }
}

/// The points of the plan that a dry run prints.
fn points(machine: &Path, args: &[&str]) -> Vec<String> {
    let text = dry_run_of(machine, args);
    text.lines().filter(|line| !line.ends_with(" points")).map(str::to_owned).collect()
}

/// What a short round of a point costs: that of the Intel guest in
/// docs/methods/timing.md#how-surveys-agree, whose caches are the largest so far, and 0.5 ms
/// more for each worker beyond two, of which that guest had no more: a member of a worker group is
/// a fork, which took 0.083 ms there, and waits for its turn to say that it is ready.
fn cost(point: &str) -> Duration {
    let bench = point.split_whitespace().next().expect("an id");
    let ms = match bench {
        "mem.random_read" | "mem.stream" | "mem.tlb" | "mem.loaded_latency" => 321,
        "mem.latency" | "mem.numa" | "mem.ways" => 36,
        "mem.bandwidth" => 26,
        "mix.andrew" => 200,
        _ if bench.starts_with("disk.") => 43,
        _ if point.contains(" placement=") => 16,
        _ => 12,
    };
    let workers = point.split("workers=").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or(1);
    Duration::from_micros(ms * 1000 + 500 * u64::saturating_sub(workers, 2))
}

/// A machine with 1024 CPUs, in the form of a recording: two sockets of 512 cores without SMT, a
/// second-level cache for each core and a third-level one for each socket.
fn with_1024_cpus(place: &Place) -> PathBuf {
    const CPU: &str = "sys/devices/system/cpu/cpu";
    let mut text = "proc/self/status\tCpus_allowed_list:\t0-1023\n\
        sys/devices/system/cpu/online\t0-1023\n\
        sys/devices/system/node/has_memory\t0-1\n"
        .to_owned();
    for (index, level, size) in [(0, 1, "32K"), (1, 2, "2048K"), (2, 3, "262144K")] {
        let kind = if level == 1 { "Data" } else { "Unified" };
        let cache = format!("{CPU}{{0-1023}}/cache/index{index}");
        text += &format!("{cache}/level\t{level}\n{cache}/size\t{size}\n{cache}/type\t{kind}\n");
        text += &format!("{cache}/coherency_line_size\t64\n{cache}/ways_of_associativity\t16\n");
    }
    for cpu in 0..1024 {
        for file in ["cache/index0/shared_cpu_list", "cache/index1/shared_cpu_list", "topology/core_cpus_list"] {
            text += &format!("{CPU}{cpu}/{file}\t{cpu}\n");
        }
    }
    for (socket, cpus) in ["0-511", "512-1023"].iter().enumerate() {
        text += &format!("sys/devices/system/node/node{socket}/cpulist\t{cpus}\n");
        text += &format!("{CPU}{{{cpus}}}/cache/index2/shared_cpu_list\t{cpus}\n");
        text += &format!("{CPU}{{{cpus}}}/topology/die_cpus_list\t{cpus}\n");
        text += &format!("{CPU}{{{cpus}}}/topology/physical_package_id\t{socket}\n");
    }
    let path = place.path("1024-cpus.txt");
    std::fs::write(&path, text).expect("a file");
    path
}

/// A survey is as long on a machine with a thousand CPUs as on one with two: in its minute each
/// point has the 6 rounds that an interval needs and the median one at least 9; a quick one has
/// its ten seconds.
#[test]
fn a_survey_fits_its_time_on_every_machine() {
    let place = Place::new();
    let recorded = std::fs::read_dir(recording("")).expect("the recordings").map(|e| e.expect("an entry").path());
    eight_at_a_time(recorded.chain([with_1024_cpus(&place)]).collect(), |machine| {
        let (survey, quick) = (points(&machine, &[]), points(&machine, &["--profile", "quick"]));
        let name = machine.display();
        assert!((100..=250).contains(&survey.len()), "{name}: {}", survey.len());
        assert!((30..=60).contains(&quick.len()), "{name}: {}", quick.len());
        for (profile, points, least, middle) in [(Profile::Standard, survey, 6, 9), (Profile::Quick, quick, 6, 6)] {
            let costs: Vec<Duration> = points.iter().map(|point| cost(point)).collect();
            let mut rounds = groma_runner::rounds_in_budget(profile, &costs);
            rounds.sort_unstable();
            let (fewest, median) = (rounds[0], rounds[rounds.len() / 2]);
            assert!(fewest >= least && median >= middle, "{name}, {profile:?}: {fewest}, {median}");
        }
    });
}

#[test]
fn everything_is_more_than_a_survey() {
    let machine = recording("zen4-uneven.txt");
    assert!(points(&machine, &["--all"]).len() > 2 * points(&machine, &[]).len());
}

#[test]
fn a_class_and_a_node_can_be_named() {
    let on = |machine: &str, placement: &str| {
        let text = dry_run(&recording(machine), &["syscall.getppid", "-P", "1,3", "--placement", placement]);
        text.lines()
            .take(2)
            .map(|line| line.split_once(' ').expect("a name and a place").1.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        on("alder-lake.txt", "core=efficiency"),
        ["core=efficiency  on CPU 16", "core=efficiency workers=3  on CPUs 16-18"]
    );
    assert_eq!(on("two-sockets-snc2.txt", "node=3"), ["node=3  on CPU 48", "node=3 workers=3  on CPUs 48,112,49"]);
    let place = Place::new();
    for (machine, placement, expected) in [
        ("alder-lake.txt", "core=big", "no class 'big' (known: performance, efficiency)"),
        ("riscv64.txt", "core=efficiency", "no class 'efficiency': all cores of this machine are of one kind"),
        ("alder-lake.txt", "node=1", "no CPU on node 1 is allowed and online"),
    ] {
        let machine = recording(machine).display().to_string();
        let run =
            place.groma(&["run", "syscall.getppid", "--dry-run", "--machine", &machine, "--placement", placement]);
        assert_eq!((run.code, run.err), (Some(2), format!("groma: --placement: {expected}\n")));
    }
}

#[test]
fn other_classes_are_points_of_some_benchmarks_in_a_run_with_time_for_them() {
    let classes = |args: &[&str]| {
        let text = dry_run(&recording("big-little.txt"), args);
        let of = |class: &str| text.lines().filter(|line| line.contains(&format!("core={class} "))).count();
        [of("performance"), of("mid"), of("efficiency")]
    };
    assert_eq!(classes(&["syscall.getppid"]), [1, 1, 1]);
    assert_eq!(classes(&["syscall.getppid", "--profile", "quick"]), [1, 0, 0]);
    assert_eq!(classes(&["cpu.atomic", "--param", "kind=cas"]), [1, 0, 0]);
    assert_eq!(classes(&["cpu.atomic", "--param", "kind=cas", "--full"]), [1, 1, 1]);
    assert_eq!(classes(&["syscall.read"]), [1, 0, 0]);
    assert_eq!(classes(&["syscall.getppid", "--placement", "core=mid"]), [0, 1, 0]);
}

#[test]
fn the_plan_of_a_recording_of_this_machine_is_that_of_this_machine() {
    let place = Place::new();
    let file = place.path("here.txt").display().to_string();
    let recorded = place.groma(&["machine", "--record", &file]);
    assert_eq!((recorded.code, recorded.out.as_str(), recorded.err.as_str()), (Some(0), "", ""));
    let (here, there) = (place.groma(&["run", "--dry-run"]), place.groma(&["run", "--dry-run", "--machine", &file]));
    assert_eq!(here.out, there.out);
    assert!(here.out.contains("syscall.getppid  on "), "{}", here.out);
}

#[test]
fn another_machine_is_not_measured_and_a_file_that_is_none_is_refused() {
    let place = Place::new();
    let riscv = recording("riscv64.txt").display().to_string();
    let run = place.groma(&["run", "--machine", &riscv]);
    let expected =
        format!("groma: --machine {riscv}: another machine can be planned for, not measured: add --dry-run\n");
    assert_eq!((run.code, run.err), (Some(2), expected));
    let broken = place.path("broken.txt");
    std::fs::write(&broken, "one\n").expect("a file");
    for (file, expected) in [
        (broken.display().to_string(), "line 1: expected a path, a tab and a text"),
        ("/nowhere".to_owned(), "No such file or directory (os error 2)"),
    ] {
        let run = place.groma(&["run", "--dry-run", "--machine", &file]);
        assert_eq!((run.code, run.err), (Some(2), format!("groma: --machine {file}: {expected}\n")));
    }
}
