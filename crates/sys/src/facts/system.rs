//! The kernel, the hypervisor below it, what it forbids, and what it grants this process.

use super::cpu::CpuInfo;
use super::{Book, field, redact};

/// The reader of the record must know why so much is missing.
pub(super) fn missing(book: &mut Book) {
    for (name, file) in [("proc", "proc/self/status"), ("sys", "sys/devices/system")] {
        if !book.tree.exists(file) {
            book.say(name, "missing");
        }
    }
}

pub(super) fn host(book: &mut Book) {
    let uname = rustix::system::uname();
    // The kernel's word where nobody has named the machine.
    let name = uname.nodename().to_string_lossy();
    book.say_if("host.name", (name != "(none)").then_some(name));
    book.say("host.machine", uname.machine().to_string_lossy());
    book.copy("host.model", "proc/device-tree/model");
    let uptime = book.tree.text("proc/uptime");
    book.say_if("host.uptime_s", uptime.as_deref().and_then(|text| text.split(['.', ' ']).next()));
    // Drawn anew at each boot, so it names nobody, and it differs between clones of one image.
    book.copy_as("host.boot", "proc/sys/kernel/random/boot_id", |text| Some(text.chars().take(8).collect()));
}

pub(super) fn kernel(book: &mut Book) {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    let version = uname.version().to_string_lossy();
    book.say("kernel.name", uname.sysname().to_string_lossy());
    book.say("kernel.release", &release);
    book.say("kernel.version", &version);
    book.copy_as("kernel.cmdline", "proc/cmdline", |text| Some(redact::command_line(text)));
    let config = BuildConfig(book.tree.text(&format!("boot/config-{release}")).unwrap_or_default());
    let mode = book.tree.read("sys/kernel/debug/sched/preempt").ok().map(|text| in_parentheses(&text).to_owned());
    let command_line = book.tree.text("proc/cmdline").unwrap_or_default();
    book.say("kernel.preempt", preemption(&version, mode.as_deref(), parameter(&command_line, "preempt"), &config));
    #[cfg(target_os = "linux")]
    book.say_if("kernel.hz", tick_hz());
    book.say_if("kernel.nohz", config.nohz());
    // Kernels that could and were not told to print a null pointer.
    book.copy_as("kernel.nohz_full", "sys/devices/system/cpu/nohz_full", |text| {
        (text.trim() != "(null)").then(|| text.to_owned())
    });
    book.say("kernel.scheduler", scheduler(book));
    book.copy("kernel.autogroup", "proc/sys/kernel/sched_autogroup_enabled");
    book.copy("kernel.rt_runtime_us", "proc/sys/kernel/sched_rt_runtime_us");
    book.copy("kernel.tainted", "proc/sys/kernel/tainted");
    // Instrumentation that makes every system call slower.
    book.copy("kernel.tracer", "sys/kernel/tracing/current_tracer");
    book.copy("kernel.bpf_stats", "proc/sys/kernel/bpf_stats_enabled");
    book.say_if("kernel.trace_events", trace_events(book));
    book.say_if("kernel.kprobes", kprobes(book));
    book.copy("kernel.nmi_watchdog", "proc/sys/kernel/nmi_watchdog");
}

/// The groups of the kernel's events that are traced now and that slow what is measured; only the
/// superuser can see them.
fn trace_events(book: &Book) -> Option<String> {
    const GROUPS: [&str; 5] = ["raw_syscalls", "syscalls", "sched", "exceptions", "irq"];
    let is_on = |group: &&str| {
        let file = format!("sys/kernel/tracing/events/{group}/enable");
        book.tree.text(&file).is_some_and(|text| text.trim() != "0")
    };
    let on: Vec<&str> = GROUPS.into_iter().filter(is_on).collect();
    (!on.is_empty()).then(|| on.join(" "))
}

/// How many probes are set in the kernel's code; only the superuser can see them.
fn kprobes(book: &Book) -> Option<usize> {
    let list = book.tree.text("sys/kernel/debug/kprobes/list")?;
    let count = list.lines().filter(|line| !line.trim().is_empty() && !line.contains("[DISABLED]")).count();
    (count > 0).then_some(count)
}

/// The tick rate: the coarse clock advances once per tick, and its resolution is readable by
/// everyone.
#[cfg(target_os = "linux")]
fn tick_hz() -> Option<i64> {
    let step = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    (step.tv_sec == 0 && step.tv_nsec > 0).then(|| 1_000_000_000 / step.tv_nsec)
}

/// The chosen word of `none voluntary (full)`.
fn in_parentheses(text: &str) -> &str {
    text.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or(text, |(word, _)| word)
}

/// The preemption model: the version names the build, and where the build leaves it to the boot,
/// `debugfs` or the command line names the choice.
pub(super) fn preemption(version: &str, mode: Option<&str>, asked: Option<&str>, config: &BuildConfig) -> String {
    let has = |token: &str| version.split_whitespace().any(|word| word == token);
    if has("PREEMPT_RT") {
        "realtime".to_owned()
    } else if has("PREEMPT_DYNAMIC") {
        match mode.or(asked).or_else(|| config.preempt()) {
            Some(mode) => format!("dynamic: {mode}"),
            None => "dynamic: mode unknown".to_owned(),
        }
    } else if has("PREEMPT") {
        "full".to_owned()
    } else {
        config.preempt().unwrap_or("none or voluntary").to_owned()
    }
}

/// The configuration of the kernel's build, empty where `/boot` does not have it.
pub(super) struct BuildConfig(pub(super) String);

impl BuildConfig {
    fn has(&self, option: &str) -> bool {
        self.0.lines().any(|line| line.strip_prefix(option) == Some("=y"))
    }

    fn first<'a>(&self, choices: &[(&str, &'a str)]) -> Option<&'a str> {
        choices.iter().find(|(option, _)| self.has(option)).map(|(_, name)| *name)
    }

    fn preempt(&self) -> Option<&'static str> {
        self.first(&[
            ("CONFIG_PREEMPT_LAZY", "lazy"),
            ("CONFIG_PREEMPT", "full"),
            ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
            ("CONFIG_PREEMPT_NONE", "none"),
        ])
    }

    fn nohz(&self) -> Option<&'static str> {
        self.first(&[("CONFIG_NO_HZ_FULL", "full"), ("CONFIG_NO_HZ_IDLE", "idle"), ("CONFIG_HZ_PERIODIC", "periodic")])
    }
}

/// The value of a parameter of the kernel's command line; the last one counts.
fn parameter<'a>(command_line: &'a str, name: &str) -> Option<&'a str> {
    command_line.split_whitespace().rev().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

fn scheduler(book: &Book) -> String {
    let extension = "sys/kernel/sched_ext";
    match book.tree.text(&format!("{extension}/root/ops")) {
        Some(ops) => format!("sched_ext: {ops}"),
        None => match book.tree.text(&format!("{extension}/state")) {
            Some(state) => format!("fair (sched_ext {state})"),
            None => "fair".to_owned(),
        },
    }
}

pub(super) fn virtualization(book: &mut Book) {
    let text = book.tree.head("proc/cpuinfo", 16 << 10).unwrap_or_default();
    book.say_if("virt.hypervisor", hypervisor(book, &CpuInfo::parse(&text)));
    let dmi = ["sys_vendor", "product_name", "product_version", "bios_version"];
    let words = dmi.iter().filter_map(|file| book.tree.text(&format!("sys/class/dmi/id/{file}")));
    book.say("virt.dmi", words.collect::<Vec<_>>().join(", "));
    book.say_if("virt.container", container(book));
    let uname = rustix::system::uname();
    let [release, version] = [uname.release(), uname.version()].map(|text| text.to_string_lossy().into_owned());
    book.say_if("virt.kernel", other_kernel(&release, &version));
    book.say_if("virt.namespaces", namespaces(book));
}

/// What answers system calls where it is no Linux kernel but says that it is one.
pub(super) fn other_kernel(release: &str, version: &str) -> Option<&'static str> {
    /// What gVisor has always said (`pkg/sentry/syscalls/linux/linux64.go`).
    const GVISOR: &str = "#1 SMP Sun Jan 10 15:06:54 PST 2016";
    if version == GVISOR || release.contains("gvisor") {
        Some("gVisor")
    } else if release.ends_with("-Microsoft") {
        // The second version has a kernel of its own: `5.15.153.1-microsoft-standard-WSL2`.
        Some("WSL 1")
    } else {
        None
    }
}

/// The hypervisor below this kernel: its own name, or that there must be one.
fn hypervisor(book: &Book, info: &CpuInfo) -> Option<String> {
    let in_tree = || book.tree.text("proc/device-tree/hypervisor/compatible").map(|text| text.replace('\0', " "));
    let named = book.tree.text("sys/hypervisor/type").or_else(in_tree);
    // The processor of the host, under a program of another architecture: QEMU in user mode does
    // not translate this file.
    let foreign = ["GenuineIntel", "AuthenticAMD"].contains(&info.get(&["vendor_id"]).unwrap_or_default());
    if foreign && !cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
        return Some(EMULATED.to_owned());
    }
    if info.get(&["flags"]).is_none() {
        return named.or_else(|| is_of_an_emulator(info).then(|| EMULATED.to_owned()));
    }
    match (named, info.flag("hypervisor")) {
        (Some(name), _) => Some(name),
        (None, true) => Some(signature().unwrap_or_else(|| "unnamed".to_owned())),
        (None, false) => Some("none".to_owned()),
    }
}

/// The hypervisor of an emulated processor.
const EMULATED: &str = "QEMU (emulated)";

/// Whether the processor is known to be emulated: its cycles are then those of no core.
pub fn is_emulated() -> bool {
    let by_name =
        || std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| is_of_an_emulator(&CpuInfo::parse(&text)));
    signature().is_some_and(|name| name == EMULATED) || cfg!(not(target_arch = "x86_64")) && by_name()
}

/// Whether a processor that is not an x86 has the numbers that QEMU gives to the models it made up:
/// on Arm the implementer that is reserved for software, on RISC-V QEMU's version, twice. A model
/// of a real core has the numbers of that core.
fn is_of_an_emulator(info: &CpuInfo) -> bool {
    let of_software = info.get(&["CPU implementer"]).is_some_and(|number| number == "0x00");
    let version = info.get(&["marchid"]).filter(|version| *version != "0x0" && info.get(&["mvendorid"]) == Some("0x0"));
    of_software || version.is_some() && version == info.get(&["mimpid"])
}

/// The twelve letters of CPUID leaf 0x40000000, defined only under a hypervisor.
#[cfg(target_arch = "x86_64")]
fn signature() -> Option<String> {
    let leaf = core::arch::x86_64::__cpuid(0x4000_0000);
    let letters: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes).collect();
    let letters = String::from_utf8_lossy(&letters);
    let letters = letters.trim_matches(|c: char| c == '\0' || c == ' ');
    let printable = !letters.is_empty() && letters.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    printable.then(|| hypervisor_name(letters).to_owned())
}

#[cfg(not(target_arch = "x86_64"))]
fn signature() -> Option<String> {
    None
}

#[cfg(target_arch = "x86_64")]
fn hypervisor_name(letters: &str) -> &str {
    match letters {
        "KVMKVMKVM" => "KVM",
        "Microsoft Hv" => "Hyper-V",
        "TCGTCGTCGTCG" => EMULATED,
        "VMwareVMware" => "VMware",
        "VBoxVBoxVBox" => "VirtualBox",
        "XenVMMXenVMM" => "Xen",
        other => other,
    }
}

/// The container of this process, from the traces that container managers leave on purpose. A
/// virtual machine made from a container image has them too, but no separate namespaces.
fn container(book: &Book) -> Option<String> {
    let by_manager = book.tree.text("run/systemd/container");
    let by_file = || {
        let marks = [("run/.containerenv", "podman"), (".dockerenv", "docker")];
        marks.into_iter().find(|(file, _)| book.tree.exists(file)).map(|(_, name)| name.to_owned())
    };
    let by_group = || {
        let groups = book.tree.text("proc/self/cgroup")?;
        let marks = ["kubepods", "docker", "libpod", "containerd", "lxc", "machine.slice"];
        marks.into_iter().find(|mark| groups.contains(mark)).map(str::to_owned)
    };
    let name = by_manager.or_else(by_file).or_else(by_group)?;
    let in_doubt = namespaces(book).is_some_and(|kinds| kinds == MACHINE_NAMESPACES);
    Some(if in_doubt { format!("none (an image of {name})") } else { name })
}

/// The value for a process without namespaces of its own.
const MACHINE_NAMESPACES: &str = "the machine's own";

/// The kinds of namespaces that differ from those of the machine's first process, whose numbers are
/// fixed in the kernel.
fn namespaces(book: &Book) -> Option<String> {
    let first = [
        ("cgroup", 4_026_531_835),
        ("ipc", 4_026_531_839),
        ("pid", 4_026_531_836),
        ("user", 4_026_531_837),
        ("uts", 4_026_531_838),
    ];
    let number = |kind: &str| -> Option<u64> {
        book.tree.link(&format!("proc/self/ns/{kind}"))?.split_once('[')?.1.strip_suffix(']')?.parse().ok()
    };
    let known: Vec<(&str, bool)> =
        first.into_iter().filter_map(|(kind, first)| Some((kind, number(kind)? == first))).collect();
    let own: Vec<&str> = known.iter().filter(|(_, same)| !same).map(|(kind, _)| *kind).collect();
    if known.is_empty() {
        None
    } else if own.is_empty() {
        Some(MACHINE_NAMESPACES.to_owned())
    } else {
        Some(format!("separate: {}", own.join(" ")))
    }
}

pub(super) fn clock(book: &mut Book) {
    let source = "sys/devices/system/clocksource/clocksource0";
    book.copy("clock.source", &format!("{source}/current_clocksource"));
    book.copy("clock.available", &format!("{source}/available_clocksource"));
    let text = book.tree.head("proc/cpuinfo", 16 << 10).unwrap_or_default();
    let info = CpuInfo::parse(&text);
    let flags = ["constant_tsc", "nonstop_tsc", "tsc_known_freq", "tsc_reliable", "tsc_adjust", "rdtscp"];
    book.say("clock.tsc", flags.into_iter().filter(|flag| info.flag(flag)).collect::<Vec<_>>().join(" "));
}

pub(super) fn security(book: &mut Book) {
    book.copy("security.aslr", "proc/sys/kernel/randomize_va_space");
    let status = book.tree.text("proc/self/status").unwrap_or_default();
    let named = |value| match value {
        "0" => "off",
        "1" => "strict",
        "2" => "filter",
        other => other,
    };
    book.say_if("security.seccomp", field(&status, "Seccomp").map(named));
    book.say_if("security.seccomp_filters", field(&status, "Seccomp_filters"));
    book.say_if("security.no_new_privs", field(&status, "NoNewPrivs"));
    book.say_if("security.caps", field(&status, "CapEff"));
    book.say_if("security.ssb", field(&status, "Speculation_Store_Bypass"));
    book.say_if("security.indirect_branch", field(&status, "SpeculationIndirectBranch"));
    book.copy("security.lsm", "sys/kernel/security/lsm");
    book.copy_as("security.lsm_profile", "proc/self/attr/current", |text| Some(redact::name(text).to_owned()));
    book.copy("security.ptrace_scope", "proc/sys/kernel/yama/ptrace_scope");
    for name in book.tree.names("sys/devices/system/cpu/vulnerabilities") {
        book.copy(
            format!("security.vulnerabilities.{name}"),
            &format!("sys/devices/system/cpu/vulnerabilities/{name}"),
        );
    }
}

pub(super) fn limits(book: &mut Book) {
    use rustix::process::Resource;
    let limits = [
        ("nofile", Resource::Nofile),
        ("nproc", Resource::Nproc),
        ("as", Resource::As),
        ("data", Resource::Data),
        ("stack", Resource::Stack),
        ("memlock", Resource::Memlock),
        ("fsize", Resource::Fsize),
        #[cfg(target_os = "linux")]
        ("rtprio", Resource::Rtprio),
    ];
    let write = |limit: Option<u64>| limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
    for (name, resource) in limits {
        let Ok(limit) = crate::process::limit(resource) else { continue };
        let (soft, hard) = (write(limit.current), write(limit.maximum));
        book.say(format!("limits.{name}"), if soft == hard { soft } else { format!("{soft} of {hard}") });
    }
}

pub(super) fn sysctls(book: &mut Book) {
    for (key, file) in [
        ("net.somaxconn", "net/core/somaxconn"),
        ("net.tcp_max_syn_backlog", "net/ipv4/tcp_max_syn_backlog"),
        ("net.tcp_tw_reuse", "net/ipv4/tcp_tw_reuse"),
        ("net.ip_local_port_range", "net/ipv4/ip_local_port_range"),
        ("net.tcp_congestion_control", "net/ipv4/tcp_congestion_control"),
        ("net.tcp_rmem", "net/ipv4/tcp_rmem"),
        ("net.tcp_wmem", "net/ipv4/tcp_wmem"),
        ("net.rmem_max", "net/core/rmem_max"),
        ("net.wmem_max", "net/core/wmem_max"),
        ("net.busy_poll", "net/core/busy_poll"),
        ("net.conntrack_max", "net/netfilter/nf_conntrack_max"),
        ("sys.io_uring_disabled", "kernel/io_uring_disabled"),
        ("sys.perf_event_paranoid", "kernel/perf_event_paranoid"),
        ("sys.unprivileged_bpf_disabled", "kernel/unprivileged_bpf_disabled"),
        ("sys.unprivileged_userfaultfd", "vm/unprivileged_userfaultfd"),
        ("sys.max_user_namespaces", "user/max_user_namespaces"),
        ("sys.pid_max", "kernel/pid_max"),
        ("sys.threads_max", "kernel/threads-max"),
        ("sys.file_max", "fs/file-max"),
        ("sys.pipe_max_size", "fs/pipe-max-size"),
        ("sys.pipe_user_pages_soft", "fs/pipe-user-pages-soft"),
        ("sys.mqueue_msg_max", "fs/mqueue/msg_max"),
        ("sys.sem", "kernel/sem"),
        ("sys.aio_max_nr", "fs/aio-max-nr"),
    ] {
        book.copy(key, &format!("proc/sys/{file}"));
    }
}

/// This program and who runs it.
pub(super) fn program(book: &mut Book) {
    let libc = if cfg!(target_env = "gnu") {
        "glibc"
    } else if cfg!(target_env = "musl") {
        "musl"
    } else {
        "other"
    };
    let linking = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    book.say(
        "libc",
        format_args!("{libc} {linking}{}", glibc_version(book).map_or(String::new(), |v| format!(" {v}"))),
    );
    book.say("build.target", format_args!("{}-{}", std::env::consts::ARCH, std::env::consts::OS));
    book.say("build.kind", if cfg!(debug_assertions) { "debug" } else { "release" });
    book.say("user.uid", user());
    let stat = book.tree.text("proc/self/stat").unwrap_or_default();
    let (nice, policy) = scheduled(&stat);
    book.say_if("sched.nice", nice);
    book.say_if("sched.policy", policy);
}

/// The nice value and the scheduling policy of `/proc/self/stat`, each where it is not the usual
/// one.
pub(super) fn scheduled(stat: &str) -> (Option<i64>, Option<&'static str>) {
    // The name of the program may hold anything; fields are numbered from the state, the third.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or(Vec::new(), |(_, rest)| rest.split_whitespace().collect());
    let number = |n: usize| fields.get(n - 3)?.parse::<i64>().ok();
    let policy = match number(41) {
        Some(1) => Some("SCHED_FIFO"),
        Some(2) => Some("SCHED_RR"),
        Some(3) => Some("SCHED_BATCH"),
        Some(5) => Some("SCHED_IDLE"),
        Some(6) => Some("SCHED_DEADLINE"),
        _ => None,
    };
    (number(19).filter(|nice| *nice != 0), policy)
}

/// The number of the user who runs this process.
pub fn user() -> u32 {
    rustix::process::getuid().as_raw()
}

/// The version of the shared glibc that this process has mapped, from the banner inside it.
fn glibc_version(book: &Book) -> Option<String> {
    const BANNER: &[u8] = b"stable release version ";
    let maps = book.tree.text("proc/self/maps")?;
    let library =
        maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.ends_with("/libc.so.6"))?;
    let bytes = book.tree.bytes(library, 8 << 20).ok()?;
    let at = bytes.windows(BANNER.len()).position(|window| window == BANNER)? + BANNER.len();
    let version = bytes[at..].iter().take(16).take_while(|byte| byte.is_ascii_digit() || **byte == b'.');
    Some(version.map(|&byte| char::from(byte)).collect::<String>().trim_end_matches('.').to_owned())
}
