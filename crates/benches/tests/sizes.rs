//! Every size that a user can ask for, of any benchmark, is compared with what the machine has.

use groma_benches::all;
use groma_harness::model::{Memory, Param, ParamKind, Tier};
use groma_harness::sys::facts::{Room, file_room, memory_headroom};
use groma_harness::testing::{check_sizes, sizes};
use groma_harness::{BenchError, Benchmark};

/// The parameters that take memory or disk space, each with its benchmark.
fn sized() -> impl Iterator<Item = (&'static Benchmark, &'static Param)> {
    all()
        .into_iter()
        .flat_map(|bench| bench.info.params.iter().map(move |param| (bench, param)))
        .filter(|(_, param)| param.kind.memory().is_some())
}

#[test]
fn a_size_beyond_the_machine_is_refused_before_anything_is_set_up() {
    let dir = std::env::temp_dir();
    let half = |room: Option<Room>| room.expect("a limit").bytes / 2;
    let (most_memory, most_files) = (half(memory_headroom()), half(file_room(&dir)));
    let mut refused = 0;
    for (bench, param) in sized() {
        // A tebibyte (things that are counted take at least a kibibyte each), and nearly 2^64
        // bytes.
        let values = if param.kind.is_size() { ["1T", "16777215T"] } else { ["1073741824", "18446744073709551615"] };
        for (value, workers) in values.into_iter().flat_map(|value| [(value, 1), (value, 4096)]) {
            let what = format!("{} {}={value}, {workers} workers", bench.info.id, param.name);
            let (memory, files) = sizes(bench, &[(param.name, value)], workers);
            // On a nearly full disk the benchmark's other parameters need too much by themselves.
            let (memory_else, files_else) = sizes(bench, &[], workers);
            if memory_else > most_memory || files_else > most_files {
                continue;
            }
            // Some machines have terabytes of memory and more disk: the smaller value fits.
            if memory <= most_memory && files <= most_files {
                assert!(value == values[0], "{what} fits");
                continue;
            }
            match check_sizes(bench, &[(param.name, value)], Some(&dir), workers) {
                Err(BenchError::Unsupported(why)) => {
                    let workers = if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
                    assert!(why.contains(&format!("{}=", param.name)) && why.contains(&workers), "{what}: {why}");
                    assert!(
                        why.starts_with("needs ") && why.ends_with(" leaves") && !why.contains('\n'),
                        "{what}: {why}"
                    );
                    refused += 1;
                }
                other => panic!("{what}: {other:?}"),
            }
        }
    }
    assert!(refused > 2 * 50, "{refused}");
}

#[test]
fn the_points_of_a_run_fit_into_small_machines() {
    const MIB: u64 = 1 << 20;
    for bench in all() {
        // Each value of each parameter in turn, with the usual values of the others.
        for param in bench.info.params {
            for (profile, values, most) in [
                ("standard", param.values(Tier::Standard), 800 * MIB),
                ("quick", param.values(Tier::Quick), 400 * MIB),
                ("full", param.values(Tier::Full), 4096 * MIB),
            ] {
                for value in values {
                    let (memory, files) = sizes(bench, &[(param.name, value)], 1);
                    let what = format!("{} {profile} {}={value}: {memory} {files}", bench.info.id, param.name);
                    assert!(memory <= most && files <= most, "{what}");
                }
            }
        }
    }
}

#[test]
fn the_memory_of_a_parameter_can_be_computed() {
    for (bench, param) in sized() {
        let what = format!("{} {}", bench.info.id, param.name);
        let kind = |name: &str| bench.info.params.iter().find(|p| p.name == name).map(|p| p.kind);
        let word_of = |which: Option<(&str, &str)>| {
            which.is_none_or(|(name, word)| match kind(name) {
                Some(ParamKind::Word(words)) => words.contains(&word),
                // A shared declaration may name a parameter that this benchmark lacks.
                None => true,
                _ => false,
            })
        };
        match param.kind.memory().expect("a sized parameter") {
            Memory::Fitted => unreachable!("a fitted size is never refused"),
            Memory::PerSide(factor) | Memory::PerMember(factor) => assert!(factor > 0, "{what}"),
            Memory::Times(factor, count) => {
                assert!(factor > 0, "{what}");
                assert!(matches!(kind(count), Some(ParamKind::Count | ParamKind::CountOf(_))), "{what}: {count}");
            }
            Memory::Files { copies, in_memory, shared, .. } => {
                assert!(
                    copies > 0
                        && in_memory.is_none_or(|(name, words)| words.iter().all(|word| word_of(Some((name, *word)))))
                        && word_of(shared),
                    "{what}"
                );
            }
        }
        let (memory, files) = sizes(bench, &[(param.name, "1048576")], 1);
        let (more_memory, more_files) = sizes(bench, &[(param.name, "2097152")], 1);
        assert!(more_memory + more_files >= memory + files + (1 << 20), "{what}: it does not grow with the value");
    }
}
