//! Points follow the descriptors of their benchmarks and the request.

use super::*;
use groma_harness::model::{Better, Need, Output, Quantity, Remote, Scaling};

/// Four CPUs on two nodes.
fn two_nodes() -> Topology {
    let root = tempfile::tempdir().expect("a directory");
    for (file, text) in [("cpu/online", "0-3"), ("node/node0/cpulist", "0-1"), ("node/node1/cpulist", "2-3")] {
        let path = root.path().join("sys/devices/system").join(file);
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
    Topology::from_tree(root.path(), &[0, 1, 2, 3])
}

/// Placement and number of members; a plus marks a worker group.
#[test]
fn placements_and_worker_groups_follow_the_request() {
    use Profile::{Quick, Standard};
    const GROUPS: Info = Info { group_tier: |_| Tier::Standard, ..Info::new("test.groups") };
    const PROCESSES: Info = Info { scaling: Scaling::processes("one lock"), ..GROUPS };
    const SIDES: Info = Info { placements: &Placement::TWO_SIDED, ..Info::new("test.sides") };
    const PAIRS: Info = Info { placements: &[Placement::EveryPair], ..Info::new("test.pairs") };
    type Change = fn(&mut RunRequest);
    let cases: [(&Info, Profile, Change, &str); 17] = [
        (&GROUPS, Standard, |_| {}, "node=0 1, compact 2+, compact 4+"),
        (&GROUPS, Quick, |_| {}, "node=0 1"),
        (&GROUPS, Standard, |r| r.parallel = vec![1], "node=0 1"),
        (&GROUPS, Standard, |r| r.parallel = vec![3], "free 3+"),
        // A scaling run begins with a group of one, if the benchmark scales.
        (&GROUPS, Standard, |r| r.parallel = vec![1, 3], "free 1+, free 3+"),
        (&PROCESSES, Standard, |r| r.parallel = vec![1, 3], "free 1+, free 3+"),
        (&PROCESSES, Standard, |r| (r.parallel, r.threads) = (vec![1, 3], true), "node=0 1, free 3+"),
        (&GROUPS, Standard, |r| (r.parallel, r.placement) = (vec![2], Some(Placement::Spread)), "spread 2+"),
        (&GROUPS, Standard, |r| r.placement = Some(Placement::Free), "free 1, free 2+, free 4+"),
        // One task has no sides: the placement is ignored.
        (&GROUPS, Quick, |r| r.placement = Some(Placement::SameLlc), "node=0 1"),
        (&SIDES, Quick, |_| {}, "same-cpu 1"),
        (&SIDES, Standard, |_| {}, "same-cpu 1, smt 1, same-llc 1, cross-llc 1, cross-node 1, free 1"),
        (&SIDES, Standard, |r| r.placement = Some(Placement::SameLlc), "same-llc 1"),
        (&SIDES, Quick, |r| r.placement = Some(Placement::Compact), "same-cpu 1"),
        (&SIDES, Standard, |r| r.placement = Some(Placement::Free), "free 1"),
        (&PAIRS, Standard, |r| r.placement = Some(Placement::CrossNode), "cross-node 1"),
        (&PAIRS, Standard, |r| r.placement = Some(Placement::SameCpu), "every-pair 1"),
    ];
    let topology = two_nodes();
    let laid_out = |info: &Info, request: &RunRequest| {
        let all = layouts(info, &Params::default(), request, &topology);
        let text = |(placement, members, group): &(Placement, u32, bool)| {
            format!("{placement} {members}{}", if *group { "+" } else { "" })
        };
        all.iter().map(text).collect::<Vec<_>>().join(", ")
    };
    for (i, (info, profile, change, expected)) in cases.into_iter().enumerate() {
        let mut request = RunRequest::new(profile);
        change(&mut request);
        assert_eq!(laid_out(info, &request), expected, "case {i}");
    }
    let mut request = RunRequest::new(Standard);
    request.remote = Some(Remote { address: ([192, 0, 2, 7], 1).into(), token: String::new() });
    assert_eq!(laid_out(&SIDES, &request), "remote 1");
}

#[test]
fn a_point_and_its_metrics_follow_the_descriptor() {
    const WHERE: Param = Param::word("where", "", &["disk", "memory"]);
    const SLOWER: Output = Output::named("slower", "beside itself").quantity(Quantity::Ratio).detail();
    const INFO: Info = Info {
        summary: "what it costs",
        better: Some(Better::Higher),
        outputs: &[Output::MAIN, SLOWER, Output::named("gb", "").quantity(Quantity::TimePerGigabyte)],
        params: &[WHERE],
        needs: &[Need::Cpus(1), Need::WorkDirFor { param: "where", values: &["disk"] }],
        scaling: Scaling::processes("one lock"),
        ..Info::new("test.point")
    };
    let of = |on: &str, placement: Placement, kind: (u32, bool, bool)| {
        let params = Params(vec![("where".to_owned(), Value::Word(on.to_owned()))]);
        plan_point(&INFO, params, placement, kind, &two_cpus())
    };
    let disk = of("disk", Placement::Pinned, (1, false, false));
    let metrics: Vec<_> = disk.point.metrics.iter().map(|m| (&*m.id, &*m.summary, m.quantity, m.better)).collect();
    let expected = [
        ("test.point", "what it costs", Quantity::Latency, Better::Higher),
        ("test.point.slower", "beside itself", Quantity::Ratio, Better::Neither),
        ("test.point.gb", "what it costs", Quantity::TimePerGigabyte, Better::Lower),
    ];
    assert_eq!(metrics, expected);
    assert_eq!(disk.point.metrics.iter().map(|metric| metric.detail).collect::<Vec<_>>(), [false, true, false]);
    assert!(disk.work_dir && !of("memory", Placement::Pinned, (1, false, false)).work_dir);
    let why = |placement, kind| of("disk", placement, kind).unsupported.unwrap_or_default();
    assert_eq!(why(Placement::Compact, (2, true, false)), "");
    assert_eq!(why(Placement::Compact, (2, true, true)), "does not run as several threads: one lock");
    assert_eq!(why(Placement::Remote, (1, false, false)), "has no peer that could run on another machine");
}

#[test]
fn pairs_that_are_left_out_are_counted_once() {
    let info = Info { placements: &[Placement::EveryPair], ..Info::new("test.pairs") };
    let said = |pairs: &[[u32; 2]]| {
        let of = |pair: &[u32; 2]| {
            plan_point(&info, Params::default(), Placement::List(pair.to_vec()), (1, false, false), &two_nodes())
        };
        left_out(&pairs.iter().map(of).collect::<Vec<_>>(), &two_nodes())
    };
    let some = "test.pairs: 2 of 6 pairs of CPUs (all of them with --full)";
    assert_eq!(said(&[[0, 1], [0, 2], [0, 1]]).as_deref(), Some(some));
    assert_eq!(said(&[[0, 1], [0, 1]]), None, "a single pair was named");
    assert_eq!(said(&[[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]), None);
}

#[test]
fn a_text_is_one_value_even_with_commas_and_sides_are_adjacent() {
    static BENCH: Benchmark = Benchmark {
        info: Info { params: &[Param::text("command", ""), Param::count("n", "")], ..Info::new("test.command") },
        run: Run::NotHere("a test"),
    };
    let mut request = RunRequest::new(Profile::Quick);
    let setting = |name: &str, values: [&str; 2]| Setting {
        of: None,
        name: name.to_owned(),
        values: values.map(str::to_owned).to_vec(),
    };
    request.params = vec![setting("command", ["echo 1", "2"]), setting("n", ["3", "4"])];
    let points = plan(&[&BENCH], &request, &two_cpus()).expect("a plan");
    let word = |planned: &Planned| planned.point.params.word("command").map(str::to_owned);
    assert!(points.iter().all(|planned| word(planned).as_deref() == Some("echo 1,2")), "{points:?}");
    let both = on_both_sides(points);
    let sides: Vec<_> = both.iter().map(|planned| (planned.point.params.int("n"), planned.side)).collect();
    assert_eq!(sides, [(Some(3), 0), (Some(3), 1), (Some(4), 0), (Some(4), 1)]);
}

#[test]
fn impossible_placements_are_refused() {
    let topology = two_nodes();
    let elsewhere = || Remote { address: ([192, 0, 2, 7], 1).into(), token: String::new() };
    let on = |node| Placement::On(OneCpu { class: None, node: Some(node) });
    let refused = |placement: Placement, remote: bool| {
        let mut request = RunRequest::new(Profile::Quick);
        (request.placement, request.remote) = (Some(placement), remote.then(elsewhere));
        plan(&[&CALL], &request, &topology).map(|points| points.len()).map_err(|e| format!("{e:#}"))
    };
    for (placement, remote, expected) in [
        (Placement::Remote, false, "--placement remote: name the other machine with --host"),
        (Placement::Free, true, "--placement: with --host the peer is on the machine"),
        (Placement::List(vec![3, 9]), false, "--placement: "),
        (on(2), false, "--placement: "),
    ] {
        let why = refused(placement, remote).expect_err(expected);
        assert!(why.starts_with(expected), "{why}");
    }
    for (placement, remote) in
        [(Placement::Remote, true), (Placement::List(vec![3]), false), (on(1), false), (Placement::Free, false)]
    {
        assert_eq!(refused(placement.clone(), remote), Ok(1), "{placement}");
    }
    let none = plan(&[], &RunRequest::new(Profile::Quick), &topology).map(|points| points.len());
    assert_eq!(none.map_err(|e| e.to_string()), Err("the selection holds no point to measure".to_owned()));
}
