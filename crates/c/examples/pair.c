/* pair.c - a request and its answer between two processes over a socket pair.
 *
 * Measures: the whole round trip: two messages, two wake-ups, and two context switches where both
 * sides are on one CPU. Does not measure one direction: half of a round trip is not "one way".
 *
 * Method: each round trip is timed alone, since it takes 2 us and more; so the quantiles are those
 * of round trips. Where the two sides run is part of the result: GROMA_PAIR makes each placement
 * that the machine offers a point of its own.
 *
 * Pitfalls: each side closes the end of the other. A copy left open would hide from the server that
 * its client has gone.
 */
#include <errno.h>
#include <groma.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct pair {
    int client, server; /* the ends */
    size_t size;
    char *message;
};

/* The whole of `size` bytes: a stream may deliver them in parts. Returns 0, an error number, or -1
 * at the end of the stream. */
static int receive(int fd, void *into, size_t size)
{
    for (size_t had = 0; had < size;) {
        ssize_t n = read(fd, (char *)into + had, size - had);
        if (n == 0)
            return -1;
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0)
            had += (size_t)n;
    }
    return 0;
}

/* MSG_NOSIGNAL: a peer that has gone is an error to report, not a SIGPIPE. */
static int transmit(int fd, const void *from, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t n = send(fd, (const char *)from + sent, size - sent, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0)
            sent += (size_t)n;
    }
    return 0;
}

/* The peer: answers until the client stops sending, then says how many requests it has had. */
static int serve(void *state)
{
    struct pair *p = state;
    uint64_t requests = 0;
    int ended;
    while ((ended = receive(p->server, p->message, p->size)) == 0) {
        requests++;
        if (transmit(p->server, p->message, p->size) != 0)
            return 1;
    }
    return ended == -1 && transmit(p->server, &requests, sizeof requests) == 0 ? 0 : 1;
}

static int setup(groma_ctx *ctx, void **state)
{
    struct pair *p = *state = calloc(1, sizeof *p);
    if (!p)
        return ENOMEM;
    p->client = p->server = -1;
    p->size = groma_int(ctx, "size");
    p->message = calloc(1, p->size);
    if (!p->message)
        return ENOMEM;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return groma_fail_errno(ctx, errno, "making a socket pair");
    p->client = ends[0];
    p->server = ends[1];
    if (groma_fork_peer(ctx, serve, p, &p->client, 1) < 0)
        return -1; /* the library has recorded why */
    close(p->server);
    p->server = -1;
    return 0;
}

static int run(uint64_t iters, void *state)
{
    struct pair *p = state;
    for (uint64_t i = 0; i < iters; i++) {
        int failed = transmit(p->client, p->message, p->size);
        if (failed == 0)
            failed = receive(p->client, p->message, p->size);
        if (failed != 0)
            return failed == -1 ? EPIPE : failed;
    }
    return 0;
}

/* What the peer has counted must be what the loop was credited with. */
static int check(groma_ctx *ctx, void *state)
{
    struct pair *p = state;
    uint64_t requests = 0;
    if (shutdown(p->client, SHUT_WR) != 0)
        return groma_fail_errno(ctx, errno, "ending the requests");
    if (receive(p->client, &requests, sizeof requests) != 0)
        return groma_fail(ctx, "the server did not say how many requests it had");
    double trips = (double)groma_iterations(ctx, NULL);
    groma_prove(ctx, "requests that the server counted", (double)requests, trips, trips);
    return 0;
}

/* Closing the client's end is what ends the server after an error. */
static void cleanup(void *state)
{
    struct pair *p = state;
    if (p->client >= 0)
        close(p->client);
    if (p->server >= 0)
        close(p->server);
    free(p->message);
    free(p);
}

static const groma_param params[] = {
    {.size = sizeof (groma_param),
     .name = "size",
     .summary = "bytes in the message",
     .takes = GROMA_TAKES_BUFFERS,
     .quick = "1",
     .standard = "4K",
     .full = "64 64K"},
};

static const groma_bench benches[] = {
    {.size = sizeof (groma_bench),
     .name = "my.socketpair",
     .summary = "Round trip of a message between two processes over a socket pair",
     .about = "A request of this size and an answer of the same size. The server counts requests,\n"
              "and its number is compared with the client's.",
     .iteration = "one round trip: a write and a read on each side",
     .timing = GROMA_EACH,
     .interference = GROMA_BLOCKING,
     .placements = GROMA_PAIR,
     .scaling = GROMA_PROCESSES_ONLY,
     .why_not = "each member forks a peer, which a process with threads must not",
     .params = params,
     .n_params = GROMA_N(params),
     .setup = setup,
     .run = run,
     .check = check,
     .cleanup = cleanup},
};

int main(int argc, char **argv)
{
    return groma_main(argc, argv, benches, GROMA_N(benches));
}
