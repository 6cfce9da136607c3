//! Whether this machine has what a benchmark needs, checked in the worker before anything is set
//! up.
//!
//! That includes the memory and the disk space that the parameters of the job take
//! (`groma_model::Memory`), and the files that the benchmark makes whatever its parameters
//! (`Info::files`): they are added up here, in one place and before a worker group is forked, for
//! all members and sides at once. A check in each benchmark was rejected: most had none, and in a
//! worker group each member saw what the members before it had left.

use crate::error::{BenchError, Outcome};
use crate::loopback;
use crate::model::{Info, Job, Memory, Need, Value, size_text};
use crate::sys::facts::{Room, free_space, longest_file, memory_headroom};
use crate::sys::{affinity, disk};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Fails with the first need that is not met.
pub(crate) fn check(info: &Info, job: &Job) -> Outcome {
    for need in info.needs {
        match *need {
            Need::Cpus(n) => {
                let have = affinity::allowed()?.len();
                if have < n as usize {
                    return Err(BenchError::Unsupported(format!("needs {n} CPUs, {have} allowed")));
                }
            }
            Need::WorkDir | Need::WorkDirFor { .. } => {
                if need.is_work_dir(&job.params) && job.work_dir.is_none() {
                    return Err(BenchError::Unsupported("no directory to write in (see --work-dir)".to_owned()));
                }
            }
            Need::Program(path) => match std::fs::metadata(path) {
                Ok(meta) if meta.is_file() && meta.permissions().mode() & 0o111 != 0 => {}
                Ok(_) => return Err(BenchError::Unsupported(format!("{path} is not an executable file"))),
                Err(e) => return Err(BenchError::Unsupported(format!("{path}: {e}"))),
            },
            Need::File(path) => {
                if let Err(e) = std::fs::metadata(path) {
                    return Err(BenchError::Unsupported(format!("{path}: {e}")));
                }
            }
            Need::Root => {
                if !crate::sys::process::is_root() {
                    return Err(BenchError::Denied("needs root".to_owned()));
                }
            }
            Need::System(name) => {
                if !name.eq_ignore_ascii_case(std::env::consts::OS) {
                    return Err(BenchError::Unsupported(format!("needs {name}")));
                }
            }
            // What it does without an answer is its own business.
            Need::EndOfCaches => {}
            // The peer of a remote placement is on another machine.
            Need::Loopback if job.remote.is_some() => {}
            Need::Loopback => loopback::check(job.params.word("family") == Some("v6"))?,
        }
    }
    check_sizes(info, job)
}

/// What a member's directories, locks and empty files take at most, in bytes: sixteen blocks of
/// most file systems.
const SMALL_FILES: u64 = 64 << 10;

/// Refuses a job that needs more memory or disk space than half of what is available.
pub(crate) fn check_sizes(info: &Info, job: &Job) -> Outcome {
    let mut required = Requirements::of(info, job);
    if let Some(dir) = job.work_dir.as_deref() {
        // Files on a file system in memory take memory too.
        if required.files.bytes > 0 && disk::has_disk(dir).is_ok_and(|has| !has) {
            required.memory.add_all(&required.files);
        }
        if required.files.bytes > 0 {
            required.files.fits("disk space", longest_file())?;
        }
        if required.files.bytes > 0 || info.needs.iter().any(|need| need.is_work_dir(&job.params)) {
            required.with_all_files(job).fits("disk space", space_for(dir, held_by_run(job)))?;
        }
    }
    // Most benchmarks have no sizes; for them nothing is read from /proc.
    if required.memory.bytes > 0 { required.memory.fits("memory", memory_headroom()) } else { Ok(()) }
}

/// The bytes of memory and of files that a job needs.
pub(crate) fn sizes(info: &Info, job: &Job) -> (u64, u64) {
    let required = Requirements::of(info, job);
    (required.memory.bytes, required.files.bytes)
}

/// Refuses memory of `bytes` bytes, for what a benchmark takes beside its parameters: by the same
/// rule.
///
/// # Errors
/// `Unsupported`, with the tightest limit.
pub fn check_memory(bytes: u64) -> Outcome {
    Sum { bytes, terms: Vec::new() }.fits("memory", memory_headroom())
}

/// What the file that the rounds of this run share takes, in bytes.
fn held_by_run(job: &Job) -> u64 {
    /// The unit of `st_blocks`.
    const BLOCK: u64 = 512;
    let meta = job.run_file.as_ref().and_then(|file| std::fs::metadata(&file.path).ok());
    meta.map_or(0, |meta| meta.blocks().saturating_mul(BLOCK))
}

/// The space that was free before this run took `held` bytes of it: the half is a half of that.
fn space_for(dir: &Path, held: u64) -> Option<Room> {
    free_space(dir).map(|room| Room { bytes: room.bytes.saturating_add(held), ..room })
}

/// The memory and disk space that a job needs.
#[derive(Debug, Default, PartialEq)]
struct Requirements {
    memory: Sum,
    files: Sum,
}

/// A number of bytes, and what needs them.
#[derive(Debug, Default, Clone, PartialEq)]
struct Sum {
    bytes: u64,
    /// Parameters with their values, then tasks and members: `size=2 GiB`, `2 sides`.
    terms: Vec<String>,
}

impl Requirements {
    /// The needs of all parameters of a job. Products and sums saturate: what does not fit in 64
    /// bits does not fit in a machine either.
    fn of(info: &Info, job: &Job) -> Requirements {
        let mut required = Requirements::default();
        let workers = u64::from(job.workers.max(1));
        // With a remote peer, only one of the two tasks is on this machine.
        let sides = if job.remote.is_some() { 1 } else { info.sides() };
        let chosen =
            |which: Option<(&str, &str)>| which.is_some_and(|(name, word)| job.params.word(name) == Some(word));
        for param in info.params {
            let (Some(memory), Some(value)) = (param.kind.memory(), job.params.int(param.name)) else { continue };
            let each = |factor: u64, of: u64| value.saturating_mul(factor).saturating_mul(of);
            let term = || format!("{}={}", param.name, param.show(&Value::Int(value)));
            match memory {
                Memory::Fitted => {}
                Memory::PerSide(factor) => required.memory.add(each(factor, sides.saturating_mul(workers)), term),
                Memory::PerMember(factor) => required.memory.add(each(factor, workers), term),
                Memory::Times(factor, count) => {
                    let count = job.params.int(count).unwrap_or(1).max(1);
                    required.memory.add(each(factor, count.saturating_mul(workers)), term);
                }
                Memory::Files { copies, buffers, in_memory, shared } => {
                    let members = if chosen(shared) { 1 } else { workers };
                    let files = each(copies, members);
                    if in_memory.is_some_and(|(name, words)| words.iter().any(|word| chosen(Some((name, *word))))) {
                        required.memory.add(files, term);
                    } else {
                        required.files.add(files, term);
                    }
                    required.memory.add(each(buffers, members), term);
                }
            }
        }
        required.files.add((info.files)(&job.params).saturating_mul(workers), || "its files".to_owned());
        let many = |n: u64, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        for sum in [&mut required.memory, &mut required.files] {
            sum.terms.extend([many(sides, "side"), many(workers, "worker")]);
        }
        required
    }

    /// The files of this job, what every member makes beside them, and what the run holds already.
    fn with_all_files(&self, job: &Job) -> Sum {
        let small = SMALL_FILES.saturating_mul(u64::from(job.workers.max(1)));
        let held = held_by_run(job);
        let mut all = self.files.clone();
        all.bytes = all.bytes.saturating_add(small).saturating_add(held);
        if held > 0 {
            all.terms.push(format!("{} that this run has there", size_text(held)));
        }
        all
    }
}

impl Sum {
    fn add(&mut self, bytes: u64, term: impl FnOnce() -> String) {
        self.bytes = self.bytes.saturating_add(bytes);
        let term = term();
        if bytes > 0 && !self.terms.contains(&term) {
            self.terms.push(term);
        }
    }

    fn add_all(&mut self, other: &Sum) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.terms.clone_from(&other.terms);
    }

    /// Allows at most half of what is available. A benchmark must not make the machine swap,
    /// trigger the OOM killer or fill a disk, and other processes use the same memory and disk
    /// meanwhile.
    fn fits(&self, what: &str, room: Option<Room>) -> Outcome {
        match room {
            Some(room) if self.bytes > room.bytes / 2 => {
                let of = if self.terms.is_empty() { String::new() } else { format!(" ({})", self.terms.join(", ")) };
                Err(BenchError::Unsupported(format!(
                    "needs {} of {what}{of}, more than half of the {} that {} leaves",
                    size_text(self.bytes),
                    size_text(room.bytes),
                    room.limit
                )))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Param, ParamKind, Params, Placement, Remote, RunFile};
    use crate::testing;
    use std::fs::File;

    const fn param(name: &'static str, kind: ParamKind) -> Param {
        let mut param = Param::count(name, "").quick(&["1"]);
        param.kind = kind;
        param
    }

    const PLACE: Param = param("where", ParamKind::Word(&["work_dir", "tmpfs"]));
    const FILES: ParamKind = ParamKind::SizeOf(Memory::Files {
        copies: 2,
        buffers: 1,
        in_memory: Some(("where", &["tmpfs"])),
        shared: Some(("object", "shared")),
    });

    /// What these parameters take with this many workers.
    fn required(
        params: &'static [Param],
        placements: &'static [Placement],
        values: &[(&str, Value)],
        workers: u32,
    ) -> Requirements {
        let info = Info { params, placements, ..Info::new("test.sizes") };
        Requirements::of(&info, &job(values, workers))
    }

    fn job(values: &[(&str, Value)], workers: u32) -> Job {
        let params = Params(values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect());
        Job { params, workers, ..testing::idle_job() }
    }

    fn word(text: &str) -> Value {
        Value::Word(text.to_owned())
    }

    #[test]
    fn a_benchmark_of_another_system_is_unsupported() {
        const HERE: &[Need] = &[Need::System(std::env::consts::OS)];
        const ELSEWHERE: &[Need] = &[Need::System("Plan 9")];
        let of = |needs| check(&Info { needs, ..Info::new("test.needs") }, &job(&[], 1));
        assert_eq!(of(HERE), Ok(()));
        assert_eq!(of(ELSEWHERE), Err(BenchError::Unsupported("needs Plan 9".to_owned())));
    }

    #[test]
    fn each_need_is_met_or_named() {
        let check_one = |need: Need, job: &Job| {
            let needs: &'static [Need] = Box::leak(Box::new([need]));
            check(&Info { needs, ..Info::new("test.needs") }, job)
        };
        let of = |need: Need| check_one(need, &job(&[], 1));
        let unsupported = |why: &str| Err(BenchError::Unsupported(why.to_owned()));

        let cpus = affinity::allowed().expect("CPUs").len() as u32;
        assert_eq!((of(Need::Cpus(cpus)), of(Need::Cpus(1))), (Ok(()), Ok(())));
        assert_eq!(of(Need::Cpus(cpus + 1)), unsupported(&format!("needs {} CPUs, {cpus} allowed", cpus + 1)));

        let no_dir = unsupported("no directory to write in (see --work-dir)");
        let with_dir = Job { work_dir: Some("/tmp".into()), ..job(&[], 1) };
        assert_eq!((of(Need::WorkDir), check_one(Need::WorkDir, &with_dir)), (no_dir.clone(), Ok(())));
        let for_path = Need::WorkDirFor { param: "name", values: &["path"] };
        let named = |name: &str| check_one(for_path, &job(&[("name", word(name))], 1));
        assert_eq!((named("path"), named("abstract")), (no_dir, Ok(())));

        assert_eq!((of(Need::Program("/bin/sh")), of(Need::File("/proc/self/stat"))), (Ok(()), Ok(())));
        // A directory has the right to be searched, and a file of data none to be run.
        for not in ["/tmp", "/proc/self/stat"] {
            assert_eq!(of(Need::Program(not)), unsupported(&format!("{not} is not an executable file")));
        }
        for need in [Need::Program("/no/such"), Need::File("/no/such")] {
            assert!(matches!(of(need), Err(BenchError::Unsupported(why)) if why.starts_with("/no/such: ")));
        }
        let root = if crate::sys::process::is_root() { Ok(()) } else { Err(BenchError::Denied("needs root".into())) };
        assert_eq!(of(Need::Root), root);
    }

    #[test]
    fn a_need_of_zero_is_not_named() {
        let mut sum = Sum::default();
        sum.add(0, || "nothing".to_owned());
        sum.add(7, || "seven".to_owned());
        sum.add(7, || "seven".to_owned());
        assert_eq!((sum.bytes, &sum.terms[..]), (14, &["seven".to_owned()][..]));
    }

    #[test]
    fn a_size_is_counted_in_every_side_of_every_worker() {
        const SIZE: &[Param] = &[param("size", ParamKind::Size)];
        let two = required(SIZE, &[Placement::SameCpu], &[("size", Value::Int(1 << 20))], 3);
        assert_eq!(two.memory.bytes, 12 << 20, "nothing was declared: two buffers in each side");
        assert_eq!(two.memory.terms, ["size=1 MiB", "2 sides", "3 workers"]);
        let one = required(SIZE, &[Placement::Pinned], &[("size", Value::Int(1 << 20))], 1);
        assert_eq!((one.memory.bytes, one.files.bytes), (2 << 20, 0));
        let info = Info { params: SIZE, placements: &[Placement::Pinned], ..Info::new("test.sizes") };
        assert_eq!(sizes(&info, &job(&[("size", Value::Int(1 << 20))], 2)), (4 << 20, 0));
        // A remote peer takes no memory of this machine.
        let info = Info { params: SIZE, placements: &[Placement::SameCpu], ..Info::new("test.sizes") };
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        let remote = Some(Remote { address, token: String::new() });
        let far = Job { remote, ..job(&[("size", Value::Int(1 << 20))], 1) };
        assert_eq!(Requirements::of(&info, &far).memory.bytes, 2 << 20);
    }

    #[test]
    fn parameters_multiply_and_add_up() {
        const RING: &[Param] = &[
            param("tasks", ParamKind::CountOf(Memory::PerMember(Memory::TASK))),
            param("set", ParamKind::SizeOf(Memory::Times(4, "tasks"))),
            param("loops", ParamKind::Count),
        ];
        let values = [("tasks", Value::Int(8)), ("set", Value::Int(4096)), ("loops", Value::Int(u64::MAX))];
        let ring = required(RING, &[Placement::SameCpu], &values, 2);
        assert_eq!(ring.memory.bytes, 2 * (8 * Memory::TASK + 8 * 4 * 4096));
        assert_eq!(ring.memory.terms, ["tasks=8", "set=4 KiB", "2 sides", "2 workers"]);
    }

    #[test]
    fn files_are_disk_space_unless_they_lie_in_memory() {
        const FILE: &[Param] = &[param("size", FILES), PLACE, param("object", ParamKind::Word(&["private", "shared"]))];
        let bytes = |place: &str, object: &str| {
            let values = [("size", Value::Int(10)), ("where", word(place)), ("object", word(object))];
            let required = required(FILE, &[Placement::Pinned], &values, 4);
            (required.files.bytes, required.memory.bytes)
        };
        assert_eq!(bytes("work_dir", "private"), (80, 40));
        assert_eq!(bytes("tmpfs", "private"), (0, 120));
        assert_eq!(bytes("work_dir", "shared"), (20, 10));
        let info = Info { params: FILE, ..Info::new("test.sizes") };
        assert_eq!(sizes(&info, &job(&[("size", Value::Int(10))], 4)), (40, 80));
    }

    /// Whatever the parameters, each member has its directories and the files that its benchmark
    /// says it makes.
    #[test]
    fn files_without_a_parameter_are_disk_space() {
        const KIND: &[Param] = &[param("kind", ParamKind::Word(&["large", "none"]))];
        fn files(params: &Params) -> u64 {
            if params.word("kind") == Some("large") { 100 << 10 } else { 0 }
        }
        let info = Info { params: KIND, needs: &[Need::WorkDir], files, ..Info::new("test.files") };
        let all = |kind: &str, workers| {
            let job = job(&[("kind", word(kind))], workers);
            Requirements::of(&info, &job).with_all_files(&job).bytes
        };
        assert_eq!([all("large", 1), all("large", 3)], [(100 << 10) + SMALL_FILES, 3 * ((100 << 10) + SMALL_FILES)]);
        assert_eq!(all("none", 2), 2 * SMALL_FILES);
    }

    /// The file that the rounds share counts with what the next benchmark makes.
    #[test]
    fn what_a_run_has_written_is_part_of_the_half() {
        let path = std::env::temp_dir().join(format!("groma-harness-needs-{}", std::process::id()));
        std::fs::write(&path, vec![7; 1 << 20]).expect("a file");
        File::open(&path).and_then(|file| file.sync_all()).expect("its blocks are allocated");
        let run_file = RunFile { path: path.display().to_string(), fill_ns: 0 };
        let job = Job { run_file: Some(run_file), ..job(&[], 1) };
        let (held, required) = (held_by_run(&job), Requirements::default().with_all_files(&job));
        std::fs::remove_file(&path).expect("it is there");
        assert!((1 << 20..2 << 20).contains(&held), "{held}");
        assert_eq!(required.bytes, held + SMALL_FILES);
        // Where nothing counts space, there is none to compare.
        let room = space_for(Path::new("/"), u64::MAX).map_or(u64::MAX, |room| room.bytes);
        assert_eq!(room, u64::MAX, "what is held is not part of what was free");
    }

    #[test]
    fn no_size_is_so_large_that_it_looks_small() {
        const KINDS: [ParamKind; 5] = [
            ParamKind::Size,
            ParamKind::SizeOf(Memory::PerMember(3)),
            ParamKind::SizeOf(Memory::Times(2, "n")),
            ParamKind::CountOf(Memory::PerSide(4096)),
            FILES,
        ];
        for kind in KINDS {
            // Values that would wrap to a small number in a 64-bit product or sum.
            for value in [1 << 40, 1 << 52, 1 << 62, 1 << 63, (1 << 63) + 1, u64::MAX] {
                let params: &'static [Param] = Box::leak(Box::new([param("n", kind), param("m", kind)]));
                let values = [("n", Value::Int(value)), ("m", Value::Int(value))];
                let required = required(params, &[Placement::SameCpu], &values, u32::MAX);
                let most = required.memory.bytes.max(required.files.bytes);
                assert!(most >= value, "{kind:?}: {value} came out as {most}");
                let room = Some(Room { bytes: 1 << 40, limit: "a limit".to_owned() });
                assert!(
                    required.memory.fits("memory", room.clone()).and(required.files.fits("disk space", room)).is_err()
                );
            }
        }
    }

    #[test]
    fn half_of_what_is_left_is_the_most() {
        let room = || Some(Room { bytes: 1 << 30, limit: "RLIMIT_AS of 2 GiB".to_owned() });
        let sum =
            |bytes| Sum { bytes, terms: vec!["size=1 GiB".to_owned(), "1 side".to_owned(), "4 workers".to_owned()] };
        assert_eq!(sum(1 << 29).fits("memory", room()), Ok(()));
        let why = "needs 512.00 MiB of memory (size=1 GiB, 1 side, 4 workers), more than half of the 1 GiB that RLIMIT_AS \
                   of 2 GiB leaves";
        assert_eq!(sum((1 << 29) + 1).fits("memory", room()), Err(BenchError::Unsupported(why.to_owned())));
        assert_eq!(sum(u64::MAX).fits("memory", None), Ok(()), "nothing is known of any limit");
    }

    #[test]
    fn files_in_a_work_directory_in_memory_are_memory_too() {
        let Some(dir) =
            ["/dev/shm", "/tmp"].map(Path::new).into_iter().find(|dir| disk::has_disk(dir).is_ok_and(|has| !has))
        else {
            return eprintln!("skipped: neither /dev/shm nor /tmp is in memory here");
        };
        const SIZE: &[Param] = &[param("size", FILES)];
        let info = Info { params: SIZE, ..Info::new("test.sizes") };
        // More than half of the memory, but perhaps not more than the file system promises.
        let Some(room) = memory_headroom() else { return eprintln!("skipped: no limit of memory is known") };
        let job = Job { work_dir: Some(dir.to_owned()), ..job(&[("size", Value::Int(room.bytes / 4))], 1) };
        assert!(matches!(check_sizes(&info, &job), Err(BenchError::Unsupported(_))));
    }
}
