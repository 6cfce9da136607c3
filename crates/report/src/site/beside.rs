//! Any two things beside each other: machines, metrics, curves. A page for the script, and the data
//! that it loads: a file for each machine, so that a page of two does not load a thousand.
//!
//! The data are scripts that call a function, not JSON: a page that is opened as a file may load
//! the one and not the other.

use groma_model::Better;
use serde_json::{Value as Json, json};

use super::frame::{Page, page};
use super::metric::said_of;
use super::{Whole, digits};
use crate::layout::Mark;
use crate::units::Scale;

/// The scales, by whose places the data name them.
const SCALES: [Scale; 10] = [
    Scale::Time,
    Scale::TimePerGigabyte,
    Scale::Bandwidth,
    Scale::Frequency,
    Scale::Events,
    Scale::Size,
    Scale::Count,
    Scale::Energy,
    Scale::Power,
    Scale::Ratio,
];

/// The page.
pub(super) fn beside() -> String {
    page(&Page { title: "Side by side", path: "beside.html", scripts: &["data/index.js", "site.js"] }, |out| {
        out.own(
            "<noscript><p>This page needs JavaScript. Without it, the page of each metric has all machines in a \
                 table, and <a href=\"machines.csv\">machines.csv</a> the headlines of all.</p></noscript>\n",
        );
        out.own("<form class=\"choose js\" id=\"choose\" aria-label=\"What to show\"></form>\n<div id=\"shown\" class=\"js\" aria-live=\"polite\"></div>");
    })
}

/// The data: an index of machines and lines, the values of each line, and those of each machine.
pub(super) fn data<E>(all: &Whole<'_>, write: &mut dyn FnMut(&str, &[u8]) -> Result<(), E>) -> Result<(), E> {
    let mut chosen: Vec<usize> = all.sections.iter().flat_map(|(_, lines)| lines.iter().copied()).collect();
    chosen.sort_by_key(|line| all.site.lines[*line].order);
    let lines: Vec<Json> = chosen
        .iter()
        .map(|line| {
            let about = &all.site.lines[*line];
            let scale = SCALES.iter().position(|scale| *scale == about.scale).unwrap_or(0);
            json!([line, said_of(about), about.id, scale, word(about.better), all.href(*line)])
        })
        .collect();
    let machines: Vec<Json> = all
        .machines
        .iter()
        .map(|machine| {
            let curves: Vec<&str> = machine.curves.iter().map(|curve| curve.id.as_str()).collect();
            json!([machine.key, machine.name, machine.processor, machine.kernel, machine.kind.word(), curves])
        })
        .collect();
    let units: Vec<&[(f64, &str)]> = SCALES.iter().map(|scale| scale.units()).collect();
    let index = json!({ "units": units, "lines": lines, "machines": machines });
    write("data/index.js", call("index", &[index]).as_bytes())?;
    let number = |value: f64| digits(value).parse::<f64>().map_or(Json::Null, |number| json!(number));
    let of_value = |value: &super::Value| {
        let ends = value.interval.map_or(Json::Null, |ends| json!(ends.map(number)));
        Some((number(value.value?), ends, u8::from(value.mark != Mark::None)))
    };
    for line in &chosen {
        let values: Vec<Json> = all
            .machines
            .iter()
            .enumerate()
            .filter_map(|(at, machine)| {
                let (value, ends, imprecise) = of_value(machine.newest(*line)?)?;
                Some(json!([at, value, ends, imprecise]))
            })
            .collect();
        write(&format!("data/line-{line}.js"), call("line", &[json!(line), json!(values)]).as_bytes())?;
    }
    for machine in all.machines {
        let values: Vec<Json> = machine
            .lines()
            .into_iter()
            .filter(|line| chosen.contains(line))
            .filter_map(|line| {
                let (value, ends, imprecise) = of_value(machine.newest(line)?)?;
                Some(json!([line, value, ends, imprecise]))
            })
            .collect();
        let curves: serde_json::Map<String, Json> = machine
            .curves
            .iter()
            .map(|curve| {
                let points: Vec<Json> = curve.points.iter().map(|point| json!(point.map(number))).collect();
                (curve.id.clone(), json!({ "over": curve.over, "points": points }))
            })
            .collect();
        let content = call("machine", &[json!(machine.key), json!(values), Json::Object(curves)]);
        write(&format!("data/{}.js", machine.key), content.as_bytes())?;
    }
    Ok(())
}

fn word(better: Better) -> &'static str {
    match better {
        Better::Lower => "lower",
        Better::Higher => "higher",
        Better::Neither => "neither",
    }
}

/// A call of the site's script with these values.
fn call(name: &str, values: &[Json]) -> String {
    let values: Vec<String> =
        values.iter().map(|value| groma_model::plain_json(&value.to_string()).replace('<', "\\u003c")).collect();
    format!("(window.groma??=[]).push([\"{name}\",{}]);\n", values.join(","))
}
