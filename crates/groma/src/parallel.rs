//! Work on many files by several threads, whose results are taken in the order of the files.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

/// Threads, at most: more read from one disk.
const MAX_THREADS: usize = 8;
/// Results that are there and not taken yet.
const AHEAD: usize = 16;

/// Works on each of these, on several threads, and has the results taken on this one, in order,
/// until `take` breaks off.
pub(crate) fn in_order<I: Sync, T: Send>(
    all: &[I],
    work: impl Fn(&I) -> T + Sync,
    mut take: impl FnMut(&I, T) -> ControlFlow<()>,
) {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(all.len());
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (send, receive) = sync_channel(AHEAD);
        for _ in 0..threads {
            let (send, next, work) = (send.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = all.get(i) else { return };
                    if send.send((i, work(one))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let (mut wanted, mut early) = (0, BTreeMap::new());
        for (i, result) in receive {
            early.insert(i, result);
            while let Some(result) = early.remove(&wanted) {
                if take(&all[wanted], result).is_break() {
                    return;
                }
                wanted += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_no_more_are_taken_after_a_break() {
        let all: Vec<u32> = (0..1000).collect();
        // The first ones take longest.
        let work = |n: &u32| (0..(1000 - n) * 50).fold(*n, |sum, i| std::hint::black_box(sum ^ i ^ i));
        let mut taken = Vec::new();
        in_order(&all, work, |_, n| {
            taken.push(n);
            if n == 700 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(taken, all[..=700]);
        in_order(&[0; 0], |n: &i32| *n, |_, _| panic!("nothing is there"));
    }
}
