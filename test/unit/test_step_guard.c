/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which steps the guard leaves out, against numbers worked out by hand. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/update/step_guard.h"
#include "op_case.h"

static const char *const devices[] = { "reference", "cpu" };

#define WINDOW 4
#define STATE (GUARD_TOLD + 2 * WINDOW)

struct step {
	double loss, largest, norm;
	bool made;
	double z;                    /* of the loss; NAN: not looked at */
};

/* One step; s is the state before and after. Returns whether it is made; *step: updates before. */
static bool run(const char *device, const char *attr, double *s, const struct step *x,
                double apply, int64_t *updates)
{
	struct op_run r;
	char text[256];
	const double step = 100, squares = x->norm * x->norm / 4, scale = 2;
	snprintf(text, sizeof text, "%d@ s:index9 s s:positive s:positive s s; maxima: 1, %s", STATE,
	         attr);
	op_run_init(&r, device, "step_guard", text, false);
	op_run_set(&r, 0, s);
	op_run_set(&r, 1, &step);
	op_run_set(&r, 2, &x->loss);
	op_run_set(&r, 3, &apply);
	op_run_set(&r, 4, &scale);
	op_run_set(&r, 5, &x->largest);
	op_run_set(&r, 6, &squares);
	assert_int_equal(op_run_go(&r), 0);
	memcpy(s, op_run_out(&r, 0), STATE * sizeof *s);
	*updates = (int64_t)*op_run_out(&r, 2);
	const bool made = *op_run_out(&r, 1) != 0;
	op_run_release(&r);
	return made;
}

/* Four steps fill the window: losses 1, 3, 1, 3 have the mean 2 and the deviation 1, norms of 2, 4,
 * 2, 4 the mean 3 and the deviation 1. What is left out does not enter the window. */
static void test_outliers(void **unused)
{
	static const struct step x[] = {
		{ 1, 1, 2, true, 0 }, { 3, 1, 4, true, 0 }, { 1, 1, 2, true, 0 }, { 3, 1, 4, true, 0 },
		{ 5.5, 1, 3, false, 3.5 }, { 2, 1, 6.5, false, 0 }, { 4.5, 1, 3, true, 2.5 },
		/* now 4.5, 3, 1, 3: mean 2.875, deviation 1.2437 */
		{ 6, 1, 3, true, 2.5126 }, { -90, 1, 3, true, NAN }
	};
	static const double outliers[] = { 0, 0, 0, 0, 1, 2, 2, 2, 2 };
	for (int d = 0; d < 2; d++) {
		double s[STATE] = { 0 };
		for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
			int64_t updates;
			const double before = s[GUARD_OUTLIERS];
			assert_int_equal(run(devices[d], "loss: 3, gradient: 3", s, &x[i], 1, &updates),
			                 x[i].made);
			assert_int_equal(updates, 100 - (int64_t)before);
			assert_true(s[GUARD_OUTLIERS] == outliers[i]);
			assert_true(isnan(x[i].z) || fabs(s[GUARD_LOSS_Z] - x[i].z) < 1e-3);
			assert_true(fabs(s[GUARD_NORM] - x[i].norm) < 1e-6);
			assert_true(s[GUARD_IN_A_ROW] == (x[i].made ? 0 : i == 5 ? 2 : 1));
		}
		assert_true(s[GUARD_FILLED] == WINDOW && s[GUARD_NONFINITE] == 0);
	}
}

static void test_not_finite(void **unused)
{
	static const struct step x[] = {
		{ 1, 1, 1, true, 0 }, { NAN, 1, 1, false, 0 }, { -INFINITY, 1, 1, false, 0 },
		{ 1, NAN, 1, false, 0 }, { 1, INFINITY, 1, false, 0 }, { 2, 1e30, 1, true, 0 }
	};
	for (int d = 0; d < 2; d++) {
		double s[STATE] = { 0 }, stop[STATE] = { 0 };
		int64_t updates;
		for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
			assert_int_equal(run(devices[d], "finite: true", s, &x[i], 1, &updates), x[i].made);
			assert_true(run(devices[d], "loss: 3", stop, &x[i], 1, &updates));
		}
		assert_true(s[GUARD_NONFINITE] == 4 && s[GUARD_FILLED] == 2);
		assert_true(stop[GUARD_NONFINITE] == 0 && stop[GUARD_FILLED] == 4);
	}
}

/* Loss scaling has left it out: nothing changes. */
static void test_left_out_elsewhere(void **unused)
{
	static const struct step x = { NAN, NAN, 1, false, 0 };
	for (int d = 0; d < 2; d++) {
		double s[STATE], before[STATE];
		int64_t updates;
		for (int i = 0; i < STATE; i++)
			before[i] = s[i] = i % 3;
		assert_false(run(devices[d], "finite: true", s, &x, 0, &updates));
		assert_memory_equal(s, before, sizeof s);
	}
}

/* A state that no run has written, as a file may hold: within bounds all the same. */
static void test_damaged_state(void **unused)
{
	static const double bad[] = { NAN, INFINITY, -INFINITY, -1, 1e30, 4.5 };
	static const struct step x = { 1, 1, 1, true, 0 };
	for (int d = 0; d < 2; d++)
		for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
			double s[STATE] = { 0 };
			int64_t updates;
			s[GUARD_FILLED] = s[GUARD_NEXT] = bad[i];
			assert_true(run(devices[d], "finite: true", s, &x, 1, &updates));
			assert_true(s[GUARD_FILLED] >= 1 && s[GUARD_FILLED] <= WINDOW);
			assert_true(s[GUARD_NEXT] >= 0 && s[GUARD_NEXT] < WINDOW);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outliers),
		cmocka_unit_test(test_not_finite),
		cmocka_unit_test(test_left_out_elsewhere),
		cmocka_unit_test(test_damaged_state),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
