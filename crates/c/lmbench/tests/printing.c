/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * printing.c - the formats that scripts read, with values computed by hand, and that nothing is
 * printed where nothing was measured.
 */
#include "check.h"

static FILE *file;

/* What was printed since the last call. */
static const char *printed(void)
{
    static char text[4096];
    size_t n;
    rewind(file);
    n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    rewind(file);
    CHECK(ftruncate(fileno(file), 0) == 0);
    return text;
}

#define PRINTS(call, expected)                                                                    \
    do {                                                                                           \
        call;                                                                                      \
        fflush(file);                                                                              \
        CHECK_TEXT(printed(), expected);                                                           \
    } while (0)

int main(void)
{
    file = tmpfile();
    timing(file);

    settime(1234567);
    PRINTS(milli("Label", 1000), "Label: 1 milliseconds\n");
    PRINTS(micro("Label", 1000), "Label: 1234.5670 microseconds\n");
    PRINTS(nano("Label", 1000000), "Label: 1234.57 nanoseconds\n");
    PRINTS(micromb(1048576, 1000), "1.048576 1235\n");
    PRINTS(micromb(1048576, 1000000), "1.048576 1.235\n");
    PRINTS(mb(1000000000), "810.00 MB/sec\n");
    PRINTS(kb(1000000000), "810001 KB/sec\n");
    PRINTS(bandwidth(65536, 1000, 0), "0.065536 53.08\n");
    PRINTS(bandwidth(1048576, 1, 0), "1.05 0.849347\n");
    PRINTS(bandwidth(65536, 1000, 1), "0.0655 MB in 0.0012 secs, 53.0842 MB/sec\n");
    settime(829);
    PRINTS(latency(1, 40900), "40.9KB in 0.8290 millisecs, 49.34 MB/sec\n");
    settime(250000);
    PRINTS(latency(1, 100000), "100.0KB in 250 millisecs, 400.00 KB/sec\n");
    settime(18470);
    PRINTS(latency(128, 65536),
           "128 65KB xfers in 0.02 secs, 0.1443 millisec/xfer, 454.17 MB/sec\n");
    settime(1000000);
    PRINTS(context(100), "100 context switches in 1.00 secs, 10000 microsec/switch\n");
    PRINTS(ptime(100), "100 in 1.00 secs, 10000 microseconds each\n");

    /* Nothing measured, and nothing to divide by. */
    settime(0);
    PRINTS(milli("x", 1), "");
    PRINTS(micro("x", 1), "");
    PRINTS(nano("x", 1), "");
    PRINTS(micromb(1, 1), "");
    PRINTS(mb(1), "");
    PRINTS(kb(1), "");
    PRINTS(bandwidth(1, 1, 0), "");
    PRINTS(latency(1, 1), "");
    PRINTS(context(1), "");
    PRINTS(ptime(1), "");
    settime(1000);
    PRINTS(micro("x", 0), "");
    PRINTS(bandwidth(1, 0, 0), "");
    return failures > 0;
}
