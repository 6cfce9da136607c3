/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * results.c - samples, the current result, and the numbers that a program computes with.
 */
#include "check.h"

static void order_median_and_minimum(void)
{
    result_t *block = malloc((size_t)sizeof_result(20));
    insertinit(block);
    /* 3, 1, 2 and 4 us; one without a time, which is dropped. */
    insertsort(300, 100, block);
    insertsort(10, 10, block);
    insertsort(0, 10, block);
    insertsort(2000, 1000, block);
    insertsort(4, 1, block);
    CHECK_NUMBER(block->N, 4);
    CHECK(block->v[0].u == 4 && block->v[1].u == 300);
    CHECK(block->v[2].u == 2000 && block->v[3].u == 10);
    /* The two in the middle: u and n are averaged each for itself. */
    set_results(block);
    CHECK_NUMBER(gettime(), 1150);
    CHECK_NUMBER(get_n(), 550);
    save_minimum();
    CHECK_NUMBER(gettime(), 10);
    CHECK_NUMBER(get_n(), 10);
    insertsort(5, 1, block);
    save_median();
    CHECK_NUMBER(gettime(), 300);
    CHECK_NUMBER(get_n(), 100);
    for (int i = 6; i <= 20; i++)
        insertsort((uint64)i, 1, block);
    CHECK_NUMBER(block->N, 20);
    CHECK_NUMBER(block->v[0].u, 20);
    /* Without samples nothing is left of the result before, and integers can be divided by n. */
    insertinit(block);
    save_minimum();
    CHECK_NUMBER(gettime(), 0);
    CHECK_NUMBER(get_n(), 1);
    save_median();
    CHECK_NUMBER(gettime(), 0);
    free(block);
}

/* Any duration reads back within what was promised: half a microsecond of 1e7, or of as many
 * iterations as an int holds. */
static void values_keep_their_precision(void)
{
    for (double ns = 0.01; ns < 1e13; ns *= 1.37) {
        value_t value = groma_lmb_value(ns);
        double back = (double)value.u * 1000 / (double)value.n;
        double allowed = ns > 5 ? 5.1e-8 : 0.51 * 1000 / (ns * INT_MAX);
        CHECK(fabs(back / ns - 1) < allowed);
        CHECK(value.n >= 1 && value.n <= INT_MAX);
    }
    CHECK_NUMBER(groma_lmb_value(0).u, 0);
    CHECK_NUMBER(groma_lmb_value(NAN).u, 0);
    CHECK_NUMBER(groma_lmb_value(-1).u, 0);
}

/* Programs subtract measurements from each other, as unsigned numbers. */
static void what_is_computed_from_no_result_is_none(void)
{
    char *text = NULL;
    size_t length = 0;
    timing(open_memstream(&text, &length));
    groma_lmb_set(0, 7);
    settime((uint64)(7 * (0.0 - 3.5)));
    micro("the second failed", 7);
    settime((uint64)0 - 1);
    micro("negative", 7);
    /* The first failed, and the second did not. */
    groma_lmb_a_part_failed = 1;
    groma_lmb_set(1000, 1);
    settime(gettime() - 0);
    micro("the first failed", 1);
    settime(2);
    micro("the next", 1);
    fclose(ftiming);
    timing(NULL);
    CHECK_TEXT(text, "the next: 2.0000 microseconds\n");
    free(text);
}

static void names_of_records(void)
{
    static const char args[] = "-P\0001\0" "64k\0/tmp/File.x";
    CHECK_TEXT(groma_lmb_metric("lat-x.1", args, sizeof args, 1), "lat_x_1.-p_1_64k__tmp_file_x");
    CHECK_TEXT(groma_lmb_metric("bw_mem", args, sizeof args, 2), "bw_mem.-p_1_64k__tmp_file_x_2");
    CHECK_TEXT(groma_lmb_metric("lat_pipe", "", 0, 1), "lat_pipe.main");
    CHECK_TEXT(groma_lmb_command("bw_mem", args, sizeof args), "bw_mem -P 1 64k /tmp/File.x");
    char many[2][1000];
    memset(many, 'a', sizeof many);
    many[1][999] = 'b';
    char *one = groma_lmb_metric("x", many[0], 1000, 1);
    char *other = groma_lmb_metric("x", many[1], 1000, 1);
    CHECK(strlen(one) < 200 && strcmp(one, other) != 0);
}

int main(void)
{
    order_median_and_minimum();
    values_keep_their_precision();
    what_is_computed_from_no_result_is_none();
    names_of_records();
    return failures > 0;
}
