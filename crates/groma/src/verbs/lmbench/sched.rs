//! `LMBENCH_SCHED`: where the copies of a program and their helpers run.
//!
//! Its values select the k-th of the allowed CPUs for a copy or its helper. Names that nobody knows
//! are refused, and so are CPUs that are not there; lmbench ignores the one and wraps the other.

use groma_harness::model::{Info, Placement};
use groma_harness::sys::topology::Topology;

/// A policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// The scheduler decides.
    Default,
    Single,
    Balanced,
    BalancedSpread,
    Unique,
    UniqueSpread,
    /// Copies on these of the allowed CPUs, their helpers with them.
    Custom(Vec<usize>),
    /// Copies and helpers on these in turn.
    CustomUnique(Vec<usize>),
}

impl Policy {
    /// The policy of the environment.
    ///
    /// # Errors
    /// Names a value that is no policy.
    pub(super) fn of_environment() -> Result<Policy, String> {
        let text = std::env::var_os("LMBENCH_SCHED").unwrap_or_default();
        Policy::parse(&text.to_string_lossy())
    }

    /// The policy of this name.
    ///
    /// # Errors
    /// Names a value that is no policy.
    pub(super) fn parse(text: &str) -> Result<Policy, String> {
        let upper = text.trim().to_ascii_uppercase();
        let (name, list) =
            upper.split_at(upper.find(|c: char| !(c.is_ascii_alphabetic() || c == '_')).unwrap_or(upper.len()));
        let cpus: Vec<usize> = list.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
        Ok(match name {
            "" | "DEFAULT" => Policy::Default,
            "SINGLE" => Policy::Single,
            "BALANCED" => Policy::Balanced,
            "BALANCED_SPREAD" => Policy::BalancedSpread,
            "UNIQUE" => Policy::Unique,
            "UNIQUE_SPREAD" => Policy::UniqueSpread,
            "CUSTOM" if !cpus.is_empty() => Policy::Custom(cpus),
            "CUSTOM_UNIQUE" if !cpus.is_empty() => Policy::CustomUnique(cpus),
            _ => {
                return Err(format!(
                    "LMBENCH_SCHED: '{text}' is no policy (DEFAULT, SINGLE, BALANCED, BALANCED_SPREAD, UNIQUE, \
                     UNIQUE_SPREAD, or CUSTOM and CUSTOM_UNIQUE with a list of CPUs)"
                ));
            }
        })
    }

    /// Where the members of a benchmark run; `None` leaves it to the benchmark, which pins a single
    /// task to a CPU that each round draws anew.
    ///
    /// # Errors
    /// Says what cannot be placed so.
    pub(super) fn placement(&self, info: &Info, copies: u32, topology: &Topology) -> Result<Option<Placement>, String> {
        let usable = topology.usable();
        let nth = |n: usize| {
            usable
                .get(n)
                .copied()
                .ok_or_else(|| format!("LMBENCH_SCHED: there is no CPU {n}: {} are allowed", usable.len()))
        };
        let all = |list: &[usize]| list.iter().map(|n| nth(*n)).collect::<Result<Vec<u32>, _>>();
        let is_pair = info.placements.iter().any(|place| Placement::TWO_SIDED[..5].contains(place));
        if is_pair {
            let pair = |a: usize, b: usize| Ok(Some(Placement::List(all(&[a, b])?)));
            let one_cpu = info.placements == [Placement::SameCpu];
            return match self {
                Policy::Default if copies > 1 || !one_cpu => Ok(Some(Placement::Free)),
                _ if copies > 1 => Err("LMBENCH_SCHED: copies that have helpers are placed by DEFAULT only".to_owned()),
                Policy::Default | Policy::Single | Policy::Balanced | Policy::BalancedSpread => {
                    Ok(Some(Placement::SameCpu))
                }
                _ if one_cpu => {
                    Err("LMBENCH_SCHED: the processes of a ring are on one CPU: DEFAULT, SINGLE or BALANCED".to_owned())
                }
                Policy::Unique => pair(0, 1 % usable.len().max(1)),
                Policy::UniqueSpread => pair(0, usable.len() / 2),
                Policy::Custom(list) => pair(list[0], list[0]),
                Policy::CustomUnique(list) => pair(list[0], list[1 % list.len()]),
            };
        }
        Ok(match self {
            Policy::Default if copies > 1 => Some(Placement::Free),
            Policy::Default => None,
            Policy::Single => Some(Placement::List(all(&[0])?)),
            Policy::Custom(list) | Policy::CustomUnique(list) => {
                Some(Placement::List(all(&list[..list.len().min(copies as usize)])?))
            }
            _ if copies == 1 => Some(Placement::List(all(&[0])?)),
            Policy::Balanced | Policy::Unique => Some(Placement::List(usable)),
            Policy::BalancedSpread | Policy::UniqueSpread => Some(Placement::Spread),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_either_case_and_strange_ones_refused() {
        assert_eq!(Policy::parse(""), Ok(Policy::Default));
        assert_eq!(Policy::parse("Single"), Ok(Policy::Single));
        assert_eq!(Policy::parse("custom 0,1 3"), Ok(Policy::Custom(vec![0, 1, 3])));
        assert_eq!(Policy::parse("CUSTOM_UNIQUE 1 0"), Ok(Policy::CustomUnique(vec![1, 0])));
        // lmbench's own configuration writes the last one, which it does not know.
        for text in ["NEAR", "CUSTOM", "CUSTOM_SPREAD 0 1"] {
            assert!(Policy::parse(text).is_err_and(|why| why.contains("is no policy")), "{text}");
        }
    }
}
