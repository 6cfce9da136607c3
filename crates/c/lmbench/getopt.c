/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * getopt.c - options of a program.
 *
 * Letters can be clustered and values glued to their letter. Unlike getopt() of the C library it
 * never reorders operands, prints nothing, refuses a separate value that begins with '-' (so that
 * "-P -N 3" is an error and not a -P of "-N"), and ends at a lone '-', which stays an operand. It
 * also ends after "--".
 */
#include "internal.h"

int optind = 1;
int optopt = 0;
int opterr = 0; /* for programs that set it: nothing is ever printed */
char *optarg = NULL;

/* The rest of a cluster, and the optind that belongs to it: a program that sets optind begins
 * anew. */
static char *rest;
static int rest_index;

/* Returns what a letter is answered with, after the argument that held it. */
static int leave(int argument, int answer)
{
    rest = NULL;
    optind = argument;
    return answer;
}

int getopt(int argc, char *const argv[], const char *letters)
{
    optarg = NULL;
    if (optind < 1)
        optind = 1;
    if (!rest || rest_index != optind) {
        if (optind >= argc || !argv[optind])
            return leave(optind, -1);
        char *argument = argv[optind];
        if (argument[0] != '-' || argument[1] == '\0')
            return leave(optind, -1);
        if (strcmp(argument, "--") == 0)
            return leave(optind + 1, -1);
        rest = argument + 1;
        rest_index = optind;
    }

    char letter = *rest++;
    const char *known = letter == ':' ? NULL : strchr(letters, letter);
    optopt = (unsigned char)letter;
    if (!known)
        return *rest ? '?' : leave(optind + 1, '?');
    if (known[1] != ':')
        return *rest ? letter : leave(optind + 1, letter);
    if (*rest) {
        optarg = rest;
        return leave(optind + 1, letter);
    }
    if (optind + 1 >= argc || argv[optind + 1][0] == '-')
        return leave(optind + 1, letters[0] == ':' ? ':' : '?');
    optarg = argv[optind + 1];
    return leave(optind + 2, letter);
}
