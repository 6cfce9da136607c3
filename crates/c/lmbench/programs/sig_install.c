/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * sig_install - sigaction() that installs a handler and returns the one before.
 */
#include "bench.h"

static void handler(int signo)
{
    (void)signo;
}

static void install(iter_t iterations, void *cookie)
{
    struct sigaction action, before;

    (void)cookie;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    while (iterations-- > 0) {
        if (sigaction(SIGUSR1, &action, &before) != 0) {
            perror("sigaction");
            exit(1);
        }
    }
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

    benchmp(NULL, install, NULL, 0, parallel, warmup, repetitions, NULL);
    micro("handler installed", get_n());
    return 0;
}
