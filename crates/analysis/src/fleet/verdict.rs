//! The judgement: a verdict on every host.

use super::drift::{Drift, Past, drift, equals_of, past_of};
use super::finding::{Finding, Subject};
use super::groups::{Basis, Group, Grouping, MIN_HOSTS, differing, groups, settings};
use super::outliers::{Asked, Compared, GroupUsual, hosts_to_name};
use super::references::{BesideReferences, Known, beside};
use super::signatures::{Fit, Signatures};
use super::{Fleet, Host};

/// What is asked of a judgement.
#[derive(Clone, Debug)]
pub struct Options {
    /// The smallest slow-down that matters, as a fraction: 0.05.
    pub at_least: f64,
    /// The signatures.
    pub signatures: Signatures,
    /// What the references have.
    pub references: Known,
    /// An earlier judgement.
    pub past: Vec<Past>,
}

impl Options {
    fn least(&self) -> f64 {
        self.at_least.ln_1p()
    }
}

/// What a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Slower than those that should be equal.
    Suspect,
    /// It looks slow, and is measured so imprecisely that it may not be.
    Noisy,
    /// There are too few like it.
    Unjudged,
    /// Like the others.
    Well,
}

impl Verdict {
    /// All verdicts, the worst first.
    pub const ALL: [Verdict; 4] = [Verdict::Suspect, Verdict::Noisy, Verdict::Unjudged, Verdict::Well];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Suspect => "suspect",
            Verdict::Noisy => "noisy",
            Verdict::Unjudged => "unjudged",
            Verdict::Well => "well",
        }
    }
}

/// What a fresh run said of a suspect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// Nothing was run.
    Unasked,
    /// It is as slow again.
    Yes,
    /// It is not.
    No,
    /// The run failed, for this reason.
    Failed(String),
}

/// A host with its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The index of the host.
    pub host: usize,
    /// The index of its group.
    pub group: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// What lies beyond the group, the slowest first, if it is a suspect.
    pub findings: Vec<Finding>,
    /// The excess of every subject, as a logarithm.
    pub excesses: Vec<(Subject, f64)>,
    /// What explains the findings.
    pub fit: Option<Fit>,
    /// Remarks from its facts alone.
    pub remarks: Vec<Fit>,
    /// Beside the references, if there is no group to judge it by.
    pub beside: Option<BesideReferences>,
    /// What a fresh run said.
    pub confirmed: Confirmed,
}

/// The judgement of all hosts.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The groups.
    pub grouping: Grouping,
    /// The hosts, the worst verdict first, within it the slowest.
    pub hosts: Vec<Judged>,
    /// What is usual in each group that was judged by itself, and for those that were judged by an
    /// earlier group what was usual there.
    pub usual: Vec<GroupUsual>,
    /// What changed in each group since the earlier judgement; empty without one.
    pub drifts: Vec<Vec<Drift>>,
    /// The metrics of each area.
    pub areas: Vec<Vec<u32>>,
}

impl Judgement {
    /// The number of hosts with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.hosts.iter().filter(|host| host.verdict == verdict).count()
    }

    /// What is usual where a group is judged.
    pub fn usual_of(&self, group: usize) -> Option<&GroupUsual> {
        match self.grouping.groups[group].basis {
            Basis::Itself | Basis::Past(_) => Some(&self.usual[group]),
            Basis::Group(other) => Some(&self.usual[other]),
            Basis::References => None,
        }
    }

    /// Sorts the hosts: the worst verdict first, within it the slowest.
    pub fn sort(&mut self, fleet: &Fleet) {
        let slowest = |judged: &Judged| judged.findings.iter().map(|found| found.times).fold(1.0, f64::max);
        let most = |judged: &Judged| judged.excesses.iter().map(|(_, excess)| *excess).fold(f64::MIN, f64::max);
        self.hosts.sort_by(|a, b| {
            let by_size = slowest(b).total_cmp(&slowest(a)).then(most(b).total_cmp(&most(a)));
            let by_name = || fleet.hosts[a.host].name.cmp(&fleet.hosts[b.host].name);
            a.verdict.cmp(&b.verdict).then(by_size).then_with(by_name)
        });
    }
}

/// Judges every host.
pub fn judge(fleet: &Fleet, options: &Options) -> Judgement {
    let areas = options.signatures.members(&fleet.metrics);
    let mut grouping = groups(&fleet.hosts);
    let families = &grouping.families;
    let of_group = |group: &mut Group| match group.basis {
        Basis::Itself => GroupUsual::of(&fleet.hosts, &group.hosts, &areas, MIN_HOSTS),
        Basis::References => of_past(fleet, options, (&families[group.family], &areas), group),
        Basis::Group(_) | Basis::Past(_) => GroupUsual::default(),
    };
    let usual: Vec<GroupUsual> = grouping.groups.iter_mut().map(of_group).collect();
    let mut compared: Vec<(usize, usize, Option<Compared>)> = Vec::new();
    for (g, group) in grouping.groups.iter().enumerate() {
        for &host in &group.hosts {
            let by = match group.basis {
                Basis::Itself | Basis::Past(_) => Some(g),
                Basis::Group(other) => Some(other),
                Basis::References => None,
            };
            let found = by.map(|by| usual[by].compare(host, &fleet.hosts[host], &areas, options.least()));
            compared.push((host, g, found.filter(|found| !found.tests.is_empty())));
        }
    }
    let asked = compared.iter().filter_map(|(_, group, found)| {
        let found = found.as_ref()?;
        Some(Asked { p: found.p(), p_of_all: found.p_of_all(), group: *group })
    });
    let mut is_named = hosts_to_name(&asked.collect::<Vec<_>>()).into_iter();
    let hosts = compared.into_iter().map(|(host, group, found)| {
        let is_named = found.is_some() && is_named.next().unwrap_or(false);
        of_host(fleet, options, (&grouping, &areas), (host, group), found, is_named)
    });
    let hosts = hosts.collect();
    let drifts = grouping.groups.iter().zip(&usual).map(|(group, usual)| {
        if group.basis != Basis::Itself {
            return Vec::new();
        }
        let kind = &grouping.families[group.family];
        let past = past_of(&options.past, kind, fleet, &group.hosts);
        past.map(|past| drift(usual, &fleet.metrics, past, options.least())).unwrap_or_default()
    });
    let drifts = drifts.collect();
    let mut judgement = Judgement { grouping, hosts, usual, drifts, areas };
    judgement.sort(fleet);
    judgement
}

/// What was usual in the earlier group that serves as the equals of hosts that have too few. Notes
/// in the group that it does, and which settings differ.
fn of_past(fleet: &Fleet, options: &Options, (kind, areas): (&[String], &[Vec<u32>]), group: &mut Group) -> GroupUsual {
    let here = settings(&fleet.hosts, &group.hosts);
    let Some(past) = equals_of(&options.past, kind, &here, fleet, &group.hosts) else { return GroupUsual::default() };
    group.basis = Basis::Past(past.runs);
    group.differs = differing(&here, &past.settings);
    past.usual(&fleet.metrics, &options.signatures, areas)
}

fn of_host(
    fleet: &Fleet,
    options: &Options,
    (grouping, areas): (&Grouping, &[Vec<u32>]),
    (index, group): (usize, usize),
    found: Option<Compared>,
    is_named: bool,
) -> Judged {
    let host = &fleet.hosts[index];
    let differs = &grouping.groups[group].differs;
    let mut judged = Judged {
        host: index,
        group,
        verdict: Verdict::Unjudged,
        findings: Vec::new(),
        excesses: Vec::new(),
        fit: None,
        remarks: options.signatures.remarks(host, differs),
        beside: None,
        confirmed: Confirmed::Unasked,
    };
    let Some(found) = found else {
        judged.beside = Some(beside(host, &fleet.metrics, &options.references, options.least()));
        return judged;
    };
    judged.verdict = match () {
        () if is_named => Verdict::Suspect,
        () if found.is_noisy() || is_incomplete(host) => Verdict::Noisy,
        () => Verdict::Well,
    };
    if is_named {
        judged.findings = found.findings();
        judged.fit = options.signatures.best(&judged.findings, host, differs, areas);
    }
    judged.excesses = found.excesses;
    judged
}

/// Whether more metrics were measured in vain than have a value.
fn is_incomplete(host: &Host) -> bool {
    host.without_value > host.values.len()
}

/// The level at which a fresh run confirms one of the findings: chance alone repeats a finding in
/// one of a hundred.
const CONFIRMS: f64 = 0.01;

/// Whether a fresh run of a suspect is slow in one of the same subjects.
pub fn is_confirmed(judgement: &Judgement, judged: &Judged, fresh: &Host, options: &Options) -> bool {
    let Some(usual) = judgement.usual_of(judged.group) else { return false };
    // Its earlier run is left out of what is usual. That it matters was found before: here half of
    // it is enough, or the next draw of a fault of just that size would clear the host.
    let again = usual.compare(judged.host, fresh, &judgement.areas, options.least() / 2.0);
    // p is adjusted for all subjects; here only the findings are asked about.
    let asked = judged.findings.len() as f64 / again.tests.len().max(1) as f64;
    judged.findings.iter().any(|found| {
        again.tests.iter().any(|test| test.subject == found.subject && test.p < 1.0 && test.p * asked <= CONFIRMS)
    })
}
