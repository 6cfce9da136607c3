/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * benchmp.c - benchmp() and its kin, on top of groma_measure_here().
 *
 * The engine forks children of this process for each round, `parallel` of them at once, and in each
 * calls begin(), interval() many times, and end(). What is lmbench's is here: which callback runs
 * when, in which process state, and how the result reads for the program.
 *
 * `enough` was made up for a clock of microseconds and for noise: a second and more. The engine
 * calibrates an interval for its own clock, excludes disturbed intervals, which must be short for
 * that, and takes the median of rounds. So `enough` only says how long a round samples, between
 * 25 ms (the engine's default) and 100 ms; longer ones would add time and no precision.
 *
 * `repetitions` are rounds, each in fresh processes, and `warmup` is passed on. States that lmbench
 * names warm-up and cool-down do not exist here: the engine proves that the children overlap, and
 * discards what they do before and after.
 *
 * The body. A body that cannot return (a fault handler that never repairs the fault, a timer whose
 * signals count iterations) calls benchmp_interval() instead, possibly from a signal handler, and
 * goes on with the next interval when that returns. So the body has a stack of its own: at the end
 * of an interval control changes to the harness's stack, and back when the harness wants the next.
 * The watch starts on the body's stack just before the body and stops just after it, so the change
 * is never timed. A body that is suspended when a round ends is abandoned with its process.
 *
 * Trouble. SIGTERM and the death of a helper leave the body at once, clean up and fail the round.
 * They change to the harness's stack first, so that callbacks run with the program's cookie and not
 * within a handler; still, a callback that needs a lock which the body held will hang, until the
 * engine's deadline. A helper is a child that existed before the interval began: a child that the
 * body makes and waits for is no trouble. SIGCHLD has a handler only while there are helpers, since
 * a handler would be part of the time of a benchmark that forks.
 */
#include "internal.h"

#include <groma.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* groma_found holds no more. */
#define MOST_ROUNDS 63
#define MOST_HELPERS 64
#define SHORTEST_SAMPLE_US 25000
#define LONGEST_SAMPLE_US 100000
/* The stack of the body, where the limit for stacks does not say otherwise. */
#define STACK (8u << 20)
#define SMALLEST_STACK (1u << 20)
#define LARGEST_STACK (64u << 20)

/* The measurement that runs, as one child sees it. */
static struct {
    benchmp_f initialize, benchmark, cleanup;
    void *cookie;
    groma_ctx *ctx;
    groma_watch *watch;
    iter_t iterations;
    pid_t owner; /* the child; helpers have inherited a copy of all this */
    int member;
    ucontext_t harness, body;
    volatile sig_atomic_t in_body;
    const char *volatile why; /* what failed */
    int finished;             /* 1: cleanup(0) was called */
    struct itimerval timer;   /* what the body's timer had left */
    int ticks;                /* 1: it has one */
    struct sigaction programs_sigchld; /* before benchmp() */
    int watched;     /* 1: SIGCHLD is ours */
    int has_handler; /* 1: and has a handler at the moment */
    pid_t helpers[MOST_HELPERS];
    int n_helpers;
} child;

/* Why the last connection failed, else empty. */
static char no_peer[256];

void groma_lmb_no_peer(const char *why)
{
    if (why)
        snprintf(no_peer, sizeof no_peer, "%s", why);
    else if (!child.in_body)
        no_peer[0] = '\0'; /* in a body, an iteration that failed stays one */
}

/* Fails the round. Does not return if the body runs. */
static void trouble(const char *why)
{
    if (!child.why)
        child.why = why;
    if (child.in_body) {
        child.in_body = 0;
        setcontext(&child.harness);
    }
}

static void on_sigterm(int number)
{
    /* A helper that inherited this, and whoever asks twice, end as without a handler. */
    if (getpid() != child.owner || child.why) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    trouble("it was asked to end (SIGTERM)");
}

/* Whether a helper is dead; it can still be waited for. */
static int a_helper_died(void)
{
    for (int i = 0; i < child.n_helpers; i++) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)child.helpers[i], &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == child.helpers[i])
            return 1;
    }
    return 0;
}

static void on_sigchld(int number)
{
    int saved = errno;
    (void)number;
    if (getpid() == child.owner && a_helper_died())
        trouble("a process that the benchmark started has ended");
    errno = saved;
}

/* Lists the children of this process. */
static void list_helpers(void)
{
    child.n_helpers = 0;
    siginfo_t info;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return; /* ECHILD: the usual case, in one call */
    FILE *file = fopen("/proc/thread-self/children", "re");
    if (!file)
        return; /* a kernel without this file: the death of a helper goes unnoticed */
    int pid;
    while (child.n_helpers < MOST_HELPERS && fscanf(file, "%d", &pid) == 1)
        child.helpers[child.n_helpers++] = pid;
    fclose(file);
}

/* Gives SIGCHLD a handler while there are helpers, unless the benchmark has set its own. */
static void watch_helpers(void)
{
    list_helpers();
    if (!child.watched)
        return;
    struct sigaction is;
    sigaction(SIGCHLD, NULL, &is);
    if (is.sa_handler != (child.has_handler ? on_sigchld : SIG_DFL)) {
        child.watched = 0;
        return;
    }
    if ((child.n_helpers > 0) != child.has_handler) {
        child.has_handler = child.n_helpers > 0;
        struct sigaction next = {.sa_handler = child.has_handler ? on_sigchld : SIG_DFL,
                                 .sa_flags = SA_RESTART};
        sigaction(SIGCHLD, &next, NULL);
    }
    if (child.has_handler && a_helper_died())
        trouble("a process that the benchmark started has ended");
}

/* Once, whatever happened: the program's own clean-up, then the helpers that survived it. */
static void finish(void)
{
    if (child.finished)
        return;
    child.finished = 1;
    if (child.has_handler) {
        signal(SIGCHLD, SIG_DFL); /* clean-up ends helpers */
        child.watched = child.has_handler = 0;
    }
    if (child.cleanup)
        child.cleanup(0, child.cookie);
    list_helpers();
    for (int i = 0; i < child.n_helpers; i++) {
        kill(child.helpers[i], SIGKILL);
        waitpid(child.helpers[i], NULL, 0);
    }
}

static int failed(void)
{
    char why[256];
    snprintf(why, sizeof why, "%s", child.why ? child.why : no_peer);
    finish();
    return groma_end(child.ctx, GROMA_FAILED, why);
}

static void body(void)
{
    for (;;) {
        child.in_body = 1;
        groma_start(child.watch);
        child.benchmark(child.iterations, child.cookie);
        groma_stop(child.watch);
        child.in_body = 0;
        swapcontext(&child.body, &child.harness);
    }
}

/* What the limit for stacks says, within bounds, in whole pages. */
static size_t stack_size(size_t page)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return STACK;
    size_t size = (size_t)limit.rlim_cur;
    size = size < SMALLEST_STACK ? SMALLEST_STACK : size > LARGEST_STACK ? LARGEST_STACK : size;
    return (size + page - 1) / page * page;
}

/* Makes the stack; a page below it catches an overflow. */
static int make_stack(stack_t *stack)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    stack->ss_size = stack_size(page);
    char *low = mmap(NULL, stack->ss_size + page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (low == MAP_FAILED || mprotect(low, page, PROT_NONE) != 0)
        return -1;
    stack->ss_sp = low + page;
    return 0;
}

static int make_body(void)
{
    if (getcontext(&child.body) != 0 || make_stack(&child.body.uc_stack) != 0)
        return -1;
    makecontext(&child.body, body, 0);
    return 0;
}

static int begin(groma_ctx *ctx, void *state)
{
    (void)state;
    child.ctx = ctx;
    child.owner = getpid();
    child.member = (int)groma_member(ctx);
    /* What the program itself has set holds. */
    struct sigaction sigterm;
    sigaction(SIGTERM, NULL, &sigterm);
    if (sigterm.sa_handler == SIG_DFL)
        signal(SIGTERM, on_sigterm);
    if (child.programs_sigchld.sa_handler == SIG_DFL) {
        signal(SIGCHLD, on_sigchld);
        child.watched = child.has_handler = 1;
    } else {
        sigaction(SIGCHLD, &child.programs_sigchld, NULL);
    }
    if (handle_scheduler(child.member, 0, 0) != 0)
        return groma_fail(ctx, "it cannot run where LMBENCH_SCHED places it");
    if (make_body() != 0)
        return groma_fail_errno(ctx, errno, "a stack for the benchmark");
    if (child.initialize)
        child.initialize(0, child.cookie);
    watch_helpers();
    return child.why || no_peer[0] ? failed() : 0;
}

static int interval(uint64_t iters, void *state, groma_watch *watch)
{
    (void)state;
    child.iterations = (iter_t)iters;
    child.watch = watch;
    if (child.initialize)
        child.initialize(child.iterations, child.cookie);
    watch_helpers();
    if (child.why || no_peer[0])
        return failed();
    /* Continues a suspended body, or begins a new one. */
    swapcontext(&child.harness, &child.body);
    if (child.cleanup)
        child.cleanup((iter_t)iters, child.cookie);
    return child.why || no_peer[0] ? failed() : 0;
}

static int end(groma_ctx *ctx, void *state)
{
    (void)ctx;
    (void)state;
    finish();
    return 0;
}

void *benchmp_getstate(void)
{
    return &child;
}

int benchmp_childid(void)
{
    return child.member;
}

/* A body that waits for SIGALRM counts ticks. Between two intervals its timer stands still: a tick
 * there would be waiting when the next interval begins, and take no time. Where there is a timer it
 * is stopped and started within the timed part, two calls for an interval, so that it runs exactly
 * while the watch does; whether there is one, the end of the first interval tells. */
static void hold_timer(void)
{
    static const struct itimerval none;
    setitimer(ITIMER_REAL, &none, &child.timer);
    child.ticks = timerisset(&child.timer.it_value);
}

iter_t benchmp_interval(void *state)
{
    (void)state;
    /* Outside a body there is no interval to end: a timer may tick once too often. */
    if (!child.in_body)
        return child.iterations;
    if (child.ticks)
        hold_timer();
    groma_stop(child.watch);
    if (!child.ticks)
        hold_timer();
    child.in_body = 0;
    /* Signals that are blocked here, in a handler, stay blocked in the harness: a timer's handler
     * must not run there. Faults cannot wait, so they are left alone. */
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    sigdelset(&blocked, SIGFPE);
    sigdelset(&blocked, SIGILL);
    sigdelset(&blocked, SIGTRAP);
    sigorset(&child.harness.uc_sigmask, &child.harness.uc_sigmask, &blocked);
    swapcontext(&child.body, &child.harness);
    child.in_body = 1;
    groma_start(child.watch);
    if (child.ticks)
        setitimer(ITIMER_REAL, &child.timer, NULL);
    return child.iterations;
}

/* --- in the process that calls benchmp() ---------------------------------------------------- */

static int measurements;
static pid_t failed_in;

/* Programs return 0 whatever happened, since lmbench's do; then this makes it 1. */
static void on_program_exit(int status, void *unused)
{
    (void)unused;
    if (status == 0 && failed_in == getpid()) {
        fflush(NULL);
        _exit(1);
    }
}

static void give_up(const char *why)
{
    groma_lmb_a_part_failed = 1;
    groma_lmb_note("no result: %s", why && *why ? why : "nothing was measured");
    if (!failed_in)
        on_exit(on_program_exit, NULL);
    failed_in = getpid();
}

/* Makes the rounds the samples and their median, as the engine states it, the current result. */
static void take(const groma_found *found)
{
    value_t median = groma_lmb_value(found->ns);
    for (unsigned i = 0; i < found->n_rounds && i < GROMA_N(found->rounds_ns); i++) {
        double us = found->rounds_ns[i] * (double)median.n / 1000;
        insertsort(us > 0 ? (uint64)(us + 0.5) : 0, median.n, get_results());
    }
    groma_lmb_set(found->ns * (double)median.n, median.n);
}

static uint64_t sample_us(int enough)
{
    if (enough <= 0 && !getenv("ENOUGH"))
        return 0;
    int us = get_enough(enough);
    if (us < SHORTEST_SAMPLE_US)
        return SHORTEST_SAMPLE_US;
    return (uint64_t)(us > LONGEST_SAMPLE_US ? LONGEST_SAMPLE_US : us);
}

void benchmp(benchmp_f initialize, benchmp_f benchmark, benchmp_f cleanup, int enough, int parallel,
             int warmup, int repetitions, void *cookie)
{
    int rounds = repetitions < 1 ? 1 : repetitions > MOST_ROUNDS ? MOST_ROUNDS : repetitions;
    /* Room for what a program may copy: repetitions of every child. */
    int members = parallel < 1 ? 1 : parallel;
    int room = repetitions < 1 ? 1 : repetitions;
    groma_lmb_new_results(room > INT_MAX / 32 / members ? INT_MAX / 32 : room * members);
    groma_lmb_set(0, 1);
    groma_lmb_check_policy();

    memset(&child, 0, sizeof child);
    no_peer[0] = '\0';
    child.initialize = initialize;
    child.benchmark = benchmark;
    child.cleanup = cleanup;
    child.cookie = cookie;

    size_t length;
    char *args = groma_lmb_arguments(&length);
    char *name = groma_lmb_metric(program_invocation_short_name, args, length, ++measurements);
    char *command = groma_lmb_command(program_invocation_short_name, args, length);
    groma_here here = {
        .size = sizeof here,
        .name = name,
        .summary = command,
        .begin = begin,
        .end = end,
        .interval = interval,
        .members = (unsigned)members,
        .rounds = (unsigned)rounds,
        .warm_us = (uint64_t)(warmup > 0 ? warmup : 0),
        .sample_us = sample_us(enough),
    };
    groma_found found = {.size = sizeof found};

    /* A child that exits must not print again what waits in a buffer. */
    fflush(NULL);
    /* The engine waits for its children; a handler of the program's would do that first. */
    struct sigaction none = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &none, &child.programs_sigchld);
    int error = groma_measure_here(&here, &found);
    sigaction(SIGCHLD, &child.programs_sigchld, NULL);
    free(args);
    free(name);
    free(command);
    if (error != 0 || !(found.ns > 0) || !isfinite(found.ns)) {
        give_up(found.why);
        return;
    }
    if (found.not_parallel)
        groma_lmb_note("the %d processes did not run side by side in every round", members);
    if (found.imprecise)
        groma_lmb_note("imprecise: %.4g ns, 95 %% interval %.4g to %.4g ns", found.ns,
                       found.low_ns, found.high_ns);
    if (found.why[0])
        groma_lmb_note("%s", found.why);
    take(&found);
}
