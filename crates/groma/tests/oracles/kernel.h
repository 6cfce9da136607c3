/* What today's kernels are asked: moves of tasks, huge pages, attributes, groups, rules, probes. Included once,
 * by oracle.c, which asks `of_kernel` for the names that it does not know. */

#include <linux/perf_event.h>
#include <net/if.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/xattr.h>

static int other_fd, inner;
static char value[32];

/* There and back between two CPUs. */
static cpu_set_t own_set, peer_set;
ORACLE(migrate_) {
    LOOP(CHECK(KERNEL(sched_setaffinity, 0, sizeof peer_set, &peer_set, 0) == 0 && sched_getcpu() == peer_cpu);
         CHECK(KERNEL(sched_setaffinity, 0, sizeof own_set, &own_set, 0) == 0 && sched_getcpu() == own_cpu));
}

/* Two processes that yield: their CPU time for a turn, since beside another task a yield costs its slice. */
static volatile long *turns_;
static pid_t yielder;
static uint64_t both_ns(void) {
    struct timespec own, its;
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) == 0 && clock_gettime((~yielder << 3) | 2, &its) == 0);
    return (own.tv_sec + its.tv_sec) * 1000000000ull + own.tv_nsec + its.tv_nsec;
}
ORACLE(runnable_) {
    long before = turns_[0] + turns_[16];
    uint64_t begin = both_ns();
    for (long i = 0; i < n; i++) { turns_[0]++; KERNEL(sched_yield, 0, 0, 0, 0); }
    return (both_ns() - begin) * (double)n / (turns_[0] + turns_[16] - before);
}

ORACLE(collapse_) {
    uint64_t spent = 0;
    for (long i = 0; i < n; i++) {
        CHECK(madvise(area, 2 << 20, MADV_DONTNEED) == 0 && madvise(area, 2 << 20, MADV_NOHUGEPAGE) == 0);
        for (long at = 0; at < 2 << 20; at += PAGE) area[at] = 1;
        CHECK(madvise(area, 2 << 20, MADV_HUGEPAGE) == 0);
        uint64_t begin = now();
        CHECK(madvise(area, 2 << 20, 25 /* MADV_COLLAPSE */) == 0);
        spent += now() - begin;
    }
    return spent;
}

static uint64_t told_[1024];
ORACLE(pagemap_) {
    LOOP(long present = 0; CHECK(pread(fd, told_, sizeof told_, (uintptr_t)area / PAGE * 8) == sizeof told_);
         for (int i = 0; i < 1024; i++) present += told_[i] >> 63;
         CHECK(present == 512));
}

ORACLE(get_attribute_) { LOOP(CHECK(fgetxattr(fd, "user.groma", value, sizeof value) == sizeof value)); }

/* A group in the unified hierarchy, made in one of our own. */
static char group[4096];
static void leave_group(void) { rmdir(group); }
ORACLE(control_group_) { LOOP(CHECK(mkdirat(inner, "inner", 0700) == 0 && unlinkat(inner, "inner", AT_REMOVEDIR) == 0)); }
static void unified_group(void) {
    char line[4096], at[2048] = "", own[2048] = "";
    FILE *mounts = fopen("/proc/self/mounts", "r"), *self_ = fopen("/proc/self/cgroup", "r");
    while (fgets(line, sizeof line, mounts))
        if (strstr(line, " cgroup2 ")) sscanf(line, "%*s %2047s", at);
    while (fgets(line, sizeof line, self_))
        if (strncmp(line, "0::", 3) == 0) sscanf(line + 3, "%2047s", own);
    snprintf(group, sizeof group, "%s%s/oracle-%d", at, own, getpid());
    CHECK(mkdir(group, 0700) == 0);
    atexit(leave_group);
    CHECK((inner = open(group, O_RDONLY | O_DIRECTORY)) >= 0);
}

/* A child that starts in that group. */
ORACLE(clone_into_) {
    LOOP(uint64_t args[11] = {1ull << 33 /* CLONE_INTO_CGROUP */}; args[4] = SIGCHLD; args[10] = inner;
         pid_t pid = syscall(SYS_clone3, args, sizeof args);
         if (pid == 0) _exit(42);
         wait_for(pid));
}

/* Four workers that accept from one socket by epoll; each answers with a byte. */
static struct sockaddr_in port_ = {.sin_family = AF_INET};
static void workers(void) {
    socklen_t length = sizeof port_;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    port_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(listener, (void *)&port_, length) == 0 && listen(listener, 128) == 0 && getsockname(listener, (void *)&port_, &length) == 0);
    cpu_set_t all;
    memset(&all, 255, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
    for (int worker = 0; worker < 4; worker++) {
        pid_t parent = getpid(), pid = fork();
        CHECK(pid >= 0);
        if (pid) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        struct epoll_event event = {.events = EPOLLIN};
        int epoll = epoll_create1(0);
        CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == 0);
        for (;;) {
            CHECK(epoll_wait(epoll, &event, 1, -1) == 1);
            int connection = accept(listener, 0, 0);
            if (connection >= 0) CHECK(write(connection, "a", 1) == 1 && close(connection) == 0);
        }
    }
}
ORACLE(dispatch_) {
    struct linger reset = {1, 0};
    uint64_t spent = 0;
    for (long i = 0; i < n; i++) {
        int own = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(setsockopt(own, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
        uint64_t begin = now();
        CHECK(connect(own, (void *)&port_, sizeof port_) == 0 && read(own, value, 1) == 1);
        spent += now() - begin;
        close(own);
    }
    return spent;
}

/* Rules that allow one directory. */
static void landlock(void) {
    uint64_t read_file = 4;
    int rules = syscall(444, &read_file, sizeof read_file, 0);
    struct __attribute__((packed)) { uint64_t allowed; int32_t parent; } beneath = {read_file, fd};
    CHECK(rules >= 0 && syscall(445, rules, 1, &beneath, 0) == 0);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(446, rules, 0) == 0);
    CHECK(open("/dev/null", O_RDONLY) < 0);
}

/* A tracepoint at getppid, or a probe in a function of a file. */
static void count(struct perf_event_attr what) {
    what.size = PERF_ATTR_SIZE_VER1;
    CHECK((other_fd = syscall(SYS_perf_event_open, &what, 0, -1, -1, 0)) >= 0);
}
static long number_in(const char *path) {
    long n = -1;
    FILE *file = fopen(path, "r");
    CHECK(file && fscanf(file, "%ld", &n) == 1);
    fclose(file);
    return n;
}
static void counted(long before) {
    long seen;
    CHECK(read(other_fd, &seen, sizeof seen) == sizeof seen && seen > before);
}
#if defined __x86_64__
static long (*probed)(long);
static void probe(void) {
    static const unsigned char text[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xf8, 0xc3};
    static char path[4096];
    snprintf(path, sizeof path, "%s/function-%d", dir, getpid());
    int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(file >= 0 && write(file, text, sizeof text) == sizeof text);
    probed = (long (*)(long))mmap(0, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    CHECK(probed != MAP_FAILED);
    struct perf_event_attr what = {.type = number_in("/sys/bus/event_source/devices/uprobe/type")};
    what.config1 = (uintptr_t)path;
    count(what);
    CHECK(probed(7) == 7);
    counted(0);
}
ORACLE(uprobe_) { LOOP(CHECK(probed(i_) == i_)); }
#endif

static int own_ns, other_ns;
ORACLE(enter_) { LOOP(CHECK(KERNEL(setns, other_ns, 0, 0, 0) == 0 && KERNEL(setns, own_ns, 0, 0, 0) == 0)); }

static char from_[4096], at_[4096];
ORACLE(bind_mount_) {
    uint64_t spent = 0;
    for (long i = 0; i < n; i++) {
        uint64_t begin = now();
        CHECK(mount(from_, at_, 0, MS_BIND, 0) == 0);
        spent += now() - begin;
        CHECK(umount(at_) == 0);
    }
    return spent;
}

static struct statx known_;
ORACLE(statx_) { LOOP(CHECK(syscall(SYS_statx, fd, "name", 0, STATX_BASIC_STATS, &known_) == 0)); }

/* A signal to a thread that counts on the other CPU. */
static _Atomic long handled_, went_on;
static _Atomic pid_t target_;
static void handle(int signal_number) { (void)signal_number; handled_++; }
static void *counting(void *nothing) {
    pin(peer_cpu);
    target_ = syscall(SYS_gettid);
    for (;;) { for (int i = 0; i < 8; i++) RELAX; went_on++; }
    return nothing;
}
ORACLE(interrupt_) {
    uint64_t spent = 0;
    for (long i = 0, before; i < n; i++) {
        for (before = went_on; went_on == before;) RELAX;
        before = handled_;
        uint64_t begin = now();
        CHECK(KERNEL(tgkill, getpid(), target_, SIGUSR1, 0) == 0);
        while (handled_ == before) RELAX;
        spent += now() - begin;
    }
    return spent;
}

static double of_kernel(const char *name) {
    double of = -1;
#define IS(text) else if (strcmp(name, text) == 0)
#define TIME(timed) of = lower_quartile(timed, WINDOW, PLENTY)
    if (0) {}
    IS("migrate") {
        CPU_ZERO(&own_set);
        CPU_ZERO(&peer_set);
        CPU_SET(own_cpu, &own_set);
        CPU_SET(peer_cpu, &peer_set);
        TIME(migrate_); of /= 2;
    }
    IS("statx") { fd = named(); TIME(statx_); }
    IS("interrupt") {
        signal(SIGUSR1, handle);
        start(counting);
        while (!target_) RELAX;
        of = lowest_tenth(interrupt_);
    }
    IS("runnable") {
        turns_ = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        CHECK(turns_ != MAP_FAILED);
        int at = peer_cpu;
        peer_cpu = own_cpu;
        if ((yielder = peer()) == 0) for (;;) { turns_[16]++; sched_yield(); }
        peer_cpu = at;
        TIME(runnable_);
    }
    IS("collapse") { area = memory(2 << 20, 1); of = lower_quartile(collapse_, 1, 1); }
    IS("reserved_fault") {
        area = mmap(0, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << MAP_HUGE_SHIFT, -1, 0);
        CHECK(area != MAP_FAILED);
        memset(area, 1, 8 << 20);
        of = lower_quartile(huge_, 1, 1);
    }
    IS("pagemap") {
        fd = open("/proc/self/pagemap", O_RDONLY), area = memory(4 << 20, 0);
        CHECK(fd >= 0 && madvise(area, 4 << 20, MADV_DONTNEED) == 0);
        for (long i = 0; i < 1024; i += 2) area[i * PAGE] = 1;
        TIME(pagemap_); of /= 1024;
    }
    IS("get_attribute") { fd = cached_file(0); CHECK(fsetxattr(fd, "user.groma", value, sizeof value, 0) == 0); TIME(get_attribute_); }
    IS("control_group") { unified_group(); TIME(control_group_); }
    IS("clone_into") { unified_group(); TIME(clone_into_); }
    IS("dispatch") { workers(); TIME(dispatch_); }
    IS("open_restricted") { fd = named(); landlock(); TIME(open_close_); }
    IS("getppid_counted") {
        struct perf_event_attr what = {.type = PERF_TYPE_TRACEPOINT};
        what.config = number_in("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id");
        count(what); TIME(getppid_); counted(100);
    }
    IS("code") { TIME(code_); of /= 4096; }
#if defined __x86_64__
    IS("cpuid") TIME(cpuid_);
    IS("uprobe") { probe(); TIME(uprobe_); counted(100); }
#endif
    IS("enter") {
        own_ns = open("/proc/self/ns/net", O_RDONLY);
        CHECK(unshare(CLONE_NEWNET) == 0);
        other_ns = open("/proc/self/ns/net", O_RDONLY);
        TIME(enter_); of /= 2;
    }
    IS("bind_mount") {
        snprintf(at_, sizeof at_, "%s/at-%d", dir, getpid());
        snprintf(from_, sizeof from_, "%s/from-%d", dir, getpid());
        CHECK(mkdir(from_, 0700) == 0 && mkdir(at_, 0700) == 0 && unshare(CLONE_NEWNS) == 0 && mount(0, "/", 0, MS_REC | MS_PRIVATE, 0) == 0);
        of = lower_quartile(bind_mount_, WINDOW, PLENTY);
        rmdir(at_);
        rmdir(from_);
    }
    return of;
}
