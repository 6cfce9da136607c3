//! The files of `data/`, which the program carries compressed.

use std::sync::LazyLock;

/// The text of a file, by its name (`lmbench1996/systems`).
pub(crate) fn text(name: &str) -> &'static str {
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

#[cfg(test)]
mod tests {
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test may read what the build packed")]
    fn every_table_has_its_file() {
        for table in crate::DOCUMENTS.iter().flat_map(|document| document.tables) {
            let path = format!("{}/data/{}.csv", env!("CARGO_MANIFEST_DIR"), table.file);
            assert_eq!(super::text(table.file), std::fs::read_to_string(path).expect("the file"), "{}", table.file);
        }
    }
}
