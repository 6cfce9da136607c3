//! lat_sig, lat_proc, lat_cmd, lat_pmake, lat_rand, lat_usleep: signals, processes, and what a
//! program asks of its library.

use super::super::call::{Call, Outcome, Program, Stop};
use super::super::lines::{micro, nano};
use super::super::measure::{Want, point, points};
use super::{LOAD, load};

pub(in super::super) static PROGRAMS: &[Program] = &[
    Program {
        name: "lat_sig",
        usage: load!(" install|catch|prot [file]"),
        letters: LOAD,
        prints: "Signal handler installation: 0.1480 microseconds, Signal handler overhead: or \
                 Protection fault:",
        differs: "as there catch is without the cost of kill(self, 0), and prot without what catch \
                  costs; prot stores into a page of its own instead of the file's, and its signal \
                  is counted by the same handler",
        native: "groma run signal.install, signal.catch (`signal.catch.net`; the main value is the \
                 whole), signal.fault (nothing is taken off)",
        run: lat_sig,
    },
    Program {
        name: "lat_proc",
        usage: load!(" procedure|fork|exec|shell"),
        letters: LOAD,
        prints: "Procedure call:, Process fork+exit:, Process fork+execve: or Process fork+/bin/sh \
                 -c: 79.0000 microseconds",
        differs: "exec and shell run a small dynamic program that groma carries, not /tmp/hello, \
                  and check its exit code; procedure is a call alone, where there a store and a \
                  load wait for each other",
        native: "groma run cpu.call --param args=1, proc.fork_exit, proc.exec --param \
                 target=dynamic --param by=fork, proc.shell --param by=fork",
        run: lat_proc,
    },
    Program {
        name: "lat_cmd",
        usage: load!(" command [arguments...]"),
        letters: LOAD,
        prints: "lat_cmd: 750.0000 microseconds",
        differs: "the command must exit with 0; posix_spawn starts it. There it never runs, and \
                  children fork without end",
        native: "groma run mix.command --param command='...'",
        run: lat_cmd,
    },
    Program {
        name: "lat_pmake",
        usage: load!(" jobs microseconds [microseconds...]"),
        letters: LOAD,
        prints: "\"pmake jobs=2, and for each time of work: 1000 1043.27",
        differs: "jobs compute in registers instead of following pointers; there nothing but the \
                  heading is printed",
        native: "groma run mix.jobs --param jobs=N --param work_us=N: also as a ratio to the ideal",
        run: lat_pmake,
    },
    Program {
        name: "lat_rand",
        usage: load!(""),
        letters: LOAD,
        prints: "drand48 latency: 5.10 nanoseconds, and lrand48",
        differs: "",
        native: "groma run cpu.random --param kind=drand48,lrand48",
        run: lat_rand,
    },
    Program {
        name: "lat_usleep",
        usage: "[-r] [-u usleep|nanosleep|select|pselect|itimer] [-W microseconds] [-N repetitions] microseconds",
        letters: "ru:W:N:",
        prints: "usleep 100 microseconds: 169.8769 microseconds",
        differs: "as there the length of the sleep is in the number; a sleep is timed alone; -r is \
                  SCHED_FIFO instead of SCHED_RR, and where that is denied there is no line; pselect is measured \
                  by select, which is the same sleep of the kernel",
        native: "groma run timer.sleep --param slack=default: how late the sleep ends, without its length",
        run: lat_usleep,
    },
];

fn lat_sig(call: &mut Call<'_>) -> Outcome {
    const MODES: &str = "install, catch or prot";
    let mode = call.needed(0, MODES)?.to_owned();
    call.at_most(2)?;
    let catch = || Want::of("signal.catch");
    let (label, seconds) = match mode.as_str() {
        "install" => ("Signal handler installation", point(call, Want::of("signal.install"))?.value(call, "")),
        "catch" => ("Signal handler overhead", point(call, catch())?.value(call, "net")),
        "prot" => {
            let file = call.needed(1, "the file")?;
            call.file(file, 0)?;
            let found = points(call, &[Want::of("signal.fault").with("kind", "write"), catch()])?.found;
            let [fault, catch] = [found[0].value(call, ""), found[1].value(call, "net")];
            let net = fault.zip(catch).map(|(fault, catch)| fault - catch);
            if net.is_some_and(|net| net <= 0.0) {
                call.absent("a refused access took no longer than catching a signal");
                return Ok(());
            }
            ("Protection fault", net)
        }
        _ => return Err(Stop::Usage(format!("'{mode}': expected {MODES}"))),
    };
    call.line(seconds.and_then(|seconds| micro(label, seconds)));
    Ok(())
}

fn lat_proc(call: &mut Call<'_>) -> Outcome {
    const MODES: &str = "procedure, fork, exec or shell";
    let mode = call.needed(0, MODES)?;
    call.at_most(1)?;
    let (label, want) = match mode {
        "procedure" => ("Procedure call", Want::of("cpu.call").with("args", 1).with("callee", "leaf")),
        "fork" => ("Process fork+exit", Want::of("proc.fork_exit").with("resident", 0)),
        "exec" => ("Process fork+execve", Want::of("proc.exec").with("target", "dynamic").with("by", "fork")),
        "shell" => ("Process fork+/bin/sh -c", Want::of("proc.shell").with("command", "target").with("by", "fork")),
        _ => return Err(Stop::Usage(format!("'{mode}': expected {MODES}"))),
    };
    let found = point(call, want)?;
    call.line(found.value(call, "").and_then(|seconds| micro(label, seconds)));
    Ok(())
}

fn lat_cmd(call: &mut Call<'_>) -> Outcome {
    call.needed(0, "the command")?;
    let command: Vec<String> = call.words.operands.iter().map(|word| quoted(word)).collect();
    let found = point(call, Want::of("mix.command").with("command", command.join(" ")))?;
    call.line(found.value(call, "").and_then(|seconds| micro("lat_cmd", seconds)));
    Ok(())
}

/// A word as a shell reads it back. Plain words stay as they are, so that no shell is needed.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn lat_pmake(call: &mut Call<'_>) -> Outcome {
    /// As many as `mix.jobs` takes, and a second of work.
    const MAX_JOBS_AND_WORK: [u64; 2] = [256, 1_000_000];
    let jobs = call.needed(0, "the number of jobs")?;
    let jobs = call.number(&format!("'{jobs}'"), jobs, [1, MAX_JOBS_AND_WORK[0]])?;
    call.needed(1, "the microseconds of work")?;
    let times = &call.words.operands[1..];
    let times = times.iter().map(|text| call.number(&format!("'{text}'"), text, [1, MAX_JOBS_AND_WORK[1]]));
    let times: Vec<u64> = times.collect::<Result<_, Stop>>()?;
    let want = |us: &u64| Want::of("mix.jobs").with("jobs", jobs).with("work_us", us).with("kind", "process");
    let wants: Vec<Want> = times.iter().map(|us| want(us).with("work", "equal")).collect();
    let measured = points(call, &wants)?.found;
    call.line(Some(format!("\"pmake jobs={jobs}")));
    for (us, found) in times.iter().zip(&measured) {
        if let Some(seconds) = found.value(call, "") {
            call.line(Some(format!("{us} {:.2}", seconds * 1e6)));
        }
    }
    Ok(())
}

fn lat_rand(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    let kinds = ["drand48", "lrand48"];
    let wants = kinds.map(|kind| Want::of("cpu.random").with("kind", kind));
    for (kind, found) in kinds.iter().zip(points(call, &wants)?.found) {
        call.line(found.value(call, "").and_then(|seconds| nano(&format!("{kind} latency"), seconds)));
    }
    Ok(())
}

fn lat_usleep(call: &mut Call<'_>) -> Outcome {
    let by = call.words.value('u').unwrap_or("usleep").to_owned();
    let interface = match by.as_str() {
        // The kernel sleeps in the same function, and only the form of the time differs.
        "pselect" => "select",
        "usleep" | "nanosleep" | "select" | "itimer" => by.as_str(),
        _ => {
            return Err(Stop::Usage(format!("-u: '{by}': expected usleep, nanosleep, select, pselect or itimer")));
        }
    };
    let text = call.needed(0, "the microseconds to sleep")?;
    call.at_most(1)?;
    let us = call.size(text)?;
    if !(1..=1_000_000).contains(&us) {
        return Err(Stop::Usage(format!("'{text}': expected 1 to 1000000 microseconds")));
    }
    let realtime = call.has('r');
    let want = Want::of("timer.sleep").with("interface", interface).with("length", format!("{us}us"));
    let want = want.with("slack", "default").with("policy", if realtime { "fifo" } else { "other" });
    let found = point(call, want)?;
    let label = format!("{}{by} {us} microseconds", if realtime { "realtime " } else { "" });
    call.line(found.value(call, "").and_then(|late| micro(&label, us as f64 / 1e6 + late)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_are_quoted_where_a_shell_would_split_or_expand_them() {
        assert_eq!(
            ["true", "-x", "a b", "$HOME", "it's", ""].map(quoted),
            ["true", "-x", "'a b'", "'$HOME'", r"'it'\''s'", "''"]
        );
    }
}
