//! What `groma serve` takes.

use super::parse::{parse_address, parse_session_time, parse_token};
use clap::Args;
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address and port to listen on; services are at further ports of this address while they
    /// are used
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "127.0.0.1", value_parser = parse_address)]
    pub(crate) bind: SocketAddr,
    /// The token that clients must know, of 16 or more characters beyond the loopback [default:
    /// none on the loopback, elsewhere a random one, which is printed]
    #[arg(long, value_name = "TOKEN", env = "GROMA_TOKEN", hide_env_values = true, value_parser = parse_token)]
    pub(crate) token: Option<String>,
    /// The longest that a session may take, which is one round of a client, such as 30s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_session_time)]
    pub(crate) deadline: Duration,
}
