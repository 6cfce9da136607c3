/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * timing.h - clock, printing of the current result, and small helpers, for programs in the style of
 * lmbench 3. bench.h says what this library is.
 *
 * There is one current result: a time and a number of iterations. benchmp(), the BENCH macros,
 * stop(), settime() and save_n() set it, and the print functions print it. After a failed
 * measurement the time is 0, and they print nothing.
 */
#ifndef GROMA_LMBENCH_TIMING_H
#define GROMA_LMBENCH_TIMING_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- the current result -------------------------------------------------------------------- */

uint64 gettime(void);     /* microseconds, rounded */
uint64 usecs_spent(void); /* the same */
void settime(uint64 usecs);
double timespent(void); /* seconds */
uint64 get_n(void);
void save_n(uint64 n);

/* --- the clock, which never goes backwards -------------------------------------------------- */

void start(struct timeval *tv);                         /* tv may be NULL */
uint64 stop(struct timeval *begin, struct timeval *end); /* either may be NULL */
uint64 now(void);                                       /* microseconds since 1970 */
double Now(void);
uint64 delta(void); /* microseconds since the last call */
double Delta(void); /* microseconds since start(NULL) */
uint64 tvdelta(struct timeval *from, struct timeval *to);
void tvsub(struct timeval *difference, struct timeval *to, struct timeval *from);

/* The length of an interval: the larger of the argument and ENOUGH, in microseconds. */
int get_enough(int enough);
/* TIMING_O and LOOP_O of the environment, in microseconds, or 0. */
uint64 t_overhead(void);
double l_overhead(void);

/* --- printing ------------------------------------------------------------------------------ */

extern FILE *ftiming;   /* where to; NULL: standard error */
void timing(FILE *out); /* sets it */
void milli(groma_lmb_text label, uint64 n);
void micro(groma_lmb_text label, uint64 n);
void nano(groma_lmb_text label, uint64 n);
void micromb(uint64 bytes, uint64 n);
void mb(uint64 bytes);
void kb(uint64 bytes);
void bandwidth(uint64 bytes, uint64 times, int verbose);
void latency(uint64 transfers, uint64 size);
void context(uint64 switches);
void ptime(uint64 n);
void rusage(void);

/* --- helpers ------------------------------------------------------------------------------- */

uint64 bytes(groma_lmb_text size); /* "64k", "8m", "1g" */
char last(groma_lmb_text text);
char *p64(uint64 value);   /* in hexadecimal; the text lives for some further calls */
char *p64sz(uint64 value); /* as a size: "64K" */
void use_int(int value);
void use_pointer(void *value);
long bread(void *buffer, long length);
void touch(char *buffer, int length);
size_t *permutation(int max, int scale); /* to be freed by the caller */
int cp(groma_lmb_text from, groma_lmb_text to, mode_t mode);
void morefds(void);

#ifdef __cplusplus
}
#endif

#endif
