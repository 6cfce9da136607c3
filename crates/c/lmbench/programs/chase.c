/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * chase - loads of which each needs the one before: pointers, a cache line apart, that lead through
 * a buffer in random order. The chain is made by the program and not by the library's toolkit.
 */
#include "bench.h"

#define LINE 64
#define LOADS 16 /* in one iteration */

typedef struct {
    size_t size;
    char *memory;
    void **at; /* where the walk stands */
} state_t;

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    size_t lines = state->size / LINE, i, *order;

    if (iterations)
        return;
    state->memory = valloc(state->size);
    order = permutation((int)lines, LINE);
    if (!state->memory || !order) {
        perror("memory");
        exit(1);
    }
    for (i = 0; i < lines; i++)
        *(void **)(state->memory + order[i]) = state->memory + order[(i + 1) % lines];
    state->at = (void **)(state->memory + order[0]);
    free(order);
    /* A lap, so that the first interval finds the chain where the others do. */
    for (i = 0; i < lines; i++)
        state->at = *state->at;
    use_pointer(state->at);
}

static void walk(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    void **p = state->at;

#define LOAD p = *p;
#define FOUR LOAD LOAD LOAD LOAD
    while (iterations-- > 0) {
        FOUR FOUR FOUR FOUR
    }
    state->at = p;
    use_pointer(p);
}

static void end(iter_t iterations, void *cookie)
{
    if (iterations == 0)
        free(((state_t *)cookie)->memory);
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions] size\n";
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
    if (parallel < 1 || optind != argc - 1 || (state.size = bytes(argv[optind])) < 2 * LINE)
        lmbench_usage(argc, argv, usage);

    benchmp(begin, walk, end, 0, parallel, warmup, repetitions, &state);
    sprintf(label, "load in %s", argv[optind]);
    nano(label, get_n() * LOADS);
    return 0;
}
