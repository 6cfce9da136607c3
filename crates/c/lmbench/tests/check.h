/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * check.h - what the tests of the library share. A check that fails is named, and the others run.
 */
#ifndef GROMA_LMBENCH_CHECK_H
#define GROMA_LMBENCH_CHECK_H

#include "../internal.h"

static int failures;

#define CHECK(that)                                                                               \
    do {                                                                                           \
        if (!(that)) {                                                                             \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #that);                                      \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* Both as %.12g, which hides the last bits of a double. */
#define CHECK_NUMBER(is, expected)                                                                \
    do {                                                                                           \
        char is_[64], expected_[64];                                                               \
        snprintf(is_, sizeof is_, "%.12g", (double)(is));                                          \
        snprintf(expected_, sizeof expected_, "%.12g", (double)(expected));                        \
        if (strcmp(is_, expected_) != 0) {                                                         \
            printf("%s:%d: %s is %s, expected %s\n", __FILE__, __LINE__, #is, is_, expected_);     \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

#define CHECK_TEXT(is, expected)                                                                  \
    do {                                                                                           \
        const char *is_ = (is);                                                                    \
        if (strcmp(is_, (expected)) != 0) {                                                        \
            printf("%s:%d: %s is '%s', expected '%s'\n", __FILE__, __LINE__, #is, is_, expected);  \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

#endif
