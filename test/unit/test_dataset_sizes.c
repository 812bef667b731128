/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets whose records have samples of several sizes each: a size is a sample's, whatever file it is
 * in. */
#include "cases.h"
#include "data_fixture.h"

#define LARGE (9 * 12)

static const char *const paths[] = { "test_dataset_sizes_a.tmp.dlx",
	"test_dataset_sizes_b.tmp.dlx" };

/* Samples first to first + 3, of 5 x 6 where that is even, else 9 x 12: values 1000 s + i. */
static void write_alternating(const char *path, int first)
{
	const struct record_info info = {
		.input = { DTYPE_F32, { 3, { 1, 5, 6 } }, NULL, 0, NULL },
		.target = {DTYPE_U8, {2, {5, 6}}, NULL, 0, NULL}, .mask = -1, .ignore = RECORD_NO_IGNORE,
	};
	struct record_writer *out;
	float input[LARGE];
	uint8_t target[LARGE];
	io_input_forget(path);
	assert_int_equal(record_create(&out, path, &info, 1), 0);
	for (int s = first; s < first + 4; s++) {
		const int64_t h = s % 2 ? 9 : 5, w = s % 2 ? 12 : 6;
		const struct shape shape[2] = { { 3, { 1, h, w } }, { 2, { h, w } } };

		for (int i = 0; i < LARGE; i++) {
			input[i] = (float)(1000 * s + i);
			target[i] = (uint8_t)(s % 2);
		}
		assert_int_equal(record_add(out, &(struct record_sample){
			.data = (const void *const[]){ input, target }, .shape = shape }), 0);
	}
	assert_int_equal(record_commit(out), 0);
}

static void test_sizes(void **state)
{
	struct data_config c = { .keep_short_batch = true, .threads = 2, .prefetch = 1 };
	struct loader_options o = { .config = &c, .batch_size = 8, .target_dtype = DTYPE_I32,
		.only_size = 2 };
	const struct batch *b;
	struct dataset *d;
	struct loader *l;
	int64_t counts[2];
	float input[LARGE];
	uint8_t target[LARGE];
	write_alternating(paths[0], 0);
	write_alternating(paths[1], 4);
	d = fixture_open(paths, 2);
	assert_int_equal(dataset_sizes(d), 2);
	assert_int_equal(dataset_info(d)->samples, 8);
	assert_int_equal(dataset_info_of(d, 1)->input.d[2], 12);
	for (int s = 0; s < 8; s++) {
		assert_int_equal(dataset_size_of(d, s), s % 2);
		assert_int_equal(dataset_read(d, s, input, target), 0);
		assert_true(input[29] == (float)(1000 * s + 29));
		assert_int_equal(target[29], s % 2);
	}
	assert_int_equal(dataset_class_counts(d, 2, counts), 0);
	assert_int_equal(counts[0], 4 * 30);
	assert_int_equal(counts[1], 4 * LARGE);
	assert_int_equal(loader_new(&l, d, &o), 0);
	assert_int_equal(loader_samples(l), 4);
	assert_int_equal(loader_next(l, &b), 0);
	for (int i = 0; i < 4; i++)
		assert_true(((const float *)batch_input(b))[LARGE * i] == (float)(1000 * (2 * i + 1)));
	loader_free(l);
	dataset_free(d);
	unlink(paths[0]);
	unlink(paths[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
