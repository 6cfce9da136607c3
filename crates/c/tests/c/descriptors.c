/* Descriptors with one fault each: WRONG in the environment chooses which. */
#include <groma.h>

#include <stdlib.h>
#include <string.h>

static int run(uint64_t iters, void *state)
{
    (void)state;
    return iters == 0;
}

static int measure(groma_ctx *ctx, void *state)
{
    (void)ctx;
    return state != NULL;
}

/* What the next version of the header might declare. */
struct later {
    groma_bench now;
    const char *more;
    int even_more;
};

int main(int argc, char **argv)
{
    groma_param params[] = {
        {.size = sizeof(groma_param), .name = "size", .quick = "4K"},
        {.size = sizeof(groma_param), .name = "kind", .kind = GROMA_WORD, .words = "a b", .quick = "a"},
    };
    groma_output outputs[] = {
        {.size = sizeof(groma_output)},
        {.size = sizeof(groma_output), .name = "net", .how = GROMA_DIFFERENCE, .of = "", .to = "other"},
    };
    groma_bench benches[] = {
        {.size = sizeof(groma_bench), .name = "c.one", .run = run, .params = params, .n_params = 2},
        {.size = sizeof(groma_bench), .name = "c.two", .run = run, .outputs = outputs, .n_outputs = 2},
    };
    struct later later[] = {{.now = benches[0]}, {.now = benches[1]}};
    for (int i = 0; i < 2; i++)
        later[i].now.size = sizeof(struct later);
    switch (atoi(getenv("WRONG"))) {
    case 0: break;
    case 1: benches[1].name = NULL; break;
    case 2: benches[1].name = "c.one"; break;
    case 3: benches[0].name = "no_family"; break;
    case 4: benches[0].run = NULL; break;
    case 5: benches[0].measure = measure; break;
    case 6: benches[0].timing = GROMA_STATED; break;
    case 7: benches[0].quantity = 99; break;
    case 8: benches[0].needs = 1 << 20; break;
    case 9: params[0].quick = NULL; break;
    case 10: params[0].quick = "12Q"; break;
    case 11: params[1].name = "size"; break;
    case 12: params[1].words = NULL; break;
    case 13: params[1].size = 0; break;
    case 14: outputs[1].to = NULL; break;
    case 15: outputs[1].name = "Net value"; break;
    case 16: benches[0].size = 0; break;
    case 17: benches[0].size = 4; break;
    case 18: benches[0].summary = "\xff"; break;
    case 19: return groma_main(argc, argv, benches, 0);
    case 20: return groma_main(argc, argv, NULL, 2);
    case 21: return groma_main(argc, argv, &later[0].now, 2);
    case 22: later[1].even_more = 1; return groma_main(argc, argv, &later[0].now, 2);
    case 23: memset(&benches[1], 0xff, sizeof benches[1]), benches[1].size = sizeof benches[1]; break;
    }
    return groma_main(argc, argv, benches, 2);
}
