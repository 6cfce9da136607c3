/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * chains.c - rings visit each element exactly once, and loops follow them as far as they say.
 */
#include "check.h"

/* Elements of the ring, 0 if it does not close or an element is not at a multiple of `unit`. */
static size_t ring(const struct mem_state *state, size_t unit)
{
    size_t n = 0;
    char *at = state->p[0];
    do {
        if ((size_t)(at - state->base) % unit != 0 || (size_t)(at - state->base) + 8 > state->len)
            return 0;
        at = *(char **)at;
    } while (++n <= state->len && at != state->p[0]);
    return at == state->p[0] ? n : 0;
}

static struct mem_state state_of(size_t len, size_t line, int width)
{
    struct mem_state state;
    memset(&state, 0x5a, sizeof state); /* programs do not clear what they do not fill in */
    state.len = len;
    state.maxlen = 0;
    state.line = line;
    state.width = width;
    state.pagesize = 4096;
    return state;
}

/* In as many steps the ring comes round to itself, so no element is left out or visited twice. */
static void every_element_once(void)
{
    static const size_t lens[] = {4096, 3072, 10240, 65536, 1 << 20, 100 * 1000, 64};
    static const size_t lines[] = {8, 64, 128, 512, 4096, 8192};
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++)
        for (size_t j = 0; j < sizeof lines / sizeof *lines; j++) {
            size_t len = lens[i], line = lines[j], expected = (len - 8) / line + 1;
            struct mem_state state = state_of(len, line, 1);
            stride_initialize(0, &state);
            CHECK_NUMBER(ring(&state, line), expected);
            CHECK(*(char **)state.base == state.base + (expected > 1 ? line : 0));
            mem_cleanup(0, &state);
            thrash_initialize(0, &state);
            CHECK_NUMBER(ring(&state, line), expected);
            mem_cleanup(0, &state);
            line_initialize(0, &state);
            CHECK_NUMBER(ring(&state, line), expected);
            mem_cleanup(0, &state);
            mem_initialize(0, &state);
            CHECK_NUMBER(ring(&state, 8), len / 8);
            mem_cleanup(0, &state);
        }
}

/* A page has one visit after the other with line_initialize(), and never two with
 * thrash_initialize(). */
static void order_of_pages(void)
{
    struct mem_state state = state_of(16 * 4096, 64, 1);
    for (int thrash = 0; thrash < 2; thrash++) {
        size_t stays = 0;
        (thrash ? thrash_initialize : line_initialize)(0, &state);
        char *at = state.p[0];
        for (int i = 0; i < 16 * 64; i++) {
            char *next = *(char **)at;
            stays += (at - state.base) / 4096 == (next - state.base) / 4096;
            at = next;
        }
        CHECK_NUMBER(stays, thrash ? 0 : 16 * 63);
        mem_cleanup(0, &state);
    }
}

/* Each chain begins 100 elements after the one before, and an iteration of 100 loads takes it to
 * where the next began. */
static void loops_follow_their_chains(void)
{
    for (int width = 1; width <= MAX_MEM_PARALLELISM; width++) {
        struct mem_state state = state_of((size_t)width * 100 * 64, 64, width);
        char *began[MAX_MEM_PARALLELISM];
        thrash_initialize(0, &state);
        memcpy(began, state.p, sizeof began);
        mem_benchmarks[width - 1](1, &state);
        for (int k = 0; k < width; k++)
            CHECK(state.p[k] == began[(k + 1) % width]);
        mem_benchmarks[width - 1](3, &state);
        for (int k = 0; k < width; k++)
            CHECK(state.p[k] == began[(k + 4) % width]);
        mem_cleanup(0, &state);
    }
}

static void one_word_of_each_page(void)
{
    struct mem_state state = state_of(37 * 4096, 64, 1);
    tlb_initialize(0, &state);
    size_t n = 0;
    char seen[37] = {0}, *at = state.p[0];
    do {
        for (int i = 0; i < 37; i++)
            seen[i] += (size_t)at / 4096 == state.pages[i] / 4096;
        at = *(char **)at;
    } while (++n < 100 && at != state.p[0]);
    CHECK_NUMBER(n, 37);
    for (int i = 0; i < 37; i++)
        CHECK(seen[i] == 1);
    tlb_cleanup(0, &state);
}

int main(void)
{
    every_element_once();
    order_of_pages();
    loops_follow_their_chains();
    one_word_of_each_page();
    return failures > 0;
}
