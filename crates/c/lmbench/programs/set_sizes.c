/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * set_sizes - memset() of buffers of several sizes: a measurement and a line for each size.
 */
#include "bench.h"

typedef struct {
    size_t size;
    char *buffer;
} state_t;

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;

    if (iterations)
        return;
    state->buffer = valloc(state->size);
    if (!state->buffer) {
        perror("valloc");
        exit(1);
    }
    touch(state->buffer, state->size);
}

static void set(iter_t iterations, void *cookie)
{
    state_t *state = cookie;

    while (iterations-- > 0) {
        memset(state->buffer, 0x5a, state->size);
        use_pointer(state->buffer);
    }
}

static void end(iter_t iterations, void *cookie)
{
    if (iterations == 0)
        free(((state_t *)cookie)->buffer);
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions] size...\n";
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
    if (parallel < 1 || optind == argc)
        lmbench_usage(argc, argv, usage);

    for (; optind < argc; optind++) {
        state.size = bytes(argv[optind]);
        if (state.size == 0)
            lmbench_usage(argc, argv, usage);
        benchmp(begin, set, end, 0, parallel, warmup, repetitions, &state);
        bandwidth(state.size, get_n() * parallel, 0);
    }
    return 0;
}
