/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * groma.hpp - benchmarks in C++ that groma measures: a layer over groma.h for C++17 and later.
 *
 * A lambda that is given a groma::Ctx sets up, measures and proves; what it holds is freed by its
 * destructors, and an exception ends the round with its type and its what().
 *
 *     #include <groma.hpp>
 *     #include <string>
 *
 *     int main(int argc, char **argv)
 *     {
 *         return groma::main(argc, argv, {
 *             groma::bench("my.string_copy", [](groma::Ctx &ctx) {
 *                 const std::string text(ctx.size("size"), 'a');
 *                 ctx.measure([&](uint64_t iters) {
 *                     for (uint64_t i = 0; i < iters; i++)
 *                         groma::keep(std::string(text));
 *                 });
 *             }).size_param("size", "bytes in the text").quick("8").standard("64 4K"),
 *         });
 *     }
 *
 * The layer adds nothing inside the timed loop: the harness calls a function that is made for the
 * type of your lambda, and the compiler inlines the lambda into it.
 *
 * It is not a second interface: everything that groma.h can do is reached through Ctx::raw(), and
 * what the words mean is said there and in groma.h(3). It needs exceptions; groma.h does not.
 */
#ifndef GROMA_HPP
#define GROMA_HPP

#include <groma.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <deque>
#include <exception>
#include <functional>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#if __cplusplus < 201703L
#error "groma.hpp needs C++17 or later (-std=c++17); groma.h needs C++11"
#endif
#if !defined(__cpp_exceptions)
#error "groma.hpp needs exceptions; use groma.h with -fno-exceptions"
#endif

namespace groma {

/* --- words of a descriptor ----------------------------------------------------------------- */

enum Quantity {
    Latency = GROMA_LATENCY, Bandwidth = GROMA_BANDWIDTH, Rate = GROMA_RATE,
    Count = GROMA_COUNT, Bytes = GROMA_BYTES, Ratio = GROMA_RATIO
};
enum Better { ByQuantity = GROMA_BY_QUANTITY, Lower = GROMA_LOWER, Higher = GROMA_HIGHER, Neither = GROMA_NEITHER };
enum Timing {
    Batched = GROMA_BATCHED, Floor = GROMA_FLOOR, Stream = GROMA_STREAM, Each = GROMA_EACH, Stated = GROMA_STATED
};
enum Interference { Cpu = GROMA_CPU, Faults = GROMA_FAULTS, Blocking = GROMA_BLOCKING, Tasks = GROMA_TASKS };
enum Tier { Quick = GROMA_QUICK, Standard = GROMA_STANDARD, Full = GROMA_FULL, Named = GROMA_NAMED };
enum Takes {
    TwoBuffers = GROMA_TAKES_BUFFERS, OneBuffer = GROMA_TAKES_ONE,
    Nothing = GROMA_TAKES_NOTHING, Files = GROMA_TAKES_FILES
};

/* --- the optimiser ------------------------------------------------------------------------- */

/* The registers that hold floating-point numbers, so that keep() need not move one elsewhere. */
#if defined(__x86_64__)
#define GROMA_FLOAT_REGISTER "x"
#elif defined(__aarch64__)
#define GROMA_FLOAT_REGISTER "w"
#elif defined(__riscv_flen) && __riscv_flen >= 64
#define GROMA_FLOAT_REGISTER "f"
#else
#define GROMA_FLOAT_REGISTER "m"
#endif

/* The value must be computed, and all memory may have been read and written. What is not const may
 * have changed too, so that nothing that depends on it is computed beforehand. */
template <class T> inline __attribute__((always_inline)) void keep(T &&value)
{
    using Value = std::remove_reference_t<T>;
    using Plain = std::remove_cv_t<Value>;
    constexpr bool changes = std::is_lvalue_reference_v<T> && !std::is_const_v<Value>;
    constexpr bool is_float = std::is_same_v<Plain, float> || std::is_same_v<Plain, double>;
    constexpr bool is_word = std::is_scalar_v<Value> && sizeof(std::decay_t<Value>) <= sizeof(void *);
    if constexpr (std::is_array_v<Value> || std::is_function_v<Value>) {
        /* What is there may be read and changed through its address. */
        std::decay_t<Value> address = value;
        __asm__ volatile("" : "+r"(address) : : "memory");
    } else if constexpr (is_float && changes)
        __asm__ volatile("" : "+" GROMA_FLOAT_REGISTER(value) : : "memory");
    else if constexpr (is_float)
        __asm__ volatile("" : : GROMA_FLOAT_REGISTER(value) : "memory");
    else if constexpr (is_word && changes)
        __asm__ volatile("" : "+r"(value) : : "memory");
    else if constexpr (is_word)
        __asm__ volatile("" : : "r"(value) : "memory");
    else if constexpr (changes)
        __asm__ volatile("" : "+m"(value) : : "memory");
    else
        __asm__ volatile("" : : "m"(value) : "memory");
}
#undef GROMA_FLOAT_REGISTER

/* All memory may have been read and written: pending stores are made, and loads are repeated. */
inline __attribute__((always_inline)) void clobber()
{
    __asm__ volatile("" : : : "memory");
}

/* --- errors -------------------------------------------------------------------------------- */

/* Thrown by a benchmark, they end the round in this state with this reason. Any other exception is
 * a failure; a std::system_error has the state that its number has in groma_end_errno(). */
struct Stop : std::runtime_error {
    Stop(int in_state, const std::string &why) : std::runtime_error(why), state(in_state) {}
    int state;
};
struct Failed : Stop {
    explicit Failed(const std::string &why) : Stop(GROMA_FAILED, why) {}
};
struct Unsupported : Stop {
    explicit Unsupported(const std::string &why) : Stop(GROMA_UNSUPPORTED, why) {}
};
struct Denied : Stop {
    explicit Denied(const std::string &why) : Stop(GROMA_DENIED, why) {}
};

namespace detail {

/* The round has ended already, and the library knows why: only the stack is left to unwind. */
struct Ended {
    int code;
};

inline void require(int code)
{
    if (code != 0)
        throw Ended{code};
}

/* The name of the type of the exception that is being handled. */
inline std::string type_name()
{
    const std::type_info *type = abi::__cxa_current_exception_type();
    if (type == nullptr)
        return "an exception";
    int status = 0;
    char *plain = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    const std::string name = plain != nullptr ? plain : type->name();
    std::free(plain);
    return name;
}

/* Ends the round for the exception that is being handled; returns what a callback returns. */
inline int end(groma_ctx *ctx) noexcept
{
    try {
        throw;
    } catch (const Ended &ended) {
        return ended.code;
    } catch (const Stop &stop) {
        return groma_end(ctx, stop.state, stop.what());
    } catch (const std::bad_alloc &e) {
        return groma_end_errno(ctx, ENOMEM, e.what());
    } catch (const std::system_error &e) {
        const auto &category = e.code().category();
        if (category != std::generic_category() && category != std::system_category())
            return groma_fail(ctx, "%s: %s", type_name().c_str(), e.what());
        /* what() ends with the text of the number, which groma_end_errno() adds itself. */
        std::string what = e.what();
        const std::string number = ": " + e.code().message();
        if (what.size() > number.size() && what.compare(what.size() - number.size(), what.npos, number) == 0)
            what.resize(what.size() - number.size());
        return groma_fail_errno(ctx, e.code().value(), "%s: %s", type_name().c_str(), what.c_str());
    } catch (const std::exception &e) {
        return groma_fail(ctx, "%s: %s", type_name().c_str(), e.what());
    } catch (...) {
        return groma_fail(ctx, "threw %s", type_name().c_str());
    }
}

/* What `body` returns, or what a callback returns for its exception. */
template <class F> inline __attribute__((always_inline)) int guarded(groma_ctx *ctx, F body) noexcept
{
    try {
        return body();
    } catch (...) {
        return end(ctx);
    }
}

/* Calls what returns nothing, or a number that is 0 unless it failed. */
template <class F, class... Args> inline __attribute__((always_inline)) int call(F &body, Args &&...args)
{
    if constexpr (std::is_void_v<std::invoke_result_t<F &, Args...>>) {
        body(std::forward<Args>(args)...);
        return 0;
    } else {
        return body(std::forward<Args>(args)...);
    }
}

} // namespace detail

/* --- loops --------------------------------------------------------------------------------- */

/* The watch of one interval of a loop that is timed in parts. */
class Watch {
  public:
    explicit Watch(groma_watch *raw) : raw_(raw) {}
    void start() { groma_start(raw_); }
    void stop() { groma_stop(raw_); }
    groma_watch *raw() const { return raw_; }

  private:
    groma_watch *raw_;
};

namespace detail {
template <class F> constexpr bool is_staged = std::is_invocable_v<F &, uint64_t, Watch &>;
template <class F> constexpr bool is_loop = is_staged<F> || std::is_invocable_v<F &, uint64_t>;

/* A conversion that no compiler calls useless where the types are one. */
template <class To, class From> constexpr To convert(From value)
{
    return static_cast<To>(value);
}

inline double above_zero(double per_iter)
{
    if (per_iter > 0)
        return per_iter;
    throw Failed("per_iter is " + std::to_string(per_iter) + ", which is not above 0");
}
} // namespace detail

/* A loop with a name, for Ctx::measure(): groma::Loop("empty", [&](uint64_t iters) { ... }). Its
 * body takes (uint64_t iters), or (uint64_t iters, groma::Watch &watch) to time parts of it, and
 * returns nothing, or a number of <errno.h>. */
template <class F> class Loop {
    static_assert(detail::is_loop<F>,
                  "a loop takes (uint64_t iters) or (uint64_t iters, groma::Watch &watch)");

  public:
    Loop(std::string name, F body) : name_(std::move(name)), body_(std::forward<F>(body)) {}

    /* An iteration holds this many operations or bytes. */
    Loop &per_iter(double n) { return per_iter_ = detail::above_zero(n), *this; }
    /* An interval does at most this many iterations. */
    Loop &max_iters(uint64_t n) { return max_iters_ = n, *this; }

  private:
    friend class Ctx;

    groma_loop raw(groma_ctx *ctx, double per_iter, uint64_t max_iters)
    {
        ctx_ = ctx;
        groma_loop loop = {};
        loop.size = sizeof loop;
        loop.name = name_.c_str();
        if constexpr (detail::is_staged<F>)
            loop.run_staged = run_staged;
        else
            loop.run = run;
        loop.state = this;
        loop.per_iter = per_iter_ != 0 ? per_iter_ : per_iter;
        loop.max_iters = max_iters_ != 0 ? max_iters_ : max_iters;
        return loop;
    }

    /* An exception must not unwind through the library: it ends the round here, and measure()
     * unwinds the rest of the stack. */
    static int run(uint64_t iters, void *state) noexcept
    {
        Loop &loop = *static_cast<Loop *>(state);
        return detail::guarded(loop.ctx_, [&] { return detail::call(loop.body_, iters); });
    }

    static int run_staged(uint64_t iters, void *state, groma_watch *raw) noexcept
    {
        Loop &loop = *static_cast<Loop *>(state);
        Watch watch(raw);
        return detail::guarded(loop.ctx_, [&] { return detail::call(loop.body_, iters, watch); });
    }

    std::string name_;
    F body_;
    groma_ctx *ctx_ = nullptr;
    double per_iter_ = 0;
    uint64_t max_iters_ = 0;
};

/* --- what a benchmark sees of the harness -------------------------------------------------- */

class Ctx {
  public:
    explicit Ctx(groma_ctx *raw) : raw_(raw) {}
    Ctx(const Ctx &) = delete;
    Ctx &operator=(const Ctx &) = delete;
    groma_ctx *raw() const { return raw_; }

    /* The values of parameters. */
    size_t size(const char *param) const { return detail::convert<size_t>(groma_int(raw_, param)); }
    uint64_t integer(const char *param) const { return groma_int(raw_, param); }
    std::chrono::nanoseconds time(const char *param) const { return std::chrono::nanoseconds(groma_int(raw_, param)); }
    std::string_view word(const char *param) const { return view(groma_word(raw_, param)); }
    std::string_view text(const char *param) const { return word(param); }

    std::string_view name() const { return groma_name(raw_); }
    uint64_t random() { return groma_random(raw_); }
    std::string_view work_dir() { return view(groma_work_dir(raw_)); }
    unsigned round() const { return groma_round(raw_); }
    unsigned member() const { return groma_member(raw_); }
    unsigned members() const { return groma_members(raw_); }

    /* For all loops measured from here on that do not say it themselves. */
    void per_iter(double n) { per_iter_ = detail::above_zero(n); }
    void max_iters(uint64_t n) { max_iters_ = n; }

    /* Measures one loop: a function of (uint64_t iters), or of (uint64_t iters, Watch &watch). An
     * exception in it ends the round. */
    template <class F, class = std::enable_if_t<detail::is_loop<F>>> void measure(F &&body)
    {
        measure(Loop<F>("", std::forward<F>(body)));
    }
    /* Measures several in turn, so that their differences are paired. */
    template <class... F> void measure(Loop<F>... loops)
    {
        const groma_loop raw[] = {loops.raw(raw_, per_iter_, max_iters_)...};
        detail::require(groma_measure(raw_, raw, sizeof...(F)));
    }

    /* Forks the peer of a two-sided benchmark: it closes these descriptors, calls `body`, and exits
     * with what it returns, or with 1 after an exception. Returns its process id. */
    template <class F> int fork_peer(F body, std::initializer_list<int> close = {})
    {
        const int pid = groma_fork_peer(raw_, peer<F>, &body, close.begin(), close.size());
        if (pid < 0)
            throw detail::Ended{pid};
        return pid;
    }

    uint64_t iterations() const { return groma_iterations(raw_, nullptr); }
    uint64_t iterations(const char *loop) const { return groma_iterations(raw_, loop); }
    /* `seen` must be within [least, most], or the round fails. */
    void prove(const char *what, double seen, double least, double most)
    {
        groma_prove(raw_, what, seen, least, most);
    }
    /* `seen` must be what the loops were credited with: the usual proof. */
    void prove_iterations(const char *what, uint64_t seen)
    {
        const auto all = static_cast<double>(iterations());
        prove(what, static_cast<double>(seen), all, all);
    }
    /* Values in SI units, of the main series or another one. */
    void state(double value) { groma_state(raw_, nullptr, value); }
    void state(const char *series, double value) { groma_state(raw_, series, value); }
    void unresolved(const char *output, const std::string &why) { groma_unresolved(raw_, output, why.c_str()); }
    void fact(const char *key, const std::string &value) { groma_fact(raw_, key, value.c_str()); }
    void note(const std::string &text) { groma_note(raw_, text.c_str()); }

  private:
    /* Where there is none, the library has recorded why the round ends. */
    static std::string_view view(const char *text)
    {
        if (text == nullptr)
            throw detail::Ended{ECANCELED};
        return text;
    }

    template <class F> static int peer(void *body) noexcept
    {
        try {
            return (*static_cast<F *>(body))();
        } catch (const std::exception &e) {
            std::fprintf(stderr, "the peer threw %s: %s\n", detail::type_name().c_str(), e.what());
        } catch (...) {
            std::fprintf(stderr, "the peer threw %s\n", detail::type_name().c_str());
        }
        return 1;
    }

    groma_ctx *raw_;
    double per_iter_ = 0;
    uint64_t max_iters_ = 0;
};

/* --- descriptors --------------------------------------------------------------------------- */

/* A benchmark: made by bench() or loop(), described by calls in a chain, given to main(). */
class Bench {
  public:
    Bench(std::string name, std::function<void(Ctx &)> body) : body_(std::move(body))
    {
        raw_.size = sizeof raw_;
        raw_.name = text(std::move(name));
        raw_.measure = measure;
    }

    Bench &summary(std::string line) { return raw_.summary = text(std::move(line)), *this; }
    Bench &about(std::string lines) { return raw_.about = text(std::move(lines)), *this; }
    Bench &iteration(std::string what) { return raw_.iteration = text(std::move(what)), *this; }
    Bench &version(unsigned n) { return raw_.version = n, *this; }
    Bench &quantity(Quantity q) { return raw_.quantity = q, *this; }
    Bench &better(Better b) { return raw_.better = b, *this; }
    Bench &timing(Timing t) { return raw_.timing = t, *this; }
    Bench &interference(Interference i) { return raw_.interference = i, *this; }
    Bench &tier(Tier t) { return raw_.tier = t, *this; }

    /* It has a peer, and is measured with both on one CPU, on two of a core, and so on. */
    Bench &two_sided() { return raw_.placements = GROMA_PAIR, *this; }
    /* A group of copies consists of processes, not of threads; or there is no group. */
    Bench &processes_only(std::string why) { return scaling(GROMA_PROCESSES_ONLY, std::move(why)); }
    Bench &alone(std::string why) { return scaling(GROMA_ALONE, std::move(why)); }

    Bench &needs_work_dir() { return raw_.needs |= GROMA_NEEDS_WORK_DIR, *this; }
    Bench &needs_root() { return raw_.needs |= GROMA_NEEDS_ROOT, *this; }
    Bench &needs_loopback() { return raw_.needs |= GROMA_NEEDS_LOOPBACK, *this; }
    Bench &needs_cpus(unsigned n) { return raw_.needs_cpus = n, *this; }
    Bench &needs_paths(std::string paths) { return raw_.needs_paths = text(std::move(paths)), *this; }

    /* A parameter; quick(), standard(), full() and takes() that follow are about it. */
    Bench &size_param(std::string name, std::string summary) { return param(GROMA_SIZE, name, summary); }
    Bench &int_param(std::string name, std::string summary) { return param(GROMA_INTEGER, name, summary); }
    Bench &time_param(std::string name, std::string summary) { return param(GROMA_TIME, name, summary); }
    Bench &text_param(std::string name, std::string summary) { return param(GROMA_TEXT, name, summary); }
    Bench &word_param(std::string name, std::string summary, std::string words)
    {
        param(GROMA_WORD, name, summary);
        return params_.back().words = text(std::move(words)), *this;
    }
    Bench &quick(std::string values) { return last_param("quick").quick = text(std::move(values)), *this; }
    Bench &standard(std::string values) { return last_param("standard").standard = text(std::move(values)), *this; }
    Bench &full(std::string values) { return last_param("full").full = text(std::move(values)), *this; }
    Bench &takes(Takes what) { return last_param("takes").takes = what, *this; }

    /* A metric; detail() and of_quantity() that follow are about it. A benchmark that lists none has
     * one, the main loop; one that lists some has these alone. */
    Bench &series(std::string name, std::string summary)
    {
        groma_output it = {};
        it.size = sizeof it;
        it.name = text(std::move(name));
        it.summary = text(std::move(summary));
        return outputs_.push_back(it), *this;
    }
    Bench &series(std::string name, std::string summary, std::string of)
    {
        series(std::move(name), std::move(summary));
        return outputs_.back().of = text(std::move(of)), *this;
    }
    Bench &difference(std::string name, std::string summary, std::string of, std::string to, double per = 1)
    {
        series(std::move(name), std::move(summary), std::move(of));
        return outputs_.back().per = per, two_loops(GROMA_DIFFERENCE, std::move(to));
    }
    Bench &quotient(std::string name, std::string summary, std::string of, std::string to)
    {
        return series(std::move(name), std::move(summary), std::move(of)).two_loops(GROMA_QUOTIENT, std::move(to));
    }
    Bench &detail() { return last_output("detail").detail = 1, *this; }
    Bench &body(std::function<void(Ctx &)> body) { return body_ = std::move(body), *this; }
    Bench &of_quantity(Quantity q)
    {
        groma_output &it = last_output("of_quantity");
        return it.quantity = q, it.own_quantity = 1, *this;
    }

  private:
    friend int run_program(int, char **, std::vector<Bench>, int (*)(int, char **, const groma_bench *, size_t));

    Bench &scaling(int how, std::string why)
    {
        return raw_.scaling = how, raw_.why_not = text(std::move(why)), *this;
    }
    Bench &param(int kind, std::string name, std::string summary)
    {
        groma_param it = {};
        it.size = sizeof it;
        it.name = text(std::move(name));
        it.summary = text(std::move(summary));
        it.kind = kind;
        return params_.push_back(it), *this;
    }
    Bench &two_loops(int how, std::string to)
    {
        return outputs_.back().how = how, outputs_.back().to = text(std::move(to)), *this;
    }
    groma_param &last_param(const char *call) { return last(params_, call, "a parameter"); }
    groma_output &last_output(const char *call) { return last(outputs_, call, "an output"); }
    template <class T> T &last(std::vector<T> &list, const char *call, const char *what)
    {
        if (list.empty()) {
            wrong_ = std::string(call) + "() follows " + what + ", and there is none before it";
            list.emplace_back();
        }
        return list.back();
    }

    /* A text that lives as long as the program, as those of a descriptor must. */
    static const char *text(std::string words)
    {
        static std::deque<std::string> all;
        return all.emplace_back(std::move(words)).c_str();
    }
    /* The benchmarks of the program: a descriptor has no pointer of the user's, so a round finds
     * its own by its name. */
    static std::vector<Bench> &all()
    {
        static std::vector<Bench> benches;
        return benches;
    }
    static int measure(groma_ctx *raw, void *) noexcept
    {
        return detail::guarded(raw, [raw] {
            Ctx ctx(raw);
            for (const Bench &bench : all())
                if (ctx.name() == bench.raw_.name)
                    return bench.body_(ctx), 0;
            throw Failed("the program has no benchmark of this name");
        });
    }

    groma_bench raw_ = {};
    std::vector<groma_param> params_;
    std::vector<groma_output> outputs_;
    std::function<void(Ctx &)> body_;
    std::string wrong_;
};

/* A benchmark that is a function of Ctx: it sets up, measures and proves. It is called once in each
 * round; with --threads by several threads at once. */
inline Bench bench(std::string name, std::function<void(Ctx &)> body)
{
    return Bench(std::move(name), std::move(body));
}

namespace detail {
template <class T, class = void> struct HasCheck : std::false_type {};
template <class T> struct HasCheck<T, std::void_t<decltype(std::declval<T &>().check(std::declval<Ctx &>()))>>
    : std::true_type {};
} // namespace detail

/* A benchmark that is a class: T(Ctx &) sets up, run(iters) or run(iters, watch) is the loop,
 * check(Ctx &), if it has one, proves, and the destructor frees. */
template <class T> Bench bench(std::string name)
{
    return Bench(std::move(name), [](Ctx &ctx) {
        T state(ctx);
        ctx.measure([&](auto &&...args) -> decltype(state.run(args...)) { return state.run(args...); });
        if constexpr (detail::HasCheck<T>::value)
            state.check(ctx);
    });
}

/* A benchmark that is nothing but a loop. */
template <class F> Bench loop(std::string name, F body)
{
    return Bench(std::move(name), [body](Ctx &ctx) {
        F own = body;
        ctx.measure(own);
    });
}

/* The description of a benchmark whose body follows it, for GROMA_BENCHMARK(). */
inline Bench named(std::string name) { return Bench(std::move(name), nullptr); }

/* --- the program --------------------------------------------------------------------------- */

inline int run_program(int argc, char **argv, std::vector<Bench> benches,
                       int (*groma_main_of)(int, char **, const groma_bench *, size_t))
{
    std::vector<Bench> &all = Bench::all();
    all = std::move(benches);
    static std::vector<groma_bench> raw;
    raw.clear();
    for (Bench &bench : all) {
        if (!bench.wrong_.empty()) {
            std::fprintf(stderr, "%s: %s\n", bench.raw_.name, bench.wrong_.c_str());
            return 2;
        }
        bench.raw_.params = bench.params_.data();
        bench.raw_.n_params = bench.params_.size();
        bench.raw_.outputs = bench.outputs_.data();
        bench.raw_.n_outputs = bench.outputs_.size();
        raw.push_back(bench.raw_);
    }
    return groma_main_of(argc, argv, raw.data(), raw.size());
}

/* The command line of a program with these benchmarks; nothing may come before it in main(). */
inline int main(int argc, char **argv, std::vector<Bench> benches)
{
    return run_program(argc, argv, std::move(benches), groma_main);
}
/* The same, with groma's own benchmarks beside them. */
inline int main_with_groma(int argc, char **argv, std::vector<Bench> benches)
{
    return run_program(argc, argv, std::move(benches), groma_main_with_groma);
}

namespace detail {

/* Those of GROMA_BENCHMARK(), in the order of their lines in a file. */
inline std::vector<Bench> &registered()
{
    static std::vector<Bench> benches;
    return benches;
}
inline bool add(Bench bench, void (*body)(Ctx &))
{
    registered().push_back(std::move(bench.body(body)));
    return true;
}
inline bool add(const char *name, void (*body)(Ctx &)) { return add(named(name), body); }

} // namespace detail

/* The command line of a program with the benchmarks of GROMA_BENCHMARK(). */
inline int main_of_registered(int argc, char **argv)
{
    return main(argc, argv, detail::registered());
}

} // namespace groma

/* A benchmark where its body is, of any file of the program:
 *
 *     GROMA_BENCHMARK("text.copy")(groma::Ctx &ctx) { ... }
 *     GROMA_BENCHMARK(groma::named("text.hash").size_param("size", "bytes").quick("64"))(groma::Ctx &ctx) { ... }
 *     GROMA_MAIN()
 */
#define GROMA_BENCHMARK(...) GROMA_BENCHMARK_NUMBERED(__COUNTER__, __VA_ARGS__)
#define GROMA_BENCHMARK_NUMBERED(n, ...) GROMA_BENCHMARK_DEFINED(n, __VA_ARGS__)
#define GROMA_BENCHMARK_DEFINED(n, ...)                                                                     \
    static void groma_body_##n(groma::Ctx &);                                                               \
    __attribute__((__unused__)) static const bool groma_is_added_##n =                                      \
        groma::detail::add(__VA_ARGS__, groma_body_##n);                                                    \
    static void groma_body_##n
#undef GROMA_MAIN
#define GROMA_MAIN()                                                                                        \
    int main(int argc, char **argv) { return groma::main_of_registered(argc, argv); }                       \
    static_assert(true, "a semicolon may follow")

#endif
