/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * lib_unix.h - AF_UNIX stream sockets, for programs in the style of lmbench 3. bench.h says what
 * this library is.
 */
#ifndef GROMA_LMBENCH_LIB_UNIX_H
#define GROMA_LMBENCH_LIB_UNIX_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Listens at `path`; a socket there that nobody listens on any more is replaced. Exits if it
 * cannot. */
int unix_server(groma_lmb_text path);
int unix_accept(int sock);
/* A socket, or -1. */
int unix_connect(groma_lmb_text path);
/* Closes the socket and removes the path. */
void unix_done(int sock, groma_lmb_text path);

#ifdef __cplusplus
}
#endif

#endif
