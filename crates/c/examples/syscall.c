/* syscall.c - what one getppid() costs, beside an empty loop as its control.
 *
 * Measures: the call through libc, with the loop around it, and the difference of the two. Does not
 * measure calls that copy data or wait.
 *
 * Method: both loops are measured in turns within each round, so that whatever slows the machine
 * down affects both; the difference is taken round by round. Nothing is calibrated beforehand.
 *
 * Pitfalls: getpid() would do as well only if no libc cached it, as glibc did before 2.25.
 */
#include <groma.h>
#include <sys/types.h>
#include <unistd.h>

struct state {
    pid_t parent;
    uint64_t right; /* answers that were the parent's id */
};

static int call(uint64_t iters, void *state)
{
    struct state *s = state;
    uint64_t right = 0;
    for (uint64_t i = 0; i < iters; i++)
        right += getppid() == s->parent;
    s->right += right;
    return 0;
}

/* The same loop without the call; GROMA_KEEP makes it unknown what is compared. */
static int empty(uint64_t iters, void *state)
{
    struct state *s = state;
    uint64_t right = 0;
    for (uint64_t i = 0; i < iters; i++) {
        pid_t answer = 0;
        GROMA_KEEP(answer);
        right += answer == s->parent;
    }
    return right == 0 ? 0 : -1;
}

static int measure(groma_ctx *ctx, void *unused)
{
    (void)unused;
    struct state state = {.parent = getppid()};
    const groma_loop loops[] = {
        {.size = sizeof (groma_loop), .name = "", .run = call, .state = &state},
        {.size = sizeof (groma_loop), .name = "empty", .run = empty, .state = &state},
    };
    int ended = groma_measure(ctx, loops, GROMA_N(loops));
    if (ended)
        return ended;
    double calls = (double)groma_iterations(ctx, "");
    groma_prove(ctx, "answers that were the parent's id", (double)state.right, calls, calls);
    return 0;
}

static const groma_output outputs[] = {
    {.size = sizeof (groma_output), .name = "", .summary = "the call and its loop"},
    {.size = sizeof (groma_output),
     .name = "net",
     .summary = "the call alone",
     .how = GROMA_DIFFERENCE,
     .of = "",
     .to = "empty"},
    {.size = sizeof (groma_output), .name = "empty", .summary = "the loop alone", .detail = 1},
};

static const groma_bench benches[] = {
    {.size = sizeof (groma_bench),
     .name = "my.getppid",
     .summary = "Null system call: getppid, through libc",
     .about = "A loop of calls and an empty loop in turns, and their difference.",
     .iteration = "one getppid",
     .outputs = outputs,
     .n_outputs = GROMA_N(outputs),
     .measure = measure},
};

int main(int argc, char **argv)
{
    return groma_main(argc, argv, benches, GROMA_N(benches));
}
