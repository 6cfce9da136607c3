//! Looking up a name in a directory: one that exists, and one that does not.
//!
//! **Measures:** `newfstatat` of a name below an open directory, by kind:
//! - `hit`: each name of the directory in turn, in random order. The kernel has all of them in its
//!   cache of names.
//! - `negative`: an absent name that was looked up before. Most file systems let the kernel
//!   remember that (tmpfs does not).
//! - `negative_new`: a name that nobody has looked up, so the file system searches the directory,
//!   whose blocks are in memory.
//!
//! **Does not measure:** Reads from a disk.
//!
//! **Method:** Many calls in one short interval, by number. Every answer is checked: 0 for a hit,
//! `ENOENT` for the others. The new names differ in digits that are incremented within the loop
//! (some nanoseconds out of hundreds). The proof is the same loop in a child cut off from the
//! kernel.
//!
//! **Pitfalls:**
//! - An absent name that was looked up before is answered without the file system, so always the
//!   same absent name measures the kernel's cache.
//! - Each new name is remembered and takes memory (some megabytes a round, freed with the
//!   directory).
//!
//! **Sources:** lmbench3 `lat_syscall stat` looks up one existing name; the search paths of shells,
//! compilers and loaders are mostly misses. See
//! docs/methods/operating-system.md#metadata-operations.

use super::crowd::{crowd, name};
use super::{ENTRIES, WHERE, directory};
use crate::entry;
use crate::work::Done;
use groma_harness::Rng;
use groma_harness::prelude::*;
use groma_harness::sys::raw::{self, StatRoom};
use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Looking up a name in a directory",
        about: about!("lookup.rs"),
        iteration: "one newfstatat",
        params: &[
            Param::word(
                "kind",
                "an existing name, one known to be absent, or one never looked up before",
                &["hit", "negative", "negative_new"],
            )
            .quick(&["negative"])
            .standard(&["negative_new"]),
            ENTRIES.quick(&["1000"]),
            WHERE,
        ],
        needs: &[Need::WorkDir],
        target_half_width: 0.03,
        tier: Tier::Standard,
        ..Info::new("file.lookup")
    },
    run: Run::Here(run),
};

/// The answer for an absent name: `ENOENT`.
const ABSENT: isize = -2;

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = directory(ctx)?;
    let names = crowd(ctx, &scratch, ctx.int("entries"))?;
    let (dir, mut room) = (scratch.dir(), StatRoom::new());
    let mut ask = move |name: &CStr, wanted| wrong(dir, name, &mut room, wanted);
    match ctx.word("kind") {
        "hit" => {
            if names.is_empty() {
                return Err(BenchError::Unsupported("an empty directory has no name to hit".to_owned()));
            }
            let mut hits = Hits::new(names, ctx.rng());
            measure(ctx, || ask(hits.next(), 0))
        }
        "negative" => {
            let absent = name("absent".to_owned())?;
            measure(ctx, || ask(&absent, ABSENT))
        }
        _ => {
            let mut fresh = Fresh::new();
            measure(ctx, || ask(fresh.next(), ABSENT))
        }
    }
}

/// 0 if the kernel answered `wanted`, else a negative number.
#[inline]
fn wrong(dir: BorrowedFd<'_>, name: &CStr, room: &mut StatRoom, wanted: isize) -> isize {
    let answer = raw::stat_at(dir, name, room);
    // Any wrong answer becomes an error number.
    if answer == wanted { 0 } else { answer.min(-1) }
}

/// Measures a call that returns 0 or a negative error number.
fn measure(ctx: &mut Ctx, mut call: impl FnMut() -> isize) -> Outcome {
    let done = Done::new();
    let mut body = |iters| {
        let (mut worst, mut right) = (0, 0);
        for _ in 0..iters {
            let answer = call();
            worst = answer.min(worst);
            right += u64::from(answer == 0);
        }
        done.add(right);
        super::crowd::check_made(worst, "asking for a name")
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "names answered as they should be, per name credited");
    entry::asks_the_kernel(ctx, body);
    Ok(())
}

/// The names of the directory in random order, again and again.
struct Hits {
    names: Vec<CString>,
    next: usize,
}

impl Hits {
    fn new(mut names: Vec<CString>, rng: &mut Rng) -> Hits {
        rng.shuffle(&mut names);
        Hits { names, next: 0 }
    }

    #[inline]
    fn next(&mut self) -> &CStr {
        let name = &self.names[self.next];
        self.next = (self.next + 1) % self.names.len();
        name
    }
}

/// Names that differ from each other: a counter of 16 digits.
struct Fresh([u8; 17]);

impl Fresh {
    fn new() -> Fresh {
        let mut digits = [b'a'; 17];
        digits[16] = 0;
        Fresh(digits)
    }

    #[inline]
    fn next(&mut self) -> &CStr {
        // The first digits change fastest, so that one step is nearly always enough.
        for digit in &mut self.0[..16] {
            if *digit < b'z' {
                *digit += 1;
                break;
            }
            *digit = b'a';
        }
        CStr::from_bytes_with_nul(&self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use std::collections::BTreeSet;

    #[test]
    fn each_name_is_hit_once_a_turn_in_random_order() {
        let names: Vec<CString> = (0..100).map(|n| name(format!("{n:03}")).expect("a name")).collect();
        let mut hits = Hits::new(names.clone(), &mut Rng::new(7));
        let mut turn = || (0..100).map(|_| hits.next().to_owned()).collect::<Vec<CString>>();
        let (first, second) = (turn(), turn());
        let rising = first.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!(first == second && (25..75).contains(&rising), "{rising} of 100 follow the one before");
        assert_eq!(first.into_iter().collect::<BTreeSet<_>>(), names.into_iter().collect::<BTreeSet<_>>());
    }

    #[test]
    fn fresh_names_do_not_repeat() {
        let mut fresh = Fresh::new();
        let names: BTreeSet<CString> = (0..30_000).map(|_| fresh.next().to_owned()).collect();
        assert_eq!(names.len(), 30_000);
        assert!(names.iter().all(|n| n.as_bytes().len() == 16));
    }

    #[test]
    fn an_answer_that_is_not_the_expected_one_is_seen() {
        let place = Place::new();
        let dir = std::fs::File::open(place.path()).expect("the directory");
        let dir = std::os::fd::AsFd::as_fd(&dir);
        assert_eq!(wrong(dir, c"absent", &mut StatRoom::new(), ABSENT), 0);
        assert!(wrong(dir, c"absent", &mut StatRoom::new(), 0) < 0);
        assert!(wrong(dir, c".", &mut StatRoom::new(), ABSENT) < 0);
    }
}
