//! A comparison for programs: JSON, CSV and JUnit.

use groma_analysis::compare::{Pair, Verdict};
use serde_json::{Value as Json, json};

use super::{Compared, Side, change, verdict_text};
use crate::json::pretty;
use crate::markup::escape;
use crate::point::name;

/// One object: the first side, and each other side with its differences and metrics.
pub(super) fn json(first: Side<'_>, others: &[Compared<'_>]) -> String {
    let side = |side: Side<'_>| json!({ "name": side.name, "runs": side.runs, "run": side.head });
    let others: Vec<Json> = others.iter().map(|other| beside(side(other.side), other)).collect();
    pretty(&json!({ "a": side(first), "others": others }))
}

fn beside(side: Json, other: &Compared<'_>) -> Json {
    let differences = other.differences.iter().map(|d| json!({ "key": d.key, "a": d.values[0], "b": d.values[1] }));
    let comparison = &other.comparison;
    let alone = comparison.alone.each_ref().map(|records| records.iter().map(|r| name(r)).collect::<Vec<_>>());
    let names = |sides: &[&groma_model::Record; 2]| name(sides[0]);
    json!({
        "b": side,
        "differences": differences.collect::<Vec<_>>(),
        "metrics": comparison.pairs.iter().map(metric).collect::<Vec<_>>(),
        "only_in_a": alone[0],
        "only_in_b": alone[1],
        "without_value": comparison.without_value.iter().map(names).collect::<Vec<_>>(),
        "unlike": comparison.unlike.iter().map(|(_, sides)| names(sides)).collect::<Vec<_>>(),
    })
}

fn metric(pair: &Pair<'_>) -> Json {
    let [a, b] = pair.sides;
    json!({
        "id": a.id,
        "version": a.version,
        "params": a.params,
        "placement": a.placement,
        "workers": a.workers,
        "unit": a.unit,
        "better": a.better,
        "a": a.value,
        "b": b.value,
        "rounds": [a.rounds, b.rounds],
        "ratio": pair.ratio,
        "interval": pair.interval,
        "p": pair.p,
        "detectable": pair.detectable,
        "verdict": pair.verdict.word(),
        "said": verdict_text(pair),
    })
}

const HEAD: &str = "a,b,id,version,params,placement,workers,unit,better,value_a,value_b,ratio,low,high,p,detectable,\
                    verdict\n";

/// One line per metric and other side.
pub(super) fn csv(first: Side<'_>, others: &[Compared<'_>]) -> String {
    let mut out = HEAD.to_owned();
    for other in others {
        for pair in &other.comparison.pairs {
            let [a, b] = pair.sides;
            let fields = [
                crate::csv::text(&first.head.run),
                crate::csv::text(&other.side.head.run),
                crate::csv::text(&a.id),
                a.version.to_string(),
                crate::csv::text(&a.params.to_string()),
                crate::csv::text(&a.placement.to_string()),
                a.workers.to_string(),
                crate::csv::text(a.unit.symbol()),
                crate::csv::text(crate::export::better(a)),
                crate::csv::number(a.value),
                crate::csv::number(b.value),
                crate::csv::number(Some(pair.ratio)),
                crate::csv::number(pair.interval.map(|interval| interval[0])),
                crate::csv::number(pair.interval.map(|interval| interval[1])),
                crate::csv::number(pair.p),
                crate::csv::number(pair.detectable),
                crate::csv::text(pair.verdict.word()),
            ];
            out += &fields.join(",");
            out.push('\n');
        }
    }
    out
}

/// A JUnit test suite per other side, with a case per metric. A slower metric is a failure, an
/// inconclusive one is skipped.
pub(super) fn junit(first: Side<'_>, others: &[Compared<'_>]) -> String {
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n".to_owned();
    for other in others {
        let pairs = &other.comparison.pairs;
        let count = |is: fn(&Verdict) -> bool| pairs.iter().filter(|pair| is(&pair.verdict)).count();
        out += &format!(
            "  <testsuite name=\"groma {} beside {}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
            escape(&other.side.head.run),
            escape(&first.head.run),
            pairs.len(),
            count(|verdict| *verdict == Verdict::Slower),
            count(|verdict| matches!(verdict, Verdict::Unclear(_))),
        );
        for pair in pairs {
            let case = format!("    <testcase classname=\"groma\" name=\"{}\"", escape(&name(pair.sides[0])));
            let text = format!("{}, {}", change(pair.ratio), verdict_text(pair));
            let text = escape(&text);
            out += &match pair.verdict {
                Verdict::Slower => format!("{case}><failure message=\"{text}\"/></testcase>\n"),
                Verdict::Unclear(_) => format!("{case}><skipped message=\"{text}\"/></testcase>\n"),
                _ => format!("{case}/>\n"),
            };
        }
        out += "  </testsuite>\n";
    }
    out + "</testsuites>\n"
}
