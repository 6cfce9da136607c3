/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * sum - the numbers of a buffer read and added up one after the other; bytes per second. Each
 * addition waits for the one before, and the processor fetches ahead of them.
 */
#include "bench.h"

typedef struct {
    size_t length;
    double *buffer;
    double sum;
} state_t;

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    size_t i;

    if (iterations)
        return;
    state->buffer = valloc(state->length * sizeof *state->buffer);
    if (!state->buffer) {
        perror("valloc");
        exit(1);
    }
    for (i = 0; i < state->length; i++)
        state->buffer[i] = i + 1;
}

static void add(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    double *at, *end = state->buffer + state->length, sum;

    while (iterations-- > 0) {
        sum = 0;
        for (at = state->buffer; at < end; at++)
            sum += *at;
        state->sum = sum;
        use_pointer(&state->sum);
    }
}

static void end(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    double n = state->length;

    if (iterations == 0) {
        free(state->buffer);
        return;
    }
    /* Exact: no sum on the way is above 2^53. */
    if (state->sum != n * (n + 1) / 2) {
        fprintf(stderr, "sum: the sum is %f\n", state->sum);
        exit(1);
    }
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
    if (parallel < 1 || optind != argc - 1)
        lmbench_usage(argc, argv, usage);
    state.length = bytes(argv[optind]) / sizeof (double);
    if (state.length < 1 || state.length > 1 << 26)
        lmbench_usage(argc, argv, usage);

    benchmp(begin, add, end, MEDIUM, parallel, warmup, repetitions, &state);
    bandwidth(state.length * sizeof (double), get_n() * parallel, 0);
    return 0;
}
