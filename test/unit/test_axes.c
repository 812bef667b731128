/* SPDX-License-Identifier: BSD-3-Clause
 *
 * data/axes_match.h: the same places, whatever the rounding; the same in another order; others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/buf.h"
#include "data/axes_match.h"

static struct axis of(const char *name, int n, const double *v)
{
	return (struct axis){ .name = name, .n = n, .values = v };
}

static void expect(const struct axis *x, const struct axis *y, bool longitude,
                   enum axis_relation relation, int64_t roll, double offset)
{
	const struct axis_relation_of r = axis_relate(x, y, longitude);
	assert_int_equal(r.relation, relation);
	assert_int_equal(r.roll, roll);
	assert_true(fabs(r.offset - offset) < 1e-9);
}

static void same(void **state)
{
	const double a[] = { 90, 45, 0, -45, -90 }, b[] = { 90, 45.04, 0, -45, -90 },
	             c[] = { 90, 45.05, 0, -45, -90 }, tenth[] = { 0.1, 0.2, 0.3 },
	             rounded[] = { 0.1f, 0.2f, 0.3f }, far[] = { 5000000.1, 5000001.1 },
	             far_rounded[] = { 5000000.0, 5000001.0 };
	const struct axis x = of("lat", 5, a), y = of("lat", 5, b), z = of("lat", 5, c);
	const struct axis t = of("x", 3, tenth), r = of("x", 3, rounded);
	const struct axis f = of("y", 2, far), g = of("y", 2, far_rounded);
	const struct axis one = of("z", 1, a), other = of("z", 1, c), third = of("z", 1, b + 1);
	expect(&x, &x, false, AXIS_SAME, 0, 0);
	expect(&x, &y, false, AXIS_SAME, 0, 0);
	expect(&x, &z, false, AXIS_OTHER, 0, 0);
	expect(&t, &r, false, AXIS_SAME, 0, 0);
	expect(&f, &g, false, AXIS_SAME, 0, 0);
	expect(&one, &other, false, AXIS_SAME, 0, 0);
	expect(&one, &third, false, AXIS_SHIFTED, 0, -44.96);
}

static void unknown(void **state)
{
	const double a[] = { 1, 2, 3 }, n[] = { 1, NAN, 3 };
	const struct axis x = of("y", 3, a), none = of("y", 3, NULL), bad = of("y", 3, n),
	                  two = of("y", 2, a);
	expect(&x, &none, false, AXIS_UNKNOWN_RELATION, 0, 0);
	expect(&none, &x, false, AXIS_UNKNOWN_RELATION, 0, 0);
	expect(&x, &bad, false, AXIS_UNKNOWN_RELATION, 0, 0);
	expect(&x, &two, false, AXIS_OTHER, 0, 0);
}

static void other_order(void **state)
{
	const double east[] = { 0, 90, 180, 270 }, both[] = { -180, -90, 0, 90 },
	             west[] = { 270, 180, 90, 0 }, whole[] = { -360, -270, -180, -90 },
	             half[] = { 45, 135, 225, 315 }, up[] = { 1, 2, 4, 8 }, next[] = { 2, 4, 8, 1 },
	             moved[] = { 1.5, 2.5, 4.5, 8.5 };
	const struct axis e = of("lon", 4, east), b = of("lon", 4, both), w = of("lon", 4, west),
	                  o = of("lon", 4, whole), h = of("lon", 4, half), u = of("z", 4, up),
	                  n = of("z", 4, next), m = of("z", 4, moved);
	expect(&e, &b, true, AXIS_ROLLED, 2, 0);
	expect(&b, &e, true, AXIS_ROLLED, 2, 0);
	expect(&e, &b, false, AXIS_SHIFTED, 0, -180);
	expect(&e, &o, true, AXIS_SAME, 0, 0);
	expect(&e, &o, false, AXIS_SHIFTED, 0, -360);
	expect(&e, &w, true, AXIS_REVERSED, 0, 0);
	expect(&e, &h, true, AXIS_SHIFTED, 0, 45);
	expect(&u, &n, false, AXIS_ROLLED, 1, 0);
	expect(&n, &u, false, AXIS_ROLLED, 3, 0);
	expect(&u, &m, false, AXIS_SHIFTED, 0, 0.5);
	expect(&u, &e, false, AXIS_OTHER, 0, 0);
}

static struct axis with(const char *name, const char *key, const char *text)
{
	static struct axis_attribute attribute;
	attribute = (struct axis_attribute){ .name = key, .text = text };
	return (struct axis){ .name = name, .nattributes = 1, .attribute = &attribute };
}

static bool longitude(const char *name, const char *key, const char *text)
{
	const struct axis x = with(name, key, text);
	return axis_is_longitude(&x);
}

static void longitudes(void **state)
{
	assert_true(longitude("x", "units", "degrees_east"));
	assert_true(longitude("x", "units", "degree_E"));
	assert_true(longitude("x", "standard_name", "longitude"));
	assert_true(longitude("Longitude", "units", "degrees"));
	assert_true(longitude("XLONG", "long_name", "x"));
	assert_false(longitude("lon", "units", "m"));
	assert_false(longitude("lon", "units", "radians"));
	assert_false(longitude("lon", "standard_name", "projection_x_coordinate"));
	assert_false(longitude("lat", "units", "degrees_north"));
	assert_false(longitude("longwave", "long_name", "x"));
	assert_false(longitude(NULL, "long_name", "x"));
}

static void described(void **state)
{
	const double v[] = { 90, 0, -90 };
	struct axis x = with("lat", "units", "degrees_north");
	struct buf b = BUF_INIT;
	x.n = 3;
	x.values = v;
	axis_describe(&x, &b);
	assert_string_equal(b.data, "lat 90 ... -90 degrees_north (3 of them)");
	buf_clear(&b);
	x = of(NULL, 7, NULL);
	axis_describe(&x, &b);
	assert_string_equal(b.data, "an axis without a name (7 of them)");
	buf_clear(&b);
	x = of("lon", 3, v);
	axis_relation_describe((struct axis_relation_of){ AXIS_ROLLED, 2, 0 }, &x, &b);
	assert_string_equal(b.data, "rolled by 2 of 3");
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same),
		cmocka_unit_test(unknown),
		cmocka_unit_test(other_order),
		cmocka_unit_test(longitudes),
		cmocka_unit_test(described),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
