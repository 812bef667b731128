/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A time limit ends the process that is late, and no other: neither one whose call comes back nor
 * one that was stopped for longer. */
#include <signal.h>
#include <sys/wait.h>

#include "cases.h"
#include "base/err.h"
#include "base/time_limit.h"

static void say(void *arg)
{
	(void)!write(*(int *)arg, "late", 4);
}

/* A child whose call comes back when `until` can be read, or is at its end. */
static pid_t call(double seconds, const int until[2], const int said[2])
{
	const pid_t child = fork();
	char byte;
	if (child)
		return child;
	int to = said[1];
	struct time_limit l = { seconds, say, &to };
	close(until[1]);
	time_limit_begin(&l);
	(void)!read(until[0], &byte, 1);
	time_limit_end(&l);
	_exit(0);
}

static int ended(pid_t child)
{
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void late(void **state)
{
	int until[2], said[2];
	char text[5] = "";
	(void)state;
	assert_int_equal(pipe(until) | pipe(said), 0);
	assert_int_equal(ended(call(0.1, until, said)), err_exit_status(E_UNAVAILABLE));
	assert_int_equal(read(said[0], text, 4), 4);
	assert_string_equal(text, "late");
}

static void stopped(void **state)
{
	int until[2], said[2];
	(void)state;
	assert_int_equal(pipe(until) | pipe(said), 0);
	const pid_t child = call(600, until, said), other = call(4, until, said);
	assert_int_equal(kill(other, SIGSTOP), 0);
	sleep(5);
	assert_int_equal(kill(other, SIGCONT), 0);
	close(until[1]);
	close(said[1]);
	assert_int_equal(ended(child), 0);
	assert_int_equal(ended(other), 0);
	char byte;
	assert_int_equal(read(said[0], &byte, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late),
		cmocka_unit_test(stopped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
