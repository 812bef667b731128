/* SPDX-License-Identifier: BSD-3-Clause
 *
 * types.h: names, sizes, conversion between every pair of types, shapes. */
#include <math.h>

#include "cases.h"
#include "base/types.h"

static void names(void **state)
{
	for (int t = 0; t < DTYPE_COUNT; t++)
		assert_int_equal(dtype_find(dtype_name((enum dtype)t)), t);
	assert_int_equal(dtype_find("f8"), -1);
	assert_string_equal(dtype_name((enum dtype)99), "?");
	assert_int_equal(dtype_size(DTYPE_BF16), 2);
	assert_int_equal(dtype_size(DTYPE_I64), 8);
	assert_true(dtype_is_float(DTYPE_F16) && !dtype_is_float(DTYPE_U8));
}

static double through(enum dtype t, double v)
{
	char element[8];
	dtype_set(t, element, 0, v);
	return dtype_get(t, element, 0);
}

static void integers_round_and_saturate(void **state)
{
	assert_true(through(DTYPE_U8, 2.5) == 2 && through(DTYPE_U8, 3.5) == 4);
	assert_true(through(DTYPE_U8, -7) == 0 && through(DTYPE_U8, 300) == 255);
	assert_true(through(DTYPE_I8, -200) == -128 && through(DTYPE_I8, 127.6) == 127);
	assert_true(through(DTYPE_I16, 1e9) == 32767 && through(DTYPE_U16, 1e9) == 65535);
	assert_true(through(DTYPE_I32, -1e300) == INT32_MIN &&
	            through(DTYPE_I32, INFINITY) == INT32_MAX);
	assert_true(through(DTYPE_I64, 1e300) == 0x1p63 && through(DTYPE_I64, -1e300) == -0x1p63);
	assert_true(through(DTYPE_I64, -5.4) == -5 && through(DTYPE_I64, 0x1p53) == 0x1p53);
	for (int t = DTYPE_I8; t < DTYPE_COUNT; t++)
		assert_true(through((enum dtype)t, NAN) == 0);
}

static void floats(void **state)
{
	assert_true(through(DTYPE_F32, 0.1) == (double)0.1f);
	assert_true(through(DTYPE_F64, 0.1) == 0.1);
	assert_true(through(DTYPE_F16, 1 + 0x1p-10) == 1 + 0x1p-10 && isinf(through(DTYPE_F16, 1e6)));
	assert_true(through(DTYPE_BF16, 1 + 0x1p-7) == 1 + 0x1p-7);
	assert_true(isnan(through(DTYPE_F16, NAN)) && isnan(through(DTYPE_BF16, NAN)));
}

/* Every pair, more elements than one block, at an odd address. */
static void conversion(void **state)
{
	enum { N = 700 };
	char src[N * 8 + 1], dst[N * 8 + 1];

	for (int ts = 0; ts < DTYPE_COUNT; ts++) {
		for (int i = 0; i < N; i++)
			dtype_set((enum dtype)ts, src + 1, i, i % 120);
		for (int td = 0; td < DTYPE_COUNT; td++) {
			memset(dst, 0x5A, sizeof dst);
			dtype_convert((enum dtype)td, dst + 1, (enum dtype)ts, src + 1, N);
			for (int i = 0; i < N; i++)
				assert_true(dtype_get((enum dtype)td, dst + 1, i) == i % 120);
			if (dtype_size((enum dtype)td) < 8)
				assert_int_equal(dst[1 + N * dtype_size((enum dtype)td)], 0x5A);
		}
	}
}

static void large_i64_are_copied(void **state)
{
	int64_t in[2] = { INT64_MAX - 1, INT64_MIN + 1 }, out[2];
	dtype_convert(DTYPE_I64, out, DTYPE_I64, in, 2);
	assert_memory_equal(in, out, sizeof in);
}

static void shapes(void **state)
{
	struct shape s = shape_of(4, (int64_t[]){ 4, 3, 90, 180 }), zero = shape_of(0, NULL), t = s;
	struct shape huge = shape_of(3, (int64_t[]){ INT64_MAX, 2, 1 }), empty = huge;
	char text[SHAPE_TEXT];
	assert_string_equal(shape_text(&s, text), "4x3x90x180");
	assert_string_equal(shape_text(&zero, text), "scalar");
	assert_int_equal(shape_count(&s), 4 * 3 * 90 * 180);
	assert_int_equal(shape_count(&zero), 1);
	assert_int_equal(shape_count(&huge), INT64_MAX);
	empty.d[2] = 0;
	assert_int_equal(shape_count(&empty), 0);
	assert_true(shape_equal(&s, &t));
	t.d[3]++;
	assert_false(shape_equal(&s, &t));
	assert_false(shape_equal(&s, &zero));
	for (int i = 0; i < MAXD; i++)
		huge.d[i] = INT64_MIN;
	huge.nd = MAXD;
	assert_true(strlen(shape_text(&huge, text)) < SHAPE_TEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(integers_round_and_saturate),
		cmocka_unit_test(floats),
		cmocka_unit_test(conversion),
		cmocka_unit_test(large_i64_are_copied),
		cmocka_unit_test(shapes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
