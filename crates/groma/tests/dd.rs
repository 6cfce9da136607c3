//! `groma dd`: it writes what it reads, detects wrong data, and refuses what was not meant.

use crate::common::{Ended, Place, ended, is_executable, send, wait_for};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command};

/// Ends a process that does not handle it.
const SIGTERM: i32 = 15;

#[test]
fn a_pattern_is_written_and_checked_and_errors_are_found() {
    let place = Place::new();
    let data = place.path("data").display().to_string();
    let (of, input) = (format!("of={data}"), format!("if={data}"));
    let written = place.groma(&["dd", &of, "bs=64K", "move=1000K", "opat=1", "fsync=1", "json=1"]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let statistics: Value = serde_json::from_str(&written.err).expect("statistics");
    assert_eq!((&statistics["bytes"], &statistics["writes_s"]["transfers"]), (&1_024_000.into(), &16.into()));
    assert_eq!(std::fs::metadata(&data).expect("it is there").len(), 1_024_000);

    let checked = place.groma(&["dd", &input, "bs=4K", "ipat=1", "rand=1000K", "norepeat=1", "hist=1"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.err.contains("1.024 MB in ") && checked.err.contains("250 reads"), "{checked:?}");

    let mut bytes = std::fs::read(&data).expect("it is there");
    bytes[500_000] ^= 1;
    std::fs::write(&data, &bytes).expect("it can be written");
    let wrong = place.groma(&["dd", &input, "bs=64K", "ipat=1"]);
    assert_eq!(wrong.code, Some(4), "{wrong:?}");
    assert!(wrong.err.contains("off=500000 want=7a120 got=7a121"), "{wrong:?}");

    // Standard output carries the file's data and nothing else.
    let piped = place.groma(&["dd", &format!("if={data}"), "of=-", "bs=120", "count=1"]);
    assert_eq!(piped.out.len(), 120, "{}", piped.err);
}

/// What was written is not on the disk before it is synchronised; `strace` makes that take longer.
#[test]
fn the_time_of_a_transfer_includes_its_fsync() {
    const DELAY_S: f64 = 0.3;
    let place = Place::new();
    if !is_executable("strace") {
        return println!("not here: there is no strace");
    }
    let delay = format!("inject=fsync:delay_enter={}", DELAY_S * 1e6);
    let mut traced = Command::new("strace");
    traced.args(["-f", "-q", "-e", "trace=fsync", "-e", &delay, "-o", &place.path("trace").display().to_string()]);
    traced.args([env!("CARGO_BIN_EXE_groma"), "dd", &format!("of={}", place.path("data").display())]);
    let done = ended(traced.args(["bs=64K", "count=1", "fsync=1", "json=1"]).output().expect("strace starts"));
    if done.err.contains("ptrace") {
        return println!("not here: {}", done.err);
    }
    let statistics: Value = serde_json::from_str(&done.err).unwrap_or_else(|e| panic!("{e}: {done:?}"));
    assert!(statistics["seconds"].as_f64().is_some_and(|s| s >= DELAY_S), "{statistics}");
}

#[test]
fn impossible_requests_are_refused_with_a_reason() {
    let place = Place::new();
    let data = place.path("data").display().to_string();
    std::fs::write(&data, vec![0u8; 10_000]).expect("a file");
    for (args, code, why) in [
        (vec!["dd".to_owned()], 2, "required arguments"),
        (vec!["dd".into(), "if=/nonexistent".into()], 2, "if=/nonexistent: No such file"),
        (vec!["dd".into(), "if=/".into()], 2, "is a directory"),
        (vec!["dd".into(), format!("if={data}"), "bs=1q".into()], 2, "bs: '1q' is not a size"),
        (
            vec!["dd".into(), format!("if={data}"), "bs=4K".into(), "rand=1M".into(), "norepeat=1".into()],
            4,
            "ends before byte",
        ),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ended = place.groma(&args);
        assert_eq!(ended.code, Some(code), "{args:?}: {ended:?}");
        assert!(ended.err.contains(why), "{args:?}: {ended:?}");
    }
}

/// Runs a command that must be refused before anything is changed.
fn refused(place: &Place, args: &[&str], why: &str) {
    // The system itself opens a disk for a moment whenever somebody has closed it after writing.
    let ended = wait_for("a disk that nobody looks at", || {
        Some(place.groma(args)).filter(|ended| why.contains("in use") || !ended.err.contains("in use"))
    });
    assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
    assert!(ended.err.contains(why) && ended.err.trim_end().lines().count() == 1, "{args:?}: {ended:?}");
}

/// Runs another program; returns whether it succeeded.
fn succeeds(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

#[test]
fn devices_are_written_only_with_destroy() {
    let place = Place::new();
    let node = |name: &str, kind: &str, major: &str, minor: &str| {
        let path = place.path(name).display().to_string();
        succeeds("mknod", &[&path, kind, major, minor]).then(|| format!("of={path}"))
    };
    // The check uses device numbers, not names, and comes before the device is opened: most of
    // these have no driver here.
    for (name, kind, major, minor) in
        [("null", "c", "1", "1"), ("tape", "c", "9", "0"), ("flash", "c", "90", "0"), ("disk", "b", "259", "4095")]
    {
        let Some(of) = node(name, kind, major, minor) else {
            println!("skipped: mknod is not allowed here");
            break;
        };
        refused(&place, &["dd", &of, "count=1"], &format!("{of}: is a "));
        refused(&place, &["dd", &of, "count=1"], "(--destroy if that is meant)");
        let link = place.path(&format!("to-{name}"));
        std::os::unix::fs::symlink(of.trim_start_matches("of="), &link).expect("a link");
        refused(&place, &["dd", &format!("of={}", link.display()), "count=1"], "(--destroy if that is meant)");
    }
    if Path::new("/dev/mem").exists() {
        refused(&place, &["dd", "of=/dev/mem", "count=1"], "of=/dev/mem: is a character device");
    }
    for sink in ["/dev/null", "/dev/zero"] {
        let written = place.groma(&["dd", &format!("of={sink}"), "count=3", "json=1"]);
        assert_eq!(written.code, Some(0), "{written:?}");
    }
}

#[test]
fn a_file_is_not_written_onto_itself() {
    let place = Place::new();
    let [data, link, to] = ["data", "link", "to"].map(|name| place.path(name));
    std::fs::write(&data, vec![7u8; 100_000]).expect("a file");
    std::fs::hard_link(&data, &link).expect("a link");
    std::os::unix::fs::symlink(&data, &to).expect("a link");
    let intact = || std::fs::read(&data).expect("it is there") == vec![7u8; 100_000];
    let input = format!("if={}", data.display());
    for output in [&data, &link, &to] {
        let output = format!("of={}", output.display());
        refused(&place, &["dd", &input, &output], &format!("{output}: is the same file as {input}"));
        assert!(intact());
    }
    // The same through descriptors, on both sides.
    let run = |args: &[&str], input: Option<File>, output: Option<File>| -> Ended {
        let mut command = place.command(args);
        input.map(|file| command.stdin(file));
        output.map(|file| command.stdout(file));
        ended(command.output().expect("the program starts"))
    };
    let open = || Some(OpenOptions::new().read(true).write(true).open(&data).expect("it is there"));
    let output = format!("of={}", link.display());
    for ended in [
        run(&["dd", "if=-", &output], open(), None),
        run(&["dd", &input, "of=-"], None, open()),
        run(&["dd", "if=-", "of=-"], open(), open()),
    ] {
        assert!(ended.code == Some(2) && ended.err.contains("is the same file as if="), "{ended:?}");
        assert!(intact());
    }
    // Another file is written as before and truncated to the new length.
    let other = place.path("other");
    std::fs::write(&other, vec![1u8; 200_000]).expect("a file");
    assert_eq!(place.groma(&["dd", &input, &format!("of={}", other.display())]).code, Some(0));
    assert_eq!(std::fs::read(&other).expect("it is there"), vec![7u8; 100_000]);
}

/// A loop device over a file, detached when dropped.
struct Loop(String);

impl Loop {
    fn over(file: &Path) -> Option<Loop> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output().ok()?;
        output.status.success().then(|| Loop(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        succeeds("losetup", &["--detach", &self.0]);
    }
}

#[test]
fn a_disk_in_use_is_not_written_to() {
    /// Per `open(2)` on block devices: fails if somebody else has opened the device like that, as a
    /// mount does.
    const O_EXCL: i32 = 0o200;
    let place = Place::new();
    let file = place.path("image");
    std::fs::write(&file, vec![1u8; 1 << 20]).expect("a file");
    let Some(disk) = Loop::over(&file) else { return println!("skipped: losetup makes no device here") };
    let of = format!("of={}", disk.0);
    refused(&place, &["dd", &of, "count=1"], "is a block device whose contents would be lost (--destroy");
    let held = OpenOptions::new().read(true).custom_flags(O_EXCL).open(&disk.0).expect("nobody else uses it");
    refused(&place, &["dd", &of, "count=1", "--destroy"], "is mounted or in use: unmount it");
    let out = OpenOptions::new().write(true).open(&disk.0).expect("it is there");
    let onto = ended(place.command(&["dd", "of=-", "count=1", "--destroy"]).stdout(out).output().expect("it starts"));
    assert!(onto.code == Some(2) && onto.err.contains("of=-: is mounted or in use"), "{onto:?}");
    let out = OpenOptions::new().write(true).open(&disk.0).expect("it is there");
    let onto = ended(place.command(&["dd", "of=-", "count=1"]).stdout(out).output().expect("it starts"));
    assert!(onto.code == Some(2) && onto.err.contains("of=-: is a block device"), "{onto:?}");
    let mut seen = [0; 8];
    File::open(&disk.0).and_then(|mut disk| disk.read_exact(&mut seen)).expect("it can be read");
    assert_eq!(seen, [1; 8], "nothing was written so far");
    drop(held);
    refused(&place, &["dd", &format!("if={}", disk.0), &of, "--destroy"], "is the same file as if=");
    let written = place.groma(&["dd", &of, "bs=64K", "count=1", "opat=1", "fsync=1", "--destroy"]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let checked = place.groma(&["dd", &format!("if={}", disk.0), "bs=64K", "count=1", "ipat=1"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
}

#[test]
fn waiting_for_a_fifo_is_reported() {
    let place = Place::new();
    let fifo = place.path("fifo");
    assert!(succeeds("mkfifo", &[&fifo.display().to_string()]));
    let of = format!("of={}", fifo.display());
    let messages = place.path("messages");
    let start = |args: &[&str]| {
        let messages = File::create(&messages).expect("a file");
        place.command(args).stderr(messages).spawn().expect("the program starts")
    };
    let ended_by = |child: &mut Child| wait_for("its end", || child.try_wait().expect("it is ours")).signal();
    // Without a reader: it says that it waits, and a signal ends it. Not SIGINT: a shell without
    // job control starts what runs in the background with that ignored, and so tests that run
    // there.
    let mut alone = start(&["dd", &of, "count=1"]);
    let wanted = format!("groma: {of}: waiting for a reader of this FIFO\n");
    wait_for("a remark", || std::fs::read_to_string(&messages).is_ok_and(|text| text == wanted).then_some(()));
    send(alone.id() as i32, SIGTERM);
    assert_eq!(ended_by(&mut alone), Some(SIGTERM));
    // With a reader that reads in pieces: nothing is lost, and nothing fails because the FIFO is
    // full.
    let copy = place.path("copy");
    let to = File::create(&copy).expect("a file");
    let mut reader = Command::new("timeout").args(["60", "cat"]).arg(&fifo).stdout(to).spawn().expect("cat");
    let writer = place.wrapped(&["timeout", "60"], &["dd", &of, "bs=64K", "move=1M", "opat=1"]).output();
    let writer = ended(writer.expect("it ends"));
    assert!(reader.wait().expect("it ends").success());
    let data = std::fs::read(&copy).expect("a file");
    assert_eq!((writer.code, data.len()), (Some(0), 1 << 20), "{writer:?}");
    let right = data.as_chunks::<8>().0.iter().enumerate().all(|(i, word)| u64::from_le_bytes(*word) == 8 * i as u64);
    assert!(right, "not the pattern");
    // A reader that has it open and does not read: a signal ends that as well.
    let _reader = OpenOptions::new().read(true).write(true).open(&fifo).expect("it is there");
    let mut stuck = start(&["dd", &of, "bs=64K", "time=1h"]);
    let sleeps = || std::fs::read_to_string(format!("/proc/{}/stat", stuck.id())).is_ok_and(|s| s.contains(") S "));
    wait_for("a full FIFO", || sleeps().then_some(()));
    send(stuck.id() as i32, SIGTERM);
    assert_eq!(ended_by(&mut stuck), Some(SIGTERM));
}
