//! The guide for benchmark authors shows the example as it is compiled and tested. `.ci/update`
//! copies the file into the guide.

use crate::common::{root, up_to_date};

const GUIDE: &str = "docs/writing-benchmarks.md";
const EXAMPLE: &str = include_str!("../examples/own_benchmark/main.rs");

#[test]
fn the_example_in_the_guide_is_up_to_date() {
    let guide = std::fs::read_to_string(root().join(GUIDE)).expect("the guide");
    let (before, rest) = guide.split_once("```rust\n").expect("a block of code");
    let (_, after) = rest.split_once("```\n").expect("its end");
    up_to_date(GUIDE, &format!("{before}```rust\n{EXAMPLE}```\n{after}"));
}
