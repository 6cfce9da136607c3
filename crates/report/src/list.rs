//! The catalogue as a list.

use groma_model::{
    Better, Composition, Info, Need, Output, Param, ParamKind, Part, Placement, Profile, Scaling, Tier, Times, Timing,
    Unit, Value,
};
use groma_published::{REPEATS, TOOLS, sources};
use serde_json::{Value as Json, json};

use crate::document::{Document, Table};
use crate::format::Format;
use crate::grid::{Align, Cell};
use crate::json::pretty;
use crate::style::{Ink, Style, columns};
use crate::units::counted;

/// One line per benchmark, by family; `long` adds parameters, further metrics, placements and
/// lineage. A star marks benchmarks that only run when named.
pub fn list<'a>(infos: &'a [&'a Info], long: bool, style: &Style) -> Document<'a> {
    let mut out = Document::new("What groma measures").written(Format::Json, move || list_json(infos));
    if style.is_of_file() {
        out.say(
            "groma explain ID says of each how it is measured, what it does not measure, and what can go wrong; groma \
             list --long shows the values of parameters as well. A star marks those that are only measured when named.",
        );
        out.table(whole(infos));
        let tools = of_tools(infos);
        if !tools.is_empty() {
            out.heading("Coming from other tools");
            out.table(tools);
        }
    } else if long {
        let mut family = "";
        for info in infos {
            if info.family() != family {
                if !family.is_empty() {
                    out.gap();
                }
                family = info.family();
                out.heading(family);
            }
            entry(info, &mut out);
        }
        out.gap();
        out.say("values in brackets: with --full, or by --param; in full: groma explain ID");
    } else {
        out.table(rows(infos, style));
    }
    let named = infos.iter().filter(|i| i.tier == Tier::Named).count();
    let named = if named > 0 { "; * only measured when named" } else { "" };
    out.say(format!("{}{named}", counted(infos.len(), "benchmark")));
    out
}

/// A row for each benchmark, with its parameters and further metrics.
fn whole(infos: &[&Info]) -> Table {
    let columns = ["id", "what", "quantity", "parameters", "also reports"].map(|head| (head, Align::Left));
    let mut table = Table::new(&columns, None);
    let mut family = "";
    for info in infos {
        if info.family() != family {
            family = info.family();
            table.section(Cell::new(family));
        }
        let star = if info.tier == Tier::Named { " *" } else { "" };
        let also = words(info.outputs, |o| if o.suffix.is_empty() { String::new() } else { info.metric(o) });
        let also = also.strip_prefix(", ").unwrap_or(&also);
        table.row(vec![
            Cell::code(format!("{}{star}", info.id)),
            Cell::new(info.summary),
            Cell::new(info.quantity.word()),
            Cell::code(words(info.params, |p| p.name.to_owned())),
            Cell::code(also),
        ]);
    }
    table
}

/// The tests of other tools that these benchmarks repeat.
fn of_tools(infos: &[&Info]) -> Table {
    let columns = ["tool", "test", "groma"].map(|head| (head, Align::Left));
    let mut table = Table::new(&columns, None);
    for (tool, title) in TOOLS {
        for repeat in REPEATS.iter().filter(|repeat| repeat.document() == tool) {
            let benchmarks = repeat.benchmarks();
            if benchmarks.iter().all(|id| infos.iter().any(|info| info.id == *id)) {
                let test = repeat.source.split_once(':').map_or("", |(_, test)| test);
                table.row(vec![Cell::new(title), Cell::code(test), Cell::code(benchmarks.join(", "))]);
            }
        }
    }
    table
}

/// A row for each benchmark, by family.
fn rows(infos: &[&Info], style: &Style) -> Table {
    let mut table = Table::new(&[("benchmark", Align::Left), ("what it measures", Align::Left)], None);
    let mut family = "";
    // One line each: `long` has the rest.
    let longest = infos.iter().map(|info| columns(info.id)).max().unwrap_or(0);
    let room = style.width.saturating_sub(longest + "   *  ".len()).max(20);
    for info in infos {
        if info.family() != family {
            family = info.family();
            table.section(Cell::ink(family, Ink::Strong));
        }
        let star = if info.tier == Tier::Named { " *" } else { "" };
        table.row(vec![Cell::new(format!("  {}{star}", info.id)), Cell::new(style.cut(info.summary, room))]);
    }
    table
}

/// A benchmark in a few lines: the parameters in one, without the full text of `groma explain`.
fn entry(info: &Info, out: &mut Document<'_>) {
    let star = if info.tier == Tier::Named { " *" } else { "" };
    out.parts("  ", vec![(info.id.to_owned(), Ink::Strong), (star.to_owned(), Ink::Plain)]);
    out.labelled("    ", info.summary);
    let params = words(info.params, |p| format!("{}={}", p.name, choices(p))).replace(", ", " ");
    let also = words(info.outputs, |o| if o.suffix.is_empty() { String::new() } else { format!(".{}", o.suffix) });
    let also = also.strip_prefix(", ").unwrap_or(&also);
    let placements = if info.placements == [Placement::Pinned] {
        String::new()
    } else {
        words(info.placements, Placement::to_string)
    };
    let lineage = sources(info.id).join(", ");
    for (head, text) in [("params", params.as_str()), ("also", also), ("where", &placements), ("lineage", &lineage)] {
        out.labelled(format!("    {head:<7} "), text);
    }
}

/// The values of a parameter in short: `1|64[|1K|4K]`, with those of a default run before the
/// bracket. A long list is truncated.
fn choices(param: &Param) -> String {
    /// Long lists show this many values.
    const MAX_VALUES: usize = 6;
    let usual = param.values(Tier::Standard);
    let mut further = param.values(Tier::Named);
    further.retain(|value| !usual.contains(value));
    let short = |values: &[&str]| {
        let (shown, rest) = values.split_at(values.len().min(MAX_VALUES));
        let more = if rest.is_empty() { "" } else { "|..." };
        shown.join("|") + more
    };
    if further.is_empty() { short(&usual) } else { format!("{}[|{}]", short(&usual), short(&further)) }
}

/// Facts about a benchmark besides its summary and text: headings with texts, without empty ones.
pub(crate) fn facts(info: &Info) -> Vec<(&'static str, String)> {
    let mut facts = vec![("measures", measures(info)), ("iteration", info.iteration.to_owned())];
    facts.extend(info.params.iter().map(|p| ("parameter", param(p))));
    facts.extend(info.outputs.iter().filter(|o| !o.suffix.is_empty()).map(|o| ("reports", output(info, o))));
    let composed = |model: &Composition| model.parts.iter().map(part).collect::<Vec<_>>().join(" + ");
    facts.extend(info.composed_of.iter().map(|model| ("composed of", composed(model))));
    facts.push(("placements", words(info.placements, Placement::to_string)));
    let classes = match info.class_tier {
        Tier::Quick => "also on a core of each other class",
        Tier::Standard => "also on a core of each other class, except in a quick run",
        Tier::Full => "also on a core of each other class with --full",
        Tier::Named => "",
    };
    facts.push(("hybrid", classes.to_owned()));
    facts.push(("scales", scaling(&info.scaling)));
    facts.push(("needs", words(info.needs, need)));
    facts.push(("lineage", sources(info.id).join(", ")));
    let selection = match info.tier {
        Tier::Quick => "",
        Tier::Standard => "not by a plain quick run",
        Tier::Full => "only with --full",
        Tier::Named => "only measured when named",
    };
    facts.push(("selection", selection.to_owned()));
    facts.push(("source", info.about.file.to_owned()));
    facts.retain(|(_, text)| !text.is_empty());
    facts
}

/// `2 ctx.futex.net less ctx.yield.net`.
fn part(part: &Part) -> String {
    let times = match part.times {
        Times::Fixed(1.0) => String::new(),
        Times::Fixed(count) => format!("{count} "),
        Times::Param(count, name) | Times::Fact(count, name) => format!("{count} {name} "),
        Times::Counted(name, _) => format!("({name}) "),
    };
    let less = part.less.map_or(String::new(), |less| format!(" less {}", less.metric));
    format!("{times}{}{less}", part.cost.metric)
}

fn measures(info: &Info) -> String {
    let better = match info.better() {
        Better::Lower => ", lower is better",
        Better::Higher => ", higher is better",
        Better::Neither => "",
    };
    let unit = match info.quantity.unit() {
        Unit::One => String::new(),
        unit => format!(" ({})", unit.symbol()),
    };
    format!("{}{unit}{better}; {}", info.quantity.word(), timing(info.timing))
}

fn timing(timing: Timing) -> &'static str {
    match timing {
        Timing::Batched => "timed in short intervals of many iterations, the median counts",
        Timing::Floor => "timed in short intervals of many iterations, the 10th percentile counts",
        Timing::Stream => "timed in intervals of at least 5 ms, the median counts",
        Timing::Each => "each operation is timed alone, the median counts",
        Timing::Stated => "the benchmark states its values",
    }
}

/// The tiers of runs without arguments.
const RUNS: [Tier; 3] = [Tier::Quick, Tier::Standard, Tier::Full];

/// `size=1, 4 KiB, with --full 64 KiB: bytes in a message`.
fn param(param: &Param) -> String {
    let show = |texts: &[&str]| {
        let values = texts.iter().map(|t| param.parse(t).map_or((*t).to_owned(), |v: Value| param.show(&v)));
        values.collect::<Vec<_>>().join(", ")
    };
    let [quick, standard, full] = RUNS.map(|tier| param.values(tier));
    let mut text = format!("{}={}", param.name, show(&standard));
    if quick != standard {
        text += &format!("; {}: {}", Profile::Quick.word(), show(&quick));
    }
    if full != standard {
        text += &format!("; with --full: {}", show(&full));
    }
    if let ParamKind::Word(words) = param.kind {
        text += &format!("; one of {}", words.join(", "));
    }
    if param.help.is_empty() { text } else { format!("{text} ({})", param.help) }
}

fn output(info: &Info, output: &Output) -> String {
    let quantity = info.quantity_of(output).word();
    format!("{}.{} ({quantity}): {}", info.id, output.suffix, output.summary)
}

fn scaling(scaling: &Scaling) -> String {
    let how = match (scaling.processes, scaling.threads) {
        (true, true) => "as processes and as threads",
        (true, false) => "as processes only",
        (false, true) => "as threads only",
        (false, false) => "alone only",
    };
    if scaling.why.is_empty() { how.to_owned() } else { format!("{how}: {}", scaling.why) }
}

fn need(need: &Need) -> String {
    match need {
        Need::Cpus(n) => format!("{n} CPUs"),
        Need::WorkDir => "a directory to write in".to_owned(),
        Need::WorkDirFor { param, values } => format!("a directory to write in ({param} {})", values.join(", ")),
        Need::Program(path) => format!("the program {path}"),
        Need::File(path) => format!("the file {path}"),
        Need::Root => "the superuser".to_owned(),
        Need::System(name) => name.to_string(),
        Need::Loopback => "loopback networking".to_owned(),
        Need::EndOfCaches => "a search for the end of the caches".to_owned(),
    }
}

fn words<T>(all: &[T], word: impl Fn(&T) -> String) -> String {
    all.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// The benchmarks as a JSON array of objects.
pub(crate) fn list_json(infos: &[&Info]) -> String {
    pretty(&infos.iter().map(|info| object(info)).collect::<Vec<_>>())
}

fn object(info: &Info) -> Json {
    let params: Vec<Json> = info
        .params
        .iter()
        .map(|p| {
            let (kind, words): (_, &[&str]) = match p.kind {
                ParamKind::Size | ParamKind::SizeOf(_) => ("size", &[]),
                ParamKind::SizeOr(words) => ("size", words),
                ParamKind::Time => ("time", &[]),
                ParamKind::Count | ParamKind::CountOf(_) => ("count", &[]),
                ParamKind::Word(words) => ("word", words),
                ParamKind::Text => ("text", &[]),
            };
            let [quick, standard, full] = RUNS.map(|tier| p.values(tier));
            json!({
                "name": p.name,
                "help": p.help,
                "kind": kind,
                "words": words,
                "quick": quick,
                "default": standard,
                "full": full,
            })
        })
        .collect();
    let outputs: Vec<Json> = info
        .outputs
        .iter()
        .map(|o| {
            let quantity = info.quantity_of(o);
            let id = if o.suffix.is_empty() { info.id.to_owned() } else { format!("{}.{}", info.id, o.suffix) };
            json!({ "id": id, "summary": o.summary, "quantity": quantity, "unit": quantity.unit(), "derivation": o.derivation.owned() })
        })
        .collect();
    json!({
        "id": info.id,
        "version": info.version,
        "summary": info.summary,
        "family": info.family(),
        "quantity": info.quantity,
        "unit": info.quantity.unit(),
        "better": info.better(),
        "iteration": info.iteration,
        "timing": info.timing,
        "width": info.target_half_width,
        "params": params,
        "placements": info.placements,
        "scaling": {
            "processes": info.scaling.processes,
            "threads": info.scaling.threads,
            "why": info.scaling.why,
        },
        "needs": info.needs.iter().map(need).collect::<Vec<_>>(),
        "drops": info.interference.drops().letters(),
        "lineage": sources(info.id),
        "outputs": outputs,
        "default": info.tier <= Tier::Standard,
        "quick": info.tier == Tier::Quick,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use groma_model::{About, Interference, Quantity};

    pub(crate) const PIPE: Info = Info {
        summary: "round trip of a message between two processes over two pipes",
        about: About {
            text: "Round trip of a message between two processes over two pipes.\n\n\
             **Measures:** one process writes a message, the other reads it and writes it\n\
             back. Both sides block, so each round trip holds two switches when the sides share\n\
             a CPU, and two wake-ups of a possibly sleeping CPU when they do not.\n\n\
             **Pitfalls:**\n\
             - placement decides the result by a factor of six; it is part of the metric, and a free placement \
             is what applications get\n\
             - an orphaned peer would wait for ever: it dies with its parent\n\n    \
                 write(there, m); read(back, m);\n\n\
             # Source\n\
             lmbench 3 `lat_pipe`.\n",
            file: "crates/benches/src/ipc/pipe_rtt.rs",
        },
        iteration: "a write and a read on either side",
        timing: Timing::Each,
        outputs: &[Output::MAIN, Output::named("one_way", "half of it").difference_per("", "control", 2.0)],
        params: &[Param::size("size", "bytes in a message").quick(&["1"]).full(&["4K", "64K"])],
        scaling: Scaling::processes("the peer is forked, and a process with threads must not fork"),
        placements: &[Placement::SameCpu, Placement::Smt, Placement::SameLlc, Placement::Free],
        needs: &[Need::Cpus(2), Need::System("Linux")],
        interference: Interference::Blocking,
        ..Info::new("ipc.pipe_rtt")
    };

    pub(crate) const FREQUENCY: Info = Info {
        summary: "clock rate of the core, from a chain of dependent additions",
        quantity: Quantity::Rate,
        tier: Tier::Named,
        ..Info::new("cpu.frequency")
    };

    #[test]
    fn short() {
        insta::assert_snapshot!(list(&[&FREQUENCY, &PIPE], false, &Style::plain(80)).text(&Style::plain(80)));
        insta::assert_snapshot!(list(&[&FREQUENCY, &PIPE], false, &Style::plain(120)).text(&Style::plain(120)));
    }

    #[test]
    fn long() {
        insta::assert_snapshot!(list(&[&FREQUENCY, &PIPE], true, &Style::plain(80)).text(&Style::plain(80)));
        insta::assert_snapshot!(list(&[&FREQUENCY, &PIPE], true, &Style::plain(120)).text(&Style::plain(120)));
    }

    #[test]
    fn json() {
        insta::assert_snapshot!(list_json(&[&PIPE]));
    }
}
