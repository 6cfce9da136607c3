/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * helpers.c - sizes, orders, sums, copies, options.
 */
#include "check.h"

static void sizes(void)
{
    CHECK_NUMBER(bytes("0"), 0);
    CHECK_NUMBER(bytes("512"), 512);
    CHECK_NUMBER(bytes("64k"), 65536);
    CHECK_NUMBER(bytes("64K"), 65536);
    CHECK_NUMBER(bytes("8m"), 8388608);
    CHECK_NUMBER(bytes("3G"), 3221225472.0);
    CHECK_NUMBER(bytes("1.5m"), 1048576); /* documented: only the whole number counts */
    CHECK_NUMBER(bytes(""), 0);
    CHECK(last("64k") == 'k' && last("") == '\0');
    CHECK_TEXT(p64sz(0), "0");
    CHECK_TEXT(p64sz(1023), "1023");
    CHECK_TEXT(p64sz(65536), "64K");
    CHECK_TEXT(p64sz(1536), "1.50K");
    CHECK_TEXT(p64sz((uint64)3 << 40), "3T");
    CHECK_TEXT(p64sz(UINT64_MAX), "16E");
    /* Two of them in one call of printf(). */
    char both[64];
    snprintf(both, sizeof both, "%s %s", p64(255), p64(0xfedcba9876543210));
    CHECK_TEXT(both, "0xff 0xfedcba9876543210");
}

static void orders(void)
{
    enum { N = 1000 };
    char seen[N] = {0};
    int in_place = 0;
    size_t *order = permutation(N, 4096);
    for (int i = 0; i < N; i++) {
        CHECK(order[i] % 4096 == 0 && order[i] / 4096 < N);
        in_place += order[i] == (size_t)i * 4096;
        seen[order[i] / 4096]++;
    }
    for (int i = 0; i < N; i++)
        CHECK(seen[i] == 1);
    /* One on average; 50 would have a probability below 10^-60. */
    CHECK(in_place < 50);
    free(order);
    free(permutation(0, 1));
}

static void buffers_and_files(void)
{
    long words[37];
    for (int i = 0; i < 37; i++)
        words[i] = i;
    CHECK_NUMBER(bread(words, sizeof words), 666);
    CHECK_NUMBER(bread(words, 20 * sizeof *words), 190);
    CHECK_NUMBER(bread(words, 0), 0);

    char from[] = "/tmp/groma-lmbench-XXXXXX", to[64], content[100000], back[100001];
    int fd = mkstemp(from);
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (char)(i * 7 + i / 251);
    CHECK(write(fd, content, sizeof content) == sizeof content);
    close(fd);
    snprintf(to, sizeof to, "%s.copy", from);
    CHECK_NUMBER(cp(from, to, 0600), 0);
    fd = open(to, O_RDONLY);
    CHECK(read(fd, back, sizeof back) == sizeof content);
    CHECK(memcmp(content, back, sizeof content) == 0);
    close(fd);
    unlink(to);
    unlink(from);
    CHECK_NUMBER(cp(from, to, 0600), -1);
    CHECK(access(to, F_OK) != 0);
}

/* The answers to a command line, and the operands behind it: "P4 W5 | x". */
static const char *answers(int argc, char **argv)
{
    static char text[256];
    char *at = text;
    int c;
    optind = 1;
    while ((c = getopt(argc, argv, "P:W:va")) != -1)
        at += sprintf(at, "%c%s ", c, c == '?' ? (char[]){(char)optopt, 0} : optarg ? optarg : "");
    at += sprintf(at, "|");
    for (; optind < argc; optind++)
        at += sprintf(at, " %s", argv[optind]);
    return text;
}

#define OPTIONS(expected, ...)                                                                    \
    do {                                                                                           \
        char *argv[] = {"program", __VA_ARGS__, NULL};                                             \
        CHECK_TEXT(answers((int)GROMA_COUNT(argv) - 1, argv), expected);                           \
    } while (0)
#define GROMA_COUNT(array) (sizeof(array) / sizeof *(array))

static void options(void)
{
    OPTIONS("P4 W5 | x y", "-P4", "-W", "5", "x", "y");
    OPTIONS("v a P2 | x", "-vaP2", "x");
    OPTIONS("v a P2 | x", "-vaP", "2", "x");
    OPTIONS("v | x -a", "-v", "x", "-a"); /* operands end the options */
    OPTIONS("v | - -a", "-v", "-", "-a");
    OPTIONS("v | -a", "-v", "--", "-a");
    OPTIONS("?P W3 |", "-P", "-W", "3"); /* a value does not begin with '-' */
    OPTIONS("P-1 |", "-P-1");
    OPTIONS("?P |", "-P");
    OPTIONS("?x v |", "-xv");
    OPTIONS("?: |", "-:");
}

int main(void)
{
    sizes();
    orders();
    buffers_and_files();
    options();
    return failures > 0;
}
