//! A family's sentence about a group of records, from the family's own template.
//!
//! Every number comes from a measured record of the group, or is the quotient of two. If the
//! sentence lacks a number, the group is counted by state instead.

use groma_analysis::curve::{Level, curves, for_levels, levels, widest};
use groma_analysis::point::{is_between_cpus, measured_value, of_first_class};
use groma_model::family::{Families, Figure, Pick, Say, Select, Which};
use groma_model::{Placement, Record, State, is_metric_of};

use crate::layout::Mark;
use crate::point::{level_name, point};
use crate::units::{self, Scale, times};

/// The family's sentence, without a full stop.
pub(crate) fn says(families: Families<'_>, family: &str, records: &[&Record]) -> String {
    let of_class: Vec<&Record> = of_first_class(records.iter().copied()).collect();
    let said = families.named(family).and_then(|family| Group(&of_class).say(&family.says));
    said.unwrap_or_else(|| counts(records))
}

/// `3 ok, 1 failed`.
pub(crate) fn counts(records: &[&Record]) -> String {
    let count = |state| records.iter().filter(|r| r.state == state).count();
    let parts = State::ALL.into_iter().map(|s| (s, count(s))).filter(|(_, n)| *n > 0);
    parts.map(|(state, n)| format!("{n} {}", state.word())).collect::<Vec<_>>().join(", ")
}

struct Group<'a>(&'a [&'a Record]);

impl<'a> Group<'a> {
    fn say(&self, say: &Say) -> Option<String> {
        match say {
            Say::Nothing => None,
            Say::Text(text, figures) => self.text(text, figures),
            Say::FirstOf(parts) => parts.iter().find_map(|part| self.say(part)),
            Say::Each(parts) => {
                let known: Vec<String> = parts.iter().filter_map(|part| self.say(part)).collect();
                (!known.is_empty()).then(|| known.join("; "))
            }
            Say::Led(parts) => {
                let (first, others) = parts.split_first()?;
                let others: String = others.iter().filter_map(|part| self.say(part)).collect();
                Some(self.say(first)? + &others)
            }
        }
    }

    /// The text with its placeholders filled in.
    fn text(&self, text: &str, figures: &[Figure]) -> Option<String> {
        let mut parts = text.split("{}");
        let mut out = parts.next()?.to_owned();
        for (figure, after) in figures.iter().zip(parts) {
            out += &self.figure(figure)?;
            out += after;
        }
        Some(out)
    }

    fn figure(&self, figure: &Figure) -> Option<String> {
        match figure {
            Figure::Value(pick) => self.pick(pick).map(|(r, v)| shown(r, v)),
            Figure::WithCycles(pick) => self.pick(pick).map(|(record, value)| {
                let cycles = record.cycles.map(|c| format!(" ({})", units::cycles(c))).unwrap_or_default();
                shown(record, value) + &cycles
            }),
            Figure::Percent(pick) => self.pick(pick).map(|(_, value)| units::percent(value)),
            Figure::Times(pick) => self.pick(pick).map(|(_, value)| times(value)),
            Figure::Params(pick) => self.pick(pick).map(|(record, _)| params(record)),
            Figure::Quotient(of, by) => Some(times(self.pick(of)?.1 / self.pick(by)?.1)),
            Figure::BetweenCpus(id) => self.between_cpus(id),
            Figure::Range(of) => self.range(of),
            Figure::Span(of) => self.span(of),
            Figure::Levels(id) => self.levels(id),
            Figure::FactIs { bench, key, text } => {
                let is = self.0.iter().any(|r| is_metric_of(&r.id, bench) && r.fact(key) == Some(text));
                is.then(|| (*text).to_owned())
            }
        }
    }

    /// The measured records of a selection.
    fn all(&self, of: &Select) -> impl Iterator<Item = (&'a Record, f64)> {
        let belongs = |r: &Record| match of {
            Select::Metric(id) => r.id == *id,
            Select::With(id, params) => {
                let has =
                    |(name, text): &(&str, &str)| r.params.get(name).is_some_and(|value| value.to_string() == *text);
                r.id == *id && params.iter().all(has)
            }
            Select::OnOneCpu(id) => r.id == *id && r.placement == Placement::SameCpu,
            Select::AllBut(ids) => !ids.iter().any(|id| is_metric_of(&r.id, id)),
        };
        self.0.iter().filter(move |r| belongs(r)).filter_map(|r| Some((*r, measured_value(r)?)))
    }

    fn pick(&self, pick: &Pick) -> Option<(&'a Record, f64)> {
        let mut all = self.all(&pick.of);
        match pick.which {
            Which::First => all.next(),
            Which::Least => all.min_by(|a, b| a.1.total_cmp(&b.1)),
            Which::Greatest => all.max_by(|a, b| a.1.total_cmp(&b.1)),
        }
    }

    /// How much longer it takes between two CPUs than on one.
    fn between_cpus(&self, id: &'static str) -> Option<String> {
        let (same, near) = self.all(&Select::OnOneCpu(id)).next()?;
        let (_, far) = self.all(&Select::Metric(id)).find(|(r, _)| r.params == same.params && is_between_cpus(r))?;
        Some(times(far / near))
    }

    /// The smallest and the largest record, each with its parameters; without controls and raw
    /// loops.
    fn range(&self, of: &Select) -> Option<String> {
        let measured: Vec<(&Record, f64)> = self.all(of).filter(|(r, _)| !r.detail).collect();
        let &(least, low) = measured.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let &(most, high) = measured.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let several = measured.iter().any(|(r, _)| r.id != least.id);
        let of = |r: &Record| match (several, r.params_text.as_str()) {
            (true, "") => r.id.clone(),
            (true, text) => format!("{} {text}", r.id),
            (false, _) => params(r),
        };
        let least_of = format!("{} ({})", units::time(low), of(least));
        let one = std::ptr::eq(least, most);
        Some(if one { least_of } else { format!("{least_of} to {} ({})", units::time(high), of(most)) })
    }

    /// The smallest and the largest value.
    fn span(&self, of: &Select) -> Option<String> {
        let (least, most) =
            (self.all(of).map(|r| r.1).min_by(f64::total_cmp)?, self.all(of).map(|r| r.1).max_by(f64::total_cmp)?);
        let several = self.all(of).count() > 1;
        Some(if several { units::range(least, most, Scale::Time) } else { units::time(least) })
    }

    /// The levels of a memory hierarchy.
    fn levels(&self, id: &str) -> Option<String> {
        let latency: Vec<&Record> = self.0.iter().copied().filter(|r| r.id == id).collect();
        let (over, _) = widest(&latency)?;
        let curves = curves(&latency, &over);
        let level = |level: &Level| {
            let capacity = level.capacity.map(|c| format!(" {}", units::size(c)));
            let cycles = level.cycles.filter(|_| level.capacity.is_some());
            let cost = cycles.map_or_else(|| units::time(level.latency), units::cycles);
            format!("{}{} at {cost}", level_name(level.rank), capacity.unwrap_or_default())
        };
        Some(levels(for_levels(&curves)?).iter().map(level).collect::<Vec<_>>().join(", "))
    }
}

/// A value of a record with its unit, and a sign if it is imprecise.
fn shown(record: &Record, value: f64) -> String {
    // An unresolved value has its own sign on the page, and no sentence here.
    let sign = if Mark::of(record) == Mark::Imprecise { Mark::Imprecise.sign() } else { "" };
    format!("{sign}{}", units::value(value, Scale::of(record), None))
}

/// The parameters of a record, or its placement if it has none.
fn params(record: &Record) -> String {
    if record.params_text.is_empty() { point(record) } else { record.params_text.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use groma_analysis::point::family;
    use groma_model::{OneCpu, Quantity};

    #[test]
    fn every_family_has_its_sentence() {
        let records = fixtures::records();
        let mut families: Vec<&str> = Vec::new();
        for record in &records {
            if !families.contains(&family(&record.id)) {
                families.push(family(&record.id));
            }
        }
        let say = |f: &&str| {
            let group: Vec<&Record> = records.iter().filter(|r| family(&r.id) == *f).collect();
            format!("{f}: {}", says(fixtures::families(), f, &group))
        };
        let all: Vec<String> = families.iter().map(say).collect();
        insta::assert_snapshot!(all.join("\n"));
    }

    /// A sentence about a mutex was once made of a file lock, which had been asked for.
    #[test]
    fn a_sentence_is_about_the_values_that_it_names() {
        let all = ["kind=mutex load=0", "kind=flock load=0", "kind=mutex load=100"]
            .map(|params| fixtures::record("sched.wakeup", params, Quantity::Latency, 1e-5));
        let records: Vec<&Record> = all.iter().collect();
        let found = |params| Group(&records).all(&Select::With("sched.wakeup", params)).count();
        assert_eq!(found(&[("kind", "mutex"), ("load", "0")]), 1);
        assert_eq!((found(&[("load", "0")]), found(&[("load", "10")]), found(&[("policy", "other")])), (2, 0, 0));
    }

    #[test]
    fn a_survey_describes_its_machine() {
        for (run, records) in [fixtures::guest(), fixtures::two_caches()] {
            let of = |f: &str| {
                let group: Vec<&Record> = records.iter().filter(|r| family(&r.id) == f).collect();
                says(fixtures::families(), f, &group)
            };
            assert!(of("cpu").contains("from one core to another"), "{}", of("cpu"));
            let guest = run.environment.get("virt.hypervisor").is_some();
            assert_eq!(of("mem").ends_with(", huge pages fractured"), guest, "{}", of("mem"));
        }
    }

    #[test]
    fn sentences_about_a_hybrid_machine_use_its_first_class_of_core() {
        let plain = fixtures::records();
        let on = |class: &str, r: &Record, by: f64| {
            let core = Placement::On(OneCpu { class: Some(class.to_owned()), node: None });
            Record { placement: core, value: r.value.map(|v| v * by), ..r.clone() }
        };
        let single = |r: &&Record| r.placement == Placement::Pinned;
        let performance = plain.iter().map(|r| if single(&r) { on("performance", r, 1.0) } else { r.clone() });
        let hybrid: Vec<Record> =
            performance.chain(plain.iter().filter(single).map(|r| on("efficiency", r, 0.5))).collect();
        let say = |records: &[Record], f: &str| {
            let group: Vec<&Record> = records.iter().filter(|r| family(&r.id) == f).collect();
            says(fixtures::families(), f, &group)
        };
        for family in ["mem", "syscall"] {
            assert_eq!(say(&hybrid, family), say(&plain, family));
        }
    }

    #[test]
    fn a_group_without_the_needed_records_is_counted() {
        let record = |state| {
            let r = fixtures::record("syscall.getppid", "", Quantity::Latency, 1e-7);
            if state == State::Ok { r } else { fixtures::without(r, state, "because") }
        };
        let (failed, unsupported) = (record(State::Failed), record(State::Unsupported));
        assert_eq!(says(fixtures::families(), "syscall", &[&failed, &unsupported, &failed]), "1 unsupported, 2 failed");
        let mut other = record(State::Ok);
        other.id = "mine.own".to_owned();
        assert_eq!(says(fixtures::families(), "mine", &[&other]), "1 ok");
    }
}
