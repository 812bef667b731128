/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How loss scales change, step by step, against numbers worked out by hand: the state is (scale,
 * clean, skipped, count, mean, slow, square, -). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op_case.h"

static const char *const devices[] = { "reference", "cpu" };

struct after {
	double scale, skipped, apply;
};

/* A step with the largest gradient `most`; state is changed. */
static struct after step(const char *device, const char *attr, double *state, double most)
{
	struct op_run r;
	char text[256];
	struct after a;
	snprintf(text, sizeof text, "8@ s; %s", attr);
	op_run_init(&r, device, "loss_scale_update", text, false);
	op_run_set(&r, 0, state);
	op_run_set(&r, 1, &most);
	assert_int_equal(op_run_go(&r), 0);
	memcpy(state, op_run_out(&r, 0), 8 * sizeof *state);
	a = (struct after){ state[0], state[2], *op_run_out(&r, 1) };
	op_run_release(&r);
	return a;
}

static void test_dynamic(void **unused)
{
	static const struct {
		double most;
		struct after want;
	} c[] = {
		{ 1, { 1024, 0, 1 } },        { 5, { 1024, 0, 1 } },     { INFINITY, { 512, 1, 0 } },
		/* three clean */
		{ 1, { 512, 1, 1 } },         { 1, { 512, 1, 1 } },      { 0, { 1024, 1, 1 } },
		/* the least */
		{ NAN, { 512, 2, 0 } },       { INFINITY, { 256, 3, 0 } }, { INFINITY, { 256, 4, 0 } },
		{ 1, { 256, 4, 1 } },
	};

	for (int d = 0; d < 2; d++) {
		double state[8] = { 0 };
		for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
			struct after a = step(devices[d], "every: 3, start: 1024, least: 256, most: 1024",
			                      state, c[i].most);
			assert_true(a.scale == c[i].want.scale && a.skipped == c[i].want.skipped &&
			            a.apply == c[i].want.apply);
		}
	}
}

static void test_fixed(void **unused)
{
	double state[8] = { 0 };
	struct after a = step("cpu", "mode: fixed, start: 8", state, INFINITY);
	assert_true(a.scale == 8 && a.skipped == 1 && a.apply == 0);
	a = step("cpu", "mode: fixed, start: 8", state, 3);
	assert_true(a.scale == 8 && a.skipped == 1 && a.apply == 1);
}

/* Gradients of 2^-4 at a scale of 1: mean -4, deviation 0, scale 2^20. Then 2^-2, at that scale
 * 2^18: the means, corrected, are (-4 * 0.99 - 2) / 1.99 = -2.99497 and with 0.999 -2.9995 and
 * 9.9970 of the squares; the deviation is 1.0000 and 16 + 2.995 - 3.09 rounds down to 15. */
static void test_logmax(void **unused)
{
	for (int d = 0; d < 2; d++) {
		double state[8] = { 0 };
		struct after a = step(devices[d], "mode: logmax, start: 1", state, 0.0625);
		assert_true(a.scale == 0x1p20 && a.apply == 1);
		a = step(devices[d], "mode: logmax, start: 1", state, 0x1p18);
		assert_true(a.scale == 0x1p15 && a.apply == 1);
		a = step(devices[d], "mode: logmax, start: 1", state, 0);     /* says nothing */
		assert_true(a.scale == 0x1p15 && state[3] == 2);
	}
}

/* After an overflow the original stood at 1 for eleven thousand steps. */
static void test_logmax_forgets(void **unused)
{
	double state[8] = { 0 };
	struct after a = { 0 };
	for (int i = 0; i < 200; i++)
		a = step("cpu", "mode: logmax, start: 1", state, 0.25 * (a.scale > 0 ? a.scale : 1));
	assert_true(a.scale == 0x1p18);
	a = step("cpu", "mode: logmax, start: 1", state, INFINITY);
	assert_true(a.apply == 0 && a.skipped == 1 && a.scale >= 0x1p12 && a.scale < 0x1p18);
}

static void test_max_abs(void **unused)
{
	static const struct {
		double v[3], want;
	} c[] = { { { 1, -3, 2 }, 3 }, { { 0, 0, 0 }, 0 }, { { -INFINITY, 1, 2 }, INFINITY },
		{ { 1, NAN, INFINITY }, NAN } };

	for (int d = 0; d < 2; d++)
		for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
			struct op_run r;
			double y;
			op_run_init(&r, devices[d], "max_abs", "s 3", false);
			op_run_set(&r, 0, (double[]){ 0 });
			op_run_set(&r, 1, c[i].v);
			assert_int_equal(op_run_go(&r), 0);
			y = *op_run_out(&r, 0);
			assert_true(isnan(c[i].want) ? isnan(y) : y == c[i].want);
			op_run_release(&r);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dynamic),       cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_logmax), cmocka_unit_test(test_logmax_forgets),
		cmocka_unit_test(test_max_abs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
