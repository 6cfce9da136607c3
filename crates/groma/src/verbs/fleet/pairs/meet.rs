//! How hosts find each other: by files in a directory that all of them see.
//!
//! Each writes who and where it is. The first to come makes the token, and writes the plan when all
//! are there, or when it has waited long enough. Files appear whole, by a rename. Once the plan is
//! there, hosts talk to each other alone, so a directory that shows changes late delays the start
//! only.

use anyhow::{Context, Result, bail};
use groma_analysis::fleet::is_plain_name;
use groma_harness::handshake::hexadecimal;
use groma_harness::sys::random;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the directory is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How much longer than the first host the others wait, for its clock and the directory's delay.
const GRACE: Duration = Duration::from_secs(60);
/// Characters of a token and of a plan's id.
const SECRET: usize = 32;
/// The longest file that is read, in bytes: a plan of 100,000 hosts.
const LONGEST_FILE: u64 = 32 << 20;

/// A host of the plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member {
    pub(super) name: String,
    /// Where its peers agree with it on whose turn it is.
    pub(super) gate: SocketAddr,
    /// Its `groma serve`.
    pub(super) serve: SocketAddr,
}

/// What all hosts have agreed upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// A random word, which a host of this plan knows.
    pub(super) id: String,
    pub(super) hosts: Vec<Member>,
    /// The rounds of the tournament that are played.
    pub(super) rounds: Vec<usize>,
    /// The index of this host.
    pub(super) own: usize,
}

/// The directory, entered.
pub(super) struct Meeting {
    dir: PathBuf,
    /// The token of all `groma serve`.
    pub(super) token: String,
    /// Whether this host came first.
    leads: bool,
}

impl Meeting {
    /// Enters the directory: makes or reads the token.
    ///
    /// # Errors
    /// When the directory holds the plan of an earlier meeting, or cannot be used.
    pub(super) fn enter(dir: &Path, until: Instant) -> Result<Meeting> {
        fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
        if dir.join("plan").exists() {
            bail!("--meet {}: it holds the plan of earlier pairs; name a new directory", dir.display());
        }
        let path = dir.join("token");
        let made = File::options().write(true).create_new(true).mode(0o600).open(&path);
        let leads = match made {
            Ok(mut file) => {
                let token = hexadecimal(&random::bytes::<16>().context("making a token")?);
                file.write_all(token.as_bytes()).with_context(|| path.display().to_string())?;
                true
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => false,
            Err(e) => return Err(e).with_context(|| path.display().to_string()),
        };
        // Its maker may not have written it yet.
        let token = wait_for(until, || fs::read_to_string(&path).ok().filter(|token| token.len() == SECRET));
        let Some(token) = token else { bail!("{}: no token of {SECRET} characters in it", path.display()) };
        Ok(Meeting { dir: dir.to_owned(), token, leads })
    }

    /// Tells the others who and where this host is, and waits for the plan of `expect` hosts.
    /// `choose` names the rounds for their number.
    ///
    /// # Errors
    /// When no plan comes in time, when it lacks this host, or when two hosts have one name.
    pub(super) fn plan(
        &self,
        own: &Member,
        expect: usize,
        until: Instant,
        choose: impl Fn(usize) -> Vec<usize>,
    ) -> Result<Plan> {
        let file = format!("host-{}", own.name);
        if self.dir.join(&file).exists() {
            bail!("--meet {}: there is a host of the name {} already (--name)", self.dir.display(), own.name);
        }
        self.write(&file, &card(own))?;
        if self.leads {
            let all = wait_for(until, || Some(self.hosts()).filter(|hosts| hosts.len() >= expect));
            let hosts = all.unwrap_or_else(|| self.hosts());
            if hosts.len() < expect {
                warn!("{} of {expect} hosts have come: {}", hosts.len(), names(&hosts));
            }
            let rounds = choose(hosts.len());
            let id = hexadecimal(&random::bytes::<16>().context("making an id")?);
            let hosts: Vec<Value> = hosts.iter().map(card).collect();
            self.write("plan", &json!({"id": id, "hosts": hosts, "rounds": rounds}))?;
        }
        let plan = wait_for(until + GRACE, || read(&self.dir.join("plan")));
        let Some(plan) = plan else { bail!("--meet {}: no plan came in time (--wait)", self.dir.display()) };
        let hosts: Vec<Member> = plan["hosts"].as_array().into_iter().flatten().filter_map(member).collect();
        let rounds: Vec<usize> = plan["rounds"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|round| usize::try_from(round.as_u64()?).ok())
            .collect();
        let Some(index) = hosts.iter().position(|host| host == own) else {
            bail!("--meet {}: this host, {}, came too late for the plan (--wait)", self.dir.display(), own.name);
        };
        let id = plan["id"].as_str().unwrap_or_default().to_owned();
        Ok(Plan { id, hosts, rounds, own: index })
    }

    /// The hosts that have come, by their names.
    fn hosts(&self) -> Vec<Member> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let is_host =
            |path: &Path| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("host-"));
        let cards = entries.map(|entry| entry.path()).filter(|path| is_host(path));
        let mut all: Vec<Member> = cards.filter_map(|path| member(&read(&path)?)).collect();
        all.sort();
        all
    }

    /// Writes a file that appears whole.
    fn write(&self, name: &str, value: &Value) -> Result<()> {
        let (path, beside) = (self.dir.join(name), self.dir.join(format!(".{name}")));
        let written = fs::write(&beside, value.to_string()).and_then(|()| fs::rename(&beside, &path));
        written.with_context(|| path.display().to_string())
    }
}

fn names(hosts: &[Member]) -> String {
    hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn read(path: &Path) -> Option<Value> {
    if fs::metadata(path).ok()?.len() > LONGEST_FILE {
        return None;
    }
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

fn card(host: &Member) -> Value {
    json!({"name": host.name, "gate": host.gate.to_string(), "serve": host.serve.to_string()})
}

fn member(card: &Value) -> Option<Member> {
    let address = |name: &str| card[name].as_str()?.parse().ok();
    let name = card["name"].as_str().filter(|name| is_plain_name(name))?;
    Some(Member { name: name.to_owned(), gate: address("gate")?, serve: address("serve")? })
}

/// Looks again and again until there is something, or the time is over.
fn wait_for<T>(until: Instant, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        match look() {
            Some(found) => return Some(found),
            None if Instant::now() >= until => return None,
            // A file of another machine: nothing tells when it comes.
            None => std::thread::sleep(LOOK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_come_get_one_plan_and_one_that_is_late_does_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let until = Instant::now() + Duration::from_secs(30);
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let come = |name: &str, port: u16, expect: usize| {
            let meeting = Meeting::enter(dir.path(), until)?;
            let own = Member { name: name.to_owned(), gate: at(port), serve: at(port + 1) };
            let plan = meeting.plan(&own, expect, until, |hosts| vec![0; hosts])?;
            anyhow::Ok((meeting.token, plan))
        };
        let both: Vec<_> = std::thread::scope(|scope| {
            let hosts = [("b", 10), ("a", 20), ("c", 30)].map(|(name, port)| scope.spawn(move || come(name, port, 3)));
            hosts.into_iter().map(|host| host.join().expect("no panic").expect("a plan")).collect()
        });
        let (token, first) = &both[0];
        assert_eq!(token.len(), SECRET);
        assert!(both.iter().all(|(other, plan)| other == token && plan.id == first.id && plan.hosts == first.hosts));
        assert_eq!(first.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(both.iter().map(|(_, plan)| plan.own).collect::<Vec<_>>(), [1, 0, 2]);
        let late = come("d", 40, 3).expect_err("the plan is there").to_string();
        assert!(late.contains("earlier pairs"), "{late}");
    }
}
