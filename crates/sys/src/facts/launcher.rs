//! What started this process on many hosts: the job, the rank and the name of the node, from the
//! environment that Slurm, MPI launchers and Kubernetes give to their tasks. Without one of them
//! there are no facts.

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
/// standard, the page on Indexed Jobs of the Kubernetes documentation. `NODE_NAME` is the usual
/// name of the variable that a pod sets from `spec.nodeName` (docs/fleet.md); the `HOSTNAME` of a
/// pod is its own.
const LAUNCHERS: [Launcher; 5] = [
    Launcher {
        name: "open-mpi",
        told_by: "OMPI_COMM_WORLD_RANK",
        facts: &[("rank", "OMPI_COMM_WORLD_RANK"), ("node", "SLURMD_NODENAME"), ("job", "SLURM_JOB_ID")],
    },
    Launcher {
        name: "slurm",
        told_by: "SLURM_PROCID",
        facts: &[("rank", "SLURM_PROCID"), ("node", "SLURMD_NODENAME"), ("job", "SLURM_JOB_ID")],
    },
    Launcher { name: "pmix", told_by: "PMIX_RANK", facts: &[("rank", "PMIX_RANK"), ("job", "PMIX_NAMESPACE")] },
    Launcher { name: "mpich", told_by: "PMI_RANK", facts: &[("rank", "PMI_RANK")] },
    Launcher {
        name: "kubernetes",
        told_by: "KUBERNETES_SERVICE_HOST",
        facts: &[("rank", "JOB_COMPLETION_INDEX"), ("node", "NODE_NAME"), ("job", "HOSTNAME")],
    },
];

/// `variable` returns the value of a variable of the environment.
pub(super) fn launcher(book: &mut Book, variable: &dyn Fn(&str) -> Option<String>) {
    let Some(found) = LAUNCHERS.iter().find(|launcher| variable(launcher.told_by).is_some()) else {
        // The prolog and the health check of Slurm are no tasks, but know their node.
        book.say_if("launcher.node", variable("SLURMD_NODENAME").filter(|name| is_plain(name)));
        return;
    };
    book.say("launcher.name", found.name);
    for (key, name) in found.facts {
        book.say_if(format!("launcher.{key}"), variable(name).filter(|value| is_plain(value)));
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
        assert_eq!(named(&slurm), "launcher.name=slurm launcher.rank=3 launcher.node=n3 launcher.job=77");
        let mpirun = [&slurm[..], &[("OMPI_COMM_WORLD_RANK", "9"), ("PMIX_RANK", "9")]].concat();
        assert_eq!(named(&mpirun), "launcher.name=open-mpi launcher.rank=9 launcher.node=n3 launcher.job=77");
        assert_eq!(named(&[("PMI_RANK", "0")]), "launcher.name=mpich launcher.rank=0");
        let pod = [("KUBERNETES_SERVICE_HOST", "10.0.0.1"), ("NODE_NAME", "w5"), ("HOSTNAME", "groma-x7")];
        assert_eq!(named(&pod), "launcher.name=kubernetes launcher.node=w5 launcher.job=groma-x7");
        assert_eq!(named(&[("SLURMD_NODENAME", "n4")]), "launcher.node=n4");
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
