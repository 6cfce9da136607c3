//! What a group of records says, in one short true sentence.
//!
//! Every number comes from a record of the group that was measured, or is the quotient of two. Where a sentence has not
//! what it needs, the group is counted by state instead.

use groma_model::{Placement, Quantity, Record, State};

use crate::curve::{curves, for_levels, levels, widest};
use crate::point::{measured, point};
use crate::units::{self, Scale, times};

/// The sentence of a family, without a full stop.
pub(crate) fn says(family: &str, records: &[&Record]) -> String {
    let group = Group(records);
    let sentence = match family {
        "clock" => group.clock(),
        "cpu" => group.cpu(),
        "syscall" => group.syscall(),
        "vdso" => group.costs("vdso.clock_gettime", "reading the clock without entering the kernel"),
        "signal" => group.signal(),
        "proc" => group.proc(),
        "thread" => group.costs("thread.create_join", "creating a thread and waiting for its end"),
        "ctx" => group.ctx(),
        "ipc" => group.ipc(),
        "net" => group.net(),
        "vm" => group.vm(),
        "file" => group.file(),
        "mem" => group.mem(),
        "timer" => group.range("timer.sleep", "a sleep ends late by"),
        "sched" => group.sched(),
        "lock" => group.range_of(|r| r.id.starts_with("lock."), "taking and leaving what nobody else wants costs"),
        "ready" => group.range_of(|r| r.id != "ready.epoll_ctl", "asking which descriptors are ready costs"),
        "uring" => group.range("uring.nop", "an empty operation through io_uring costs"),
        "rpc" => group.range("rpc.null", "a remote call that does nothing takes"),
        "http" => group.range("http.get", "a request over HTTP takes"),
        "disk" => group.disk(),
        "mix" => group.mix(),
        _ => None,
    };
    sentence.unwrap_or_else(|| counts(records))
}

/// `3 ok, 1 failed`.
pub(crate) fn counts(records: &[&Record]) -> String {
    let count = |state| records.iter().filter(|r| r.state == state).count();
    let parts = State::ALL.into_iter().map(|s| (s, count(s))).filter(|(_, n)| *n > 0);
    parts.map(|(state, n)| format!("{n} {}", state.word())).collect::<Vec<_>>().join(", ")
}

struct Group<'a>(&'a [&'a Record]);

impl<'a> Group<'a> {
    /// The measured records of a metric.
    fn all(&self, id: &str) -> impl Iterator<Item = (&'a Record, f64)> {
        self.0.iter().filter(move |r| r.id == id).filter_map(|r| Some((*r, measured(r)?)))
    }

    /// The first measured record of a metric.
    fn first(&self, id: &str) -> Option<f64> {
        self.all(id).next().map(|(_, value)| value)
    }

    fn least(&self, id: &str) -> Option<(&'a Record, f64)> {
        self.all(id).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn most(&self, id: &str) -> Option<(&'a Record, f64)> {
        self.all(id).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn costs(&self, id: &str, what: &str) -> Option<String> {
        Some(format!("{what} costs {}", units::time(self.first(id)?)))
    }

    fn clock(&self) -> Option<String> {
        let read = self.costs("clock.read", "reading the clock")?;
        Some(match self.first("clock.step") {
            Some(step) => format!("{read}; polled, it moves by {} at a time", units::time(step)),
            None => read,
        })
    }

    fn cpu(&self) -> Option<String> {
        let clock = units::value(self.first("cpu.frequency")?, Scale::Frequency, None);
        let mut parts = vec![format!("the core runs at {clock}")];
        if let Some((call, value)) = self.least("cpu.call") {
            let cycles = call.cycles.map(|c| format!(" ({})", units::cycles(c))).unwrap_or_default();
            parts.push(format!("a call and its return cost {}{cycles}", units::time(value)));
        }
        let cores = || self.all("cpu.core_to_core").filter(|(r, _)| r.params.word("protocol") == Some("cas1"));
        let (least, most) = (cores().map(|c| c.1).min_by(f64::total_cmp), cores().map(|c| c.1).max_by(f64::total_cmp));
        if let (Some(least), Some(most)) = (least, most) {
            let span = if cores().count() > 1 { units::range(least, most, Scale::Time) } else { units::time(least) };
            parts.push(format!("a line goes from one core to another in {span} (cas1)"));
        }
        Some(parts.join("; "))
    }

    fn syscall(&self) -> Option<String> {
        let entry = self.first("syscall.getppid")?;
        let what = format!("entering the kernel and leaving it costs {}", units::time(entry));
        Some(match self.first("syscall.open_close") {
            Some(open) => format!("{what}; opening and closing a file {} as much", times(open / entry)),
            None => what,
        })
    }

    fn signal(&self) -> Option<String> {
        let catch = self.costs("signal.catch", "catching a signal")?;
        Some(match self.first("signal.install") {
            Some(install) => format!("{catch}, installing its handler {}", units::time(install)),
            None => catch,
        })
    }

    fn proc(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(fork) = self.first("proc.fork_exit") {
            parts.push(format!("fork and exit cost {}", units::time(fork)));
        }
        let target =
            |word: &str| self.all("proc.exec").find(|(r, _)| r.params.word("target") == Some(word)).map(|r| r.1);
        match (target("static"), target("dynamic")) {
            (Some(fixed), Some(dynamic)) => parts.push(format!(
                "running a static program {}, a dynamic one {} as much",
                units::time(fixed),
                times(dynamic / fixed)
            )),
            (Some(one), None) => parts.push(format!("running a static program {}", units::time(one))),
            (None, Some(one)) => parts.push(format!("running a dynamic program {}", units::time(one))),
            (None, None) => {}
        }
        if let Some(shell) = self.first("proc.shell") {
            parts.push(format!("a shell {}", units::time(shell)));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn ctx(&self) -> Option<String> {
        let id = if self.first("ctx.switch.net").is_some() { "ctx.switch.net" } else { "ctx.switch" };
        self.range(id, "a switch costs")
    }

    /// The least and the most of the records of a metric, each with its parameters.
    fn range(&self, id: &str, what: &str) -> Option<String> {
        self.range_of(|r| r.id == id, what)
    }

    fn range_of(&self, which: impl Fn(&Record) -> bool, what: &str) -> Option<String> {
        let measured: Vec<(&Record, f64)> =
            self.0.iter().filter(|r| which(r) && !r.detail).filter_map(|r| Some((*r, measured(r)?))).collect();
        let &(least, low) = measured.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let &(most, high) = measured.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let several = measured.iter().any(|(r, _)| r.id != least.id);
        let of = |r: &Record| match (several, r.params_text.as_str()) {
            (true, "") => r.id.clone(),
            (true, text) => format!("{} {text}", r.id),
            (false, _) => params(r),
        };
        let what = format!("{what} {} ({})", units::time(low), of(least));
        Some(if std::ptr::eq(least, most) { what } else { format!("{what} to {} ({})", units::time(high), of(most)) })
    }

    fn sched(&self) -> Option<String> {
        let woken =
            self.least("sched.wakeup").map(|(_, v)| format!("a task that is woken runs {} later", units::time(v)));
        let lost = self.first("sched.noise").map(|v| format!("others take {} of a CPU's time", units::percent(v)));
        let parts: Vec<String> = woken.into_iter().chain(lost).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn disk(&self) -> Option<String> {
        let random = self.least("disk.random_read").map(|(_, v)| format!("4 KiB at random take {}", units::time(v)));
        let stream =
            self.most("disk.read").map(|(r, v)| format!("1 MiB comes at {}", units::value(v, Scale::of(r), None)));
        let parts: Vec<String> = random.into_iter().chain(stream).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn mix(&self) -> Option<String> {
        let andrew = self.least("mix.andrew").map(|(r, v)| format!("a build takes {} ({})", units::time(v), params(r)));
        let jobs = self.least("mix.jobs.ratio").map(|(_, v)| format!("jobs at once take {} the ideal time", times(v)));
        let parts: Vec<String> = andrew.into_iter().chain(jobs).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn ipc(&self) -> Option<String> {
        let (same, near) = self.all("ipc.pipe_rtt").find(|(r, _)| r.placement == Placement::SameCpu)?;
        let apart = |r: &Record| {
            matches!(r.placement, Placement::Smt | Placement::SameLlc | Placement::CrossLlc | Placement::CrossNode)
        };
        let mut others = self.all("ipc.pipe_rtt").filter(|(r, _)| r.params == same.params && apart(r));
        let there = format!("a pipe round trip on one CPU takes {}", units::time(near));
        Some(match others.next() {
            Some((_, far)) => format!("{there}, between two CPUs {} as long", times(far / near)),
            None => there,
        })
    }

    fn net(&self) -> Option<String> {
        let trip =
            self.least("net.tcp_rtt").map(|(_, v)| format!("a TCP round trip over loopback takes {}", units::time(v)));
        let connect = self.least("net.tcp_connect").map(|(_, v)| format!("a connection takes {}", units::time(v)));
        let parts: Vec<String> = trip.into_iter().chain(connect).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn vm(&self) -> Option<String> {
        self.range("vm.fault", "a page fault costs")
    }

    fn file(&self) -> Option<String> {
        let create = self
            .least("file.create_delete")
            .map(|(_, v)| format!("creating and deleting a file costs {}", units::time(v)));
        let reread = self
            .most("file.reread")
            .map(|(r, v)| format!("a file in the page cache is read at {}", units::value(v, Scale::of(r), None)));
        let parts: Vec<String> = create.into_iter().chain(reread).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn mem(&self) -> Option<String> {
        let latency: Vec<&Record> = self.0.iter().copied().filter(|r| r.id == "mem.latency").collect();
        let hierarchy = widest(&latency).and_then(|(over, _)| {
            let curves = curves(&latency, &over);
            let levels: Vec<String> = levels(for_levels(&curves)?)
                .iter()
                .map(|level| {
                    let capacity = level.capacity.map(|c| format!(" {}", units::size(c)));
                    let cycles = level.cycles.filter(|_| level.capacity.is_some());
                    let cost = cycles.map_or_else(|| units::time(level.latency), units::cycles);
                    format!("{}{} at {cost}", level.name, capacity.unwrap_or_default())
                })
                .collect();
            Some(levels.join(", "))
        });
        let fractured = self.0.iter().any(|r| r.id.starts_with("mem.tlb") && r.fact("verdict") == Some("fractured"));
        let hierarchy = hierarchy.map(|h| if fractured { h + ", huge pages fractured" } else { h });
        hierarchy.or_else(|| {
            let (record, most) = self.most("mem.bandwidth").filter(|(r, _)| r.quantity == Quantity::Bandwidth)?;
            Some(format!("up to {} ({})", units::value(most, Scale::of(record), None), params(record)))
        })
    }
}

/// The parameters of a record, or its placement where it has none.
fn params(record: &Record) -> String {
    if record.params_text.is_empty() { point(record) } else { record.params_text.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::point::family;

    #[test]
    fn every_family_has_its_sentence() {
        let records = fixtures::records();
        let mut families: Vec<&str> = Vec::new();
        for record in &records {
            if !families.contains(&family(&record.id)) {
                families.push(family(&record.id));
            }
        }
        let say = |f: &&str| {
            let group: Vec<&Record> = records.iter().filter(|r| family(&r.id) == *f).collect();
            format!("{f}: {}", says(f, &group))
        };
        let all: Vec<String> = families.iter().map(say).collect();
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn a_survey_says_what_its_machine_is() {
        for (run, records) in [fixtures::guest(), fixtures::two_caches()] {
            let of = |f: &str| {
                let group: Vec<&Record> = records.iter().filter(|r| family(&r.id) == f).collect();
                says(f, &group)
            };
            assert!(of("cpu").contains("from one core to another"), "{}", of("cpu"));
            let guest = run.environment.get("virt.hypervisor").is_some();
            assert_eq!(of("mem").ends_with(", huge pages fractured"), guest, "{}", of("mem"));
        }
    }

    #[test]
    fn without_what_it_needs_a_group_is_counted() {
        let record = |state| {
            let r = fixtures::record("syscall.getppid", "", Quantity::Latency, 1e-7);
            if state == State::Ok { r } else { fixtures::without(r, state, "because") }
        };
        let (failed, unsupported) = (record(State::Failed), record(State::Unsupported));
        assert_eq!(says("syscall", &[&failed, &unsupported, &failed]), "1 unsupported, 2 failed");
        let mut other = record(State::Ok);
        other.id = "mine.own".to_owned();
        assert_eq!(says("mine", &[&other]), "1 ok");
    }
}
