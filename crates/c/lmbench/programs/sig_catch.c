/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * sig_catch - kill() of oneself, the handler, and the return from it. Nothing is subtracted.
 */
#include "bench.h"

static volatile uint64 caught;
static uint64 sent;

static void handler(int signo)
{
    (void)signo;
    caught++;
}

static void begin(iter_t iterations, void *cookie)
{
    struct sigaction action;

    (void)cookie;
    if (iterations)
        return;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGUSR1, &action, NULL) != 0) {
        perror("sigaction");
        exit(1);
    }
}

static void send_all(iter_t iterations, void *cookie)
{
    pid_t me = getpid();

    (void)cookie;
    sent += iterations;
    while (iterations-- > 0)
        kill(me, SIGUSR1);
}

static void end(iter_t iterations, void *cookie)
{
    (void)iterations;
    (void)cookie;
    if (caught != sent) {
        fprintf(stderr, "sig_catch: sent and caught differ\n");
        exit(1);
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

    benchmp(begin, send_all, end, 0, parallel, warmup, repetitions, NULL);
    micro("signal caught", get_n());
    return 0;
}
