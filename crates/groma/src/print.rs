//! What the program prints: text on standard output, messages on standard error.

use crate::command_line;
use anyhow::{Context, Result};
use groma_model::{plain, plain_lines};
use groma_report::Style;
use groma_store::StoreError;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

static NAME: OnceLock<String> = OnceLock::new();

/// Sets the name that stands before messages: the given one, or that of this program's file.
pub(crate) fn set_name(given: Option<&str>) {
    NAME.get_or_init(|| given.map_or_else(file_name, str::to_owned));
}

/// The name of the program.
pub(crate) fn name() -> &'static str {
    NAME.get().map_or("groma", String::as_str)
}

/// The name of the file that this program was started from.
fn file_name() -> String {
    let program = command_line::words().into_iter().next().unwrap_or_default();
    Path::new(&program).file_name().map_or("groma".to_owned(), |name| plain(&name.to_string_lossy()).into_owned())
}

/// Writes a message to standard error, without control characters. An error of that write cannot be
/// reported anywhere.
pub(crate) fn tell(message: std::fmt::Arguments<'_>) {
    let _ = std::io::stderr().lock().write_all(plain_lines(&message.to_string()).as_bytes());
}

/// Writes the text of a view to standard output, without control sequences other than our colours.
///
/// # Errors
/// Those of the write. A closed pipe ends the program quietly.
pub(crate) fn print(text: &str) -> Result<()> {
    print_own(&groma_report::for_terminal(text, style(false).colour))
}

/// Writes a text to standard output unchanged. It must hold nothing from outside the program.
pub(crate) fn print_own(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
}

/// Prints the page of what was measured; returns whether it is where it was meant to be. On a
/// standard output that takes nothing, such as a file on a full disk, what took minutes must not be
/// lost: the page then goes to standard error. Who closes a pipe has read enough.
pub(crate) fn print_measured(text: &str) -> bool {
    match print(text) {
        Ok(()) => true,
        Err(error) if is_broken_pipe(&error) => true,
        Err(error) => {
            warn!("{error:#}; what was measured follows here");
            tell(format_args!("{}", groma_report::for_terminal(text, false)));
            false
        }
    }
}

/// Whether an error is that of a pipe without a reader.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
            || matches!(cause.downcast_ref::<StoreError>(), Some(StoreError::BrokenPipe { .. }))
    })
}

/// The style of text on standard output; `all` shows every point and value.
pub(crate) fn style(all: bool) -> Style {
    let terminal = std::io::stdout().is_terminal();
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    // ASCII only where the locale names another encoding than UTF-8. Most containers set no locale.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|v| std::env::var(v).ok().filter(|s| !s.is_empty()));
    let unicode = locale.is_none_or(|l| {
        let l = l.to_ascii_lowercase();
        l.contains("utf-8") || l.contains("utf8") || l == "c" || l == "posix"
    });
    Style { colour: terminal && !no_colour && !dumb, width: width(terminal), unicode, all, program: name() }
}

/// Columns of the output: `COLUMNS`, those of the terminal, or 100.
fn width(terminal: bool) -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|w| *w >= 40);
    let seen = if terminal { groma_harness::sys::io::terminal_columns() } else { None };
    asked.or(seen).unwrap_or(100)
}
