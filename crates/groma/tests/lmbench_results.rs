//! Result files of lmbench: imported, summarised, exported and imported again; and damaged ones.
//!
//! The files of `lmbench_results/` are made by hand: one of lmbench 3.0 with every section, one of
//! 2.0 without blank lines, and one of 3.1 with two runs of four copies, decimal commas and
//! carriage returns. The damaged files are made here from the first.

use crate::common::{Ended, Place, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn sample(name: &str) -> String {
    root().join("crates/groma/tests/lmbench_results").join(name).display().to_string()
}

fn text(name: &str) -> String {
    std::fs::read_to_string(sample(name)).expect("a sample")
}

/// A store with the runs of the samples.
fn imported() -> Place {
    let place = Place::new();
    let ended = place.groma(&["import", &sample("box.0"), &sample("old.0"), &sample("four.3")]);
    assert_eq!((ended.code, ended.err.as_str(), ended.out.lines().count()), (Some(0), "", 4), "{ended:?}");
    place
}

/// The values of a run by id, parameters, placement and workers, in SI units; null without one.
fn values(place: &Place, run: &str) -> BTreeMap<String, Value> {
    let shown = place.json(&["show", run, "--format", "json"]);
    let metric = |one: &Value| {
        let place = [&one["placement"], &one["workers"], &one["unit"]].map(|v| v.to_string().replace('"', ""));
        let id = one["id"].as_str().expect("an id");
        (format!("{id} {} {}", one["params_text"].as_str().expect("a text"), place.join(" ")), one["value"].clone())
    };
    shown["metrics"].as_array().expect("metrics").iter().map(metric).collect()
}

fn number(values: &BTreeMap<String, Value>, key: &str) -> f64 {
    let value = values.get(key).unwrap_or_else(|| panic!("no '{key}' in {:#?}", values.keys()));
    value.as_f64().unwrap_or_else(|| panic!("{key}: {value}"))
}

fn assert_is(values: &BTreeMap<String, Value>, key: &str, expected: f64) {
    let seen = number(values, key);
    assert!((seen / expected - 1.0).abs() < 1e-12, "{key}: {seen}, expected {expected}");
}

/// One line of each form, in SI units, at the point of groma with the same definition: copies count
/// twice, rates of files are inverted, rounded sizes are those that lmbench used.
#[test]
fn values_arrive_at_their_points() {
    let place = imported();
    let three = values(&place, "host:box");
    for (key, expected) in [
        ("cpu.frequency class=integer pinned 1 1/s", 3.697e9),
        ("mem.line  pinned 1 B", 64.0),
        ("syscall.getppid_libc  pinned 1 s", 0.2182e-6),
        ("lmbench.open_close  pinned 1 s", 1.399e-6),
        ("lmbench.select_tcp count=100 pinned 1 s", 4.5262e-6),
        ("signal.catch.net  pinned 1 s", 1.3903e-6),
        ("ipc.pipe_rtt size=1 B free 1 s", 12.9865e-6),
        ("proc.exec target=dynamic by=fork from=file free 1 s", 509.3889e-6),
        // The older label of the same loop.
        ("lmbench.int64_add  pinned 1 s", 0.01e-9),
        ("lmbench.double_div_par  pinned 1 1", 1.32),
        ("lmbench.file_write  pinned 1 B/s", 394_702e3),
        ("lmbench.mmap size=1 MiB pinned 1 s", 55e-6),
        ("file.create_delete size=10 KiB entries=100 where=work_dir object=private order=batch pinned 1 s", 80e-6),
        (
            "file.create_delete.delete size=0 B entries=100 where=work_dir object=private order=batch pinned 1 s",
            12.5e-6,
        ),
        ("net.tcp_rtt size=1 B nodelay=off family=v4 free 1 s", 31.2602e-6),
        ("net.udp_rtt size=4 B family=v4 remote 1 s", 127.5e-6),
        ("lmbench.udp host=farther remote 1 s", 227.5e-6),
        ("lmbench.tcp_bandwidth size=10 MiB free 1 B/s", 2301.84e6),
        ("lmbench.http  free 1 B/s", 49.35e6),
        ("file.reread mode=read_sum size=8 MiB block=64 KiB where=work_dir object=private pinned 1 B/s", 5101.25e6),
        ("mem.libc op=bcopy call=whole buffer=16 MiB pinned 1 B/s", 2.0 * 9000.25e6),
        ("mem.bandwidth op=copy size=16 MiB kernel=portable pinned 1 B/s", 2.0 * 6000.5e6),
        ("mem.bandwidth op=read size=8 MiB kernel=portable pinned 1 B/s", 12_000.75e6),
        ("lmbench.switch_overhead working_set=64 KiB pinned 1 s", 6.05e-6),
        ("ctx.switch.net tasks=8 working_set=16 KiB kind=process access=read free 1 s", 4.1e-6),
        ("mem.tlb pages=base layout=contiguous pinned 1 1", 64.0),
        ("mem.parallelism size=64 MiB pages=base pinned 1 1", 4.75),
        ("mem.stride size=512 B stride=64 pages=base pinned 1 s", 1.1e-9),
        ("mem.stride size=64 MiB stride=128 pages=base pinned 1 s", 88.125e-9),
        ("lmbench.random_load stride=16 size=512 KiB pinned 1 s", 8.25e-9),
    ] {
        assert_is(&three, key, expected);
    }
    assert_eq!(three.len(), 130);
    let two = values(&place, "host:old");
    assert_eq!(two.len(), 21);
    assert_is(&two, "ctx.switch.net tasks=8 working_set=0 B kind=process access=read free 1 s", 1.9e-6);
    assert_is(&two, "mem.stride size=8 MiB stride=128 pages=base pinned 1 s", 140.5e-9);
    // Two runs of one file; of four copies, but for what ignores them; their commas are decimals.
    for (run, pipe, copy) in [("20080801", 21.5e-6, 3100.5e6), ("20080802", 22.5e-6, 3000.25e6)] {
        let four = values(&place, run);
        assert_is(&four, "ipc.pipe_rtt size=1 B free 4 s", pipe);
        assert_is(&four, "mem.libc op=bcopy call=whole buffer=2 MiB free 4 B/s", 2.0 * copy);
        assert_is(&four, "lmbench.int_add  pinned 1 s", 0.5e-9);
        assert_eq!(four.len(), 7);
    }
    // The head says what it is; addresses and users stay out, and no interval is claimed.
    let shown = place.json(&["show", "host:box", "--format", "json"]);
    let head = shown["run"].to_string();
    for part in ["\"lmbench 3.0\"", "\"box.0\"", "6.1.0-18-amd64", "2025-03-04T09:15:30Z"] {
        assert!(head.contains(part), "{part}: {head}");
    }
    assert!(!head.contains("192.0.2.7") && !head.contains("ann"), "{head}");
    for metric in shown["metrics"].as_array().expect("metrics") {
        assert!(metric["ci"].is_null() && metric["flags"].to_string().contains("few rounds"), "{metric}");
    }
    let again = place.groma(&["import", &sample("box.0")]);
    assert!(again.code == Some(0) && again.out.ends_with(": 130 values, known already\n"), "{again:?}");
}

/// Export and import are inverse: for imported runs, and to four digits for a run of groma.
#[test]
fn an_exported_file_gives_the_same_values() {
    let place = imported();
    let metrics = [
        "syscall.getppid_libc",
        "signal.install",
        "cpu.frequency",
        "file.create_delete",
        "mem.bandwidth",
        "mem.stride",
    ];
    let params = [
        "cpu.frequency:class=integer",
        "file.create_delete:entries=100",
        "file.create_delete:order=batch",
        "file.create_delete:size=0,10K",
        "mem.bandwidth:op=copy,read",
        "mem.bandwidth:kernel=portable",
        "mem.bandwidth:size=64K",
        "mem.stride:size=1K,16K",
        "mem.stride:stride=128",
    ];
    let mut run = [&["run"], &metrics[..], &["--profile", "quick", "--rounds", "1", "--tag", "ours"]].concat();
    params.iter().for_each(|param| run.extend(["--param", param]));
    let measured = place.groma(&run);
    assert!(matches!(measured.code, Some(0 | 4)), "{measured:?}");
    for (run, all) in [("host:box", 130), ("host:old", 21), ("20080802", 7), ("ours", 4)] {
        let file = place.path("exported.0").display().to_string();
        let ended = place.groma(&["export", run, "--format", "lmbench", "-o", &file]);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
        let other = Place::new();
        let ended = other.groma(&["import", &file]);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{run}: {ended:?}");
        let (before, after) = (values(&place, run), values(&other, "latest"));
        assert!(after.len() >= all, "{run}: {after:#?}");
        for (key, value) in &after {
            // Of a run of groma the file has four digits, or whole files a second.
            let near = |value: &f64| (number(&before, key) / value - 1.0).abs() < 1e-3;
            let same = before.get(key) == Some(value) || run == "ours" && value.as_f64().as_ref().is_some_and(near);
            assert!(same, "{run}: {key}: {:?}, now {value}", before.get(key));
        }
        if run != "ours" {
            assert_eq!(before.len(), after.len(), "{run}");
        }
    }
    let several = place.groma(&["export", "host:box", "host:old", "--format", "lmbench"]);
    refuses(&several, "a result file holds one run, and 2 are named");
}

fn refuses(ended: &Ended, what: &str) {
    assert_eq!((ended.code, ended.out.as_str(), ended.err.lines().count()), (Some(2), "", 1), "{ended:?}");
    assert!(ended.err.contains(what), "{what}: {ended:?}");
}

/// What can be read of a damaged file is kept, and the rest is told with its line.
#[test]
fn damaged_files_give_what_is_sound() {
    let whole = text("box.0");
    let line = |what: &str| whole.lines().position(|line| line.starts_with(what)).expect(what) + 1;
    let edited = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        whole.replacen(from, to, 1)
    };
    let at = whole.find("Pipe latency: 12.9").expect("a pipe") + "Pipe latency: 12.9".len();
    let pipe = line("Pipe latency");
    // The text, how many values have a number, and what is told of which line.
    let damaged: Vec<(String, usize, usize, &str)> = vec![
        // Cut off within a number: 12.9 is not what was measured.
        (whole[..at].to_owned(), 14, pipe, "pipe: '12.9' may be cut off"),
        (edited("Simple read: 0.2900 microseconds", "Simple read: -1"), 129, line("Simple read"), "'-1' is negative"),
        (edited("Simple stat: 0.6930", "Simple stat: 0.0000"), 129, line("Simple stat"), "'0.0000' is zero"),
        (edited("1.05 5387.97", "1.05 inf"), 129, line("1.05 5387.97"), "'inf' is not finite"),
        (edited("Pipe latency: 12.9865", "Pipe latency:"), 129, pipe, "pipe: 'microseconds' is not a number"),
        // Messages of programs between the rows of a section, which goes on behind them.
        (edited("8 2.78\n", "lat_ctx: fork failed\n8 2.78\n"), 130, line("8 2.78"), "not read: lat_ctx: fork failed"),
        (edited("8 2.78\n16 3.74\n", "8\n16 3.74\n"), 129, line("8 2.78"), "switch: it has no number"),
        (edited("0.524288 31\n1.048576 55\n8.388608 212\n", ""), 127, line("\"mappings"), "\"mappings has no rows"),
        // A marker that is gone: its rows belong to nothing.
        (edited("\"read open2close bandwidth\n", ""), 129, line("1.05 5045.68") - 1, "not read: 1.05 5045.68"),
        (edited("[LMBENCH_VER: ]", "\u{1}\u{fffd}\u{0}binary"), 130, 2, "not read: "),
    ];
    for (number, (text, sound, line, told)) in damaged.into_iter().enumerate() {
        let place = Place::new();
        let file = place.path("damaged.0").display().to_string();
        std::fs::write(&file, text).expect("a file");
        let ended = place.groma(&["import", &file]);
        assert_eq!(ended.code, Some(0), "{number}: {ended:?}");
        let told = ended.err.lines().find(|one| one.contains(told)).unwrap_or_else(|| panic!("{number}: {ended:?}"));
        assert!(told.starts_with(&format!("groma: {file}:{line}: ")), "{number}: {ended:?}");
        let values = values(&place, "latest");
        assert_eq!(values.values().filter(|value| !value.is_null()).count(), sound, "{number}: {ended:?}");
        let summary = place.groma(&["summary"]);
        assert_eq!((summary.code, summary.err.as_str()), (Some(0), ""), "{number}");
        // A cell without a number is marked, and has none.
        assert_eq!(
            summary.out.contains("? no value could be told"),
            [0, 1, 2, 4].contains(&number),
            "{number}: {summary:?}"
        );
        let exported = place.path("again.0").display().to_string();
        assert_eq!(place.groma(&["export", "--format", "lmbench", "-o", &exported]).code, Some(0), "{number}");
        let again = Place::new();
        assert_eq!(again.groma(&["import", &exported]).code, Some(0), "{number}");
        assert_eq!(self::values(&again, "latest").len(), sound, "{number}");
    }
}

#[test]
fn what_is_no_result_file_is_refused_with_its_line() {
    let place = Place::new();
    let file = place.path("x.0").display().to_string();
    for (text, told) in [
        ("", ":1: it is empty; expected a result file of lmbench"),
        ("\n\nhello\n", ":3: 'hello'; expected a result file of lmbench"),
        ("[lmbench1.1 results for x]\n", ":1: 'lmbench 1.1: only versions 2 and 3 are read'"),
        ("\n[lmbench3.0 results for Linux a 1]\n[MB: 1]\n", ":2: the run that begins here holds no value"),
        (
            "[lmbench3.0 results for Linux a 1]\n[Sat Feb 31 1:02:03 UTC 2015]\nPipe latency: 1 microseconds\n",
            ":1: the date 2015-02-31 is not one",
        ),
    ] {
        std::fs::write(&file, text).expect("a file");
        refuses(&place.groma(&["import", &file]), &format!("{file}{told}"));
    }
    refuses(&place.groma(&["import", "/nonexistent"]), "/nonexistent: cannot be read: No such file");
    refuses(&place.groma(&["summary", "lmbench1996:VAX"]), "lmbench1996 has no machine 'VAX' (known: ");
}

/// The cells of the summary by table, host and column.
fn cells(place: &Place, runs: &[&str]) -> BTreeMap<[String; 3], f64> {
    let ended = place.groma(&[&["summary", "--format", "csv"], runs].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut cells = BTreeMap::new();
    for line in ended.out.lines().skip(1) {
        let (title, rest) = match line.strip_prefix('"') {
            Some(rest) => rest.split_once("\",").expect("a title"),
            None => line.split_once(',').expect("a title"),
        };
        let fields: Vec<&str> = rest.split(',').collect();
        let [host, _, column, value, _] = fields[..] else { panic!("{line}") };
        if let Ok(value) = value.parse() {
            let about = title.split_once(" in ").map_or(title, |(about, _)| about).to_owned();
            cells.insert([about, host.to_owned(), column.to_owned()], value);
        }
    }
    cells
}

/// Every cell of an imported file is the number in it, and a machine of the paper, a reference and
/// an imported run stand in one table.
#[test]
fn a_summary_has_the_cells_of_the_files() {
    let place = imported();
    let runs = ["host:box", "host:old", "lmbench1996:Linux/i686", "reference:zen4-vm-2026"];
    let cells = cells(&place, &runs);
    let expected = [
        ("Basic system parameters", "box", "tlb pages", 64.0),
        ("Basic system parameters", "box", "mem par", 4.75),
        ("Basic system parameters", "Linux/i686", "Mhz", 200.0),
        ("Processor, processes: times", "box", "null I/O", (0.29 + 0.2475) / 2.0),
        ("Processor, processes: times", "box", "slct TCP", 4.5262),
        ("Processor, processes: times", "old", "exec proc", 910.0),
        ("Processor, processes: times", "Linux/i686", "fork proc", 400.0),
        ("Basic integer operations: times", "box", "mod", 3.12),
        ("Basic 64-bit integer operations: times", "box", "add", 0.01),
        ("Basic double operations: times", "box", "bogo", 3.43),
        ("Context switching: times", "box", "8p/64K ctxsw", 9.78),
        ("*Local* communication: latencies", "box", "RPC/ TCP", 42.2036),
        ("*Local* communication: latencies", "Linux/i686", "UDP", 93.0),
        ("*Remote* communication: latencies", "box", "TCP conn", 245.1053),
        ("File and VM system: latencies", "box", "10K file delete", 25.0),
        ("File and VM system: latencies", "box", "Mmap latency", 212.0),
        ("File and VM system: latencies", "box", "100fd select", 1.7134),
        ("*Local* communication: bandwidths", "box", "TCP", 2301.84),
        ("*Local* communication: bandwidths", "box", "Bcopy (libc)", 9000.25),
        ("*Local* communication: bandwidths", "old", "File reread", 240.25),
        ("Memory latencies", "box", "L1 $", 1.1),
        ("Memory latencies", "box", "L2 $", 4.5),
        ("Memory latencies", "old", "Main mem", 140.5),
        ("Memory latencies", "box", "Rand mem", 131.5),
        ("Memory latencies", "Linux/i686", "L2 $", 30.0),
    ];
    for (table, host, column, value) in expected {
        let key = [table, host, column].map(str::to_owned);
        let seen = cells.get(&key).unwrap_or_else(|| panic!("no {key:?} in {cells:#?}"));
        assert!((seen / value - 1.0).abs() < 1e-12, "{key:?}: {seen}");
    }
    assert!(cells.keys().filter(|[_, host, _]| host == "zen4-vm-2026").count() > 10, "{cells:#?}");
    // box.0 has every line that the tables read: 5 + 11 + 5 + 5 + 4 + 4 + 7 + 8 + 5 + 8 + 9 + 5.
    assert_eq!(cells.keys().filter(|[_, host, _]| host == "box").count(), 76, "{cells:#?}");
    let markdown = place.groma(&["summary", "host:box", "host:old", "--format", "markdown"]).out;
    assert!(markdown.contains("| box | Linux 6.1.0 | 3697 | 64 | 64 | 4.75 | 1 |"), "{markdown}");
    let page = place.path("summary.html").display().to_string();
    assert_eq!(place.groma(&["summary", "host:box", "-o", &page]).code, Some(0));
    let page = std::fs::read_to_string(page).expect("a page");
    assert_eq!((page.matches("<table class=\"data\">").count(), page.matches("<td>box</td>").count()), (12, 12));
    refuses(&place.groma(&["summary", "host:box", "host:box"]), "host:box is named twice");
}

/// A cell of a run of groma is its metric, and the command for the blank ones plans every cell.
#[test]
fn a_summary_of_a_run_says_how_to_fill_it() {
    let place = Place::new();
    let run = ["run", "syscall.getppid", "--profile", "quick", "--rounds", "1", "--json"];
    place.json(&run);
    place.calm();
    let value = place.json(&["show", "--format", "json"])["metrics"][0]["value"].as_f64().expect("a value");
    let summary = place.groma(&["summary", "--format", "csv"]);
    let row = summary.out.lines().find(|line| line.contains(",null call,")).expect("the cell");
    let micros: f64 = row.rsplit(',').nth(1).expect("a value").parse().expect("a number");
    assert!((micros / (value * 1e6) - 1.0).abs() < 1e-12, "{row}");
    let command = summary.err.trim().rsplit_once("\n  groma run ").expect("a command").1;
    let args: Vec<&str> = ["run"].into_iter().chain(command.split(' ')).chain(["--dry-run"]).collect();
    let plan = place.groma(&args);
    assert!(plan.code == Some(0) && plan.out.lines().count() > 60, "{plan:?}");
}

/// What lmbench's program computes from several times, or divides, the line of an exported run has
/// too: a protection fault is without the catching of its signal, a page fault is that of a page
/// of what was mapped, touched and unmapped, and a mapping has its tenth touched.
#[test]
fn a_line_of_several_measurements_is_what_the_program_of_lmbench_computes() {
    let place = Place::new();
    let benches = ["signal.fault", "signal.catch", "vm.map"];
    let params = ["signal.fault:kind=write", "vm.map:backing=file", "vm.map:touch=all,tenth", "vm.map:size=4M"];
    let params = params.iter().flat_map(|param| ["--param", param]);
    let run: Vec<&str> = ["run", "--rounds", "1", "--json"].into_iter().chain(benches).chain(params).collect();
    place.json(&run);
    place.calm();
    let records = place.json(&["show", "--all", "--format", "json"]);
    let records = records["metrics"].as_array().expect("metrics");
    let micros = |id: &str, touch: Option<&str>| {
        let is_it =
            |record: &&Value| record["id"] == id && touch.is_none_or(|touch| record["params"]["touch"] == touch);
        records.iter().find(is_it).and_then(|record| record["value"].as_f64()).unwrap_or_else(|| panic!("{id}")) * 1e6
    };
    let file = place.groma(&["export", "--format", "lmbench"]).out;
    let line = |begin: &str| {
        let line = file.lines().find_map(|line| line.strip_prefix(begin)).unwrap_or_else(|| panic!("{begin}: {file}"));
        line.trim_end_matches(" microseconds").parse::<f64>().expect("a number")
    };
    for (begin, expected) in [
        ("Signal handler overhead: ", micros("signal.catch.net", None)),
        ("Protection fault: ", (micros("signal.fault", None) - micros("signal.catch.net", None)).max(0.0)),
        ("Pagefaults on file: ", micros("vm.map", Some("all")) / 1024.0),
        ("4.194304 ", micros("vm.map", Some("tenth"))),
    ] {
        // Four digits.
        assert!((line(begin) - expected).abs() <= expected * 1e-3, "{begin}{expected}: {file}");
    }
    let long = file.lines().filter(|line| !line.starts_with('[')).flat_map(|line| line.split(' '));
    let long: Vec<&str> = long.filter(|word| word.parse::<f64>().is_ok() && word.len() > "21251.8345".len()).collect();
    assert!(long.is_empty(), "{long:?}: {file}");
}

/// Two runs of a host are two rows, which say which is which.
#[test]
fn runs_of_one_host_are_told_apart_in_a_summary() {
    let place = Place::new();
    for _ in 0..2 {
        place.json(&["run", "syscall.getppid", "--profile", "quick", "--rounds", "1", "--json"]);
    }
    let summary = place.groma(&["summary", "latest", "latest~1", "--format", "csv"]).out;
    let rows: Vec<&str> = summary.lines().filter(|line| line.contains(",null call,")).collect();
    let hosts: BTreeSet<&str> = rows.iter().filter_map(|row| row.split(',').rev().nth(4)).collect();
    assert_eq!((rows.len(), hosts.len()), (2, 2), "{summary}");
    let one = place.groma(&["summary", "--format", "csv"]).out;
    assert!(hosts.iter().all(|host| !one.contains(host)), "a run alone needs no more than its host: {one}");
}

/// Views that know nothing of lmbench take an imported run.
#[test]
fn other_verbs_take_imported_runs() {
    let place = imported();
    let compared = place.json(&["compare", "host:box", "host:old", "--format", "json"]);
    let text = compared.to_string();
    assert!(text.contains("few rounds") && !text.contains("\"slower\"}"), "{text}");
    let table = place.groma(&["compare", "host:box", "host:old"]).out;
    assert!(table.contains("21 metrics: 0 slower, 0 faster, 0 the same, 21 inconclusive"), "{table}");
    // The paper's programs were not pinned either.
    let paper = place.groma(&["paper", "lmbench1996", "table10", "--run", "host:box", "--format", "csv"]);
    assert!(paper.code == Some(0) && paper.out.contains("box, lmbench 3.0"), "{paper:?}");
    let trend = place.json(&["trend", "ipc.pipe_rtt", "--host", "four", "--format", "json"]);
    assert_eq!(trend[0]["runs"].as_array().map(Vec::len), Some(2), "{trend}");
    for (metric, points) in [("mem.stride", 9 + 9 + 3), ("ctx.switch.net", 9 + 2)] {
        let file = place.path("plot.svg").display().to_string();
        let ended = place.groma(&["plot", metric, "--run", "host:box", "--run", "host:old", "-o", &file]);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{metric}");
        let svg = std::fs::read_to_string(&file).expect("a picture");
        assert_eq!(svg.matches("<circle").count(), points, "{metric}");
    }
    let report = place.path("report.html").display().to_string();
    let ended = place.groma(&["report", "host:box", "host:old", "--with", "lmbench1996", "-o", &report]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
