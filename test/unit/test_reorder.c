/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The turn between row-major and channels-last that reorder uses where a sample is too large for
 * oneDNN: against its definition, at sizes around its tiles. */
#include "cases.h"
#include "base/mem.h"
#include "op/reorder.h"

static void check(int64_t n, int64_t c, int64_t s)
{
	size_t count = (size_t)(n * c * s);
	uint32_t *x = mem_alloc(4 * count), *y = mem_alloc(4 * count), *z = mem_alloc(4 * count);
	for (size_t i = 0; i < count; i++)
		x[i] = (uint32_t)i;
	memset(z, 0xff, 4 * count);
	reorder_transpose(x, y, n, c, s, false);
	for (int64_t b = 0; b < n; b++)
		for (int64_t j = 0; j < c; j++)
			for (int64_t p = 0; p < s; p++)
				if (y[(b * s + p) * c + j] != x[(b * c + j) * s + p])
					fail_msg("%d x %d x %d: differs at %d, %d, %d", (int)n, (int)c, (int)s, (int)b,
					         (int)j, (int)p);
	reorder_transpose(y, z, n, c, s, true);
	assert_memory_equal(x, z, 4 * count);
	mem_free(x);
	mem_free(y);
	mem_free(z);
}

static void test_transpose(void **state)
{
	static const int64_t size[] = { 1, 2, 15, 16, 17, 100 };
	for (size_t i = 0; i < sizeof size / sizeof *size; i++)
		for (int64_t c = 1; c <= 33; c += c < 5 ? 1 : 14)
			check(1 + (int64_t)i % 3, c, size[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_transpose) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
