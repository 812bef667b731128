/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process that waits without a reason is seen to, and one that was kept from working is not
 * (backend/proof/proof_watch.h): here it is stopped, as a busy machine leaves it without a
 * processor. */
#include <signal.h>
#include <sys/wait.h>

#include "cases.h"
#include "backend/proof/proof_watch.h"

#define ENOUGH 0.05              /* seconds */

static pid_t start(void (*work)(void))
{
	const pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		for (;;)
			work();
	return pid;
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void sleeps(void)
{
	pause();
}

static void works(void)
{
	static volatile int turns;
	turns = turns + 1;
}

static void spends(void (*work)(void))
{
	const pid_t pid = start(work);
	struct proof_watch w;
	proof_watch_begin(&w, pid);
	while (proof_watch_spent(&w) < ENOUGH)
		usleep(1000);
	end(pid);
}

static void waits_or_works(void **state)
{
	spends(sleeps);
	spends(works);
}

static void is_kept_from_working(void **state)
{
	const pid_t pid = start(sleeps);
	struct proof_watch w;
	int status;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	proof_watch_begin(&w, pid);
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		assert_true(proof_watch_spent(&w) == 0);
	}
	end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_or_works), cmocka_unit_test(is_kept_from_working),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
