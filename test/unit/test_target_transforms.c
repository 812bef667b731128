/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Target transforms: the steps that a list makes of a set's statistics, what undoes them, and what
 * they refuse; a set that takes another one's statistics. */
#include <math.h>

#include "cases.h"
#include "base/buf.h"
#include "data/target_transforms.h"
#include "data_fixture.h"

#define FILE_NAME "test_target_transforms.tmp.dlx"
#define SAMPLES 4

static struct arena *arena;

/* Targets (3): 10 s - 5, of which one is no number; 7 throughout; 2^s. */
static void write_set(enum dtype target, double times)
{
	static const char *const channels[] = { "wave", "constant", "rain" };
	const struct record_info info = {
		.input = { DTYPE_F32, { 1, { 1 } }, NULL, 0, NULL },
		.target = { target, { 1, { 3 } }, channels, 0, NULL },
		.mask = -1, .ignore = RECORD_NO_IGNORE,
	};
	struct record_writer *w;
	io_input_forget(FILE_NAME);
	assert_int_equal(record_create(&w, FILE_NAME, &info, 1), 0);
	for (int s = 0; s < SAMPLES; s++) {
		const float x = (float)fmin(s * times, 1e30);
		const double y[3] = { 10 * s * times - 5, 7, pow(2, s) };
		double t[3];                 /* room for any type */

		for (int c = 0; c < 3; c++)
			dtype_set(target, t, c, y[c]);
		if (s == 3 && target == DTYPE_F32)
			dtype_set(target, t, 0, NAN);
		assert_int_equal(record_append(w, &x, t), 0);
	}
	assert_int_equal(record_commit(w), 0);
}

static struct dataset *open_set(enum dtype target, double times)
{
	static const char *const path = FILE_NAME;
	write_set(target, times);
	return fixture_open(&path, 1);
}

static int scale(const struct target_scaling **out, const struct dataset *set, const char *yaml)
{
	const struct target_source from = { .set = set, .channels = 3 };
	struct ynode *list;
	assert_int_equal(ytree_parse(arena, "t.yaml", yaml, &list), 0);
	return target_scaling_new(out, arena, list, &from);
}

static void expect_text(const struct target_scaling *s, int64_t c, const char *expected)
{
	struct buf b = BUF_INIT;
	target_scaling_text(s, c, &b);
	assert_string_equal(b.data, expected);
	buf_release(&b);
}

/* Mean and deviation are those of values that are numbers: -5, 5, 15. */
static void test_normalize(void **state)
{
	struct dataset *d = open_set(DTYPE_F32, 1);
	const struct target_scaling *s;
	float factor, shift;
	assert_int_equal(scale(&s, d, "[{normalize: standard}]"), 0);
	assert_int_equal(s->channels, 3);
	assert_int_equal(s->n, 1);
	assert_float_equal(s->step[0].centre[0], 5, 1e-6);
	assert_float_equal(s->step[0].scale[0], 1 / sqrt(200 / 3.0), 1e-6);
	target_step_inverse(&s->step[0], 0, &factor, &shift);
	assert_float_equal(factor, sqrt(200 / 3.0), 1e-5);
	assert_float_equal(shift, 5, 1e-6);
	expect_text(s, 0, "(x - 5) / 8.16497");
	expect_text(s, 1, "(x - 7)");
	dataset_free(d);
}

static void test_chain(void **state)
{
	struct dataset *d = open_set(DTYPE_F32, 1);
	const struct target_scaling *s;
	struct buf b = BUF_INIT;
	assert_int_equal(scale(&s, d, "[{log1p: rain}, {cast: 4}, {normalize: {method: min_max, "
	                       "channels: [0, rain]}}]"), 0);
	expect_text(s, 0, "(x / 4 + 1.25) / 5");
	expect_text(s, 1, "x / 4");
	expect_text(s, 2, "(log1p(x) / 4 - 0.173287) / 0.376019");
	target_scaling_inverse_json(s, &b);
	assert_non_null(strstr(b.data, "[{\"multiply\": [5, 1, 0.376019"));
	assert_non_null(strstr(b.data, "\"add\": [-1.25, 0, 0.173286"));
	assert_non_null(strstr(b.data, ", {\"multiply\": [4, 4, 4], \"add\": [0, 0, 0]}, "
	                               "{\"function\": \"expm1\", \"channels\": [2]}]"));
	buf_release(&b);
	assert_int_equal(scale(&s, d, "[]"), 0);
	assert_null(s);
	dataset_free(d);
}

static void test_refused(void **state)
{
	struct dataset *d = open_set(DTYPE_F32, 1), *integers;
	const struct target_scaling *s;
	expect_error(scale(&s, d, "[log1p]"), E_CONFIG,
	             "log1p needs values above -1; channel 0 'wave' goes down to -5");
	expect_error(scale(&s, d, "[{log1p: rain}, {normalize: standard}]"), E_CONFIG,
	             "mean and deviation of channel 2 'rain' are not known after log1p");
	expect_error(scale(&s, d, "[{log1p: snow}]"), E_CONFIG, "no target channel 'snow'");
	expect_error(scale(&s, d, "[{log1p: []}]"), E_CONFIG, "'channels' names no channel");
	expect_error(scale(&s, NULL, "[{normalize: standard}]"), E_CONFIG, "are not known");
	assert_int_equal(scale(&s, NULL, "[{normalize: {method: standard, mean: 1, std: 2}}]"), 0);
	expect_text(s, 2, "(x - 1) / 2");
	dataset_free(d);
	d = open_set(DTYPE_F64, 1e60);
	expect_error(scale(&s, d, "[{normalize: min_max}]"), E_CONFIG,
	             "targets of channel 0 'wave' cannot be scaled in 32 bits");
	dataset_free(d);
	integers = open_set(DTYPE_I16, 1);
	expect_error(scale(&s, integers, "[{normalize: standard}]"), E_CONFIG, "are not known");
	assert_int_equal(scale(&s, integers, "[cast, log1p]"), 0);
	expect_text(s, 0, "log1p(x / 32767)");
	expect_error(target_scaling_fit(s, integers), E_DATA,
	             "channel 0 'wave' is of integers, of whose range nothing is known");
	dataset_free(integers);
}

/* A list that suits one set need not suit the targets of another. */
static void test_fit(void **state)
{
	const struct target_scaling *s;
	struct dataset *d = open_set(DTYPE_F32, 1);
	assert_int_equal(scale(&s, d, "[{normalize: {method: min_max, channels: 0}}, log1p]"), 0);
	assert_int_equal(target_scaling_fit(s, d), 0);
	dataset_free(d);
	d = open_set(DTYPE_F32, -2);
	expect_error(target_scaling_fit(s, d), E_DATA, "channel 0 'wave' goes further down");
	dataset_free(d);
}

static void test_take_statistics(void **state)
{
	struct dataset *d = open_set(DTYPE_F32, 3), *other = open_set(DTYPE_F32, 1), *integers;
	const uint64_t before = dataset_fingerprint(d);
	struct dataset *again;
	struct buf b = BUF_INIT;
	assert_float_equal(dataset_statistics(d)[0].max, 9, 0);
	assert_int_equal(dataset_take_statistics(d, other, "'other'", false), 0);
	assert_float_equal(dataset_statistics(d)[0].max, 3, 0);
	assert_float_equal(dataset_target(d)->stats[0].max, 55, 0);
	assert_int_equal(dataset_take_statistics(d, other, "'other'", true), 0);
	dataset_free(other);
	assert_float_equal(dataset_target(d)->stats[0].max, 15, 0);
	assert_true(dataset_fingerprint(d) == before);
	dataset_describe(d, &b);
	assert_int_equal(dataset_from_description(&again, "t", b.data), 0);
	assert_float_equal(dataset_target(again)->stats[0].max, 15, 0);
	assert_float_equal(dataset_statistics(again)[0].max, 3, 0);
	dataset_free(again);
	buf_release(&b);
	integers = open_set(DTYPE_I16, 1);
	expect_error(dataset_take_statistics(d, integers, "'whole'", true), E_DATA,
	             "the statistics of 'whole' are those of targets of i16 3, but the training set "
	             "has f32 3");
	dataset_free(integers);
	dataset_free(d);
}

static int start(void **state)
{
	arena = arena_new();
	return 0;
}

static int stop(void **state)
{
	arena_free(arena);
	return unlink(FILE_NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_normalize), cmocka_unit_test(test_chain),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_fit),
		cmocka_unit_test(test_take_statistics),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
