/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics of realizations: against what NumPy (mean, std, quantile, linalg.norm) and SciPy
 * (ks_2samp) give for the same arrays. */
#include <math.h>

#include "cases.h"
#include "base/ensemble.h"

static void close_to(double v, double expected)
{
	assert_true(fabs(v - expected) <= 1e-12 * (1 + fabs(expected)));
}

static void all_close(const double *v, const double *expected)
{
	for (int i = 0; i < 3; i++)
		close_to(v[i], expected[i]);
}

/* (7, 3) and (9, 3); the second place of b does not vary. */
static void make(struct ensemble *a, struct ensemble *b)
{
	double v[27];
	for (int r = 0; r < 7; r++)
		for (int i = 0; i < 3; i++)
			v[3 * r + i] = (37 * r * r + 11 * i * r + 5 * i + 3) % 23 / 4.0;
	ensemble_init(a, v, 7, 3);
	for (int r = 0; r < 9; r++)
		for (int i = 0; i < 3; i++)
			v[3 * r + i] = i == 1 ? 1.5 : (29 * r * r + 17 * i * r + 2 * i + 1) % 19 / 4.0;
	ensemble_init(b, v, 9, 3);
}

static void test_moments(void **state)
{
	struct ensemble a, b;
	make(&a, &b);
	all_close(a.mean, (double[]){ 2.7142857142857144, 2.357142857142857, 2.8214285714285716 });
	all_close(a.deviation,
	          (double[]){ 1.6444092047459054, 1.7921313271849113, 1.8210783977117089 });
	all_close(a.low, (double[]){ 0.4, 0.22500000000000003, 0.75 });
	all_close(a.high, (double[]){ 4.7749999999999995, 5.124999999999999, 5.25 });
	all_close(b.mean, (double[]){ 2.0277777777777777, 1.5, 2.7222222222222223 });
	all_close(b.deviation, (double[]){ 1.4740554623801778, 0, 1.2552359475216672 });
	all_close(b.low, (double[]){ 0.1, 1.5, 1.25 });
	all_close(b.high, (double[]){ 3.9, 1.5, 4.5 });
	close_to(ensemble_relative_l2(a.mean, b.mean, 3), 0.29711993503742445);
	close_to(ensemble_relative_l2(a.deviation, b.deviation, 3), 0.9746655874476509);
	ensemble_release(&a);
	ensemble_release(&b);
}

static void test_ks(void **state)
{
	static const double ties[] = { 1, 2, 2, 3 }, more[] = { 2, 2, 4 }, above[] = { 3, 4, 5 };
	struct ensemble a, b;
	make(&a, &b);
	close_to(ensemble_ks(a.sorted, 7, b.sorted, 9), 0.2857142857142857);
	close_to(ensemble_ks(a.sorted + 7, 7, b.sorted + 9, 9), 0.5714285714285714);
	close_to(ensemble_ks(a.sorted + 14, 7, b.sorted + 18, 9), 0.2857142857142857);
	close_to(ensemble_ks(ties, 4, more, 3), 1 / 3.0);
	close_to(ensemble_ks(ties, 2, above, 3), 1);
	close_to(ensemble_ks(ties, 4, ties, 4), 0);
	/* Where the reference does not vary is left out; the other way round it counts. */
	close_to(ensemble_worst_ks(&a, &b), 0.2857142857142857);
	close_to(ensemble_worst_ks(&b, &a), 0.5714285714285714);
	a.mean[2] = NAN;
	assert_true(isnan(ensemble_worst_ks(&a, &b)));
	ensemble_release(&a);
	ensemble_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_ks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
