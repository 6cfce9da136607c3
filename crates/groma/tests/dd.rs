//! `groma dd`: what it writes is what it reads, what is wrong is found, and what was not meant is not done.

mod common;
use common::Place;
use serde_json::Value;

#[test]
fn a_pattern_is_written_checked_and_found_wrong() {
    let place = Place::new();
    let data = place.path("data").display().to_string();
    let (of, input) = (format!("of={data}"), format!("if={data}"));
    let written = place.groma(&["dd", &of, "bs=64K", "move=1000K", "opat=1", "fsync=1", "json=1"]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let said: Value = serde_json::from_str(&written.err).expect("statistics");
    assert_eq!((&said["bytes"], &said["writes_s"]["transfers"]), (&1_024_000.into(), &16.into()));
    assert_eq!(std::fs::metadata(&data).expect("it is there").len(), 1_024_000);

    let checked = place.groma(&["dd", &input, "bs=4K", "ipat=1", "rand=1000K", "norepeat=1", "hist=1"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.err.contains("1.024 MB in ") && checked.err.contains("250 reads"), "{checked:?}");

    let mut bytes = std::fs::read(&data).expect("it is there");
    bytes[500_000] ^= 1;
    std::fs::write(&data, &bytes).expect("it can be written");
    let wrong = place.groma(&["dd", &input, "bs=64K", "ipat=1"]);
    assert_eq!(wrong.code, Some(4), "{wrong:?}");
    assert!(wrong.err.contains("off=500000 want=7a120 got=7a121"), "{wrong:?}");

    // What comes out on a standard stream is the file and nothing else.
    let piped = place.groma(&["dd", &format!("if={data}"), "of=-", "bs=120", "count=1"]);
    assert_eq!(piped.out.len(), 120, "{}", piped.err);
}

#[test]
fn what_cannot_be_done_is_said() {
    let place = Place::new();
    let data = place.path("data").display().to_string();
    std::fs::write(&data, vec![0u8; 10_000]).expect("a file");
    for (args, code, why) in [
        (vec!["dd".to_owned()], 2, "required arguments"),
        (vec!["dd".into(), "if=/nonexistent".into()], 2, "if=/nonexistent: No such file"),
        (vec!["dd".into(), "if=/".into()], 2, "is a directory"),
        (vec!["dd".into(), format!("if={data}"), "bs=1q".into()], 2, "bs: '1q' is not a size"),
        (
            vec!["dd".into(), format!("if={data}"), "bs=4K".into(), "rand=1M".into(), "norepeat=1".into()],
            4,
            "ends before byte",
        ),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ended = place.groma(&args);
        assert_eq!(ended.code, Some(code), "{args:?}: {ended:?}");
        assert!(ended.err.contains(why), "{args:?}: {ended:?}");
    }
}
