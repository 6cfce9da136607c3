/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * create_delete - an empty file created, closed and deleted, by each copy under a name of its own
 * in the current directory.
 */
#include "bench.h"

typedef struct {
    char name[32];
} state_t;

static void begin(iter_t iterations, void *cookie)
{
    if (iterations == 0)
        sprintf(((state_t *)cookie)->name, "file-%d", benchmp_childid());
}

static void turn(iter_t iterations, void *cookie)
{
    char *name = ((state_t *)cookie)->name;
    int fd;

    while (iterations-- > 0) {
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd < 0 || close(fd) != 0 || unlink(name) != 0) {
            perror(name);
            exit(1);
        }
    }
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

    benchmp(begin, turn, NULL, 0, parallel, warmup, repetitions, &state);
    micro("create + delete", get_n());
    return 0;
}
