/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Record files: what goes in comes out, statistics are right, and every truncation and every
 * flipped bit of a file is found. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/record.h"
#include "data/record_format.h"

#define N 3
#define POINTS 12

static char path[] = "test_record.tmp.dlx";

static const char *const channels[] = { "wind", "pressure \"p\"", "valid" };
static const char *const classes[] = { "cold", "mild" };
static const char *const sources[] = { "a.nc", "b.nc" };

static struct record_info example(void)
{
	return (struct record_info){
		.input = { DTYPE_F32, { 3, { 3, 3, 4 } }, channels, 0, NULL, true },
		.target = { DTYPE_U8, { 2, { 3, 4 } }, NULL, 0, NULL, false },
		.mask = 2, .ignore = 255, .nclasses = 2, .classes = classes,
		.nsources = 2, .sources = sources, .command = "dlx-convert --input x",
	};
}

static void example_sample(int s, float input[3 * POINTS], uint8_t target[POINTS])
{
	for (int i = 0; i < POINTS; i++) {
		const int valid = (i + s) % 3 != 0;

		input[i] = valid ? (float)(i * (s + 1)) : 0;
		input[POINTS + i] = valid ? 1000.f + (float)i : NAN;
		input[2 * POINTS + i] = (float)valid;
		target[i] = valid ? (uint8_t)(i % 2) : 255;
	}
}

static void write_example(const char *where)
{
	const struct record_info info = example();
	struct record_writer *w;
	float input[3 * POINTS];
	uint8_t target[POINTS];
	io_input_forget(where);
	assert_int_equal(record_create(&w, where, &info, 3), 0);
	for (int s = 0; s < N; s++) {
		example_sample(s, input, target);
		assert_int_equal(record_append(w, input, target), 0);
	}
	assert_false(io_exists(where));
	assert_int_equal(record_commit(w), 0);
	assert_true(io_exists(where));
}

/* 0 if the image opens and each sample reads, else the first error code; the record is emptied. */
static int read_all(const void *image, size_t n)
{
	struct record_decoder *d = record_decoder_new();
	struct record *r;
	uint8_t *raw;
	int rc = record_parse(&r, "image", image, n);
	if (rc == 0) {
		raw = mem_alloc(record_raw_bytes(record_info(r)));
		for (int64_t i = 0; rc == 0 && i < record_info(r)->samples; i++)
			rc = record_read(r, d, i, raw);
		mem_free(raw);
		record_free(r);
	}
	record_decoder_free(d);
	err_clear();
	return rc;
}

static void check_description(const struct record_info *i)
{
	assert_int_equal(i->samples, N);
	assert_int_equal(i->input.dtype, DTYPE_F32);
	assert_int_equal(i->input.shape.nd, 3);
	assert_int_equal(i->input.shape.d[2], 4);
	assert_string_equal(i->input.channels[1], "pressure \"p\"");
	assert_true(i->input.named_by_file);
	assert_int_equal(i->target.dtype, DTYPE_U8);
	assert_int_equal(i->target.shape.nd, 2);
	assert_false(i->target.named_by_file);
	assert_null(i->target.channels);
	assert_int_equal(i->target.nstats, 0);
	assert_int_equal(i->mask, 2);
	assert_int_equal(i->ignore, 255);
	assert_int_equal(i->nclasses, 2);
	assert_string_equal(i->classes[1], "mild");
	assert_int_equal(i->nsources, 2);
	assert_string_equal(i->sources[1], "b.nc");
	assert_string_equal(i->command, "dlx-convert --input x");
}

static void test_roundtrip(void **state)
{
	struct record_decoder *d = record_decoder_new();
	struct record *r;
	float input[3 * POINTS];
	uint8_t target[POINTS], raw[3 * POINTS * 4 + POINTS];
	write_example(path);
	assert_int_equal(record_open(&r, path), 0);
	check_description(record_info(r));
	assert_int_equal(record_raw_bytes(record_info(r)), sizeof(raw));
	for (int s = N - 1; s >= 0; s--) {
		example_sample(s, input, target);
		assert_int_equal(record_read(r, d, s, raw), 0);
		assert_memory_equal(raw, input, sizeof(input));
		assert_memory_equal(raw + record_array_at(record_info(r), 0, 1), target, sizeof(target));
	}
	record_free(r);
	record_decoder_free(d);
	unlink(path);
}

static void assert_near(double got, double expected, double tolerance)
{
	if (!(fabs(got - expected) <= tolerance))
		fail_msg("%.17g instead of %.17g", got, expected);
}

static void test_statistics(void **state)
{
	const struct record_info *i;
	struct record *r;
	double sum = 0, sum2 = 0, mean;
	int n = 0, class0 = 0;
	write_example(path);
	assert_int_equal(record_open(&r, path), 0);
	i = record_info(r);
	for (int s = 0; s < N; s++) {
		for (int k = 0; k < POINTS; k++) {
			if ((k + s) % 3 == 0)
				continue;
			n++;
			sum += k * (s + 1);
			sum2 += (double)k * k * (s + 1) * (s + 1);
			class0 += k % 2 == 0;
		}
	}
	mean = sum / n;
	assert_int_equal(i->input.nstats, 3);
	assert_int_equal(i->input.stats[0].count, n);
	assert_near(i->input.stats[0].mean, mean, 1e-12);
	assert_near(i->input.stats[0].std, sqrt(sum2 / n - mean * mean), 1e-10);
	assert_near(i->input.stats[0].min, 0, 0);
	assert_near(i->input.stats[0].max, 33, 0);
	assert_int_equal(i->input.stats[1].count, n);
	assert_near(i->input.stats[1].min, 1000, 0);
	assert_int_equal(i->input.stats[2].count, N * POINTS);
	assert_int_equal(i->class_counts[0], class0);
	assert_int_equal(i->class_counts[1], n - class0);
	assert_int_equal(i->ignored, N * POINTS - n);
	record_free(r);
	unlink(path);
}

static void test_every_flip(void **state)
{
	struct buf file = BUF_INIT;
	write_example(path);
	assert_int_equal(io_read_file(path, &file), 0);
	assert_int_equal(read_all(file.data, file.len), 0);
	for (size_t bit = 0; bit < file.len * 8; bit++) {
		file.data[bit / 8] ^= (char)(1 << bit % 8);
		if (read_all(file.data, file.len) != E_DATA)
			fail_msg("flipped bit %zu went unnoticed", bit);
		file.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	buf_release(&file);
	unlink(path);
}

static void test_every_truncation(void **state)
{
	struct buf file = BUF_INIT;
	write_example(path);
	assert_int_equal(io_read_file(path, &file), 0);
	for (size_t n = 0; n < file.len; n++) {
		char *exact = mem_alloc(n);   /* so that the sanitizer sees a read past the end */

		memcpy(exact, file.data, n);
		if (read_all(exact, n) != E_DATA)
			fail_msg("a file cut to %zu bytes was accepted", n);
		mem_free(exact);
	}
	buf_putc(&file, 0);
	assert_int_equal(read_all(file.data, file.len), E_DATA);
	buf_release(&file);
	unlink(path);
}

static void expect_error(int rc, int code, const char *part)
{
	assert_int_equal(rc, code);
	assert_int_equal(err_count(), 1);
	if (!strstr(err_get(0)->text, part))
		fail_msg("'%s' does not hold '%s'", err_get(0)->text, part);
	err_clear();
}

static void test_messages(void **state)
{
	struct record *r;
	struct record_decoder *d = record_decoder_new();
	struct buf file = BUF_INIT;
	uint8_t raw[1024];
	expect_error(record_open(&r, "no-such-file.dlx"), E_NOINPUT, "no-such-file.dlx");
	expect_error(record_parse(&r, "a.nc", "CDF\x01 and more", 13), E_DATA, "dlx-convert");
	expect_error(record_parse(&r, "a.txt", "hello", 5), E_DATA,
	             "'a.txt': byte 0: not a dlx record");
	expect_error(record_parse(&r, "empty", "", 0), E_DATA, "not a dlx record");
	write_example(path);
	assert_int_equal(io_read_file(path, &file), 0);
	expect_error(record_parse(&r, "cut", file.data, file.len - 9), E_DATA, "truncated");
	file.data[20] ^= 1;
	assert_int_equal(record_parse(&r, "flip", file.data, file.len), 0);
	expect_error(record_read(r, d, 0, raw), E_DATA,
	             "'flip': sample 0, array 'input', chunk 0 at byte 16: damaged");
	assert_int_equal(record_read(r, d, 1, raw), 0);
	record_free(r);
	file.data[8] = 9;
	expect_error(record_parse(&r, "new", file.data, file.len), E_DATA, "version 9");
	file.data[8] = 1;
	expect_error(record_parse(&r, "old", file.data, file.len), E_DATA,
	             "record version 1, of a dlx before its first release, is no longer read: convert "
	             "the data again");
	buf_release(&file);
	record_decoder_free(d);
	unlink(path);
}

/* Replaces `from` in the description by `to` of the same length and makes the footer's hash
 * right again. */
static void rewrite(struct buf *file, const char *from, const char *to)
{
	uint8_t *p = (uint8_t *)file->data, *end = p + file->len - FOOTER_BYTES;
	struct record_footer f;
	char *at;
	record_footer_read(end, &f);
	at = memmem(p + f.description, f.texts - f.description, from, strlen(from));
	assert_non_null(at);
	assert_int_equal(strlen(from), strlen(to));
	memcpy(at, to, strlen(to));
	f.hash = record_footer_hash(p, p + f.description, (size_t)(end - p) - f.description, end);
	record_footer_put(end, &f);
}

/* A description that lies after a right hash. */
static void test_false_descriptions(void **state)
{
	static const struct {
		const char *from, *to, *message;
		bool no_hashes;
	} lies[] = {
		{ "\"role\": \"input\"", "\"role\": \"inpud\"", "expected a role" },
		{ "\"role\": \"input\"", "\"role\": \"extra\"", "no description of 'input'" },
		{ "\"role\": \"target\"", "\"role\": \"input\" ", "second input" },
		{ "\"name\": \"target\"", "\"nome\": \"target\"", "without a name" },
		{ "\"arrays\"", "\"errays\"", "no description" },
		{ "\"sizes\"", "\"cizes\"", "no sizes" },
		{ "{\"samples\": 3,\n", "{\"samples\": 4,\n", "a hash of each sample" },
		{ "{\"samples\": 3,\n", "{\"samples\": 4,\n", "disagree", .no_hashes = true },
		{ "\"hashes\": \"", "\"hashes\":\"!", "a hash of each sample" },
		{ "\"hashes\": \"", "\"hashes\":\"\"", "byte" },
		{ "{\"samples\": 3,\n", "{\"samples\": x,\n", "byte" },
		{ "{\"samples\": 3, ", "{\"samples\": 2, ", "how many samples have a size" },
		{ "[3, 3, 4]", "[3, 3, 5]", "impossible size" },
		{ "[3, 3, 4]", "[0, 3, 4]", "below 1" },
		{ "[3, 3, 4]", "[3, 9, 9]", "impossible size" },
		{ "[3, 3, 4]", "3        ", "expected a shape" },
		{ "\"rows\": [0, 0]", "\"rows\": [9, 0]", "other rows" },
		{ "\"rows\": [0, 0]", "\"rows\": [1, 0]", "impossible size" },
		{ "\"rows\": [0, 0]", "\"rows\": [0]   ", "wrong length" },
		{ "\"f32\"", "\"f33\"", "dtype" },
		{ "\"mask\": 2", "\"mask\": 3", "mask" },
		{ "\"classes\": 2", "\"classes\": 3", "wrong length" },
		{ "\"count\": ", "\"cound\": ", "no count" },
		{ "\"cold\", \"mild\"", "\"cold\",      1", "expected a string" },
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct buf file = BUF_INIT;
		struct record *r;

		write_example(path);
		assert_int_equal(io_read_file(path, &file), 0);
		rewrite(&file, lies[i].from, lies[i].to);
		if (lies[i].no_hashes)
			rewrite(&file, "\"hashes\"", "\"Hashes\"");
		expect_error(record_parse(&r, "lie", file.data, file.len), E_DATA, lies[i].message);
		buf_release(&file);
		unlink(path);
	}
}

static void test_writer_refuses(void **state)
{
	struct record_info info = example();
	struct record_writer *w;
	float input[3 * POINTS];
	uint8_t target[POINTS];
	example_sample(0, input, target);
	target[5] = 2;
	io_input_forget(path);
	assert_int_equal(record_create(&w, path, &info, 3), 0);
	expect_error(record_append(w, input, target), E_DATA, "target value 2");
	expect_error(record_commit(w), E_DATA, "no samples");
	assert_false(io_exists(path));
	info.mask = 3;
	expect_error(record_create(&w, path, &info, 3), E_DATA, "mask");
	info = example();
	info.input.shape.d[0] = info.input.shape.d[1] = (int64_t)1 << 32;
	expect_error(record_create(&w, path, &info, 3), E_DATA, "2^40");
}

/* A target without names: classes are what occurs. A scalar target has no axes. */
static void test_labels(void **state)
{
	const struct record_info info = {
		.input = { DTYPE_U8, { 1, { 3 } }, NULL, 0, NULL },
		.target = { DTYPE_I64, { 0, { 0 } }, NULL, 0, NULL },
		.mask = -1, .ignore = RECORD_NO_IGNORE,
	};
	struct record_writer *w;
	struct record *r;
	io_input_forget(path);
	assert_int_equal(record_create(&w, path, &info, 1), 0);
	for (int64_t i = 0; i < 7; i++)
		assert_int_equal(record_append(w, "abc", &(int64_t){ i % 4 * 2 }), 0);
	assert_int_equal(record_commit(w), 0);
	assert_int_equal(record_open(&r, path), 0);
	assert_int_equal(record_info(r)->nclasses, 7);
	assert_int_equal(record_info(r)->class_counts[4], 2);
	assert_int_equal(record_info(r)->class_counts[1], 0);
	assert_null(record_info(r)->classes);
	assert_int_equal(record_info(r)->ignore, RECORD_NO_IGNORE);
	record_free(r);
	unlink(path);
}

static int clean(void **state)
{
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_roundtrip, clean),
		cmocka_unit_test_setup(test_statistics, clean),
		cmocka_unit_test_setup(test_every_flip, clean),
		cmocka_unit_test_setup(test_every_truncation, clean),
		cmocka_unit_test_setup(test_messages, clean),
		cmocka_unit_test_setup(test_false_descriptions, clean),
		cmocka_unit_test_setup(test_writer_refuses, clean),
		cmocka_unit_test_setup(test_labels, clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
