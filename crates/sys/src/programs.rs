//! The one rule for which file a named program is: as a shell would find it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The variable that hands a worker the `PATH` of the user: its own is fixed.
pub const USERS_PATH: &str = "GROMA_PATH";

/// Where programs are searched without a `PATH`: what the C library takes then.
const WITHOUT: &str = "/bin:/usr/bin";

/// The `PATH` of the user: within a worker the one that was handed to it.
pub fn users_path() -> std::ffi::OsString {
    let path = std::env::var_os(USERS_PATH).or_else(|| std::env::var_os("PATH"));
    path.unwrap_or_else(|| WITHOUT.into())
}

/// The file of a program that is given by its path, or by a name that is searched in `path`: the
/// first of the name that may be executed. `None` if there is none.
pub fn find(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return std::path::absolute(Path::new(name)).ok().filter(|file| file.is_file());
    }
    let is_program =
        |file: &PathBuf| file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    let places = path.as_bytes().split(|byte| *byte == b':').map(|dir| Path::new(OsStr::from_bytes(dir)).join(name));
    // An empty place is the present directory.
    places.filter_map(|file| std::path::absolute(file).ok()).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_name_and_by_path() {
        let of = |name: &str, path: &str| find(name.as_ref(), path.as_ref());
        assert!(of("sh", "/nowhere:/bin").is_some_and(|file| file == Path::new("/bin/sh")));
        assert_eq!(of("/bin/sh", ""), Some(PathBuf::from("/bin/sh")));
        for (name, path) in [("sh", "/nowhere"), ("passwd", "/etc"), ("/bin/no-such-program", "/bin"), ("etc", "/")] {
            assert_eq!(of(name, path), None, "{name} in {path}");
        }
    }
}
