/* A program with a main of its own: what the first word says is measured in forks of it. */
#include <groma.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct counts {
    volatile unsigned long begun, ended, iterations;
};

static int begin(groma_ctx *ctx, void *state)
{
    (void)ctx;
    ((struct counts *)state)->begun++;
    return 0;
}

static int end(groma_ctx *ctx, void *state)
{
    (void)ctx;
    ((struct counts *)state)->ended++;
    return 0;
}

static int calls(uint64_t iters, void *state, groma_watch *watch)
{
    ((struct counts *)state)->iterations += iters;
    groma_start(watch);
    for (uint64_t i = 0; i < iters; i++)
        getppid();
    groma_stop(watch);
    return 0;
}

static int forks(uint64_t iters, void *state, groma_watch *watch)
{
    (void)state;
    groma_start(watch);
    for (uint64_t i = 0; i < iters; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return -1;
    }
    groma_stop(watch);
    return 0;
}

static int crashes(uint64_t iters, void *state, groma_watch *watch)
{
    (void)iters, (void)state, (void)watch;
    raise(SIGSEGV);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "calls";
    struct counts *counts =
        mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED)
        return 1;
    /* Held by the child for as long as the program lives: nobody may end it. */
    int alive[2];
    if (pipe(alive))
        return 1;
    pid_t other = fork();
    if (other == 0) {
        char byte;
        close(alive[1]);
        _exit(read(alive[0], &byte, 1) == 0 ? 7 : 8);
    }
    close(alive[0]);
    groma_here here = {
        .size = sizeof here,
        .name = "c.here",
        .summary = "a call",
        .begin = begin,
        .end = end,
        .interval = !strcmp(what, "crashes") ? crashes : !strcmp(what, "forks") ? forks : calls,
        .state = counts,
        .members = argc > 2 ? (unsigned)atoi(argv[2]) : 1,
        .rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 7,
        .sample_us = argc > 3 ? 100000 : 5000,
    };
    groma_found found = {.size = sizeof found};
    int failed = groma_measure_here(&here, &found);
    printf("failed %d rounds %u ns %.2f not_parallel %d begun %lu ended %lu iterations %lu why %s\n", failed,
           found.n_rounds, found.ns, found.not_parallel, counts->begun, counts->ended, counts->iterations, found.why);
    close(alive[1]);
    int status = 0;
    waitpid(other, &status, 0);
    printf("other %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return failed;
}
