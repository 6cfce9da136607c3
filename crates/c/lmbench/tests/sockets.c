/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * sockets.c - each kind of socket carries bytes both ways on loopback, servers listen nowhere else,
 * and what cannot be reached is -1.
 */
#include "check.h"

static void echo(int from, int to)
{
    char there[] = "ping", back[5] = "";
    CHECK(write(from, there, 5) == 5 && read(to, back, 5) == 5 && strcmp(back, "ping") == 0);
    CHECK(write(to, "pong", 5) == 5 && read(from, back, 5) == 5 && strcmp(back, "pong") == 0);
}

static in_addr_t listens_on(int sock)
{
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    getsockname(sock, (struct sockaddr *)&address, &length);
    return ntohl(address.sin_addr.s_addr);
}

static int buffer_of(int sock, int option)
{
    int size = 0;
    socklen_t length = sizeof size;
    getsockopt(sock, SOL_SOCKET, option, &size, &length);
    return size;
}

static void tcp(void)
{
    int server = tcp_server(0, SOCKOPT_REUSE);
    int port = sockport(server);
    CHECK(port > 0 && listens_on(server) == INADDR_LOOPBACK);
    int client = tcp_connect("localhost", -port, SOCKOPT_NONE);
    int conn = tcp_accept(server, SOCKOPT_NONE);
    echo(client, conn);
    /* The other names of this machine in 127.0.0.0/8. */
    int other = tcp_connect("127.0.1.1", -port, SOCKOPT_RDWR);
    int other_conn = tcp_accept(server, SOCKOPT_NONE);
    echo(other, other_conn);
    CHECK(buffer_of(other, SO_RCVBUF) > 16384 && buffer_of(other, SO_SNDBUF) > 16384);
    close(other), close(other_conn), close(client), close(conn), close(server);
    CHECK_NUMBER(tcp_done(-port), 0);
    CHECK_NUMBER(tcp_connect("localhost", -port, SOCKOPT_NONE), -1);

    setenv("GROMA_LMBENCH_ANY", "1", 1);
    server = tcp_server(0, SOCKOPT_NONE);
    CHECK(listens_on(server) == INADDR_ANY);
    close(server);
    unsetenv("GROMA_LMBENCH_ANY");
}

static void udp(void)
{
    int server = udp_server(0, SOCKOPT_NONE);
    CHECK(listens_on(server) == INADDR_LOOPBACK);
    int client = udp_connect("localhost", (u_long)-sockport(server), SOCKOPT_NONE);
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    char back[5] = "";
    CHECK(send(client, "ping", 5, 0) == 5);
    CHECK(recvfrom(server, back, 5, 0, (struct sockaddr *)&from, &length) == 5);
    CHECK_TEXT(back, "ping");
    CHECK(sendto(server, "pong", 5, 0, (struct sockaddr *)&from, length) == 5);
    CHECK(recv(client, back, 5, 0) == 5);
    CHECK_TEXT(back, "pong");
    close(client), close(server);
    udp_done(0);
}

static void local(void)
{
    char dir[] = "/tmp/groma-lmbench-XXXXXX", path[64];
    CHECK(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/socket", dir);
    CHECK_NUMBER(unix_connect(path), -1);
    close(unix_server(path)); /* leaves its path behind */
    int server = unix_server(path);
    int client = unix_connect(path);
    int conn = unix_accept(server);
    echo(client, conn);
    close(client), close(conn);
    unix_done(server, path);
    CHECK(access(path, F_OK) != 0);
    CHECK(rmdir(dir) == 0);
}

int main(void)
{
    CHECK_NUMBER(groma_lmb_port(TCP_DATA), 31236);
    CHECK_NUMBER(groma_lmb_port((long)(u_long)UDP_XACT), 31238);
    /* RPC numbers: above the fixed ports, below those of clients. */
    CHECK(groma_lmb_port(404040) > 31239 && groma_lmb_port(404040) < 32768);
    tcp();
    udp();
    local();
    return failures > 0;
}
