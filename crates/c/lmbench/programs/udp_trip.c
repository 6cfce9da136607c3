/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * udp_trip - a datagram of four bytes to another process and back. main() starts the server, which
 * sends each datagram back to where it came from; copies connect to it in initialize(0). The
 * datagrams carry numbers, and an answer must carry that of the question.
 */
#include "bench.h"

#include <sys/prctl.h>

#define PORT 31302

typedef struct {
    char *host;
    int fd;
    int number;
} state_t;

static void serve(int fd)
{
    struct sockaddr_storage from;
    socklen_t len;
    int number;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        len = sizeof from;
        if (recvfrom(fd, &number, sizeof number, 0, (struct sockaddr *)&from, &len) < 0)
            exit(1);
        if (sendto(fd, &number, sizeof number, 0, (struct sockaddr *)&from, len) < 0)
            exit(1);
    }
}

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;

    if (iterations)
        return;
    state->number = 0;
    state->fd = udp_connect(state->host, -PORT, SOCKOPT_NONE);
    if (state->fd < 0) {
        perror(state->host);
        exit(1);
    }
}

static void trip(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    int answer;

    while (iterations-- > 0) {
        state->number++;
        if (send(state->fd, &state->number, sizeof state->number, 0) != sizeof state->number ||
            recv(state->fd, &answer, sizeof answer, 0) != sizeof answer) {
            perror("datagram");
            exit(1);
        }
        if (answer != state->number) {
            fprintf(stderr, "udp_trip: answer %d to datagram %d\n", answer, state->number);
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
    int parallel = 1, warmup = 0, repetitions = TRIES, c, fd;
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

    fd = udp_server(-PORT, SOCKOPT_NONE);
    server = fork();
    if (server == 0)
        serve(fd);
    if (server < 0) {
        perror("fork");
        return 1;
    }
    close(fd);
    benchmp(begin, trip, end, SHORT, parallel, warmup, repetitions, &state);
    sprintf(label, "round trip by UDP to %.200s", state.host);
    micro(label, get_n());
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return 0;
}
