/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * messages.c - messages of the library, and the two ways in which it gives up.
 *
 * Notes are about a result: that there is none and why, that it is imprecise. Errors are about what
 * the program asked for. In captured output a note would stand among the rows, where lmbench's own
 * parsers take it for the end of a section: so notes go to a terminal, or to the file that
 * GROMA_NOTES names ("-" is standard error).
 */
#include "internal.h"

#include <stdarg.h>

/* One write, so that the lines of several processes do not mix. */
static void say(int to, const char *format, va_list args)
{
    char line[1024];
    int n = snprintf(line, sizeof line, "%s: ", program_invocation_short_name);
    if (n < 0 || (size_t)n >= sizeof line - 1)
        n = 0;
    int more = vsnprintf(line + n, sizeof line - 1 - (size_t)n, format, args);
    size_t length = strlen(line);
    if (more < 0)
        length = (size_t)n;
    line[length++] = '\n';
    fflush(stderr);
    if (write(to, line, length) < 0)
        return; /* there is nowhere to say it */
}

void groma_lmb_note(const char *format, ...)
{
    const char *name = getenv("GROMA_NOTES");
    int named = name && *name && strcmp(name, "-") != 0;
    if (!(name && *name) && !isatty(STDERR_FILENO))
        return;
    int to = named ? open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : STDERR_FILENO;
    if (to < 0)
        groma_lmb_refuse("GROMA_NOTES: %s: %s", name, strerror(errno));
    va_list args;
    va_start(args, format);
    say(to, format, args);
    va_end(args);
    if (named)
        close(to);
}

void groma_lmb_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(STDERR_FILENO, format, args);
    va_end(args);
}

void groma_lmb_refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(STDERR_FILENO, format, args);
    va_end(args);
    exit(2);
}

void *groma_lmb_allocate(size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    if (!memory) {
        groma_lmb_say("no memory for %zu bytes", size);
        exit(1);
    }
    return memory;
}

/* The prototype of bench.h is empty on purpose. 255 is what programs of this kind exit with. */
void lmbench_usage(int argc, char *argv[], char *usage)
{
    /* Some programs end their text with a newline. */
    const char *end = *usage && last(usage) == '\n' ? "" : "\n";
    fprintf(stderr, "Usage: %s %s%s", argc > 0 ? argv[0] : program_invocation_name, usage, end);
    exit(255);
}
