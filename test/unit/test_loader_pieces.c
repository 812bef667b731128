/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Samples of several chunks that threads decode together where a batch has fewer samples than there
 * are threads: the same bits as from one thread, and the same error of a damaged file. */
#include "cases.h"
#include "base/mem.h"
#include "data_fixture.h"

static const char *const path = "test_loader_pieces.tmp.dlx";

enum { SAMPLES = 3, ROWS = 2200, COLUMNS = 1024, MOST_BATCHES = 3000 };

/* Inputs of 9 MB in three chunks, and targets in one. */
static void write_set(void)
{
	const struct record_info info = {
		.input = { DTYPE_F32, { 3, { 1, ROWS, COLUMNS } }, NULL, 0, NULL },
		.target = { DTYPE_F32, { 1, { 2 } }, NULL, 0, NULL },
		.mask = -1, .ignore = RECORD_NO_IGNORE };
	struct record_writer *w;
	float *input = mem_alloc(sizeof(float) * ROWS * COLUMNS);
	io_input_forget(path);
	assert_int_equal(record_create(&w, path, &info, 1), 0);
	for (int s = 0; s < SAMPLES; s++) {
		const float target[2] = { (float)s, 0.5f };
		for (int i = 0; i < ROWS * COLUMNS; i++)
			input[i] = (float)(s * 1000 + i % 977);
		assert_int_equal(record_append(w, input, target), 0);
	}
	assert_int_equal(record_commit(w), 0);
	mem_free(input);
}

static struct loader *open_loader(struct dataset *d, int64_t threads)
{
	const struct data_config c = { .threads = threads, .prefetch = 1, .keep_short_batch = true };
	const struct loader_options o = { .config = &c, .training = true, .batch_size = 1,
		.target_dtype = DTYPE_F32 };
	struct loader *l;
	assert_int_equal(loader_new(&l, d, &o), 0);
	assert_int_equal(loader_threads(l), threads);
	return l;
}

static void test_same_bits(void **state)
{
	struct dataset *d = fixture_open(&path, 1);
	struct loader *one = open_loader(d, 1), *many = open_loader(d, 4);
	const struct batch *a, *b;
	int n = 0;
	/* On a busy machine a thread may be late for all pieces, but not always. */
	for (; n < 2 * SAMPLES || (loader_helped(many) == 0 && n < MOST_BATCHES); n++) {
		assert_int_equal(loader_next(one, &a), 0);
		assert_int_equal(loader_next(many, &b), 0);
		assert_memory_equal(batch_input(a), batch_input(b), sizeof(float) * ROWS * COLUMNS);
		assert_memory_equal(batch_target(a), batch_target(b), sizeof(float) * 2);
		assert_true(((const float *)batch_target(b))[0] == (float)(n % SAMPLES));
	}
	assert_true(n < MOST_BATCHES);
	assert_int_equal(loader_helped(one), 0);
	loader_free(many);
	loader_free(one);
	dataset_free(d);
}

/* What is decoded into the batch is there, whatever is done to it then: as from a chain that reads
 * it elsewhere. */
static void test_in_batch(void **state)
{
	static const char *const yaml[] = { "[{normalize: {method: standard, mean: 3, std: 2}}]",
		"[{normalize: {method: standard, mean: 3, std: 2}}, {roll: {axis: width}}]" };
	struct arena *a = arena_new();
	struct dataset *d = fixture_open(&path, 1);
	for (int k = 0; k < 2; k++) {
		struct data_config c = { .threads = 2, .prefetch = 1, .keep_short_batch = true };
		const struct loader_options o = { .config = &c, .training = true, .batch_size = 1,
			.target_dtype = DTYPE_F32 };
		const struct batch *b;
		struct loader *l;
		assert_int_equal(ytree_parse(a, "t.yaml", yaml[k], &c.transforms), 0);
		assert_int_equal(loader_new(&l, d, &o), 0);
		for (int s = 0; s < 2 * SAMPLES; s++) {
			double sum = 0;
			const float *x;
			assert_int_equal(loader_next(l, &b), 0);
			x = batch_input(b);
			for (int i = 0; i < ROWS * COLUMNS; i++) {
				const float was = (float)(s % SAMPLES * 1000 + i % 977);
				sum += (double)x[i] - (double)((was - 3) * 0.5f);
				if (k == 0 && x[i] != (was - 3) * 0.5f)
					fail_msg("sample %d, element %d: %g", s, i, (double)x[i]);
			}
			assert_true(sum == 0);
		}
		loader_free(l);
	}
	dataset_free(d);
	arena_free(a);
}

/* Of two damaged chunks the first is reported, by however many threads. */
static void test_damage(void **state)
{
	struct record *r;
	char text[2][512];
	assert_int_equal(record_open(&r, path), 0);
	assert_int_equal(record_chunks(r, 1), 4);
	FILE *f = fopen(path, "r+b");
	assert_non_null(f);
	for (int k = 1; k < 3; k++) {
		const struct record_chunk c = record_chunk_get(r, 1, k);
		assert_int_equal(fseek(f, (long)(c.offset + c.stored - 20), SEEK_SET), 0);
		assert_int_equal(fputs("damage", f) >= 0, 1);
	}
	fclose(f);
	record_free(r);
	for (int many = 0; many < 2; many++) {
		struct dataset *d = fixture_open(&path, 1);
		struct loader *l = open_loader(d, many ? 4 : 1);
		const struct batch *b;
		assert_int_equal(loader_next(l, &b), 0);
		assert_int_equal(loader_next(l, &b), E_DATA);
		assert_int_equal(err_count(), 1);
		snprintf(text[many], sizeof *text, "%s", err_get(0)->text);
		expect_error(E_DATA, E_DATA, "sample 1, array 'input', chunk 1 at byte");
		assert_int_equal(loader_next(l, &b), 0);
		loader_free(l);
		dataset_free(d);
	}
	assert_string_equal(text[0], text[1]);
}

static int start(void **state)
{
	write_set();
	return 0;
}

static int stop(void **state)
{
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bits),
		cmocka_unit_test(test_in_batch),
		cmocka_unit_test(test_damage),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
