//! What others did to a run and what follows, in one sentence: neighbours on the sibling threads,
//! the host, other tasks of this machine. Not here: limits of the run's own (`limits`), and why a
//! value is imprecise (`page`).

use groma_analysis::imprecise::{Cause, by_cause, dropping};
use groma_analysis::point::is_of_shared_core;
use groma_model::{Label, NoiseVerdict, Record, RunHeader};

use crate::compare::capital;
use crate::page::imprecise;
use crate::summary::shared_share;
use crate::units::percent;

/// With this share of samples next to a busy sibling thread, even a long run finds hardly any
/// other: docs/methods/neighbour.md#repeatability.
const BUSY: f64 = 0.9;
/// A core that was never seen alone was shared by this share of the samples; a smaller one is of a
/// run that saw it alone later.
const ALWAYS: f64 = 0.99;

/// Whether a longer run would not help, because the sibling threads hardly rest.
pub(crate) fn are_busy(records: &[Record]) -> bool {
    shared_share(records).unwrap_or(0.0) > BUSY
}

/// Who took the time that the run lost.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    Host,
    Tasks,
    Unknown,
}

/// The sentence; `None` where others did nothing that matters.
pub(crate) fn others(run: &RunHeader, records: &[Record], shown: &[&Record]) -> Option<String> {
    let share = shared_share(records);
    let lost = run.noise_lost.zip(run.noise).filter(|(_, noise)| *noise > NoiseVerdict::Fine);
    let never = share.is_some_and(|share| share >= ALWAYS) && run.host.core.is_some_and(|core| !core.alone);
    let who = who(records);
    let on_siblings = share.map(|share| match never {
        true => "others worked on the sibling threads of its cores all the time".to_owned(),
        false => format!("others worked on the sibling threads of its cores in {} of the samples", percent(share)),
    });
    let took = lost.map(|(lost, _)| {
        let who = match who {
            Who::Host => "the host",
            Who::Tasks => "other tasks of this machine",
            Who::Unknown => "others",
        };
        format!("{who} took {} of its CPUs before it began", percent(lost))
    });
    let did: Vec<String> = on_siblings.into_iter().chain(took).collect();
    if did.is_empty() {
        return run.noise.is_none().then(|| "How noisy the host was is not known.".to_owned());
    }
    let beside = shown.iter().filter(|record| is_of_shared_core(record)).count();
    let groups = by_cause(&imprecise(shown));
    let short = groups.iter().find(|group| group.cause == Cause::Dropped(Label::Shared)).map_or(0, |group| group.count);
    let mut follows = Vec::new();
    if share.is_some() {
        follows.push(of_siblings(beside, short, shown.len()));
    }
    follows.extend(lost.map(|(_, noise)| match noise {
        NoiseVerdict::Hostile => "do not quote what waits for other tasks".to_owned(),
        _ => "what waits for other tasks may be slower than alone".to_owned(),
    }));
    let helps = match (lost, who) {
        _ if never || are_busy(records) => "; run again when they rest",
        (Some(_), Who::Tasks) => "; end these tasks and run again",
        _ if beside + short > 0 => "; a longer --budget helps",
        _ => "",
    };
    Some(format!("{}: {}{helps}.", capital(&did.join(", and ")), follows.join(", and ")))
}

/// What busy sibling threads did to the values: so many were measured beside them, and so many are
/// imprecise because their samples were dropped.
fn of_siblings(beside: usize, short: usize, of: usize) -> String {
    let be = |n: usize| format!("{n} of {of} values {}", if n == 1 { "is" } else { "are" });
    match (beside, short) {
        (0, 0) => "these are left out".to_owned(),
        (beside, 0) => format!("{} of a shared core, slower than alone", be(beside)),
        (0, short) => format!("{} imprecise for want of other samples", be(short)),
        (beside, short) => format!("{} of a shared core, slower than alone, and {short} imprecise", be(beside)),
    }
}

/// Who took time during the run, by the labels of its samples: a switch to another task is this
/// machine's own, time that passes without one is the host's.
fn who(records: &[Record]) -> Who {
    let samples = |of: Label| -> u64 {
        let alone = records.iter().filter(|record| record.workers == 1);
        alone.flat_map(dropping).filter(|(label, _)| *label == of).map(|(_, n)| n).sum()
    };
    let (stolen, preempted) = (samples(Label::Stolen), samples(Label::Preempted));
    match stolen.cmp(&preempted) {
        std::cmp::Ordering::Greater => Who::Host,
        std::cmp::Ordering::Less => Who::Tasks,
        std::cmp::Ordering::Equal => Who::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use groma_model::{CoreProbe, Flag, LabelCounts, Quantity, SharedCore};

    /// A run with this probe of its core, and noise.
    fn run(alone: Option<bool>, lost: Option<f64>) -> RunHeader {
        let mut run = fixtures::header();
        let probe = |alone| CoreProbe { length: 1, step: 0.0, idle: 4.0, alone, shared_below: Some(3.9) };
        run.host.core = alone.map(probe);
        (run.noise_lost, run.noise) = (lost, lost.map(NoiseVerdict::of_lost));
        run
    }

    /// A value of 100 samples, of which so many are clean, with these labels.
    fn value(clean: u64, labels: &[(char, u64)]) -> Record {
        let shared = labels.iter().find(|(letter, _)| *letter == 'N').map(|(_, n)| *n as f64 / 100.0);
        Record {
            samples: 100,
            clean,
            labels: LabelCounts(labels.to_vec()),
            shared: shared.map(|share| SharedCore { value: None, share, round_values: Vec::new() }),
            ci_display: Some([0.99e-7, 1.01e-7]),
            at_one_clock: None,
            flags: Vec::new(),
            ..fixtures::record("syscall.getppid", "", Quantity::Latency, 1e-7)
        }
    }

    fn beside(record: Record) -> Record {
        Record { flags: vec![Flag::SharedCore { share: 0.9 }.to_string()], ..record }
    }

    fn wide(record: Record) -> Record {
        Record { ci_display: Some([0.8e-7, 1.2e-7]), ..record }
    }

    fn said(run: &RunHeader, records: &[Record]) -> Option<String> {
        others(run, records, &records.iter().collect::<Vec<_>>())
    }

    #[test]
    fn nothing_is_said_of_a_quiet_run() {
        for lost in [0.0, 0.001, 0.02] {
            assert_eq!(said(&run(Some(true), Some(lost)), &[value(99, &[('P', 1)])]), None);
        }
        let unknown = said(&run(None, None), &[value(100, &[])]);
        assert_eq!(unknown.as_deref(), Some("How noisy the host was is not known."));
    }

    #[test]
    fn busy_siblings_are_told_with_what_they_did_to_the_values() {
        let own = || value(60, &[('N', 40)]);
        let of = |records: &[Record]| said(&run(Some(true), Some(0.0)), records).expect("a sentence");
        let did =
            |share: u32| format!("Others worked on the sibling threads of its cores in {share} % of the samples:");
        assert_eq!(of(&[own(), own()]), format!("{} these are left out.", did(40)));
        // Imprecise for another reason.
        assert_eq!(of(&[own(), wide(own())]), format!("{} these are left out.", did(40)));
        let short = wide(value(20, &[('N', 80)]));
        let want = "1 of 2 values is imprecise for want of other samples; a longer --budget helps.";
        assert_eq!(of(&[own(), short.clone()]), format!("{} {want}", did(60)));
        let shared = beside(value(100, &[('N', 90)]));
        let slower = "1 of 3 values is of a shared core, slower than alone, and 1 imprecise";
        let text = of(&[own(), short, shared.clone()]);
        assert_eq!(text, format!("{} {slower}; a longer --budget helps.", did(70)));
        let hardly = beside(value(100, &[('N', 98)]));
        assert!(
            of(&[shared, hardly])
                .ends_with(" 2 of 2 values are of a shared core, slower than alone; run again when they rest.")
        );
    }

    #[test]
    fn a_core_that_was_never_alone_is_told_as_its_labels_say() {
        let all = [beside(value(100, &[('N', 100)]))];
        let text = |alone, records: &[Record]| said(&run(Some(alone), Some(0.0)), records).expect("a sentence");
        let never = "Others worked on the sibling threads of its cores all the time: 1 of 1 values is of a shared core, \
                     slower than alone; run again when they rest.";
        assert_eq!(text(false, &all), never);
        // The preflight met nobody; or it met somebody always, and the rounds then saw the core
        // alone.
        assert!(text(true, &all).contains("in 100 % of the samples"));
        assert!(text(false, &[value(60, &[('N', 40)])]).contains("in 40 % of the samples: these are left out."));
    }

    #[test]
    fn lost_time_is_its_who_switched_or_did_not() {
        let of = |lost, records: &[Record]| said(&run(Some(true), Some(lost)), records).expect("a sentence");
        let stolen = value(80, &[('P', 5), ('S', 15)]);
        let slower = "what waits for other tasks may be slower than alone";
        assert_eq!(
            of(0.06, std::slice::from_ref(&stolen)),
            format!("The host took 6.0 % of its CPUs before it began: {slower}.")
        );
        let tasks = value(80, &[('P', 15), ('S', 5)]);
        let quote = "Other tasks of this machine took 30 % of its CPUs before it began: do not quote what waits for \
                     other tasks; end these tasks and run again.";
        assert_eq!(of(0.3, &[tasks]), quote);
        assert!(of(0.06, &[value(100, &[])]).starts_with("Others took 6.0 %"));
        // Both in one sentence.
        let both = of(0.06, &[stolen, value(60, &[('N', 40)])]);
        let did = "Others worked on the sibling threads of its cores in 20 % of the samples, and the host took 6.0 % of \
                   its CPUs before it began";
        assert_eq!(both, format!("{did}: these are left out, and {slower}."));
    }
}
