//! Communication between processes on one machine.

use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Pick, Say, Select, Which};
use groma_harness::prelude::*;
use std::sync::atomic::AtomicU32;

mod pipe_rtt;
mod fifo_rtt;
mod unix_rtt;
mod pass_descriptor;
mod mq_rtt;
mod sysv_msg_rtt;
mod eventfd_rtt;
mod futex_rtt;
mod posix_sem_rtt;
mod sysv_sem_rtt;
mod lock_rtt;
mod spin_rtt;
mod pipe_bandwidth;
mod unix_bandwidth;
mod sendfile_bandwidth;
mod process_read;

mod ends;
mod trip;
mod stream;

/// The round trip through pipes with both sides on one CPU.
const ONE_CPU: Pick = Pick { which: Which::First, of: Select::OnOneCpu("ipc.pipe_rtt") };

pub(crate) static ABOUT: Family = Family {
    name: "ipc",
    summary: "Communication between processes on one machine",
    says: Say::Led(&[
        Say::Text("a pipe round trip on one CPU takes {}", &[Figure::Value(ONE_CPU)]),
        Say::Text(", between two CPUs {} as long", &[Figure::BetweenCpus("ipc.pipe_rtt")]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("ipc");

/// The default placements of the two sides; every other placement can be requested.
const NEAR_PLACEMENTS: &[Placement] = &[Placement::SameCpu, Placement::SameLlc];

/// How round trips scale.
const ONE_PROCESS_EACH: Scaling =
    Scaling::processes("each copy forks its other side, which a process with threads must not");

/// The parameter for the length of a message, 1 byte by default.
const fn sizes(full: &'static [&'static str]) -> Param {
    Param::size("size", "bytes in the message").quick(&["1"]).full(full)
}

/// Distance of the two words of a round trip through memory, in words: no processor has cache lines
/// above 256 bytes.
const LINE_WORDS: usize = 64;
/// Words that are shared.
const WORDS: usize = 2 * LINE_WORDS;

/// The two ends of a round trip through memory: the word that each waits on, and the one that it
/// changes.
fn ends(words: &[AtomicU32]) -> [(&AtomicU32, &AtomicU32); 2] {
    let (forth, back) = (&words[0], &words[LINE_WORDS]);
    [(back, forth), (forth, back)]
}

/// The error for a size that exceeds a limit of the system.
fn beyond(size: usize, name: &str, limit: Option<u64>) -> BenchError {
    let limit = limit.map_or_else(|| "less".to_owned(), |n| n.to_string());
    BenchError::Unsupported(format!("a message of {size} bytes: {name} allows {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::try_out;

    /// A channel whose ends do not show the message that arrived would accept any answer.
    #[test]
    fn a_wrong_answer_is_noticed_wherever_bytes_are_carried() {
        let is_trip = |bench: &Benchmark| {
            bench.info.id.ends_with("_rtt") && bench.info.params.iter().any(|param| param.name == "size")
        };
        let mut noticed = 0;
        for bench in ALL.iter().filter(|bench| is_trip(bench)) {
            // The first byte of the answer is wrong, or the last one.
            for wrong in [[1, 0], [0, 1]] {
                let place = Place::new();
                trip::testing::WRONG.set(wrong);
                let tried = try_out(bench, &[("size", "64")], Some(place.path())).map(|_| ());
                trip::testing::WRONG.set([0; 2]);
                match tried {
                    Err(BenchError::Failed(why)) if why.contains("does not match the last message") => noticed += 1,
                    Err(BenchError::Unsupported(why) | BenchError::Denied(why)) => {
                        println!("skipped {}: {why}", bench.info.id);
                    }
                    other => panic!("{} {wrong:?}: {other:?}", bench.info.id),
                }
            }
        }
        assert!(noticed >= 6, "{noticed}");
    }

    #[test]
    fn the_words_are_crossed_and_have_cache_lines_of_their_own() {
        let words = groma_harness::sys::shared::Shared::<AtomicU32>::new(WORDS).expect("memory");
        let [here, there] = ends(&words);
        assert!(std::ptr::eq(here.0, there.1) && std::ptr::eq(here.1, there.0));
        let address = |word: &AtomicU32| std::ptr::from_ref(word).addr();
        // The longest lines have 256 bytes.
        assert!(address(here.0).abs_diff(address(here.1)) >= 256);
    }

    /// The families in which most benchmarks have a second task.
    fn two_sided() -> Vec<&'static Benchmark> {
        [crate::ctx::ALL, ALL, crate::net::ALL, crate::rpc::ALL, crate::http::ALL].concat()
    }

    /// On one CPU it takes a fraction of the time that it takes between two; where neither is asked
    /// for, the scheduler mixes them.
    #[test]
    fn both_sides_are_placed_on_one_cpu_and_on_two() {
        for bench in two_sided() {
            let expected = match bench.info.id {
                "net.unix_connect"
                | "net.tcp_accept"
                | "net.udp_batch"
                | "ipc.pass_descriptor"
                | "ipc.process_read" => {
                    vec![Placement::Pinned]
                }
                "ipc.spin_rtt" | "http.open_loop" => vec![Placement::SameLlc],
                "net.tcp_dispatch" => vec![Placement::Free],
                id if id.starts_with("ctx.") => vec![Placement::SameCpu],
                _ => NEAR_PLACEMENTS.to_vec(),
            };
            let places = bench.info.placements;
            assert!(expected.iter().all(|place| places.contains(place)), "{}: {places:?}", bench.info.id);
        }
    }

    /// A batch would report a mean instead of the median trip, and a loop that must not sleep would
    /// have no undisturbed sample. No count shows either.
    #[test]
    fn what_waits_for_another_task_is_timed_one_by_one_and_may_sleep() {
        for bench in two_sided() {
            let expected = match bench.info.id {
                "ipc.spin_rtt" | "net.unix_connect" | "net.udp_batch" | "ipc.pass_descriptor" | "ipc.process_read" => {
                    (Timing::Batched, Interference::Cpu)
                }
                "ctx.yield" => (Timing::Batched, Interference::Tasks),
                "net.tcp_accept" => (Timing::Each, Interference::Cpu),
                "net.udp_bandwidth" | "http.open_loop" => (Timing::Stated, Interference::Blocking),
                _ => (Timing::Each, Interference::Blocking),
            };
            assert_eq!((bench.info.timing, bench.info.interference), expected, "{}", bench.info.id);
        }
    }
}
