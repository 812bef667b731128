/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chains of transforms against what they are documented to do, element by element, and the
 * messages for chains that cannot be. */
#include <math.h>

#include "cases.h"

#define TRANSFORM_FIXTURE_FILE "test_transform.tmp.dlx"
#include "transform_fixture.h"

#include "base/io.h"

static void refuse(const char *yaml, int code, const char *part, int column)
{
	struct transform_chain *t;
	assert_int_equal(plan(&t, yaml, true, DTYPE_I32), code);
	assert_null(t);
	if (err_get(0)->loc.col != column)
		fail_msg("%s: column %d instead of %d (%s)", yaml, err_get(0)->loc.col, column,
		         err_get(0)->text);
	if (!strstr(err_get(0)->text, part))
		fail_msg("%s: '%s' does not hold '%s'", yaml, err_get(0)->text, part);
	err_clear();
}

static void test_none(void **state)
{
	const struct result r = apply("[]", true, 0, 1);
	assert_int_equal(r.in.nd, 3);
	assert_int_equal(r.tg.nd, 2);
	near(r.x[2 * WIDTH + 3], 123);
	assert_int_equal(r.t[0], 255);
	assert_int_equal(r.t[WIDTH + 1], 1);
}

static void test_standard(void **state)
{
	const struct channel_stats *st = dataset_statistics(set);
	const struct result r = apply("[{normalize: standard}]", false, 0, 3);
	for (int i = 0; i < POINTS; i++) {
		const double raw = 300 + i / WIDTH * 10 + i % WIDTH;

		near(r.x[i], i % WIDTH ? (raw - st[0].mean) / st[0].std : 0);
		near(r.x[POINTS + i], i % WIDTH != 0);
	}
}

static void test_min_max(void **state)
{
	const struct result r = apply("[{normalize: {method: min_max, channels: wind}}]", false, 0, 2);
	const struct result g =
		apply("[{normalize: {method: min_max, mask: null, channels: [0, valid], "
	          "min: [0, -1], max: [100, 1]}}]",
	          false, 0, 2);
	near(r.x[1], (201 - 1) / (435. - 1));
	near(r.x[0], 0);
	near(g.x[1], 2.01);
	near(g.x[0], 0);
	near(g.x[POINTS], 0.5);
	near(g.x[POINTS + 1], 1);
}

/* Statistics follow the values through earlier transforms. */
static void test_carried_statistics(void **state)
{
	const struct channel_stats *st = dataset_statistics(set);
	const struct result a = apply("[{cast: 100}, {normalize: standard}]", false, 0, 1);
	const struct result b = apply("[log1p, {normalize: min_max}]", false, 0, 1);
	near(a.x[1], (101 - st[0].mean) / st[0].std);
	near(b.x[1], (log(102) - log(2)) / (log(436) - log(2)));
	near(b.x[0], 0);
}

static void test_log1p(void **state)
{
	const struct result r = apply("[{log1p: wind}]", false, 0, 1);
	near(r.x[1], log(102));
	near(r.x[POINTS + 1], 1);
}

/* What a roll by `shift` along the width makes of sample s. */
static int shift_of(const struct result *r, int s)
{
	int shift = -1;
	for (int x = 0; x < WIDTH; x++)
		if (r->x[POINTS + x] == 0)
			shift = x;
	for (int i = 0; i < POINTS; i++) {
		const int y = i / WIDTH, x = (i % WIDTH - shift + WIDTH) % WIDTH;

		near(r->x[i], x ? 100 * s + 10 * y + x : 0);
		assert_int_equal(r->t[i], x ? y % 2 : 255);
	}
	return shift;
}

static void test_roll(void **state)
{
	int seen[WIDTH] = { 0 }, shift, kinds = 0;
	for (int64_t epoch = 0; epoch < 40; epoch++) {
		const struct result r = apply("[{roll: width}]", true, epoch, 1);
		const struct result again = apply("[{roll: {axis: [width]}}]", true, epoch, 1);

		shift = shift_of(&r, 1);
		assert_int_equal(shift_of(&again, 1), shift);
		seen[shift]++;
	}
	for (int x = 0; x < WIDTH; x++)
		kinds += seen[x] > 0;
	assert_int_equal(kinds, WIDTH);
}

static void test_random_only_in_training(void **state)
{
	for (int64_t epoch = 0; epoch < 5; epoch++) {
		const struct result r =
			apply("[{roll: [height, width]}, {flip: [height, width]}]", false, epoch, 2);

		near(r.x[1], 201);
		near(r.x[POINTS - 1], 235);
	}
}

static void test_flip(void **state)
{
	const struct result r = apply("[{flip: {axis: width, probability: 1}}]", true, 0, 1);
	const struct result h = apply("[{flip: {axis: height, probability: 1}}]", true, 0, 1);
	near(r.x[0], 105);
	assert_int_equal(r.t[WIDTH - 1], 255);
	near(h.x[1], 131);
	assert_int_equal(h.t[1], 1);
}

static void test_crop(void **state)
{
	const struct result c = apply("[{crop: {size: [2, 4], validation: centre}}]", false, 0, 1);
	const struct result w = apply("[{crop: {size: 9}}, symmetry]", false, 0, 1);
	int places = 0;
	assert_int_equal(w.in.d[1], HEIGHT);      /* whole, smaller than the crop and no square */
	assert_int_equal(w.in.d[2], WIDTH);
	assert_int_equal(w.tg.d[1], WIDTH);
	near(w.x[2 * WIDTH + 3], 123);

	assert_int_equal(c.in.nd, 3);
	assert_int_equal(c.in.d[1], 2);
	assert_int_equal(c.in.d[2], 4);
	assert_int_equal(c.tg.d[1], 4);
	near(c.x[0], 111);
	assert_int_equal(c.t[0], 1);
	for (int64_t epoch = 0; epoch < 20; epoch++) {
		const struct result r = apply("[{crop: {size: 3}}]", true, epoch, 1);
		const int y = (int)(r.x[1] - 100) / 10, x = (int)(r.x[1] - 100) % 10;

		near(r.x[3 + 1], 100 + 10 * (y + 1) + x);
		assert_int_equal(r.t[1], y % 2);
		places |= 1 << (y * 8 + x);
	}
	assert_true(__builtin_popcount((unsigned)places) > 4);
}

static void test_pad(void **state)
{
	const struct result z = apply("[{pad: 8}]", true, 0, 1);
	const struct result m = apply("[{pad: {multiple: [6, 8], mode: [edge, wrap]}}]", true, 0, 1);
	assert_int_equal(z.in.d[1], 8);
	assert_int_equal(z.in.d[2], 8);
	near(z.x[2 * 8 + 2], 101);
	near(z.x[0], 0);
	assert_int_equal(z.t[0], 255);
	assert_int_equal(z.t[3 * 8 + 2], 1);
	assert_int_equal(m.in.d[1], 6);
	near(m.x[1 * 8 + 0], 105);        /* wrapped from the east */
	near(m.x[0 * 8 + 2], 101);        /* repeated from the south */
	near(m.x[5 * 8 + 2], 131);
	near(m.x[1 * 8 + 7], 0);          /* x = 0 again */
	assert_int_equal(m.t[1 * 8 + 0], 255);
	assert_int_equal(m.t[2 * 8 + 2], 1);
}

/* A row that is the field over and over has more runs of neighbours than are copied as runs. */
static void test_pad_wraps_often(void **state)
{
	enum { OFTEN = 11 };
	struct transform_chain *t;
	float input[2 * POINTS], x[2 * POINTS * OFTEN];
	int32_t y[POINTS * OFTEN];
	uint8_t target[POINTS];
	assert_int_equal(plan(&t, "[{pad: {multiple: [4, 66], mode: wrap}}]", true, DTYPE_I32), 0);
	fixture_sample(1, input, target);
	struct transform_scratch *s = transform_scratch_new(t);
	assert_int_equal(transform_run(t, s, 0, 0, input, target, x, y), 0);
	for (int i = 0; i < 2 * POINTS * OFTEN; i++)
		near(x[i], input[i / (WIDTH * OFTEN) * WIDTH + i % WIDTH]);
	for (int i = 0; i < POINTS * OFTEN; i++)
		assert_int_equal(y[i], i % (WIDTH * OFTEN) / WIDTH == OFTEN / 2
		                       ? target[i / (WIDTH * OFTEN) * WIDTH + i % WIDTH] : 255);
	transform_scratch_free(s);
	transform_chain_free(t);
}

static void test_field_targets(void **state)
{
	struct transform_chain *t;
	struct transform_scratch *s;
	float input[2 * POINTS], x[3 * POINTS], y[3 * POINTS];
	uint8_t target[POINTS];
	assert_int_equal(plan(&t, "[{pad: {multiple: [4, 8], mode: wrap}}]", true, DTYPE_F32), 0);
	fixture_sample(1, input, target);
	s = transform_scratch_new(t);
	assert_int_equal(transform_run(t, s, 0, 0, input, target, x, y), 0);
	near(y[8], 1);
	near(y[1], 255);
	transform_scratch_free(s);
	transform_chain_free(t);
}

#define VOLUME (2 * 3 * 4)

/* A set of one volume (1, 2, 3, 4) with element 100 z + 10 y + x and a target of the given
 * shape. */
static struct dataset *volume_set(const char *file, struct shape target, const float *values)
{
	const struct record_info info = {
		.input = { DTYPE_F32, { 4, { 1, 2, 3, 4 } }, NULL, 0, NULL },
		.target = { DTYPE_F32, target, NULL, 0, NULL },
		.mask = -1, .ignore = RECORD_NO_IGNORE,
	};
	struct record_writer *w;
	float input[VOLUME];
	for (int i = 0; i < VOLUME; i++)
		input[i] = (float)(100 * (i / 12) + 10 * (i / 4 % 3) + i % 4);
	io_input_forget(file);
	assert_int_equal(record_create(&w, file, &info, 1), 0);
	assert_int_equal(record_append(w, input, values), 0);
	assert_int_equal(record_commit(w), 0);
	return fixture_open(&file, 1);
}

/* Runs a chain on sample 0 of d; returns the target's shape. */
static struct shape run_volume(struct dataset *d, const char *yaml, float *x, float *t)
{
	struct transform_options o = { .data = d, .training = true, .target_dtype = DTYPE_F32 };
	struct transform_chain *c;
	struct transform_scratch *s;
	struct ynode *root;
	struct shape shape;
	float input[VOLUME], target[2 * VOLUME];
	assert_int_equal(ytree_parse(arena, "t.yaml", yaml, &root), 0);
	o.list = root;
	assert_int_equal(transform_chain_new(&c, &o), 0);
	assert_int_equal(dataset_read(d, 0, input, target), 0);
	s = transform_scratch_new(c);
	assert_int_equal(transform_run(c, s, 0, 0, input, target, x, t), 0);
	shape = *transform_target_shape(c);
	transform_scratch_free(s);
	transform_chain_free(c);
	return shape;
}

/* Fields of two channels move with the volume; a vector stays. */
static void test_volumes(void **state)
{
	static const char yaml[] = "[{flip: {axis: [depth, width], probability: 1}}, {pad: [4, 1, 6]}]";
	static const char *const file = "test_volume.tmp.dlx";
	float values[2 * VOLUME], x[4 * 3 * 6], t[2 * 4 * 3 * 6];
	struct shape shape;
	struct dataset *d;
	for (int i = 0; i < 2 * VOLUME; i++)
		values[i] = (float)(-i);
	d = volume_set(file, (struct shape){ 4, { 2, 2, 3, 4 } }, values);
	shape = run_volume(d, yaml, x, t);
	assert_int_equal(shape.d[1], 4);
	assert_int_equal(shape.d[2], 3);
	assert_int_equal(shape.d[3], 6);
	near(x[1 * 18 + 2 * 6 + 1], 123);                       /* z 1, y 2, x 3 comes first */
	near(x[2 * 18 + 2 * 6 + 4], 20);
	near(x[0], 0);
	near(t[72 + 1 * 18 + 2 * 6 + 1], -(VOLUME + 12 + 8 + 3));
	dataset_free(d);
	d = volume_set(file, (struct shape){ 1, { 3 } }, values);
	shape = run_volume(d, yaml, x, t);
	assert_int_equal(shape.nd, 1);
	near(x[1 * 18 + 2 * 6 + 1], 123);
	near(t[2], -2);
	dataset_free(d);
	unlink(file);
}

#define LINE 6

/* A set of one line (1, 6) with element x and a target of as many numbers, 10 + x. */
static struct dataset *line_set(const char *file, enum dtype type)
{
	const struct record_info info = {
		.input = { .dtype = DTYPE_F32, .shape = { 2, { 1, LINE } } },
		.target = { .dtype = type, .shape = { 1, { LINE } } },
		.mask = -1, .ignore = RECORD_NO_IGNORE, .nclasses = type == DTYPE_U8 ? 20 : 0,
	};
	struct record_writer *w;
	const float input[] = { 0, 1, 2, 3, 4, 5 }, values[] = { 10, 11, 12, 13, 14, 15 };
	const uint8_t labels[] = { 10, 11, 12, 13, 14, 15 };
	io_input_forget(file);
	assert_int_equal(record_create(&w, file, &info, 1), 0);
	assert_int_equal(record_append(w, input, type == DTYPE_U8 ? (const void *)labels : values), 0);
	assert_int_equal(record_commit(w), 0);
	return fixture_open(&file, 1);
}

/* Runs a chain on the sample of a set of lines; returns how many numbers its target has then. */
static int64_t run_line(enum dtype type, const char *yaml, bool training, float *x, float *t)
{
	static const char *const file = "test_line.tmp.dlx";
	struct dataset *d = line_set(file, type);
	struct transform_options o = { .data = d, .training = training,
		.target_dtype = type == DTYPE_U8 ? DTYPE_I32 : DTYPE_F32 };
	struct transform_chain *c;
	struct transform_scratch *s;
	struct ynode *root;
	float input[LINE], target[LINE];
	int32_t labels[LINE];
	assert_int_equal(ytree_parse(arena, "t.yaml", yaml, &root), 0);
	o.list = root;
	assert_int_equal(transform_chain_new(&c, &o), 0);
	assert_int_equal(dataset_read(d, 0, input, target), 0);
	s = transform_scratch_new(c);
	assert_int_equal(transform_run(c, s, 0, 0, input, target, x,
	                               type == DTYPE_U8 ? (void *)labels : t), 0);
	const int64_t n = transform_target_shape(c)->d[0];
	for (int i = 0; i < n && type == DTYPE_U8; i++)
		t[i] = (float)labels[i];
	transform_scratch_free(s);
	transform_chain_free(c);
	dataset_free(d);
	unlink(file);
	return n;
}

/* As many values as a line has points are a vector, which stays; as many labels are the points'. */
static void test_lines(void **state)
{
	static const char flip[] = "[{flip: {axis: width, probability: 1}}]";
	float x[LINE], t[LINE];
	assert_int_equal(run_line(DTYPE_F32, flip, true, x, t), LINE);
	near(x[0], 5);
	near(t[0], 10);
	near(t[5], 15);
	assert_int_equal(run_line(DTYPE_U8, flip, true, x, t), LINE);
	near(x[0], 5);
	near(t[0], 15);
	near(t[5], 10);
	assert_int_equal(run_line(DTYPE_F32, "[{crop: 2}]", true, x, t), LINE);
	assert_int_equal(run_line(DTYPE_U8, "[{crop: 2}]", true, x, t), 2);
	near(t[0], x[0] + 10);
	assert_int_equal(run_line(DTYPE_F32, "[{crop: 2}]", false, x, t), LINE);
	near(x[0], 2);
	near(t[0], 10);
	assert_int_equal(run_line(DTYPE_U8, "[{crop: 2}]", false, x, t), LINE);
}

static void test_refusals(void **state)
{
	refuse("[{rol: width}]", E_CONFIG, "did you mean 'roll'", 3);
	refuse("[{roll: widht}]", E_CONFIG, "did you mean 'width'", 9);
	refuse("[{roll: depth}]", E_SHAPE, "no axis 'depth'", 9);
	refuse("[{roll: [width, width]}]", E_CONFIG, "twice", 17);
	refuse("[{roll: []}]", E_CONFIG, "'axis' names no axis", 3);
	refuse("[{flip: {axis: []}}]", E_CONFIG, "'axis' names no axis", 3);
	refuse("[{crop: [5, 3]}]", E_SHAPE, "height 5 does not fit into 4", 3);
	refuse("[{crop: [1, 2, 3]}]", E_SHAPE, "3 numbers", 3);
	refuse("[{pad: {multiple: 4, mode: reflect}}]", E_CONFIG, "unknown mode 'reflect'", 28);
	refuse("[{normalize: {method: standard, channels: [wint]}}]", E_CONFIG, "did you mean 'wind'",
	       44);
	refuse("[{normalize: {method: standard, channels: [valid]}}]", E_CONFIG, "is the mask", 44);
	refuse("[{normalize: {method: standard, mean: 3}}]", E_CONFIG, "together", 3);
	refuse("[{normalize: {method: min_max, mean: 3, std: 2}}]", E_CONFIG, "'mean' does not belong",
	       3);
	refuse("[{normalize: {method: min_max, min: 3, max: 2}}]", E_CONFIG, "above 'min'", 3);
	refuse("[log1p, {normalize: standard}]", E_CONFIG, "are not known after log1p", 10);
	refuse("[sqrt, {normalize: standard}]", E_CONFIG, "are not known after sqrt", 9);
	refuse("[{normalize_sample: mean}, {normalize: min_max}]", E_CONFIG,
	       "is not known after normalize_sample", 29);
	refuse("[{normalize: standard}, sqrt]", E_CONFIG, "'wind' goes down to -", 25);
	refuse("[{sqrt: {negative: ignore}}]", E_CONFIG, "'negative'", 20);
	refuse("[{normalize_sample: middle}]", E_CONFIG, "'method'", 21);
	refuse("[{normalize_sample: {method: mean, channels: valid}}]", E_CONFIG, "is the mask", 46);
	refuse("[{channels: [wind, 0]}]", E_CONFIG, "channel '0' is named twice", 20);
	refuse("[{channels: [wint, valid]}]", E_CONFIG, "did you mean 'wind'", 14);
	refuse("[{channels: []}]", E_CONFIG, "names no channel", 3);
	refuse("[channels]", E_CONFIG, "'keep'", 2);
	refuse("[{log1p: []}]", E_CONFIG, "'channels' names no channel", 3);
	refuse("[{normalize: {method: standard, channels: []}}]", E_CONFIG, "all but the mask", 3);
	refuse("[{normalize_sample: {method: mean, channels: []}}]", E_CONFIG, "names no channel", 3);
	refuse("[{noise: {deviation: 1, channels: []}}]", E_CONFIG, "names no channel", 3);
	refuse("[{channels: wind}, {log1p: valid}]", E_CONFIG, "there are 1: wind", 28);
	refuse("[{log1p: 5}]", E_CONFIG, "no input channel '5'", 10);
	refuse("roll", E_CONFIG, "must be a list", 1);
}

static void test_all_mistakes_at_once(void **state)
{
	struct transform_chain *t;
	assert_int_equal(plan(&t, "[{crop: 9}, {roll: up}, {normalize: best}]", true, DTYPE_I32),
	                 E_SHAPE);
	assert_int_equal(err_count(), 3);
	err_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_standard),
		cmocka_unit_test(test_min_max),
		cmocka_unit_test(test_carried_statistics),
		cmocka_unit_test(test_log1p),
		cmocka_unit_test(test_roll),
		cmocka_unit_test(test_random_only_in_training),
		cmocka_unit_test(test_flip),
		cmocka_unit_test(test_crop),
		cmocka_unit_test(test_pad),
		cmocka_unit_test(test_pad_wraps_often),
		cmocka_unit_test(test_field_targets),
		cmocka_unit_test(test_volumes),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_all_mistakes_at_once),
	};
	return cmocka_run_group_tests(tests, transform_start, transform_stop);
}
