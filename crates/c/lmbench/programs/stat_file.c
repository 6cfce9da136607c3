/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * stat_file - stat() of a file by its path.
 */
#include "bench.h"

static void look(iter_t iterations, void *cookie)
{
    char *path = cookie;
    struct stat found;

    while (iterations-- > 0) {
        if (stat(path, &found) != 0) {
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

    benchmp(NULL, look, NULL, 0, parallel, warmup, repetitions, argv[optind]);
    micro("stat", get_n());
    return 0;
}
