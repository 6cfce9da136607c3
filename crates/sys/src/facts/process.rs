//! What a worker knows of itself that makes its numbers too high: who traces it, and what was
//! loaded into it.

use super::{Book, field};

/// The facts of this process. Only those that are out of the ordinary are there.
pub(super) fn process(book: &mut Book, variable: &dyn Fn(&str) -> Option<String>) {
    book.say_if("process.tracer", tracer(book));
    book.say_if("process.preloaded", preloaded(book, variable));
}

/// The program that traces this process, such as `strace`: each system call then stops twice.
fn tracer(book: &Book) -> Option<String> {
    let status = book.tree.text("proc/self/status")?;
    let tracer = field(&status, "TracerPid").filter(|pid| *pid != "0")?;
    let name = book.tree.text(&format!("proc/{tracer}/comm")).map(|name| name.trim().to_owned());
    // A tracer in another container has no name here.
    Some(name.filter(|name| !name.is_empty()).unwrap_or_else(|| "a process of another container".to_owned()))
}

/// The libraries that stand in front of those of the program: named by the environment or the
/// system, or those of valgrind and of sanitizers, wherever they come from.
fn preloaded(book: &Book, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    /// What the names of such libraries begin with.
    const CHECKERS: [&str; 5] = ["vgpreload_", "libasan", "libtsan", "libubsan", "liblsan"];
    let maps = book.tree.text("proc/self/maps").unwrap_or_default();
    let mapped: Vec<&str> = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).map(file_name).collect();
    let of_system = book.tree.text("etc/ld.so.preload").unwrap_or_default();
    let asked = format!("{} {of_system}", variable("LD_PRELOAD").unwrap_or_default());
    let asked: Vec<&str> = asked.split([' ', ':', '\n', '\t']).map(file_name).filter(|name| !name.is_empty()).collect();
    let counts = |name: &&str| asked.contains(name) || CHECKERS.iter().any(|checker| name.starts_with(checker));
    let mut found: Vec<&str> = mapped.into_iter().filter(counts).collect();
    found.sort_unstable();
    found.dedup();
    (!found.is_empty()).then(|| found.join(" "))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Files, Tree};

    /// The facts of a process with these files in `/proc` and this `LD_PRELOAD`.
    fn facts(files: &[(&str, &str)], preload: &str) -> String {
        let files = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        let mut book = Book { tree: Tree::recorded(&Files(files)), facts: Vec::new() };
        process(&mut book, &|name| (name == "LD_PRELOAD").then(|| preload.to_owned()));
        book.facts.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_tracer_is_named() {
        let status = |pid: &str| format!("Name:\tgroma\nPid:\t7\nTracerPid:\t{pid}\nUid:\t0\n");
        assert_eq!(facts(&[("proc/self/status", &status("0"))], ""), "");
        assert_eq!(
            facts(&[("proc/self/status", &status("70")), ("proc/70/comm", "strace\n")], ""),
            "process.tracer=strace"
        );
        assert_eq!(facts(&[("proc/self/status", &status("70"))], ""), "process.tracer=a process of another container");
    }

    #[test]
    fn what_was_loaded_in_front_of_the_program_is_named() {
        let line = |path: &str| format!("7f00-7f01 r-xp 00000000 fd:00 12 {path}\n");
        let maps = |paths: &[&str]| paths.iter().map(|path| line(path)).collect::<String>();
        let libc = "/lib/libc.so.6";
        assert_eq!(facts(&[("proc/self/maps", &maps(&[libc]))], "/opt/lib/libjemalloc.so.2"), "", "not loaded");
        let two = maps(&[libc, "/opt/lib/libjemalloc.so.2", "/opt/lib/libjemalloc.so.2"]);
        assert_eq!(
            facts(&[("proc/self/maps", &two)], "/opt/lib/libjemalloc.so.2"),
            "process.preloaded=libjemalloc.so.2"
        );
        let of_system = [("proc/self/maps", &*two), ("etc/ld.so.preload", "/opt/lib/libjemalloc.so.2\n")];
        assert_eq!(facts(&of_system, ""), "process.preloaded=libjemalloc.so.2");
        let checked = maps(&[libc, "/usr/lib/libasan.so.8", "/usr/libexec/valgrind/vgpreload_core-amd64-linux.so"]);
        assert_eq!(
            facts(&[("proc/self/maps", &checked)], ""),
            "process.preloaded=libasan.so.8 vgpreload_core-amd64-linux.so"
        );
    }
}
