//! Predicts the cost of an application's counts on a machine: counts times prices, which are
//! measured metrics. Not here: reading counts, and the prices, which are data
//! (`groma_model::Price`).

use groma_model::page::Shown;
use groma_model::{Part, Price, Record, Spent, Times};

use crate::composition::{Amount, Known, terms, weighted_sum};

/// Something an application did, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// The name of a system call or an event.
    pub name: String,
    /// How often it happened.
    pub count: f64,
    /// The bytes it moved in total; `None` where they were not counted.
    pub bytes: Option<f64>,
}

/// An application's counts, and its run times as far as known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Everything counted.
    pub counted: Vec<Counted>,
    /// Number of runs that these are means of; 0 where unknown.
    pub runs: f64,
    /// Wall time in seconds.
    pub wall_s: Option<f64>,
    /// User time in seconds.
    pub user_s: Option<f64>,
    /// System time in seconds.
    pub system_s: Option<f64>,
    /// What a reader has to know of the counts, in sentences: what was added up, what is missing.
    pub notes: Vec<String>,
}

impl Counts {
    /// Adds to the counts under a name.
    pub fn add(&mut self, name: &str, count: f64, bytes: Option<f64>) {
        match self.counted.iter_mut().find(|counted| counted.name == name) {
            None => self.counted.push(Counted { name: name.to_owned(), count, bytes }),
            Some(counted) => {
                counted.count += count;
                counted.bytes = counted.bytes.zip(bytes).map(|(a, b)| a + b).or(counted.bytes).or(bytes);
            }
        }
    }
}

/// The cost of all counts under one price.
#[derive(Clone, Debug)]
pub struct Component {
    /// The price.
    pub price: &'static Price,
    /// The counted names.
    pub names: Vec<String>,
    /// Their total count.
    pub count: f64,
    /// Their total bytes.
    pub bytes: Option<f64>,
    /// The total cost in seconds; `None` where a metric was not measured.
    pub total: Option<Amount>,
}

/// A prediction.
#[derive(Clone, Debug, Default)]
pub struct Prediction {
    /// The components, the costliest first.
    pub components: Vec<Component>,
    /// Counts without a price, the most frequent first.
    pub unknown: Vec<Counted>,
    /// The metrics that were not measured.
    pub missing: Vec<&'static Shown>,
}

impl Prediction {
    /// The sum of what is spent this way, as far as known; `None` where nothing is.
    pub fn spent(&self, spent: Spent) -> Option<Amount> {
        let of = self.components.iter().filter(|one| one.price.spent == spent).filter_map(|one| one.total);
        of.reduce(Amount::plus)
    }

    /// The fraction of all counts that have no price.
    pub fn unknown_share(&self) -> f64 {
        let unknown: f64 = self.unknown.iter().map(|counted| counted.count).sum();
        let known: f64 = self.components.iter().map(|one| one.count).sum();
        if unknown > 0.0 { unknown / (unknown + known) } else { 0.0 }
    }
}

/// Predicts the cost of the counts at these prices.
pub fn predict(counts: &Counts, prices: &'static [Price], known: &Known<'_>) -> Prediction {
    let mut prediction = Prediction::default();
    for counted in counts.counted.iter().filter(|counted| counted.count > 0.0) {
        let Some(price) = prices.iter().find(|price| price.names.contains(&counted.name.as_str())) else {
            prediction.unknown.push(counted.clone());
            continue;
        };
        let components = &mut prediction.components;
        let at = components.iter().position(|one| std::ptr::eq(one.price, price)).unwrap_or_else(|| {
            components.push(Component { price, names: Vec::new(), count: 0.0, bytes: None, total: None });
            components.len() - 1
        });
        let component = &mut components[at];
        component.names.push(counted.name.clone());
        component.count += counted.count;
        component.bytes = component.bytes.map_or(counted.bytes, |sum| Some(sum + counted.bytes.unwrap_or(0.0)));
    }
    for component in &mut prediction.components {
        component.total = cost(component, known, &mut prediction.missing);
    }
    prediction.missing.sort_by_key(|shown| (shown.metric, shown.params));
    prediction.missing.dedup_by_key(|shown| (shown.metric, shown.params));
    let time = |one: &Component| one.total.map_or(f64::NEG_INFINITY, |total| total.value);
    prediction.components.sort_by(|a, b| time(b).total_cmp(&time(a)));
    prediction.unknown.sort_by(|a, b| b.count.total_cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    prediction
}

/// The cost of a component; adds unmeasured metrics to `missing`.
fn cost(component: &Component, known: &Known<'_>, missing: &mut Vec<&'static Shown>) -> Option<Amount> {
    let price = component.price;
    // The price of a call includes its first byte.
    let bytes = component.bytes.map_or(0.0, |bytes| (bytes - component.count).max(0.0));
    let each = price.each.iter().map(|part| (component.count, part));
    let parts = each.chain(price.byte.iter().filter(|_| bytes > 0.0).map(|part| (bytes, part)));
    let found: Vec<Option<Vec<(f64, &Record)>>> =
        parts.map(|(count, part)| of_part(count, part, known, missing)).collect();
    let all: Option<Vec<Vec<(f64, &Record)>>> = found.into_iter().collect();
    weighted_sum(&all?.concat())
}

fn of_part<'r>(
    count: f64,
    part: &'static Part,
    known: &Known<'r>,
    missing: &mut Vec<&'static Shown>,
) -> Option<Vec<(f64, &'r Record)>> {
    let mut find = |shown: &'static Shown| {
        let found = known.find(shown);
        missing.extend(found.is_none().then_some(shown));
        found
    };
    let (source, less) = (find(&part.cost), part.less.as_ref().and_then(&mut find));
    let Times::Fixed(times) = part.times else { return None };
    terms(part, count * times, source, less)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::record;
    use groma_model::Quantity;

    const CALL: Shown = Shown::of("a.call", &[]);
    const PAGE: Shown = Shown::of("a.page", &[]);

    static PRICES: &[Price] = &[
        Price {
            what: "reads",
            names: &["read", "pread64"],
            each: &[Part::of(1.0, "", CALL)],
            byte: &[Part::difference(1.0 / 4096.0, "", PAGE, CALL)],
            spent: Spent::Kernel,
        },
        Price {
            what: "waits",
            names: &["fsync"],
            each: &[Part::of(1.0, "", Shown::of("a.disk", &[]))],
            byte: &[],
            spent: Spent::Waiting,
        },
    ];

    fn counts(all: &[(&str, f64, Option<f64>)]) -> Counts {
        let mut counts = Counts::default();
        all.iter().for_each(|(name, count, bytes)| counts.add(name, *count, *bytes));
        counts
    }

    fn latency(id: &str, value: f64) -> Record {
        Record { ci: Some([value * 0.5, value * 2.0]), ..record(id, Quantity::Latency, value) }
    }

    #[test]
    fn counts_cost_their_price_and_bytes_are_interpolated() {
        let own = [latency("a.call", 1.0), latency("a.page", 5.0), latency("a.disk", 100.0)];
        let known = Known { own: &own, others: &[] };
        let reads = [("read", 2.0, Some(2.0)), ("pread64", 1.0, Some(4097.0)), ("fsync", 1.0, None)];
        let prediction = predict(&counts(&reads), PRICES, &known);
        assert_eq!(prediction.spent(Spent::Waiting).map(|sum| sum.value), Some(100.0));
        // Three calls and 4096 bytes beyond their first.
        let kernel = prediction.spent(Spent::Kernel).expect("all was measured");
        assert!((kernel.value - (3.0 + 4.0)).abs() < 1e-9, "{kernel:?}");
        // 3 calls + 1 page - 1 call, and the interval of the remaining calls.
        let [low, high] = kernel.interval.expect("all have one");
        assert!((low - (2.0 * 0.5 + 2.5)).abs() < 1e-9 && (high - (2.0 * 2.0 + 10.0)).abs() < 1e-9, "{low} {high}");
        assert_eq!(prediction.components[0].names, ["fsync"], "the longest first");
        assert!(prediction.unknown.is_empty() && prediction.missing.is_empty());
        let without = predict(&counts(&[("read", 3.0, None)]), PRICES, &known);
        assert_eq!(without.spent(Spent::Kernel).map(|sum| sum.value), Some(3.0), "nobody counted bytes");
    }

    #[test]
    fn unknown_names_and_metrics_that_were_not_measured_are_listed() {
        let own = [latency("a.call", 1.0)];
        let known = Known { own: &own, others: &[] };
        let all = [
            ("read", 3.0, Some(9.0)),
            ("frob", 2.0, None),
            ("fsync", 1.0, None),
            ("zap", 6.0, None),
            ("no", 0.0, None),
        ];
        let prediction = predict(&counts(&all), PRICES, &known);
        let unknown: Vec<&str> = prediction.unknown.iter().map(|counted| counted.name.as_str()).collect();
        assert_eq!(unknown, ["zap", "frob"]);
        assert!((prediction.unknown_share() - 8.0 / 12.0).abs() < 1e-9);
        let missing: Vec<&str> = prediction.missing.iter().map(|shown| shown.metric).collect();
        assert_eq!(missing, ["a.disk", "a.page"]);
        assert_eq!(prediction.spent(Spent::Kernel), None, "a part of its price is missing");
        assert!(prediction.components.iter().all(|one| one.total.is_none()));
    }
}
