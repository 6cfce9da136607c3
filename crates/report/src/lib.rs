//! Views: records in, text out.
//!
//! A view shows what is in the records and nothing else. It never measures, queries a store or
//! reads a clock, has no side effects, and computes only what displaying a number requires: a unit,
//! a number of digits, a ratio of two records, the levels of a curve (from `groma-stats`).
//!
//! | To see | Call |
//! | --- | --- |
//! | a run | [`render`] in any [`Format`], [`summary()`] for its last lines, [`live_line`] while it goes on |
//! | the hardware of a run on one page | [`hardware()`] |
//! | one metric on a card | [`card()`] |
//! | runs side by side | [`compare()`] |
//! | runs in the layout of lmbench's summary, a run as its result file | [`lmbench_summary`], [`lmbench_file`] |
//! | runs for Prometheus | [`openmetrics()`] |
//! | runs as a table for other programs | [`write_rows`] into a [`csv_table`] or a [`parquet_table`] |
//! | a metric over the runs of a machine | [`trend()`], [`trend_changes`], [`trend_json`], [`trend_csv`] |
//! | a judgement of many hosts | [`fleet()`] in any [`FleetFormat`] |
//! | a value broken down into measured costs | [`composition()`], [`compositions`] |
//! | where an application's time goes | [`prediction()`] |
//! | a curve, a distribution, a matrix | [`plot()`], then [`Chart::svg`], [`Chart::png`] or [`Chart::terminal`] |
//! | the catalogue | [`list()`], [`list_json`], [`explain()`] |
//! | runs in a browser | [`html()`] |
//! | the machine of a run | [`machine()`], [`machine_json`] |
//! | where the time of a run went | [`times()`], [`times_json`] |
//! | published tables, with machines among their rows | [`papers`], [`paper_list`] |
//! | how much of the cores others take | [`watch_head`], [`watch_line`], [`watched`], [`watch_openmetrics`] |
//! | the runs in a store | [`runs()`], [`runs_json`] |
//!
//! [`units`] alone decides how a number is displayed.
#![forbid(unsafe_code)]

pub mod units;

mod card;
mod compare;
mod composition;
mod csv;
mod explain;
mod export;
mod fleet;
mod floors;
mod format;
mod gate;
mod grid;
mod hardware;
mod html;
mod json;
mod layout;
mod limits;
mod lineage;
mod links;
mod list;
mod lmbench;
mod machine;
mod markdown;
mod markup;
mod openmetrics;
mod others;
mod page;
mod paper;
mod plot;
mod point;
mod predict;
mod rows;
mod runs;
mod says;
mod style;
mod summary;
mod table;
mod times;
mod trend;
mod typical;
mod watch;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod hierarchy;

pub use card::{Beside, card};
pub use compare::{CompareFormat, Compared, Relative, Side, compare, letter};
pub use composition::{composition, compositions};
pub use explain::{explain, measures};
#[cfg(feature = "parquet")]
pub use export::parquet_table;
pub use export::{Cell, Exported, Kind, Table, TableWriter, csv_table, csv_text, write_rows};
pub use fleet::{FleetFormat, FleetReport, fleet};
pub use floors::floors;
pub use format::{Format, render};
pub use gate::gate;
pub use hardware::hardware;
pub use html::{Report, ReportRun, html};
pub use lineage::{lineage, published};
pub use links::{LinksFormat, LinksReport, links};
pub use list::{list, list_json};
pub use lmbench::{
    LMBENCH_COPIES, LMBENCH_IMPORTED, LMBENCH_NAME, SummaryFormat, SummaryRun, Wanted, Written, blank_cells,
    lmbench_file, lmbench_summary, wanted as lmbench_wanted, wanted_of_summary,
};
pub use machine::{machine, machine_json};
pub use markdown::hardware_markdown;
pub use openmetrics::openmetrics;
pub use paper::{Paper, PaperFormat, PaperMachine, PaperPicture, PaperRow, Papers, Timed, paper_list, papers};
pub use plot::{Chart, Source, histogram, is_distribution, plot, takes, trend_chart};
pub use point::{typed_params, typed_place};
pub use predict::{Machine, prediction};
pub use runs::{RunLine, RunStatus, runs, runs_json, tags};
pub use style::{Style, for_terminal, wrapped};
pub use summary::{live_line, summary};
pub use times::{BenchTime, LabelN, MetricSpread, Spread, Times, times, times_json};
pub use trend::{trend, trend_changes, trend_csv, trend_json};
pub use typical::typical;
pub use watch::{WATCH_HEAD_EVERY, watch_head, watch_line, watch_openmetrics, watched};
