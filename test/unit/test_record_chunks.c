/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records of several sizes, further arrays, keys, chunks and codecs: what goes in comes out, rows
 * alone too, and each flipped bit is found with its file, sample, array and chunk. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/record.h"
#include "data/record_codec.h"
#include "data/record_format.h"

static char path[] = "test_record_chunks.tmp.dlx";

static const char *const weight_name = "area";

/* An input f32 (2, H, W), one label, a weight f32 (H, W) and an extra u16 (1, H). */
static struct record_info several(void)
{
	static const char *const channels[] = { "smooth", "noise" };
	static struct record_array extra[2];
	extra[0] = (struct record_array){ .dtype = DTYPE_F32, .shape = { 2, { 16, 24 } },
	                                 .role = RECORD_WEIGHT, .name = weight_name };
	extra[1] = (struct record_array){ .dtype = DTYPE_U16, .shape = { 2, { 1, 16 } },
	                                 .role = RECORD_EXTRA, .name = "rows" };
	return (struct record_info){
		.input = { DTYPE_F32, { 3, { 2, 16, 24 } }, channels, 0, NULL, false },
		.target = { .dtype = DTYPE_U8, .shape = { .nd = 0 } },
		.mask = -1, .ignore = RECORD_NO_IGNORE, .nextra = 2, .extra = extra,
	};
}

struct sample {
	struct shape shape[4];
	float *input, *weight;
	uint8_t label;
	uint16_t *extra;
	const void *data[4];
};

static float noise(int64_t i, int s)
{
	const uint64_t h = hash_bytes(&i, sizeof i, (uint64_t)s);
	return (float)(h >> 40) / 16777216.f;
}

static void make(struct sample *x, int s, int64_t h, int64_t w)
{
	const int64_t n = h * w;
	*x = (struct sample){.shape = {{3, {2, h, w}}, {.nd = 0}, {2, {h, w}}, {2, {1, h}}}};
	x->input = mem_alloc((size_t)(2 * n) * sizeof(float));
	x->weight = mem_alloc((size_t)n * sizeof(float));
	x->extra = mem_alloc((size_t)h * sizeof(uint16_t));
	x->label = (uint8_t)(s % 3);
	for (int64_t i = 0; i < n; i++) {
		x->input[i] = 300 + 20 * sinf((float)(i / w) / 40 + (float)s) + noise(i, s) / 8;
		x->input[n + i] = noise(i, s + 1000);
		x->weight[i] = (float)(i / w % 4);
	}
	for (int64_t i = 0; i < h; i++)
		x->extra[i] = (uint16_t)i;
	x->data[0] = x->input;
	x->data[1] = &x->label;
	x->data[2] = x->weight;
	x->data[3] = x->extra;
}

static void drop(struct sample *x)
{
	mem_free(x->input);
	mem_free(x->weight);
	mem_free(x->extra);
}

/* Extents of sample s, of three sizes. */
static int64_t height(int s, int64_t scale)
{
	return (s % 3 == 2 ? 9 : 16) * scale;
}

static int64_t width(int s)
{
	return s % 3 == 1 ? 31 : 24;
}

static void write_several(int n, int64_t scale)
{
	const struct record_info info = several();
	struct record_writer *w;
	io_input_forget(path);
	assert_int_equal(record_create(&w, path, &info, 3), 0);
	for (int s = 0; s < n; s++) {
		struct sample x;
		char key[16];

		make(&x, s, height(s, scale), width(s));
		snprintf(key, sizeof key, "cell-%d.png", s);
		assert_int_equal(record_add(w, &(struct record_sample){x.data, x.shape, s == 3 ? NULL : key,
		                                                       s < 2 ? NULL : "plate \"b\"" }), 0);
		drop(&x);
	}
	assert_int_equal(record_commit(w), 0);
}

static void check_sample(const struct record *r, struct record_decoder *d, int s, int64_t scale)
{
	const struct record_info *i = record_info(r);
	const int size = record_size_of(r, s);
	uint8_t *raw = mem_alloc(record_size_bytes(i, size));
	struct sample x;
	make(&x, s, height(s, scale), width(s));
	assert_int_equal(record_read(r, d, s, raw), 0);
	for (int k = 0; k < 4; k++) {
		assert_true(shape_equal(record_shape(i, size, k), &x.shape[k]));
		assert_memory_equal(raw + record_array_at(i, size, k), x.data[k],
		                    record_array_bytes(i, size, k));
	}
	drop(&x);
	mem_free(raw);
}

static void test_sizes(void **state)
{
	struct record_decoder *d = record_decoder_new();
	const struct record_info *i;
	struct record *r;
	write_several(8, 1);
	assert_int_equal(record_open(&r, path), 0);
	i = record_info(r);
	assert_int_equal(i->samples, 8);
	assert_int_equal(i->nsizes, 3);
	assert_int_equal(i->size[0].samples, 3);
	assert_int_equal(i->size[1].samples, 3);
	assert_int_equal(i->size[2].samples, 2);
	assert_int_equal(i->nextra, 2);
	assert_int_equal(i->extra[0].role, RECORD_WEIGHT);
	assert_string_equal(i->extra[0].name, weight_name);
	assert_int_equal(i->extra[0].nstats, 1);
	assert_true(i->extra[0].stats[0].max == 3);
	assert_int_equal(i->extra[1].role, RECORD_EXTRA);
	assert_int_equal(i->extra[1].nstats, 0);
	assert_int_equal(i->input.nstats, 2);
	assert_int_equal(i->input.stats[0].count, 3 * 16 * 24 + 3 * 16 * 31 + 2 * 9 * 24);
	assert_int_equal(i->class_counts[1], 3);
	assert_int_equal(record_elements(i, 1), 8);
	assert_string_equal(record_key(r, 2), "cell-2.png");
	assert_null(record_key(r, 3));
	assert_null(record_group(r, 1));
	assert_string_equal(record_group(r, 7), "plate \"b\"");
	for (int s = 7; s >= 0; s--)
		check_sample(r, d, s, 1);
	record_free(r);
	record_decoder_free(d);
	unlink(path);
}

/* The reader's room, once made, is enough for all samples. */
static void test_allocates_nothing(void **state)
{
	struct record_decoder *d = record_decoder_new();
	struct record *r;
	uint8_t *raw;
	uint64_t count;
	write_several(3, 1 << 12);
	assert_int_equal(record_open(&r, path), 0);
	raw = mem_alloc(record_raw_bytes(record_info(r)));
	record_decoder_reserve(d, r);
	count = mem_count();
	for (int s = 0; s < 3; s++)
		assert_int_equal(record_read(r, d, s, raw), 0);
	assert_int_equal(mem_count(), count);
	mem_free(raw);
	record_free(r);
	record_decoder_free(d);
	unlink(path);
}

/* Arrays of 12 MiB: chunks of rows, of which some rows alone are read. */
static void test_rows(void **state)
{
	const int64_t scale = 1 << 12, h = height(0, scale), w = width(0), first = h / 2 - 100, n = 700;
	struct record_decoder *d = record_decoder_new();
	float *rows = mem_alloc((size_t)(2 * h * w) * sizeof(float));
	struct buf file = BUF_INIT;
	struct record_chunk c;
	struct sample x;
	struct record *r;
	write_several(2, scale);
	assert_int_equal(io_read_file(path, &file), 0);
	assert_int_equal(record_parse(&r, "rows", file.data, file.len), 0);
	assert_in_range(record_info(r)->size[0].rows[0], h / 5, h / 2);
	assert_int_equal(record_info(r)->size[0].rows[1], 0);
	assert_true(record_chunks(r, 0) >= 6);
	check_sample(r, d, 0, scale);
	check_sample(r, d, 1, scale);
	make(&x, 0, h, w);
	/* What is requested is not in the first chunk, which may be damaged. */
	c = record_chunk_get(r, 0, 0);
	file.data[c.offset + 100] ^= 4;
	assert_int_equal(record_read_rows(r, d, 0, 0, first, n, rows), 0);
	for (int k = 0; k < 2; k++)
		assert_memory_equal(rows + k * n * w, x.input + (k * h + first) * w,
		                    (size_t)(n * w) * sizeof(float));
	assert_int_equal(record_read_rows(r, d, 0, 2, h - 1, 1, rows), 0);
	assert_memory_equal(rows, x.weight + (h - 1) * w, (size_t)w * sizeof(float));
	assert_int_equal(record_read_rows(r, d, 0, 2, 0, h, rows), 0);
	assert_memory_equal(rows, x.weight, (size_t)(h * w) * sizeof(float));
	assert_int_equal(record_read_rows(r, d, 0, 0, 0, 1, rows), E_DATA);
	assert_non_null(strstr(err_get(0)->text, "'rows': sample 0, array 'input', chunk 0 at byte"));
	err_clear();
	drop(&x);
	mem_free(rows);
	record_free(r);
	record_decoder_free(d);
	buf_release(&file);
	unlink(path);
}

/* 0, or the first error of reading all samples; its text stays. */
static int read_all(const void *image, size_t n, int64_t samples)
{
	struct record_decoder *d = record_decoder_new();
	struct record *r;
	int rc = record_parse(&r, "image", image, n);
	uint8_t *raw;
	if (rc == 0) {
		raw = mem_alloc(record_raw_bytes(record_info(r)));
		for (int64_t i = 0; rc == 0 && i < samples; i++)
			rc = record_read(r, d, i, raw);
		mem_free(raw);
		record_free(r);
	}
	record_decoder_free(d);
	return rc;
}

/* The place that a message about byte `at` of the file must name, or "" after the samples. */
static void place_of(const struct record *r, uint64_t at, char text[128])
{
	for (int64_t i = 0; i < record_info(r)->samples; i++)
		for (int64_t k = 0; k < record_chunks(r, i); k++) {
			const struct record_chunk c = record_chunk_get(r, i, k);

			if (at < c.offset || at >= c.offset + c.stored)
				continue;
			snprintf(text, 128, "'image': sample %lld, array '%s', chunk %lld at byte %llu: ",
			         (long long)i, record_array_name(record_info(r), c.array), (long long)c.number,
			         (unsigned long long)c.offset);
			return;
		}
	strcpy(text, "'image': byte ");
}

static void flip(struct buf *file, const struct record *r, size_t bit)
{
	char want[128];
	place_of(r, bit / 8, want);
	file->data[bit / 8] ^= (char)(1 << bit % 8);
	if (read_all(file->data, file->len, record_info(r)->samples) != E_DATA)
		fail_msg("flipped bit %zu went unnoticed", bit);
	if (bit / 8 >= PREAMBLE_BYTES && !strstr(err_get(0)->text, want))
		fail_msg("bit %zu: '%s' does not hold '%s'", bit, err_get(0)->text, want);
	err_clear();
	file->data[bit / 8] ^= (char)(1 << bit % 8);
}

static void count_codecs(const struct record *r, int count[RECORD_CODECS])
{
	for (int64_t i = 0; i < record_info(r)->samples; i++)
		for (int64_t k = 0; k < record_chunks(r, i); k++)
			count[record_chunk_get(r, i, k).codec]++;
}

static void test_every_flip(void **state)
{
	struct buf file = BUF_INIT, copy = BUF_INIT;
	int codecs[RECORD_CODECS] = { 0 };
	struct record *r;
	write_several(3, 1);
	assert_int_equal(io_read_file(path, &file), 0);
	buf_add(&copy, file.data, file.len);
	assert_int_equal(record_parse(&r, "intact", copy.data, copy.len), 0);
	count_codecs(r, codecs);
	for (int k = 0; k < RECORD_CODECS; k++)
		assert_true(codecs[k] > 0);
	for (size_t bit = 0; bit < file.len * 8; bit++)
		flip(&file, r, bit);
	record_free(r);
	buf_release(&file);
	buf_release(&copy);
	unlink(path);
}

static void test_flips_of_a_large_file(void **state)
{
	struct buf file = BUF_INIT, copy = BUF_INIT;
	struct record *r;
	write_several(2, 1 << 11);
	assert_int_equal(io_read_file(path, &file), 0);
	buf_add(&copy, file.data, file.len);
	assert_int_equal(record_parse(&r, "intact", copy.data, copy.len), 0);
	for (uint64_t i = 0; i < 60; i++)
		flip(&file, r, hash_bytes(&i, sizeof i, 7) % (file.len * 8));
	record_free(r);
	buf_release(&file);
	buf_release(&copy);
	unlink(path);
}

/* Two chunks of one content that change places: each hash is bound to its own. */
static void test_swapped(void **state)
{
	const struct record_info info = several();
	struct record_writer *w;
	struct buf file = BUF_INIT;
	struct record_footer f;
	struct sample x;
	uint8_t *p, *end, *a, *b, t[8];
	make(&x, 0, 16, 24);
	io_input_forget(path);
	assert_int_equal(record_create(&w, path, &info, 3), 0);
	for (int s = 0; s < 2; s++)
		assert_int_equal(record_add(w, &(struct record_sample){ .data = x.data }), 0);
	assert_int_equal(record_commit(w), 0);
	assert_int_equal(io_read_file(path, &file), 0);
	assert_int_equal(read_all(file.data, file.len, 2), 0);
	p = (uint8_t *)file.data;
	end = p + file.len - FOOTER_BYTES;
	record_footer_read(end, &f);
	assert_int_equal(f.chunks, 8);
	a = p + f.index + 32;
	b = a + 4 * CHUNK_BYTES;
	memcpy(t, a, 8);
	memcpy(a, b, 8);
	memcpy(b, t, 8);
	f.hash = record_footer_hash(p, p + f.description, (size_t)(end - p) - f.description, end);
	record_footer_put(end, &f);
	assert_int_equal(read_all(file.data, file.len, 2), E_DATA);
	assert_non_null(strstr(err_get(0)->text, "sample 0, array 'input', chunk 0"));
	err_clear();
	drop(&x);
	buf_release(&file);
	unlink(path);
}

static void test_writer_refuses(void **state)
{
	const struct record_info info = several();
	struct record_info bad = info;
	struct record_writer *w;
	struct record_array second = info.extra[0];
	struct sample x;
	make(&x, 0, 16, 24);
	io_input_forget(path);
	assert_int_equal(record_create(&w, path, &info, 3), 0);
	x.shape[0].d[0] = 3;
	assert_int_equal(record_add(w, &(struct record_sample){ .data = x.data, .shape = x.shape }),
	                 E_DATA);
	assert_non_null(strstr(err_get(0)->text, "sample 0: samples with other numbers of channels"));
	err_clear();
	x.shape[0].d[0] = 2;
	x.shape[1].nd = 1;
	x.shape[1].d[0] = 2;
	assert_int_equal(record_add(w, &(struct record_sample){ .data = x.data, .shape = x.shape }),
	                 E_DATA);
	err_clear();
	assert_int_equal(record_add(w, &(struct record_sample){ .data = x.data }), 0);
	assert_int_equal(record_commit(w), 0);
	second.role = RECORD_TARGET;
	bad.nextra = 1;
	bad.extra = &second;
	assert_int_equal(record_create(&w, path, &bad, 3), E_DATA);
	assert_non_null(strstr(err_get(0)->text, "a second input or target"));
	err_clear();
	drop(&x);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_allocates_nothing),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_every_flip),
		cmocka_unit_test(test_flips_of_a_large_file),
		cmocka_unit_test(test_swapped),
		cmocka_unit_test(test_writer_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
