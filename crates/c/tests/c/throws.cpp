// Functions of a descriptor that throw, with the header of C.
#include <groma.h>

#include <stdexcept>

static int throws(uint64_t, void *)
{
    throw std::runtime_error("it was thrown");
}

static int nothing(uint64_t, void *)
{
    return 0;
}

static int in_setup(groma_ctx *, void **)
{
    throw std::runtime_error("it was thrown");
}

static int in_measure(groma_ctx *ctx, void *)
{
    groma_loop loop = {};
    loop.size = sizeof loop;
    loop.run = throws;
    return groma_measure(ctx, &loop, 1);
}

int main(int argc, char **argv)
{
    static groma_bench benches[3] = {};
    for (groma_bench &bench : benches)
        bench.size = sizeof bench;
    benches[0].name = "c.run";
    benches[0].run = throws;
    benches[1].name = "c.setup";
    benches[1].setup = in_setup;
    benches[1].run = nothing;
    benches[2].name = "c.measure";
    benches[2].measure = in_measure;
    return groma_main(argc, argv, benches, 3);
}
