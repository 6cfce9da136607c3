/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * fstat_file - fstat() of an open file.
 */
#include "bench.h"

static void look(iter_t iterations, void *cookie)
{
    int fd = *(int *)cookie;
    struct stat found;

    while (iterations-- > 0) {
        if (fstat(fd, &found) != 0) {
            perror("fstat");
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions] file\n";
    int parallel = 1, warmup = 0, repetitions = TRIES, c;
    int fd;

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

    fd = open(argv[optind], O_RDONLY);
    if (fd < 0) {
        perror(argv[optind]);
        return 1;
    }
    benchmp(NULL, look, NULL, 0, parallel, warmup, repetitions, &fd);
    micro("fstat", get_n());
    return 0;
}
