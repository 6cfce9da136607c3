// hash.cpp - looking up a key in two kinds of map, and hashing text, with groma.hpp.
//
// Measures: one successful look-up of a key drawn at random in std::map and std::unordered_map,
// and the standard library's hash over a text. Does not measure insertion, or keys that are
// missing.
//
// Method: the keys to look up are drawn before anything is timed; the values that were found add up
// to a number that is known beforehand.
//
// Pitfalls: a loop that uses what a lambda captured by reference may read it anew after each
// groma::keep(); copies of pointers and sizes before the loop avoid that.
#include <groma.hpp>

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

// A lambda: what is before ctx.measure() sets up, what is behind it proves.
void hash_text(groma::Ctx &ctx)
{
    const std::string text(ctx.size("size"), 'a');
    if (text.empty())
        throw groma::Failed("a text holds 1 byte at least");
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
        if (entries == 0)
            throw groma::Failed("a map holds 1 entry at least");
        for (uint64_t i = 0; i < entries; i++) {
            const uint64_t key = ctx.random();
            if (map_.emplace(key, 1).second)
                keys_.push_back(key);
        }
        // In an order that is unlike that of the insertions.
        for (size_t i = keys_.size(); i > 1; i--)
            std::swap(keys_[i - 1], keys_[ctx.random() % i]);
    }

    void run(uint64_t iters)
    {
        const uint64_t *keys = keys_.data();
        const size_t n = keys_.size();
        size_t at = next_;
        uint64_t found = 0;
        for (uint64_t i = 0; i < iters; i++) {
            found += map_.find(keys[at])->second;
            at = at + 1 == n ? 0 : at + 1;
        }
        next_ = at;
        found_ += found;
    }

    void check(groma::Ctx &ctx) const
    {
        ctx.prove_iterations("keys found", found_);
    }

  private:
    Map map_;
    std::vector<uint64_t> keys_;
    size_t next_ = 0;
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
