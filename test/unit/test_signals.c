/* SPDX-License-Identifier: BSD-3-Clause
 *
 * signals.h, in children that send themselves signals: what is a request, what ends the program
 * and what it leaves. */
#include <glob.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "cases.h"
#include "base/io.h"
#include "base/signals.h"

/* A child's wait status after body. */
static int run(void (*body)(void))
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		signals_block();
		if (signals_begin() < 0)
			_exit(100);
		body();
		_exit(101);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Until the signal has been noted, or the test's harness gives up. */
static void await(int sig)
{
	while (signals_pending() != sig)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

static void stop_for_good(void)
{
	for (;;)
		pause();
}

static char path[] = "/tmp/dlx-signals-XXXXXX";

static void write_and_end(void)
{
	struct io_file *f, *g;
	if (io_create(&f, path) < 0 || io_create(&g, path) < 0)
		_exit(102);
	io_write(f, "half", 4);
	io_write(g, "whole", 5);
	if (io_commit(g) < 0)
		_exit(103);
	kill(getpid(), SIGTERM);
	stop_for_good();
}

static void test_unfinished_files(void **state)
{
	glob_t g;
	char pattern[64];
	int status, fd = mkstemp(path);
	(void)state;
	assert_true(fd >= 0);
	close(fd);
	status = run(write_and_end);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	snprintf(pattern, sizeof pattern, "%s*", path);
	assert_int_equal(glob(pattern, 0, NULL, &g), 0);
	assert_int_equal(g.gl_pathc, 1);               /* what was finished stays */
	assert_string_equal(g.gl_pathv[0], path);
	globfree(&g);
	unlink(path);
}

static void end_by_second(void)
{
	signals_watch();
	kill(getpid(), SIGUSR1);
	await(SIGUSR1);
	kill(getpid(), SIGHUP);
	stop_for_good();
}

/* The alarm is no second request, and what follows it is the first one. */
static void alarm_then_two(void)
{
	signals_watch();
	signals_alarm(0);
	await(SIGALRM);
	kill(getpid(), SIGINT);
	await(SIGINT);
	signals_alarm(0);
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	if (signals_pending() != SIGINT)
		_exit(102);
	kill(getpid(), SIGUSR2);
	stop_for_good();
}

static void test_second_request(void **state)
{
	(void)state;
	assert_int_equal(WTERMSIG(run(end_by_second)), SIGHUP);
	assert_int_equal(WTERMSIG(run(alarm_then_two)), SIGUSR2);
}

static void ignore_hangup(void)
{
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signals_watch();
	kill(getpid(), SIGHUP);
	kill(getpid(), SIGINT);
	await(SIGINT);
	kill(getpid(), SIGHUP);
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	_exit(signals_pending() == SIGINT ? 0 : 102);
}

static void test_ignored(void **state)
{
	(void)state;
	assert_int_equal(run(ignore_hangup), 0);
}

static void *mask_of_thread(void *set)
{
	pthread_sigmask(SIG_SETMASK, NULL, set);
	return NULL;
}

/* Every thread made after signals_block has them blocked, and faults are not among them. */
static void look_at_masks(void)
{
	static const int blocked[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPROF, SIGALRM, SIGCHLD,
		SIGUSR1 };
	pthread_t t;
	sigset_t set;
	if (pthread_create(&t, NULL, mask_of_thread, &set) != 0)
		_exit(102);
	pthread_join(t, NULL);
	for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++)
		if (!sigismember(&set, blocked[i]))
			_exit(103);
	_exit(sigismember(&set, SIGSEGV) || sigismember(&set, SIGBUS) ? 104 : 0);
}

static void test_masks(void **state)
{
	(void)state;
	assert_int_equal(run(look_at_masks), 0);
}

/* A program that has not begun keeps its own way with signals. */
static void test_untouched(void **state)
{
	struct sigaction before, after;
	(void)state;
	sigaction(SIGTERM, NULL, &before);
	signals_watch();
	signals_alarm(1e-3);
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	sigaction(SIGTERM, NULL, &after);
	assert_true(before.sa_handler == after.sa_handler);
	assert_int_equal(signals_pending(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unfinished_files),
		cmocka_unit_test(test_second_request),
		cmocka_unit_test(test_ignored),
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_untouched),
	};

	/* Under nohup, and with a shell's &, they are ignored from the start. */
	signal(SIGHUP, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
