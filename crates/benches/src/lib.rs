//! The benchmarks: one file each, named as the user names them: `ipc.pipe_rtt` is `ipc/pipe_rtt.rs`.
//!
//! The catalogue is written out, not collected by the linker: a family lists its files in its `mod.rs`, and [`all`] chains
//! the families. A test walks the folders and compares file names with ids, so nothing is forgotten or misnamed.
//! Benchmarks do not time, print, parse, store, choose their repetitions, or start threads behind the harness's back; what
//! is unsafe about the system is behind `groma-sys`.
#![forbid(unsafe_code)]

use groma_harness::Benchmark;

mod clock;
mod cpu;
mod ctx;
mod entry;
mod file;
mod ipc;
mod mem;
mod net;
mod proc;
mod proofs;
mod scratch;
mod selftest;
mod signal;
mod syscall;
mod thread;
mod vdso;
mod vm;

/// Every benchmark, family by family, in the order in which lists and tables show them.
pub fn all() -> Vec<&'static Benchmark> {
    [
        clock::ALL,
        cpu::ALL,
        mem::ALL,
        syscall::ALL,
        vdso::ALL,
        signal::ALL,
        proc::ALL,
        thread::ALL,
        ctx::ALL,
        ipc::ALL,
        net::ALL,
        vm::ALL,
        file::ALL,
        selftest::ALL,
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::Placement;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Folders and ids are the same: a file that no list names, or an id that is not its file's, is found here.
    #[test]
    fn every_file_is_a_benchmark_and_every_benchmark_a_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = BTreeSet::new();
        for family in std::fs::read_dir(&root).expect("the sources").flatten().filter(|e| e.path().is_dir()) {
            for file in std::fs::read_dir(family.path()).expect("a family").flatten() {
                let name = file.file_name().to_string_lossy().into_owned();
                if let Some(stem) = name.strip_suffix(".rs").filter(|s| *s != "mod") {
                    files.insert(format!("{}.{stem}", family.file_name().to_string_lossy()));
                }
            }
        }
        let ids: Vec<String> = all().iter().map(|b| b.info.id.to_owned()).collect();
        let distinct: BTreeSet<String> = ids.iter().cloned().collect();
        assert_eq!(ids.len(), distinct.len(), "an id stands twice in the list");
        assert_eq!(distinct, files);
    }

    #[test]
    fn descriptors_are_complete() {
        for bench in all() {
            let info = &bench.info;
            let id = info.id;
            assert!(!info.summary.is_empty() && !info.summary.ends_with('.'), "{id}: {}", info.summary);
            assert!(info.about.0.len() > 40, "{id} has no module comment");
            assert!(!info.outputs.is_empty() && info.outputs[0].suffix.is_empty(), "{id}: the main output comes first");
            assert!(info.outputs[1..].iter().all(|o| !o.suffix.is_empty() && !o.summary.is_empty()), "{id}");
            assert!(!info.placements.is_empty(), "{id}");
            assert!(info.scaling.processes && info.scaling.threads || !info.scaling.why.is_empty(), "{id}: why not?");
            assert!(info.width > 0.0, "{id}");
            assert!(
                id.starts_with("selftest.") || !info.lineage.is_empty() || info.about.0.contains("Source:"),
                "{id}"
            );
            for param in info.params {
                assert!(!param.default.is_empty(), "{id}: {} has no default", param.name);
                for text in param.quick.iter().chain(param.default).chain(param.full) {
                    assert!(param.parse(text).is_ok(), "{id}: {}={text}", param.name);
                }
            }
            let two_sided = info.placements.iter().any(|p| *p != Placement::Pinned);
            assert!(two_sided || info.placements == [Placement::Pinned], "{id}");
        }
    }
}
