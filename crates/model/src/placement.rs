//! Placement: the CPUs on which the tasks of a point run. It is part of the point's identity.

use std::fmt;
use std::str::FromStr;

/// The class of core and the NUMA node of a task on one CPU, each only if the machine has several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OneCpu {
    /// The class: `performance`, `efficiency`; `None` if all cores are of one class.
    pub class: Option<String>,
    /// The node; `None` if one node has all CPUs.
    pub node: Option<u32>,
}

impl fmt::Display for OneCpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.class, self.node) {
            (Some(class), Some(node)) => write!(f, "core={class},node={node}"),
            (Some(class), None) => write!(f, "core={class}"),
            (None, Some(node)) => write!(f, "node={node}"),
            (None, None) => f.write_str("pinned"),
        }
    }
}

/// The CPUs of the tasks of a round.
///
/// `SameCpu` to `Remote` relate the two sides of a benchmark. `Compact`, `Spread` and `List` place
/// the members of a worker group; a `List` of two is also a pair of sides. `EveryPair` and
/// `EveryNodePair` occur in descriptors only: a plan replaces them with the pairs of its machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Placement {
    /// One task, pinned to a CPU that the run chooses.
    Pinned,
    /// `Pinned` on a machine with several classes of core or NUMA nodes: to a CPU of this class and
    /// node.
    On(OneCpu),
    /// Both tasks on one CPU.
    SameCpu,
    /// On two sibling threads of one core.
    Smt,
    /// On two cores that share the last-level cache.
    SameLlc,
    /// On two cores of one node with different last-level caches.
    CrossLlc,
    /// On two NUMA nodes.
    CrossNode,
    /// Not pinned: the scheduler decides, as for most applications.
    Free,
    /// The peer on another machine, in a `groma serve` there.
    Remote,
    /// A worker group, nearest CPUs first.
    Compact,
    /// A worker group, farthest CPUs first (package, then cache, then core, then SMT).
    Spread,
    /// A worker group on exactly these CPUs, in turn.
    List(Vec<u32>),
    /// On a CPU of one NUMA node, with memory of the same or another node.
    Nodes {
        /// The node of the CPU.
        cpu: u32,
        /// The node of the memory.
        memory: u32,
    },
    /// A point for each pair of CPUs.
    EveryPair,
    /// A point for each combination of a node with CPUs and a node with memory.
    EveryNodePair,
}

impl Placement {
    /// The placements of two tasks that a topology may or may not offer.
    pub const TWO_SIDED: [Placement; 6] = [
        Placement::SameCpu,
        Placement::Smt,
        Placement::SameLlc,
        Placement::CrossLlc,
        Placement::CrossNode,
        Placement::Free,
    ];
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Placement::Pinned => "pinned",
            Placement::SameCpu => "same-cpu",
            Placement::Smt => "smt",
            Placement::SameLlc => "same-llc",
            Placement::CrossLlc => "cross-llc",
            Placement::CrossNode => "cross-node",
            Placement::Free => "free",
            Placement::Remote => "remote",
            Placement::Compact => "compact",
            Placement::Spread => "spread",
            Placement::EveryPair => "every-pair",
            Placement::EveryNodePair => "every-node-pair",
            Placement::On(one) => return one.fmt(f),
            Placement::Nodes { cpu, memory } => return write!(f, "node{cpu}-node{memory}"),
            Placement::List(cpus) => {
                f.write_str("cpus:")?;
                for (i, cpu) in cpus.iter().enumerate() {
                    if i > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{cpu}")?;
                }
                return Ok(());
            }
        };
        f.write_str(word)
    }
}

impl FromStr for Placement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "pinned" => Placement::Pinned,
            "same-cpu" => Placement::SameCpu,
            "smt" => Placement::Smt,
            "same-llc" => Placement::SameLlc,
            "cross-llc" => Placement::CrossLlc,
            "cross-node" => Placement::CrossNode,
            "free" | "none" => Placement::Free,
            "remote" => Placement::Remote,
            "compact" => Placement::Compact,
            "spread" => Placement::Spread,
            "every-pair" => Placement::EveryPair,
            "every-node-pair" => Placement::EveryNodePair,
            list => {
                if let Some(named) = nodes(list).or_else(|| one_cpu(list)) {
                    return Ok(named);
                }
                let cpus = list.strip_prefix("cpus:").unwrap_or(list);
                let cpus: Result<Vec<u32>, _> = cpus.split(',').map(str::parse).collect();
                return cpus.map(Placement::List).map_err(|_| {
                    format!(
                        "'{text}' is not a placement (same-cpu, smt, same-llc, cross-llc, cross-node, free, pinned, \
                         compact, spread, a list of CPUs such as 0,2,4, core=CLASS, node=0, or nodes such as \
                         node0-node1)"
                    )
                });
            }
        })
    }
}

/// Reads `node0-node1`.
fn nodes(text: &str) -> Option<Placement> {
    let (cpu, memory) = text.strip_prefix("node")?.split_once("-node")?;
    Some(Placement::Nodes { cpu: cpu.parse().ok()?, memory: memory.parse().ok()? })
}

/// Reads `core=efficiency,node=1`, or one of the two.
fn one_cpu(text: &str) -> Option<Placement> {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let (class, node) = match text.split_once(',') {
        Some((class, node)) => (Some(class), Some(node)),
        None if text.starts_with("core=") => (Some(text), None),
        None => (None, Some(text)),
    };
    let class = class.map(|text| text.strip_prefix("core=").filter(|name| is_name(name)).map(str::to_owned));
    let node = node.map(|text| text.strip_prefix("node=").and_then(|number| number.parse().ok()));
    // A part that is present must be valid.
    let one = OneCpu {
        class: class.map_or(Some(None), |class| class.map(Some))?,
        node: node.map_or(Some(None), |node| node.map(Some))?,
    };
    Some(Placement::On(one))
}

#[cfg(feature = "serde")]
impl serde::Serialize for Placement {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Placement {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let mut all = vec![
            Placement::Pinned,
            Placement::Remote,
            Placement::Compact,
            Placement::Spread,
            Placement::List(vec![0, 3]),
            Placement::Nodes { cpu: 1, memory: 10 },
            Placement::EveryPair,
            Placement::EveryNodePair,
            Placement::On(OneCpu { class: Some("low-power".to_owned()), node: None }),
            Placement::On(OneCpu { class: None, node: Some(12) }),
            Placement::On(OneCpu { class: Some("efficiency".to_owned()), node: Some(0) }),
        ];
        all.extend(Placement::TWO_SIDED);
        for placement in all {
            assert_eq!(placement.to_string().parse(), Ok(placement));
        }
        assert_eq!("1,2".parse(), Ok(Placement::List(vec![1, 2])));
        for wrong in [
            "near",
            "node0",
            "node0-1",
            "node-node1",
            "node0-node",
            "core=",
            "core=a b",
            "node=",
            "node=-1",
            "node=0,core=a",
            "core=a,1",
            "core=a,node=1,node=2",
            "class=a",
        ] {
            assert!(wrong.parse::<Placement>().is_err(), "{wrong}");
        }
    }
}
