//! The front page: all machines in a table, with what most people ask first.

use std::collections::BTreeSet;

use groma_model::page::On;

use super::frame::{Page, heads, link, page};
use super::prepare::SiteKind;
use super::{Machine, Value, Whole, digits, said};
use crate::csv;
use crate::layout::Mark;
use crate::markup::Markup;
use crate::units::counted;

/// The headlines: what they are called here, the metric, and where it runs.
const HEADLINES: [(&str, &str, On); 11] = [
    ("null call", "syscall.getppid", On::One),
    ("page fault", "vm.fault", On::One),
    ("fork + exit", "proc.fork_exit", On::One),
    ("switch", "ctx.switch.net", On::One),
    ("pipe", "ipc.pipe_rtt", On::One),
    ("pipe, 2 CPUs", "ipc.pipe_rtt", On::Two),
    ("TCP", "net.tcp_rtt", On::One),
    ("open", "syscall.open_close", On::One),
    ("create file", "file.create_delete", On::One),
    ("disk read", "disk.random_read", On::One),
    ("triad", "mem.stream", On::One),
];

/// The headlines that this site has lines for: names and lines; the latency of memory comes last.
pub(super) fn headlines(all: &Whole<'_>) -> Vec<(&'static str, usize)> {
    let pages = super::prepare::page_lines(all.site.options.families).collect::<Vec<_>>();
    let of = |(name, metric, on): &(&'static str, &str, On)| {
        let (order, ..) = pages.iter().find(|(_, _, shown)| shown.metric == *metric && shown.on == *on)?;
        Some((*name, *all.site.known.get(&format!("P{order}"))?))
    };
    let memory = all.site.known.get("L0").map(|line| ("memory", *line));
    HEADLINES.iter().filter_map(of).chain(memory).collect()
}

/// The front page.
pub(super) fn front(all: &Whole<'_>) -> String {
    let about = Page { title: all.site.options.title, path: "index.html", scripts: &[] };
    let headlines = headlines(all);
    page(&about, |out| {
        out.say_of("p", "lead", &lead(all));
        out.tag("p", |p| {
            p.text("Lower is better, except for the triad. Good: how many values of the newest run are precise. ");
            p.with("span", &[("class", "imprecise")], |span| span.text("~1.23 µs"));
            p.text(" is imprecise. The table as a file: ");
            link(p, "machines.csv", "machines.csv");
            p.text("; the columns are explained below it.");
        });
        out.with("div", &[("class", "wide")], |div| {
            div.with("table", &[("class", "data sortable filterable front"), ("data-of", "machines")], |table| {
                table.say_of("caption", "sr", "Machines and their headlines");
                let fixed = ["machine", "kernel", "year", "hypervisor", "from", "good"];
                let fixed = fixed.map(|head| (head, head == "good"));
                heads(table, fixed.into_iter().chain(headlines.iter().map(|(name, _)| (*name, true))));
                table.tag("tbody", |body| all.machines.iter().for_each(|machine| row(all, machine, &headlines, body)));
            });
        });
        out.say("h2", "The columns");
        out.tag("ul", |ul| {
            for (name, line) in &headlines {
                let Some(href) = all.href(*line) else { continue };
                ul.tag("li", |li| {
                    li.say("b", name);
                    li.text(": ");
                    link(li, href, &all.site.lines[*line].name);
                });
            }
        });
    })
}

/// What is here, how much, and of when.
fn lead(all: &Whole<'_>) -> String {
    let measured = || all.machines.iter().filter(|machine| machine.kind != SiteKind::Printed);
    let printed = all.machines.len() - measured().count();
    let runs: usize = measured().map(|machine| machine.runs.len()).sum();
    let days: BTreeSet<&str> = measured()
        .flat_map(|machine| &machine.runs)
        .filter_map(|run| run.started.get(..10).filter(|day| !day.starts_with("1970")))
        .collect();
    let when = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first == last => format!(", of {first}"),
        (Some(first), Some(last)) => format!(", {first} to {last}"),
        _ => String::new(),
    };
    let processors: BTreeSet<&str> =
        measured().map(|machine| machine.processor.as_str()).filter(|p| !p.is_empty()).collect();
    let years: BTreeSet<u16> =
        all.machines.iter().filter(|m| m.kind == SiteKind::Printed && m.year > 0).map(|m| m.year).collect();
    let beside = match (years.first(), years.last()) {
        (Some(first), Some(last)) => {
            format!(" Beside them {} that documents of {first} to {last} measured.", counted(printed, "system"))
        }
        _ => String::new(),
    };
    format!(
        "{} with {} of processor, {}{when}.{beside}",
        counted(all.machines.len() - printed, "machine"),
        counted(processors.len(), "kind"),
        counted(runs, "run")
    )
}

fn row(all: &Whole<'_>, machine: &Machine, headlines: &[(&str, usize)], out: &mut Markup) {
    out.tag("tr", |tr| {
        tr.with("th", &[("scope", "row")], |th| link(th, &machine.href(), &machine.name));
        tr.say("td", machine.kernel.trim_start_matches("Linux "));
        let year = if machine.year == 0 { String::new() } else { machine.year.to_string() };
        tr.say("td", &year);
        tr.say("td", &machine.hypervisor);
        tr.say("td", machine.kind.word());
        let (good, of) = good(machine);
        let share = if machine.kind == SiteKind::Printed { String::new() } else { format!("{good} of {of}") };
        tr.with("td", &[("class", "n"), ("data-v", &good.to_string())], |td| td.text(&share));
        headlines.iter().for_each(|(_, line)| cell(all, *line, machine.newest(*line), tr));
    });
    out.newline();
}

/// How many values of the newest run are precise, and of how many.
pub(super) fn good(machine: &Machine) -> (usize, usize) {
    let values = machine.runs.last().map(|run| run.values.iter().map(|(_, value)| value)).into_iter().flatten();
    let with: Vec<&Value> = values.filter(|value| value.value.is_some()).collect();
    (with.iter().filter(|value| value.mark == Mark::None && value.interval.is_some()).count(), with.len())
}

/// A cell with a value.
pub(super) fn cell(all: &Whole<'_>, line: usize, value: Option<&Value>, out: &mut Markup) {
    let Some(value) = value else {
        out.own("<td class=\"n\"></td>");
        return;
    };
    let class = if value.mark == Mark::None { "n" } else { "n imprecise" };
    // What is no number is sorted to the end.
    let number = value.value.map_or("none".to_owned(), digits);
    let line = &all.site.lines[line];
    let title = match value.value {
        None => value.state.to_owned(),
        Some(_) if value.version < line.version => "older definition".to_owned(),
        Some(_) => value.note(),
    };
    let attributes = [("class", class), ("title", title.as_str()), ("data-v", number.as_str())];
    out.with("td", &attributes, |td| td.text(&said(line, value)));
}

/// The table of the front page; values in SI units.
pub(super) fn csv(all: &Whole<'_>) -> String {
    let headlines = headlines(all);
    let fixed = ["machine", "page", "kernel", "year", "hypervisor", "memory", "from", "good_values", "values"];
    let mut out = String::new();
    let heads: Vec<String> = fixed.into_iter().chain(headlines.iter().map(|(name, _)| *name)).map(csv::text).collect();
    csv::line(&mut out, &heads);
    for machine in all.machines {
        let (good, of) = good(machine);
        let mut fields = vec![
            csv::text(&machine.name),
            csv::text(&machine.href()),
            csv::text(&machine.kernel),
            machine.year.to_string(),
            csv::text(&machine.hypervisor),
            csv::text(&machine.memory),
            machine.kind.word().to_owned(),
            good.to_string(),
            of.to_string(),
        ];
        fields
            .extend(headlines.iter().map(|(_, line)| csv::number(machine.newest(*line).and_then(|value| value.value))));
        csv::line(&mut out, &fields);
    }
    out
}
