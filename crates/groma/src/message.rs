//! Messages on standard error, and the name of the program before them.

use groma_model::{plain, plain_lines};
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;

static NAME: OnceLock<String> = OnceLock::new();

/// Fixes the name for all messages: the given one, or that of the file of this program.
pub(crate) fn set_name(given: Option<&str>) {
    NAME.get_or_init(|| given.map_or_else(file_name, str::to_owned));
}

/// What this program is called.
pub(crate) fn name() -> &'static str {
    NAME.get().map_or("groma", String::as_str)
}

/// The name of the file that this program was started from.
fn file_name() -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    Path::new(&program).file_name().map_or("groma".to_owned(), |name| plain(&name.to_string_lossy()).into_owned())
}

/// Writes a message to standard error, in plain characters. An error of that write cannot be
/// reported anywhere.
pub(crate) fn tell(message: std::fmt::Arguments<'_>) {
    let _ = std::io::stderr().lock().write_all(plain_lines(&message.to_string()).as_bytes());
}
