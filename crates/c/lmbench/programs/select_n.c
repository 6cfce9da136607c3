/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * select_n - select() on n empty pipes, without waiting. The write ends have numbers above those
 * asked about, so that the kernel does not look at them.
 */
#include "bench.h"

typedef struct {
    int n, highest;
    fd_set set;
    int *readers, *writers;
} state_t;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    int ends[2], i;

    if (iterations)
        return;
    morefds();
    state->readers = malloc(state->n * sizeof (int));
    state->writers = malloc(state->n * sizeof (int));
    if (!state->readers || !state->writers)
        fail("malloc");
    FD_ZERO(&state->set);
    state->highest = 0;
    for (i = 0; i < state->n; i++) {
        if (pipe(ends) != 0)
            fail("pipe");
        if (ends[0] >= FD_SETSIZE) {
            fprintf(stderr, "select_n: a set has room for descriptors below %d\n", FD_SETSIZE);
            exit(1);
        }
        state->readers[i] = ends[0];
        state->writers[i] = fcntl(ends[1], F_DUPFD, state->n + 64);
        if (state->writers[i] < 0)
            fail("fcntl");
        close(ends[1]);
        FD_SET(ends[0], &state->set);
        if (ends[0] > state->highest)
            state->highest = ends[0];
    }
}

static void ask(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    struct timeval no_wait = {0, 0};
    fd_set set;

    while (iterations-- > 0) {
        set = state->set;
        if (select(state->highest + 1, &set, NULL, NULL, &no_wait) != 0)
            fail("select");
    }
}

static void end(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    int i;

    if (iterations)
        return;
    for (i = 0; i < state->n; i++) {
        close(state->readers[i]);
        close(state->writers[i]);
    }
    free(state->readers);
    free(state->writers);
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions] descriptors\n";
    int parallel = 1, warmup = 0, repetitions = TRIES, c;
    char label[64];
    state_t state;

    while ((c = getopt(argc, argv, "P:W:N:")) != EOF) {
        switch (c) {
        case 'P': parallel = atoi(optarg); break;
        case 'W': warmup = atoi(optarg); break;
        case 'N': repetitions = atoi(optarg); break;
        default: lmbench_usage(argc, argv, usage);
        }
    }
    if (parallel < 1 || optind != argc - 1 || (state.n = atoi(argv[optind])) < 1)
        lmbench_usage(argc, argv, usage);

    benchmp(begin, ask, end, 0, parallel, warmup, repetitions, &state);
    sprintf(label, "select on %d pipes", state.n);
    micro(label, get_n());
    return 0;
}
