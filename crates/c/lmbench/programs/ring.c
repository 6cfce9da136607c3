/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * ring - a token goes round a ring of processes, from pipe to pipe; the time of one hand-over.
 *
 * Every process adds 1 to the token, so that a lap shows how many have had it.
 */
#include "bench.h"

typedef struct {
    int processes;
    int (*pipes)[2]; /* process i writes to pipe i and reads from the one before */
    pid_t *helpers;
} state_t;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void pass_on(int from, int to)
{
    long token;

    while (read(from, &token, sizeof token) == sizeof token) {
        token++;
        if (write(to, &token, sizeof token) != sizeof token)
            break;
    }
    exit(0);
}

/* Closes all ends but those of one process. */
static void keep(state_t *state, int process)
{
    int before = (process + state->processes - 1) % state->processes, i;

    for (i = 0; i < state->processes; i++) {
        if (i != before)
            close(state->pipes[i][0]);
        if (i != process)
            close(state->pipes[i][1]);
    }
}

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    int n = state->processes, i;

    if (iterations)
        return;
    state->pipes = malloc(n * sizeof *state->pipes);
    state->helpers = malloc(n * sizeof *state->helpers);
    if (!state->pipes || !state->helpers)
        fail("malloc");
    for (i = 0; i < n; i++)
        if (pipe(state->pipes[i]) != 0)
            fail("pipe");
    handle_scheduler(benchmp_childid(), 0, n - 1);
    for (i = 1; i < n; i++) {
        state->helpers[i] = fork();
        if (state->helpers[i] < 0)
            fail("fork");
        if (state->helpers[i] == 0) {
            handle_scheduler(benchmp_childid(), i, n - 1);
            keep(state, i);
            pass_on(state->pipes[i - 1][0], state->pipes[i][1]);
        }
    }
    keep(state, 0);
}

static void lap(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    int from = state->pipes[state->processes - 1][0], to = state->pipes[0][1];
    long token;

    while (iterations-- > 0) {
        token = 1;
        if (write(to, &token, sizeof token) != sizeof token ||
            read(from, &token, sizeof token) != sizeof token)
            fail("token");
        if (token != state->processes) {
            fprintf(stderr, "ring: %ld of %d had the token\n", token, state->processes);
            exit(1);
        }
    }
}

/* The helpers end one after the other, as the end of a pipe goes round. */
static void end(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    int i;

    if (iterations)
        return;
    signal(SIGCHLD, SIG_DFL);
    close(state->pipes[0][1]);
    for (i = 1; i < state->processes; i++)
        waitpid(state->helpers[i], NULL, 0);
    close(state->pipes[state->processes - 1][0]);
    free(state->pipes);
    free(state->helpers);
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions] processes\n";
    int parallel = 1, warmup = 0, repetitions = TRIES, c;
    char label[64];
    state_t state;

    while ((c = getopt(argc, argv, "P:W:N:")) != EOF) {
        switch (c) {
        case 'P': parallel = atoi(optarg); break;
        case 'W': warmup = atoi(optarg); break;
        case 'N': repetitions = atoi(optarg); break;
        default: lmbench_usage(argc, argv, usage);
        }
    }
    if (parallel < 1 || optind != argc - 1 || (state.processes = atoi(argv[optind])) < 2)
        lmbench_usage(argc, argv, usage);

    benchmp(begin, lap, end, 0, parallel, warmup, repetitions, &state);
    sprintf(label, "hand-over in a ring of %d", state.processes);
    micro(label, get_n() * state.processes);
    return 0;
}
