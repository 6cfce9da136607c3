/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * debug.c - prints samples and chains. The formats are groma's own: nothing reads lmbench's.
 */
#include "internal.h"

static const value_t *sample(int i)
{
    /* Not get_results()->v[i]: the compiler may assume that it ends after TRIES elements. */
    return (const value_t *)((const char *)get_results() + offsetof(result_t, v)) + i;
}

static double usecs(int i)
{
    return (double)sample(i)->u / (double)sample(i)->n;
}

/* Microseconds of an iteration that a share of the samples stays below. */
static double quantile(double share)
{
    double at = (get_results()->N - 1) * (1 - share);
    int i = (int)at;
    double slower = usecs(i);
    return at > i ? slower + (usecs(i + 1) - slower) * (at - i) : slower;
}

void print_results(int details)
{
    int n = get_results()->N;
    fprintf(groma_lmb_out(), "%d samples", n);
    if (n > 0)
        fprintf(groma_lmb_out(), ": %.6g, quartiles %.6g %.6g %.6g, %.6g microseconds", quantile(0),
                quantile(0.25), quantile(0.5), quantile(0.75), quantile(1));
    fprintf(groma_lmb_out(), "\n");
    for (int i = 0; details && i < n; i++)
        fprintf(groma_lmb_out(), "  %llu microseconds, %llu iterations, %.6g each\n",
                (unsigned long long)sample(i)->u, (unsigned long long)sample(i)->n, usecs(i));
}

void bw_quartile(uint64 size)
{
    if (get_results()->N > 0)
        fprintf(groma_lmb_out(), "%.2f %.2f %.2f MB/sec\n", (double)size / quantile(0.75),
                (double)size / quantile(0.5), (double)size / quantile(0.25));
}

void nano_quartile(uint64 n)
{
    if (get_results()->N > 0 && n > 0)
        fprintf(groma_lmb_out(), "%.2f %.2f %.2f nanoseconds\n",
                quantile(0.25) * 1000 / (double)n, quantile(0.5) * 1000 / (double)n,
                quantile(0.75) * 1000 / (double)n);
}

void print_mem(char *addr, size_t size, size_t line)
{
    char *at = addr;
    size_t steps = 0, most = size / sizeof(char *);
    if (line == 0)
        line = sizeof(char *);
    do {
        fprintf(groma_lmb_out(), "%s%td", steps ? " " : "", (at - addr) / (ptrdiff_t)line);
        at = *(char **)at;
    } while (at != addr && ++steps < most);
    fprintf(groma_lmb_out(), at == addr ? "\n" : " ...\n");
}

void check_mem(char *addr, size_t size, size_t line)
{
    if (line == 0)
        line = sizeof(char *);
    size_t lines = size / line, steps = 0, again = 0, missed = 0;
    unsigned char *visits = groma_lmb_allocate(lines);
    char *at = addr;
    do {
        size_t i = (size_t)(at - addr) / line;
        if (at < addr || i >= lines) {
            fprintf(groma_lmb_out(), "the chain leaves its %zu bytes after %zu steps\n", size,
                    steps);
            free(visits);
            return;
        }
        again += visits[i] > 0;
        visits[i] = 1;
        at = *(char **)at;
    } while (at != addr && ++steps < size / sizeof(char *));
    for (size_t i = 0; i < lines; i++)
        missed += visits[i] == 0;
    free(visits);
    if (again > 0 || missed > 0 || at != addr)
        fprintf(groma_lmb_out(), "the chain visits %zu lines again, misses %zu, and %s\n", again,
                missed, at == addr ? "closes" : "does not close");
}
