//! Runs of many hosts in PostgreSQL: nothing is lost and nothing is there twice, with 64 writers at
//! once and a server that is killed meanwhile. On a server of the test's own, which only a Unix
//! socket in its directory reaches. Needs the feature `postgres` and the programs of PostgreSQL.

mod common;
use common::{Ended, Place, ended, send, wait_for};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const SIGKILL: i32 = 9;
const SIGQUIT: i32 = 3;

/// Where distributions put the programs that are not for users.
fn programs() -> Option<PathBuf> {
    let of_debian = fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|version| version.path().join("bin"));
    let all = of_debian.chain(["/usr/bin".into(), "/usr/local/bin".into()]);
    all.into_iter().find(|dir| dir.join("initdb").is_file() && dir.join("postgres").is_file())
}

/// A database server.
struct Server {
    programs: PathBuf,
    dir: PathBuf,
    running: Option<Child>,
}

impl Server {
    /// Makes a cluster and starts it; `None` without PostgreSQL.
    fn new(place: &Place) -> Option<Server> {
        let Some(programs) = programs() else {
            println!("skipped: PostgreSQL is not installed");
            return None;
        };
        let dir = place.path("pg");
        fs::create_dir(&dir).expect("a directory");
        let mut server = Server { programs, dir, running: None };
        if let Some(user) = server.user() {
            let given = Command::new("chown").args([&user, "--"]).arg(&server.dir).status().expect("chown");
            assert!(given.success());
            // The user has to pass through the directory of the test.
            let passable = Command::new("chmod").arg("o+x").arg(server.dir.parent().expect("the test's")).status();
            assert!(passable.expect("chmod").success());
        }
        let made = server
            .command("initdb")
            .args(["--auth=trust", "--username=groma", "--no-sync", "--no-locale", "--encoding=UTF8", "-D"])
            .arg(server.dir.join("data"))
            .output()
            .expect("initdb can be started");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.start();
        server.sql_of("postgres", "create database fleet");
        Some(server)
    }

    /// The user for its processes: PostgreSQL refuses to run as root.
    fn user(&self) -> Option<String> {
        let own = fs::metadata("/proc/self").expect("/proc");
        (std::os::unix::fs::MetadataExt::uid(&own) == 0).then(|| "nobody".to_owned())
    }

    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = match self.user() {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", &user, "--regid", "nogroup", "--clear-groups", "--pdeathsig", "KILL"]);
                command.arg(program);
                command
            }
        };
        command.current_dir(&self.dir).stdin(Stdio::null());
        command
    }

    /// Starts it and waits until it answers. After a kill, processes of the one before may still
    /// hold its memory: then it ends at once and is started again.
    fn start(&mut self) {
        wait_for("the server answers", || {
            let ended = self.running.as_mut().is_none_or(|running| running.try_wait().expect("a child").is_some());
            if ended {
                let log = fs::File::options().create(true).append(true).open(self.dir.with_extension("log"));
                let running = self
                    .command("postgres")
                    .args(["-c", "listen_addresses=", "-c", "max_connections=80", "-k"])
                    .arg(&self.dir)
                    .arg("-D")
                    .arg(self.dir.join("data"))
                    .stderr(log.expect("a log"))
                    .spawn();
                self.running = Some(running.expect("postgres can be started"));
            }
            self.try_sql("postgres", "select 1")
        });
    }

    fn kill(&mut self) {
        let mut running = self.running.take().expect("it runs");
        send(running.id() as i32, SIGKILL);
        running.wait().expect("it has ended");
    }

    fn url(&self) -> String {
        format!("postgres://groma@{}/fleet", self.dir.display().to_string().replace('/', "%2F"))
    }

    fn try_sql(&self, database: &str, sql: &str) -> Option<String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["--no-psqlrc", "-At", "-U", "groma", "-d", database, "-c", sql, "-h"]).arg(&self.dir);
        let output = psql.output().expect("psql can be started");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn sql_of(&self, database: &str, sql: &str) -> String {
        self.try_sql(database, sql).unwrap_or_else(|| panic!("{sql}"))
    }

    fn number(&self, sql: &str) -> usize {
        self.sql_of("fleet", sql).parse().expect("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            send(running.id() as i32, SIGQUIT);
            drop(running.wait());
        }
    }
}

/// A real stream, and its run, host and number of metrics.
struct Stream {
    text: String,
    run: String,
    host: String,
    metrics: usize,
}

fn stream(place: &Place) -> Stream {
    let file = place.path("one.ndjson");
    let out = file.to_str().expect("a name");
    let args = ["run", "syscall.getppid", "syscall.read", "--rounds", "2", "--budget", "20s", "--out", out];
    let run = place.groma(&args);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let text = fs::read_to_string(&file).expect("the stream");
    let head: serde_json::Value = serde_json::from_str(text.lines().next().expect("a head")).expect("JSON");
    let facts = head["environment"].as_array().expect("facts");
    let host = facts.iter().find(|fact| fact["key"] == "host.name").expect("a name")["value"].as_str();
    let metrics = text.lines().filter(|line| line.starts_with("{\"kind\":\"metric\"")).count();
    let run = head["run"].as_str().expect("an id").to_owned();
    Stream { run, host: host.expect("text").to_owned(), metrics, text }
}

impl Stream {
    /// The same as a run of another host.
    fn of_host(&self, number: usize) -> String {
        let host = format!("\"value\":\"{}\"", self.host);
        let text = self.text.replace(&host, &format!("\"value\":\"n{number:03}\""));
        text.replace(&self.run, &format!("{}{number:04x}", &self.run[..self.run.len() - 4]))
    }
}

fn push(place: &Place, args: &[&str]) -> Ended {
    ended(place.command(&[&["push"], args].concat()).output().expect("groma can be started"))
}

const WRITERS: usize = 64;
const EACH: usize = 8;
/// Each writer but the first sends the last run of the one before as well.
const RUNS: usize = WRITERS * (EACH - 1) + 1;

fn spool(place: &Place, writer: usize, stream: &Stream) -> PathBuf {
    let dir = place.path(&format!("spool{writer}"));
    fs::create_dir(&dir).expect("a directory");
    for i in 0..EACH {
        let number = writer * (EACH - 1) + i;
        fs::write(dir.join(format!("{number}.ndjson")), stream.of_host(number)).expect("a file");
    }
    dir
}

fn count_sent(dir: &Path) -> usize {
    fs::read_dir(dir.join("sent")).map_or(0, Iterator::count)
}

#[test]
fn sixty_four_writers_and_a_killed_server_lose_nothing_and_double_nothing() {
    let place = Place::new();
    let Some(mut server) = Server::new(&place) else { return };
    let stream = stream(&place);
    let spools: Vec<PathBuf> = (0..WRITERS).map(|writer| spool(&place, writer, &stream)).collect();
    let url = server.url();
    let writers: Vec<Child> = spools
        .iter()
        .map(|dir| {
            let mut command = place.command(&["push", &url, dir.to_str().expect("a name"), "--wait", "10m"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("groma can be started")
        })
        .collect();
    wait_for("some runs are there", || {
        let count = server.try_sql("fleet", "select count(*) from groma.run")?.parse::<usize>().ok()?;
        (count >= RUNS / 8).then_some(())
    });
    server.kill();
    server.start();
    for writer in writers {
        let end = ended(writer.wait_with_output().expect("a child"));
        assert_eq!(end.code, Some(0), "{}{}", end.out, end.err);
    }
    assert_eq!(server.number("select count(*) from groma.run"), RUNS);
    assert_eq!(server.number("select count(distinct host) from groma.newest"), RUNS);
    assert_eq!(server.number("select count(*) from groma.metric"), RUNS * stream.metrics);
    assert!(spools.iter().all(|dir| count_sent(dir) == EACH));
    // The server holds what was sent, byte by byte.
    let kept = server.sql_of("fleet", "select stream from groma.run where host = 'n009'");
    assert_eq!(kept, stream.of_host(9).trim());
    // Once more: all are known.
    let again = push(&place, &[&url, spools[0].join("sent").to_str().expect("a name")]);
    assert_eq!((again.code, again.out.trim()), (Some(0), "0 runs added, 8 known already"), "{}", again.err);
    let judged = place.groma(&["fleet", "judge", &url, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&judged.out).expect("JSON");
    assert_eq!(json["hosts"].as_array().map(Vec::len), Some(RUNS), "{}", judged.err);
}

#[test]
fn what_cannot_be_sent_stays_and_is_told_in_a_line() {
    let place = Place::new();
    let Some(mut server) = Server::new(&place) else { return };
    let stream = stream(&place);
    let dir = place.path("spool");
    fs::create_dir(&dir).expect("a directory");
    let whole = stream.of_host(1);
    let cut = stream.of_host(2);
    fs::write(dir.join("a.ndjson"), &whole).expect("a file");
    fs::write(dir.join("b.ndjson"), &cut[..cut.len() / 2]).expect("a file");
    fs::write(dir.join("c.ndjson"), "no stream\n").expect("a file");
    fs::write(dir.join("d.txt"), "not looked at\n").expect("a file");
    let (url, spool) = (server.url(), dir.to_str().expect("a name").to_owned());
    let end = push(&place, &[&url, &spool]);
    assert_eq!((end.code, end.out.trim()), (Some(2), "1 run added, 2 left out"), "{}", end.err);
    assert_eq!(end.err.lines().count(), 2, "{}", end.err);
    assert!(dir.join("sent/a.ndjson").is_file() && dir.join("b.ndjson").is_file() && dir.join("c.ndjson").is_file());
    // Of the same host a newer run, two in one file: the judge takes one run of a host.
    let (older, newer) = (stream.of_host(1), stream.of_host(3).replace("n003", "n001"));
    fs::write(dir.join("both.ndjson"), older + &newer).expect("a file");
    let end = push(&place, &[&url, dir.join("both.ndjson").to_str().expect("a name")]);
    assert_eq!((end.code, end.out.trim()), (Some(0), "1 run added, 1 known already"), "{}", end.err);
    assert_eq!(server.number("select count(*) from groma.newest"), 1);

    // Tables of a later version are left alone.
    server.sql_of("fleet", "insert into groma.version values (99)");
    let end = push(&place, &[&url, &spool]);
    assert!(end.code == Some(4) && end.err.contains("of a newer groma (version 99"), "{:?} {}", end.code, end.err);
    let end = place.groma(&["fleet", "judge", &url]);
    assert!(end.code == Some(2) && end.err.contains("of a newer groma"), "{:?} {}", end.code, end.err);
    server.sql_of("fleet", "delete from groma.version where version = 99");

    fs::write(dir.join("e.ndjson"), stream.of_host(5)).expect("a file");
    server.kill();
    for url in [&url, "postgres://groma:hunter2@127.0.0.1:1/fleet"] {
        let end = push(&place, &[url, &spool]);
        assert!(end.code == Some(4) && !end.err.contains("hunter2"), "{:?} {}", end.code, end.err);
        assert!(dir.join("e.ndjson").is_file());
    }
    server.start();
    let end = push(&place, &[&url, dir.join("e.ndjson").to_str().expect("a name")]);
    assert_eq!((end.code, end.out.trim()), (Some(0), "1 run added"), "{}", end.err);
    let end = push(&place, &[&url.replace("fleet", "nowhere"), &spool]);
    assert!(end.code == Some(4) && end.err.contains("\"nowhere\" does not exist"), "{:?} {}", end.code, end.err);
}
