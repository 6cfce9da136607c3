// ported.cpp - five shapes that suites for Google Benchmark, nanobench and Catch2 are made of.
//
// Measures: copies of strings, appending to a vector, look-ups in a map, an atomic counter, sorting.
// They show how a benchmark of another library is written here, and are no survey of C++.
//
// Pitfalls: the atomic counter is each worker's own; under --threads it is one for all, which is
// what the line `-P 1,2 --threads` shows.
#include <algorithm>
#include <atomic>
#include <groma.hpp>
#include <map>
#include <string>
#include <vector>

// 1. A function in a loop.
GROMA_BENCHMARK("ported.string_copy")(groma::Ctx &ctx)
{
    const std::string text(64, 'a');
    ctx.measure([&](uint64_t iters) {
        for (uint64_t i = 0; i < iters; i++)
            groma::keep(std::string(text));
    });
}

// 2. A range of sizes: `plot ported.push_back` draws how the cost grows, and says what fits.
GROMA_BENCHMARK(groma::named("ported.push_back")
                    .summary("Appending n numbers to an empty vector")
                    .interference(groma::Faults) // a large vector gets fresh pages
                    .int_param("n", "numbers")
                    .quick("16 256 4096 65536"))(groma::Ctx &ctx)
{
    const uint64_t n = ctx.integer("n");
    ctx.measure([&](uint64_t iters) {
        for (uint64_t i = 0; i < iters; i++) {
            std::vector<uint64_t> numbers;
            for (uint64_t k = 0; k < n; k++)
                numbers.push_back(k);
            groma::keep(numbers);
        }
    });
}

// 3. A fixture: what is before ctx.measure() is set up once in each round, in a fresh process.
GROMA_BENCHMARK(groma::named("ported.look_up").int_param("entries", "in the map").quick("1000"))(groma::Ctx &ctx)
{
    std::map<uint64_t, uint64_t> map;
    for (uint64_t i = 0; i < ctx.integer("entries"); i++)
        map[i * 7919 % 1000003] = i;
    uint64_t key = 0;
    ctx.measure([&](uint64_t iters) {
        uint64_t found = 0;
        for (uint64_t i = 0; i < iters; i++)
            found += map.count((key += 7919) % 1000003);
        groma::keep(found);
    });
}

// 4. Threads: `run ported.atomic -P 1,2 --threads`.
static std::atomic<uint64_t> counter;

GROMA_BENCHMARK("ported.atomic")(groma::Ctx &ctx)
{
    ctx.measure([&](uint64_t iters) {
        for (uint64_t i = 0; i < iters; i++)
            counter.fetch_add(1, std::memory_order_relaxed);
    });
}

// 5. Only a part of each iteration is timed, and the result is proved.
GROMA_BENCHMARK("ported.sort")(groma::Ctx &ctx)
{
    std::vector<uint64_t> random(1000), numbers;
    std::generate(random.begin(), random.end(), [&] { return ctx.random(); });
    uint64_t sorted = 0;
    ctx.measure([&](uint64_t iters, groma::Watch &watch) {
        for (uint64_t i = 0; i < iters; i++) {
            numbers = random;
            watch.start();
            std::sort(numbers.begin(), numbers.end());
            watch.stop();
            sorted += std::is_sorted(numbers.begin(), numbers.end());
        }
    });
    ctx.prove_iterations("sorted", sorted);
}

GROMA_MAIN();
