//! The JSON of types with hand-written (de)serialisation: ordered objects, columns, words.
#![cfg(feature = "serde")]

use groma_model::{
    Fact, LabelCounts, Labels, Machine, Params, Placement, Record, Sample, Series, State, StateCounts, Value,
};
use serde_json::{from_str, to_string};

#[test]
fn parameters_are_an_object_in_their_order() {
    let params = Params(vec![("z".into(), Value::Int(u64::MAX)), ("a".into(), Value::Word("7".into()))]);
    let json = to_string(&params).expect("JSON");
    assert_eq!(json, r#"{"z":18446744073709551615,"a":"7"}"#);
    assert_eq!(from_str::<Params>(&json).expect("it reads back"), params);
    let error = from_str::<Params>("[1]").expect_err("a list").to_string();
    assert!(error.contains("expected an object of parameters"), "{error}");
    for wrong in [r#"{"a":-1}"#, r#"{"a":1.5}"#, r#"{"a":null}"#, r#"{"a":{}}"#] {
        assert!(from_str::<Params>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_placement_is_its_text() {
    for placement in [Placement::SameCpu, Placement::List(vec![1, 0]), Placement::Nodes { cpu: 0, memory: 3 }] {
        let json = to_string(&placement).expect("JSON");
        assert_eq!(json, format!("\"{placement}\""));
        assert_eq!(from_str::<Placement>(&json).expect("it reads back"), placement);
    }
    assert!(from_str::<Placement>(r#""near""#).is_err() && from_str::<Placement>("7").is_err());
}

/// In the order of `Label::ALL`, regardless of the order in the object.
#[test]
fn counts_are_objects_and_come_back_in_order() {
    let labels = LabelCounts(vec![('P', 3), ('M', 8), ('O', 1)]);
    assert_eq!(to_string(&labels).expect("JSON"), r#"{"P":3,"M":8,"O":1}"#);
    assert_eq!(from_str::<LabelCounts>(r#"{"O":1,"M":8,"P":3}"#).expect("it reads"), labels);

    let states = StateCounts(vec![(State::Ok, 120), (State::Noisy, 2), (State::Failed, 1)]);
    assert_eq!(to_string(&states).expect("JSON"), r#"{"ok":120,"noisy":2,"failed":1}"#);
    assert_eq!(from_str::<StateCounts>(r#"{"failed":1,"noisy":2,"ok":120}"#).expect("it reads"), states);
    let error = from_str::<StateCounts>(r#"{"fine":1}"#).expect_err("no state").to_string();
    assert!(error.contains("'fine' is not a state"), "{error}");
}

#[test]
fn samples_are_columns_and_idle_columns_are_left_out() {
    let first = Sample { t0_ns: 5, elapsed_ns: 6, iters: 7, ..Sample::default() };
    let series = |samples| Series { name: "x".into(), iters: 7, per_iter: 0.5, samples, ..Series::default() };
    let plain = series(vec![first, Sample { t0_ns: 8, ..first }]);
    let json = to_string(&plain).expect("JSON");
    assert_eq!(json, r#"{"name":"x","iters":7,"per_iter":0.5,"t0":[5,8],"dt":[6,6],"n":[7,7]}"#);
    assert_eq!(from_str::<Series>(&json).expect("it reads back"), plain);

    // A column with any value other than the default is written in full.
    let full = Sample { worker: 1, cpu: 2, cpu_ns: 3, labels: Labels(4), margin_ns: Some(-5), ..first };
    let both = series(vec![first, full]);
    let json = to_string(&both).expect("JSON");
    let columns = r#""worker":[0,1],"cpu":[0,2],"cpu_ns":[0,3],"labels":[0,4],"margin":[null,-5]}"#;
    assert!(json.ends_with(columns), "{json}");
    assert_eq!(from_str::<Series>(&json).expect("it reads back"), both);

    let stated = Series { values: vec![0.1 + 0.2, -0.0], ..series(vec![]) };
    let json = to_string(&stated).expect("JSON");
    assert_eq!(json, r#"{"name":"x","iters":7,"per_iter":0.5,"values":[0.30000000000000004,-0.0]}"#);
    assert_eq!(from_str::<Series>(&json).expect("it reads back"), stated);
}

/// Shorter columns are filled with zeros.
#[test]
fn the_column_of_times_decides_the_number_of_samples() {
    let json = r#"{"name":"","iters":1,"per_iter":1.0,"t0":[1,2,3],"dt":[4,5],"n":[9],"cpu":[]}"#;
    let series: Series = from_str(json).expect("it reads");
    let read: Vec<_> = series.samples.iter().map(|s| (s.t0_ns, s.elapsed_ns, s.iters, s.cpu)).collect();
    assert_eq!(read, [(1, 4, 9, 0), (2, 5, 0, 0)]);
}

#[test]
fn a_record_reads_from_json_and_finds_its_facts() {
    let json = r#"{"id":"a.b","version":2,"summary":"s","params":{"size":64},"params_text":"size=64 B",
        "placement":"same-cpu","workers":1,"crew":"processes","state":"noisy","reason":"r","quantity":"latency",
        "unit":"s","better":"lower","timing":"batched","value":4.1e-6,"ci":[4e-6,5e-6],"ci_display":null,"p10":null,
        "p50":1.0,"p90":null,"p99":null,"max":null,"interference":1.07,"cycles":123.0,"rounds":7,"samples":20,
        "clean":9,"labels":{"P":3},"proofs":[],"round_values":[4.1e-6],"flags":["few rounds"],
        "facts":[{"key":"k","value":"v"}]}"#;
    let record: Record = from_str(json).expect("a record");
    assert_eq!((record.fact("k"), record.fact("l"), record.detail), (Some("v"), None, false));
    let machine: Machine = from_str(r#"[{"key":"k","value":"v"}]"#).expect("a list of facts");
    assert_eq!(machine, Machine { facts: vec![Fact::new("k", "v")] });
}
