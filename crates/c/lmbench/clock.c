/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * clock.c - the clock of programs that time something themselves.
 *
 * It is CLOCK_MONOTONIC, moved once so that it shows the time of day: it never goes backwards and
 * is not set while a program runs, and what it shows can still be compared with gettimeofday(). The
 * move is made before main(), so a process and the children that it forks agree. benchmp() does not
 * use this clock.
 */
#include "internal.h"

static int64 move_ns;

static int64 read_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64)t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((constructor)) static void find_the_move(void)
{
    move_ns = read_ns(CLOCK_REALTIME) - read_ns(CLOCK_MONOTONIC);
}

int64 groma_lmb_clock(void)
{
    return read_ns(CLOCK_MONOTONIC) + move_ns;
}

static struct timeval timeval_of(int64 ns)
{
    struct timeval tv = {.tv_sec = (time_t)(ns / 1000000000),
                         .tv_usec = (suseconds_t)(ns % 1000000000 / 1000)};
    return tv;
}

static int64 ns_of(const struct timeval *tv)
{
    return (int64)tv->tv_sec * 1000000000 + (int64)tv->tv_usec * 1000;
}

/* The last start(NULL), and the last start(tv): a timeval has no nanoseconds, so they are kept for
 * the stop() that names the same moment. */
static int64 begun_ns, given_ns;
static int64 last_delta_ns;
static struct rusage at_start, at_stop;
static int64 real_start_ns, real_stop_ns;

/* Reads the clock last, as stop() reads it first. */
void start(struct timeval *tv)
{
    getrusage(RUSAGE_SELF, &at_start);
    int64 ns = groma_lmb_clock();
    real_start_ns = ns;
    if (tv) {
        *tv = timeval_of(ns);
        given_ns = ns;
    } else {
        begun_ns = ns;
    }
}

uint64 stop(struct timeval *begin, struct timeval *end)
{
    int64 ns = groma_lmb_clock();
    getrusage(RUSAGE_SELF, &at_stop);
    real_stop_ns = ns;
    int64 from = begun_ns;
    if (begin) {
        struct timeval given = timeval_of(given_ns);
        int same = begin->tv_sec == given.tv_sec && begin->tv_usec == given.tv_usec;
        from = same ? given_ns : ns_of(begin);
    }
    if (end)
        *end = timeval_of(ns);
    groma_lmb_set(ns > from ? (double)(ns - from) : 0.0, get_n());
    return gettime();
}

uint64 now(void)
{
    return (uint64)(groma_lmb_clock() / 1000);
}

double Now(void)
{
    return (double)groma_lmb_clock() / 1000.0;
}

uint64 delta(void)
{
    int64 ns = groma_lmb_clock();
    int64 since = last_delta_ns ? ns - last_delta_ns : 0;
    last_delta_ns = ns;
    return (uint64)(since / 1000);
}

double Delta(void)
{
    return (double)(groma_lmb_clock() - begun_ns) / 1000.0;
}

uint64 tvdelta(struct timeval *from, struct timeval *to)
{
    int64 ns = ns_of(to) - ns_of(from);
    return ns > 0 ? (uint64)(ns / 1000) : 0;
}

void tvsub(struct timeval *difference, struct timeval *to, struct timeval *from)
{
    int64 ns = ns_of(to) - ns_of(from);
    *difference = timeval_of(ns > 0 ? ns : 0);
}

static double seconds(const struct timeval *from, const struct timeval *to)
{
    return (double)(ns_of(to) - ns_of(from)) / 1e9;
}

/* What this process used between start() and stop(). */
void rusage(void)
{
    double sys = seconds(&at_start.ru_stime, &at_stop.ru_stime);
    double user = seconds(&at_start.ru_utime, &at_stop.ru_utime);
    double real = (double)(real_stop_ns - real_start_ns) / 1e9;
    double idle = real - sys - user;
    if (idle < 0)
        idle = 0;
    fprintf(groma_lmb_out(),
            "real=%.2f sys=%.2f user=%.2f idle=%.2f stall=%.0f%% rd=%ld wr=%ld min=%ld maj=%ld "
            "ctx=%ld\n",
            real, sys, user, idle, real > 0 ? idle / real * 100 : 0.0,
            at_stop.ru_inblock - at_start.ru_inblock, at_stop.ru_oublock - at_start.ru_oublock,
            at_stop.ru_minflt - at_start.ru_minflt, at_stop.ru_majflt - at_start.ru_majflt,
            at_stop.ru_nvcsw - at_start.ru_nvcsw + at_stop.ru_nivcsw - at_start.ru_nivcsw);
}

/* A number of the environment, or `otherwise` if there is none. */
static double setting(const char *name, double otherwise)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return otherwise;
    char *end;
    double value = strtod(text, &end);
    if (*end || !(value >= 0 && value <= 1e9))
        groma_lmb_refuse("%s is '%s', expected a number of microseconds", name, text);
    return value;
}

/* 5 ms where the environment has no other number: it is the shortest that lmbench tries, and
 * 100,000 times the 50 ns that reading this clock takes. */
int get_enough(int enough)
{
    int least = (int)setting("ENOUGH", 5000);
    return enough > least ? enough : least;
}

uint64 t_overhead(void)
{
    return (uint64)setting("TIMING_O", 0);
}

double l_overhead(void)
{
    return setting("LOOP_O", 0);
}
