/* hash.c - how fast FNV-1a hashes a buffer.
 *
 * Measures: the 64-bit hash over one buffer, again and again, so that the buffer is in the fastest
 * cache that holds it. Does not measure a hash of many short keys, where calls and branches count.
 *
 * Method: whole passes over the buffer, many in one short interval. The hash of each pass is
 * compared with one computed beforehand, and the function itself with a published value.
 *
 * Pitfalls: the compiler could see that each pass has the same result and do one only; GROMA_KEEP
 * hides the buffer's address from it. Passes do not depend on each other, so short ones overlap in
 * the processor.
 */
#include <errno.h>
#include <groma.h>
#include <stdlib.h>

/* The constants of the 64-bit variant: Fowler, Noll and Vo (draft-eastlake-fnv). */
static uint64_t fnv1a(const unsigned char *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

struct state {
    unsigned char *bytes;
    size_t size;
    uint64_t expected; /* the hash of the buffer */
    uint64_t right;    /* passes that gave it */
};

static int setup(groma_ctx *ctx, void **state)
{
    if (fnv1a((const unsigned char *)"foobar", 6) != 0x85944171f73967e8)
        return groma_fail(ctx, "this is not FNV-1a: \"foobar\" has another hash");
    struct state *s = *state = calloc(1, sizeof *s);
    if (!s)
        return ENOMEM;
    s->size = groma_int(ctx, "size");
    s->bytes = malloc(s->size);
    if (!s->bytes)
        return groma_fail_errno(ctx, ENOMEM, "allocating %zu bytes", s->size);
    for (size_t i = 0; i < s->size; i++)
        s->bytes[i] = (unsigned char)groma_random(ctx);
    s->expected = fnv1a(s->bytes, s->size);
    groma_per_iter(ctx, (double)s->size); /* bytes of an iteration, for bytes per second */
    return 0;
}

static int run(uint64_t iters, void *state)
{
    struct state *s = state;
    uint64_t right = 0;
    for (uint64_t i = 0; i < iters; i++) {
        const unsigned char *bytes = s->bytes;
        GROMA_KEEP(bytes);
        right += fnv1a(bytes, s->size) == s->expected;
    }
    s->right += right;
    return 0;
}

static int check(groma_ctx *ctx, void *state)
{
    struct state *s = state;
    double passes = (double)groma_iterations(ctx, NULL);
    groma_prove(ctx, "passes with the right hash", (double)s->right, passes, passes);
    return 0;
}

static void cleanup(void *state)
{
    struct state *s = state;
    free(s->bytes);
    free(s);
}

static const groma_param params[] = {
    {.size = sizeof (groma_param),
     .name = "size",
     .summary = "bytes in the buffer",
     .takes = GROMA_TAKES_ONE,
     .quick = "4K",
     .standard = "1M",
     .full = "64 64K 16M"},
};

static const groma_bench benches[] = {
    {.size = sizeof (groma_bench),
     .name = "text.fnv1a",
     .summary = "Hashing a buffer by FNV-1a, 64 bits",
     .about = "Whole passes over one buffer, which stays in the fastest cache that holds it; each\n"
              "hash is checked. Short keys, where calls and branches count, are not measured.",
     .iteration = "one pass over the buffer",
     .quantity = GROMA_BANDWIDTH,
     .params = params,
     .n_params = GROMA_N(params),
     .setup = setup,
     .run = run,
     .check = check,
     .cleanup = cleanup},
};

int main(int argc, char **argv)
{
    return groma_main(argc, argv, benches, GROMA_N(benches));
}
