//! A site: many machines as pages that need no server, to be looked at side by side.
//!
//! [`Preparation`] reduces one run to what the site keeps of it, and may do so on any thread;
//! [`Site::add`] takes these, [`Site::pages`] ends that, and [`SitePages::files`] makes the pages.
//! Only values stay in memory, and for each machine the finished part of its page: a thousand
//! machines are a thousand pages of text, not their rounds. Pages have no script in them; two files
//! do what a reader can do beside reading (`html/script.js`, as in reports, and `site/site.js`).
//!
//! Not here: files, and which runs.

mod beside;
mod dots;
mod frame;
mod front;
mod machine;
mod metric;
mod prepare;
mod words;
mod years;

pub use prepare::{Preparation, Prepared, SiteKind, SiteRun};

use std::collections::{BTreeMap, HashMap};

use groma_model::{Better, Families, Info};

use crate::layout::Mark;
use crate::markup::Markup;
use crate::units::Scale;

/// A value that a document printed, and the operation of this program that repeats it.
#[derive(Clone, Debug)]
pub struct Printed {
    /// What measures the same here.
    pub of: PrintedOf,
    /// The value in SI units.
    pub value: f64,
    /// The document and its table.
    pub source: String,
    /// What was measured differently; empty where nothing was.
    pub differs: String,
}

/// What a printed value corresponds to.
#[derive(Clone, Debug)]
pub enum PrintedOf {
    /// This metric at this point: a record, whose value is not used.
    Metric(Box<groma_model::Record>),
    /// The latency of a level of the memory hierarchy: 1 is closest to the core, 0 is memory.
    Latency(usize),
}

/// A system that a document measured.
#[derive(Clone, Debug)]
pub struct PrintedSystem {
    /// The document's name, and that of the system there.
    pub key: [String; 2],
    /// The operating system.
    pub os: String,
    /// The year of the machine, or else of the document.
    pub year: u16,
    /// The clock of its core, in Hz.
    pub hz: Option<f64>,
    /// The title of the document.
    pub title: String,
    /// Its values.
    pub values: Vec<Printed>,
}

/// What the pages show beside values.
#[derive(Clone, Copy, Debug)]
pub struct SiteOptions<'a> {
    /// The families that provide pages and rows.
    pub families: Families<'a>,
    /// The benchmarks to explain.
    pub catalogue: &'a [&'a Info],
    /// Whether machines are called by their host names.
    pub host_names: bool,
    /// The title of the front page.
    pub title: &'a str,
}

/// A metric at one point, or a line of the pages: what one table of a page of the site is about.
#[derive(Clone, Debug)]
struct Line {
    /// The id of the metric, which names its page.
    id: String,
    /// What it is for people.
    name: String,
    /// Its point; empty for a line of the pages.
    point: String,
    scale: Scale,
    /// The SI unit of its values.
    unit: &'static str,
    better: Better,
    /// Its place among the lines of the pages; others come after them.
    order: usize,
    /// The newest version of its definition.
    version: u32,
}

impl Line {
    /// Its name with its point.
    fn said(&self) -> String {
        [self.name.as_str(), &self.point].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

/// A value of a machine.
#[derive(Clone, Debug)]
struct Value {
    /// In SI units; none where it has a state instead.
    value: Option<f64>,
    interval: Option<[f64; 2]>,
    cycles: Option<f64>,
    mark: Mark,
    state: &'static str,
    version: u32,
    /// The document of a printed value, and what it measured differently; else empty.
    source: String,
    differs: String,
}

impl Value {
    /// The source and what differs, in one text.
    fn note(&self) -> String {
        [self.source.as_str(), &self.differs].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

/// A run of a machine.
#[derive(Clone, Debug)]
struct Run {
    id: String,
    started: String,
    /// By index of the line.
    values: Vec<(usize, Value)>,
}

impl Run {
    /// Its value of a line.
    fn value(&self, line: usize) -> Option<&Value> {
        self.values.binary_search_by_key(&line, |(line, _)| *line).ok().map(|at| &self.values[at].1)
    }
}

/// A machine.
#[derive(Clone, Debug)]
struct Machine {
    /// The name of its page.
    key: String,
    /// Its name in tables.
    name: String,
    kind: SiteKind,
    processor: String,
    kernel: String,
    hypervisor: String,
    memory: String,
    /// Whether a program pretends to be its processor: no machine to stand for others.
    is_emulated: bool,
    /// The year of its newest run, or of the printed machine; 0 if unknown.
    year: u16,
    /// In the order of time.
    runs: Vec<Run>,
    /// The newest curve of each metric, by its id.
    curves: Vec<prepare::Curve>,
    /// The finished part of its page, of its newest run.
    body: Markup,
}

impl Machine {
    /// The newest value of a line; where there is none, its newest state.
    fn newest(&self, line: usize) -> Option<&Value> {
        let mut all = self.runs.iter().rev().filter_map(|run| run.value(line)).peekable();
        let state = all.peek().copied();
        all.find(|value| value.value.is_some()).or(state)
    }

    /// All lines that some run has.
    fn lines(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.runs.iter().flat_map(|run| run.values.iter().map(|(line, _)| *line)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn href(&self) -> String {
        format!("machines/{}.html", self.key)
    }
}

/// How much a site holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct SiteCounts {
    /// Machines that were measured, reference machines and imported ones included.
    pub machines: usize,
    /// Their runs.
    pub runs: usize,
    /// Systems of documents.
    pub printed: usize,
}

/// The machines of a site.
#[derive(Debug)]
pub struct Site<'a> {
    options: SiteOptions<'a>,
    lines: Vec<Line>,
    known: HashMap<String, usize>,
    machines: BTreeMap<String, Machine>,
    printed: Vec<PrintedSystem>,
}

impl<'a> Site<'a> {
    /// A site without machines.
    pub fn new(options: SiteOptions<'a>) -> Site<'a> {
        Site { options, lines: Vec::new(), known: HashMap::new(), machines: BTreeMap::new(), printed: Vec::new() }
    }

    /// Adds a run to its machine. A run that is there already is not added again; returns whether
    /// it was new.
    pub fn add(&mut self, run: Prepared) -> bool {
        let new = Run { id: run.id, started: run.started, values: self.values(run.values) };
        let machine = self.machines.entry(run.group).or_insert_with(|| Machine {
            key: run.key,
            name: run.name,
            kind: run.kind,
            processor: run.processor,
            kernel: String::new(),
            hypervisor: String::new(),
            memory: String::new(),
            is_emulated: run.is_emulated,
            year: 0,
            runs: Vec::new(),
            curves: Vec::new(),
            body: Markup::default(),
        });
        if machine.runs.iter().any(|known| known.id == new.id) {
            return false;
        }
        let at = machine.runs.partition_point(|known| known.started <= new.started);
        // What stands for the machine is its newest run.
        if at == machine.runs.len() {
            (machine.kernel, machine.hypervisor) = (run.kernel, run.hypervisor);
            (machine.memory, machine.year) = (run.memory, run.year);
            machine.body = run.body.unwrap_or_default();
        }
        for curve in run.curves {
            match machine.curves.binary_search_by(|known| known.id.cmp(&curve.id)) {
                Ok(known) if machine.curves[known].started <= new.started => machine.curves[known] = curve,
                Ok(_) => {}
                Err(place) => machine.curves.insert(place, curve),
            }
        }
        machine.runs.insert(at, new);
        true
    }

    /// Adds a system of a document.
    pub fn add_printed(&mut self, system: PrintedSystem) {
        let mut values = Vec::new();
        for printed in &system.values {
            let (key, line) = match &printed.of {
                PrintedOf::Metric(record) => prepare::line_of(self.options.families, record),
                PrintedOf::Latency(level) => prepare::latency_line(*level),
            };
            let cycles = system.hz.filter(|_| line.scale == Scale::Time).map(|hz| printed.value * hz);
            let version = line.version;
            let value = Value {
                value: Some(printed.value),
                interval: None,
                cycles,
                mark: Mark::None,
                state: "printed",
                version,
                source: printed.source.clone(),
                differs: printed.differs.clone(),
            };
            values.push((key, line, value));
        }
        if values.is_empty() {
            return;
        }
        let values = self.values(values);
        let [document, name] = &system.key;
        let group = format!("~{document}\0{name}\0{}", system.os);
        let machine = Machine {
            key: format!("{}-{}", prepare::slug(name), prepare::short(&group)),
            name: name.clone(),
            kind: SiteKind::Printed,
            processor: String::new(),
            kernel: system.os.clone(),
            hypervisor: String::new(),
            memory: String::new(),
            is_emulated: false,
            year: system.year,
            runs: vec![Run { id: document.clone(), started: format!("{:04}", system.year), values }],
            curves: Vec::new(),
            body: machine::printed(&system),
        };
        self.machines.insert(group, machine);
        self.printed.push(system);
    }

    /// Values by the index of their line, the first of each.
    fn values(&mut self, values: Vec<(String, Line, Value)>) -> Vec<(usize, Value)> {
        let mut all: Vec<(usize, Value)> =
            values.into_iter().map(|(key, line, value)| (self.line(key, line), value)).collect();
        all.sort_by_key(|(line, _)| *line);
        all.dedup_by_key(|(line, _)| *line);
        // It has the room of what it was made from, which is three times as large.
        all.shrink_to_fit();
        all
    }

    fn line(&mut self, key: String, line: Line) -> usize {
        let next = self.lines.len();
        let at = *self.known.entry(key).or_insert(next);
        if at == next {
            self.lines.push(line);
        } else if (self.lines[at].version, &self.lines[at].name) < (line.version, &line.name) {
            self.lines[at] = line;
        }
        at
    }

    /// How much it holds.
    pub fn counts(&self) -> SiteCounts {
        let printed = self.machines.values().filter(|machine| machine.kind == SiteKind::Printed).count();
        let runs = self.machines.values().filter(|machine| machine.kind != SiteKind::Printed).map(|m| m.runs.len());
        SiteCounts { machines: self.machines.len() - printed, runs: runs.sum(), printed }
    }

    /// The pages, ready to be made: no run can be added any more.
    pub fn pages(mut self) -> SitePages<'a> {
        self.tell_apart();
        self.sort_lines();
        let mut machines: Vec<Machine> = std::mem::take(&mut self.machines).into_values().collect();
        machines.sort_by(|a, b| (a.kind, &a.name, &a.key).cmp(&(b.kind, &b.name, &b.key)));
        let sections = metric::sections(&self.lines, &machines);
        let of = |(id, lines): &(String, Vec<usize>)| -> Vec<(usize, String)> {
            lines.iter().zip(1..).map(|(line, n)| (*line, format!("metrics/{id}.html#s{n}"))).collect()
        };
        let hrefs = sections.iter().flat_map(of).collect();
        SitePages { site: self, machines, sections, hrefs }
    }

    /// Numbers the lines by what they are, so that their files do not depend on the order of the
    /// runs.
    fn sort_lines(&mut self) {
        let mut known: Vec<(String, usize)> = self.known.drain().collect();
        known.sort_by(|(a, at), (b, bt)| (self.lines[*at].order, a).cmp(&(self.lines[*bt].order, b)));
        let mut places = vec![0; known.len()];
        for (place, (_, line)) in known.iter().enumerate() {
            places[*line] = place;
        }
        self.lines = known.iter().map(|(_, line)| self.lines[*line].clone()).collect();
        self.known = known.into_iter().zip(0..).map(|((key, _), place)| (key, place)).collect();
        for run in self.machines.values_mut().flat_map(|machine| &mut machine.runs) {
            run.values.iter_mut().for_each(|(line, _)| *line = places[*line]);
            run.values.sort_by_key(|(line, _)| *line);
        }
    }

    /// Adds to names that several machines have what tells them apart.
    fn tell_apart(&mut self) {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for machine in self.machines.values() {
            *counts.entry(machine.name.clone()).or_default() += 1;
        }
        for machine in self.machines.values_mut().filter(|machine| counts[&machine.name] > 1) {
            let more = match machine.kind {
                SiteKind::Printed => machine.kernel.clone(),
                _ => machine.key.rsplit('-').next().unwrap_or_default().to_owned(),
            };
            machine.name = format!("{} [{more}]", machine.name);
        }
    }
}

/// The files of a site, which are made one by one, on any thread.
#[derive(Debug)]
pub struct SitePages<'a> {
    site: Site<'a>,
    machines: Vec<Machine>,
    sections: Vec<(String, Vec<usize>)>,
    hrefs: HashMap<usize, String>,
}

/// A part of the files of a site.
#[derive(Clone, Copy, Debug)]
pub enum SitePart {
    /// Those that every site has.
    Common,
    /// The pages and data of a metric.
    Metric(usize),
    /// The page and data of a machine.
    Machine(usize),
}

/// A file of a site: its path below the directory, and its content.
pub type SiteFile = (String, Vec<u8>);

impl SitePages<'_> {
    /// All parts.
    pub fn parts(&self) -> Vec<SitePart> {
        let metrics = (0..self.sections.len()).map(SitePart::Metric);
        [SitePart::Common].into_iter().chain(metrics).chain((0..self.machines.len()).map(SitePart::Machine)).collect()
    }

    /// The files of a part.
    pub fn files(&self, part: SitePart) -> Vec<SiteFile> {
        let all = Whole { site: &self.site, machines: &self.machines, sections: &self.sections, hrefs: &self.hrefs };
        let file = |path: &str, text: String| (path.to_owned(), text.into_bytes());
        match part {
            SitePart::Common => vec![
                file("site.css", frame::style()),
                file("script.js", crate::html::SCRIPT.to_owned()),
                file("site.js", include_str!("site/site.js").to_owned()),
                file("index.html", front::front(&all)),
                file("machines.csv", front::csv(&all)),
                file("metrics.html", metric::index(&all)),
                file("years.html", years::years(&all)),
                file("beside.html", beside::beside()),
                file("about.html", words::about(&all)),
                file("data/index.js", beside::index(&all)),
            ],
            SitePart::Metric(at) => {
                let (id, lines) = &self.sections[at];
                let mut out = vec![
                    file(&format!("metrics/{id}.html"), metric::metric(&all, id, lines)),
                    file(&format!("metrics/{id}.csv"), metric::csv(&all, lines)),
                ];
                for (line, n) in lines.iter().zip(1..) {
                    out.extend(dots::svg(&all, *line).map(|svg| file(&format!("metrics/{id}-{n}.svg"), svg)));
                    out.push(file(&format!("data/line-{line}.js"), beside::of_line(&all, *line)));
                }
                out
            }
            SitePart::Machine(at) => {
                let machine = &self.machines[at];
                vec![
                    file(&machine.href(), machine::machine(&all, machine)),
                    file(&format!("data/{}.js", machine.key), beside::of_machine(&all, machine)),
                ]
            }
        }
    }
}

/// Everything that a page may show.
struct Whole<'s> {
    site: &'s Site<'s>,
    machines: &'s [Machine],
    /// The lines of each metric's page.
    sections: &'s [(String, Vec<usize>)],
    /// The links to their tables.
    hrefs: &'s HashMap<usize, String>,
}

impl Whole<'_> {
    /// The link to a line's table, from the root of the site.
    fn href(&self, line: usize) -> Option<&str> {
        self.hrefs.get(&line).map(String::as_str)
    }

    /// The newest value of a machine, if it is one by the newest definition: others are compared
    /// with none.
    fn current<'m>(&self, machine: &'m Machine, line: usize) -> Option<(&'m Value, f64)> {
        let value = machine.newest(line).filter(|value| value.version == self.site.lines[line].version)?;
        Some((value, value.value?))
    }
}

/// A value as text, with its sign.
fn said(line: &Line, value: &Value) -> String {
    let half = value.interval.map(|[low, high]| (high - low) / 2.0);
    match value.value {
        Some(number) => format!("{}{}", value.mark.sign(), crate::units::value(number, line.scale, half)),
        None => value.mark.sign().to_owned(),
    }
}

/// A number for data and for sorting: five digits, in few letters.
fn digits(value: f64) -> String {
    let rounded = format!("{value:.4e}").parse::<f64>().unwrap_or(value);
    let [plain, short] = [rounded.to_string(), format!("{rounded:e}")];
    if plain.len() <= short.len() { plain } else { short }
}

#[cfg(test)]
mod tests;
