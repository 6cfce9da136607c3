/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * sum - every word of a buffer read and added up; bytes per second.
 */
#include "bench.h"

typedef struct {
    size_t words;
    unsigned long *buffer;
    unsigned long sum;
} state_t;

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    size_t i;

    if (iterations)
        return;
    state->buffer = valloc(state->words * sizeof *state->buffer);
    if (!state->buffer) {
        perror("valloc");
        exit(1);
    }
    for (i = 0; i < state->words; i++)
        state->buffer[i] = i + 1;
}

static void add(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    unsigned long *end = state->buffer + state->words;
    unsigned long a, b, c, d, *p;

    while (iterations-- > 0) {
        a = b = c = d = 0;
        for (p = state->buffer; p != end; p += 8) {
            a += p[0] + p[4];
            b += p[1] + p[5];
            c += p[2] + p[6];
            d += p[3] + p[7];
        }
        state->sum = a + b + c + d;
        use_pointer(&state->sum);
    }
}

static void end(iter_t iterations, void *cookie)
{
    state_t *state = cookie;

    if (iterations == 0) {
        free(state->buffer);
        return;
    }
    if (state->sum != state->words * (state->words + 1) / 2) {
        fprintf(stderr, "sum: the sum is %lu\n", state->sum);
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
    state.words = bytes(argv[optind]) / sizeof (long) / 8 * 8;
    if (state.words == 0)
        lmbench_usage(argc, argv, usage);

    benchmp(begin, add, end, MEDIUM, parallel, warmup, repetitions, &state);
    bandwidth(state.words * sizeof (long), get_n() * parallel, 0);
    return 0;
}
