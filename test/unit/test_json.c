/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The JSON reader: what it accepts, what it gives back, and the byte it names when it refuses. */
#include "cases.h"
#include "base/err.h"
#include "base/json.h"

/* In memory of the exact size, so that sanitizers see a read beyond it. */
static int parse(struct json **out, struct arena *a, const char *text)
{
	size_t n = strlen(text);
	char *copy = malloc(n ? n : 1);
	int rc;
	memcpy(copy, text, n);
	rc = json_parse(out, a, "x.json", 8, copy, n);
	free(copy);
	return rc;
}

static void test_values(void **unused)
{
	struct arena *a = arena_new();
	struct json *v;
	uint64_t u;
	int64_t i;
	double d;
	assert_int_equal(parse(&v, a, " {\"a\": [1, -2.5e3, true, false, null], \"\" : {}} \n"), 0);
	assert_int_equal(v->kind, JSON_OBJECT);
	assert_int_equal(v->n, 2);
	assert_int_equal(v->at, 9);
	assert_string_equal(v->item[1]->key, "");
	assert_int_equal(v->item[1]->kind, JSON_OBJECT);
	assert_int_equal(v->item[1]->n, 0);
	v = (struct json *)(uintptr_t)json_find(v, "a");
	assert_int_equal(v->n, 5);
	assert_true(json_uint(v->item[0], &u) && u == 1);
	assert_true(json_double(v->item[1], &d) && d == -2500);
	assert_false(json_uint(v->item[1], &u));
	assert_false(json_int(v->item[1], &i));
	assert_int_equal(v->item[2]->kind, JSON_TRUE);
	assert_int_equal(v->item[3]->kind, JSON_FALSE);
	assert_int_equal(v->item[4]->kind, JSON_NULL);
	assert_null(json_find(v, "a"));
	arena_free(a);
}

static void test_integers(void **unused)
{
	struct arena *a = arena_new();
	struct json *v;
	uint64_t u;
	int64_t i;
	assert_int_equal(parse(&v, a, "[18446744073709551615, 18446744073709551616, "
	                       "-9223372036854775808, 9223372036854775808, \"1\"]"), 0);
	assert_true(json_uint(v->item[0], &u) && u == UINT64_MAX);
	assert_false(json_uint(v->item[1], &u));
	assert_false(json_uint(v->item[2], &u));
	assert_true(json_int(v->item[2], &i) && i == INT64_MIN);
	assert_false(json_int(v->item[3], &i));
	assert_false(json_uint(v->item[4], &u));
	arena_free(a);
}

static void test_strings(void **unused)
{
	static const struct {
		const char *json, *want;
	} cases[] = {
		{ "\"\"", "" },
		{ "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "a\"\\/\b\f\n\r\t" },
		{ "\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac" },
		{ "\"\\ud834\\udd1e\"", "\xf0\x9d\x84\x9e" },
		{ "\"\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e\"", "\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e" },
	};
	struct arena *a = arena_new();
	struct json *v;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(parse(&v, a, cases[i].json), 0);
		assert_string_equal(v->text, cases[i].want);
	}
	arena_free(a);
}

static void test_refused(void **unused)
{
	static const struct {
		const char *json, *says;
	} cases[] = {
		{ "", "byte 8: ends where" },
		{ " ", "byte 9: ends where" },
		{ "{", "byte 9: expected a name" },
		{ "{\"a\"}", "byte 12: expected ':'" },
		{ "{\"a\":1,}", "byte 15: expected a name" },
		{ "{\"a\":1", "byte 14: expected ',' or '}'" },
		{ "{a:1}", "byte 9: expected a name" },
		{ "[1,]", "byte 11: expected a value" },
		{ "[1 2]", "byte 11: expected ',' or ']'" },
		{ "[1}", "byte 10: expected ',' or ']'" },
		{ "1 2", "byte 10: text after" },
		{ "01", "byte 8: a number with a leading zero" },
		{ "-", "byte 9: expected a digit" },
		{ "1.", "byte 10: expected a digit" },
		{ "1e", "byte 10: expected a digit" },
		{ "+1", "byte 8: expected a value" },
		{ ".5", "byte 8: expected a value" },
		{ "NaN", "byte 8: expected a value" },
		{ "nul", "byte 8: expected a value" },
		{ "True", "byte 8: expected a value" },
		{ "\"a", "byte 8: a string without an end" },
		{ "\"a\\\"", "byte 8: a string without an end" },
		{ "\"a\\", "byte 8: a string without an end" },
		{ "\"\\x\"", "byte 10: unknown escape" },
		{ "\"\\u12\"", "byte 13: expected four hexadecimal" },
		{ "\"\\u0000\"", "byte 11: U+0000" },
		{ "\"\\ud800\"", "byte 11: half of a surrogate" },
		{ "\"\\udc00\"", "byte 11: half of a surrogate" },
		{ "\"\\ud800\\u0041\"", "byte 11: half of a surrogate" },
		{ "\"\n\"", "byte 9: a control character" },
		{ "\"\xff\"", "byte 9: a string that is not UTF-8" },
		{ "\"\xc0\x80\"", "byte 9: a string that is not UTF-8" },
		{ "\"\xe2\x82\"", "byte 9: a string that is not UTF-8" },
		{ "\"\xed\xa0\x80\"", "byte 9: a string that is not UTF-8" },
		{ "\"\xf5\x80\x80\x80\"", "byte 9: a string that is not UTF-8" },
		{ "{\"b\":1,\"a\":2,\"b\":3}", "byte 25: the name 'b' stands twice" },
		{ "{\"a\":{\"x\":1,\"\\u0078\":2}}", "the name 'x' stands twice" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct arena *a = arena_new();
		struct json *v;
		assert_int_equal(parse(&v, a, cases[i].json), E_DATA);
		assert_int_equal(err_count(), 1);
		if (!strstr(err_get(0)->text, cases[i].says))
			fail_msg("'%s' says '%s'", cases[i].json, err_get(0)->text);
		assert_non_null(strstr(err_get(0)->text, "'x.json'"));
		err_clear();
		arena_free(a);
	}
}

static void test_depth(void **unused)
{
	char text[2 * (JSON_DEPTH + 1) + 1] = "";
	struct arena *a = arena_new();
	struct json *v;
	memset(text, '[', JSON_DEPTH);
	memset(text + JSON_DEPTH, ']', JSON_DEPTH);
	assert_int_equal(parse(&v, a, text), 0);
	memset(text, '[', JSON_DEPTH + 1);
	memset(text + JSON_DEPTH + 1, ']', JSON_DEPTH + 1);
	assert_int_equal(parse(&v, a, text), E_DATA);
	assert_non_null(strstr(err_get(0)->text, "too deeply"));
	err_clear();
	arena_free(a);
}

static void test_value_limit(void **unused)
{
	size_t n = 2 * ((size_t)JSON_VALUES + 1);
	char *text = malloc(n);
	struct arena *a = arena_new();
	struct json *v;
	for (size_t i = 0; i < n; i += 2)
		memcpy(text + i, "0,", 2);
	text[0] = '[';
	text[1] = ' ';
	text[n - 1] = ']';
	assert_int_equal(json_parse(&v, a, "x", 0, text, n), E_DATA);
	assert_non_null(strstr(err_get(0)->text, "too many values"));
	err_clear();
	arena_free(a);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),  cmocka_unit_test(test_integers),
		cmocka_unit_test(test_strings), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_depth),   cmocka_unit_test(test_value_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
