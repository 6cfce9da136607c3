/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * file_fault - the first touch of each page of a mapped file that is in the page cache, in order;
 * the time of a touch, of which many are no fault, since a fault maps the pages around it as well.
 *
 * An iteration is one page. initialize() maps the file as often as an interval needs, and has the
 * kernel forget all pages of these mappings, so that no page is touched twice.
 */
#include "bench.h"

typedef struct {
    int fd;
    size_t size, page;
    char **maps;
    size_t n_maps;
    uint64 sum;
} state_t;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void begin(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    size_t pages = state->size / state->page;
    size_t wanted = (iterations + pages - 1) / pages, i;

    if (wanted > state->n_maps) {
        state->maps = realloc(state->maps, wanted * sizeof *state->maps);
        if (!state->maps)
            fail("realloc");
        for (i = state->n_maps; i < wanted; i++) {
            state->maps[i] = mmap(NULL, state->size, PROT_READ, MAP_SHARED, state->fd, 0);
            if (state->maps[i] == MAP_FAILED)
                fail("mmap");
        }
        state->n_maps = wanted;
    }
    for (i = 0; i < wanted; i++)
        if (madvise(state->maps[i], state->size, MADV_DONTNEED) != 0)
            fail("madvise");
}

static void look(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    char **map = state->maps, *at = *map, *end = at + state->size;
    uint64 sum = 0;

    while (iterations-- > 0) {
        if (at == end) {
            at = *++map;
            end = at + state->size;
        }
        sum += *(volatile char *)at;
        at += state->page;
    }
    state->sum += sum;
}

static void end(iter_t iterations, void *cookie)
{
    state_t *state = cookie;
    size_t i;

    if (iterations)
        return;
    use_int((int)state->sum);
    for (i = 0; i < state->n_maps; i++)
        munmap(state->maps[i], state->size);
    free(state->maps);
}

int main(int argc, char **argv)
{
    char *usage = "[-P parallelism] [-W warmup] [-N repetitions] file\n";
    int parallel = 1, warmup = 0, repetitions = TRIES, c;
    struct stat found;
    state_t state;

    while ((c = getopt(argc, argv, "P:W:N:")) != EOF) {
        switch (c) {
        case 'P': parallel = atoi(optarg); break;
        case 'W': warmup = atoi(optarg); break;
        case 'N': repetitions = atoi(optarg); break;
        default: lmbench_usage(argc, argv, usage);
        }
    }
    if (parallel < 1 || optind != argc - 1)
        lmbench_usage(argc, argv, usage);

    memset(&state, 0, sizeof state);
    state.page = sysconf(_SC_PAGESIZE);
    state.fd = open(argv[optind], O_RDONLY);
    if (state.fd < 0 || fstat(state.fd, &found) != 0) {
        perror(argv[optind]);
        return 1;
    }
    state.size = found.st_size / state.page * state.page;
    if (state.size == 0) {
        fprintf(stderr, "%s: shorter than a page\n", argv[optind]);
        return 1;
    }
    benchmp(begin, look, end, 0, parallel, warmup, repetitions, &state);
    micro("touch of a page of a file", get_n());
    return 0;
}
