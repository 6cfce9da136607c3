/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * print.c - prints the current result, in the formats that scripts around lmbench read.
 *
 * A MB is 10^6 bytes here and a KB 10^3. Nothing is printed where there is no time or nothing to
 * divide it by: a number that was not measured must not appear.
 */
#include "internal.h"

#define MB 1e6
#define KB 1e3

/* Where to. Programs that print themselves know it by this name. */
FILE *ftiming;

void timing(FILE *file)
{
    ftiming = file;
}

FILE *groma_lmb_out(void)
{
    return ftiming ? ftiming : stderr;
}

/* Microseconds of one of `n`, or 0. The line ends what a failed measurement has spoilt. */
static double usecs_each(uint64 n)
{
    groma_lmb_a_part_failed = 0;
    return n ? groma_lmb_time_ns() / 1000 / (double)n : 0;
}

void milli(char *label, uint64 n)
{
    double us = usecs_each(n);
    if (us > 0)
        fprintf(groma_lmb_out(), "%s: %d milliseconds\n", label, (int)(us / 1000));
}

void micro(char *label, uint64 n)
{
    double us = usecs_each(n);
    if (us > 0)
        fprintf(groma_lmb_out(), "%s: %.4f microseconds\n", label, us);
}

void nano(char *label, uint64 n)
{
    double us = usecs_each(n);
    if (us > 0)
        fprintf(groma_lmb_out(), "%s: %.2f nanoseconds\n", label, us * 1000);
}

void micromb(uint64 size, uint64 n)
{
    double us = usecs_each(n);
    if (us > 0)
        fprintf(groma_lmb_out(), us >= 10 ? "%.6f %.0f\n" : "%.6f %.3f\n", (double)size / MB, us);
}

void mb(uint64 size)
{
    double seconds = usecs_each(1) / 1e6;
    if (seconds > 0)
        fprintf(groma_lmb_out(), "%.2f MB/sec\n", (double)size / seconds / MB);
}

void kb(uint64 size)
{
    double seconds = usecs_each(1) / 1e6;
    if (seconds > 0)
        fprintf(groma_lmb_out(), "%.0f KB/sec\n", (double)size / seconds / KB);
}

/* `times` transfers of `size` bytes took the current time; one of them is printed. */
void bandwidth(uint64 size, uint64 times, int verbose)
{
    double seconds = usecs_each(times) / 1e6;
    if (!(seconds > 0))
        return;
    double megabytes = (double)size / MB;
    double rate = megabytes / seconds;
    if (verbose) {
        fprintf(groma_lmb_out(), "%.4f MB in %.4f secs, %.4f MB/sec\n", megabytes, seconds, rate);
    } else {
        fprintf(groma_lmb_out(), megabytes < 1 ? "%.6f " : "%.2f ", megabytes);
        fprintf(groma_lmb_out(), rate < 1 ? "%.6f\n" : "%.2f\n", rate);
    }
}

void latency(uint64 transfers, uint64 size)
{
    double seconds = usecs_each(1) / 1e6;
    if (!(seconds > 0) || transfers == 0)
        return;
    double rate = (double)transfers * (double)size / seconds / MB;
    if (transfers == 1) {
        double ms = seconds * 1000;
        fprintf(groma_lmb_out(), "%.1fKB in ", (double)size / KB);
        fprintf(groma_lmb_out(), ms > 100 ? "%.0f millisecs, " : "%.4f millisecs, ", ms);
        if (rate > 1)
            fprintf(groma_lmb_out(), "%.2f MB/sec\n", rate);
        else
            fprintf(groma_lmb_out(), "%.2f KB/sec\n", rate * MB / KB);
    } else {
        fprintf(groma_lmb_out(), "%d %dKB xfers in %.2f secs, %.4f millisec/xfer, %.2f MB/sec\n",
                (int)transfers, (int)((double)size / KB), seconds,
                seconds * 1000 / (double)transfers, rate);
    }
}

void context(uint64 switches)
{
    double us = usecs_each(switches);
    if (us > 0)
        fprintf(groma_lmb_out(), "%d context switches in %.2f secs, %.0f microsec/switch\n",
                (int)switches, timespent(), us);
}

void ptime(uint64 n)
{
    double us = usecs_each(n);
    if (us > 0)
        fprintf(groma_lmb_out(), "%d in %.2f secs, %.0f microseconds each\n", (int)n, timespent(),
                us);
}
