//! What `auto` means: how much memory is beyond the caches, measured once a run, and the sizes and
//! counts that follow from the machine.
//!
//! A fixed size is memory on one machine and a cache on the next: last-level caches have 1 MiB to
//! 500 MB. A parameter that takes `auto` (`Param::or_auto`) gets a size of which the caches hold
//! little. See docs/methods/memory.md#beyond-the-caches. Not here: where each cache ends, which is
//! what `mem.latency` measures.

use crate::error::BenchError;
use crate::model::{AUTO, Auto, Fact, Info, Job, Param, Value, auto_fact, size_text};
use crate::sys::chase::Chain;
use crate::sys::clock::{Clock, Monotonic};
use crate::sys::facts::{cpu_quota, memory_headroom};
use crate::sys::flush::Flush;
use crate::sys::pages::{Map, Policy};
use crate::sys::topology::{ASSUMED_LINE, Topology};
use crate::sys::{affinity, process};
use groma_stats::order;
use groma_stats::rng::Rng;

/// Where the search begins: at the last cache that is declared, within these limits. Virtual
/// machines declare the whole cache of a processor that they share, or one that does not exist.
const FIRST: [u64; 2] = [16 << 20, 64 << 20];
/// The last cache where none is declared.
const ASSUMED_CACHE: u64 = 32 << 20;
/// No last-level cache that exists needs more.
const MAX_CACHE: u64 = 4 << 30;
/// `auto` is this multiple of the first size that displaces the caches. A cache with random
/// replacement keeps 2 % of a buffer after four times its size was read since; STREAM's rule for an
/// array is the same.
const TIMES: u64 = 4;
/// The lines looked for are gone where loading them takes at least this part of the time of loading
/// lines that were evicted. A third are left, on average, where a cache that replaces lines at
/// random has taken in as many lines as it holds.
const GONE: f64 = 0.6;

/// Bytes of which the caches of one CPU hold little, or why that cannot be told: a multiple of the
/// first size that displaces what they held.
pub(crate) fn beyond_caches(rng: &mut Rng) -> Result<u64, String> {
    let topology = Topology::read();
    let declared = topology.last_caches().first().and_then(|cache| cache.size).unwrap_or(ASSUMED_CACHE);
    // Where nothing can be evicted for comparison, there is only what is declared.
    if Flush::evict().is_none() {
        return Ok(TIMES * declared.max(FIRST[0]));
    }
    let line = topology.line().unwrap_or(ASSUMED_LINE);
    let room = memory_headroom().map_or(MAX_CACHE, |room| room.bytes / 4).min(MAX_CACHE);
    search(declared.clamp(FIRST[0], FIRST[1]), room, |size| survival(size as usize, line, rng))
}

/// Looks for the first size that displaces what the caches held.
fn search(first: u64, most: u64, mut latencies: impl FnMut(u64) -> Result<[f64; 2], String>) -> Result<u64, String> {
    let mut size = first;
    while size <= most {
        let [after, evicted] = latencies(size)?;
        if after >= GONE * evicted {
            return Ok(TIMES * size);
        }
        size *= 2;
    }
    Err(format!("no size up to {} is beyond the caches", size_text(most)))
}

/// The latency of lines that were loaded before `size` bytes of others were, and of lines that were
/// evicted.
fn survival(size: usize, line: usize, rng: &mut Rng) -> Result<[f64; 2], String> {
    /// Loads that are timed together, and such groups.
    const LOADS: usize = 256;
    const GROUPS: usize = 9;
    /// Lines from one load to the next: far enough for prefetchers, and odd, so that all sets of a
    /// cache are used.
    const LINE_DISTANCE: usize = 17;
    let why = |e: std::io::Error| format!("no memory to look for the end of the caches: {e}");
    let spacing = LINE_DISTANCE * line;
    process::allow_huge_pages();
    let mut looked_for = Map::anonymous(LOADS * GROUPS * spacing, Policy::Transparent).map_err(why)?;
    let mut others = Map::anonymous(size, Policy::Transparent).map_err(why)?;
    others.populate();
    let mut offsets: Vec<usize> = (0..LOADS * GROUPS).map(|i| i * spacing).collect();
    rng.shuffle(&mut offsets);
    let mut chain = Chain::through(&mut looked_for, &offsets)?;
    chain.walk((LOADS * GROUPS) as u64);
    others.iter().step_by(line).for_each(|byte| {
        std::hint::black_box(*byte);
    });
    let lap = |chain: &mut Chain<'_>| {
        let groups: Vec<f64> = (0..GROUPS)
            .map(|_| {
                let start = Monotonic.now_ns();
                let loads = chain.walk(LOADS as u64);
                (Monotonic.now_ns() - start) as f64 / loads as f64
            })
            .collect();
        order::median(&groups).ok_or("no loads were timed".to_owned())
    };
    let after = lap(&mut chain)?;
    chain.flush(spacing);
    Ok([after, lap(&mut chain)?])
}

/// The job with a number in place of each `auto`, and facts that say which.
///
/// The members of a worker group share the last caches: together they take what all of these need,
/// each at least twice what its private caches hold.
///
/// # Errors
/// `Unsupported` where it is not known how much memory is beyond the caches.
pub(crate) fn resolve(info: &Info, job: &Job) -> Result<(Job, Vec<Fact>), BenchError> {
    let mut job = job.clone();
    let mut facts = Vec::new();
    for param in info.params {
        let (Some(auto), Some(AUTO)) = (param.auto(), job.params.word(param.name)) else { continue };
        let number = match auto {
            Auto::Cpus => cpus_to_use(affinity::allowed()?.len(), cpu_quota()),
            Auto::BeyondCaches(times) => times * bytes_beyond(param, &job)?,
        };
        facts.push(Fact::new(auto_fact(param.name), number));
        job.params.set(param.name, Value::Int(number));
    }
    Ok((job, facts))
}

/// As many of the allowed CPUs as a quota lets run all the time, and one more for a fraction.
fn cpus_to_use(allowed: usize, quota: Option<f64>) -> u64 {
    quota.map_or(allowed, |cpus| allowed.min(cpus.ceil() as usize)).max(1) as u64
}

/// Bytes beyond the caches, for one member of the job's group.
fn bytes_beyond(param: &Param, job: &Job) -> Result<u64, BenchError> {
    let Some(beyond) = job.host.beyond_caches else {
        return Err(BenchError::Unsupported(format!(
            "{}=auto: nothing that fits in a quarter of the free memory is beyond the caches; name a size",
            param.name
        )));
    };
    let topology = Topology::read();
    // As many last-level caches as a group of this size can use.
    let caches = topology.last_caches().len().clamp(1, job.workers.max(1) as usize);
    Ok(share(beyond, caches as u64, job.workers, topology.private_cache().unwrap_or(0)))
}

/// The bytes of one of `workers` members, in whole MiB.
fn share(beyond: u64, caches: u64, workers: u32, private: u64) -> u64 {
    (beyond * caches / u64::from(workers.max(1))).max(2 * private).next_multiple_of(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// A cache of `capacity` that replaces the oldest line, or any at random.
    fn of(capacity: f64, random: bool) -> impl FnMut(u64) -> Result<[f64; 2], String> {
        move |size| {
            let taken_in = size as f64 / capacity;
            let kept = if random { (-taken_in).exp() } else { (1.0 - taken_in).max(0.0).ceil() };
            Ok([kept * 20.0 + (1.0 - kept) * 100.0, 100.0])
        }
    }

    #[test]
    fn four_times_the_last_cache_is_beyond_it_whatever_is_declared() {
        const MIB: u64 = 1 << 20;
        // Declared and true capacity, and what `auto` may be.
        for (declared, capacity, least, most) in [
            (32, 32, 128, 256),
            // What hypervisors declare: a cache that is not there, and all of one that is shared.
            (16, 260, 1024, 2048),
            (260, 24, 256, 256),
            (512, 512, 2048, 4096),
            (1, 1, 64, 64),
        ] {
            for random in [false, true] {
                let first = (declared * MIB).clamp(FIRST[0], FIRST[1]);
                let auto = search(first, MAX_CACHE, of((capacity * MIB) as f64, random)).expect("found");
                assert!((least * MIB..=most * MIB).contains(&auto), "{declared} {capacity} {random}: {auto}");
            }
        }
        let short = search(FIRST[0], 128 * MIB, of(1e12, false)).expect_err("all is cached");
        assert!(short.contains("128 MiB"), "{short}");
    }

    #[test]
    fn a_group_covers_all_last_caches_and_each_member_its_own() {
        const MIB: u64 = 1 << 20;
        assert_eq!(share(128 * MIB, 1, 1, MIB), 128 * MIB);
        assert_eq!(share(128 * MIB, 1, 2, MIB), 64 * MIB);
        assert_eq!(share(128 * MIB, 8, 64, MIB), 16 * MIB);
        // 576 CPUs below two caches: their private caches count.
        assert_eq!(share(2048 * MIB, 2, 576, 2 * MIB), 8 * MIB);
        assert_eq!(share(2048 * MIB, 2, 2048, 2 * MIB), 4 * MIB);
    }

    #[test]
    fn a_quota_bounds_the_cpus_that_are_used() {
        for (allowed, quota, used) in
            [(8, None, 8), (8, Some(2.0), 2), (8, Some(1.5), 2), (2, Some(64.0), 2), (4, Some(0.1), 1)]
        {
            assert_eq!(cpus_to_use(allowed, quota), used, "{allowed} {quota:?}");
        }
    }

    #[test]
    fn auto_becomes_bytes_that_the_record_knows() {
        const SIZE: Param = Param::size("size", "").or_auto(Auto::BeyondCaches(3)).quick(&[AUTO]);
        let info = Info { params: &[SIZE], ..Info::new("mem.test") };
        let mut job = Job { workers: 1, ..testing::idle_job() };
        job.params.0.push(("size".to_owned(), Value::Word(AUTO.to_owned())));
        job.host.beyond_caches = Some(128 << 20);
        let (resolved, facts) = resolve(&info, &job).expect("it is known");
        assert_eq!(resolved.params.int("size"), Some(384 << 20));
        assert_eq!(facts, [Fact::new("auto.size", 384 << 20)]);
        job.host.beyond_caches = None;
        assert!(matches!(resolve(&info, &job), Err(BenchError::Unsupported(_))));
        // A size that was typed stays.
        job.params.set("size", Value::Int(4096));
        assert_eq!(resolve(&info, &job).expect("nothing to do").1, []);
    }

    #[test]
    fn lines_survive_a_small_buffer_and_no_large_one() {
        let mut rng = Rng::new(1);
        if Flush::evict().is_none() {
            return println!("nothing evicts here");
        }
        // The first is within every last-level cache, the second beyond most: how far is this
        // machine's own affair. Other programs may take the cache meanwhile, so one try in five
        // is enough; if nothing survived or all did, no try would do.
        let seen = (0..5).any(|_| {
            let [small, large] =
                [64 << 10, 512 << 20].map(|size| survival(size, ASSUMED_LINE, &mut rng).expect("memory"));
            println!("{small:?} {large:?}");
            small[0] < small[1] && large[0] / large[1] > small[0] / small[1]
        });
        assert!(seen);
    }
}
