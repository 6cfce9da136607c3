/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * stats.h - statistics of int, uint64 and double values, for programs in the style of lmbench 3.
 * bench.h says what this library is.
 *
 * X_median() sorts the caller's array. X_stderr() is the standard deviation, whatever its name
 * says. Variances divide by n - 1, moments by n, and X_kurtosis() is 0 for a normal distribution.
 * Of no values, and where a quotient has no meaning, the result is 0.
 */
#ifndef GROMA_LMBENCH_STATS_H
#define GROMA_LMBENCH_STATS_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int (*int_stat)(int *values, int n);
typedef uint64 (*uint64_stat)(uint64 *values, int n);
typedef double (*double_stat)(double *values, int n);

/* For qsort(). */
int int_compare(const void *a, const void *b);
int uint64_compare(const void *a, const void *b);
int double_compare(const void *a, const void *b);

int int_median(int *values, int n);
int int_mean(int *values, int n);
int int_min(int *values, int n);
int int_max(int *values, int n);
double int_variance(int *values, int n);
double int_moment(int moment, int *values, int n);
double int_stderr(int *values, int n);
double int_skew(int *values, int n);
double int_kurtosis(int *values, int n);
/* The standard deviation of `f` over 200 resamples. */
double int_bootstrap_stderr(int *values, int n, int_stat f);

uint64 uint64_median(uint64 *values, int n);
uint64 uint64_mean(uint64 *values, int n);
uint64 uint64_min(uint64 *values, int n);
uint64 uint64_max(uint64 *values, int n);
double uint64_variance(uint64 *values, int n);
double uint64_moment(int moment, uint64 *values, int n);
double uint64_stderr(uint64 *values, int n);
double uint64_skew(uint64 *values, int n);
double uint64_kurtosis(uint64 *values, int n);
double uint64_bootstrap_stderr(uint64 *values, int n, uint64_stat f);

double double_median(double *values, int n);
double double_mean(double *values, int n);
double double_min(double *values, int n);
double double_max(double *values, int n);
double double_variance(double *values, int n);
double double_moment(int moment, double *values, int n);
double double_stderr(double *values, int n);
double double_skew(double *values, int n);
double double_kurtosis(double *values, int n);
double double_bootstrap_stderr(double *values, int n, double_stat f);

/* Fits y = a + b x by least squares. `sig` holds the standard deviations of y, or is NULL: then all
 * weigh the same, and the deviations of a and b follow from the residuals. */
void regression(double *x, double *y, double *sig, int n, double *a, double *b, double *sig_a,
                double *sig_b, double *chi2);

#ifdef __cplusplus
}
#endif

#endif
