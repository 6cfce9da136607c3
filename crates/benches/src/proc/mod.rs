//! Processes: creating them and executing other programs.

use crate::proofs;
use crate::scratch::{Scratch, write_program};
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Pick, Say, first, first_with};
use groma_harness::prelude::*;
use groma_harness::sys::counters::{self, Usage};
use groma_harness::sys::exec_evidence::ExecCounter;
use groma_harness::sys::process::{self, Exit};
use groma_harness::sys::spawn::{ChildAction, Command, EXEC_FAILED, Task};
use groma_harness::sys::thread;
use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

mod fork_exit;
mod vfork_exit;
mod clone3;
mod exit;
mod spawn;
mod exec;
mod shell;

const RUN_STATIC: Pick = first_with("proc.exec", &[("target", "static")]);
const RUN_DYNAMIC: Pick = first_with("proc.exec", &[("target", "dynamic")]);

pub(crate) static ABOUT: Family = Family {
    name: "proc",
    summary: "Creating processes and executing programs",
    says: Say::Each(&[
        Say::Text("fork and exit cost {}", &[Figure::Value(first("proc.fork_exit"))]),
        Say::FirstOf(&[
            Say::Text(
                "running a static program {}, a dynamic one {} as much",
                &[Figure::Value(RUN_STATIC), Figure::Quotient(RUN_DYNAMIC, RUN_STATIC)],
            ),
            Say::Text("running a static program {}", &[Figure::Value(RUN_STATIC)]),
            Say::Text("running a dynamic program {}", &[Figure::Value(RUN_DYNAMIC)]),
        ]),
        Say::Text("a shell {}", &[Figure::Value(first("proc.shell"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("proc");

/// The exit code of every child: neither 0 nor 1 nor what shells and failed execs return (126,
/// 127). `carried/target.rs` repeats it.
const GOOD: u8 = 42;

/// A child that only exits.
const LEAVE: Task<'static> = Task { code: GOOD, action: ChildAction::Nothing };

/// These benchmarks do not scale to threads.
const PROCESSES: Scaling = Scaling::processes("a process with threads must not fork");

/// A program that `build.rs` compiled from `carried/target.rs`: it writes a byte to the descriptor
/// given by its first argument and exits with code [`GOOD`].
struct Carried {
    name: &'static str,
    elf: &'static [u8],
    /// The library that the program needs next to it, under [`LIBRARIES`] different names.
    library: Option<&'static [u8]>,
    /// Why the program could not be built; `elf` is empty then.
    missing: &'static str,
}

impl Carried {
    /// The program, or why it could not be built.
    fn elf(&self) -> Result<&'static [u8], BenchError> {
        let Carried { name, elf, missing, .. } = self;
        if elf.is_empty() {
            return Err(BenchError::Unsupported(format!(
                "this program was built without its {name} target: {missing}"
            )));
        }
        Ok(elf)
    }

    /// What its files take at most, in bytes.
    fn space(&self) -> u64 {
        /// A block of most file systems: files take whole ones.
        const FILE_BLOCK: u64 = 4096;
        let libraries = self.library.map_or(0, |library| (library.len() as u64 + FILE_BLOCK) * LIBRARIES as u64);
        self.elf.len() as u64 + libraries
    }
}

/// Without libc, to measure the kernel alone.
static BARE: Carried = Carried {
    name: "bare",
    elf: include_bytes!(concat!(env!("OUT_DIR"), "/target-bare")),
    library: None,
    missing: env!("GROMA_NO_TARGET_BARE"),
};
/// With libc, linked statically.
static STATIC: Carried = Carried {
    name: "static",
    elf: include_bytes!(concat!(env!("OUT_DIR"), "/target-static")),
    library: None,
    missing: env!("GROMA_NO_TARGET_STATIC"),
};
/// With the libc of the machine that it runs on.
static DYNAMIC: Carried = Carried {
    name: "dynamic",
    elf: include_bytes!(concat!(env!("OUT_DIR"), "/target-dynamic")),
    library: None,
    missing: env!("GROMA_NO_TARGET_DYNAMIC"),
};
/// Like [`DYNAMIC`], with twenty more libraries.
static MANY_LIBRARIES: Carried = Carried {
    name: "many_libs",
    elf: include_bytes!(concat!(env!("OUT_DIR"), "/target-many")),
    library: Some(include_bytes!(concat!(env!("OUT_DIR"), "/target-library"))),
    missing: env!("GROMA_NO_TARGET_MANY"),
};

/// The smallest program, which writes a byte to the descriptor that its first argument names, and
/// ends with [`GOOD`]; or why there is none.
pub(crate) fn bare_program() -> Result<&'static [u8], BenchError> {
    BARE.elf()
}

/// The number of copies of the library; `build.rs` and `carried/target.rs` repeat it.
const LIBRARIES: usize = 20;

/// A carried program, either in memory or as a file in the round's directory that `drop` removes.
struct Target {
    program: &'static Carried,
    place: Option<Scratch>,
}

impl Target {
    /// Writes the program to a file and states its size and interpreter as facts. Runs it once with
    /// `posix_spawn`, which reports why a program cannot be executed; a plain `execve` in a child
    /// could only fail.
    fn install(ctx: &mut Ctx, program: &'static Carried) -> Result<Target, BenchError> {
        Target::check(ctx, program)?;
        let target = Target { program, place: Some(Scratch::new(ctx)?) };
        target.write()?;
        target.try_once()?;
        Ok(target)
    }

    /// The same without a file, for a program that needs no other files.
    fn in_memory(ctx: &mut Ctx, program: &'static Carried) -> Result<Target, BenchError> {
        Target::check(ctx, program)?;
        if program.library.is_some() {
            return Err(BenchError::Unsupported("its libraries lie beside its file, and there is none".to_owned()));
        }
        let target = Target { program, place: None };
        target.try_once()?;
        Ok(target)
    }

    /// Checks that the program was built and that its loader exists here.
    fn check(ctx: &mut Ctx, program: &'static Carried) -> Outcome {
        let (name, elf) = (program.name, program.elf()?);
        let needs = interpreter(elf);
        if let Some(path) = &needs
            && !path.exists()
        {
            let path = path.display();
            return Err(BenchError::Unsupported(format!(
                "the {name} target needs {path}, which is not on this system"
            )));
        }
        ctx.fact("target.size", elf.len());
        ctx.fact("target.interpreter", needs.map_or("none".to_owned(), |p| p.display().to_string()));
        Ok(())
    }

    fn write(&self) -> Outcome {
        let path = self.path();
        write_program(&path, self.program.elf)?;
        let Some(library) = self.program.library else { return Ok(()) };
        (0..LIBRARIES)
            .try_for_each(|i| std::fs::write(path.with_file_name(format!("libgroma-{i:02}.so")), library))
            .context("writing the libraries")
    }

    fn try_once(&self) -> Outcome {
        let name = self.program.name;
        let mut exec_counter = ExecCounter::new().context("making a pipe")?;
        let pid = self.command(&exec_counter)?.posix_spawn().map_err(|e| match e.kind() {
            io::ErrorKind::PermissionDenied => match &self.place {
                None => BenchError::Denied(format!("executing memory: {e}")),
                Some(_) => {
                    let path = self.path();
                    BenchError::Denied(format!("executing {}: {e} (mounted noexec? see --work-dir)", path.display()))
                }
            },
            // A program in memory is executed through a path below /proc.
            io::ErrorKind::NotFound if self.place.is_none() => {
                BenchError::Unsupported(format!("executing memory: {e} (no /proc?)"))
            }
            _ => no_child("executing the target", &e),
        })?;
        let exit = process::wait(pid).context("waiting for the target")?;
        let written = exec_counter.bytes().context("reading the pipe")?;
        match exit.code() {
            Some(code) if code == i32::from(GOOD) && written == 1 => Ok(()),
            // The loader's exit codes for a missing library or symbol version; it has written the
            // details to standard error.
            Some(1 | 127) if interpreter(self.program.elf).is_some() => {
                Err(BenchError::Unsupported(format!("this system's libc does not start the {name} target: it {exit}")))
            }
            _ => Err(BenchError::Failed(format!("the {name} target {exit} and wrote {written} bytes"))),
        }
    }

    fn path(&self) -> PathBuf {
        self.place.as_ref().map(|place| place.path().join("target")).unwrap_or_default()
    }

    /// The command that runs the program with this exec_counter.
    fn command(&self, exec_counter: &ExecCounter) -> Result<Command, BenchError> {
        let args = ["target", &exec_counter.number().to_string()];
        match &self.place {
            None => Command::in_memory(self.program.elf, &args).context("putting the target into memory"),
            Some(_) => Command::new(self.path(), &args).context("naming the target"),
        }
    }
}

/// The loader that a 64-bit ELF program asks for (`PT_INTERP`); `None` for static programs and for
/// anything else.
fn interpreter(elf: &[u8]) -> Option<PathBuf> {
    const PT_INTERP: u64 = 3;
    let native = |at: u64, len: usize| -> Option<u64> {
        let bytes = elf.get(usize::try_from(at).ok()?..)?.get(..len)?;
        let mut word = [0; 8];
        if cfg!(target_endian = "little") {
            word[..len].copy_from_slice(bytes);
        } else {
            word[8 - len..].copy_from_slice(bytes);
        }
        Some(u64::from_ne_bytes(word))
    };
    if !elf.starts_with(b"\x7fELF\x02") {
        return None;
    }
    // Field offsets in Elf64_Ehdr and Elf64_Phdr.
    let (table, entry, entries) = (native(32, 8)?, native(54, 2)?, native(56, 2)?);
    let header = (0..entries).map(|i| table + i * entry).find(|&at| native(at, 4) == Some(PT_INTERP))?;
    let (from, len) = (native(header + 8, 8)? as usize, native(header + 32, 8)? as usize);
    let path = elf.get(from..)?.get(..len)?.split(|byte| *byte == 0).next()?;
    Some(PathBuf::from(std::str::from_utf8(path).ok()?))
}

/// States the real path, the size and the loader of a system program as facts.
fn state_program(ctx: &mut Ctx, key: &str, path: &Path) {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    ctx.fact(&format!("{key}.path"), real.display());
    match std::fs::read(&real) {
        Ok(elf) => {
            ctx.fact(&format!("{key}.size"), elf.len());
            let loader = interpreter(&elf).map_or("none".to_owned(), |p| p.display().to_string());
            ctx.fact(&format!("{key}.interpreter"), loader);
        }
        Err(e) => ctx.note(format!("{}: {e}", real.display())),
    }
}

/// States the size of the forking process, which decides what a fork copies, as facts.
fn state_parent(ctx: &mut Ctx) {
    if let Some((resident, shared)) = counters::resident() {
        ctx.fact("fork.resident", resident);
        ctx.fact("fork.anonymous", resident.saturating_sub(shared));
    }
    if let Ok(maps) = std::fs::read_to_string("/proc/self/maps") {
        ctx.fact("fork.mappings", maps.lines().count());
    }
    ctx.fact("fork.threads", thread::count());
}

/// The error for a child that could not be created, or not execute its program.
fn no_child(what: &str, error: &io::Error) -> BenchError {
    match error.kind() {
        io::ErrorKind::NotFound => BenchError::Failed(format!("{what}: {error}")),
        _ => BenchError::no_task(what, error),
    }
}

/// Counts the children of a round, which all have to exit with code [`GOOD`].
struct Children {
    tasks: Option<u64>,
    good: Cell<u64>,
    faults: Cell<u64>,
}

impl Children {
    fn new() -> Children {
        Children { tasks: counters::tasks_created(), good: Cell::new(0), faults: Cell::new(0) }
    }

    /// Counts a child and its page faults; fails if its exit code is wrong.
    fn count_exit(&self, exit: &Exit) -> Outcome {
        self.faults.set(self.faults.get() + exit.usage.minor_faults);
        self.count_code(exit.code()).map_err(|_| {
            let hint = if exit.code() == Some(EXEC_FAILED) { ": it could not be executed" } else { "" };
            BenchError::Failed(format!("a child {exit} instead of {GOOD}{hint}"))
        })
    }

    /// Counts a child by its exit code; fails if the code is wrong.
    fn count_code(&self, code: Option<i32>) -> Outcome {
        if code != Some(i32::from(GOOD)) {
            return Err(BenchError::Failed(format!("a child ended with {code:?} instead of {GOOD}")));
        }
        self.good.set(self.good.get() + 1);
        Ok(())
    }

    /// Times each child from before its creation to after the wait, then runs a check that may
    /// compare the number of children with something else.
    fn whole<'a>(
        &'a self,
        mut make: impl FnMut() -> io::Result<i32> + 'a,
        mut check: impl FnMut(u64) -> Outcome + 'a,
    ) -> Variant<'a> {
        Variant::staged("", move |iters, watch| {
            for _ in 0..iters {
                watch.start();
                let pid = make().map_err(|e| no_child("making a child", &e))?;
                let exit = process::wait(pid).context("waiting for the child")?;
                watch.stop();
                self.count_exit(&exit)?;
                check(self.good.get())?;
            }
            Ok(())
        })
    }

    /// Times each child from before its creation to the time that it stamps when it starts to run.
    fn first<'a>(&'a self, stamp: &'a AtomicU64, mut make: impl FnMut() -> io::Result<i32> + 'a) -> Variant<'a> {
        Variant::staged("first", move |iters, watch| {
            for _ in 0..iters {
                let called = watch.now_ns();
                let pid = make().map_err(|e| no_child("making a child", &e))?;
                let exit = process::wait(pid).context("waiting for the child")?;
                let waited = watch.now_ns();
                let began = stamp.swap(0, Ordering::Relaxed);
                let Some((from, to)) = until_start(called, began, waited) else {
                    return Err(BenchError::Failed(format!(
                        "a child began at {began}, not within {called}..{waited} ns"
                    )));
                };
                watch.span(from, to);
                self.count_exit(&exit)?;
            }
            Ok(())
        })
    }

    /// Times only the creating call, until it returns the child's id.
    fn time_creation<'a>(&'a self, mut make: impl FnMut() -> io::Result<i32> + 'a) -> Variant<'a> {
        Variant::staged("return", move |iters, watch| {
            for _ in 0..iters {
                watch.start();
                let pid = make().map_err(|e| no_child("making a child", &e))?;
                watch.stop();
                self.count_exit(&process::wait(pid).context("waiting for the child")?)?;
            }
            Ok(())
        })
    }

    /// Proves one child per iteration.
    fn prove(&self, ctx: &mut Ctx) {
        let each = self.good.get() as f64 / ctx.iterations() as f64;
        ctx.prove("children that left with code 42, per iteration", "exactly 1", each, 1.0..=1.0);
        proofs::tasks_created(ctx, self.tasks);
    }

    /// Proves that the children took at least `least` page faults each. If the count of this
    /// process is 0, the kernel does not count faults, and there is no proof.
    fn prove_faults(&self, ctx: &mut Ctx, expected: &str, least: f64) {
        if Usage::process().minor_faults == 0 {
            return ctx.note("the kernel does not count page faults");
        }
        ctx.prove(FAULTS, expected, self.faults.get() as f64 / ctx.iterations() as f64, least..);
    }
}

/// From the call that makes a child to its first instruction; `None` where its stamp is not within
/// the time from the call to the end of the wait.
fn until_start(called: u64, began: u64, waited: u64) -> Option<(u64, u64)> {
    (called..=waited).contains(&began).then_some((called, began))
}

/// The name of the proof in [`Children::prove_faults`].
const FAULTS: &str = "page faults of the children, per iteration";

/// The output of [`Children::first`].
const FIRST: Output = Output::named("first", "from the call to the child's first instruction");

/// Measures children that execute other programs, one by one. With an `exec_counter`, each has to
/// write its byte.
fn measure_children(
    ctx: &mut Ctx,
    mut exec_counter: Option<&mut ExecCounter>,
    make: impl FnMut() -> io::Result<i32>,
) -> Outcome {
    let children = Children::new();
    let check = |children: u64| {
        let Some(exec_counter) = &mut exec_counter else { return Ok(()) };
        let written = exec_counter.bytes().context("reading the children's bytes")?;
        if written == children {
            return Ok(());
        }
        Err(BenchError::Failed(format!("{children} children have written {written} bytes")))
    };
    ctx.measure_variants(&mut [children.whole(make, check)])?;
    children.prove(ctx);
    if let Some(exec_counter) = exec_counter {
        let written = exec_counter.bytes().context("reading the children's bytes")?;
        let each = written as f64 / ctx.iterations() as f64;
        ctx.prove("bytes that children wrote, per iteration", "exactly 1", each, 1.0..=1.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory for a test, removed with its contents.
    pub(super) struct Dir(PathBuf);

    impl Dir {
        pub(super) fn new(name: &str) -> Dir {
            let path = std::env::temp_dir().join(format!("groma-test-{}-{name}", process::id()));
            std::fs::create_dir(&path).expect("a writable directory for temporary files");
            Dir(path)
        }

        pub(super) fn path(&self) -> &Path {
            &self.0
        }

        pub(super) fn is_empty(&self) -> bool {
            std::fs::read_dir(&self.0).expect("it exists").next().is_none()
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn the_bare_target_is_small_and_asks_for_no_loader() {
        if BARE.elf.is_empty() {
            assert!(!BARE.missing.is_empty());
            return;
        }
        assert!(BARE.elf.len() < 1100, "{} bytes", BARE.elf.len());
        assert_eq!(interpreter(BARE.elf), None);
        assert_eq!(interpreter(STATIC.elf), None);
    }

    #[test]
    fn what_is_carried_for_many_libraries_is_small() {
        let library = MANY_LIBRARIES.library.unwrap_or_default();
        assert!(
            library.len() + MANY_LIBRARIES.elf.len() < 80 << 10,
            "{} and {}",
            library.len(),
            MANY_LIBRARIES.elf.len()
        );
        assert_eq!(interpreter(MANY_LIBRARIES.elf), interpreter(DYNAMIC.elf));
    }

    #[test]
    fn the_loader_is_read_from_the_program_header() {
        let own = std::fs::read("/proc/self/exe").expect("this test's own program");
        if let Some(loader) = interpreter(&own) {
            assert!(loader.is_absolute() && loader.exists(), "{loader:?}");
        }
        // Truncated anywhere, it is not a program, and nothing panics.
        for len in (0..1024).chain([own.len() - 1]) {
            let _ = interpreter(&own[..len]);
        }
        assert_eq!(interpreter(b"#!/bin/sh\n"), None);
    }

    /// A parent sleeps and takes faults, which must not drop its samples, and a child is one.
    #[test]
    fn each_child_and_each_thread_is_a_sample() {
        for bench in ALL.iter().chain(crate::thread::ALL) {
            let Info { id, timing, interference, .. } = bench.info;
            assert_eq!((timing, interference), (Timing::Each, Interference::Tasks), "{id}");
        }
    }

    #[test]
    fn the_first_part_of_a_life_is_that_before_the_stamp() {
        assert_eq!(until_start(10, 13, 20), Some((10, 13)));
        let is_within = [10, 20, 9, 21, 0].map(|began| until_start(10, began, 20).is_some());
        assert_eq!(is_within, [true, true, false, false, false]);
    }

    /// What this process has in memory in all, and how much of that is its own, as told.
    fn sizes() -> Option<[usize; 2]> {
        fn tell_parent(ctx: &mut Ctx) -> Outcome {
            state_parent(ctx);
            ctx.state(1.0);
            Ok(())
        }
        let tried = groma_harness::testing::try_out(&groma_harness::testing::stating(tell_parent), &[], None).ok()?;
        let fact = |key: &str| tried.result.fact(key)?.parse::<usize>().ok();
        // It has a stack, a heap, and the program's text and data.
        let whole = fact("fork.mappings")? > 3 && fact("fork.threads").is_some();
        Some([fact("fork.resident")?, fact("fork.anonymous")?]).filter(|_| whole)
    }

    /// In a process of its own: other tests take memory and give it back.
    #[test]
    fn the_size_of_the_parent_is_told_by_kind() {
        const MORE: usize = 16 << 20;
        if sizes().is_none() {
            return println!("skipped: no /proc");
        }
        let child = groma_harness::sys::fork::fork(|| {
            let before = sizes();
            let more = vec![1u8; MORE];
            let (Some([all, own]), Some([all_then, own_then])) = (before, sizes()) else { return 1 };
            let touched = std::hint::black_box(&more).iter().all(|byte| *byte == 1);
            let both_grew = all_then >= all + MORE / 4 * 3 && own_then >= own + MORE / 4 * 3;
            // The text of the program is in files.
            i32::from(!(touched && both_grew && own < all && own_then < all_then)) * 2
        });
        assert_eq!(child.expect("fork").wait().expect("wait").code(), Some(0));
    }

    #[test]
    fn limits_are_refusals_and_not_failures() {
        assert!(matches!(no_child("x", &io::Error::from_raw_os_error(11)), BenchError::Denied(_)));
        assert!(matches!(no_child("x", &io::Error::from_raw_os_error(13)), BenchError::Denied(_)));
        assert!(matches!(no_child("x", &io::Error::from_raw_os_error(2)), BenchError::Failed(_)));
    }

    /// Children that live on for a while after they were made.
    fn long_lives(ctx: &mut Ctx) -> Outcome {
        let life = || {
            let from = counters::thread_cpu_ns();
            while counters::thread_cpu_ns() - from < 5_000_000 {}
            i32::from(GOOD)
        };
        let make = || {
            let child = groma_harness::sys::fork::fork(life)?;
            let pid = child.pid();
            // The benchmark waits for it by its number.
            std::mem::forget(child);
            Ok(pid)
        };
        let children = Children::new();
        ctx.measure_variants(&mut [children.whole(make, |_| Ok(())), children.time_creation(make)])?;
        children.prove(ctx);
        Ok(())
    }

    static LONG_LIVES: Benchmark = Benchmark {
        info: Info {
            timing: Timing::Each,
            outputs: &[Output::MAIN, Output::named("return", "")],
            interference: Interference::Tasks,
            ..Info::new("test.long_lives")
        },
        run: Run::Here(long_lives),
    };

    #[test]
    fn the_return_of_a_call_does_not_wait_for_the_end_of_the_child() {
        // On a busy machine the child may run first each time; it does not in every try.
        const TRIES: usize = 8;
        let shortest = || {
            let tried = groma_harness::testing::try_out(&LONG_LIVES, &[], None).expect("fork");
            ["return", ""].map(|name| {
                let samples = &tried.result.series(name).expect("a series").samples;
                samples.iter().map(|s| s.elapsed_ns).min().expect("samples")
            })
        };
        let seen: Vec<[u64; 2]> =
            (0..TRIES).map(|_| shortest()).take_while(|[returned, whole]| returned * 2 >= *whole).collect();
        assert!(seen.len() < TRIES, "{seen:?}");
    }
}
