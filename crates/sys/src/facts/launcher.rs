//! What started this process on many hosts: the job, the rank and the name of the node, from the
//! environment that Slurm, MPI launchers and Kubernetes give to their tasks, and from `NODE_NAME`,
//! which people set. Without one of them there are no facts.

use super::Book;

/// Longest value that is kept: a host name has at most 253 characters.
const LONGEST_VALUE: usize = 253;

/// A launcher: its name, the variable that tells it, and the variables of its facts.
struct Launcher {
    name: &'static str,
    told_by: &'static str,
    facts: &'static [(&'static str, &'static str)],
}

/// The launchers, the more specific first: `mpirun` within a job of Slurm has the variables of
/// both, and its own rank counts. Sources: the manual pages srun(1) and mpirun(1), the PMIx
/// standard, the page on Indexed Jobs of the Kubernetes documentation. The `HOSTNAME` of a pod is
/// its own.
const LAUNCHERS: [Launcher; 5] = [
    Launcher {
        name: "open-mpi",
        told_by: "OMPI_COMM_WORLD_RANK",
        facts: &[("rank", "OMPI_COMM_WORLD_RANK"), ("job", "SLURM_JOB_ID")],
    },
    Launcher { name: "slurm", told_by: "SLURM_PROCID", facts: &[("rank", "SLURM_PROCID"), ("job", "SLURM_JOB_ID")] },
    Launcher { name: "pmix", told_by: "PMIX_RANK", facts: &[("rank", "PMIX_RANK"), ("job", "PMIX_NAMESPACE")] },
    Launcher { name: "mpich", told_by: "PMI_RANK", facts: &[("rank", "PMI_RANK")] },
    Launcher {
        name: "kubernetes",
        told_by: "KUBERNETES_SERVICE_HOST",
        facts: &[("rank", "JOB_COMPLETION_INDEX"), ("job", "HOSTNAME")],
    },
];

/// The variables that name the node, whatever the launcher is; the first that is set counts.
/// `NODE_NAME` is set on purpose (from `spec.nodeName` in a pod, by hand elsewhere; docs/fleet.md),
/// so it comes before what a launcher says. Slurm's prolog and health check are no tasks, but know
/// their node.
const NODES: [&str; 3] = ["NODE_NAME", "SLURMD_NODENAME", "PMIX_HOSTNAME"];

/// `variable` returns the value of a variable of the environment.
pub(super) fn launcher(book: &mut Book, variable: &dyn Fn(&str) -> Option<String>) {
    let value = |name: &str| variable(name).filter(|value| is_plain(value));
    let found = LAUNCHERS.iter().find(|launcher| variable(launcher.told_by).is_some());
    if let Some(launcher) = found {
        book.say("launcher.name", launcher.name);
        for (key, name) in launcher.facts {
            book.say_if(format!("launcher.{key}"), value(name));
        }
    }
    if let Some((name, node)) = NODES.iter().find_map(|name| Some((name, value(name)?))) {
        book.say("launcher.node", node);
        book.say("launcher.node_from", name);
    }
}

/// Whether a value may be kept: a name or a number, not whatever an environment may hold.
fn is_plain(value: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:@/".contains(&byte);
    !value.is_empty() && value.len() <= LONGEST_VALUE && value.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn facts(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut book = Book::of(Path::new("/nowhere"));
        let of = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        launcher(&mut book, &of);
        book.facts
    }

    #[test]
    fn each_launcher_names_rank_and_node() {
        let named = |variables: &[(&str, &str)]| {
            facts(variables).iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
        };
        let slurm = [("SLURM_PROCID", "3"), ("SLURMD_NODENAME", "n3"), ("SLURM_JOB_ID", "77")];
        let by_slurm = "launcher.node=n3 launcher.node_from=SLURMD_NODENAME";
        assert_eq!(named(&slurm), format!("launcher.name=slurm launcher.rank=3 launcher.job=77 {by_slurm}"));
        let mpirun = [&slurm[..], &[("OMPI_COMM_WORLD_RANK", "9"), ("PMIX_RANK", "9")]].concat();
        assert_eq!(named(&mpirun), format!("launcher.name=open-mpi launcher.rank=9 launcher.job=77 {by_slurm}"));
        assert_eq!(named(&[("PMI_RANK", "0")]), "launcher.name=mpich launcher.rank=0");
        assert_eq!(named(&[("SLURMD_NODENAME", "n3")]), by_slurm);
        // It was set on purpose, so it counts within a pod, beside a launcher that knows another
        // name, and alone.
        let by_hand = "launcher.node=w5 launcher.node_from=NODE_NAME";
        let pod = [("KUBERNETES_SERVICE_HOST", "10.0.0.1"), ("NODE_NAME", "w5"), ("HOSTNAME", "groma-x7")];
        assert_eq!(named(&pod), format!("launcher.name=kubernetes launcher.job=groma-x7 {by_hand}"));
        let beside = [&pod[1..], &[("PMIX_RANK", "1"), ("PMIX_HOSTNAME", "c1"), ("SLURMD_NODENAME", "n3")]].concat();
        assert_eq!(named(&beside), format!("launcher.name=pmix launcher.rank=1 {by_hand}"));
        assert_eq!(named(&[("NODE_NAME", "w5")]), by_hand);
        let mpi = [("PMIX_RANK", "1"), ("PMIX_HOSTNAME", "c1"), ("NODE_NAME", "not a name")];
        let by_mpi = "launcher.node=c1 launcher.node_from=PMIX_HOSTNAME";
        assert_eq!(named(&mpi), format!("launcher.name=pmix launcher.rank=1 {by_mpi}"), "the next that is a name");
        // A shell sets HOSTNAME everywhere.
        assert_eq!(named(&[("HOSTNAME", "here")]), "");
    }

    #[test]
    fn a_value_that_is_no_name_is_left_out() {
        for value in ["", "a b", "n\u{1b}[2J", "$(reboot)", &"x".repeat(300)] {
            assert_eq!(facts(&[("SLURMD_NODENAME", value)]), [], "{value:?}");
        }
    }
}
