/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * map_file - mmap() of a part of a file, shared, and munmap(), with no touch between them.
 */
#include "bench.h"

typedef struct {
    int fd;
    size_t size;
} state_t;

static void turn(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    void *map;

    while (iterations-- > 0) {
        map = mmap(NULL, state->size, PROT_READ | PROT_WRITE, MAP_SHARED, state->fd, 0);
        if (map == MAP_FAILED || munmap(map, state->size) != 0) {
            perror("mapping");
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions] size file\n";
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
    if (parallel < 1 || optind != argc - 2 || (state.size = bytes(argv[optind])) == 0)
        lmbench_usage(argc, argv, usage);

    state.fd = open(argv[optind + 1], O_RDWR);
    if (state.fd < 0) {
        perror(argv[optind + 1]);
        return 1;
    }
    benchmp(NULL, turn, NULL, 0, parallel, warmup, repetitions, &state);
    micro("mmap + munmap", get_n());
    return 0;
}
