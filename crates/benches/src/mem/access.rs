//! Load-to-use latency by what is done to the line: read, modified, owned, prefetched.
//!
//! **Measures:** The time from one access to the next that needs its result, along a closed chain
//! of nodes in random order. By `kind`:
//! - `own`: an atomic addition of 0 to the next node's address, so that the line must be exclusive
//!   to this core before the next step can begin (as in a lookup that takes a lock). It includes
//!   the atomic instruction itself, which is what remains in the L1 cache.
//! - `dirty`: increments a word of each line and loads the next address, which does not wait for
//!   the increment. Each lap is over lines that the lap before has modified, so evicted lines must
//!   be written back.
//! - `prefetched`: each node also holds the address of the node eight steps ahead, and prefetches
//!   it; `prefetched_2` to `prefetched_64`: of the node so many steps ahead.
//! - `nt_load`: a non-temporal load (`movntdqa`, `ldnp`). In ordinary memory most cores treat it as
//!   any other load.
//!
//! **Does not measure:** The cost of ownership when another core has the line.
//!
//! **Method:** The nodes of one buffer are dealt to two chains in turn. One chain is accessed by
//! `kind`, the other only read, interval by interval. `over_read` is the ratio of the two in the
//! same round, and the lines that are read are not those that are modified. Pages are visited in
//! groups of 32, so translation is paid once per page, as in `mem.latency`. In buffers larger than
//! the caches all lines are flushed before anything is measured, where the CPU has an instruction
//! for it, because writing the pointers left many of them in the caches. Smaller buffers are not
//! flushed: a shared cache that takes what the private one evicts may refuse lines that come from
//! memory and were used once; 8 MiB then read 119 ns on Sapphire Rapids, which is memory.
//!
//! **Proofs:** The increments are counted afterwards, and the atomic additions have left the chain
//! unchanged.
//!
//! **Pitfalls:**
//! - An exchange with the next address would move each address on by one node per lap.
//! - A compiler turns an addition of 0 into a load.
//! - A write-back hides behind a single chain of loads: 2 % on Zen 4. Under load it is different.
//! - ARM cores may execute an atomic operation at the line's home instead of fetching the line;
//!   `own` is then the time of that.
//!
//! **Sources:** lmbench3 `lat_mem_rd`, which only reads. See docs/methods/memory.md#access-kinds.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::access::{ACCESS_UNROLL, Access};
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::parallel_chase::{Accessor, Chains, Link};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Latency of a dependent access by what it does to the line",
        about: about!("access.rs"),
        iteration: "16 dependent accesses, and 16 dependent loads beside them",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN,
            Output::named("over_read", "How many times as long as a plain load from the same buffer")
                .ratio("", READ)
                .quantity(Quantity::Ratio),
            Output::named("read", "A plain load from the same buffer").series(READ).detail(),
        ],
        params: &[
            Param::word("kind", "what a step does to its line; prefetched_N: N steps ahead", &KINDS)
                .quick(&["own"])
                .standard(&["dirty"]),
            Param::size("size", "working set of both chains together in bytes")
                .takes(Memory::PerMember(1))
                .quick(&["16K"])
                .standard(&["512K", "8M", "128M"])
                .full(&["512M"]),
        ],
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("mem.access")
    },
    run: Run::Here(run),
};

/// The words of `kind`.
const KINDS: [&str; 10] = [
    "own",
    "dirty",
    "read",
    "prefetched",
    "nt_load",
    "prefetched_2",
    "prefetched_4",
    "prefetched_16",
    "prefetched_32",
    "prefetched_64",
];
/// The chain that is only read.
const READ: &str = "read";
/// Nodes that a prefetch is ahead, if the word names no number.
const AHEAD: usize = 8;
/// Buffers of up to this size are walked once before they are measured; larger ones are flushed.
/// See docs/methods/memory.md#warm-up.
const WARM: u64 = 16 << 20;

/// The kind of access that a word names, and how many nodes ahead it prefetches.
fn kind_of(word: &str) -> (Access, usize) {
    let (kind, ahead) = word.rsplit_once('_').unwrap_or((word, ""));
    // `nt_load` ends in no number.
    let (kind, ahead) = ahead.parse().map_or((word, AHEAD), |ahead| (kind, ahead));
    (Access::ALL.into_iter().find(|each| each.word() == kind).unwrap_or(Access::Read), ahead)
}

/// The pointers of a node: to the next one of its chain, and to the one that is fetched ahead.
fn links(kind: Access, ahead: usize) -> Vec<Link> {
    let mut links = vec![Link { offset: 0, chains: 2, ahead: 1, start: 0 }];
    links.extend((kind == Access::Prefetched).then(|| Chains::link_ahead(2, ahead)));
    links
}

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size");
    let (kind, ahead) = kind_of(ctx.word("kind"));
    let by = Accessor::new(kind).map_err(BenchError::Unsupported)?;
    let read = Accessor::new(Access::Read).map_err(BenchError::Unsupported)?;
    sys::process::refuse_huge_pages();
    let mut buffer = Map::anonymous(size as usize, Policy::Base).context("mapping the buffer")?;
    buffer.populate();
    let spacing = super::spacing(size);
    let chains = super::grouped_chains(&mut buffer[..size as usize], spacing, ctx.rng());
    let mut chains = chains.map_err(BenchError::Unsupported)?;
    chains.link(&links(kind, ahead)).map_err(BenchError::Unsupported)?;
    ctx.fact("access.instruction", by.kernel().instruction);
    ctx.fact("chain.nodes", chains.nodes());
    ctx.fact("chain.spacing", spacing);
    if size > WARM {
        ctx.fact("chain.evicted", chains.evict());
    }

    let lap = (chains.nodes() / 2) as u64;
    let begin = [0, 1].map(|chain| chains.position(0, chain));
    // Steps on the chain that is read and on the other one, warm-up included.
    let mut made = [0; 2];
    if size <= WARM {
        made = [chains.access(read, 0, lap), chains.access(by, 1, lap)];
    }
    // Both variants walk the same buffer, one after the other.
    let chains = std::cell::RefCell::new(chains);
    let walk = |by: Accessor, chain: usize, iters: u64| chains.borrow_mut().access(by, chain, iters * ACCESS_UNROLL);
    let (mut steps, mut read_steps) = (0, 0);
    ctx.measure_variants(&mut [
        Variant::new("", |iters| {
            steps += walk(by, 1, iters);
            Ok(())
        })
        .per_iter(ACCESS_UNROLL as f64),
        Variant::new(READ, |iters| {
            read_steps += walk(read, 0, iters);
            Ok(())
        })
        .per_iter(ACCESS_UNROLL as f64),
    ])?;
    made[0] += read_steps;
    made[1] += steps;
    if size > WARM {
        super::check_first_lap(ctx, "", &[steps, read_steps], lap as usize);
    }
    work::once_each(ctx, "accesses made per access credited", steps, ctx.iterations_of("") * ACCESS_UNROLL);
    work::once_each(ctx, "reads made per read credited", read_steps, ctx.iterations_of(READ) * ACCESS_UNROLL);
    let mut chains = chains.into_inner();
    let counted = if kind == Access::Dirty { made[1] } else { 0 };
    let name = "increments that are missing";
    ctx.prove(name, "0", counted as f64 - chains.counted() as f64, 0.0..=0.0);
    // On one closed chain, 16 laps in turns of 16 steps end exactly where they began, if all its
    // steps were on it and none was another's. Small buffers only, since it takes 16 laps and more.
    if size <= WARM / 16 {
        let round = ACCESS_UNROLL * lap;
        let apart = [0, 1].map(|chain| {
            chains.access(read, chain, 2 * round - made[chain] % round);
            chains.position(0, chain).abs_diff(begin[chain])
        });
        let name = "bytes from where a chain begins to where it ends";
        ctx.prove(name, "0", (apart[0] + apart[1]) as f64, 0.0..=0.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::{try_group, try_out};

    #[test]
    fn every_kind_walks_beside_plain_loads() {
        for kind in Access::ALL {
            for size in ["16K", "512K"] {
                let tried = match try_out(&BENCH, &[("kind", kind.word()), ("size", size)], None) {
                    Ok(tried) => tried,
                    Err(BenchError::Unsupported(why)) => {
                        assert!(!matches!(kind, Access::Read | Access::Dirty | Access::Own), "{why}");
                        continue;
                    }
                    Err(stop) => panic!("{kind:?}: {stop}"),
                };
                assert!(tried.samples("") >= 3 && tried.samples(READ) >= 3);
                let instruction = Accessor::new(kind).map(|by| by.kernel().instruction);
                assert_eq!(tried.result.fact("access.instruction"), instruction.ok(), "{kind:?}");
                assert_eq!(tried.proven("increments that are missing"), 0.0);
                assert_eq!(tried.proven("bytes from where a chain begins to where it ends"), 0.0);
            }
        }
    }

    #[test]
    fn a_worker_group_has_a_buffer_each() {
        let tried = try_group(&BENCH, &[("kind", "own")], None, 2, groma_harness::model::WorkerKind::Threads)
            .expect("two threads");
        assert_eq!(tried.proven("increments that are missing"), 0.0);
    }

    /// Writing the pointers left them in the caches, and smaller buffers are to stay there.
    #[test]
    fn what_is_beyond_the_caches_is_evicted_first() {
        let evicts = groma_harness::sys::flush::Flush::evict().is_some().to_string();
        for (size, expected) in [(WARM, None), (WARM + 4096, Some(evicts.as_str()))] {
            let tried = try_out(&BENCH, &[("size", &size.to_string())], None).expect("memory");
            assert_eq!(tried.result.fact("chain.evicted"), expected, "{size}");
        }
    }

    #[test]
    fn a_prefetch_is_as_far_ahead_as_its_word_says() {
        let ahead = |word: &str| {
            let (kind, ahead) = kind_of(word);
            links(kind, ahead).iter().map(|link| link.ahead).collect::<Vec<_>>()
        };
        for word in KINDS {
            let expected = match word.strip_prefix("prefetched") {
                Some("") => vec![1, 8],
                Some(far) => vec![1, far[1..].parse().expect("a number")],
                None => vec![1],
            };
            assert_eq!(ahead(word), expected, "{word}");
        }
        let kinds: Vec<&str> = KINDS.into_iter().map(|word| kind_of(word).0.word()).collect();
        assert_eq!(kinds[..5], KINDS[..5]);
        assert!(kinds[5..].iter().all(|kind| *kind == "prefetched"));
    }
}
