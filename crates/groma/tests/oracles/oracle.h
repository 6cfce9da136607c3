/* What all oracles share: CPUs and processes, windows of time and their best, and system calls by
 * number. Included once, by oracle.c. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(ok) do { if (!(ok)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #ok, strerror(errno)); exit(1); } } while (0)
#define KEEP(x) __asm__ volatile("" : "+r"(x))

/* What a loop that waits for another CPU does, as libc's locks do. */
#if defined __x86_64__
#define RELAX __builtin_ia32_pause()
#elif defined __aarch64__
#define RELAX __asm__ volatile("isb" ::: "memory")
#else
#define RELAX (void)0
#endif

static int own_cpu, peer_cpu, arguments;
static char *dir, **argument;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
}

/* Forks a process on the CPU of the peer that does not outlive this one; 0 in the child. */
static pid_t peer(void) {
    pid_t parent = getpid(), pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        pin(peer_cpu);
    }
    return pid;
}

static long number(int i) { return i < arguments ? atol(argument[i]) : 0; }
static int is(int i, const char *word) { return i < arguments && strcmp(argument[i], word) == 0; }

/* Memory of base pages, all present, or of huge ones. */
static char *memory(size_t bytes, int huge) {
    size_t unit = 2 << 20, all = (bytes + 2 * unit - 1) / unit * unit + unit;
    char *p = mmap(0, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    p = (char *)(((uintptr_t)p + unit - 1) / unit * unit);
    madvise(p, all - unit, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(p, 1, bytes);
    return p;
}

/* An unlinked file of this size, in the page cache. */
static int cached_file(size_t bytes) {
    static char block[64 << 10];
    char path[4096];
    snprintf(path, sizeof path, "%s/cached-%d", dir, getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && unlink(path) == 0);
    memset(block, 7, sizeof block);
    for (size_t at = 0; at < bytes; at += sizeof block) CHECK(write(fd, block, sizeof block) == sizeof block);
    return fd;
}

static int up(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * The time of one operation: the lower quartile of short windows. `timed(n)` does n operations and
 * returns the nanoseconds they took.
 */
static double lower_quartile(double (*timed)(long), long window_ns, long most) {
    enum { WINDOWS = 40, FEWEST = 8 };
    double each[WINDOWS];
    int windows = 0;
    long n = 1;
    while (n < most && timed(n) < window_ns) n = 2 * n < most ? 2 * n : most;
    for (uint64_t end = now() + 8000000; windows < WINDOWS && (windows < FEWEST || now() < end); windows++)
        each[windows] = timed(n) / n;
    qsort(each, windows, sizeof *each, up);
    return each[windows / 4];
}

/*
 * The tenth percentile of single round trips, for two CPUs: on a busy machine other tasks nearly
 * always delay one of the two sides.
 */
static double lowest_tenth(double (*timed)(long)) {
    enum { TRIPS = 1000, FEWEST = 50 };
    static double each[TRIPS];
    int trips = 0;
    for (uint64_t end = now() + 12000000; trips < TRIPS && (trips < FEWEST || now() < end); trips++) each[trips] = timed(1);
    qsort(each, trips, sizeof *each, up);
    return each[trips / 10];
}

#define PLENTY (1l << 40)
#define WINDOW 150000
#define LOOP(...) do { uint64_t begin_ = now(); for (long i_ = 0; i_ < n; i_++) { __VA_ARGS__; } return now() - begin_; } while (0)
#define ORACLE(name) static double name(long n)

/*
 * System calls, by number and without libc around them, as groma makes them. On a Zen 4 guest the
 * first return after a system call costs 64 ns more (its prediction is lost on the way), so
 * libc's syscall() takes 212 ns where the call itself takes 148; glibc 2.33 to 2.38 also make
 * fstat another, slower call.
 */
#if defined __x86_64__
static inline long kernel(long number, long a, long b, long c, long d) {
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}
#elif defined __aarch64__
static inline long kernel(long number, long a, long b, long c, long d) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c, x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
#elif defined __riscv
static inline long kernel(long number, long a, long b, long c, long d) {
    register long a7 __asm__("a7") = number, a0 __asm__("a0") = a, a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c, a3 __asm__("a3") = d;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3) : "memory");
    return a0;
}
#else
static long kernel(long number, long a, long b, long c, long d) { return syscall(number, a, b, c, d); }
#endif
#define KERNEL(number, a, b, c, d) kernel(SYS_##number, (long)(a), (long)(b), (long)(c), (long)(d))
