/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * read_zero - read() of one byte of /dev/zero. The descriptor is opened in main and shared by all
 * copies.
 */
#include "bench.h"

static void get(iter_t iterations, void *cookie)
{
    int fd = *(int *)cookie;
    char byte;

    while (iterations-- > 0) {
        if (read(fd, &byte, 1) != 1) {
            perror("read of /dev/zero");
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions]\n";
    int parallel = 1, warmup = 0, repetitions = TRIES, c, fd;

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

    fd = open("/dev/zero", O_RDONLY);
    if (fd < 0) {
        perror("/dev/zero");
        return 1;
    }
    benchmp(NULL, get, NULL, 0, parallel, warmup, repetitions, &fd);
    micro("read of a byte", get_n());
    return 0;
}
