//! Records the course of the host while it is watched: a thread on a CPU of each core that probes
//! it every 10 us for each of them, and never sleeps (docs/records.md#courses).
//!
//! Not here: the form of the file (`groma_harness::course`), and who writes it.

use super::{PROBE_PERIOD, Seen};
use groma_harness::core_watch::CoreWatch;
use groma_harness::course::Head;
use groma_harness::instruments::Real;
use groma_harness::model::CoreProbe;
use groma_harness::stats::idle_rate::log_bin;
use groma_harness::sys::topology::Topology;
use groma_harness::sys::{affinity, facts, sleep};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Probes to one chain, which tells the clock: a host changes it within milliseconds.
const CHAIN_EVERY: u64 = 10;

type Queue = Arc<Mutex<Vec<u8>>>;

/// A recording, and what of it nobody has taken yet.
#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) head: Head,
    queues: Vec<Queue>,
}

/// The thread of one CPU.
pub(super) struct Lane {
    pub(super) cpu: u32,
    head: Head,
    queue: Queue,
    start_ns: u64,
}

impl Recorder {
    /// A recording that begins now, with its threads to start. `None` where no idle rate is known.
    pub(super) fn new(cpus: &[u32], probe: &CoreProbe) -> Option<(Recorder, Vec<Lane>)> {
        let facts = facts::facts();
        let model = facts.iter().find(|(key, _)| key == "cpu.model").map_or("", |(_, model)| model);
        let head = Head::new(model, cpus, probe)?;
        let start_ns = sleep::now_ns();
        let lane = |cpu: &u32| Lane { cpu: *cpu, head: head.clone(), queue: Queue::default(), start_ns };
        let lanes: Vec<Lane> = head.cpus.iter().map(lane).collect();
        let queues = lanes.iter().map(|lane| lane.queue.clone()).collect();
        Some((Recorder { head, queues }, lanes))
    }

    /// The probes that all CPUs have made since the last call, in turn.
    pub(super) fn drain(&mut self) -> Vec<u8> {
        let mut queues: Vec<(bool, MutexGuard<'_, Vec<u8>>)> = self.queues.iter().map(locked).collect();
        // A CPU whose thread could not stay does not hold up the others.
        let longest = queues.iter().map(|(_, queue)| queue.len()).max().unwrap_or(0);
        let away = self.head.byte(None);
        queues.iter_mut().filter(|(ended, _)| *ended).for_each(|(_, queue)| queue.resize(longest, away));
        let all = queues.iter().map(|(_, queue)| queue.len()).min().unwrap_or(0);
        let in_turn = (0..all).flat_map(|k| queues.iter().map(move |(_, queue)| queue[k])).collect();
        queues.iter_mut().for_each(|(_, queue)| drop(queue.drain(..all)));
        in_turn
    }
}

/// Whether the thread of this queue has ended, and what is in it.
fn locked(queue: &Queue) -> (bool, MutexGuard<'_, Vec<u8>>) {
    (Arc::strong_count(queue) == 1, queue.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The first allowed thread of each core.
pub(super) fn cpus() -> Vec<u32> {
    Topology::read().cpus().iter().filter(|cpu| cpu.online && cpu.smt == 0).map(|cpu| cpu.id).collect()
}

/// Probes the CPU until `stop` is set. Tells the watch one probe in [`PROBE_PERIOD`].
pub(super) fn record_until(stop: &AtomicBool, lane: &Lane, probe: &CoreProbe, seen: &Mutex<Seen>) {
    if affinity::pin(lane.cpu).is_err() {
        return;
    }
    let spacing = lane.head.spacing_ns;
    let mut core = CoreWatch::new(&Real, Some(*probe), 0);
    let (mut made, mut chunk) = (0, Vec::new());
    while !stop.load(Relaxed) {
        let next_ns = lane.start_ns + made * spacing;
        while sleep::now_ns() < next_ns {
            std::hint::spin_loop();
        }
        // The places of probes that were missed while somebody else had the CPU.
        let due = (sleep::now_ns() - lane.start_ns) / spacing;
        chunk.resize(chunk.len() + (due - made) as usize, lane.head.byte(None));
        if due.is_multiple_of(CHAIN_EVERY) || due > made {
            core.time_chain();
        }
        let bin = core.rate().and_then(log_bin);
        chunk.push(lane.head.byte(bin));
        made = due + 1;
        if chunk.len() as u64 * spacing >= PROBE_PERIOD.as_nanos() as u64 {
            lane.queue.lock().unwrap_or_else(PoisonError::into_inner).append(&mut chunk);
            seen.lock().unwrap_or_else(PoisonError::into_inner).bins.extend(bin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Watch;
    use groma_harness::course::Course;
    use std::time::{Duration, Instant};

    #[test]
    fn cpus_take_turns_and_one_that_ended_is_away() {
        let probe = CoreProbe { length: 1, step: 0.0, idle: 4.0, alone: true, shared_below: Some(3.9) };
        let (mut recorder, mut lanes) = Recorder::new(&[0, 1], &probe).expect("an idle rate");
        let write = |lane: &Lane, bytes: &[u8]| lane.queue.lock().expect("one thread").extend(bytes);
        write(&lanes[0], &[1, 3, 5]);
        assert!(recorder.drain().is_empty());
        write(&lanes[1], &[2, 4]);
        assert_eq!(recorder.drain(), [1, 2, 3, 4]);
        write(&lanes[1], &[6]);
        assert_eq!(recorder.drain(), [5, 6]);
        drop(lanes.pop());
        write(&lanes[0], &[7]);
        assert_eq!(recorder.drain(), [7, 255]);
        // At the end both threads have ended.
        write(&lanes[0], &[8]);
        drop(lanes);
        assert_eq!(recorder.drain(), [8, 255]);
    }

    /// Every place of the course is filled, whether the probe was made or missed, and what is
    /// watched beside it is one probe in a thousand.
    #[test]
    fn a_course_has_a_place_for_each_of_its_moments() {
        let Ok(mut watch) = Watch::record() else { return println!("no counter here") };
        let head = watch.head().expect("it records").clone();
        let each = head.cpus.len() as u64;
        let (mut file, mut probes) = ([head.line().as_bytes(), b"\n"].concat(), 0);
        let first = file.len();
        let (started, until) = (Instant::now(), Instant::now() + Duration::from_secs(30));
        while file.len() - first < 20_000 && Instant::now() < until {
            std::thread::yield_now();
            file.extend(watch.take_recorded());
            probes += watch.second().cpus.iter().map(|cpu| cpu.probes).sum::<u64>();
        }
        let longest_ns = started.elapsed().as_nanos() as u64 + 1_000_000_000;
        let course = Course::read(&file).expect("a course");
        let places = (file.len() - first) as u64 / each;
        assert!(places * head.spacing_ns <= longest_ns, "{places} places in {longest_ns} ns");
        let made = (0..head.cpus.len()).flat_map(|cpu| course.rates(cpu).flatten().collect::<Vec<_>>());
        let made: Vec<f64> = made.collect();
        assert!(!made.is_empty() && made.iter().all(|rate| *rate < 1.12 * head.idle), "{head:?}");
        assert!(probes <= places * each * head.spacing_ns / PROBE_PERIOD.as_nanos() as u64 + 2 * each, "{probes}");
        assert_eq!(watch.end().cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), head.cpus);
    }
}
