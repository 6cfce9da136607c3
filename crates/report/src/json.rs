//! A run as one JSON object.

use std::borrow::Cow;

use groma_model::{End, Record, RunHeader, plain_json};
use serde::Serialize;

#[derive(Serialize)]
struct Whole<'a> {
    run: &'a RunHeader,
    metrics: &'a [Record],
    end: Option<&'a End>,
}

/// `{"run": ..., "metrics": [...], "end": ...}`, indented; `end` is null while there is none.
pub(crate) fn json(run: &RunHeader, records: &[Record], end: Option<&End>) -> String {
    pretty(&Whole { run, metrics: records, end })
}

/// Any value, indented, with a final newline, in plain characters: JSON printed on a terminal
/// cannot steer it.
pub(crate) fn pretty<T: Serialize>(value: &T) -> String {
    // Only a map with non-text keys could fail, and no view has one.
    let mut text = serde_json::to_string_pretty(value)
        .unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }).to_string());
    text.push('\n');
    match plain_json(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(plain) => plain,
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures;
    use groma_model::{End, Record, RunHeader};

    #[test]
    fn what_is_written_can_be_read_back() {
        let mut records = fixtures::records();
        records.push(fixtures::sampled());
        let (run, end) = (fixtures::header(), fixtures::end(&records));
        let text = super::json(&run, &records, Some(&end));
        let mut whole: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(serde_json::from_value::<RunHeader>(whole["run"].take()).expect("a run"), run);
        let read: Vec<Record> = serde_json::from_value(whole["metrics"].take()).expect("metrics");
        for (read, written) in read.iter().zip(&records) {
            assert!(read == written, "{read:?}\n{written:?}");
        }
        assert_eq!(read.len(), records.len());
        assert_eq!(serde_json::from_value::<End>(whole["end"].take()).expect("an end"), end);
    }

    /// Doubles have gaps above 2^53, and many readers store all numbers as doubles.
    #[test]
    fn a_seed_that_a_double_does_not_hold_is_a_string_and_both_forms_are_read() {
        for (seed, written) in [(1 << 53, "9007199254740992"), ((1 << 53) + 1, "\"9007199254740993\"")] {
            let run = RunHeader { seed, ..fixtures::header() };
            let text = serde_json::to_string(&run).expect("JSON");
            assert!(text.contains(&format!("\"seed\":{written},")), "{text}");
            for form in [written.to_owned(), format!("\"{seed}\""), seed.to_string()] {
                let text = text.replace(&format!(":{written},"), &format!(":{form},"));
                assert_eq!(serde_json::from_str::<RunHeader>(&text).expect("a run"), run);
            }
            assert!(serde_json::from_str::<RunHeader>(&text.replace(written, "\"x\"")).is_err());
        }
    }

    #[test]
    fn a_record_has_this_form() {
        let records = fixtures::records();
        let (run, record) = (fixtures::header(), &records[5..6]);
        insta::assert_snapshot!(super::json(&run, record, None));
    }
}
