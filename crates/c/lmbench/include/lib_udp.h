/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * lib_udp.h - UDP sockets over IPv4, for programs in the style of lmbench 3. bench.h says what this
 * library is, lib_tcp.h what `prog` means.
 */
#ifndef GROMA_LMBENCH_LIB_UDP_H
#define GROMA_LMBENCH_LIB_UDP_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Binds to 127.0.0.1, or to all addresses with GROMA_LMBENCH_ANY=1. Exits if it cannot. */
int udp_server(u_long prog, int rdwr);
void udp_done(int prog);
/* A socket whose peer is that address, or -1. */
int udp_connect(groma_lmb_text host, u_long prog, int rdwr);

#ifdef __cplusplus
}
#endif

#endif
