/*
 * Makes a test program fork all the time, to find tests that a child of another test can break.
 *
 * Tests are threads of one process. Until it ends or executes a program, a child that one of them
 * forks holds copies of all file descriptors and shares all pages: a lock or a listener that
 * another test closed is still there, and that test's private pages count as shared. Such a test
 * fails once in some dozens of suites; with this library it fails within seconds.
 *
 *     cc -O1 -shared -fPIC -o /tmp/forks.so crates/sys/tests/forks.c
 *     cargo test -p groma-sys --no-run       # prints the name of the test program
 *     cd crates/sys && env LD_PRELOAD=/tmp/forks.so ../../target/debug/deps/groma_sys-...
 *
 * Only the first program loads it: write `timeout 60 env LD_PRELOAD=...`, not the reverse.
 * FORKS_GAP is the pause between two forks and FORKS_LIFE how long a child lives, in microseconds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct timespec microseconds(const char *name, long usual)
{
	const char *text = getenv(name);
	long value = text ? atol(text) : usual;

	return (struct timespec){ value / 1000000, value % 1000000 * 1000 };
}

static void *fork_for_ever(void *unused)
{
	struct timespec gap = microseconds("FORKS_GAP", 300);
	struct timespec life = microseconds("FORKS_LIFE", 5000);

	(void)unused;
	for (;;) {
		/*
		 * A child that ends without a signal, so that no wait of the tests for any child finds it.
		 * Not fork(): its handlers belong to the C library, and other threads hold its locks.
		 */
		long pid = syscall(SYS_clone, 0, 0, 0, 0, 0);

		if (pid == 0) {
			syscall(SYS_nanosleep, &life, 0);
			syscall(SYS_exit_group, 0);
		}
		if (pid < 0 && errno != EAGAIN && errno != ENOMEM) {
			perror("forks.c: clone");
			abort();
		}
		/* Those of this thread only: a wait for clones also finds children that a test traces. */
		while (waitpid(-1, NULL, __WCLONE | __WNOTHREAD | WNOHANG) > 0)
			;
		nanosleep(&gap, NULL);
	}
}

__attribute__((constructor)) static void start(void)
{
	sigset_t all, before;
	pthread_t thread;

	/* The programs that tests start are left alone. */
	unsetenv("LD_PRELOAD");
	/* This thread must not handle signals meant for a test. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (pthread_create(&thread, NULL, fork_for_ever, NULL) != 0) {
		fputs("forks.c: no thread\n", stderr);
		abort();
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
