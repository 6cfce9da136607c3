//! A fleet run by Slurm: a controller and two nodes on this machine. The job's steps write a file a
//! node, named as Slurm names it; a node that is slow is drained with the reason that is printed,
//! and by its own health check. Needs root and Slurm's programs.

use crate::common::{Place, is_executable, wait_for, write_program};
use serde_json::{Value, json};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const NODES: [&str; 2] = ["n1", "n2"];

/// The daemons, which end with the test.
struct Slurm {
    dir: PathBuf,
    daemons: Vec<Child>,
}

impl Slurm {
    /// `None` where Slurm is not installed, or does not start.
    fn start(place: &Place, check: &Path) -> Option<Slurm> {
        let programs = ["munged", "slurmctld", "slurmd"];
        if let Some(missing) = programs.iter().find(|name| !is_executable(name)) {
            println!("skipped: no {missing}");
            return None;
        }
        let own = fs::metadata("/proc/self").expect("/proc");
        if std::os::unix::fs::MetadataExt::uid(&own) != 0 {
            println!("skipped: munged and slurmd as another user than their own need root");
            return None;
        }
        let dir = place.path("slurm");
        fs::create_dir(&dir).expect("a directory");
        write_program(check, "#!/bin/sh\n");
        fs::write(dir.join("key"), [7; 128]).expect("a file");
        fs::set_permissions(dir.join("key"), fs::Permissions::from_mode(0o600)).expect("chmod");
        let ports = [0; 3].map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let [controller, first, second] = ports.map(|port| port.local_addr().expect("bound").port());
        let here = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        let at = dir.display();
        let node = |name: &str, port: u16| {
            format!("NodeName={name} NodeHostname={} NodeAddr=127.0.0.1 Port={port} CPUs=1\n", here.trim())
        };
        let config = format!(
            "ClusterName=groma\nSlurmctldHost={}(127.0.0.1)\nSlurmctldPort={controller}\nSlurmUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={at}/munge\nStateSaveLocation={at}/state\n\
             SlurmdSpoolDir={at}/spool-%n\nSlurmdPidFile={at}/%n.pid\nSlurmctldPidFile={at}/ctld.pid\n\
             SlurmdLogFile={at}/%n.log\nSlurmctldLogFile={at}/ctld.log\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSelectType=select/linear\nMpiDefault=none\nReturnToService=2\n\
             SlurmdParameters=config_overrides\nHealthCheckProgram={}\nHealthCheckInterval=1\nHealthCheckNodeState=ANY\n{}{}\
             PartitionName=all Nodes=ALL Default=YES State=UP\n",
            here.trim(),
            check.display(),
            node(NODES[0], first),
            node(NODES[1], second),
        );
        fs::write(dir.join("slurm.conf"), config).expect("a file");
        fs::create_dir(dir.join("state")).expect("a directory");
        let mut slurm = Slurm { dir, daemons: Vec::new() };
        let at = |name: &str| slurm.dir.join(name).display().to_string();
        let munge = ["-F".to_owned(), "--force".to_owned(), format!("--socket={}", at("munge"))];
        let files = ["key", "pid", "log", "seed"].map(|kind| format!("--{kind}-file={}", at(kind)));
        slurm.daemon("/usr/sbin/munged", &[&munge[..], &files].concat());
        wait_for("munged's socket", || slurm.dir.join("munge").exists().then_some(()));
        slurm.daemon("/usr/sbin/slurmctld", &["-D".to_owned(), "-c".to_owned()]);
        for name in NODES {
            slurm.daemon("/usr/sbin/slurmd", &["-D", "-N", name].map(str::to_owned));
        }
        let idle = wait_for("two idle nodes, or a daemon that ends", || {
            if slurm.daemons.iter_mut().any(|one| one.try_wait().is_ok_and(|ended| ended.is_some())) {
                return Some(false);
            }
            let seen = slurm.command("sinfo", &["-h", "-N", "-o", "%T"]).output().ok()?;
            (String::from_utf8_lossy(&seen.stdout).matches("idle").count() == NODES.len()).then_some(true)
        });
        if !idle {
            let log = |name: &str| fs::read_to_string(slurm.dir.join(name)).unwrap_or_default();
            println!("skipped: Slurm does not run here: {}{}", log("n1.log"), log("ctld.log"));
            return None;
        }
        Some(slurm)
    }

    fn daemon(&mut self, program: &str, args: &[String]) {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = self.command(program, &args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().expect("a daemon"));
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).env("SLURM_CONF", self.dir.join("slurm.conf")).current_dir(&self.dir);
        command
    }

    fn run(&self, program: &str, args: &[&str]) -> Output {
        let output = self.command(program, args).output().expect("it can be started");
        assert!(output.status.success(), "{program} {args:?}: {output:?}");
        output
    }

    /// The state of a node, and why it is drained.
    fn state(&self, node: &str) -> String {
        let seen = self.run("sinfo", &["-h", "-n", node, "-o", "%T %E"]);
        String::from_utf8_lossy(&seen.stdout).trim().to_owned()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            // One that is gone is gone.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// The run of a host under other names, one of them held back by a quota. Its values are made
/// precise: on a busy machine most are of a single round, of which nothing is judged.
fn fleet_of(run: &str, dir: &Path, hosts: &[&str], slow: &str) {
    fs::create_dir(dir).expect("a directory");
    let (head, rest) = run.split_once('\n').expect("a stream");
    let head: Value = serde_json::from_str(head).expect("JSON");
    let precise = |line: &str| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        if let Some(value) = line["value"].as_f64().filter(|_| line["kind"] == "metric") {
            line["ci"] = json!([0.99 * value, 1.01 * value]);
        }
        format!("{line}\n")
    };
    let rest: String = rest.lines().map(precise).collect();
    for host in hosts {
        let mut head = head.clone();
        head["run"] = json!(format!("20261127T000000Z-{host}"));
        for fact in head["environment"].as_array_mut().expect("facts") {
            if fact["key"] == "launcher.node" {
                fact["value"] = json!(host);
            }
        }
        head.as_object_mut().expect("an object").remove("cpu_limit");
        head["noise_lost"] = json!(0.0);
        if *host == slow {
            head["cpu_limit"] = json!({"cpus": 0.5, "held_back": 0.5});
        }
        fs::write(dir.join(format!("{host}.ndjson")), format!("{head}\n{rest}")).expect("a file");
    }
}

/// The results of both nodes. They are one machine: where others use it as well, ten seconds may be
/// too short to measure anything.
fn measured(place: &Place, slurm: &Slurm) -> PathBuf {
    let groma = env!("CARGO_BIN_EXE_groma");
    for budget in ["10s", "40s", "160s"] {
        let results = place.path(budget);
        let out = format!("{}/", results.display());
        let run = [groma, "run", "--profile", "fleet", "--budget", budget, "--out", &out];
        let step = [&["-N", "2", "--ntasks-per-node=1", "--exclusive"][..], &run].concat();
        let output = slurm.command("srun", &step).output().expect("it can be started");
        if output.status.success() {
            return results;
        }
        let nothing = String::from_utf8_lossy(&output.stderr).contains("nothing was measured");
        assert!(nothing, "srun {step:?}: {output:?}");
    }
    panic!("nothing was measured within 160 s");
}

#[test]
fn slurm_measures_its_nodes_and_drains_the_slow_one() {
    let place = Place::new();
    let [check, fleet] = ["check", "fleet"].map(|name| place.path(name));
    let Some(slurm) = Slurm::start(&place, &check) else { return };
    let results = measured(&place, &slurm);
    let mut files: Vec<PathBuf> = fs::read_dir(&results).expect("results").flatten().map(|one| one.path()).collect();
    files.sort();
    let names: Vec<_> = files.iter().filter_map(|file| file.file_name()?.to_str()?.split_once('-')).collect();
    assert_eq!(names.iter().map(|(host, _)| *host).collect::<Vec<_>>(), NODES);
    assert_eq!(names[0].1, names[1].1, "equal hosts have one fingerprint");

    let run = fs::read_to_string(&files[0]).expect("a stream");
    fleet_of(&run, &fleet, &["n1", "n2", "n3", "n4", "n5", "n6", "n7"], "n2");
    let fleet = fleet.to_str().expect("a name");
    let judged = place.groma(&["fleet", "judge", fleet, "--format", "drain"]);
    assert_eq!(judged.code, Some(1), "{judged:?}");
    let (host, reason) = judged.out.trim_end().split_once(' ').expect("a line");
    assert!(host == "n2" && reason.starts_with("groma: quota: "), "{judged:?}");
    slurm.run("scontrol", &["update", &format!("nodename={host}"), "state=drain", &format!("reason={reason}")]);
    assert_eq!([slurm.state("n1"), slurm.state("n2")], ["idle none".to_owned(), format!("drained {reason}")]);

    health_check_drains(&place, &slurm, &check, (&run, fleet));
}

/// A node judges itself against a baseline, and drains itself.
fn health_check_drains(place: &Place, slurm: &Slurm, check: &Path, (run, fleet): (&str, &str)) {
    let good = place.path("good.json");
    let baseline = place.groma(&["fleet", "judge", fleet, "--every-run", "--json"]);
    fs::write(&good, baseline.out).expect("a file");
    let own = place.path("own");
    fleet_of(run, &own, &["n1"], "n1");
    let script = format!(
        "#!/bin/sh\nexport SLURM_CONF={} PATH=/usr/bin:/bin\n{} fleet judge {}/n1.ndjson --baseline {} --format drain |\n\
         while read -r host reason; do scontrol update nodename=\"$host\" state=drain reason=\"$reason\"; done\n",
        slurm.dir.join("slurm.conf").display(),
        env!("CARGO_BIN_EXE_groma"),
        own.display(),
        good.display(),
    );
    let beside = place.path("new-check");
    write_program(&beside, &script);
    fs::rename(beside, check).expect("a rename");
    wait_for("a node that drains itself", || slurm.state("n1").starts_with("drained groma: quota: ").then_some(()));
}
