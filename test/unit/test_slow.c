/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Why a run is slow, from given evidence: each reason, none, and those where another is known. */
#include <math.h>

#include "cases.h"
#include "train/diagnose/slow.h"

#define BIT(reason) (1u << (reason))

/* A hundred seconds on two processors, of which nothing was lost. */
static struct slow_evidence calm(void)
{
	return (struct slow_evidence){ .seconds = 100, .sustained = 10, .best = 30, .data = 1,
		.ranks = 0, .between = 2, .threads = 2, .decode_threads = 2, .processors = 2,
		.host = { .cpu_seconds = 190, .queued_seconds = 3, .involuntary = 400, .periods = 0,
			.throttled_periods = 0, .throttled_seconds = 0, .load = 2.1 } };
}

static void test_rates(void **state)
{
	struct slow_evidence e = calm();
	assert_true(slow_is(&e));
	e.best = 20;
	assert_false(slow_is(&e));       /* half is not less than half */
	e.best = 0;
	assert_false(slow_is(&e));       /* not known */
	e = calm();
	e.seconds = 0;
	assert_false(slow_is(&e));
	e.best = NAN;
	assert_false(slow_is(&e));
}

static void test_one_reason(void **state)
{
	struct slow_evidence e = calm();
	assert_int_equal(slow_reasons(&e), 0);
	e.data = 40;
	assert_int_equal(slow_reasons(&e), BIT(SLOW_DATA));
	e = calm();
	e.ranks = 26;
	assert_int_equal(slow_reasons(&e), BIT(SLOW_RANKS));
	e = calm();
	e.between = 60;
	assert_int_equal(slow_reasons(&e), BIT(SLOW_BETWEEN));
	e = calm();
	e.host.queued_seconds = 100;     /* of 290 that were wanted */
	assert_int_equal(slow_reasons(&e), BIT(SLOW_OTHERS));
	e.threads = 4;
	assert_int_equal(slow_reasons(&e), BIT(SLOW_THREADS));
	e.gpu = true;
	assert_int_equal(slow_reasons(&e), BIT(SLOW_OTHERS));
	e.data = 30;
	assert_int_equal(slow_reasons(&e), BIT(SLOW_OTHERS) | BIT(SLOW_DATA));
}

/* Threads of a group that is stopped are ready without a processor, too. */
static void test_throttled(void **state)
{
	struct slow_evidence e = calm();
	e.host.queued_seconds = 300;
	e.host.periods = 1000;
	e.host.throttled_periods = 600;
	e.host.throttled_seconds = 40;
	assert_int_equal(slow_reasons(&e), BIT(SLOW_THROTTLED));
	e.host.periods = e.host.throttled_periods = NAN;
	assert_int_equal(slow_reasons(&e), BIT(SLOW_THROTTLED));
	e.host.throttled_seconds = 1;
	assert_int_equal(slow_reasons(&e), BIT(SLOW_OTHERS));
	e = calm();
	e.host.periods = 1000;           /* a quota that is all but never reached */
	e.host.throttled_periods = 5;
	e.host.throttled_seconds = 0.1;
	assert_int_equal(slow_reasons(&e), 0);
}

/* Without a count of the time in the queue. */
static void test_interrupted(void **state)
{
	struct slow_evidence e = calm();
	e.host.queued_seconds = NAN;
	assert_int_equal(slow_reasons(&e), 0);
	e.host.involuntary = 30000;      /* 158 a second, by the run's own decode threads perhaps */
	assert_int_equal(slow_reasons(&e), 0);
	e.host.load = 7;
	assert_int_equal(slow_reasons(&e), BIT(SLOW_OTHERS));
	e.host.load = NAN;
	assert_int_equal(slow_reasons(&e), 0);
	e.host = (struct host_load){ NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	assert_int_equal(slow_reasons(&e), 0);
}

static void says(const struct slow_evidence *e, enum slow_reason reason, const char *what)
{
	struct buf b = BUF_INIT;
	slow_text(e, reason, &b);
	if (!strstr(b.data, what))
		fail_msg("'%s' does not say: %s", b.data, what);
	assert_null(strchr(b.data, '\n'));
	assert_null(strstr(b.data, "nan"));
	buf_release(&b);
}

static void test_texts(void **state)
{
	struct slow_evidence e = calm();
	e.data = 40;
	e.host.queued_seconds = 190;
	e.host.periods = 1000;
	e.host.throttled_periods = 600;
	says(&e, SLOW_DATA, "for 40 % of the time");
	says(&e, SLOW_DATA, "data.threads");
	says(&e, SLOW_THROTTLED, "stopped 600 times (throttled), in 60 % of the periods");
	says(&e, SLOW_OTHERS, "no processor for 50 % of the time");
	says(&e, SLOW_OTHERS, "OMP_NUM_THREADS=1");
	e.threads = 1;
	e.host.load = NAN;
	says(&e, SLOW_OTHERS, "--cpus-per-task)");
	e.threads = 8;
	says(&e, SLOW_THREADS, "8 on 2 processors; set OMP_NUM_THREADS=2");
	says(&e, SLOW_RANKS, "for 0 % of the time");
	says(&e, SLOW_BETWEEN, "2 %");
}

static void test_json(void **state)
{
	struct slow_evidence e = calm();
	struct buf b = BUF_INIT;
	e.host.load = NAN;
	slow_json(&e, BIT(SLOW_DATA) | BIT(SLOW_OTHERS), &b);
	assert_non_null(strstr(b.data, ", \"reasons\": [\"other_processes\", \"data\"], "));
	assert_non_null(strstr(b.data, "\"cpu_seconds\": 190, \"queued_seconds\": 3, "));
	assert_non_null(strstr(b.data, "\"load\": null, \"threads\": 2, "));
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_one_reason),
		cmocka_unit_test(test_throttled),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
