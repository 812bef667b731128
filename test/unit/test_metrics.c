/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics by hand-computed confusion matrices and sums, pooled over batches; what metrics_new
 * refuses; what metrics_emit puts into a graph. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "graph/dump.h"
#include "optim/optim.h"

static struct metrics *make(enum target_kind target, int64_t classes, int n,
                            const char *const *names)
{
	struct strings s = { n, names, NULL };
	struct metrics *m;
	assert_int_equal(metrics_new(&m, &s, target, classes), 0);
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
	struct metrics *m = make(TARGET_LABELS, 3, 3, names);
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
	struct metrics *m = make(TARGET_LABELS, 2, 2, names);
	int n;
	metrics_add(m, &batch);
	const struct metric_value *v = metrics_values(m, &n);
	close_to(v[0].v[0], 0.5);
	close_to(v[0].v[1], 0);
	close_to(v[1].v[0], 0.25);
	metrics_free(m);
}

/* Sums over samples and how many; a matrix, where both kinds are requested, comes first. */
static void test_per_sample(void **state)
{
	static const char *const names[] = { "mean_iou_per_sample", "accuracy" };
	static const double matrix[4] = { 1, 0, 0, 3 }, a[2] = { 1.5, 2 }, b[2] = { 0.25, 1 };
	struct metrics *m = make(TARGET_LABELS, 2, 2, names);
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

/* The first pixels of the classes of test_labels: [4 1 0; 2 3 0; 0 0 0]. */
static void test_by_class(void **state)
{
	static const char *const names[] = { "precision", "recall", "f1", "dice", "mean_precision",
		"mean_recall", "mean_f1", "mean_dice", "confusion" };
	static const double count[9] = { 4, 1, 0, 2, 3, 0, 0, 0, 0 };
	const double *batch = count;
	struct metrics *m = make(TARGET_LABELS, 3, 9, names);
	int n;
	metrics_add(m, &batch);
	const struct metric_value *v = metrics_values(m, &n);
	assert_int_equal(n, 9);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(v[i].form, METRIC_BY_CLASS);
		assert_int_equal(v[i].n, 3);
		assert_true(isnan(v[i].v[2]));
		close_to(v[i + 4].v[0], (v[i].v[0] + v[i].v[1]) / 2);
	}
	close_to(v[0].v[0], 4.0 / 6);
	close_to(v[0].v[1], 3.0 / 4);
	close_to(v[1].v[0], 4.0 / 5);
	close_to(v[1].v[1], 3.0 / 5);
	close_to(v[2].v[0], 8.0 / 11);
	close_to(v[3].v[1], 6.0 / 9);
	assert_int_equal(v[8].form, METRIC_MATRIX);
	assert_memory_equal(v[8].v, count, sizeof count);
	metrics_free(m);
}

/* A class that occurs but is never predicted (or never labelled) has 0, as scikit-learn has it. */
static void test_half_classes(void **state)
{
	static const char *const names[] = { "precision", "recall", "mean_f1" };
	static const double count[4] = { 0, 0, 3, 5 }, other[4] = { 0, 4, 0, 4 };
	const double *batch = count;
	struct metrics *m = make(TARGET_LABELS, 2, 3, names);
	int n;
	metrics_add(m, &batch);
	const struct metric_value *v = metrics_values(m, &n);
	assert_true(v[0].v[0] == 0 && v[1].v[0] == 0);
	close_to(v[2].v[0], (0 + 10.0 / 13) / 2);
	metrics_reset(m);
	batch = other;
	metrics_add(m, &batch);
	v = metrics_values(m, &n);
	assert_true(v[0].v[0] == 0 && v[1].v[0] == 0);
	metrics_free(m);
}

static void test_top(void **state)
{
	static const char *const names[] = { "top_2", "accuracy", "top_3" };
	static const double matrix[16] = { 5 }, rank[4] = { 5, 3, 1, 1 };
	struct metrics *m = make(TARGET_LABELS, 4, 3, names);
	int n;
	metrics_add(m, (const double *const[]){ matrix, rank });
	const struct metric_value *v = metrics_values(m, &n);
	assert_string_equal(v[0].name, "top_2");
	close_to(v[0].v[0], 0.8);
	close_to(v[2].v[0], 0.9);
	metrics_free(m);
	assert_true(metric_rises("top_17") && !metric_rises("top_") && !metric_rises("top_0"));
}

/* {neither, predicted, set, both} of three classes, the last of which never occurs. */
static void test_flags(void **state)
{
	static const char *const names[] = { "accuracy", "precision", "recall", "f1", "iou", "dice",
		"mean_precision", "mean_recall", "mean_f1", "mean_iou", "mean_dice" };
	static const double count[12] = { 10, 1, 2, 3, 12, 4, 0, 0, 16, 0, 0, 0 };
	const double *batch = count;
	struct metrics *m = make(TARGET_FLAGS, 3, 11, names);
	int n;
	metrics_add(m, &batch);
	const struct metric_value *v = metrics_values(m, &n);
	static const double want[5][2] = { { 0.75, 0 }, { 0.6, 0 }, { 6.0 / 9, 0 }, { 0.5, 0 },
		{ 6.0 / 9, 0 } };
	assert_int_equal(n, 11);
	close_to(v[0].v[0], 41.0 / 48);
	for (int i = 0; i < 5; i++) {
		close_to(v[i + 1].v[0], want[i][0]);
		close_to(v[i + 1].v[1], want[i][1]);
		assert_true(isnan(v[i + 1].v[2]));
		close_to(v[i + 6].v[0], want[i][0] / 2);
	}
	metrics_free(m);
}

/* A row: elements, sum |d|, sum d^2, then sums of the target t and its square in pieces. */
#define ROW(n, absolute, square, t, t2) { n, absolute, square, t, t2, 0, 0 }

static void test_errors_of_fields(void **state)
{
	static const char *const names[] = { "mse", "mae", "rmse", "r2", "mae_by_output",
		"rmse_by_output", "r2_by_output" };
	/* Targets 1, 3, 5, 7 in four batches' elements, and constant ones. */
	static const double a[2][7] = { ROW(2, 1, 2, 4, 10), ROW(2, 4, 8, 10, 50) },
	                    b[2][7] = { ROW(2, 3, 6, 12, 74), ROW(2, 2, 4, 10, 50) };
	struct metrics *m = make(TARGET_VALUES, 2, 7, names);
	int n;
	metrics_add(m, (const double *const[]){ a[0] });
	metrics_add(m, (const double *const[]){ b[0] });
	const struct metric_value *v = metrics_values(m, &n);
	assert_string_equal(v[0].name, "mse");
	close_to(v[0].v[0], 20.0 / 8);
	close_to(v[1].v[0], 10.0 / 8);
	assert_false(v[1].larger_is_better);
	close_to(v[2].v[0], sqrt(2.5));
	/* The sum of (t - 4)^2 is 20; the constant output has no part in it. */
	close_to(v[3].v[0], 1 - 8.0 / 20);
	assert_true(v[3].larger_is_better);
	assert_int_equal(v[4].form, METRIC_BY_OUTPUT);
	assert_int_equal(v[4].n, 2);
	close_to(v[4].v[0], 1);
	close_to(v[4].v[1], 1.5);
	close_to(v[5].v[1], sqrt(3));
	close_to(v[6].v[0], 1 - 8.0 / 20);
	assert_true(isnan(v[6].v[1]));
	metrics_free(m);
}

/* One output is a list of one number all the same. */
static void test_one_output(void **state)
{
	static const char *const names[] = { "mae_by_output", "r2" };
	static const double a[7] = ROW(3, 6, 14, 21, 147);
	struct metrics *m = make(TARGET_VALUES, 1, 2, names);
	int n;
	metrics_add(m, (const double *const[]){ a });
	const struct metric_value *v = metrics_values(m, &n);
	assert_int_equal(v[0].form, METRIC_BY_OUTPUT);
	assert_int_equal(v[0].n, 1);
	assert_true(isnan(v[1].v[0]));
	metrics_free(m);
}

/* Targets 2^22 + i % 4 / 2, which is all that float32 can tell apart there: the variance is 5/16 in
 * a sum of squares of 1e19, of which a double has no digit after the point. */
static void test_large_mean(void **state)
{
	static const char *const names[] = { "r2" };
	struct metrics *m = make(TARGET_VALUES, 1, 1, names);
	const double squares = 0.125, many = 1 << 20;
	int n;
	for (int i = 0; i < 4; i++) {
		const double high = 4194304 + 0, low = i % 4 / 2.0;
		const double sums[7] = { many, 0, many * squares, many * (high + low), many * high * high,
			many * high * low, many * low * low };
		metrics_add(m, (const double *const[]){ sums });
	}
	const struct metric_value *v = metrics_values(m, &n);
	close_to(v[0].v[0], 1 - squares / (5.0 / 16));
	metrics_free(m);
}

static void refused(enum target_kind target, int n, const char *const *names, const char *message)
{
	struct strings s = { n, names, NULL };
	struct metrics *m;
	err_clear();
	assert_int_equal(metrics_new(&m, &s, target, 4), E_CONFIG);
	assert_non_null(strstr(err_get(0)->text, message));
	err_clear();
}

static void test_refused(void **state)
{
	refused(TARGET_LABELS, 1, (const char *const[]){ "mean_iuo" }, "did you mean 'mean_iou'");
	refused(TARGET_LABELS, 1, (const char *const[]){ "mae" }, "needs a field");
	refused(TARGET_VALUES, 1, (const char *const[]){ "accuracy" }, "needs class labels");
	refused(TARGET_VALUES, 1, (const char *const[]){ "mean_iou_per_sample" }, "needs class labels");
	refused(TARGET_LABELS, 2, (const char *const[]){ "iou", "iou" }, "twice");
	refused(TARGET_LABELS, 2, (const char *const[]){ "top_2", "top_2" }, "twice");
	refused(TARGET_LABELS, 1, (const char *const[]){ "top_1" }, "is called 'accuracy'");
	refused(TARGET_LABELS, 1, (const char *const[]){ "top_4" }, "always 1 with 4 classes");
	refused(TARGET_LABELS, 1, (const char *const[]){ "top_x" }, "unknown metric 'top_x'");
	refused(TARGET_LABELS, 1, (const char *const[]){ "top_02" }, "unknown metric");
	refused(TARGET_VALUES, 1, (const char *const[]){ "top_3" }, "needs class labels");
	refused(TARGET_VALUES, 1, (const char *const[]){ "f1" }, "needs class labels or flags");
	refused(TARGET_FLAGS, 1, (const char *const[]){ "confusion" },
	        "needs class labels, but the loss has flags");
	refused(TARGET_FLAGS, 1, (const char *const[]){ "r2" }, "needs a field");
}

static void test_too_many(void **state)
{
	const char *names[METRICS_MOST + 1];
	char text[METRICS_MOST + 1][16];
	for (int i = 0; i <= METRICS_MOST; i++) {
		snprintf(text[i], sizeof text[i], "top_%d", i + 2);
		names[i] = text[i];
	}
	struct strings s = { METRICS_MOST + 1, names, NULL };
	struct metrics *m;
	err_clear();
	assert_int_equal(metrics_new(&m, &s, TARGET_LABELS, 1000), E_CONFIG);
	assert_non_null(strstr(err_get(0)->text, "metric 'top_66' is one too many; there may be 64"));
	err_clear();
}

static void decides(const char *name, const char *message)
{
	err_clear();
	assert_int_equal(metric_check_number(name, NULL), message ? E_CONFIG : 0);
	if (message)
		assert_non_null(strstr(err_get(0)->text, message));
	err_clear();
}

static void test_check_number(void **state)
{
	decides("loss", NULL);
	decides("top_5", NULL);
	decides("mean_f1", NULL);
	decides("f1", "a value for each class, so that nothing can be decided by it; use 'mean_f1'");
	decides("r2_by_output",
	        "a value for each output, so that nothing can be decided by it; use 'r2'");
	decides("confusion", "for each pair of classes, so that nothing can be decided by it; use");
	assert_true(metric_is_number("top_5"));
	assert_true(metric_is_number("mse"));
	assert_false(metric_is_number("iou"));
	assert_false(metric_is_number("confusion"));
}

static void test_emit(void **state)
{
	static const char *const names[] = { "iou", "accuracy" };
	struct metrics *m = make(TARGET_LABELS, 4, 2, names);
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

/* What is left out of errors; which metrics share an op. */
static void emitted(enum target_kind target, const char *const *names, bool masked, double mask,
                    const char *attributes)
{
	struct metrics *m = make(target, 3, 3, names);
	struct graph *g = graph_new();
	struct shape x = { 3, { 2, 3, 5 } };
	struct buf text = BUF_INIT;
	tid in[2], out[4];
	int n;
	assert_int_equal(graph_input(g, "x", DTYPE_F32, &x, &in[0]), 0);
	assert_int_equal(graph_input(g, "y", DTYPE_F32, &x, &in[1]), 0);
	metrics_set_mask(m, masked, mask);
	assert_int_equal(metrics_emit(m, g, in[0], in[1], INT64_MIN, out, 4, &n), 0);
	assert_int_equal(n, 1);
	graph_dump_text(g, &text);
	if (!strstr(text.data, attributes))
		fail_msg("no '%s' in:\n%s", attributes, text.data);
	buf_release(&text);
	metrics_free(m);
	graph_free(g);
}

static void test_mask(void **state)
{
	static const char *const errors[] = { "mae", "r2", "rmse_by_output" };
	static const char *const flags[] = { "f1", "accuracy", "mean_iou" };
	emitted(TARGET_VALUES, errors, false, 0, "error_sums");
	emitted(TARGET_VALUES, errors, true, NAN, "leave_out: nan");
	emitted(TARGET_VALUES, errors, true, -9999, "leave_out: value, value: -9999");
	emitted(TARGET_FLAGS, flags, false, 0, "flag_counts");
	emitted(TARGET_FLAGS, flags, true, 255, "leave_out: value, value: 255");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_false_class),
		cmocka_unit_test(test_per_sample),
		cmocka_unit_test(test_by_class),
		cmocka_unit_test(test_half_classes),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_errors_of_fields),
		cmocka_unit_test(test_one_output),
		cmocka_unit_test(test_large_mean),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_check_number),
		cmocka_unit_test(test_mask),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_emit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
