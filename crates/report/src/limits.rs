//! What made a run slower or coarser besides the load of others, in sentences: limits of its own, a
//! clock that is slow to read, an emulated processor.

use groma_model::{CpuLimit, End, RunHeader};

/// Clock sources that take a microsecond and more to read, or step by milliseconds.
const POOR_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];

/// The limits that a reader has to know of, without the full stops; the worst come first.
pub(crate) fn limits(run: &RunHeader, end: Option<&End>) -> Vec<String> {
    let mut all = foremost(run);
    all.extend(of_this_run(run, end));
    all
}

/// What makes whole groups of values those of something else: a reader has to know before he reads
/// any.
pub(crate) fn foremost(run: &RunHeader) -> Vec<String> {
    let fact = |key: &str| run.environment.get(key);
    let traced = fact("process.tracer").map(|by| {
        format!(
            "the workers were traced (by {by}): system calls, faults and signals stop there, and take up to hundreds \
             of times as long"
        )
    });
    let emulated = fact("virt.hypervisor").filter(|name| name.contains("emulated"));
    let emulated = emulated.map(|_| "the processor is emulated: its times are those of the emulation".to_owned());
    let kernel = fact("virt.kernel").map(|name| {
        format!("{name} answers the system calls, not a kernel on this hardware: their times are those of {name}")
    });
    let clock = fact("clock.source").filter(|source| POOR_CLOCKS.contains(source));
    let clock = clock.map(|source| format!("its clock ({source}) is slow to read or has long steps"));
    let preloaded = fact("process.preloaded").map(|names| {
        format!("libraries were loaded in front of the program ({names}), so its own calls may be slower")
    });
    [traced, emulated, kernel, clock, preloaded, watched(run)].into_iter().flatten().collect()
}

/// That the kernel was being traced, by which means.
fn watched(run: &RunHeader) -> Option<String> {
    let fact = |key: &str| run.environment.get(key).filter(|value| !value.starts_with("unreadable"));
    let means = [
        fact("kernel.tracer").filter(|name| *name != "nop").map(|name| format!("the tracer {name}")),
        fact("kernel.trace_events").map(|groups| format!("events ({groups})")),
        fact("kernel.kprobes").map(|count| format!("{count} probes")),
    ];
    let means: Vec<String> = means.into_iter().flatten().collect();
    (!means.is_empty())
        .then(|| format!("the kernel was being traced ({}), so parts of it are slower", means.join(", ")))
}

/// What the run itself was limited by.
pub(crate) fn of_this_run(run: &RunHeader, end: Option<&End>) -> Vec<String> {
    let fact = |key: &str| run.environment.get(key);
    // The end counts the whole run, the head only what came before its first round.
    let quota = end.and_then(|end| end.cpu_limit).or(run.cpu_limit).filter(CpuLimit::is_felt);
    let fewer = end.and_then(|end| end.fewer_cpus);
    let fewer = fewer
        .map(|[then, now]| format!("the CPUs it was allowed to use became fewer during the run: {then}, then {now}"));
    let filters = fact("security.seccomp_filters").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    let filtered = fact("security.seccomp") == Some("filter") || filters > 0;
    let filtered = filtered.then(|| "a seccomp filter is attached, so system calls are slower".to_owned());
    let scheduled = match (fact("sched.policy"), fact("sched.nice")) {
        (None, None) => None,
        (Some(policy), None) => Some(format!("it ran as {policy}")),
        (None, Some(nice)) => Some(format!("it ran with nice {nice}")),
        (Some(policy), Some(nice)) => Some(format!("it ran as {policy} with nice {nice}")),
    };
    let unpinned = fact("sched.pinning").map(|_| {
        "the system refuses to tie a task to a CPU (sched_setaffinity): what needs no CPU of its own ran where the \
         scheduler put it"
            .to_owned()
    });
    let all = [quota.map(|quota| quota.to_string()), fewer, unpinned, filtered, scheduled];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use groma_model::Fact;

    #[test]
    fn each_limit_is_said_once_and_only_where_it_applies() {
        let (mut run, records) = fixtures::survey();
        assert_eq!(limits(&run, None), Vec::<String>::new());
        let set = |run: &mut RunHeader, key: &str, value: &str| {
            run.environment.facts.retain(|fact| fact.key != key);
            run.environment.facts.push(Fact::new(key, value));
        };
        let mut end = fixtures::end(&records);
        let of = |held_back| Some(CpuLimit { cpus: Some(0.1), held_back });
        (run.cpu_limit, end.cpu_limit, end.fewer_cpus) = (of(0.5), of(0.9), Some([4, 2]));
        set(&mut run, "security.seccomp_filters", "1");
        set(&mut run, "sched.policy", "SCHED_IDLE");
        let said = limits(&run, Some(&end));
        assert_eq!(said.len(), 4, "{said:?}");
        assert_eq!(said[0], of(0.9).expect("a limit").to_string(), "the end counts more");
        for (text, word) in said.iter().skip(1).zip(["4, then 2", "seccomp", "SCHED_IDLE"]) {
            assert!(text.contains(word), "{text}");
        }
        set(&mut run, "virt.hypervisor", "QEMU (emulated)");
        set(&mut run, "clock.source", "hpet");
        let said = limits(&run, Some(&end));
        assert!(said[0].contains("emulated") && said[1].contains("(hpet)"), "the worst comes first: {said:?}");
        for (key, value, word) in [
            ("process.tracer", "strace", "traced (by strace)"),
            ("process.preloaded", "libasan.so.8", "(libasan.so.8)"),
            ("virt.kernel", "gVisor", "gVisor answers the system calls"),
            ("kernel.trace_events", "raw_syscalls", "events (raw_syscalls)"),
            ("kernel.tracer", "function", "the tracer function"),
            ("sched.pinning", "refused: no", "refuses to tie"),
        ] {
            let before = limits(&run, Some(&end)).len();
            set(&mut run, key, value);
            let said = limits(&run, Some(&end));
            let more = usize::from(key != "kernel.tracer");
            assert_eq!(said.len(), before + more, "{key}");
            assert!(said.iter().any(|text| text.contains(word)), "{key}: {said:?}");
            assert!(!said.iter().any(|text| text.ends_with('.')), "{said:?}");
        }
        set(&mut run, "kernel.tracer", "nop");
        let added = ["process.", "virt.kernel", "kernel.trace", "sched.pinning"];
        run.environment.facts.retain(|fact| !added.iter().any(|key| fact.key.starts_with(key)));
        run.environment.facts.retain(|fact| !["virt.hypervisor", "clock.source"].contains(&fact.key.as_str()));
        // A stored run without its end, and a quota that cost nothing.
        assert_eq!(limits(&run, None)[0], of(0.5).expect("a limit").to_string());
        end.cpu_limit = of(0.001);
        assert!(!limits(&run, Some(&end))[0].contains("held back"));
    }
}
