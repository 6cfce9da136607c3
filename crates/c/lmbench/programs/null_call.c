/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * null_call - getppid(), through libc.
 */
#include "bench.h"

static void call(iter_t iterations, void *cookie)
{
    (void)cookie;
    while (iterations-- > 0)
        getppid();
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions]\n";
    int parallel = 1, warmup = 0, repetitions = TRIES, c;

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

    benchmp(NULL, call, NULL, 0, parallel, warmup, repetitions, NULL);
    micro("getppid", get_n());
    return 0;
}
