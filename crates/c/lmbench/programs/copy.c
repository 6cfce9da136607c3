/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * copy - memcpy() of a buffer to another; bytes copied per second, counted once.
 *
 * The copy begins half a page after the end of the original, so that no load comes from just above
 * a store in the low twelve bits of the address, for which some processors wait.
 */
#include "bench.h"

typedef struct {
    size_t size;
    char *from, *to;
} state_t;

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;

    if (iterations)
        return;
    state->from = valloc(2 * state->size + 8192);
    if (!state->from) {
        perror("valloc");
        exit(1);
    }
    state->to = state->from + (state->size + 4095) / 4096 * 4096 + 2048;
    memset(state->from, 1, state->size);
    memset(state->to, 2, state->size);
}

static void copy(iter_t iterations, void *cookie)
{
    state_t *state = cookie;

    while (iterations-- > 0)
        memcpy(state->to, state->from, state->size);
}

static void end(iter_t iterations, void *cookie)
{
    state_t *state = cookie;

    if (iterations)
        return;
    if (memcmp(state->from, state->to, state->size) != 0) {
        fprintf(stderr, "copy: the copy differs\n");
        exit(1);
    }
    free(state->from);
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions] size\n";
    int parallel = 1, warmup = 0, repetitions = TRIES, c;
    state_t state;

    while ((c = getopt(argc, argv, "P:W:N:")) != EOF) {
        switch (c) {
        case 'P': parallel = atoi(optarg); break;
        case 'W': warmup = atoi(optarg); break;
        case 'N': repetitions = atoi(optarg); break;
        default: lmbench_usage(argc, argv, usage);
        }
    }
    if (parallel < 1 || optind != argc - 1 || (state.size = bytes(argv[optind])) == 0)
        lmbench_usage(argc, argv, usage);

    benchmp(begin, copy, end, 0, parallel, warmup, repetitions, &state);
    bandwidth(state.size, get_n() * parallel, 0);
    return 0;
}
