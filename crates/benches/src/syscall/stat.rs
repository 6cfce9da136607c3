//! Asking for a file's properties by path: `stat`, by number.
//!
//! Measures the entry into the kernel, the look-up of each name of the path in the kernel's cache of names, the checks of
//! permission on the way, and the copying out of a `struct stat`. Does not measure a look-up that has to ask the file
//! system: every name is known from the first call on.
//!
//! Method: many calls in one short interval on an empty file of our own, whose path begins at an open directory, so that
//! its depth is what the parameter says wherever the work directory lies. Each answer is looked at; the structure has to be
//! filled afterwards. The call is `newfstatat`, which is what libc makes of `stat`. Members of a worker group have a file each: they
//! share no name. The proof is the same loop in a child cut off from the
//! kernel.
//!
//! Traps: a file that is not there, whose error is answered faster (lmbench prints the time of failing calls); a default
//! file whose path has as many names as its installation likes. The file system may have its own way of answering: it is
//! recorded.
//!
//! Source: lmbench3 `lat_syscall stat`; the depths are those of Ousterhout 1990 table 9.

use super::{DEPTH, all_gave};
use crate::entry;
use crate::scratch::Scratch;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::raw::{self, StatRoom};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: stat of a file by path, by number",
        about: about!("stat.rs"),
        iteration: "one stat",
        params: &[DEPTH],
        needs: &[Need::WorkDir],
        lineage: &["lmbench3:lat_syscall stat"],
        ..Info::new("syscall.stat")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = Scratch::new(ctx)?;
    let name = scratch.file_at_depth(ctx.int("depth"))?;
    let dir = scratch.dir();
    let mut room = StatRoom::new();
    let done = Done::new();
    let mut body = |iters| {
        let (mut worst, mut right) = (0, 0);
        for _ in 0..iters {
            let answer = raw::stat_at(dir, &name, &mut room);
            worst = answer.min(worst);
            right += u64::from(answer == 0);
        }
        done.add(right);
        all_gave(0, worst, "stat")
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "calls answered as they should be, per call credited");
    entry::asks_the_kernel(ctx, body);
    ctx.prove("structures that were filled", "1", f64::from(u8::from(room.filled())), 1.0..=1.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::{try_group, try_out};

    #[test]
    fn members_of_a_worker_group_do_not_meet() {
        let place = Place::new();
        let tried = try_group(&BENCH, &[], Some(place.path()), 2, groma_harness::model::WorkerKind::Processes);
        assert_eq!(tried.expect("stat").proven("structures that were filled"), 1.0);
    }

    #[test]
    fn a_path_without_names_is_refused() {
        let place = Place::new();
        let tried = try_out(&BENCH, &[("depth", "0")], Some(place.path()));
        assert!(matches!(tried, Err(BenchError::Unsupported(_))), "{tried:?}");
    }
}
