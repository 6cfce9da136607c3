/* Benchmarks that end their rounds in every way that C knows, beside one that is well. */
#include <groma.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int well(uint64_t iters, void *state)
{
    (void)state;
    for (uint64_t i = 0; i < iters; i++)
        getppid();
    return 0;
}

static int crashes(uint64_t iters, void *state)
{
    (void)iters;
    raise(SIGSEGV);
    return state != NULL;
}

static int aborts(uint64_t iters, void *state)
{
    (void)iters, (void)state;
    abort();
}

static int exits(uint64_t iters, void *state)
{
    (void)iters, (void)state;
    exit(3);
}

static jmp_buf gone;

static int jumps(uint64_t iters, void *state)
{
    (void)state;
    longjmp(gone, (int)iters);
}

static int refused(uint64_t iters, void *state)
{
    (void)iters, (void)state;
    return EPERM;
}

static int unknown(uint64_t iters, void *state)
{
    (void)iters, (void)state;
    return ENOSYS;
}

static int minus(uint64_t iters, void *state)
{
    (void)iters, (void)state;
    return -7;
}

static int says_why(groma_ctx *ctx, void **state)
{
    (void)state;
    return groma_fail(ctx, "%d of %s", 3, "four");
}

static int not_here(groma_ctx *ctx, void **state)
{
    (void)state;
    return groma_not_supported(ctx, "no such device");
}

static int asks_for_more(groma_ctx *ctx, void **state)
{
    (void)state;
    return groma_int(ctx, "length") > 0;
}

static int keeps_context(groma_ctx *ctx, void **state)
{
    *state = ctx;
    return 0;
}

static int proves_while_it_runs(uint64_t iters, void *state)
{
    groma_prove((groma_ctx *)state, "iterations", (double)iters, 0, 1);
    return 0;
}

static int breaks_a_proof(groma_ctx *ctx, void *state)
{
    (void)state;
    groma_prove(ctx, "iterations", (double)groma_iterations(ctx, NULL), 0, 0);
    return 0;
}

static int peer(void *state)
{
    (void)state;
    return 9;
}

static int peer_fails(groma_ctx *ctx, void **state)
{
    (void)state;
    return groma_fork_peer(ctx, peer, NULL, NULL, 0) < 0;
}

static void *wait_for_ever(void *arg)
{
    (void)arg;
    pause();
    return NULL;
}

static int starts_a_thread(groma_ctx *ctx, void **state)
{
    (void)state;
    pthread_t thread;
    int error = pthread_create(&thread, NULL, wait_for_ever, NULL);
    return error ? groma_fail_errno(ctx, error, "pthread_create") : 0;
}

static int forks(groma_ctx *ctx, void **state)
{
    (void)state;
    pid_t child = fork();
    if (child < 0)
        return groma_fail_errno(ctx, errno, "fork");
    if (child == 0)
        for (;;)
            pause();
    return 0;
}

static int lives(groma_ctx *ctx, void **state)
{
    (void)ctx;
    *state = strdup("state");
    return *state ? 0 : ENOMEM;
}

static int two_loops(groma_ctx *ctx, void *state)
{
    const groma_loop loops[] = {
        {.size = sizeof(groma_loop), .run = well, .state = state},
        {.size = sizeof(groma_loop), .name = "control", .run = well, .state = state},
    };
    return groma_measure(ctx, loops, GROMA_N(loops));
}

static int without_context(groma_ctx *ctx, void **state)
{
    (void)ctx, (void)state;
    return groma_int(NULL, "size") > 0;
}

static int states_no_number(groma_ctx *ctx, void *state)
{
    (void)state;
    groma_state(ctx, "", 0.0 / 0.0);
    return 0;
}

static int touches_new_memory(uint64_t iters, void *state)
{
    enum { SIZE = 1 << 20 };
    (void)state;
    for (uint64_t i = 0; i < iters; i++) {
        void *bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (bytes == MAP_FAILED)
            return errno;
        memset(bytes, 1, SIZE);
        munmap(bytes, SIZE);
    }
    return 0;
}

GROMA_BENCH(registered, .name = "c.registered", .run = well);

#define BENCH .size = sizeof(groma_bench)

int main(int argc, char **argv)
{
    static const groma_output difference[] = {
        {.size = sizeof(groma_output), .summary = "twice the same"},
        {.size = sizeof(groma_output), .name = "control", .detail = 1},
        {.size = sizeof(groma_output), .name = "net", .how = GROMA_DIFFERENCE, .of = "", .to = "control"},
        {.size = sizeof(groma_output), .name = "ratio", .how = GROMA_QUOTIENT, .of = "", .to = "control",
         .quantity = GROMA_RATIO, .own_quantity = 1},
    };
    static const groma_output nowhere[] = {{.size = sizeof(groma_output), .name = "nowhere", .of = "elsewhere"}};
    static const groma_bench benches[] = {
        {BENCH, .name = "c.well", .run = well, .setup = lives, .cleanup = free},
        {BENCH, .name = "c.two", .measure = two_loops, .outputs = difference, .n_outputs = GROMA_N(difference)},
        {BENCH, .name = "c.thread", .run = well, .setup = starts_a_thread},
        {BENCH, .name = "c.fork", .run = well, .setup = forks},
        {BENCH, .name = "c.crashes", .run = crashes},
        {BENCH, .name = "c.aborts", .run = aborts},
        {BENCH, .name = "c.exits", .run = exits},
        {BENCH, .name = "c.jumps", .run = jumps},
        {BENCH, .name = "c.refused", .run = refused},
        {BENCH, .name = "c.unknown", .run = unknown},
        {BENCH, .name = "c.minus", .run = minus},
        {BENCH, .name = "c.says_why", .setup = says_why, .run = well},
        {BENCH, .name = "c.not_here", .setup = not_here, .run = well},
        {BENCH, .name = "c.asks", .setup = asks_for_more, .run = well},
        {BENCH, .name = "c.proves", .setup = keeps_context, .run = proves_while_it_runs},
        {BENCH, .name = "c.broken", .run = well, .check = breaks_a_proof},
        {BENCH, .name = "c.peer", .run = well, .setup = peer_fails},
        {BENCH, .name = "c.null", .run = well, .setup = without_context},
        {BENCH, .name = "c.nan", .measure = states_no_number, .timing = GROMA_STATED},
        {BENCH, .name = "c.series", .run = well, .outputs = nowhere, .n_outputs = 1},
        {BENCH, .name = "c.faulting", .run = touches_new_memory},
    };
    if (setjmp(gone))
        return 5;
    return groma_main(argc, argv, benches, GROMA_N(benches));
}
