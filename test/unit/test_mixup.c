/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The distribution of the shares of blended samples, and that all samples are partners. */
#include <math.h>

#include "cases.h"
#include "data/mixup.h"

#define DRAWS 20000

static void close_to(double got, double expected, double tolerance)
{
	if (!(fabs(got - expected) <= tolerance))
		fail_msg("%.9g instead of %.9g", got, expected);
}

/* Beta(a, a) has mean 1/2, variance 1 / (4 (2 a + 1)) and fourth central moment
 * 3 / (16 (2 a + 1) (2 a + 3)). */
static void test_shares(void **state)
{
	static const double alpha[] = { 0.001, 0.2, 1, 4 };
	for (int k = 0; k < 4; k++) {
		const struct mixup_config c = { alpha[k] };
		double sum = 0, second = 0, fourth = 0;

		assert_true(mixup_wanted(&c));
		for (int i = 0; i < DRAWS; i++) {
			const double s = mixup_share(&c, 3, i % 7, i), d = s - 0.5;

			assert_true(s >= 0 && s <= 1);
			assert_true(s == mixup_share(&c, 3, i % 7, i));
			sum += d;
			second += d * d;
			fourth += d * d * d * d;
		}
		close_to(sum / DRAWS, 0, 0.015);
		close_to(second / DRAWS, 1 / (4 * (2 * alpha[k] + 1)), 0.004);
		close_to(fourth / DRAWS, 3 / (16 * (2 * alpha[k] + 1) * (2 * alpha[k] + 3)), 0.002);
	}
	assert_false(mixup_wanted(&(struct mixup_config){ NAN }));
}

static void test_partners(void **state)
{
	int seen[5] = { 0 };
	for (int i = 0; i < 1000; i++) {
		const int64_t p = mixup_partner(3, i / 5, i % 5, 5);

		assert_true(p >= 0 && p < 5);
		seen[p]++;
	}
	for (int k = 0; k < 5; k++)
		assert_true(seen[k] > 150 && seen[k] < 250);
}

static void test_blend(void **state)
{
	float x[] = { 1, 2, -4 }, y[] = { 3, 0, 8 };
	mixup_blend(x, y, 3, 0.25);
	close_to((double)x[0], 2.5, 0);
	close_to((double)x[1], 0.5, 0);
	close_to((double)x[2], 5, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_partners),
		cmocka_unit_test(test_blend),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
