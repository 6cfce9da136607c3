/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * measure.c - benchmp() with an engine: which callback runs when and where, bodies that never
 * return, and that whatever goes wrong leaves no result and no process.
 */
#include "check.h"

/* What the children did, which run in processes of their own. */
static struct {
    int begun, ended;   /* calls with 0 */
    int intervals;      /* calls of initialize() with a number */
    int wrong;          /* calls that were out of order */
    int bodies;         /* calls of the body, or what a test counts instead */
    int members;        /* a bit for each child's number */
    pid_t helper;
} *seen;

/* The same within one child. */
static iter_t expected; /* iterations of the interval that is prepared; 0 between two */
static int begun_here;
static int cookie;

static void initialize(iter_t n, void *c)
{
    seen->wrong += c != &cookie;
    if (n == 0) {
        seen->wrong += begun_here++ != 0;
        __sync_fetch_and_add(&seen->begun, 1);
        __sync_fetch_and_or(&seen->members, 1 << benchmp_childid());
    } else {
        seen->wrong += begun_here != 1 || expected != 0;
        __sync_fetch_and_add(&seen->intervals, 1);
        expected = n;
    }
}

static void cleanup(iter_t n, void *c)
{
    seen->wrong += c != &cookie || n != expected;
    expected = 0;
    if (n == 0) {
        __sync_fetch_and_add(&seen->ended, 1);
        begun_here = -1;
    }
}

/* Measures; whether that worked. An engine refuses values that are disturbed too much, and ends
 * children that take too long, so without a value it counts that the children went on: one that
 * fails does so in its first intervals. */
static int measured(benchmp_f init, benchmp_f body, int members, int rounds)
{
    memset(seen, 0, sizeof *seen);
    benchmp(init, body, cleanup, 0, members, 0, rounds, &cookie);
    CHECK_NUMBER(seen->wrong, 0);
    CHECK(seen->begun > 0);
    CHECK(seen->ended >= get_results()->N * members && seen->ended <= seen->begun);
    return gettime() > 0 || seen->intervals > 3 * seen->begun;
}

#define HAS_RESULT(init, body, members, rounds) CHECK(measured(init, body, members, rounds))
/* It cleans up all the same. */
#define HAS_NONE(init, body)                                                                      \
    do {                                                                                           \
        measured(init, body, 1, 1);                                                                \
        CHECK(gettime() == 0 && get_n() == 1);                                                     \
        CHECK(seen->ended > 0);                                                                    \
    } while (0)

static void calls(iter_t n, void *c)
{
    seen->wrong += n != expected || c != &cookie;
    __sync_fetch_and_add(&seen->bodies, 1);
    while (n-- > 0)
        getppid();
}

static void only(iter_t n, void *c)
{
    seen->wrong += c != &cookie;
    __sync_fetch_and_add(&seen->bodies, 1);
    while (n-- > 0)
        getppid();
}

static void callbacks_in_their_order(void)
{
    HAS_RESULT(initialize, calls, 2, 3);
    if (get_results()->N == 3)
        CHECK(seen->begun >= 6 && seen->members == 3);
    CHECK(seen->bodies > 0 && seen->bodies <= seen->intervals);
    CHECK(get_results()->N <= 3);
    /* The headline is the median of the rounds, within the rounding of both. */
    double headline = groma_lmb_ns();
    if (headline > 0 && get_results()->N % 2) {
        save_median();
        CHECK(fabs(headline / groma_lmb_ns() - 1) < 1e-6);
    }
    save_minimum();
    CHECK(groma_lmb_ns() <= headline * (1 + 1e-6));
    /* Without other callbacks. */
    memset(seen, 0, sizeof *seen);
    benchmp(NULL, only, NULL, 0, 1, 0, 1, &cookie);
    CHECK(seen->bodies > 1);
}

/* In a handler: the store is repeated, and fails again. */
static volatile iter_t left;

static void on_fault(int signo)
{
    (void)signo;
    if (--left == 0) {
        left = benchmp_interval(benchmp_getstate());
        seen->wrong += left != expected;
    }
}

static void protected_initialize(iter_t n, void *c)
{
    initialize(n, c);
    if (n == 0)
        signal(SIGSEGV, on_fault);
}

static void store(iter_t n, void *c)
{
    (void)c;
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    __sync_fetch_and_add(&seen->bodies, 1);
    left = n;
    *(volatile char *)page = 1;
}

/* In plain code. */
static void forever(iter_t n, void *c)
{
    __sync_fetch_and_add(&seen->bodies, 1);
    for (;;) {
        seen->wrong += n != expected || c != &cookie;
        while (n-- > 0)
            getppid();
        n = benchmp_interval(benchmp_getstate());
    }
}

static void bodies_that_never_return(void)
{
    HAS_RESULT(protected_initialize, store, 1, 2);
    CHECK(seen->bodies > 0 && seen->bodies <= seen->begun); /* once in each child */
    CHECK(seen->intervals > 2 * seen->bodies);
    HAS_RESULT(initialize, forever, 2, 2);
    CHECK(seen->bodies > 0 && seen->bodies <= seen->begun);
    CHECK(seen->intervals > 2 * seen->bodies);
}

/* A helper echoes; `most` bytes, or for ever. The program never ends it. */
static int pipes[2][2];
static int most;

static void helper_initialize(iter_t n, void *c)
{
    initialize(n, c);
    if (n != 0)
        return;
    char byte;
    if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0)
        exit(1);
    pid_t pid = fork();
    if (pid != 0) {
        seen->helper = pid;
        return;
    }
    for (int i = 0; (most == 0 || i < most) && read(pipes[0][0], &byte, 1) == 1; i++)
        if (write(pipes[1][1], &byte, 1) != 1)
            break;
    _exit(0);
}

/* The benchmark holds the other ends too, so nothing but SIGCHLD tells that the helper is dead. */
static void round_trips(iter_t n, void *c)
{
    char byte = 1;
    (void)c;
    while (n-- > 0)
        if (write(pipes[0][1], &byte, 1) != 1 || read(pipes[1][0], &byte, 1) != 1)
            _exit(1);
}

static void helpers_end_with_their_child(void)
{
    most = 0;
    HAS_RESULT(helper_initialize, round_trips, 1, 2);
    CHECK(seen->helper > 0 && kill(seen->helper, 0) != 0 && errno == ESRCH);
    most = 100;
    HAS_NONE(helper_initialize, round_trips);
}

static void forks(iter_t n, void *c)
{
    (void)c;
    while (n-- > 0) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        seen->wrong += waitpid(pid, NULL, 0) != pid;
    }
}

static void asks_itself_to_end(iter_t n, void *c)
{
    (void)n;
    (void)c;
    kill(getpid(), SIGTERM);
    __sync_fetch_and_add(&seen->bodies, 1);
}

static void connects(iter_t n, void *c)
{
    initialize(n, c);
    if (n == 0)
        tcp_connect("127.0.0.1", -1, SOCKOPT_NONE);
}

static void what_goes_wrong_has_no_result(void)
{
    /* The child's own children are no helpers. */
    HAS_RESULT(initialize, forks, 1, 1);
    /* A handler of the program's takes no children away from the engine. */
    signal(SIGCHLD, sigchld_wait_handler);
    HAS_RESULT(initialize, calls, 2, 3);
    CHECK(signal(SIGCHLD, SIG_DFL) == sigchld_wait_handler);
    HAS_NONE(initialize, asks_itself_to_end);
    CHECK_NUMBER(seen->bodies, 0);
    HAS_NONE(connects, calls);
    CHECK_NUMBER(seen->bodies, 0);
}

/* Of programs that return 0 from main(). */
static int exit_code(benchmp_f body)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        begun_here = 0;
        benchmp(initialize, body, cleanup, 0, 1, 0, 1, &cookie);
        exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int code = 1;
    for (int i = 0; i < 10 && code != 0; i++)
        code = exit_code(calls);
    CHECK_NUMBER(code, 0);
    CHECK_NUMBER(exit_code(asks_itself_to_end), 1);
    callbacks_in_their_order();
    bodies_that_never_return();
    helpers_end_with_their_child();
    what_goes_wrong_has_no_result();
    /* Failures above were asked for; on_exit() would make them this program's. */
    fflush(NULL);
    _exit(failures > 0);
}
