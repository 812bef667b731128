/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transforms by functions, by a sample's own statistics and by a choice of channels, against what
 * numpy would make of the values. */
#include <math.h>

#include "cases.h"

#define TRANSFORM_FIXTURE_FILE "test_transform_values.tmp.dlx"
#include "transform_fixture.h"

#include "base/io.h"

static void test_sqrt(void **state)
{
	const struct result r = apply("[{sqrt: wind}]", true, 0, 1);
	const struct result n = apply("[sqrt, {normalize: min_max}]", true, 0, 1);
	near(r.x[1], sqrt(101));
	near(r.x[POINTS + 1], 1);
	near(n.x[1], (sqrt(101) - 1) / (sqrt(435) - 1));
}

/* The sample itself is looked at where statistics cannot say what it holds. */
static void test_negative_roots(void **state)
{
	static const char zero[] = "[{normalize_sample: standard}, {sqrt: {negative: zero}}]";
	const struct result r = apply(zero, true, 0, 1);
	struct transform_chain *t;
	struct transform_scratch *s;
	float input[2 * POINTS], x[2 * POINTS];
	int32_t y[POINTS];
	uint8_t target[POINTS];
	near(r.x[1], 0);
	assert_true(r.x[POINTS - 1] > 1);
	assert_int_equal(plan(&t, "[{normalize_sample: standard}, sqrt]", true, DTYPE_I32), 0);
	fixture_sample(2, input, target);
	s = transform_scratch_new(t);
	assert_int_equal(transform_run(t, s, 0, 2, input, target, x, y), E_DATA);
	assert_non_null(strstr(err_get(0)->text, "in channel 0 at (0, 1)"));
	assert_non_null(strstr(err_get(0)->text, "sqrt of -"));
	assert_int_equal(err_get(0)->loc.col, 32);
	err_clear();
	transform_scratch_free(s);
	transform_chain_free(t);
}

/* Mean and deviation of n values, as numpy has them. */
static void moments(const double *v, int n, double *mean, double *std)
{
	double sum = 0, squares = 0;
	for (int i = 0; i < n; i++)
		sum += v[i];
	for (int i = 0; i < n; i++)
		squares += (v[i] - sum / n) * (v[i] - sum / n);
	*mean = sum / n;
	*std = sqrt(squares / n);
}

static void test_normalize_sample(void **state)
{
	const struct result s = apply("[{normalize_sample: standard}]", false, 0, 3);
	const struct result m = apply("[{normalize_sample: mean}]", false, 0, 3);
	const struct result r = apply("[{normalize_sample: min_max}]", false, 0, 3);
	const struct result all =
		apply("[{normalize_sample: {method: standard, per: sample, mask: null, "
	                                "channels: [valid, wind]}}]", false, 0, 3);
	float input[2 * POINTS];
	uint8_t target[POINTS];
	double valid[POINTS], any[2 * POINTS], mean, std, mean_all, std_all;
	int n = 0;
	fixture_sample(3, input, target);
	for (int i = 0; i < 2 * POINTS; i++) {
		any[i] = input[i];
		if (i < POINTS && i % WIDTH)
			valid[n++] = input[i];
	}
	moments(valid, n, &mean, &std);
	moments(any, 2 * POINTS, &mean_all, &std_all);
	for (int i = 0; i < 2 * POINTS; i++) {
		const bool land = i % WIDTH == 0, flag = i >= POINTS;

		near(s.x[i], flag ? input[i] : land ? 0 : (input[i] - mean) / std);
		near(m.x[i], flag ? input[i] : land ? 0 : input[i] / mean);
		near(r.x[i], flag ? input[i] : land ? 0 : (input[i] - 301) / (335 - 301));
		near(all.x[i], (input[i] - mean_all) / std_all);
	}
}

static void test_channels(void **state)
{
	const struct channel_stats *st = dataset_statistics(set);
	const struct result both = apply("[{channels: [valid, wind]}, {normalize: standard}]",
	                                 true, 0, 1);
	const struct result one = apply("[{channels: 0}, {normalize: standard}]", true, 0, 1);
	const struct result after = apply("[{normalize: standard}, {channels: {keep: wind}}]",
	                                  false, 0, 1);
	assert_int_equal(both.in.d[0], 2);
	assert_int_equal(one.in.d[0], 1);
	assert_int_equal(after.in.d[0], 1);
	assert_int_equal(one.in.d[1], HEIGHT);
	for (int i = 0; i < POINTS; i++) {
		const double raw = i % WIDTH ? 100 + i / WIDTH * 10 + i % WIDTH : 0;
		const double is = (raw - st[0].mean) / st[0].std;

		near(both.x[i], i % WIDTH != 0);
		near(both.x[POINTS + i], i % WIDTH ? is : 0);
		/* without the mask land is a value like others */
		near(one.x[i], is);
		near(after.x[i], i % WIDTH ? is : 0);
	}
}

/* A second set whose channels stand in another order; other names are none of dlx's. */
static void test_order_of_channels(void **state)
{
	static const char *const file = "test_order.tmp.dlx";
	static const char *const names[2][2] = { { "valid", "wind" }, { "gusts", "valid" } };
	for (int i = 0; i < 2; i++) {
		const struct record_info info = {
			.input = { DTYPE_F32, { 3, { 2, HEIGHT, WIDTH } }, names[i], 0, NULL },
			.target = { DTYPE_U8, { 2, { HEIGHT, WIDTH } }, NULL, 0, NULL },
			.mask = -1, .ignore = 255,
		};
		struct transform_options o = { .statistics = set, .target_dtype = DTYPE_I32 };
		struct transform_chain *t;
		struct record_writer *w;
		struct dataset *d;
		float input[2 * POINTS];
		uint8_t target[POINTS];

		fixture_sample(0, input, target);
		io_input_forget(file);
		assert_int_equal(record_create(&w, file, &info, 1), 0);
		assert_int_equal(record_append(w, input, target), 0);
		assert_int_equal(record_commit(w), 0);
		o.data = d = fixture_open(&file, 1);
		if (i == 0)
			expect_error(transform_chain_new(&t, &o), E_DATA,
			             "channel 1 is 'wind', which is number 0");
		else
			assert_int_equal(transform_chain_new(&t, &o), 0);
		transform_chain_free(t);
		dataset_free(d);
	}
	unlink(file);
}

/* Constant channels, channels without a number, and a mean that nothing can be divided by. */
static void test_samples_without_width(void **state)
{
	static const char *const file = "test_volume.tmp.dlx";
	static const struct record_info info = {
		.input = {DTYPE_F32, {3, {3, 1, 4}}, NULL, 0, NULL}, .target = {DTYPE_F32, {1, {1}}, NULL,
			0, NULL },
		.mask = -1, .ignore = RECORD_NO_IGNORE,
	};
	const float input[12] = { 0.1f, 0.1f, 0.1f, 0.1f, NAN, NAN, INFINITY, NAN, -1, 1, NAN, -0.0f },
	            target[1] = { 0 };
	struct transform_options o = { .training = true, .target_dtype = DTYPE_F32 };
	float x[12], y[1];
	for (int kind = 0; kind < 3; kind++) {
		static const char *const lists[] = { "[{normalize_sample: standard}]",
			"[{normalize_sample: min_max}]",
		                                    "[{normalize_sample: mean}]" };
		struct transform_chain *t;
		struct transform_scratch *s;
		struct record_writer *w;
		struct dataset *d;
		struct ynode *root;

		io_input_forget(file);
		assert_int_equal(record_create(&w, file, &info, 1), 0);
		assert_int_equal(record_append(w, input, target), 0);
		assert_int_equal(record_commit(w), 0);
		o.data = d = fixture_open(&file, 1);
		assert_int_equal(ytree_parse(arena, "t.yaml", lists[kind], &root), 0);
		o.list = root;
		assert_int_equal(transform_chain_new(&t, &o), 0);
		s = transform_scratch_new(t);
		if (kind == 2) {
			expect_error(transform_run(t, s, 0, 0, input, target, x, y), E_DATA,
			             "the mean of channel 2 is 0");
		} else {
			assert_int_equal(transform_run(t, s, 0, 0, input, target, x, y), 0);
			assert_true(x[0] == 0 && x[3] == 0);
			assert_true(isnan(x[4]) && isinf(x[6]) && isnan(x[10]));
			near(x[8], kind ? 0 : -sqrt(1.5));
			near(x[9], kind ? 1 : sqrt(1.5));
		}
		transform_scratch_free(s);
		transform_chain_free(t);
		dataset_free(d);
	}
	unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sqrt),
		cmocka_unit_test(test_negative_roots),
		cmocka_unit_test(test_normalize_sample),
		cmocka_unit_test(test_samples_without_width),
		cmocka_unit_test(test_channels),
		cmocka_unit_test(test_order_of_channels),
	};
	return cmocka_run_group_tests(tests, transform_start, transform_stop);
}
