/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * statistics.c - the functions of stats.h, once for each of its three types.
 *
 * The middle of an even number of values is their mean, which is cut for whole numbers. Moments are
 * taken about the mean as a double, also where X_mean() is a whole number.
 */
#include "internal.h"

#define RESAMPLES 200

/* A generator of its own: programs seed rand() and random() for themselves. xorshift64*: Vigna, "An
 * experimental exploration of Marsaglia's xorshift generators, scrambled", 2016. */
static size_t random_below(size_t n)
{
    static uint64 state = 88172645463325252u;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (size_t)((state * 2685821657736338717u >> 11) % n);
}

/* `power` is a small whole number. */
static double raised(double base, int power)
{
    double result = 1;
    for (int i = 0; i < power; i++)
        result *= base;
    return result;
}

#define STATISTICS(type)                                                                          \
    int type##_compare(const void *a, const void *b)                                               \
    {                                                                                              \
        type x = *(const type *)a, y = *(const type *)b;                                           \
        return (x > y) - (x < y);                                                                  \
    }                                                                                              \
                                                                                                   \
    type type##_median(type *values, int n)                                                        \
    {                                                                                              \
        if (n <= 0)                                                                                \
            return 0;                                                                              \
        qsort(values, (size_t)n, sizeof *values, type##_compare);                                  \
        if (n % 2)                                                                                 \
            return values[n / 2];                                                                  \
        /* Not the sum, which may be too large. */                                                 \
        long double low = (long double)values[n / 2 - 1], high = (long double)values[n / 2];       \
        return (type)((low + high) / 2);                                                           \
    }                                                                                              \
                                                                                                   \
    /* The mean as a double. */                                                                    \
    static double type##_centre(const type *values, int n)                                         \
    {                                                                                              \
        long double sum = 0;                                                                       \
        for (int i = 0; i < n; i++)                                                                \
            sum += (long double)values[i];                                                         \
        return n > 0 ? (double)(sum / n) : 0;                                                      \
    }                                                                                              \
                                                                                                   \
    type type##_mean(type *values, int n)                                                          \
    {                                                                                              \
        return (type)type##_centre(values, n);                                                     \
    }                                                                                              \
                                                                                                   \
    type type##_min(type *values, int n)                                                           \
    {                                                                                              \
        type least = n > 0 ? values[0] : 0;                                                        \
        for (int i = 1; i < n; i++)                                                                \
            least = values[i] < least ? values[i] : least;                                         \
        return least;                                                                              \
    }                                                                                              \
                                                                                                   \
    type type##_max(type *values, int n)                                                           \
    {                                                                                              \
        type most = n > 0 ? values[0] : 0;                                                         \
        for (int i = 1; i < n; i++)                                                                \
            most = values[i] > most ? values[i] : most;                                            \
        return most;                                                                               \
    }                                                                                              \
                                                                                                   \
    double type##_moment(int moment, type *values, int n)                                          \
    {                                                                                              \
        double centre = type##_centre(values, n), sum = 0;                                         \
        for (int i = 0; i < n; i++)                                                                \
            sum += raised((double)values[i] - centre, moment);                                     \
        return n > 0 ? sum / n : 0;                                                                \
    }                                                                                              \
                                                                                                   \
    double type##_variance(type *values, int n)                                                    \
    {                                                                                              \
        return n > 1 ? type##_moment(2, values, n) * n / (n - 1) : 0;                              \
    }                                                                                              \
                                                                                                   \
    double type##_stderr(type *values, int n)                                                      \
    {                                                                                              \
        return sqrt(type##_variance(values, n));                                                   \
    }                                                                                              \
                                                                                                   \
    double type##_skew(type *values, int n)                                                        \
    {                                                                                              \
        double second = type##_moment(2, values, n);                                               \
        return second > 0 ? type##_moment(3, values, n) / (second * sqrt(second)) : 0;             \
    }                                                                                              \
                                                                                                   \
    double type##_kurtosis(type *values, int n)                                                    \
    {                                                                                              \
        double second = type##_moment(2, values, n);                                               \
        return second > 0 ? type##_moment(4, values, n) / (second * second) - 3 : 0;               \
    }                                                                                              \
                                                                                                   \
    double type##_bootstrap_stderr(type *values, int n, type##_stat f)                             \
    {                                                                                              \
        double statistics[RESAMPLES];                                                              \
        if (n <= 0)                                                                                \
            return 0;                                                                              \
        type *sample = groma_lmb_allocate((size_t)n * sizeof *sample);                             \
        for (int i = 0; i < RESAMPLES; i++) {                                                      \
            for (int j = 0; j < n; j++)                                                            \
                sample[j] = values[random_below((size_t)n)];                                       \
            statistics[i] = (double)f(sample, n);                                                  \
        }                                                                                          \
        free(sample);                                                                              \
        return double_stderr(statistics, RESAMPLES);                                               \
    }

STATISTICS(int)
STATISTICS(uint64)
STATISTICS(double)

/* Weighted least squares about the weighted mean of x, which keeps the sums small. */
void regression(double *x, double *y, double *sig, int n, double *a, double *b, double *sig_a,
                double *sig_b, double *chi2)
{
    double weights = 0, sum_x = 0, sum_y = 0, spread = 0, slope = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        double w = sig ? 1 / (sig[i] * sig[i]) : 1;
        weights += w;
        sum_x += w * x[i];
        sum_y += w * y[i];
    }
    double centre = weights > 0 ? sum_x / weights : 0;
    for (int i = 0; i < n; i++) {
        double w = sig ? 1 / (sig[i] * sig[i]) : 1;
        spread += w * (x[i] - centre) * (x[i] - centre);
        slope += w * (x[i] - centre) * y[i];
    }
    *b = spread > 0 ? slope / spread : 0;
    *a = weights > 0 ? (sum_y - sum_x * *b) / weights : 0;
    for (int i = 0; i < n; i++) {
        double off = (y[i] - *a - *b * x[i]) / (sig ? sig[i] : 1);
        squares += off * off;
    }
    *chi2 = squares;
    /* Without deviations of y, theirs is that of the residuals. */
    double scale = sig ? 1 : n > 2 ? sqrt(squares / (n - 2)) : 0;
    *sig_a = weights > 0 && spread > 0 ? sqrt(1 / weights + centre * centre / spread) * scale : 0;
    *sig_b = spread > 0 ? sqrt(1 / spread) * scale : 0;
}
