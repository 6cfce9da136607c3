/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * internal.h - what the files of the library share. Programs never see it. Every name that the
 * linker sees and bench.h does not declare for programs begins with groma_lmb_, because a program
 * may have any other name itself.
 */
#ifndef GROMA_LMBENCH_INTERNAL_H
#define GROMA_LMBENCH_INTERNAL_H

#define _GNU_SOURCE 1
#include "bench.h"

/* --- messages.c ---------------------------------------------------------------------------- */

/* One line that begins with the program's name, about a result: on a terminal, or where GROMA_NOTES
 * wants it. */
void groma_lmb_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same on standard error: something that the program asked for cannot be done. */
void groma_lmb_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same as an error, and exit code 2: the input is wrong. */
void groma_lmb_refuse(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Like malloc(), but says that there is no memory and exits. */
void *groma_lmb_allocate(size_t size);

/* --- identity.c ---------------------------------------------------------------------------- */

/* The name of the record of the n-th measurement (from 1) of a program with these arguments, each
 * ended by a NUL: "lat_syscall.-p_1_null". To be freed. */
char *groma_lmb_metric(const char *program, const char *args, size_t length, int nth);
/* The arguments of this process, with their length; to be freed. */
char *groma_lmb_arguments(size_t *length);
/* The command line, in one line; to be freed. */
char *groma_lmb_command(const char *program, const char *args, size_t length);

/* --- clock.c ------------------------------------------------------------------------------- */

int64 groma_lmb_clock(void);

/* --- results.c ----------------------------------------------------------------------------- */

/* 1: a measurement since the last line that was printed has failed. */
extern int groma_lmb_a_part_failed;
/* Makes a time and a number of iterations the current result. */
void groma_lmb_set(double ns, uint64 n);
/* The time of the current result. */
double groma_lmb_time_ns(void);
/* A time and a number of iterations for so many nanoseconds an iteration. */
value_t groma_lmb_value(double ns);
/* Makes an empty block for `capacity` samples the current one. */
result_t *groma_lmb_new_results(int capacity);

/* --- print.c ------------------------------------------------------------------------------- */

FILE *groma_lmb_out(void);

/* --- benchmp.c ----------------------------------------------------------------------------- */

/* A connection failed; a child that is measured then gives no result. NULL: one succeeded. */
void groma_lmb_no_peer(const char *why);

/* --- scheduler.c --------------------------------------------------------------------------- */

/* The place among `cpus` CPUs that a policy gives, GROMA_LMB_ANYWHERE, or GROMA_LMB_UNKNOWN. */
enum { GROMA_LMB_ANYWHERE = -1, GROMA_LMB_UNKNOWN = -2 };
int groma_lmb_place(const char *policy, int childno, int benchproc, int nbenchprocs, int cpus);
/* Refuses an LMBENCH_SCHED that is no policy. */
void groma_lmb_check_policy(void);

/* --- address.c ----------------------------------------------------------------------------- */

in_port_t groma_lmb_port(long prog);
/* Where servers listen. */
struct sockaddr_in groma_lmb_here(long prog);
/* The address of a host; -1 after a message. */
int groma_lmb_there(const char *host, long prog, struct sockaddr_in *address);

#endif
