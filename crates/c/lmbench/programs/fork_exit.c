/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * fork_exit - fork(), the end of the child, and the wait for it.
 */
#include "bench.h"

#define CODE 42 /* proves that the child ran */

/* The library takes a dead child for a helper that failed. */
static void begin(iter_t iterations, void *cookie)
{
    (void)cookie;
    if (iterations == 0)
        signal(SIGCHLD, SIG_DFL);
}

static void turn(iter_t iterations, void *cookie)
{
    pid_t child;
    int status;

    (void)cookie;
    while (iterations-- > 0) {
        child = fork();
        if (child == 0)
            _exit(CODE);
        if (child < 0 || waitpid(child, &status, 0) != child) {
            perror("fork");
            exit(1);
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != CODE) {
            fprintf(stderr, "fork_exit: the child ended with status %d\n", status);
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

    benchmp(begin, turn, NULL, 0, parallel, warmup, repetitions, NULL);
    micro("fork + exit", get_n());
    return 0;
}
