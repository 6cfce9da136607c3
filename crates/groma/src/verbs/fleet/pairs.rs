//! `groma fleet pairs`: measures the network between all hosts, each pair once in both directions.

mod gate;
mod meet;
mod tournament;

use crate::exit;
use crate::parse::parse_time;
use crate::print::print;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use gate::Early;
use groma_analysis::fleet::{host_name, is_plain_name};
use groma_harness::sys::process;
use groma_harness::sys::signals::Watch;
use groma_runner::identity::machine;
use groma_runner::shell::run_program;
use groma_runner::signals::{exit_code, watch_signals};
use meet::{Meeting, Member, Plan};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const HELP: &str = "\
Start it on every host at once, by what starts programs there. The hosts meet in a directory that \
all of them see; after that each talks to its peers alone. In a round of the tournament a host has \
one peer at most: first one of the two measures, then the other.

Examples:
  srun -N 16 --ntasks-per-node=1 groma fleet pairs --meet /nfs/m --out /nfs/l
  mpirun -N 1 groma fleet pairs --meet /nfs/m --out /nfs/l
  groma fleet pairs --meet /nfs/m --out /nfs/l --expect 4 --bind 10.0.0.7
      without a launcher that says how many there are
  groma fleet links /shared/links/      which links, hosts and switches are slow

Exit codes:
  0  every pair of this host was measured
  2  usage error
  4  some pair was not: the peer did not come, or a measurement failed";

/// Measure the network between all hosts, in pairs
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct PairsArgs {
    /// A directory that all hosts see, and that no earlier pairs have used
    #[arg(long, value_name = "DIR")]
    meet: PathBuf,
    /// How many hosts there are [default: what Slurm, Open MPI or MPICH say]
    #[arg(long, value_name = "N")]
    expect: Option<usize>,
    /// How long to wait for the hosts
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_time)]
    wait: Duration,
    /// A directory for the results, a file for each host
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// The address by which the others reach this host [default: that of its default route]
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// The name of this host [default: that of its node, or its own]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The longest that one direction of a pair may take; a link without a fault takes some 2 s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    budget: Duration,
    /// The most rounds of the tournament; with fewer than all, each host has so many peers
    /// [default: all up to 200 hosts, else 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    rounds: Option<u32>,
}

/// Variables in which launchers say how many tasks there are: srun(1), mpirun(1), mpiexec.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "PMI_SIZE"];
/// Hosts up to which all pairs meet, and the rounds of a sample.
const ALL_BELOW: usize = 200;
const SAMPLE: usize = 16;
/// What is measured of a pair.
pub(super) const METRICS: [&str; 4] = ["net.tcp_rtt", "net.udp_rtt", "rpc.null", "net.tcp_bandwidth"];
/// Small batches of the stream, of which even a link of a megabyte per second moves some.
const SETTING: &str = "net.tcp_bandwidth:size=16K";
/// Rounds of each benchmark. Not the budget ends a measurement: on a slow link it would leave out
/// what is slow.
const ROUNDS: &str = "5";
/// What a measurement takes beyond its budget, at most.
const OVERTIME: Duration = Duration::from_secs(30);

/// Measures the pairs of this host.
pub(super) fn run(args: &PairsArgs) -> Result<u8> {
    let expect = match args.expect {
        Some(expect) => expect,
        None => SIZES
            .iter()
            .find_map(|name| std::env::var(name).ok()?.parse().ok())
            .ok_or_else(|| anyhow!("--expect: no launcher says how many hosts there are"))?,
    };
    if expect < 2 {
        bail!("--expect {expect}: a pair needs two hosts");
    }
    let name = name(args)?;
    let own = args.bind.map_or_else(default_address, Ok)?;
    fs::create_dir_all(&args.out).with_context(|| format!("--out {}", args.out.display()))?;
    let signals = watch_signals().context("watching for signals")?;
    let until = Instant::now() + args.wait;
    let meeting = Meeting::enter(&args.meet, until)?;
    let listener = TcpListener::bind((own, 0)).with_context(|| format!("--bind {own}: listening there"))?;
    let serve = Serve::start(own, &meeting.token)?;
    let card = Member { name, gate: listener.local_addr()?, serve: serve.address };
    let plan = meeting.plan(&card, expect, until, |hosts| rounds(hosts, args.rounds))?;
    if plan.hosts.len() < 2 {
        bail!("no other host has come within {} s (--wait)", args.wait.as_secs());
    }
    let mut results = Results::create(&args.out, &plan)?;
    let (mut early, mut missed) = (Early::default(), 0);
    for round in plan.rounds.iter().copied() {
        let Some(peer) = tournament::peer(plan.hosts.len(), round, plan.own) else { continue };
        let turn = Turn { plan: &plan, args, token: &meeting.token, round, peer };
        match turn.play(&listener, &mut early, &mut results, &signals) {
            Ok(None) => {}
            Ok(Some(signal)) => return Ok(exit_code(signal)),
            Err(error) => {
                let host = &plan.hosts[peer].name;
                warn!("{host}: {error:#}");
                missed += 1;
                results.line(&json!({"kind": "missed", "peer": host, "round": round, "why": format!("{error:#}")}))?;
            }
        }
    }
    results.line(&json!({"kind": "pairs end", "missed": missed}))?;
    let peers = groma_report::units::counted(plan.hosts.len() - 1, "peer");
    let missing = if missed > 0 { format!(", {missed} of them not measured") } else { String::new() };
    print(&format!("{}: {peers}{missing}: {}\n", card.name, results.path.display()))?;
    Ok(if missed > 0 { exit::FAILED } else { 0 })
}

/// The rounds that are played: all, or some that follow each other, whose pairs connect all hosts.
fn rounds(hosts: usize, most: Option<u32>) -> Vec<usize> {
    let all = tournament::rounds(hosts);
    let most = most.map_or(if hosts <= ALL_BELOW { all } else { SAMPLE }, |most| most as usize);
    (0..all.min(most)).collect()
}

fn name(args: &PairsArgs) -> Result<String> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => host_name(&machine()).unwrap_or_default().to_owned(),
    };
    if !is_plain_name(&name) {
        bail!("--name: expected letters, digits, '-', '_' and '.', and got '{name}'");
    }
    Ok(name)
}

/// The address of the default route. No packet is sent: a UDP socket only chooses its route.
fn default_address() -> Result<IpAddr> {
    let far: SocketAddr = ([192, 0, 2, 1], 9).into();
    let chosen = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect(far)?;
        Ok(socket.local_addr()?.ip())
    });
    chosen.map_err(|e| anyhow!("--bind: this host has no default route ({e}); name the address that the others reach"))
}

/// The `groma serve` of this host, ended when it is dropped.
struct Serve {
    child: Child,
    address: SocketAddr,
}

/// A server whose parent was killed ends after this time.
const LIFE: &str = "6h";

impl Serve {
    fn start(own: IpAddr, token: &str) -> Result<Serve> {
        let mut child = Command::new(process::program().context("finding the program")?)
            .args(["serve", "--for", LIFE, "--bind", &SocketAddr::new(own, 0).to_string()])
            .env("GROMA_TOKEN", token)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting groma serve")?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line).context("reading the address of groma serve")?;
        }
        let address = line.split("--host ").nth(1).and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok());
        let Some(address) = address else {
            // It has said why on standard error.
            let _ = child.kill();
            let _ = child.wait();
            bail!("groma serve has not started");
        };
        Ok(Serve { child, address })
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One round with one peer.
struct Turn<'a> {
    plan: &'a Plan,
    args: &'a PairsArgs,
    token: &'a str,
    round: usize,
    peer: usize,
}

impl Turn<'_> {
    /// Measures the peer, and is measured by it. Returns the signal that ended it early.
    fn play(
        &self,
        listener: &TcpListener,
        early: &mut Early,
        results: &mut Results,
        signals: &Watch,
    ) -> Result<Option<i32>> {
        let one = self.args.budget + OVERTIME;
        // The peer may be a round behind, in which it has waited for somebody who does not come.
        let mut agreed = gate::meet(self.plan, listener, early, (self.round, self.peer), 6 * one)?;
        let first = self.plan.own < self.peer;
        for measures in [first, !first] {
            let begin = now_ns();
            if measures {
                match self.measure(results, begin, signals)? {
                    Some(signal) => return Ok(Some(signal)),
                    None => agreed.done()?,
                }
            } else {
                agreed.wait(2 * one)?;
                let from = &self.plan.hosts[self.peer].name;
                let served =
                    json!({"kind": "served", "from": from, "round": self.round, "begin_ns": begin, "end_ns": now_ns()});
                results.line(&served)?;
            }
        }
        Ok(None)
    }

    fn measure(&self, results: &mut Results, begin: u64, signals: &Watch) -> Result<Option<i32>> {
        let host = &self.plan.hosts[self.peer];
        let out = results.path.with_extension("part");
        let budget = format!("{}ms", self.args.budget.as_millis());
        let mut command = Command::new(process::program().context("finding the program")?);
        command.arg("run").args(METRICS).args(["--param", SETTING, "--profile", "quick", "--rounds", ROUNDS]);
        command.args(["--no-store", "--budget", &budget, "--host"]);
        command.arg(host.serve.to_string()).arg("--out").arg(&out).env("GROMA_TOKEN", self.token);
        let ended = run_program(&mut command, "groma run", (self.args.budget + OVERTIME, ""), Some(signals));
        let stream = fs::read_to_string(&out);
        // Nothing reads it again.
        let _ = fs::remove_file(&out);
        match ended {
            Ok(Some(signal)) => return Ok(Some(signal)),
            // What failed is a state of its metric in the stream.
            Ok(None) | Err(_) if stream.as_ref().is_ok_and(|text| text.contains("\"kind\":\"end\"")) => {}
            Ok(None) => bail!("groma run has written no whole stream"),
            Err(error) => return Err(error),
        }
        results.line(&json!({
            "kind": "pair", "from": self.plan.hosts[self.plan.own].name, "to": host.name, "round": self.round,
            "begin_ns": begin, "end_ns": now_ns(),
        }))?;
        results.text(&stream?)?;
        Ok(None)
    }
}

/// By the clock of this host alone: times of different hosts are never compared.
fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}

/// The results of this host.
struct Results {
    file: File,
    path: PathBuf,
}

impl Results {
    fn create(dir: &Path, plan: &Plan) -> Result<Results> {
        let own = &plan.hosts[plan.own].name;
        let path = dir.join(format!("{own}.pairs"));
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        let hosts: Vec<&str> = plan.hosts.iter().map(|host| host.name.as_str()).collect();
        let mut results = Results { file, path };
        // The plan's id is a secret of the meeting; its beginning tells plans apart.
        let id = &plan.id[..8.min(plan.id.len())];
        results.line(&json!({"kind": "pairs", "version": 1, "plan": id, "host": own, "hosts": hosts}))?;
        Ok(results)
    }

    fn line(&mut self, value: &Value) -> Result<()> {
        self.text(&format!("{value}\n"))
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).with_context(|| self.path.display().to_string())
    }
}
