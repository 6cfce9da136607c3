//! Homes in which a store has to live: file systems without locks or without shared memory, and the
//! home of a user in which the superuser measured. Results are kept and shown there, too.

use crate::common::{Ended, OTHER, Place, ended, shared_place};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const RUN: [&str; 7] = ["run", "syscall.getppid", "--profile", "quick", "--rounds", "1", "--budget"];

/// Stands in front of the C library: file locks fail with the error of `NO_LOCKS`, and the shared
/// memory of SQLite with `ENODEV` where `NO_MEMORY` is set.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FCNTL(name)                                                                                  \
    int name(int file, int command, ...) {                                                           \
        va_list all;                                                                                 \
        va_start(all, command);                                                                      \
        void *argument = va_arg(all, void *);                                                        \
        va_end(all);                                                                                 \
        const char *error = getenv("NO_LOCKS");                                                      \
        if (error && (command == F_SETLK || command == F_SETLKW || command == F_GETLK)) {            \
            errno = atoi(error);                                                                     \
            return -1;                                                                               \
        }                                                                                            \
        int (*real)(int, int, ...) = dlsym(RTLD_NEXT, #name);                                        \
        return real(file, command, argument);                                                        \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

#define MMAP(name, offset)                                                                           \
    void *name(void *at, size_t length, int rights, int flags, int file, offset from) {              \
        char link[64], path[512] = "";                                                               \
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);                                       \
        ssize_t n = file < 0 ? -1 : readlink(link, path, sizeof path - 1);                           \
        if (getenv("NO_MEMORY") && n > 4 && !strcmp(path + n - 4, "-shm")) {                         \
            errno = ENODEV;                                                                          \
            return MAP_FAILED;                                                                       \
        }                                                                                            \
        void *(*real)(void *, size_t, int, int, int, offset) = dlsym(RTLD_NEXT, #name);              \
        return real(at, length, rights, flags, file, from);                                          \
    }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)
"#;

/// Compiles the shim; `None` without a C compiler, or where nothing can be preloaded.
fn shim(place: &Place) -> Option<PathBuf> {
    let (source, library) = (place.path("shim.c"), place.path("shim.so"));
    fs::write(&source, SHIM).expect("a file");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").status();
    if cfg!(target_feature = "crt-static") || !compiled.is_ok_and(|status| status.success()) {
        println!("skipped: no shared library can be made and loaded");
        return None;
    }
    Some(library)
}

/// Runs the program behind the shim.
fn behind(place: &Place, shim: &Path, variable: (&str, &str), args: &[&str]) -> Ended {
    let mut command = place.command(args);
    command.env("LD_PRELOAD", shim).env(variable.0, variable.1);
    ended(command.output().expect("the program starts"))
}

/// The waits for locks are longer than a budget, so a run in which they counted has no round.
#[test]
fn results_are_kept_and_shown_without_locks_and_without_shared_memory() {
    let place = Place::new();
    let Some(shim) = shim(&place) else { return };
    // ENOLCK, ENOSYS, EIO and EOPNOTSUPP of file locks; no shared memory.
    for (n, variable) in
        [("NO_LOCKS", "37"), ("NO_LOCKS", "38"), ("NO_LOCKS", "5"), ("NO_LOCKS", "95"), ("NO_MEMORY", "1")]
            .into_iter()
            .enumerate()
    {
        let run = [&RUN[..], &["5s"]].concat();
        let made = behind(&place, &shim, variable, &run);
        assert!(made.code == Some(0) && !made.err.contains("kept"), "{variable:?}: {made:?}");
        // Made in turn by a machine that has locks, whose store has a log.
        let usual = place.groma(&run);
        assert!(usual.code == Some(0) && usual.err.is_empty(), "{variable:?}: {usual:?}");
        assert_eq!(place.runs().len(), 2 * n + 2, "{variable:?}");
        let shown = behind(&place, &shim, variable, &["show"]);
        assert!(shown.code == Some(0) && shown.err.is_empty(), "{variable:?}: {shown:?}");
        assert!(shown.out.contains("syscall.getppid"), "{variable:?}: {shown:?}");
    }
    // A lock that a killed run left hides nothing, and is named where something is to be written.
    let lock = place.path("groma.db.lock");
    fs::create_dir(&lock).expect("a lock");
    let shown = behind(&place, &shim, ("NO_LOCKS", "37"), &["show"]);
    assert!(shown.code == Some(0) && shown.out.contains("syscall.getppid"), "{shown:?}");
}

/// A place for a home: its own directory, which belongs to another user.
fn home_of_other() -> Option<Place> {
    let place = shared_place()?;
    fs::create_dir(place.path("home")).expect("a home");
    chown(place.path("home"), Some(OTHER), Some(OTHER)).expect("an owner");
    Some(place)
}

/// The program with that home, as this user or as its owner, with the store that is there.
fn at_home(place: &Place, args: &[&str], as_owner: bool) -> Ended {
    let mut command = place.command(args);
    command.env_remove("GROMA_STORE").env("HOME", place.path("home"));
    if as_owner {
        command.uid(OTHER).gid(OTHER);
    }
    ended(command.output().expect("the program starts"))
}

#[test]
fn what_the_superuser_measures_in_a_home_belongs_to_its_owner() {
    let Some(place) = home_of_other() else { return };
    let run = [&RUN[..], &["5s"]].concat();
    let made = at_home(&place, &run, false);
    assert_eq!(made.code, Some(0), "{made:?}");
    for name in [".local", ".local/share", ".local/share/groma", ".local/share/groma/groma.db"] {
        assert_eq!(place.path("home").join(name).metadata().expect("made").uid(), OTHER, "{name}");
    }
    let shown = at_home(&place, &["show"], true);
    if shown.err.contains("Permission denied") && shown.out.is_empty() && shown.code.is_none() {
        println!("skipped: the other user cannot start the program");
        return;
    }
    assert!(shown.code == Some(0) && shown.out.contains("syscall.getppid"), "{shown:?}");
    let again = at_home(&place, &run, true);
    assert!(again.code == Some(0) && !again.err.contains("kept"), "{again:?}");

    // What was made before that rule is closed to the owner, and that is what is said.
    let closed = place.path("home/.local/share/groma");
    chown(&closed, Some(0), Some(0)).expect("root's again");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("permissions");
    let refused = at_home(&place, &["show"], true);
    assert!(refused.code == Some(2) && !refused.err.contains("no store here"), "{refused:?}");
    assert!(refused.err.contains("share/groma belongs to the superuser"), "{refused:?}");
}
