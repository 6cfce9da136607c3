//! The observation of a user's command as a line of JSON: what its untraced runs took, and its
//! system calls. Not here: running it (`groma-runner`).

use crate::protocol::line;
use crate::sys::trace::{Calls, Counts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One untraced run of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneRun {
    /// Time from before its start to after its end.
    pub wall_ns: u64,
    /// User CPU time, with that of the children that it waited for.
    pub user_ns: u64,
    /// System CPU time, likewise.
    pub system_ns: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary: u64,
    /// Involuntary context switches.
    pub involuntary: u64,
    /// Its exit code; 128 plus the signal if a signal ended it.
    pub code: u64,
}

/// All runs of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// The untraced runs, without the first, which warms up the caches.
    pub runs: Vec<OneRun>,
    /// The traced run.
    #[serde(with = "CountsFields")]
    pub calls: Counts,
}

/// The fields of [`Counts`], whose crate does not use serde.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Counts")]
struct CountsFields {
    #[serde(with = "triples")]
    calls: BTreeMap<u64, Calls>,
    forks: u64,
    vforks: u64,
    clones: u64,
    execs: u64,
    code: i32,
}

/// System calls as a list of `[number, count, returned]`.
mod triples {
    use super::{BTreeMap, Calls, Deserialize};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(calls: &BTreeMap<u64, Calls>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(calls.iter().map(|(number, calls)| (number, calls.count, calls.returned)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u64, Calls>, D::Error> {
        let triples: Vec<(u64, u64, u64)> = Deserialize::deserialize(deserializer)?;
        Ok(triples.into_iter().map(|(number, count, returned)| (number, Calls { count, returned })).collect())
    }
}

/// The answer of the process that ran the command: the observation, or why there is none.
pub fn write(answer: &Result<Observed, String>) -> String {
    line(answer)
}

/// Reads what [`write()`] wrote; `None` if it is cut off or anything else.
pub fn read(bytes: &[u8]) -> Option<Result<Observed, String>> {
    serde_json::from_slice(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_reads_back_unless_it_is_cut_off() {
        // All numbers are different, so that swapped fields show.
        let run = |n: u64| OneRun {
            wall_ns: n,
            user_ns: n + 1,
            system_ns: n + 2,
            minor_faults: n + 3,
            major_faults: n + 4,
            voluntary: n + 5,
            involuntary: n + 6,
            code: n + 7,
        };
        let calls = BTreeMap::from([(7, Calls { count: 2, returned: 3 }), (8, Calls { count: 5, returned: 4 })]);
        let calls = Counts { calls, forks: 31, vforks: 32, clones: 33, execs: 34, code: 139 };
        for answer in [Ok(Observed { runs: vec![run(10), run(20)], calls }), Err("no such file".to_owned())] {
            let text = write(&answer);
            assert_eq!(read(text.as_bytes()), Some(answer));
            assert!((0..text.len() - 1).all(|end| read(&text.as_bytes()[..end]).is_none()), "{text}");
        }
    }
}
