/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Record files of version 1 stay readable: one that was written when that version was, and one
 * beside a file of version 2 in a set. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "data_fixture.h"
#include "record_version1.h"
#include "record_version1_file.h"

#define PLACES 12
#define SAMPLES 3

static char old_path[] = "test_record_version1.old.tmp.dlx";
static char new_path[] = "test_record_version1.new.tmp.dlx";

/* As in test_record.c. */
static void example_sample(int s, float input[3 * PLACES], uint8_t target[PLACES])
{
	for (int i = 0; i < PLACES; i++) {
		const int valid = (i + s) % 3 != 0;

		input[i] = valid ? (float)(i * (s + 1)) : 0;
		input[PLACES + i] = valid ? 1000.f + (float)i : NAN;
		input[2 * PLACES + i] = (float)valid;
		target[i] = valid ? (uint8_t)(i % 2) : 255;
	}
}

static void test_file(void **state)
{
	struct record_decoder *d = record_decoder_new();
	const struct record_info *i;
	struct record *r;
	float input[3 * PLACES], raw[3 * PLACES + PLACES / 4], rows[3 * 4 * 2];
	uint8_t target[PLACES];
	assert_int_equal(record_parse(&r, "old", version1_file, sizeof version1_file), 0);
	i = record_info(r);
	assert_int_equal(record_version(r), 1);
	assert_int_equal(i->samples, SAMPLES);
	assert_int_equal(i->nsizes, 1);
	assert_int_equal(i->size[0].samples, SAMPLES);
	assert_int_equal(record_raw_bytes(i), sizeof raw);
	assert_string_equal(i->input.channels[1], "pressure \"p\"");
	assert_int_equal(i->input.stats[1].count, 24);
	assert_true(i->input.stats[1].min == 1000);
	assert_int_equal(i->class_counts[0] + i->class_counts[1] + i->ignored, SAMPLES * PLACES);
	assert_string_equal(i->classes[1], "mild");
	assert_null(record_key(r, 0));
	for (int s = 0; s < SAMPLES; s++) {
		example_sample(s, input, target);
		assert_int_equal(record_size_of(r, s), 0);
		assert_int_equal(record_read(r, d, s, raw), 0);
		assert_memory_equal(raw, input, sizeof input);
		assert_memory_equal((uint8_t *)raw + record_array_at(i, 0, 1), target, sizeof target);
		assert_int_equal(record_read_rows(r, d, s, 0, 1, 2, rows), 0);
		for (int c = 0; c < 3; c++)
			assert_memory_equal(rows + 8 * c, input + PLACES * c + 4, 8 * sizeof(float));
	}
	record_free(r);
	record_decoder_free(d);
}

/* The first error of reading all of the file; the record of it is dropped. */
static int read_all(const uint8_t *image, size_t n)
{
	struct record_decoder *d = record_decoder_new();
	uint8_t raw[3 * PLACES * 4 + PLACES];
	struct record *r;
	int rc = record_parse(&r, "old", image, n);
	for (int64_t s = 0; rc == 0 && s < SAMPLES; s++)
		rc = record_read(r, d, s, raw);
	record_decoder_free(d);
	record_free(r);
	err_clear();
	return rc;
}

static void test_every_flip(void **state)
{
	uint8_t *file = mem_alloc(sizeof version1_file);
	memcpy(file, version1_file, sizeof version1_file);
	assert_int_equal(read_all(file, sizeof version1_file), 0);
	for (size_t bit = 0; bit < sizeof version1_file * 8; bit++) {
		file[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (read_all(file, sizeof version1_file) != E_DATA)
			fail_msg("flipped bit %zu went unnoticed", bit);
		file[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t n = 0; n < sizeof version1_file; n++)
		assert_int_equal(read_all(file, n), E_DATA);
	mem_free(file);
}

/* The samples of data_fixture.h in version 1. */
static void write_old(const char *path, int samples, int first)
{
	struct version1 v;
	struct record *r;
	float input[2 * POINTS];
	uint8_t target[POINTS];
	fixture_write(new_path, 1, 0);
	assert_int_equal(record_open(&r, new_path), 0);
	struct record_info info = *record_info(r);
	info.nsizes = 0;
	version1_begin(&v, &info, 1);
	for (int s = first; s < first + samples; s++) {
		fixture_sample(s, input, target);
		version1_add(&v, input, target);
	}
	version1_end(&v);
	record_free(r);
	io_input_forget(path);
	assert_int_equal(io_write_file(path, v.file.data, v.file.len), 0);
	buf_release(&v.file);
}

static void test_mixed_set(void **state)
{
	const char *const both[] = { old_path, new_path };
	struct dataset *d;
	float input[2 * POINTS], want[2 * POINTS];
	uint8_t target[POINTS], labels[POINTS];
	write_old(old_path, 2, 0);
	fixture_write(new_path, 3, 2);
	d = fixture_open(both, 2);
	assert_int_equal(dataset_info(d)->samples, 5);
	assert_int_equal(dataset_sizes(d), 1);
	for (int s = 0; s < 5; s++) {
		fixture_sample(s, want, labels);
		assert_int_equal(dataset_read(d, s, input, target), 0);
		assert_memory_equal(input, want, sizeof want);
		assert_memory_equal(target, labels, sizeof labels);
	}
	dataset_free(d);
	unlink(old_path);
	unlink(new_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_every_flip),
		cmocka_unit_test(test_mixed_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
