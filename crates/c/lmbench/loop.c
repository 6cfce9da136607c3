/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * loop.c - the BENCH macros: a loop within this process, as long as the clock needs.
 *
 * The number of iterations grows until an interval is at least `enough` microseconds long. It is
 * not benchmp(): there are no fresh processes, no warm-up beyond one iteration, and nothing is
 * recorded. A body that the compiler removes takes no time; that is said, and gives no result.
 */
#include "internal.h"

/* An interval counts when its length is within these multiples of what was asked for. */
#define SHORTEST 0.95
#define LONGEST 1.2
/* Shorter ones say little about the time of an iteration; then the number is multiplied. */
#define TELLING_NS 150000.0
#define FACTOR 8
/* A body that is in its interval's bounds so rarely is disturbed; long intervals count then. */
#define MOST_TRIES 10
/* 18 minutes at an iteration a nanosecond: no body is as short as this. */
#define MOST_ITERATIONS ((iter_t)1 << (sizeof(iter_t) > 4 ? 40 : 31))

void groma_lmb_begin(groma_lmb_loop *loop, int kind, int enough, double subtract_ns)
{
    memset(loop, 0, sizeof *loop);
    loop->kind = kind;
    /* Eleven samples of a second and more take too long. */
    loop->wanted = kind == GROMA_LMB_MANY && enough <= 100000 ? TRIES : 1;
    loop->enough_ns = (double)get_enough(enough) * 1000;
    loop->subtract_ns = subtract_ns;
    loop->warm = kind == GROMA_LMB_RAW;
    if (kind == GROMA_LMB_MANY)
        groma_lmb_new_results(TRIES);
    groma_lmb_set(0, 1);
}

/* Records an interval. */
static void record(groma_lmb_loop *loop, double ns)
{
    double n = (double)loop->n;
    if (loop->kind != GROMA_LMB_RAW)
        ns -= (double)t_overhead() * 1000 + n * (l_overhead() * 1000 + loop->subtract_ns);
    if (loop->kind == GROMA_LMB_MANY) {
        value_t value = groma_lmb_value(ns / n);
        insertsort(value.u, value.n, get_results());
    } else {
        groma_lmb_set(ns, loop->n);
    }
    loop->taken++;
    loop->tries = 0;
}

/* Iterations of the next interval, or 0 when there is none. */
static iter_t next(groma_lmb_loop *loop, double ns)
{
    if (loop->n == 0 || !loop->warm) {
        loop->warm = loop->n != 0 || loop->warm;
        return 1;
    }
    loop->tries++;
    int too_long = ns > LONGEST * loop->enough_ns && loop->n > 1 && loop->tries < MOST_TRIES;
    if (ns >= SHORTEST * loop->enough_ns && !too_long) {
        record(loop, ns);
        if (loop->taken == loop->wanted) {
            if (loop->kind == GROMA_LMB_MANY)
                save_median();
            return 0;
        }
        return loop->n;
    }
    if (ns > TELLING_NS)
        return (iter_t)(1.1 * loop->enough_ns * (double)loop->n / ns) + 1;
    if (loop->n <= MOST_ITERATIONS / FACTOR)
        return loop->n * FACTOR;
    groma_lmb_a_part_failed = 1;
    groma_lmb_note("the body of a loop takes no time: the compiler has removed it");
    return 0;
}

iter_t groma_lmb_next(groma_lmb_loop *loop)
{
    int64 end_ns = groma_lmb_clock();
    loop->n = next(loop, (double)(end_ns - loop->began_ns));
    loop->began_ns = groma_lmb_clock();
    return loop->n;
}
