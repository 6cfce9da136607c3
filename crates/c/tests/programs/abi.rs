//! The interface of `groma.h` beside that of the last release, in `tests/abi/`: functions with
//! their prototypes, constants with their values, structures with their sizes and the places of
//! their fields. A later version adds; what a program was compiled against stays. Not whether a
//! function still does the same, which the other tests ask.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const HEADER: &str = include_str!("../../include/groma.h");
/// Of the last release. `GROMA_UPDATE=1` writes it, for the next one.
const RELEASED: &str = "tests/abi/0.1.0.txt";

/// The declarations of the header, each on one line: without comments and lines of the
/// preprocessor.
fn declarations() -> Vec<String> {
    let mut code = String::new();
    for part in HEADER.split("/*") {
        code += part.split_once("*/").map_or(part, |(_, after)| after);
    }
    let code = code.replace("\\\n", " ");
    let lines = code.lines().filter(|line| !line.starts_with('#') && !line.starts_with("extern \"C\""));
    let (mut all, mut one, mut depth) = (Vec::new(), String::new(), 0);
    for c in lines.collect::<Vec<_>>().join("\n").chars() {
        one.push(if c.is_whitespace() { ' ' } else { c });
        depth += i32::from(c == '{') - i32::from(c == '}');
        // The body of an inline function ends without a semicolon, and so does `extern "C"`.
        if depth <= 0 && (c == ';' || c == '}' && one.contains("static inline")) {
            all.push(one.split_whitespace().collect::<Vec<_>>().join(" "));
            one.clear();
        }
    }
    all
}

/// The name in front of a parenthesis, a comma or the end.
fn last_name(text: &str) -> &str {
    let text = text.trim_end();
    let from = text.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    &text[from..]
}

/// The interface by name: a prototype, a value, or sizes and places as the compiler lays them out.
fn interface() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut asks = String::from("#include <groma.h>\n#include <stdio.h>\nint main(void) {\n");
    for one in declarations() {
        if let Some(names) = one.strip_prefix("enum {").and_then(|rest| rest.strip_suffix("};")) {
            for name in names.split(',').filter_map(|part| part.split('=').next()).map(str::trim) {
                let _ = writeln!(asks, "    printf(\"{name}\\t%d\\n\", (int)({name}));");
            }
        } else if let Some((head, rest)) = one.strip_prefix("typedef struct ").and_then(|rest| rest.split_once(" {")) {
            let fields = rest.rsplit_once('}').expect("a whole structure").0;
            let _ = writeln!(asks, "    printf(\"{head}\\tsize %zu\\n\", sizeof({head}));");
            for field in fields.split(';').map(str::trim).filter(|field| !field.is_empty()) {
                let name = match field.split_once("(*") {
                    Some((_, rest)) => rest.split(')').next().expect("a name"),
                    None => last_name(field.split('[').next().expect("a name")),
                };
                let place = format!("offsetof({head}, {name}), sizeof((({head} *)0)->{name})");
                let _ = writeln!(asks, "    printf(\"{head}.{name}\\tat %zu, %zu bytes\\n\", {place});");
            }
        } else if !one.contains("static inline") && !one.starts_with("typedef") && one.ends_with(");") {
            let name = last_name(one.split('(').next().expect("a name"));
            found.insert(name.to_owned(), one);
        }
    }
    asks += "    return 0;\n}\n";
    let place = super::place().join("abi");
    std::fs::create_dir_all(&place).expect("cargo has made the place");
    let (source, program) = (place.join("abi.c"), place.join("abi"));
    std::fs::write(&source, asks).expect("it can be written");
    let built = Command::new("cc").arg("-I").arg("include").arg(&source).arg("-o").arg(&program).output();
    let built = built.expect("SQLite has been compiled, so there is a compiler");
    assert!(built.status.success(), "{}", super::text(&built.stderr));
    let told = super::text(&Command::new(program).output().expect("it was compiled").stdout);
    let laid_out = told.lines().filter_map(|line| line.split_once('\t'));
    found.extend(laid_out.map(|(name, what)| (name.to_owned(), what.to_owned())));
    found
}

#[test]
fn what_a_program_was_compiled_against_stays() {
    if cfg!(not(target_pointer_width = "64")) {
        return;
    }
    let now = interface();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(RELEASED);
    if std::env::var_os("GROMA_UPDATE").is_some() {
        let lines: String = now.iter().map(|(name, what)| format!("{name}\t{what}\n")).collect();
        std::fs::write(&file, lines).expect("it can be written");
    }
    let released = std::fs::read_to_string(&file).expect("GROMA_UPDATE=1 writes it");
    let mut changed = Vec::new();
    for (name, before) in released.lines().filter_map(|line| line.split_once('\t')) {
        let after = now.get(name).map_or("nothing", String::as_str);
        let size = |text: &str| text.strip_prefix("size ").and_then(|bytes| bytes.parse::<usize>().ok());
        // A structure grows at its end; it says its size itself.
        let grew = size(before).zip(size(after)).is_some_and(|(before, after)| after > before);
        if after != before && !grew {
            changed.push(format!("{name}: {before}, now {after}"));
        }
    }
    assert!(changed.is_empty(), "a change of GROMA_ABI: {changed:#?}");
    // The parser has seen the header.
    for (kind, least) in [("groma_bench.", 25), ("GROMA_", 30), ("groma_", 40)] {
        assert!(now.keys().filter(|name| name.starts_with(kind)).count() >= least, "{kind}: {:?}", now.keys());
    }
    let functions = now.values().filter(|what| what.ends_with(");")).count();
    assert!(functions > 20, "{functions} functions");
}
