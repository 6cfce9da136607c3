/*
 * The operations that groma measures, implemented a second time in plain C.
 *
 *     oracle CPU PEER DIR NAME [ARGUMENT...]
 *
 * runs one of them pinned to CPU (a second process, if there is one, to PEER), with its files in
 * DIR, and prints one number: nanoseconds for an operation, or bytes per second for a bandwidth.
 * It shares neither code nor method with groma, so a wrong factor would have to be made twice.
 * `crates/groma/tests/oracles.rs` compiles and runs it.
 *
 * A number is the lower quartile of some short windows: interference only adds, and the single
 * fastest window would favour operations that are only occasionally cheap.
 */
#include "oracle.h"

/* What the operations of one line need. */
enum { PAGE = 4096 };
static int fd;
static pid_t self;
static char byte;
static struct stat status;
static struct timespec stamp;
static uint32_t idle;
static uint64_t counter = 1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void start(void *(*body)(void *)) { pthread_t t; CHECK(pthread_create(&t, 0, body, 0) == 0); }
static void *sleeper(void *nothing) { pause(); return nothing; }
static void start_sleeper(void) { start(sleeper); }
static struct pollfd polled[100];
static void poll_pipes(void) {
    int ends[2];
    for (int i = 0; i < 100; i++) { CHECK(pipe(ends) == 0); polled[i] = (struct pollfd){.fd = ends[0], .events = POLLIN}; }
}
static int named(void) {
    int directory = open(dir, O_RDONLY | O_DIRECTORY);
    CHECK(directory >= 0);
    close(openat(directory, "name", O_WRONLY | O_CREAT, 0600));
    return directory;
}
static void arm(void) {
    struct itimerspec start = {.it_value.tv_sec = 10}, stop = {0}, left;
    CHECK(KERNEL(timerfd_settime, fd, 0, &start, 0) == 0 && KERNEL(timerfd_settime, fd, 0, &stop, &left) == 0);
}
static volatile sig_atomic_t caught;
static void first(int s) { (void)s; caught++; }
static void second(int s) { (void)s; caught--; }

#define CALL(name, set_up, ...) ORACLE(name##_) { LOOP(__VA_ARGS__); }
#include "calls.h"
#undef CALL

ORACLE(install_) {
    static struct sigaction a, old;
    static long turn;
    LOOP(a.sa_handler = turn++ & 1 ? first : second; CHECK(sigaction(SIGUSR2, &a, &old) == 0));
}

#include "processor.h"

/* Round trips: this end writes to `out` and reads from `in`. */
static int in, out;
ORACLE(trip_) { LOOP(CHECK(write(out, &byte, 1) == 1 && read(in, &byte, 1) == 1)); }
ORACLE(trip4_) { char four[4]; LOOP(CHECK(write(out, four, 4) == 4 && read(in, four, 4) == 4)); }
static void echo(int from, int to) {
    char message[8];
    for (;;) {
        long got = read(from, message, sizeof message);
        if (got <= 0 || write(to, message, got) != got) _exit(0);
    }
}
static void trips_over_pipes(void) {
    int forth[2], back[2];
    CHECK(pipe(forth) == 0 && pipe(back) == 0);
    if (peer() == 0) { close(forth[1]); close(back[0]); echo(forth[0], back[1]); }
    close(forth[0]); close(back[1]);
    in = back[0]; out = forth[1];
}
static void trips_over_unix(void) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    if (peer() == 0) { close(ends[0]); echo(ends[1], ends[1]); }
    close(ends[1]);
    in = out = ends[0];
}
static void trips_over_ip(int kind) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, there = here;
    socklen_t len = sizeof there;
    int one = 1, listening = socket(AF_INET, kind, 0);
    CHECK(bind(listening, (void *)&here, sizeof here) == 0 && getsockname(listening, (void *)&there, &len) == 0);
    in = out = socket(AF_INET, kind, 0);
    if (kind == SOCK_STREAM) {
        CHECK(listen(listening, 1) == 0 && connect(out, (void *)&there, len) == 0);
        int accepted = accept(listening, 0, 0);
        CHECK(accepted >= 0);
        setsockopt(out, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (peer() == 0) { close(out); echo(accepted, accepted); }
        close(accepted);
    } else {
        struct sockaddr_in mine = here;
        CHECK(bind(out, (void *)&here, sizeof here) == 0 && getsockname(out, (void *)&mine, &len) == 0);
        CHECK(connect(out, (void *)&there, len) == 0 && connect(listening, (void *)&mine, len) == 0);
        if (peer() == 0) { close(out); echo(listening, listening); }
    }
    close(listening);
}
static _Atomic uint32_t *words;
static void hand_over(int to, uint32_t value) {
    atomic_store(&words[to], value);
    syscall(SYS_futex, &words[to], FUTEX_WAKE, 1, 0, 0, 0);
}
static void await(int at, uint32_t value) {
    uint32_t seen;
    while ((seen = atomic_load(&words[at])) != value) syscall(SYS_futex, &words[at], FUTEX_WAIT, seen, 0, 0, 0);
}
ORACLE(futex_trip_) {
    static uint32_t trip;
    LOOP(trip++; hand_over(0, trip); await(64, trip));
}
static void *shared(size_t bytes) {
    void *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}
static void trips_over_futexes(void) {
    words = shared(4096);
    if (peer() == 0) for (uint32_t trip = 1;; trip++) { await(0, trip); hand_over(64, trip); }
}

/* A ring of tasks that pass a token on; each touches `set` lines while it has the token. No wake-up
 * preempts the waker. */
static int tasks, lines, *order;
static struct line { uint64_t word, rest[7]; } *set;
static void touch(void) { for (int i = 0; i < lines; i++) set[order[i]].word++; }
ORACLE(ring_) { uint64_t token = 0; LOOP(CHECK(write(out, &token, 8) == 8 && read(in, &token, 8) == 8); touch()); }
static void shuffle(int *of, int many) {
    static uint64_t state = 88172645463325252ull;
    for (int i = 0; i < many; i++) of[i] = i;
    for (int i = many - 1; i > 0; i--) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        int j = state % (i + 1), kept = of[i];
        of[i] = of[j], of[j] = kept;
    }
}
static void ring_of_tasks(void) {
    struct sched_param ordinary = { 0 };
    CHECK(sched_setscheduler(0, SCHED_BATCH, &ordinary) == 0);
    tasks = number(0), lines = number(1) / 64;
    order = malloc(sizeof *order * (lines + 1));
    shuffle(order, lines);
    int next[2], from;
    CHECK(pipe(next) == 0);
    out = next[1], from = next[0];
    for (int i = 1; i < tasks; i++) {
        CHECK(pipe(next) == 0);
        if (peer() == 0) {
            uint64_t token;
            set = aligned_alloc(64, sizeof *set * (lines + 1));
            memset(set, 0, sizeof *set * (lines + 1));
            close(out); close(next[0]);
            while (read(from, &token, 8) == 8) { touch(); token++; if (write(next[1], &token, 8) != 8) break; }
            _exit(0);
        }
        close(from); close(next[1]);
        from = next[0];
    }
    in = from;
    set = aligned_alloc(64, sizeof *set * (lines + 1));
    memset(set, 0, sizeof *set * (lines + 1));
}

/* Two CPUs that pass a line back and forth: the fastest window of each page, and of these the median. */
static double core_to_core(void) {
    enum { PAGES = 6, VISITS = 6, TRIPS = 400 };
    _Atomic uint64_t *all = shared(PAGES * 4096);
    if (peer() == 0)
        for (int w = 0; w < PAGES * VISITS; w++)
            for (uint64_t t = 0; t < TRIPS + 16; t++) {
                uint64_t mine = (w / PAGES * (TRIPS + 16) + t) * 2 + 1, want = mine;
                while (!atomic_compare_exchange_strong(&all[w % PAGES * 512], &want, mine + 1)) want = mine;
            }
    double least[PAGES];
    for (int i = 0; i < PAGES; i++) least[i] = 1e18;
    for (int w = 0; w < PAGES * VISITS; w++) {
        uint64_t begin = 0;
        for (uint64_t t = 0; t < TRIPS + 16; t++) {
            uint64_t mine = (w / PAGES * (TRIPS + 16) + t) * 2, want = mine;
            if (t == 16) begin = now();
            while (!atomic_compare_exchange_strong(&all[w % PAGES * 512], &want, mine + 1)) want = mine;
        }
        double each = (now() - begin) / (2.0 * TRIPS);
        if (each < least[w % PAGES]) least[w % PAGES] = each;
    }
    qsort(least, PAGES, sizeof *least, up);
    return (least[2] + least[3]) / 2;
}

/* Two threads that contend for a lock: windows in which neither lost its CPU, and of these the median.
 * What they do with the lock decides the number as much as the lock does: a ticket lock took 160 ns a
 * turn with one word to add to, and 300 with these three. */
static pthread_barrier_t meeting;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static _Atomic uint64_t begin_window, in_window, end_window, left_window, lost, ran_at;
static _Atomic uint32_t next_ticket, served;
static struct { uint64_t begun, ended, wanted, apart[29]; } protected __attribute__((aligned(256)));
static struct { uint64_t turns, apart[31]; } own[2] __attribute__((aligned(256)));
static uint64_t preemptions(void) { struct rusage u; getrusage(RUSAGE_THREAD, &u); return u.ru_nivcsw; }
static void take(void) {
    if (is(0, "mutex")) { CHECK(pthread_mutex_lock(&mutex) == 0); return; }
    for (uint32_t mine = atomic_fetch_add(&next_ticket, 1); atomic_load(&served) != mine;) RELAX;
}
static void give_back(void) {
    if (is(0, "mutex")) CHECK(pthread_mutex_unlock(&mutex) == 0); else atomic_store(&served, served + 1);
}
static uint64_t one_turn(int who) {
    take();
    uint64_t turn = protected.ended = ++protected.begun;
    own[who].turns++;
    give_back();
    return turn;
}
static void *rival(void *nothing) {
    pin(peer_cpu);
    for (uint64_t w = 1;; w++) {
        while (atomic_load(&begin_window) != w) ;
        uint64_t before = preemptions();
        atomic_store(&in_window, w);
        while (atomic_load(&end_window) != w) one_turn(1);
        atomic_fetch_add(&lost, preemptions() - before);
        atomic_store(&left_window, w);
    }
    return nothing;
}
static double contended(void) {
    enum { WINDOWS = 400, FEWEST = 20 };
    double each[WINDOWS];
    int clean = 0;
    start(rival);
    for (uint64_t w = 1, end = now() + 2000000000; w <= WINDOWS && (clean < FEWEST || now() < end - 1900000000); w++) {
        if (now() > end) break;
        atomic_store(&begin_window, w);
        while (atomic_load(&in_window) != w) ;
        uint64_t before = preemptions() + lost;
        for (int i = 0; i < 8; i++) one_turn(0);
        uint64_t first = one_turn(0), begin = now(), last = first, spent;
        do { for (int i = 0; i < 32; i++) last = one_turn(0); } while ((spent = now() - begin) < WINDOW);
        atomic_store(&end_window, w);
        while (atomic_load(&left_window) != w) ;
        if (preemptions() + lost == before) each[clean++] = (double)spent / (last - first);
    }
    CHECK(clean > 0);
    qsort(each, clean, sizeof *each, up);
    return each[clean / 2];
}

/* A thread that waits at a condition variable, and one at a barrier. */
static void *sleeping(void *nothing) {
    pin(peer_cpu);
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (!protected.wanted) pthread_cond_wait(&changed, &mutex);
        atomic_store(&ran_at, now());
        protected.wanted = 0;
    }
    return nothing;
}
ORACLE(signal_) {
    double spent = 0;
    for (long i = 0; i < n; i++) {
        usleep(100);
        pthread_mutex_lock(&mutex);
        atomic_store(&ran_at, 0);
        protected.wanted = 1;
        pthread_mutex_unlock(&mutex);
        uint64_t begin = now(), ran;
        CHECK(pthread_cond_signal(&changed) == 0);
        while ((ran = atomic_load(&ran_at)) == 0) ;
        spent += ran - begin;
    }
    return spent;
}
static void *crossing(void *nothing) { pin(peer_cpu); for (;;) pthread_barrier_wait(&meeting); return nothing; }
ORACLE(barrier_) { LOOP(pthread_barrier_wait(&meeting)); }

/* Tasks. */
static void wait_for(pid_t pid) { int code; CHECK(pid > 0 && waitpid(pid, &code, 0) == pid && WIFEXITED(code) && WEXITSTATUS(code) == 42); }
ORACLE(fork_) { LOOP(pid_t pid = fork(); if (pid == 0) _exit(42); wait_for(pid)); }
static char stack[65536] __attribute__((aligned(16)));
static int leave(void *nothing) { (void)nothing; _exit(42); }
ORACLE(vfork_) { LOOP(wait_for(clone(leave, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, 0))); }
static char *program[] = {0, "leave", 0}, *no_environment[] = {0};
static int become(void *nothing) { (void)nothing; execve(program[0], program, no_environment); _exit(127); }
ORACLE(exec_) { LOOP(wait_for(clone(become, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, 0))); }
ORACLE(spawn_) { LOOP(pid_t pid; CHECK(posix_spawn(&pid, program[0], 0, 0, program, no_environment) == 0); wait_for(pid)); }
static void *thread(void *answer) { return answer; }
static pthread_attr_t small;
ORACLE(thread_) { LOOP(pthread_t t; CHECK(pthread_create(&t, &small, thread, 0) == 0 && pthread_join(t, 0) == 0)); }

/* The lateness of a sleep of one millisecond. */
ORACLE(sleep_) {
    struct timespec ms = {0, 1000000};
    uint64_t begin = now();
    for (long i = 0; i < n; i++) CHECK(nanosleep(&ms, 0) == 0);
    return now() - begin - n * 1e6;
}

/* Mappings, and pages touched for the first time. */
enum { AREA = 16 << 20, MAPPED = 1024 };
static char *area;
static volatile char sink;
static double touched(long n, int writes) {
    static size_t at = AREA;
    if (at + n * PAGE > AREA) { CHECK(madvise(area, AREA, MADV_DONTNEED) == 0); at = 0; }
    char *from = area + at;
    at += n * PAGE;
    uint64_t begin = now();
    char sum = 0;
    if (writes) for (long i = 0; i < n; i++) ((volatile char *)from)[i * PAGE] = 1;
    else for (long i = 0; i < n; i++) { sum += from[i * PAGE]; KEEP(sum); }
    uint64_t end = now();
    sink = sum;
    return end - begin;
}
ORACLE(anon_write_) { return touched(n, 1); }
ORACLE(huge_) {
    static size_t at;
    double spent = 0;
    for (long i = 0; i < n; i++, at++) {
        if (at % 4 == 0) CHECK(madvise(area, 8 << 20, MADV_DONTNEED) == 0);
        uint64_t begin = now();
        ((volatile char *)area)[at % 4 << 21] = 1;
        spent += now() - begin;
    }
    return spent;
}
ORACLE(zero_page_) { return touched(n, 0); }
static long next_page;
ORACLE(file_minor_) {
    if (next_page + n > MAPPED) {
        for (int i = 0; i < MAPPED; i++) CHECK(madvise(area + (size_t)i * PAGE, PAGE, MADV_DONTNEED) == 0);
        next_page = 0;
    }
    char *from = area + next_page * PAGE;
    next_page += n;
    char sum = 0;
    LOOP(sum += from[i_ * PAGE]; KEEP(sum));
}
static void map_pages_of_a_file(void) {
    int file = cached_file(2 * MAPPED * PAGE), *of = malloc(MAPPED * sizeof *of);
    shuffle(of, MAPPED);
    area = mmap(0, MAPPED * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < MAPPED; i++)
        CHECK(mmap(area + (size_t)i * PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file, (off_t)of[i] * 2 * PAGE) != MAP_FAILED);
    next_page = MAPPED;
}
ORACLE(map_) {
    size_t bytes = number(0);
    int touches = is(1, "all");
    LOOP(char *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         if (touches) for (size_t at = 0; at < bytes; at += PAGE) ((volatile char *)p)[at] = 1;
         CHECK(munmap(p, bytes) == 0));
}
ORACLE(protect_) {
    static int writable = 1;
    size_t bytes = number(0);
    LOOP(writable = !writable; CHECK(mprotect(area, bytes, PROT_READ | (writable ? PROT_WRITE : 0)) == 0));
}

/* Files. */
static int made, removed;
static void name_of(char *name, int i) { snprintf(name, 16, "file-%03d", i % 40); }
static double files(long n, int creating) {
    char name[16];
    double spent = 0;
    for (long i = 0; i < n; i++) {
        uint64_t begin = 0;
        name_of(name, made++);
        if (creating) begin = now();
        int file = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
        CHECK(file >= 0 && close(file) == 0);
        if (creating) spent += now() - begin;
        name_of(name, removed++);
        begin = now();
        CHECK(unlinkat(fd, name, 0) == 0);
        if (!creating) spent += now() - begin;
    }
    return spent;
}
ORACLE(create_) { return files(n, 1); }
ORACLE(delete_) { return files(n, 0); }
/*
 * In a directory of its own, placed far from others where the file system supports that
 * (chattr +T): ext4 skips inodes that were freed a moment ago, so creating a file costs more where
 * many were removed, by earlier runs as well.
 */
static void some_files(void) {
    char name[32];
    int flags = 0, parent = open(dir, O_RDONLY | O_DIRECTORY);
    if (ioctl(parent, FS_IOC_GETFLAGS, &flags) == 0) { flags |= FS_TOPDIR_FL; ioctl(parent, FS_IOC_SETFLAGS, &flags); }
    snprintf(name, sizeof name, "%llx", (unsigned long long)now() * 2654435761u);
    CHECK(mkdirat(parent, name, 0700) == 0 && (fd = openat(parent, name, O_RDONLY | O_DIRECTORY)) >= 0);
    while (made < 16) {
        name_of(name, made++);
        int file = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
        CHECK(file >= 0 && close(file) == 0);
    }
}
enum { FILE_BYTES = 8 << 20, BLOCK = 64 << 10 };
static char *block;
ORACLE(reread_) {
    static off_t at;
    LOOP(if (at == FILE_BYTES) { at = 0; lseek(fd, 0, SEEK_SET); } CHECK(read(fd, block, BLOCK) == BLOCK); at += BLOCK);
}
ORACLE(pread_) {
    static uint32_t state = 1;
    LOOP(state = state * 1664525 + 1013904223; CHECK(pread(fd, block, PAGE, (off_t)(state >> 8) % (FILE_BYTES / PAGE) * PAGE) == PAGE));
}

/* A pipe whose writer fills and whose reader compares every word. */
static uint64_t transfer;
ORACLE(stream_) {
    LOOP(for (long got = 0, more; got < BLOCK; got += more) CHECK((more = read(in, block + got, BLOCK - got)) > 0);
         uint64_t wrong = 0; for (int i = 0; i < BLOCK / 8; i++) wrong |= ((uint64_t *)block)[i] ^ transfer;
         CHECK(wrong == 0); transfer++);
}
static void stream_over_a_pipe(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    block = memory(BLOCK, 0);
    if (peer() == 0) {
        close(ends[0]);
        for (uint64_t t = 0;; t++) {
            for (int i = 0; i < BLOCK / 8; i++) ((uint64_t *)block)[i] = t;
            for (long put = 0, more; put < BLOCK; put += more) if ((more = write(ends[1], block + put, BLOCK - put)) <= 0) _exit(0);
        }
    }
    close(ends[1]);
    in = ends[0];
}

/* Chains of pointers. */
static void **here;
ORACLE(chase_) {
    void **p = here;
    LOOP(SIXTY_FOUR(p = *p; KEEP(p)); here = p);
}
/* A node every `spacing` bytes, in random order within groups of this many pages, or over all of them. */
static void chain(size_t bytes, size_t spacing, int group_pages, int in_order) {
    area = memory(bytes, is(2, "huge"));
    int pages = bytes / PAGE, each = PAGE / spacing, group = group_pages ? group_pages : pages;
    int *page = malloc(sizeof *page * pages), *node = malloc(sizeof *node * group * each), many = 0;
    char **all = malloc(sizeof *all * pages * each);
    shuffle(page, pages);
    for (int from = 0; from < pages; from += group) {
        int in_group = (from + group <= pages ? group : pages - from) * each;
        shuffle(node, in_group);
        for (int i = 0; i < in_group; i++)
            all[many++] = area + (size_t)page[from + node[i] / each] * PAGE + node[i] % each * spacing;
    }
    if (in_order) for (int i = 0; i < many; i++) all[i] = area + i * spacing;
    for (int i = 0; i < many; i++) *(void **)all[i] = all[(i + 1) % many];
    here = (void **)all[0];
    chase_(many / 64 < 1 << 12 ? many / 64 + 1 : 1 << 12);
}

/* Sequential access, by the longest vectors of the machine. */
#ifndef VECTOR
#define VECTOR 16
#endif
typedef uint64_t vector __attribute__((vector_size(VECTOR)));
static char *to;
static size_t bytes, piece, begun;
#define STEP (4 * VECTOR)
/* The next piece of a large area: a pass over all of it would meet an interruption each time on a
 * busy machine. */
static size_t next(void) {
    size_t at = begun;
    begun = begun + 2 * piece <= bytes ? begun + piece : 0;
    return at;
}
static void in_pieces(size_t all) {
    bytes = all;
    piece = all < 1 << 20 ? all : 1 << 20;
}
#define OVER(...) LOOP(for (size_t at = next(), end = at + piece; at < end; at += STEP) { vector *s = (vector *)(area + at), *d = (vector *)(to + at); (void)s; (void)d; __VA_ARGS__; } __asm__ volatile("" ::: "memory"))
ORACLE(read_all_) {
    vector a = {0}, b = a, c = a, e = a;
    uint64_t begin = now();
    for (long i = 0; i < n; i++) {
/* Four steps a turn: with vectors of 64 bytes the turns themselves take a third of the time of
 * 16 KiB (Granite Rapids: 318 GB/s, and 425 so). */
#pragma GCC unroll 4
        for (size_t at = next(), end = at + piece; at < end; at += STEP) { vector *s = (vector *)(area + at); a |= s[0]; b |= s[1]; c |= s[2]; e |= s[3]; }
        __asm__ volatile("" ::: "memory");
    }
    uint64_t spent = now() - begin;
    a |= b | c | e;
    sink = a[0];
    return spent;
}
ORACLE(write_all_) { vector v = {0}; v += word; OVER(d[0] = v; d[1] = v; d[2] = v; d[3] = v); }
ORACLE(copy_all_) { OVER(d[0] = s[0]; d[1] = s[1]; d[2] = s[2]; d[3] = s[3]); }
/* The same by libc, which may have better instructions: on an Intel guest `rep stosb` writes 64 MiB
 * at 29 GB/s, where vectors, which read each line first, reach 17. */
ORACLE(write_libc_) { LOOP(memset(to + next(), (int)word, piece); __asm__ volatile("" ::: "memory")); }
ORACLE(copy_libc_) { LOOP(size_t at = next(); memcpy(to + at, area + at, piece); __asm__ volatile("" ::: "memory")); }

#include "messages.h"
#include "isolation.h"
#include "kernel.h"

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "leave") == 0) return 42;
    if (argc < 5) return 2;
    own_cpu = atoi(argv[1]), peer_cpu = atoi(argv[2]), dir = argv[3], argument = argv + 5, arguments = argc - 5;
    const char *name = argv[4];
    char path[4096];
    self = getpid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(60);
    pin(own_cpu);
    double value = -1;
#define NAME(text) else if (strcmp(name, text) == 0)
#define OF(timed) value = lower_quartile(timed, WINDOW, PLENTY)
#define FASTER_OF(one, other) OF(one); { double first = value; OF(other); value = first < value ? first : value; }
#define TRIPS_OF(timed) value = own_cpu == peer_cpu ? lower_quartile(timed, WINDOW, PLENTY) : lowest_tenth(timed)
    if (0) {}
#define CALL(name, set_up, ...) NAME(#name) { set_up; OF(name##_); }
#include "calls.h"
    NAME("signal_install") OF(install_);
    NAME("call") { OF(call_); value /= 64; }
    NAME("add") { OF(add_); value /= 64; }
    NAME("mul") { OF(mul_); value /= 64; }
    NAME("pipe_rtt") { trips_over_pipes(); TRIPS_OF(trip_); }
    NAME("unix_rtt") { trips_over_unix(); TRIPS_OF(trip_); }
    NAME("tcp_rtt") { trips_over_ip(SOCK_STREAM); TRIPS_OF(trip_); }
    NAME("udp_rtt") { trips_over_ip(SOCK_DGRAM); OF(trip4_); }
    NAME("mmsg") { datagrams(0); OF(mmsg_); value /= BATCH; }
    NAME("segments") { datagrams(DATAGRAM); OF(segments_); value /= BATCH; }
    NAME("pass") { CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair_) == 0); OF(pass_); }
    NAME("getppid_filtered") { filter(number(0)); OF(getppid_); }
    NAME("supervised") { supervisor(); TRIPS_OF(supervised_); }
    NAME("namespace") { fresh = CLONE_NEWNET; OF(namespace_); }
    NAME("groups") { groups(); value = lower_quartile(groups_, 5000000, PLENTY) / (TASKS * TASKS); }
    NAME("futex_rtt") { trips_over_futexes(); OF(futex_trip_); }
    NAME("ring") { ring_of_tasks(); OF(ring_); value /= tasks; }
    NAME("core_to_core") value = core_to_core();
    NAME("contended") value = contended();
    NAME("signal") { start(sleeping); value = lowest_tenth(signal_); }
    NAME("barrier") { pthread_barrier_init(&meeting, 0, 2); start(crossing); value = lowest_tenth(barrier_); }
    NAME("fork") {
        /* The private memory of a debug build of groma, which a fork copies (its fact fork.anonymous). */
        memory(512 << 10, 0);
        if (number(0)) memory(number(0), is(1, "huge"));
        OF(fork_);
    }
    NAME("vfork") OF(vfork_);
    NAME("exec_bare") { snprintf(path, sizeof path, "%s/leaf", dir); program[0] = path; OF(exec_); }
    NAME("exec_dynamic") { program[0] = argv[0]; OF(exec_); }
    NAME("spawn_bare") { snprintf(path, sizeof path, "%s/leaf", dir); program[0] = path; OF(spawn_); }
    NAME("thread") { pthread_attr_init(&small); pthread_attr_setstacksize(&small, 64 << 10); OF(thread_); }
    NAME("sleep") value = lower_quartile(sleep_, 1, 1);
    NAME("anon_write") { area = memory(AREA, 0); value = lower_quartile(anon_write_, WINDOW, AREA / PAGE); }
    NAME("zero_page") { area = memory(AREA, 0); value = lower_quartile(zero_page_, WINDOW, AREA / PAGE); }
    NAME("process_read") { other_memory(); OF(process_read_); value = READ * 1e9 / value; }
    NAME("userfault") { userfault(); value = lower_quartile(userfault_, WINDOW, AREA / PAGE); }
    NAME("huge_fault") { area = memory(8 << 20, 1); value = lower_quartile(huge_, 1, 1); }
    NAME("file_minor") { map_pages_of_a_file(); value = lower_quartile(file_minor_, WINDOW, MAPPED); }
    NAME("map") {
        /* As many mappings as a larger program has, none like its neighbour. With few mappings, or
         * next to one to merge with, it is another operation: this small program then took 3.9 us
         * instead of 2.8 us with 40 mappings. */
        for (int i = 0; i < 40; i++) CHECK(mmap(0, PAGE, i & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
        OF(map_);
    }
    NAME("protect") { area = memory(8 << 20, 0) + (2 << 20); CHECK(munmap(area - PAGE, PAGE) == 0 && munmap(area + number(0), PAGE) == 0); OF(protect_); }
    NAME("create") { some_files(); value = lower_quartile(create_, 1, 1); }
    NAME("delete") { some_files(); value = lower_quartile(delete_, 1, 1); }
    NAME("reread") { fd = cached_file(FILE_BYTES); lseek(fd, 0, SEEK_SET); block = memory(BLOCK, 0); OF(reread_); value = BLOCK * 1e9 / value; }
    NAME("pread") { fd = cached_file(FILE_BYTES); block = memory(BLOCK, 0); OF(pread_); }
    NAME("pipe_bandwidth") { stream_over_a_pipe(); value = lower_quartile(stream_, 200000, PLENTY); value = BLOCK * 1e9 / value; }
    NAME("latency") { chain(number(0), number(1), is(3, "amortised") ? 32 : 0, is(3, "in_order")); OF(chase_); value /= 64; }
    NAME("read_all") { in_pieces(number(0)); area = memory(bytes, 0); OF(read_all_); value = piece * 1e9 / value; }
    NAME("write_all") {
        in_pieces(number(0)); to = memory(bytes, 0);
        FASTER_OF(write_all_, write_libc_);
        value = piece * 1e9 / value;
    }
    NAME("copy_all") {
        in_pieces(number(0) / 2); area = memory(2 * bytes + PAGE, 0); to = area + bytes + PAGE / 2;
        FASTER_OF(copy_all_, copy_libc_);
        value = piece * 2e9 / value;
    }
    else value = of_kernel(name);
    if (value < 0) { fprintf(stderr, "no oracle is called %s\n", name); return 2; }
    printf("%.6g\n", value);
    return 0;
}
