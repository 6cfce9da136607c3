//! A prediction: where an application's time goes according to its counts, compared with its run
//! time.

use groma_analysis::composition::Amount;
use groma_analysis::predict::{Component, Counts, Prediction};
use groma_model::{Price, Spent};

use crate::composition::amount;
use crate::document::{Document, Table};
use crate::grid::{Align, Cell};
use crate::style::{Ink, columns};
use crate::units::{self, NONE, Scale, time};

/// The cost of the counts on one machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The run with the prices.
    pub run: String,
    /// The prediction.
    pub prediction: Prediction,
}

/// With less CPU time, the kernel's split into user and system time is a guess: it samples a task
/// every 1 to 10 ms.
const GUESSED_BELOW_S: f64 = 0.1;

/// Components below this fraction of the prediction share a line.
const FOLDED_BELOW: f64 = 0.005;

/// The prediction for one or more machines, which have the same components.
pub fn prediction<'a>(counts: &Counts, machines: &[Machine]) -> Document<'a> {
    let mut out = Document::new("prediction");
    let longest = machines.iter().map(|machine| columns(&machine.run)).max().unwrap_or_default();
    let several = machines.len() > 1;
    let width = if several { letter(0).len() + longest + 4 } else { "predicted     ".len() };
    let mut line = |label: &str, text: String| out.labelled(format!("{label:<width$}"), text);
    for (i, machine) in machines.iter().enumerate() {
        let label = if several { format!("{}  {}", letter(i), machine.run) } else { "predicted".to_owned() };
        line(&label, predicted(&machine.prediction, &unmeasured(machines), counts));
    }
    if let Some(text) = measured(counts) {
        line("measured", text);
    }
    if let [machine] = machines {
        let is_above = counts.system_s.is_some_and(|system| kernel(&machine.prediction) > system);
        line(if is_above { "too high" } else { "missed" }, missed(counts, &machine.prediction));
    }
    out.gap();
    components(counts, machines, &mut out);
    if let Some(first) = machines.first() {
        unknown(&first.prediction, &mut out);
    }
    counts.notes.iter().for_each(|note| out.note(note.clone()));
    out
}

/// The letter of a machine's column: a run's id is as wide as three columns.
fn letter(at: usize) -> String {
    match u8::try_from(at) {
        Ok(at @ 0..26) => char::from(b'A' + at).to_string(),
        _ => (at + 1).to_string(),
    }
}

/// The prices without a cost on some machine. Sums leave them out, so that all machines are
/// compared on the same parts.
fn unmeasured(machines: &[Machine]) -> Vec<&'static Price> {
    let mut all: Vec<&'static Price> = Vec::new();
    let lacking = machines.iter().flat_map(|machine| &machine.prediction.components).filter(|one| one.total.is_none());
    for one in lacking {
        if !all.iter().any(|known| std::ptr::eq(*known, one.price)) {
            all.push(one.price);
        }
    }
    all
}

/// `12.3 ms in the kernel (11.9 ms to 13.0 ms), 90 % of its system time; without seeks, which have
/// no cost in every run`.
fn predicted(prediction: &Prediction, without: &[&'static Price], counts: &Counts) -> String {
    /// Names without a price in the headline; all of them are below the table.
    const NAMED: usize = 3;
    let is_priced = |one: &&Component| !without.iter().any(|price| std::ptr::eq(*price, one.price));
    let components = prediction.components.iter().filter(is_priced).cloned().collect();
    let priced = Prediction { components, ..prediction.clone() };
    let mut text = sums(&priced, counts);
    if !without.is_empty() {
        let names: Vec<&str> = without.iter().map(|price| price.what).collect();
        text += &format!("; without what was not measured: {}", names.join(", "));
    }
    if !prediction.unknown.is_empty() {
        let names = prediction.unknown.iter().take(NAMED);
        let mut names: Vec<String> = names.map(|of| format!("{} {}", count(of.count), of.name)).collect();
        names.extend((prediction.unknown.len() > NAMED).then(|| "...".to_owned()));
        let share = units::percent(prediction.unknown_share());
        text += &format!("; without the {share} of the counts that have no price: {}", names.join(", "));
    }
    text
}

/// The sums of the priced counts.
fn sums(prediction: &Prediction, counts: &Counts) -> String {
    let of = |spent| prediction.spent(spent);
    let mut parts = Vec::new();
    if let Some(kernel) = of(Spent::Kernel) {
        let share = counts.system_s.filter(|system| *system > 0.0).map(|system| kernel.value / system);
        let share = share.map_or(String::new(), |share| format!(", {} of its system time", units::percent(share)));
        parts.push(format!("{} in the kernel{share}", amount(&kernel)));
    }
    if let Some(waiting) = of(Spent::Waiting) {
        parts.push(format!("{} of waiting", amount(&waiting)));
    }
    if let Some(user) = of(Spent::User) {
        parts.push(format!("{} in the program", amount(&user)));
    }
    if let (Some(wall), Some(all)) = (counts.wall_s.filter(|wall| *wall > 0.0), with_user(counts, prediction)) {
        parts.push(format!("with its user time {}, {} of the run", time(all), units::percent(all / wall)));
    }
    if parts.is_empty() { "nothing of it".to_owned() } else { parts.join("; ") }
}

/// Kernel, waiting and user time: all predicted, except for measured user time.
fn with_user(counts: &Counts, prediction: &Prediction) -> Option<f64> {
    let value = |spent| prediction.spent(spent).map_or(0.0, |amount| amount.value);
    let user = counts.user_s.or(prediction.spent(Spent::User).map(|amount| amount.value))?;
    Some(value(Spent::Kernel) + value(Spent::Waiting) + user)
}

fn measured(counts: &Counts) -> Option<String> {
    let named = [("from start to end", counts.wall_s), ("user", counts.user_s), ("system", counts.system_s)];
    let parts: Vec<String> =
        named.into_iter().filter_map(|(what, value)| Some(format!("{} {what}", time(value?)))).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The predicted kernel time.
fn kernel(prediction: &Prediction) -> f64 {
    prediction.spent(Spent::Kernel).map_or(0.0, |amount| amount.value)
}

/// What the prediction does not cover, in one sentence, from the numbers.
fn missed(counts: &Counts, prediction: &Prediction) -> String {
    let mut parts = Vec::new();
    if let Some(system) = counts.system_s {
        let gap = system - kernel(prediction);
        let share = if system > 0.0 { format!(" ({})", units::percent(gap.abs() / system)) } else { String::new() };
        parts.push(if gap >= 0.0 {
            format!(
                "{}{share} of the system time is in nothing that was counted, or costs more here than where it was \
                 measured",
                time(gap)
            )
        } else {
            format!(
                "the prediction is {}{share} above the system time: what it counts costs less here than where it was \
                 measured",
                time(-gap)
            )
        });
        if (counts.user_s.unwrap_or(0.0) + system) * counts.runs.max(1.0) < GUESSED_BELOW_S {
            parts.push("in so short a time the kernel only estimates which of it was its own".to_owned());
        }
    }
    if let (Some(wall), Some(user), Some(system)) = (counts.wall_s, counts.user_s, counts.system_s) {
        let idle = wall - user - system;
        if idle > 0.05 * wall {
            parts.push(format!("for {} the command did not run at all", time(idle)));
        }
    }
    if parts.is_empty() {
        "how long it ran was not counted, so nothing can be compared".to_owned()
    } else {
        parts.join("; ")
    }
}

/// The table of components, with a column per machine.
fn components(counts: &Counts, machines: &[Machine], out: &mut Document<'_>) {
    use Align::{Left, Right};
    let several = machines.len() > 1;
    let mut heads: Vec<String> =
        (0..machines.len()).map(|at| if several { letter(at) } else { "time".to_owned() }).collect();
    let against = if counts.wall_s.is_some() { "of run" } else { "share" };
    heads.extend([against, "count", "each", "what", "counted as"].map(str::to_owned));
    let side = |at: usize| if at < machines.len() + 3 { Right } else { Left };
    let columns: Vec<(&str, Align)> = heads.iter().enumerate().map(|(i, head)| (head.as_str(), side(i))).collect();
    let mut table = Table::new(&columns, Some(Ink::Faint));
    let Some(first) = machines.first() else { return };
    let all: f64 = first.prediction.components.iter().filter_map(|one| one.total).map(|total| total.value).sum();
    let whole = counts.wall_s.filter(|wall| *wall > 0.0).unwrap_or(all);
    let components = &first.prediction.components;
    let shown = |one: &&Component| one.total.is_none_or(|total| total.value >= FOLDED_BELOW * all);
    let folded: Vec<&Component> = components.iter().filter(|one| !shown(one)).collect();
    for one in components.iter().filter(|one| shown(one) || folded.len() == 1) {
        let same = |machine: &&Machine| {
            machine
                .prediction
                .components
                .iter()
                .find(|other| std::ptr::eq(other.price, one.price))
                .and_then(|other| other.total)
        };
        let text = |total: Option<Amount>| {
            let text = total.map_or("not measured".to_owned(), |total| time(total.value));
            Cell::new(text).exactly(total.map(|total| total.value), "s")
        };
        let mut cells: Vec<Cell> = machines.iter().map(|machine| text(same(&machine))).collect();
        let value = one.total.map(|total| total.value);
        let share = value.map(|value| value / whole);
        cells.push(Cell::new(share.map_or(NONE.to_owned(), units::percent)).exactly(share, ""));
        cells.push(Cell::new(count(one.count)).exactly(one.count, ""));
        let each = value.filter(|_| one.count > 0.0).map(|value| value / one.count);
        cells.push(Cell::new(each.map_or(NONE.to_owned(), time)).exactly(each, "s"));
        cells.push(Cell::new(what(one)));
        cells.push(Cell::new(one.names.join(", ")));
        table.row(cells);
    }
    out.table(table);
    if folded.len() > 1 {
        let names: Vec<&str> = folded.iter().map(|one| one.price.what).collect();
        let sum: f64 = folded.iter().filter_map(|one| one.total).map(|total| total.value).sum();
        out.labelled(format!("and {} for ", time(sum)), names.join(", "));
    }
}

/// `reads of 4.00 KiB on average`.
fn what(component: &Component) -> String {
    let bytes = component.bytes.filter(|_| !component.price.byte.is_empty() && component.count > 0.0);
    let bytes =
        bytes.map_or(String::new(), |bytes| format!(", {} each", units::size((bytes / component.count).round())));
    format!("{}{bytes}", component.price.what)
}

/// The names without a price, with their counts.
fn unknown(prediction: &Prediction, out: &mut Document<'_>) {
    if prediction.unknown.is_empty() {
        return;
    }
    let all: Vec<String> =
        prediction.unknown.iter().map(|counted| format!("{} {}", count(counted.count), counted.name)).collect();
    let text = format!("{} of the counts: {}", units::percent(prediction.unknown_share()), all.join(", "));
    out.gap();
    out.labelled("without price ", text);
}

fn count(number: f64) -> String {
    if number.fract() == 0.0 { units::value(number, Scale::Count, None) } else { format!("{number:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;
    use groma_analysis::predict::Counted;
    use groma_model::{Part, page::Shown};

    static PRICES: [Price; 4] = [
        price("reads", Spent::Kernel, &[Part::of(1.0, "", Shown::of("a", &[]))]),
        price("data made durable", Spent::Waiting, &[]),
        price("seeks", Spent::Kernel, &[]),
        price("short calls", Spent::Kernel, &[]),
    ];

    const fn price(what: &'static str, spent: Spent, byte: &'static [Part]) -> Price {
        Price { what, names: &[], each: &[], byte, spent }
    }

    fn component(price: usize, names: &[&str], count: f64, bytes: Option<f64>, value: Option<f64>) -> Component {
        let total = value.map(|value| Amount { value, interval: Some([value * 0.9, value * 1.2]) });
        Component { price: &PRICES[price], names: names.iter().map(|n| (*n).to_owned()).collect(), count, bytes, total }
    }

    fn machine(run: &str, slower: f64) -> Machine {
        let components = vec![
            component(0, &["read", "pread64"], 1000.0, Some(4_096_000.0), Some(600e-6 * slower)),
            component(1, &["fsync"], 2.0, None, Some(4e-3 * slower)),
            component(2, &["lseek"], 3.0, None, Some(1e-6 * slower)),
            component(3, &["getpid"], 2.5, None, Some(2e-6 * slower)),
        ];
        let unknown = vec![Counted { name: "frob\u{1b}[2J".to_owned(), count: 15.0, bytes: None }];
        Machine { run: run.to_owned(), prediction: Prediction { components, unknown, missing: Vec::new() } }
    }

    fn counts(times: [Option<f64>; 3]) -> Counts {
        let [wall_s, user_s, system_s] = times;
        Counts { counted: Vec::new(), runs: 1.0, wall_s, user_s, system_s, notes: Vec::new() }
    }

    #[test]
    fn of_a_command_that_was_timed() {
        let counts = counts([Some(9e-3), Some(2e-3), Some(1e-3)]);
        insta::assert_snapshot!(prediction(&counts, &[machine("20261121T073812Z-5f3a", 1.0)]).text(&Style::plain(100)));
    }

    #[test]
    fn on_two_machines_with_an_unmeasured_metric() {
        let mut second = machine("20261121T073812Z-0b0b", 2.0);
        second.prediction.components[1].total = None;
        let machines = [machine("20261121T073812Z-5f3a", 1.0), second];
        insta::assert_snapshot!(prediction(&counts([None; 3]), &machines).text(&Style::plain(120)));
    }

    /// A total above another must not include more parts.
    #[test]
    fn totals_of_two_machines_cover_the_same_parts() {
        let mut second = machine("b", 2.0);
        second.prediction.components[0].total = None;
        let text = prediction(&counts([None; 3]), &[machine("a", 1.0), second]).text(&Style::plain(400));
        let lines: Vec<&str> = text.lines().take(2).collect();
        for (line, total) in lines.iter().zip(["3.00 µs", "6.00 µs"]) {
            assert!(line.contains(&format!("{total} (")) && line.contains("in the kernel"), "{text}");
            assert!(line.contains("without what was not measured: reads;"), "{text}");
        }
        assert!(lines.iter().all(|line| line.ends_with("that have no price: 15 frob\\u{1b}[2J")), "{text}");
    }

    #[test]
    fn a_prediction_above_the_measurement_is_reported() {
        let text =
            prediction(&counts([Some(1.0), Some(0.5), Some(100e-6)]), &[machine("a", 1.0)]).text(&Style::plain(400));
        assert!(text.contains("\ntoo high      the prediction is 503 µs (503 %) above the system time"), "{text}");
        assert!(!text.contains("missed"), "{text}");
        let long =
            prediction(&counts([Some(1.0), Some(0.5), Some(0.5)]), &[machine("a", 1.0)]).text(&Style::plain(400));
        assert!(long.contains("499 ms (100 %) of the system time is in nothing that was counted"), "{long}");
        assert!(!long.contains("estimates") && !long.contains("did not run"), "{long}");
    }
}
