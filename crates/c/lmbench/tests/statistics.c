/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * statistics.c - against values computed by hand.
 */
#include "check.h"

int main(void)
{
    /* Mean 5, squares 9 1 1 1 0 0 4 16 = 32; cubes -27 -1 -1 -1 0 0 8 64 = 42; 4th powers
     * 81 1 1 1 0 0 16 256 = 356. */
    double d[] = {2, 4, 4, 4, 5, 5, 7, 9};
    int i[] = {9, 2, 4, 5, 4, 7, 4, 5};
    uint64 u[] = {5, 9, 7, 4, 4, 5, 2, 4};
    CHECK_NUMBER(double_mean(d, 8), 5);
    CHECK_NUMBER(double_median(d, 8), 4.5);
    CHECK_NUMBER(double_min(d, 8), 2);
    CHECK_NUMBER(double_max(d, 8), 9);
    CHECK_NUMBER(double_moment(2, d, 8), 4);
    CHECK_NUMBER(double_moment(3, d, 8), 5.25);
    CHECK_NUMBER(double_variance(d, 8), 32.0 / 7);
    CHECK_NUMBER(double_stderr(d, 8), sqrt(32.0 / 7));
    CHECK_NUMBER(double_skew(d, 8), 5.25 / 8);
    CHECK_NUMBER(double_kurtosis(d, 8), 44.5 / 16 - 3);
    CHECK_NUMBER(int_mean(i, 8), 5);
    CHECK_NUMBER(int_variance(i, 8), 32.0 / 7);
    CHECK_NUMBER(int_max(i, 8), 9);
    CHECK_NUMBER(int_median(i, 8), 4);
    CHECK(i[0] == 2 && i[7] == 9); /* documented: it sorts */
    CHECK_NUMBER(uint64_mean(u, 8), 5);
    CHECK_NUMBER(uint64_kurtosis(u, 8), 44.5 / 16 - 3);
    CHECK_NUMBER(uint64_min(u, 8), 2);
    CHECK_NUMBER(uint64_median(u, 7), 5); /* of 5 9 7 4 4 5 2 */

    /* Neither differences of unsigned numbers nor sums of large ones wrap. */
    uint64 large[] = {UINT64_MAX, UINT64_MAX - 2};
    CHECK(uint64_median(large, 2) == UINT64_MAX - 1);
    int extremes[] = {INT_MAX, INT_MIN, 0};
    CHECK_NUMBER(int_median(extremes, 3), 0);
    CHECK(int_compare(&extremes[0], &extremes[2]) < 0);

    /* The mean of n values resampled scatters by sigma / sqrt(n), here sqrt(4 / 8); over 200
     * resamples that is known within 5 %. Of equal values it does not scatter. */
    double scatter = double_bootstrap_stderr(d, 8, double_mean);
    CHECK(scatter > 0.5 * sqrt(0.5) && scatter < 1.5 * sqrt(0.5));
    int same[] = {3, 3, 3};
    CHECK_NUMBER(int_bootstrap_stderr(same, 3, int_median), 0);
    CHECK_NUMBER(double_mean(d, 0), 0);
    CHECK_NUMBER(double_variance(d, 1), 0);

    /* y = 1 + 2x, then one value off: x 0 1 2 3, y 1 3 5 9: b = 13/5, a = 3/5. */
    double x[] = {0, 1, 2, 3}, y[] = {1, 3, 5, 7}, sig[] = {1, 1, 1, 1};
    double a, b, sig_a, sig_b, chi2;
    regression(x, y, NULL, 4, &a, &b, &sig_a, &sig_b, &chi2);
    CHECK_NUMBER(a, 1);
    CHECK_NUMBER(b, 2);
    CHECK_NUMBER(chi2 + sig_a + sig_b, 0);
    y[3] = 9;
    regression(x, y, sig, 4, &a, &b, &sig_a, &sig_b, &chi2);
    CHECK_NUMBER(a, 0.6);
    CHECK_NUMBER(b, 2.6);
    CHECK_NUMBER(chi2, 1.2);
    CHECK_NUMBER(sig_a, sqrt(0.25 + 2.25 / 5));
    CHECK_NUMBER(sig_b, sqrt(0.2));
    /* A value without weight does not count. */
    sig[3] = 1e9;
    regression(x, y, sig, 4, &a, &b, &sig_a, &sig_b, &chi2);
    CHECK(fabs(a - 1) < 1e-9 && fabs(b - 2) < 1e-9);
    return failures > 0;
}
