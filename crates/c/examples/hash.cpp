// hash.cpp - looking up a key in two kinds of map, and hashing text, with groma.hpp.
//
// Measures: one successful look-up of a key drawn at random in std::map and std::unordered_map,
// and the standard library's hash over a text. Does not measure insertion, or keys that are
// missing.
//
// Method: many operations in one short interval. Each map holds 1 for every key, so what was found
// adds up to the number of look-ups.
//
// Pitfalls: a processor learns the branches of a sequence of keys that repeats. With a fixed order
// a look-up in a std::map of 1000 entries took 4.4 ns (AMD EPYC, Zen 5); with keys drawn anew it
// takes 42 ns. And a loop reads what a lambda captured by reference again after each
// groma::keep(), unless it was copied before the loop.
#include <groma.hpp>

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

// A lambda: what is before ctx.measure() sets up, what is behind it proves.
void hash_text(groma::Ctx &ctx)
{
    const std::string text(ctx.size("size"), 'a');
    const size_t expected = std::hash<std::string>{}(text);
    uint64_t right = 0;
    ctx.per_iter(static_cast<double>(text.size())); // bytes of an iteration, for bytes per second
    ctx.measure([&](uint64_t iters) {
        const std::string *hidden = &text;
        uint64_t found = 0;
        for (uint64_t i = 0; i < iters; i++) {
            groma::keep(hidden);
            found += std::hash<std::string>{}(*hidden) == expected;
        }
        right += found;
    });
    ctx.prove_iterations("passes with the right hash", right);
}

// A class: its constructor sets up, run() is the loop, check() proves, its destructor frees.
template <class Map> class LookUp {
  public:
    explicit LookUp(groma::Ctx &ctx)
    {
        const uint64_t entries = ctx.integer("entries");
        for (uint64_t i = 0; i < entries; i++) {
            const uint64_t key = ctx.random();
            if (map_.emplace(key, 1).second)
                keys_.push_back(key);
        }
        drawn_ = ctx.random();
    }

    void run(uint64_t iters)
    {
        const uint64_t *keys = keys_.data();
        const uint64_t n = keys_.size();
        uint64_t drawn = drawn_, found = 0;
        for (uint64_t i = 0; i < iters; i++) {
            drawn = drawn * 6364136223846793005 + 1442695040888963407; // Knuth's MMIX
            found += map_.find(keys[(drawn >> 32) * n >> 32])->second;
        }
        drawn_ = drawn;
        found_ += found;
    }

    void check(groma::Ctx &ctx) const
    {
        ctx.prove_iterations("keys found", found_);
    }

  private:
    Map map_;
    std::vector<uint64_t> keys_;
    uint64_t drawn_ = 0;
    uint64_t found_ = 0;
};

template <class Map> groma::Bench look_up(const char *name, const char *summary)
{
    return groma::bench<LookUp<Map>>(name)
        .summary(summary)
        .iteration("one look-up of a key that is there")
        .int_param("entries", "entries in the map")
        .quick("1000")
        .standard("100000");
}

} // namespace

int main(int argc, char **argv)
{
    return groma::main(argc, argv, {
        groma::bench("text.std_hash", hash_text)
            .summary("The standard library's hash of a string")
            .iteration("one pass over the text")
            .quantity(groma::Bandwidth)
            .size_param("size", "bytes in the text")
            .takes(groma::OneBuffer)
            .quick("4K")
            .standard("1M"),
        look_up<std::map<uint64_t, uint64_t>>("map.ordered", "Look-up in std::map"),
        look_up<std::unordered_map<uint64_t, uint64_t>>("map.hashed", "Look-up in unordered_map"),
        // The shortest benchmark: a name and a loop.
        groma::loop("my.addition", [](uint64_t iters) {
            for (uint64_t i = 0; i < iters; i++)
                groma::keep(i + 1);
        }),
    });
}
