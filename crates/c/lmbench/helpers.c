/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * helpers.c - sizes, sinks, buffers, orders, files: what programs call beside a measurement.
 */
#include "internal.h"

char last(char *text)
{
    size_t length = strlen(text);
    return length ? text[length - 1] : '\0';
}

/* A whole number and a last letter: k and m, in either case, are powers of 1024. So is g, which
 * lmbench does not know: it takes "1g" for one byte, which nobody means. */
uint64 bytes(char *size)
{
    uint64 n = strtoull(size, NULL, 10);
    switch (last(size)) {
    case 'k':
    case 'K':
        return n << 10;
    case 'm':
    case 'M':
        return n << 20;
    case 'g':
    case 'G':
        return n << 30;
    default:
        return n;
    }
}

/* Texts that live for some calls, so that one printf() may have several. */
static char *text(void)
{
    static char texts[8][32];
    static unsigned next;
    return texts[next++ % 8];
}

char *p64(uint64 value)
{
    char *t = text();
    snprintf(t, 32, "0x%llx", (unsigned long long)value);
    return t;
}

/* As a whole number if it is one, else with two decimals. */
char *p64sz(uint64 value)
{
    static const char units[] = " KMGTPE";
    char *t = text();
    int unit = 0;
    double size = (double)value;
    while (size >= 1024) {
        size /= 1024;
        unit++;
    }
    int n = snprintf(t, 31, size == floor(size) ? "%.0f" : "%.2f", size);
    if (unit > 0)
        t[n++] = units[unit];
    t[n] = '\0';
    return t;
}

/* Volatile, so that the compiler cannot know what becomes of them. An unsigned sum may wrap. */
static volatile uint64 used_ints;
static void *volatile used_pointer;

void use_int(int value)
{
    used_ints += (uint64)(int64)value;
}

void use_pointer(void *value)
{
    used_pointer = value;
}

/* Without parentheses: one chain of additions. */
#define TERMS_4(i) at[i] + at[i + 1] + at[i + 2] + at[i + 3]
#define TERMS_16(i) TERMS_4(i) + TERMS_4(i + 4) + TERMS_4(i + 8) + TERMS_4(i + 12)
#define TERMS_64(i) TERMS_16(i) + TERMS_16(i + 16) + TERMS_16(i + 32) + TERMS_16(i + 48)

/* Unrolled, a load with its addition takes a cycle, for 8 bytes. That is what bandwidths of reading
 * are elsewhere, so vectors, which are twice as fast, would be another definition. */
long bread(void *buffer, long length)
{
    const unsigned long *at = buffer, *end = at + (length > 0 ? length / (long)sizeof *at : 0);
    unsigned long sum = 0;
    for (; end - at >= 128; at += 128)
        sum += TERMS_64(0) + TERMS_64(64);
    for (; at < end; at++)
        sum += *at;
    return (long)sum;
}

void touch(char *buffer, int length)
{
    long page = sysconf(_SC_PAGESIZE);
    for (long i = 0; i < length; i += page)
        *(volatile char *)(buffer + i) = 1;
}

/* SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. Each
 * process has its own sequence, so that rounds sample different orders. */
static uint64 random_number(void)
{
    static uint64 state;
    static pid_t owner;
    if (owner != getpid()) {
        owner = getpid();
        state = (uint64)groma_lmb_clock() ^ (uint64)owner << 40;
    }
    uint64 z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

size_t *permutation(int max, int scale)
{
    size_t n = max > 0 ? (size_t)max : 0;
    size_t *order = groma_lmb_allocate(n * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = i * (size_t)scale;
    /* Fisher-Yates. The bias of the remainder is below n / 2^64. */
    for (size_t i = n; i > 1; i--) {
        size_t j = random_number() % i, kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
    return order;
}

/* Copies all of `in`; 0, or -1 with errno. */
static int copy(int in, int out)
{
    char buffer[XFERSIZE];
    ssize_t n;
    while ((n = read(in, buffer, sizeof buffer)) > 0)
        for (ssize_t done = 0, put; done < n; done += put)
            if ((put = write(out, buffer + done, (size_t)(n - done))) < 0)
                return -1;
    return n < 0 ? -1 : fsync(out);
}

int cp(char *from, char *to, mode_t mode)
{
    int in = open(from, O_RDONLY);
    int out = in < 0 ? -1 : open(to, O_CREAT | O_TRUNC | O_WRONLY, mode);
    int result = out < 0 ? -1 : copy(in, out);
    if (out >= 0 && close(out) != 0)
        result = -1;
    if (result != 0)
        groma_lmb_say("cannot copy %s to %s: %s", from, to, strerror(errno));
    if (in >= 0)
        close(in);
    return result;
}

static void end_now(int signo)
{
    (void)signo;
    _exit(0);
}

void groma_lmb_end_in_an_hour(void)
{
    signal(SIGALRM, end_now);
    alarm(60 * 60);
}

void morefds(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void sigchld_wait_handler(int signo)
{
    int saved = errno;
    waitpid(-1, NULL, WNOHANG);
    signal(signo, sigchld_wait_handler);
    errno = saved;
}
