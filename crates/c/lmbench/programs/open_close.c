/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * open_close - open() of a file by its path, and close().
 */
#include "bench.h"

static void turn(iter_t iterations, void *cookie)
{
    char *path = cookie;
    int fd;

    while (iterations-- > 0) {
        fd = open(path, O_RDONLY);
        if (fd < 0 || close(fd) != 0) {
            perror(path);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions] file\n";
    int parallel = 1, warmup = 0, repetitions = TRIES, c;

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

    benchmp(NULL, turn, NULL, 0, parallel, warmup, repetitions, argv[optind]);
    micro("open + close", get_n());
    return 0;
}
