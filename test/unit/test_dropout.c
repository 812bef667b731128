/* SPDX-License-Identifier: BSD-3-Clause
 *
 * op/dropout.c: how many elements are dropped, the same ones on every device and in every layout,
 * and by the sample's place in the step. op/noise.c: distribution, streams, and rows by their place
 * in the step. */
#include <math.h>

#include "cases.h"
#include "op/lib/elementwise.h"
#include "op/lib/random.h"
#include "op/noise.h"
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

/* --- noise --- */

/* first: place of the first row in the step. */
static void noise(enum backend b, enum noise_kind kind, int64_t rows, int64_t columns,
                  int64_t stream, int64_t step, int64_t first, double *y)
{
	const struct shape s = { 2, { rows, columns } };
	const double key[3] = { 7, (double)step, (double)first };
	struct graph *g = graph_new();
	struct op_run r;
	tid out;
	assert_int_equal(noise_emit(g, kind, &s, stream, &out), 0);
	op_run_init(&r, g, b, false);
	op_run_set(&r, graph_find(g, RANDOM_KEY), key);
	op_run_all(&r);
	op_run_get(&r, out, y);
	op_run_release(&r);
	graph_free(g);
}

#define ROWS 400
#define COLUMNS 125
#define NUMBERS (ROWS * COLUMNS)

static double mean_of(const double *x, const double *y, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += x[i] * y[i];
	return sum / n;
}

/* The first four moments, to five times their spread; that neighbours, streams and steps do not
 * correlate. */
static void check_numbers(enum backend b, enum noise_kind kind)
{
	static double ones[NUMBERS], x[NUMBERS], y[NUMBERS], z[NUMBERS], square[NUMBERS];
	const bool normal = kind == NOISE_NORMAL;
	const double expected[4] = { normal ? 0 : 0.5, normal ? 1 : 1 / 3.0, normal ? 0 : 0.25,
		normal ? 3 : 0.2 };
	/* of x, x^2, x^3 and x^4 */
	const double deviation[4] = { normal ? 1 : 0.29, normal ? sqrt(2) : 0.3,
		normal ? sqrt(15) : 0.29, normal ? sqrt(96) : 0.27 };
	const double most = 5 / sqrt(NUMBERS), mean = expected[0] * expected[0];
	noise(b, kind, ROWS, COLUMNS, 1, 1, 0, x);
	noise(b, kind, ROWS, COLUMNS, 2, 1, 0, y);
	noise(b, kind, ROWS, COLUMNS, 1, 2, 0, z);
	for (int i = 0; i < NUMBERS; i++) {
		ones[i] = 1;
		square[i] = x[i] * x[i];
		assert_true(normal || (x[i] >= 0 && x[i] < 1));
	}
	const double moment[4] = { mean_of(x, ones, NUMBERS), mean_of(x, x, NUMBERS),
		mean_of(square, x, NUMBERS), mean_of(square, square, NUMBERS) };
	for (int k = 0; k < 4; k++)
		if (!(fabs(moment[k] - expected[k]) <= most * deviation[k]))
			fail_msg("moment %d is %g, expected %g", k + 1, moment[k], expected[k]);
	assert_true(fabs(mean_of(x, y, NUMBERS) - mean) <= most);
	assert_true(fabs(mean_of(x, z, NUMBERS) - mean) <= most);
	assert_true(fabs(mean_of(x, x + 1, NUMBERS - 1) - mean) <= most);
	assert_true(fabs(mean_of(x, x + COLUMNS, NUMBERS - COLUMNS) - mean) <= most);
}

/* A rank has the rows that one rank alone has there, the numbers of the reference, rounded. */
static void check_rows(enum noise_kind kind, int64_t columns)
{
	static double all[ROWS * COLUMNS], part[ROWS * COLUMNS], exact[ROWS * COLUMNS];
	noise(BACKEND_REFERENCE, kind, ROWS, columns, 3, 4, 0, exact);
	noise(BACKEND_CPU, kind, ROWS, columns, 3, 4, 0, all);
	for (int64_t i = 0; i < ROWS * columns; i++)
		assert_true(all[i] == (double)(float)exact[i]);
	for (int64_t first = 0; first < ROWS; first += 100 - first % 3) {
		const int64_t rows = ROWS - first < 51 ? ROWS - first : 51;
		noise(BACKEND_CPU, kind, rows, columns, 3, 4, first, part);
		assert_memory_equal(part, all + first * columns,
		                    (size_t)(rows * columns) * sizeof *part);
	}
}

static void test_noise(void **unused)
{
	for (int kind = 0; kind < 2; kind++) {
		check_numbers(BACKEND_REFERENCE, (enum noise_kind)kind);
		check_numbers(BACKEND_CPU, (enum noise_kind)kind);
		for (int64_t columns = 1; columns < 6; columns++)
			check_rows((enum noise_kind)kind, columns);
		check_rows((enum noise_kind)kind, COLUMNS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dropout), cmocka_unit_test(test_dropout_places),
		cmocka_unit_test(test_noise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
