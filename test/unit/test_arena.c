/* SPDX-License-Identifier: BSD-3-Clause
 *
 * arena.h and mem.h: objects are zeroed, aligned and apart; maps are aligned and counted; faults
 * hit. */
#include "cases.h"
#include "base/arena.h"
#include "base/debug.h"
#include "base/mem.h"

#define N 2000

static void objects_do_not_overlap(void **state)
{
	struct arena *a = arena_new();
	unsigned char *p[N];
	size_t size[N], sum = 0;
	for (int i = 0; i < N; i++) {
		size[i] = (size_t)(i * 7919 % 613) * (i % 97 == 0 ? 200 : 1);
		p[i] = arena_alloc(a, size[i]);
		sum += size[i];
		assert_int_equal((uintptr_t)p[i] % 16, 0);
		for (size_t k = 0; k < size[i]; k++)
			assert_int_equal(p[i][k], 0);
		memset(p[i], i & 0xFF, size[i]);
	}
	for (int i = 0; i < N; i++)
		for (size_t k = 0; k < size[i]; k++)
			assert_int_equal(p[i][k], i & 0xFF);
	assert_int_equal(arena_bytes(a), sum);
	arena_free(a);
	arena_free(NULL);
}

static void strings(void **state)
{
	struct arena *a = arena_new();
	char *big = arena_printf(a, "%0*d", 100000, 7);
	assert_string_equal(arena_strdup(a, "layer"), "layer");
	assert_string_equal(arena_printf(a, "%s/%d", "conv", 3), "conv/3");
	assert_int_equal(strlen(big), 100000);
	assert_memory_equal(arena_copy(a, "a\0b", 3), "a\0b", 3);
	arena_free(a);
}

static void a_map(void **state)
{
	size_t sizes[] = { 0, 1, 4096, (2u << 20) - 1, 2u << 20, (5u << 20) + 3 };
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t n = sizes[i];
		uint64_t before = mem_count();
		unsigned char *p = mem_map(n);
		assert_non_null(p);
		assert_int_equal(mem_count(), before + 1);
		assert_int_equal((uintptr_t)p % (n >= 2u << 20 ? 2u << 20 : 64), 0);
		if (n) {
			assert_int_equal(p[0] + p[n / 2] + p[n - 1], 0);
			p[0] = p[n - 1] = 1;
		}
		mem_unmap(p, n);
	}
	mem_unmap(NULL, 5);
	assert_null(mem_map(SIZE_MAX));
	assert_null(mem_map(SIZE_MAX / 4));
	assert_true(mem_peak_resident() > 100000);
}

/* A little more than a huge page takes a little more, not a second one. */
static void maps_are_close(void **state)
{
	enum { MAPS = 48 };
	const size_t n = (2u << 20) + 5000;
	const uint64_t before = mem_peak_resident();
	void *p[MAPS];

	for (int i = 0; i < MAPS; i++) {
		p[i] = mem_map(n);
		assert_non_null(p[i]);
		memset(p[i], 1, n);
	}
	assert_true(mem_peak_resident() - before < MAPS * (3u << 20));
	for (int i = 0; i < MAPS; i++)
		mem_unmap(p[i], n);
}

static void a_map_can_fail(void **state)
{
	void *p;
	assert_int_equal(debug_parse("fault=write:1,fault=alloc:1+"), 0);
	assert_null(mem_map(100));
	assert_int_equal(debug_parse("fault=alloc:1"), 0);   /* the first was long ago */
	p = mem_map(100);
	assert_non_null(p);
	mem_unmap(p, 100);
	debug_parse(NULL);
}

static void counts(void **state)
{
	uint64_t before = mem_count();
	void *p = mem_alloc(10), *q = mem_calloc(3, 4);
	p = mem_realloc(p, 100);
	assert_int_equal(mem_count(), before + 3);
	mem_free(p);
	mem_free(q);
	mem_free(NULL);
	assert_int_equal(mem_count(), before + 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_do_not_overlap),
		cmocka_unit_test(strings),
		cmocka_unit_test(a_map),
		cmocka_unit_test(maps_are_close),
		cmocka_unit_test(a_map_can_fail),
		cmocka_unit_test(counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
