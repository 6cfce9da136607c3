//! Each fact comes from its own file: a made-up machine, and this one compared with other sources.

use super::*;
use std::process::Command;

/// Asserts the facts of a machine with these files, by key.
fn assert_facts(files: &[(&str, &str)], keys: &[(&str, &str)]) {
    let facts = Recorded::of(files).facts();
    for (key, value) in keys {
        assert_eq!(get(&facts, key), Some(*value), "{key}");
    }
}

#[test]
fn errors_of_the_hardware_are_counted_where_the_kernel_shows_them() {
    let files = [
        ("proc/interrupts", "  0: 7 9 IO-APIC\n MCE: 1 2 Machine check exceptions\n MCP: 40 50 polls\n TRM: 3 4 x\n"),
        ("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "5"),
        ("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "11"),
        ("sys/devices/system/edac/mc/mc0/ce_count", "6"),
        ("sys/devices/system/edac/mc/mc1/ce_count", "7"),
        ("sys/devices/system/edac/mc/mc1/ue_count", "0"),
        ("sys/devices/system/edac/mc/mc0/dimm0/size", "32768"),
        ("sys/devices/system/edac/mc/mc0/dimm0/dimm_mem_type", "Registered-DDR5"),
        ("sys/devices/system/edac/mc/mc1/dimm0/size", "32768"),
        ("sys/devices/system/edac/mc/mc1/dimm0/dimm_mem_type", "Registered-DDR5"),
        ("sys/devices/system/edac/mc/mc1/dimm1/size", "0"),
        ("sys/devices/system/node/online", "0-1"),
        ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       131640300 kB\nNode 0 MemFree: 1 kB\n"),
        ("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:       132120500 kB\n"),
    ];
    let counted = [
        ("health.machine_checks", "3"),
        ("health.thermal_events", "7"),
        ("health.throttled.core", "11"),
        ("health.memory_errors.corrected", "13"),
        ("health.memory_errors.uncorrected", "0"),
        ("memory.dimms", "2 of 32 GiB Registered-DDR5"),
        ("numa.memory", "node0 126 GiB, node1 126 GiB"),
    ];
    assert_facts(&files, &counted);
    let none = Recorded::of(&[("proc/interrupts", "  0: 7 9 IO-APIC\n")]).facts();
    assert!(none.iter().all(|(key, _)| !key.starts_with("health.")), "what is not counted is not 0: {none:?}");
}

/// All values differ, so each shows which file was read.
#[test]
fn each_setting_of_the_kernel_is_that_of_its_own_file() {
    const SYSCTLS: [(&str, &str); 24] = [
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
    ];
    const OTHERS: [(&str, &str); 28] = [
        ("memory.numa_balancing", "proc/sys/kernel/numa_balancing"),
        ("memory.ksm", "sys/kernel/mm/ksm/run"),
        ("memory.lru_gen", "sys/kernel/mm/lru_gen/enabled"),
        ("memory.damon", "sys/kernel/mm/damon/admin/kdamonds/0/state"),
        ("memory.zswap", "sys/module/zswap/parameters/enabled"),
        ("memory.overcommit", "proc/sys/vm/overcommit_memory"),
        ("memory.swappiness", "proc/sys/vm/swappiness"),
        ("memory.max_map_count", "proc/sys/vm/max_map_count"),
        ("kernel.nohz_full", "sys/devices/system/cpu/nohz_full"),
        ("kernel.autogroup", "proc/sys/kernel/sched_autogroup_enabled"),
        ("kernel.rt_runtime_us", "proc/sys/kernel/sched_rt_runtime_us"),
        ("kernel.tainted", "proc/sys/kernel/tainted"),
        ("kernel.tracer", "sys/kernel/tracing/current_tracer"),
        ("kernel.bpf_stats", "proc/sys/kernel/bpf_stats_enabled"),
        ("kernel.nmi_watchdog", "proc/sys/kernel/nmi_watchdog"),
        ("clock.source", "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ("clock.available", "sys/devices/system/clocksource/clocksource0/available_clocksource"),
        ("security.aslr", "proc/sys/kernel/randomize_va_space"),
        ("security.lsm", "sys/kernel/security/lsm"),
        ("security.lsm_profile", "proc/self/attr/current"),
        ("security.ptrace_scope", "proc/sys/kernel/yama/ptrace_scope"),
        ("security.vulnerabilities.retbleed", "sys/devices/system/cpu/vulnerabilities/retbleed"),
        ("host.model", "proc/device-tree/model"),
        ("cpu.smt", "sys/devices/system/cpu/smt/control"),
        ("cpu.isolated", "sys/devices/system/cpu/isolated"),
        ("cpu.intel_pstate", "sys/devices/system/cpu/intel_pstate/status"),
        ("cpu.amd_pstate", "sys/devices/system/cpu/amd_pstate/status"),
        ("cpu.kvm_halt_poll_ns", "sys/module/kvm/parameters/halt_poll_ns"),
    ];
    let all: Vec<(&str, String)> = SYSCTLS
        .iter()
        .map(|(key, file)| (*key, format!("proc/sys/{file}")))
        .chain(OTHERS.iter().map(|(key, file)| (*key, (*file).to_owned())))
        .collect();
    let values: Vec<String> = (0..all.len()).map(|n| format!("value{n}")).collect();
    let files: Vec<(&str, &str)> =
        all.iter().zip(&values).map(|((_, file), value)| (file.as_str(), value.as_str())).collect();
    let keys: Vec<(&str, &str)> = all.iter().zip(&values).map(|((key, _), value)| (*key, value.as_str())).collect();
    assert_facts(&files, &keys);
}

#[test]
fn memory_and_nodes_are_reported() {
    const HUGE: &str = "sys/kernel/mm/transparent_hugepage";
    let files: &[(&str, &str)] = &[
        ("proc/meminfo", MEMINFO),
        ("proc/self/status", "Name:\tx\nMems_allowed_list:\t0,2-3\n"),
        (&format!("{HUGE}/enabled"), "always [madvise] never"),
        (&format!("{HUGE}/defrag"), "always defer [defer+madvise] madvise never"),
        (&format!("{HUGE}/shmem_enabled"), "always within_size advise [never] deny force"),
        (&format!("{HUGE}/hugepages-2048kB/enabled"), "always [inherit] madvise never"),
        (&format!("{HUGE}/hugepages-64kB/enabled"), "[always] inherit madvise never"),
        (&format!("{HUGE}/hugepages-64kB/stats/zswpout"), "0"),
        ("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "3"),
        ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "17"),
        ("sys/devices/system/node/online", "0,2"),
        ("sys/devices/system/node/has_memory", "2"),
        ("sys/devices/system/node/node0/distance", "10 20"),
        ("sys/devices/system/node/node1/distance", "99 99"),
        ("sys/devices/system/node/node2/distance", "21 11"),
    ];
    let keys = [
        ("memory.total", "24684084 KiB"),
        ("memory.available", "24314736 KiB"),
        ("memory.swap", "0 B"),
        ("memory.thp", "madvise"),
        ("memory.thp_defrag", "defer+madvise"),
        ("memory.thp_shmem", "never"),
        ("memory.mthp", "64KiB=always 2MiB=inherit"),
        ("memory.hugetlb", "2MiB=17 1GiB=3"),
        ("numa.nodes", "0,2"),
        ("numa.with_memory", "2"),
        ("numa.distances", "10 20 / 21 11"),
        ("numa.allowed", "0,2-3"),
    ];
    assert_facts(files, &keys);
}

#[test]
fn declared_properties_of_the_cpu_are_reported() {
    const CPU: &str = "sys/devices/system/cpu";
    let files: &[(&str, &str)] = &[
        ("proc/cpuinfo", X86),
        ("proc/self/status", "Name:\tx\n"),
        (&format!("{CPU}/online"), "0-1"),
        (&format!("{CPU}/cpu0/topology/core_cpus_list"), "0-1"),
        (&format!("{CPU}/cpu1/topology/core_cpus_list"), "0-1"),
        (&format!("{CPU}/cpu0/topology/physical_package_id"), "0"),
        (&format!("{CPU}/cpu1/topology/physical_package_id"), "3"),
        (&format!("{CPU}/cpufreq/boost"), "1"),
        (&format!("{CPU}/intel_pstate/no_turbo"), "1"),
        (&format!("{CPU}/cpufreq/policy0/energy_performance_preference"), "balance"),
        (&format!("{CPU}/cpufreq/policy10/energy_performance_preference"), "power"),
        (&format!("{CPU}/cpufreq/policy2/energy_performance_preference"), "performance"),
        (&format!("{CPU}/cpuidle/current_governor"), "teo"),
        (&format!("{CPU}/cpuidle/current_governor_ro"), "menu"),
        (&format!("{CPU}/cpu0/cpuidle/state0/name"), "POLL"),
        (&format!("{CPU}/cpu0/cpuidle/state0/disable"), "0"),
        ("sys/module/haltpoll/parameters/guest_halt_poll_ns", "200000"),
        ("sys/module/haltpoll/parameters/force", "N"),
        ("sys/devices/cpu_core/cpus", "1"),
        ("sys/devices/cpu_atom/cpus", "0"),
    ];
    let keys = [
        ("cpu.model", "AMD EPYC 9R14"),
        ("cpu.vendor", "AuthenticAMD"),
        ("cpu.family", "25/17"),
        ("cpu.core", "Zen 4"),
        ("cpu.stepping", "1"),
        ("cpu.microcode", "0xa101248"),
        ("cpu.flags", "avx2 erms hypervisor rdtscp"),
        ("cpu.online", "0-1"),
        ("cpu.allowed", "0-1"),
        ("cpu.count", "2"),
        ("cpu.cores", "1"),
        ("cpu.packages", "2"),
        ("cpu.classes", "performance 1 / efficiency 0"),
        ("cpu.boost", "on"),
        ("cpu.preference", "balance, performance, power"),
        ("cpu.cpuidle.governor", "teo"),
        ("cpu.cpuidle.states", "POLL"),
        ("cpu.haltpoll.ns", "200000"),
        ("clock.tsc", "constant_tsc nonstop_tsc rdtscp"),
    ];
    assert_facts(files, &keys);
    let facts = Recorded::of(files).facts();
    assert_eq!(get(&facts, "cpu.haltpoll.force"), None);
    assert_eq!(get(&facts, "cpu.isa"), None, "only the first entry is read");
    let turbo = |text| Recorded::of(&[("sys/devices/system/cpu/intel_pstate/no_turbo", text)]).facts();
    assert_eq!(
        ["0", "1"].map(|text| get(&turbo(text), "cpu.boost").map(str::to_owned)),
        ["on", "off"].map(|s| Some(s.into()))
    );
    assert_facts(&[("proc/cpuinfo", RISCV)], &[("cpu.vendor", "0x489"), ("cpu.family", "0x8000000000000007/sv39")]);
    assert_facts(&[("proc/cpuinfo", RISCV)], &[("cpu.model", "sifive,u74-mc"), ("cpu.isa", "rv64imafdc_zba_zbb")]);
    assert_facts(
        &[("proc/cpuinfo", ARM)],
        &[("cpu.vendor", "0x41"), ("cpu.stepping", "1"), ("cpu.flags", "asimd atomics crc32 sve")],
    );
    assert_facts(
        &[("proc/device-tree/cpus/cpu@0/compatible", "sifive,u54\0riscv\0")],
        &[("cpu.model", "sifive,u54 riscv")],
    );
}

#[test]
fn hypervisor_container_and_load_are_reported() {
    let files: &[(&str, &str)] = &[
        ("proc/cpuinfo", X86),
        ("proc/uptime", "12345.67 99999.01\n"),
        ("proc/cmdline", "preempt=none quiet preempt=lazy root=/dev/x"),
        ("sys/hypervisor/type", "xen"),
        ("sys/class/dmi/id/sys_vendor", "vendor"),
        ("sys/class/dmi/id/product_name", "product"),
        ("sys/class/dmi/id/product_version", "version"),
        ("sys/class/dmi/id/bios_version", "bios"),
        ("run/systemd/container", "lxc"),
        ("run/.containerenv", "x"),
        ("sys/kernel/sched_ext/state", "enabled"),
        ("sys/kernel/sched_ext/root/ops", "rusty"),
        (
            "proc/self/status",
            "Seccomp:\t1\nSeccomp_filters:\t4\nNoNewPrivs:\t1\nCapEff:\t000001ff\n\
             Speculation_Store_Bypass:\tvulnerable\nSpeculationIndirectBranch:\talways enabled\n",
        ),
        ("proc/loadavg", "0.25 1.5 12.75 3/456 789"),
        ("proc/stat", STAT),
        ("proc/pressure/cpu", PSI),
        ("proc/pressure/memory", "some avg10=1.50 avg60=0 avg300=0 total=8\n"),
        ("proc/pressure/io", "some avg10=2.50 avg60=0 avg300=0 total=9\n"),
    ];
    let keys = [
        ("host.uptime_s", "12345"),
        ("kernel.scheduler", "sched_ext: rusty"),
        ("kernel.cmdline", "preempt=none quiet preempt=lazy root=(hidden)"),
        ("virt.hypervisor", "xen"),
        ("virt.dmi", "vendor, product, version, bios"),
        ("virt.container", "lxc"),
        ("security.seccomp", "strict"),
        ("security.seccomp_filters", "4"),
        ("security.no_new_privs", "1"),
        ("security.caps", "000001ff"),
        ("security.ssb", "vulnerable"),
        ("security.indirect_branch", "always enabled"),
        ("load.1", "0.25"),
        ("load.5", "1.5"),
        ("load.15", "12.75"),
        ("psi.cpu.avg10", "0.21"),
        ("psi.memory.avg10", "1.50"),
        ("psi.io.avg10", "2.50"),
        ("steal.ticks", "21"),
    ];
    assert_facts(files, &keys);
    let one = |file: &str, text: &str, key: &str| get(&Recorded::of(&[(file, text)]).facts(), key).map(str::to_owned);
    assert_eq!(
        one("sys/kernel/sched_ext/state", "disabled", "kernel.scheduler").as_deref(),
        Some("fair (sched_ext disabled)")
    );
    assert_eq!(one("x", "", "kernel.scheduler").as_deref(), Some("fair"));
    for (file, text, name) in [
        ("run/.containerenv", "", "podman"),
        (".dockerenv", "", "docker"),
        ("proc/self/cgroup", "0::/kubepods/pod7\n", "kubepods"),
        ("proc/self/cgroup", "0::/machine.slice/a\n", "machine.slice"),
    ] {
        assert_eq!(one(file, text, "virt.container").as_deref(), Some(name), "{file}");
    }
    assert_eq!(one("proc/self/cgroup", "0::/user.slice\n", "virt.container"), None);
    // Arm has no flag for a hypervisor; on x86 a missing flag means that there is none.
    assert_eq!(one("sys/devices/system/cpu/nohz_full", "  (null)\n", "kernel.nohz_full"), None);
    assert_eq!(one("proc/cpuinfo", ARM, "virt.hypervisor"), None);
    assert_eq!(one("proc/cpuinfo", "flags\t: fpu\n", "virt.hypervisor").as_deref(), Some("none"));
    let emulated =
        |cpuinfo| one("proc/cpuinfo", cpuinfo, "virt.hypervisor").is_some_and(|name| name.contains("emulated"));
    assert!(emulated("CPU implementer\t: 0x00\n") && emulated("mvendorid: 0x0\nmarchid: 0x80202\nmimpid: 0x80202\n"));
    assert!(
        !emulated("mvendorid: 0x0\nmarchid: 0x0\nmimpid: 0x0\n")
            && !emulated("mvendorid: 0x5b7\nmarchid: 0x1\nmimpid: 0x1\n")
    );
    assert!(one("proc/cpuinfo", "flags\t: hypervisor\n", "virt.hypervisor").is_some_and(|name| name != "none"));
    let tree = "proc/device-tree/hypervisor/compatible";
    assert_eq!(one(tree, "linux,kvm\0", "virt.hypervisor").as_deref(), Some("linux,kvm"));
}

/// The links lead nowhere; their texts hold the numbers.
#[test]
fn namespaces_are_the_machines_own_or_separate() {
    let of = |pid: u64| {
        let recorded = Recorded::of(&[("proc/self/ns/x", ""), (".dockerenv", "")]);
        for (kind, number) in [("pid", pid), ("user", 4_026_531_837), ("uts", 4_026_531_838), ("ipc", 4_026_531_839)] {
            let link = recorded.root().join(format!("proc/self/ns/{kind}"));
            std::os::unix::fs::symlink(format!("{kind}:[{number}]"), link).expect("a link");
        }
        let facts = recorded.facts();
        ["virt.namespaces", "virt.container"].map(|key| get(&facts, key).map(str::to_owned))
    };
    assert_eq!(of(4_026_531_836), ["the machine's own", "none (an image of docker)"].map(|s| Some(s.to_owned())));
    assert_eq!(of(4_026_532_000), ["separate: pid", "docker"].map(|s| Some(s.to_owned())));
}

#[test]
fn control_groups_of_both_versions_are_read_from_their_own_files() {
    let own = "sys/fs/cgroup/user.slice/run.scope";
    let v2: &[(&str, &str)] = &[
        ("proc/self/cgroup", V2_GROUPS),
        ("proc/self/mountinfo", V2_MOUNTS),
        (&format!("{own}/cpu.weight"), "77"),
        (&format!("{own}/cpu.shares"), "1"),
        (&format!("{own}/cpu.max"), "300000 100000"),
        ("sys/fs/cgroup/user.slice/cpu.weight", "99"),
        ("sys/fs/cgroup/user.slice/pids.max", "50"),
        (&format!("{own}/pids.max"), "60"),
        (&format!("{own}/memory.high"), "5"),
        (&format!("{own}/cpuset.cpus"), "7"),
        ("sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0-3"),
    ];
    // Files that a group lacks are read from its parent: weights, limits, and the effective cpuset.
    assert_facts(v2, &[("cgroup.cpu.weight", "77"), ("cgroup.pids.max", "50"), ("cgroup.cpuset", "7")]);
    assert_facts(v2, &[("cgroup.cpu.max", "3 CPUs (300000 of 100000 us)")]);
    let facts = Recorded::of(v2).facts();
    assert_eq!((get(&facts, "cgroup.memory.max"), get(&facts, "cgroup.cpu.shares")), (None, None));
    let cpu = "sys/fs/cgroup/cpu,cpuacct/batch";
    let cpuset =
        "36 31 0:33 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n37 31 0:34 / /p rw - cgroup cgroup rw,pids\n";
    let v1: &[(&str, &str)] = &[
        ("proc/self/cgroup", "5:pids:/q\n3:cpuset:/set\n2:cpu,cpuacct:/batch\n"),
        ("proc/self/mountinfo", &[V1_MOUNTS.lines().next().unwrap_or_default(), "\n", cpuset].concat()),
        (&format!("{cpu}/cpu.shares"), "512"),
        (&format!("{cpu}/cpu.weight"), "1"),
        (&format!("{cpu}/cpu.stat"), "nr_periods 100\nnr_throttled 33\nthrottled_time 5\n"),
        ("sys/fs/cgroup/cpuset/set/cpuset.cpus", "4-5"),
        ("sys/fs/cgroup/cpuset/set/cpuset.effective_cpus", "4"),
        ("p/q/pids.max", "12"),
    ];
    assert_facts(
        v1,
        &[("cgroup.version", "1"), ("cgroup.cpu.shares", "512"), ("cgroup.cpuset", "4"), ("cgroup.pids.max", "12")],
    );
    assert_eq!(counters::counters_in(&Recorded::of(v1).tree()).nr_throttled, Some(33));
    assert_eq!(cgroup::quota(&Recorded::of(v1).tree()), None, "no quota is no limit");
}

/// All numbers differ; of the pressures, that of the CPU counts.
#[test]
fn counters_of_the_host_are_read_from_their_own_files() {
    let recorded = Recorded::of(&[
        ("proc/stat", STAT),
        ("proc/loadavg", "1.5 2.5 3.5 1/2 3\n"),
        ("proc/pressure/cpu", PSI),
        ("proc/pressure/memory", "some avg10=0 avg60=0 avg300=0 total=5\n"),
        ("proc/pressure/io", "some avg10=0 avg60=0 avg300=0 total=6\n"),
        ("proc/vmstat", "pswpin 11\npswpout 22\n"),
    ]);
    let expected = HostCounters {
        steal_ticks: Some(21),
        nr_throttled: None,
        psi_cpu_total_us: Some(14_511_199),
        loadavg: Some([1.5, 2.5, 3.5]),
    };
    assert_eq!(counters::counters_in(&recorded.tree()), expected);
    let none = memory_headroom::MemoryPressure::default();
    let pressure = memory_headroom::pressure_in(&recorded.tree());
    assert_eq!(pressure.since(&pressure), [("swapped_in_pages", 0), ("swapped_out_pages", 0), ("stalled_us", 0)]);
    assert_eq!(pressure.since(&none), []);
    let more = Recorded::of(&[
        ("proc/vmstat", "pswpin 12\npswpout 24\n"),
        ("proc/pressure/memory", "some avg10=0 avg60=0 avg300=0 total=9\n"),
    ]);
    let added = memory_headroom::pressure_in(&more.tree()).since(&pressure);
    assert_eq!(added, [("swapped_in_pages", 1), ("swapped_out_pages", 2), ("stalled_us", 4)]);
}

/// A partition has no queue of its own, but its disk has.
#[test]
fn a_partition_has_the_queue_of_its_disk() {
    let mounts = mounts::parse(MOUNTS);
    let mount = mounts.iter().find(|mount| mount.point == "/data").expect("a recorded mount");
    let facts = |files: &[(&str, &str)]| {
        let recorded = Recorded::of(files);
        let mut book = Book::of(recorded.root());
        mounts::say_mount(&mut book, mount);
        book.facts
    };
    let disk = "sys/dev/block";
    let files: &[(&str, &str)] = &[
        (&format!("{disk}/8:17/partition"), "1"),
        (&format!("{disk}/queue/scheduler"), "[none] kyber"),
        (&format!("{disk}/queue/rotational"), "0"),
        (&format!("{disk}/queue/write_cache"), "write back"),
        (&format!("{disk}/device/model"), "Fast Disk"),
        (&format!("{disk}/device/uevent"), "DRIVER=sd\n"),
    ];
    let of_partition = facts(files);
    for (key, value) in
        [("scheduler", "none"), ("rotational", "0"), ("write_cache", "write back"), ("model", "Fast Disk")]
    {
        assert_eq!(get(&of_partition, &format!("work_dir.{key}")), Some(value), "{key}");
    }
    let queue = format!("{disk}/8:17/queue/scheduler");
    let own = [files, &[(queue.as_str(), "[bfq]")]].concat();
    assert_eq!(get(&facts(&own), "work_dir.scheduler"), Some("bfq"));
    assert_eq!(get(&facts(&own), "work_dir.model"), None, "the disk of another");
}

/// Compared with the kernel's own answers and with system tools.
#[test]
fn facts_of_this_machine_agree_with_other_sources() {
    let facts = facts();
    let fact = |key: &str| get(&facts, key).map(str::to_owned);
    let file = |path: &str| {
        let text = fs::read_to_string(path).ok()?;
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    for (key, path) in [
        ("kernel.release", "/proc/sys/kernel/osrelease"),
        ("kernel.version", "/proc/sys/kernel/version"),
        ("kernel.name", "/proc/sys/kernel/ostype"),
        ("host.name", "/proc/sys/kernel/hostname"),
    ] {
        assert!(file(path).is_none_or(|text| fact(key) == Some(text)), "{key}: {:?}", fact(key));
    }
    let tool = |program: &str, args: &[&str]| {
        let said = Command::new(program).args(args).output().ok().filter(|said| said.status.success())?;
        Some(String::from_utf8(said.stdout).ok()?.trim().to_owned())
    };
    assert!(tool("uname", &["-m"]).is_none_or(|machine| fact("host.machine") == Some(machine)));
    assert!(tool("id", &["-ru"]).is_none_or(|user| fact("user.uid") == Some(user)));
    assert_eq!(fact("user.uid"), Some(user().to_string()));
    // 24 on the smallest machines, 1200 on old ones.
    let hz = fact("kernel.hz").and_then(|hz| hz.parse::<u64>().ok()).expect("a rate");
    assert!((24..=1200).contains(&hz), "{hz}");
    let libc = fact("libc").expect("a library");
    match tool("getconf", &["GNU_LIBC_VERSION"]).and_then(|said| said.strip_prefix("glibc ").map(str::to_owned)) {
        Some(version) if libc.starts_with("glibc dynamic") => assert_eq!(libc, format!("glibc dynamic {version}")),
        _ => println!("skipped: {libc}"),
    }
}

/// Compared with `/proc/self/limits`, which names them.
#[test]
fn limits_agree_with_proc() {
    let Ok(table) = fs::read_to_string("/proc/self/limits") else { return println!("skipped: no /proc") };
    let facts = facts();
    for (key, name) in [
        ("limits.nofile", "Max open files"),
        ("limits.nproc", "Max processes"),
        ("limits.as", "Max address space"),
        ("limits.data", "Max data size"),
        ("limits.stack", "Max stack size"),
        ("limits.memlock", "Max locked memory"),
        ("limits.fsize", "Max file size"),
        ("limits.rtprio", "Max realtime priority"),
    ] {
        let line = table.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        let mut words = line.split_whitespace();
        let (soft, hard) = (words.next().expect(name), words.next().expect(name));
        let expected = if soft == hard { soft.to_owned() } else { format!("{soft} of {hard}") };
        assert_eq!(get(&facts, key), Some(expected.as_str()), "{key}");
    }
}

/// In a child, because it changes its limits.
#[test]
fn limits_of_a_process_bound_the_headroom() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const MIB: u64 = 1 << 20;
    let set = |resource, bytes: u64| {
        setrlimit(resource, Rlimit { current: Some(bytes), maximum: getrlimit(resource).maximum }).is_ok()
    };
    let status = |name: &str| {
        let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
        meminfo_bytes(&text, name).unwrap_or(0)
    };
    let starts = |room: Option<Room>, with: &str, least: u64| {
        room.is_some_and(|room| room.limit.starts_with(with) && (least..=64 * MIB).contains(&room.bytes))
    };
    for (resource, name, used) in
        [(Resource::As, "RLIMIT_AS of ", "VmSize"), (Resource::Data, "RLIMIT_DATA of ", "VmData")]
    {
        let exit = crate::testing::in_child(|| {
            let before = memory_headroom();
            if before.is_none_or(|room| room.bytes <= 256 * MIB) {
                return 255;
            }
            // What is used grows a little while it is read.
            crate::testing::first_wrong(&[
                set(resource, status(used) + 64 * MIB),
                starts(memory_headroom(), name, 32 * MIB),
            ])
        });
        assert!(matches!(exit, Some(0 | 255)), "{name}: {exit:?}");
    }
    let exit = crate::testing::in_child(|| {
        let dir = std::env::temp_dir();
        let free = file_room(&dir).is_none_or(|room| !room.limit.starts_with("RLIMIT") || room.bytes > MIB);
        let short = set(Resource::Fsize, MIB);
        let room = file_room(&dir).map(|room| (room.bytes <= MIB, room.limit));
        let named = room
            .is_some_and(|(less, limit)| less && (limit == "RLIMIT_FSIZE of 1 MiB" || limit.starts_with("the file")));
        crate::testing::first_wrong(&[free, short, named])
    });
    assert_eq!(exit, Some(0));
}

/// Compared with another system call and another file.
#[test]
fn memory_and_free_space_agree_with_other_sources() {
    let info = rustix::system::sysinfo();
    let total = info.totalram as u64 * u64::from(info.mem_unit).max(1);
    // Some containers have a file of their own in its place.
    let of_container =
        fs::read_to_string("/proc/self/mountinfo").is_ok_and(|mounts| mounts.contains(" /proc/meminfo "));
    assert!(of_container || total_memory().is_none_or(|found| found == total), "{:?} and {total}", total_memory());
    // Both change while they are read.
    let dir = std::env::temp_dir();
    let stat = |format: &str| {
        let said = Command::new("stat").args(["-f", "-c", format]).arg(&dir).output().ok()?;
        let numbers: Option<Vec<u64>> =
            String::from_utf8(said.stdout).ok()?.split_whitespace().map(|number| number.parse().ok()).collect();
        numbers.filter(|numbers| numbers.len() == 2)
    };
    let Some(numbers) = stat("%a %S") else { return println!("skipped: stat -f says nothing") };
    let facts = work_dir_facts(&dir);
    assert_eq!(get(&facts, "work_dir.block"), Some(binary(numbers[1]).as_str()));
    let near = |fact: u64, numbers: &[u64]| fact.abs_diff(numbers[0] * numbers[1]) <= numbers[0] * numbers[1] / 50;
    let seen: Vec<(u64, Vec<u64>)> = (0..50).map_while(|_| Some((file_room(&dir)?.bytes, stat("%a %S")?))).collect();
    assert!(seen.is_empty() || seen.iter().any(|(fact, numbers)| near(*fact, numbers)), "{seen:?}");
}
