/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * prot_fault - a store to a read-only page, caught. The handler returns, the store is refused
 * again, and so on: the benchmark never returns, and it is the handler that ends each interval.
 */
#include "bench.h"

static volatile char *page;
static iter_t left;

static void refused(int signo)
{
    (void)signo;
    if (--left == 0)
        left = benchmp_interval(benchmp_getstate());
}

static void begin(iter_t iterations, void *cookie)
{
    struct sigaction action;

    (void)cookie;
    if (iterations)
        return;
    page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(&action, 0, sizeof action);
    action.sa_handler = refused;
    sigemptyset(&action.sa_mask);
    if (page == MAP_FAILED || sigaction(SIGSEGV, &action, NULL) != 0) {
        perror("read-only page");
        exit(1);
    }
}

static void store(iter_t iterations, void *cookie)
{
    (void)cookie;
    left = iterations;
    *page = 1;
    fprintf(stderr, "prot_fault: the store was not refused\n");
    exit(1);
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

    benchmp(begin, store, NULL, 0, parallel, warmup, repetitions, NULL);
    micro("store refused", get_n());
    return 0;
}
