//! The benchmark authors' guide shows the example as it is: the code in it is the file that is
//! compiled and tested.
//!
//! `GROMA_UPDATE=1 cargo test -p groma --test program guide` copies the file into the guide.

use std::path::Path;

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/writing-benchmarks.md");
const EXAMPLE: &str = include_str!("../examples/own_benchmark/main.rs");

#[test]
fn the_guide_shows_the_example_as_it_is() {
    let guide = std::fs::read_to_string(Path::new(GUIDE)).expect("the guide");
    let (before, rest) = guide.split_once("```rust\n").expect("a block of code");
    let (shown, after) = rest.split_once("```\n").expect("its end");
    if std::env::var_os("GROMA_UPDATE").is_some() {
        std::fs::write(GUIDE, format!("{before}```rust\n{EXAMPLE}```\n{after}")).expect("the guide can be written");
        return;
    }
    assert!(
        shown == EXAMPLE,
        "the guide shows another example: GROMA_UPDATE=1 cargo test -p groma --test program guide"
    );
}
