/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * lib_debug.h - prints results and chains of pointers, for programs in the style of lmbench 3.
 * bench.h says what this library is. All of it goes where timing() says.
 */
#ifndef GROMA_LMBENCH_LIB_DEBUG_H
#define GROMA_LMBENCH_LIB_DEBUG_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of samples and their quartiles; with `details`, each sample too. */
void print_results(int details);
/* Quartiles of the samples, in MB/s for `bytes` an iteration. */
void bw_quartile(uint64 bytes);
/* Quartiles of the samples, in nanoseconds, of which each iteration has `n`. */
void nano_quartile(uint64 n);
/* The order in which the chain at `addr` visits `size` bytes, in units of `line`. */
void print_mem(char *addr, size_t size, size_t line);
/* Says if that chain leaves them, or does not visit each line exactly once. */
void check_mem(char *addr, size_t size, size_t line);

#ifdef __cplusplus
}
#endif

#endif
