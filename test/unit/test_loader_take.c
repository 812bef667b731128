/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values that are converted and scaled while they are decoded: the bits of separate steps, for each
 * stored type, for arrays that are written through the caches and past them, of one chunk and of
 * several, with channels that begin at any address. */
#include "cases.h"
#include "base/mem.h"
#include "data_fixture.h"

static const char *const path = "test_loader_take.tmp.dlx";

enum { SAMPLES = 2, CHANNELS = 3, MOST_THREADS = 3 };

static const struct {
	int rows, columns;
	bool noise;                  /* in unsigned types, which are then stored as they are */
} forms[] = {
	{ 5, 7, false }, { 5, 7, true },
	{ 593, 661, false },         /* 4.7 MB of floats, an odd number a channel */
	{ 1187, 991, false },        /* several chunks of most types */
	{ 1187, 991, true },
};
#define FORMS ((int)(sizeof forms / sizeof *forms))

static const enum dtype types[] = { DTYPE_F32, DTYPE_F64, DTYPE_F16, DTYPE_BF16, DTYPE_I8, DTYPE_U8,
	DTYPE_I16, DTYPE_U16, DTYPE_I32 };
#define TYPES ((int)(sizeof types / sizeof *types))

static bool is_noise(int form, enum dtype type)
{
	return forms[form].noise && (type == DTYPE_U8 || type == DTYPE_U16);
}

/* Which all types can have. */
static double value(int form, enum dtype type, int s, int64_t i)
{
	uint64_t x = (uint64_t)(i * SAMPLES + s + 1) * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return is_noise(form, type) ? (double)(x >> 32 & (type == DTYPE_U8 ? 0xff : 0xffff))
	                            : (double)((i * 31 + s * 17) % 113);
}

static void write_set(int form, enum dtype type)
{
	const int64_t n = (int64_t)CHANNELS * forms[form].rows * forms[form].columns;
	const struct record_info info = {
		.input = { type, { 3, { CHANNELS, forms[form].rows, forms[form].columns } }, NULL, 0,
		           NULL },
		.target = { DTYPE_F32, { 1, { 1 } }, NULL, 0, NULL },
		.mask = -1, .ignore = RECORD_NO_IGNORE };
	struct record_writer *w;
	char *input = mem_alloc((size_t)n * dtype_size(type));
	io_input_forget(path);
	assert_int_equal(record_create(&w, path, &info, 1), 0);
	for (int s = 0; s < SAMPLES; s++) {
		const float target = (float)s;
		for (int64_t i = 0; i < n; i++)
			dtype_set(type, input, i, value(form, type, s, i));
		assert_int_equal(record_append(w, input, &target), 0);
	}
	assert_int_equal(record_commit(w), 0);
	mem_free(input);
}

static void check_codec(int form, enum dtype type)
{
	struct record *r;
	assert_int_equal(record_open(&r, path), 0);
	const bool raw = record_chunk_get(r, 0, 0).codec == RECORD_RAW;
	if (forms[form].rows > 5 && raw != is_noise(form, type))
		fail_msg("%s, form %d: codec", dtype_name(type), form);
	record_free(r);
}

static struct loader *open_loader(struct arena *a, struct dataset *d, const char *yaml, int threads)
{
	struct data_config c = { .threads = threads, .prefetch = 1, .keep_short_batch = true };
	const struct loader_options o = { .config = &c, .batch_size = 1, .target_dtype = DTYPE_F32 };
	struct loader *l;
	assert_int_equal(ytree_parse(a, "t.yaml", yaml, &c.transforms), 0);
	assert_int_equal(loader_new(&l, d, &o), 0);
	return l;
}

#define SCALED "{normalize: {method: standard, mask: null, channels: [0, 2], " \
	"mean: [3, 50.3], std: [2.7, 11]}}"

/* A crop to the whole extent changes nothing, but makes the scaling a step of its own. */
static void compare(struct arena *a, int form, enum dtype type)
{
	const int64_t points = (int64_t)forms[form].rows * forms[form].columns, n = CHANNELS * points;
	struct dataset *d = fixture_open(&path, 1);
	const char *apart = arena_printf(a, "[{crop: {size: [%d, %d]}}, " SCALED "]", forms[form].rows,
	                                 forms[form].columns);
	struct loader *plain = open_loader(a, d, "[]", 1), *later = open_loader(a, d, apart, 1);
	const int threads = 1 + (form + (int)type) % MOST_THREADS;
	struct loader *scaled = open_loader(a, d, "[" SCALED "]", threads);
	const struct batch *x, *y, *z;
	for (int s = 0; s < 2 * SAMPLES; s++) {
		assert_int_equal(loader_next(plain, &x), 0);
		assert_int_equal(loader_next(later, &y), 0);
		assert_int_equal(loader_next(scaled, &z), 0);
		for (int64_t i = 0; i < n; i++)
			if (((const float *)batch_input(x))[i] != (float)value(form, type, s % SAMPLES, i))
				fail_msg("%s, form %d, sample %d: element %lld is %g", dtype_name(type), form, s,
				         (long long)i, (double)((const float *)batch_input(x))[i]);
		assert_memory_equal(batch_input(y), batch_input(z), sizeof(float) * (size_t)n);
		assert_memory_equal((const float *)batch_input(x) + points,
		                    (const float *)batch_input(z) + points, sizeof(float) * (size_t)points);
		assert_memory_not_equal(batch_input(x), batch_input(z), sizeof(float) * (size_t)points);
	}
	loader_free(scaled);
	loader_free(later);
	loader_free(plain);
	dataset_free(d);
}

static void test_bits(void **state)
{
	struct arena *a = arena_new();
	for (int form = 0; form < FORMS; form++)
		for (int t = 0; t < TYPES; t++) {
			if (forms[form].noise && !is_noise(form, types[t]))
				continue;              /* the form without noise has the same values */
			write_set(form, types[t]);
			check_codec(form, types[t]);
			compare(a, form, types[t]);
		}
	unlink(path);
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_bits) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
