//! Views: records in, documents out.
//!
//! A view shows what is in the records and nothing else. It never measures, queries a store or
//! reads a clock, has no side effects, and computes only what displaying a number requires: a unit,
//! a number of digits, a ratio of two records, the levels of a curve (from `groma-stats`).
//!
//! A view returns a [`Document`], which [`Document::render`] writes in any [`Format`]. These are
//! not documents: [`live_line`], [`watch_head`] and [`watch_line`], which appear while a run goes
//! on; exports ([`write_rows`], [`openmetrics()`], [`lmbench_file`]); plots ([`plot()`], then
//! [`Chart::svg`] or [`Chart::terminal`]); and the report with its script ([`html()`]).
//!
//! | To see | Call |
//! | --- | --- |
//! | a run | [`run()`], [`states()`], [`summary()`] for its last lines |
//! | the hardware of a run on one page | [`hardware()`] |
//! | metrics on cards | [`cards()`] |
//! | runs side by side | [`compare()`], below the verdict of a [`gate()`] |
//! | a run among the machines that groma knows | [`typical()`] |
//! | runs in the layout of lmbench's summary | [`lmbench_summary`] |
//! | a metric over the runs of a machine | [`trend()`], [`trend_changes`] |
//! | a judgement of many hosts, or of the links between them | [`fleet()`], [`links()`] |
//! | a value broken down into measured costs | [`each_composition`], [`compositions`] |
//! | where an application's time goes | [`prediction()`] |
//! | the catalogue | [`list()`], [`explanations`], [`lineage()`] |
//! | the machine of a run | [`machine()`] |
//! | where the time of a run went | [`times()`] |
//! | published tables, with machines among their rows | [`papers`], [`paper_list`] |
//! | how much of the cores others take | [`watched`] |
//! | many machines as a site | [`Site`] |
//! | the runs in a store, its tags | [`runs()`], [`tags`] |
//! | the smallest change that is found | [`floors()`] |
//!
//! [`units`] alone decides how a number is displayed.
#![forbid(unsafe_code)]

pub mod units;

mod card;
mod compare;
mod composition;
mod csv;
mod document;
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
mod site;
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

pub use card::{Beside, cards};
pub use compare::{Compared, Relative, Side, compare, letter};
pub use composition::{compositions, each_composition};
pub use document::Document;
pub use explain::{explanations, measures};
pub use export::{Cell, Exported, Kind, Table, TableWriter, csv_table, csv_text, write_rows};
#[cfg(feature = "parquet")]
pub use export::{parquet_table, read_parquet};
pub use fleet::{FleetReport, fleet};
pub use floors::floors;
pub use format::{Format, run};
pub use gate::gate;
pub use hardware::hardware;
pub use html::{Report, ReportRun, html};
pub use lineage::{lineage, published};
pub use links::{LinksReport, links};
pub use list::list;
pub use lmbench::{
    LMBENCH_COPIES, LMBENCH_IMPORTED, LMBENCH_NAME, SummaryRun, Wanted, Written, blank_cells, lmbench_file,
    lmbench_summary, wanted as lmbench_wanted, wanted_of_summary,
};
pub use machine::machine;
pub use openmetrics::openmetrics;
pub use paper::{Paper, PaperMachine, PaperPicture, PaperRow, Papers, Timed, paper_list, papers};
pub use plot::{Chart, Source, histogram, is_distribution, plot, takes, trend_chart};
pub use point::{typed_params, typed_place};
pub use predict::{Machine, prediction};
pub use runs::{NO_DATE, RunLine, RunStatus, runs, tags};
pub use site::{
    Preparation, Prepared, Printed, PrintedOf, PrintedSystem, Site, SiteCounts, SiteFile, SiteKind, SiteOptions,
    SitePages, SitePart, SiteRun,
};
pub use style::{Style, for_terminal, wrapped};
pub use summary::{live_line, states, summary};
pub use times::{BenchTime, LabelN, MetricSpread, Spread, Times, times};
pub use trend::{trend, trend_changes};
pub use typical::typical;
pub use watch::{WATCH_HEAD_EVERY, watch_head, watch_line, watched};
