//! Groups of arguments that several verbs share.

use crate::parse;
use clap::Args;
use groma_model::{Placement, Record, Tag};
use groma_runner::select::names_metric;
use groma_store::Filter;
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store: an SQLite file [default: groma/groma.db in the XDG data directory]
    #[arg(long, value_name = "FILE", env = "GROMA_STORE", hide_env_values = true)]
    pub(crate) store: Option<PathBuf>,
}

impl StoreArgs {
    /// As with no option on the command line, for programs that do not parse ours.
    pub(crate) fn of_environment() -> StoreArgs {
        StoreArgs { store: std::env::var_os("GROMA_STORE").filter(|path| !path.is_empty()).map(Into::into) }
    }
}

/// Selects runs of a store.
#[derive(Clone, Debug, Args)]
pub(crate) struct WhichRuns {
    /// Only runs of this machine
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Only runs with this tag
    #[arg(long)]
    tag: Option<Tag>,
    /// Only runs that began then or later: 2026-11-22, 2026-11-22T10:00, or 3d (three days ago)
    #[arg(long, value_name = "DATE", value_parser = parse::parse_since)]
    since: Option<String>,
    /// Only runs that began then or earlier
    #[arg(long, value_name = "DATE", value_parser = parse::parse_until)]
    until: Option<String>,
}

impl WhichRuns {
    /// The filter for the store.
    pub(crate) fn filter(&self) -> Filter {
        Filter {
            host: self.host.clone(),
            tag: self.tag.clone(),
            since: self.since.clone(),
            before: self.until.clone(),
            ..Filter::default()
        }
    }
}

/// Selects points of a metric.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WhichPoints {
    /// Only the points with this value of a parameter, or one of these: size=64K or op=read,write
    #[arg(long = "param", value_name = "NAME=VALUE,...", value_parser = parse::parse_param)]
    pub(crate) params: Vec<(String, Vec<String>)>,
    /// Only the points in this placement: same-cpu, compact, 0,2
    #[arg(long, value_name = "WHERE")]
    pub(crate) placement: Option<Placement>,
    /// Only worker groups of these sizes: 1,2,4
    #[arg(short = 'P', long, value_name = "N,...", value_delimiter = ',', value_parser = parse::parse_workers)]
    pub(crate) parallel: Vec<u32>,
}

impl WhichPoints {
    /// Whether the point of a record is selected.
    pub(crate) fn take(&self, record: &Record) -> bool {
        let has = |(name, values): &(String, Vec<String>)| {
            record.params.get(name).is_some_and(|value| values.iter().any(|text| value.is_typed(text)))
        };
        self.params.iter().all(has) && self.is_selected(record)
    }

    /// Whether the placement and the worker group of a record are selected.
    pub(crate) fn is_selected(&self, record: &Record) -> bool {
        self.placement.as_ref().is_none_or(|placement| *placement == record.placement)
            && (self.parallel.is_empty() || self.parallel.contains(&record.workers))
    }

    /// The options with their values, as they are typed.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut options: Vec<String> =
            self.params.iter().map(|(name, values)| format!("--param {name}={}", values.join(","))).collect();
        options.extend(self.placement.as_ref().map(|placement| format!("--placement {placement}")));
        let groups: Vec<String> = self.parallel.iter().map(u32::to_string).collect();
        options.extend((!groups.is_empty()).then(|| format!("-P {}", groups.join(","))));
        options
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct TagsArgs {
    /// What to call the run, to find it again: groma show before
    #[arg(long = "tag", visible_alias = "label", value_name = "TAG,...", value_delimiter = ',')]
    pub(crate) tags: Vec<Tag>,
}

/// Whether a selection of ids, groups and patterns includes a metric. An empty one includes all.
pub(crate) fn selects(select: &[String], id: &str) -> bool {
    select.is_empty() || select.iter().any(|text| names_metric(text, id))
}
