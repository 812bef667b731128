/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels of records that are neither a class nor ignored are found, with their place. */
#include "cases.h"
#include "base/io.h"
#include "data/labels_stored.h"
#include "data_fixture.h"

/* A label below 0 is counted by no header: the file itself is read. */
static void test_uncounted_labels(void **state)
{
	static const char *const path = "test_labels_stored.tmp.dlx";
	static const struct record_info info = {
		.input = { DTYPE_F32, { 1, { 2 } }, NULL, 0, NULL },
		.target = { DTYPE_I8, { 1, { 2 } }, NULL, 0, NULL },
		.mask = -1,
		.ignore = RECORD_NO_IGNORE,
	};
	const struct label_rule two = { 2, INT64_MIN }, ignoring = { 2, -1 };
	struct record_writer *w;
	struct dataset *d;
	io_input_forget(path);
	assert_int_equal(record_create(&w, path, &info, 1), 0);
	assert_int_equal(record_append(w, (float[]){ 1, 2 }, (int8_t[]){ 0, 1 }), 0);
	assert_int_equal(record_append(w, (float[]){ 1, 2 }, (int8_t[]){ 1, -1 }), 0);
	assert_int_equal(record_commit(w), 0);
	d = fixture_open(&path, 1);
	expect_error(labels_stored_check_all(&two, d), E_DATA,
	             "sample 1: the label -1 at (1) is no class 0..1");
	assert_int_equal(labels_stored_check_all(&ignoring, d), 0);
	dataset_free(d);
	unlink(path);
	fixture_write(path, 4, 0);
	d = fixture_open(&path, 1);
	/* the header says it */
	assert_int_equal(labels_stored_check_all(&(struct label_rule){ 1, 255 }, d), 0);
	dataset_free(d);
	unlink(path);
}

/* Of many labels the first bad one is found wherever it is. */
static void test_bad_label_of_many(void **state)
{
	enum { MANY = 700 };
	static const char *const path = "test_labels_stored_many.tmp.dlx";
	static const struct { enum dtype type; int bytes; } types[] = {
		{ DTYPE_I8, 1 }, { DTYPE_U8, 1 }, { DTYPE_I16, 2 }, { DTYPE_U16, 2 }, { DTYPE_I32, 4 },
		{ DTYPE_I64, 8 },
	};
	for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
		const struct record_info info = {
			.input = { DTYPE_F32, { 1, { 1 } }, NULL, 0, NULL },
			.target = { types[k].type, { 1, { MANY } }, NULL, 0, NULL },
			.mask = -1, .ignore = RECORD_NO_IGNORE,
		};
		const struct label_rule rule = { 3, types[k].type == DTYPE_U8 ? 77 : INT64_MIN };
		char labels[MANY * 8] = { 0 }, where[32];
		struct record_writer *w;
		struct dataset *d;
		io_input_forget(path);
		assert_int_equal(record_create(&w, path, &info, 1), 0);
		assert_int_equal(record_append(w, (float[]){ 1 }, labels), 0);
		assert_int_equal(record_commit(w), 0);
		d = fixture_open(&path, 1);
		for (int i = 0; i < MANY; i++)
			memcpy(labels + i * types[k].bytes, &(int64_t){ i % 3 }, (size_t)types[k].bytes);
		if (types[k].type == DTYPE_U8)
			labels[300] = 77;
		assert_int_equal(labels_stored_check(&rule, d, 0, labels), 0);
		for (int at = MANY - 1; at >= 0; at -= at > 600 ? 13 : 97) {
			memcpy(labels + at * types[k].bytes, &(int64_t){ at % 2 ? 3 : -1 },
			       (size_t)types[k].bytes);
			snprintf(where, sizeof where, "at (%d) is no class", at);
			expect_error(labels_stored_check(&rule, d, 0, labels), E_DATA, where);
		}
		dataset_free(d);
		unlink(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uncounted_labels),
		cmocka_unit_test(test_bad_label_of_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
