/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * unix_trip - a byte to another process and back, over a Unix stream socket with a path. The helper
 * accepts the connection with the library's functions.
 */
#include "bench.h"

typedef struct {
    pid_t helper;
    int fd;
} state_t;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void serve(int listener)
{
    int fd = unix_accept(listener);
    char byte;

    while (read(fd, &byte, 1) == 1 && write(fd, &byte, 1) == 1)
        ;
    exit(0);
}

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    char path[64];
    int listener;

    if (iterations)
        return;
    sprintf(path, "/tmp/unix_trip.%d", (int)getpid());
    listener = unix_server(path);
    if (listener < 0)
        fail(path);
    handle_scheduler(benchmp_childid(), 0, 1);
    state->helper = fork();
    if (state->helper < 0)
        fail("fork");
    if (state->helper == 0) {
        handle_scheduler(benchmp_childid(), 1, 1);
        serve(listener);
    }
    state->fd = unix_connect(path);
    unix_done(listener, path);
    if (state->fd < 0)
        fail("connection");
}

static void trip(iter_t iterations, void *cookie)
{
    int fd = ((state_t *)cookie)->fd;
    char byte = 1;

    while (iterations-- > 0)
        if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
            fail("socket");
}

static void end(iter_t iterations, void *cookie)
{
    state_t *state = cookie;

    if (iterations)
        return;
    signal(SIGCHLD, SIG_DFL);
    close(state->fd);
    waitpid(state->helper, NULL, 0);
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

    benchmp(begin, trip, end, 0, parallel, warmup, repetitions, &state);
    micro("round trip by a Unix socket", get_n());
    return 0;
}
