/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * scheduler.c - LMBENCH_SCHED: the table of places, and that a process really is where it says.
 */
#include "check.h"

#include <sched.h>

/* Places of the copies 0, 1, 2 ... as digits. */
static const char *places(const char *policy, int benchproc, int nbenchprocs, int cpus)
{
    static char text[16];
    for (int copy = 0; copy < 8; copy++)
        text[copy] = (char)('0' + groma_lmb_place(policy, copy, benchproc, nbenchprocs, cpus));
    return text;
}

/* Runs in a child: which CPU, as a place among those allowed; -1 if it is not pinned to one. */
static int place_of_child(const char *policy, int childno, int benchproc, int nbenchprocs)
{
    cpu_set_t all, one;
    int status, place = 0;
    sched_getaffinity(0, sizeof all, &all);
    setenv("LMBENCH_SCHED", policy, 1);
    pid_t pid = fork();
    if (pid == 0) {
        /* A copy that is pinned, then its helper: the helper must not see one CPU only. */
        handle_scheduler(childno, 0, nbenchprocs);
        if (handle_scheduler(childno, benchproc, nbenchprocs) != 0)
            _exit(255);
        sched_getaffinity(0, sizeof one, &one);
        if (CPU_COUNT(&one) != 1)
            _exit(255);
        for (int cpu = 0; !CPU_ISSET(cpu, &one); cpu++)
            place += CPU_ISSET(cpu, &all) != 0;
        _exit(place);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? (signed char)WEXITSTATUS(status) : -2;
}

int main(void)
{
    CHECK_NUMBER(groma_lmb_place(NULL, 3, 0, 0, 8), GROMA_LMB_ANYWHERE);
    CHECK_NUMBER(groma_lmb_place("default", 3, 0, 0, 8), GROMA_LMB_ANYWHERE);
    CHECK_TEXT(places("SINGLE", 1, 1, 8), "00000000");
    CHECK_TEXT(places("balanced", 0, 1, 8), "01234567");
    CHECK_TEXT(places("BALANCED", 1, 1, 3), "01201201");
    CHECK_TEXT(places("BALANCED_SPREAD", 0, 0, 8), "04261537");
    CHECK_TEXT(places("BALANCED_SPREAD", 0, 0, 6), "04215304");
    CHECK_TEXT(places("UNIQUE", 0, 1, 8), "02460246");
    CHECK_TEXT(places("UNIQUE", 1, 1, 8), "13571357");
    CHECK_TEXT(places("UNIQUE_SPREAD", 1, 1, 8), "46574657");
    CHECK_TEXT(places("CUSTOM 5 1,7", 1, 1, 8), "51751751");
    CHECK_TEXT(places("CUSTOM_UNIQUE 5 1 7", 1, 1, 8), "15715715");
    CHECK_NUMBER(groma_lmb_place("CUSTOM 99", 0, 0, 0, 8), 3);
    CHECK_NUMBER(groma_lmb_place("BALANCED_SPREAD", 1, 0, 0, 64), 32);
    CHECK_NUMBER(groma_lmb_place("CUSTOM_SPREAD 1", 0, 0, 0, 8), GROMA_LMB_UNKNOWN);
    CHECK_NUMBER(groma_lmb_place("CUSTOM", 0, 0, 0, 8), GROMA_LMB_UNKNOWN);
    CHECK_NUMBER(groma_lmb_place("nonsense", 0, 0, 0, 8), GROMA_LMB_UNKNOWN);

    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    int cpus = CPU_COUNT(&all);
    CHECK_NUMBER(place_of_child("SINGLE", 5, 1, 1), 0);
    CHECK_NUMBER(place_of_child("UNIQUE", 0, 1, 1), 1 % cpus);
    CHECK_NUMBER(place_of_child("BALANCED", cpus - 1, 0, 0), cpus - 1);
    if (cpus > 1)
        CHECK_NUMBER(place_of_child("DEFAULT", 0, 1, 1), -1);
    return failures > 0;
}
