/* What containers and sandboxes cost, groups of tasks, memory of others. Included once, by oracle.c. */

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/uio.h>

static long process_group(long of) { return KERNEL(getpgid, of, 0, 0, 0); }

/* As many comparisons of the second argument as were asked for, then a denied getpgid. */
static void filter(int comparisons) {
    struct sock_filter *f = calloc(comparisons + 5, sizeof *f);
    int n = 0;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1]));
    for (int i = 0; i < comparisons; i++)
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x50000000u + i, 0, 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, f};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    CHECK(process_group(0) == -EXDEV);
}

static void supervisor(void) {
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, f};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    int told = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    CHECK(told >= 0);
    if (peer() == 0)
        for (;;) {
            struct seccomp_notif notice = {0};
            CHECK(ioctl(told, SECCOMP_IOCTL_NOTIF_RECV, &notice) == 0);
            struct seccomp_notif_resp answer = {.id = notice.id, .val = 7};
            CHECK(ioctl(told, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0);
        }
}
ORACLE(supervised_) { LOOP(CHECK(process_group(1) == 7)); }

/* A child in a new namespace that looks at its number. */
static long fresh;
ORACLE(namespace_) {
    LOOP(pid_t child = syscall(SYS_clone, fresh | SIGCHLD, 0, 0, 0, 0); int left; struct stat seen;
         if (child == 0) _exit(stat("/proc/self/ns/net", &seen) == 0 ? 9 : 1);
         CHECK(child > 0 && waitpid(child, &left, 0) == child && WEXITSTATUS(left) == 9));
}

/* Twenty senders that write to twenty receivers: a turn is a message from each to each. */
enum { TASKS = 20, MESSAGE = 100 };
static int go[TASKS][2], done_[2];
static void groups(void) {
    int ends[TASKS][2];
    CHECK(pipe(done_) == 0);
    for (int i = 0; i < TASKS; i++) CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]) == 0 && pipe(go[i]) == 0);
    for (int task = 0; task < 2 * TASKS; task++) {
        pid_t parent = getpid(), pid = fork();
        CHECK(pid >= 0);
        if (pid) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        cpu_set_t all;
        memset(&all, 255, sizeof all);
        sched_setaffinity(0, sizeof all, &all);
        char message[MESSAGE] = {0};
        if (task < TASKS) {
            long turns;
            while (read(go[task][0], &turns, sizeof turns) == sizeof turns)
                while (turns--)
                    for (int to = 0; to < TASKS; to++) CHECK(write(ends[to][1], message, MESSAGE) == MESSAGE);
            _exit(0);
        }
        /* A message arrives whole or in parts; a turn is over with its last byte. */
        for (long bytes = 0;;) {
            long got = read(ends[task - TASKS][0], message, MESSAGE - bytes % MESSAGE);
            CHECK(got > 0);
            bytes += got;
            if (bytes == TASKS * MESSAGE) { CHECK(write(done_[1], message, 1) == 1); bytes = 0; }
        }
    }
}
ORACLE(groups_) {
    uint64_t begin = now();
    for (int i = 0; i < TASKS; i++) CHECK(write(go[i][1], &n, sizeof n) == sizeof n);
    for (long left = n * TASKS; left;) {
        char bytes[4096];
        long got = read(done_[0], bytes, left < 4096 ? left : 4096);
        CHECK(got > 0);
        left -= got;
    }
    return now() - begin;
}

/* Memory of another process. */
static pid_t other;
static char *theirs, *ours;
enum { READ = 64 << 10 };
static void other_memory(void) {
    theirs = memory(READ, 0), ours = memory(READ, 0);
    if ((other = peer()) == 0) { memset(theirs, 7, READ); for (;;) pause(); }
}
ORACLE(process_read_) {
    struct iovec here = {ours, READ}, there = {theirs, READ};
    LOOP(CHECK(process_vm_readv(other, &here, 1, &there, 1, 0) == READ));
}

/* Pages whose faults a thread resolves. */
#include <linux/userfaultfd.h>
static int faults;
static void *resolver(void *nothing) {
    static char page[PAGE];
    struct uffd_msg told;
    pin(peer_cpu);
    for (;;) {
        CHECK(read(faults, &told, sizeof told) == sizeof told);
        struct uffdio_copy copy = {.dst = told.arg.pagefault.address & -(long)PAGE, .src = (long)page, .len = PAGE};
        CHECK(ioctl(faults, UFFDIO_COPY, &copy) == 0);
    }
    return nothing;
}
static void userfault(void) {
    struct uffdio_api api = {.api = UFFD_API};
    area = memory(AREA, 0);
    struct uffdio_register all = {.range = {(long)area, AREA}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    faults = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    CHECK(faults >= 0 && ioctl(faults, UFFDIO_API, &api) == 0 && ioctl(faults, UFFDIO_REGISTER, &all) == 0);
    start(resolver);
}
ORACLE(userfault_) {
    CHECK(madvise(area, AREA, MADV_DONTNEED) == 0);
    uint64_t begin = now();
    for (long i = 0; i < n; i++) *(volatile char *)(area + i * PAGE);
    return now() - begin;
}
