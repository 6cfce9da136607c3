//! Tests of the data types: words, texts, orders, thresholds.

use groma_model::{
    About, Better, Derivation, Fact, Info, Interference, Label, Labels, Machine, NoiseVerdict, Output, Param, Params,
    Placement, Point, Profile, Quantity, Remote, RoundResult, Scaling, Series, State, Tier, Timing, Unit, Value,
    WorkerKind, parse_size, size_text,
};

/// Asserts that all words differ and none is empty.
fn distinct(words: &[&str]) {
    let mut sorted = words.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), words.len(), "{words:?}");
    assert!(words.iter().all(|w| !w.is_empty()));
}

#[test]
fn words_are_those_of_the_documents() {
    let states: Vec<&str> = State::ALL.iter().map(|s| s.word()).collect();
    assert_eq!(states, ["ok", "noisy", "unresolved", "unsupported", "denied", "timeout", "failed"]);
    for state in State::ALL {
        assert_eq!(State::from_word(state.word()), Some(state));
    }
    assert_eq!(State::from_word("fine"), None);
    let failing: Vec<State> = State::ALL.into_iter().filter(|s| s.fails_run()).collect();
    assert_eq!(failing, [State::Denied, State::Timeout, State::Failed]);

    let profiles = [Profile::Quick, Profile::Standard, Profile::Rigorous].map(Profile::word);
    assert_eq!(profiles, ["quick", "standard", "rigorous"]);
    let verdicts = [NoiseVerdict::Quiet, NoiseVerdict::Fine, NoiseVerdict::Noisy, NoiseVerdict::Hostile];
    assert_eq!(verdicts.map(NoiseVerdict::word), ["quiet", "fine", "noisy", "hostile"]);

    distinct(&Label::ALL.map(Label::meaning));
    assert_eq!(Label::Preempted.meaning(), "preempted");
    use Interference::{Blocking, Cpu, Faults, Tasks};
    distinct(&[Cpu, Faults, Blocking, Tasks].map(Interference::meaning));
    assert!(Cpu.meaning().contains("without blocking") && Tasks.meaning().contains("creates tasks"));
}

#[test]
fn quantities_have_their_units_and_directions() {
    use Quantity::{Bandwidth, Count, Energy, Latency, Power, Rate, Ratio, Size, TimePerGigabyte};
    for (quantity, word, unit, symbol, better) in [
        (Latency, "latency", Unit::Seconds, "s", Better::Lower),
        (TimePerGigabyte, "time_per_gigabyte", Unit::SecondsPerGigabyte, "s/GB", Better::Lower),
        (Bandwidth, "bandwidth", Unit::BytesPerSecond, "B/s", Better::Higher),
        (Rate, "rate", Unit::PerSecond, "1/s", Better::Higher),
        (Count, "count", Unit::One, "1", Better::Neither),
        (Size, "size", Unit::Bytes, "B", Better::Neither),
        (Ratio, "ratio", Unit::One, "1", Better::Neither),
        (Energy, "energy", Unit::Joules, "J", Better::Lower),
        (Power, "power", Unit::Watts, "W", Better::Lower),
    ] {
        assert_eq!((quantity.word(), quantity.unit(), quantity.better()), (word, unit, better));
        assert_eq!(unit.symbol(), symbol);
    }
}

/// A share of exactly 0.5 % is no longer quiet; one of exactly 20 % is still noisy.
#[test]
fn noise_verdicts_change_at_their_thresholds() {
    use NoiseVerdict::{Fine, Hostile, Noisy, Quiet};
    for (share, verdict) in [
        (0.0, Quiet),
        (0.004999, Quiet),
        (0.005, Fine),
        (0.029999, Fine),
        (0.03, Noisy),
        (0.20, Noisy),
        (0.200001, Hostile),
        (1.0, Hostile),
        (f64::NAN, Hostile),
    ] {
        assert_eq!(NoiseVerdict::of_lost(share), verdict, "{share}");
    }
}

#[test]
fn a_descriptor_has_defaults_and_overrides() {
    let info = Info::new("ipc.pipe_rtt");
    assert_eq!((info.family(), info.better()), ("ipc", Better::Lower));
    assert_eq!(info.params_tier(&Params::default()), Tier::Quick, "all combinations, unless it says otherwise");
    let rate = Info { quantity: Quantity::Rate, about: About { text: "text", file: "" }, ..info };
    assert_eq!(rate.better(), Better::Higher);
    assert_eq!(Info { better: Some(Better::Neither), ..rate }.better(), Better::Neither);
    assert_eq!(Output::MAIN.derivation, Derivation::Series(""));

    let kinds = |s: Scaling| (s.processes, s.threads, s.why);
    assert_eq!(kinds(Scaling::BOTH), (true, true, ""));
    assert_eq!(kinds(Scaling::processes("forks")), (true, false, "forks"));
    assert_eq!(kinds(Scaling::alone("one disk")), (false, false, "one disk"));
}

#[test]
fn a_derivation_keeps_its_parts() {
    let text = |s: &str| s.to_owned();
    assert_eq!(Derivation::Series("a").owned(), Derivation::Series(text("a")));
    assert_eq!(
        Derivation::Difference { of: "a", minus: "b", per: 3.0 }.owned(),
        Derivation::Difference { of: text("a"), minus: text("b"), per: 3.0 }
    );
    assert_eq!(Derivation::Ratio { of: "a", to: "b" }.owned(), Derivation::Ratio { of: text("a"), to: text("b") });
    assert_eq!(Derivation::Max("a").owned(), Derivation::Max(text("a")));
    assert_eq!(Derivation::Totals { of: "a", to: "b" }.owned(), Derivation::Totals { of: text("a"), to: text("b") });
    assert_eq!(Derivation::Scaled { of: "a", by: "b" }.owned(), Derivation::Scaled { of: text("a"), by: text("b") });
}

/// Which labels drop a sample, for every kind of benchmark.
#[test]
fn interference_drops_its_labels_and_no_others() {
    let letters = |kind: Interference| kind.drops().letters();
    assert_eq!(letters(Interference::Cpu), "PVMFSTO");
    assert_eq!(letters(Interference::Faults), "PVMSTO");
    assert_eq!(letters(Interference::Blocking), "MFTO");
    assert_eq!(letters(Interference::Tasks), "MSTO");
    for kind in [Interference::Cpu, Interference::Faults, Interference::Blocking, Interference::Tasks] {
        assert_eq!(kind.drops_crowded().letters(), "TO");
    }
}

/// Stored samples contain these bits, so they must never change.
#[test]
fn labels_keep_their_bits() {
    assert_eq!(Label::ALL.map(|l| l as u16), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
    let mut set = Labels::of(&[Label::Faulted]);
    set.add(Label::Overlap);
    set.add(Label::Overlap);
    assert_eq!((set, set.letters().as_str()), (Labels(8 | 256), "FO"));
    for label in Label::ALL {
        assert_eq!(set.has(label), matches!(label, Label::Faulted | Label::Overlap));
        assert_eq!(set.meets(Labels::of(&[label])), set.has(label));
    }
    assert!(!set.meets(Labels::NONE) && !Labels::NONE.meets(set));
    assert_eq!(Labels(0xffff).letters(), "PVMFSTCHON");
}

fn params() -> Params {
    Params(vec![
        ("size".into(), Value::Int(65536)),
        ("kind".into(), Value::Word("read".into())),
        ("count".into(), Value::Int(3)),
    ])
}

#[test]
fn parameters_are_found_by_name_and_kind() {
    let params = params();
    assert_eq!(
        (params.int("size"), params.int("count"), params.int("kind"), params.int("x")),
        (Some(65536), Some(3), None, None)
    );
    assert_eq!((params.word("kind"), params.word("size"), params.word("x")), (Some("read"), None, None));
    assert_eq!(params.get("kind"), Some(&Value::Word("read".into())));
    assert_eq!(params.to_string(), "size=65536 kind=read count=3");
    assert_eq!(Params::default().to_string(), "");
}

#[test]
fn a_parameter_reads_and_shows_its_values() {
    let size = Param::size("p", "");
    assert_eq!(size.parse("64K"), Ok(Value::Int(65536)));
    assert_eq!((size.show(&Value::Int(65536)), size.show(&Value::Word("x".into()))), ("64 KiB".into(), "x".into()));
    let count = Param::count("p", "");
    assert_eq!((count.parse("16"), count.show(&Value::Int(65536))), (Ok(Value::Int(16)), "65536".into()));
    assert_eq!(count.parse("1K"), Err("'1K' is not a count (a whole number such as 16)".into()));
    let text = Param::text("p", "");
    assert_eq!(
        (text.parse("any thing"), text.parse("")),
        (Ok(Value::Word("any thing".into())), Ok(Value::Word(String::new())))
    );
}

/// Sizes are read as exact decimals: a float would round some fractions to a whole number.
#[test]
fn fractions_of_a_unit_are_exact() {
    for (text, bytes) in [
        ("0.5K", 512),
        (".5k", 512),
        ("1.", 1),
        ("0.0009765625K", 1),
        ("0.00000000000090949470177292823791503906250T", 1),
        ("16383.5T", 16383 * (1 << 40) + (1 << 39)),
        ("0", 0),
        ("64KiB", 65536),
        ("18446744073709551615", u64::MAX),
        ("17179869183.9990234375G", u64::MAX - (1 << 20) + 1),
        ("000001.50M", 1_572_864),
        ("2gb", 2 << 30),
        ("2TIB", 2 << 40),
    ] {
        assert_eq!(parse_size(text), Ok(bytes), "{text}");
    }
    let whole = |text: &str| Err(format!("'{text}' is not a whole number of bytes"));
    for text in ["1.3", "0.1K", "4503599627370497.3", "1.00000000000000000000001K", "0.0004882812K", "1.5"] {
        assert_eq!(parse_size(text), whole(text));
    }
    let fits = |text: &str| Err(format!("'{text}' does not fit in 64 bits"));
    for text in ["18446744073709551616", "16777216T", "16777215.99999999999T", "99999999999999999999.5K"] {
        let refused = parse_size(text);
        assert!(refused == fits(text) || refused == whole(text), "{text}: {refused:?}");
    }
    assert_eq!(parse_size("16777216T"), fits("16777216T"));
    for text in ["", "K", "64Q", "-1", "1e3", ".", ".K", "1.2.3K", "1..5K", "b", "ib", "1Ki", "1bb", "+1", "1K "] {
        assert_eq!(parse_size(text), Err(format!("'{text}' is not a size (write 4096, 64K, 1.5M or 2GiB)")));
    }
}

#[test]
fn every_exact_size_reads_back_as_it_is_shown() {
    for (bytes, text) in [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1025, "1.00 KiB"),
        (1 << 20, "1 MiB"),
        ((1 << 20) - 1, "1024.00 KiB"),
        (3 << 30, "3 GiB"),
        (1 << 40, "1 TiB"),
        (5 << 50, "5120 TiB"),
    ] {
        assert_eq!(size_text(bytes), text);
        if !text.contains('.') {
            assert_eq!(parse_size(&text.replace(' ', "")), Ok(bytes));
        }
    }
}

#[test]
fn lists_of_cpus_have_a_comma_between() {
    assert_eq!(Placement::List(vec![7]).to_string(), "cpus:7");
    assert_eq!(Placement::List(vec![7, 1, 10]).to_string(), "cpus:7,1,10");
    assert_eq!("node3-node12".parse(), Ok(Placement::Nodes { cpu: 3, memory: 12 }));
    assert_eq!("none".parse(), Ok(Placement::Free));
    for text in ["", "cpus:", "0,,1", "0, 1", "-1", "4294967296", "cpus:pinned", "node1-node4294967296"] {
        assert!(text.parse::<Placement>().is_err(), "{text:?}");
    }
}

#[test]
fn facts_and_series_are_found_by_name() {
    let facts = vec![Fact::new("a", 1), Fact::new("b", "two"), Fact::new("a", 3)];
    let machine = Machine { facts: facts.clone() };
    assert_eq!((machine.get("a"), machine.get("b"), machine.get("c")), (Some("1"), Some("two"), None));
    let mut result = RoundResult::ended(State::Timeout, "late");
    assert_eq!(
        (result.state, result.reason.as_str(), result.pid, result.output.core_hz),
        (State::Timeout, "late", 0, None)
    );
    result.output.facts = facts;
    result.output.series =
        ["x", "", "y"].map(|name| Series { name: name.into(), iters: 7, ..Series::default() }).to_vec();
    assert_eq!((result.fact("b"), result.fact("c")), (Some("two"), None));
    assert_eq!(result.series("y").map(|s| (s.name.as_str(), s.iters)), Some(("y", 7)));
    assert_eq!(result.series("").map(|s| s.name.as_str()), Some(""));
    assert!(result.series("z").is_none());
}

#[test]
fn a_token_is_not_printed() {
    let remote = Remote { address: "10.0.0.2:7".parse().expect("an address"), token: "secret".into() };
    assert_eq!(format!("{remote:?}"), "Remote(10.0.0.2:7)");
}

#[test]
fn the_name_of_a_point_omits_defaults() {
    let mut point = Point {
        bench: "ipc.pipe_rtt".into(),
        version: 1,
        params: Params::default(),
        params_text: String::new(),
        placement: Placement::Pinned,
        workers: 1,
        worker_kind: WorkerKind::Processes,
        timing: Timing::Each,
        drops: Labels::NONE,
        target_half_width: 0.01,
        metrics: Vec::new(),
    };
    assert_eq!(point.name(), "ipc.pipe_rtt");
    point.params_text = "size=1".into();
    assert_eq!(point.name(), "ipc.pipe_rtt size=1");
    point.placement = Placement::SameCpu;
    point.workers = 4;
    assert_eq!(point.name(), "ipc.pipe_rtt size=1 placement=same-cpu workers=4");
}
