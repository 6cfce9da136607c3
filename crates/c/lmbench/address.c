/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * address.c - ports and addresses of the socket helpers.
 *
 * Servers listen on 127.0.0.1 alone. lmbench's listen on all addresses, without authentication:
 * anyone who reaches the machine can use and stop them. GROMA_LMBENCH_ANY=1 asks for that, which a
 * measurement between two machines needs.
 */
#include "internal.h"

/* Behind the ports of bench.h, below those that Linux gives to clients (32768 and up). */
#define FIRST_RPC_PORT 31240
#define RPC_PORTS 1024

in_port_t groma_lmb_port(long prog)
{
    if (prog <= 0 && prog >= -65535)
        return (in_port_t)-prog;
    if (prog > 0)
        return (in_port_t)(FIRST_RPC_PORT + prog % RPC_PORTS);
    groma_lmb_refuse("port %ld, expected one up to 65535", -prog);
}

struct sockaddr_in groma_lmb_here(long prog)
{
    const char *any = getenv("GROMA_LMBENCH_ANY");
    struct sockaddr_in address = {0};
    address.sin_family = AF_INET;
    address.sin_port = htons(groma_lmb_port(prog));
    address.sin_addr.s_addr = htonl(any && strcmp(any, "1") == 0 ? INADDR_ANY : INADDR_LOOPBACK);
    return address;
}

int groma_lmb_there(const char *host, long prog, struct sockaddr_in *address)
{
    /* A benchmark that connects in its loop does not look up the name each time. */
    static char known[256];
    static struct in_addr known_address;
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_port = htons(groma_lmb_port(prog));
    if (known[0] && strcmp(host, known) == 0) {
        address->sin_addr = known_address;
        return 0;
    }

    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *list;
    int error = getaddrinfo(host, NULL, &hints, &list);
    if (error) {
        groma_lmb_say("cannot find the host '%s': %s", host, gai_strerror(error));
        return -1;
    }
    struct sockaddr_in first;
    memcpy(&first, list->ai_addr, sizeof first);
    freeaddrinfo(list);
    /* All of 127.0.0.0/8 is this machine, and Debian gives its name 127.0.1.1, but servers listen
     * on 127.0.0.1 only. */
    if (ntohl(first.sin_addr.s_addr) >> 24 == 127)
        first.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address->sin_addr = first.sin_addr;
    if (strlen(host) < sizeof known) {
        strcpy(known, host);
        known_address = first.sin_addr;
    }
    return 0;
}
