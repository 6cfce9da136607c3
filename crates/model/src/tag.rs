//! Tags: short names that a user gives to runs. Not the labels of samples, which say what happened
//! while a sample was taken.

use std::fmt;
use std::str::FromStr;

/// Longest tag in characters, so that it fits a column of a list.
const LONGEST_TAG: usize = 40;

/// A user's name for runs: `before`, `patch-2.1`. Several runs may have the same tag, and a run
/// several tags.
///
/// A letter, then letters, digits and `-_.`, so that it is neither an id, which begins with a
/// digit, nor an option, and needs no quotes in a shell. Other references to runs or files are
/// refused: `latest`, `host:NAME`, `run.ndjson`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub struct Tag(String);

impl Tag {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Tag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "latest" {
            return Err("'latest' is the newest run and cannot be a tag".to_owned());
        }
        if text.starts_with("host:") {
            return Err(format!("'{text}' is the newest run of a machine and cannot be a tag"));
        }
        if text.ends_with(".ndjson") {
            return Err(format!("'{text}' is a file and cannot be a tag"));
        }
        let is_inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if text.len() > LONGEST_TAG
            || !text.starts_with(|c: char| c.is_ascii_alphabetic())
            || !text.chars().all(is_inner)
        {
            return Err(format!(
                "'{text}' is not a tag: expected a letter, then letters, digits, '-', '_' or '.', {LONGEST_TAG} at most"
            ));
        }
        Ok(Tag(text.to_owned()))
    }
}

impl TryFrom<String> for Tag {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Tag> for String {
    fn from(tag: Tag) -> String {
        tag.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_no_other_meaning() {
        let longest = "a".repeat(40);
        for text in ["before", "B", "patch-2.1", "x_y", "latest2", "Latest", "host", "ndjson", &longest] {
            assert_eq!(text.parse::<Tag>().map(String::from), Ok(text.to_owned()));
        }
        let longer = "a".repeat(41);
        for text in ["", "1a", "-a", ".a", "a b", "a~1", "a:b", "a/b", "a,b", "é", "aé", "a\n", &longer] {
            let error = text.parse::<Tag>().expect_err(text);
            assert!(error.contains("expected a letter"), "{error}");
        }
        for (text, why) in [("latest", "newest run"), ("host:vm", "a machine"), ("a.ndjson", "a file")] {
            let error = text.parse::<Tag>().expect_err(text);
            assert!(error.starts_with(&format!("'{text}' is")) && error.contains(why), "{error}");
        }
    }
}
