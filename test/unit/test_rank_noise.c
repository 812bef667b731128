/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plan/time/rank_noise.h: the expected largest of n normal draws against published tables (Harter
 * 1961), and quantiles that are the distribution's own. */
#include <math.h>

#include "cases.h"
#include "plan/time/rank_noise.h"

static void near(double a, double b, double most)
{
	if (!(fabs(a - b) <= most))
		fail_msg("%.12g instead of %.12g", a, b);
}

static void tables(void **state)
{
	static const double known[][2] = { { 1, 0 }, { 2, 0.56419 }, { 3, 0.84628 }, { 10, 1.53875 },
		{ 100, 2.50759 }, { 400, 2.96818 } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		near(rank_noise_largest(known[i][0]), known[i][1], 1e-5);
}

static void grows(void **state)
{
	for (double n = 1; n < 1e9; n *= 2) {
		assert_true(rank_noise_largest(2 * n) > rank_noise_largest(n));
		assert_true(rank_noise_quantile(n, 0.05) < rank_noise_largest(n));
		assert_true(rank_noise_quantile(n, 0.95) > rank_noise_largest(n));
	}
}

static void quantiles(void **state)
{
	near(rank_noise_quantile(1, 0.5), 0, 1e-9);
	near(rank_noise_quantile(1, 0.95), 1.6448536, 1e-6);
	/* The largest of n is below x with the n-th power of one draw's probability. */
	near(rank_noise_quantile(10, pow(0.95, 10)), 1.6448536, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables), cmocka_unit_test(grows), cmocka_unit_test(quantiles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
