//! The files of `data/`, which the program carries compressed, and the CSV that they hold.

use std::sync::LazyLock;

/// The text of a file, by its name (`lmbench1996/systems`).
fn text(name: &str) -> &'static str {
    static ALL: LazyLock<String> = LazyLock::new(|| {
        let data = include_bytes!(concat!(env!("OUT_DIR"), "/data.z"));
        let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(data).expect("build.rs compressed it");
        String::from_utf8(bytes).expect("build.rs read texts")
    });
    let mut parts = ALL.split('\0');
    while let (Some(file), Some(text)) = (parts.next(), parts.next()) {
        if file == name {
            return text;
        }
    }
    panic!("there is no data/{name}.csv")
}

/// The lines of a CSV file (RFC 4180, without line breaks inside a field), the header included,
/// each as its fields.
pub(crate) fn lines(name: &str) -> impl Iterator<Item = Vec<String>> + use<> {
    text(name).lines().filter(|line| !line.is_empty()).map(fields)
}

fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            // A quote inside a quoted field is doubled.
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    all.push(field);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_commas() {
        assert_eq!(fields("a,b"), ["a", "b"]);
        assert_eq!(fields("\"x, \"\"y\"\"\",,1"), ["x, \"y\"", "", "1"]);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test may read what the build packed")]
    fn every_table_has_its_file() {
        for table in crate::DOCUMENTS.iter().flat_map(|document| document.tables) {
            let path = format!("{}/data/{}.csv", env!("CARGO_MANIFEST_DIR"), table.file);
            assert_eq!(text(table.file), std::fs::read_to_string(path).expect("the file"), "{}", table.file);
        }
    }
}
