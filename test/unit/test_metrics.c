/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics by hand-computed confusion matrices and sums, pooled over batches; what metrics_new
 * refuses; what metrics_emit puts into a graph. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "optim/optim.h"

static struct metrics *make(bool labels, int64_t classes, int n, const char *const *names)
{
	struct strings s = { n, names, NULL };
	struct metrics *m;
	assert_int_equal(metrics_new(&m, &s, labels ? TARGET_LABELS : TARGET_VALUES, classes), 0);
	return m;
}

static void close_to(double a, double b)
{
	if (!(fabs(a - b) < 1e-12))
		fail_msg("%.17g, expected %.17g", a, b);
}

static void test_labels(void **state)
{
	static const char *const names[] = { "mean_iou", "accuracy", "iou" };
	/* Row = label. Class 2 is never labelled nor predicted. */
	static const double first[9] = { 3, 1, 0, 0, 2, 0, 0, 0, 0 };
	static const double second[9] = { 1, 0, 0, 2, 1, 0, 0, 0, 0 };
	struct metrics *m = make(true, 3, 3, names);
	const double *batch = first;
	int n;
	metrics_add(m, &batch);
	batch = second;
	metrics_add(m, &batch);
	const struct metric_value *v = metrics_values(m, &n);
	/* Pooled: [4 1 0; 2 3 0; 0 0 0]. The mean of the batches' values would be another number. */
	assert_int_equal(n, 3);
	assert_string_equal(v[0].name, "mean_iou");
	assert_int_equal(v[0].n, 1);
	assert_true(v[0].larger_is_better);
	close_to(v[0].v[0], (4.0 / 7 + 3.0 / 6) / 2);
	close_to(v[1].v[0], 7.0 / 10);
	assert_int_equal(v[2].n, 3);
	close_to(v[2].v[0], 4.0 / 7);
	close_to(v[2].v[1], 3.0 / 6);
	assert_true(isnan(v[2].v[2]));
	metrics_reset(m);
	v = metrics_values(m, &n);
	assert_true(isnan(v[0].v[0]) && isnan(v[1].v[0]) && isnan(v[2].v[0]));
	metrics_free(m);
}

/* A class that is predicted but never labelled has an IoU of 0, not an undefined one. */
static void test_false_class(void **state)
{
	static const char *const names[] = { "iou", "mean_iou" };
	static const double count[4] = { 5, 5, 0, 0 };
	const double *batch = count;
	struct metrics *m = make(true, 2, 2, names);
	int n;
	metrics_add(m, &batch);
	const struct metric_value *v = metrics_values(m, &n);
	close_to(v[0].v[0], 0.5);
	close_to(v[0].v[1], 0);
	close_to(v[1].v[0], 0.25);
	metrics_free(m);
}

/* Sums over samples and how many; a matrix, where both kinds are asked for, comes first. */
static void test_per_sample(void **state)
{
	static const char *const names[] = { "mean_iou_per_sample", "accuracy" };
	static const double matrix[4] = { 1, 0, 0, 3 }, a[2] = { 1.5, 2 }, b[2] = { 0.25, 1 };
	struct metrics *m = make(true, 2, 2, names);
	int n;
	metrics_add(m, (const double *const[]){ matrix, a });
	metrics_add(m, (const double *const[]){ matrix, b });
	const struct metric_value *v = metrics_values(m, &n);
	assert_int_equal(n, 2);
	assert_string_equal(v[0].name, "mean_iou_per_sample");
	close_to(v[0].v[0], 1.75 / 3);
	assert_true(v[0].larger_is_better);
	close_to(v[1].v[0], 1);
	metrics_free(m);
}

/* Values arrive as absolute, then square, in whatever order the metrics were named. */
static void test_errors_of_fields(void **state)
{
	static const char *const names[] = { "mse", "mae" };
	static const double a[2][2] = { { 6, 4 }, { 10, 4 } }, b[2][2] = { { 2, 12 }, { 22, 12 } };
	struct metrics *m = make(false, 1, 2, names);
	int n;
	metrics_add(m, (const double *const[]){ a[0], a[1] });
	metrics_add(m, (const double *const[]){ b[0], b[1] });
	const struct metric_value *v = metrics_values(m, &n);
	assert_string_equal(v[0].name, "mse");
	close_to(v[0].v[0], 2);
	close_to(v[1].v[0], 0.5);
	assert_false(v[1].larger_is_better);
	metrics_free(m);
}

static void refused(bool labels, int n, const char *const *names, const char *message)
{
	struct strings s = { n, names, NULL };
	struct metrics *m;
	err_clear();
	assert_int_equal(metrics_new(&m, &s, labels ? TARGET_LABELS : TARGET_VALUES, 4), E_CONFIG);
	assert_non_null(strstr(err_get(0)->text, message));
	err_clear();
}

static void test_refused(void **state)
{
	refused(true, 1, (const char *const[]){ "mean_iuo" }, "did you mean 'mean_iou'");
	refused(true, 1, (const char *const[]){ "mae" }, "needs a field");
	refused(false, 1, (const char *const[]){ "accuracy" }, "needs class labels");
	refused(false, 1, (const char *const[]){ "mean_iou_per_sample" }, "needs class labels");
	refused(true, 2, (const char *const[]){ "iou", "iou" }, "twice");
}

static void test_emit(void **state)
{
	static const char *const names[] = { "iou", "accuracy" };
	struct metrics *m = make(true, 4, 2, names);
	struct graph *g = graph_new();
	struct shape x = { 4, { 2, 4, 6, 5 } }, y = { 3, { 2, 6, 5 } };
	tid logits, labels, out[4];
	int n;
	assert_int_equal(graph_input(g, "x", DTYPE_F32, &x, &logits), 0);
	assert_int_equal(graph_input(g, "y", DTYPE_I32, &y, &labels), 0);
	assert_int_equal(metrics_emit(m, g, logits, labels, 255, out, 4, &n), 0);
	assert_int_equal(n, 1); /* both come from one matrix */
	const struct tensor *t = graph_t(g, out[0]);
	assert_true(t->output && t->dtype == DTYPE_F64);
	assert_int_equal(shape_count(&t->shape), 16);
	metrics_free(m);
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_false_class),
		cmocka_unit_test(test_per_sample),
		cmocka_unit_test(test_errors_of_fields),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_emit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
