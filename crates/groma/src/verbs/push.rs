//! `groma export --to`, also by its old name `groma push`:
//! sends runs to a server that collects those of many hosts.

use crate::args::StoreArgs;
use crate::features::Feature;
use crate::program::Program;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "postgres")]
mod send;
#[cfg(feature = "postgres")]
use send::push;

const HELP: &str = "\
Of a directory, every stream in it (*.ndjson) is sent, and then moved to its subdirectory sent/ \
(--keep leaves it). A run that the server has is not taken twice, so sending again is safe. While \
the server is away nothing is lost: send again later, or let --wait try.

The tables groma.run and groma.metric are made in the database when they are missing; \
docs/fleet.md describes them. The connection is not encrypted by groma: use a Unix socket, a \
private network or a tunnel. PGPASSWORD is not read: a password stands in the URL, which other \
users of this machine can see in the list of processes, or in the variable GROMA_SERVER.

Examples:
  groma run --profile fleet --out /var/spool/groma/
  groma push postgres://groma@db/fleet /var/spool/groma/ --wait 10m
  groma fleet judge postgres://groma@db/fleet

Exit codes:
  0  the server has every run
  2  usage error, or some file is no complete stream
  4  the server is away, or refuses";

/// Send runs to a PostgreSQL server, where fleet judge reads those of all hosts
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PushArgs {
    /// The database: postgres://user@host:port/name
    #[arg(env = "GROMA_SERVER", hide_env_values = true)]
    pub(super) url: String,
    /// Streams of groma run --out, directories of them, or runs of the store by their names
    #[arg(required = true, value_name = "FILE|DIR|RUN")]
    pub(super) what: Vec<PathBuf>,
    /// Leave the files of a directory where they are
    #[arg(long)]
    pub(super) keep: bool,
    /// How long to try again while the server is away, as in 10m
    #[arg(long, value_name = "TIME", value_parser = crate::parse::parse_time)]
    pub(super) wait: Option<Duration>,
    #[command(flatten)]
    pub(super) store: StoreArgs,
}

/// Whether a path is the address of a server instead.
pub(crate) fn is_server(text: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
}

/// Sends the runs.
pub(super) fn run(_: &Program, args: &PushArgs) -> Result<u8> {
    if !is_server(&args.url) {
        anyhow::bail!("{NOT_SERVER}");
    }
    Feature::POSTGRES.require()?;
    push(args)
}

#[cfg(not(feature = "postgres"))]
fn push(args: &PushArgs) -> Result<u8> {
    // What was typed is checked all the same.
    let PushArgs { url: _, what: _, keep: _, wait: _, store: _ } = args;
    Err(Feature::POSTGRES.missing())
}

/// What an address looks like.
const NOT_SERVER: &str = "this is no server: expected postgres://user@host:port/database";
