/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * results.c - the current result, and blocks of samples.
 *
 * A program computes with gettime() and get_n(), which are whole numbers, while a measurement is a
 * number of nanoseconds for an iteration. groma_lmb_value() therefore states it as the time of so
 * many iterations that rounding to whole microseconds does not matter.
 */
#include "internal.h"

static double time_ns;
static uint64 iterations = 1;
static result_t nothing;
static result_t *results = &nothing;
int groma_lmb_a_part_failed;

void groma_lmb_set(double ns, uint64 n)
{
    time_ns = ns > 0 ? ns : 0;
    iterations = n;
}

double groma_lmb_time_ns(void)
{
    return time_ns;
}

double groma_lmb_ns(void)
{
    return iterations ? time_ns / (double)iterations : 0;
}

uint64 gettime(void)
{
    return (uint64)(time_ns / 1000 + 0.5);
}

uint64 usecs_spent(void)
{
    return gettime();
}

/* What a program computes from a measurement that failed is no time. Nor is the difference of two
 * when it is negative, which as an unsigned number is huge. */
void settime(uint64 usecs)
{
    int is_none = groma_lmb_a_part_failed || usecs >= (uint64)1 << 62;
    time_ns = is_none ? 0 : (double)usecs * 1000;
}

double timespent(void)
{
    return time_ns / 1e9;
}

uint64 get_n(void)
{
    return iterations;
}

void save_n(uint64 n)
{
    iterations = n;
}

/* 1e8 us keep the error of rounding at 5e-9, and at 5e-7 where a program divides the time by a
 * hundred first. But programs put get_n() into an int and multiply it by a number of processes:
 * beyond 2^24 iterations 1e7 us must do (5e-8), and never more than 2^31 - 1. */
value_t groma_lmb_value(double ns)
{
    value_t value = {0, 0};
    if (!(ns > 0) || !isfinite(ns))
        return value;
    double n = 1e8 * 1000 / ns;
    if (n > 16777216.0)
        n = fmin(fmax(1e7 * 1000 / ns, 16777216.0), 2147483647.0);
    value.n = n < 1 ? 1 : (uint64)n;
    value.u = (uint64)(ns * (double)value.n / 1000 + 0.5);
    return value;
}

int sizeof_result(int repetitions)
{
    int more = repetitions > TRIES ? repetitions - TRIES : 0;
    return (int)(sizeof(result_t) + (size_t)more * sizeof(value_t));
}

void insertinit(result_t *block)
{
    block->N = 0;
    for (int i = 0; i < TRIES; i++) {
        block->v[i].u = 0;
        block->v[i].n = 1;
    }
}

/* Samples without a time are dropped. */
void insertsort(uint64 u, uint64 n, result_t *block)
{
    if (u == 0 || n == 0)
        return;
    /* Not block->v[i]: the compiler may assume that it ends after TRIES elements. */
    value_t *v = (value_t *)((char *)block + offsetof(result_t, v));
    double each = (double)u / (double)n;
    int i = block->N++;
    for (; i > 0 && (double)v[i - 1].u / (double)v[i - 1].n < each; i--)
        v[i] = v[i - 1];
    v[i].u = u;
    v[i].n = n;
}

result_t *get_results(void)
{
    return results;
}

/* The current result becomes that of these samples. */
void set_results(result_t *block)
{
    results = block;
    save_median();
}

/* Blocks are never freed or used twice: a program may hold one of an earlier measurement. */
result_t *groma_lmb_new_results(int capacity)
{
    result_t *block = groma_lmb_allocate((size_t)sizeof_result(capacity));
    insertinit(block);
    results = block;
    return block;
}

/* Without samples the time is 0, which is not printed, and the number of iterations 1: programs
 * divide by it, and some of them in integers. */
void save_median(void)
{
    value_t *v = (value_t *)((char *)results + offsetof(result_t, v));
    int i = results->N / 2;
    if (results->N == 0) {
        groma_lmb_set(0, 1);
    } else if (results->N % 2) {
        groma_lmb_set((double)v[i].u * 1000, v[i].n);
    } else {
        groma_lmb_set(((double)v[i].u + (double)v[i - 1].u) * 500, (v[i].n + v[i - 1].n) / 2);
    }
}

void save_minimum(void)
{
    value_t *v = (value_t *)((char *)results + offsetof(result_t, v));
    if (results->N == 0)
        groma_lmb_set(0, 1);
    else
        groma_lmb_set((double)v[results->N - 1].u * 1000, v[results->N - 1].n);
}
