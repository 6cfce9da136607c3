//! The guides for benchmark authors show the examples as they are compiled and tested. `.ci/update`
//! copies the whole files into the guides.

use crate::common::{root, up_to_date};

const GUIDE_IN_C: &str = "docs/writing-benchmarks-in-c.md";

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The first block of code in this language is the whole example.
fn shows(guide: &str, language: &str, example: &str) {
    let (text, fence) = (read(guide), format!("```{language}\n"));
    let (before, rest) = text.split_once(&fence).expect("a block of code");
    let (_, after) = rest.split_once("```\n").expect("its end");
    up_to_date(guide, &format!("{before}{fence}{}```\n{after}", read(example)));
}

#[test]
fn the_examples_in_the_guides_are_up_to_date() {
    shows("docs/writing-benchmarks.md", "rust", "crates/groma/examples/own_benchmark/main.rs");
    shows(GUIDE_IN_C, "c", "crates/c/examples/hash.c");
}

/// Every block of C or C++ follows a comment with the name of an example and is a part of it.
#[test]
fn the_code_in_the_guide_for_c_is_that_of_the_examples() {
    let guide = read(GUIDE_IN_C);
    let mut lines = guide.lines();
    let (mut before, mut blocks) = ("", 0);
    while let Some(line) = lines.next() {
        if matches!(line, "```c" | "```cpp") {
            let example = before.strip_prefix("<!-- ").and_then(|text| text.strip_suffix(" -->"));
            let example = example.unwrap_or_else(|| panic!("'{before}' before a block names no example"));
            let code: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let code = code.join("\n");
            assert!(read(example).contains(&code), "{example} does not hold this code of {GUIDE_IN_C}:\n{code}");
            blocks += 1;
        }
        before = line;
    }
    assert!(blocks > 5, "only {blocks} blocks found: this test looks in the wrong place");
}
