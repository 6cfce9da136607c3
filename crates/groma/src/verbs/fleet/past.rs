//! Reads an earlier judgement, as `--json` wrote it.

use anyhow::{Context, Result, bail};
use groma_analysis::fleet::drift::Past;
use groma_stats::Crowd;
use serde_json::Value;
use std::path::Path;

/// The groups of a judgement.
///
/// # Errors
/// When the file cannot be read or is no judgement.
pub(super) fn read(file: &Path) -> Result<Vec<Past>> {
    let of_file = || format!("--baseline {}", file.display());
    let text = std::fs::read_to_string(file).with_context(of_file)?;
    let json: Value = serde_json::from_str(&text).with_context(of_file)?;
    if json["kind"] != "fleet judgement" {
        bail!("{}: expected what 'fleet judge --json' has written", of_file());
    }
    let groups = json["groups"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(groups.iter().map(group).collect())
}

fn group(group: &Value) -> Past {
    let texts = |name: &str| {
        let all = group[name].as_array().into_iter().flatten();
        all.filter_map(|text| text.as_str().map(str::to_owned))
    };
    let metric = |metric: &Value| {
        let number = |name: &str| metric[name].as_f64();
        let crowd = Crowd {
            center: number("center")?,
            spread: number("spread")?,
            count: usize::try_from(metric["count"].as_u64()?).ok()?,
        };
        Some((metric["key"].as_str()?.to_owned(), crowd))
    };
    let metrics = group["metrics"].as_array().into_iter().flatten().filter_map(metric).collect();
    Past { kind: texts("kind").collect(), hosts: texts("hosts").collect(), metrics }
}
