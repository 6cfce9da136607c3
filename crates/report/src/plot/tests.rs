use super::*;
use crate::fixtures;
use groma_model::{Labels, Params, Placement, Quantity, RunHeader, State, Value};

static RUN: std::sync::LazyLock<RunHeader> = std::sync::LazyLock::new(fixtures::header);

/// A plot of the records of one run.
fn of_run(records: &[&Record], over: Option<&str>) -> Result<Chart, String> {
    plot(fixtures::families(), &[Source { run: &RUN, called: "", records: records.to_vec() }], over, &[])
}

/// Threads of a core have numbers 48 apart, eight cores share a cache, and three caches a package.
fn many(a: u32, b: u32) -> f64 {
    let (core, other) = (a % 48, b % 48);
    match () {
        () if core == other => 8.0,
        () if core / 8 == other / 8 => 24.0,
        () if core / 24 == other / 24 => 96.0,
        () => 210.0,
    }
}

/// The plot of a metric of the larger machine.
fn survey(metric: &str, over: Option<&str>) -> Chart {
    let (_, records) = fixtures::two_caches();
    let records: Vec<&Record> = records.iter().filter(|r| takes(fixtures::families(), metric, &r.id)).collect();
    of_run(&records, over).expect("it was measured")
}

/// The only pair of a machine with two CPUs.
fn pair() -> Chart {
    let record = fixtures::pairs(2, "cas1", |_, _| 53.0);
    of_run(&record.iter().collect::<Vec<_>>(), None).expect("a pair")
}

/// A run on another day.
fn later() -> RunHeader {
    let (run, started) = ("20261122T080000Z-77aa".to_owned(), "2026-11-22T08:00:00Z".to_owned());
    RunHeader { run, started, ..RUN.clone() }
}

/// Latencies of two days: all sizes by one chain, every fifth by the other.
fn two_runs() -> Chart {
    let mut before = fixtures::records();
    before.retain(|r| r.id == "mem.latency");
    let mut nth = 0;
    before.retain(|r| {
        nth += 1;
        r.params.word("chain") == Some("amortised") || nth % 5 == 0
    });
    let mut after = before.clone();
    after.iter_mut().for_each(|r| r.value = r.value.map(|v| v * 1.5));
    let later = later();
    let sources = [
        Source { run: &RUN, called: "", records: before.iter().collect() },
        Source { run: &later, called: "", records: after.iter().collect() },
    ];
    plot(fixtures::families(), &sources, None, &[]).expect("curves")
}

fn lines_of(chart: &Chart) -> &[Line] {
    let Field::Plane(plane) = &chart.field else { panic!("it is no plane") };
    &plane.lines
}

pub(super) fn charts() -> Vec<(&'static str, Chart)> {
    let records = fixtures::records();
    let of = |id: &str, keep: fn(&Record) -> bool| -> Vec<&Record> {
        records.iter().filter(|r| r.id == id && keep(r)).collect()
    };
    let scaling =
        of("mem.bandwidth", |r| r.params.word("kernel") == Some("read") && r.params.int("size") == Some(512 << 20));
    vec![
        ("latency", of_run(&of("mem.latency", |_| true), None).expect("a curve")),
        ("bandwidth", of_run(&of("mem.bandwidth", |r| r.workers == 1), None).expect("curves")),
        ("scaling", of_run(&scaling, Some("P")).expect("a scaling curve")),
        (
            "histogram",
            histogram(&RUN, &fixtures::sampled(), fixtures::point("ipc.pipe_rtt").drops).expect("a distribution"),
        ),
        ("stores", survey("mem.bandwidth", None)),
        ("hierarchy", survey("mem.latency", None)),
        ("loaded", survey("mem.loaded_latency", None)),
        ("pair", pair()),
        ("runs", two_runs()),
        ("cores", survey("cpu.core_to_core", None)),
        ("nodes", of_run(&fixtures::nodes().iter().collect::<Vec<_>>(), None).expect("a matrix")),
        ("many", of_run(&fixtures::pairs(96, "cas1", many).iter().collect::<Vec<_>>(), None).expect("a matrix")),
    ]
}

#[test]
fn terminal_at_80_and_120_columns() {
    for (name, chart) in charts() {
        for width in [80, 120] {
            let text = chart.terminal(&Style::plain(width));
            assert!(text.lines().all(|l| crate::style::columns(l) <= width), "{text}");
            insta::assert_snapshot!(format!("{name}_{width}"), text);
        }
    }
}

#[test]
fn terminal_in_ascii() {
    for (name, chart) in charts() {
        let text = chart.terminal(&Style { unicode: false, ..Style::plain(80) });
        assert!(text.is_ascii(), "{name} {text}");
    }
    insta::assert_snapshot!(charts()[0].1.terminal(&Style { unicode: false, ..Style::plain(80) }));
}

#[test]
fn svg_is_whole_and_names_what_it_shows() {
    for (name, chart) in charts() {
        let svg = chart.svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{name}");
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
    }
    let svg = charts()[0].1.svg();
    for text in ["64 KiB", "1 MiB", "L1 48 KiB", "memory", "amortised", "included", "prefers-color-scheme"] {
        assert!(svg.contains(text), "{text}");
    }
    insta::assert_snapshot!(charts()[2].1.svg());
}

#[test]
fn every_picture_names_machine_kernel_date_and_run() {
    for (name, chart) in charts() {
        // A header line may be wrapped anywhere.
        let text = chart.terminal(&Style::plain(80)).replace('\n', " ");
        let svg = chart.svg();
        for part in ["Xeon Gold 6430", "Linux 6.18.2-amd64", "2026-11-21 07:38 UTC", &RUN.run] {
            assert!(svg.contains(part) && text.contains(part), "{name}: {part}: {text}");
        }
        assert!(text.starts_with(&chart.title), "{name}: {text}");
    }
}

#[test]
fn what_is_drawn_is_explained() {
    let has = |chart: &Chart, text: &str| chart.svg().contains(text);
    let all: std::collections::BTreeMap<_, _> = charts().into_iter().collect();
    for (name, key, is) in [
        ("loaded", "bars: 95 % interval over rounds", false),
        ("runs", "rings: too few for a line", true),
        ("latency", "rings: ", false),
        ("latency", "dashes: levels measured; grey: caches declared", true),
        ("bandwidth", ">L2 2 MiB<", true),
        ("scaling", "grey: ", false),
        ("histogram", "band: 95 % interval over rounds", true),
        ("histogram", ">headline 4.83 µs ± 0.8 %<", true),
        ("histogram", ">disturbed<", false),
    ] {
        assert_eq!(has(&all[name], key), is, "{name}: {key}");
    }
    let mut wide = fixtures::record("mem.latency", "size=1 MiB", Quantity::Latency, 1e-8);
    wide.ci_display = Some([0.5e-8, 2e-8]);
    let other = fixtures::record("mem.latency", "size=2 MiB", Quantity::Latency, 1e-8);
    let chart = of_run(&[&wide, &other], None).expect("a curve");
    assert!(has(&chart, "bars: 95 % interval over rounds"));
}

/// The sizes of a survey are a cache level apart.
#[test]
fn sizes_a_cache_apart_are_not_joined() {
    let drawn = |sizes: &[&str]| {
        let of =
            |size: &str| fixtures::record("mem.bandwidth", &format!("op=read size={size}"), Quantity::Bandwidth, 9e9);
        let records: Vec<Record> = sizes.iter().map(|size| of(size)).collect();
        let chart = of_run(&records.iter().collect::<Vec<_>>(), None).expect("a curve");
        (lines_of(&chart)[0].joined, chart.about.contains("more sizes: groma run mem.bandwidth"))
    };
    assert_eq!(drawn(&["16 KiB", "1 MiB", "16 MiB", "256 MiB"]), (false, true));
    assert_eq!(drawn(&["16 KiB", "128 KiB", "1 MiB", "8 MiB"]), (true, false));
}

#[test]
fn sparse_points_among_dense_ones_are_not_joined() {
    let chart = two_runs();
    let joined: Vec<(&str, bool)> = lines_of(&chart).iter().map(|l| (l.label.as_str(), l.joined)).collect();
    assert_eq!(
        joined,
        [
            ("2026-11-21 amortised", true),
            ("2026-11-21 included", false),
            ("2026-11-22 amortised", true),
            ("2026-11-22 included", false)
        ]
    );
    let few: usize = lines_of(&chart).iter().filter(|l| !l.joined).map(|l| l.points.len()).sum();
    assert_eq!(chart.svg().matches("fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\"").count(), few);
    // Equally dense lines are joined, whatever their number of points.
    assert!(charts().iter().filter(|(name, _)| !["runs", "bandwidth", "stores"].contains(name)).all(|(_, chart)| {
        match &chart.field {
            Field::Plane(plane) => plane.lines.iter().all(|line| line.joined),
            Field::Heat(..) => true,
        }
    }));
}

#[test]
fn a_bandwidth_draws_reads_writes_and_copies_by_default() {
    let ops = ["read", "write", "write_nt", "copy", "rep_lods"];
    let record = |op: &str, kernel: &str, size: &str| {
        fixtures::record("mem.bandwidth", &format!("op={op} size={size} kernel={kernel}"), Quantity::Bandwidth, 1e9)
    };
    let mut records = Vec::new();
    for (op, kernel) in ops.iter().flat_map(|op| [(*op, "best"), (*op, "avx2")]) {
        records.extend(["16 KiB", "1 MiB"].map(|size| record(op, kernel, size)));
    }
    let labels = |records: &[Record], asked: &[&str]| -> Vec<String> {
        let source = [Source { run: &RUN, called: "", records: records.iter().collect() }];
        let chart = plot(fixtures::families(), &source, None, asked).expect("curves");
        lines_of(&chart).iter().map(|line| line.label.clone()).collect()
    };
    assert_eq!(labels(&records, &[]), ["read", "write", "copy"]);
    assert_eq!(labels(&records, &["op"]), ops);
    assert_eq!(labels(&records, &["op", "kernel"]).len(), 2 * ops.len());
    assert_eq!(labels(&records, &["size"]), ["read", "write", "copy"]);
    records.retain(|r| r.params.word("op") == Some("write_nt"));
    assert_eq!(labels(&records, &[]), [""]);
}

#[test]
fn runs_whose_values_do_not_compare_are_refused() {
    let point = |size, version| {
        let r = fixtures::record("mem.latency", size, Quantity::Latency, 1e-9);
        Record { version, ..r }
    };
    let (a, b, c) = (point("size=1 MiB", 1), point("size=2 MiB", 1), point("size=1 MiB", 2));
    let later = later();
    let sources = [
        Source { run: &RUN, called: "", records: vec![&a, &b] },
        Source { run: &later, called: "", records: vec![&c] },
    ];
    assert_eq!(
        plot(fixtures::families(), &sources, None, &[]).map(|chart| chart.title),
        Err("mem.latency has version 1 in run 20261121T073812Z-5f3a and version 2 in run \
             20261122T080000Z-77aa: their values do not compare"
            .to_owned())
    );
    let pairs = fixtures::pairs(4, "cas1", |_, _| 50.0);
    let source = |run| Source { run, called: "", records: pairs.iter().collect() };
    let two = [source(&RUN), source(&later)];
    assert_eq!(
        plot(fixtures::families(), &two, None, &[]).map(|chart| chart.title),
        Err("a matrix is of one run, and 2 are named".to_owned())
    );
}

#[test]
fn two_cpus_are_a_sentence_on_a_terminal_and_a_matrix_in_a_picture() {
    let text = pair().terminal(&Style::plain(80));
    assert!(text.contains("from CPU 0 to CPU 1 in 53.0 ns (95 % interval 52.6–53.4 ns)"), "{text}");
    assert!(pair().svg().contains("<rect"));
    let all = fixtures::pairs(4, "cas1", |_, _| 50.0);
    let four = of_run(&all.iter().collect::<Vec<_>>(), None).expect("a matrix").terminal(&Style::plain(80));
    assert!(!four.contains("A cache line goes"), "{four}");
}

#[test]
fn a_distribution_is_of_points_that_differ_in_no_number() {
    let families = fixtures::families();
    let point = |size| fixtures::record("ipc.pipe_rtt", size, Quantity::Latency, 1e-6);
    let (one, other) = (point("size=1 B"), point("size=2 B"));
    assert!(is_distribution(families, &[&one]) && is_distribution(families, &[&one, &one.clone()]));
    assert!(!is_distribution(families, &[&one, &other]) && !is_distribution(families, &[]));
    let pairs = fixtures::pairs(2, "cas1", |_, _| 50.0);
    assert!(!is_distribution(families, &pairs.iter().collect::<Vec<_>>()));
}

#[test]
fn a_histogram_shows_headline_modes_and_equal_bars_in_every_format() {
    let mut record = fixtures::sampled();
    let drops = fixtures::point("ipc.pipe_rtt").drops;
    let modes = vec![(0.8, 4.83e-6), (0.2, 5.4e-6)];
    record.flags = vec![groma_model::Flag::Modes { between_rounds: false, modes }.to_string()];
    let chart = histogram(&RUN, &record, drops).expect("a distribution");
    let (svg, text) = (chart.svg(), chart.terminal(&Style::plain(100)));
    for part in ["headline 4.83 µs ± 0.8 %", "mode 4.83 µs, 80 %", "mode 5.40 µs, 20 %"] {
        assert!(svg.contains(part) && text.contains(part), "{part}: {text}");
    }
    let Field::Plane(plane) = &chart.field else { panic!("it has bars") };
    assert_eq!(text.lines().filter(|line| line.contains('│') || line.contains('┃')).count(), plane.bars.len() + 1);
    let drawn = plane.bars.iter().filter(|bar| bar.clean > 0).count();
    assert_eq!(svg.matches("<rect class=\"l0\"").count(), drawn);
    // A headline outside the bars is mentioned.
    record.value = Some(9e-6);
    record.ci_display = None;
    let text = histogram(&RUN, &record, drops).expect("a distribution").terminal(&Style::plain(100));
    assert!(text.contains("◄ beyond: headline 9.00 µs"), "{text}");
}

#[cfg(feature = "png")]
#[test]
fn png_is_valid() {
    // GROMA_PLOTS=dir keeps the pictures for inspection.
    for (name, chart) in charts() {
        let png = chart.png(1.0).expect("it encodes");
        assert!(png.starts_with(b"\x89PNG"), "{name}");
        if let Ok(dir) = std::env::var("GROMA_PLOTS") {
            std::fs::write(format!("{dir}/{name}.png"), &png).expect("it can be written");
            std::fs::write(format!("{dir}/{name}@2.png"), chart.png(2.0).expect("it encodes")).expect("written");
            std::fs::write(format!("{dir}/{name}.svg"), chart.svg()).expect("it can be written");
        }
    }
}

#[test]
fn one_worker_and_unplaced_groups_are_one_curve() {
    let of = |workers, placement| Record {
        workers,
        placement,
        ..fixtures::record("syscall.getppid", "", Quantity::Latency, 1e-7)
    };
    let (one, two, four) = (of(1, Placement::Pinned), of(2, Placement::Free), of(4, Placement::Free));
    let chart = of_run(&[&one, &two, &four], Some("P")).expect("a curve");
    let Field::Plane(plane) = &chart.field else { panic!("it is a curve") };
    let xs: Vec<Vec<f64>> = plane.lines.iter().map(|l| l.points.iter().map(|p| p.x).collect()).collect();
    assert_eq!(xs, [[1.0, 2.0, 4.0]]);
    let ticks: Vec<String> = plane.x.ticks(8).into_iter().map(|tick| tick.1).collect();
    assert_eq!(ticks, ["1", "2", "3", "4"], "there is nothing between whole numbers");
    // Those with a requested placement are another curve.
    let placed = of(2, Placement::Spread);
    assert!(of_run(&[&one, &placed], Some("P")).is_err());
}

#[test]
fn a_time_parameter_gives_a_time_axis() {
    let of = |text: &str, nanoseconds| Record {
        params: Params(vec![("length".to_owned(), Value::Int(nanoseconds))]),
        params_text: format!("length={text}"),
        ..fixtures::record("timer.sleep", "", Quantity::Latency, 5e-5)
    };
    let all = [of("1us", 1_000), of("100us", 100_000), of("10ms", 10_000_000)];
    let chart = of_run(&all.each_ref(), None).expect("a curve");
    let Field::Plane(plane) = &chart.field else { panic!("it is a curve") };
    let ticks: Vec<String> = plane.x.ticks(6).into_iter().map(|tick| tick.1).collect();
    assert_eq!(ticks, ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]);
    let positions: Vec<f64> =
        plane.lines[0].points.iter().map(|point| (plane.x.position(point.x) * 4.0).round()).collect();
    assert_eq!(positions, [0.0, 2.0, 4.0]);
}

#[test]
fn impossible_plots_give_a_reason() {
    let why = |plot: Result<Chart, String>| plot.map(|chart| chart.title).expect_err("there is nothing to plot");
    assert_eq!(why(of_run(&[], None)), "there are no records of it");
    let one = fixtures::record("syscall.getppid", "", Quantity::Latency, 1e-7);
    assert!(why(of_run(&[&one], None)).contains("differ in no number"));
    let other = fixtures::record("syscall.read", "", Quantity::Latency, 1e-7);
    assert!(why(of_run(&[&one, &other], None)).contains("different metrics"));
    let point = |size| {
        let r = fixtures::record("mem.latency", size, Quantity::Latency, 1e-9);
        fixtures::without(r, State::Unresolved, "not reached")
    };
    let (a, b) = (point("size=1 MiB"), point("size=2 MiB"));
    assert!(why(of_run(&[&a, &b], None)).contains("fewer than two points"));
    assert_eq!(
        why(of_run(&[&a, &b], Some("stride"))),
        "mem.latency has no number 'stride' to plot over (known: size, P)"
    );
    assert!(why(of_run(&[&a, &b], Some("P"))).contains("fewer than two points over members"));
    assert!(why(histogram(&RUN, &one, Labels::NONE)).contains("not kept"));
}
