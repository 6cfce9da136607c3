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

static void reset(void)
{
    memset(seen, 0, sizeof *seen);
}

#define RESULT(is)                                                                                \
    do {                                                                                           \
        CHECK((gettime() > 0) == (is));                                                            \
        CHECK_NUMBER(seen->wrong, 0);                                                              \
        CHECK_NUMBER(seen->ended, seen->begun);                                                    \
        CHECK(seen->begun > 0);                                                                    \
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
    (void)c;
    while (n-- > 0)
        getppid();
}

static void callbacks_in_their_order(void)
{
    reset();
    benchmp(initialize, calls, cleanup, 0, 2, 0, 3, &cookie);
    RESULT(1);
    CHECK(seen->begun >= 6 && seen->members == 3);
    CHECK_NUMBER(seen->intervals, seen->bodies);
    CHECK_NUMBER(get_results()->N, 3);
    /* The headline is one of the rounds, within the rounding of both. */
    double headline = groma_lmb_ns();
    save_median();
    CHECK(fabs(headline / groma_lmb_ns() - 1) < 1e-6);
    save_minimum();
    CHECK(groma_lmb_ns() <= headline * (1 + 1e-6));
    /* Without other callbacks. */
    benchmp(NULL, only, NULL, 0, 1, 0, 1, &cookie);
    CHECK(gettime() > 0);
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
    reset();
    benchmp(protected_initialize, store, cleanup, 0, 1, 0, 2, &cookie);
    RESULT(1);
    CHECK_NUMBER(seen->bodies, seen->begun); /* once in each child */
    CHECK(seen->intervals > 2 * seen->bodies);
    reset();
    benchmp(initialize, forever, cleanup, 0, 2, 0, 2, &cookie);
    RESULT(1);
    CHECK_NUMBER(seen->bodies, seen->begun);
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
    reset();
    most = 0;
    benchmp(helper_initialize, round_trips, cleanup, 0, 1, 0, 2, &cookie);
    RESULT(1);
    CHECK(seen->helper > 0 && kill(seen->helper, 0) != 0 && errno == ESRCH);
    reset();
    most = 100;
    benchmp(helper_initialize, round_trips, cleanup, 0, 1, 0, 2, &cookie);
    RESULT(0);
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
    reset();
    benchmp(initialize, forks, cleanup, 0, 1, 0, 1, &cookie);
    RESULT(1);
    /* A handler of the program's takes no children away from the engine. */
    signal(SIGCHLD, sigchld_wait_handler);
    reset();
    benchmp(initialize, calls, cleanup, 0, 2, 0, 3, &cookie);
    RESULT(1);
    CHECK(signal(SIGCHLD, SIG_DFL) == sigchld_wait_handler);
    reset();
    benchmp(initialize, asks_itself_to_end, cleanup, 0, 1, 0, 1, &cookie);
    RESULT(0);
    CHECK_NUMBER(seen->bodies, 0);
    reset();
    benchmp(connects, calls, cleanup, 0, 1, 0, 1, &cookie);
    RESULT(0);
    CHECK_NUMBER(seen->bodies, 0);
    CHECK_NUMBER(get_n(), 1);
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
    CHECK_NUMBER(exit_code(calls), 0);
    CHECK_NUMBER(exit_code(asks_itself_to_end), 1);
    callbacks_in_their_order();
    bodies_that_never_return();
    helpers_end_with_their_child();
    what_goes_wrong_has_no_result();
    /* Failures above were asked for; on_exit() would make them this program's. */
    fflush(NULL);
    _exit(failures > 0);
}
