//! What holds for all benchmarks of disks.

use super::*;
use crate::scratch::testing::Place;
use groma_harness::model::RunFile;
use groma_harness::sys::pages::page_size;
use groma_harness::testing::{Tried, stating, try_failing, try_out, try_with};
use std::collections::BTreeSet;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Runs a benchmark on a file of 4 MiB; `None` if the temporary directory is not on a disk.
pub(super) fn on_a_file(bench: &Benchmark, more: &[(&str, &str)]) -> Option<Tried> {
    let place = Place::new();
    let chosen = [&[("size", "4M")], more].concat();
    match try_out(bench, &chosen, Some(place.path())) {
        Ok(tried) => Some(tried),
        Err(BenchError::Unsupported(why)) => {
            println!("not here: {why}");
            None
        }
        Err(stop) => panic!("{stop:?}"),
    }
}

#[test]
fn every_block_is_drawn_once_before_any_is_drawn_again() {
    for blocks in [1, 2, 3, 1000, 4096, 5000] {
        let mut places = Places::new(10, blocks, &mut Rng::new(7));
        let mut seen: Vec<u64> = (0..blocks).map(|_| places.draw()).collect();
        let first = seen[0];
        assert_eq!(places.draw(), first);
        // In random order: hardly any block follows the one before it in the file.
        let rising = seen.windows(2).filter(|pair| pair[1] == pair[0] + 4096).count() as u64;
        assert!(blocks < 1000 || rising < blocks / 100, "{rising} of {blocks}");
        seen.sort_unstable();
        assert_eq!(seen, (10..10 + blocks).map(|block| block * 4096).collect::<Vec<_>>());
    }
}

#[test]
fn a_cache_is_suspected_where_a_second_read_is_no_faster() {
    for (fresh, reused, cache) in [
        // A share of a host's cache, whatever the way to it costs.
        (25e-6, 24e-6, true),
        (300e-6, 290e-6, true),
        // Flash behind a cache of its own, a rotating disk with one, and one without.
        (80e-6, 20e-6, false),
        (8e-3, 100e-6, false),
        (8e-3, 8e-3, false),
    ] {
        assert_eq!(may_be_cache(fresh, reused), cache, "{fresh} {reused}");
    }
}

/// The file of a run, as the supervisor keeps it: rounds find what others wrote.
fn run_file(place: &Place) -> Option<(File, RunFile)> {
    let path = place.path().join("shared");
    let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
    std::fs::remove_file(&path).expect("its name goes");
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    disk::open_shared(Path::new(&path)).ok().map(|_| (file, RunFile { path, fill_ns: u64::MAX / 2 }))
}

#[test]
fn the_rounds_of_a_run_fill_one_file_once() {
    let place = Place::new();
    let Some((file, shared)) = run_file(&place) else { return println!("no direct transfers here") };
    let length = || file.metadata().expect("fstat").len();
    let round = |bench: &Benchmark, size: &str| {
        let tried = try_with(bench, &[("size", size)], place.path(), shared.clone()).expect("it runs");
        let bytes = tried.result.fact("disk.file_bytes").expect("a size").to_owned();
        (bytes.parse::<u64>().expect("bytes"), tried.result.fact(ROUND_ONCE).is_some())
    };
    assert_eq!((round(&random_read::BENCH, "4M"), length()), ((4 << 20, true), 4 << 20));
    assert_eq!((round(&random_read::BENCH, "4M"), length()), ((4 << 20, false), 4 << 20));
    // Longer where more is asked for; less where less is.
    assert_eq!((round(&random_read::BENCH, "6M"), length()), ((6 << 20, true), 6 << 20));
    assert_eq!((round(&sync_write::BENCH, "2M"), length()), ((2 << 20, false), 6 << 20));
    // No block is a hole or was never written, after a round that overwrites some as well.
    let mut block = vec![0; 6 << 20];
    file.read_exact_at(&mut block, 0).expect("read");
    assert_eq!(check_stamps(&block, 0), Ok(()));
    assert!(block.chunks_exact(4096).all(|block| block[8..].iter().any(|byte| *byte != 0)));
    // A hole is noticed.
    file.set_len(4 << 20).and_then(|()| file.set_len(6 << 20)).expect("truncated and extended");
    let holed = try_with(&random_read::BENCH, &[("size", "6M")], place.path(), shared.clone());
    assert!(matches!(&holed, Err(BenchError::Failed(why)) if why.contains("not as it was written")), "{holed:?}");
}

#[test]
fn a_file_that_may_not_be_filled_for_long_is_short() {
    let place = Place::new();
    let Some((_file, shared)) = run_file(&place) else { return println!("no direct transfers here") };
    let shared = RunFile { fill_ns: 0, ..shared };
    let tried = try_with(&random_read::BENCH, &[("size", "1T")], place.path(), shared).expect("it runs");
    assert_eq!(tried.result.fact("disk.file_bytes"), Some("8388608"));
}

#[test]
fn what_is_not_there_is_said() {
    let gone = try_out(&random_read::BENCH, &[("on", "/nonexistent")], None);
    assert!(matches!(&gone, Err(BenchError::Unsupported(why)) if why.starts_with("/nonexistent: ")), "{gone:?}");
    let place = Place::new();
    let uneven = try_out(&random_read::BENCH, &[("size", "3000000")], Some(place.path()));
    assert!(matches!(&uneven, Err(BenchError::Unsupported(why)) if why.contains("multiple of 1 MiB")), "{uneven:?}");
    let memory = Path::new("/dev/shm");
    if memory.is_dir() && !disk::has_disk(memory).expect("statfs") {
        let place = memory.join(format!("groma-benches-disk-{}", std::process::id()));
        std::fs::create_dir(&place).expect("a directory");
        let tried = try_out(&random_read::BENCH, &[], Some(&place));
        std::fs::remove_dir(&place).expect("nothing is left in it");
        assert!(matches!(&tried, Err(BenchError::Unsupported(why)) if why.contains("in memory")), "{tried:?}");
    }
}

#[test]
fn a_file_takes_a_tenth_of_the_room_at_most() {
    assert_eq!(most_bytes(4 * GIB, 0, 100 * GIB), 4 * GIB);
    assert_eq!(most_bytes(4 * GIB, 0, 10 * GIB), GIB);
    // What an earlier round wrote is part of the tenth.
    assert_eq!(most_bytes(4 * GIB, GIB, 9 * GIB), GIB);
    // Of a nearly full disk the least that can be measured, or a quarter of what was free.
    assert_eq!(most_bytes(4 * GIB, 0, 40 << 20), MIN_FILE);
    assert_eq!(most_bytes(4 * GIB, 0, 8 << 20), 2 << 20);
    assert_eq!(most_bytes(4 * GIB, 2 << 20, 6 << 20), 2 << 20);
}

/// Members read other places than each other, and together nearly all.
#[test]
fn each_member_has_a_part_of_the_blocks() {
    assert_eq!([4096, 4097, 12_288].map(|len| blocks_before_end(12_288, len)), [3, 2, 1]);
    assert_eq!(part_of(10, 1, 0), (0, 10));
    assert_eq!([0, 1, 2].map(|member| part_of(10, 3, member)), [(0, 3), (3, 3), (6, 3)]);
    // Fewer blocks than members: the last ones share the last block.
    assert_eq!([0, 1, 2].map(|member| part_of(2, 3, member)), [(0, 1), (1, 1), (1, 1)]);
}

#[test]
fn large_requests_go_on_where_the_round_before_ended_and_stay_in_their_stretch() {
    let first = |size, position, turn| large_requests(size, position, turn).next().expect("without end");
    assert_eq!(large_requests(100 * GIB, 0, 0).take(3).collect::<Vec<_>>(), [0, MIB, 2 * MIB]);
    for (position, begin) in [(0, 0), (50, 48 * GIB), (100, 96 * GIB), (250, 96 * GIB)] {
        assert_eq!(first(100 * GIB, position, 0), begin, "{position} %");
        // The eighth of 512 MiB is the last one of the stretch of 4 GiB.
        let last: Vec<u64> = large_requests(100 * GIB, position, 7).skip(511).take(2).collect();
        assert_eq!(last, [begin + 4 * GIB - MIB, begin], "{position} %");
    }
    assert_eq!(turn_of(3, 2, 1), 7);
    assert_eq!([turn_of(0, 4, 3), turn_of(1, 4, 0)], [3, 4]);
    // All of a file that is shorter, but for what is no whole request.
    let short: Vec<u64> = large_requests(6 * MIB + 4096, 50, 1).take(7).map(|at| at / MIB).collect();
    assert_eq!(short, [2, 3, 4, 5, 0, 1, 2]);
}

/// A disk that is four times as fast where it has read before.
#[test]
fn the_second_read_of_a_place_is_the_reused_one() {
    let (mut pairs, mut seen) = (Pairs::default(), BTreeSet::new());
    let mut places = Places::new(0, 5, &mut Rng::new(7));
    for _ in 0..5 {
        let read = pairs.read(places.draw(), |at| Ok(if seen.insert(at) { 8e-5 } else { 2e-5 }));
        assert_eq!(read, Ok(()));
    }
    assert_eq!(seen.len(), 5);
    assert_eq!((&pairs.fresh[..], &pairs.reused[..]), (&[8e-5; 5][..], &[2e-5; 5][..]));
    let (ratio, may_be_cache) = pairs.first_to_second().expect("times");
    assert!((ratio - 4.0).abs() < 1e-9 && !may_be_cache, "{ratio}");
    assert!(Pairs::default().first_to_second().is_none());
}

/// A round that does just that.
fn round_of(run: fn(&mut Ctx) -> Outcome) -> Tried {
    try_failing(&stating(run), &[], None).expect("it does not stop by itself")
}

/// What the kernel counted: these KiB, and major faults.
fn usage_of(kib: u64, major_faults: u64) -> Usage {
    Usage { blocks_in: 2 * kib, major_faults, ..Usage::default() }
}

/// Of 10 MiB 1 % may be missing, and 5 % and 256 KiB more may have come. Only what is beyond that
/// may be of the program's own pages.
#[test]
fn what_came_from_a_disk_is_what_was_asked_for() {
    const CASES: [(u64, u64, bool); 8] = [
        (10_240, 0, true),
        (10_240, 5, true),
        (10_200, 0, true),
        (10_000, 0, false),
        (5120, 5, false),
        (0, 5, false),
        (11_000, 0, true),
        (11_100, 0, false),
    ];
    let tried = round_of(|ctx| {
        for (kib, faults, _) in CASES {
            prove_read(ctx, &usage_of(kib, faults), 10 * MIB);
        }
        ctx.state(1.0);
        Ok(())
    });
    assert_eq!(tried.proofs_held(""), CASES.map(|(.., holds)| holds));
    assert_eq!(tried.unresolved(""), None);
    let short_of_memory = round_of(|ctx| {
        prove_read(ctx, &usage_of(11_100, 1), 10 * MIB);
        Ok(())
    });
    assert!(short_of_memory.result.output.proofs.is_empty());
    assert!(short_of_memory.unresolved("").is_some_and(|why| why.contains("860 KiB more")));
}

/// A file system writes for itself as well.
#[test]
fn of_what_was_written_nothing_is_missing() {
    let tried = round_of(|ctx| {
        for mib in [9.8, 9.95, 10.0, 30.0] {
            prove_all_written(ctx, mib * MIB as f64, 10 * MIB);
        }
        ctx.state(1.0);
        Ok(())
    });
    assert_eq!(tried.proofs_held(""), [false, true, true, true]);
}

#[test]
fn what_is_read_is_within_the_file_and_looked_at_where_it_is_ours() {
    let (file, before) = (File::open("/dev/null").expect("it is everywhere"), Usage::default());
    let target = Target { file, size: 3 * 4096, ours: true, _scratch: None, before, bytes: Done::new() };
    assert_eq!([(8192, 4096), (8192, 8192), (12_288, 512)].map(|(at, len)| target.next(at, len)), [8192, 0, 0]);
    let mut blocks = vec![0; 8192];
    put_stamps(&mut blocks, 4096);
    assert_eq!(target.check(&blocks, 4096), Ok(()));
    assert!(target.check(&blocks, 8192).is_err() && target.check(&blocks[4096..], 4096).is_err());
    // What is no whole block has no stamp to look for.
    assert!(target.check(&blocks[..512], 0).is_ok() && target.check(&blocks, 512).is_ok());
    assert_eq!(Target { ours: false, ..target }.check(&blocks, 0), Ok(()));
    // Nor does a transfer wait for memory.
    let buffer = buffer(LARGE_REQUEST).expect("memory");
    assert_eq!(buffer.resident_pages().expect("mincore"), LARGE_REQUEST / page_size());
}

/// A write that left the stamp of another place would make a later round fail, or pass for its
/// answer.
#[test]
fn blocks_that_were_written_over_have_their_own_stamps() {
    let mixed: &[(&str, &str)] = &[("size", "4M"), ("access", "mixed"), ("depth", "4")];
    for (bench, params) in [(&queue::BENCH, mixed), (&write::BENCH, &mixed[..1]), (&sync_write::BENCH, &mixed[..1])] {
        let place = Place::new();
        let Some((file, shared)) = run_file(&place) else { return println!("no direct transfers here") };
        // However it ends: on a busy machine the queue is not always as full as it should be.
        if let Err(why) = try_with(bench, params, place.path(), shared) {
            println!("{}: {why}", bench.info.id);
        }
        let mut all = vec![0; file.metadata().expect("fstat").len() as usize];
        file.read_exact_at(&mut all, 0).expect("read");
        assert_eq!(check_stamps(&all, 0), Ok(()), "{}", bench.info.id);
    }
}
