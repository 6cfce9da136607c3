/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * names.c - names of the interface that programs use beside its functions, in the way they do.
 */
#include "check.h"

static volatile iter_t done;

static void several(iter_t n)
{
    while (n-- > 0)
        done++;
}

/* A body that does all iterations of an interval itself takes the counter and leaves 1 of it. What
 * it counts is what the loop credits: all intervals double at most from one to the next by FACTOR. */
static void a_body_takes_the_counter(void)
{
    done = 0;
    BENCH1(several(__n); __n = 1;, 1000)
    CHECK(get_n() > 1 && get_n() <= done);
    CHECK(done <= 20 * get_n());
}

/* lat_rpc needs these, and a library of RPC, which the pkg-config file names where there is one. */
#ifdef CLSET_RETRY_TIMEOUT
static void rpc_is_declared(void)
{
    SVCXPRT *(*make)(int) = svcudp_create;
    bool_t (*forget)(u_long, u_long) = pmap_unset;
    CHECK(make != NULL && forget != NULL && RPC_XACT != RPC_EXIT && XACT_VERS == 1);
    CHECK(XACT_PROG > 0 && RPC_ANYSOCK == -1);
}
#endif

static void small_macros(void)
{
    int evaluated = 0;
    debug((stdout, "%d\n", ++evaluated));
    CHECK_NUMBER(evaluated, 0);
    CHECK(streq("cp", "cp") && !streq("cp", "fcp"));
    CHECK(ABS(-2.5) == 2.5 && ABS(3) == 3);
    CHECK(TRUE && !FALSE);
}

static void lines_go_where_ftiming_says(void)
{
    extern FILE *ftiming;
    CHECK(ftiming == NULL);
    char *text = NULL;
    size_t length = 0;
    ftiming = open_memstream(&text, &length);
    settime(5);
    micro("five", 1);
    timing(ftiming);
    fclose(ftiming);
    ftiming = NULL;
    CHECK_TEXT(text, "five: 5.0000 microseconds\n");
    free(text);
}

static void a_forgotten_server_ends(void)
{
    GO_AWAY;
    unsigned left = alarm(0);
    CHECK(left > 3500 && left <= 3600);
}

int main(void)
{
    a_body_takes_the_counter();
#ifdef CLSET_RETRY_TIMEOUT
    rpc_is_declared();
#endif
    small_macros();
    lines_go_where_ftiming_says();
    a_forgotten_server_ends();
    return failures > 0;
}
