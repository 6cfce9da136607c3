/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * udp.c - UDP servers and clients.
 *
 * The ports of bench.h are above 32767. lmbench loses their sign in 16 bits on the way and uses
 * 34298; here a negative number is its port, as it is for TCP.
 */
#include "internal.h"

int udp_server(u_long prog, int rdwr)
{
    struct sockaddr_in address = groma_lmb_here((long)prog);
    int sock = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    sock_optimize(sock, rdwr);
    if (sock < 0 || bind(sock, (struct sockaddr *)&address, sizeof address) != 0) {
        groma_lmb_say("cannot receive on UDP port %d: %s", ntohs(address.sin_port),
                      strerror(errno));
        exit(1);
    }
    return sock;
}

/* There is no port mapper to tell. */
void udp_done(int prog)
{
    (void)prog;
}

int udp_connect(char *host, u_long prog, int rdwr)
{
    struct sockaddr_in address;
    if (groma_lmb_there(host, (long)prog, &address) != 0) {
        groma_lmb_no_peer("the host has no address");
        return -1;
    }
    int sock = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    sock_optimize(sock, rdwr);
    if (sock < 0 || connect(sock, (struct sockaddr *)&address, sizeof address) != 0) {
        groma_lmb_say("cannot send to UDP port %d of %s: %s", ntohs(address.sin_port), host,
                      strerror(errno));
        groma_lmb_no_peer("there is no UDP socket");
        if (sock >= 0)
            close(sock);
        return -1;
    }
    groma_lmb_no_peer(NULL);
    return sock;
}
