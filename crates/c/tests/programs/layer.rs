//! `groma.hpp`, and the examples of both languages.

use super::{compile, records, run, was_measured};

/// The layer for C++: the state and the reason of whatever is thrown, from wherever it is thrown.
#[test]
fn the_layer_for_cpp_tells_exceptions_apart() {
    let program = compile("c++", "c++17", "tests/c/layer.cpp");
    let (code, out, err) = run(&program, &["run", "--rounds", "2", "--no-store", "--out", "-"], &[]);
    assert_eq!(code, 4, "{err}");
    let expected = [
        ("bad.runtime", "failed", "std::runtime_error: bad thing"),
        ("bad.seven", "failed", "threw int"),
        ("bad.failed", "failed", "\"plainly"),
        ("bad.denied", "denied", "\"no way"),
        ("bad.unsupported", "unsupported", "\"not here"),
        ("bad.eacces", "denied", "std::system_error: opening x: Permission denied ("),
        ("bad.enosys", "unsupported", "std::system_error: calling y: Function not implemented ("),
        ("bad.alloc", "unsupported", "std::bad_alloc: Cannot allocate memory"),
        ("bad.stream", "failed", "basic_ios::clear"),
        ("bad.in_loop", "failed", "std::logic_error: in the loop"),
        ("bad.returned", "failed", "run: Bad file descriptor"),
        ("bad.caught", "failed", "std::logic_error: in the loop"),
        ("bad.proof", "failed", "proof broken: a count is 1, not "),
        ("bad.per_iter", "failed", "which is not above 0"),
        ("bad.raw_per_iter", "failed", "the loop '' has per_iter -1, which is not above 0"),
        ("bad.no_dir", "failed", "does not declare that it needs a directory"),
        ("bad.peer", "failed", "the peer exited with code 1"),
    ];
    for (id, state, why) in expected {
        let records = records(&out, id);
        let is_it = |record: &&str| record.contains(&format!("\"state\":\"{state}\"")) && record.contains(why);
        assert!(records.len() == 1 && records.iter().all(is_it), "{id}: not {state} {why}: {records:?}");
    }
    let well = ["parts", "turns", "turns.net", "turns.times", "turns.empty", "parameters", "parameters.twice", "loop"];
    for id in well.map(|name| format!("ok.{name}")) {
        let records = records(&out, &id);
        assert!(records.len() == 1 && records.iter().all(|record| !record.contains("failed")), "{id}: {records:?}");
    }
    // Not in the benchmark's seconds.
    let is_ratio = |record: &&str| record.contains("\"quantity\":\"ratio\"");
    assert!(records(&out, "ok.turns.times").iter().all(is_ratio), "{out}");
    let (code, out, err) = run(&program, &["list"], &[("WRONG", "1")]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert_eq!(err, "bad.runtime: quick() follows a parameter, and there is none before it\n");
}

/// The examples, which docs/writing-benchmarks-in-c.md shows, build without a warning and prove
/// what they count.
#[test]
fn the_examples_measure() {
    let examples = [
        ("cc", "c11", "hash.c", "text.fnv1a"),
        ("cc", "c11", "syscall.c", "my.getppid.net"),
        ("cc", "c11", "pair.c", "my.socketpair"),
        ("cc", "c11", "staged.c", "my.pipe_capacity"),
        ("c++", "c++17", "hash.cpp", "map.ordered"),
        ("c++", "c++20", "hash.cpp", "map.hashed"),
        // Registered where they are, and not in a list.
        ("c++", "c++17", "ported.cpp", "ported.sort"),
    ];
    for (compiler, standard, source, id) in examples {
        let program = compile(compiler, standard, &format!("examples/{source}"));
        let (code, out, err) = run(&program, &["run", "--rounds", "2", "--no-store", "--out", "-"], &[]);
        assert_eq!(code, 0, "{source}: {err}");
        assert!(records(&out, id).iter().any(|record| was_measured(record)), "{source}: {out}");
    }
}
