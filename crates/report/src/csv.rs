//! Comma-separated values in SI units, every digit kept, for spreadsheets and data frames. RFC 4180
//! quoting, `\n` at line ends; an empty field is a value that is not there.
//!
//! Spreadsheets calculate what begins with `=`, `+`, `-` or `@`, whoever wrote it. A text that does
//! so gets an apostrophe before it, as they themselves mark a text; a number, also a negative one,
//! stays a number.

use groma_model::{Record, RunHeader, plain_lines};

const HEAD: &str = "run,id,version,params,placement,workers,crew,state,reason,quantity,unit,better,value,ci_low,ci_high,\
                    p10,p50,p90,p99,max,interference,cycles,rounds,samples,clean,labels,flags\n";

/// One line a metric.
pub(crate) fn csv(run: &RunHeader, records: &[Record]) -> String {
    let mut out = HEAD.to_owned();
    for r in records {
        let labels: Vec<String> = r.labels.0.iter().map(|(letter, n)| format!("{letter}:{n}")).collect();
        let fields = [
            text(&run.run),
            text(&r.id),
            r.version.to_string(),
            text(&r.params.to_string()),
            text(&r.placement.to_string()),
            r.workers.to_string(),
            text(r.worker_kind.word()),
            text(r.state.word()),
            text(&r.reason),
            text(r.quantity.word()),
            text(r.unit.symbol()),
            text(better(r)),
            number(r.value),
            number(r.ci.map(|ci| ci[0])),
            number(r.ci.map(|ci| ci[1])),
            number(r.p10),
            number(r.p50),
            number(r.p90),
            number(r.p99),
            number(r.max),
            number(r.interference),
            number(r.cycles),
            r.rounds.to_string(),
            r.samples.to_string(),
            r.clean.to_string(),
            text(&labels.join(" ")),
            text(&r.flags.join("; ")),
        ];
        line(&mut out, &fields);
    }
    out
}

const SAMPLES_HEAD: &str = "run,id,params,placement,workers,round,series,index,worker,cpu,t0_ns,elapsed_ns,iters,per_iter,\
                            clock_ns,cpu_ns,labels,value\n";

/// One line a raw sample, of the records that carry theirs; `value` is for values that a benchmark
/// stated outright, in SI units. `(elapsed_ns / iters - clock_ns) / per_iter` is the
/// time of one operation.
pub fn csv_samples(run: &RunHeader, records: &[Record]) -> String {
    let mut out = SAMPLES_HEAD.to_owned();
    for r in records {
        for round in r.round_samples.iter().flatten() {
            for series in &round.result.output.series {
                let head = [
                    text(&run.run),
                    text(&r.id),
                    text(&r.params.to_string()),
                    text(&r.placement.to_string()),
                    r.workers.to_string(),
                    round.round.to_string(),
                    text(&series.name),
                ];
                for (i, s) in series.samples.iter().enumerate() {
                    let fields = [
                        i.to_string(),
                        s.worker.to_string(),
                        s.cpu.to_string(),
                        s.t0_ns.to_string(),
                        s.elapsed_ns.to_string(),
                        s.iters.to_string(),
                        series.per_iter.to_string(),
                        series.clock_ns.to_string(),
                        s.cpu_ns.to_string(),
                        text(&s.labels.letters()),
                        String::new(),
                    ];
                    line(&mut out, &[&head[..], &fields[..]].concat());
                }
                for (i, value) in series.values.iter().enumerate() {
                    let mut fields = vec![String::new(); 11];
                    fields[0] = i.to_string();
                    fields[10] = number(Some(*value));
                    line(&mut out, &[&head[..], &fields[..]].concat());
                }
            }
        }
    }
    out
}

pub(crate) fn better(record: &Record) -> &'static str {
    use groma_model::Better;
    match record.better {
        Better::Lower => "lower",
        Better::Higher => "higher",
        Better::Neither => "neither",
    }
}

/// The shortest text that reads back as the same number.
pub(crate) fn number(value: Option<f64>) -> String {
    match value {
        Some(v) if !v.is_finite() => String::new(),
        Some(v) if v != 0.0 && !(1e-4..1e15).contains(&v.abs()) => format!("{v:e}"),
        Some(v) => v.to_string(),
        None => String::new(),
    }
}

/// A text as a field: quoted where RFC 4180 wants it, and no formula. Plain characters, but for
/// line breaks.
pub(crate) fn text(text: &str) -> String {
    // The wide forms are those of East Asian keyboards; a line break may be dropped by whoever
    // reads the file.
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let text = plain_lines(text);
    if formula {
        format!("\"'{}\"", text.replace('"', "\"\""))
    } else if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}

pub(crate) fn line(out: &mut String, fields: &[String]) {
    for (i, field) in fields.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(field);
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn one_line_a_metric() {
        let records: Vec<Record> =
            fixtures::records().into_iter().filter(|r| r.id.starts_with("ipc") || r.id.starts_with("net")).collect();
        insta::assert_snapshot!(csv(&fixtures::header(), &records));
    }

    #[test]
    fn every_line_has_every_field_and_quotes_survive() {
        let mut record = fixtures::records().remove(0);
        record.reason = "he said \"no\",\nand left".to_owned();
        let text = csv(&fixtures::header(), &[record]);
        assert!(text.contains("\"he said \"\"no\"\",\nand left\""), "{text}");
        let fields = |line: &str| line.matches(',').count();
        let text = csv(&fixtures::header(), &fixtures::records()[..4]);
        assert!(text.lines().all(|l| fields(l) == fields(HEAD)), "{text}");
    }

    #[test]
    fn a_text_is_no_formula_and_a_number_stays_one() {
        for (cell, field) in [
            ("=cmd()", "\"'=cmd()\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@SUM(\"a\")", "\"'@SUM(\"\"a\"\")\""),
            ("\t=1", "\"' =1\""),
            ("\r=1", "\"'\\u{d}=1\""),
            ("＝1", "\"'＝1\""),
            ("a=1", "a=1"),
            ("a\x1b[2J\u{202e}", "a\\u{1b}[2J\\u{202e}"),
            ("", ""),
        ] {
            assert_eq!(text(cell), field);
        }
        let mut record = fixtures::records().remove(0);
        (record.value, record.reason) = (Some(-2.5e-12), "-2.5e-12".to_owned());
        let line = csv(&fixtures::header(), &[record]);
        assert!(line.contains(",-2.5e-12,") && line.contains(",\"'-2.5e-12\","), "{line}");
    }

    #[test]
    fn numbers_read_back_as_they_were() {
        for v in [0.0, 1.156e-7, 3.4987e9, 1e20, -2.5e-12, 0.1 + 0.2] {
            assert_eq!(number(Some(v)).parse(), Ok(v));
        }
        assert_eq!(number(None), "");
        assert_eq!(number(Some(f64::NAN)), "");
    }

    #[test]
    fn samples_one_line_each() {
        let text = csv_samples(&fixtures::header(), &[fixtures::sampled()]);
        assert_eq!(text.lines().count(), 1 + 3 * 400);
        let head: Vec<&str> = text.lines().take(3).collect();
        insta::assert_snapshot!(head.join("\n"));
    }
}
