//! How a program of lmbench reads its words: single letters that may be clustered, values that may
//! be glued to their letter, then operands; and its sizes.
//!
//! Stricter than the original, which never says what was wrong: an unknown letter and a missing
//! value are named.

use std::ffi::OsString;

/// The words of a call, sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// Letters in their order, each with its value if it takes one.
    pub(super) letters: Vec<(char, Option<String>)>,
    pub(super) operands: Vec<String>,
    /// The words that the original does not have: `--why`, `--strict`, `--help`, `--bind`.
    pub(super) why: bool,
    pub(super) strict: bool,
    pub(super) help: bool,
    pub(super) bind: Option<String>,
}

/// Sorts words. `letters` names those that are known; one that takes a value stands before a colon.
/// The first operand ends the options, and so does `-`.
///
/// # Errors
/// Names the word, and what was expected.
pub(super) fn sort(words: impl IntoIterator<Item = OsString>, letters: &str) -> Result<Words, String> {
    let mut sorted = Words::default();
    let mut words = words.into_iter().map(text).peekable();
    while let Some(word) = words.peek().cloned() {
        let word = word?;
        if !word.starts_with('-') {
            break;
        }
        words.next();
        match word.as_str() {
            "-" | "--" => break,
            "--why" => sorted.why = true,
            "--strict" => sorted.strict = true,
            "--help" => sorted.help = true,
            "--bind" => {
                sorted.bind = Some(words.next().unwrap_or_else(|| Err("--bind: needs an address".to_owned()))?);
            }
            long if long.starts_with("--") => {
                return Err(format!("{long}: unknown option (--why, --strict, --bind and --help are known)"));
            }
            cluster => {
                let mut rest = cluster[1..].chars();
                while let Some(letter) = rest.next() {
                    let at = letters.find(letter).filter(|_| letter != ':');
                    let Some(at) = at else { return Err(format!("-{letter}: unknown option")) };
                    if !letters[at + letter.len_utf8()..].starts_with(':') {
                        sorted.letters.push((letter, None));
                        continue;
                    }
                    let glued: String = rest.by_ref().collect();
                    let value = if glued.is_empty() { words.next().transpose()? } else { Some(glued) };
                    // As there: a value of its own does not begin with a dash.
                    let value = value.filter(|value| !value.starts_with('-'));
                    let value = value.ok_or_else(|| format!("-{letter}: needs a value"))?;
                    sorted.letters.push((letter, Some(value)));
                }
            }
        }
    }
    sorted.operands = words.collect::<Result<_, _>>()?;
    Ok(sorted)
}

fn text(word: OsString) -> Result<String, String> {
    word.into_string().map_err(|word| format!("'{}' is not UTF-8", word.to_string_lossy()))
}

impl Words {
    /// Whether a letter was given.
    pub(super) fn has(&self, letter: char) -> bool {
        self.letters.iter().any(|(known, _)| *known == letter)
    }

    /// The value of a letter; the last one counts.
    pub(super) fn value(&self, letter: char) -> Option<&str> {
        self.letters.iter().rev().find(|(known, _)| *known == letter)?.1.as_deref()
    }
}

/// Bytes: a whole number, and `k` or `m` for 2^10 or 2^20; here `g` for 2^30 as well.
///
/// `to_the_letter` reads them as the original does: whatever follows the number counts only by its
/// last letter, so that `1g` is 1 byte and `1.5m` is 1 MiB.
///
/// # Errors
/// Names the text, and what was expected.
pub(super) fn bytes(text: &str, to_the_letter: bool) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let bad = || format!("'{text}' is not a size (write 4096, 64k, 8m or 1g)");
    if to_the_letter {
        let unit = match suffix.chars().last() {
            Some('k' | 'K') => 1 << 10,
            Some('m' | 'M') => 1 << 20,
            _ => 1,
        };
        return number.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(bad);
    }
    let unit: u64 = match suffix {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return Err(bad()),
    };
    number.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str], letters: &str) -> Result<Words, String> {
        sort(words.iter().map(OsString::from), letters)
    }

    #[test]
    fn letters_cluster_and_values_may_be_glued() {
        let words = of(&["-CP4", "-N", "3", "-s", "--why", "1m", "-x"], "CP:N:s").expect("all known");
        let value = |text: &str| Some(text.to_owned());
        assert_eq!(words.letters, [('C', None), ('P', value("4")), ('N', value("3")), ('s', None)]);
        // What follows the first operand is an operand.
        assert_eq!((words.operands.as_slice(), words.why), (["1m", "-x"].map(str::to_owned).as_slice(), true));
        let after = of(&["-P2", "-", "-C"], "CP:").expect("a dash ends the options");
        assert_eq!((after.operands.as_slice(), after.has('C')), (["-C".to_owned()].as_slice(), false));
        assert_eq!(of(&["-N3", "-N", "5"], "N:").expect("twice").value('N'), Some("5"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (words, why) in [
            (&["-q"][..], "-q: unknown option"),
            (&["-:"], "-:: unknown option"),
            (&["-P"], "-P: needs a value"),
            (&["-P", "-N"], "-P: needs a value"),
            (&["--wy"], "--wy: unknown option"),
            (&["--bind"], "--bind: needs an address"),
        ] {
            let said = of(words, "P:N:").expect_err("wrong");
            assert!(said.starts_with(why), "{words:?}: {said}");
        }
    }

    #[test]
    fn sizes_are_binary_and_strictly_read_unless_to_the_letter() {
        for (text, here, there) in [
            ("512", Ok(512), Ok(512)),
            ("64k", Ok(65536), Ok(65536)),
            ("8M", Ok(8 << 20), Ok(8 << 20)),
            ("1g", Ok(1 << 30), Ok(1)),
            ("1.5m", Err(()), Ok(1 << 20)),
            ("8q", Err(()), Ok(8)),
            ("m", Err(()), Err(())),
            ("", Err(()), Err(())),
            ("-1", Err(()), Err(())),
            ("99999999999999999999", Err(()), Err(())),
            ("18446744073709551615k", Err(()), Err(())),
        ] {
            assert_eq!(bytes(text, false).map_err(drop), here, "{text}");
            assert_eq!(bytes(text, true).map_err(drop), there, "{text} to the letter");
        }
    }
}
