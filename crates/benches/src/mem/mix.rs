//! Bandwidth of a mix of reads and writes, by their ratio.
//!
//! **Measures:** One loop that alternately reads lines of one stream and writes lines of another:
//! 1:0, 3:1, 2:1, 1:1, 1:2 and 0:1. The main value counts the program's bytes. Memory sees another
//! ratio: a plain store fetches its line first, so a program's 1:1 is memory's 2:1. `modelled`
//! counts the bytes that memory moves by this model, and the facts give both ratios, reads over
//! all. With `store=nt` (past the caches) they are the same. Only the memory controller's counters
//! know the true ratio.
//!
//! **Does not measure:** Latency under such a load (`mem.loaded_latency`).
//!
//! **Method:** Assembly kernels with the widest vectors, both streams front to back. `size` is both
//! streams together; they are gone over in pieces of about 64 KiB. The source is written
//! beforehand, and the destination is checked afterwards.
//!
//! **Pitfalls:**
//! - Taking a program's ratio for that of the memory: without `store=nt` every written line is read
//!   as well, unless the CPU recognises that all of it will be written.
//! - A source that was never written is one page of zeros, which stays in the cache.
//! - Streams that lie a power of two apart can compete for the same sets and banks.
//!
//! **Sources:** The mixes of Intel's Memory Latency Checker; Mess (which names ratios by issued
//! loads). See docs/methods/memory.md#read-write-mixes.

use super::laps::{Laps, piece};
use crate::work;
use groma_harness::model::Params;
use groma_harness::prelude::*;
use groma_harness::sys::arch::STREAM_PATTERN;
use groma_harness::sys::mix::{MIXES, Mix};
use groma_harness::sys::pages::{Map, Policy};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bytes per second of a mix of reads and writes, by their ratio",
        about: about!("mix.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "about 64 KiB of both streams together",
        outputs: &[
            Output::MAIN,
            Output::named("modelled", "Bytes per second that memory moves (write-allocate model)")
                .scaled("", MODELLED)
                .detail(),
        ],
        params: &[
            Param::word("mix", "lines read and lines written, in turn", &["1:1", "2:1", "3:1", "1:0", "1:2", "0:1"])
                .quick(&["1:1"])
                .standard(&["2:1"]),
            Param::word("store", "ordinary stores, or non-temporal stores", &["plain", "nt"])
                .quick(&["plain"])
                .standard(&["nt"]),
            Param::size("size", "bytes of both streams together")
                .takes(Memory::PerMember(1))
                .or_auto(Auto::BeyondCaches(1))
                .quick(&["auto"])
                .full(&["16K", "8M", "512M"]),
        ],
        combination_tier,
        tier: Tier::Standard,
        target_half_width: 0.02,
        ..Info::new("mem.mix")
    },
    run: Run::Here(run),
};

const MODELLED: &str = "modelled_per_program_byte";
/// Both streams are gone over in pieces of about this many bytes.
const PIECE: usize = 64 << 10;

/// Stores that bypass the caches belong to the full set.
fn combination_tier(params: &Params) -> Tier {
    if params.word("store") == Some("nt") { Tier::Full } else { Tier::Quick }
}

/// The distance from the end of a source of so many bytes at which the target is 2 KiB apart from
/// its beginning in the low twelve address bits, by which a core takes loads for those of a store.
const fn target_after(source: usize) -> usize {
    (2048 + 4096 - source % 4096) % 4096
}

fn run(ctx: &mut Ctx) -> Outcome {
    let nt = ctx.word("store") == "nt";
    let of_word = MIXES.into_iter().find(|(r, w)| format!("{r}:{w}") == ctx.word("mix"));
    let Some((reads, writes)) = of_word else {
        return Err(BenchError::Failed(format!("no mix is {}", ctx.word("mix"))));
    };
    let mix = Mix::new(reads, writes, nt, None).map_err(BenchError::Unsupported)?;
    let (read, written) = mix.turn();
    // A whole number of pieces, or a single smaller one.
    let per_piece = PIECE / (read + written);
    let wanted = ctx.int("size") as usize / (read + written);
    let turns = if wanted > per_piece { wanted - wanted % per_piece } else { wanted };
    if turns == 0 {
        return Err(BenchError::Unsupported(format!("less than the {} B of one turn of the loop", read + written)));
    }
    let program = ratio(reads, writes);
    ctx.fact("mix.kernel", mix.kernel().isa);
    ctx.fact("mix.reads_of_all.program", program);
    // Of the kernel that runs, which is the one asked for.
    let bypasses = mix.kernel().nt;
    ctx.fact("mix.reads_of_all.modelled", ratio(reads + fetched(writes, bypasses), writes));
    ctx.fact(MODELLED, modelled(reads, writes, bypasses));

    sys::process::refuse_huge_pages();
    let bytes = turns * (read + written);
    let mut map = Map::anonymous(bytes + 8192, Policy::Base).context("mapping both streams")?;
    map.populate();
    let (src, rest) = map.split_at_mut(turns * read);
    let at = target_after(turns * read);
    let dst = &mut rest[at..at + turns * written];
    src.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&STREAM_PATTERN.to_ne_bytes()));

    let piece = piece(turns, 1, per_piece.max(1));
    let mut laps = Laps::new(turns, piece);
    ctx.measure_per((piece * (read + written)) as f64, |pieces| {
        laps.pieces(pieces, |range, times| {
            let (to, from) = (range.start * written..range.end * written, range.start * read..range.end * read);
            mix.run(&mut dst[to], &src[from], times)
        })
        .map_err(BenchError::Failed)
    })?;
    work::once_each(ctx, "pieces gone over, per piece credited", laps.done(), ctx.iterations());
    if writes > 0 {
        let other = dst[..laps.reached() * written].chunks_exact(8).step_by(257);
        let other = other.filter(|word| **word != STREAM_PATTERN.to_ne_bytes()).count();
        ctx.prove("words not written", "0", other as f64, 0.0..=0.0);
    }
    if let Some(huge) = map.huge_bytes() {
        ctx.prove("bytes of huge pages", "0", huge as f64, 0.0..=0.0);
    }
    Ok(())
}

/// Lines that are fetched because they are written.
fn fetched(writes: usize, nt: bool) -> usize {
    if nt { 0 } else { writes }
}

/// Reads over all accesses.
fn ratio(reads: usize, writes: usize) -> f64 {
    reads as f64 / (reads + writes) as f64
}

/// Bytes that memory moves for one byte of the program, by the model.
fn modelled(reads: usize, writes: usize, nt: bool) -> f64 {
    (reads + writes + fetched(writes, nt)) as f64 / (reads + writes) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn a_standard_run_has_ordinary_stores_only() {
        let points = BENCH.info.points(Tier::Standard);
        let of = |store| points.iter().filter(|point| point.word("store") == Some(store)).count();
        assert_eq!(["plain", "nt"].map(of), [2, 0]);
    }

    #[test]
    fn the_kernel_stores_as_is_said() {
        for (store, modelled) in [("plain", "1.5"), ("nt", "1")] {
            match try_out(&BENCH, &[("store", store), ("size", "256K")], None) {
                Err(BenchError::Unsupported(why)) => eprintln!("not here: {why}"),
                tried => assert_eq!(tried.expect("a mix").result.fact(MODELLED), Some(modelled), "{store}"),
            }
        }
    }

    /// Two reads for a write of the program; its memory reads that line as well, unless the store
    /// bypasses the caches.
    #[test]
    fn a_mix_reads_and_writes_in_the_order_of_its_word() {
        for (mix, store, program, modelled) in
            [("2:1", "plain", 2.0 / 3.0, 0.75), ("1:2", "plain", 1.0 / 3.0, 0.6), ("2:1", "nt", 2.0 / 3.0, 2.0 / 3.0)]
        {
            let tried = match try_out(&BENCH, &[("mix", mix), ("store", store), ("size", "256K")], None) {
                Err(BenchError::Unsupported(why)) => {
                    eprintln!("not here: {why}");
                    continue;
                }
                tried => tried.expect("a mix"),
            };
            let share = |of: &str| -> f64 {
                let fact = tried.result.fact(&format!("mix.reads_of_all.{of}")).expect("a share");
                fact.parse().expect("a number")
            };
            assert_eq!((share("program"), share("modelled")), (program, modelled), "{mix} {store}");
        }
    }

    #[test]
    fn the_target_is_2_kib_apart_from_the_source() {
        for source in [0, 64, 2048, 2112, 4032, 4096, 1 << 20] {
            let at = target_after(source);
            assert!((source + at) % 4096 == 2048 && at < 4096, "{source}: {at}");
        }
    }

    #[test]
    fn a_program_that_reads_as_much_as_it_writes_makes_memory_read_twice_as_much() {
        assert_eq!((ratio(1, 1), ratio(1 + fetched(1, false), 1)), (0.5, 2.0 / 3.0));
        assert_eq!((modelled(1, 1, false), modelled(1, 1, true)), (1.5, 1.0));
        assert_eq!((modelled(3, 1, false), modelled(1, 0, false), modelled(0, 1, false)), (1.25, 1.0, 2.0));
    }
}
