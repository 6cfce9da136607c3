//! Reads an earlier judgement, as `--json` wrote it.

use anyhow::{Context, Result, bail};
use groma_analysis::fleet::drift::Past;
use groma_analysis::fleet::outliers::Usual;
use groma_stats::Crowd;
use groma_stats::crowd::MIN_VALUES;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// The groups of a judgement that were judged by their own hosts.
///
/// # Errors
/// When the file cannot be read or is no judgement, or no group in it serves.
pub(super) fn read(file: &Path) -> Result<Vec<Past>> {
    let of_file = || format!("--baseline {}", file.display());
    let text = std::fs::read_to_string(file).with_context(of_file)?;
    let json: Value = serde_json::from_str(&text).with_context(of_file)?;
    if json["kind"] != "fleet judgement" {
        bail!("{}: expected what 'fleet judge --json' has written", of_file());
    }
    let own = json["groups"].as_array().into_iter().flatten().filter(|group| group["judged_by"] == "itself");
    let past: Vec<Past> = own.map(group).collect::<Result<_>>().with_context(of_file)?;
    if past.is_empty() {
        bail!("{}: no five runs in it are alike (--every-run counts each run of a host)", of_file());
    }
    Ok(past)
}

fn group(group: &Value) -> Result<Past> {
    let texts = |name: &str| {
        let all = group[name].as_array().into_iter().flatten();
        all.filter_map(|text| text.as_str().map(str::to_owned))
    };
    let settings = group["settings"].as_object().context("a group without settings")?;
    let runs = group["runs"].as_u64().and_then(|runs| usize::try_from(runs).ok());
    Ok(Past {
        kind: texts("kind").collect(),
        hosts: texts("hosts").collect(),
        runs: runs.context("a group without a number of runs")?,
        settings: settings.iter().map(|(key, value)| (key.clone(), value.as_str().map(str::to_owned))).collect(),
        metrics: subjects(&group["metrics"], "key")?,
        areas: subjects(&group["areas"], "area")?,
    })
}

/// What was usual in each subject, by its name.
fn subjects(all: &Value, name: &str) -> Result<HashMap<String, Usual>> {
    let of_one = |one: &Value| {
        let number = |name: &str| one[name].as_f64().filter(|number| number.is_finite());
        let crowd = Crowd {
            center: number("center")?,
            spread: number("spread").filter(|spread| *spread > 0.0)?,
            count: one["count"].as_u64().and_then(|count| usize::try_from(count).ok())?,
        };
        let error = number("error").filter(|error| *error >= 0.0)?;
        Some((one[name].as_str()?.to_owned(), Usual::earlier(crowd, error))).filter(|_| crowd.count >= MIN_VALUES)
    };
    let all = all.as_array().into_iter().flatten();
    all.map(|one| of_one(one).with_context(|| format!("a subject without center, spread, count and error: {one}")))
        .collect()
}
