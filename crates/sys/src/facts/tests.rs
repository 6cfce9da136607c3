//! The parsers on recorded texts, whole trees of other machines, garbage, and this machine.

use super::cgroup::{self, Quota};
use super::counters::{self, HostCounters};
use super::cpu::CpuInfo;
use super::memory::meminfo_bytes;
use super::mounts::{self, mount_of};
use super::system::{BuildConfig, preemption};
use super::*;
use crate::testing::Scratch;
use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

mod hidden;
mod machine;

const X86: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\
    model name\t: AMD EPYC 9R14\nstepping\t: 1\nmicrocode\t: 0xa101248\ncpu MHz\t\t: 2600.000\n\
    flags\t\t: fpu tsc rdtscp constant_tsc nonstop_tsc avx2 erms hypervisor\n\nprocessor\t: 1\nmodel name\t: other\nisa\t: other\n";
const ARM: &str = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd crc32 atomics sve\n\
    CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n\n";
const ARM_OLD: &str = "Processor\t: ARMv7 rev 4\nmodel name\t: ARMv7 Processor rev 4 (v7l)\nCPU part\t: 0xd03\n\
    CPU implementer\t: 0x41\nHardware\t: BCM2709\nRevision\t: a02082\nSerial\t\t: 00000000deadbeef\n";
const RISCV: &str = "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc_zba_zbb\nmmu\t\t: sv39\n\
    uarch\t\t: sifive,u74-mc\nmvendorid\t: 0x489\nmarchid\t\t: 0x8000000000000007\n\n";
const MEMINFO: &str = "MemTotal:       24684084 kB\nMemFree:        22896632 kB\nMemAvailable:   24314736 kB\n\
    SwapTotal:             0 kB\nHugePages_Total:       0\n";
const PSI: &str =
    "some avg10=0.21 avg60=0.32 avg300=0.85 total=14511199\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
const STAT: &str = "cpu  21778 0 3110 161334 523 0 38 21 0 0\ncpu0 10388 0 1042 81911 49 0 5 8 0 0\n";
const MOUNTS: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 0:52 / / rw,relatime - overlay overlay rw,lowerdir=/home/alice/l1:/home/alice/l2,upperdir=/u,workdir=/w,xino=off
40 27 8:17 /sub /data rw,noatime shared:7 - ext4 /dev/sdb1 rw,errors=remount-ro
41 27 8:33 / /data\\040two rw - xfs /dev/mapper/luks-0a1b2c3d-1111-2222-3333-0123456789ab rw
42 40 0:60 / /data/net rw - nfs4 192.0.2.7:/export rw,vers=4.2,clientaddr=192.0.2.9,addr=192.0.2.7,hard
43 27 0:61 / /data/net rw - tmpfs tmpfs rw,size=1024k
";
const V1_GROUPS: &str = "9:name=systemd:/\n4:memory:/batch/job\n3:cpuset:/\n2:cpu,cpuacct:/batch\n0::/\n";
const V1_MOUNTS: &str = "\
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
const V2_GROUPS: &str = "0::/user.slice/run.scope\n";
const V2_MOUNTS: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

/// A tree of files that stands for the root directory.
struct Recorded(Scratch);

impl Recorded {
    fn of(files: &[(&str, &str)]) -> Recorded {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let scratch = Scratch::new(&format!("facts-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        for (file, text) in files {
            scratch.write(file, text);
        }
        Recorded(scratch)
    }

    fn root(&self) -> &Path {
        &self.0.0
    }

    fn facts(&self) -> Vec<(String, String)> {
        facts_below(self.root(), &[0, 1])
    }

    fn tree(&self) -> Tree {
        Tree::at(self.root())
    }
}

fn get<'a>(facts: &'a [(String, String)], key: &str) -> Option<&'a str> {
    facts.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

#[test]
fn arm_cores_are_named_by_their_numbers() {
    let info = CpuInfo::parse(ARM);
    assert_eq!(info.model().as_deref(), Some("Arm Neoverse-V1"));
    assert_eq!(info.family().as_deref(), Some("0xd40/0x1"));
    assert!(info.flag("sve"));
    let unknown = ARM.replace("0xd40", "0xfff");
    assert_eq!(CpuInfo::parse(&unknown).model().as_deref(), Some("implementer 0x41 part 0xfff"));
    assert_eq!(CpuInfo::parse("").model(), None);
}

#[test]
fn clocks_idle_states_and_caches_are_read() {
    const CPUS: &str = "sys/devices/system/cpu";
    let files = [
        ("cpufreq/policy0/scaling_min_freq", "800000"),
        ("cpufreq/policy0/scaling_max_freq", "3600000"),
        ("cpufreq/policy0/scaling_governor", "schedutil"),
        ("cpufreq/policy0/scaling_driver", "intel_cpufreq"),
        ("cpufreq/policy2/scaling_min_freq", "800000"),
        ("cpufreq/policy2/scaling_max_freq", "3000000"),
        ("intel_pstate/no_turbo", "1"),
        ("cpuidle/current_governor_ro", "menu"),
        ("cpuidle/current_driver", "acpi_idle"),
        ("cpu0/cpuidle/state0/name", "POLL"),
        ("cpu0/cpuidle/state0/latency", "0"),
        ("cpu0/cpuidle/state1/name", "C1"),
        ("cpu0/cpuidle/state1/latency", "2"),
        ("cpu0/cpuidle/state1/disable", "1"),
        ("cpu0/cache/index0/level", "1"),
        ("cpu0/cache/index0/type", "Data"),
        ("cpu0/cache/index0/size", "48K"),
        ("cpu0/cache/index0/coherency_line_size", "128"),
        ("cpu0/cache/index0/ways_of_associativity", "12"),
        ("cpu0/cache/index0/shared_cpu_list", "0-1"),
    ];
    let files: Vec<(String, &str)> = files.map(|(file, text)| (format!("{CPUS}/{file}"), text)).to_vec();
    let facts = Recorded::of(&files.iter().map(|(file, text)| (file.as_str(), *text)).collect::<Vec<_>>()).facts();
    for (key, value) in [
        ("cpu.min", "800 MHz"),
        ("cpu.max", "3600 MHz, 3000 MHz"),
        ("cpu.governor", "schedutil"),
        ("cpu.driver", "intel_cpufreq"),
        ("cpu.boost", "off"),
        ("cpu.cpuidle.governor", "menu"),
        ("cpu.cpuidle.driver", "acpi_idle"),
        ("cpu.cpuidle.states", "POLL 0 us, C1 2 us (disabled)"),
        ("cache.l1d.size", "48 KiB"),
        ("cache.l1d.line", "128 B"),
        ("cache.l1d.ways", "12"),
        ("cache.l1d.shared", "0-1"),
        ("cache.l1d.count", "1"),
    ] {
        assert_eq!(get(&facts, key), Some(value), "{key}");
    }
}

#[test]
fn serial_numbers_are_not_recorded() {
    let facts = Recorded::of(&[("proc/self/status", ""), ("proc/cpuinfo", ARM_OLD)]).facts();
    assert_eq!(get(&facts, "cpu.model"), Some("ARMv7 Processor rev 4 (v7l)"));
    assert!(facts.iter().all(|(_, value)| !value.contains("deadbeef")), "{facts:?}");
}

#[test]
fn numbers_of_proc() {
    assert_eq!(meminfo_bytes(MEMINFO, "MemTotal"), Some(24_684_084 * 1024));
    assert_eq!(meminfo_bytes(MEMINFO, "HugePages_Total"), None);
    assert_eq!(meminfo_bytes(MEMINFO, "Mem"), None);
    assert_eq!(counters::psi(PSI, "total"), Some("14511199"));
    assert_eq!(counters::psi(PSI, "avg10"), Some("0.21"));
    assert_eq!(counters::psi(PSI, "avg1"), None);
    assert_eq!(counters::steal(STAT), Some(21));
    assert_eq!(counters::steal_of_cpu("cpu12 1 2 3 4 5 6 7 80 9 10"), Some((12, 80)));
    assert_eq!(STAT.lines().filter_map(counters::steal_of_cpu).collect::<Vec<_>>(), [(0, 8)]);
    assert_eq!(counters::load_averages("0.20 1.27 12.18 1/85 7380\n"), Some([0.20, 1.27, 12.18]));
    assert_eq!(counters::load_averages("0.20 nan 1.0"), None);
}

#[test]
fn sizes_are_binary_and_exact() {
    let written: Vec<String> =
        [0, 512, 49152, 266_240 << 10, 24_684_084 << 10, 1 << 50].into_iter().map(binary).collect();
    assert_eq!(written, ["0 B", "512 B", "48 KiB", "260 MiB", "24684084 KiB", "1024 TiB"]);
}

#[test]
fn choices_are_the_word_in_brackets() {
    assert_eq!(chosen_word("always defer+madvise [madvise] never"), "madvise");
    assert_eq!(chosen_word("none"), "none");
}

#[test]
fn the_preemption_model_is_pieced_together() {
    let config = BuildConfig("CONFIG_PREEMPT_NONE=y\n# CONFIG_PREEMPT is not set\n".to_owned());
    let empty = BuildConfig(String::new());
    assert_eq!(preemption("#1 SMP PREEMPT_RT Mon", None, None, &config), "realtime");
    assert_eq!(preemption("#1 SMP PREEMPT_DYNAMIC", Some("full"), Some("lazy"), &config), "dynamic: full");
    assert_eq!(preemption("#1 SMP PREEMPT_DYNAMIC", None, Some("lazy"), &config), "dynamic: lazy");
    assert_eq!(preemption("#1 SMP PREEMPT_DYNAMIC", None, None, &config), "dynamic: none");
    assert_eq!(preemption("#1 SMP PREEMPT_DYNAMIC", None, None, &empty), "dynamic: mode unknown");
    assert_eq!(preemption("#1 SMP PREEMPT Mon", None, None, &empty), "full");
    assert_eq!(preemption("#1 SMP Mon", None, None, &empty), "none or voluntary");
}

#[test]
fn mounts_are_found_by_the_longest_and_the_last() {
    let mounts = mounts::parse(MOUNTS);
    assert_eq!(mounts.len(), 6);
    let kind = |path: &str| mount_of(&mounts, Path::new(path)).map(|mount| mount.kind.as_str());
    assert_eq!(kind("/tmp/x"), Some("overlay"));
    assert_eq!(kind("/data/x"), Some("ext4"));
    assert_eq!(kind("/data two/x"), Some("xfs"));
    assert_eq!(kind("/database"), Some("overlay"), "a path is not a string");
    assert_eq!(kind("/data/net/x"), Some("tmpfs"), "a later mount covers an earlier one");
}

fn mount_facts(point: &str, kind: &str) -> Vec<(String, String)> {
    let mounts = mounts::parse(MOUNTS);
    let mount = mounts.iter().find(|mount| mount.point == point && mount.kind == kind).expect("a recorded mount");
    let recorded = Recorded::of(&[
        ("sys/dev/block/8:17/queue/scheduler", "none [mq-deadline]\n"),
        ("sys/dev/block/8:17/device/uevent", "DRIVER=virtio_blk\nMODALIAS=virtio:d2\n"),
    ]);
    let mut book = Book::of(recorded.root());
    mounts::say_mount(&mut book, mount);
    book.facts
}

#[test]
fn facts_of_a_work_directory_name_its_file_system_and_device() {
    let facts = mount_facts("/data", "ext4");
    assert_eq!(get(&facts, "work_dir.fs"), Some("ext4"));
    assert_eq!(get(&facts, "work_dir.options"), Some("rw,noatime,errors=remount-ro"));
    assert_eq!(get(&facts, "work_dir.device"), Some("/dev/sdb1"));
    assert_eq!(get(&facts, "work_dir.scheduler"), Some("mq-deadline"));
    assert_eq!(get(&facts, "work_dir.model"), Some("virtio_blk"));
    assert_eq!(get(&facts, "work_dir.overlay"), Some("no"));
}

#[test]
fn facts_of_a_work_directory_hide_its_owner() {
    let overlay = mount_facts("/", "overlay");
    assert_eq!(get(&overlay, "work_dir.overlay"), Some("yes"));
    assert_eq!(
        get(&overlay, "work_dir.options"),
        Some("rw,relatime,lowerdir=(hidden),upperdir=(hidden),workdir=(hidden),xino=off")
    );
    let network = mount_facts("/data/net", "nfs4");
    assert_eq!(get(&network, "work_dir.device"), Some("(hidden)"));
    assert_eq!(get(&network, "work_dir.options"), Some("rw,vers=4.2,clientaddr=(hidden),addr=(hidden),hard"));
    assert_eq!(get(&mount_facts("/data two", "xfs"), "work_dir.device"), Some("(hidden)"));
}

#[test]
fn control_groups_of_both_versions_are_found() {
    let v1 = mounts::parse(V1_MOUNTS);
    let dirs = |controller| cgroup::group_of(V1_GROUPS, &v1, controller).map(|group| (group.unified, group.dirs));
    let memory = ["/batch/job", "/batch", ""].map(|part| format!("/sys/fs/cgroup/memory{part}"));
    assert_eq!(dirs("memory"), Some((false, memory.to_vec())));
    assert_eq!(dirs("cpu").map(|(_, dirs)| dirs.len()), Some(2));
    assert_eq!(dirs("pids"), Some((true, vec!["/sys/fs/cgroup/unified".to_owned()])), "the unified one for the rest");
    let v2 = mounts::parse(V2_MOUNTS);
    let group = cgroup::group_of(V2_GROUPS, &v2, "memory").expect("unified");
    assert_eq!((group.unified, group.dirs[0].as_str()), (true, "/sys/fs/cgroup/user.slice/run.scope"));
    assert_eq!(group.dirs.len(), 3);
    assert_eq!(cgroup::group_of("", &v2, "memory"), None);
    assert_eq!(cgroup::group_of(V2_GROUPS, &[], "memory"), None);
    // In a container without a cgroup namespace, the mount shows only the part that the path names.
    let part = mounts::parse("30 23 0:26 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    let inside = cgroup::group_of("0::/docker/ab/sub\n", &part, "cpu").expect("unified");
    assert_eq!(inside.dirs, ["/sys/fs/cgroup/sub", "/sys/fs/cgroup"]);
}

#[test]
fn the_tightest_limit_on_the_way_up_counts() {
    let v2 = Recorded::of(&[
        ("proc/self/status", "Seccomp:\t2\n"),
        ("proc/self/cgroup", V2_GROUPS),
        ("proc/self/mountinfo", V2_MOUNTS),
        ("sys/fs/cgroup/user.slice/run.scope/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 9\nnr_throttled 7\n"),
        ("sys/fs/cgroup/user.slice/run.scope/cpu.stat", "usage_usec 9\nnr_throttled 2\n"),
        ("sys/fs/cgroup/user.slice/run.scope/memory.max", "1073741824\n"),
        ("sys/fs/cgroup/user.slice/memory.max", "2147483648\n"),
        ("sys/fs/cgroup/user.slice/run.scope/pids.max", "max\n"),
    ]);
    let facts = v2.facts();
    assert_eq!(get(&facts, "cgroup.version"), Some("2"));
    assert_eq!(get(&facts, "cgroup.cpu.max"), Some("1.5 CPUs (150000 of 100000 us)"));
    assert_eq!(cgroup::quota(&v2.tree()), Some(1.5));
    assert_eq!(get(&facts, "cgroup.memory.max"), Some("1 GiB"));
    assert_eq!(get(&facts, "cgroup.pids.max"), Some("max"));
    assert_eq!(get(&facts, "security.seccomp"), Some("filter"));
    assert_eq!(counters::counters_in(&v2.tree()).nr_throttled, Some(9));

    let v1 = Recorded::of(&[
        ("proc/self/cgroup", V1_GROUPS),
        ("proc/self/mountinfo", V1_MOUNTS),
        ("sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "9223372036854771712\n"),
    ]);
    let facts = v1.facts();
    assert_eq!(get(&facts, "cgroup.version"), Some("1 and 2"));
    assert_eq!(get(&facts, "cgroup.cpu.max"), Some("0.5 CPUs (50000 of 100000 us)"));
    assert_eq!(get(&facts, "cgroup.memory.max"), Some("max"));
    assert_eq!(Quota::parse("1 0"), None);
    assert_eq!(cgroup::parse_limit("9223372036854710272"), Some(u64::MAX), "of a kernel with 64 KiB pages");
}

/// Counts of all levels are added; what only the group's own file knows, of levels that a container
/// cannot see, counts where it is more.
#[test]
fn the_account_of_a_quota_is_that_of_all_levels() {
    let own = "sys/fs/cgroup/user.slice/run.scope";
    let v2 = |local: &str| {
        let recorded = Recorded::of(&[
            ("proc/self/cgroup", V2_GROUPS),
            ("proc/self/mountinfo", V2_MOUNTS),
            (&format!("{own}/cpu.max"), "max 100000\n"),
            (&format!("{own}/cpu.stat"), "usage_usec 9\nnr_throttled 2\nthrottled_usec 30\n"),
            (&format!("{own}/cpu.stat.local"), local),
            ("sys/fs/cgroup/user.slice/cpu.max", "10000 100000\n"),
            ("sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 9\nnr_throttled 7\nthrottled_usec 400\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 9\n"),
        ]);
        cgroup::cpu_account(&recorded.tree())
    };
    let account = |cpus, held_back_ns| CpuAccount { cpus, held_back_ns };
    assert_eq!(v2("throttled_usec 20\n"), account(Some(0.1), Some(430_000)));
    assert_eq!(v2("throttled_usec 5000\n"), account(Some(0.1), Some(5_000_000)));
    let cpu = "sys/fs/cgroup/cpu,cpuacct";
    let v1 = Recorded::of(&[
        ("proc/self/cgroup", V1_GROUPS),
        ("proc/self/mountinfo", V1_MOUNTS),
        (&format!("{cpu}/batch/cpu.cfs_quota_us"), "-1\n"),
        (&format!("{cpu}/batch/cpu.cfs_period_us"), "100000\n"),
        (&format!("{cpu}/batch/cpu.stat"), "nr_periods 4\nnr_throttled 3\nthrottled_time 700\n"),
        (&format!("{cpu}/cpu.stat"), "nr_periods 4\nnr_throttled 3\nthrottled_time 11\n"),
    ]);
    assert_eq!(cgroup::cpu_account(&v1.tree()), account(None, Some(711)), "in nanoseconds already");
    assert_eq!(cgroup::cpu_account(&Recorded::of(&[]).tree()), CpuAccount::default());
}

#[test]
fn the_limit_that_refuses_a_task_is_named() {
    let of = |most: &str, used: &str, of_user| {
        let recorded = Recorded::of(&[
            ("proc/self/cgroup", V2_GROUPS),
            ("proc/self/mountinfo", V2_MOUNTS),
            ("sys/fs/cgroup/user.slice/pids.max", most),
            ("sys/fs/cgroup/user.slice/pids.current", used),
        ]);
        task_limit_in(&recorded.tree(), of_user)
    };
    assert_eq!(of("50", "49", Some(60)), "/sys/fs/cgroup/user.slice/pids.max of 50");
    assert_eq!(of("50", "9", Some(60)), "RLIMIT_NPROC of 60");
    assert_eq!(of("50", "9", None), "/sys/fs/cgroup/user.slice/pids.max of 50, or memory");
    assert_eq!(of("max", "9", None), "a limit on tasks or memory");
}

#[test]
fn an_unusual_priority_is_read_behind_any_name() {
    // The name holds a bracket; of 41 fields, the 19th and the last count.
    let stat = |nice: i32, policy: u32| {
        let numbers: Vec<String> = (4..41).map(|n| if n == 19 { nice.to_string() } else { n.to_string() }).collect();
        format!("7 (a) b) R {} {policy} 0\n", numbers.join(" "))
    };
    let scheduled = |nice, policy| super::system::scheduled(&stat(nice, policy));
    assert_eq!(scheduled(0, 0), (None, None));
    assert_eq!(scheduled(10, 5), (Some(10), Some("SCHED_IDLE")));
    assert_eq!(scheduled(-5, 1), (Some(-5), Some("SCHED_FIFO")));
    assert_eq!(super::system::scheduled(""), (None, None));
}

#[test]
fn tasks_killed_for_memory_are_counted_in_the_nearest_group() {
    let v1 = Recorded::of(&[
        ("proc/self/cgroup", V1_GROUPS),
        ("proc/self/mountinfo", V1_MOUNTS),
        ("sys/fs/cgroup/memory/batch/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
        ("sys/fs/cgroup/memory/batch/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 9\n"),
    ]);
    assert_eq!(cgroup::killed_for_memory(&v1.tree()), Some(3));
    let v2 = Recorded::of(&[
        ("proc/self/cgroup", V2_GROUPS),
        ("proc/self/mountinfo", V2_MOUNTS),
        ("sys/fs/cgroup/user.slice/run.scope/memory.events", "low 0\noom 5\noom_kill 4\noom_group_kill 0\n"),
    ]);
    assert_eq!(cgroup::killed_for_memory(&v2.tree()), Some(4));
    let board = Recorded::of(&[("proc/vmstat", "nr_free_pages 11\noom_kill 2\n")]);
    assert_eq!(cgroup::killed_for_memory(&board.tree()), Some(2));
}

#[test]
fn headroom_is_that_of_the_tightest_limit_and_names_it() {
    const GIB: u64 = 1 << 30;
    let status = "Name:\tx\nVmSize:\t  262144 kB\nVmData:\t  131072 kB\n";
    let plain = Recorded::of(&[("proc/meminfo", MEMINFO), ("proc/self/status", status)]);
    let room = |tree: &Recorded, addresses, data| {
        let room = memory_headroom::room_in(&tree.tree(), addresses, data).expect("a limit");
        (room.bytes, room.limit)
    };
    assert_eq!(room(&plain, None, None), (24_314_736 << 10, "the memory available".to_owned()));
    assert_eq!(room(&plain, Some(GIB), None), (GIB - (256 << 20), "RLIMIT_AS of 1 GiB".to_owned()));
    assert_eq!(room(&plain, Some(GIB), Some(GIB / 2)), ((512 - 128) << 20, "RLIMIT_DATA of 512 MiB".to_owned()));
    // What is used beyond a limit that was set afterwards leaves nothing, not a huge number.
    assert_eq!(room(&plain, Some(1 << 20), None).0, 0);

    // Version 2: the parent binds, inactive pages of files are given up, and memory.high counts.
    let own = "sys/fs/cgroup/user.slice/run.scope";
    let v2 = |high: &str, stat: &str| {
        Recorded::of(&[
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", V2_GROUPS),
            ("proc/self/mountinfo", V2_MOUNTS),
            (&format!("{own}/memory.max"), "1073741824\n"),
            (&format!("{own}/memory.current"), "0\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "268435456\n"),
            ("sys/fs/cgroup/user.slice/memory.high", high),
            ("sys/fs/cgroup/user.slice/memory.current", "104857600\n"),
            ("sys/fs/cgroup/user.slice/memory.stat", stat),
        ])
    };
    let left = |tree: &Recorded| room(tree, None, None);
    let max = "/sys/fs/cgroup/user.slice/memory.max of 256 MiB".to_owned();
    assert_eq!(left(&v2("max\n", "anon 5\n")), (156 << 20, max.clone()));
    assert_eq!(left(&v2("max\n", "inactive_file 52428800\n")), (206 << 20, max));
    let high = "/sys/fs/cgroup/user.slice/memory.high of 128 MiB".to_owned();
    assert_eq!(left(&v2("134217728\n", "anon 5\n")), (28 << 20, high));

    // Version 1 counts the pages of files with its total_ numbers.
    let v1 = Recorded::of(&[
        ("proc/meminfo", MEMINFO),
        ("proc/self/cgroup", V1_GROUPS),
        ("proc/self/mountinfo", V1_MOUNTS),
        ("sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "268435456\n"),
        ("sys/fs/cgroup/memory/batch/memory.usage_in_bytes", "104857600\n"),
        ("sys/fs/cgroup/memory/batch/memory.stat", "inactive_file 1\ntotal_inactive_file 4194304\n"),
        ("sys/fs/cgroup/memory/batch/job/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/memory/batch/job/memory.usage_in_bytes", "104857600\n"),
    ]);
    let limit = "/sys/fs/cgroup/memory/batch/memory.limit_in_bytes of 256 MiB".to_owned();
    assert_eq!(left(&v1), (160 << 20, limit));
}

#[test]
fn memory_pressure_is_the_increase() {
    let at = |swapped: &str| {
        let vmstat = format!("pgpgin 9\npswpin {swapped}\npswpout 7\n");
        memory_headroom::pressure_in(&Recorded::of(&[("proc/vmstat", &vmstat), ("proc/pressure/memory", PSI)]).tree())
    };
    let added = at("12").since(&at("2"));
    assert_eq!(added, [("swapped_in_pages", 10), ("swapped_out_pages", 0), ("stalled_us", 0)]);
    assert_eq!(at("1").since(&memory_headroom::pressure_in(&Recorded::of(&[]).tree())), []);
}

#[test]
fn the_effective_cpuset_is_reported_not_the_requested_one() {
    let of = |files: &[(&str, &str)]| {
        let all = [&[("proc/self/cgroup", V2_GROUPS), ("proc/self/mountinfo", V2_MOUNTS)], files].concat();
        get(&Recorded::of(&all).facts(), "cgroup.cpuset").map(str::to_owned)
    };
    let asked = ("sys/fs/cgroup/user.slice/run.scope/cpuset.cpus", "0-7");
    let has = ("sys/fs/cgroup/user.slice/run.scope/cpuset.cpus.effective", "0-1");
    assert_eq!((of(&[asked]).as_deref(), of(&[asked, has]).as_deref()), (Some("0-7"), Some("0-1")));
}

#[test]
fn a_core_has_a_name_where_its_instructions_do_not_contradict_it() {
    let core = |model: u32, flags: &str| {
        let text = format!(
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\nflags\t\t: fpu {flags}\n"
        );
        let facts = Recorded::of(&[("proc/cpuinfo", &text)]).facts();
        get(&facts, "cpu.core").map(str::to_owned)
    };
    assert_eq!(core(167, "avx512f").as_deref(), Some("Rocket Lake"));
    assert_eq!(core(167, "avx512f amx_tile"), None);
    assert_eq!(core(173, "avx512f amx_tile").as_deref(), Some("Granite Rapids"));
}

#[test]
fn without_proc_there_are_fewer_facts_and_one_says_so() {
    let facts = Recorded::of(&[]).facts();
    assert_eq!(get(&facts, "proc"), Some("missing"));
    assert_eq!(get(&facts, "sys"), Some("missing"));
    assert!(get(&facts, "kernel.release").is_some(), "the system calls still work");
    assert!(get(&facts, "cpu.topology_notes").is_some_and(|notes| notes.contains("no cache")));
    assert_eq!(get(&facts, "cpu.model"), None);
    assert_eq!(get(&facts, "cpu.cores"), None, "what was assumed is no fact");
}

#[test]
fn an_unreadable_file_becomes_its_error() {
    // A directory where a file should be cannot be read by anybody, root included.
    let facts = Recorded::of(&[("proc/sys/kernel/perf_event_paranoid/x", "")]).facts();
    let value = get(&facts, "sys.perf_event_paranoid").expect("a fact");
    assert!(value.starts_with("unreadable: Is a directory"), "{value}");
}

#[test]
fn differences_of_counters_are_signed() {
    let before = HostCounters { steal_ticks: Some(10), nr_throttled: None, psi_cpu_total_us: Some(5), loadavg: None };
    let after =
        HostCounters { steal_ticks: Some(7), nr_throttled: Some(1), psi_cpu_total_us: Some(1005), loadavg: None };
    let change = after.since(&before);
    assert_eq!((change.steal_ticks, change.nr_throttled, change.psi_cpu_total_us), (Some(-3), None, Some(1000)));
}

/// A text with some bytes changed, cut or doubled.
fn mutated(text: &str, seed: &mut u64) -> String {
    let mut next = |below: usize| {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        (*seed % below.max(1) as u64) as usize
    };
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=next(6) {
        let at = next(bytes.len());
        match next(4) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_within(at..),
            2 if at < bytes.len() => bytes[at] = b"\0\xff:-,= /\\9"[next(10)],
            _ => bytes.insert(at, b"9-:, \n\\[("[next(9)]),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn no_text_causes_a_panic() {
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    let list = "0-3,8-15,320\n";
    for _ in 0..3000 {
        let [cpuinfo, mountinfo, groups, psi, stat, list] =
            [ARM, MOUNTS, V1_GROUPS, PSI, STAT, list].map(|text| mutated(text, &mut seed));
        let info = CpuInfo::parse(&cpuinfo);
        let _ = (info.model(), info.family());
        let mounts = mounts::parse(&mountinfo);
        let _ = (mount_of(&mounts, Path::new("/data/x")), cgroup::group_of(&groups, &mounts, "memory"));
        let _ = (counters::psi(&psi, "total"), counters::steal(&stat), counters::load_averages(&psi));
        let _ = (redact::command_line(&mountinfo), redact::mount_options(&mountinfo), chosen_word(&psi));
        let _ = (crate::cpu_list::parse_cpus(&list), Quota::parse(&stat), cgroup::parse_limit(&list));
        let _ = (meminfo_bytes(&mutated(MEMINFO, &mut seed), "MemTotal"), field(&stat, "cpu"));
    }
    for _ in 0..20 {
        let mut text = |text: &str| mutated(text, &mut seed);
        let (cpuinfo, mountinfo, groups) = (text(X86), text(V2_MOUNTS), text(V2_GROUPS));
        let (list, size) = (text("0-1"), text("48K"));
        let recorded = Recorded::of(&[
            ("proc/cpuinfo", &cpuinfo),
            ("proc/self/mountinfo", &mountinfo),
            ("proc/self/cgroup", &groups),
            ("sys/devices/system/node/online", &list),
            ("sys/devices/system/cpu/online", &list),
            ("sys/devices/system/cpu/cpu0/topology/core_cpus_list", &list),
            ("sys/devices/system/cpu/cpu0/cache/index0/level", "1"),
            ("sys/devices/system/cpu/cpu0/cache/index0/size", &size),
            ("sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list", &list),
        ]);
        assert!(recorded.facts().len() > 10);
    }
}

#[test]
fn this_machine_has_facts() {
    let facts = facts();
    for key in ["kernel.release", "host.machine", "cpu.allowed", "limits.nofile", "user.uid", "libc", "memory.page"] {
        assert!(get(&facts, key).is_some_and(|value| !value.is_empty()), "{key} in {facts:?}");
    }
    let keys: BTreeSet<&String> = facts.iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), facts.len(), "every key once");
    let group = |key: &str| key.split('.').next().map(str::to_owned);
    let mut groups: Vec<_> = facts.iter().filter_map(|(key, _)| group(key)).collect();
    groups.dedup();
    assert_eq!(groups.iter().collect::<BTreeSet<_>>().len(), groups.len(), "a group stands together: {groups:?}");
    assert!(facts.iter().all(|(_, value)| !value.contains('\n') && value.trim() == value));
}

#[test]
fn a_directory_of_this_machine_has_facts() {
    assert!(get(&work_dir_facts(&std::env::temp_dir()), "work_dir.free").is_some());
    assert!(work_dir_facts(Path::new("/no/such/directory")).is_empty());
    let now = host_counters();
    assert_eq!(now.since(&now).steal_ticks, now.steal_ticks.map(|_| 0));
}
