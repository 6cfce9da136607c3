//! Signatures: which faults explain the slow values of a host. Data, in a text file that is part of
//! the program (`signatures.txt`, which also describes the form), so that an operator adds one.

use groma_model::Placement;

use super::finding::{Finding, Subject};
use super::groups::Difference;
use super::{Host, Metric};

/// The signatures of the program.
const OWN: &str = include_str!("signatures.txt");

/// Slow values are of one factor if this share of them is within this ratio of their median.
const ONE_FACTOR: (f64, f64) = (0.75, 1.12);
/// Fewer slow values show no common factor.
const MIN_VALUES_OF_FACTOR: usize = 3;
/// The fact that counts slow CPUs.
const SLOW_CPUS: &str = "cpu.slow";

/// Related metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// Its name.
    pub name: String,
    selectors: Vec<Selector>,
}

/// `mem.latency:size=8M`, `mem.stream@all`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Selector {
    id: String,
    params: Vec<(String, String)>,
    on: Option<Where>,
}

/// Where a metric ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    One,
    Two,
    All,
    Node,
}

/// A fact of a host.
#[derive(Clone, Debug, PartialEq)]
enum Condition {
    /// It differs from that of the hosts that it is compared with.
    Differs(String),
    /// It is a number above this one.
    Above(String, f64),
}

/// A fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signature {
    /// Its name.
    pub name: String,
    slow: Vec<usize>,
    also: Vec<usize>,
    /// Whether anything else may be slow.
    any: bool,
    fine: Vec<usize>,
    size: Option<[f64; 2]>,
    one_factor: bool,
    /// Whether it is not one of the program.
    is_of_operator: bool,
    needs: Vec<Condition>,
    hints: Vec<Condition>,
    /// The sentence, with its placeholders.
    pub says: String,
    /// What would confirm it, on the host.
    pub confirm: String,
    /// What to do then.
    pub next: String,
}

/// Areas and signatures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signatures {
    /// The areas.
    pub areas: Vec<Area>,
    /// The signatures.
    pub all: Vec<Signature>,
}

/// What a signature says of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The name of the signature.
    pub name: String,
    /// The sentence, without a full stop.
    pub says: String,
    /// What would confirm it.
    pub confirm: String,
    /// What to do then.
    pub next: String,
}

impl Signatures {
    /// Those of the program.
    ///
    /// # Panics
    /// Never: a test reads them.
    pub fn own() -> Signatures {
        let mut all = Signatures::default();
        all.add(OWN).unwrap_or_else(|(line, why)| panic!("signatures.txt:{line}: {why}"));
        all
    }

    /// Those of an operator, which win over those of the program where they fit. They may use its
    /// areas.
    ///
    /// # Errors
    /// The number of the line and what is wrong with it.
    pub fn with_own(text: &str) -> Result<Signatures, (usize, String)> {
        let Signatures { areas, all: own } = Signatures::own();
        let mut signatures = Signatures { areas, all: Vec::new() };
        signatures.add(text)?;
        signatures.all.iter_mut().for_each(|signature| signature.is_of_operator = true);
        signatures.all.extend(own);
        Ok(signatures)
    }

    /// Reads areas and signatures from a text.
    fn add(&mut self, text: &str) -> Result<(), (usize, String)> {
        let mut in_area = false;
        for (i, line) in text.lines().enumerate() {
            let at = |why: String| (i + 1, why);
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(rest) = line.strip_prefix("area ") {
                let (name, selectors) =
                    rest.split_once(':').ok_or_else(|| at("an area is written 'area NAME: SELECTOR...'".to_owned()))?;
                self.areas.push(Area { name: word(name).map_err(at)?, selectors: Vec::new() });
                self.select(selectors).map_err(at)?;
                in_area = true;
            } else if let Some(name) = line.strip_prefix("signature ") {
                self.all.push(Signature { name: word(name).map_err(at)?, ..Signature::default() });
                in_area = false;
            } else if line.starts_with(char::is_whitespace) && in_area {
                self.select(line).map_err(at)?;
            } else if line.starts_with(char::is_whitespace) && !self.all.is_empty() {
                self.field(line.trim()).map_err(at)?;
            } else {
                return Err(at(format!("'{}' is neither 'area NAME:' nor 'signature NAME'", line.trim_end())));
            }
        }
        match self.all.iter().find(|signature| signature.says.is_empty()) {
            Some(signature) => Err((text.lines().count(), format!("signature {} has no 'says:'", signature.name))),
            None => Ok(()),
        }
    }

    fn select(&mut self, text: &str) -> Result<(), String> {
        let selectors: Vec<Selector> = text.split_whitespace().map(selector).collect::<Result<_, _>>()?;
        if let Some(area) = self.areas.last_mut() {
            area.selectors.extend(selectors);
        }
        Ok(())
    }

    /// Reads a line of the last signature.
    fn field(&mut self, line: &str) -> Result<(), String> {
        let known = "slow, also, fine, size, factor, need, hint, says, confirm, next";
        let areas = |text: &str| -> Result<Vec<usize>, String> {
            let index = |name: &str| {
                let place = self.areas.iter().position(|area| area.name == name);
                place.ok_or_else(|| format!("'{name}' is no area"))
            };
            text.split_whitespace().map(index).collect()
        };
        let (key, value) = match line.split_once(':') {
            Some((key, value)) if key.bytes().all(|byte| byte.is_ascii_lowercase()) => (key, value.trim()),
            // A list goes on.
            _ => {
                let more = areas(line)?;
                let last = self.all.last_mut().filter(|last| !last.also.is_empty());
                last.ok_or_else(|| format!("'{line}' has no field: expected one of {known}"))?.also.extend(more);
                return Ok(());
            }
        };
        let mut new = self.all.pop().unwrap_or_default();
        match key {
            "slow" => new.slow = areas(value)?,
            "also" if value == "*" => new.any = true,
            "also" => new.also = areas(value)?,
            "fine" => new.fine = areas(value)?,
            "size" => new.size = Some(range(value)?),
            "factor" if value == "one" => new.one_factor = true,
            "need" => new.needs.push(condition(value)?),
            "hint" => new.hints.push(condition(value)?),
            "says" => value.clone_into(&mut new.says),
            "confirm" => value.clone_into(&mut new.confirm),
            "next" => value.clone_into(&mut new.next),
            _ => return Err(format!("'{key}: {value}' is no field: expected one of {known}")),
        }
        self.all.push(new);
        Ok(())
    }

    /// The metrics of each area, among these.
    pub fn members(&self, metrics: &[Metric]) -> Vec<Vec<u32>> {
        let of = |area: &Area| {
            let is_in = |metric: &Metric| area.selectors.iter().any(|selector| selector.takes(metric));
            (0..).zip(metrics).filter(|(_, metric)| is_in(metric)).map(|(i, _)| i).collect()
        };
        self.areas.iter().map(of).collect()
    }

    /// The signature that explains the findings best, if any does. `members` are those of
    /// [`members`](Signatures::members).
    pub fn best(&self, findings: &[Finding], host: &Host, differs: &[Difference], members: &[Vec<u32>]) -> Option<Fit> {
        let slow = self.all.iter().filter(|signature| !signature.slow.is_empty());
        let scored = slow.filter_map(|signature| Some((signature.score(findings, host, differs, members)?, signature)));
        // Of equal ones the first.
        let best = scored.rev().max_by_key(|(score, _)| *score)?.1;
        Some(best.fit(findings, host, differs, members))
    }

    /// The signatures that ask for facts alone and fit.
    pub fn remarks(&self, host: &Host, differs: &[Difference]) -> Vec<Fit> {
        let facts_alone = self.all.iter().filter(|signature| signature.slow.is_empty());
        let holds = |signature: &&Signature| {
            !signature.needs.is_empty() && signature.needs.iter().all(|need| need.holds(host, differs))
        };
        facts_alone.filter(holds).map(|signature| signature.fit(&[], host, differs, &[])).collect()
    }
}

impl Signature {
    /// How much of it the findings fulfil; `None` if it does not fit.
    fn score(
        &self,
        findings: &[Finding],
        host: &Host,
        differs: &[Difference],
        members: &[Vec<u32>],
    ) -> Option<(bool, usize)> {
        let has = |area: usize| findings.iter().any(|finding| is_in(finding, area, members));
        let is_explained = |finding: &Finding| {
            self.any || self.slow.iter().chain(&self.also).any(|area| is_in(finding, *area, members))
        };
        let fits = self.slow.iter().all(|area| has(*area))
            && !self.fine.iter().any(|area| has(*area))
            && findings.iter().all(is_explained)
            && self.needs.iter().all(|need| need.holds(host, differs));
        let slowest = self.slowest(findings, members);
        let has_size = self.size.is_none_or(|[low, high]| (low..=high).contains(&slowest));
        let has_factor = !self.one_factor || is_one_factor(findings);
        if !fits || !has_size || !has_factor {
            return None;
        }
        let hints = self.hints.iter().filter(|hint| hint.holds(host, differs)).count();
        let conditions = self.fine.len() + usize::from(self.size.is_some()) + usize::from(self.one_factor);
        // A fact weighs more than any number of areas that are not slow.
        Some((self.is_of_operator, 10 * self.needs.len() + 10 * hints + 2 * self.slow.len() + conditions))
    }

    /// How many times as slow the slowest of its slow areas is.
    fn slowest(&self, findings: &[Finding], members: &[Vec<u32>]) -> f64 {
        let of_slow = findings.iter().filter(|finding| self.slow.iter().any(|area| is_in(finding, *area, members)));
        of_slow.map(|finding| finding.times).fold(1.0, f64::max)
    }

    /// Whether it asks for facts alone.
    pub fn is_remark(&self) -> bool {
        self.slow.is_empty()
    }

    fn fit(&self, findings: &[Finding], host: &Host, differs: &[Difference], members: &[Vec<u32>]) -> Fit {
        // Of one factor the median tells, else the slowest of what it is about.
        let factor = if self.one_factor {
            let times: Vec<f64> = findings.iter().map(|finding| finding.times).collect();
            groma_stats::median(&times).unwrap_or(1.0)
        } else {
            self.slowest(findings, members)
        };
        let cpus: Vec<String> =
            host.slow_cpus.iter().take(MAX_CPUS).map(|(cpu, times)| format!("CPU {cpu} {times:.2} times")).collect();
        let more = host.slow_cpus.len().saturating_sub(MAX_CPUS);
        let mut cpus = format!("{} as slow as the median one", cpus.join(", "));
        if more > 0 {
            cpus += &format!(", and {more} more");
        }
        let mut says = self
            .says
            .replace("{factor}", &format!("{factor:.2}"))
            .replace("{share}", &format!("{:.0} %", 100.0 / factor))
            .replace("{cpus}", &cpus);
        let hints: Vec<String> = self.hints.iter().filter_map(|hint| hint.sentence(host, differs)).collect();
        if !hints.is_empty() {
            says += &format!(" ({})", hints.join("; "));
        }
        let [name, confirm, next] = [&self.name, &self.confirm, &self.next].map(Clone::clone);
        Fit { name, says, confirm, next }
    }
}

fn is_in(finding: &Finding, area: usize, members: &[Vec<u32>]) -> bool {
    match finding.subject {
        Subject::Metric(metric) => members[area].contains(&metric),
        Subject::Area(other) => other == area,
    }
}

fn is_one_factor(findings: &[Finding]) -> bool {
    let times: Vec<f64> = findings.iter().map(|finding| finding.times).collect();
    let middle = groma_stats::median(&times).unwrap_or(1.0);
    let near = times.iter().filter(|times| (**times / middle).max(middle / **times) <= ONE_FACTOR.1).count();
    times.len() >= MIN_VALUES_OF_FACTOR && near as f64 >= ONE_FACTOR.0 * times.len() as f64
}

/// The most CPUs that a sentence names.
const MAX_CPUS: usize = 4;

impl Condition {
    fn holds(&self, host: &Host, differs: &[Difference]) -> bool {
        self.sentence(host, differs).is_some()
    }

    /// What it says of a host, if it holds.
    fn sentence(&self, host: &Host, differs: &[Difference]) -> Option<String> {
        match self {
            Condition::Differs(key) => {
                let is_it =
                    |other: &&Difference| other.key == *key || (key.ends_with('.') && other.key.starts_with(key));
                let found = differs.iter().find(is_it)?;
                let text = |value: &Option<String>| abbreviate(value.as_deref().unwrap_or("not known"));
                Some(format!("{} is {} here, {} on the others", found.key, text(&found.here), text(&found.there)))
            }
            Condition::Above(key, least) if key == SLOW_CPUS => {
                let count = host.slow_cpus.len();
                (count as f64 > *least).then(|| format!("{count} slow CPUs"))
            }
            Condition::Above(key, least) => {
                let number: f64 = host.facts.get(key)?.parse().ok()?;
                (number > *least).then(|| format!("{key} is {number}"))
            }
        }
    }
}

/// The beginning of a long value.
fn abbreviate(value: &str) -> String {
    const LONGEST_VALUE: usize = 60;
    let cut: String = value.chars().take(LONGEST_VALUE).collect();
    if cut.len() < value.len() { cut + "…" } else { cut }
}

/// A metric that a selector takes.
#[cfg(test)]
pub(super) struct Example {
    pub(super) id: String,
    pub(super) params: Vec<(String, String)>,
    pub(super) placement: Placement,
    pub(super) workers: u32,
}

#[cfg(test)]
impl Signatures {
    /// A metric for each selector.
    pub(super) fn examples(&self) -> Vec<Example> {
        let example = |selector: &Selector| {
            let (placement, workers) = match selector.on {
                None | Some(Where::One) => (Placement::Pinned, 1),
                Some(Where::Two) => (Placement::SameLlc, 1),
                Some(Where::All) => (Placement::Compact, 4),
                Some(Where::Node) => (Placement::On(groma_model::OneCpu::default()), 4),
            };
            Example { id: selector.id.clone(), params: selector.params.clone(), placement, workers }
        };
        self.areas.iter().flat_map(|area| &area.selectors).map(example).collect()
    }
}

#[cfg(test)]
impl Signature {
    /// The slow areas that it asks for, and the facts of the host that it asks for or hints at:
    /// numbers, and those that differ.
    pub(super) fn example(&self) -> (Vec<usize>, Vec<(String, String)>, Vec<String>) {
        let (mut numbers, mut differ) = (Vec::new(), Vec::new());
        for condition in self.needs.iter().chain(self.hints.first()) {
            match condition {
                Condition::Differs(key) if key.ends_with('.') => differ.push(format!("{key}x")),
                Condition::Differs(key) => differ.push(key.clone()),
                Condition::Above(key, least) => numbers.push((key.clone(), (least + 1.0).to_string())),
            }
        }
        let more = if self.one_factor { MIN_VALUES_OF_FACTOR - 1 } else { 0 };
        let slow = self.slow.iter().chain(self.also.iter().take(more)).copied();
        (slow.collect(), numbers, differ)
    }
}

impl Selector {
    fn takes(&self, metric: &Metric) -> bool {
        let has = |(name, value): &(String, String)| metric.params.get(name).is_some_and(|own| own.is_typed(value));
        metric.id == self.id && self.params.iter().all(has) && self.on.is_none_or(|on| on.is_it(metric))
    }
}

impl Where {
    fn is_it(self, metric: &Metric) -> bool {
        let alone = metric.workers == 1;
        match (self, &metric.placement) {
            (Where::One, Placement::Pinned | Placement::On(_) | Placement::SameCpu) => alone,
            (Where::Two, Placement::Smt | Placement::SameLlc | Placement::CrossLlc | Placement::CrossNode) => alone,
            (Where::All, Placement::Compact | Placement::Spread) | (Where::Node, Placement::On(_)) => !alone,
            _ => false,
        }
    }
}

/// A name: letters, digits and hyphens.
fn word(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_word { Ok(text.to_owned()) } else { Err(format!("'{text}' is not a name of letters, digits and hyphens")) }
}

fn selector(text: &str) -> Result<Selector, String> {
    let (rest, on) = match text.split_once('@') {
        Some((rest, "one")) => (rest, Some(Where::One)),
        Some((rest, "two")) => (rest, Some(Where::Two)),
        Some((rest, "all")) => (rest, Some(Where::All)),
        Some((rest, "node")) => (rest, Some(Where::Node)),
        Some((_, on)) => return Err(format!("'@{on}' is no place: expected @one, @two, @all or @node")),
        None => (text, None),
    };
    let mut parts = rest.split(':');
    let id = parts.next().unwrap_or_default().to_owned();
    let param = |part: &str| {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("'{part}' is no NAME=VALUE"))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    Ok(Selector { id, params: parts.map(param).collect::<Result<_, String>>()?, on })
}

fn range(text: &str) -> Result<[f64; 2], String> {
    let wrong = || format!("'{text}' is no range: expected two numbers, such as 1.05 2");
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
    match numbers[..] {
        [low, high] if low <= high => Ok([low, high]),
        _ => Err(wrong()),
    }
}

fn condition(text: &str) -> Result<Condition, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let wrong = || format!("'{text}' is no condition: expected 'KEY differs' or 'KEY above N'");
    match words[..] {
        [key, "differs"] => Ok(Condition::Differs(key.to_owned())),
        [key, "above", number] => Ok(Condition::Above(key.to_owned(), number.parse().map_err(|_| wrong())?)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signatures_of_the_program_can_be_read_and_say_what_to_do() {
        let own = Signatures::own();
        assert!(own.areas.len() > 15 && own.all.len() > 15, "{} {}", own.areas.len(), own.all.len());
        for signature in &own.all {
            assert!(!signature.next.is_empty(), "{}", signature.name);
            assert_eq!(signature.confirm.is_empty(), signature.slow.is_empty(), "{}", signature.name);
        }
    }

    #[test]
    fn a_line_that_is_wrong_is_named() {
        for (text, line, what) in [
            ("area x\n", 1, "an area is written"),
            ("area x y: a.b\n", 1, "'x y' is not a name"),
            ("area x: a.b@some\n", 1, "'@some' is no place"),
            ("\nnonsense\n", 2, "'nonsense' is neither"),
            ("signature s\n  slow: none\n", 2, "'none' is no area"),
            ("signature s\n  says: x\n  size: 2 1\n", 3, "'2 1' is no range"),
            ("signature s\n  need: a is b\n", 2, "'a is b' is no condition"),
            ("signature s\n  colour: red\n", 2, "'colour: red' is no field"),
            ("signature s\n  slow: clock\n", 2, "signature s has no 'says:'"),
        ] {
            let (at, why) = Signatures::with_own(text).expect_err(text);
            assert!(at == line && why.starts_with(what), "{text:?}: {at}: {why}");
        }
    }
}
