//! The lineage of measurements: rows of earlier suites and papers, and the commands that repeat
//! them.

/// A row or column of a document, and the command that repeats it.
#[derive(Clone, Copy, Debug)]
pub struct Repeat {
    /// The document and its table, program or section, as benchmarks name it in their lineage:
    /// `lmbench1996:table10`, `lmbench3:lat_sig catch`.
    pub source: &'static str,
    /// The column of the table, or the mode of the program; empty where there is one only.
    pub column: &'static str,
    /// The operation that was timed, with its parameters.
    pub timed: &'static str,
    /// The command line. `ADDRESS` stands for that of another machine.
    pub command: &'static str,
    /// What the document has for one of its machines; empty where it prints no number.
    pub published: &'static str,
    /// What differs from the source; empty where nothing does.
    pub differs: &'static str,
}

impl Repeat {
    /// The benchmarks that the command runs.
    pub fn benchmarks(&self) -> Vec<&'static str> {
        let mut words = self.command.split(' ');
        match (words.next(), words.next()) {
            (Some("groma"), Some("run")) => words.take_while(|word| !word.starts_with('-')).collect(),
            (Some("groma"), Some("hammer")) => vec!["mem.hammer_run"],
            _ => Vec::new(),
        }
    }

    /// Whether a text names its source: all of it, its beginning up to a colon or a blank, or what
    /// follows the document.
    pub fn is_of(&self, text: &str) -> bool {
        names(text, self.source)
    }
}

/// Whether a text names this source: `lmbench3`, `lmbench3:lat_sig` or `lat_sig` all name
/// `lmbench3:lat_sig catch`.
pub fn names(text: &str, source: &str) -> bool {
    let begins = |of: &str| of.strip_prefix(text).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ']));
    !text.is_empty() && (begins(source) || source.split_once(':').is_some_and(|(_, row)| begins(row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: Repeat = Repeat { source: "", column: "", timed: "", command: "", published: "", differs: "" };

    #[test]
    fn a_source_is_named_by_its_beginning() {
        for text in ["lmbench3", "lmbench3:lat_sig", "lmbench3:lat_sig catch", "lat_sig", "lat_sig catch"] {
            assert!(names(text, "lmbench3:lat_sig catch"), "{text}");
        }
        for text in ["", "lmbench", "lmbench3:lat", "catch", "lat_sig prot", "lmbench3:lat_sig catch more"] {
            assert!(!names(text, "lmbench3:lat_sig catch"), "{text}");
        }
    }

    #[test]
    fn a_command_names_its_benchmarks() {
        let of = |command| Repeat { command, ..EMPTY }.benchmarks();
        assert_eq!(of("groma run mem.line mem.tlb --param pages=base"), ["mem.line", "mem.tlb"]);
        assert_eq!(of("groma hammer 1 1"), ["mem.hammer_run"]);
        assert!(of("groma dd if=x").is_empty());
    }
}
