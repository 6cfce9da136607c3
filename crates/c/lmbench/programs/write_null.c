/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * write_null - write() of one byte to /dev/null. Every copy opens the device for itself, in
 * initialize(0), and closes it in cleanup(0).
 */
#include "bench.h"

typedef struct {
    int fd;
} state_t;

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;

    if (iterations)
        return;
    state->fd = open("/dev/null", O_WRONLY);
    if (state->fd < 0) {
        perror("/dev/null");
        exit(1);
    }
}

static void put(iter_t iterations, void *cookie)
{
    int fd = ((state_t *)cookie)->fd;
    char byte = 0;

    while (iterations-- > 0) {
        if (write(fd, &byte, 1) != 1) {
            perror("write to /dev/null");
            exit(1);
        }
    }
}

static void end(iter_t iterations, void *cookie)
{
    if (iterations == 0)
        close(((state_t *)cookie)->fd);
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

    benchmp(begin, put, end, SHORT, parallel, warmup, repetitions, &state);
    micro("write of a byte", get_n());
    return 0;
}
