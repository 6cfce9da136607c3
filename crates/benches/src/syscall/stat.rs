//! Reading a file's attributes by path: `stat`, by number.
//!
//! **Measures:** The entry into the kernel, the lookup of each name of the path in the dentry
//! cache, the permission checks on the way, and the copy of a `struct stat`.
//!
//! **Does not measure:** A lookup that has to ask the file system: every name is cached from the
//! first call on.
//!
//! **Method:** Many calls in one short interval on our own empty file, whose path starts at an open
//! directory, so its depth is what the parameter says wherever the work directory is. Each answer
//! is checked, and the structure must be filled afterwards. The call is `newfstatat`, which libc
//! uses for `stat`. Each member of a worker group has its own file; they share no name. The proof
//! is the same loop in a child cut off from the kernel.
//!
//! **Pitfalls:**
//! - A missing file, whose error is answered faster (lmbench prints the time of failing calls).
//! - A default file whose path depth depends on the installation.
//! - The file system may implement the call itself; it is recorded.
//!
//! **Sources:** lmbench3 `lat_syscall stat`; CSE 221 "system call" (both through libc). The depths
//! are those of Ousterhout 1990 table 9. See docs/methods/operating-system.md#calls-by-number.

use super::{DEPTH, attributes_by_path};
use groma_harness::prelude::*;
use groma_harness::sys::raw;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: stat of a file by path, by number",
        about: about!("stat.rs"),
        iteration: "one stat",
        params: &[DEPTH],
        needs: &[Need::WorkDir],
        ..Info::new("syscall.stat")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    attributes_by_path(ctx, "stat", raw::stat_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::try_group;

    #[test]
    fn members_of_a_worker_group_do_not_meet() {
        let place = Place::new();
        let tried = try_group(&BENCH, &[], Some(place.path()), 2, groma_harness::model::WorkerKind::Processes);
        assert_eq!(tried.expect("stat").proven("structures that were filled"), 1.0);
    }
}
