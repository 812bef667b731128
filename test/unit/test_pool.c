/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pool.h: every job runs once, in order on one thread; waiting waits; freeing ends all. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "cases.h"
#include "base/err.h"
#include "base/pool.h"

#define JOBS 500

static atomic_int ran[JOBS];
static int order[JOBS];
static atomic_int done;

static void job(void *arg)
{
	int i = *(int *)arg;
	ran[i]++;
	if (i % 50 == 0)
		usleep(1000);
	order[atomic_fetch_add(&done, 1)] = i;
}

static atomic_int held, let_go;

/* Runs until let_go is set. */
static void hold(void *arg)
{
	atomic_fetch_add(&held, 1);
	while (!let_go)
		usleep(100);
	atomic_fetch_add((atomic_int *)arg, 1);
}

/* A job is taken where a thread is idle, and never waits for one. */
static void offers(void **state)
{
	struct pool *p = pool_new(2, 4);
	atomic_int ended = 0;
	held = let_go = 0;
	assert_true(pool_offer(p, hold, &ended));
	pool_add(p, hold, &ended);
	assert_false(pool_offer(p, hold, &ended));
	while (held < 2)
		usleep(100);
	assert_false(pool_offer(p, hold, &ended));
	let_go = 1;
	pool_wait(p);
	assert_int_equal(ended, 2);
	assert_true(pool_offer(p, hold, &ended));
	pool_free(p);
	assert_int_equal(ended, 3);
}

static void reset(int *number)
{
	done = 0;
	for (int i = 0; i < JOBS; i++) {
		number[i] = i;
		ran[i] = 0;
	}
}

static void every_job_runs_once(void **state)
{
	int number[JOBS];
	for (int threads = 1; threads <= 4; threads++) {
		struct pool *p = pool_new(threads, 7);
		reset(number);
		for (int i = 0; i < JOBS / 2; i++)
			pool_add(p, job, &number[i]);
		pool_wait(p);
		assert_int_equal(done, JOBS / 2);
		pool_add_all(p, job, &number[JOBS], sizeof *number, 0);
		pool_add_all(p, job, &number[JOBS / 2], sizeof *number, JOBS - JOBS / 2);
		pool_free(p);
		assert_int_equal(done, JOBS);
		for (int i = 0; i < JOBS; i++) {
			assert_int_equal(ran[i], 1);
			if (threads == 1)
				assert_int_equal(order[i], i);
		}
	}
	pool_free(NULL);
}

/* Jobs that come together are taken by all threads, though one alone is woken: each ends only when
 * all have begun. */
static void woken(void **state)
{
	struct pool *p = pool_new(3, 8);
	atomic_int ended[3] = { 0 };
	for (int again = 0; again < 20; again++) {
		held = let_go = 0;
		pool_add_all(p, hold, ended, sizeof *ended, 3);
		while (held < 3)
			usleep(100);
		let_go = 1;
		pool_wait(p);
	}
	pool_free(p);
	assert_true(ended[0] == 20 && ended[1] == 20 && ended[2] == 20);
}

static void idle(void **state)
{
	struct pool *p = pool_new(3, 1);
	pool_wait(p);
	pool_free(p);
}

struct result {
	struct err_record record;
	int term_blocked;
};

static void failing(void *arg)
{
	struct result *r = arg;
	sigset_t mask;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	r->term_blocked = sigismember(&mask, SIGTERM);
	ERR(E_DATA, NULL, "sample %d is broken", 3);
	err_take(&r->record);
	ERR(E_DATA, NULL, "nobody takes this one");
}

static void records_travel(void **state)
{
	struct pool *p = pool_new(1, 4);
	struct result r;
	sigset_t mask;
	pool_add(p, failing, &r);
	pool_free(p);
	assert_int_equal(err_count(), 0);
	err_give(&r.record);
	assert_int_equal(err_count(), 1);
	assert_string_equal(err_get(0)->text, "sample 3 is broken");
	err_clear();
	assert_int_equal(r.term_blocked, 1);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(sigismember(&mask, SIGTERM), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_job_runs_once), cmocka_unit_test(woken),
		cmocka_unit_test(offers),
		cmocka_unit_test(idle),
		cmocka_unit_test(records_travel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
