/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * lib_tcp.h - TCP sockets over IPv4, for programs in the style of lmbench 3. bench.h says what this
 * library is.
 *
 * A negative `prog` is a port, 0 any free one (sockport() tells which), and a positive one the
 * number of an RPC program. There is no port mapper: such a number is mapped to a port by
 * arithmetic, the same in every program.
 */
#ifndef GROMA_LMBENCH_LIB_TCP_H
#define GROMA_LMBENCH_LIB_TCP_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Listens on 127.0.0.1, or on all addresses with GROMA_LMBENCH_ANY=1. Exits if it cannot. */
int tcp_server(int prog, int rdwr);
int tcp_done(int prog);
int tcp_accept(int sock, int rdwr);
/* A socket, or -1 after ten refusals. A child of benchmp() whose last attempt failed gives no
 * result. */
int tcp_connect(groma_lmb_text host, int prog, int rdwr);
/* Asks for buffers of SOCKBUF bytes, and for less until the system agrees. */
void sock_optimize(int sock, int rdwr);
int sockport(int sock);

#ifdef __cplusplus
}
#endif

#endif
