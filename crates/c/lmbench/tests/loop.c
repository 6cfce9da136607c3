/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * loop.c - the BENCH macros and the clock: how often a body runs, and what becomes of its time.
 */
#include "check.h"

static volatile uint64 runs;

/* All runs but the first, which is not timed, are in intervals; of those in the last only for one
 * sample. */
static void a_body_runs_as_often_as_told(void)
{
    runs = 0;
    BENCH_INNER(runs++, 0);
    CHECK(get_n() > 1 && get_n() <= runs);
    CHECK(gettime() >= 4750); /* 0.95 of the default */
    double each = timespent() / (double)get_n();
    CHECK(each > 0);

    runs = 0;
    BENCH1(runs++, 10000)
    CHECK(get_n() > 1 && get_n() < runs);
    CHECK(gettime() >= 9500);

    /* Eleven samples, or one of long intervals. */
    BENCH(runs++, 0);
    CHECK_NUMBER(get_results()->N, TRIES);
    BENCH(runs++, 100001);
    CHECK_NUMBER(get_results()->N, 1);

    /* An interval that one iteration exceeds. */
    runs = 0;
    BENCH1((usleep(6000), runs++), 0);
    CHECK_NUMBER(get_n(), 1);
    CHECK_NUMBER(runs, 2);
    CHECK(gettime() >= 6000);
}

static void spin(uint64 us)
{
    int64 end = groma_lmb_clock() + (int64)us * 1000;
    while (groma_lmb_clock() < end)
        ;
}

/* What comes out when each iteration takes `each_ns`. The time is made up, and so much of it that
 * what really passes does not matter. */
static double made_up(double each_ns, double subtract_ns)
{
    groma_lmb_loop loop;
    iter_t n;
    int intervals = 0;
    groma_lmb_begin(&loop, GROMA_LMB_ONE, 1000000000, subtract_ns);
    while ((n = groma_lmb_next(&loop)) != 0) {
        loop.began_ns -= (int64)((double)n * each_ns);
        intervals++;
    }
    CHECK(intervals >= 2 && intervals < 30);
    return groma_lmb_ns();
}

static void an_overhead_is_taken_off(void)
{
    CHECK(fabs(made_up(80e3, 0) / 80e3 - 1) < 0.01);
    CHECK(fabs(made_up(80e3, 20e3) / 60e3 - 1) < 0.01);
    CHECK_NUMBER(made_up(20e3, 80e3), 0);
    CHECK(fabs(made_up(3e12, 1e12) / 2e12 - 1) < 0.01); /* longer than an interval */
    setenv("LOOP_O", "30", 1);
    CHECK(fabs(made_up(80e3, 20e3) / 30e3 - 1) < 0.01);
    unsetenv("LOOP_O");
    setenv("TIMING_O", "500000000", 1); /* half of an interval */
    CHECK(fabs(made_up(1e12, 0) / 0.5e12 - 1) < 0.01);
    unsetenv("TIMING_O");

    /* The second body is the overhead: it is 2000 times the first, or the other way round. */
    BENCHO(spin(10), usleep(20000), 0)
    CHECK_NUMBER(gettime(), 0);
    CHECK_NUMBER(get_results()->N, 0);
    BENCHO(usleep(20000), spin(10), 0)
    CHECK(groma_lmb_ns() > 10e6);
    CHECK_NUMBER(get_results()->N, TRIES);

    setenv("ENOUGH", "12000", 1);
    CHECK_NUMBER(get_enough(0), 12000);
    CHECK_NUMBER(get_enough(20000), 20000);
    unsetenv("ENOUGH");
    CHECK_NUMBER(get_enough(0), 5000);
}

static void the_clock(void)
{
    struct timeval outer, inner, end, later, difference;
    start(&outer);
    start(&inner);
    uint64 within = stop(&inner, NULL);
    uint64 around = stop(&outer, &end);
    /* The outer moment is cut to microseconds. */
    CHECK(around + 1 >= within);
    CHECK_NUMBER(gettime(), around);
    start(NULL);
    spin(300);
    CHECK(stop(NULL, NULL) >= 300);
    CHECK(Delta() >= 300);
    delta();
    spin(300);
    CHECK(delta() >= 300);
    /* It shows the time of day, within the seconds that a test may be stopped for. */
    gettimeofday(&later, NULL);
    CHECK(llabs((long long)now() - ((long long)later.tv_sec * 1000000 + later.tv_usec)) < 60000000);

    struct timeval a = {5, 900000}, b = {7, 100000};
    CHECK_NUMBER(tvdelta(&a, &b), 1200000);
    CHECK_NUMBER(tvdelta(&b, &a), 0);
    tvsub(&difference, &b, &a);
    CHECK(difference.tv_sec == 1 && difference.tv_usec == 200000);
    tvsub(&difference, &a, &b);
    CHECK(difference.tv_sec == 0 && difference.tv_usec == 0);
}

int main(void)
{
    unsetenv("ENOUGH");
    unsetenv("LOOP_O");
    unsetenv("TIMING_O");
    a_body_runs_as_often_as_told();
    an_overhead_is_taken_off();
    the_clock();
    return failures > 0;
}
