/* staged.c - a loop of which only a part is timed, and a value that is not a time.
 *
 * Measures: qsort() of numbers in random order, without making them disorderly again for the next
 * turn; and how many bytes a pipe holds before a write would block.
 *
 * Method: the watch runs around qsort() alone, and what it did is checked while the watch stands.
 * The pipe is filled once a round, and its answer is compared with what the kernel declares.
 *
 * Pitfalls: starting and stopping the watch takes two readings of the clock. Their cost is
 * subtracted, but it varies, so a part that takes less than some microseconds belongs into a loop
 * that is timed as a whole.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <groma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct numbers {
    size_t n;
    uint32_t *random; /* as drawn */
    uint32_t *sorted; /* what is sorted */
    uint64_t right;   /* turns after which all were in order */
};

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int setup(groma_ctx *ctx, void **state)
{
    struct numbers *s = *state = calloc(1, sizeof *s);
    if (!s)
        return ENOMEM;
    size_t size = groma_int(ctx, "size");
    s->n = size / sizeof *s->random;
    if (s->n < 2)
        return groma_fail(ctx, "nothing to sort in %zu bytes", size);
    s->random = malloc(size);
    s->sorted = malloc(size);
    if (!s->random || !s->sorted)
        return groma_fail_errno(ctx, ENOMEM, "allocating twice %zu bytes", size);
    for (size_t i = 0; i < s->n; i++)
        s->random[i] = (uint32_t)groma_random(ctx);
    return 0;
}

static int sort(uint64_t iters, void *state, groma_watch *watch)
{
    struct numbers *s = state;
    for (uint64_t i = 0; i < iters; i++) {
        memcpy(s->sorted, s->random, s->n * sizeof *s->random);
        groma_start(watch);
        qsort(s->sorted, s->n, sizeof *s->sorted, compare);
        groma_stop(watch);
        size_t ordered = 1;
        while (ordered < s->n && s->sorted[ordered - 1] <= s->sorted[ordered])
            ordered++;
        s->right += ordered == s->n;
    }
    return 0;
}

static int check(groma_ctx *ctx, void *state)
{
    struct numbers *s = state;
    double turns = (double)groma_iterations(ctx, NULL);
    groma_prove(ctx, "turns that left all in order", (double)s->right, turns, turns);
    return 0;
}

static void cleanup(void *state)
{
    struct numbers *s = state;
    free(s->random);
    free(s->sorted);
    free(s);
}

/* Stated, not timed: `measure` finds the value itself. */
static int capacity(groma_ctx *ctx, void *unused)
{
    (void)unused;
    static const char chunk[512];
    int ends[2];
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
        return groma_fail_errno(ctx, errno, "making a pipe");
    size_t bytes = 0;
    ssize_t n;
    while ((n = write(ends[1], chunk, sizeof chunk)) > 0)
        bytes += (size_t)n;
    int ended = n < 0 && errno == EAGAIN ? 0 : groma_fail_errno(ctx, errno, "filling a pipe");
    double declared = fcntl(ends[0], F_GETPIPE_SZ);
    close(ends[0]);
    close(ends[1]);
    if (ended)
        return ended;
    groma_state(ctx, "", (double)bytes);
    groma_prove(ctx, "bytes that it held", (double)bytes, declared, declared);
    return 0;
}

static const groma_param params[] = {
    {.size = sizeof (groma_param),
     .name = "size",
     .summary = "bytes of numbers, four each",
     .takes = GROMA_TAKES_BUFFERS, /* the numbers as drawn, and those that are sorted */
     .quick = "4K",
     .standard = "64K"},
};

static const groma_bench benches[] = {
    {.size = sizeof (groma_bench),
     .name = "my.qsort",
     .summary = "Sorting numbers in random order by qsort",
     .iteration = "one qsort",
     .timing = GROMA_EACH,
     .params = params,
     .n_params = GROMA_N(params),
     .setup = setup,
     .run_staged = sort,
     .check = check,
     .cleanup = cleanup},
    {.size = sizeof (groma_bench),
     .name = "my.pipe_capacity",
     .summary = "Bytes that a pipe holds",
     .quantity = GROMA_BYTES,
     .better = GROMA_NEITHER,
     .timing = GROMA_STATED,
     .measure = capacity},
};

int main(int argc, char **argv)
{
    return groma_main(argc, argv, benches, GROMA_N(benches));
}
