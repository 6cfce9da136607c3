/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * pipe_trip - a byte to another process and back, over two pipes.
 */
#include "bench.h"

typedef struct {
    pid_t helper;
    int from, to;
} state_t;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    int there[2], back[2];
    char byte;

    if (iterations)
        return;
    if (pipe(there) != 0 || pipe(back) != 0)
        fail("pipe");
    handle_scheduler(benchmp_childid(), 0, 1);
    state->helper = fork();
    if (state->helper < 0)
        fail("fork");
    if (state->helper == 0) {
        handle_scheduler(benchmp_childid(), 1, 1);
        close(there[1]);
        close(back[0]);
        while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
            ;
        exit(0);
    }
    close(there[0]);
    close(back[1]);
    state->from = back[0];
    state->to = there[1];
}

static void trip(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    char byte = 1;

    while (iterations-- > 0)
        if (write(state->to, &byte, 1) != 1 || read(state->from, &byte, 1) != 1)
            fail("pipe");
}

static void end(iter_t iterations, void *cookie)
{
    state_t *state = cookie;

    if (iterations)
        return;
    signal(SIGCHLD, SIG_DFL);
    kill(state->helper, SIGKILL);
    waitpid(state->helper, NULL, 0);
    close(state->from);
    close(state->to);
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

    benchmp(begin, trip, end, SHORT, parallel, warmup, repetitions, &state);
    micro("round trip by pipes", get_n());
    return 0;
}
