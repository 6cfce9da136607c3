/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * bench.h - programs in the style of lmbench 3, measured by groma.
 *
 * A program that includes this header compiles as it is, and links with libgroma-lmbench and
 * libgroma (`pkg-config --cflags --libs groma-lmbench`). benchmp() measures with groma's harness:
 * fresh processes for each round, a calibrated interval, the median of the rounds.
 *
 * This is a new implementation of a published interface. It shares names, types and output formats
 * with lmbench, and no code.
 *
 * The header includes what such programs expect to find included. It is usable from gnu89 to C23,
 * and from C++.
 */
#ifndef GROMA_LMBENCH_BENCH_H
#define GROMA_LMBENCH_BENCH_H

/* valloc(), bcopy() and struct timeval also under -std=c99 and later. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1
#endif

/* The calls of the first RPC library: svcudp_create(), pmap_unset() and the like. */
#ifndef PORTMAP
#define PORTMAP
#endif

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include <sys/types.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netdb.h>
/* Of the C library, or of libtirpc, where pkg-config names its directory. */
#if defined(__has_include)
#if __has_include(<rpc/rpc.h>)
#include <rpc/rpc.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
/* C++ does not convert a string literal to char *. In C the parameters stay char *, so that a
 * program that declares one of these functions itself still compiles. */
typedef const char *groma_lmb_text;
#else
typedef char *groma_lmb_text;
#endif

/* --- types --------------------------------------------------------------------------------- */

typedef int8_t int8;
typedef int16_t int16;
typedef int32_t int32;
typedef int64_t int64;
typedef uint8_t uint8;
typedef uint16_t uint16;
typedef uint32_t uint32;
typedef uint64_t uint64;

/* <rpc/types.h> has these, too. */
#ifndef TRUE
#define TRUE (1)
#endif
#ifndef FALSE
#define FALSE (0)
#endif

/* A number of iterations. */
typedef unsigned long iter_t;

/* --- constants ----------------------------------------------------------------------------- */

/* Samples of a measurement. */
#define TRIES 11

/* Lengths of an interval, in microseconds, for the argument `enough`. */
#define REAL_SHORT 50000
#define SHORT 1000000
#define MEDIUM 2000000
#define LONGER 7500000
#define ENOUGH REAL_SHORT

/* Bytes: of a socket buffer, and of a transfer. */
#define SOCKBUF (1024 * 1024)
#define XFERSIZE (64 * 1024)

/* The smallest line of a cache that is looked for. */
#define SMALLEST_LINE 32

/* Ports. A negative number is the port itself. */
#define TCP_SELECT (-31233)
#define TCP_XACT (-31234)
#define TCP_CONTROL (-31235)
#define TCP_DATA (-31236)
#define TCP_CONNECT (-31237)
#define UDP_XACT (-31238)
#define UDP_DATA (-31239)

/* Paths of AF_UNIX sockets. */
#define UNIX_CONTROL "/tmp/lmbench.ctl"
#define UNIX_DATA "/tmp/lmbench.data"
#define UNIX_LAT "/tmp/lmbench.lat"

/* What a socket is for. */
#define SOCKOPT_NONE 0
#define SOCKOPT_READ 1
#define SOCKOPT_WRITE 2
#define SOCKOPT_RDWR 3
#define SOCKOPT_PID 4
#define SOCKOPT_REUSE 8

/* The remote procedures of lat_rpc: a byte there and back, and the end of the server. */
#define XACT_PROG ((u_long)404040)
#define XACT_VERS ((u_long)1)
#define RPC_XACT ((u_long)1)
#define RPC_EXIT ((u_long)2)

/* --- small macros --------------------------------------------------------------------------- */

#define streq(a, b) (strcmp((a), (b)) == 0)
#ifndef ABS
#define ABS(a) ((a) < 0 ? -(a) : (a))
#endif
/* The arguments of fprintf(), in parentheses of their own: printed with -DDEBUG only. */
#ifdef DEBUG
#define debug(arguments) fprintf arguments
#else
#define debug(arguments)
#endif
/* A server that is forgotten ends after an hour. */
#define GO_AWAY groma_lmb_end_in_an_hour()
void groma_lmb_end_in_an_hour(void);

/* --- results ------------------------------------------------------------------------------- */

/* `n` iterations took `u` microseconds. */
typedef struct {
    uint64 u;
    uint64 n;
} value_t;

/* Samples, from the slowest to the fastest. A block made with sizeof_result() holds as many as were
 * asked for there, and never fewer than TRIES. */
typedef struct {
    int N;
    value_t v[TRIES];
} result_t;

int sizeof_result(int repetitions);
void insertinit(result_t *results);
void insertsort(uint64 u, uint64 n, result_t *results);
result_t *get_results(void);
void set_results(result_t *results);
void save_median(void);
void save_minimum(void);

/* --- benchmp ------------------------------------------------------------------------------- */

typedef void (*benchmp_f)(iter_t iterations, void *cookie);

/* Measures `benchmark`. `initialize` and `cleanup` may be NULL; they are called with 0 once in each
 * child, and with the number of iterations around each interval, outside the clock. */
void benchmp(benchmp_f initialize, benchmp_f benchmark, benchmp_f cleanup, int enough, int parallel,
             int warmup, int repetitions, void *cookie);
void *benchmp_getstate(void);
/* Ends an interval and begins the next, whose number of iterations it returns. For a benchmark that
 * cannot return; works in a signal handler too. */
iter_t benchmp_interval(void *state);
int benchmp_childid(void);

/* Pins this process as LMBENCH_SCHED says. 0, or -1 when it cannot. */
int handle_scheduler(int childno, int benchproc, int nbenchprocs);
void sigchld_wait_handler(int signo);

/* --- the macros, which measure within this process ------------------------------------------ */

/* For the macros only. */
typedef struct {
    int kind;
    int wanted;
    int taken;
    int tries;
    int warm;
    iter_t n;
    double enough_ns;
    double subtract_ns;
    int64 began_ns;
} groma_lmb_loop;
enum { GROMA_LMB_RAW, GROMA_LMB_ONE, GROMA_LMB_MANY };
void groma_lmb_begin(groma_lmb_loop *loop, int kind, int enough, double subtract_ns);
iter_t groma_lmb_next(groma_lmb_loop *loop);
double groma_lmb_ns(void);

/* groma_lmb_next() reads the clock when it is entered and just before it returns. The counter has
 * the name by which bodies know it: one that does all iterations itself takes `__n` and leaves 1. */
#define GROMA_LMB_LOOP(loop_body, kind, enough, subtract_ns)                                      \
    {                                                                                              \
        groma_lmb_loop groma_lmb_loop_;                                                            \
        iter_t __n;                                                                                \
        groma_lmb_begin(&groma_lmb_loop_, (kind), (enough), (subtract_ns));                        \
        while ((__n = groma_lmb_next(&groma_lmb_loop_)) != 0) {                                    \
            for (; __n != 0; __n--) {                                                              \
                loop_body;                                                                         \
            }                                                                                      \
        }                                                                                          \
    }

/* One sample of `loop_body`, an interval of at least `enough` microseconds. */
#define BENCH_INNER(loop_body, enough) GROMA_LMB_LOOP(loop_body, GROMA_LMB_RAW, enough, 0.0)
/* The same, after one run that is not timed, without the overheads of clock and loop. */
#define BENCH1(loop_body, enough) GROMA_LMB_LOOP(loop_body, GROMA_LMB_ONE, enough, 0.0)
/* The median of TRIES such samples, or one where `enough` is longer than 100 ms. */
#define BENCH(loop_body, enough) GROMA_LMB_LOOP(loop_body, GROMA_LMB_MANY, enough, 0.0)
/* The same, without the time that an iteration of `overhead_body` takes. */
#define BENCHO(loop_body, overhead_body, enough)                                                  \
    {                                                                                              \
        double groma_lmb_overhead_;                                                                \
        BENCH(overhead_body, enough)                                                               \
        groma_lmb_overhead_ = groma_lmb_ns();                                                      \
        GROMA_LMB_LOOP(loop_body, GROMA_LMB_MANY, enough, groma_lmb_overhead_)                     \
    }

/* --- options ------------------------------------------------------------------------------- */

/* A parser of its own, like lmbench's: it does not reorder operands and prints nothing. It has the
 * prototypes of <unistd.h>, so that a program may include <getopt.h> or declare them itself. */
#define getopt groma_lmb_getopt
#define optind groma_lmb_optind
#define optarg groma_lmb_optarg
#define optopt groma_lmb_optopt
#define opterr groma_lmb_opterr
extern int optind, optopt, opterr;
extern char *optarg;
int getopt(int argc, char *const argv[], const char *letters);

/* Prints how the program is used; exits with 255. Programs declare it themselves, in different
 * ways, which the empty parentheses allow. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ > 201710L)
void lmbench_usage(int argc, char *argv[], groma_lmb_text usage);
#else
void lmbench_usage();
#endif

#ifdef __cplusplus
}
#endif

#include "stats.h"
#include "timing.h"
#include "lib_debug.h"
#include "lib_mem.h"
#include "lib_tcp.h"
#include "lib_udp.h"
#include "lib_unix.h"

#endif
