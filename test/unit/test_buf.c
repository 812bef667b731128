/* SPDX-License-Identifier: BSD-3-Clause
 *
 * buf.h: always a C string; JSON strings are valid whatever the bytes; JSON numbers read back
 * equal. */
#include <math.h>

#include "cases.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/utf8.h"

static void grows(void **state)
{
	struct buf b = BUF_INIT;
	char *s;
	assert_string_equal(b.data, "");
	for (int i = 0; i < 1000; i++) {
		buf_putc(&b, (char)('a' + i % 26));
		assert_int_equal(b.data[b.len], 0);
		assert_true(b.cap > b.len);
	}
	buf_printf(&b, "-%d-%s", 42, "x");
	assert_string_equal(b.data + 1000, "-42-x");
	buf_clear(&b);
	assert_string_equal(b.data, "");
	buf_add(&b, "a\0b", 3);
	assert_int_equal(b.len, 3);
	s = buf_detach(&b);
	assert_memory_equal(s, "a\0b", 4);
	mem_free(s);
	assert_int_equal(b.len, 0);
	s = buf_detach(&b);
	assert_string_equal(s, "");
	mem_free(s);
	buf_release(&b);
	buf_release(&b);
}

static void json(const char *in, const char *expected)
{
	struct buf b = BUF_INIT;
	buf_json_string(&b, in);
	assert_string_equal(b.data, expected);
	buf_release(&b);
}

static void json_strings(void **state)
{
	json("", "\"\"");
	json("a\"b\\c/", "\"a\\\"b\\\\c/\"");
	json("\n\t\x01\x7f", "\"\\n\\t\\u0001\\u007f\"");
	json("\xC3\xA9\xF0\x9F\x8C\x8D", "\"\xC3\xA9\xF0\x9F\x8C\x8D\"");
	json("\xFF" "a\xC3", "\"\xEF\xBF\xBD" "a\xEF\xBF\xBD\"");
	json("\xC0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");                        /* overlong */
	json("\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");    /* a surrogate */
	json("\xE2\x80\xAE\xC2\x9B\xF3\xA0\x80\x81", "\"\\u202e\\u009b\\udb40\\udc01\"");
}

static void number(double v, const char *expected)
{
	struct buf b = BUF_INIT;
	buf_json_double(&b, v);
	assert_string_equal(b.data, expected);
	buf_release(&b);
}

static void json_numbers(void **state)
{
	number(0, "0");
	number(-0.0, "-0");
	number(600, "600");
	number(0.1, "0.1");
	number(1e-5, "1e-05");
	number(1.0 / 3, "0.3333333333333333");
	number(1e300, "1e+300");
	number(-123456789012345, "-123456789012345");
	number(NAN, "null");
	number(-INFINITY, "null");
}

static void numbers_read_back(void **state)
{
	struct buf b = BUF_INIT;
	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t bits = (uint64_t)rng_u32(1, 2, 3, 2 * i) << 32 | rng_u32(1, 2, 3, 2 * i + 1);
		double v;
		memcpy(&v, &bits, sizeof v);
		buf_clear(&b);
		buf_json_double(&b, v);
		if (isfinite(v))
			assert_true(strtod(b.data, NULL) == v);
		else
			assert_string_equal(b.data, "null");
	}
	buf_release(&b);
}

static void utf8(void **state)
{
	assert_int_equal(utf8_length(""), 0);
	assert_int_equal(utf8_length("a"), 1);
	assert_int_equal(utf8_length("\xC2\x80"), 2);
	assert_int_equal(utf8_length("\xE2\x82\xAC"), 3);
	assert_int_equal(utf8_length("\xE2\x82"), 0);
	assert_int_equal(utf8_length("\xF4\x8F\xBF\xBF"), 4);
	assert_int_equal(utf8_length("\xF4\x90\x80\x80"), 0);   /* past U+10FFFF */
	assert_int_equal(utf8_length("\x80"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows), cmocka_unit_test(json_strings), cmocka_unit_test(json_numbers),
		cmocka_unit_test(numbers_read_back), cmocka_unit_test(utf8),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
