/* SPDX-License-Identifier: BSD-3-Clause
 *
 * op/dropout.c: how many elements are dropped, the same ones on every device and in every layout,
 * and by the sample's place in the step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "op/lib/elementwise.h"
#include "op/lib/random.h"
#include "op_run.h"

static tid input(struct graph *g, const char *name, int nd, const int64_t *d)
{
	struct shape s = shape_of(nd, d);
	tid t;
	assert_int_equal(graph_input(g, name, DTYPE_F32, &s, &t), 0);
	return t;
}

static void check_close(const double *got, const double *want, int n, double tol)
{
	for (int i = 0; i < n; i++)
		if (!(fabs(got[i] - want[i]) <= tol * fmax(1, fabs(want[i]))))
			fail_msg("element %d: %.17g, expected %.17g", i, got[i], want[i]);
}

/* first: place of the batch's first sample in the step. */
static void dropout_at(enum backend b, bool native, struct shape s, double rate, int64_t step,
                       int64_t first, const double *x, double *y)
{
	struct graph *g = graph_new();
	struct dropout_attr at = { .rate = rate, .stream = 42 };
	double key[3] = { 7, (double)step, (double)first };
	struct op_run r;
	tid in[2], out;
	in[0] = input(g, "x", s.nd, s.d);
	assert_int_equal(random_key(g, &in[1]), 0);
	assert_int_equal(graph_emit1(g, "dropout", &at, 2, in, &out), 0);
	op_run_init(&r, g, b, native);
	op_run_set(&r, in[0], x);
	op_run_set(&r, in[1], key);
	op_run_all(&r);
	if (native)
		assert_true(layout_is_native(&graph_t(g, out)->layout, &s));
	op_run_get(&r, out, y);
	op_run_release(&r);
	graph_free(g);
}

static void dropout(enum backend b, bool native, struct shape s, double rate, int64_t step,
                    const double *x, double *y)
{
	dropout_at(b, native, s, rate, step, 0, x, y);
}

#define DROP_COUNT (2 * 37 * 19 * 23)

static void test_dropout(void **unused)
{
	static const double rates[] = { 0, 0.1, 0.5, 0.9 };
	static double x[DROP_COUNT], y[DROP_COUNT], z[DROP_COUNT];
	const struct shape s = shape_of(4, (int64_t[]){ 2, 37, 19, 23 });
	for (int i = 0; i < DROP_COUNT; i++)
		x[i] = 1;
	for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
		double p = rates[k], kept = 0, spread = sqrt(p * (1 - p) * DROP_COUNT);
		dropout(BACKEND_REFERENCE, false, s, p, 1, x, y);
		for (int i = 0; i < DROP_COUNT; i++) {
			assert_true(y[i] == 0 || fabs(y[i] * (1 - p) - 1) < 1e-4);  /* rates are n / 2^16 */
			kept += y[i] != 0;
		}
		assert_true(fabs(kept - (1 - p) * DROP_COUNT) <= 5 * spread);
		dropout(BACKEND_CPU, false, s, p, 1, x, z);
		check_close(z, y, DROP_COUNT, 1e-6);
		dropout(BACKEND_CPU, true, s, p, 1, x, z);
		check_close(z, y, DROP_COUNT, 1e-6);
	}
	dropout(BACKEND_CPU, true, s, 0.5, 2, x, y);        /* the next step draws another mask */
	dropout(BACKEND_CPU, true, s, 0.5, 1, x, z);
	assert_true(memcmp(y, z, sizeof y) != 0);
}

/* The second of two samples draws what it draws alone, however batches are cut. */
static void test_dropout_places(void **unused)
{
	static const enum backend both[] = { BACKEND_REFERENCE, BACKEND_CPU };
	static double x[DROP_COUNT], y[DROP_COUNT], z[DROP_COUNT / 2];
	const struct shape two = shape_of(4, (int64_t[]){ 2, 37, 19, 23 }),
	                   one = shape_of(4, (int64_t[]){ 1, 37, 19, 23 });
	for (int i = 0; i < DROP_COUNT; i++)
		x[i] = 1;
	for (int b = 0; b < 2; b++)
		for (int i = 0; i < 2; i++) {
			dropout_at(both[b], b, two, 0.5, 3, 6, x, y);
			dropout_at(both[b], b, one, 0.5, 3, 6 + i, x, z);
			assert_memory_equal(z, y + i * (DROP_COUNT / 2), sizeof z);
		}
	assert_memory_not_equal(y, y + DROP_COUNT / 2, sizeof z);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dropout), cmocka_unit_test(test_dropout_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
