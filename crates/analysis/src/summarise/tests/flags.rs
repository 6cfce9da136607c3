//! Flags, and the states that a flag explains.

use super::*;

#[test]
fn modes_are_flagged_unless_clock_steps_explain_them() {
    let single = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let (low, high) = ([100, 101, 102], [150, 151, 152]);
    let within: Vec<Round> = (0..9).map(|r| round(r, vec![series("", &[low, high].concat(), Labels::NONE)])).collect();
    let between: Vec<Round> =
        (0..12).map(|r| round(r, vec![series("", &if r % 2 == 0 { low } else { high }, Labels::NONE)])).collect();
    let flag = |point: &Point, rounds: &[Round], clock_step_ns: f64| {
        let record = summarise(point, rounds, &Host { clock_step_ns, ..HOST }).remove(0);
        record.flags.into_iter().find(|f| f.contains("modes"))
    };
    let modes = |how: &str| Some(format!("2 modes: {how} rounds, 50 % at 1.0100e-7, 50 % at 1.5100e-7"));
    assert_eq!(flag(&single, &within, 1.0), modes("within"));
    assert_eq!(flag(&single, &between, 1.0), modes("between"));
    // A sample lasts 10 to 15 us: a step of 5 us is half of the value, and the modes may be one
    // step apart.
    assert_eq!(flag(&single, &within, 5000.0), None);
    // The members of a worker group differ by nature, and a derived value has no samples of its
    // own.
    assert_eq!(flag(&Point { workers: 2, ..single.clone() }, &within, 1.0), None);
    let net = Derivation::Scaled { of: "", by: "factor" };
    assert_eq!(flag(&point(Timing::Batched, metric(Quantity::Latency, net)), &within, 1.0), None);
}

#[test]
fn a_drift_is_flagged_with_its_direction() {
    let single = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let of = |ns: fn(u32, u64) -> u64| {
        let rounds: Vec<Round> = (0..9)
            .map(|r| round(r, vec![series("", &(0..25).map(|i| ns(r, i)).collect::<Vec<_>>(), Labels::NONE)]))
            .collect();
        one(&single, &rounds).flags.into_iter().find(|f| f.contains("drift"))
    };
    // 16 of 1080 and of 1100, and within each round 24 of 1012.
    assert_eq!(of(|r, _| 1000 + 20 * u64::from(r)).as_deref(), Some("drift: +14.8 %"));
    assert_eq!(of(|r, _| 1000 - 20 * u64::from(r)).as_deref(), Some("drift: -17.4 %"));
    assert_eq!(of(|_, i| 1000 + i).as_deref(), Some("drift: +2.4 %"));
    assert_eq!(of(|_, _| 1000), None);
}

#[test]
fn values_that_are_steps_of_the_clock_are_quantised() {
    let single = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let of = |ns: &[u64], clock_step_ns: f64| {
        let rounds = [round(0, vec![series("", ns, Labels::NONE)])];
        has(&summarise(&single, &rounds, &Host { clock_step_ns, ..HOST })[0], "quantised")
    };
    assert!(of(&[100; 9], 1.0));
    assert!(!of(&[100; 8], 1.0), "eight samples are too few to say");
    assert!(!of(&[100; 9], 0.0), "a clock without steps");
    assert!(!of(&[100, 101, 102, 103, 104, 105, 106, 107, 108], 1.0), "values that differ");
}

#[test]
fn a_remark_of_most_rounds_is_a_flag() {
    let single = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
    let with = |n: usize, of: usize, note: &str| {
        let mut rounds = nine();
        rounds.truncate(of);
        rounds[..n].iter_mut().for_each(|r| r.result.output.remarks.push(note.into()));
        let flags = one(&single, &rounds).flags;
        ["unsteady", "short-interval"].map(|f| flags.iter().any(|seen| seen == f))
    };
    assert_eq!(with(5, 9, "unsteady"), [true, false]);
    assert_eq!(with(9, 9, "short-interval"), [false, true]);
    assert_eq!(with(9, 9, "something else"), [false; 2]);
    // Half of them is not most.
    for (n, of) in [(4, 9), (4, 8), (1, 2), (0, 9)] {
        assert_eq!(with(n, of, "unsteady"), [false; 2], "{n} of {of}");
    }
}

#[test]
fn unverified_timing_is_flagged_for_timed_values_only() {
    let flagged = |timing: Timing, proportionality: Option<f64>, rounds: &[Round]| {
        let point = point(timing, metric(Quantity::Latency, Derivation::Series("")));
        let record = &summarise(&point, rounds, &Host { proportionality, ..HOST })[0];
        record.flags.iter().filter(|flag| flag.starts_with("timing-unverified: ")).count()
    };
    let limit = Host::PROPORTIONALITY_LIMIT;
    for (error, flags) in [(None, 1), (Some(limit * 1.01), 1), (Some(limit), 0), (Some(f64::NAN), 1)] {
        assert_eq!(flagged(Timing::Batched, error, &nine()), flags, "{error:?}");
    }
    assert_eq!(flagged(Timing::Stated, None, &nine()), 0);
    assert_eq!(flagged(Timing::Batched, None, &[]), 0, "nothing was timed");
}

/// The record of a metric with these values stated by its rounds.
fn record_of_stated(quantity: Quantity, width: f64, values: &[&[f64]]) -> Record {
    let point = Point { target_half_width: width, ..point(Timing::Stated, metric(quantity, Derivation::Series(""))) };
    let series = |v: &[f64]| Series { values: v.to_vec(), ..series("", &[], Labels::NONE) };
    let rounds: Vec<Round> = values.iter().zip(0..).map(|(v, r)| round(r, vec![series(v)])).collect();
    one(&point, &rounds)
}

#[test]
fn file_systems_are_distinguished() {
    let on = |fs: Option<&str>| Record {
        facts: fs.map(|fs| Fact::new("work_dir.fs", fs)).into_iter().collect(),
        ..record_of_stated(Quantity::Latency, 1.0, &[&[1.0]])
    };
    for (a, b, same) in [
        (Some("ext4"), Some("ext4"), true),
        (Some("ext4"), Some("tmpfs"), false),
        (Some("ext4"), None, true),
        (None, None, true),
    ] {
        assert_eq!(crate::point::same_point(&on(a), &on(b)), same, "{a:?} {b:?}");
    }
}

#[test]
fn a_cache_is_flagged_where_most_rounds_suspect_one() {
    let point = point(Timing::Each, metric(Quantity::Latency, Derivation::Series("")));
    let with = |suspicious: usize| {
        let mut rounds = nine();
        rounds.iter_mut().take(suspicious).for_each(|round| round.result.output.remarks.push(Remark::Cache));
        has(&one(&point, &rounds), "cache: of the device or host")
    };
    assert_eq!((with(4), with(5)), (false, true));
}

#[test]
fn a_latency_with_a_mean_far_above_its_median_is_contended() {
    let of = |quantity, last: f64| record_of_stated(quantity, 1.0, &[[1.0, 1.0, last].as_slice(); 6]);
    let contended = of(Quantity::Latency, 4.0);
    assert!(contended.flags.contains(&"contended: the mean is 2.0 times the median".to_owned()), "{contended:?}");
    assert_eq!(contended.interference, Some(2.0));
    // The limit is 1.5 times, and the last case 1.2; a rate does not depend on the scheduling of
    // its tail.
    for (quantity, last) in
        [(Quantity::Latency, 2.5), (Quantity::Latency, 1.6), (Quantity::Rate, 4.0), (Quantity::Count, 4.0)]
    {
        assert!(!has(&of(quantity, last), "contended"), "{quantity:?} {last}");
    }
}

#[test]
fn a_difference_of_a_contended_loop_is_contended() {
    let flags = |quantity, derivation, ring_lost: u64, control_lost: u64| {
        let point = point(Timing::Each, metric(quantity, derivation));
        let with = |name, ns, lost| series(name, &[[ns; 11].as_slice(), &[lost]].concat(), Labels::NONE);
        let rounds = (0..9).map(|r| round(r, vec![with("ring", 300, ring_lost), with("hot", 100, control_lost)]));
        one(&point, &rounds.collect::<Vec<_>>()).flags
    };
    let net = || Derivation::Difference { of: "ring", minus: "hot", per: 1.0 };
    // One turn in twelve is lost, at 7500 ns where an operation takes 300: the mean is 900.
    assert!(flags(Quantity::Latency, net(), 7500, 100).contains(&"contended: the mean is 3.0 times the median".into()));
    // A control does not block, and its median holds; a ratio is no latency; a maximum is no
    // median.
    for (quantity, derivation, ring_lost, control_lost) in [
        (Quantity::Latency, net(), 300, 100),
        (Quantity::Latency, net(), 300, 7500),
        (Quantity::Ratio, Derivation::Ratio { of: "ring", to: "hot" }, 7500, 100),
        (Quantity::Latency, Derivation::Max("ring"), 7500, 100),
    ] {
        let flags = flags(quantity, derivation, ring_lost, control_lost);
        assert!(!flags.iter().any(|flag| flag.starts_with("contended")), "{flags:?}");
    }
}

#[test]
fn an_interval_beyond_the_target_is_imprecise_and_beyond_a_tenth_noisy() {
    // Six rounds: the interval runs from the smallest to the largest.
    let of = |width, half: f64| {
        let (low, high) = ([100.0 - half], [100.0 + half]);
        let record = record_of_stated(Quantity::Count, width, &[&low, &[100.0], &[100.0], &[100.0], &[100.0], &high]);
        assert_eq!(record.ci, Some([100.0 - half, 100.0 + half]));
        let imprecise = record.flags.iter().find(|f| f.starts_with("imprecise")).cloned();
        (imprecise.unwrap_or_default(), record.state, record.reason)
    };
    let imprecise = |width: &str| format!("imprecise: wanted ± {width} %");
    let differ = || "rounds differ by more than ± 10 %".to_owned();
    assert_eq!(of(0.05, 6.0), (imprecise("5.0"), State::Ok, String::new()));
    assert_eq!(of(0.125, 12.5), (String::new(), State::Noisy, differ()));
    assert_eq!(of(0.01, 12.5), (imprecise("1.0"), State::Noisy, differ()));
    assert_eq!(of(0.1, 10.0), (String::new(), State::Ok, String::new()), "the limit itself is no breach");
    assert_eq!(of(0.0, 0.0), (String::new(), State::Ok, String::new()));
    // Relative to the value, whatever its sign and unit.
    for scale in [-1e-7, 1e-7, 1e9] {
        let at = |v: f64| [v * scale];
        let of = |half: f64| {
            let (low, middle, high) = (at(1.0 - half), at(1.0), at(1.0 + half));
            record_of_stated(Quantity::Count, 1.0, &[&low, &middle, &middle, &middle, &middle, &high]).state
        };
        assert_eq!((of(0.09), of(0.11)), (State::Ok, State::Noisy), "{scale}");
    }
}

#[test]
fn few_rounds_are_flagged_below_six_if_there_is_a_value() {
    let few = |n: usize| has(&record_of_stated(Quantity::Count, 1.0, &vec![&[1.0][..]; n]), "few rounds");
    assert_eq!([1, 5, 6, 9].map(few), [true, true, false, false]);
    assert!(!has(&record_of_stated(Quantity::Count, 1.0, &[&[], &[]]), "few rounds"));
}

/// Few rounds alone are not noise. A spread is, and so is a difference that few rounds cannot
/// distinguish from zero.
#[test]
fn few_rounds_are_noisy_if_spread_or_a_difference() {
    let of = |values: &[f64]| {
        let rounds: Vec<&[f64]> = values.chunks(1).collect();
        let record = record_of_stated(Quantity::Count, 1.0, &rounds);
        assert!(has(&record, "few rounds") && record.ci.is_none());
        (record.state, record.reason)
    };
    let differ = || (State::Noisy, "rounds differ by more than ± 10 %".to_owned());
    assert_eq!(of(&[100.0]), (State::Ok, String::new()));
    assert_eq!(of(&[100.0, 100.0, 100.0, 100.0, 119.0]), (State::Ok, String::new()));
    assert_eq!(of(&[100.0, 100.0, 100.0, 100.0, 121.0]), differ());
    assert_eq!(of(&[-100.0, -130.0]), differ());
    let net = Derivation::Difference { of: "raw", minus: "control", per: 1.0 };
    let point = point(Timing::Batched, metric(Quantity::Latency, net));
    let round =
        |r| round(r, vec![series("raw", &[200; 12], Labels::NONE), series("control", &[100; 12], Labels::NONE)]);
    let rounds: Vec<Round> = (0..6).map(round).collect();
    let few = one(&point, &rounds[..5]);
    assert_eq!(few.state, State::Noisy);
    assert_eq!(few.reason, "too few rounds to tell the difference from zero: fewer than 6");
    assert_eq!(one(&point, &rounds).state, State::Ok);
}
