//! Any two things beside each other: machines, metrics, curves. A page for the script, and the data
//! that it loads: a file for each machine, so that a page of two does not load a thousand.
//!
//! The data are scripts that call a function, not JSON: a page that is opened as a file may load
//! the one and not the other.

use groma_model::Better;
use serde_json::{Value as Json, json};

use super::frame::{Page, page};
use super::prepare::Curve;
use super::{Machine, Value, Whole, digits};
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

/// The index of machines and lines.
pub(super) fn index(all: &Whole<'_>) -> String {
    let mut chosen: Vec<usize> = all.sections.iter().flat_map(|(_, lines)| lines.iter().copied()).collect();
    chosen.sort_by_key(|line| all.site.lines[*line].order);
    let line = |line: usize| {
        let about = &all.site.lines[line];
        let scale = SCALES.iter().position(|scale| *scale == about.scale).unwrap_or(0);
        json!([line, about.said(), about.id, scale, word(about.better), all.href(line)])
    };
    let machine = |machine: &Machine| {
        let curves: Vec<&str> = machine.curves.iter().map(|curve| curve.id.as_str()).collect();
        json!([machine.key, machine.name, machine.processor, machine.kernel, machine.kind.word(), curves])
    };
    let lines: Vec<Json> = chosen.into_iter().map(line).collect();
    let machines: Vec<Json> = all.machines.iter().map(machine).collect();
    let units: Vec<&[(f64, &str)]> = SCALES.iter().map(|scale| scale.units()).collect();
    call("index", &[json!({ "units": units, "lines": lines, "machines": machines })])
}

/// The values of a line, by the places of machines.
pub(super) fn of_line(all: &Whole<'_>, line: usize) -> String {
    let values =
        all.machines.iter().enumerate().filter_map(|(at, machine)| Some(of_value(at, all.current(machine, line)?)));
    call("line", &[json!(line), values.collect()])
}

/// The values and curves of a machine.
pub(super) fn of_machine(all: &Whole<'_>, machine: &Machine) -> String {
    let lines = machine.lines().into_iter().filter(|line| all.href(*line).is_some());
    let values: Json = lines.filter_map(|line| Some(of_value(line, all.current(machine, line)?))).collect();
    let points = |curve: &Curve| curve.points.iter().map(|point| json!(point.map(number))).collect::<Json>();
    let curve = |curve: &Curve| (curve.id.clone(), json!({ "over": curve.over, "points": points(curve) }));
    let curves: serde_json::Map<String, Json> = machine.curves.iter().map(curve).collect();
    call("machine", &[json!(machine.key), values, Json::Object(curves)])
}

/// A number with the digits that a picture shows.
fn number(value: f64) -> Json {
    digits(value).parse::<f64>().map_or(Json::Null, |number| json!(number))
}

/// Place, value, interval, and whether it is imprecise.
fn of_value(at: usize, (value, found): (&Value, f64)) -> Json {
    let ends = value.interval.map_or(Json::Null, |ends| json!(ends.map(number)));
    json!([at, number(found), ends, u8::from(value.mark != Mark::None)])
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
