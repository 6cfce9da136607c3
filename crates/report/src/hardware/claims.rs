//! The text of claims: declared and measured values.

use groma_analysis::claims::{Amount, Claim, Note, Subject, Verdict};

use crate::point::{cpu_list, level_name};
use crate::units::{self, Scale, size, time};

/// The name of a claim's row.
pub(crate) fn name(subject: Subject) -> &'static str {
    match subject {
        Subject::CoreClock => "core clock",
        Subject::CounterRate => "cycle counter",
        Subject::Cache(_) | Subject::Memory => level(subject),
        Subject::CacheLine => "cache line",
        Subject::Ways(0) => "ways of the L1 cache",
        Subject::Ways(_) => "ways of the L2 cache",
        Subject::FirstTlb => "first data TLB",
        Subject::SecondTlb => "second TLB",
        Subject::PageWalk => "page walk",
        Subject::HugePage => "huge page",
        Subject::SharedCache => "share the L3 cache",
        Subject::Nodes => "NUMA",
    }
}

/// The name of a level of the memory hierarchy.
pub(super) const fn level(subject: Subject) -> &'static str {
    match subject {
        Subject::Cache(0) => "L1 cache",
        Subject::Cache(1) => "L2 cache",
        Subject::Cache(_) => "L3 cache",
        _ => "memory",
    }
}

/// The measured value, its cost, and the declared value if it differs.
pub(super) fn shown(claim: &Claim) -> String {
    let measured = amount(&claim.measured);
    let time = claim.seconds.map(time);
    let found: Vec<String> = [Some(measured).filter(|text| !text.is_empty()), time].into_iter().flatten().collect();
    let found = found.join(", ");
    match claim.verdict {
        Some(Verdict::Disagree) => format!("≠ {found}, not {}", amount(&claim.declared)),
        Some(Verdict::NotDeterminable) => format!("? (declared {})", amount(&claim.declared)),
        Some(Verdict::Agree) | None if found.is_empty() => "?".to_owned(),
        Some(Verdict::Agree) | None => found,
    }
}

pub(crate) fn amount(amount: &Amount) -> String {
    match amount {
        Amount::Nothing => String::new(),
        Amount::NotFound => "?".to_owned(),
        Amount::Ended(state) => state.word().to_owned(),
        Amount::Frequency(hertz) => units::value(*hertz, Scale::Frequency, None),
        Amount::ExactFrequency(hertz) if *hertz >= 1e9 => format!("{:.4} GHz", hertz / 1e9),
        Amount::ExactFrequency(hertz) => units::value(*hertz, Scale::Frequency, Some(0.0)),
        Amount::Size(bytes) => size(*bytes),
        Amount::Sizes(from, to) => units::range(*from, *to, Scale::Size),
        Amount::Count(count) => units::value(*count, Scale::Count, None),
        Amount::CountOf(count, bytes) => format!("{} of {}", units::value(*count, Scale::Count, None), size(*bytes)),
        Amount::Times(from, to) => units::range(*from, *to, Scale::Time),
        Amount::HugePages => "huge".to_owned(),
        Amount::Declared(text) => text.clone(),
        Amount::Groups(groups) => groups.iter().map(cpu_list).collect::<Vec<_>>().join(" | "),
        Amount::Nodes(nodes) => format!("{nodes} nodes"),
        Amount::NearAndFar(near, far) => format!("{} near, {} far", time(*near), time(*far)),
    }
}

/// The note below the table; empty where there is none.
pub(super) fn note(claim: &Claim) -> String {
    match &claim.note {
        Note::Nothing => match claim.measured {
            Amount::Sizes(from, to) => {
                format!("latency rises from {} on and has left this level by {}", size(from), size(to))
            }
            _ => String::new(),
        },
        Note::Reason(reason) => reason.clone(),
        Note::CpusDiffer(low, high) => {
            format!("{} on the CPUs of this machine", units::range(*low, *high, Scale::Frequency))
        }
        Note::Off(off) => format!("{:.0} ppm off what is declared", off * 1e6),
        Note::NoLevel { largest, half_way } => {
            let mut text = "the curve has no flat stretch that ends there".to_owned();
            if let Some(largest) = largest {
                text += &format!(", and its largest chain, {}, is not larger", size(*largest));
            }
            if let Some((rank, middle)) = half_way {
                text += &format!("; from {} the curve is half-way to memory at {}", level_name(*rank), size(*middle));
            }
            text
        }
        Note::SharedAway { declared, measured, guest: true } => format!(
            "{} declared, {} available now: a share of a cache that other machines use",
            size(*declared),
            size(*measured)
        ),
        Note::SharedAway { declared, measured, guest: false } => format!(
            "{} declared, {} available to one CPU now: other tasks use it, or a part of it is kept from this CPU",
            size(*declared),
            size(*measured)
        ),
        Note::Unsettled(bytes) => {
            format!("laps through {} never agreed, so where the cache ends is unknown", size(*bytes))
        }
        Note::Beside => "shared core: the sibling thread was busy, and this is the share that it left".to_owned(),
        Note::BasePages(metric) => {
            format!("base pages fill a physically indexed cache unevenly (try {metric} --param pages=huge)")
        }
        Note::Hypervisor => "the hypervisor may declare another CPU's cache".to_owned(),
        Note::Elsewhere => "the curve leaves its level elsewhere than declared".to_owned(),
        Note::RestInUse => "the rest is in use, or beyond a limit".to_owned(),
        Note::LinePairs(bytes) => format!("lines come in pairs of {}", size(*bytes)),
        Note::Rounds { declared, same, of, measured } => match same {
            0 => format!(
                "{} declared; no two rounds found the same, {} in the middle",
                amount(declared),
                amount(measured)
            ),
            _ => format!("{} declared; {same} of {of} rounds found {}", amount(declared), amount(measured)),
        },
        Note::Fractured(bytes) => {
            let what = bytes.map_or("smaller".to_owned(), size);
            format!("the host backs it with {what} pages")
        }
        Note::ReachUnclear => "the reach of the TLB does not tell".to_owned(),
        Note::TwoCpus => "two CPUs have one latency, and nothing to hold it against".to_owned(),
        Note::PairsMissing => "not every pair of CPUs was measured".to_owned(),
        Note::AllAlike => "transfers between all CPUs take about as long".to_owned(),
        Note::OtherGroups => "the groups by transfers between CPUs are others than the one that is declared".to_owned(),
        Note::MayBeOneNode(ratio) => format!(
            "the nodes are declared apart, and the memory of another costs {ratio:.2} times as much: they may be one"
        ),
        Note::NodesApart(ratio) => format!("the memory of another node costs {ratio:.2} times as much"),
    }
}
