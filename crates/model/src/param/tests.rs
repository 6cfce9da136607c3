//! Values, sizes and times as typed, and the tiers of values.

use super::*;

#[test]
fn times_are_whole_nanoseconds_with_a_unit() {
    for (text, ns, shown) in [
        ("1ns", 1, "1ns"),
        ("100us", 100_000, "100us"),
        ("1.5ms", 1_500_000, "1500us"),
        ("1.50us", 1500, "1500ns"),
        ("2s", 2_000_000_000, "2s"),
        ("0s", 0, "0s"),
    ] {
        assert_eq!(parse_nanoseconds(text), Ok(ns), "{text}");
        assert_eq!((time_text(ns).as_str(), parse_nanoseconds(&time_text(ns))), (shown, Ok(ns)));
    }
    for text in ["", "1", "us", ".5us", "1.5ns", "1m", "-1us", "1e3us", "1 us", "1.2.3s", "99999999999s", "1_0us"] {
        assert!(parse_nanoseconds(text).is_err(), "{text} was taken");
    }
    let param = Param::time("length", "").quick(&["100us"]).standard(&["1ms"]).full(&["1us"]);
    assert_eq!(param.values(Tier::Full), ["1us", "100us", "1ms"]);
    assert_eq!(param.show(&Value::Int(100_000)), "100us");
    assert_eq!((param.tier(&Value::Int(1000)), param.tier(&Value::Int(1001))), (Tier::Full, Tier::Named));
}

#[test]
fn a_size_or_a_word_accepts_both() {
    let param = Param::size_or("call", "", &["whole"]).quick(&["4K"]).standard(&["whole", "64"]);
    assert_eq!(param.check(), Ok(()));
    assert_eq!(param.values(Tier::Standard), ["64", "4K", "whole"]);
    assert_eq!(param.parse("whole"), Ok(Value::Word("whole".into())));
    assert_eq!(param.show(&Value::Int(4096)), "4 KiB");
    assert_eq!(param.tier(&Value::Word("whole".into())), Tier::Standard);
    assert!(param.parse("all").is_err_and(|why| why.ends_with("and not one of whole")));
}

#[test]
fn zero_is_accepted_only_if_it_is_listed() {
    for param in [Param::size("size", ""), Param::count("count", ""), Param::time("length", "")] {
        let zero = if param.kind == ParamKind::Time { "0us" } else { "0" };
        let refused = param.quick(&["1s"]).parse(zero).expect_err("listed nowhere");
        assert_eq!(refused, format!("'{zero}' is too small: it must be more than 0"));
        assert_eq!(param.full(if zero == "0" { &["0"] } else { &["0ns"] }).parse(zero), Ok(Value::Int(0)));
    }
}

#[test]
fn auto_is_accepted_only_if_it_is_declared() {
    let size = Param::size("size", "").takes(Memory::PerMember(1)).quick(&["auto"]).full(&["1M"]);
    assert!(size.check().is_err());
    let size = size.or_auto(Auto::BeyondCaches(3));
    assert_eq!((size.check(), size.auto()), (Ok(()), Some(Auto::BeyondCaches(3))));
    assert_eq!(size.values(Tier::Full), ["1M", "auto"]);
    let auto = size.parse(AUTO).expect("a value");
    assert_eq!((size.tier(&auto), size.show(&auto).as_str()), (Tier::Quick, "auto"));
    assert_eq!(size.parse("2M"), Ok(Value::Int(2 << 20)));
    assert!(size.parse("big").is_err_and(|why| why.ends_with("not auto")));
}

#[test]
fn words_are_checked() {
    let param = Param::word("kind", "", &["read", "write"]);
    assert_eq!(param.parse("read"), Ok(Value::Word("read".into())));
    assert_eq!(param.parse("reed"), Err("'reed' is not one of read, write".to_owned()));
}

#[test]
fn a_run_measures_the_values_of_its_tier_and_below() {
    let runs = |param: Param| [Tier::Quick, Tier::Standard, Tier::Full, Tier::Named].map(|tier| param.values(tier));
    let size = Param::size("size", "").quick(&["4K"]).standard(&["1", "1M"]).full(&["64", "64K"]);
    let all = vec!["1", "64", "4K", "64K", "1M"];
    assert_eq!(runs(size), [vec!["4K"], vec!["1", "4K", "1M"], all.clone(), all]);
    assert_eq!(size.usual(), Some("1"));
    let word = Param::word("kind", "", &["a", "b", "c", "d"]).quick(&["c"]).standard(&["b"]).named(&["a"]);
    assert_eq!(runs(word), [vec!["c"], vec!["b", "c"], vec!["b", "c", "d"], vec!["a", "b", "c", "d"]]);
    assert_eq!(word.usual(), Some("b"));
    let text = Param::text("path", "").quick(&["/tmp"]);
    assert_eq!(runs(text), [(); 4].map(|()| vec!["/tmp"]));
    assert_eq!(Param::count("n", "").usual(), None);

    let of = |texts: &[&str], param: Param| -> Vec<Tier> {
        texts.iter().map(|text| param.tier(&param.parse(text).expect("a value"))).collect()
    };
    use Tier::{Full, Named, Quick, Standard};
    assert_eq!(of(&["4096", "1", "64", "2"], size), [Quick, Standard, Full, Named]);
    assert_eq!(of(&["c", "b", "d", "a"], word), [Quick, Standard, Full, Named]);
    assert_eq!(of(&["/tmp", "/"], text), [Quick, Named]);
}

#[test]
fn an_invalid_declaration_is_found() {
    let size = Param::size("size", "").quick(&["4K"]);
    assert_eq!(size.check(), Ok(()));
    assert!(size.full(&["4Q"]).check().is_err_and(|why| why.contains("4Q")));
    assert_eq!(Param::size("size", "").full(&["1"]).check(), Err("a standard run has no value".to_owned()));
    let word = Param::word("kind", "", &["a", "b"]).quick(&["a"]);
    assert_eq!(word.check(), Ok(()));
    assert!(word.named(&["c"]).check().is_err_and(|why| why.contains("'c'")));
}

#[test]
fn combinations_vary_the_last_parameter_first() {
    let ints = |ns: &[u64]| ns.iter().map(|n| Value::Int(*n)).collect::<Vec<_>>();
    let all = Params::combinations(&[("a", ints(&[1, 2])), ("b", ints(&[3, 4]))]);
    let texts: Vec<String> = all.iter().map(Params::to_string).collect();
    assert_eq!(texts, ["a=1 b=3", "a=1 b=4", "a=2 b=3", "a=2 b=4"]);
    assert_eq!(Params::combinations(&[]), [Params::default()]);
    assert_eq!(Params::combinations(&[("a", Vec::new())]), []);
}

#[test]
fn the_memory_of_a_value_follows_its_kind() {
    let memory = |kind: ParamKind| kind.memory();
    assert_eq!(memory(ParamKind::Size), Some(Memory::PerSide(2)));
    assert_eq!(memory(ParamKind::SizeOf(Memory::PerSide(7))), Some(Memory::PerSide(7)));
    assert_eq!(memory(ParamKind::CountOf(Memory::PerSide(7))), Some(Memory::PerSide(7)));
    for kind in [ParamKind::Count, ParamKind::Word(&["a"]), ParamKind::Text] {
        assert_eq!(memory(kind), None, "{kind:?}");
    }
    // A thread has a stack of 128 KiB and a kernel stack; no task needs many times that.
    const { assert!(Memory::TASK > 128 << 10 && Memory::TASK < 1 << 20) };
}
