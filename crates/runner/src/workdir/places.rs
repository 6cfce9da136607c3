//! Where the work directory of a run lies: the places that a system has for temporary files, of
//! which the first that suits is taken. Whether one suits is found out by making the directory
//! there. The directory itself is `workdir.rs`.

use super::{WorkDir, sweep};
use anyhow::{Result, bail};
use groma_harness::sys::disk;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A place for a work directory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    path: PathBuf,
    /// What it is called in facts, which name no user.
    name: &'static str,
    /// Whether the user named it. Then it is taken even if it does not suit.
    is_named: bool,
}

/// What a place is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Nature {
    on_disk: bool,
    /// Whether programs there may be executed: `/tmp` is `noexec` on hardened hosts.
    executes: bool,
}

/// The places to try, in this order.
#[derive(Debug)]
pub(crate) struct Places(Vec<Place>);

impl Places {
    /// The one of `--work-dir`, or all that the system has.
    pub(crate) fn of(work_dir: Option<&Path>) -> Places {
        match work_dir {
            Some(path) => Places(vec![Place { path: path.to_owned(), name: "--work-dir", is_named: true }]),
            None => usual(|name| std::env::var_os(name), |place| disk::has_disk(place).ok(), disk::is_writable),
        }
    }

    /// Removes what killed runs left in any of them.
    pub(crate) fn sweep(&self) {
        self.0.iter().for_each(|place| _ = sweep(&place.path));
    }

    /// Makes the work directory of a run.
    ///
    /// # Errors
    /// When none of the places can be written to.
    pub(crate) fn make(&self, tag: u64) -> Result<WorkDir> {
        let nature = |place: &Path| Nature {
            on_disk: disk::has_disk(place).unwrap_or(true),
            executes: disk::may_execute(place).unwrap_or(true),
        };
        let (place, mut made, why) = choose(&self.0, |place| WorkDir::new(&place.path, tag), nature)?;
        made.choice = Some((place.name.to_owned(), why));
        Ok(made)
    }
}

/// The first place where something can be made, or if programs there may not be executed, the next
/// where they may and that is no worse otherwise. Returns what was made there, and why there.
fn choose<T>(
    places: &[Place],
    make: impl Fn(&Place) -> Result<T>,
    nature: impl Fn(&Path) -> Nature,
) -> Result<(&Place, T, String)> {
    let mut held: Option<(&Place, T, Nature)> = None;
    let mut passed: Vec<String> = Vec::new();
    let mut last = None;
    for place in places {
        let made = match make(place) {
            Ok(made) => made,
            Err(e) => {
                passed.push(format!("{}: {}", place.name, e.root_cause()));
                last = Some(e);
                continue;
            }
        };
        let here = nature(&place.path);
        match &held {
            Some((_, _, first)) if !here.executes || (first.on_disk && !here.on_disk) => continue,
            Some((first, ..)) => passed.push(format!("{}: mounted noexec", first.name)),
            None if here.executes || place.is_named => {}
            None => {
                held = Some((place, made, here));
                continue;
            }
        }
        return Ok((place, made, reason(here, &passed)));
    }
    match (held, last) {
        (Some((place, made, here)), _) => Ok((place, made, reason(here, &passed))),
        (None, Some(e)) if places.len() == 1 => Err(e),
        _ => bail!("no place can be written ({}): name one with --work-dir", passed.join("; ")),
    }
}

/// `on a disk; /tmp: mounted noexec`.
fn reason(here: Nature, passed: &[String]) -> String {
    let mut why = if here.on_disk { "on a disk" } else { "in memory" }.to_owned();
    if !here.executes {
        why += ", mounted noexec";
    }
    [why].iter().chain(passed).cloned().collect::<Vec<_>>().join("; ")
}

/// The places of a system, with its queries injected. First the temporary directory; but `/var/tmp`
/// if that is on a disk, the first is in memory and `TMPDIR` is not set: file benchmarks should
/// measure a disk by default, and memory has its own parameter value (`where=tmpfs`). Then what
/// else a user may write to; `/dev/shm`, in memory and often small, is what a read-only root
/// leaves.
fn usual(
    variable: impl Fn(&str) -> Option<OsString>,
    on_disk: impl Fn(&Path) -> Option<bool>,
    is_writable: impl Fn(&Path) -> bool,
) -> Places {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let of = |path: PathBuf, name| Place { path, name, is_named: false };
    let (temporary, lasting) = (Path::new("/tmp"), Path::new("/var/tmp"));
    let named = absolute("TMPDIR").map(|path| Place { is_named: true, ..of(path, "TMPDIR") });
    let mut plain = vec![of(temporary.to_owned(), "/tmp"), of(lasting.to_owned(), "/var/tmp")];
    if on_disk(temporary) == Some(false) && on_disk(lasting) == Some(true) && is_writable(lasting) {
        plain.reverse();
    }
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let own = [
        absolute("XDG_RUNTIME_DIR").map(|path| of(path, "the runtime directory")),
        cache.map(|path| of(path, "the cache directory")),
        Some(of(PathBuf::from("/dev/shm"), "/dev/shm")),
    ];
    let mut all: Vec<Place> = Vec::new();
    for place in named.into_iter().chain(plain).chain(own.into_iter().flatten()) {
        if all.iter().all(|other| other.path != place.path) {
            all.push(place);
        }
    }
    Places(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn the_temporary_directory_comes_first_unless_it_is_in_memory() {
        let order = |memory: &'static str, variables: &'static [(&str, &str)], writable| {
            let variable = |name: &str| {
                variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| OsString::from(value))
            };
            let on_disk = |path: &Path| Some(!memory.split(' ').any(|m| Path::new(m) == path));
            let places = usual(variable, on_disk, |_| writable).0;
            places.iter().map(|place| place.path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(order("", &[], true), "/tmp /var/tmp /dev/shm");
        assert_eq!(order("/tmp", &[], true), "/var/tmp /tmp /dev/shm");
        for (memory, writable) in [("/tmp /var/tmp", true), ("/tmp", false)] {
            assert_eq!(order(memory, &[], writable), "/tmp /var/tmp /dev/shm", "{memory} {writable}");
        }
        assert_eq!(order("/t", &[("TMPDIR", "/t")], true), "/t /tmp /var/tmp /dev/shm");
        assert_eq!(order("", &[("TMPDIR", "/var/tmp")], true), "/var/tmp /tmp /dev/shm");
        assert_eq!(order("", &[("TMPDIR", "t"), ("HOME", "/h")], true), "/tmp /var/tmp /h/.cache /dev/shm");
        let own = &[("XDG_RUNTIME_DIR", "/run/u"), ("XDG_CACHE_HOME", "/c"), ("HOME", "/h")];
        assert_eq!(order("", own, true), "/tmp /var/tmp /run/u /c /dev/shm");
    }

    /// Places are letters: `w` can be written, `x` executes as well, `m` is in memory, `n` is
    /// named.
    fn chosen(places: &'static [(&'static str, &'static str)]) -> Result<(&'static str, String)> {
        let all: Vec<Place> = places
            .iter()
            .map(|(name, is)| Place { path: PathBuf::from(name), name, is_named: is.contains('n') })
            .collect();
        let is = |path: &Path| places.iter().find(|(name, _)| Path::new(name) == path).map_or("", |(_, is)| is);
        let make = |place: &Place| if is(&place.path).contains('w') { Ok(()) } else { Err(anyhow!("full")) };
        let nature = |path: &Path| Nature { on_disk: !is(path).contains('m'), executes: is(path).contains('x') };
        choose(&all, make, nature).map(|(place, (), why)| (place.name, why))
    }

    #[test]
    fn the_first_place_that_suits_is_taken() {
        let of = |places| chosen(places).map_err(|e| e.to_string());
        let is = |place, why: &str| Ok((place, why.to_owned()));
        assert_eq!(of(&[("a", "wx"), ("b", "wx")]), is("a", "on a disk"));
        assert_eq!(of(&[("a", "wxm"), ("b", "wx")]), is("a", "in memory"));
        assert_eq!(of(&[("a", ""), ("b", "wxm")]), is("b", "in memory; a: full"));
        // Where programs cannot be executed, one where they can, unless it is no disk.
        assert_eq!(of(&[("a", "w"), ("b", "w"), ("c", "wx")]), is("c", "on a disk; a: mounted noexec"));
        assert_eq!(of(&[("a", "w"), ("b", "wxm")]), is("a", "on a disk, mounted noexec"));
        assert_eq!(of(&[("a", "wm"), ("b", "wxm")]), is("b", "in memory; a: mounted noexec"));
        assert_eq!(of(&[("a", "wn"), ("b", "wx")]), is("a", "on a disk, mounted noexec"));
        assert_eq!(of(&[("a", "")]), Err("full".to_owned()));
        let none = "no place can be written (a: full; b: full): name one with --work-dir";
        assert_eq!(of(&[("a", ""), ("b", "")]), Err(none.to_owned()));
    }

    /// Only the directory that is kept exists.
    #[test]
    fn what_was_chosen_is_known_and_nothing_is_left_elsewhere() {
        let dir = tempfile::tempdir().expect("a directory");
        let made = Places::of(Some(dir.path())).make(1).expect("a work directory");
        assert_eq!(made.choice().map(|(place, _)| place), Some("--work-dir"));
        assert_eq!(made.path().parent(), Some(dir.path()));
        let gone = Places::of(Some(&dir.path().join("none"))).make(1).map(|_| ()).expect_err("there is none");
        assert!(format!("{gone:#}").contains("none: cannot be written: No such file"), "{gone:#}");
        drop(made);
        assert_eq!(std::fs::read_dir(dir.path()).expect("the directory").count(), 0);
    }
}
