/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * divide - quotients of doubles, of which each needs the one before. initialize() makes an array of
 * as many dividends as there are iterations, and cleanup() frees it.
 */
#include "bench.h"

typedef struct {
    double *dividends;
    iter_t length;
} state_t;

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    iter_t i;

    state->length = iterations;
    if (iterations == 0)
        return;
    state->dividends = malloc(iterations * sizeof *state->dividends);
    if (!state->dividends) {
        perror("malloc");
        exit(1);
    }
    for (i = 0; i < iterations; i++)
        state->dividends[i] = 2.718281828;
}

static void divide(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    double quotient = 3.141592654;
    iter_t i;

    if (iterations != state->length) {
        fprintf(stderr, "divide: %lu dividends for %lu\n", state->length, iterations);
        exit(1);
    }
    for (i = 0; i < iterations; i++)
        quotient = state->dividends[i] / quotient;
    use_int((int)(quotient * 1000));
}

static void end(iter_t iterations, void *cookie)
{
    state_t *state = cookie;

    if (iterations == 0)
        return;
    if (iterations != state->length) {
        fprintf(stderr, "divide: %lu dividends to free, not %lu\n", state->length, iterations);
        exit(1);
    }
    free(state->dividends);
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions]\n";
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
    if (parallel < 1 || optind != argc)
        lmbench_usage(argc, argv, usage);

    benchmp(begin, divide, end, 0, parallel, warmup, repetitions, &state);
    nano("double division", get_n());
    return 0;
}
