/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wisdom: what is added is found, by all three keys; text comes back as it was; damaged text is
 * refused with its line. */
#include "cases.h"
#include "backend/wisdom.h"
#include "base/err.h"

static void found_by_all_keys(void **state)
{
	struct wisdom *w = wisdom_new();
	(void)state;
	for (int i = 0; i < 200; i++) {
		char problem[16], engine[16];
		snprintf(problem, sizeof problem, "p%d", i * 37 % 200);
		snprintf(engine, sizeof engine, "a%d", i * 37 % 200);
		wisdom_add(w, problem, "gpu", "lib-1", engine, i);
	}
	wisdom_add(w, "p7", "gpu", "lib-2", "other", 1);
	wisdom_add(w, "p7", "gpu b", "lib-1", "another", 1);
	assert_string_equal(wisdom_find(w, "p7", "gpu", "lib-1"), "a7");
	assert_string_equal(wisdom_find(w, "p199", "gpu", "lib-1"), "a199");
	assert_string_equal(wisdom_find(w, "p7", "gpu", "lib-2"), "other");
	assert_string_equal(wisdom_find(w, "p7", "gpu b", "lib-1"), "another");
	assert_null(wisdom_find(w, "p200", "gpu", "lib-1"));
	assert_null(wisdom_find(NULL, "p7", "gpu", "lib-1"));
	wisdom_add(w, "p7", "gpu", "lib-1", "newer", 1);
	assert_string_equal(wisdom_find(w, "p7", "gpu", "lib-1"), "newer");
	assert_int_equal(w->n, 202);
	wisdom_free(w);
}

static void text_comes_back(void **state)
{
	struct wisdom *w = wisdom_new(), *v = wisdom_new();
	struct buf a = BUF_INIT, b = BUF_INIT;
	(void)state;
	wisdom_add(w, "conv b", "gpu", "lib", "a1:eng2", 12.5);
	wisdom_add(w, "conv a", "gpu", "lib", "f0:eng3", 3);
	wisdom_print(w, &a);
	assert_int_equal(wisdom_parse(v, a.data, "text"), 0);
	assert_false(v->changed);
	wisdom_print(v, &b);
	assert_string_equal(a.data, b.data);
	assert_non_null(strstr(a.data, "conv a\tgpu\tlib\tf0:eng3\t3\nconv b"));
	buf_release(&a);
	buf_release(&b);
	wisdom_free(w);
	wisdom_free(v);
}

static void damaged_text(void **state)
{
	static const char *const bad[] = { "a\tb\tc\td\tx\n", "# fine\na\tb\tc\td\n", "a\tb\t\td\t1\n",
		"a\tb\tc\td\t-1", "a\tb\tc\td\t1\n\n\nnonsense", "a\tb\tc\td\t1 2" };
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct wisdom *w = wisdom_new();
		assert_int_equal(wisdom_parse(w, bad[i], "file"), E_DATA);
		assert_non_null(strstr(err_get(0)->text, "wisdom"));
		err_clear();
		wisdom_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_by_all_keys),
		cmocka_unit_test(text_comes_back),
		cmocka_unit_test(damaged_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
