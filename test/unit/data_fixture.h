/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small record file for the tests of data/: inputs (2, 4, 6) of which channel 1 is the
 * validity mask, targets (4, 6) of two classes. Input element (0, y, x) of sample s is 100 s +
 * 10 y + x; points with x = 0 are missing (input 0, target 255). */
#ifndef DLX_TEST_DATA_FIXTURE_H
#define DLX_TEST_DATA_FIXTURE_H

#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "data/loader.h"
#include "data/record.h"

#define HEIGHT 4
#define WIDTH 6
#define POINTS (HEIGHT * WIDTH)

static inline void fixture_sample(int s, float input[2 * POINTS], uint8_t target[POINTS])
{
	for (int i = 0; i < POINTS; i++) {
		const int y = i / WIDTH, x = i % WIDTH;

		input[i] = x ? (float)(100 * s + 10 * y + x) : 0;
		input[POINTS + i] = x != 0;
		target[i] = x ? (uint8_t)(y % 2) : 255;
	}
}

static inline void fixture_write(const char *path, int samples, int first)
{
	static const char *const channels[] = { "wind", "valid" };
	static const char *const classes[] = { "even", "odd" };
	const struct record_info info = {
		.input = { DTYPE_F32, { 3, { 2, HEIGHT, WIDTH } }, channels, 0, NULL },
		.target = { DTYPE_U8, { 2, { HEIGHT, WIDTH } }, NULL, 0, NULL },
		.mask = 1, .ignore = 255, .nclasses = 2, .classes = classes,
	};
	struct record_writer *w;
	float input[2 * POINTS];
	uint8_t target[POINTS];
	io_input_forget(path);
	assert_int_equal(record_create(&w, path, &info, 1), 0);
	for (int s = first; s < first + samples; s++) {
		fixture_sample(s, input, target);
		assert_int_equal(record_append(w, input, target), 0);
	}
	assert_int_equal(record_commit(w), 0);
}

/* Samples of h x w: input (0, y, x) of sample s is 1000 s + 20 y + x, its label y modulo 2. */
static inline void fixture_write_size(const char *path, int first, int samples, int h, int w)
{
	const struct record_info info = {
		.input = { DTYPE_F32, { 3, { 1, h, w } }, NULL, 0, NULL },
		.target = { DTYPE_U8, { 2, { h, w } }, NULL, 0, NULL },
		.mask = -1, .ignore = RECORD_NO_IGNORE,
	};
	struct record_writer *out;
	float input[400];
	uint8_t target[400];
	io_input_forget(path);
	assert_int_equal(record_create(&out, path, &info, 1), 0);
	for (int s = first; s < first + samples; s++) {
		for (int i = 0; i < h * w; i++) {
			input[i] = (float)(1000 * s + 20 * (i / w) + i % w);
			target[i] = (uint8_t)(i / w % 2);
		}
		assert_int_equal(record_append(out, input, target), 0);
	}
	assert_int_equal(record_commit(out), 0);
}

static inline struct dataset *fixture_open(const char *const *paths, int n)
{
	const struct strings s = { n, paths, NULL };
	struct dataset *d;
	assert_int_equal(dataset_open(&d, &s), 0);
	return d;
}

static inline void expect_error(int rc, int code, const char *part)
{
	assert_int_equal(rc, code);
	assert_true(err_count() > 0);
	if (!strstr(err_get(0)->text, part))
		fail_msg("'%s' does not hold '%s'", err_get(0)->text, part);
	err_clear();
}

#endif
