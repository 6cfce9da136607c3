//! The pages at the end of a run: the machine, the costs of the system, and the hardware.
//!
//! They fit a terminal, a mail and a code block: 45 lines each, at 80 columns or the width of the
//! terminal. Their content is data (`groma_model::page`); this is the layout. Not here: every
//! metric with its interval (`table`), and why one has no value (`summary`).

use groma_analysis::imprecise::{Cause, Group, by_cause};
use groma_model::page::{Block, Line, On, Shown};
use groma_model::{End, Families, Label, Pages, Record, RunHeader};
use groma_stats::median;

use crate::compare::capital;
use crate::hardware;
use crate::layout::{
    GAP, Mark, PRECISE, Strip, TWO_COLUMNS, column, in_two_columns, lines, rule, side_by_side, stacked,
};
use crate::limits::limits;
use crate::machine::host;
use crate::others::{are_busy, others};
use crate::runs::minute_utc;
use crate::style::{Ink, Style, wrap_behind};
use crate::units;

/// The system page needs this fraction of its lines.
const MIN_SHARE_OF_LINES: f64 = 0.5;
/// The widest page: in a wider one names would be far from their values.
const MAX_WIDTH: usize = 100;
/// This many causes of imprecise values are named.
const NAMED: usize = 3;
/// The narrowest terminal with both pages side by side.
const BOTH: usize = 2 * (TWO_COLUMNS - 1) + GAP;

/// The pages of a run; `None` where it has too little of them.
pub(crate) fn pages(
    families: Families<'_>,
    run: &RunHeader,
    records: &[Record],
    end: Option<&End>,
    style: &Style,
) -> Option<String> {
    let pages = families.pages;
    let system = system(pages, records)?;
    let side = style.width >= BOTH;
    let width = if side { TWO_COLUMNS - 1 } else { style.width.min(MAX_WIDTH) };
    let narrow = Style { width, ..*style };
    let mut first = vec![rule("SYSTEM", &narrow)];
    first.extend(in_columns(&system, records, &narrow));
    // A rule with nothing below it is not a page.
    let second = hardware::strips(families, run, records, &narrow).filter(|page| page.len() > 1).unwrap_or_default();
    let whole = Style { width: if side { BOTH } else { width }, ..*style };
    let mut shown = shown(pages, records);
    // Metrics that this machine lacks count if the page shows a dash for them.
    let dashes = self::shown(Pages { hardware: &[], rows: &[], ..pages }, records);
    shown.retain(|r| Mark::of(r) != Mark::NotHere || dashes.iter().any(|other| std::ptr::eq(*other, *r)));
    let mut out = header(run, records, &shown, end, &whole);
    out.push('\n');
    let body = if side {
        side_by_side(first, second, TWO_COLUMNS - 1 + GAP)
    } else {
        stacked(&[first, second].into_iter().filter(|page| !page.is_empty()).collect::<Vec<_>>())
    };
    for strip in body {
        out += strip.line();
        out.push('\n');
    }
    out.push('\n');
    out += &footer(&shown, are_busy(records), &whole);
    Some(out)
}

/// The blocks of the system page that have a line in this run; `None` with too few: fewer than half
/// of the lines of a quick survey.
pub(crate) fn system<'p>(pages: Pages<'p>, records: &[Record]) -> Option<Vec<&'p Block>> {
    let lines = || pages.system.iter().flat_map(|block| block.lines);
    let any = |line: &Line, is: &dyn Fn(&Shown) -> bool| line.values.iter().flatten().any(is);
    let has = |line: &&Line| any(line, &|shown| shown.find(records).is_some());
    let (there, quick) = (lines().filter(has).count(), lines().filter(|line| any(line, &|shown| shown.quick)).count());
    let blocks = pages.system.iter().filter(|block| block.lines.iter().any(|line| has(&line)));
    (there > 0 && there as f64 >= MIN_SHARE_OF_LINES * quick as f64).then(|| blocks.collect())
}

/// The records on the pages, each once.
pub(crate) fn shown<'r>(pages: Pages<'_>, records: &'r [Record]) -> Vec<&'r Record> {
    let mut shown: Vec<&Record> = Vec::new();
    for place in pages.shown_metrics() {
        let here: Vec<&Record> = match place.on {
            On::Each => records.iter().filter(|r| r.id == place.metric && place.has(&r.params)).collect(),
            _ => place.find(records).into_iter().collect(),
        };
        for record in here {
            if !shown.iter().any(|other| std::ptr::eq(*other, record)) {
                shown.push(record);
            }
        }
    }
    shown
}

/// Blocks in one or two columns.
fn in_columns(blocks: &[&Block], records: &[Record], style: &Style) -> Vec<Strip> {
    let (column, two) = column(style);
    let stacks: Vec<Vec<Strip>> =
        blocks.iter().map(|block| lines(block, records, column, style)).filter(|lines| !lines.is_empty()).collect();
    if two { in_two_columns(stacks, column + GAP) } else { stacked(&stacks) }
}

/// What was measured where and when, how far to trust it, and the meaning of the signs.
fn header(run: &RunHeader, records: &[Record], shown: &[&Record], end: Option<&End>, style: &Style) -> String {
    let mut out = wrap_behind("", &style.paint(Ink::Strong, &style.text(&host(&run.environment))), style.width);
    out += &wrap_behind("", &style.text(&identity(run, end, " survey")), style.width);
    let trust = Some(trust(run, records, shown, end).join(" ")).filter(|text| !text.is_empty());
    for text in [trust, Some(legend(shown)), causes(shown)].into_iter().flatten() {
        out += &wrap_behind("", &style.text(&text), style.width);
    }
    out
}

/// When it ran, how long it took, and its id.
pub(crate) fn identity(run: &RunHeader, end: Option<&End>, what: &str) -> String {
    let when = minute_utc(&run.started);
    let took = end.map(|end| format!(" in {}", units::wall(end.wall_s))).unwrap_or_default();
    format!("{when}, groma {}, {}{what}{took}, run {}", run.groma, run.profile.word(), run.run)
}

/// How far to trust the values, in sentences; none where nothing is to be said.
pub(crate) fn trust(run: &RunHeader, records: &[Record], shown: &[&Record], end: Option<&End>) -> Vec<String> {
    // What limits of its own took comes before what others took: it is no reason to wait for them.
    let mut trust: Vec<String> = limits(run, end).iter().map(|text| format!("{}.", capital(text))).collect();
    trust.extend(others(run, records, shown));
    trust.extend(clock(shown));
    match end {
        None => trust.push("The run has not ended, or was killed.".to_owned()),
        Some(end) if end.interrupted => trust.push("Interrupted: only a part was measured.".to_owned()),
        Some(_) => {}
    }
    trust
}

/// The range of the core's clock, if it would make values imprecise that are precise at a constant
/// clock.
fn clock(shown: &[&Record]) -> Option<String> {
    let moved = shown.iter().filter(|r| Mark::of(r) == Mark::None && r.half_width().is_some_and(|half| half > PRECISE));
    let (least, most): (Vec<f64>, Vec<f64>) =
        moved.filter_map(|r| r.at_one_clock.as_ref()).map(|at| (at.hz[0] / 1e9, at.hz[1] / 1e9)).unzip();
    let (least, most) = (median(&least)?, median(&most)?);
    Some(format!("The core's clock moved between {least:.2} and {most:.2} GHz, and times with it; ~ leaves that out."))
}

/// The signs in use, with their meanings and counts.
pub(crate) fn legend(shown: &[&Record]) -> String {
    let marks: Vec<Mark> = shown.iter().map(|r| Mark::of(r)).collect();
    let count = |mark: Mark| marks.iter().filter(|m| **m == mark).count();
    let marked = Mark::LEGEND.iter().map(|(mark, word)| (count(*mark), mark, word)).filter(|(n, ..)| *n > 0);
    let marked: String = marked
        .map(|(n, mark, word)| {
            let why = if *mark == Mark::Imprecise { format!(" ({})", how_imprecise(shown)) } else { String::new() };
            format!(", {n} {} {word}{why}", mark.sign())
        })
        .collect();
    format!("{} values, with those of curves: {} good{marked}. ≠ is not as declared.", marks.len(), count(Mark::None))
}

/// The values with the sign of imprecise ones.
pub(crate) fn imprecise<'r>(shown: &[&'r Record]) -> Vec<&'r Record> {
    shown.iter().copied().filter(|r| Mark::of(r) == Mark::Imprecise).collect()
}

/// How imprecise values are: how wide their intervals are, and how many have none.
fn how_imprecise(shown: &[&Record]) -> String {
    let halves: Vec<Option<f64>> = imprecise(shown).iter().map(|r| r.precision()).collect();
    let without = halves.iter().filter(|half| half.is_none()).count();
    let wide = median(&halves.into_iter().flatten().collect::<Vec<_>>())
        .map(|half| format!("over ± 5 %, half of them over {}", units::percent(half)));
    match (without, wide) {
        (0, Some(wide)) => format!("95 % interval {wide}"),
        (_, None) => "too few rounds for a 95 % interval".to_owned(),
        (without, Some(wide)) => format!("{without} had too few rounds for a 95 % interval, the others are {wide}"),
    }
}

/// The most frequent causes of imprecise values, with their counts; `None` if all are precise.
pub(crate) fn causes(shown: &[&Record]) -> Option<String> {
    let groups = by_cause(&imprecise(shown));
    let mut parts: Vec<String> = groups.iter().take(NAMED).map(cause).collect();
    match groups.iter().skip(NAMED).map(|group| group.count).sum() {
        0 => {}
        1 => parts.push("1 other".to_owned()),
        n => parts.push(format!("{n} others")),
    }
    (!parts.is_empty()).then(|| format!("Why imprecise: {}.", parts.join(", ")))
}

/// A cause with its count.
fn cause(group: &Group<'_>) -> String {
    let (n, (family, of_family)) = (group.count, group.most);
    let differ = || format!("rounds differ by ± {}", units::percent(group.half_width.unwrap_or(f64::NAN)));
    match group.cause {
        Cause::FewRounds => format!("{n} with too few rounds ({of_family} of {family})"),
        Cause::Dropped(label) => format!("{n} by {} (most samples dropped)", dropped_by(label)),
        Cause::BetweenCpus => format!("{n} between two CPUs ({})", differ()),
        Cause::Beside => format!("{n} measured beside a busy sibling thread"),
        Cause::Family(family) => format!("{n} of {family} ({})", differ()),
    }
}

/// What dropped samples with this label.
fn dropped_by(label: Label) -> &'static str {
    match label {
        Label::Shared => "a busy sibling thread",
        Label::Preempted => "other tasks on the CPU",
        Label::Voluntary => "waiting",
        Label::Migrated => "moves to another CPU",
        Label::Faulted => "page faults",
        Label::Stolen => "stolen time or interrupts",
        Label::Clock => "clocks that disagree",
        Label::Overlap => "members that did not work together",
        // These drop nothing.
        Label::Frequency | Label::Host => label.meaning(),
    }
}

/// Where to find more. `busy` neighbours have to rest before another run helps.
fn footer(shown: &[&Record], busy: bool, style: &Style) -> String {
    let name = style.program;
    let mut out = format!("Every value with its ±: {name} show --all. ");
    // Not `run FAMILY`: that measures the whole family, two or three times what the page shows.
    match shown.iter().any(|r| Mark::of(r) == Mark::Imprecise) {
        true if busy => out += &format!("When the neighbours rest: {name} watch; then {name} run again. "),
        true => out += &format!("To narrow the ~, in 3 minutes: {name} run --budget 3m. "),
        false => {}
    }
    if shown.iter().any(|r| Mark::of(r) != Mark::None) {
        out += &format!("Why a sign: {name} show --states. ");
    }
    if let Some(record) = shown.first() {
        let family = record.id.split('.').next().unwrap_or_default();
        out += &format!("What the lines of ({family}) mean: {name} explain {family}.");
    }
    wrap_behind("", &style.text(&out), style.width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::style::columns;
    use groma_analysis::point::family;
    use groma_model::{AtOneClock, LabelCounts, Placement, SharedCore, State};

    fn page(records: &[Record], style: &Style) -> Option<String> {
        pages(fixtures::families(), &fixtures::survey().0, records, Some(&fixtures::end(records)), style)
    }

    /// The lengths of the two pages of a text, each from its rule to the next blank line before
    /// another rule.
    fn lengths(text: &str) -> Vec<usize> {
        let lines: Vec<&str> = text.lines().collect();
        let rules: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].contains("───")).collect();
        let ends = rules.iter().skip(1).copied().chain([lines.len() - 2]);
        rules.iter().zip(ends).map(|(start, end)| end - start - 1).collect()
    }

    #[test]
    fn at_80_100_and_170_columns() {
        let (_, records) = fixtures::survey();
        for width in [80, 100, 160, 170] {
            let text = page(&records, &Style::plain(width)).expect("a survey");
            for line in text.lines() {
                assert!(columns(line) <= width, "{width}: {line}");
                assert_eq!(line.trim_end(), line);
            }
            assert!(lengths(&text).iter().all(|lines| *lines <= 45), "{:?}:\n{text}", lengths(&text));
            insta::assert_snapshot!(format!("pages_{width}"), text);
        }
    }

    /// Two virtual CPUs on separate sockets share no cache, and two threads of a core have no other
    /// placement.
    #[test]
    fn a_cell_shows_the_first_measured_placement() {
        use groma_model::Quantity;
        let at = |placement, value: Option<f64>| Record {
            placement,
            value,
            ..fixtures::record("ipc.pipe_rtt", "size=1", Quantity::Latency, 1e-6)
        };
        let two = Shown::of("ipc.pipe_rtt", &[("size", "1")]).on(On::Two);
        let found = |records: &[Record]| two.find(records).map(|r| (r.placement.clone(), r.value));
        let near = |value| at(Placement::SameLlc, value);
        let far = |value| at(Placement::CrossLlc, value);
        let measured = [at(Placement::Pinned, Some(1.0)), far(Some(3.0)), near(Some(2.0))];
        assert_eq!(found(&measured), Some((Placement::SameLlc, Some(2.0))));
        assert_eq!(found(&[near(None), far(Some(3.0))]), Some((Placement::CrossLlc, Some(3.0))));
        assert_eq!(found(&[near(None), at(Placement::Smt, Some(4.0))]), Some((Placement::Smt, Some(4.0))));
        assert_eq!(found(&[far(None), near(None)]), Some((Placement::SameLlc, None)));
        assert_eq!(found(&measured[..1]), None);
    }

    #[test]
    fn a_changed_clock_is_reported_and_makes_nothing_imprecise() {
        let (run, records) = fixtures::survey();
        let wide = |r: &Record| r.value.map(|v| Record { ci_display: Some([0.9 * v, 1.1 * v]), ..r.clone() });
        let at = AtOneClock { half_width: 0.004, hz: [2.991e9, 3.589e9] };
        let moved: Vec<Record> =
            records.iter().filter_map(wide).map(|r| Record { at_one_clock: Some(at.clone()), ..r }).collect();
        let moved: Vec<&Record> = moved.iter().collect();
        let good = |records: &[&Record]| records.iter().filter(|r| Mark::of(r) == Mark::None).count();
        assert!(good(&moved) > 100, "{}", good(&moved));
        let text = trust(&run, &records, &moved, None).join(" ");
        assert!(text.contains("clock moved between 2.99 and 3.59 GHz, and times with it"), "{text}");
        // Where the clock does not explain it, the value is imprecise, and no sentence mentions the
        // clock.
        let wide: Vec<Record> = records.iter().filter_map(wide).collect();
        let wide: Vec<&Record> = wide.iter().collect();
        assert_eq!(good(&wide), 0);
        assert!(!trust(&run, &records, &wide, None).join(" ").contains("clock moved"));
    }

    #[test]
    fn colour_moves_nothing_and_ascii_is_ascii() {
        let (_, records) = fixtures::survey();
        let plain = page(&records, &Style::plain(100)).expect("a survey");
        let colour = page(&records, &Style { colour: true, ..Style::plain(100) }).expect("a survey");
        let mut without = String::new();
        for (i, part) in colour.split("\x1b[").enumerate() {
            without += if i == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) };
        }
        assert_eq!(without, plain);
        let ascii = page(&records, &Style { unicode: false, ..Style::plain(100) }).expect("a survey");
        assert!(ascii.is_ascii(), "{ascii}");
    }

    #[test]
    fn a_value_without_an_interval_is_not_called_wide() {
        let (_, records) = fixtures::survey();
        let some: Vec<&Record> = records.iter().filter(|r| r.value.is_some_and(|v| v > 0.0)).take(3).collect();
        let wide = |r: &Record| {
            let ends = r.value.map(|v| [0.8 * v, 1.2 * v]);
            Record { state: State::Noisy, ci_display: ends, at_one_clock: None, ..r.clone() }
        };
        let none = |r: &Record| Record { ci_display: None, ..wide(r) };
        let text = |all: &[Record]| legend(&all.iter().collect::<Vec<_>>());
        let [a, b, c] = some[..] else { panic!("three values") };
        let three = "3 values, with those of curves: 0 good, 3 ~ imprecise";
        let end = "). ≠ is not as declared.";
        let none_has = text(&[none(a), none(b), none(c)]);
        assert_eq!(none_has, format!("{three} (too few rounds for a 95 % interval{end}"));
        let all_have = text(&[wide(a), wide(b), wide(c)]);
        assert_eq!(all_have, format!("{three} (95 % interval over ± 5 %, half of them over 20 %{end}"));
        let one_has = text(&[none(a), wide(b), none(c)]);
        let two = "2 had too few rounds for a 95 % interval, the others are over ± 5 %, half of them over 20 %";
        assert_eq!(one_has, format!("{three} ({two}{end}"));
    }

    #[test]
    fn three_causes_are_named_and_the_counts_add_up() {
        let (_, records) = fixtures::survey();
        let family_of = |r: &&Record, name: &str| family(&r.id) == name && r.placement == Placement::Pinned;
        let some = |name: &str, n: usize, half: f64| -> Vec<Record> {
            let records = records.iter().filter(|r| family_of(r, name) && r.value.is_some()).take(n);
            let wide = |r: &Record| r.value.map(|v| [v - v * half, v + v * half]);
            records.map(|r| Record { ci_display: wide(r), at_one_clock: None, ..r.clone() }).collect()
        };
        let few = |mut all: Vec<Record>| {
            all.iter_mut().for_each(|r| r.ci_display = None);
            all
        };
        let text = |parts: &[Vec<Record>]| causes(&parts.iter().flatten().collect::<Vec<_>>());
        assert_eq!(text(&[some("mem", 5, 0.04)]), None);
        let three = [some("vm", 2, 0.12), few(some("mem", 3, 0.0)), few(some("cpu", 1, 0.0)), some("disk", 1, 0.2)];
        let named = "Why imprecise: 4 with too few rounds (3 of mem), 2 of vm (rounds differ by ± 12 %)";
        assert_eq!(text(&three), Some(format!("{named}, 1 of disk (rounds differ by ± 20 %).")));
        let four = [&three[..], &[some("syscall", 1, 0.3), some("file", 1, 0.3)]].concat();
        assert_eq!(text(&four), Some(format!("{named}, 1 of disk (rounds differ by ± 20 %), 2 others.")));
    }

    #[test]
    fn each_sign_of_a_page_has_its_colour() {
        let (_, records) = fixtures::survey();
        let noisy: Vec<Record> = records.iter().map(|r| Record { state: State::Noisy, ..r.clone() }).collect();
        let style = Style { colour: true, ..Style::plain(100) };
        let text = page(&noisy, &style).expect("a survey");
        let start = style.paint(Ink::Warning, "~").split('~').next().map(|code| format!("{code}~")).expect("a code");
        // The header and the last lines mention the sign in a sentence.
        let signed =
            text.lines().filter(|line| line.contains('~') && !line.contains("imprecise") && !line.contains("run"));
        let signed: Vec<&str> = signed.collect();
        assert!(signed.iter().any(|line| line.contains("L1 cache")), "{signed:#?}");
        for line in signed {
            assert_eq!(line.matches('~').count(), line.matches(start.as_str()).count(), "{line:?}");
        }
    }

    #[test]
    fn a_run_without_a_survey_has_no_pages() {
        let (_, mut records) = fixtures::survey();
        records.retain(|r| family(&r.id) == "ipc");
        assert!(page(&records, &Style::plain(100)).is_none());
        assert!(page(&[], &Style::plain(100)).is_none());
    }

    #[test]
    fn any_width_and_any_state_is_shown() {
        let (_, records) = fixtures::survey();
        for width in [1, 40, 79, 81, 161, 162, 500] {
            page(&records, &Style::plain(width)).expect("a survey");
        }
        let failed: Vec<Record> =
            records.iter().map(|r| fixtures::without(r.clone(), State::Failed, "it went wrong")).collect();
        let text = page(&failed, &Style::plain(80)).expect("a survey");
        assert!(text.contains(" !") && text.contains(": 0 good, "), "{text}");
    }

    #[test]
    fn a_consequence_is_grouped_by_its_reason() {
        let (_, records) = fixtures::survey();
        let wide = |r: &Record| r.value.map(|v| [0.8 * v, 1.2 * v]);
        let labels = [vec![('N', 60)], vec![('N', 60)], vec![('P', 3), ('S', 90)]];
        let dropped = |(r, labels): (&Record, Vec<(char, u64)>)| Record {
            ci_display: wide(r),
            at_one_clock: None,
            samples: 100,
            clean: 5,
            shared: Some(SharedCore { value: None, share: 0.6, round_values: Vec::new() }),
            labels: LabelCounts(labels),
            ..r.clone()
        };
        let some = records.iter().filter(|r| r.workers == 1 && r.value.is_some_and(|v| v > 0.0));
        let all: Vec<Record> = some.zip(labels).map(dropped).collect();
        let text = causes(&all.iter().collect::<Vec<_>>());
        let by_two = "2 by a busy sibling thread (most samples dropped)";
        let by_one = "1 by stolen time or interrupts (most samples dropped)";
        assert_eq!(text, Some(format!("Why imprecise: {by_two}, {by_one}.")));
    }

    #[test]
    fn who_has_to_wait_is_told_for_what() {
        let (run, mut records) = fixtures::survey();
        let text = |records: &[Record]| page(records, &Style::plain(170)).expect("a survey").replace('\n', " ");
        let share = |share| SharedCore { value: None, share, round_values: Vec::new() };
        for (of, waits) in [(0.7, false), (0.95, true)] {
            records.iter_mut().filter(|r| r.workers == 1).for_each(|r| r.shared = Some(share(of)));
            assert_eq!(text(&records).contains("groma watch; then groma run again"), waits, "{of}");
            let sentences = trust(&run, &records, &shown(fixtures::families().pages, &records), None);
            assert!(sentences[0].starts_with("Others worked on") && sentences.len() == 2, "{sentences:?}");
        }
    }

    #[test]
    fn signs_are_counted_and_a_remedy_is_named() {
        let (_, records) = fixtures::survey();
        let text = page(&records, &Style::plain(100)).expect("a survey");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for sign in [" ~ imprecise", " ? unresolved", " – not here", " ! failed"] {
            assert!(text.contains(sign), "{sign}: {text}");
        }
        let wide = |r: &Record| r.value.map(|v| Record { ci_display: Some([0.8 * v, 1.2 * v]), ..r.clone() });
        let imprecise: Vec<Record> = records.iter().map(|r| wide(r).unwrap_or(r.clone())).collect();
        let text = page(&imprecise, &Style::plain(100)).expect("a survey");
        assert!(text.contains("To narrow the ~, in 3 minutes: groma run --budget 3m."), "{text}");
    }
}
