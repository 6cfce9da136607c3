//! What would be measured where, on recorded machines unlike this one.

mod common;
use common::Place;
use std::path::{Path, PathBuf};

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

/// What a dry run says; the pairs of CPUs in one line.
fn dry_run(machine: &Path, args: &[&str]) -> String {
    let machine = machine.display().to_string();
    let run = Place::new().groma(&[&["run", "--dry-run", "--machine", &machine], args].concat());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{machine}");
    let mut pairs: Vec<&str> = Vec::new();
    let mut text = String::new();
    for line in run.out.lines() {
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

/// A survey is as long on a machine with 576 CPUs as on one with two: its minute has room for nine
/// short rounds of 250 points, and the ten seconds of a quick one for six of 60.
#[test]
fn a_survey_fits_its_time_on_every_machine() {
    for entry in std::fs::read_dir(recording("")).expect("the recordings") {
        let machine = entry.expect("an entry").path();
        let points = |args: &[&str]| {
            let text = dry_run(&machine, args);
            let last = text.lines().rev().find(|line| line.ends_with(" points")).expect("a count");
            last.trim_end_matches(" points").parse::<u32>().expect("a number")
        };
        let (survey, quick, all) = (points(&[]), points(&["--profile", "quick"]), points(&["--all"]));
        assert!((100..=250).contains(&survey), "{}: {survey}", machine.display());
        assert!((30..=60).contains(&quick), "{}: {quick}", machine.display());
        assert!(all > 2 * survey, "{}: {all} in all", machine.display());
    }
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
