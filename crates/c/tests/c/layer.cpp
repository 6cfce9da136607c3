// groma.hpp: exceptions of every kind and from every place, and descriptors that use each call.
#include <groma.hpp>

#include <fstream>
#include <stdexcept>

namespace {

void spin(uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        groma::keep(i);
}

// A class that can neither be copied nor moved, with a loop that is timed in parts.
class Parts {
  public:
    explicit Parts(groma::Ctx &) {}
    Parts(const Parts &) = delete;
    Parts &operator=(const Parts &) = delete;
    void run(uint64_t iters, groma::Watch &watch)
    {
        for (uint64_t i = 0; i < iters; i++) {
            watch.start();
            spin(20000);
            watch.stop();
            done_++;
        }
    }
    void check(groma::Ctx &ctx) const { ctx.prove_iterations("parts", done_); }

  private:
    uint64_t done_ = 0;
};

void in_turns(groma::Ctx &ctx)
{
    double x = 1;
    ctx.per_iter(2);
    ctx.measure(groma::Loop("",
                            [&](uint64_t iters) {
                                for (uint64_t i = 0; i < 2 * iters; i++) {
                                    x *= 1.0000001;
                                    groma::keep(x);
                                }
                            }),
                groma::Loop("empty", [](uint64_t iters) { spin(2 * iters); }));
    ctx.prove("x", x, 1, 1e300);
}

void parameters(groma::Ctx &ctx)
{
    const bool as_declared = ctx.word("kind") == "b" && ctx.text("path") == "/x" && ctx.size("size") == 4096 &&
                             ctx.integer("n") == 3 && ctx.time("time") == std::chrono::microseconds(1500) &&
                             ctx.name() == "ok.parameters" && !ctx.work_dir().empty();
    ctx.prove("values as declared", as_declared, 1, 1);
    ctx.fact("dir", std::string(ctx.work_dir()));
    ctx.note("a note");
    ctx.state(7);
    ctx.state("twice", 14);
}

} // namespace

int main(int argc, char **argv)
{
    using groma::Ctx;
    std::vector<groma::Bench> all = {
        groma::bench("bad.runtime", [](Ctx &) { throw std::runtime_error("bad thing"); }),
        groma::bench("bad.seven", [](Ctx &) { throw 7; }),
        groma::bench("bad.failed", [](Ctx &) { throw groma::Failed("plainly"); }),
        groma::bench("bad.denied", [](Ctx &) { throw groma::Denied("no way"); }),
        groma::bench("bad.unsupported", [](Ctx &) { throw groma::Unsupported("not here"); }),
        groma::bench("bad.eacces",
                     [](Ctx &) { throw std::system_error(EACCES, std::generic_category(), "opening x"); }),
        groma::bench("bad.enosys",
                     [](Ctx &) { throw std::system_error(ENOSYS, std::system_category(), "calling y"); }),
        groma::bench("bad.alloc", [](Ctx &) { throw std::bad_alloc(); }),
        groma::bench("bad.stream",
                     [](Ctx &) {
                         std::ifstream file;
                         file.exceptions(std::ios::failbit);
                         file.open("/nonexistent");
                     }),
        groma::bench("bad.in_loop",
                     [](Ctx &ctx) { ctx.measure([](uint64_t) { throw std::logic_error("in the loop"); }); }),
        groma::bench("bad.returned", [](Ctx &ctx) { ctx.measure([](uint64_t) { return EBADF; }); }),
        groma::bench("bad.caught",
                     [](Ctx &ctx) {
                         try {
                             ctx.measure([](uint64_t) { throw std::logic_error("in the loop"); });
                         } catch (...) {
                         }
                         ctx.measure(spin);
                     }),
        groma::bench("bad.proof",
                     [](Ctx &ctx) {
                         ctx.measure(spin);
                         ctx.prove_iterations("a count", 1);
                     }),
        groma::bench("bad.per_iter", [](Ctx &ctx) { ctx.per_iter(0); }),
        groma::bench("bad.raw_per_iter",
                     [](Ctx &ctx) {
                         groma_loop loop = {};
                         loop.size = sizeof loop;
                         loop.run = [](uint64_t iters, void *) { return spin(iters), 0; };
                         loop.per_iter = -1;
                         groma_measure(ctx.raw(), &loop, 1);
                     }),
        groma::bench("bad.no_dir", [](Ctx &ctx) { ctx.note(std::string(ctx.work_dir())); }),
        groma::bench("bad.peer",
                     [](Ctx &ctx) {
                         ctx.fork_peer([]() -> int { throw std::runtime_error("in the peer"); });
                         ctx.measure(spin);
                     }),
        groma::bench<Parts>("ok.parts").timing(groma::Each).iteration("one part"),
        groma::bench("ok.turns", in_turns)
            .series("", "the product and its loop")
            .difference("net", "the product", "", "empty")
            .quotient("times", "how many times the loop", "", "empty")
            .series("empty", "the loop")
            .detail(),
        groma::bench("ok.parameters", parameters)
            .timing(groma::Stated)
            .quantity(groma::Count)
            .better(groma::Neither)
            .needs_work_dir()
            .word_param("kind", "a word", "a b")
            .quick("b")
            .text_param("path", "a text")
            .quick("/x")
            .size_param("size", "a size")
            .takes(groma::Nothing)
            .quick("4K")
            .int_param("n", "a number")
            .quick("3")
            .time_param("time", "a time")
            .quick("1.5ms")
            .series("", "seven")
            .series("twice", "fourteen bytes")
            .of_quantity(groma::Bytes),
        groma::loop("ok.loop", spin),
    };
    if (std::getenv("WRONG") != nullptr)
        all.front().quick("4K");
    return groma::main(argc, argv, all);
}
