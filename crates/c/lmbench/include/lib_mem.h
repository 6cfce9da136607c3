/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * lib_mem.h - chains of pointers through memory, for programs in the style of lmbench 3. bench.h
 * says what this library is.
 *
 * Fill in width, len, maxlen, line and pagesize of a struct mem_state, and pass it as the cookie of
 * benchmp() with an initializer, one of mem_benchmarks, and mem_cleanup (after tlb_initialize:
 * tlb_cleanup). mem_benchmarks[k] follows k + 1 chains side by side, GROMA_LMB_LOADS loads of each
 * in an iteration.
 */
#ifndef GROMA_LMBENCH_LIB_MEM_H
#define GROMA_LMBENCH_LIB_MEM_H

#include "bench.h"

#define MAX_MEM_PARALLELISM 16
#define GROMA_LMB_LOADS 100

#ifdef __cplusplus
extern "C" {
#endif

struct mem_state {
    char *addr;                   /* what was allocated */
    char *base;                   /* its first whole page */
    char *p[MAX_MEM_PARALLELISM]; /* where each chain is */
    int initialized;              /* 1: the chain is complete */
    int width;                    /* chains, evenly spaced in the ring */
    size_t len;                   /* bytes that the ring covers */
    size_t maxlen;                /* bytes to allocate; len if it is smaller */
    size_t line;                  /* bytes from one element to the next in a page */
    size_t pagesize;
    size_t nlines; /* lines in a page */
    size_t npages; /* pages in len, a part of one included */
    size_t nwords; /* words in a line */
    size_t *pages; /* offsets of the pages, in random order; of tlb: addresses */
    size_t *lines; /* offsets of the lines within a page, in bit-reversed order */
    size_t *words; /* offsets of the words within a line, in bit-reversed order */
};

/* Allocates, and fills in the tables; the others call it. All act only on iterations == 0. */
void base_initialize(iter_t iterations, void *cookie);
/* Every `line` bytes, forwards. */
void stride_initialize(iter_t iterations, void *cookie);
/* Every line of every page, pages in random order, one line of a page at a visit. */
void thrash_initialize(iter_t iterations, void *cookie);
/* Every word of every line, in the order of thrash_initialize(). */
void mem_initialize(iter_t iterations, void *cookie);
/* Every line of every page, one page after the other, pages in random order. */
void line_initialize(iter_t iterations, void *cookie);
/* One word in each of len / pagesize pages that are allocated one by one. */
void tlb_initialize(iter_t iterations, void *cookie);
void mem_cleanup(iter_t iterations, void *cookie);
void tlb_cleanup(iter_t iterations, void *cookie);

#define REPEAT_0(m) m(0)
#define REPEAT_1(m) REPEAT_0(m) m(1)
#define REPEAT_2(m) REPEAT_1(m) m(2)
#define REPEAT_3(m) REPEAT_2(m) m(3)
#define REPEAT_4(m) REPEAT_3(m) m(4)
#define REPEAT_5(m) REPEAT_4(m) m(5)
#define REPEAT_6(m) REPEAT_5(m) m(6)
#define REPEAT_7(m) REPEAT_6(m) m(7)
#define REPEAT_8(m) REPEAT_7(m) m(8)
#define REPEAT_9(m) REPEAT_8(m) m(9)
#define REPEAT_10(m) REPEAT_9(m) m(10)
#define REPEAT_11(m) REPEAT_10(m) m(11)
#define REPEAT_12(m) REPEAT_11(m) m(12)
#define REPEAT_13(m) REPEAT_12(m) m(13)
#define REPEAT_14(m) REPEAT_13(m) m(14)
#define REPEAT_15(m) REPEAT_14(m) m(15)

#define MEM_BENCHMARK_DECL(k) void mem_benchmark_##k(iter_t iterations, void *cookie);
REPEAT_15(MEM_BENCHMARK_DECL)
extern benchmp_f mem_benchmarks[MAX_MEM_PARALLELISM];

/* The size of a cache line in bytes, or 0. */
size_t line_find(size_t len, int warmup, int repetitions, struct mem_state *state);
/* Nanoseconds of a load from the ring of line_initialize() with this line, or 0. */
double line_test(size_t line, int warmup, int repetitions, struct mem_state *state);
/* How many loads overlap, at most MAX_MEM_PARALLELISM, or 0. */
double par_mem(size_t len, int warmup, int repetitions, struct mem_state *state);

#ifdef __cplusplus
}
#endif

#endif
