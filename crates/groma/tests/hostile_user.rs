//! Another user of this machine who can write where groma creates its files: no run hangs, follows
//! a link of theirs, or removes files that are not its own. Calls that may block can be
//! interrupted.

use crate::common::{self, Ended, OTHER, Place, ended, send, shared_place, wait_for};
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// A short run that needs files.
const SHORT: [&str; 9] =
    ["run", "syscall.fstat", "file.readdir", "--profile", "quick", "--rounds", "1", "--no-store", "--json"];

/// Runs a script as the other user.
fn as_other(place: &Place, script: &str) {
    let mut sh = Command::new("sh");
    sh.args(["-ec", script]).current_dir(place.tmp()).uid(OTHER).gid(OTHER);
    assert!(sh.status().expect("sh").success(), "{script}");
}

/// Runs the program with a time limit of two minutes.
fn bounded(place: &Place, args: &[&str]) -> Ended {
    ended(place.wrapped(&["timeout", "-s", "KILL", "120"], args).output().expect("timeout"))
}

/// The output of `find` for everything there except times of directories: kind, owner, mode, size,
/// name, target.
fn listing(dir: &Path) -> String {
    let found = Command::new("find").arg(dir).args(["-printf", "%y %U %m %s %P -> %l\\n"]).output().expect("find");
    let mut lines: Vec<String> = String::from_utf8_lossy(&found.stdout).lines().map(str::to_owned).collect();
    lines.sort();
    lines.join("\n")
}

#[test]
fn files_of_others_neither_hang_a_run_nor_are_removed() {
    let Some(place) = shared_place() else { return };
    let (tmp, elsewhere) = (place.tmp(), place.path("elsewhere"));
    fs::create_dir(&elsewhere).expect("a directory");
    fs::write(elsewhere.join("file"), "ours").expect("a file");

    // The directory of a killed run, with links to elsewhere in it.
    let killed = place.start(&["run", "file.readdir", "--profile", "quick", "--rounds", "500", "--no-store", "--json"]);
    let left = wait_for("a round's directory", || {
        let dir = place.left_behind().into_iter().find(|name| name.starts_with("groma-work-"))?;
        tmp.join(&dir).join("1").exists().then_some(tmp.join(dir))
    });
    killed.signal(SIGKILL);
    killed.wait();
    assert!(left.exists(), "SIGKILL cannot be cleaned up after");
    symlink(&elsewhere, left.join("link")).expect("a link");
    fs::create_dir(left.join("replaced")).expect("a directory");
    fs::remove_dir(left.join("replaced")).expect("a directory");
    symlink(&elsewhere, left.join("replaced")).expect("a link");

    // Files of the other user and of this one under such names.
    as_other(
        &place,
        &format!(
            "mkfifo groma-work-1-0123456789abcdef groma-work-x groma-unmarked-1-0123456789abcdef
             ln -s {elsewhere} groma-work-2-0123456789abcdef
             mkdir groma-work-3-0123456789abcdef && echo theirs > groma-work-3-0123456789abcdef/file
             echo groma-work-3-0123456789abcdef > groma-work-3-0123456789abcdef/groma-work-directory
             mkdir groma-unmarked-3-0123456789abcdef && touch -d 1970-02-01 groma-unmarked-3-0123456789abcdef",
            elsewhere = elsewhere.display()
        ),
    );
    for name in ["groma-work-results", "groma-work-4-0123456789abcdef"] {
        fs::create_dir(tmp.join(name)).expect("a directory");
        fs::write(tmp.join(name).join("file"), "ours").expect("a file");
    }
    fs::rename(&left, tmp.join("aside")).expect("renamed");
    let before = (listing(&tmp.join(".")), listing(&elsewhere));
    fs::rename(tmp.join("aside"), &left).expect("renamed");

    let run = bounded(&place, &SHORT);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(!left.exists(), "what the killed run left is removed");
    let aside = |text: &str| text.lines().filter(|l| !l.contains(" aside")).map(str::to_owned).collect::<Vec<_>>();
    // The size of a directory's own entry does not matter.
    let but_top = |text: &str| aside(text).into_iter().filter(|l| !l.ends_with("  -> ")).collect::<Vec<_>>();
    assert_eq!(but_top(&before.0), but_top(&listing(&tmp.join("."))));
    assert_eq!(before.1, listing(&elsewhere));
}

#[test]
fn a_run_without_files_creates_no_directory() {
    let place = Place::new();
    fs::set_permissions(place.tmp(), fs::Permissions::from_mode(0o555)).expect("permissions");
    let command = "run selftest.spin --profile quick --rounds 500 --no-store --budget 60s";
    let running = place.start(&command.split(' ').collect::<Vec<_>>());
    running.worker();
    assert!(place.left_behind().is_empty());
    running.signal(SIGKILL);
    running.wait();
    assert!(place.left_behind().is_empty(), "a directory was created");
}

#[test]
fn an_output_without_a_reader_can_be_interrupted() {
    let place = Place::new();
    let fifo = place.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let fifo = fifo.display().to_string();
    let running = place.start(&["run", "syscall.fstat", "--no-store", "--out", &fifo]);
    // It waits in `open` for a reader. The signal must end it whenever it comes.
    wait_for("the program", || {
        fs::read_to_string(format!("/proc/{}/comm", running.pid())).ok().filter(|c| c == "groma\n")
    });
    running.signal(SIGTERM);
    wait_for("its end", || (!common::exists(running.pid())).then_some(()));
    assert_ne!(running.wait().code, Some(0));
    assert!(place.left_behind().is_empty());
}

#[test]
fn a_full_pipe_can_be_interrupted_and_the_directory_is_removed() {
    let place = Place::new();
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let full = writer.try_clone().expect("a descriptor");
    // Filled by a thread that then blocks until the reader is gone.
    let filler = std::thread::spawn(move || while writer.write_all(&[b'x'; 4096]).is_ok() {});
    let mut command =
        place.command(&["run", "file.readdir", "--profile", "quick", "--rounds", "1", "--no-store", "--out", "-"]);
    let mut child = command.stdout(Stdio::from(full)).spawn().expect("the program starts");
    drop(command);
    let pid = child.id() as i32;
    wait_for("the work directory", || (!place.left_behind().is_empty()).then_some(()));
    // The head of the stream is due when the preflight is over, and cannot be written: no worker
    // runs any more.
    wait_for("the end of the preflight", || common::children(pid).is_empty().then_some(()));
    send(pid, SIGINT);
    let status = wait_for("its end", || child.try_wait().expect("wait"));
    assert!(!status.success());
    assert!(place.left_behind().is_empty());
    drop(reader);
    filler.join().expect("no panic");
}

#[test]
fn a_server_that_does_not_answer_can_be_interrupted() {
    let place = Place::new();
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let address = silent.local_addr().expect("bound").to_string();
    let running = place.start(&["run", "net.tcp_rtt", "--no-store", "--host", &address]);
    let _connection = silent.accept().expect("it connects");
    running.signal(SIGTERM);
    wait_for("its end", || (!common::exists(running.pid())).then_some(()));
    let ended = running.wait();
    // By the signal itself: no exit code, and no error about an unreachable server after five
    // seconds.
    assert_eq!((ended.code, ended.err.as_str()), (None, ""));
}
