/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recording spans from several threads, and what has no room. */
#include <pthread.h>

#include "cases.h"
#include "base/io.h"
#include "base/trace.h"

static void off_is_nothing(void **state)
{
	int64_t lost;
	trace_free();
	assert_false(trace_on());
	trace_mark(TRACE_RUN, "nothing", 1);
	assert_int_equal(trace_count(&lost), 0);
	assert_int_equal(lost, 0);
}

#define THREADS 4
#define EACH 1000

static void *record(void *arg)
{
	for (int i = 0; i < EACH; i++)
		trace_add(&(struct trace_span){ .lane = TRACE_DATA, .name = "work", .number = i,
			.of = "turn", .start = 1, .end = 2 });
	return NULL;
}

static void several_threads(void **state)
{
	pthread_t t[THREADS];
	int seen[64] = { 0 }, threads = 0;
	int64_t lost;
	assert_int_equal(trace_start(THREADS * EACH + 1), 0);
	trace_step(7);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, record, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	trace_mark(TRACE_RUN, "end", 3);
	trace_stop();
	trace_mark(TRACE_RUN, "too late", 3);
	assert_int_equal(trace_count(&lost), THREADS * EACH + 1);
	assert_int_equal(lost, 0);
	for (int64_t i = 0; i < THREADS * EACH; i++) {
		const struct trace_span *s = trace_at(i);
		assert_non_null(s);
		assert_int_equal(s->step, 7);
		assert_true(s->thread >= 0 && s->thread < 64);
		assert_int_equal(s->number, seen[s->thread]++);        /* in the order of its thread */
	}
	for (int i = 0; i < 64; i++)
		threads += seen[i] == EACH;
	assert_int_equal(threads, THREADS);
	assert_string_equal(trace_at(THREADS * EACH)->name, "end");
	assert_true(trace_at(THREADS * EACH)->end > 3);
	trace_free();
}

static void no_room(void **state)
{
	int64_t lost;
	assert_int_equal(trace_start(3), 0);
	for (int i = 0; i < 10; i++)
		trace_mark(TRACE_COMPUTE, "x", io_seconds());
	trace_stop();
	assert_int_equal(trace_count(&lost), 3);
	assert_int_equal(lost, 7);
	assert_int_equal(trace_at(0)->step, -1);
	trace_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_is_nothing), cmocka_unit_test(several_threads),
		cmocka_unit_test(no_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
