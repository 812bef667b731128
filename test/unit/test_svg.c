/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Texts in pictures are what XML allows, and axes have round steps that stay inside of them. */
#include <math.h>

#include "cases.h"
#include "report/svg.h"

static void escaped(const char *text, const char *as)
{
	struct buf b = BUF_INIT;
	svg_escaped(&b, text);
	buf_putc(&b, '\0');
	assert_string_equal(b.data, as);
	buf_release(&b);
}

static void test_texts(void **state)
{
	escaped("a < b && \"c\" > d", "a &lt; b &amp;&amp; &quot;c&quot; &gt; d");
	escaped("M\303\274nchen", "M\303\274nchen");
	escaped("a\tb\033[1m\177", "a\\tb\\x1b[1m\\x7f");
	escaped("cut \303", "cut \\xc3");
}

static void test_steps(void **state)
{
	struct svg_axis a = { .low = 0, .high = 106 };
	svg_axis_step(&a);
	assert_true(a.step == 50 && a.low == 0 && a.high == 106);
	a = (struct svg_axis){ .low = 0.03, .high = 1.13 };
	svg_axis_round(&a);
	assert_true(fabs(a.step - 0.5) < 1e-12 && a.low == 0 && fabs(a.high - 1.5) < 1e-12);
	a = (struct svg_axis){ .low = 3, .high = NAN };
	svg_axis_round(&a);
	assert_true(a.low < 3 && a.high > 3);
}

/* A logarithmic axis begins and ends with 1, 2 or 5 times a power of ten. */
static void test_logarithms(void **state)
{
	struct svg_axis a = { .low = 0.003, .high = 0.7, .log = true };
	struct svg_frame f = { .left = 0, .right = 100, .top = 0, .bottom = 100 };
	svg_axis_round(&a);
	assert_true(fabs(a.low / 0.002 - 1) < 1e-9 && fabs(a.high - 1) < 1e-9);
	f.y = a;
	assert_true(fabs(svg_y(&f, a.low) - 100) < 1e-9 && fabs(svg_y(&f, a.high)) < 1e-9);
	f.y.low = 0.01;
	assert_true(fabs(svg_y(&f, 0.1) - 50) < 1e-9);
	a = (struct svg_axis){ .low = NAN, .high = NAN, .log = true };       /* nothing positive */
	svg_axis_round(&a);
	assert_true(a.low > 0 && a.high > a.low && isfinite(a.high));
	a = (struct svg_axis){ .low = 2, .high = 2, .log = true };
	svg_axis_round(&a);
	assert_true(a.low == 2 && a.high > 2);
}

/* Count of `what` in a drawing of the frame. */
static int lines_of(const struct svg_frame *f, const char *what)
{
	struct buf b = BUF_INIT;
	int n = 0;
	svg_axes(&b, f);
	buf_putc(&b, '\0');
	for (const char *p = b.data; (p = strstr(p, what)) != NULL; p++)
		n++;
	buf_release(&b);
	return n;
}

static void test_axes(void **state)
{
	struct svg_frame f = { 0, 100, 0, 100, { 0, 106, 0, "x & y" }, { 0, 1.13, 0, "z" } };
	svg_axis_step(&f.x);
	svg_axis_step(&f.y);
	assert_int_equal(lines_of(&f, "<line"), 3 + 3);      /* 0, 50, 100; 0, 0.5, 1 */
	assert_int_equal(lines_of(&f, "x &amp; y"), 1);
	assert_true(svg_x(&f, 53) == 50 && svg_y(&f, 0) == 100);
	f.y = (struct svg_axis){ .low = 0.01, .high = 0.5, .label = "z", .log = true };
	svg_axis_round(&f.y);
	assert_int_equal(lines_of(&f, "<line"), 3 + 6);      /* 0.01, 0.02, 0.05, 0.1, 0.2, 0.5 */
	f.y = (struct svg_axis){ .low = 3e-6, .high = 0.5, .label = "z", .log = true };
	svg_axis_round(&f.y);
	assert_int_equal(lines_of(&f, "<line"), 3 + 5);      /* 1e-5 to 0.1 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_logarithms),
		cmocka_unit_test(test_axes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
