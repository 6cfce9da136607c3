//! The modified Andrew benchmark: the mixture of file operations and programs of a software build.
//!
//! **Measures:** Seven phases on a tree of generated sources, one after the other: creating its
//! directories anew, copying every file, `stat` of every file, reading every byte, compiling every
//! file (a process each, `jobs` at once), linking the objects into one file, and deleting
//! everything created. The main value is their sum.
//!
//! **Does not measure:** Storage or a real compiler. This is a mix of the operating system's work,
//! mostly in memory; slowing a disk's reads 32 times has moved such benchmarks by a few percent.
//!
//! **Method:** Names, sizes and contents of the tree follow from a fixed seed, so it is the same
//! everywhere; sizes are spread evenly over their logarithms. It is written before the clock
//! starts. The compiler is our own (`carried/compiler.rs`, linked with the system's libc). It
//! splits the source into tokens and writes a name for each; Ousterhout likewise compiled for one
//! fixed processor on all machines.
//!
//! Everything that is read is summed, every object begins with the number and the hash of its
//! tokens, and every compiler has to exit with code 0. All of it is compared with what was computed
//! beforehand.
//!
//! **Calls:**
//! - `read(`, not `copy_file_range(`
//!
//! **Pitfalls:**
//! - A real compiler differs from machine to machine.
//! - A compilation cache skips work.
//! - Leftovers of an earlier pass change the work.
//! - An ext4 without a journal passes over inodes that were freed nearby in the last minutes
//!   (`file.create_delete`): in ten surveys in a row `mkdir` took 0.27 to 1.8 ms and all phases 16
//!   to 31 ms (2-vCPU KVM guest). So each round's tree is put elsewhere (`chattr +T`).
//!
//! **Sources:** Ousterhout 1990 tables 7 and 8 (the modified Andrew benchmark: mkdir, copy, scan,
//! read, make); Howard et al. 1988. See docs/methods/operating-system.md#mixes.

use crate::scratch::{Scratch, write_program};
use groma_harness::Rng;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::process;
use groma_harness::sys::spawn::Command;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

#[path = "../../carried/tokens.rs"]
mod tokens;
use tokens::{HEAD, Tokens};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Modified Andrew benchmark: copy, scan, read, compile, delete",
        about: about!("andrew.rs"),
        iteration: "all phases on the whole tree",
        timing: Timing::Each,
        outputs: &[
            Output::MAIN,
            phase("mkdir", "making the directories"),
            phase("copy", "copying every file"),
            phase("stat", "reading the directories and the state of every file"),
            phase("read", "reading every byte"),
            phase("compile", "compiling every file, a process each"),
            phase("link", "joining the objects"),
            phase("delete", "deleting all that was made"),
        ],
        params: &[
            Param::word(
                "tree",
                "20 files of 100 KiB, 70 of 0.3 MiB as Andrew's, or 700 of 30 MiB, about (large wants --deadline 60s)",
                &["small", "andrew", "large"],
            )
            .quick(&["small"])
            .named(&["large"]),
            Param::count("jobs", "compilers that run at once").quick(&["1"]).full(&["2", "4"]),
        ],
        scaling: Scaling::processes("a process with threads must not fork"),
        placements: &[Placement::Free],
        needs: &[Need::WorkDir],
        files: |params| Shape::from_name(params.word("tree").unwrap_or_default()).space(),
        interference: Interference::Tasks,
        target_half_width: 0.05,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("mix.andrew")
    },
    run: Run::Here(run),
};

/// The output for one phase.
const fn phase(suffix: &'static str, summary: &'static str) -> Output {
    Output::named(suffix, summary).detail()
}

const PHASES: [&str; 7] = ["mkdir", "copy", "stat", "read", "compile", "link", "delete"];

/// The compiler, see `build.rs`.
const COMPILER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/target-compiler"));
/// Why the compiler is missing, if it is.
const NO_COMPILER: &str = env!("GROMA_NO_TARGET_COMPILER");

/// The seed of every tree, so that it is the same everywhere.
const SEED: u64 = 1990;
/// Bytes per read or write.
const BLOCK: usize = 64 << 10;
/// The most compilers at once.
const MAX_JOBS: u64 = 256;

/// The dimensions of a tree.
struct Shape {
    directories: usize,
    files: usize,
    /// The smallest and the largest size of a file, in bytes.
    bytes: [f64; 2],
}

impl Shape {
    fn from_name(name: &str) -> Shape {
        match name {
            "small" => Shape { directories: 5, files: 20, bytes: [512.0, 16e3] },
            "andrew" => Shape { directories: 20, files: 70, bytes: [512.0, 16e3] },
            _ => Shape { directories: 70, files: 700, bytes: [2e3, 200e3] },
        }
    }
}

impl Shape {
    /// What all files take at most, in bytes: two trees, the objects and the program, which is as
    /// long as all of them. An object is shorter than its source: 4 B for each token.
    fn space(&self) -> u64 {
        /// A block of most file systems: files and directories take whole ones.
        const FILE_BLOCK: f64 = 4096.0;
        let [least, most] = self.bytes;
        // The mean of sizes that are spread evenly over their logarithms.
        let mean = (most - least) / (most / least).ln();
        let files = 4.0 * self.files as f64 * (mean + FILE_BLOCK);
        (files + 2.0 * self.directories as f64 * FILE_BLOCK) as u64 + COMPILER.len() as u64
    }
}

/// A source: its path below the tree, and the expected results of reading and compiling it.
struct Source {
    path: PathBuf,
    bytes: u64,
    sum: u64,
    tokens: Tokens,
}

/// A generated tree of sources.
struct Tree {
    directories: Vec<PathBuf>,
    sources: Vec<Source>,
}

impl Tree {
    /// Generates the tree below `root`.
    fn grow(root: &Path, shape: &Shape) -> io::Result<Tree> {
        let mut rng = Rng::new(SEED);
        let mut directories: Vec<PathBuf> = Vec::with_capacity(shape.directories);
        for i in 0..shape.directories {
            // Below an existing directory, or at the top.
            let above = rng.below(i as u64 + 1) as usize;
            let name = format!("directory{i}");
            directories.push(directories.get(above).map_or_else(|| PathBuf::from(&name), |d| d.join(&name)));
        }
        for directory in &directories {
            fs::create_dir_all(root.join(directory))?;
        }
        let mut sources = Vec::with_capacity(shape.files);
        for i in 0..shape.files {
            let path = directories[rng.below(directories.len() as u64) as usize].join(format!("source{i}.c"));
            let [least, most] = shape.bytes;
            // Evenly over the logarithm, by index; the random directories shuffle them.
            let share = i as f64 / (shape.files - 1).max(1) as f64;
            let text = source_text((least * (most / least).powf(share)) as usize, &mut rng);
            fs::write(root.join(&path), &text)?;
            let tokens = Tokens::of(&text, |_| ());
            sources.push(Source { path, bytes: text.len() as u64, sum: sum_on(0, &text), tokens });
        }
        Ok(Tree { directories, sources })
    }

    fn bytes(&self) -> u64 {
        self.sources.iter().map(|s| s.bytes).sum()
    }
}

/// Something like a program: names, numbers and signs in lines.
fn source_text(bytes: usize, rng: &mut Rng) -> Vec<u8> {
    const SIGNS: &[u8] = b"()[]{};,=+-*/<>&|";
    let mut text = Vec::with_capacity(bytes + 16);
    while text.len() < bytes {
        match rng.below(8) {
            0 => text.push(b'\n'),
            1 => text.extend(rng.below(10_000).to_string().into_bytes()),
            2 | 3 => text.push(SIGNS[rng.below(SIGNS.len() as u64) as usize]),
            _ => {
                text.extend((0..3 + rng.below(8)).map(|_| b'a' + rng.below(26) as u8));
                text.push(b' ');
            }
        }
    }
    text.truncate(bytes);
    text
}

/// Continues a sum that also changes if words are swapped. It works by words: by bytes it would
/// take longer than the reading that it proves. Summing a text in pieces gives the sum of the whole
/// if all pieces but the last are whole words.
fn sum_on(before: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let add = |sum: u64, word: u64| sum.rotate_left(1).wrapping_add(word);
    let sum = words.iter().fold(before, |sum, word| add(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| add(sum, u64::from(*byte)))
}

fn run(ctx: &mut Ctx) -> Outcome {
    let jobs = ctx.int("jobs");
    if !(1..=MAX_JOBS).contains(&jobs) {
        return Err(BenchError::Unsupported(format!("1 to {MAX_JOBS} jobs")));
    }
    if COMPILER.is_empty() {
        return Err(BenchError::Unsupported(format!("this program was built without its compiler: {NO_COMPILER}")));
    }
    let scratch = Scratch::apart(ctx)?;
    let compiler = scratch.path().join("compiler");
    write_program(&compiler, COMPILER)?;
    let original = scratch.path().join("original");
    let tree = Tree::grow(&original, &Shape::from_name(ctx.word("tree"))).context("growing the tree")?;
    let mut build = Build::new(&original, &scratch.path().join("copy"), &compiler, &tree, jobs as usize)?;
    ctx.fact("tree.directories", tree.directories.len());
    ctx.fact("tree.files", tree.sources.len());
    ctx.fact("tree.bytes", tree.bytes());

    let (before, children) = (Usage::process(), Usage::children());
    let mut phases: [Vec<u64>; PHASES.len()] = Default::default();
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            watch.start();
            let mut from = watch.now_ns();
            for (phase, took) in PHASES.iter().zip(&mut phases) {
                build.step(phase)?;
                let now = watch.now_ns();
                took.push(now.saturating_sub(from));
                from = now;
            }
            watch.stop();
        }
        Ok(())
    })?;
    let (own, theirs) = (Usage::process().since(&before), Usage::children().since(&children));
    let passes = ctx.iterations() as f64;
    let files = tree.sources.len() as f64;
    ctx.fact("pass.minor_faults", ((own.minor_faults + theirs.minor_faults) as f64 / passes).round());
    let switches = own.voluntary + own.involuntary + theirs.voluntary + theirs.involuntary;
    ctx.fact("pass.context_switches", (switches as f64 / passes).round());
    let exactly = |n: f64| n..=n;
    ctx.prove(
        "files read as written, per file and pass",
        "exactly 1",
        build.read as f64 / files / passes,
        exactly(1.0),
    );
    ctx.prove(
        "objects with the right tokens, likewise",
        "exactly 1",
        build.objects as f64 / files / passes,
        exactly(1.0),
    );
    for (phase, took) in PHASES.iter().zip(phases) {
        took.into_iter().for_each(|ns| ctx.state_as(phase, ns as f64 * 1e-9));
    }
    Ok(())
}

/// The copy of a tree and what is built from it.
struct Build<'t> {
    tree: &'t Tree,
    original: PathBuf,
    copy: PathBuf,
    program: PathBuf,
    jobs: usize,
    /// The command that compiles each source.
    compilers: Vec<Command>,
    objects_at: Vec<PathBuf>,
    buffer: Vec<u8>,
    /// Files that were read as written, and objects with the right tokens, in all passes.
    read: u64,
    objects: u64,
}

impl<'t> Build<'t> {
    fn new(
        original: &Path,
        copy: &Path,
        compiler: &Path,
        tree: &'t Tree,
        jobs: usize,
    ) -> Result<Build<'t>, BenchError> {
        let mut compilers = Vec::with_capacity(tree.sources.len());
        let mut objects_at = Vec::with_capacity(tree.sources.len());
        for source in &tree.sources {
            let (from, to) = (copy.join(&source.path), copy.join(source.path.with_extension("o")));
            let args = [Path::new("compiler"), &from, &to];
            compilers.push(Command::new(compiler, &args).context("naming the compiler")?);
            objects_at.push(to);
        }
        Ok(Build {
            tree,
            original: original.to_owned(),
            copy: copy.to_owned(),
            program: copy.join("program"),
            jobs,
            compilers,
            objects_at,
            buffer: vec![0; BLOCK],
            read: 0,
            objects: 0,
        })
    }

    fn step(&mut self, phase: &str) -> Outcome {
        match phase {
            "mkdir" => self.make_directories().context("making the directories"),
            "copy" => self.copy_files().context("copying the tree"),
            "stat" => self.look(),
            "read" => self.read_files(),
            "compile" => self.compile(),
            "link" => self.link(),
            _ => fs::remove_dir_all(&self.copy).context("deleting the copy"),
        }
    }

    fn make_directories(&self) -> io::Result<()> {
        fs::create_dir(&self.copy)?;
        self.tree.directories.iter().try_for_each(|d| fs::create_dir(self.copy.join(d)))
    }

    /// By read and write, like `cp` of the time: `std::fs::copy` lets some file systems share the
    /// blocks.
    fn copy_files(&mut self) -> io::Result<()> {
        for source in &self.tree.sources {
            let mut from = File::open(self.original.join(&source.path))?;
            let mut to = File::create_new(self.copy.join(&source.path))?;
            loop {
                match from.read(&mut self.buffer)? {
                    0 => break,
                    n => to.write_all(&self.buffer[..n])?,
                }
            }
        }
        Ok(())
    }

    /// Reads every directory, and stats every entry.
    fn look(&self) -> Outcome {
        let (mut files, mut bytes) = (0, 0);
        let mut unseen = vec![self.copy.clone()];
        while let Some(directory) = unseen.pop() {
            for entry in fs::read_dir(directory).context("reading a directory")? {
                let entry = entry.context("reading a directory")?;
                let state = entry.metadata().context("asking for the state of a file")?;
                if state.is_dir() {
                    unseen.push(entry.path());
                } else {
                    (files, bytes) = (files + 1, bytes + state.len());
                }
            }
        }
        if (files, bytes) == (self.tree.sources.len(), self.tree.bytes()) {
            return Ok(());
        }
        Err(BenchError::Failed(format!("the copy has {files} files of {bytes} B")))
    }

    fn read_files(&mut self) -> Outcome {
        for source in &self.tree.sources {
            let mut file = File::open(self.copy.join(&source.path)).context("opening a copy")?;
            let (mut total, mut length) = (0u64, 0);
            loop {
                let n = file.read(&mut self.buffer).context("reading a copy")?;
                if n == 0 {
                    break;
                }
                total = sum_on(total, &self.buffer[..n]);
                length += n as u64;
            }
            self.read += u64::from((total, length) == (source.sum, source.bytes));
        }
        Ok(())
    }

    fn compile(&self) -> Outcome {
        let mut running = VecDeque::with_capacity(self.jobs);
        let finish = |pid| {
            let exit = process::wait(pid).context("waiting for a compiler")?;
            if exit.success() { Ok(()) } else { Err(BenchError::Failed(format!("a compiler {exit}"))) }
        };
        for compiler in &self.compilers {
            if running.len() == self.jobs
                && let Some(first) = running.pop_front()
            {
                finish(first)?;
            }
            running.push_back(compiler.posix_spawn().map_err(|e| no_compiler(&e))?);
        }
        running.into_iter().try_for_each(finish)
    }

    /// Joins all objects to one file and checks that each is that of its source.
    fn link(&mut self) -> Outcome {
        let mut program = File::create_new(&self.program).context("making the program")?;
        for (source, path) in self.tree.sources.iter().zip(&self.objects_at) {
            let object = fs::read(path).context("reading an object")?;
            let right = object.starts_with(&source.tokens.head())
                && object.len() as u64 == HEAD as u64 + 4 * source.tokens.count;
            self.objects += u64::from(right);
            program.write_all(&object).context("writing the program")?;
        }
        Ok(())
    }
}

/// The error for a compiler that could not be started. A limit on tasks or a noexec mount is a
/// refusal by the system.
fn no_compiler(error: &io::Error) -> BenchError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            BenchError::Denied(format!("starting a compiler: {error} (mounted noexec? see --work-dir)"))
        }
        io::ErrorKind::NotFound => {
            BenchError::Unsupported(format!("starting a compiler: {error} (no loader for it here)"))
        }
        _ => BenchError::no_task("starting a compiler", error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::try_out;

    #[test]
    fn a_tree_is_read_compiled_and_gone() {
        for jobs in ["1", "3"] {
            let place = Place::new();
            let tried = match try_out(&BENCH, &[("jobs", jobs)], Some(place.path())) {
                // Built where no linker was found for it.
                Err(BenchError::Unsupported(why)) if COMPILER.is_empty() => return println!("not here: {why}"),
                tried => tried.expect("a tree"),
            };
            assert_eq!(tried.proven("files read as written, per file and pass"), 1.0);
            assert_eq!(tried.proven("objects with the right tokens, likewise"), 1.0);
            // Each compiler is a process, which takes ten faults and more until it runs.
            let faults = tried.result.fact("pass.minor_faults").and_then(|text| text.parse::<f64>().ok());
            let counts = Usage::children().minor_faults > 0;
            assert!(!counts || faults.is_some_and(|faults| faults > 10.0 * 20.0), "{faults:?}");
            for phase in PHASES {
                let values = &tried.result.series(phase).expect("a phase").values;
                assert_eq!(values.len() as u64, tried.iterations, "{phase}");
                assert!(values.iter().all(|v| *v > 0.0));
            }
        }
    }

    /// Directories, sources, sources read, objects, whether there is a program, and objects joined.
    type Done = (usize, usize, u64, usize, bool, u64);

    #[test]
    fn a_phase_does_what_it_is_called() {
        if COMPILER.is_empty() {
            return println!("not here: {NO_COMPILER}");
        }
        let place = Place::new();
        let [original, copy, compiler] = ["original", "copy", "compiler"].map(|name| place.path().join(name));
        write_program(&compiler, COMPILER).expect("a program");
        let tree = Tree::grow(&original, &Shape::from_name("small")).expect("a tree");
        let mut build = Build::new(&original, &copy, &compiler, &tree, 2).expect("a build");
        let done = |build: &Build| -> Done {
            let there = |paths: Vec<PathBuf>| paths.iter().filter(|path| copy.join(path).exists()).count();
            let sources = tree.sources.iter().map(|source| source.path.clone()).collect();
            let program = build.program.exists();
            let objects = there(build.objects_at.clone());
            (there(tree.directories.clone()), there(sources), build.read, objects, program, build.objects)
        };
        let expected: [Done; PHASES.len()] = [
            (5, 0, 0, 0, false, 0),
            (5, 20, 0, 0, false, 0),
            (5, 20, 0, 0, false, 0),
            (5, 20, 20, 0, false, 0),
            (5, 20, 20, 20, false, 0),
            (5, 20, 20, 20, true, 20),
            (0, 0, 20, 0, false, 20),
        ];
        for (phase, expected) in PHASES.into_iter().zip(expected) {
            build.step(phase).expect(phase);
            assert_eq!(done(&build), expected, "{phase}");
        }
        place.clear();
    }

    /// As the help of the parameter says.
    #[test]
    fn a_tree_has_as_many_files_and_bytes_as_are_said() {
        let trees = [("small", 5, 20, 100.0), ("andrew", 20, 70, 307.0), ("large", 70, 700, 30_720.0)];
        for (name, directories, files, kib) in trees {
            let shape = Shape::from_name(name);
            assert_eq!((shape.directories, shape.files), (directories, files), "{name}");
            // The mean of what is spread evenly over its logarithm.
            let [least, most] = shape.bytes;
            let bytes = files as f64 * (most - least) / (most / least).ln();
            assert!((0.8..1.2).contains(&(bytes / 1024.0 / kib)), "{name}: {bytes} B");
        }
    }

    #[test]
    fn trees_are_the_same_everywhere() {
        let place = Place::new();
        let (one, two) = (place.path().join("one"), place.path().join("two"));
        let shape = Shape::from_name("andrew");
        let grown = [&one, &two].map(|root| Tree::grow(root, &shape).expect("a tree"));
        let all = |tree: &Tree| tree.sources.iter().map(|s| (s.path.clone(), s.sum, s.tokens)).collect::<Vec<_>>();
        assert_eq!(all(&grown[0]), all(&grown[1]));
        let bytes = grown[0].bytes();
        assert!((200_000..400_000).contains(&bytes), "{bytes}");
        fs::remove_dir_all(&one).and_then(|()| fs::remove_dir_all(&two)).expect("they go");
        assert_ne!(sum_on(0, b"01234567abcdefgh"), sum_on(0, b"abcdefgh01234567"));
        assert_eq!(sum_on(sum_on(0, b"01234567"), b"abc"), sum_on(0, b"01234567abc"));
        // These must not change without a new version of the benchmark.
        let hash = grown[0].sources.iter().fold(0u64, |h, s| h.rotate_left(7) ^ s.tokens.hash);
        assert_eq!((bytes, hash), (TREE_BYTES, TREE_HASH));
    }

    const TREE_BYTES: u64 = 318_766;
    const TREE_HASH: u64 = 10_873_352_319_053_922_886;

    #[test]
    fn tokens_are_words_numbers_and_signs() {
        let mut names = Vec::new();
        let tokens = Tokens::of(b"int  a_1=(42);\n", |name| names.push(name));
        assert_eq!((tokens.count, names.len()), (7, 7));
        assert_ne!(Tokens::of(b"a b", |_| ()), Tokens::of(b"b a", |_| ()));
        assert_eq!(Tokens::of(b" \n", |_| ()), Tokens::NONE);
    }

    #[test]
    fn the_phases_add_up_to_the_pass() {
        let place = Place::new();
        let tried = match try_out(&BENCH, &[("jobs", "1")], Some(place.path())) {
            Err(BenchError::Unsupported(why)) if COMPILER.is_empty() => return println!("not here: {why}"),
            tried => tried.expect("a tree"),
        };
        let last = tried.result.series("").and_then(|s| s.samples.last()).expect("a pass");
        let phase = |phase: &&str| *tried.result.series(phase).expect("a phase").values.last().expect("a pass");
        let (sum, pass) = (PHASES.iter().map(phase).sum::<f64>(), last.elapsed_ns as f64 * 1e-9);
        assert_eq!(last.iters, 1);
        assert!(sum <= pass * 1.000_001, "{sum} s in phases, {pass} s in all");
    }
}
