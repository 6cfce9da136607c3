/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * tcp.c - TCP servers and clients.
 */
#include "internal.h"

/* Connections that wait to be accepted. */
#define BACKLOG 100
/* A server that was just started may not listen yet. After the i-th refusal 2^i ms pass, which is
 * half a second in all. */
#define ATTEMPTS 10

int tcp_server(int prog, int rdwr)
{
    struct sockaddr_in address = groma_lmb_here(prog);
    int one = 1;
    int sock = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    /* Otherwise connections of an earlier server keep its port for a minute. */
    if (sock >= 0)
        setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    sock_optimize(sock, rdwr);
    if (sock < 0 || bind(sock, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(sock, BACKLOG) != 0) {
        groma_lmb_say("cannot listen on TCP port %d: %s", ntohs(address.sin_port), strerror(errno));
        exit(1);
    }
    return sock;
}

/* There is no port mapper to tell. */
int tcp_done(int prog)
{
    (void)prog;
    return 0;
}

int tcp_accept(int sock, int rdwr)
{
    int conn;
    do
        conn = accept(sock, NULL, NULL);
    while (conn < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (conn < 0) {
        groma_lmb_say("cannot accept a connection: %s", strerror(errno));
        exit(1);
    }
    sock_optimize(conn, rdwr);
    return conn;
}

/* A socket that is connected, or -1 with errno. */
static int attempt(const struct sockaddr_in *address, int rdwr)
{
    int sock = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    if (sock < 0)
        return -1;
    if (rdwr & SOCKOPT_REUSE) {
        int one = 1;
        setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    }
    sock_optimize(sock, rdwr);
    if (connect(sock, (const struct sockaddr *)address, sizeof *address) == 0)
        return sock;
    int error = errno;
    close(sock);
    errno = error;
    return -1;
}

int tcp_connect(char *host, int prog, int rdwr)
{
    struct sockaddr_in address;
    char why[256];
    if (groma_lmb_there(host, prog, &address) != 0) {
        groma_lmb_no_peer("the host has no address");
        return -1;
    }
    for (int i = 0; i < ATTEMPTS; i++) {
        int sock = attempt(&address, rdwr);
        if (sock >= 0) {
            groma_lmb_no_peer(NULL);
            return sock;
        }
        if ((errno != ECONNREFUSED && errno != EINTR) || i == ATTEMPTS - 1)
            break;
        struct timespec pause = {0, 1000000L << i};
        nanosleep(&pause, NULL);
    }
    snprintf(why, sizeof why, "cannot connect to TCP port %d of %.128s: %s",
             ntohs(address.sin_port), host, strerror(errno));
    groma_lmb_say("%s", why);
    groma_lmb_no_peer(why);
    return -1;
}

static void ask_for(int sock, int option)
{
    for (int size = SOCKBUF; size >= 1024; size /= 2)
        if (setsockopt(sock, SOL_SOCKET, option, &size, sizeof size) == 0)
            return;
}

void sock_optimize(int sock, int rdwr)
{
    if (sock < 0)
        return;
    if (rdwr & SOCKOPT_READ)
        ask_for(sock, SO_RCVBUF);
    if (rdwr & SOCKOPT_WRITE)
        ask_for(sock, SO_SNDBUF);
}

int sockport(int sock)
{
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    if (getsockname(sock, (struct sockaddr *)&address, &length) != 0) {
        groma_lmb_say("cannot tell the port of a socket: %s", strerror(errno));
        return -1;
    }
    return ntohs(address.sin_port);
}
