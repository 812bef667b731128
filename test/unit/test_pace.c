/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "cases.h"
#include "train/run/pace.h"

#define HOUR 3600.0

static void assert_near(double is, double want)
{
	assert_true(fabs(is - want) <= 1e-9 * want);
}

static void test_not_asked(void **state)
{
	struct pace p;
	pace_begin(&p, 0);
	pace_add(&p, 1, 2, 4);
	assert_true(p.interval == 0);
	assert_false(pace_news(&p));
}

static void test_first(void **state)
{
	struct pace p;
	pace_begin(&p, 3 * HOUR);
	assert_near(p.interval, 60);
	assert_false(pace_news(&p));       /* nothing is measured yet */
	pace_begin(&p, 100);
	assert_near(p.interval, 5);
}

/* A stall of 2 s every 3 h: a failure loses half an interval of 207.8 s in the mean. */
static void test_young(void **state)
{
	struct pace p;
	pace_begin(&p, 3 * HOUR);
	pace_add(&p, 2, 30, 0);
	assert_near(p.interval, sqrt(2 * 2 * 3 * HOUR));
	pace_begin(&p, 3 * HOUR);
	pace_add(&p, 2, 30, 10);           /* a tenth of the processor for 30 s, too */
	assert_near(p.interval, sqrt(2 * 5 * 3 * HOUR));
}

/* A save that costs nothing visible still takes its time. */
static void test_not_faster_than_a_save(void **state)
{
	struct pace p;
	pace_begin(&p, 3 * HOUR);
	pace_add(&p, 0.001, 40, 0);
	assert_near(p.interval, 40);
}

static void test_newer_saves_weigh_more(void **state)
{
	struct pace p;
	pace_begin(&p, 3 * HOUR);
	pace_add(&p, 4, 1, 0);
	assert_true(pace_news(&p));
	assert_false(pace_news(&p));
	pace_add(&p, 4.2, 1, 0);
	assert_false(pace_news(&p));       /* hardly another interval */
	for (int i = 0; i < 40; i++)
		pace_add(&p, 1, 1, 0);
	assert_true(p.cost > 1 && p.cost < 1.001);
	assert_true(pace_news(&p));
	assert_false(pace_news(&p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_asked), cmocka_unit_test(test_first),
		cmocka_unit_test(test_young), cmocka_unit_test(test_not_faster_than_a_save),
		cmocka_unit_test(test_newer_saves_weigh_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
