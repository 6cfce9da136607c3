/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * chains.c - rings of pointers through memory, loops that follow them, and what these find out.
 *
 * Each element of a ring holds the address of the next, so that a load cannot begin before the one
 * before it has ended. All rings visit each element exactly once: also where the size is no
 * multiple of a page or of a power of two, where lmbench leaves elements out, and where the line is
 * longer than a page, where it builds none.
 */
#include "internal.h"

#define WORD sizeof(char *)

/* The numbers below n in the order of reversed bits, times `scale`. */
static size_t *bit_reversed(size_t n, size_t scale)
{
    size_t *order = groma_lmb_allocate(n * sizeof *order);
    int bits = 0;
    while ((size_t)1 << bits < n)
        bits++;
    for (size_t i = 0, filled = 0; filled < n; i++) {
        size_t reversed = 0;
        for (int b = 0; b < bits; b++)
            reversed |= (i >> b & 1) << (bits - 1 - b);
        if (reversed < n)
            order[filled++] = reversed * scale;
    }
    return order;
}

/* Where the i-th element of a ring would be; those beyond the length are left out. */
typedef size_t (*place_f)(const struct mem_state *state, size_t i);

static size_t stride_place(const struct mem_state *state, size_t i)
{
    return i * state->line;
}

/* The next page each time; when all were visited, the next line. */
static size_t thrash_place(const struct mem_state *state, size_t i)
{
    return state->pages[i % state->npages] + state->lines[i / state->npages];
}

/* The same for each word of a line. */
static size_t mem_place(const struct mem_state *state, size_t i)
{
    size_t lines = state->npages * state->nlines;
    return thrash_place(state, i % lines) + state->words[i / lines];
}

/* All lines of a page, then the next page. */
static size_t line_place(const struct mem_state *state, size_t i)
{
    return state->pages[i / state->nlines] + state->lines[i % state->nlines];
}

/* Links the elements among the first `places`, and spaces the chains evenly. */
static void link_ring(struct mem_state *state, place_f place, size_t places)
{
    size_t elements = 0, seen = 0;
    for (size_t i = 0; i < places; i++)
        elements += place(state, i) + WORD <= state->len;
    if (elements == 0)
        return;
    char *first = NULL, *before = NULL;
    for (size_t i = 0, chain = 0; i < places; i++) {
        size_t offset = place(state, i);
        if (offset + WORD > state->len)
            continue;
        char *at = state->base + offset;
        if (before)
            *(char **)before = at;
        else
            first = at;
        before = at;
        for (; chain < (size_t)state->width && seen == chain * elements / (size_t)state->width;
             chain++)
            state->p[chain] = at;
        seen++;
    }
    *(char **)before = first;
    state->initialized = 1;
}

/* Defaults and limits of what the program has filled in. */
static void complete(struct mem_state *state)
{
    state->initialized = 0;
    state->addr = state->base = NULL;
    state->pages = state->lines = state->words = NULL;
    memset(state->p, 0, sizeof state->p);
    if (state->width < 1)
        state->width = 1;
    if (state->width > MAX_MEM_PARALLELISM)
        state->width = MAX_MEM_PARALLELISM;
    if (state->pagesize == 0)
        state->pagesize = (size_t)sysconf(_SC_PAGESIZE);
    state->line = (state->line ? state->line + WORD - 1 : WORD) / WORD * WORD;
    if (state->line > state->pagesize)
        state->pagesize = state->line;
    if (state->maxlen < state->len)
        state->maxlen = state->len;
    state->nwords = state->line / WORD;
    state->nlines = state->pagesize / state->line;
    state->npages = (state->len + state->pagesize - 1) / state->pagesize;
    if (state->len < WORD || state->npages > INT_MAX || state->pagesize > INT_MAX) {
        groma_lmb_note("no chain of pointers fits %zu bytes", state->len);
        exit(1);
    }
}

void base_initialize(iter_t iterations, void *cookie)
{
    struct mem_state *state = cookie;
    if (iterations)
        return;
    complete(state);
    state->pages = permutation((int)state->npages, (int)state->pagesize);
    state->lines = bit_reversed(state->nlines, state->line);
    state->words = bit_reversed(state->nwords, WORD);
    state->addr = malloc(state->maxlen + state->pagesize);
    if (!state->addr) {
        groma_lmb_say("no memory for a chain through %zu bytes", state->maxlen);
        exit(1);
    }
    size_t beyond = (uintptr_t)state->addr % state->pagesize;
    state->base = state->addr + (beyond ? state->pagesize - beyond : 0);
}

void stride_initialize(iter_t iterations, void *cookie)
{
    struct mem_state *state = cookie;
    base_initialize(iterations, cookie);
    if (!iterations)
        link_ring(state, stride_place, state->len / state->line + 1);
}

void thrash_initialize(iter_t iterations, void *cookie)
{
    struct mem_state *state = cookie;
    base_initialize(iterations, cookie);
    if (!iterations)
        link_ring(state, thrash_place, state->npages * state->nlines);
}

void mem_initialize(iter_t iterations, void *cookie)
{
    struct mem_state *state = cookie;
    base_initialize(iterations, cookie);
    if (!iterations)
        link_ring(state, mem_place, state->npages * state->nlines * state->nwords);
}

void line_initialize(iter_t iterations, void *cookie)
{
    struct mem_state *state = cookie;
    base_initialize(iterations, cookie);
    if (!iterations)
        link_ring(state, line_place, state->npages * state->nlines);
}

/* Each page a mapping of its own; the lines within them differ, so that they do not all compete for
 * one set of the cache. */
void tlb_initialize(iter_t iterations, void *cookie)
{
    struct mem_state *state = cookie;
    if (iterations)
        return;
    complete(state);
    state->npages = state->len / state->pagesize;
    state->lines = bit_reversed(state->nlines, state->line);
    state->pages = groma_lmb_allocate((state->npages + 1) * sizeof *state->pages);
    size_t *order = permutation((int)state->npages, 1);
    for (size_t i = 0; i < state->npages; i++) {
        void *page;
        if (posix_memalign(&page, state->pagesize, state->pagesize) != 0) {
            groma_lmb_say("no memory for %zu pages", state->npages);
            exit(1);
        }
        state->pages[order[i]] = (size_t)page;
    }
    free(order);
    for (size_t i = 0; i < state->npages; i++) {
        size_t next = (i + 1) % state->npages;
        char *at = (char *)state->pages[i] + state->lines[i % state->nlines];
        *(char **)at = (char *)state->pages[next] + state->lines[next % state->nlines];
        for (size_t chain = 0; chain < (size_t)state->width; chain++)
            if (i == chain * state->npages / (size_t)state->width)
                state->p[chain] = at;
    }
    state->initialized = state->npages > 0;
}

void mem_cleanup(iter_t iterations, void *cookie)
{
    struct mem_state *state = cookie;
    if (iterations)
        return;
    free(state->addr);
    free(state->pages);
    free(state->lines);
    free(state->words);
    state->addr = state->base = NULL;
    state->pages = state->lines = state->words = NULL;
    state->initialized = 0;
}

void tlb_cleanup(iter_t iterations, void *cookie)
{
    struct mem_state *state = cookie;
    if (iterations)
        return;
    for (size_t i = 0; state->pages && i < state->npages; i++)
        free((void *)state->pages[i]);
    mem_cleanup(0, cookie);
}

/* --- loops --------------------------------------------------------------------------------- */

#define TAKE(k) char **p##k = (char **)state->p[k];
#define LOAD(k) p##k = (char **)*p##k;
#define KEEP(k) state->p[k] = (char *)p##k;
#define TEN(x) x x x x x x x x x x
#define HUNDRED(x) TEN(x) TEN(x) TEN(x) TEN(x) TEN(x) TEN(x) TEN(x) TEN(x) TEN(x) TEN(x)
_Static_assert(GROMA_LMB_LOADS == 100, "HUNDRED() is that many");

#define MEM_BENCHMARK(k)                                                                          \
    void mem_benchmark_##k(iter_t iterations, void *cookie)                                        \
    {                                                                                              \
        struct mem_state *state = cookie;                                                          \
        REPEAT_##k(TAKE)                                                                           \
        while (iterations-- > 0) {                                                                 \
            HUNDRED(REPEAT_##k(LOAD))                                                              \
        }                                                                                          \
        REPEAT_##k(KEEP)                                                                           \
    }

MEM_BENCHMARK(0)
MEM_BENCHMARK(1)
MEM_BENCHMARK(2)
MEM_BENCHMARK(3)
MEM_BENCHMARK(4)
MEM_BENCHMARK(5)
MEM_BENCHMARK(6)
MEM_BENCHMARK(7)
MEM_BENCHMARK(8)
MEM_BENCHMARK(9)
MEM_BENCHMARK(10)
MEM_BENCHMARK(11)
MEM_BENCHMARK(12)
MEM_BENCHMARK(13)
MEM_BENCHMARK(14)
MEM_BENCHMARK(15)

#define NAME(k) mem_benchmark_##k,
benchmp_f mem_benchmarks[MAX_MEM_PARALLELISM] = {REPEAT_15(NAME)};

/* --- what they find out --------------------------------------------------------------------- */

/* Nanoseconds of one step of `width` chains side by side, or 0. */
static double step_ns(benchmp_f initialize, int width, int warmup, int repetitions,
                      struct mem_state *state)
{
    state->width = width;
    benchmp(initialize, mem_benchmarks[width - 1], mem_cleanup, 0, 1, warmup, repetitions, state);
    return groma_lmb_ns() / GROMA_LMB_LOADS;
}

double line_test(size_t line, int warmup, int repetitions, struct mem_state *state)
{
    struct mem_state own = *state;
    own.line = line;
    return step_ns(line_initialize, 1, warmup, repetitions, &own);
}

/* Each step to the double line leaves half of the loads, those that hit, until a line holds one
 * element; from there on the time of a load stays. */
size_t line_find(size_t len, int warmup, int repetitions, struct mem_state *state)
{
    const double jump = 1.3, level = 1.15;
    struct mem_state own = *state;
    size_t page = own.pagesize ? own.pagesize : (size_t)sysconf(_SC_PAGESIZE);
    double before = 0;
    int jumped = 0;
    own.len = len;
    if (own.maxlen < len)
        own.maxlen = len;
    for (size_t line = WORD; line <= page / 16; line *= 2) {
        double ns = line_test(line, warmup, repetitions, &own);
        if (!(ns > 0))
            return 0;
        if (before > 0 && ns > jump * before)
            jumped = 1;
        else if (jumped && ns < level * before)
            return line / 2;
        before = ns;
    }
    return 0;
}

/* k chains cannot overlap more than k loads: a larger quotient is noise. */
double par_mem(size_t len, int warmup, int repetitions, struct mem_state *state)
{
    struct mem_state own = *state;
    own.len = len;
    if (own.maxlen < len)
        own.maxlen = len;
    double alone = step_ns(mem_initialize, 1, warmup, repetitions, &own);
    double most = alone > 0 ? 1 : 0;
    for (int width = 2; width <= MAX_MEM_PARALLELISM && alone > 0; width++) {
        double ns = step_ns(mem_initialize, width, warmup, repetitions, &own);
        if (ns > 0)
            most = fmax(most, fmin(alone * width / ns, width));
    }
    return most;
}
