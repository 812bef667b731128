/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How chunks of records are coded: byte planes, which way is chosen at which level, and stored
 * bytes that are no chunk. */
#include "cases.h"
#include "base/hash.h"
#include "base/mem.h"
#include "data/record.h"
#include "data/record_codec.h"
#include "data/record_format.h"
#include "data/record_planes.h"

static float noise(int64_t i, int s)
{
	const uint64_t h = hash_bytes(&i, sizeof i, (uint64_t)s);
	return (float)(h >> 40) / 16777216.f;
}

static void test_planes(void **state)
{
	enum { MOST = 8 * 203 };
	uint8_t raw[MOST], planes[MOST], back[MOST];

	for (int i = 0; i < MOST; i++)
		raw[i] = (uint8_t)(i * 7 + i / 64);
	for (size_t width = 2; width <= 8; width *= 2) {
		for (size_t n = 1; n <= MOST / width; n += 13) {
			const uint8_t *plane[PLANES_MOST];

			planes_split(planes, raw, n, width);
			for (size_t k = 0; k < width; k++) {
				plane[k] = planes + k * n;
				assert_int_equal(plane[k][n - 1], raw[(n - 1) * width + k]);
			}
			memset(back, 0, sizeof back);
			planes_merge(back, plane, n, width);
			assert_memory_equal(back, raw, n * width);
		}
	}
}

static const char *decode(struct codec_reader *r, const struct record_chunk *c, size_t width,
                          const uint8_t *stored, uint8_t *raw)
{
	struct record_sink sink = { .out = raw, .strip = 4096 };
	return codec_decode(r, c, width, stored, &sink);
}

/* At level 1 a plane that becomes half of its size is stored as it is, at others not. */
static void test_fast_level(void **state)
{
	enum { N = 16384 };
	float *values = mem_alloc(N * sizeof *values);
	struct codec_reader r;
	uint64_t planes[2][4];
	codec_reader_open(&r);
	for (int i = 0; i < N; i++)
		values[i] = 300 + 40 * noise(i, 1);
	for (int k = 0; k < 2; k++) {
		struct record_chunk c = { .raw = N * sizeof *values };
		struct record_sink sink = { .strip = c.raw, .out = mem_alloc(c.raw) };
		struct codec_writer w;
		assert_int_equal(codec_writer_open(&w, k ? 1 : 3), 0);
		const uint8_t *coded = codec_encode(&w, (uint8_t *)values, c.raw, 4, &c);
		assert_int_equal(c.codec, RECORD_PLANES);
		memcpy(planes[k], coded, sizeof planes[k]);
		assert_null(codec_decode(&r, &c, 4, coded, &sink));
		assert_memory_equal(sink.out, values, c.raw);
		codec_writer_release(&w);
		mem_free(sink.out);
	}
	assert_true(planes[0][2] > N / 3 && planes[0][2] < 3 * N / 4);
	assert_int_equal(planes[1][2], N);
	assert_true(planes[1][3] < N / 3);
	codec_reader_release(&r);
	mem_free(values);
}

/* At level 0 everything is stored as it is, even zeros. */
static void test_no_compression(void **state)
{
	static const uint8_t zeros[4096];
	struct record_chunk c = { .raw = sizeof zeros };
	struct codec_writer w;
	assert_int_equal(codec_writer_open(&w, 0), 0);
	for (size_t width = 1; width <= 8; width *= 2) {
		assert_ptr_equal(codec_encode(&w, zeros, sizeof zeros, width, &c), zeros);
		assert_int_equal(c.codec, RECORD_RAW);
		assert_int_equal(c.stored, sizeof zeros);
	}
	codec_writer_release(&w);
}

/* How bytes are stored at a level, and as a frame of zstd's alone. */
static uint64_t stored_at(const uint8_t *raw, size_t n, int level, bool plainly)
{
	const struct codec_settings plain = { .level = level, .plane_level = level, .least_gain = 8 };
	struct record_chunk c = { .raw = n };
	struct codec_writer w;
	if (plainly)
		assert_int_equal(codec_writer_open_with(&w, &plain), 0);
	else
		assert_int_equal(codec_writer_open(&w, level), 0);
	assert_non_null(codec_encode(&w, raw, n, 1, &c));
	assert_int_equal(c.codec, RECORD_ZSTD);
	codec_writer_release(&w);
	return c.stored;
}

/* Bytes with noise, of which level 3 saves no more, are coded at level 1; bytes that return, which
 * it finds from farther away, are not, and nor is anything at a level that was meant. */
static void test_quick_level(void **state)
{
	enum { N = 3 << 20, PERIOD = 1 << 20 };
	uint8_t *noisy = mem_alloc(N), *again = mem_alloc(N);
	for (int i = 0; i < N; i++) {
		noisy[i] = (uint8_t)(128 + 20 * noise(i, 1) + 10 * noise(i, 2));
		again[i] = noisy[i % PERIOD];
	}
	assert_true(stored_at(noisy, N, 3, false) == stored_at(noisy, N, 1, true));
	assert_true(stored_at(noisy, N, 3, true) != stored_at(noisy, N, 1, true));
	assert_true(stored_at(again, N, 3, false) == stored_at(again, N, 3, true));
	assert_true(stored_at(again, N, 3, true) < stored_at(again, N, 1, true) / 2);
	assert_true(stored_at(noisy, N, 5, false) == stored_at(noisy, N, 5, true));
	mem_free(again);
	mem_free(noisy);
}

/* Of a chunk that is large enough for a sample, the way that a sample alone would not find: noise
 * that returns after a megabyte. The same bytes have the same code after any other chunk. */
static void test_sampled(void **state)
{
	enum { N = 1 << 20, PERIOD = 1 << 18 };
	static const struct { bool again; uint64_t most; } want[] = {
		{ false, N * 4ull * 3 / 4 }, { true, N * 4ull / 3 },
	};
	float *values = mem_alloc(N * sizeof *values);
	struct codec_writer w;
	struct codec_reader r;
	struct record_chunk c = { .raw = N * sizeof *values };
	struct record_sink sink = { .strip = c.raw, .out = mem_alloc(c.raw) };
	uint64_t stored[2];
	assert_int_equal(codec_writer_open(&w, 3), 0);
	codec_reader_open(&r);
	for (int k = 0; k < 4; k++) {
		for (int i = 0; i < N; i++)
			values[i] = 300 + 40 * noise(want[k % 2].again ? i % PERIOD : i, 1);
		const uint8_t *coded = codec_encode(&w, (uint8_t *)values, c.raw, 4, &c);
		assert_true(c.codec != RECORD_RAW);
		assert_true(c.stored < want[k % 2].most);
		assert_true(k < 2 || c.stored == stored[k % 2]);
		stored[k % 2] = c.stored;
		sink.at = 0;
		assert_null(codec_decode(&r, &c, 4, coded, &sink));
		assert_memory_equal(sink.out, values, c.raw);
	}
	codec_reader_release(&r);
	codec_writer_release(&w);
	mem_free(sink.out);
	mem_free(values);
}

/* Stored bytes that are no chunk are refused, whatever they say. */
static void test_false_planes(void **state)
{
	struct codec_writer w;
	struct codec_reader r;
	struct record_chunk c = { .raw = 4096 }, bad;
	float values[1024];
	uint8_t raw[4096], *stored;
	for (int i = 0; i < 1024; i++)
		values[i] = 300 + noise(i, 1);
	assert_int_equal(codec_writer_open(&w, 3), 0);
	codec_reader_open(&r);
	const uint8_t *coded = codec_encode(&w, (uint8_t *)values, 4096, 4, &c);
	assert_int_equal(c.codec, RECORD_PLANES);
	stored = mem_alloc(c.stored);
	memcpy(stored, coded, c.stored);
	assert_null(decode(&r, &c, 4, stored, raw));
	assert_memory_equal(raw, values, sizeof raw);
	for (int k = 0; k < 4; k++) {
		static const uint64_t sizes[] = { 0, 1, 1023, 1025, UINT64_MAX, (uint64_t)1 << 63 };
		const uint64_t good = get_u64(stored + 8 * k);

		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			put_u64(stored + 8 * k, sizes[i]);
			assert_non_null(decode(&r, &c, 4, stored, raw));
		}
		put_u64(stored + 8 * k, good);
	}
	for (uint64_t n = 0; n < c.stored; n += n < 64 ? 1 : 97) {
		uint8_t *exact = mem_alloc(n);    /* so that the sanitizer sees a read past the end */

		memcpy(exact, stored, n);
		bad = c;
		bad.stored = n;
		assert_non_null(decode(&r, &bad, 4, exact, raw));
		mem_free(exact);
	}
	bad = c;
	bad.codec = RECORD_ZSTD;
	assert_non_null(decode(&r, &bad, 4, stored, raw));
	bad.codec = 77;
	assert_non_null(decode(&r, &bad, 4, stored, raw));
	assert_non_null(decode(&r, &c, 1, stored, raw));
	mem_free(stored);
	codec_reader_release(&r);
	codec_writer_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_planes),
		cmocka_unit_test(test_fast_level),
		cmocka_unit_test(test_no_compression),
		cmocka_unit_test(test_quick_level),
		cmocka_unit_test(test_sampled),
		cmocka_unit_test(test_false_planes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
