/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * groma.h - benchmarks in C and C++ that groma measures.
 *
 * A benchmark is a descriptor and a function. groma_main() makes the program that holds them a
 * complete groma: run, list, explain, show, plot, compare, ab, gate, trend, report. Each round is
 * measured in a fresh process of the same program; the timed loop is your own machine code.
 *
 *     #include <groma.h>
 *     #include <unistd.h>
 *
 *     static int run(uint64_t iters, void *state)
 *     {
 *         for (uint64_t i = 0; i < iters; i++)
 *             getppid();
 *         return 0;
 *     }
 *
 *     int main(int argc, char **argv)
 *     {
 *         static const groma_bench benches[] = {
 *             {.size = sizeof (groma_bench), .name = "my.getppid", .run = run},
 *         };
 *         return groma_main(argc, argv, benches, 1);
 *     }
 *
 * Link with `pkg-config --libs groma`. groma.h(3) is the reference, docs/writing-benchmarks-in-c.md
 * the guide. C99 and C++11 or later; groma.hpp is a layer for C++17.
 *
 * Every structure begins with its size, and a field that is zero has its default, so a program that
 * is compiled today runs with a later library. Strings are UTF-8. What a descriptor points to must
 * live as long as the program.
 */
#ifndef GROMA_H
#define GROMA_H

#if !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#error "groma.h needs C99 or later (-std=c99, -std=gnu99)"
#endif

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface: the major version of libgroma.so. */
#define GROMA_ABI 1

/* Elements of an array. */
#define GROMA_N(array) (sizeof(array) / sizeof((array)[0]))

/* Hides a variable from the optimiser: it must be computed, and may have changed afterwards. What
 * has no more bits than a register stays in one. */
#define GROMA_KEEP(value)                                                                                    \
    do {                                                                                                     \
        if (sizeof(value) == 1 || sizeof(value) == 2 || sizeof(value) == 4 || sizeof(value) == sizeof(void *)) \
            __asm__ volatile("" : "+r"(value) : : "memory");                                                 \
        else                                                                                                 \
            __asm__ volatile("" : "+m"(value) : : "memory");                                                 \
    } while (0)

/* What a benchmark sees of the harness during one round. */
typedef struct groma_ctx groma_ctx;
/* The watch of one timed interval. */
typedef struct groma_watch groma_watch;

/* What a value is. */
enum {
    GROMA_LATENCY = 0, /* seconds per operation */
    GROMA_BANDWIDTH,   /* bytes per second */
    GROMA_RATE,        /* events per second, hertz */
    GROMA_COUNT,       /* a number */
    GROMA_BYTES,       /* bytes */
    GROMA_RATIO        /* a quotient without a unit */
};

/* Which direction is an improvement; GROMA_BY_QUANTITY: lower for a latency, higher for the rest. */
enum { GROMA_BY_QUANTITY = 0, GROMA_LOWER, GROMA_HIGHER, GROMA_NEITHER };

/* How it is timed. */
enum {
    GROMA_BATCHED = 0, /* many operations in a short interval; the headline is the median interval */
    GROMA_FLOOR,       /* the same; the 10th percentile, for constants of the hardware */
    GROMA_STREAM,      /* two sides that block on each other: intervals of 5 ms and more */
    GROMA_EACH,        /* operations of 2 us and more, each timed alone, with quantiles */
    GROMA_STATED       /* the benchmark states its values with groma_state() */
};

/* Which disturbances exclude a sample. */
enum {
    GROMA_CPU = 0,  /* runs without blocking: losing the CPU excludes it */
    GROMA_FAULTS,   /* the same, but page faults are what is measured */
    GROMA_BLOCKING, /* blocks by nature */
    GROMA_TASKS     /* creates processes or threads */
};

/* The smallest run that measures something. */
enum { GROMA_QUICK = 0, GROMA_STANDARD, GROMA_FULL, GROMA_NAMED };

/* What a parameter's values are. */
enum {
    GROMA_SIZE = 0, /* bytes: 4096, 64K, 1M */
    GROMA_INTEGER,  /* a count: 16 */
    GROMA_TIME,     /* nanoseconds: 100us, 1.5ms, 2s */
    GROMA_WORD,     /* one of `words` */
    GROMA_TEXT      /* any text: a path, a command */
};

/* What a size takes, which is checked before a round begins. */
enum {
    GROMA_TAKES_BUFFERS = 0, /* two buffers of this size for each side */
    GROMA_TAKES_ONE,         /* one buffer */
    GROMA_TAKES_NOTHING,     /* no memory of its own */
    GROMA_TAKES_FILES        /* a file of this size in the work directory */
};

/* How an output is computed from what was measured, round by round. */
enum {
    GROMA_SERIES = 0, /* the loop or the stated values called `of` */
    GROMA_DIFFERENCE, /* `of` minus `to` */
    GROMA_QUOTIENT    /* `of` divided by `to` */
};

/* Where it may run. */
enum {
    GROMA_ONE_CPU = 0, /* one task, on one CPU */
    GROMA_PAIR = 1     /* two tasks: on one CPU, on two threads of a core, within a cache, across ... */
};

/* How many copies may run at once (-P). */
enum { GROMA_ANY_GROUP = 0, GROMA_PROCESSES_ONLY, GROMA_ALONE };

/* What it cannot do without: or them together. */
enum { GROMA_NEEDS_WORK_DIR = 1, GROMA_NEEDS_ROOT = 2, GROMA_NEEDS_LOOPBACK = 4 };

/* A parameter. Lists of values are words separated by blanks: "4K 1M". */
typedef struct groma_param {
    size_t size;          /* sizeof (groma_param) */
    const char *name;     /* as in --param name=value */
    const char *summary;  /* half a line */
    int kind;             /* GROMA_SIZE ... */
    int takes;            /* of a size: GROMA_TAKES_BUFFERS ... */
    const char *words;    /* of a GROMA_WORD: all of them */
    const char *quick;    /* the values that every run measures */
    const char *standard; /* those that a standard run adds */
    const char *full;     /* those that only --full adds */
} groma_param;

/* A metric. Without a list of them, a benchmark has one: what `run` measured. */
typedef struct groma_output {
    size_t size;         /* sizeof (groma_output) */
    const char *name;    /* appended to the benchmark's name; "" or NULL is the main one */
    const char *summary; /* half a line */
    int how;             /* GROMA_SERIES ... */
    const char *of;      /* a loop; NULL: the one called like the output */
    const char *to;      /* the second loop of a difference or quotient */
    double per;          /* a difference is divided by this; 0 is 1 */
    int quantity;        /* GROMA_LATENCY ...; `own_quantity` says that it counts */
    int own_quantity;    /* 1: `quantity` holds. Else it is the benchmark's, of a quotient a ratio */
    int detail;          /* 1: a control, left out of large tables */
} groma_output;

/* A benchmark. Functions that return int return 0, a number of <errno.h>, or what groma_fail() and
 * its kin return; anything else ends the round. */
typedef struct groma_bench {
    size_t size;           /* sizeof (groma_bench) */
    const char *name;      /* "family.name" */
    const char *summary;   /* one line */
    const char *about;     /* what is measured and what not, method, pitfalls: for `explain` */
    const char *iteration; /* what one iteration does: "one pass over the buffer" */
    unsigned version;      /* increases when old and new values cannot be compared; 0 is 1 */
    int quantity;          /* GROMA_LATENCY ... */
    int better;            /* GROMA_BY_QUANTITY ... */
    int timing;            /* GROMA_BATCHED ... */
    int interference;      /* GROMA_CPU ... */
    int tier;              /* the smallest run that measures it unless it is named */
    int placements;        /* GROMA_ONE_CPU or GROMA_PAIR */
    int scaling;           /* GROMA_ANY_GROUP ... */
    const char *why_not;   /* why it cannot run in a group, when `scaling` limits it */
    unsigned needs;        /* GROMA_NEEDS_... */
    unsigned needs_cpus;   /* CPUs that it cannot do without */
    const char *needs_paths; /* files and programs, separated by blanks */
    const groma_param *params;
    size_t n_params;
    const groma_output *outputs;
    size_t n_outputs;

    /* Prepares a round; not timed. `*state` is NULL and is passed to all functions below. */
    int (*setup)(groma_ctx *ctx, void **state);
    /* Does `iters` iterations; timed as a whole. */
    int (*run)(uint64_t iters, void *state);
    /* Instead of `run`: calls groma_start() and groma_stop() around what is timed. */
    int (*run_staged)(uint64_t iters, void *state, groma_watch *watch);
    /* Instead of both: measures with groma_measure(), or states values with groma_state(). */
    int (*measure)(groma_ctx *ctx, void *state);
    /* Proves that the work was done, with groma_prove(). */
    int (*check)(groma_ctx *ctx, void *state);
    /* Frees what `setup` made. Called whenever `setup` returned 0 or set `*state`. */
    void (*cleanup)(void *state);
} groma_bench;

/* A loop for groma_measure(). */
typedef struct groma_loop {
    size_t size;      /* sizeof (groma_loop) */
    const char *name; /* the series; "" or NULL is the main one */
    int (*run)(uint64_t iters, void *state);
    int (*run_staged)(uint64_t iters, void *state, groma_watch *watch);
    void *state;
    double per_iter;    /* operations or bytes of an iteration; 0 is 1 */
    uint64_t max_iters; /* the most iterations of an interval; 0 is no limit */
} groma_loop;

/* --- the program -------------------------------------------------------------------------- */

/* Runs the command line of a program with these `n` benchmarks and those that are registered; `main`
 * returns the result. It must come first in `main`: every worker process starts there. A bad
 * descriptor is one line on standard error and exit code 2. */
int groma_main(int argc, char **argv, const groma_bench *benches, size_t n);
/* The same, with groma's own benchmarks beside them. */
int groma_main_with_groma(int argc, char **argv, const groma_bench *benches, size_t n);
/* Adds a benchmark to those of the program, before groma_main(). */
void groma_register(const groma_bench *bench);
/* The same beside the benchmark's functions, in any file of a program in C:
 *
 *     GROMA_BENCH(getppid_call, .name = "my.getppid", .run = run);
 *     GROMA_MAIN()
 *
 * In C++, groma.hpp has GROMA_BENCHMARK(). */
#define GROMA_BENCH(id, ...)                                                                                 \
    static const groma_bench groma_bench_##id = {.size = sizeof(groma_bench), __VA_ARGS__};                  \
    __attribute__((__constructor__)) static void groma_register_##id(void) { groma_register(&groma_bench_##id); } \
    extern int groma_bench_##id##_ends_with_a_semicolon
#define GROMA_MAIN()                                                                                         \
    int main(int argc, char **argv) { return groma_main(argc, argv, NULL, 0); }                              \
    extern int groma_main_ends_with_a_semicolon
/* The version of the library: "0.1.0". */
const char *groma_version(void);

/* --- in setup, measure and check ---------------------------------------------------------- */

/* The value of a size, integer or time parameter (bytes, number, nanoseconds). Asking for one that
 * the descriptor does not declare fails the round. */
uint64_t groma_int(groma_ctx *ctx, const char *param);
/* The value of a word or text parameter; valid until the end of the round. */
const char *groma_word(groma_ctx *ctx, const char *param);
/* The name of the benchmark. */
const char *groma_name(const groma_ctx *ctx);
/* A random number; the seed of the run decides it. */
uint64_t groma_random(groma_ctx *ctx);
/* The private directory of this round, removed afterwards; needs GROMA_NEEDS_WORK_DIR. */
const char *groma_work_dir(groma_ctx *ctx);
/* The number of this round, from 0; of this member of the group, from 0; of members. */
unsigned groma_round(const groma_ctx *ctx);
unsigned groma_member(const groma_ctx *ctx);
unsigned groma_members(const groma_ctx *ctx);

/* In setup: an iteration of `run` holds this many operations, or bytes for a bandwidth. */
void groma_per_iter(groma_ctx *ctx, double n);
/* In setup: an interval does at most this many iterations. */
void groma_max_iters(groma_ctx *ctx, uint64_t n);

/* Forks the peer of a two-sided benchmark, on the CPU that the placement gives it. The peer first
 * closes these descriptors, then exits with what `body` returns; anything but 0 fails the round. It
 * ends at the end of the round at the latest. Returns its process id, or -1 after an error. */
int groma_fork_peer(groma_ctx *ctx, int (*body)(void *state), void *state, const int *close_fds, size_t n_close);

/* In measure: measures loops in turn, so that their differences are paired. */
int groma_measure(groma_ctx *ctx, const groma_loop *loops, size_t n);
/* States a value in SI units, for a series; "" or NULL is the main one. */
void groma_state(groma_ctx *ctx, const char *series, double value);
/* States that an output has no value in this round, and why. */
void groma_unresolved(groma_ctx *ctx, const char *output, const char *why);

/* Iterations that the measured loops have run up to now, warm-up included; of the loop of that
 * name, or of all with NULL. */
uint64_t groma_iterations(const groma_ctx *ctx, const char *loop);
/* Proves something: `seen` must be within [least, most], or the round fails. */
void groma_prove(groma_ctx *ctx, const char *what, double seen, double least, double most);
/* A fact or a remark for the record. */
void groma_fact(groma_ctx *ctx, const char *key, const char *value);
void groma_note(groma_ctx *ctx, const char *text);

/* --- in run_staged ------------------------------------------------------------------------- */

/* The timed part begins and ends; several parts add up. */
void groma_start(groma_watch *watch);
void groma_stop(groma_watch *watch);

/* --- errors -------------------------------------------------------------------------------- */

enum { GROMA_FAILED = 0, GROMA_UNSUPPORTED, GROMA_DENIED };

/* Sets why the round ends, unless that is known; returns what the calling function returns.
 * groma_end_errno() takes the state from the number: EPERM is denied, ENOSYS unsupported, most
 * others failed. */
int groma_end(groma_ctx *ctx, int state, const char *why);
int groma_end_errno(groma_ctx *ctx, int number, const char *what);

#if defined(__GNUC__)
#define GROMA_PRINTF(text, first) __attribute__((__format__(__printf__, text, first), __unused__))
#else
#define GROMA_PRINTF(text, first)
#endif

GROMA_PRINTF(2, 3) static int groma_fail(groma_ctx *ctx, const char *format, ...);
GROMA_PRINTF(2, 3) static int groma_not_supported(groma_ctx *ctx, const char *format, ...);
GROMA_PRINTF(3, 4) static int groma_fail_errno(groma_ctx *ctx, int number, const char *format, ...);

/* The round has failed, for this reason. */
static inline int groma_fail(groma_ctx *ctx, const char *format, ...)
{
    char why[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return groma_end(ctx, GROMA_FAILED, why);
}

/* This machine cannot do it, for this reason. */
static inline int groma_not_supported(groma_ctx *ctx, const char *format, ...)
{
    char why[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return groma_end(ctx, GROMA_UNSUPPORTED, why);
}

/* A call failed with this errno; the text says what was tried. */
static inline int groma_fail_errno(groma_ctx *ctx, int number, const char *format, ...)
{
    char what[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return groma_end_errno(ctx, number, what);
}

/* --- in a program with a main of its own ---------------------------------------------------- */

/* One measurement, in forked children of this process: what `begin` finds is what the process has
 * made up to now. The children end whatever the functions do. */
typedef struct groma_here {
    size_t size;         /* sizeof (groma_here) */
    const char *name;    /* of the metric: "family.name" */
    const char *summary; /* one line */
    /* In each child, once before anything is timed, and once after. */
    int (*begin)(groma_ctx *ctx, void *state);
    int (*end)(groma_ctx *ctx, void *state);
    /* `iters` iterations, with groma_start() and groma_stop() around what is timed. */
    int (*interval)(uint64_t iters, void *state, groma_watch *watch);
    void *state;
    unsigned members;   /* children that work at once; 0 is 1 */
    unsigned rounds;    /* fresh children one after the other; 0 is 11 */
    uint64_t warm_us;   /* at least this long before anything counts */
    uint64_t sample_us; /* how long a round samples; 0 is 25 ms */
} groma_here;

/* What was found. */
typedef struct groma_found {
    size_t size;          /* sizeof (groma_found), set by the caller */
    double ns;            /* nanoseconds of an iteration: the median of the rounds */
    double low_ns;        /* its 95 % interval; both 0 if there are too few rounds */
    double high_ns;
    double rounds_ns[64]; /* the value of each round, in order */
    unsigned n_rounds;
    int imprecise;     /* 1: the interval is wider than the target */
    int not_parallel;  /* 1: the members did not overlap in some round */
    char why[512];     /* why there is no value, or what is wrong with it; else empty */
} groma_found;

/* Measures; returns 0 and fills `found`, or another number with `found->why`. With GROMA_STORE in
 * the environment the rounds are stored as a run of their own. */
int groma_measure_here(const groma_here *what, groma_found *found);

#ifdef __cplusplus
}
#endif

#endif
