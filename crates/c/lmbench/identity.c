/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * identity.c - the name under which groma records a measurement of a program.
 *
 * The name consists of the program's name and its arguments, because these are all that tells one
 * measurement from another. A later call of benchmp() in the same process has its number appended.
 */
#include "internal.h"

/* The longest part that arguments may take; longer ones end in a hash of the whole. */
#define LONGEST 160

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* FNV-1a, 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint32 hash(const char *bytes_of, size_t length)
{
    uint32 h = 2166136261u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (uint8)bytes_of[i]) * 16777619u;
    return h;
}

char *groma_lmb_metric(const char *program, const char *args, size_t length, int nth)
{
    size_t family = strlen(program);
    char *name = groma_lmb_allocate(family + LONGEST + 64);
    char *at = name;
    for (size_t i = 0; i < family; i++, at++)
        *at = plain(lower(program[i])) ? lower(program[i]) : '_';
    *at++ = '.';

    size_t used = length > 0 && args[length - 1] == '\0' ? length - 1 : length;
    size_t kept = used > LONGEST ? LONGEST : used;
    for (size_t i = 0; i < kept; i++, at++) {
        char c = lower(args[i]);
        *at = plain(c) || c == '-' ? c : '_';
    }
    if (used == 0)
        at = stpcpy(at, "main");
    if (used > kept)
        at += sprintf(at, "_%08x", (unsigned)hash(args, used));
    if (nth > 1)
        sprintf(at, "_%d", nth);
    return name;
}

char *groma_lmb_arguments(size_t *length)
{
    /* What the kernel keeps, because main() is the program's own. A file of /proc has no size. */
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t capacity = 4096, n = 0;
    char *text = groma_lmb_allocate(capacity);
    if (file) {
        size_t got;
        while ((got = fread(text + n, 1, capacity - n, file)) > 0) {
            n += got;
            if (n == capacity) {
                char *larger = groma_lmb_allocate(capacity * 2);
                memcpy(larger, text, n);
                free(text);
                text = larger;
                capacity *= 2;
            }
        }
        fclose(file);
    }
    /* Without the program's name. */
    size_t first = strnlen(text, n) + 1;
    *length = first < n ? n - first : 0;
    memmove(text, text + (first < n ? first : 0), *length);
    return text;
}

char *groma_lmb_command(const char *program, const char *args, size_t length)
{
    char *line = groma_lmb_allocate(strlen(program) + length + 2);
    char *at = stpcpy(line, program);
    size_t used = length > 0 && args[length - 1] == '\0' ? length - 1 : length;
    if (used > 0)
        *at++ = ' ';
    for (size_t i = 0; i < used; i++)
        *at++ = iscntrl((unsigned char)args[i]) ? ' ' : args[i];
    return line;
}
