/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * tcp_trip - a byte to another process and back, over a TCP connection. main() starts the server,
 * which has a process for each connection; copies connect to it in initialize(0).
 */
#include "bench.h"

#include <sys/prctl.h>

#define PORT 31301

typedef struct {
    char *host;
    int fd;
} state_t;

static void serve(int listener)
{
    char byte;
    int fd;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        fd = tcp_accept(listener, SOCKOPT_NONE);
        if (fork() == 0) {
            close(listener);
            while (read(fd, &byte, 1) == 1 && write(fd, &byte, 1) == 1)
                ;
            exit(0);
        }
        close(fd);
    }
}

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;

    if (iterations)
        return;
    state->fd = tcp_connect(state->host, -PORT, SOCKOPT_NONE);
    if (state->fd < 0) {
        perror(state->host);
        exit(1);
    }
}

static void trip(iter_t iterations, void *cookie)
{
    int fd = ((state_t *)cookie)->fd;
    char byte = 1;

    while (iterations-- > 0) {
        if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1) {
            perror("connection");
            exit(1);
        }
    }
}

static void end(iter_t iterations, void *cookie)
{
    if (iterations == 0)
        close(((state_t *)cookie)->fd);
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions] host\n";
    int parallel = 1, warmup = 0, repetitions = TRIES, c, listener;
    char label[256];
    state_t state;
    pid_t server;

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
    state.host = argv[optind];

    listener = tcp_server(-PORT, SOCKOPT_REUSE);
    server = fork();
    if (server == 0)
        serve(listener);
    if (server < 0) {
        perror("fork");
        return 1;
    }
    close(listener);
    benchmp(begin, trip, end, MEDIUM, parallel, warmup, repetitions, &state);
    sprintf(label, "round trip by TCP to %.200s", state.host);
    micro(label, get_n());
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return 0;
}
