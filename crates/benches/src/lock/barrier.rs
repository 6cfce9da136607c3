//! A barrier of the C library at which several threads or processes meet again and again.
//!
//! **Measures:** The time from one crossing to the next of all members: each comes, the last one
//! wakes the others, and all go on at once to meet again.
//!
//! **Does not measure:** Barriers that spin, as those of OpenMP do at first (`ipc.spin_rtt` has
//! what two CPUs can do), or work between two crossings.
//!
//! **Method:** `pthread_barrier_wait` by all members, which do nothing else. The member that
//! measures is one of them; each crossing is timed alone. Members take the CPUs of the placement in
//! turn.
//!
//! The proofs: each member crosses exactly as often as is credited, exactly one of them is told so
//! by each crossing, and no member ever finds its neighbour behind.
//!
//! **Pitfalls:**
//! - A member that leaves lets the others wait for ever: they leave together, at a crossing that is
//!   named before it.
//! - With more members than CPUs a crossing is several switches of the scheduler, one after
//!   another.
//!
//! **Sources:** EPCC OpenMP `syncbench` measures the same operation with barriers that spin. See
//! docs/methods/operating-system.md#contended-locks.

use super::members::{self, PLACEMENTS, TASK, THREADS};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::rendezvous::Control;
use groma_harness::sys::locks;
use groma_harness::sys::shared::{Shared, Word};
use groma_harness::sys::sync::Key;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Barrier (pthread) at which several threads meet: time of a crossing",
        about: about!("barrier.rs"),
        iteration: "one crossing of all members",
        timing: Timing::Each,
        params: &[THREADS, TASK],
        scaling: Scaling::alone("it has members of its own (threads=2)"),
        placements: PLACEMENTS,
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("lock.barrier")
    },
    run: Run::Here(run),
};

/// Words between the rows of two members, so that no two share a cache line.
const LINE_WORDS: usize = 32;

// What is known of a member: words on a line of its own.

/// Crossings begun.
const COME: usize = 0;
/// Crossings done.
const CROSSED: usize = 1;
/// Crossings of which it was told.
const TOLD: usize = 2;
/// Crossings after which it found its neighbour behind.
const BEHIND: usize = 3;

/// What all members share.
struct Meeting {
    barrier: locks::Barrier,
    members: u32,
    rows: Shared<AtomicU64>,
    /// Not 0 from the crossing before the last one on.
    last: Shared<Word>,
}

impl Meeting {
    fn new(key: Key, members: u32) -> io::Result<Meeting> {
        let barrier = locks::Barrier::new(key, members)?;
        Ok(Meeting { barrier, members, rows: Shared::new(members as usize * LINE_WORDS)?, last: Shared::new(1)? })
    }

    #[inline(always)]
    fn row(&self, member: u32, counter: usize) -> &AtomicU64 {
        &self.rows[member as usize * LINE_WORDS + counter]
    }

    fn sum(&self, counter: usize) -> u64 {
        (0..self.members).map(|member| self.row(member, counter).load(SeqCst)).sum()
    }

    /// One crossing of this member, which has made `crossed` before.
    #[inline(always)]
    fn cross(&self, member: u32, crossed: u64) -> io::Result<()> {
        // Only this member writes its row.
        let add = |counter, more| {
            let word = self.row(member, counter);
            word.store(word.load(Relaxed) + more, Release);
        };
        add(COME, 1);
        let told = self.barrier.wait()?;
        let neighbour = if member + 1 == self.members { 0 } else { member + 1 };
        add(BEHIND, u64::from(self.row(neighbour, COME).load(Acquire) <= crossed));
        add(TOLD, u64::from(told));
        add(CROSSED, 1);
        Ok(())
    }

    /// The life of a member that does not measure: until the crossing that is the last one.
    fn attend(&self, control: &Control, member: u32) -> io::Result<()> {
        control.arrive();
        for crossed in 0.. {
            self.cross(member, crossed)?;
            // Set before the one that measures comes to its last crossing.
            if u64::from(self.last[0].load(Acquire)) == crossed + 1 {
                break;
            }
        }
        Ok(())
    }
}

/// The member that measures. Dropping it lets the others go, whatever became of the round.
struct Own {
    meeting: Arc<Meeting>,
    crossed: u64,
}

impl Own {
    fn cross(&mut self) -> io::Result<()> {
        self.meeting.cross(0, self.crossed)?;
        self.crossed += 1;
        Ok(())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.meeting.last[0].store(self.crossed as u32 + 1, Release);
        // Nobody asks any more whether it worked.
        drop(self.cross());
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (members, key) = (members::count(ctx)?, members::key(ctx));
    let meeting = Arc::new(Meeting::new(key, members).context("making the barrier")?);
    let theirs = Arc::clone(&meeting);
    let mut others = members::start(ctx, members, key, move |control, number| theirs.attend(control, number))?;
    others.all_ready()?;
    let mut own = Own { meeting: Arc::clone(&meeting), crossed: 0 };
    ctx.measure(|iters| (0..iters).try_for_each(|_| own.cross()).context("waiting at the barrier"))?;
    drop(own);
    members::end(ctx, others)?;

    // All made one more, to leave together.
    for (extreme, of) in [("least", u64::min as fn(u64, u64) -> u64), ("greatest", u64::max)] {
        let crossed = (0..members).map(|member| meeting.row(member, CROSSED).load(SeqCst)).reduce(of);
        let what = format!("crossings of the member with the {extreme} number, per crossing credited");
        work::once_each(ctx, &what, crossed.unwrap_or(0).saturating_sub(1), ctx.iterations());
    }
    let told = meeting.sum(TOLD).saturating_sub(1);
    work::once_each(ctx, "members told of a crossing, per crossing credited", told, ctx.iterations());
    ctx.prove("neighbours found behind", "0", meeting.sum(BEHIND) as f64, 0.0..=0.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::thread;

    /// Whoever crosses too early finds a neighbour behind.
    #[test]
    fn a_barrier_for_fewer_than_come_is_noticed() {
        let meeting = Meeting::new(Key::Private, 1).expect("a barrier");
        let meeting = Arc::new(Meeting { members: 2, rows: Shared::new(2 * LINE_WORDS).expect("memory"), ..meeting });
        meeting.cross(0, 0).expect("crossed alone");
        assert_eq!(meeting.sum(BEHIND), 1);
        meeting.cross(1, 0).expect("crossed alone");
        assert_eq!(meeting.sum(BEHIND), 1);
    }

    #[test]
    fn members_leave_together_when_the_first_one_does() {
        let meeting = Arc::new(Meeting::new(Key::Private, 2).expect("a barrier"));
        let mut own = Own { meeting: Arc::clone(&meeting), crossed: 0 };
        let theirs = Arc::clone(&meeting);
        let other = thread::spawn(128 << 10, move || {
            (0..)
                .take_while(|crossed| {
                    theirs.cross(1, *crossed).expect("crossed");
                    u64::from(theirs.last[0].load(Acquire)) != crossed + 1
                })
                .count()
        });
        (0..10).for_each(|_| own.cross().expect("crossed"));
        drop(own);
        assert_eq!(other.expect("a thread").join().expect("no panic"), 10);
        assert_eq!([0, 1].map(|member| meeting.row(member, CROSSED).load(SeqCst)), [11, 11]);
    }
}
