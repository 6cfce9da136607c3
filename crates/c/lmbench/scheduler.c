/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * scheduler.c - where processes run: LMBENCH_SCHED.
 *
 *     DEFAULT            wherever the kernel puts them
 *     SINGLE             all on one CPU
 *     BALANCED           each copy of the benchmark on the next CPU, with its helpers
 *     BALANCED_SPREAD    the same, each next CPU as far as possible from those before
 *     UNIQUE             each process on the next CPU, helpers too
 *     UNIQUE_SPREAD      the same, spread
 *     CUSTOM a b ...     each copy on the next of these CPUs, with its helpers
 *     CUSTOM_UNIQUE a b  each process on the next of these
 *
 * A CPU is counted among those that the process may use when it starts, and numbers wrap round. The
 * order is the system's, so neighbours may be two threads of a core. An unknown policy is an error:
 * numbers would appear as if it had been obeyed.
 */
#include "internal.h"

#include <sched.h>

/* The CPUs of the process before anything was pinned: a child that is pinned forks helpers. */
static cpu_set_t *allowed;
static size_t allowed_size;
static int allowed_cpus;

__attribute__((constructor)) static void remember(void)
{
    /* The kernel refuses a set that is smaller than its own, whose size it does not tell. */
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
        allowed_size = CPU_ALLOC_SIZE(cpus);
        allowed = CPU_ALLOC(cpus);
        if (!allowed)
            return;
        if (sched_getaffinity(0, allowed_size, allowed) == 0) {
            allowed_cpus = CPU_COUNT_S(allowed_size, allowed);
            return;
        }
        CPU_FREE(allowed);
        allowed = NULL;
        if (errno != EINVAL)
            return;
    }
}

/* The k-th of `cpus` in the order of reversed bits: 0 4 2 6 1 5 3 7 of eight. Numbers that do not
 * exist are left out, so that it is a permutation for any number of CPUs. */
static int spread(int k, int cpus)
{
    int bits = 0;
    while (1L << bits < cpus)
        bits++;
    for (long i = 0, seen = 0; i < 1L << bits; i++) {
        long reversed = 0;
        for (int b = 0; b < bits; b++)
            reversed |= (i >> b & 1) << (bits - 1 - b);
        if (reversed < cpus && seen++ == k)
            return (int)reversed;
    }
    return 0;
}

/* The k-th number of a list, whose separators are whatever is no digit, modulo its length. */
static int listed(const char *list, long k, int cpus)
{
    for (long length = 0, i = 0;; length = i, i = 0) {
        const char *at = list;
        while (*at) {
            if (!isdigit((unsigned char)*at)) {
                at++;
                continue;
            }
            char *end;
            unsigned long cpu = strtoul(at, &end, 10);
            if (length > 0 && i == k % length)
                return (int)(cpu % (unsigned long)cpus);
            i++;
            at = end;
        }
        if (i == 0)
            return GROMA_LMB_UNKNOWN;
    }
}

int groma_lmb_place(const char *policy, int childno, int benchproc, int nbenchprocs, int cpus)
{
    if (!policy || !*policy || strcasecmp(policy, "DEFAULT") == 0)
        return GROMA_LMB_ANYWHERE;
    long copy = childno > 0 ? childno : 0;
    long unique = copy * ((long)nbenchprocs + 1) + benchproc;
    if (strcasecmp(policy, "SINGLE") == 0)
        return 0;
    if (strcasecmp(policy, "BALANCED") == 0)
        return (int)(copy % cpus);
    if (strcasecmp(policy, "BALANCED_SPREAD") == 0)
        return spread((int)(copy % cpus), cpus);
    if (strcasecmp(policy, "UNIQUE") == 0)
        return (int)(unique % cpus);
    if (strcasecmp(policy, "UNIQUE_SPREAD") == 0)
        return spread((int)(unique % cpus), cpus);
    /* The longer name first: it begins with the other. */
    size_t word = strcspn(policy, " \t,");
    if (word == strlen("CUSTOM_UNIQUE") && strncasecmp(policy, "CUSTOM_UNIQUE", word) == 0)
        return listed(policy + word, unique, cpus);
    if (word == strlen("CUSTOM") && strncasecmp(policy, "CUSTOM", word) == 0)
        return listed(policy + word, copy, cpus);
    return GROMA_LMB_UNKNOWN;
}

void groma_lmb_check_policy(void)
{
    const char *policy = getenv("LMBENCH_SCHED");
    if (groma_lmb_place(policy, 0, 0, 0, 1) == GROMA_LMB_UNKNOWN)
        groma_lmb_refuse("LMBENCH_SCHED is '%s', expected DEFAULT, SINGLE, BALANCED, "
                         "BALANCED_SPREAD, UNIQUE, UNIQUE_SPREAD, CUSTOM or CUSTOM_UNIQUE with a "
                         "list of CPUs",
                         policy);
}

int handle_scheduler(int childno, int benchproc, int nbenchprocs)
{
    const char *policy = getenv("LMBENCH_SCHED");
    groma_lmb_check_policy();
    if (groma_lmb_place(policy, childno, benchproc, nbenchprocs, 1) == GROMA_LMB_ANYWHERE)
        return 0;
    if (allowed_cpus == 0) {
        groma_lmb_say("LMBENCH_SCHED: the CPUs of this process are unknown");
        return -1;
    }
    int k = groma_lmb_place(policy, childno, benchproc, nbenchprocs, allowed_cpus);
    size_t cpu = 0;
    for (int seen = -1; cpu < allowed_size * 8; cpu++)
        if (CPU_ISSET_S(cpu, allowed_size, allowed) && ++seen == k)
            break;
    cpu_set_t *set = groma_lmb_allocate(allowed_size);
    CPU_ZERO_S(allowed_size, set);
    CPU_SET_S(cpu, allowed_size, set);
    int result = sched_setaffinity(0, allowed_size, set);
    if (result != 0)
        groma_lmb_say("LMBENCH_SCHED: cannot run on CPU %zu: %s", cpu, strerror(errno));
    free(set);
    return result;
}
